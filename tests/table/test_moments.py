"""Moments of parts against exact sums."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.table.moments import joined, moments_of

cells = st.one_of(
    st.just(np.nan), st.integers(-5, 5).map(float), st.integers(0, 40).map(lambda i: 1e9 + i * 1e-3)
)


def exactly(columns):
    """Squares by column, and products among complete rows."""
    squares = []
    for column in columns:
        there = [Fraction(x) for x in column if not np.isnan(x)]
        mean = sum(there) / max(len(there), 1)
        squares.append(sum((x - mean) ** 2 for x in there))
    rows = [
        [Fraction(x) for x in row] for row in zip(*columns, strict=True) if not np.isnan(row).any()
    ]
    means = [sum(x) / len(rows) for x in zip(*rows, strict=True)]
    products = [[sum((r[i] - means[i]) * (r[j] - means[j]) for r in rows) for j in range(len(columns))] for i in range(len(columns))]  # fmt: skip
    return squares, products, len(rows)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=25), st.integers(1, 6))
def test_parts_are_put_together_without_losing_digits(rows, size):
    columns = np.array(rows).T
    parts = [moments_of(list(columns[:, i : i + size])) for i in range(0, len(rows), size)]
    found = joined(parts)
    squares, products, complete = exactly(columns)
    assert found.complete == complete
    assert found.n.tolist() == [len(x) - np.isnan(x).sum() for x in columns]
    for a in range(2):
        assert found.squares[a] == pytest.approx(float(squares[a]), rel=1e-12, abs=1e-20)
        for b in range(2):
            size = float(abs(products[a][a]) * abs(products[b][b])) ** 0.5
            assert found.products[a, b] == pytest.approx(float(products[a][b]), abs=1e-12 * size + 1e-20)  # fmt: skip


def test_a_small_spread_far_from_zero():
    values = 1e9 + np.random.default_rng(0).integers(0, 40, 1000) * 1e-3
    found = joined(moments_of([part]) for part in np.array_split(values, 150))
    squares, _, _ = exactly([values])
    assert found.squares[0] == pytest.approx(float(squares[0]), rel=1e-13)
