"""Information loss as the change of moments: the five terms of Domingo-Ferrer and Torra (2001)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.errors import BadInput
from discreet.utility.compared import ROUNDING, Pairs, compared, is_constant, leave_out


@dataclass(frozen=True)
class MomentLoss:
    """Information loss by moments.

    Attributes
    ----------
    value : float
        100 times the mean of the terms.
    terms : dict of str to float
        `cells`, `means`, `covariances`, `variances`, `correlations`; a term with nothing to
        compare is not there.
    columns : dict of str to float
        Each column's mean relative change of its cells.
    """

    value: float
    terms: dict[str, float]
    columns: dict[str, float]


@overload
def il_metrics(original: Any, protected: Any, *, threshold: float = ...) -> float: ...
@overload
def il_metrics(
    original: Any, protected: Any, *, threshold: float = ..., detail: Literal[True]
) -> MomentLoss: ...
def il_metrics(
    original: Any, protected: Any, *, threshold: float = 0.0, detail: bool = False
) -> float | MomentLoss:
    """100 times the mean of five relative changes: cells, means, (co)variances, correlations.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    threshold : float
        Cells with |x| up to this are left out of the first term; 0 leaves out zeros only.
    detail : bool
        Give the terms and columns too.

    Returns
    -------
    float or MomentLoss
        Cells that are null on either side are left out; a covariance takes the rows where both
        columns have values. Denominators that are zero up to rounding are left out. A constant
        original column is left out of the second moments, with a warning; a column that became
        constant has correlation 0, with a warning.

    Examples
    --------
    >>> il_metrics([[1.0], [3.0]], [[2.0], [2.0]], detail=True).terms
    {'cells': 0.666..., 'means': 0.0, 'covariances': 1.0, 'variances': 1.0}
    """
    if not threshold >= 0:
        raise BadInput(f"threshold = {threshold} must be 0 or more")
    pairs = compared(original, protected, "il_metrics")
    cells, columns = _cells(pairs, threshold)
    terms = {"cells": cells, "means": _means(pairs)}
    varied = {}
    for name, (x, y) in pairs.items():
        if is_constant(x):
            leave_out("il_metrics", name, "which is constant, beyond its cells and mean")
        else:
            varied[name] = x, y
    terms |= _second_moments(varied)
    present = {name: term for name, term in terms.items() if term is not None}
    value = 100 * sum(present.values()) / max(1, len(present))
    return MomentLoss(value, present, columns) if detail else value


def _cells(pairs: Pairs, threshold: float) -> tuple[float | None, dict[str, float]]:
    total, count, columns = 0.0, 0, {}
    for name, (x, y) in pairs.items():
        used = np.abs(x) > threshold
        change = np.abs(x[used] - y[used]) / np.abs(x[used])
        if len(change):
            columns[name] = float(change.mean())
        total, count = total + float(change.sum()), count + len(change)
    return (total / count if count else None), columns


def _means(pairs: Pairs) -> float | None:
    changes = []
    for x, y in pairs.values():
        mean = float(np.nanmean(x))
        if abs(mean) > ROUNDING * float(np.nanmax(np.abs(x))):
            # The difference of the cells first: means of large values would cancel.
            changes.append(abs(float(np.nanmean(x - y)) / mean))
    return float(np.mean(changes)) if changes else None


def _second_moments(pairs: Pairs) -> dict[str, float | None]:
    if not pairs:
        return {}
    v, scale = covariances([x for x, _ in pairs.values()])
    w, other = covariances([y for _, y in pairs.values()])
    upper = np.triu(np.ones_like(v, dtype=bool)) & (np.abs(v) > ROUNDING * scale)
    relative = np.abs(v - w)[upper] / np.abs(v)[upper]
    diagonal = np.diag(v) > 0
    variances = np.abs(np.diag(v) - np.diag(w))[diagonal] / np.diag(v)[diagonal]
    apart = np.triu(scale > 0, 1)
    change = np.abs(_correlations(v, scale) - _correlations(w, other))[apart]
    if len(pairs) > 1:
        _say_flat(pairs)
    return {
        "covariances": float(relative.mean()) if len(relative) else None,
        "variances": float(variances.mean()) if len(variances) else None,
        "correlations": float(change.mean()) if len(change) else None,
    }


def _say_flat(pairs: Pairs) -> None:
    for name, (_, y) in pairs.items():
        if is_constant(y):
            warnings.warn(
                f"il_metrics takes the correlations of column '{name}', constant in the protected "
                "table, as 0",
                stacklevel=4,
            )


def covariances(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of columns with NaN, each over the rows where both have values.

    Returns
    -------
    covariances, scales : ndarray
        The second holds the product of the standard deviations over the same rows: their ratio is
        the correlation.
    """
    x = np.array(columns)
    present = ~np.isnan(x)
    if present.all():
        # Centred first, so that far from zero nothing cancels.
        x -= x.mean(axis=1, keepdims=True)
        products = x @ x.T
        squares = np.broadcast_to(np.diag(products)[:, None], products.shape)
        n = np.full(products.shape, float(x.shape[1]))
        sums = np.zeros_like(products)
    else:
        x = np.where(present, x - np.nanmean(x, axis=1, keepdims=True), 0.0)
        held = present.astype(np.float64)
        n, sums, products, squares = held @ held.T, x @ held.T, x @ x.T, (x * x) @ held.T
    rows = np.maximum(n, 1.0)
    v = (products - sums * sums.T / rows) / np.maximum(n - 1, 1.0)
    spread = np.maximum(0.0, squares - sums * sums / rows) / np.maximum(n - 1, 1.0)
    return v, np.sqrt(spread * spread.T)


def _correlations(v: np.ndarray, scale: np.ndarray) -> np.ndarray:
    safe = np.where(scale > 0, scale, 1.0)
    return np.where(scale > 0, np.clip(v / safe, -1.0, 1.0), 0.0)


def correlations(columns: list[np.ndarray]) -> np.ndarray:
    """Correlations of columns with NaN; 0 where a column does not vary."""
    return _correlations(*covariances(columns))
