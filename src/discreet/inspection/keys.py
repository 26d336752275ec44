"""The riskiest keys: combinations of a few columns that single out many records.

Records with a unique key are counted by hashing the codes of the columns. A record that two
columns single out stays singled out with a third, so only the others are looked at again. If that
would still take too long, a key is counted on the records that hold some of the values of its most
varied column: records that share the key share that value, so they stay together, and the estimate
has no bias, which it would have on a sample of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.inspection.encoded import Encoded
from discreet.kernels.repeated import repeated
from discreet.threads import over_ranges

MOST_COLUMNS = 30
_PAIRS_EXTENDED = 20
# Records that are looked at in all, over all keys; some ten million in a second and on a core.
_WORK = 300_000_000
# A column with fewer values is no fair sample of itself.
_VALUES_TO_SAMPLE = 2000
# A value with more than this share of the records is counted whole.
_COMMON = 0.0005
_LISTED = 10
# Records on which one column is judged to determine another, and those of a first look; and
# values from which on these are the records of some values.
_ROWS = 200_000
_FEW_ROWS = 2000
_MANY_VALUES = 20_000


@dataclass(frozen=True)
class Key:
    """A combination of columns, and how many records it singles out."""

    columns: tuple[str, ...]
    singled_out: float  # share of records that are unique on them; a null is a value here
    risk: float  # that share, times how widely the columns are known
    estimated: bool = False  # only some records were counted


@dataclass(frozen=True)
class Keys:
    """What the search found, and how far it looked."""

    riskiest: tuple[Key, ...]
    tried: int
    note: str


def find_keys(
    columns: Sequence[Encoded], exposure: dict[str, float], finer: Sequence[tuple[str, str]] = ()
) -> Keys:
    """Find the combinations of one to three columns that single out most records.

    `exposure` says how widely each is known, from 0 to 1, in the order of the table's columns. Of
    the pairs in `finer`, the first determines the second: together they are not a key.
    """
    chosen = most_exposed(columns, exposure)
    search = _Search(chosen, exposure, {frozenset(pair) for pair in finer})
    keys = search.run()
    listed = _worth_listing(sorted(keys, key=lambda k: (-k.risk, len(k.columns), k.columns)))
    return Keys(tuple(listed), len(keys), search.note(len(columns)))


def most_exposed(columns: Sequence[Encoded], exposure: dict[str, float]) -> list[Encoded]:
    """Choose the columns to compare with each other, in the order of their exposure."""
    return sorted(columns, key=lambda c: (-exposure[c.name], -len(c.values)))[:MOST_COLUMNS]


def _worth_listing(keys: list[Key]) -> list[Key]:
    """Leave out a key if a part of it is listed that says as much."""
    listed: list[Key] = []
    for key in keys:
        inside = [k for k in listed if set(k.columns) < set(key.columns)]
        if all(key.singled_out > k.singled_out + 0.001 for k in inside):
            listed.append(key)
        if len(listed) == _LISTED:
            break
    return listed


@dataclass(frozen=True)
class _Sample:
    """Some rows, and how many records each of them stands for."""

    rows: np.ndarray
    weights: np.ndarray


def _weighed(rows: np.ndarray, sample: _Sample | None) -> float:
    """Count the records that the marked rows stand for."""
    return float(rows.sum() if sample is None else sample.weights[rows].sum())


class _Search:
    """The search: singles, pairs, and triples as far as the work allows."""

    def __init__(
        self, columns: list[Encoded], exposure: dict[str, float], together: set[frozenset[str]]
    ) -> None:
        self.columns = {c.name: c for c in columns}
        self.place = {name: place for place, name in enumerate(exposure)}
        self.exposure = exposure
        self.together = together
        self.n = len(columns[0].codes) if columns else 0
        pairs = max(len(columns) * (len(columns) - 1) // 2, 1)
        # Half of the work for the pairs, half for the triples.
        self.share = min(1.0, _WORK / 2 / max(pairs * self.n, 1))
        self.samples: dict[str, _Sample] = {}
        self.skipped = 0

    def run(self) -> list[Key]:
        singles = [
            self._key((name,), c.unique + (c.nulls == 1), False) for name, c in self.columns.items()
        ]
        for name, column in self.columns.items():
            if self.share < 1 and len(column.values) >= _VALUES_TO_SAMPLE:
                self.samples[name] = self._sample(column)
        pairs = [p for p in combinations(self.columns, 2) if frozenset(p) not in self.together]
        counted = over_ranges(lambda place, _: self._pair(pairs[place]), len(pairs), chunk=1)
        counted.sort(key=lambda key: -key.risk)
        triples = list(self._triples([key.columns for key in counted]).items())
        found = over_ranges(lambda place, _: self._extend(triples[place]), len(triples), chunk=1)
        return [*singles, *counted, *(key for keys in found for key in keys)]

    def _triples(self, pairs: list[tuple[str, ...]]) -> dict[tuple[str, ...], list[str]]:
        """Return the columns to add to each pair: to all pairs, or only to the riskiest."""
        wanted: dict[tuple[str, ...], list[str]] = {}
        seen: set[frozenset[str]] = set()
        skipped: set[frozenset[str]] = set()
        affordable = _WORK / 2 / max(self.n * self.share, 1)
        for place, pair in enumerate(pairs):
            for third in self.columns:
                triple = frozenset((*pair, third))
                if third in pair or triple in seen or self._redundant(triple):
                    continue
                if place >= _PAIRS_EXTENDED and len(seen) >= affordable:
                    skipped.add(triple)
                    continue
                seen.add(triple)
                wanted.setdefault(pair, []).append(third)
        self.skipped = len(skipped)
        return wanted

    def _redundant(self, columns: frozenset[str]) -> bool:
        return any(frozenset(pair) in self.together for pair in combinations(columns, 2))

    def _sample(self, column: Encoded) -> _Sample:
        """Take the rows with some of a column's values, chosen by hashing their numbers.

        Nulls, and values with many records, are all taken: leaving one out would show.
        """
        numbers = np.arange(len(column.values) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        taken = (numbers >> np.uint64(11)).astype(np.float64) / 2.0**53 < self.share
        # The last one is that of the nulls, whose code is -1.
        common = np.append(column.counts > self.n * _COMMON, True)
        rows = np.flatnonzero((taken | common)[column.codes]).astype(np.int32)
        sure = common[column.codes[rows]]
        rest = self.n - int(sure.sum())
        factor = rest / max(len(rows) - int(sure.sum()), 1)
        return _Sample(rows, np.where(sure, 1.0, factor))

    def _rows(self, names: Sequence[str]) -> _Sample | None:
        """Return the rows to count a key on; None for all."""
        widest = max(names, key=lambda name: len(self.columns[name].values))
        return self.samples.get(widest)

    def _codes(self, name: str, rows: np.ndarray | None) -> tuple[np.ndarray, int]:
        column = self.columns[name]
        codes = column.codes if rows is None else column.codes[rows]
        return codes.astype(np.int64) + 1, len(column.values) + 1

    def _pair_ids(self, pair: tuple[str, ...]) -> tuple[_Sample | None, np.ndarray, int]:
        sample = self._rows(pair)
        rows = None if sample is None else sample.rows
        (first, n_first), (second, n_second) = (self._codes(name, rows) for name in pair)
        ids, count = repeated(first * n_second + second, n_first * n_second)
        return sample, ids, count

    def _pair(self, pair: tuple[str, ...]) -> Key:
        sample, ids, _ = self._pair_ids(pair)
        return self._key(pair, _weighed(ids < 0, sample), sample is not None)

    def _extend(self, work: tuple[tuple[str, ...], list[str]]) -> list[Key]:
        pair, thirds = work
        sample, ids, count = self._pair_ids(pair)
        alone = _weighed(ids < 0, sample)
        left = np.flatnonzero(ids >= 0)
        rest = None if sample is None else _Sample(sample.rows[left], sample.weights[left])
        here = left if rest is None else rest.rows
        ids = ids[left].astype(np.int64)
        keys = []
        for third in thirds:
            codes, size = self._codes(third, here)
            again, _ = repeated(ids * size + codes, count * size)
            found = alone + _weighed(again < 0, rest)
            keys.append(self._key((*pair, third), found, sample is not None))
        return keys

    def _key(self, names: tuple[str, ...], found: float, estimated: bool) -> Key:
        share = min(found / max(self.n, 1), 1.0)
        known = float(np.prod([self.exposure[name] for name in names]))
        return Key(
            tuple(sorted(names, key=self.place.__getitem__)), share, share * known, estimated
        )

    def note(self, given: int) -> str:
        said = []
        if given > len(self.columns):
            said.append(f"of {given} columns the {len(self.columns)} most exposed were combined")
        if self.skipped:
            said.append(f"{self.skipped:,} triples that extend no risky pair were left out")
        if self.samples:
            said.append(
                f"keys with a column of {_VALUES_TO_SAMPLE:,} values or more were counted on the "
                f"records of {self.share:.0%} of its values"
            )
        return "; ".join(said) or "all combinations of up to three columns were counted"


def finer_columns(columns: Sequence[Encoded]) -> list[tuple[str, str]]:
    """Find pairs of columns in which the first determines the second, as postcode does region.

    Judged on the records whose first value other records share; on some of them first,
    which rules out most pairs.
    """
    found = []
    for fine in columns:
        rows = _rows_to_judge(fine)
        some = _spread(rows, _FEW_ROWS)
        for coarse in columns:
            if fine is coarse or not 1 < len(coarse.values) < len(fine.values):
                continue
            usual, total = _usual(fine, coarse, some)
            if total >= 30 and usual < 0.9 * total:
                continue
            usual, total = _usual(fine, coarse, rows)
            if total >= 30 and usual >= 0.995 * total:
                found.append((fine.name, coarse.name))
    return found


def _rows_to_judge(fine: Encoded) -> np.ndarray:
    """Return rows whose value other rows share, spread over the table."""
    repeats = fine.counts > 1
    values = np.flatnonzero(repeats)
    if len(values) > _MANY_VALUES and fine.counts[values].sum() > _ROWS:
        # Rows at random would part those that share a value.
        repeats[:] = False
        repeats[_spread(values, _MANY_VALUES)] = True
    rows = np.flatnonzero((fine.codes >= 0) & repeats[fine.codes])
    return _spread(rows, _ROWS)


def _spread(items: np.ndarray, most: int) -> np.ndarray:
    return items[:: max(1, -(-len(items) // most))]


def _usual(fine: Encoded, coarse: Encoded, rows: np.ndarray) -> tuple[int, int]:
    """Count the records with the usual second value for their first, and the records that count."""
    here = rows[coarse.codes[rows] >= 0]
    second = coarse.codes[here]
    if len(here) < 30 or (second == second[0]).all():
        return 0, 0
    keys = fine.codes[here].astype(np.int64) * len(coarse.values) + second
    pairs, counts = np.unique(keys, return_counts=True)
    of = pairs // len(coarse.values)
    starts = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
    sizes = np.add.reduceat(counts, starts)
    # A value with one record here tells nothing.
    usual = np.maximum.reduceat(counts, starts)[sizes > 1].sum()
    return int(usual), int(sizes[sizes > 1].sum())


def as_dict(keys: Keys) -> dict[str, Any]:
    """Return the keys as plain data."""
    return {
        "riskiest": [asdict(key) | {"columns": list(key.columns)} for key in keys.riskiest],
        "tried": keys.tried,
        "note": keys.note,
    }
