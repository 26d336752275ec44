"""Single values, guessed by an intruder who knows the method and its parameters, not the seed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from threadpoolctl import threadpool_limits

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, LeftOut, Measure
from discreet.method import per_column
from discreet.risk._guesses import (
    denoised,
    densest,
    fitted,
    is_mean,
    least_members,
    unswapped,
    untangled,
)
from discreet.risk.interval import WIDTH, WORST_PERTURBED
from discreet.risk.values import refuse_infinite, sd
from discreet.table.classes import classes_of, encode_columns, plain
from discreet.table.pairs import as_tables, numeric_pairs

# A method, and the columns that it treats.
Step = tuple[Any, Sequence[str]]
_KNOWS = {
    "noise": "kind and scale of the noise, and all released numbers",
    "pram": "the transition probabilities",
    "rank-swap": "p",
    "ipso": "the columns that the new values were drawn from, and their regression",
    "shuffle": "that the column was shuffled",
}


@dataclass(frozen=True)
class Guesses:
    """What one who knows the method makes of the values of a column; shares in 0..1.

    `guessed` right, and right `without` the release, from the column's distribution alone;
    `gain` is what the release adds, as a share of what could not be guessed without it.
    `certain` are the values of which one can be sure. `members` are those that are right for one
    who also knows the values of k - 1 other members of their group, or, after `ipso`, of all other
    records; None where that does not help, or is not known.
    """

    method: str
    knows: str
    guessed: float
    without: float
    gain: float
    certain: float
    members: float | None = None


@dataclass(frozen=True)
class InformedValues:
    """The largest gain of a column, and what was guessed of each."""

    value: float
    columns: dict[str, Guesses]


class _All(NamedTuple):
    """What is known of all records, where guesses are made for some of them."""

    # Of a method, its columns, one of them and half an interval: the share that members know.
    members: Callable[[Any, Sequence[str], str, float], float | None]
    # Of a column: its categories, and how many records are released with each.
    counted: Callable[[str], tuple[pa.Array, np.ndarray]]


@overload
def informed_values(
    original: Any, protected: Any, recipe: Any, *, width: float = ..., detail: Literal[False] = ...
) -> float: ...
@overload
def informed_values(
    original: Any, protected: Any, recipe: Any, *, width: float = ..., detail: Literal[True]
) -> InformedValues: ...
def informed_values(
    original: Any, protected: Any, recipe: Any, *, width: float = WIDTH, detail: bool = False
) -> float | InformedValues:
    """Share of the values that an intruder guesses right who knows the method, not the seed.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    recipe : Recipe, or sequence of pairs of a method and its columns
        What was done, such as `[(Noise(scale=0.1), ["income"])]`.
    width : float
        A number is guessed right if it is within so many standard deviations of the released
        column; a category if it is the same.
    detail : bool
        Give what was guessed of each column, and how, too.

    Returns
    -------
    float or InformedValues
        The largest gain of a column: of the values that are not guessed right without the release,
        the share that are with it. Columns of methods that neither perturb nor release means of
        groups are left out; without any other it is 0.

    Examples
    --------
    An age that is released once with noise, and one that is released four times, from which the
    noise averages out:

    >>> from discreet.perturbation import Noise
    >>> ages = np.tile(np.random.default_rng(1).normal(40, 12, size=(2000, 1)), 4)
    >>> noise = Noise(scale=0.1, random_state=2)
    >>> released = noise.fit_transform(ages)
    >>> round(informed_values(ages[:, :1], released[:, :1], [(noise, ["x0"])]), 2)
    0.33
    >>> round(informed_values(ages, released, [(noise, ["x0", "x1", "x2", "x3"])]), 2)
    0.67
    """
    if not width >= 0:
        raise BadInput(f"width = {width} must be 0 or more")
    before, after = as_tables(original, protected)
    pairs = numeric_pairs(before, after)
    known = _All(partial(_members, pairs, after, slice(None)), partial(_counted, before, after))
    found = guesses_of(_steps(recipe), before, after, pairs, known, width)
    value = max((one.gain for one in found.values()), default=0.0)
    return InformedValues(value, found) if detail else value


def _steps(recipe: Any) -> list[Step]:
    if hasattr(recipe, "steps"):
        return [(step.build(), step.columns) for step in recipe.steps]
    return list(recipe)


# Matrix products depend on the number of threads, but a rerun must find the same.
@threadpool_limits.wrap(limits=1, user_api="blas")
def guesses_of(
    steps: Sequence[Step],
    before: pa.Table,
    after: pa.Table,
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]],
    known: _All,
    width: float = WIDTH,
) -> dict[str, Guesses]:
    """Guess the values of each column that a step perturbed, or replaced by means."""
    found = {}
    told = [(method, of) for method, of in steps if method.effect == "perturbs" or is_mean(method)]
    for name in dict.fromkeys(column for _, of in told for column in of):
        by = [(method, of) for method, of in told if name in of]
        if name not in before.column_names or name not in after.column_names:
            continue
        if len(by) == 1 and by[0][0].recipe_name == "pram":
            found[name] = _of_categories(by[0][0], before[name], after[name], name, known)
        elif name in pairs:
            one = _of_numbers(by, name, pairs, known, width)
            if one is not None:
                found[name] = one
    return found


def _of_categories(
    method: Any, before: pa.ChunkedArray, after: pa.ChunkedArray, name: str, known: _All
) -> Guesses:
    labels, counts = known.counted(name)
    matrix = method.transitions(name, labels.to_pylist(), counts / counts.sum())
    guess, sure = untangled(matrix, counts / counts.sum())
    x, y = (pc.index_in(plain(side), value_set=labels) for side in (before, after))
    both = pc.and_(x.is_valid(), y.is_valid())
    x, y = (side.filter(both).to_numpy().astype(np.int64) for side in (x, y))
    # Without the release, the most frequent category.
    without = float(np.bincount(x, minlength=1).max() / max(len(x), 1))
    right = guess[y] == x
    return _told([method], right, without, right & sure[y])


def _of_numbers(
    by: Sequence[Step],
    name: str,
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]],
    known: _All,
    width: float,
) -> Guesses | None:
    x, y = pairs[name]
    refuse_infinite(name, x, y)
    both = ~(np.isnan(x) | np.isnan(y))
    if not both.any():
        return None
    half = width * sd(y[both])
    released = {k: v[1] for k, v in pairs.items()}
    # Whatever the method: the released value, or, whoever it is, where most released values are.
    guesses, sure, members = [y, np.full(len(y), densest(y[both], half))], None, None
    if len(by) == 1:
        [(method, of)] = by
        kind = method.recipe_name
        if kind == "noise" and half > 0:
            guesses.append(denoised(method, of, name, released))
        elif kind == "rank-swap":
            p, fixed = float(per_column(method.p, name, "p")), method.window == "fixed"
            guess, sure = np.full(len(y), np.nan), np.zeros(len(y), dtype=bool)
            guess[both], sure[both] = unswapped(y[both], p, half, fixed)
            guesses.append(guess)
        elif kind == "ipso":
            guesses.append(fitted(name, method.confidential, released))
        members = known.members(method, of, name, half)
    slack = half + 1e-9 * max(half, float(np.abs(x[both]).max()) * 1e-6)
    # Who knows the method can try which of the guesses serves best, on data of his own.
    right = max((np.abs(guess - x)[both] <= slack for guess in guesses), key=np.count_nonzero)
    without = float((np.abs(x[both] - densest(x[both], half)) <= slack).mean())
    certain = np.zeros(1, dtype=bool) if sure is None else sure[both] & right
    return _told([method for method, _ in by], right, without, certain, members)


def _told(
    methods: Sequence[Any],
    right: np.ndarray,
    without: float,
    certain: np.ndarray,
    members: float | None = None,
) -> Guesses:
    names = [method.recipe_name for method in methods]
    knows = _KNOWS.get(names[0], "the released value") if len(names) == 1 else "the released value"
    if len(names) == 1 and is_mean(methods[0]):
        knows = "that the mean of a group is released"
    guessed = float(right.mean()) if right.size else 0.0
    gain = max(0.0, (guessed - without) / (1 - without)) if without < 1 else 0.0
    share = float(certain.mean()) if certain.size else 0.0
    return Guesses(" and ".join(names), knows, guessed, without, gain, share, members)


# What is known of all records


def _members(
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]],
    after: pa.Table,
    at: np.ndarray | slice,
    method: Any,
    columns: Sequence[str],
    name: str,
    half: float,
) -> float | None:
    """Share of values that are n times the mean less the other members' sum, to within `half`.

    Of the records at some places; those of their groups are looked at besides.
    """
    x, y = pairs[name]
    if method.recipe_name == "ipso":
        used = [k for k in method.confidential if k in pairs]
        # Records without their regression are drawn by another one.
        complete = ~np.isnan(np.column_stack([x, y, *(pairs[k][1] for k in used)])).any(axis=1)
        exact = abs(float((y[complete] - x[complete]).sum())) <= half
        return None if method.variant == "A" else float(complete[at].mean()) * exact
    if not is_mean(method):
        return None
    of = [name] if method.by_column else columns
    judged = np.zeros(len(y), dtype=bool)
    judged[at] = True
    there = ~(np.isnan(x) | np.isnan(y))
    there &= pc.is_in(pa.array(y), value_set=pa.array(np.unique(y[judged & there]))).to_numpy(False)
    tuples = after.select([k for k in of if k in after.column_names]).filter(pa.array(there))
    groups, size = classes_of(*encode_columns(tuples, tuples.column_names))
    n, total = np.bincount(groups, minlength=size), np.bincount(groups, x[there], minlength=size)
    groups = groups[judged[there]]
    k = least_members(method, name, n)
    return _known(y[judged & there], n[groups], total[groups], k, half)


def _known(y: np.ndarray, n: np.ndarray, total: np.ndarray, k: int, half: float) -> float | None:
    """Share of records in groups of at most k whose n times the mean is near the sum."""
    known = (n <= k) & (np.abs(n * y - total) <= half * (1 + 1e-9))
    return float(known.mean()) if len(y) else None


def _counted(before: pa.Table, after: pa.Table, name: str) -> tuple[pa.Array, np.ndarray]:
    seen, found = (pc.value_counts(plain(side[name]).drop_null()) for side in (before, after))
    held = found.field("values")
    labels = pc.unique(pa.concat_arrays([held, seen.field("values").cast(held.type)]))
    labels = labels.take(pc.sort_indices(labels))
    places = pc.index_in(held, value_set=labels).to_numpy()
    return labels, np.bincount(places, found.field("counts"), minlength=len(labels))


def members_on_engine(
    released: Mapping[str, np.ndarray],
    values: Mapping[str, np.ndarray],
    sums: Mapping[str, tuple[np.ndarray, np.ndarray]],
    method: Any,
    _: Sequence[str],
    name: str,
    half: float,
) -> float | None:
    """Do as `_members` for some records, from the sums over all; of one column only."""
    if name not in sums or not _by_value(method):
        return None
    y, (n, total) = released[name], sums[name]
    at = np.searchsorted(values[name], y)
    return _known(y, n[at], total[at], least_members(method, name, n), half)


def _by_value(method: Any) -> bool:
    """Tell whether the records of a group are those that share a column's released value."""
    return is_mean(method) and method.by_column


def _counted_on_engine(t: Facts, before: pa.Table, name: str) -> tuple[pa.Array, np.ndarray]:
    held, counts = t.after.counts([name])
    labels, _ = _counted(before, held, name)
    places = pc.index_in(plain(held[name]), value_set=labels)
    there = places.is_valid().to_numpy()
    return labels, np.bincount(places.drop_null().to_numpy(), counts[there], minlength=len(labels))


def _take(t: Facts) -> Entry:
    steps = _steps(t.recipe)
    rows = t.few_to_link
    if t.whole:
        whole = t.rows()
        at = np.searchsorted(whole.numbers, rows.numbers)
        known = _All(
            partial(_members, whole.pairs, whole.after, at),
            partial(_counted, whole.before, whole.after),
        )
    else:
        means = {c for method, of in steps if _by_value(method) for c in of if c in rows.pairs}
        pairs = {name: np.array(rows.pairs[name]) for name in sorted(means)}
        released = {name: both[1][~np.isnan(both).any(axis=0)] for name, both in pairs.items()}
        values = {name: np.unique(y) for name, y in released.items() if len(y)}
        known = _All(
            partial(members_on_engine, released, values, t.sums_by_value(values)),
            partial(_counted_on_engine, t, rows.before),
        )
    with warnings.catch_warnings(action="ignore"):
        found = guesses_of(steps, rows.before, rows.after, rows.pairs, known)
    if not found:
        raise LeftOut("no step perturbs, or releases the means of groups")
    gains = {name: one.gain for name, one in found.items()}
    perturbed = [gain for name, gain in gains.items() if name in t.perturbed]
    members = [one.members for one in found.values() if one.members is not None]
    return {
        "value": max(gains.values()),
        **({"perturbed": max(perturbed)} if perturbed else {}),
        **({"members": max(members)} if members else {}),
        "columns": {name: asdict(one) for name, one in found.items()},
        **t.estimated(rows.num_rows),
    }


INFORMED_VALUES = Measure(
    "informed_values",
    "of the values that cannot be guessed without the release, the share that one who knows the "
    "method and its parameters guesses from it, in the worst column",
    _take,
    [
        Figure("values guessed, knowing the method", "", "%", untouched=1.0),
        replace(WORST_PERTURBED, title="values guessed, perturbed columns"),
        Figure(
            "values known to fellow members",
            "members",
            "%",
            reading="share of values that follow from a released mean for one who knows the other "
            "k - 1 of their group, or all other records, in the worst column",
        ),
        Figure("values guessed", "guessed", "%", untouched=1.0, each=True),
    ],
    intruder="guessing single values by the method; beside the best guess without the release",
)
