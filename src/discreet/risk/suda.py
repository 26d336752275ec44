"""SUDA2: special uniques, records that a few values already single out (Elliot, Manning).

A minimal sample unique of a record is a set of columns on which it is alone, while it is not on
any smaller set inside. The fewer columns, the more it stands out: with M columns a set of size s
scores (M - s)!.

The sets are taken by size. A record that is alone on part of a set is alone on all of it: there it
neither has a minimal unique nor matches anybody, and is left out of the count from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import Any, Literal, overload

import numpy as np

from discreet.errors import BadInput
from discreet.measure import LARGEST, Entry, Facts, Figure, Measure
from discreet.table.classes import classes_of, encode_columns
from discreet.table.native import to_arrow

_MOST_COLUMNS = 16
_MOST_BYTES = 2**32


@dataclass(frozen=True)
class Suda:
    """SUDA `scores` of the records, 0 where one has no unique, and `value`, the largest `dis`.

    DIS is the chance that a match to a record is right. Of each column: the share of all scores
    that comes from uniques with it in them.
    """

    value: float
    scores: np.ndarray
    dis: np.ndarray
    columns: dict[str, float]


@overload
def suda2(table: Any, columns: Sequence[str], *, d: float = ...) -> float: ...
@overload
def suda2(table: Any, columns: Sequence[str], *, d: float = ..., detail: Literal[True]) -> Suda: ...
def suda2(
    table: Any, columns: Sequence[str], *, d: float = 0.01, detail: bool = False
) -> float | Suda:
    """Score the records by their minimal sample uniques.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : sequence of str
        The keys, at most 16: all their sets are looked at.
    d : float
        Sampling fraction that DIS assumes.
    detail : bool
        Give the scores of all records too.

    Returns
    -------
    float or Suda
        The largest DIS. On a set of columns, records with a null in it are left out: a null is in
        no unique, and matches none.

    Notes
    -----
    DIS = 1 / (1 + P (1 - d) / (d score^Q A)) with Q = 1 + (8 - M) / 20, A the sum of score^-Q over
    the scored records and P the records in exact pairs. Without pairs it is 1 for scored records.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["f", "f", "m", "m"], "job": ["nurse", "nurse", "nurse", "judge"]})
    >>> suda2(table, ["sex", "job"], detail=True).scores.tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    if len(columns) > _MOST_COLUMNS:
        raise BadInput(
            f"suda2 looks at all sets of columns, 2^{len(columns)} here; "
            f"give at most {_MOST_COLUMNS} columns"
        )
    if not 0 < d < 1:
        raise BadInput(f"d must lie between 0 and 1, not {d}")
    table = to_arrow(table)
    _check_memory(len(columns), table.num_rows)
    codes, sizes = encode_columns(table, columns)
    scores, by_column = _scores(codes, sizes)
    whole = (codes >= 0).all(axis=0)
    dis = _dis(scores, _pairs(codes[:, whole], sizes), len(columns), d)
    if not detail:
        return float(dis.max(initial=0.0))
    total = scores.sum()
    shares = {
        c: float(s / total) if total else 0.0 for c, s in zip(columns, by_column, strict=True)
    }
    return Suda(float(dis.max(initial=0.0)), scores, dis, shares)


def _check_memory(m: int, n: int) -> None:
    """Refuse what would fill memory: a bit for each record and set, of two sizes of sets."""
    needed = max(comb(m, s) + comb(m, s - 1) for s in range(1, m + 1)) * n // 8 if m else 0
    if needed > _MOST_BYTES:
        raise BadInput(
            f"suda2 would take {needed / 2**30:.0f} GB of memory for {m} columns of {n:,} records; "
            "give fewer columns"
        )


def _scores(codes: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add up the scores of each record, and of each column."""
    m, n = codes.shape
    scores, by_column = np.zeros(n), np.zeros(m)
    filled = np.packbits(codes >= 0, axis=1)
    # Sets of the last size -> the records still to be counted on them, a bit each.
    open_rows: dict[tuple[int, ...], np.ndarray] = {(): np.packbits(np.ones(n, dtype=bool))}
    for size in range(1, m + 1):
        now: dict[tuple[int, ...], np.ndarray] = {}
        for chosen in combinations(range(m), size):
            bits = np.bitwise_and.reduce(filled[list(chosen)])
            for part in combinations(chosen, size - 1):
                bits &= open_rows[part]
            still = np.unpackbits(bits, count=n).view(bool)
            rows = np.flatnonzero(still)
            alone = rows[_alone(codes[list(chosen)][:, rows], sizes[list(chosen)])]
            scores[alone] += factorial(m - size)
            by_column[list(chosen)] += len(alone) * factorial(m - size)
            still[alone] = False
            now[chosen] = np.packbits(still)
        open_rows = now
    return scores, by_column


def _alone(codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    ids, count = classes_of(codes, sizes)
    return np.bincount(ids, minlength=count)[ids] == 1


def _pairs(codes: np.ndarray, sizes: np.ndarray) -> int:
    ids, count = classes_of(codes, sizes)
    return 2 * int((np.bincount(ids, minlength=count) == 2).sum())


def _dis(scores: np.ndarray, pairs: int, m: int, d: float) -> np.ndarray:
    dis = np.zeros(len(scores))
    scored = scores > 0
    power = scores[scored] ** (1 + (8 - m) / 20)
    dis[scored] = 1 / (1 + pairs * (1 - d) / (d * power * (1 / power).sum()))
    return dis


def _take(t: Facts) -> Entry:
    tables, sides = t.rows(), []
    for table in (tables.before, tables.after):
        found = suda2(table, t.quasi, detail=True)
        scored = int((found.scores > 0).sum())
        sides.append({"largest_dis": found.value, "scored": scored, "columns": found.columns})
    return {"before": sides[0], "after": sides[1]}


SUDA2 = Measure(
    "suda2",
    "records that a few values already single out",
    _take,
    [
        Figure("SUDA, largest DIS", "largest_dis", "%", guide=LARGEST,
               reading="largest chance that a match to a special unique is right"),
        Figure("SUDA, records scored", "scored", "records"),
    ],
    needs=["quasi columns", "all rows"],
    on_request="it looks at all sets of quasi columns",
    by_frequency=True,
    intruder="matching on a few columns; beside the original table",
)  # fmt: skip
