"""Singling out: predicates made of the release that are true of exactly one person.

An intruder who has the release looks for what is rare in it, and hopes that it is true of one
person among those whom the release is about. That can be luck: a predicate that is true of one
person in N is true of exactly one of any N people with a chance of 37 %.

The control group says how much of it is luck. Let p be true of c of the N people, and of a share
w of people who are not in the release. Put such a person in the place of somebody who is: p
isolates the newcomer if it is true of them and of nobody else. Added up over all N places, that
happens on average

    N w  if c = 0,    w  if c = 1,    0  otherwise

times, which is what people who are not in the release come to. The share w is h / M where p is
true of h of the M people of the holdout. This has no bias, whatever M is: a holdout that is smaller
than the original is weighed up, and exactly one of M people need not be compared with exactly one
of N.
If the release has nothing to do with the original, c is binomial and the mean of the above is
N w (1 - w)^(N - 1), the very chance to isolate somebody: the excess is 0.

The interval goes by how successes vary between predicates, and the control by predicates and by
people of the holdout, of whom each may be met by many predicates. Both ends are put together as
Newcombe's; the control is few, weighted counts, so that its ends are those of a Poisson rate of as
many counts as vary as much, and no less than a count of predicates does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.attacks._excess import Attack, Interval, Rate, Z, concluded, hybrid, sentence
from discreet.attacks._people import People, check_unit
from discreet.attacks._predicates import Column, Predicates, column_of
from discreet.attacks._reading import Tables, check_known, reading_of, tables_of
from discreet.errors import BadInput
from discreet.generalization.hierarchy import Hierarchy
from discreet.parameters import whole
from discreet.table.classes import classes_of

if TYPE_CHECKING:
    from discreet.engines import Frame

# Predicates that are drawn for each that is used: those that are true of fewest records.
_DRAWN = 4
# Records that these are made of at least, the rarest of the release.
_RAREST = 100
_DID = "isolates one person"
_NOTHING = "The release tells nothing that predicates could be made of."


def singling_out(
    original: Any,
    protected: Any,
    *,
    mode: Literal["several", "one"] = "several",
    known: Sequence[str] | None = None,
    columns: int | None = None,
    holdout: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    drawn: Sequence[str] = (),
    queries: int = 2000,
    random_state: int = 0,
    unit: str | None = None,
    everybody: Frame | None = None,
) -> Attack:
    """Isolate people of the original by what is rare in the release.

    Parameters
    ----------
    original, protected : table
        The same rows in the same order.
    mode : {"several", "one"}
        Predicates on several columns: what rare released records have in random columns, those
        first that are true of few records of the release. Or on one column: its rarest values,
        the ends of its numbers, and its nulls.
    known : list of str, optional
        The columns of predicates; all that the tables share by default.
    columns : int, optional
        How many columns a predicate on several is about, fewer where there are not so many; any
        number from two on by default.
    holdout : table, optional
        People who are not in the release: the control group. Of any number.
    hierarchies : mapping, optional
        What labels cover, by column.
    drawn : sequence of str
        Columns whose numbers were moved at random, even where they look as if they were not.
    queries : int
        The most predicates; no two are the same.
    random_state : int
        The seed of all draws.
    unit : str, optional
        The column of the original, and of the holdout, that says whose record a row is, where
        people have several: one of them is isolated by what is true of some of their records and
        of nobody else's. Without it, and among `everybody`, every row is a person.
    everybody : Frame, optional
        All people, where `original` and `protected` are a sample of them: predicates are made of
        the sample, and counted among all.

    Returns
    -------
    Attack
        A success is a predicate that is true of exactly one person of the original. A guess takes
        columns to be independent: a predicate of the share p by the margins isolates one of N
        people with a chance of N p (1 - p)^(N - 1), or if they have several records, by as many
        draws for each. `detail` has how many predicates were true of
        nobody, of one, and of more.

    Examples
    --------
    Ages, towns and pay as they are, and in broad classes:

    >>> import pandas as pd
    >>> draw = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": draw.integers(20, 70, 900)})
    >>> people["town"] = draw.integers(0, 20, 900)
    >>> people["pay"] = draw.normal(50, 9, 900).round(1)
    >>> inside, outside = people[:700], people[700:]
    >>> found = singling_out(inside, inside, holdout=outside, queries=200)
    >>> found.attack.value > 0.95, found.interval[0] > 0.8
    (True, True)
    >>> broad = inside.assign(age=inside["age"] // 25, pay=inside["pay"] // 20, town="*")
    >>> singling_out(inside, broad, holdout=outside, queries=200).excess
    0.0
    """
    tables = tables_of(original, protected, holdout)
    whole(1).check("queries", queries)
    whole(1, optional=True).check("columns", columns)
    if mode not in ("several", "one"):
        raise BadInput(f"mode must be 'several' or 'one' (columns in a predicate), not {mode!r}")
    names = _names(tables, known, unit)
    if everybody is not None:
        unit = None
    people = People.of(tables.original, unit)
    if unit is not None:
        check_unit(tables, unit)
    given = hierarchies or {}

    def column(tables: Tables, name: str) -> Column:
        return column_of(reading_of(tables, name, given.get(name), name in drawn))

    read = [column(tables, name) for name in names]
    draw = np.random.default_rng(random_state)
    if mode == "one":
        asked = _on_one(read, tables, names, queries, draw)
    else:
        asked = _on_several(read, columns, queries, draw)
    if everybody is None:
        values = [one.reading.values for one in asked.columns]
        among = people.counts(asked, values), asked.shares(values)
    else:
        people = People.alone(everybody.num_rows)
        among = _among_all(asked, tables, names, everybody, column)
    held = None if tables.holdout is None else People.of(tables.holdout, unit)
    return _isolated(asked, {"mode": mode, "columns": names}, people, held, *among)


def _names(tables: Tables, known: Sequence[str] | None, unit: str | None) -> list[str]:
    if known is not None:
        check_known(tables, known)
        return list(known)
    names = [name for name in tables.shared if name != unit]
    if not names:
        raise BadInput("singling out needs a column that all tables have")
    return names


def _on_one(
    columns: Sequence[Column],
    tables: Tables,
    names: Sequence[str],
    queries: int,
    draw: np.random.Generator,
) -> Predicates:
    """Ask for the rarest values of each column, the ends of its numbers, and its nulls."""
    of, conditions = [], []
    for i, (column, name) in enumerate(zip(columns, names, strict=True)):
        count = np.bincount(column.reading.labels, minlength=column.null + 1)[: column.null]
        # A label of the holdout's nulls is of no record.
        there = count[count > 0]
        if len(there):
            rare = np.flatnonzero(count == there.min())
            # The rarest are many where they are single records, and otherwise any of them will do.
            conditions.append(rare if there.min() == 1 else rare[:1])
            if isinstance(column.reading.said, np.ndarray):
                conditions[-1] = np.append(conditions[-1], [column.null + 1, column.null + 2])
            of.append(np.full(len(conditions[-1]), i))
        if tables.protected[name].null_count:
            of.append(np.array([i]))
            conditions.append(np.array([column.null]))
    if not of:
        return Predicates(columns, np.empty((0, 1), np.int64), np.empty((0, 1), np.int64))
    chosen = draw.permutation(sum(map(len, of)))[:queries]
    return Predicates(
        columns, np.concatenate(of)[chosen, None], np.concatenate(conditions)[chosen, None]
    )


def _on_several(
    columns: Sequence[Column], size: int | None, queries: int, draw: np.random.Generator
) -> Predicates:
    """Ask for what random records have in random columns; few records are the best."""
    labels = np.array([one.reading.labels for one in columns])
    told = labels < np.array([one.null for one in columns])[:, None]
    # A record that tells nothing is no predicate.
    rows = np.flatnonzero(told.any(axis=0))
    if not len(rows):
        return Predicates(columns, np.empty((0, 1), np.int64), np.empty((0, 1), np.int64))
    rows = draw.choice(_rarest(labels, told, rows), _DRAWN * queries)
    # Those that tell something first, in random order.
    order = draw.random((len(rows), len(columns))) + ~told[:, rows].T
    of = np.argsort(order, axis=1)[:, :size]
    silent = ~told[of, rows[:, None]]
    if size is None and len(columns) > 2:
        silent |= np.arange(len(columns)) >= draw.integers(2, len(columns) + 1, (len(rows), 1))
    asked = _once(Predicates(columns, np.where(silent, -1, of), labels[of, rows[:, None]]))
    rare = np.argsort(asked.counts([one.released for one in columns]), kind="stable")
    return asked.some(np.sort(rare[:queries]))


def _once(asked: Predicates) -> Predicates:
    """Leave out predicates that were asked before: they are no other attempts."""
    order = np.argsort(asked.of, axis=1)
    of = np.take_along_axis(asked.of, order, axis=1)
    conditions = np.where(of < 0, -1, np.take_along_axis(asked.conditions, order, axis=1))
    _, first = np.unique(np.hstack([of, conditions]), axis=0, return_index=True)
    return asked.some(np.sort(first))


def _rarest(labels: np.ndarray, told: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the records that fewest are equal to, some at least, with all that are as rare."""
    codes = np.where(told, labels, labels.max() + 1)[:, rows]
    ids, count = classes_of(codes, np.full(len(codes), int(codes.max()) + 1))
    size = np.bincount(ids, minlength=count)[ids]
    most = np.partition(size, min(_RAREST, len(size)) - 1)[min(_RAREST, len(size)) - 1]
    return rows[size <= most]


def _among_all(
    asked: Predicates,
    tables: Tables,
    names: Sequence[str],
    everybody: Frame,
    column: Callable[[Tables, str], Column],
) -> tuple[np.ndarray, np.ndarray]:
    """Count all people, not only the sample's, whom predicates are true of, and their shares.

    Columns are read again with the values of all; labels keep their numbers.
    """
    columns, values, times = [], [], []
    conditions = asked.conditions.copy()
    for i, (old, name) in enumerate(zip(asked.columns, names, strict=True)):
        one, count = everybody.counts([name])
        columns.append(column(Tables(tables.original, tables.protected, one), name))
        values.append(one[name].combine_chunks())
        times.append(count)
        # What is asked of nulls and ends is numbered after the labels.
        conditions[(asked.of == i) & (conditions >= old.null)] += columns[-1].null - old.null
    again = Predicates(columns, asked.of, conditions)
    held = [one.reading.held for one in columns]

    def count_in(piece: pa.Table, rows: np.ndarray) -> np.ndarray:
        cells = (piece[name].cast(own.type) for name, own in zip(names, values, strict=True))
        places = (pc.index_in(one, value_set=own) for one, own in zip(cells, values, strict=True))
        return again.counts(
            [own[place.to_numpy()] for own, place in zip(held, places, strict=True)]
        )

    return everybody.fold(count_in, np.add, names), again.shares(held, times)


def _isolated(
    asked: Predicates,
    how: Mapping[str, Any],
    people: People,
    others: People | None,
    count: np.ndarray,
    share: np.ndarray,
) -> Attack:
    """Conclude from how many people predicates are true of."""
    n, expected = len(people), people.alone_by_chance(share)
    right = (count == 1).astype(np.float64)
    detail = {
        **how,
        "true_of_nobody": int(np.sum(count == 0)),
        "true_of_one": int(np.sum(count == 1)),
        "true_of_more": int(np.sum(count > 1)),
    }
    if not len(asked):
        none = Rate(0, 0)
        control = None if others is None else none
        against: Literal["holdout", "guess"] = "guess" if control is None else "holdout"
        could_be = none.interval
        return Attack("singling out", none, control, none, 0.0, could_be, against, _NOTHING, detail)
    if others is None:
        return concluded("singling out", right, expected, did=_DID, detail=detail)
    weight = np.where(count == 0, float(n), np.where(count == 1, 1.0, 0.0))
    held = [one.reading.held for one in asked.columns]
    control, interval = _against(asked, right, weight, held, others)
    attack, guess = Rate(float(right.sum()), len(right)), Rate(float(expected.sum()), len(right))
    excess = attack.value - control.value
    said = sentence(_DID, attack, control, guess, excess, interval)
    return Attack("singling out", attack, control, guess, excess, interval, "holdout", said, detail)


def _against(
    asked: Predicates,
    right: np.ndarray,
    weight: np.ndarray,
    held: Sequence[np.ndarray],
    others: People,
) -> tuple[Rate, Interval]:
    """Return the rate of the control group, and the interval of the excess."""
    size, m = len(asked), len(others)
    some = np.flatnonzero(weight)
    hits, met = np.zeros(size), np.zeros(m)
    for chosen, part, true in others.met(asked.some(some), held):
        hits[some[chosen]] += true.sum(axis=0, dtype=np.int64)
        met[part] += true @ weight[some[chosen]]
    own = weight * hits / m  # of each predicate
    each = met / size  # of each person of the holdout
    rate = float(own.mean())
    # What varies with both, predicate and person, is in both variances.
    twice = float(np.sum(weight**2 * hits * (1 - hits / m))) / (size * m) ** 2
    variance = max(_variance(own) / size + _variance(each) / m - twice, twice)
    control = Rate(min(rate * size, float(size)), size)
    attack = Rate(float(right.sum()), size)
    # Where few predicates are true of nobody, those that could have been do not show: what luck
    # gives varies as a count of predicates at least.
    floor, ceiling = _few(rate, max(variance, rate * (1 - min(rate, 1)) / size), 1 / size)
    together = 0.0
    spread = math.sqrt(_variance(right) / size * variance)
    if spread > 0:
        shared = float(np.mean((right - right.mean()) * (own - rate))) / size
        together = min(1.0, max(-1.0, shared / spread))
    return control, hybrid(attack, control.value, (rate - floor, ceiling - rate), together)


def _variance(values: np.ndarray) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0


def _few(rate: float, variance: float, least: float) -> Interval:
    """Return the ends of a rate as of a Poisson count that varies as much; `least` is one."""
    scale = variance / rate if rate > 0 and variance > 0 else least
    if scale == 0:
        return rate, rate
    count = rate / scale
    half = Z * math.sqrt(count + Z * Z / 4)
    return max(0.0, count + Z * Z / 2 - half) * scale, (count + Z * Z / 2 + half) * scale
