"""How one who knows a method and its parameters, not its seed, guesses the values of a column.

Each function takes released values and returns a guess for each: what the measure
`informed_values` then compares with the originals. None of them sees an original.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.method import per_column

# Released columns that a value is predicted from, those that tell most.
MOST_PREDICTORS = 50
EM_STEPS = 300


def densest(values: np.ndarray, half: float) -> float:
    """Return the middle of the interval, `half` to either side, that holds most values.

    Examples
    --------
    >>> densest(np.array([1.0, 5.0, 5.5, 9.0]), half=0.5)
    5.5
    """
    ordered = np.sort(values)
    return float(ordered[np.argmax(_within(ordered, half))]) + half


def _within(ordered: np.ndarray, half: float) -> np.ndarray:
    """Count the values from each one on that an interval holds which starts there."""
    ends = np.searchsorted(ordered, ordered + 2 * half, side="right")
    return ends - np.arange(len(ordered))


def unswapped(
    y: np.ndarray, p: float, half: float, fixed: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Guess the densest interval among the values that are at most p % of the ranks away.

    Where windows are fixed, also marks the values all of whose window is in one interval.
    """
    from scipy.ndimage import maximum_filter1d

    n = len(y)
    window = max(int(p * n / 100), 1)
    order = np.argsort(y, kind="stable")
    ordered = y[order]
    # The count and the place of the best start within the window, in one number.
    counts = _within(ordered, half) * (n + 1) + np.arange(n)
    best = maximum_filter1d(counts, 2 * window + 1, mode="nearest") % (n + 1)
    low = ordered[np.maximum(np.arange(n) - window, 0)]
    high = ordered[np.minimum(np.arange(n) + window, n - 1)]
    sure = (high - low <= 2 * half) & fixed
    guess, certain = np.empty(n), np.empty(n, dtype=bool)
    guess[order] = np.where(sure, low + (high - low) / 2, ordered[best] + half)
    certain[order] = sure
    return guess, certain


def denoised(
    method: Any, columns: Sequence[str], name: str, released: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Predict values from all released numbers by regression, the noise's variance being known.

    The regression of x on what is released needs cov(x, y_k) = cov(y, y_k) - cov(noise, y_k), and
    the last is known: var(y) s^2 / (1 + s^2) of the column itself; of correlated noise, the same
    share of its covariances with the step's other columns. Multiplicative noise is noise on logs.
    """
    from scipy.special import ndtri

    s = float(per_column(method.scale, name, "scale"))
    y = released[name]
    if method.kind == "multiplicative" and (y[~np.isnan(y)] > 0).all():
        factor = np.log(np.abs(1 + s * ndtri((np.arange(10_000) + 0.5) / 10_000)))
        logs = {k: np.log(v) if (v[~np.isnan(v)] > 0).all() else v for k, v in released.items()}
        return np.exp(_regressed(logs, name, {name: float(factor.var())}) - factor.mean())
    share = s * s / (1 + s * s)
    spread = float(np.nanvar(y))
    if method.kind == "multiplicative":
        spread += float(np.nanmean(y)) ** 2
    noise = {name: share * spread}
    if method.kind == "correlated":
        noise |= {k: share * _covariance(y, released[k]) for k in columns if k in released}
    return _regressed(released, name, noise)


def _covariance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.nanmean((x - np.nanmean(x)) * (y - np.nanmean(y))))


def _regressed(
    released: Mapping[str, np.ndarray], name: str, noise: Mapping[str, float]
) -> np.ndarray:
    """Predict a column without its noise, whose covariances with released columns are given."""
    names = [k for k, v in released.items() if np.nanstd(v) > 0]
    if name not in names:
        return released[name]
    values = np.column_stack([released[k] for k in names])
    centre, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    # A null says as much as the mean.
    z = np.nan_to_num((values - centre) / scale)
    own, r = names.index(name), (z.T @ z) / len(z)
    without_noise = r[own] - np.array([noise.get(k, 0.0) for k in names]) / (scale[own] * scale)
    used = np.argsort(-np.abs(r[own]), kind="stable")[:MOST_PREDICTORS]
    weights = np.linalg.pinv(r[np.ix_(used, used)], rcond=1e-9) @ without_noise[used]
    return centre[own] + scale[own] * (z[:, used] @ weights)


def fitted(name: str, others: Sequence[str], released: Mapping[str, np.ndarray]) -> np.ndarray:
    """Predict a column by its regression on others that were released as they are."""
    y = released[name]
    x = np.column_stack([np.ones(len(y)), *(released[k] for k in others if k in released)])
    complete = ~np.isnan(x).any(axis=1) & ~np.isnan(y)
    weights = np.linalg.lstsq(x[complete], y[complete], rcond=None)[0]
    return np.nan_to_num(x) @ weights


def untangled(matrix: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Guess each category from the transition matrix and the released shares.

    The likeliest shares before, given the matrix and the released ones, are found by EM; with
    them a released category tells the chance of each that it may have been (Bayes). Also marks the
    categories that only one can lead to.

    Examples
    --------
    Nine in ten were healthy, and one in five of these is said to be ill:

    >>> untangled(np.array([[0.8, 0.2], [0.0, 1.0]]), np.array([0.72, 0.28]))
    (array([0, 0]), array([ True, False]))
    """
    before = np.full(len(shares), 1 / len(shares))
    for _ in range(EM_STEPS):
        reached = before @ matrix
        before *= matrix @ np.divide(shares, reached, out=np.zeros_like(shares), where=reached > 0)
    joint = before[:, None] * matrix
    return joint.argmax(axis=0), (matrix > 0).sum(axis=0) == 1


def is_mean(method: Any) -> bool:
    """Tell whether a method releases the mean of a group for each of its members."""
    if method.recipe_name == "microaggregation":
        return True
    by_group = getattr(method, "encoding", None) == "group"
    return by_group and getattr(method, "representative", None) == "mean"


def least_members(method: Any, name: str, sizes: np.ndarray) -> int:
    """Return the k of a method in a column; that of a rule is seen from the smallest group."""
    k = getattr(method, "k", getattr(method, "min_count", None))
    k = per_column(k, name, "k")
    return int(k) if isinstance(k, int) else math.floor(sizes.min(initial=1))
