"""Scores: information loss and disclosure risk in one figure, in percent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, overload

import numpy as np

from discreet import risk
from discreet.errors import BadInput, nearest
from discreet.risk._known import Known
from discreet.risk.probabilistic import Agreement
from discreet.utility.compared import compared, complete_rows
from discreet.utility.loss import il1s
from discreet.utility.moments import il_metrics

Interval = Literal["known", "all"]
Link = Literal["to-original", "to-protected"]


@dataclass(frozen=True)
class Score:
    """A score and the figures it is made of, by name."""

    value: float
    parts: dict[str, float]


def normalized_score_of(il: float, mean_il1s: float, idr: float, dld: float) -> float:
    """Mean of four figures in 0..100: il_metrics and 100 * mean il1s, both capped, IDR and DLD.

    Examples
    --------
    >>> normalized_score_of(il=250.0, mean_il1s=0.2, idr=40.0, dld=0.0)
    40.0
    """
    return 0.25 * (min(100.0, il) + min(100.0, 100 * mean_il1s) + idr + dld)


def dr_of(dld: float, pld: float, interval: float) -> float:
    """Disclosure risk from its three parts, all in percent.

    Examples
    --------
    >>> dr_of(dld=4.0, pld=8.0, interval=30.0)
    18.0
    """
    return 0.25 * dld + 0.25 * pld + 0.5 * interval


@overload
def dr(
    original: Any,
    protected: Any,
    *,
    known: Known = ...,
    interval: Interval = ...,
    agreement: Agreement = ...,
) -> float: ...
@overload
def dr(
    original: Any,
    protected: Any,
    *,
    known: Known = ...,
    interval: Interval = ...,
    agreement: Agreement = ...,
    detail: Literal[True],
) -> Score: ...
def dr(
    original: Any,
    protected: Any,
    *,
    known: Known = "paper",
    interval: Interval = "known",
    agreement: Agreement = "sd",
    detail: bool = False,
) -> float | Score:
    """Disclosure risk in percent: 0.25 DLD + 0.25 PLD + 0.5 ID.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    known : {"paper", "all"}, list of str or list of lists of str
        What the intruder knows, as in `discreet.risk.distance_linkage`.
    interval : {"known", "all"}
        Of which columns interval disclosure is taken: of those that are known, set by set, or of
        all numbers, which sees columns that no intruder is taken to know.
    agreement : {"sd", "rank", "graded"}
        When numbers agree, as in `discreet.risk.probabilistic_linkage`. Published scores are by one
        tolerance, and so is `"sd"`; the others find more records where columns are skewed.
    detail : bool
        Give the three parts too.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.random.default_rng(1).normal(size=(100, 4))
    >>> released = people.copy()
    >>> released[:, :2] = people[::-1, :2]
    >>> round(dr(people, released)), round(dr(people, released, interval="all"))
    (6, 28)
    """
    if interval not in get_args(Interval):
        raise BadInput(f'interval = "{interval}" is not "known" or "all"')
    linkage = risk.probabilistic_linkage(original, protected, known=known, agreement=agreement)
    looked_at = "all" if interval == "all" else known
    parts = {
        "dld": 100 * risk.distance_linkage(original, protected, known=known),
        "pld": 100 * linkage,
        "interval": 100
        * risk.interval_disclosure(original, protected, kind="rank", known=looked_at),
    }
    value = dr_of(**parts)
    result = Score(value, parts)
    return result if detail else result.value


@overload
def score(
    original: Any,
    protected: Any,
    *,
    known: Known = ...,
    interval: Interval = ...,
    agreement: Agreement = ...,
) -> float: ...
@overload
def score(
    original: Any,
    protected: Any,
    *,
    known: Known = ...,
    interval: Interval = ...,
    agreement: Agreement = ...,
    detail: Literal[True],
) -> Score: ...
def score(
    original: Any,
    protected: Any,
    *,
    known: Known = "paper",
    interval: Interval = "known",
    agreement: Agreement = "sd",
    detail: bool = False,
) -> float | Score:
    """0.5 IL + 0.5 DR in percent (Domingo-Ferrer and Torra 2001), IL being `il_metrics`.

    Parameters are those of `dr`.
    """
    loss = il_metrics(original, protected)
    found = dr(
        original, protected, known=known, interval=interval, agreement=agreement, detail=True
    )
    value = 0.5 * loss + 0.5 * found.value
    result = Score(value, {"il": loss, "dr": found.value, **found.parts})
    return result if detail else result.value


@overload
def normalized_score(original: Any, protected: Any, *, known: Any = ...) -> float: ...
@overload
def normalized_score(
    original: Any, protected: Any, *, known: Any = ..., detail: Literal[True]
) -> Score: ...
def normalized_score(
    original: Any, protected: Any, *, known: Any = "paper", detail: bool = False
) -> float | Score:
    """Mean of four figures in 0..100: il_metrics, il1s, interval disclosure, distance linkage.

    No figure can outweigh the others, and no masking at all scores 50. Parameters are those of
    `dr`.
    """
    parts = {
        "il": il_metrics(original, protected),
        "mean_il1s": il1s(original, protected, normalize=True),
        "idr": 100 * risk.interval_disclosure(original, protected, kind="sd"),
        "dld": 100 * risk.distance_linkage(original, protected, known=known),
    }
    result = Score(normalized_score_of(**parts), parts)
    return result if detail else result.value


@overload
def il_dr_score(original: Any, protected: Any, *, linkage: Link = ...) -> float: ...
@overload
def il_dr_score(
    original: Any, protected: Any, *, linkage: Link = ..., detail: Literal[True]
) -> Score: ...
def il_dr_score(
    original: Any, protected: Any, *, linkage: Link = "to-original", detail: bool = False
) -> float | Score:
    """Return the rounding paper's score, for its reproduction only: no masking scores above 0.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    linkage : {"to-original", "to-protected"}
        How DDR links records, by distance on the raw scale, the first on ties. `"to-original"`, as
        the paper words it: each protected record to its nearest original; the share of records
        for which that is their own. `"to-protected"`, which the paper's figures fit: each original
        to its nearest protected record, hits over cells.
    detail : bool
        Give the four parts too.

    Examples
    --------
    >>> people = [[1.0, 2.0], [3.0, 5.0], [4.0, 9.0]]
    >>> il_dr_score(people, people), il_dr_score(people, people, linkage="to-protected")
    (0.5, 0.375)
    """
    if linkage not in get_args(Link):
        raise BadInput(f'linkage = "{linkage}": {nearest(linkage, get_args(Link))}')
    parts = {
        "il": il_metrics(original, protected),
        "il1s_sum": il1s(original, protected),
        "idr": risk.interval_disclosure(original, protected, kind="sd"),
        "ddr": ddr(original, protected, linkage),
    }
    value = 0.25 * (parts["il"] + parts["il1s_sum"] + parts["idr"] + parts["ddr"])
    result = Score(value, parts)
    return result if detail else result.value


def ddr(original: Any, protected: Any, linkage: Link, block: int = 256) -> float:
    """DDR of `il_dr_score` by one of its two readings."""
    from scipy.spatial.distance import cdist

    pairs = compared(original, protected, "il_dr_score")
    if not pairs:
        raise BadInput("il_dr_score needs numeric columns with values in both tables")
    x, y = complete_rows(pairs)
    whose, among = (y, x) if linkage == "to-original" else (x, y)
    hits = 0
    for start in range(0, len(x), block):
        found = cdist(whose[start : start + block], among).argmin(axis=1)
        hits += int((found == np.arange(start, start + len(found))).sum())
    return hits / max(1, len(x) if linkage == "to-original" else x.size)
