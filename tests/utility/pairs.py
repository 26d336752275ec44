"""Random pairs of small numeric tables with nulls, ties, zeros and constant columns."""

import math

import numpy as np
from hypothesis import strategies as st

cell = st.integers(-6, 6).map(float) | st.just(math.nan)


@st.composite
def tables(draw, most_columns=3, most_rows=12, cell=cell):
    p, n = draw(st.integers(1, most_columns)), draw(st.integers(1, most_rows))
    column = st.lists(cell, min_size=n, max_size=n) | cell.map(lambda c: [c] * n)
    x, y = ([draw(column) for _ in range(p)] for _ in range(2))
    return np.array(x).T, np.array(y).T


def both(x, y):
    """The cells of two columns that are there in both, as lists."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a == a and b == b]
    return [a for a, _ in pairs], [b for _, b in pairs]


def mean(x):
    return math.fsum(x) / len(x)


def covariance(x, y):
    if len(x) < 2:
        return 0.0
    a, b = mean(x), mean(y)
    return math.fsum((i - a) * (j - b) for i, j in zip(x, y, strict=True)) / (len(x) - 1)


def correlation(x, y):
    scale = math.sqrt(covariance(x, x) * covariance(y, y))
    return covariance(x, y) / scale if scale > 1e-12 else 0.0
