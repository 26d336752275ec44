"""Two passes over the rows of two tables, side by side: what measures add up from pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from discreet.assessment.rows import Rows
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.engines.frame import plain_type
from discreet.errors import BadInput
from discreet.table.columns import float_values
from discreet.table.moments import Moments, joined, spreads_of
from discreet.utility.moments import product_sums
from discreet.utility.nulls import empty_cells

_CELLS = ("absolute", "squares", "difference", "relative", "used", "close")
_SIDES = ("before", "after")
Pairs = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Wanted:
    """What the first pass looks at; can be pickled."""

    shared: tuple[str, ...]
    numeric: tuple[str, ...]
    quasi: tuple[str, ...]
    also: tuple[str, ...]  # of the original, besides: weights, households, what is counted
    also_after: tuple[str, ...]  # of the release, besides: households
    weight: str | None
    draws: Draws | None  # a word per row: those with the smallest are the sample; None: all are
    below: int  # rows with a word up to it may be among the sample


@dataclass(frozen=True)
class Look:
    """What the first pass finds; pairs are of before and after."""

    alone: tuple[Moments, Moments]  # of the numeric columns, among the rows of both
    paired: tuple[Moments, Moments]  # of the cells that have a value on both sides
    changed: frozenset[str]  # columns with a cell that differs
    # Rows of both by the columns in which they are null.
    patterns: tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]
    # Cells of the original's quasi columns, in all its rows: null, and null or *.
    quasi_nulls: int
    quasi_empty: int
    # Rows of both by the quasi columns in which they are null or * after.
    empty: Counter[tuple[str, ...]]
    # Rows of both by the quasi columns in which they had a value that is not there after.
    blanked: Counter[tuple[str, ...]]
    gone: tuple[np.ndarray, ...]  # numbers of the rows that are not there after
    sample: tuple[Rows, ...]  # the rows that may be among the sample, in pieces
    bad_weight: tuple[int, float] | None  # number and weight of the first row whose weight is none
    # Of both sides the weights of the cells that are there, and the sums of weighted values.
    weighted: np.ndarray


def look(before: Frame, after: Frame, wanted: Wanted) -> Look:
    """Make the first pass."""
    columns = list(dict.fromkeys([*wanted.shared, *wanted.also]))
    return before.fold_pairs(
        after, partial(_look, wanted), _both_looks, columns, [*wanted.shared, *wanted.also_after]
    )


def _look(
    wanted: Wanted, before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table
) -> Look:
    if np.count_nonzero(there) != len(after):
        raise BadInput("rows names a row of the original twice")
    quasi_nulls = sum(before[name].null_count for name in wanted.quasi)
    quasi_empty = int(empty_cells(before, wanted.quasi, "count").sum())
    gone = rows[~there]
    if len(gone):
        before, rows = before.filter(pa.array(there)), rows[there]
    both = Rows(before, after, rows, wanted.numeric)
    changed = {name for name, pair in both.pairs.items() if not _same(*pair)}
    for name in wanted.shared:
        if name not in wanted.numeric and not _equal(before[name], after[name]):
            changed.add(name)
    pairs = list(both.pairs.values())
    x, y = ([pair[side] for pair in pairs] for side in (0, 1))
    with np.errstate(invalid="ignore", over="ignore"):
        alone = spreads_of(x), spreads_of(y)
        paired = _paired(pairs, alone)
    if wanted.draws is not None:
        both = both.take(np.flatnonzero(wanted.draws.words(rows) <= np.uint64(wanted.below)))
    return Look(
        alone=alone,
        paired=paired,
        changed=frozenset(changed),
        patterns=(_patterns(before, wanted.shared), _patterns(after, wanted.shared)),
        quasi_nulls=quasi_nulls,
        quasi_empty=quasi_empty,
        empty=_empty(after, wanted.quasi),
        blanked=_blanked(before, after, wanted.quasi),
        gone=(gone,) if len(gone) else (),
        sample=(both,),
        bad_weight=_bad_weight(before, wanted.weight, rows),
        weighted=np.array([_weighted(side, before, wanted.weight) for side in (x, y)]),
    )


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    different = x != y
    if not different.any():
        return True
    return bool((np.isnan(x) & np.isnan(y))[different].all())


def _equal(x: pa.ChunkedArray, y: pa.ChunkedArray) -> bool:
    if x.type == y.type and x.equals(y):
        return True
    x, y = x.cast(plain_type(x.type)), y.cast(plain_type(y.type))
    return bool(x.type == y.type and x.equals(y))


def _paired(pairs: Pairs, alone: tuple[Moments, Moments]) -> tuple[Moments, Moments]:
    n = len(pairs[0][0]) if pairs else 0
    if all((side.n == n).all() for side in alone):
        return alone
    null = [np.isnan(x) | np.isnan(y) for x, y in pairs]
    before, after = (
        spreads_of([pair[side][~gone] for pair, gone in zip(pairs, null, strict=True)])
        for side in (0, 1)
    )
    return before, after


def _patterns(table: pa.Table, names: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    """Count the sets of columns that are null together."""
    masks = {name: table[name].is_null().to_numpy() for name in names if table[name].null_count}
    return _together(masks, len(table))


def _empty(table: pa.Table, names: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    """Count the sets of columns that are null or * together."""
    masks = dict(zip(names, empty_cells(table, names, "count"), strict=True))
    return _together({name: mask for name, mask in masks.items() if mask.any()}, len(table))


def _blanked(before: pa.Table, after: pa.Table, names: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    """Count the sets of columns that lost their values together."""
    masks = {
        name: after[name].is_null().to_numpy() & before[name].is_valid().to_numpy()
        for name in names
        if after[name].null_count
    }
    return _together(masks, len(before))


def _together(masks: dict[str, np.ndarray], n: int) -> Counter[tuple[str, ...]]:
    """Count of n rows the sets of columns that are masked together."""
    holding = list(masks)
    if not holding:
        return Counter({(): n}) if n else Counter()
    packed = np.ascontiguousarray(np.packbits(list(masks.values()), axis=0).T)
    if packed.shape[1] == 1:
        counts = np.bincount(packed[:, 0], minlength=256)
        kinds = np.flatnonzero(counts).astype(np.uint8)[:, None]
        counts = counts[counts > 0]
    else:
        whole = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
        distinct, counts = np.unique(whole, return_counts=True)
        kinds = distinct.view(np.uint8).reshape(len(distinct), -1)
    bits = np.unpackbits(kinds, axis=1, count=len(holding)).astype(bool)
    found: Counter[tuple[str, ...]] = Counter()
    for null, count in zip(bits, counts.tolist(), strict=True):
        found[tuple(name for name, gone in zip(holding, null, strict=True) if gone)] = count
    return found


def by_column(patterns: Counter[tuple[str, ...]], columns: Sequence[str]) -> dict[str, int]:
    """Count the rows in which each column is part of their pattern."""
    found = dict.fromkeys(columns, 0)
    for together, count in patterns.items():
        for name in together:
            found[name] += count
    return found


def touching(patterns: Counter[tuple[str, ...]], columns: Sequence[str]) -> int:
    """Count the rows with any of some columns in their pattern."""
    return sum(n for together, n in patterns.items() if not set(together).isdisjoint(columns))


def _bad_weight(table: pa.Table, weight: str | None, rows: np.ndarray) -> tuple[int, float] | None:
    if weight is None:
        return None
    values = float_values(table[weight], weight)
    bad = ~(np.isfinite(values) & (values > 0))
    first = int(np.argmax(bad)) if bad.any() else None
    return None if first is None else (int(rows[first]), float(values[first]))


def _weighted(columns: Sequence[np.ndarray], table: pa.Table, weight: str | None) -> np.ndarray:
    """Sum the weights of each column's cells, and their weighted values."""
    if weight is None:
        return np.zeros((2, len(columns)))
    weights, there = float_values(table[weight], weight), [~np.isnan(x) for x in columns]
    with np.errstate(invalid="ignore", over="ignore"):
        sums = [(weights[t].sum(), weights[t] @ x[t]) for x, t in zip(columns, there, strict=True)]
    return np.array(sums).reshape(-1, 2).T


def _both_looks(one: Look, other: Look) -> Look:
    return Look(
        alone=_joined(one.alone, other.alone),
        paired=_joined(one.paired, other.paired),
        changed=one.changed | other.changed,
        patterns=(one.patterns[0] + other.patterns[0], one.patterns[1] + other.patterns[1]),
        quasi_nulls=one.quasi_nulls + other.quasi_nulls,
        quasi_empty=one.quasi_empty + other.quasi_empty,
        empty=one.empty + other.empty,
        blanked=one.blanked + other.blanked,
        gone=one.gone + other.gone,
        sample=one.sample + other.sample,
        bad_weight=min(filter(None, (one.bad_weight, other.bad_weight)), default=None),
        weighted=one.weighted + other.weighted,
    )


def _joined(
    one: tuple[Moments, Moments], other: tuple[Moments, Moments]
) -> tuple[Moments, Moments]:
    # Infinity has no moments; the measures refuse it later, by name.
    with np.errstate(invalid="ignore"):
        return joined([one[0], other[0]]), joined([one[1], other[1]])


@dataclass(frozen=True)
class Scales:
    """What the second pass measures with; can be pickled."""

    numeric: tuple[str, ...]
    changed: tuple[int, ...]  # which of them differ
    centres: tuple[np.ndarray, np.ndarray]  # means of all, before and after, to measure from
    paired: tuple[np.ndarray, np.ndarray]  # of the changed ones' cells with values on both sides
    spread: np.ndarray  # standard deviation before, of the changed ones; 1 where there is none
    width: np.ndarray  # how near an original must be to count as disclosed
    masked: bool  # some changed cell is null on one side only


class Changes(NamedTuple):
    """What the second pass finds: sums over the cells, a row each of the changed columns.

    `absolute`, `squares`, `difference`: |x - y|, ((x - y) / spread)^2 and x - y; `relative`:
    |x - y| / |x| over the `used` cells, with x != 0; `close`: cells within the width.
    """

    cells: dict[str, np.ndarray]
    alone: np.ndarray  # the four `product_sums` of all numeric columns, before and after
    paired: np.ndarray  # of the changed ones, where both sides have values


# Pieces are on all cores already.
@threadpool_limits.wrap(limits=1, user_api="blas")
def compare(before: Frame, after: Frame, scales: Scales) -> Changes:
    """Make the second pass."""
    names = list(scales.numeric)
    return before.fold_pairs(after, partial(_compare, scales), _both_changes, names, names)


def _compare(
    scales: Scales, before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table
) -> Changes:
    if not there.all():
        before = before.filter(pa.array(there))
    return changes_of(scales, list(Rows(before, after, rows, scales.numeric).pairs.values()))


def changes_of(scales: Scales, pairs: Pairs) -> Changes:
    """Add up over some rows, of which all numeric columns are given."""
    at = list(scales.changed)
    chosen = [pairs[i] for i in at]
    if scales.masked:
        null = [np.isnan(x) | np.isnan(y) for x, y in chosen]
        chosen = [
            (np.where(gone, np.nan, x), np.where(gone, np.nan, y))
            for (x, y), gone in zip(chosen, null, strict=True)
        ]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        found = [
            _cells(x, y, spread, width)
            for (x, y), spread, width in zip(chosen, scales.spread, scales.width, strict=True)
        ]
        alone = _products(pairs, scales.centres)
        paired = alone[:, :, at][:, :, :, at]
        if scales.masked:
            paired = _products(chosen, scales.paired)
    return Changes({name: np.array([one[name] for one in found]) for name in _CELLS}, alone, paired)


def _products(pairs: Pairs, centres: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    sides = ([pair[side] for pair in pairs] for side in (0, 1))
    return np.array([product_sums(side, own) for side, own in zip(sides, centres, strict=True)])


def _cells(x: np.ndarray, y: np.ndarray, spread: float, width: float) -> dict[str, Any]:
    both = ~np.isnan(x)
    if not both.all():
        x, y = x[both], y[both]
    change = x - y
    size = np.abs(change)
    used = x != 0
    relative = size / np.abs(x) if used.all() else size[used] / np.abs(x[used])
    scaled = change / spread
    return {
        "absolute": size.sum(),
        "squares": np.einsum("i,i", scaled, scaled),
        "difference": change.sum(),
        "relative": relative.sum(),
        "used": np.count_nonzero(used),
        "close": np.count_nonzero(size <= width),
    }


def _both_changes(one: Changes, other: Changes) -> Changes:
    cells = {name: part + other.cells[name] for name, part in one.cells.items()}
    return Changes(cells, one.alone + other.alone, one.paired + other.paired)


@dataclass(frozen=True)
class Beside:
    """Tuples of some columns before and after, and the original's unit beside; picklable."""

    before: Sequence[str]
    after: Sequence[str]
    unit: str | None = None
    weight: str | None = None

    @property
    def own(self) -> list[str]:
        """What is asked of the original beside the tuples."""
        return [name for name in (self.unit, self.weight) if name is not None]

    @property
    def names(self) -> list[str]:
        """The columns of the tuples that are counted, the unit last."""
        return [*self.before, *self.after, *([] if self.unit is None else [self.unit])]


def counted_beside(
    before: Frame, after: Frame, wanted: Beside
) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Return the distinct tuples, with their units, the rows of each, and the sum of their weights.

    Rows of both count, and units and weights are the original's.
    """
    # A column may have several roles.
    of_before = list(dict.fromkeys([*wanted.own, *wanted.before]))
    function = partial(_beside, wanted)
    parts = before.fold_pairs(after, function, _both_beside, of_before, wanted.after)
    found = _grouped(parts, len(wanted.names))
    tuples = found.select(range(len(wanted.names))).rename_columns(wanted.names)
    return tuples, found["n"].to_numpy(), found["w"].to_numpy()


def _beside(
    wanted: Beside, before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table
) -> list[pa.Table]:
    before = before.filter(pa.array(there))
    cells = [before[name] for name in wanted.before] + [after[name] for name in wanted.after]
    if wanted.unit is not None:
        cells.append(before[wanted.unit])
    plain = [column.cast(plain_type(column.type)) for column in cells]
    names = [f"c{i}" for i in range(len(plain))]
    ones = np.ones(len(before), np.int64)
    weights = ones if wanted.weight is None else float_values(before[wanted.weight], wanted.weight)
    table = pa.table([*plain, pa.array(ones), pa.array(weights)], names=[*names, "n", "w"])
    return [_grouped([table], len(names))]


def sums_by_value(
    before: Frame, after: Frame, values: Mapping[str, np.ndarray]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return how many rows some released numbers have, and the sums of their originals.

    Values are sorted, by column; rows count that have one on both sides.
    """
    function, columns = partial(_summed, dict(values)), list(values)
    return before.fold_pairs(after, function, _both_summed, columns, columns)


def _summed(
    values: dict[str, np.ndarray],
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    before = before.filter(pa.array(there))
    found = {}
    for name, wanted in values.items():
        x, y = float_values(before[name], name), float_values(after[name], name)
        at = np.minimum(np.searchsorted(wanted, y), len(wanted) - 1)
        held = (wanted[at] == y) & ~np.isnan(x)
        at, m = at[held], len(wanted)
        found[name] = np.bincount(at, minlength=m), np.bincount(at, x[held], minlength=m)
    return found


def _both_summed(
    one: dict[str, tuple[np.ndarray, np.ndarray]], other: dict[str, tuple[np.ndarray, np.ndarray]]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {name: (n + other[name][0], w + other[name][1]) for name, (n, w) in one.items()}


def _both_beside(one: list[pa.Table], other: list[pa.Table]) -> list[pa.Table]:
    """Keep pieces until they outgrow what is put together already."""
    first, *pieces = [*one, *other]
    if sum(map(len, pieces)) > max(len(first), 1 << 20):
        return [_grouped([first, *pieces], first.num_columns - 2)]
    return [first, *pieces]


def _grouped(tables: list[pa.Table], columns: int) -> pa.Table:
    names = [f"c{i}" for i in range(columns)]
    found = pa.concat_tables(tables).group_by(names).aggregate([("n", "sum"), ("w", "sum")])
    return found.select([*names, "n_sum", "w_sum"]).rename_columns([*names, "n", "w"])


def share_below(m: int, n: int) -> int:
    """Return a word that about m of n random ones are below, and almost surely no fewer than m."""
    share = (m + 10 * np.sqrt(m) + 100) / max(n, 1)
    return 2**64 - 1 if share >= 1 else int(share * 2**64)


def with_smallest(sample: Sequence[Rows], m: int, draws: Draws) -> Rows:
    """Return the rows with the m smallest words, in the order of the table."""
    before, after = (pa.concat_tables([getattr(part, s) for part in sample]) for s in _SIDES)
    numbers = np.concatenate([part.numbers for part in sample])
    words = draws.words(numbers)
    at = np.argpartition(words, m)[:m] if m < len(words) else np.arange(len(words))
    # Pieces may have come in any order.
    at = at[np.argsort(numbers[at])]
    return Rows(before, after, numbers, sample[0].numeric).take(at)
