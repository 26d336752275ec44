"""How one who knows a method and its parameters, not its seed, guesses the values of a column.

Each function takes released values and returns a guess for each: what the measure
`informed_values` then compares with the originals. None of them sees an original.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.method import per_column

# Released columns that a value is predicted from, those that tell most.
MOST_PREDICTORS = 50
# Those of records that share their nulls with few others.
FEW_PREDICTORS = 7


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
    share of its covariances with the step's other columns. Multiplicative and logarithmic noise are
    noise on logs.
    """
    y = released[name]
    is_factor = method.kind == "multiplicative" or "logarithmic" in method.kind
    noisy = columns if "correlated" in method.kind else [name]
    if is_factor and (y[~np.isnan(y)] > 0).all():
        factor = np.log(np.abs(_factors(method, name)))
        logs = {k: np.log(v) if (v[~np.isnan(v)] > 0).all() else v for k, v in released.items()}
        noise = float(factor.var() / np.nanvar(logs[name]))
        centre = 0.0 if method.match_ranks else float(factor.mean())
        return np.exp(_without(method, logs, name, noise, noisy) - centre)
    if is_factor:
        factor = _factors(method, name)
        mean = float(factor.mean())
        s = float(factor.std()) / mean
        noise = s * s * (1 + float(np.nanmean(y) ** 2 / np.nanvar(y)))
        noise /= 1 if method.match_ranks else 1 + s * s
        return _without(method, released, name, noise, noisy) / (1 if method.match_ranks else mean)
    s = float(per_column(method.scale, name, "scale"))
    noise = s * s if method.match_ranks else s * s / (1 + s * s)
    return _without(method, released, name, noise, noisy)


def _factors(method: Any, name: str) -> np.ndarray:
    """Return what values are multiplied by, evenly over all that may be drawn."""
    from scipy.special import ndtri

    s = float(per_column(method.scale, name, "scale"))
    normal = ndtri((np.arange(10_000) + 0.5) / 10_000)
    return np.exp(s * normal) if "logarithmic" in method.kind else 1 + s * normal


def _without(
    method: Any,
    released: Mapping[str, np.ndarray],
    name: str,
    noise: float,
    noisy: Sequence[str],
) -> np.ndarray:
    """Predict a column without its noise, whose variance is given as a share of the released one.

    Where ranks were matched, the released column is that with noise, brought back to the variance
    from before, which is the one that is seen: so its relations to others are too weak by as much.
    """
    if not method.match_ranks:
        return _regressed(released, name, noise, noisy)
    return _regressed(released, name, noise / (1 + noise), noisy, math.sqrt(1 + noise))


def _regressed(
    released: Mapping[str, np.ndarray],
    name: str,
    share: float,
    noisy: Sequence[str],
    stretch: float = 1.0,
) -> np.ndarray:
    """Predict a column without its noise, a share of its covariances with the noisy columns.

    Each record by the columns that it has, so that a null tells nothing; nulls stay.
    """
    names = [k for k, v in released.items() if np.nanstd(v) > 0]
    if name not in names:
        return released[name]
    values = np.column_stack([released[k] for k in names])
    centre, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    there, z = ~np.isnan(values), np.nan_to_num((values - centre) / scale)
    own, r = names.index(name), _correlations(z, there)
    without_noise = r[own] * [1 - share * (k in noisy) for k in names]
    tells = np.abs(r[own])
    tells[own] = np.inf
    used = np.argsort(-tells, kind="stable")[:MOST_PREDICTORS]
    rows = np.flatnonzero(there[:, own])
    predicted = np.full(len(z), np.nan)
    for some, which in _by_pattern(there[np.ix_(rows, used)]):
        at, by = rows[some], used[which]
        weights = np.linalg.pinv(r[np.ix_(by, by)], rcond=1e-9, hermitian=True) @ without_noise[by]
        predicted[at] = centre[own] + stretch * scale[own] * (z[np.ix_(at, by)] @ weights)
    return predicted


def _correlations(z: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Correlate each two columns by the records that have both; z is 0 where a value is not there.

    Each then goes by other records, so that together they may be impossible: negative eigenvalues
    become 0.
    """
    pairs = there.astype(np.float64)
    n = np.maximum(pairs.T @ pairs, 1)
    mean = z.T @ pairs / n
    sd = np.sqrt(np.maximum((z * z).T @ pairs / n - mean**2, 0))
    # Two records or fewer always agree.
    known = (n > 2) & (sd > 1e-9) & (sd.T > 1e-9)
    r = np.divide(z.T @ z / n - mean * mean.T, sd * sd.T, out=np.eye(len(n)), where=known)
    spread, axes = np.linalg.eigh(r)
    return (axes * np.maximum(spread, 0)) @ axes.T


def _by_pattern(there: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows that have the same columns, and these columns.

    Rows of a pattern that is rare make do with the first few columns, which have few patterns.
    """
    patterns, which, counts = np.unique(there, axis=0, return_inverse=True, return_counts=True)
    if len(patterns) > 2**FEW_PREDICTORS:
        rare = np.argsort(-counts, kind="stable")[2**FEW_PREDICTORS :]
        patterns[rare, FEW_PREDICTORS:] = False
        patterns, again = np.unique(patterns, axis=0, return_inverse=True)
        which = again[which]
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(1, len(patterns)))
    for some, pattern in zip(np.split(order, ends), patterns, strict=True):
        yield some, np.flatnonzero(pattern)


def fitted(name: str, others: Sequence[str], released: Mapping[str, np.ndarray]) -> np.ndarray:
    """Predict a column by its regression on others that were released as they are."""
    y = released[name]
    x = np.column_stack([np.ones(len(y)), *(released[k] for k in others if k in released)])
    complete = ~np.isnan(x).any(axis=1) & ~np.isnan(y)
    weights = np.linalg.lstsq(x[complete], y[complete], rcond=None)[0]
    return np.nan_to_num(x) @ weights


def untangled(matrix: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Guess each category from the transition matrix and the released shares.

    The shares before are those from which the matrix leads nearest to the released ones; with them
    a released category tells the chance of each that it may have been (Bayes). Also marks the
    categories that only one can lead to.

    Examples
    --------
    Nine in ten were healthy, and one in five of these is said to be ill:

    >>> untangled(np.array([[0.8, 0.2], [0.0, 1.0]]), np.array([0.72, 0.28]))
    (array([0, 0]), array([ True, False]))
    """
    from scipy.optimize import nnls

    before, _ = nnls(matrix.T, shares, maxiter=30 * len(shares))
    # Of categories that nobody seems to have had, the one that most often becomes it.
    joint = (before + 1e-12)[:, None] * matrix
    return joint.argmax(axis=0), (matrix > 0).sum(axis=0) == 1


def is_mean(method: Any) -> bool:
    """Tell whether a method releases the mean of a group for each of its members, or nearly that.

    The re-sampled mean of n members is off by their standard deviation over n, so that n times it
    less the others' sum is within one of the value.
    """
    if method.recipe_name == "microaggregation":
        return True
    by_group = getattr(method, "encoding", None) == "group"
    return by_group and getattr(method, "representative", None) in ("mean", "resampled-mean")


def least_members(method: Any, name: str, sizes: np.ndarray) -> int:
    """Return the k of a method in a column; that of a rule is seen from the smallest group."""
    k = getattr(method, "k", getattr(method, "min_count", None))
    k = per_column(k, name, "k")
    return int(k) if isinstance(k, int) else math.floor(sizes.min(initial=1))
