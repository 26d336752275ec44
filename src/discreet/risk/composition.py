"""Composition of households: who lives together gives a household away.

Two households are alike when the values of their members are, as a multiset: who knows the ages
and sexes of a family looks for a household that holds just these, and may find one although each
of its members is like many others. The codes of the members' tuples are sorted within each
household; households of one size are then equal where their codes are, byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Guide, Measure
from discreet.risk.frequency import unit_ids
from discreet.table.classes import classes_of, encode_columns
from discreet.table.native import to_arrow

# A household of which there are fewer can be looked for.
FEWEST = 5


@dataclass(frozen=True)
class Composition:
    """How many households can be told by their members.

    `unique` is the share of those that no other is like, `rare` of those that fewer than k are
    like, itself among them; `smallest` is the k that all households reach.
    """

    unique: float
    rare: float
    smallest: int
    households: int

    @classmethod
    def of(cls, alike: np.ndarray, k: int = FEWEST) -> Composition:
        """Summarise the number of households that each is like."""
        n = len(alike)
        unique, rare = (float((alike < size).sum() / max(1, n)) for size in (2, k))
        return cls(unique, rare, int(alike.min()) if n else 0, n)


@overload
def unique_households(
    table: Any, columns: Sequence[str], household: Any, *, k: int = ...
) -> float: ...
@overload
def unique_households(
    table: Any, columns: Sequence[str], household: Any, *, k: int = ..., detail: Literal[True]
) -> Composition: ...
def unique_households(
    table: Any,
    columns: Sequence[str],
    household: Any,
    *,
    k: int = FEWEST,
    detail: bool = False,
) -> float | Composition:
    """Share of households that no other has the same members as.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : sequence of str
        What is known of a member: usually the quasi columns. A null is a value like any other.
    household : str or array
        The household of each record: a column's name, or a value for each. A record without one
        is a household of its own.
    k : int
        For `rare`, the share of households that fewer than k are like.
    detail : bool
        Return all figures.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"home": [1, 1, 2, 2, 3], "sex": ["f", "m", "m", "f", "f"]})
    >>> unique_households(table, ["sex"], "home", detail=True)
    Composition(unique=0.333..., rare=1.0, smallest=1, households=3)
    """
    if not isinstance(k, int) or k < 1:
        raise BadInput(f"k must be a whole number of 1 or more, not {k!r}")
    table = to_arrow(table)
    classes, _ = classes_of(*encode_columns(table, columns))
    found = Composition.of(alike(classes, unit_ids(table, household, "household")), k)
    return found if detail else found.unique


def alike(
    classes: np.ndarray, households: np.ndarray, members: np.ndarray | None = None
) -> np.ndarray:
    """Count for each household those with the same members, itself among them.

    Parameters
    ----------
    classes, households : ndarray of int
        The number of each member's tuple of values, and of the household: 0, 1, ...
    members : ndarray of int, optional
        How many members each entry stands for; one where not given.

    Examples
    --------
    >>> alike(np.array([5, 7, 7, 5, 5]), np.array([0, 0, 1, 1, 2])).tolist()
    [2, 2, 1]
    """
    if members is not None:
        classes, households = np.repeat(classes, members), np.repeat(households, members)
    if not len(classes):
        return np.empty(0, np.int64)
    bound = int(classes.max()) + 1
    keys = np.sort(households * bound + classes)
    codes, home = keys % bound, keys // bound
    sizes = np.bincount(home)
    starts = np.cumsum(sizes) - sizes
    found = np.empty(len(sizes), np.int64)
    for size in np.flatnonzero(np.bincount(sizes)):
        homes = np.flatnonzero(sizes == size)
        held = codes[starts[homes][:, None] + np.arange(size)]
        whole = held.view(np.dtype((np.void, held.dtype.itemsize * size)))[:, 0]
        _, of_home, counts = np.unique(whole, return_inverse=True, return_counts=True)
        found[homes] = counts[of_home]
    return found


def _take(t: Facts) -> Entry:
    before, after = (asdict(Composition.of(t.alike_households(side))) for side in (0, 1))
    return {"columns": t.quasi, "before": before, "after": after}


COMPOSITION = Measure(
    "composition",
    "households that can be told by their members' quasi values together",
    _take,
    [
        Figure("households unique by their members", "unique", "%", headline=True,
               guide=Guide(0, "No household should be the only one of its composition."),
               reading="share of households that no other has the same members as"),
        Figure("households of rare members", "rare", "%",
               reading="share of households that at most three others have the same members as"),
        Figure("smallest class of households", "smallest", "households", "more",
               reading="fewest households with the same members"),
    ],
    needs=["quasi columns", "households"],
    by_frequency=True,
    intruder="matching the members of whole households; beside the original table",
)  # fmt: skip
