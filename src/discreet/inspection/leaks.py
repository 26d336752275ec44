"""What would give a treated column away, found before anything is treated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.errors import BadInput
from discreet.inspection.encoded import Encoded
from discreet.table import float_values
from discreet.table.classes import constant_within
from discreet.table.dependence import Hidden, Known, telling

# So many records show a dependency that concerns one in a hundred of them.
_ROWS = 200_000
_MEMBERS = "\0members"


@dataclass
class Leaks:
    """What is to be done about columns that give others away, each with the reason."""

    dropped: dict[str, str] = field(default_factory=dict)  # columns that are better not released
    accepted: dict[str, str] = field(default_factory=dict)  # treated columns, given away by others
    household: str | None = None  # why its number is better not released


def find_leaks(
    columns: Mapping[str, Encoded],
    together: Collection[str],
    alone: Collection[str],
    shown: Mapping[str, bool],
    household: str | None,
) -> Leaks:
    """Find out which columns that are shown as they are give away those that are treated.

    Parameters
    ----------
    columns : mapping of str to Encoded
    together, alone : collections of str
        Columns that are treated, as one tuple and each by itself.
    shown : mapping of str to bool
        Columns that are released as they are, and whether they can be dropped.
    household : str, optional
        The column of the household's number.
    """
    rows = len(next(iter(columns.values())).codes)
    some = slice(None, None, max(1, -(-rows // _ROWS)))
    known = [_known(columns[name], some) for name in shown]
    found, units = Leaks(), None
    if household is not None:
        codes = columns[household].codes
        sizes = np.append(columns[household].counts, 0)[codes][some]
        values, numbers = np.unique(sizes, return_inverse=True)
        known.append(Known(_MEMBERS, numbers.astype(np.int32), len(values)))
        units = codes[some]
    for name in (*together, *alone):
        one = _known(columns[name], some)
        beside = together if name in together else ()
        hidden = Hidden(name, one.codes, one.size, one.numbers, None, beside)
        for told in telling(hidden, known, units, len(together) + len(alone)):
            if told.how in ("tells", "sorts"):
                share = told.records / told.at_stake
                _settle(found, name, told.columns, share, shown)
        if household is not None and _same_throughout(columns[household], columns[name]):
            found.household = found.household or f"one member would show another's {name}"
    return found


def _settle(
    found: Leaks, name: str, columns: tuple[str, ...], share: float, shown: Mapping[str, bool]
) -> None:
    if _MEMBERS in columns:
        found.household = f"its number of rows tells {name} of {share:.0%} of the records"
    elif not any(column in found.dropped for column in columns):
        droppable = [column for column in columns if shown[column]]
        if droppable:
            found.dropped[droppable[0]] = f"gives {name} away for {share:.0%} of the records"
        else:
            reason = f"{' and '.join(columns)} tell{'s' * (len(columns) == 1)} {name}"
            found.accepted.setdefault(name, f"{reason} of {share:.0%} of the records")


def _known(column: Encoded, some: slice) -> Known:
    numbers = None
    if column.kind == "numeric":
        try:
            values = np.append(float_values(column.levels(), column.name), np.nan)
            numbers = values[column.codes[some]]
        except BadInput:  # integers that are too large for arithmetic
            numbers = None
    return Known(column.name, column.codes[some] + np.int32(1), len(column.values) + 1, numbers)


def _same_throughout(household: Encoded, column: Encoded) -> bool:
    """Tell whether all members of a household have one value, and some household has two."""
    there = (household.codes >= 0) & (column.codes >= 0)
    homes, codes = household.codes[there], column.codes[there]
    size = len(household.counts)
    return size < len(codes) and constant_within(homes, size, codes)
