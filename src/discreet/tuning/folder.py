"""Folders that a search or a sweep writes: whole or not at all, and only their owner can read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.check.folders import beside, clear_leftovers, is_file_target, siblings
from discreet.errors import BadInput
from discreet.private import make_private_folder, write_private
from discreet.tuning.journal import is_journal

JOURNAL, RECIPES = "journal.jsonl", "recipes"


@dataclass(frozen=True)
class Kind:
    """What a folder is: a word for it, the file that a finished one has, and its other files."""

    name: str
    mark: str
    others: frozenset[str]

    def strangers(self, folder: Path) -> list[str]:
        """Name what is in the folder of this kind and was not written with it."""
        names = [p.name for p in folder.iterdir() if p.name not in {self.mark, *self.others}]
        for path in (folder / RECIPES).glob("*"):
            if path.suffix != ".toml" or not path.stem.isdigit():
                names.append(f"{RECIPES}/{path.name}")
        return sorted(names)


def check_folder(target: Path, force: bool, kind: Kind) -> None:
    """Refuse a folder that cannot be written to, before any work is done.

    One that holds nothing but the journal of a search is taken, if it may. Nothing that is not of
    the same kind is ever replaced.
    """
    if target.name in ("", "..") or target.is_symlink() or is_file_target(target):
        raise BadInput(f"{target} cannot be written; name a folder that is to be made")
    clear_leftovers(target)
    if not os.path.lexists(target):
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {target.name}
    begun = JOURNAL in kind.others and names == {JOURNAL} and is_journal(target / JOURNAL)
    if target.is_dir() and (not names or begun):
        return
    mark = target / kind.mark
    if kind.mark not in names or not mark.read_bytes().startswith(b'{\n "version": '):
        raise BadInput(f"{target} exists and is not a {kind.name}, so it is not replaced")
    if others := kind.strangers(target):
        raise BadInput(
            f"{target} is not replaced, because it also holds '{others[0]}'; move that elsewhere"
        )
    if not force:
        raise BadInput(f"{target} exists; choose another place, or replace it with --force")


def write_folder(target: Path, force: bool, kind: Kind, write: Callable[[Path], None]) -> Path:
    """Write a folder beside its place, and put it there once it is whole."""
    check_folder(target, force, kind)
    part = beside(target, "part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(part)
        write(part)
        _put_in_place(part, target)
    except OSError as error:
        raise BadInput(f"cannot write to {target}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _put_in_place(part: Path, target: Path) -> None:
    """Rename to the target, with the journal that is there; what is there goes last."""
    journal = target / JOURNAL
    if journal.exists():
        write_private(part / JOURNAL, journal.read_bytes())
    if target.exists():
        os.rename(target, beside(target, "old"))
    os.rename(part, target)
    for path, _ in siblings(target, "old"):
        shutil.rmtree(path, ignore_errors=True)
