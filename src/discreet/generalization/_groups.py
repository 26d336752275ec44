"""Null policies: which records are generalized together, and what a null is meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.generalization.ladder import TOP, Ladder

NullPolicy = Literal["segregate", "value", "suppress", "match"]
# What becomes of nulls under each policy; the last two are Mondrian's alone.
IN_WORDS = {
    "value": "a null is one more value",
    "suppress": "records with a null are suppressed",
    "match": "a null matches any value, so that the models hold with wildcards only",
    "segregate": "records with and without nulls are treated apart",
    "contaminate": "a column with a null in a class is released as *",
    "semi-partition": "nulls are cut off from values, with records that lose theirs as company "
    "where they are too few",
}
Segregate = Literal["any", "pattern"]
SmallGroup = Literal["suppress", "append"]


@dataclass(frozen=True)
class Group:
    """Records that are generalized together; a row may stand for several of them.

    `rows` are None for all; `n` are the records, and `size` what k counts: these, or units. Where
    groups go by them, `patterns` are the sets of columns that are null in the records. The
    treatment is "search", "suppress" or "append".
    """

    name: str
    rows: np.ndarray | None
    n: int
    size: int
    patterns: list[list[int]] | None = None
    treatment: str = "search"

    def of(self, column: np.ndarray) -> np.ndarray:
        """Take the group's rows."""
        return column if self.rows is None else column[..., self.rows]

    def takes(self, nulls: np.ndarray) -> np.ndarray:
        """Tell which of other rows belong to the group, by column and row where there are nulls."""
        if self.name == ALL:
            return np.full(nulls.shape[1], True)
        if self.patterns is None:
            return np.asarray(nulls.any(axis=0) != (self.name == WITHOUT))
        inside = np.zeros(nulls.shape[1], bool)
        for pattern in self.patterns:
            wanted = np.isin(np.arange(len(nulls)), pattern)
            inside |= (nulls == wanted[:, None]).all(axis=0)
        return inside


ALL, WITHOUT, WITH = "all", "without nulls", "with nulls"


def of_group(given: Any, group: str) -> Any:
    """Return what is given for a group of records, where it is given by group; None if nothing is.

    Examples
    --------
    >>> of_group({"without nulls": 1}, "all"), of_group({"without nulls": 1}, "nulls 2")
    (1, None)
    """
    # Without any nulls, all records are those without.
    return given.get(WITHOUT if group == ALL else group) if isinstance(given, Mapping) else given


def tell_free(levels: Mapping[str, Any], group: str) -> None:
    """Warn that levels are given by group, and none for this one."""
    for name, given in levels.items():
        if isinstance(given, Mapping) and of_group(given, group) is None:
            warnings.warn(
                f"levels of '{name}' say nothing of the records {group}, for which the best level "
                "is searched for",
                stacklevel=2,
            )


def with_null(ladder: Ladder) -> Ladder:
    """Add a null to the leaves: it stays itself below the top, and is under `*` there."""
    below = [[*level, None] for level in ladder.labels[:-1]]
    extra = [len(level) for level in ladder.labels[:-1]] + [0]
    maps = np.column_stack([ladder.maps, np.array(extra, np.int32)])
    leaves = pa.concat_arrays([ladder.leaves, pa.nulls(1, ladder.leaves.type)])
    labels: list[list[str]] = [*below, [TOP]]  # type: ignore[list-item]
    return Ladder(leaves, labels, np.ascontiguousarray(maps))


def too_few(k: int, by_unit: bool) -> str:
    """Say why a group cannot be treated by itself."""
    return f"they are {'of fewer units than' if by_unit else 'fewer than'} k = {k}"


def warn_suppressed(group: Group, why: str) -> None:
    """Warn that all records of a group were suppressed though nobody asked for it."""
    warnings.warn(
        f"the group of records '{group.name}', {group.n:,} in number, is suppressed as a whole: "
        f"{why}; use null_policy = 'value', or weaker models, to keep them",
        stacklevel=2,
    )


def make_groups(
    nulls: np.ndarray,
    policy: str,
    segregate: str,
    k: int,
    weights: np.ndarray | None = None,
    units_of: Callable[[Any], int] | None = None,
) -> list[Group]:
    """Divide the records by the null policy, from where each column has nulls in each row.

    `segregate` makes two groups, or one for each set of columns that are null, where sets of fewer
    than k are put together. `weights` are the records of each row, one each by default; `units_of`
    counts the units of some rows, where k counts these.
    """

    def group(name: str, rows: np.ndarray | None, patterns: list[list[int]] | None = None) -> Group:
        n = records(weights, deficient.shape[0] if rows is None else rows)
        size = n if units_of is None else units_of(slice(None) if rows is None else rows)
        return Group(name, rows, n, size, patterns)

    deficient = nulls.any(axis=0)
    if policy in ("value", "match") or not deficient.any():
        return [group(ALL, None)]
    some, none = np.flatnonzero(deficient), np.flatnonzero(~deficient)
    complete = [group(WITHOUT, none)] if len(none) else []
    if policy == "suppress":
        return [*complete, replace(group(WITH, some), treatment="suppress")]
    if segregate == "any":
        return [*complete, group(WITH, some)]
    return [*complete, *_by_pattern(nulls, some, k, group)]


def records(weights: np.ndarray | None, rows: np.ndarray | int) -> int:
    """Count the records of some rows, by number or by mask, or of so many rows that are all.

    Examples
    --------
    >>> records(np.array([5, 1, 2]), np.array([0, 2])), records(None, np.array([0, 2]))
    (7, 2)
    """
    if isinstance(rows, int):
        return rows if weights is None else int(weights.sum())
    if weights is not None:
        return int(weights[rows].sum())
    return int(rows.sum()) if rows.dtype == bool else len(rows)


def _by_pattern(
    nulls: np.ndarray, rows: np.ndarray, k: int, group: Callable[..., Group]
) -> list[Group]:
    """Make a group of each pattern with k records or units, and of the others together.

    Where those are still too few the smallest groups join them.
    """
    patterns, of_row = np.unique(nulls[:, rows], axis=1, return_inverse=True)
    of_row = of_row.ravel()

    def together(members: list[int]) -> Group:
        columns = [np.flatnonzero(patterns[:, p]).tolist() for p in members]
        name = f"nulls {'+'.join(str(c + 1) for c in columns[0])}" if len(members) == 1 else WITH
        return group(name, rows[np.isin(of_row, members)], columns)

    sizes = [together([p]).size for p in range(patterns.shape[1])]
    order = sorted(range(len(sizes)), key=lambda p: (sizes[p], p))
    joined: list[int] = []
    while order and (sizes[order[0]] < k or (joined and together(joined).size < k)):
        joined.append(order.pop(0))
    sets = [[p] for p in sorted(order)] + ([sorted(joined)] if joined else [])
    return [together(members) for members in sets]
