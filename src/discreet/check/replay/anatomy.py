"""Anatomy's plans, applied again: confidential values in drawn order within each group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.draws import Draws

# The draws, among those of the step, by which values are ordered within their group.
_ORDER = 1


def anatomy(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Return the quasi columns as they are, and the confidential ones as the draws order them.

    In each group, the records in their order get the values of the records by their draws. Those
    of group 0 are left out.
    """
    joint = step["joint"]
    groups = np.asarray(joint["groups"], dtype=np.int64)
    n = columns.num_rows
    if len(groups) != n:
        raise ValueError(f"{len(groups):,} records have a group, but there are {n:,}")
    if not np.array_equal(np.unique(groups[groups > 0]), np.arange(1, groups.max(initial=0) + 1)):
        raise ValueError("the plan's groups are not numbered 1, 2, ...")
    words = draws(joint["confidential"][0]).words(np.arange(n), _ORDER)
    taken = np.arange(n)
    by_place, by_draw = np.argsort(groups, kind="stable"), np.lexsort((words, groups))
    grouped = groups[by_place] > 0
    taken[by_place[grouped]] = by_draw[grouped]
    gone = groups == 0
    _refuse_needless(step, columns, groups)
    columns.suppress(gone, gone)
    new = {}
    for name in step["columns"]:
        column = columns.arrow(name)
        new[name] = column.take(pa.array(taken)) if name in joint["confidential"] else column
    return new


def _refuse_needless(step: StepPlan, columns: Any, groups: np.ndarray) -> None:
    """Refuse records that are suppressed, or beside other nulls, though they fit into groups.

    Where there are several confidential columns, it is not known which records fit.
    """
    joint, gone = step["joint"], groups == 0
    quasi = [one for one in step["columns"] if one not in joint["confidential"]]
    nulls = np.array([columns.arrow(one).is_null().to_numpy() for one in quasi])
    pattern = np.unique(nulls, axis=1, return_inverse=True)[1].ravel()
    if joint["null_policy"] == "segregate" and joint["small_group"] == "append":
        for one in np.unique(pattern[_in_mixed(groups, pattern) & nulls.any(axis=0)]):
            if _fits(joint, columns, pattern == one):
                raise ValueError("records that fit into groups of the same nulls are beside others")
    if not gone.any() or len(joint["confidential"]) > 1:
        return
    if joint["null_policy"] == "value" or joint["small_group"] == "append":
        raise ValueError("records are suppressed, but all fit into groups")
    for one in np.unique(pattern[gone]):
        if not nulls[:, pattern == one].any():
            raise ValueError("records without nulls in the quasi columns are suppressed")
        if _fits(joint, columns, pattern == one):
            raise ValueError("records are suppressed that fit into groups of the same nulls")


def _in_mixed(groups: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """Tell which records are in a group with records of other nulls."""
    first = np.zeros(groups.max(initial=0) + 1, np.int64)
    first[groups] = pattern
    mixed = np.zeros(len(first), bool)
    mixed[groups[first[groups] != pattern]] = True
    return mixed[groups] & (groups > 0)


def _fits(joint: dict[str, Any], columns: Any, rows: np.ndarray) -> bool:
    """Tell whether no value is in more than 1 of l of some records that have one."""
    for name in joint["confidential"]:
        own = columns.arrow(name).filter(pa.array(rows)).drop_null()
        counts = own.combine_chunks().value_counts().field("counts").to_numpy()
        if not len(counts) or counts.max() * joint["l"] > len(own):
            return False
    return True
