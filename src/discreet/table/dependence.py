"""Which columns give another one's values away: the original values of one that was treated.

Records are in classes by what is known of the treated column: its released value, or nothing where
released values say little (noise). Another column, or two, cut classes into cells. A cell *tells*
the value if nearly all of its records have the same one, and the class does not. Few records agree
by chance, and with some hundred columns chance is asked often, so that a cell counts only if

- it takes away 95 % of the doubt: (share in cell - share in class) / (1 - share in class), and
- so many records would not agree by chance anywhere in the whole search: the chance that n records
  of a class hold a value x times is at most exp(-n KL(x/n, share in class)) (Hoeffding, who proved
  it for draws without replacement too), which is multiplied by the number of cells, values and
  searches and must stay under `CHANCE`;
- or it is one of the cells that are too small to count alone, and these agree as a whole: two
  records of each are compared, and 90 % of the doubt must be gone. The evidence is what bets on
  their agreement win, which by chance exceeds 1 / c with a probability of at most c.

The classes of a pair of columns are those that each column makes by itself; a pair counts only for
what neither of them tells. Columns of numbers that are different in nearly every record have
ranges of 16 neighbours for cells, and are in no pair; they also give another away if sorting by
them sorts it, in blocks of eight records.
A column *narrows* values down if its cells leave out those of half of the class or more: n records
miss given values of share q with a chance of (1 - q)^n, and there are 2^v choices of v values.

Where the class of a record shows the value, as most do if a few records are suppressed, it teaches
what other columns say of it: cells of such records that tell the value, by the same evidence, are
applied to the records at stake. They count if that takes away 90 % of the doubt about those who
are in these cells.

What concerns fewer than 1 % of the records at stake, or fewer than five units, is not told.
Records of one unit are not independent: each unit is asked once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from discreet.kernels import dependence as kernel
from discreet.table.classes import first_rows
from discreet.threads import over_ranges

# Of a false alarm anywhere in a search over a table.
CHANCE = 1e-9
# Of the records whose released value leaves their original open; and of units.
LEAST_SHARE, LEAST_UNITS = 0.01, 5
_DOUBT_GONE, _DOUBT_GONE_TOGETHER, _ORDERED = 0.95, 0.9, 0.5
_SMALL, _NEIGHBOURS = 64, 16
# What is looked at first, before all records are. A pair that tells 1 % of the records or more has
# that share there too, and is passed over below a quarter of it: of 65,536 records that has a
# probability under 1e-9; of one in some cells, each with up to 60 records, under 1 %, and under
# 1e-5 if the pair tells 3 %.
_SAMPLE, _PASSED_OVER, _LESS_DOUBT, _WHOLE = 1 << 16, LEAST_SHARE / 4, 0.6, 64

How = Literal["tells", "tells nothing but zeros", "tells the group", "sorts", "narrows"]


@dataclass(frozen=True)
class Known:
    """A column that everybody sees."""

    name: str
    codes: np.ndarray  # of its values, nulls among them, from 0
    size: int
    numbers: np.ndarray | None = None  # what it holds, if these are numbers; NaN for nulls

    @cached_property
    def in_ranges(self) -> Known:
        """The column with a code for each range of neighbours; equal numbers are in one."""
        assert self.numbers is not None
        ranked = np.sort(self.numbers)
        codes = np.searchsorted(ranked, self.numbers) // _NEIGHBOURS
        codes[np.isnan(self.numbers)] = len(ranked) // _NEIGHBOURS + 1
        codes, size = kernel.numbered(codes.astype(np.int64), len(ranked) // _NEIGHBOURS + 2)
        return Known(self.name, codes, size, self.numbers)


@dataclass(frozen=True)
class Hidden(Known):
    """A column with values that nobody should see, in the classes of what is seen of it."""

    classes: np.ndarray | None = None  # from 0; None if nothing is known
    beside: Collection[str] = ()  # columns that share its protection, and so need not be asked


@dataclass(frozen=True)
class Telling:
    """What gives values away: one column or two."""

    columns: tuple[str, ...]
    records: int  # whose value it tells
    at_stake: int  # whose value is not clear without it
    # It tells the value, or only who has 0, or the group that the value is released as elsewhere;
    # sorting by it sorts the values; or it leaves fewer.
    how: How = "tells"


def telling(
    hidden: Hidden, known: Sequence[Known], units: np.ndarray | None = None, searches: int = 1
) -> list[Telling]:
    """Return the columns, and pairs of columns, that give the values of a hidden one away.

    Parameters
    ----------
    hidden : Hidden
    known : sequence of Known
    units : array, optional
        Numbers of the units that the records belong to; by default each is one by itself.
    searches : int
        How many hidden columns are searched for in the same table.

    Examples
    --------
    >>> city = np.arange(600) % 6
    >>> region = Hidden("region", city // 2, 3, classes=np.zeros(600, np.int64))
    >>> sex = np.arange(600) // 300
    >>> telling(region, [Known("city", city, 6), Known("sex", sex, 2)])
    [Telling(columns=('city',), records=600, at_stake=600, how='tells')]
    """
    search = _Search(hidden, known, units, searches)
    return search.run() if search.at_stake else []


@dataclass(frozen=True)
class _Classes:
    """Classes of records, with the values within each: no two classes share one."""

    ids: np.ndarray
    count: int
    values: np.ndarray
    sizes: np.ndarray  # in units
    value_sizes: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, count: int, values: np.ndarray, first: np.ndarray) -> _Classes:
        size = int(values.max(initial=0)) + 1
        within, found = kernel.numbered(ids.astype(np.int64) * size + values, count * size)
        sizes = np.bincount(ids[first], minlength=count)
        return cls(ids, count, within, sizes, np.bincount(within[first], minlength=found))

    def share(self, rows: np.ndarray) -> np.ndarray:
        """Return how much of its class has the value of a row."""
        return self.value_sizes[self.values[rows]] / np.maximum(self.sizes[self.ids[rows]], 1)

    def odds(self, rows: np.ndarray) -> np.ndarray:
        """Return how much of the others in its class has the value of a row."""
        others = np.maximum(self.sizes[self.ids[rows]] - 1, 1)
        return (self.value_sizes[self.values[rows]] - 1) / others


@dataclass(frozen=True)
class _Cells:
    """Cells of units, and how far each agrees."""

    sizes: np.ndarray
    hits: np.ndarray
    at: np.ndarray  # a row with the usual value
    one: np.ndarray
    other: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, count: int, values: np.ndarray, rows: np.ndarray) -> _Cells:
        found = kernel.majorities(ids, count, values[rows])
        return cls(*found[:2], *(np.where(place < 0, -1, rows[place]) for place in found[2:]))

    def doubt_gone(self, share: np.ndarray) -> np.ndarray:
        part = self.hits / np.maximum(self.sizes, 1)
        return np.where(share < 1, (part - share) / np.maximum(1 - share, 1e-12), 0.0)

    def bets(self, classes: _Classes) -> tuple[float, float]:
        """Return the evidence that small cells agree, and how much doubt that takes away."""
        pairs = (self.sizes >= 2) & (self.sizes <= _SMALL)
        won, agreed, expected = kernel.bets(
            self.one[pairs],
            self.other[pairs],
            classes.ids,
            classes.sizes,
            classes.values,
            classes.value_sizes,
        )
        doubt = int(pairs.sum()) - expected
        return won, (agreed - expected) / doubt if doubt > 0 else 0.0


class _Search:
    """The search for what gives one column away, among the records that are at stake."""

    def __init__(
        self, hidden: Hidden, known: Sequence[Known], units: np.ndarray | None, searches: int
    ) -> None:
        n = len(hidden.codes)
        ids = np.zeros(n, np.int64) if hidden.classes is None else hidden.classes
        ids, count = kernel.numbered(ids.astype(np.int64), int(ids.max(initial=0)) + 1)
        every = _Classes.of(ids, count, hidden.codes, np.arange(n))
        # Classes with several values: of the others everybody knows them.
        several = np.zeros(count, bool)
        several[ids[every.value_sizes[every.values] < every.sizes[ids]]] = True
        self.rows = np.flatnonzero(several[ids])
        self.at_stake = len(self.rows)
        self.hidden, self.units = hidden, None if units is None else units[self.rows]
        self.first = _one_of_each(self.units, self.at_stake)
        shown = np.flatnonzero(~several[ids])
        shown = shown[_one_of_each(None if units is None else units[shown], len(shown))]
        if len(shown) > 2 * _SAMPLE:
            shown = np.sort(np.random.default_rng(0).choice(shown, 2 * _SAMPLE, replace=False))
        self.shown = shown
        self.names = [c.name for c in known if c.name not in (hidden.name, *hidden.beside)]
        asked = [c for c in known if c.size > 1 and c.name != hidden.name]
        self.ranged = {c.name for c in asked if c.numbers is not None and c.size > n / 2}
        self.known = {c.name: c.in_ranges if c.name in self.ranged else c for c in asked}
        self.classes = self._classes(ids, count)
        self.codes: dict[str, np.ndarray] = {}
        self.parted: dict[str, _Classes] = {}
        columns = len(self.known)
        self.evidence = np.log(searches * (columns * columns + 2) / CHANCE)

    def _classes(self, ids: np.ndarray, count: int) -> _Classes:
        values = self.hidden.codes[self.rows]
        return _Classes.of(ids[self.rows], count, values.astype(np.int64), self.first)

    def run(self) -> list[Telling]:
        """Ask each column, then each pair."""
        rows = self.at_stake
        names = [name for name in self.names if name in self.known]
        alone = over_ranges(lambda place, _: self._alone(names[place]), len(names), 1, rows)
        masks = {name: mask for name, mask in zip(names, alone, strict=True) if mask is not None}
        found = [
            Telling((name,), int(mask.sum()), self.at_stake, how)
            for name, (mask, how) in masks.items()
        ]
        told = {name: mask for name, (mask, how) in masks.items() if how != "narrows"}
        pairs = [pair for pair in combinations(self.known, 2) if self._worth_asking(pair, told)]
        masks_2 = over_ranges(lambda at, _: self._pair(pairs[at], told), len(pairs), 1, rows)
        for pair, mask in zip(pairs, masks_2, strict=True):
            if mask is not None:
                found.append(Telling(pair, int(mask.sum()), self.at_stake, self._of_zeros(mask)))
        return found

    def _of_zeros(self, mask: np.ndarray) -> How:
        """Tell apart who has nothing: that children earn nothing is no secret of theirs."""
        numbers = self.hidden.numbers
        none = numbers is not None and not numbers[self.rows][mask].any()
        return "tells nothing but zeros" if none else "tells"

    def _worth_asking(self, pair: tuple[str, ...], told: dict[str, np.ndarray]) -> bool:
        if not set(pair) & set(self.names):
            return False
        for name in pair:
            if name in self.ranged:
                return False
            if not (self._repeats(name, self.first) or self._repeats(name, self.shown)):
                return False
            if name in told and told[name].mean() > 1 - LEAST_SHARE:
                return False
        return True

    def _repeats(self, name: str, rows: np.ndarray) -> bool:
        """Tell whether a column has cells: not every other record by itself."""
        return self.known[name].size <= len(rows) / 2

    # Cells

    def _of(self, name: str) -> np.ndarray:
        """Return the values of a column in the records at stake."""
        if name not in self.codes:
            codes = self.known[name].codes
            self.codes[name] = codes if self.at_stake == len(codes) else codes[self.rows]
        return self.codes[name]

    def _parted(self, name: str) -> _Classes:
        """Return the classes that a column makes of the classes."""
        if name not in self.parted:
            ids, count = self._cut(self.classes.ids, self.classes.count, name)
            self.parted[name] = _Classes.of(ids, count, self.classes.values, self.first)
        return self.parted[name]

    def _compared_with(self, names: tuple[str, ...]) -> list[_Classes]:
        """Return the classes without a column, or without each of two."""
        return [self.classes] if len(names) == 1 else [self._parted(name) for name in names]

    def _cut(
        self, ids: np.ndarray, count: int, name: str, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, int]:
        codes, size = self._of(name), self.known[name].size
        codes = codes if rows is None else codes[rows]
        return kernel.numbered(ids.astype(np.int64) * size + codes, count * size)

    def _alone(self, name: str) -> tuple[np.ndarray, How] | None:
        mask = None
        repeats = self._repeats(name, self.first)
        if repeats and self._possible((name,)):
            parted = self._parted(name)
            mask = self._told(parted.ids, parted.count, self._compared_with((name,)))
        mask = _either(mask, self._taught((name,)))
        if mask is not None:
            return mask, self._of_zeros(mask)
        mask = self._sorted(name)
        if mask is not None:
            return mask, "sorts"
        mask = self._narrowed(name) if repeats and name not in self.ranged else None
        return None if mask is None else (mask, "narrows")

    def _pair(self, pair: tuple[str, ...], told: dict[str, np.ndarray]) -> np.ndarray | None:
        mask = None
        if all(self._repeats(name, self.first) for name in pair) and self._possible(pair):
            one = self._parted(pair[0])
            ids, count = self._cut(one.ids, one.count, pair[1])
            mask = self._told(ids, count, self._compared_with(pair))
        mask = _either(mask, self._taught(pair))
        if mask is None:
            return None
        for name in pair:
            mask &= ~told.get(name, np.False_)
        return mask if self._enough(mask) else None

    def _told(self, ids: np.ndarray, count: int, classes: list[_Classes]) -> np.ndarray | None:
        """Mask the records whose value their cell tells, if they are enough."""
        cells = _Cells.of(ids[self.first], count, self.classes.values, self.first)
        good = self._telling(cells, classes)
        mask = good[ids] & (self.classes.values == self.classes.values[cells.at][ids])
        return mask if self._enough(mask) else None

    def _telling(self, cells: _Cells, classes: list[_Classes]) -> np.ndarray:
        """Mask the cells that tell the value."""
        share = _share(classes, cells.at)
        gone = cells.doubt_gone(share)
        chances = np.log(float(len(cells.sizes)) * self.hidden.size)
        good = (gone >= _DOUBT_GONE) & (
            cells.sizes * _divergence(cells.hits / np.maximum(cells.sizes, 1), share)
            >= self.evidence + chances
        )
        if all(self._together(cells, c) for c in classes):
            good |= (gone >= _DOUBT_GONE) & (cells.sizes >= 2) & (cells.sizes <= _SMALL)
        return good

    def _together(self, cells: _Cells, classes: _Classes) -> bool:
        won, gone = cells.bets(classes)
        return won >= self.evidence and gone >= _DOUBT_GONE_TOGETHER

    def _enough(self, mask: np.ndarray) -> bool:
        return bool(
            mask.sum() >= LEAST_SHARE * self.at_stake and mask[self.first].sum() >= LEAST_UNITS
        )

    # What records teach that show the value

    def _taught(self, names: tuple[str, ...]) -> np.ndarray | None:
        """Mask the records whose value is that of their cell among those which show theirs."""
        if not all(self._repeats(name, self.shown) for name in names):
            return None
        if len(self.first) > 2 * _SAMPLE:
            some = self._sample[0]
            if self._lesson(names, some).sum() < _PASSED_OVER * len(some):
                return None
        mask = self._lesson(names, np.arange(self.at_stake))
        return mask if self._enough(mask) else None

    def _lesson(self, names: tuple[str, ...], rows: np.ndarray) -> np.ndarray:
        """Mask those of the rows at stake that the others tell, if these are mostly right."""
        n = len(self.shown)
        both = np.concatenate([self.shown, self.rows[rows]])
        ids, count = np.zeros(len(both), np.int64), 1
        apart = []
        for name in names:
            codes, size = self.known[name].codes[both], self.known[name].size
            ids, count = kernel.numbered(ids.astype(np.int64) * size + codes, count * size)
            apart.append((codes[:n], size))
        values = self.hidden.codes[both].astype(np.int64)
        every = np.arange(n)
        if len(names) == 1:
            apart = [(np.zeros(n, np.int64), 1)]
        classes = [_Classes.of(codes, size, values[:n], every) for codes, size in apart]
        cells = _Cells.of(ids[:n], count, values[:n], every)
        asked = (self._telling(cells, classes) & (cells.sizes > 0))[ids[n:]]
        right = asked & (values[n:] == values[:n][cells.at][ids[n:]])
        expected = self.classes.share(rows[asked]).sum()
        doubt = asked.sum() - expected
        if right.sum() - expected < _DOUBT_GONE_TOGETHER * doubt:
            right[:] = False
        return right

    # What is looked at first

    @cached_property
    def _sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Return some units' rows: of small classes all or none, of large ones some."""
        sizes, ids = self.classes.sizes, self.classes.ids[self.first]
        rng = np.random.default_rng(0)
        part = _SAMPLE / len(self.first)
        whole = sizes <= _WHOLE
        taken = whole & (rng.random(len(sizes)) < part)
        rows = (rng.random(len(ids)) < part) & ~whole[ids]
        chosen = self.first[rows | taken[ids]]
        return chosen, whole[self.classes.ids[chosen]]

    @cached_property
    def _numbered_sample(self) -> tuple[np.ndarray, int]:
        ids = self.classes.ids[self._sample[0]]
        return kernel.numbered(ids.astype(np.int64), self.classes.count)

    def _possible(self, names: tuple[str, ...]) -> bool:
        """Tell whether columns may tell enough, by some of the records."""
        if len(self.first) <= 2 * _SAMPLE:
            return True
        rows, whole = self._sample
        ids, count = self._numbered_sample
        for name in names:
            ids, count = self._cut(ids, count, name, rows)
        cells = _Cells.of(ids, count, self.classes.values, rows)
        classes = self._compared_with(names)
        share = _share(classes, cells.at)
        gone = cells.doubt_gone(share)
        complete = whole[first_rows(ids, count)]
        seen = self._seen(cells, classes, gone, complete)
        # Of a value that nearly all have, not even all records of the cell would be evidence.
        most = (cells.sizes + 4 * np.sqrt(cells.sizes) + 8) * len(self.first) / _SAMPLE
        likely = ~complete & (gone >= _LESS_DOUBT)
        likely &= -most * np.log(np.maximum(share, 1e-300)) >= self.evidence
        unclear = likely & (cells.sizes < 16) | ~complete & (cells.sizes < 4)
        seen |= likely & ~unclear
        if cells.sizes[seen].sum() >= _PASSED_OVER * len(rows):
            return True
        if cells.sizes[unclear].sum() < _PASSED_OVER * len(rows):
            return False
        return self._possible_in_small_cells(names)

    def _seen(
        self, cells: _Cells, classes: list[_Classes], gone: np.ndarray, complete: np.ndarray
    ) -> np.ndarray:
        """Mask the cells that may tell something, among those with all of their records."""
        small = complete & (cells.sizes >= 2) & (cells.sizes <= _SMALL)
        small[small] = _share(classes, cells.one[small]) < 1
        one, other = cells.one[small], cells.other[small]
        agree = self.classes.values[one] == self.classes.values[other]
        doubt = 1 - np.max([c.odds(one) for c in classes], axis=0)
        together = agree.sum() - (1 - doubt).sum() >= (_DOUBT_GONE_TOGETHER - 0.1) * doubt.sum()
        large = complete & (cells.sizes >= 16) & (gone >= _LESS_DOUBT)
        return large | small if together else large

    def _possible_in_small_cells(self, names: tuple[str, ...]) -> bool:
        """Look at all records of some cells."""
        everyone = self.units is None
        base = self.classes.ids if everyone else self.classes.ids[self.first]
        codes = [self._of(n) if everyone else self._of(n)[self.first] for n in names]
        shift = max(0, int(np.log2(len(base) / (2 * _SAMPLE))))
        if shift == 0:
            return True
        rows = kernel.some_cells(base, codes[0], codes[-1], shift)
        rows = self.first[rows]
        ids, count = self.classes.ids[rows].astype(np.int64), self.classes.count
        for name in names:
            ids, count = self._cut(ids, count, name, rows)
        cells = _Cells.of(ids, count, self.classes.values, rows)
        classes = self._compared_with(names)
        gone = cells.doubt_gone(_share(classes, cells.at))
        seen = self._seen(cells, classes, gone, np.full(count, True))
        return bool(cells.sizes[seen].sum() >= _PASSED_OVER * len(rows))

    # Values that are left out

    def _narrowed(self, name: str) -> np.ndarray | None:
        """Mask the records in cells that leave out half of their class, if they are enough."""
        large = len(self.first) > 2 * _SAMPLE
        if large and self._left_out(name, self._sample[0]).mean() < LEAST_SHARE / 2:
            return None
        good = self._left_out(name, self.first)
        parted = self._parted(name)
        those = np.zeros(parted.count, bool)
        those[parted.ids[self.first[good]]] = True
        mask = those[parted.ids]
        return mask if self._enough(mask) else None

    def _left_out(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Mask the rows in cells that leave many values out."""
        ids, count = self._cut(self.classes.ids[rows], self.classes.count, name, rows)
        values = self.classes.values[rows]
        size = int(values.max()) + 1
        pairs, distinct = kernel.numbered(ids.astype(np.int64) * size + values, count * size)
        one = first_rows(pairs, distinct)
        left = np.bincount(ids[one], self.classes.share(rows[one]), count)
        sizes = np.bincount(ids, minlength=count)
        of = self.classes.ids[rows[first_rows(ids, count)]]
        choices = self._values_per_class[of] * np.log(2)
        with np.errstate(divide="ignore"):
            surprise = -sizes * np.log(np.minimum(left, 1.0))
        good = (left <= 0.5) & (surprise >= self.evidence + np.log(count) + choices)
        return good[ids]

    @cached_property
    def _values_per_class(self) -> np.ndarray:
        one = first_rows(self.classes.values, len(self.classes.value_sizes))
        return np.bincount(self.classes.ids[one], minlength=self.classes.count)

    # Order

    def _sorted(self, name: str) -> np.ndarray | None:
        """Mask the records in blocks that a column of numbers sorts, if they are enough."""
        numbers, values = self.known[name].numbers, self.hidden.numbers
        if numbers is None or values is None:
            return None
        if self.known[name].size <= 16 and name not in self.ranged:
            return None
        large = len(self.first) > 2 * _SAMPLE
        if large and self._sorted_rows(numbers, values, self._sample[0]) is None:
            return None
        rows = self._sorted_rows(numbers, values, self.first)
        if rows is None:
            return None
        mask = np.zeros(self.at_stake, bool)
        mask[rows] = True
        if self.units is not None:
            mask = np.isin(self.units, self.units[rows])
        return mask if self._enough(mask) else None

    def _sorted_rows(
        self, numbers: np.ndarray, values: np.ndarray, rows: np.ndarray
    ) -> np.ndarray | None:
        by, of = numbers[self.rows[rows]], values[self.rows[rows]]
        there = ~(np.isnan(by) | np.isnan(of))
        rows, by, of = rows[there], by[there], of[there]
        order = np.lexsort((by, self.classes.ids[rows]))
        won, found, at_stake, expected = kernel.sorted_blocks(
            self.classes.ids[rows][order], by[order], of[order]
        )
        way = int(np.argmax(won))
        told = int(found[way].sum())
        if won[way] - np.log(2) < self.evidence or at_stake <= expected:
            return None
        if (told - expected) / (at_stake - expected) < _ORDERED:
            return None
        return rows[order[found[way]]]


def _one_of_each(units: np.ndarray | None, n: int) -> np.ndarray:
    """Return the place of one record of each unit; of n records without units, all."""
    if units is None:
        return np.arange(n)
    # Not the first of each: of a household that is nearly always an adult.
    mixed = np.random.default_rng(0).permutation(n)
    _, place = np.unique(units[mixed], return_index=True)
    return np.sort(mixed[place])


def _either(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    return one if other is None else other if one is None else one | other


def _share(classes: list[_Classes], rows: np.ndarray) -> np.ndarray:
    """Return how much of its classes has the value of a row: the most of any."""
    return np.max([c.share(rows) for c in classes], axis=0)


def _divergence(part: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the Kullback-Leibler divergence of two coins, part >= share; else 0."""
    part, share = np.maximum(part, share), np.clip(share, 1e-300, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(part > 0, part * np.log(part / share), 0.0)
        down = np.where(part < 1, (1 - part) * np.log((1 - part) / (1 - share)), 0.0)
    return np.where(share < 1, up + down, 0.0)
