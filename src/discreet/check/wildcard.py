"""k-anonymity where a null equals anything, counted from its definition."""

from __future__ import annotations

import numpy as np

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.shown import Shown
from discreet.recipe.recipe import Step
from discreet.table.classes import classes_of, encode_columns


def wildcard_k(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify k where a null equals anything, and count the records that this leaves exposed."""
    columns = [name for name in step.columns if name in shown.column_names]
    tuples, counts = shown.over(columns)
    k = max(model.k for model in step.parameters()["privacy"])
    least = matching(*encode_columns(tuples, columns), counts).min(initial=k)
    exposed = int(counts[counts < k].sum())
    said = f"wildcard k-anonymity only (k = {k}, a null equals anything) over {', '.join(columns)}"
    worst = f"a record matches {least:,} records"
    good = (
        f"{worst} or more; but {exposed:,} records share their own values, nulls included, with "
        f"fewer than {k}, and stand out to whoever knows what is missing"
    )
    return [finding(said, worst if least < k else None, good)]


def matching(codes: np.ndarray, sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Count for each tuple the records that agree with it wherever neither has a null.

    Codes, by column and tuple, are below the column's size, and -1 where null. Tuples with nulls in
    the same columns are one pattern. Those of one pattern meet those of another in the columns that
    both have, so that these are grouped, once for all patterns that leave the same columns.

    Examples
    --------
    >>> codes = np.array([[0, 0, -1], [0, 1, 1]])
    >>> matching(codes, np.array([1, 2]), np.array([4, 2, 1])).tolist()
    [4, 3, 3]
    """
    found = np.zeros(len(counts), np.int64)
    there = codes >= 0
    patterns, of_tuple = np.unique(there, axis=1, return_inverse=True)
    of_tuple = of_tuple.reshape(-1)
    for number, pattern in enumerate(patterns.T):
        (mine,) = np.nonzero(of_tuple == number)
        shared, which = np.unique(patterns & pattern[:, None], axis=1, return_inverse=True)
        which = which.reshape(-1)
        for group, both in enumerate(shared.T):
            (others,) = np.nonzero((which == group)[of_tuple])
            ids, n = classes_of(codes[both][:, np.append(mine, others)], sizes[both])
            records = np.bincount(ids[len(mine) :], counts[others], minlength=n)
            found[mine] += records[ids[: len(mine)]].astype(np.int64)
    return found
