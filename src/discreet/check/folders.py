"""The folder of a release: where its parts are, and what a run that was killed left of them."""

from __future__ import annotations

import glob
import os
import platform
import secrets
import shutil
from pathlib import Path

from discreet.check.evidence import UNFINISHED
from discreet.check.manifest import belongs_to, is_internal
from discreet.errors import BadInput
from discreet.table.signatures import FORMATS, READ_ONLY, suffix_of


def is_file_target(target: Path) -> bool:
    """Tell whether the output is to be one file with its internal folder beside it."""
    return suffix_of(target) in FORMATS or suffix_of(target) in READ_ONLY


def internal_of(target: Path) -> Path:
    """Return the internal folder of a release folder, or of a released file.

    That of `a.xlsx` is `a.internal`; or `a.xlsx.internal` where the former is that of another file,
    such as `a.dta`, or was when `a.xlsx` was written.
    """
    if not is_file_target(target):
        return target / "internal"
    plain = _by_stem(target)
    if belongs_to(plain, target, unchanged=False):
        return plain
    own = target.with_name(f"{target.name}.internal")
    return own if is_internal(plain) or belongs_to(own, target, unchanged=False) else plain


def _by_stem(target: Path) -> Path:
    return target.with_name(f"{target.name[: -len(suffix_of(target))]}.internal")


def is_release(folder: Path) -> bool:
    """Tell whether a folder holds a release and nothing else."""
    return (
        folder.is_dir()
        and {path.name for path in folder.iterdir()} == {"public", "internal"}
        and (folder / "internal" / "log.json").is_file()
    )


def find_release(target: str | Path) -> tuple[Path, Path]:
    """Find the table and the internal folder of a release folder or of a released file.

    The public half alone will do; its internal folder is beside it, if anywhere.
    """
    target = Path(target)
    clear_leftovers(target)
    if not target.exists():
        raise BadInput(f"{target} does not exist")
    if is_file_target(target):
        if target.parent.name == "public":
            return target, target.parent.parent / "internal"
        internal = internal_of(target)
        # A file that was renamed with its folder is still looked at, and found to be another.
        return target, internal if internal.is_dir() else _by_stem(target)
    alone = not (target / "public").exists()
    tables = sorted((target if alone else target / "public").glob("table.*"))
    if alone and tables:
        return find_release(tables[0])
    if not tables:
        raise BadInput(f"{target} is not a release: it has no public/table.csv or the like")
    return tables[0], target / "internal"


def goals(target: Path) -> list[Path]:
    """Return what is renamed into place, the table last: where it is, its proof is too."""
    return [internal_of(target), target] if is_file_target(target) else [target]


def beside(target: Path, purpose: str) -> Path:
    """Name a temporary sibling of a path, by this machine, process and call."""
    owner = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}".replace(".", "_")
    return target.with_name(f".{target.name}.{owner}.{purpose}")


def siblings(target: Path, purpose: str) -> list[tuple[Path, bool]]:
    """Return the temporary siblings of a path, and whether their process may still be at work."""
    found = []
    for path in target.parent.glob(f".{glob.escape(target.name)}.*-*-*.{purpose}"):
        host, process, _ = path.name.split(".")[-2].rsplit("-", 2)
        mine = host == platform.node().replace(".", "_")
        found.append((path, not mine or not process.isdigit() or _is_alive(int(process))))
    return found


def clear_leftovers(target: Path) -> None:
    """Tidy up after a run that was killed while it wrote to this target.

    What it had moved aside comes back, unless the new release got whole.
    """
    if not target.parent.is_dir():
        return
    for goal in goals(target):
        for path, alive in siblings(goal, "old"):
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
        for path, alive in siblings(goal, "part"):
            if not alive:
                shutil.rmtree(path, ignore_errors=True)
    internal = internal_of(target)
    if is_file_target(target) and (internal / UNFINISHED).exists():
        _finish_or_remove(internal, target)


def _finish_or_remove(internal: Path, target: Path) -> None:
    """Settle a first release that was stopped between the renames of its two parts."""
    if siblings(target, "part"):
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
