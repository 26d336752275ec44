"""What gives a treated column away: other released columns, household sizes, and members.

A column that is treated together with another, as one tuple of a privacy model or of
microaggregation, need not be asked: records that share the whole tuple share whatever one part of
it says of the other, so that they stay as many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.findings import Finding
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe
from discreet.table import float_values, kind_of
from discreet.table.classes import constant_within, encode, in_order
from discreet.table.dependence import Hidden, Known, Telling, telling
from discreet.table.keys import group_numbers

NOTHING = "nothing released gives a treated column away"
# So many rows are looked at where they are not all in memory: whole households, chosen by a hash.
MOST_ROWS = 1_000_000
_LEAKS = ("tells", "sorts", "tells the group")
_NOTED = {
    "narrows": "narrows the original values of '{}' down",
    "tells nothing but zeros": "tells that '{}' was 0",
}
_TOGETHER = ("privacy-models", "wildcard-k", "k-per-tuple", "safepub", "private-centres")


def leaks(
    released: Frame, original: Frame, recipe: Recipe, hidden: np.ndarray
) -> tuple[list[Finding], list[str]]:
    """Find what gives treated columns away, and note what narrows their values down.

    Both tables number their rows alike; `hidden` are the numbers of rows that are in the frame and
    not released.
    """
    # What a table should have and has not is told elsewhere.
    there = set(released.schema.names) & set(original.schema.names)
    names = [name for name in recipe.treated if name in there]
    needed = {recipe.roles.unit, recipe.roles.household} - {None}
    if not names or not needed <= set(original.schema.names):
        return [], []
    before, after = _rows(released, original, recipe, names, hidden)
    if not len(after):
        return [], []
    looked = _Looked(before, after, recipe, names)
    findings = [said for name in names for said in looked.told(name)]
    if not any(said.status == "broken" for said in findings):
        asked = len(looked.known) * (len(looked.known) + 1) // 2
        searched = (
            f"{asked:,} columns and pairs of columns searched for each of {len(names)} "
            f"treated column{'s' * (len(names) > 1)}"
        )
        findings.append(Finding(NOTHING, "verified", searched + looked.part(released)))
    # Of a part of the rows, a household seems alone that is not.
    if not looked.part(released):
        findings += looked.together()
    return findings, looked.notes


class _Looked:
    """Released rows beside their originals."""

    def __init__(self, before: pa.Table, after: pa.Table, recipe: Recipe, names: list[str]) -> None:
        self.before, self.after, self.recipe, self.names = before, after, recipe, names
        roles = recipe.roles
        groups = [roles.household, roles.unit if roles.unit in roles.pseudonyms else None]
        self.groups = [name for name in groups if name is not None and name in after.column_names]
        self.notes: list[str] = []
        self.known = [
            known
            for name in after.column_names
            if name not in self.groups and (known := _known(name, after[name])) is not None
        ]
        self.known += [_rows_per(name, after[name]) for name in self.groups]
        # Whatever k counts: members of a household are no independent evidence.
        unit = roles.household or roles.unit
        self.units = None if unit is None else _own_if_none(*encode(before[unit], unit))

    def part(self, released: Frame) -> str:
        """Say how many rows were looked at, if not all."""
        some = released.num_rows > MOST_ROWS and not released.whole
        return f", in {len(self.after):,} of the rows" if some else ""

    def told(self, name: str) -> list[Finding]:
        """Say what gives a column away."""
        steps = [step for step in self.recipe.steps if name in step.columns]
        # A value that is apart stands with another record of its group.
        apart = name in self.recipe.apart
        perturbed = apart or any(step.build().effect == "perturbs" for step in steps)
        hidden = _known(name, self.before[name])
        if hidden is None:
            return []
        codes, _ = encode(self.after[name], name)
        classes = codes + 1 if not perturbed else (codes < 0).astype(np.int64)
        beside = {
            other
            for step in steps
            if step.promise and step.build().promise in _TOGETHER
            for other in step.columns
        }
        # What is near a date is no secret of the date's.
        numbers = None if pa.types.is_temporal(self.before[name].type) else hidden.numbers
        column = Hidden(name, hidden.codes, hidden.size, numbers, classes, beside)
        found = telling(column, self.known, self.units, len(self.names))
        groups = None if perturbed else _groups(hidden.codes, classes)
        if groups is not None:
            column = Hidden(name, groups, int(classes.max()) + 1, None, classes, beside)
            more = telling(column, self.known, self.units, len(self.names))
            before = {one.columns for one in found if one.how in _LEAKS}
            found += [
                replace(one, how="tells the group")
                for one in more
                if one.how == "tells" and one.columns not in before
            ]
        said = [_said(name, self._names(one), one) for one in found if one.how in _LEAKS]
        self.notes += [
            f"{' and '.join(self._names(one))} {_NOTED[one.how].format(name)} for "
            f"{one.records:,} of {one.at_stake:,} records"
            for one in found
            if one.how in _NOTED
        ]
        if not perturbed and self.recipe.roles.household in self.groups:
            said += self._members(name, hidden.codes, classes)
        accepted = name in self.recipe.allow_leaks
        promise = f"nothing released gives '{name}' away"
        return [
            Finding(promise, "verified", f"accepted by allow_leaks: {what}")
            if accepted
            else Finding(promise, "broken", f"{what}; {remedy}, or accept it with {_allow(name)}")
            for what, remedy in said
        ]

    def together(self) -> list[Finding]:
        """Find the members of households that are shown by what they share, without a number."""
        household = self.recipe.roles.household
        if household is None or household in self.after.column_names:
            return []
        homes, size = encode(self.before[household], household)
        there = homes >= 0
        cells, shared = np.zeros(len(homes), np.int64), []
        for known in self.known:
            name = known.name
            whole = _known(name, self.before[name]) if name in self.names else known
            if whole is not None and constant_within(homes[there], size, whole.codes[there]):
                shared.append(name)
                cells = np.unique(cells * known.size + known.codes, return_inverse=True)[1]
        assert self.units is not None  # A record without a household has one of its own there.
        most = int(self.units.max()) + 1
        held = np.bincount(np.unique(cells * most + self.units) // most)
        alone = (np.bincount(cells)[cells] > 1) & (held[cells] == 1)
        if not shared or not alone.any():
            return []
        promise = f"{', '.join(shared)} show{'s' * (len(shared) < 2)} who lives together"
        detail = (
            f"{int(alone.sum()):,} of {len(homes):,} records share these values with their own "
            "household alone; drop what all members have in common, or make it coarser"
        )
        return [Finding(promise, "weak", detail)]

    def _names(self, one: Telling) -> list[str]:
        rows = {_per(name): f"the number of rows per '{name}'" for name in self.groups}
        return [rows.get(name, f"'{name}'") for name in one.columns]

    def _members(self, name: str, codes: np.ndarray, classes: np.ndarray) -> list[tuple[str, str]]:
        """Count the records of which another member of the household shows more."""
        household = self.recipe.roles.household
        assert household is not None
        homes, size = encode(self.before[household], household)
        linked, count = encode(self.after[household], household)
        there = (codes > 0) & (homes >= 0)
        listed = name in self.recipe.roles.household_level
        several = np.bincount(homes[there], minlength=1).max() > 1
        if not listed and not (several and constant_within(homes[there], size, codes[there])):
            return []
        there &= linked >= 0
        values = int(codes.max()) + 1
        pairs = in_order(classes * values + codes)
        still_open = np.bincount(pairs // values)[classes]
        # One more for records without a number, whose code is -1.
        least = np.full(count + 1, len(codes))
        np.minimum.at(least, linked[there], still_open[there])
        more = there & (still_open > least[linked])
        shown = int((more & (least[linked] == 1)).sum())
        narrowed = int(more.sum()) - shown
        if narrowed:
            self.notes.append(
                f"other members of the household narrow the original values of '{name}' down for "
                f"{narrowed:,} of {len(codes):,} records"
            )
        if not shown:
            return []
        what = (
            f"other members of the household show the original value of {shown:,} of "
            f"{len(codes):,} records"
        )
        remedy = f"list it under household_level, set release_household = false, or drop '{name}'"
        steps = [step for step in self.recipe.steps if name in step.columns]
        if any(step.method == "local-suppression" for step in steps):
            # Blanks are made by record, whatever the other members show.
            remedy = remedy.replace("list it under household_level", f"set fixed = ['{name}']")
        return [(what, remedy)]


def _said(name: str, names: list[str], one: Telling) -> tuple[str, str]:
    """Say what a column or a pair tells, and what to do about it."""
    many = len(names) > 1
    does = "sort" if one.how == "sorts" else "tell"
    what = (
        f"{' and '.join(names)}{' together' * many} {does}{'s' * (not many)} the original value of "
        f"{one.records:,} of {one.at_stake:,} records"
    )
    if one.how == "tells the group":
        what = what.replace("the original value", "the group that was blanked")
    if one.how == "sorts":
        what = what.replace("the original value of", "the original values of")
    if any(n.startswith("the number") for n in names):
        return what, "set release_household = false, or drop the numbers that show it"
    it = "one of them" if many else "it"
    return what, f"drop or round {it}, generalize {it} together with '{name}'"


def _own_if_none(codes: np.ndarray, size: int) -> np.ndarray:
    """Give records that belong to no unit one of their own."""
    alone = codes < 0
    codes[alone] = size + np.arange(alone.sum())
    return codes


def _groups(codes: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Return what would be released of each record if no cell of the column were blank.

    None if nothing is blank, if the others show the originals, or if equal values became different
    ones. The class of blanks is 0.
    """
    blank = classes == 0
    if not blank.any():
        return None
    usual = np.zeros(int(codes.max()) + 1, classes.dtype)
    usual[codes[~blank]] = classes[~blank]
    held = np.bincount(usual[np.unique(codes[~blank])])
    if (usual[codes] != classes)[~blank].any() or held.max(initial=0) <= 1:
        return None
    return usual[codes]


def _allow(name: str) -> str:
    return f"allow_leaks = ['{name}']"


# Columns


def _known(name: str, column: pa.ChunkedArray) -> Known | None:
    """Encode a column; None if its values cannot be counted."""
    try:
        codes, size = encode(column, name)
    except BadInput:
        return None
    numbers, kind = None, column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        seconds = pa.timestamp("s", getattr(kind, "tz", None))
        column = column.cast(seconds, safe=False).cast(pa.int64())
    if kind_of(column.type) == "numeric":
        try:
            numbers = float_values(column, name)
        except BadInput:  # integers that are too large for arithmetic
            numbers = None
    return Known(name, (codes + 1).astype(np.int32), size + 1, numbers)


def _per(name: str) -> str:
    return f"\0rows per {name}"


def _rows_per(name: str, column: pa.ChunkedArray) -> Known:
    """Count the rows with the number of each row; those without one have none."""
    codes, size = encode(column, name)
    counts = np.bincount(codes[codes >= 0], minlength=size)
    found = np.where(codes < 0, 0, counts[codes]) if size else np.zeros(len(codes), np.int64)
    values, numbers = np.unique(found, return_inverse=True)
    return Known(_per(name), numbers.astype(np.int32), len(values))


# Rows


def _rows(
    released: Frame, original: Frame, recipe: Recipe, names: list[str], hidden: np.ndarray
) -> tuple[pa.Table, pa.Table]:
    """Return rows of the original and of the release side by side: all, or some on engines."""
    roles = recipe.roles
    used = {*names, roles.household, roles.unit}
    columns = [name for name in original.schema.names if name in used]
    by = next((n for n in (roles.household, roles.unit) if n in columns), None)
    large = released.num_rows > MOST_ROWS and not released.whole
    part = MOST_ROWS / released.num_rows if large else 1.0
    choose: Callable[..., Any] = partial(_chosen, part, by, hidden)
    return original.fold_pairs(released, choose, _stacked, columns, released.schema.names)


def _chosen(
    part: float,
    by: str | None,
    hidden: np.ndarray,
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> tuple[pa.Table, pa.Table]:
    before, rows = before.filter(pa.array(there)), rows[there]
    taken = ~np.isin(rows, hidden)
    if part < 1:
        numbers = rows if by is None or before[by].null_count else group_numbers(before[by])
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xC2B2AE3D27D4EB4F)
        taken &= mixed / 2.0**64 < part
    if taken.all():
        return before, after
    return before.filter(pa.array(taken)), after.filter(pa.array(taken))


def _stacked(
    one: tuple[pa.Table, pa.Table], other: tuple[pa.Table, pa.Table]
) -> tuple[pa.Table, pa.Table]:
    before, after = zip(one, other, strict=True)
    return pa.concat_tables(before), pa.concat_tables(after)
