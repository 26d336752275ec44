"""Outputs that appear whole or not at all, whenever the run is stopped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.check.evidence import UNFINISHED
from discreet.check.folders import (
    beside,
    clear_leftovers,
    goals,
    internal_of,
    is_file_target,
    is_release,
    siblings,
)
from discreet.check.manifest import belongs_to
from discreet.errors import BadInput
from discreet.private import make_private_folder, write_private
from discreet.table.signatures import check_name


@contextmanager
def written_whole(target: Path, force: bool, source: Path | None = None) -> Iterator[Path]:
    """Return a folder to write `public/` and `internal/` in; it becomes the target at the end.

    The target is the release folder to be; or, with a table's suffix, the file to be, with its
    internal folder beside it. With `force` it replaces a release that is there, never the input.

    All is written in a sibling of the target and renamed when it is complete, so a run that is
    killed leaves an earlier release as it was: in its place, or moved aside between two renames,
    from where the next command that looks at the target brings it back.
    """
    check_target(target, force, source)
    part = beside(target, "part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(part)
        yield part
        _publish(part, target, force)
    except OSError as error:
        raise BadInput(f"cannot write to {target}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_target(target: Path, force: bool, source: Path | None = None) -> None:
    """Refuse a target that cannot be written, before any work is done."""
    check_name(target)
    if target.name in ("", "..") or target.is_symlink():
        raise BadInput(f"{target} cannot be written; name a folder or file that is to be made")
    clear_leftovers(target)
    if source is not None:
        # `Path.resolve` raises where links lead to each other.
        place, *wanted = (Path(os.path.realpath(p)) for p in (source, target, internal_of(target)))
        for goal in wanted:
            if goal == place or goal in place.parents:
                raise BadInput(f"{target} would replace the input {source}; choose another place")
    parent = next(path for path in target.absolute().parents if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise BadInput(f"cannot write to {parent}: it is not a folder that you may write in")
    for goal in goals(target):
        if os.path.lexists(goal):
            if not force:
                raise BadInput(f"{goal} exists; choose another place, or replace it with --force")
            if not _is_replaceable(target):
                raise BadInput(
                    f"{goal} exists and is not a release, so --force does not replace it"
                )


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
    write_private(part / "internal" / UNFINISHED, b"")
    _put_in_place(part / "internal", internal, force)
    (table,) = (part / "public").iterdir()
    _put_in_place(table, target, force)
    (internal / UNFINISHED).unlink()
    _remove_old(internal)


def _put_in_place(new: Path, target: Path, force: bool) -> None:
    """Rename to the target; unforced, fail where another run has put something there."""
    if new.is_dir():
        if force and target.exists():
            os.rename(target, beside(target, "old"))
        os.rename(new, target)
    elif force:
        os.replace(new, target)
    else:
        os.link(new, target)


def _remove_old(target: Path) -> None:
    for path, _ in siblings(target, "old"):
        shutil.rmtree(path, ignore_errors=True)
