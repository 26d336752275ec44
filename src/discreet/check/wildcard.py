"""k-anonymity where a null equals anything, counted from its definition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.shown import UNIT, Shown
from discreet.recipe.recipe import Step
from discreet.table.classes import classes_of, encode, encode_columns, in_order


def wildcard_k(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify k where a null equals anything, and count the records that this leaves exposed."""
    columns = [name for name in step.columns if name in shown.column_names]
    k = max(model.k for model in step.parameters()["privacy"])
    if shown.tells_units:
        least, exposed = _in_units(shown, columns, k)
    else:
        tuples, counts = shown.over(columns)
        least = matching(*encode_columns(tuples, columns), counts).min(initial=k)
        exposed = int(counts[counts < k].sum())
    number, noun = f"k = {k}{shown.of_what}", shown.noun
    said = f"wildcard k-anonymity only ({number}, a null equals anything) over {', '.join(columns)}"
    worst = f"a record matches {least:,} {noun}"
    good = (
        f"{worst} or more; but {exposed:,} {noun} share their own values, nulls included, with "
        f"fewer than {k}, and stand out to whoever knows what is missing"
    )
    return [finding(said, worst if least < k else None, good)]


def _in_units(shown: Shown, columns: list[str], k: int) -> tuple[int, int]:
    """Return how many units a record matches, k at most, and how many are exposed."""
    pairs, _ = shown.over([*columns, UNIT])
    codes, sizes = encode_columns(pairs, columns)
    tuples, n = classes_of(codes, sizes)
    units, _ = encode(pairs[UNIT], UNIT)
    first = np.zeros(n, np.int64)
    first[tuples] = np.arange(len(tuples))
    known = units >= 0
    tuples, units = tuples[known], units[known]
    least = matching_units(codes[:, first], sizes, tuples, units, k).min(initial=k)
    rare = np.bincount(tuples, minlength=n) < k
    return int(least), len(in_order(units[rare[tuples]]))


def matching(codes: np.ndarray, sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Count for each tuple the records that agree with it wherever neither has a null.

    Codes, by column and tuple, are below the column's size, and -1 where null.

    Examples
    --------
    >>> codes = np.array([[0, 0, -1], [0, 1, 1]])
    >>> matching(codes, np.array([1, 2]), np.array([4, 2, 1])).tolist()
    [4, 3, 3]
    """
    found = np.zeros(len(counts), np.int64)
    for mine, mine_in, others, others_in, n in _meeting(codes, sizes):
        records = np.bincount(others_in, counts[others], minlength=n)
        found[mine] += records[mine_in].astype(np.int64)
    return found


def matching_units(
    codes: np.ndarray, sizes: np.ndarray, tuples: np.ndarray, units: np.ndarray, k: int
) -> np.ndarray:
    """Count for each tuple the distinct units of records that agree with it, up to k.

    Which tuple is held by which unit is given as pairs, each of them once.

    Examples
    --------
    >>> codes = np.array([[0, 0, -1], [0, 1, 1]])
    >>> pairs = np.array([0, 0, 1, 2]), np.array([7, 8, 7, 7])
    >>> matching_units(codes, np.array([1, 2]), *pairs, 5).tolist()
    [2, 1, 1]
    """
    n_tuples, size = codes.shape[1], int(units.max(initial=0)) + 1
    found = np.empty(0, np.int64)
    for mine, mine_in, others, others_in, n in _meeting(codes, sizes):
        group = np.full(n_tuples, -1)
        group[others] = others_in
        held = group[tuples]
        # More than k units of a group make no difference.
        held, some = _up_to(k, in_order(held[held >= 0] * size + units[held >= 0]), size)
        starts = np.searchsorted(held, np.arange(n + 1))
        number = np.diff(starts)[mine_in]
        place = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        place += np.repeat(starts[mine_in], number)
        found = in_order(np.append(found, np.repeat(mine, number) * size + some[place]))
    return np.minimum(np.bincount(found // size, minlength=n_tuples), k)


def _up_to(k: int, pairs: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return groups and units, of sorted pairs the first k of each group."""
    group, unit = np.divmod(pairs, size)
    kept = np.arange(len(pairs)) - np.searchsorted(group, group) < k
    return group[kept], unit[kept]


def _meeting(
    codes: np.ndarray, sizes: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]]:
    """Return tuples, and others that agree with them where they are in the same of n groups.

    Tuples with nulls in the same columns are one pattern. Those of one pattern meet those of
    another in the columns that both have, so that these are grouped, once for all patterns that
    leave the same columns.
    """
    patterns, of_tuple = np.unique(codes >= 0, axis=1, return_inverse=True)
    of_tuple = of_tuple.reshape(-1)
    for number, pattern in enumerate(patterns.T):
        (mine,) = np.nonzero(of_tuple == number)
        shared, which = np.unique(patterns & pattern[:, None], axis=1, return_inverse=True)
        which = which.reshape(-1)
        for group, both in enumerate(shared.T):
            (others,) = np.nonzero((which == group)[of_tuple])
            ids, n = classes_of(codes[both][:, np.append(mine, others)], sizes[both])
            yield mine, ids[: len(mine)], others, ids[len(mine) :], n
