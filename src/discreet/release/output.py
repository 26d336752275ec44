"""Outputs that appear whole or not at all, whenever the run is stopped."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import BadInput
from discreet.release.evidence import UNFINISHED
from discreet.table.files import FORMATS


def is_file_target(target: Path) -> bool:
    """Tell whether the output is to be one file with its internal folder beside it."""
    return target.suffix.lower() in FORMATS


def internal_of(target: Path) -> Path:
    """Give the internal folder of a release folder, or of a released file."""
    return (
        target.with_name(f"{target.stem}.internal")
        if is_file_target(target)
        else target / "internal"
    )


def is_release(folder: Path) -> bool:
    """Tell whether `Release.save` wrote a folder."""
    return (folder / "public").is_dir() and (folder / "internal" / "log.json").is_file()


@contextmanager
def written_whole(target: Path, force: bool) -> Iterator[Path]:
    """Give a folder to write `public/` and `internal/` in; it becomes the target at the end.

    Parameters
    ----------
    target : Path
        The release folder to be; or, with a table's suffix, the file to be, with its internal
        folder beside it.
    force : bool
        Replace a release that is there.

    Notes
    -----
    All is written in a sibling of the target and renamed when it is complete, so a run that is
    killed leaves the target as it was. The next run to the same target removes the sibling.
    """
    check_target(target, force)
    part = _beside(target, "part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(mode=0o700)
        yield part
        _publish(part, target)
    except OSError as error:
        raise BadInput(f"cannot write to {target}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_target(target: Path, force: bool) -> None:
    """Refuse a target that cannot be written, before any work is done.

    Parameters
    ----------
    target : Path
        The release folder or file to be.
    force : bool
        A release that is there may be replaced.
    """
    goals = [target, internal_of(target)] if is_file_target(target) else [target]
    for goal in goals:
        _clear_leftovers(goal)
    parent = next(path for path in target.absolute().parents if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise BadInput(f"cannot write to {parent}: it is not a folder that you may write in")
    existing = [goal for goal in goals if os.path.lexists(goal)]
    if is_file_target(target) and (internal_of(target) / UNFINISHED).exists():
        # A run was killed between the two renames; what it left was never a release.
        existing.remove(internal_of(target))
    if not existing:
        return
    if not force:
        raise BadInput(f"{existing[0]} exists; choose another place, or replace it with --force")
    harmless = (
        target.is_file()
        if is_file_target(target)
        else is_release(target) or (target.is_dir() and not any(target.iterdir()))
    )
    if target in existing and not harmless:
        raise BadInput(f"{target} exists and is not a release, so --force does not replace it")


def _publish(part: Path, target: Path) -> None:
    if not is_file_target(target):
        part.chmod(0o755)
        _put_in_place(part, target)
        return
    # The table comes last: where it is, its proof is too.
    internal = internal_of(target)
    (part / "internal" / UNFINISHED).touch()
    _put_in_place(part / "internal", internal)
    (table,) = (part / "public").iterdir()
    _put_in_place(table, target)
    (internal / UNFINISHED).unlink()


def _beside(target: Path, purpose: str) -> Path:
    """Name a temporary sibling of a path, by this process."""
    return target.with_name(f".{target.name}.{os.getpid()}.{purpose}")


def _put_in_place(new: Path, target: Path) -> None:
    old = _beside(target, "old")
    if target.is_dir():
        os.rename(target, old)
    os.replace(new, target)
    shutil.rmtree(old, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    """Tidy up after a run that was killed while it wrote to this target."""
    if not target.parent.is_dir():
        return
    for path in target.parent.glob(f".{glob.escape(target.name)}.*"):
        process, purpose = path.name.split(".")[-2:]
        if purpose not in ("part", "old") or not process.isdigit() or _is_alive(int(process)):
            continue
        if purpose == "old" and not target.exists():
            os.rename(path, target)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return False
    if os.name == "nt":  # There os.kill ends the process, whatever the signal.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
