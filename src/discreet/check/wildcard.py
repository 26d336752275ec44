"""Privacy models where a null equals anything, counted from their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.population import class_size
from discreet.check.privacy import Counts, models
from discreet.check.shown import UNIT, Shown
from discreet.recipe.recipe import Step
from discreet.table.classes import classes_of, encode, encode_columns, in_order


def wildcard_k(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify the models where a null equals anything, and count whom this leaves exposed."""
    columns = [name for name in step.columns if name in shown.column_names]
    k = max(class_size(model, plan) for model in step.parameters()["privacy"])
    if shown.tells_units:
        least, exposed = _in_units(shown, columns, k)
    else:
        tuples, counts = shown.over(columns)
        least = matching(*encode_columns(tuples, columns), counts, enough=k).min(initial=k)
        exposed = int(counts[counts < k].sum())
    number, noun = f"k = {k}{shown.of_what}", shown.noun
    said = f"wildcard k-anonymity only ({number}, a null equals anything) over {', '.join(columns)}"
    worst = f"a record matches {least:,} {noun}"
    good = (
        f"{worst} or more; but {exposed:,} {noun} share their own values, nulls included, with "
        f"fewer than {k}, and stand out to whoever knows what is missing"
    )
    found = [finding(said, worst if least < k else None, good)]
    if shown.tells_units:
        # `match` is refused there, but a recipe may have been changed since.
        beyond = [model for model in step.parameters()["privacy"] if hasattr(model, "column")]
        needs = "matches are not counted in units beyond k-anonymity"
        return found + [
            Finding(f"{m.model}, a null equals anything", "not verifiable", needs) for m in beyond
        ]
    return found + models(shown, shown.over, step, plan, ", a null equals anything", _with_matches)


def _with_matches(codes: np.ndarray, sizes: np.ndarray, counts: Counts) -> Counts:
    """Give each class the values of all classes that agree with it wherever neither has a null."""
    n, size = len(counts.sizes), max(len(counts.q), 1)
    starts = np.searchsorted(counts.group, np.arange(n + 1))
    keys, held = np.empty(0, np.int64), np.empty(0, np.int64)
    every = np.full(n, True)
    for some, some_in, others, others_in, groups in _meeting(codes, codes, sizes, True, every):
        entry, of_other = _entries(starts, others)
        pair, together = _sums(
            others_in[of_other] * size + counts.value[entry], counts.count[entry]
        )
        at, of_some = _entries(np.searchsorted(pair // size, np.arange(groups + 1)), some_in)
        keys = np.append(keys, some[of_some] * size + pair[at] % size)
        held = np.append(held, together[at])
        keys, held = _sums(keys, held)
    group, value = np.divmod(keys, size)
    return replace(
        counts,
        group=group,
        value=value,
        count=held,
        sizes=matching(codes, sizes, counts.sizes),
        valued=np.bincount(group, held, minlength=n).astype(np.int64),
    )


def _entries(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of some rows, and by entry the place of its row among them."""
    number = np.diff(starts)[rows]
    of_row = np.repeat(np.arange(len(rows)), number)
    first = np.cumsum(number) - number
    return np.arange(len(of_row)) + np.repeat(starts[rows] - first, number), of_row


def _sums(keys: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys in order, and the sum of the numbers of each."""
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(place, numbers, minlength=len(distinct)).astype(np.int64)


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


def matching(
    codes: np.ndarray,
    sizes: np.ndarray,
    counts: np.ndarray,
    people: np.ndarray | None = None,
    enough: float = np.inf,
    nulls_match: bool = True,
) -> np.ndarray:
    """Count for each tuple the records that agree with it wherever neither has a null.

    Codes, by column and tuple, are below the column's size, and -1 where null. With `people`,
    records are counted for these tuples instead; where `enough` are found, no more are looked for.
    If nulls do not match, records must have all that a tuple shows.

    Examples
    --------
    >>> codes = np.array([[0, 0, -1], [0, 1, 1]])
    >>> matching(codes, np.array([1, 2]), np.array([4, 2, 1])).tolist()
    [4, 3, 3]
    >>> matching(codes, np.array([1, 2]), np.array([4, 2, 1]), nulls_match=False).tolist()
    [4, 2, 3]
    """
    mine = codes if people is None else people
    found = np.zeros(mine.shape[1], np.int64)
    lacking = np.full(mine.shape[1], True)
    for some, some_in, others, others_in, n in _meeting(mine, codes, sizes, nulls_match, lacking):
        records = np.bincount(others_in, counts[others], minlength=n)
        found[some] += records[some_in].astype(np.int64)
        lacking[some] = found[some] < enough
    return found


def matching_units(
    codes: np.ndarray,
    sizes: np.ndarray,
    tuples: np.ndarray,
    units: np.ndarray,
    k: int,
    people: np.ndarray | None = None,
    nulls_match: bool = True,
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
    mine = codes if people is None else people
    n_tuples, size = codes.shape[1], int(units.max(initial=0)) + 1
    found = np.empty(0, np.int64)
    lacking = np.full(mine.shape[1], True)
    for some, some_in, others, others_in, n in _meeting(mine, codes, sizes, nulls_match, lacking):
        group = np.full(n_tuples, -1)
        group[others] = others_in
        held = group[tuples]
        # More than k units of a group make no difference.
        held, unit = _up_to(k, in_order(held[held >= 0] * size + units[held >= 0]), size)
        starts = np.searchsorted(held, np.arange(n + 1))
        number = np.diff(starts)[some_in]
        place = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        place += np.repeat(starts[some_in], number)
        found = in_order(np.append(found, np.repeat(some, number) * size + unit[place]))
        lacking[:] = np.bincount(found // size, minlength=mine.shape[1]) < k
    return np.minimum(np.bincount(found // size, minlength=mine.shape[1]), k)


def _up_to(k: int, pairs: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return groups and units, of sorted pairs the first k of each group."""
    group, unit = np.divmod(pairs, size)
    kept = np.arange(len(pairs)) - np.searchsorted(group, group) < k
    return group[kept], unit[kept]


def _meeting(
    mine: np.ndarray, codes: np.ndarray, sizes: np.ndarray, nulls_match: bool, lacking: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]]:
    """Return tuples, and others that agree with them where they are in the same of n groups.

    Tuples with nulls in the same columns are one pattern. Those of one pattern meet those of
    another in the columns that both have, so that these are grouped, once for all patterns that
    leave the same columns. Those that leave most come first; a tuple that lacks no more is done.
    """
    patterns, of_mine = _patterns(mine)
    known, of_other = _patterns(codes)
    members = _members(of_other)
    for pattern, rows in zip(patterns.T, _members(of_mine), strict=True):
        shared, which = np.unique(known & pattern[:, None], axis=1, return_inverse=True)
        for group, both in reversed([*enumerate(shared.T)]):
            some = rows[lacking[rows]]
            if not len(some) or (not nulls_match and (both != pattern).any()):
                continue
            others = np.concatenate(
                [members[one] for one in np.flatnonzero(which.reshape(-1) == group)]
            )
            cells = np.hstack([mine[np.ix_(both, some)], codes[np.ix_(both, others)]])
            ids, n = classes_of(cells, sizes[both])
            yield some, ids[: len(some)], others, ids[len(some) :], n


def _patterns(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct sets of columns that tuples have, and that of each tuple."""
    there = codes >= 0
    # However many columns there are, a set of them is one value: its bits, as bytes.
    bits = np.ascontiguousarray(np.packbits(there, axis=0).T)
    whole = bits.view(np.dtype((np.void, bits.shape[1]))).reshape(-1)
    _, first, of_tuple = np.unique(whole, return_index=True, return_inverse=True)
    return there[:, first], of_tuple


def _members(of_tuple: np.ndarray) -> list[np.ndarray]:
    """List the tuples of each pattern."""
    ends = np.cumsum(np.bincount(of_tuple))
    return np.split(np.argsort(of_tuple, kind="stable"), ends)[: len(ends)]
