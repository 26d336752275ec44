"""Membership: whether it can be told that a person is in the release.

Who is in it has a record that is theirs. A person's score is that of the nearest released record:
how much likelier it is to be theirs than anybody's. People of the original are told from people of
the holdout by a threshold on the score: those above it are said to be in the release.

An average over all thresholds hides the few people of whom one can be nearly certain (Carlini et
al. 2022), so that the risk is taken where the intruder is wrong with one in a hundred of those who
are not in the release: how many of those who are in it are found. People with the same score are
found with the same chance, such that exactly one in a hundred is wrong.

The threshold is learned from the holdout and is as uncertain as that is small. Of M people, the
shares between one score and the next are those of M + 1 uniform gaps, whatever the scores are
distributed like. Such gaps are drawn, the one in a hundred is looked up in them, and a rate is
drawn for as many people as are found there. The interval goes from 2.5 % to 97.5 % of these rates:
the lower end by the beta distribution of Jeffreys, the upper by that of Clopper and Pearson (1934),
since where nobody is found, the former would rule out the one in a hundred that chance finds. It
covers no less than it says, and more where only two or three of the holdout are above the
threshold. The area under the curve has the variance of
DeLong et al. (1988), on the logit scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.attacks._excess import Attack, Interval, Rate, Z, sentence
from discreet.attacks._people import some_people
from discreet.attacks._reading import check_known, tables_of
from discreet.attacks._records import Records, records_of, some_of
from discreet.errors import BadInput
from discreet.generalization.hierarchy import Hierarchy
from discreet.parameters import whole

# Of people who are not in the release, so many are said to be.
WRONG = 0.01
# Rates that are drawn for the interval.
_RATES = 4000


def membership(
    original: Any,
    protected: Any,
    *,
    holdout: Any,
    known: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    drawn: Sequence[str] = (),
    queries: int = 2000,
    random_state: int = 0,
    unit: str | None = None,
) -> Attack:
    """Tell who is in the release from who is not, by how well the nearest record fits.

    Parameters
    ----------
    original, protected : table
        The same rows in the same order.
    holdout : table
        People like those of the original who are not in the release; without them nobody could be
        told apart from anybody.
    known : list of str, optional
        The columns that are known of a person; all that the tables share by default.
    hierarchies : mapping, optional
        What labels cover, by column.
    drawn : sequence of str
        Columns whose numbers were moved at random, even where they look as if they were not.
    queries : int
        The most people of either table, drawn at random; fewer where more than a quarter of a
        million released records are distinct, and the interval is wider then.
    random_state : int
        The seed of all draws.
    unit : str, optional
        The column of the original that says whose record a row is. Of each person, or household,
        one record is attacked, drawn at random: the interval is of independent attempts, which
        records of one person are not. So it is in the holdout, if that has the column.

    Returns
    -------
    Attack
        A success is a person who is said to be in the release, at a threshold by which one in a
        hundred is who is not in it. `detail` has the area under the curve, with its interval.

    Examples
    --------
    >>> import pandas as pd
    >>> draw = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": draw.integers(20, 70, 900)})
    >>> people["town"] = draw.integers(0, 20, 900)
    >>> people["pay"] = draw.normal(50, 9, 900).round(1)
    >>> inside, outside = people[:600], people[600:]
    >>> membership(inside, inside, holdout=outside).excess > 0.9
    True
    >>> broad = inside.assign(age=inside["age"] // 25, pay=inside["pay"] // 20, town="*")
    >>> found = membership(inside, broad, holdout=outside)
    >>> found.interval[0] < 0 < found.interval[1]
    True
    """
    if holdout is None:
        raise BadInput(
            "membership needs a holdout: without people who are not in the release, nobody can be "
            "told apart from them"
        )
    tables, rows = some_people(tables_of(original, protected, holdout), unit, random_state)
    assert tables.holdout is not None
    whole(1).check("queries", queries)
    known = [name for name in tables.shared if name != unit] if known is None else known
    check_known(tables, known)
    draw = np.random.default_rng(random_state)
    records = records_of(tables, known, hierarchies, drawn)
    queries = records.affordable(queries)
    inside = rows[some_of(len(rows), queries, draw)]
    outside = some_of(tables.holdout.num_rows, queries, draw)
    own, other = _nearest(records, inside), _nearest(records, outside, held=True)
    found, interval = gain(own, other, draw)
    area, area_interval = area_under(own, other)
    attack = Rate(found * len(own), len(own))
    control, guess = Rate(WRONG * len(other), len(other)), Rate(WRONG * len(own), len(own))
    excess = found - WRONG
    did = "takes a person to be in the release"
    said = sentence(did, attack, control, guess, excess, interval)
    detail = {"known": list(known), "area": area, "area_interval": list(area_interval)}
    return Attack("membership", attack, control, guess, excess, interval, "holdout", said, detail)


def _nearest(records: Records, rows: np.ndarray, held: bool = False) -> np.ndarray:
    """Return the score of the nearest record of each person."""
    people = records.people(rows, held)
    found = np.empty(len(rows))
    for part, scores in records.scores(people):
        found[part] = scores.max(axis=1)
    # Sums of the same in another order are the same.
    return found.round(4)


def gain(own: np.ndarray, other: np.ndarray, draw: np.random.Generator) -> tuple[float, Interval]:
    """Return the share that is found where 1 % is wrong, and the interval of what that adds to 1 %.

    Parameters
    ----------
    own, other : array
        Scores of people who are in the release, and of people who are not.
    draw : Generator
    """
    found, gaps = _found(own, other), _gaps(own, other)
    n, m = len(own), len(other)
    # Gaps beyond these are never reached.
    size = min(m + 1, int(WRONG * m + 8 * math.sqrt(WRONG * m)) + 20)
    wide = draw.standard_exponential((_RATES, size))
    upto = np.cumsum(wide, axis=1)
    rest = draw.standard_gamma(m + 1 - size, _RATES) if m + 1 > size else 0.0
    allowed = WRONG * (upto[:, -1] + rest)
    rows, last = np.arange(_RATES), np.argmax(upto > allowed[:, None], axis=1)
    # Of the gap in which one in a hundred is reached, a part is taken.
    part = 1 - (upto[rows, last] - allowed) / wide[rows, last]
    people = np.clip(np.cumsum(gaps)[last] - (1 - part) * gaps[last], 0, n)
    low = np.quantile(draw.beta(people + 0.5, n - people + 0.5), 0.025)
    high = np.quantile(draw.beta(people + 1, np.maximum(n - people, 0.5)), 0.975)
    # What is observed is never out of the question.
    return found, (min(float(low), found) - WRONG, max(float(high), found) - WRONG)


def _gaps(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Count the people before the best of the others, between each two of them, and after the last.

    People whose score others share are in the gaps beside and between these, in equal parts.
    """
    there = -np.sort(-other)
    first = np.searchsorted(-there, -own, side="left")
    shared = np.searchsorted(-there, -own, side="right") - first
    steps = np.zeros(len(other) + 2)
    np.add.at(steps, first, 1 / (shared + 1))
    np.add.at(steps, first + shared + 1, -1 / (shared + 1))
    return np.cumsum(steps)[:-1]


def _found(own: np.ndarray, other: np.ndarray) -> float:
    """Return the share found where `WRONG` is wrong."""
    allowed = WRONG * len(other)
    # The best score with which too many would be wrong; some of those who have it are taken.
    last = -np.sort(-other)[min(int(allowed), len(other) - 1)]
    part = (allowed - np.sum(other > last)) / np.sum(other == last)
    return float(np.mean(own > last) + part * np.mean(own == last))


def area_under(own: np.ndarray, other: np.ndarray) -> tuple[float, Interval]:
    """Return the area under the curve with its 95 % interval.

    It is how often somebody in the release has a higher score than somebody who is not.

    Examples
    --------
    >>> area, interval = area_under(np.array([1.0, 2, 3, 4]), np.array([0.0, 1, 2, 3]))
    >>> round(area, 4), [round(end, 2) for end in interval]
    (0.7188, [0.28, 0.94])
    """
    below, above = _share_below(own, other), 1 - _share_below(other, own)
    area = float(below.mean())
    n, m = len(own), len(other)
    spread = sum(float(np.var(one, ddof=1)) / len(one) for one in (below, above) if len(one) > 1)
    if not 0 < area < 1:
        # All of one are above all of the other: as uncertain as the smaller group.
        low, high = Rate(area * min(n, m), min(n, m)).interval
        return area, (low, high)
    logit, half = math.log(area / (1 - area)), Z * math.sqrt(spread) / (area * (1 - area))
    low, high = (1 / (1 + math.exp(-min(700.0, max(-700.0, logit + s * half)))) for s in (-1, 1))
    return area, (low, high)


def _share_below(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the share of others below each value, half of those that are as high."""
    order = np.sort(others)
    left, right = (np.searchsorted(order, values, side=side) for side in ("left", "right"))
    return (left + right) / (2 * len(others))
