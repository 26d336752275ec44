"""Linkability: whether two parties who know different columns of a person find out that it is one.

One party knows the first columns of some people, the other the second columns of the same people.
Neither knows which of the other's people is which of theirs; the release has both kinds of columns
and joins them. For person i of the one and person j of the other, it says

    L(i, j) = mean of A(i, r) B(j, r) / (mean of A(i, r) * mean of B(j, r)),

each a mean over all released records r, where log A and log B are the scores of the record for what
either party knows: how much likelier the two are the same person than two people taken at random.
Each i is put together with the likeliest j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from discreet.attacks._excess import Attack, concluded
from discreet.attacks._people import NobodyToAttack, some_people
from discreet.attacks._reading import Tables, check_known, tables_of
from discreet.attacks._records import Records, records_of, some_of
from discreet.errors import BadInput
from discreet.generalization.hierarchy import Hierarchy
from discreet.parameters import whole

# Likelihoods that differ by less, relatively, are ties: rounding makes them differ.
_TIED = 1e-4


# Threads of matrix products wait for each other, and rounding depends on their number.
@threadpool_limits.wrap(limits=1, user_api="blas")
def linkability(
    original: Any,
    protected: Any,
    *,
    known: Sequence[Any] | None = None,
    holdout: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    drawn: Sequence[str] = (),
    queries: int = 2000,
    among: int = 100,
    random_state: int = 0,
    unit: str | None = None,
) -> Attack:
    """Two parties put together what they know of the same people, by means of the release.

    Parameters
    ----------
    original, protected : table
        The same rows in the same order.
    known : pair of lists of str, or list of str
        The columns that each party knows. One list is cut in half; left out, it is all columns
        that the tables share.
    holdout : table, optional
        People who are not in the release: the control group.
    hierarchies : mapping, optional
        What labels cover, by column.
    drawn : sequence of str
        Columns whose numbers were moved at random, even where they look as if they were not.
    queries : int
        The most people to attack, drawn at random; fewer where more than a quarter of a million
        released records are distinct, and the interval is wider then.
    among : int
        A person is to be found among so many, who are drawn at random and known to the other
        party. There are fewer where a table has fewer people.
    random_state : int
        The seed of all draws.
    unit : str, optional
        The column of the original that says whose record a row is. Of each person, or household,
        one record is attacked, drawn at random: the interval is of independent attempts, which
        records of one person are not. So it is in the holdout, if that has the column.

    Returns
    -------
    Attack
        A success is a person whose two halves are put together; of equally likely ones, one is
        drawn. A guess succeeds once in `among`. What the two halves say of each other about
        anybody, such as that the old are retired, is not the release's doing: people of the holdout
        are put together by it as well, which is what they are for.

    Examples
    --------
    People of whom one party knows age and town and the other pay and rent: as they are, and with
    ages and pay in broad classes.

    >>> import pandas as pd
    >>> draw = np.random.default_rng(1)
    >>> people = pd.DataFrame(draw.integers(0, 50, (600, 2)), columns=["age", "town"])
    >>> people["pay"], people["rent"] = draw.normal(50, 9, 600).round(1), draw.integers(4, 9, 600)
    >>> inside, outside = people[:500], people[500:]
    >>> known = ["age", "town"], ["pay", "rent"]
    >>> linkability(inside, inside, known=known, holdout=outside).attack.value > 0.9
    True
    >>> broad = inside.assign(age=inside["age"] // 25, pay=inside["pay"] // 20, town="*")
    >>> found = linkability(inside, broad, known=known, holdout=outside)
    >>> found.interval[0] < 0 < found.interval[1]
    True
    """
    tables, rows = some_people(tables_of(original, protected, holdout), unit, random_state)
    parties = _parties(tables, known, unit)
    whole(1).check("queries", queries)
    whole(2).check("among", among)
    draw = np.random.default_rng(random_state)
    n, n_held = len(rows), _rows(tables.holdout)
    if n < 2 or n_held == 1:
        raise NobodyToAttack("linkability needs at least two people to tell apart in each table")
    sides = [records_of(tables, columns, hierarchies, drawn) for columns in parties]
    among = min(among, n, n_held or n)
    queries = min(side.affordable(queries) for side in sides)
    attacked = _linked(sides, rows[some_of(n, queries, draw)], rows, among, draw)
    controlled = None
    if n_held:
        chosen = some_of(n_held, queries, draw)
        controlled = _linked(sides, chosen, np.arange(n_held), among, draw, held=True)
    return concluded(
        "linkability",
        attacked,
        1 / among,
        controlled,
        did=f"puts the two halves of a person together, among {among} people,",
        detail={"known": [list(columns) for columns in parties], "among": among},
    )


def _rows(table: Any) -> int:
    return 0 if table is None else int(table.num_rows)


def _parties(
    tables: Tables, known: Sequence[Any] | None, unit: str | None
) -> tuple[list[str], list[str]]:
    """Return the columns of each party."""
    if known is None:
        known = [name for name in tables.shared if name != unit]
        if len(known) < 2:
            raise BadInput("linkability needs two columns that all tables have, one for each party")
    if isinstance(known, str) or not len(known):
        raise BadInput("known must name columns for two parties, such as (['age'], ['job'])")
    if all(isinstance(name, str) for name in known):
        known = [*known[: (len(known) + 1) // 2]], [*known[(len(known) + 1) // 2 :]]
    if len(known) != 2 or any(isinstance(one, str) for one in known):
        raise BadInput("known must be two lists of columns, one for each party")
    for columns in known:
        check_known(tables, columns)
    if both := set(known[0]) & set(known[1]):
        raise BadInput(
            f"both parties know '{min(both)}', by which they need no release; leave it out of one"
        )
    return list(known[0]), list(known[1])


def _linked(
    sides: Sequence[Records],
    targets: np.ndarray,
    everybody: np.ndarray,
    among: int,
    draw: np.random.Generator,
    held: bool = False,
) -> np.ndarray:
    """Return 1 for each target that is put together with itself, 0 for others."""
    joint = _joint(*sides)
    order = draw.permutation(targets)
    found = []
    for first in range(0, len(order), among):
        pool = order[first : first + among]
        asked = len(pool)
        if asked < among:
            # The last few are looked for among as many as all others are.
            rest = np.setdiff1d(everybody, pool)
            pool = np.append(pool, draw.permutation(rest)[: among - asked])
        likely = _likely(sides, joint, pool, held)[:asked]
        best = likely >= likely.max(axis=1, keepdims=True) * (1 - _TIED)
        own = best[np.arange(asked), np.arange(asked)]
        found.append(own & (draw.random(asked) * best.sum(axis=1) < 1))
    return np.concatenate(found).astype(np.float64)


def _joint(one: Records, other: Records) -> sparse.csr_array:
    """Count the released records of each pair of distinct ones."""
    shape = one.tuples.shape[1], other.tuples.shape[1]
    return sparse.csr_array((np.ones(len(one.of), np.float32), (one.of, other.of)), shape=shape)


def _likely(
    sides: Sequence[Records], joint: sparse.csr_array, pool: np.ndarray, held: bool
) -> np.ndarray:
    """Return L(i, j) of the people of a pool, each row up to a factor."""
    a, b = (_ratios(side, pool, held) for side in sides)
    b /= (b @ sides[1].counts.astype(np.float32))[:, None]
    return np.asarray((joint.T @ a.T).T @ b.T)


def _ratios(side: Records, pool: np.ndarray, held: bool) -> np.ndarray:
    """Return what records say of people, each row up to a factor, which cancels out."""
    found = np.empty((len(pool), side.tuples.shape[1]), np.float32)
    for part, scores in side.scores(side.people(pool, held)):
        np.subtract(scores, scores.max(axis=1, keepdims=True), out=found[part])
        np.exp(found[part], out=found[part])
    return found
