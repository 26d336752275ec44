"""Scores: information loss and disclosure risk in one figure, in percent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet import risk
from discreet.errors import BadInput
from discreet.utility.compared import compared, complete_rows
from discreet.utility.loss import il1s
from discreet.utility.moments import il_metrics


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
def dr(original: Any, protected: Any, *, known: Any = ...) -> float: ...
@overload
def dr(original: Any, protected: Any, *, known: Any = ..., detail: Literal[True]) -> Score: ...
def dr(
    original: Any, protected: Any, *, known: Any = "paper", detail: bool = False
) -> float | Score:
    """Disclosure risk in percent: 0.25 DLD + 0.25 PLD + 0.5 ID.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    known : "paper" or list
        What the intruder knows, as in `discreet.risk.distance_linkage`.
    detail : bool
        Give the three parts too.
    """
    parts = {
        "dld": 100 * risk.distance_linkage(original, protected, known=known),
        "pld": 100 * risk.probabilistic_linkage(original, protected, known=known),
        "interval": 100 * risk.interval_disclosure(original, protected, kind="rank"),
    }
    value = dr_of(**parts)
    result = Score(value, parts)
    return result if detail else result.value


@overload
def score(original: Any, protected: Any, *, known: Any = ...) -> float: ...
@overload
def score(original: Any, protected: Any, *, known: Any = ..., detail: Literal[True]) -> Score: ...
def score(
    original: Any, protected: Any, *, known: Any = "paper", detail: bool = False
) -> float | Score:
    """0.5 IL + 0.5 DR in percent (Domingo-Ferrer and Torra 2001), IL being `il_metrics`.

    Parameters are those of `dr`.
    """
    loss = il_metrics(original, protected)
    found = dr(original, protected, known=known, detail=True)
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
def il_dr_score(original: Any, protected: Any) -> float: ...
@overload
def il_dr_score(original: Any, protected: Any, *, detail: Literal[True]) -> Score: ...
def il_dr_score(original: Any, protected: Any, *, detail: bool = False) -> float | Score:
    """Return the rounding paper's score, for its reproduction only: no masking scores above 0.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    detail : bool
        Give the four parts too.
    """
    parts = {
        "il": il_metrics(original, protected),
        "il1s_sum": il1s(original, protected),
        "idr": risk.interval_disclosure(original, protected, kind="sd"),
        "ddr": _paper_linkage(original, protected),
    }
    value = 0.25 * (parts["il"] + parts["il1s_sum"] + parts["idr"] + parts["ddr"])
    result = Score(value, parts)
    return result if detail else result.value


def _paper_linkage(original: Any, protected: Any, block: int = 256) -> float:
    """DDR: original to nearest protected on the raw scale, the first on ties; hits / (n p)."""
    from scipy.spatial.distance import cdist

    pairs = compared(original, protected, "il_dr_score")
    if not pairs:
        raise BadInput("il_dr_score needs numeric columns with values in both tables")
    x, y = complete_rows(pairs)
    hits = 0
    for start in range(0, len(x), block):
        nearest = cdist(x[start : start + block], y).argmin(axis=1)
        hits += int((nearest == np.arange(start, start + len(nearest))).sum())
    return hits / max(1, x.size)
