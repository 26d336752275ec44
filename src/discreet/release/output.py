"""Outputs that appear whole or not at all, whenever the run is stopped."""

from __future__ import annotations

import glob
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import BadInput
from discreet.release.evidence import UNFINISHED, belongs_to
from discreet.table.signatures import FORMATS, READ_ONLY, suffix_of


def is_file_target(target: Path) -> bool:
    """Tell whether the output is to be one file with its internal folder beside it."""
    return suffix_of(target) in FORMATS or suffix_of(target) in READ_ONLY


def internal_of(target: Path) -> Path:
    """Give the internal folder of a release folder, or of a released file."""
    return (
        target.with_name(f"{target.name[: -len(suffix_of(target))]}.internal")
        if is_file_target(target)
        else target / "internal"
    )


def is_release(folder: Path) -> bool:
    """Tell whether a folder holds a release and nothing else."""
    return (
        folder.is_dir()
        and {path.name for path in folder.iterdir()} == {"public", "internal"}
        and (folder / "internal" / "log.json").is_file()
    )


def find_release(target: str | Path) -> tuple[Path, Path]:
    """Find the table and the internal folder of a release folder or of a released file."""
    target = Path(target)
    _clear_leftovers(target)
    if not target.exists():
        raise BadInput(f"{target} does not exist")
    if is_file_target(target):
        inside = target.parent.name == "public"
        return target, target.parent.parent / "internal" if inside else internal_of(target)
    tables = sorted((target / "public").glob("table.*"))
    if not tables:
        raise BadInput(f"{target} is not a release: it has no public/table.csv or the like")
    return tables[0], target / "internal"


@contextmanager
def written_whole(target: Path, force: bool, source: Path | None = None) -> Iterator[Path]:
    """Give a folder to write `public/` and `internal/` in; it becomes the target at the end.

    Parameters
    ----------
    target : Path
        The release folder to be; or, with a table's suffix, the file to be, with its internal
        folder beside it.
    force : bool
        Replace a release that is there.
    source : Path, optional
        The input, which must not be replaced.

    Notes
    -----
    All is written in a sibling of the target and renamed when it is complete, so a run that is
    killed leaves an earlier release as it was: in its place, or moved aside between two renames,
    from where the next command that looks at the target brings it back.
    """
    check_target(target, force, source)
    part = _beside(target, "part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(mode=0o700)
        yield part
        _publish(part, target, force)
    except OSError as error:
        raise BadInput(f"cannot write to {target}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_target(target: Path, force: bool, source: Path | None = None) -> None:
    """Refuse a target that cannot be written, before any work is done."""
    if target.name in ("", "..") or target.is_symlink():
        raise BadInput(f"{target} cannot be written; name a folder or file that is to be made")
    _clear_leftovers(target)
    if source is not None:
        for goal in (target.resolve(), internal_of(target).resolve()):
            if goal == source.resolve() or goal in source.resolve().parents:
                raise BadInput(f"{target} would replace the input {source}; choose another place")
    parent = next(path for path in target.absolute().parents if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise BadInput(f"cannot write to {parent}: it is not a folder that you may write in")
    for goal in _goals(target):
        if os.path.lexists(goal):
            if not force:
                raise BadInput(f"{goal} exists; choose another place, or replace it with --force")
            if not _is_replaceable(target):
                raise BadInput(
                    f"{goal} exists and is not a release, so --force does not replace it"
                )


def _goals(target: Path) -> list[Path]:
    """Give what is renamed into place, the table last: where it is, its proof is too."""
    return [internal_of(target), target] if is_file_target(target) else [target]


def _is_replaceable(target: Path) -> bool:
    if is_file_target(target):
        return belongs_to(internal_of(target), target, unchanged=False)
    return is_release(target) or (target.is_dir() and not any(target.iterdir()))


def _publish(part: Path, target: Path, force: bool) -> None:
    if not is_file_target(target):
        part.chmod(0o755)
        _put_in_place(part, target, force)
        _remove_old(target)
        return
    internal = internal_of(target)
    (part / "internal" / UNFINISHED).touch()
    _put_in_place(part / "internal", internal, force)
    (table,) = (part / "public").iterdir()
    _put_in_place(table, target, force)
    (internal / UNFINISHED).unlink()
    _remove_old(internal)


def _put_in_place(new: Path, target: Path, force: bool) -> None:
    """Rename to the target; unforced, fail where another run has put something there."""
    if new.is_dir():
        if force and target.exists():
            os.rename(target, _beside(target, "old"))
        os.rename(new, target)
    elif force:
        os.replace(new, target)
    else:
        os.link(new, target)


def _remove_old(target: Path) -> None:
    for path, _ in _siblings(target, "old"):
        shutil.rmtree(path, ignore_errors=True)


def _beside(target: Path, purpose: str) -> Path:
    """Name a temporary sibling of a path, by this machine, process and call."""
    owner = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}".replace(".", "_")
    return target.with_name(f".{target.name}.{owner}.{purpose}")


def _siblings(target: Path, purpose: str) -> list[tuple[Path, bool]]:
    """Give the temporary siblings of a path, and whether their process may still be at work."""
    found = []
    for path in target.parent.glob(f".{glob.escape(target.name)}.*-*-*.{purpose}"):
        host, process, _ = path.name.split(".")[-2].rsplit("-", 2)
        mine = host == platform.node().replace(".", "_")
        found.append((path, not mine or not process.isdigit() or _is_alive(int(process))))
    return found


def _clear_leftovers(target: Path) -> None:
    """Tidy up after a run that was killed while it wrote to this target.

    What it had moved aside comes back, unless the new release got whole.
    """
    if not target.parent.is_dir():
        return
    for goal in _goals(target):
        for path, alive in _siblings(goal, "old"):
            if alive:
                continue
            if is_file_target(target) and (goal / UNFINISHED).exists():
                if belongs_to(goal, target):
                    (goal / UNFINISHED).unlink()
                else:
                    shutil.rmtree(goal)
            if goal.exists():
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.rename(path, goal)
        for path, alive in _siblings(goal, "part"):
            if not alive:
                shutil.rmtree(path, ignore_errors=True)
    internal = internal_of(target)
    if is_file_target(target) and (internal / UNFINISHED).exists():
        _finish_or_remove(internal, target)


def _finish_or_remove(internal: Path, target: Path) -> None:
    """Settle a first release that was stopped between the renames of its two parts."""
    if _siblings(target, "part"):
        return
    if belongs_to(internal, target):
        (internal / UNFINISHED).unlink()
    elif not target.exists():
        shutil.rmtree(internal)


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # There os.kill ends the process, whatever the signal.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
