"""Compare releases, and write the comparison to a file."""

from __future__ import annotations

from pathlib import Path

from discreet.assessment import Comparison, compare
from discreet.cli import show
from discreet.errors import BadInput


def run_compare(
    original: Path,
    releases: list[Path],
    file: Path | None,
    force: bool,
    risk: str,
    loss: str,
    engine: str,
    memory: str | None,
    dialect: dict[str, str | None],
) -> Comparison:
    """Compare releases, and write a page or JSON if a file is given."""
    if file is not None:
        _check(file, force, original, releases)
    with show.progress(f"measuring {len(releases)} releases"):
        found = compare(
            original, releases, risk=risk, loss=loss, engine=engine, memory=memory, **dialect
        )
    if file is not None and file.suffix == ".json":
        file.write_text(found.to_json() + "\n", encoding="utf-8")
    elif file is not None:
        found.to_html(file)
    return found


def _check(file: Path, force: bool, original: Path, releases: list[Path]) -> None:
    """Refuse a file that cannot or must not be written, before any work is done."""
    if file.suffix not in (".html", ".json"):
        raise BadInput(f"{file} must end with .html or .json")
    if file.exists() and not force:
        raise BadInput(f"{file} exists; choose another place, or replace it with --force")
    if not file.absolute().parent.is_dir():
        raise BadInput(f"{file}: the folder {file.parent} does not exist")
    if file.resolve() == original.resolve():
        raise BadInput(f"{file} would replace the input {original}; choose another place")
    for release in releases:
        if release.resolve() in file.resolve().parents:
            raise BadInput(f"{file} is inside the release {release}; choose another place")
