"""Risks of records from their definitions: by sampling weights, and by special uniques."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np

from discreet.table.classes import classes_of

# The sampling fraction that DIS assumes.
_FRACTION = 0.01
_FEW = 50


def mean_of_one_over(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the mean of 1 / F, where F is f plus a negative binomial number of f and p.

    1 / F is the integral of v^(F - 1), so that the mean is that of v^(f - 1) p / (p + (1 - p) v)
    over 0..1. It is known for f = 1, and from each f follows the next, as long as p is small; else
    a series of which a few terms are enough.

    Examples
    --------
    >>> mean_of_one_over(np.array([2, 1, 2]), np.array([1.0, 0.5, 0.02])).round(4).tolist()
    [0.5, 0.6931, 0.0188]
    """
    q = 1.0 - p
    found = np.empty(len(f))
    steps = (p < 0.5) & (f <= _FEW)
    mean = np.where(steps, -p * np.log(p) / np.where(steps, q, 1.0), 0.0)
    for number in range(1, int(f[steps].max(initial=0)) + 1):
        found[steps & (f == number)] = mean[steps & (f == number)]
        mean = np.where(steps, p / np.where(steps, q, 1.0) * (1 / number - mean), 0.0)
    f, p, q = f[~steps], p[~steps], q[~steps]
    term, j = p / f, 0
    total = term.copy()
    while (term > 1e-17 * total).any():
        j += 1
        term = term * q * j / (f + j)
        total += term
    found[~steps] = total
    return found


def dis_scores(codes: np.ndarray, sizes: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Return DIS-SUDA of distinct tuples, each of which some records have.

    A set of columns on which a record is alone, and on no smaller one inside, scores (M - s)!. On a
    set, records with a null in it are left out.

    Examples
    --------
    >>> codes = np.array([[0, 1, 1], [0, 0, 1]])
    >>> dis_scores(codes, np.array([2, 2]), np.array([2, 1, 1])).round(4).tolist()
    [0.0, 0.01, 0.01]
    """
    m, n = codes.shape
    scores = np.zeros(n)
    ids, count = classes_of(codes, sizes)
    # Who shares all that it has is alone on no set of columns.
    hopeful = np.bincount(ids, records, count)[ids] == 1
    # The tuples that are alone on no part of a set, and can be alone or match others there.
    met_before: dict[tuple[int, ...], np.ndarray] = {(): np.arange(n)} if hopeful.any() else {}
    for size in range(1, m + 1):
        met_now: dict[tuple[int, ...], np.ndarray] = {}
        for chosen in combinations(range(m), size):
            parts = list(combinations(chosen, size - 1))
            if not all(part in met_before for part in parts):
                continue
            places, times = list(chosen), np.zeros(n, np.int8)
            for part in parts:
                times[met_before[part]] += 1
            met = np.flatnonzero((times == size) & (codes[places] >= 0).all(axis=0))
            ids, count = classes_of(codes[places][:, met], sizes[places])
            alone = np.bincount(ids, records[met], count)[ids] == 1
            scores[met[alone]] += factorial(m - size)
            met = met[~alone]
            if hopeful[met].any():
                met_now[chosen] = met.astype(np.int32)
        if not (met_before := met_now):
            break
    pairs = 2 * int(((codes >= 0).all(axis=0) & (records == 2)).sum())
    scored = scores > 0
    power = scores[scored] ** (1 + (8 - m) / 20)
    dis = np.zeros(n)
    odds = pairs * (1 - _FRACTION) / (_FRACTION * power * (1 / power).sum())
    dis[scored] = 1 / (1 + odds)
    return dis
