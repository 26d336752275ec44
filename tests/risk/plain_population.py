"""Estimates of population uniqueness, as the papers write them down: every sum term by term."""

import math

import numpy as np
from scipy.optimize import brentq, fsolve


def of_sizes(class_sizes):
    """Return the class sizes that occur, and how many classes have each."""
    return np.unique(np.asarray(class_sizes), return_counts=True)


def pitman(sizes, counts, people):
    """Hoshino (2001): the likeliest theta and alpha, from the derivatives of the likelihood."""
    n, u = int((sizes * counts).sum()), int(counts.sum())
    i, j = np.arange(1, u), np.arange(1, n)

    def by_theta(theta, alpha):
        return (1 / (theta + i * alpha)).sum() - (1 / (theta + j)).sum()

    def by_alpha(theta, alpha):
        inside = sum(
            c * (1 / (np.arange(1, s) - alpha)).sum() for s, c in zip(sizes, counts, strict=True)
        )
        return (i / (theta + i * alpha)).sum() - inside

    def theta_of(alpha):
        return brentq(by_theta, -alpha + 1e-12, 1e7, args=(alpha,), xtol=1e-13, rtol=1e-15)

    def slope(alpha):
        return by_alpha(theta_of(alpha), alpha)

    alpha = 0.0 if slope(1e-9) <= 0 else brentq(slope, 1e-9, 1 - 1e-9, xtol=1e-15, rtol=1e-15)
    theta = theta_of(alpha)
    uniques = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha)) * people**alpha
    return min(1.0, uniques / people)


def zayatz(sizes, counts, people):
    """Zayatz (1991): the chance that a class of i people shows one of them in the sample."""
    n = int((sizes * counts).sum())

    def chance(size):
        # Of the people of a class one is drawn, at some place, and then none.
        drawn = size * n / people
        for other in range(size - 1):
            drawn *= (people - n - other) / (people - 1 - other)
        return drawn

    one = counts[sizes == 1].sum()
    whole = sum(c * chance(int(s)) for s, c in zip(sizes, counts, strict=True))
    return one / (n / people) * one * chance(1) / whole / people


def snb(sizes, counts, people):
    """Chen and Keller-McNulty (1998), with Shlosser's estimate of the number of classes."""
    n, u = int((sizes * counts).sum()), int(counts.sum())
    c1, c2, f = counts[sizes == 1].sum(), counts[sizes == 2].sum(), n / people
    s = sizes.astype(float)
    first = (s * f**2 * (1 - f**2) ** (s - 1) * counts).sum()
    first /= ((1 - f) ** s * ((1 + f) ** s - 1) * counts).sum()
    second = ((1 - f) ** s * counts).sum() / (s * f * (1 - f) ** (s - 1) * counts).sum()
    classes = u + c1 * first * second**2

    def misses(x):
        # In logarithms, since powers of a large alpha vanish.
        alpha, beta = math.exp(min(x[0], 50)), 1 / (1 + math.exp(min(-x[1], 500)))
        d = (1 - f) * (1 - beta)
        one = math.log(classes * f) + alpha * math.log(beta / (1 - d))
        one += math.log(1 + alpha * d / (1 - d))
        two = math.log(classes * f**2 * alpha * (1 - beta + 1e-300) * (2 - (1 - alpha) * d) / 2)
        two += alpha * math.log(beta) - (alpha + 2) * math.log(1 - d)
        return [one - math.log(c1), two - math.log(c2)]

    for start in [(a, b) for b in (-2.0, -9.0, -5.0, 1.0) for a in (-3.0, -1.0, -6.0, 1.0)]:
        found, _, worked, _ = fsolve(misses, start, xtol=1e-13, full_output=True)
        if worked == 1 and max(map(abs, misses(found))) < 1e-9:
            beta = 1 / (1 + math.exp(-found[1]))
            return classes * beta ** math.exp(found[0]) / people
    return math.nan


def dankar(sizes, counts, people):
    """Dankar et al. (2012)."""
    if (sizes * counts).sum() <= 0.1 * people:
        return pitman(sizes, counts, people)
    one, other = zayatz(sizes, counts, people), snb(sizes, counts, people)
    return other if other < one else one


PLAIN = {"pitman": pitman, "zayatz": zayatz, "snb": snb, "dankar": dankar}
