"""Counts of a frame's columns, in the form that methods decide on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws, smallest
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.table import Numbers
from discreet.table.classes import encode
from discreet.table.columns import numbers_like
from discreet.table.keys import group_numbers, row_numbers
from discreet.table.moments import Moments, joined, moments_of
from discreet.table.summary import Holders, Summary

# Distinct values and tuples that are taken into memory at once, at some 20 and 100 bytes each.
MOST_VALUES = 1 << 26
MOST_TUPLES = 1 << 24


class Counting:
    """What a frame tells of its columns: `discreet.method.Counted`.

    The target is the column of classes, where a step is supervised; `unit` that of the units which
    k counts, where it does not count rows; `key` that which draws go by instead of row numbers.
    """

    def __init__(
        self,
        frame: Frame,
        sources: Mapping[str, Numbers],
        target: str | None = None,
        unit: str | None = None,
        key: str | None = None,
    ) -> None:
        self.frame, self.sources, self.target = frame, sources, target
        self.unit, self.key = unit, key

    def summary(self, column: str) -> Summary:
        """Count the distinct values of a column, by class where there is a target."""
        refuse_too_many(
            self.frame, [column], MOST_VALUES, "oma, mdav and vmdav take them by ranges"
        )
        by_unit = None if self.unit is None else self._by_unit(column, self.unit)
        if self.target is not None:
            by_class = self._by_class(column, self.target)
            return replace(by_class, holders=by_unit.holders if by_unit else None)
        if by_unit is not None:
            return by_unit
        parts = [self._summary(column, *found) for found in self.frame.values(column)]
        return _joined(parts)

    def ranges(self, column: str) -> Iterator[Summary] | None:
        """Return the summaries of ranges where there are too many values for one."""
        if self.unit is not None or self.frame.about_how_many([column]) <= MOST_VALUES:
            return None
        return self._ranges(column)

    def _ranges(self, column: str) -> Iterator[Summary]:
        parts: list[Summary] = []
        for found in self.frame.values(column):
            parts.append(self._summary(column, *found))
            if sum(len(part.values) for part in parts) >= MOST_VALUES // 4:
                yield _joined(parts)
                parts = []
        if parts and len(_joined(parts).values):
            yield _joined(parts)

    def _summary(self, column: str, values: pa.ChunkedArray, counts: np.ndarray) -> Summary:
        there = values.is_valid().to_numpy()
        known = numbers_like(values.filter(pa.array(there)), column, self.sources[column])
        return Summary(known, counts[there], int(counts[~there].sum()))

    def _by_class(self, column: str, target: str) -> Summary:
        tuples, counts = self.frame.counts([column, target], by_value=True)
        if tuples[target].null_count:
            raise BadInput(f"the target '{target}' holds nulls; give each row a class")
        classes = pa.chunked_array([tuples[target].unique()])
        classes = classes.take(pa.compute.sort_indices(classes))
        if len(classes) < 2:
            raise BadInput(f"the target '{target}' holds one class only, {classes[0]}")
        code = pa.compute.index_in(tuples[target], value_set=classes.combine_chunks()).to_numpy()
        there = tuples[column].is_valid().to_numpy()
        values = numbers_like(tuples[column].filter(pa.array(there)), column, self.sources[column])
        distinct, place = np.unique(values, return_inverse=True)
        table = np.zeros((len(distinct), len(classes)), dtype=np.int32)
        table[place, code[there]] = counts[there]
        return Summary(distinct, table.sum(axis=1), int(counts[~there].sum()), table)

    def _by_unit(self, column: str, unit: str) -> Summary:
        refuse_too_many(self.frame, [column, unit], MOST_VALUES, "round it first")
        pairs, counts = self.frame.counts([column, unit], by_value=True)
        there = pairs[column].is_valid().to_numpy()
        values = numbers_like(pairs[column].filter(pa.array(there)), column, self.sources[column])
        units = encode(pairs[unit], unit)[0][there]
        distinct, sizes = np.unique(values, return_counts=True)
        starts = np.append(0, np.cumsum(sizes))
        records = np.add.reduceat(counts[there], starts[:-1]) if len(sizes) else sizes
        holders = Holders(units, starts, int(units.max(initial=0)) + 1)
        return Summary(distinct, records, int(counts[~there].sum()), None, holders)

    def tuples(self, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """Count the distinct tuples, by first appearance."""
        refuse_too_many(self.frame, columns, MOST_TUPLES, "round or group them first")
        found, counts = self.frame.counts(columns)
        for place, name in enumerate(columns):
            # Numbers that are categories have no order.
            if pa.types.is_dictionary(self.frame.schema.field(name).type):
                found = found.set_column(place, name, found[name].dictionary_encode())
        return found, counts

    def smallest(
        self,
        columns: Sequence[str],
        find: Callable[[Mapping[str, Any]], np.ndarray],
        needed: np.ndarray,
        draws: Draws,
    ) -> np.ndarray:
        """Draw for each row, and keep no more words than are needed from piece to piece."""
        by = self.unit or self.key
        function = partial(_drawn, tuple(columns), find, needed, draws, by, by == self.unit)
        taken = [*columns, *filter(None, [by])]
        return self.frame.fold(function, partial(_smaller, needed), taken)[1]

    def moments(self, columns: Sequence[str]) -> Moments:
        """Put the moments of the pieces together."""
        sources = {name: self.sources[name] for name in columns}
        return self.frame.fold(partial(_moments, sources), _two, columns)


def refuse_too_many(frame: Frame, columns: Sequence[str], most: int, instead: str) -> None:
    """Refuse more distinct values or tuples than can be taken into memory."""
    about = frame.about_how_many(columns)
    if about > most:
        what = "values" if len(columns) == 1 else "tuples"
        named = " and ".join(f"'{column}'" for column in columns)
        raise BadInput(
            f"{named} have about {about:,} distinct {what}, of which {most:,} can be decided "
            f"on at once; {instead}"
        )


# Tuples with words.
Drawn = tuple[np.ndarray, np.ndarray]


def _drawn(
    columns: Sequence[str],
    find: Callable[[Mapping[str, Any]], np.ndarray],
    needed: np.ndarray,
    draws: Draws,
    by: str | None,
    by_unit: bool,
    piece: pa.Table,
    rows: np.ndarray,
) -> Drawn:
    tuples = find({name: piece[name] for name in columns})
    if by is not None:
        rows = group_numbers(piece[by]) if by_unit else row_numbers(piece[by], by)
    some = np.flatnonzero(needed[tuples])
    return smallest(tuples[some], draws.at(rows).words(some), needed)


def _smaller(needed: np.ndarray, one: Drawn, other: Drawn) -> Drawn:
    tuples, words = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    return smallest(tuples, words, needed)


def _moments(sources: Mapping[str, Numbers], piece: pa.Table, rows: np.ndarray) -> Moments:
    return moments_of([numbers_like(piece[name], name, s) for name, s in sources.items()])


def _two(one: Moments, other: Moments) -> Moments:
    return joined((one, other))


def _joined(parts: Sequence[Summary]) -> Summary:
    """Put summaries of ascending ranges together."""
    return Summary(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.counts for part in parts]),
        sum(part.nulls for part in parts),
    )
