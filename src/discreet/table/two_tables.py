"""A release in two tables, joined by the numbers of groups: where the second is, and the join.

Records that are in one group may be joined with any of its rows in the second table. Here the first
record of a group is joined with the first of its rows, and so on: what is joined so is what was
written, and as random as the order of the rows in their groups.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput

SECOND = "confidential"


class Misfit(BadInput):
    """Two tables that are not those of one release."""


def second_of(table: Path) -> Path:
    """Return where the second table is, beside the first.

    Examples
    --------
    >>> second_of(Path("public/table.csv.gz")).name
    'confidential.csv.gz'
    """
    _, _, suffix = table.name.partition(".")
    return table.with_name(f"{SECOND}.{suffix}")


def joined(first: pa.Table, second: pa.Table, by: str) -> pa.Table:
    """Put the columns of a second table beside the records of the first, group by group.

    Examples
    --------
    >>> people = pa.table({"age": [31, 45, 28], "group": [2, 1, 2]})
    >>> joined(people, pa.table({"group": [1, 2, 2], "ill": ["flu", "gout", "acne"]}), "group")[
    ...     "ill"].to_pylist()
    ['gout', 'flu', 'acne']
    """
    mine, other = (_numbers(table, by, which) for table, which in ((first, 0), (second, 1)))
    _refuse_misfit(mine, other)
    if (np.diff(other) < 0).any():
        raise Misfit("the second table is not in the order of its groups")
    rows = np.empty(len(mine), np.int64)
    rows[np.argsort(mine, kind="stable")] = np.arange(len(other))
    taken = second.take(pa.array(rows))
    for field in second.schema:
        if field.name in first.column_names and field.name != by:
            raise Misfit(f"column '{field.name}' is in both tables")
        if field.name != by:
            first = first.append_column(field, taken[field.name])
    return first


def _numbers(table: pa.Table, by: str, which: int) -> np.ndarray:
    called = f"the {('first', 'second')[which]} table"
    if by not in table.column_names:
        raise Misfit(f"{called} has no column '{by}'")
    try:
        numbers = table[by].cast(pa.int64())
    except pa.ArrowException:
        raise Misfit(f"column '{by}' of {called} holds no whole numbers") from None
    if numbers.null_count:
        raise Misfit(f"column '{by}' of {called} holds nulls")
    return numbers.to_numpy()


def _refuse_misfit(mine: np.ndarray, other: np.ndarray) -> None:
    """Refuse groups that do not have as many records in both tables."""
    numbers, place = np.unique(np.concatenate([mine, other]), return_inverse=True)
    both = [np.bincount(one, minlength=len(numbers)) for one in np.split(place, [len(mine)])]
    differ = np.flatnonzero(both[0] != both[1])
    if len(differ):
        at = differ[0]
        raise Misfit(
            f"group {numbers[at]} has {both[0][at]:,} rows in the first table and "
            f"{both[1][at]:,} in the second"
        )
