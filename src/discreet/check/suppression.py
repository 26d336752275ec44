"""Local suppression: every pattern that is released, counted by the reading that was asked for.

What a blank is decides what is counted. `value`: one more value, so that records must be equal in
all cells. `own`: a blank hides a record's own cell, and originals are counted that hold all the
cells which it shows. `match`: a blank equals anything, on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import NEEDS_ORIGINAL, Finding, counted, finding
from discreet.check.privacy import ROUNDING, models
from discreet.check.risks import dis_scores, mean_of_one_over
from discreet.check.shown import LEFT, UNIT, WEIGHT, Shown
from discreet.check.wildcard import matching, matching_units
from discreet.recipe.recipe import Step
from discreet.table.classes import classes_of, encode, encode_columns, first_rows, in_order
from discreet.table.csv import read_as

_READINGS = {
    "value": "a blank is one more value",
    "own": "of the originals that hold what a record shows",
    "match": "a blank equals anything",
}


# What is said of demands, the sets of columns that each is about, and its k.
Demands = Iterator[tuple[str, list[tuple[str, ...]], int]]


def demanded(names: Sequence[str], given: Mapping[str, Any]) -> dict[tuple[str, ...], int]:
    """Return the sets of columns that must be shared, each with by how many."""
    found: dict[tuple[str, ...], int] = {}
    for _, sets, k in _demands(names, given):
        for columns in sets:
            found[columns] = max(k, found.get(columns, 1))
    return found


def _demands(names: Sequence[str], given: Mapping[str, Any]) -> Demands:
    """Return the demands of a step on its columns, by its parameters."""
    listed, k, subsets = ", ".join(names), given["k"], given["subsets"]
    if k is not None and (subsets is None or isinstance(subsets, Mapping)):
        yield listed, [tuple(names)], k
    for one in given["combinations"] or ():
        chosen = [name for name in names if name in one["columns"]]
        yield ", ".join(chosen), [tuple(chosen)], one["k"]
    by_size = subsets if isinstance(subsets, Mapping) else {subsets: k} if subsets else {}
    for size, least in by_size.items():
        yield f"every {size} of {listed}", list(combinations(names, int(size))), least
    if given["max_risk"] is not None and given["risk"] == "class":
        yield listed, [tuple(names)], math.ceil(1 / given["max_risk"] - ROUNDING)


def local_suppression(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify demands, privacy models, risks, fixed columns and limits."""
    missing = [name for name in step.columns if name not in shown.column_names]
    if missing:
        return [Finding("local suppression", "broken", f"column '{missing[0]}' is missing")]
    given, tables = step.parameters(), _Tables.of(shown, step, plan)
    findings = [_shared(shown, step, tables, *one) for one in _demands(step.columns, given)]
    if findings and tables.before is not None:
        told = _told_of_certain(shown, step, plan)
        findings[0] = Finding(findings[0].promise, findings[0].status, findings[0].detail + told)
    if given["privacy"]:
        findings += models(shown, shown.over, step, plan)
    if given["max_risk"] is not None and given["risk"] != "class":
        findings.append(_risk(shown, step, plan))
    return [*findings, *_blanks(shown, step, tables)]


# Patterns


@dataclass(frozen=True)
class _Tuples:
    """Tuples of the key columns, and how many records, or which unit, each entry is of."""

    codes: np.ndarray  # by column and entry, -1 where null
    records: np.ndarray
    units: np.ndarray | None = None

    def of(self, kept: np.ndarray) -> _Tuples:
        """Take some entries."""
        units = None if self.units is None else self.units[kept]
        return _Tuples(self.codes[:, kept], self.records[kept], units)

    def counts(self, ids: np.ndarray, n: int) -> np.ndarray:
        """Count the records, or units, of groups of entries."""
        if self.units is None:
            return np.bincount(ids, self.records, n).astype(np.int64)
        return np.bincount(self._pairs(ids)[0], minlength=n)

    def _pairs(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct pairs of groups and units; a record without one counts as none."""
        assert self.units is not None
        there, size = self.units >= 0, int(self.units.max(initial=0)) + 1
        return np.divmod(in_order(ids[there] * size + self.units[there]), size)

    def fitting(
        self, people: np.ndarray, sizes: np.ndarray, enough: int, nulls_match: bool = True
    ) -> np.ndarray:
        """Count those that fit each of some tuples, until there are enough."""
        ids, n = classes_of(self.codes, sizes)
        codes = self.codes[:, first_rows(ids, n)]
        if self.units is None:
            records = self.counts(ids, n)
            return matching(codes, sizes, records, people, enough, nulls_match)
        return matching_units(codes, sizes, *self._pairs(ids), enough, people, nulls_match)


@dataclass(frozen=True)
class _Tables:
    """The keys as released and, where the original is there, as they were before the step."""

    columns: list[str]
    sizes: np.ndarray
    released: _Tuples
    before: _Tuples | None
    left: np.ndarray  # marks entries of before that are of records left out

    @classmethod
    def of(cls, shown: Shown, step: Step, plan: StepPlan | None) -> _Tables:
        names = list(step.columns)
        if shown.tells_units:
            after, _ = shown.over([*names, UNIT])
            records, units = np.ones(len(after), np.int64), encode(after[UNIT], UNIT)[0]
        else:
            (after, records), units = shown.over(names), None
        released, known = after.select(names), shown.before.get(_number(plan))
        if known is None:
            codes, sizes = encode_columns(released, names)
            return cls(names, sizes, _Tuples(codes, records, units), None, np.empty(0, bool))
        table, number = known.result()
        # Labels of a level at which nothing is coarser yet are text, whatever the type.
        was = pa.table(
            {name: read_as(table[name], released.schema.field(name).type) for name in names}
        )
        codes, sizes = encode_columns(pa.concat_tables([released, was]), names)
        codes, codes_before = np.split(codes, [len(released)], axis=1)
        holders = encode(table[UNIT], UNIT)[0] if UNIT in table.column_names else None
        before = _Tuples(codes_before, number, holders)
        left = table[LEFT].to_numpy()
        return cls(names, sizes, _Tuples(codes, records, units), before, left)


def _number(plan: StepPlan | None) -> int:
    return -1 if plan is None else plan["step"]


def _shared(
    shown: Shown, step: Step, tables: _Tables, listed: str, sets: list[tuple[str, ...]], k: int
) -> Finding:
    """Verify that what each record shows in some sets of columns is shared by k."""
    given = step.parameters()
    reading, risk = given["null_policy"], given["max_risk"]
    number = f"k = {k}{shown.of_what}"
    if risk is not None and (given["k"] != k or given["subsets"]) and sets == [tuple(step.columns)]:
        number = f"a risk of {risk:g} at most, which is {number},"
    said = f"{number} over {listed} (null_policy = {reading}: {_READINGS[reading]})"
    counts = [_counts(reading, tables, columns, k) for columns in sets]
    least = min((int(some.min(initial=k)) for some in counts), default=k)
    rare = sum(int((some < k).sum()) for some in counts)
    patterns = counted(sum(map(len, counts)), "pattern")
    which = f"{shown.noun}{' of the original' * (reading == 'own')}"
    if least < k:
        worst = f"{rare:,} of {patterns} agree with fewer, the rarest with {least:,} {which}"
        if reading == "value":
            worst = f"{rare:,} of {patterns} are in fewer, the rarest in {least:,} {which}"
        if reading == "own" and tables.before is None:
            return Finding(said, "not verifiable", NEEDS_ORIGINAL)
        return Finding(said, "broken", worst)
    each = "is in" if reading == "value" else "agrees with"
    return Finding(said, "verified", f"{patterns}; each {each} {k:,} {which} or more")


def _counts(reading: str, tables: _Tables, columns: tuple[str, ...], k: int) -> np.ndarray:
    """Count for each released pattern those who share it, by a reading; k are enough.

    Without the original, what is released as it was is counted of it: there may be more.
    """
    places = [tables.columns.index(name) for name in columns]
    sizes = tables.sizes[places]
    mine = _Tuples(tables.released.codes[places], tables.released.records, tables.released.units)
    ids, n = classes_of(mine.codes, sizes)
    if reading == "value":
        return mine.counts(ids, n)
    people, others = mine.codes[:, first_rows(ids, n)], mine
    if reading == "own" and tables.before is not None:
        before = tables.before
        others = _Tuples(before.codes[places], before.records, before.units)
    return others.fitting(people, sizes, k, nulls_match=reading == "match")


# People who are found for certain


def found_for_certain(shown: Shown, step: Step, plan: StepPlan | None) -> int | None:
    """Count the people whose keys fit one released record alone, or those of one unit.

    None where the original is not there to tell.
    """
    key = ("found for certain", _number(plan))
    if key not in shown.uniques:
        tables = _Tables.of(shown, step, plan)
        if tables.before is None:
            return None
        people = tables.before.of(~tables.left)
        ids, n = classes_of(people.codes, tables.sizes)
        codes = people.codes[:, first_rows(ids, n)]
        alone = tables.released.fitting(codes, tables.sizes, 2) == 1
        found = people.of(alone[ids])
        shown.uniques[key] = int(found.counts(np.zeros(len(found.records), np.int64), 1)[0])
    return shown.uniques[key]


def _told_of_certain(shown: Shown, step: Step, plan: StepPlan | None) -> str:
    found = found_for_certain(shown, step, plan)
    if not found:
        return "; nobody is found for certain by these columns"
    who = "person is" if found == 1 else "people are"
    return f"; but {found:,} {who} found for certain by {', '.join(step.columns)}"


def exposed(shown: Shown, step: Step, plan: StepPlan | None) -> int:
    """Count the records, or units, that share all they show, blanks too, with fewer than k."""
    tables, sets = _Tables.of(shown, step, plan), demanded(step.columns, step.parameters())
    mine = tables.released
    alone = np.zeros(len(mine.records), dtype=bool)
    for columns, k in sets.items():
        places = [tables.columns.index(name) for name in columns]
        ids, n = classes_of(mine.codes[places], tables.sizes[places])
        alone |= (mine.counts(ids, n) < k)[ids]
    found = mine.of(alone)
    return int(found.counts(np.zeros(len(found.records), np.int64), 1)[0])


# Risks


def _risk(shown: Shown, step: Step, plan: StepPlan | None) -> Finding:
    """Verify the risk of each record by its class, with weights, or by its special uniques."""
    given = step.parameters()
    what = "SUDA, as DIS" if given["risk"] == "suda" else "individual, by weights"
    said = f"a risk of {given['max_risk']:g} at most ({what}) over {', '.join(step.columns)}"
    if given["risk"] == "suda":
        tuples, records = shown.records.over(step.columns)
        largest = dis_scores(*encode_columns(tuples, step.columns), records).max(initial=0.0)
    else:
        known = shown.weighed.get(_number(plan))
        if known is None:
            return Finding(said, "not verifiable", NEEDS_ORIGINAL)
        largest = _individual(*known.result(), step.columns).max(initial=0.0)
    worst = f"the largest is {largest:.4g}"
    return finding(said, worst if largest > given["max_risk"] + ROUNDING else None, worst)


def _individual(table: pa.Table, records: np.ndarray, columns: list[str]) -> np.ndarray:
    """Return the risk of each class: f records, or units, and F by the sum of their weights."""
    ids, n = classes_of(*encode_columns(table, columns))
    weights = table[WEIGHT].to_numpy() * records
    if UNIT in table.column_names:
        # A unit has the mean weight of its records in the class; without one it is its own.
        units, size = encode(table[UNIT], UNIT)
        units = np.where(units < 0, size + np.arange(len(units)), units)
        size += len(units)
        pairs, of_entry = np.unique(ids * size + units, return_inverse=True)
        weights = np.bincount(of_entry, weights) / np.bincount(of_entry, records)
        ids, records = pairs // size, np.ones(len(pairs), np.int64)
    f, population = np.bincount(ids, records, n), np.bincount(ids, weights, n)
    return mean_of_one_over(f.astype(np.int64), np.minimum(1.0, f / population))


# Blanks


def _blanks(shown: Shown, step: Step, tables: _Tables) -> Iterator[Finding]:
    """Verify that fixed columns have no new nulls, and others no more than their limits let."""
    given = step.parameters()
    limits = {**(given["limit"] or {}), **dict.fromkeys(given["fixed"] or (), 0.0)}
    for name, limit in limits.items():
        said = f"column '{name}' is blanked in {limit:.4g} of the records at most"
        said = f"column '{name}' has no blanks of this step" if limit == 0 else said
        nulls, n = shown.records.values(name)[2], shown.num_rows
        if tables.before is not None:
            null = tables.before.codes[tables.columns.index(name)] < 0
            nulls -= int(tables.before.records[null & ~tables.left].sum())
            n = int(tables.before.records.sum())
        beyond = nulls > limit * n + ROUNDING
        if beyond and tables.before is None:
            yield Finding(said, "not verifiable", NEEDS_ORIGINAL)
        else:
            blanks = f"{counted(nulls, 'cell')} of {n:,}"
            yield finding(said, blanks if beyond else None, blanks)
