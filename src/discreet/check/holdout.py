"""The holdout: people who are set aside before any step, and are in no part of a release.

Who they are depends on the recipe's seed and on a household's number, a unit's number, a row key or
a row's place, and on nothing else: each has a word, and those with the smallest words are set
aside. The log keeps the largest of these words, so that whoever reads the original again leaves
out the same rows on any engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from discreet.check.evidence import Evidence, places
from discreet.check.findings import ONLY_ORIGINAL, Finding, counted, finding
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.engines.frame import remaining
from discreet.engines.memory import MemoryFrame
from discreet.recipe.recipe import Recipe, needed_columns
from discreet.table.cells import plain
from discreet.table.fingerprint import Fingerprint, cell_numbers
from discreet.table.labels import take_rows

HOLDOUT = "holdout.parquet"
# The column of that file that says where a record was in the original, from 0.
PLACE = "original_row"
HELD = "the holdout is those whom the seed draws, with all their rows"


@dataclass(frozen=True)
class Drawn:
    """Who is drawn: so many of some groups, those with words up to one."""

    groups: int
    of: int
    up_to: int


# By which column a row's word goes: the first of these that is not null, or else the row key or the
# row's place.
Groups = tuple[tuple[str, str], ...]


def groups_of(recipe: Recipe) -> Groups:
    """Return the columns whose groups are set aside as a whole, each with what it is."""
    roles = recipe.roles
    both = (("household", roles.household), ("unit", roles.unit))
    return tuple((what, name) for what, name in both if name is not None)


def draw(frame: Frame, recipe: Recipe) -> Drawn:
    """Draw the share of the groups that the recipe asks for, rounded to a whole number."""
    assert recipe.holdout is not None
    found = frame.fold(partial(_words_once, *_by(recipe)), add, _columns(recipe))
    words = np.unique(np.concatenate(found))
    groups = int(recipe.holdout * len(words) + 0.5)
    return Drawn(groups, len(words), int(words[groups - 1]) if groups else -1)


def held_rows(frame: Frame, recipe: Recipe, up_to: int) -> np.ndarray:
    """Return the numbers of the rows whose words are no larger than one, in order."""
    return np.sort(frame.fold(partial(_held, *_by(recipe), up_to), np.append, _columns(recipe)))


def without_rows(frame: Frame, gone: np.ndarray) -> Frame:
    """Return the other rows of a frame, numbered anew."""
    if isinstance(frame, MemoryFrame):
        # Nulls keep their codes.
        others = np.flatnonzero(~np.isin(frame.rows, gone))
        return MemoryFrame(take_rows(frame.table, others), None, frame.positioned)
    return frame.flat_map(partial(_others, gone), frame.schema)


def without_holdout(original: Frame, recipe: Recipe, log: Mapping[str, Any]) -> Frame:
    """Return the rows that a release was made from, by its own recipe and log.

    An original without its holdout is returned as it is, and so is another table than the one that
    was protected: it is not taken for that in any case.
    """
    held = log.get("holdout")
    names = original.schema.names
    if held is None or original.num_rows == log["input"]["rows"]:
        return original
    if not set(_columns(recipe)) <= set(names):
        return original
    gone = held_rows(original, recipe, held["up_to"])
    return original if len(gone) == original.num_rows else without_rows(original, gone)


def rows_in_all(holdout: Any, rows: np.ndarray) -> np.ndarray:
    """Return where rows of those that remain are in the original, as a holdout or its file tells.

    Examples
    --------
    >>> rows_in_all(pa.table({"original_row": [1, 3]}), np.arange(4)).tolist()
    [0, 2, 4, 5]
    """
    held = holdout if isinstance(holdout, pa.Table) else parquet.read_table(holdout)
    if PLACE not in held.column_names:
        return rows
    gone = held[PLACE].to_numpy()
    return rows + np.searchsorted(gone - np.arange(len(gone)), rows, side="right")


def same_holdout(evidence: Evidence | None, everyone: Frame | None) -> list[Finding]:
    """Verify that a holdout has those whom the recipe's seed draws, and who are not in the release.

    `everyone` is the original with its holdout, where that is given.
    """
    if evidence is None or "holdout" not in evidence.log or evidence.folder is None:
        return []
    told, recipe = evidence.log["holdout"], evidence.recipe
    if everyone is None:
        return [Finding(HELD, "not verifiable", ONLY_ORIGINAL)]
    if everyone.num_rows == evidence.log["input"]["rows"]:
        return [Finding(HELD, "not verifiable", "the original is given without its holdout")]
    if lost := set(_columns(recipe)) - set(everyone.schema.names):
        return [Finding(HELD, "broken", f"the original has no column '{min(lost)}'")]
    drawn = draw(everyone, recipe)
    problem: str | None = f"it should be {drawn.groups:,} of {drawn.of:,} {told['what']}"
    if (drawn.groups, drawn.up_to) == (told["groups"], told["up_to"]):
        problem = _unlike(evidence, everyone, held_rows(everyone, recipe, drawn.up_to))
    return [finding(HELD, problem, counted(told["records"], "record"))]


def _unlike(evidence: Evidence, everyone: Frame, gone: np.ndarray) -> str | None:
    """Say what is wrong with the file of those who were set aside."""
    assert evidence.folder is not None
    recipe, path = evidence.recipe, evidence.folder / HOLDOUT
    names = needed_columns(recipe, everyone.schema.names)
    try:
        kept = parquet.read_table(path).select(names)
    except (OSError, pa.ArrowException, KeyError) as error:
        return f"{HOLDOUT} cannot be read: {error}"
    seed = recipe.seed or 0
    was = everyone.fold(partial(_print_of, seed, gone), add, names)
    if was != _print_of(seed, np.arange(len(kept)), kept, np.arange(len(kept))):
        return f"{HOLDOUT} does not hold them"
    for _, name in groups_of(recipe):
        theirs = pc.unique(plain(kept[name]).combine_chunks()).drop_null()
        split = everyone.fold(partial(_of_them, name, theirs, gone), add, [name])
        if split:
            return f"{counted(split, 'row')} in the release share '{name}' with it"
    return None


# What is done with the rows


def _by(recipe: Recipe) -> tuple[int, Groups, str | None]:
    assert recipe.seed is not None
    return recipe.seed, groups_of(recipe), recipe.roles.row_key


def _columns(recipe: Recipe) -> list[str]:
    names = [*(name for _, name in groups_of(recipe)), recipe.roles.row_key]
    return list(dict.fromkeys(name for name in names if name is not None))


def _words(
    seed: int, groups: Groups, key: str | None, piece: pa.Table, rows: np.ndarray
) -> np.ndarray:
    """Return the word of each row, which is the same in all rows of a household or unit."""
    words, left = np.empty(len(rows), np.uint64), np.full(len(rows), True)
    for what, name in groups:
        own = left & piece[name].is_valid().to_numpy()
        words[own] = _drawn(seed, what, piece[name].filter(pa.array(own)))
        left &= ~own
    if key is not None:
        words[left] = _drawn(seed, "row key", piece[key].filter(pa.array(left)))
    else:
        words[left] = Draws(seed, "holdout", "row").words(rows[left])
    return words


def _drawn(seed: int, what: str, column: pa.ChunkedArray) -> np.ndarray:
    """Draw by what cells hold, whatever the type that a format gives them."""
    numbers = cell_numbers(seed, column, np.zeros(len(column), np.uint64))
    return Draws(seed, "holdout", what).words(numbers)


def _words_once(
    seed: int, groups: Groups, key: str | None, piece: pa.Table, rows: np.ndarray
) -> list[np.ndarray]:
    return [np.unique(_words(seed, groups, key, piece, rows))]


def _held(
    seed: int, groups: Groups, key: str | None, up_to: int, piece: pa.Table, rows: np.ndarray
) -> np.ndarray:
    return rows[_words(seed, groups, key, piece, rows) <= np.uint64(up_to)]


def _others(gone: np.ndarray, piece: pa.Table, rows: np.ndarray) -> tuple[pa.Table, np.ndarray]:
    found, numbers = remaining(gone, piece, rows)
    return found, places(gone, numbers)


def _print_of(seed: int, chosen: np.ndarray, piece: pa.Table, rows: np.ndarray) -> Fingerprint:
    """Hash some rows by what they hold, whatever their places and the order of categories."""
    some = piece.filter(pa.array(np.isin(rows, chosen)))
    bare = pa.table([plain(column) for column in some.columns], names=some.column_names)
    return Fingerprint.of(seed, bare, None)


def _of_them(
    name: str, theirs: pa.Array, gone: np.ndarray, piece: pa.Table, rows: np.ndarray
) -> int:
    """Count the rows that are not set aside and belong to those who are."""
    others = plain(piece[name]).filter(pa.array(~np.isin(rows, gone)))
    return int(pc.sum(pc.is_in(others, theirs.cast(others.type))).as_py() or 0)
