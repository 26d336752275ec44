"""Information loss as the change of moments: the five terms of Domingo-Ferrer and Torra (2001)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.errors import BadInput
from discreet.measure import Figure, Measure
from discreet.utility.compared import ROUNDING, compared, is_constant, leave_out


@dataclass(frozen=True)
class MomentLoss:
    """Information loss by moments: 100 times the mean of the terms.

    These are `cells`, `means`, `covariances`, `variances` and `correlations`; one with nothing to
    compare is not there. Of each column: the mean relative change of its cells.
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
    changes = {name: cell_change(x, y, threshold) for name, (x, y) in pairs.items()}
    varied = [pairs[name] for name, change in changes.items() if not change.constant]
    before, after = ([pair[side] for pair in varied] for side in (0, 1))
    second = (covariances(before), covariances(after)) if varied else None
    loss = il_metrics_of(changes, second)
    return loss if detail else loss.value


@dataclass(frozen=True)
class CellChange:
    """What `il_metrics` takes from the cells of a column."""

    relative: float  # sum of |x - y| / |x|
    used: int  # the cells that it is over
    difference: float  # mean of x - y
    mean: float  # of x
    largest: float  # |x|
    constant: bool  # x is one value
    flat: bool  # y is one value


def cell_change(x: np.ndarray, y: np.ndarray, threshold: float = 0.0) -> CellChange:
    """Take from the cells of a column what `il_metrics` needs of it."""
    used = np.abs(x) > threshold
    return CellChange(
        relative=float((np.abs(x[used] - y[used]) / np.abs(x[used])).sum()),
        used=int(used.sum()),
        # The difference of the cells first: means of large values would cancel.
        difference=float(np.nanmean(x - y)),
        mean=float(np.nanmean(x)),
        largest=float(np.nanmax(np.abs(x))),
        constant=is_constant(x),
        flat=is_constant(y),
    )


Second = tuple[np.ndarray, np.ndarray]


def il_metrics_of(
    changes: Mapping[str, CellChange], second: tuple[Second, Second] | None
) -> MomentLoss:
    """Put the five terms together.

    `second` are the `covariances` of the columns that are not constant, of the original and of the
    protected table; None where all are.
    """
    used = sum(change.used for change in changes.values())
    relative = sum(change.relative for change in changes.values())
    terms = {"cells": relative / used if used else None, "means": _means(changes)}
    varied = []
    for name, change in changes.items():
        if change.constant:
            leave_out("il_metrics", name, "which is constant, beyond its cells and mean")
        else:
            varied.append(name)
    if second is not None:
        terms |= _second_moments(*second)
        if len(varied) > 1:
            _say_flat([name for name in varied if changes[name].flat])
    present = {name: term for name, term in terms.items() if term is not None}
    value = 100 * sum(present.values()) / max(1, len(present))
    columns = {name: c.relative / c.used for name, c in changes.items() if c.used}
    return MomentLoss(value, present, columns)


def _means(changes: Mapping[str, CellChange]) -> float | None:
    found = [
        abs(change.difference / change.mean)
        for change in changes.values()
        if abs(change.mean) > ROUNDING * change.largest
    ]
    return float(np.mean(found)) if found else None


def _second_moments(before: Second, after: Second) -> dict[str, float | None]:
    (v, scale), (w, other) = before, after
    upper = np.triu(np.ones_like(v, dtype=bool)) & (np.abs(v) > ROUNDING * scale)
    relative = np.abs(v - w)[upper] / np.abs(v)[upper]
    diagonal = np.diag(v) > 0
    variances = np.abs(np.diag(v) - np.diag(w))[diagonal] / np.diag(v)[diagonal]
    apart = np.triu(scale > 0, 1)
    change = np.abs(correlations_of(v, scale) - correlations_of(w, other))[apart]
    return {
        "covariances": float(relative.mean()) if len(relative) else None,
        "variances": float(variances.mean()) if len(variances) else None,
        "correlations": float(change.mean()) if len(change) else None,
    }


def _say_flat(names: Sequence[str]) -> None:
    for name in names:
        warnings.warn(
            f"il_metrics takes the correlations of column '{name}', constant in the protected "
            "table, as 0",
            stacklevel=4,
        )


def covariances(columns: Sequence[np.ndarray]) -> Second:
    """Covariances of columns with NaN, each over the rows where both have values.

    The second array holds the product of the standard deviations over the same rows: the ratio of
    the two is the correlation.
    """
    return second_moments_of(*product_sums(columns))


def product_sums(
    columns: Sequence[np.ndarray], centres: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sum what covariances are made of, over the rows where both of two columns have values.

    Of each pair i, j: n, the rows, and the sums of i, of the product, and of the square of i. They
    add up over parts of the rows, if measured from the same centres: numbers near the columns'
    means, or these where not given.
    """
    x = np.array(columns)
    present = ~np.isnan(x)
    if present.all():
        # Centred first, so that far from zero nothing cancels.
        x -= x.mean(axis=1, keepdims=True) if centres is None else centres[:, None]
        products = x @ x.T
        squares = np.broadcast_to(np.diag(products)[:, None], products.shape)
        n = np.full(products.shape, float(x.shape[1]))
        # Not 0: far from zero a mean is off by more than what is left of the cells.
        sums = np.broadcast_to(x.sum(axis=1)[:, None], products.shape)
    else:
        middle = np.nanmean(x, axis=1) if centres is None else centres
        x = np.where(present, x - middle[:, None], 0.0)
        held = present.astype(np.float64)
        n, sums, products, squares = held @ held.T, x @ held.T, x @ x.T, (x * x) @ held.T
    return n, sums, products, squares


def second_moments_of(
    n: np.ndarray, sums: np.ndarray, products: np.ndarray, squares: np.ndarray
) -> Second:
    """Return covariances, and products of standard deviations, from `product_sums`."""
    rows, free = np.maximum(n, 1.0), np.maximum(n - 1, 1.0)
    v = products - sums * sums.T / rows
    spread = squares - sums * sums / rows
    # Where little is left of the sums it is rounding: of columns that do not vary in these rows.
    v = np.where(np.abs(v) > ROUNDING * np.sqrt(squares) * np.sqrt(squares.T), v, 0.0) / free
    spread = np.where(spread > ROUNDING * squares, spread, 0.0) / free
    return v, np.sqrt(spread * spread.T)


def correlations_of(v: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Correlations from what `covariances` gives; 0 where a column does not vary."""
    safe = np.where(scale > 0, scale, 1.0)
    return np.where(scale > 0, np.clip(v / safe, -1.0, 1.0), 0.0)


def correlations(columns: list[np.ndarray]) -> np.ndarray:
    """Correlations of columns with NaN; 0 where a column does not vary."""
    return correlations_of(*covariances(columns))


IL_METRICS = Measure(
    "il_metrics",
    "mean relative change of cells and moments in percent",
    lambda t: asdict(t.il_metrics()),
    [Figure("information loss by moments", "", "percent", untouched=0.0)],
    needs=["changed numbers"],
)
