"""From a solution to rows: which record of which tuple gets which blanks, as a plan tells it.

Equal records are told apart by words that are drawn for each: those with the smallest words are
changed first. Where units are counted, all rows of a unit have the same word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.outcome import Outcome, Rounder
from discreet.suppression._keys import Keys, Units
from discreet.suppression._problem import GONE, Problem, Solution
from discreet.table.cells import blank


@dataclass(frozen=True)
class Blanking:
    """What becomes of the records of each tuple.

    All of a tuple get the blanks that `whole` has for it; of some tuples, listed in `tuples`, those
    with a drawn word in `words` get the blanks beside it instead. Both are sorted.
    """

    whole: np.ndarray  # by tuple, sets of columns as bits; `GONE` where left out
    tuples: np.ndarray
    words: np.ndarray
    masks: np.ndarray
    records: np.ndarray  # how many have the word: those of a unit

    def masks_of(self, tuples: np.ndarray, words: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the blanks of rows by their tuples; `words` gives those of some rows."""
        masks = self.whole[tuples]
        if not len(self.tuples):
            return masks
        split, largest = np.zeros(len(self.whole), bool), np.zeros(len(self.whole), np.uint64)
        split[self.tuples] = True
        # Of several assignments to one place the last holds, and words ascend.
        largest[self.tuples] = self.words
        rows = np.flatnonzero(split[tuples])
        of_row, drawn = tuples[rows], words(rows)
        few = drawn <= largest[of_row]
        place = _places(self.tuples, self.words, of_row[few], drawn[few])
        masks[rows[few][place >= 0]] = self.masks[place[place >= 0]]
        return masks

    def blanked(self, keys: Keys) -> np.ndarray:
        """Count the cells that are blanked in each column; those of records left out are not."""
        bits = np.arange(keys.codes.shape[1])
        cells = np.zeros(len(bits), np.int64)
        pairs = ((self.whole, keys.records), (self.masks, self.records))
        for masks, records in pairs:
            there = (masks != 0) & (masks != GONE)
            for bit in bits:
                cells[bit] += records[there][(masks[there] >> bit) & 1 == 1].sum()
        return cells

    @property
    def changed(self) -> np.ndarray:
        """The tuples of which some record is changed."""
        marks = self.whole != 0
        marks[self.tuples] = True
        return np.flatnonzero(marks)

    def joint(self, keys: Keys) -> dict[str, Any]:
        """Tell the changed tuples, and what becomes of their records, as the plan has it."""
        changed = self.changed
        place = np.full(len(self.whole), -1)
        place[changed] = np.arange(len(changed))
        whole = np.flatnonzero(self.whole)
        tuples = {}
        for column, (name, values) in enumerate(keys.values.items()):
            used, codes = np.unique(keys.codes[changed, column], return_inverse=True)
            nulls = int(len(used) > 0 and used[0] == 0)
            texts = values.take(pa.array(used[nulls:] - 1)).cast(pa.string())
            tuples[name] = {
                "values": texts.to_numpy(zero_copy_only=False),
                "codes": codes - nulls,
            }
        return {
            "tuples": tuples,
            "whole": {
                "tuples": place[whole],
                "blanked": self.whole[whole],
                "records": keys.records[whole],
            },
            "some": {
                "tuples": place[self.tuples],
                "words": self.words,
                "blanked": self.masks,
                "records": self.records,
            },
        }


def _places(
    tuples: np.ndarray, words: np.ndarray, of_row: np.ndarray, drawn: np.ndarray
) -> np.ndarray:
    """Return the place of each pair of tuple and word among sorted ones, -1 if it is missing."""
    # Sorted together, a row comes behind the last that is not above it.
    both = np.lexsort(
        (
            np.append(np.zeros(len(tuples), bool), np.ones(len(of_row), bool)),
            np.concatenate([words, drawn]),
            np.concatenate([tuples, of_row]),
        )
    )
    listed = both < len(tuples)
    place = np.empty(len(both), np.int64)
    place[both] = np.cumsum(listed) - 1
    place = place[len(tuples) :]
    same = (place >= 0) & (tuples[place] == of_row) & (words[place] == drawn)
    return np.where(same, place, -1)


def as_blanking(
    problem: Problem,
    solution: Solution,
    units: Units | None,
    smallest: Callable[[np.ndarray], np.ndarray],
    kinds: Keys | None = None,
) -> Blanking:
    """Decide which of equal records are changed.

    `smallest` returns as many of the smallest words of each tuple, or of each of the `kinds` of
    records where these are told apart, as it is told, by tuple and in order. It is not called where
    units are counted, whose words are known.
    """
    whole = np.zeros(len(problem.counts), np.int64)
    if units is not None:
        return _by_unit(problem, solution, units, whole)
    tuples, masks, members = _tidied(problem, solution)
    alone = members == problem.counts[tuples]
    whole[tuples[alone]] = masks[alone]
    tuples, masks, members = (part[~alone] for part in (tuples, masks, members))
    if kinds is not None and solution.kinds is not None:
        return _by_kind(problem, solution, kinds, whole, smallest)
    needed = np.bincount(tuples, members, len(whole)).astype(np.int64)
    words = smallest(needed) if len(tuples) else np.empty(0, np.uint64)
    of_word = np.repeat(tuples, members)
    return Blanking(whole, of_word, words, np.repeat(masks, members), np.ones_like(of_word))


def _by_kind(
    problem: Problem,
    solution: Solution,
    kinds: Keys,
    whole: np.ndarray,
    smallest: Callable[[np.ndarray], np.ndarray],
) -> Blanking:
    """Tell the records of tuples apart that are not changed as a whole."""
    assert solution.kinds is not None
    some = np.flatnonzero(whole[solution.tuples] == 0)
    some = some[np.argsort(solution.kinds[some], kind="stable")]
    members = solution.members[some]
    needed = np.bincount(solution.kinds[some], members, len(kinds.records)).astype(np.int64)
    words = smallest(needed) if len(some) else np.empty(0, np.uint64)
    of_word = np.repeat(some, members)
    order = np.lexsort((words, solution.tuples[of_word]))
    of_word = of_word[order]
    tuples = solution.tuples[of_word]
    return Blanking(whole, tuples, words[order], solution.masks[of_word], np.ones_like(tuples))


def _by_unit(problem: Problem, solution: Solution, units: Units, whole: np.ndarray) -> Blanking:
    held = units.held
    assert solution.held is not None
    of_pair = np.zeros(len(held.tuples), np.int64)
    of_pair[solution.held] = _without_nulls(problem, solution.tuples, solution.masks)
    # Where all pairs of a tuple get the same, so does the tuple.
    first = np.searchsorted(held.tuples, np.arange(len(whole)))
    same = np.logical_and.reduceat(of_pair == of_pair[first][held.tuples], first)
    whole[same] = of_pair[first][same]
    some = np.flatnonzero((of_pair != 0) & ~same[held.tuples])
    return Blanking(whole, held.tuples[some], units.words[some], of_pair[some], held.rows[some])


def _tidied(problem: Problem, solution: Solution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tuples, blanks and members of the entries that change something, each once."""
    masks = _without_nulls(problem, solution.tuples, solution.masks)
    real = (masks != 0) & (solution.members > 0)
    tuples, masks, members = solution.tuples[real], masks[real], solution.members[real]
    order = np.lexsort((masks, tuples))
    tuples, masks, members = tuples[order], masks[order], members[order]
    new = np.append(True, (np.diff(tuples) != 0) | (np.diff(masks) != 0))[: len(tuples)]
    first = np.flatnonzero(new)
    total = np.add.reduceat(members, first) if len(first) else members
    return tuples[first], masks[first], total.astype(np.int64)


def _without_nulls(problem: Problem, tuples: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return sets of columns without those that are null already."""
    return np.where(masks == GONE, GONE, masks & ~problem.nulls[tuples])


@dataclass(frozen=True)
class ByTuple:
    """Blanks rows by their tuples, for `Decision.treat`."""

    find: Callable[[Mapping[str, Any]], np.ndarray]  # from columns to the tuple of each row
    blanking: Blanking

    def __call__(
        self, columns: Mapping[str, Any], draws: Callable[[str], Draws], rounded: Rounder
    ) -> Outcome:
        """Treat rows; what an engine calls."""
        words = draws(next(iter(columns))).words
        return treated(columns, self.blanking.masks_of(self.find(columns), words))


def treated(columns: Mapping[str, Any], masks: np.ndarray) -> Outcome:
    """Blank cells of rows, and mark those that are left out."""
    new = {
        name: blank(column, (masks >> bit) & 1 == 1)
        for bit, (name, column) in enumerate(columns.items())
    }
    gone = masks == GONE
    return Outcome(new, {}, suppressed=gone, unsafe=gone)
