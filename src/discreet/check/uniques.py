"""Uniques of the population by the estimators' definitions, in plain numpy.

Pitman's by bisection of the derivatives of its likelihood, the slide negative binomial's by that of
its first equation; Zayatz's is a sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

# Terms of a sum that are added up one by one; of the others an integral is as exact.
_TERMS = 2_000
_NEARLY_ONE = 1 - 1e-12


def unique_share(estimator: str, class_sizes: np.ndarray, people: float) -> float:
    """Estimate which share of so many people is unique; NaN where there is no estimate.

    Examples
    --------
    >>> round(unique_share("zayatz", np.array([1, 1, 2, 4]), 80), 4)
    0.0731
    >>> unique_share("pitman", np.array([2, 4]), 80)
    0.0
    """
    sizes, counts = np.unique(class_sizes, return_counts=True)
    if not (sizes == 1).any():
        return 0.0
    if estimator != "dankar":
        return _ESTIMATORS[estimator](sizes, counts, people)
    if class_sizes.sum() <= 0.1 * people:
        return _pitman(sizes, counts, people)
    one, other = _zayatz(sizes, counts, people), _snb(sizes, counts, people)
    return other if 0 < other < one else one


def _zayatz(sizes: np.ndarray, counts: np.ndarray, people: float) -> float:
    n = int((sizes * counts).sum())
    # Of a class of i people, whether one is drawn and the i - 1 others are not.
    others = np.arange(max(int(sizes.max()) - 1, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = np.log(np.maximum(people - n - others, 0)) - np.log(people - 1 - others)
    chance = sizes * np.exp(np.concatenate([[0.0], np.cumsum(missed)])[sizes - 1])
    return float(counts[0] / n * counts[0] / (counts * chance).sum())


def _pitman(sizes: np.ndarray, counts: np.ndarray, people: float) -> float:
    n, u = int((sizes * counts).sum()), int(counts.sum())
    if n == u:
        return 1.0
    number = np.arange(1, u)

    def theta_of(alpha: float) -> float:
        def by_theta(x: float) -> float:
            theta = math.exp(x) - alpha
            return float((1 / (math.exp(x) + (number - 1) * alpha)).sum()) - _inverses(theta, n - 1)

        return math.exp(_root(by_theta, -300.0, 300.0)) - alpha

    def by_alpha(alpha: float) -> float:
        theta = theta_of(alpha)
        inside = sum(
            c * _inverses(-alpha, int(s) - 1) for s, c in zip(sizes, counts, strict=True) if s > 1
        )
        return float((number / (theta + number * alpha)).sum()) - inside

    alpha = 0.0 if by_alpha(1e-9) <= 0 else _root(by_alpha, 1e-9, _NEARLY_ONE)
    theta = theta_of(alpha)
    share = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + (alpha - 1) * math.log(people)
    return min(1.0, math.exp(share))


def _inverses(start: float, many: int) -> float:
    """Sum 1 / (start + i) over i from 1 to so many."""
    first = float((1 / (start + np.arange(1, min(many, _TERMS) + 1))).sum())
    if many <= _TERMS:
        return first
    low, high = start + _TERMS + 1, start + many
    ends = 0.5 * (1 / low + 1 / high) + (1 / low**2 - 1 / high**2) / 12
    return first + math.log(high / low) + ends


def _snb(sizes: np.ndarray, counts: np.ndarray, people: float) -> float:
    n = int((sizes * counts).sum())
    one, two, f = int(counts[0]), int(counts[sizes == 2].sum()), n / people
    if f >= 1:
        return one / n
    if two == 0:
        return math.nan
    s = sizes.astype(float)
    ratio = (s * f**2 * (1 - f**2) ** (s - 1) * counts).sum()
    ratio /= (((1 - f**2) ** s - (1 - f) ** s) * counts).sum()
    missed = ((1 - f) ** s * counts).sum() / (s * f * (1 - f) ** (s - 1) * counts).sum()
    classes = float(counts.sum() + one * ratio * missed**2)

    def alpha_of(logit: float) -> tuple[float, float, float]:
        beta, rest = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
        d, shown = (1 - f) * rest, f * rest + beta
        a = f * rest * d / (2 * shown**2)
        b = f * rest * (2 - d) / (2 * shown**2) - two / one * d / shown
        root = math.sqrt(b * b + 4 * a * two / one)
        alpha = 2 * two / one / (b + root) if b > 0 else (root - b) / (2 * a)
        return alpha, d / shown, -math.log1p(f * math.exp(-logit))

    def by_ones(logit: float) -> float:
        alpha, odds, power = alpha_of(logit)
        return math.log(classes * f / one) + alpha * power + math.log1p(alpha * odds)

    if by_ones(-690.0) > 0 or by_ones(25.0) < 0:
        return math.nan
    logit = _root(by_ones, 25.0, -690.0)
    uniques = classes * math.exp(-alpha_of(logit)[0] * math.log1p(math.exp(-logit)))
    return min(1.0, uniques / people)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that is above 0 at `low` and below at `high` is 0."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


_ESTIMATORS = {"pitman": _pitman, "zayatz": _zayatz, "snb": _snb}
