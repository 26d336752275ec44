"""The chunk kernels against numpy's least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Legendre

from discreet.kernels.gram import curves, misses, normalise_chunks, project, release_chunks


def fitted(values, k, degrees):
    """Fit all chunks and give the fit of each value, through the kernels."""
    n = len(values)
    chunks = -(-n // k)
    ends = np.cumsum(np.broadcast_to(np.array(degrees) + 1, chunks))
    coefficients, squares = np.zeros(ends[-1]), np.empty(chunks)
    project(values, 0, n, k, ends, 0, chunks, coefficients)
    misses(values, 0, n, k, ends, 0, chunks, coefficients, squares)
    deviations = np.sqrt(squares / k)
    fit, there = np.zeros(n), np.arange(n, dtype=np.int32)
    release_chunks(values, there, there, n, np.zeros(1), np.ones(1), k, ends, coefficients, deviations,
                   False, 0.0, np.zeros(1), fit, 0, chunks)  # fmt: skip
    for start, stop in ((0, n), (0, n // 3), (n // 3, n), (n - 1, n)):
        again = np.empty(stop - start)
        curves(start, n, k, ends, coefficients, again)
        # release_chunks adds a low of 0, which turns -0.0 into 0.0; these are equal here.
        np.testing.assert_array_equal(again, fit[start:stop])
    return fit, deviations


def plain(values, k, degrees):
    n = len(values)
    chunks = -(-n // k)
    fit, deviations = np.empty(n), np.empty(chunks)
    for c, degree in enumerate(np.broadcast_to(degrees, chunks)):
        begin = min(c * k, n - k)
        positions = np.arange(k)
        curve = Legendre.fit(positions, values[begin : begin + k], degree)(positions)
        deviations[c] = np.sqrt(np.mean((values[begin : begin + k] - curve) ** 2))
        fit[c * k : (c + 1) * k] = curve[c * k - begin :]
    return fit, deviations


@pytest.mark.parametrize("k", [40, 512, 700, 1024, 5000])
@pytest.mark.parametrize("degree", [1, 2, 3, 8, 12])
def test_the_fit_is_that_of_legendre_polynomials(k, degree):
    values = np.sort(np.random.default_rng(k).lognormal(size=2 * k + k // 3))
    for ours, theirs in zip(fitted(values, k, degree), plain(values, k, degree), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * values.max())


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40), st.data())
def test_any_values_chunks_and_degrees(values, data):
    values = np.array(values)
    k = data.draw(st.integers(2, len(values)))
    chunks = -(-len(values) // k)
    most = st.integers(0, min(k - 1, 8))
    degrees = data.draw(st.lists(most, min_size=chunks, max_size=chunks))
    for ours, theirs in zip(fitted(values, k, degrees), plain(values, k, degrees), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", range(2, 21))
def test_degree_k_minus_1_meets_every_value(k):
    values = np.random.default_rng(k).normal(size=3 * k)
    fit, deviations = fitted(values, k, k - 1)
    np.testing.assert_allclose(fit, values, rtol=0, atol=1e-10)
    assert (deviations < 1e-10).all()


@pytest.mark.parametrize("k", [23, 100, 400])
def test_the_highest_degree_allowed_is_accurate(k):
    degree = int(4.5 * np.sqrt(k))
    values = np.random.default_rng(k).normal(size=k)
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(np.linspace(-1, 1, k), degree))
    np.testing.assert_allclose(fitted(values, k, degree)[0], basis @ (basis.T @ values), atol=1e-9)


def test_far_and_close_together():
    values = np.sort(1e9 + 1e-3 * np.random.default_rng(1).random(1000))
    offset = values - values[0]
    lows, widths = normalise_chunks(values, 300)
    for c, start in enumerate(range(0, 1000, 300)):
        chunk = offset[start : start + 300]
        assert lows[c] - lows[0] == offset[start]
        assert widths[c] == np.ptp(chunk)
        np.testing.assert_array_equal(values[start : start + 300], (chunk - chunk[0]) / np.ptp(chunk))  # fmt: skip


def test_equal_values_become_0():
    values = np.array([3.0, 3.0, 3.0, 3.0, 7.0])
    lows, widths = normalise_chunks(values, 3)
    assert values.tolist() == [0, 0, 0, 0, 1]
    assert lows.tolist() == [3, 3]
    assert widths.tolist() == [0, 4]


@given(st.integers(2, 40), st.integers(1, 40), st.data())
def test_the_sums_of_stretches_are_those_of_the_whole(n, stretch, data):
    k = data.draw(st.integers(2, n))
    chunks = -(-n // k)
    degrees = data.draw(st.lists(st.integers(0, min(k - 1, 5)), min_size=chunks, max_size=chunks))
    ends = np.cumsum(np.array(degrees) + 1)
    values = np.random.default_rng(n).random(n)
    whole, parts = np.zeros(ends[-1]), np.zeros(ends[-1])
    project(values, 0, n, k, ends, 0, chunks, whole)
    squares, of_parts = np.empty(chunks), np.zeros(chunks)
    misses(values, 0, n, k, ends, 0, chunks, whole, squares)
    for start in range(0, n, stretch):
        stop = min(n, start + stretch)
        begins = np.minimum(np.arange(chunks) * k, n - k)
        (those,) = np.nonzero((begins < stop) & (begins + k > start))
        first, last = int(those[0]), int(those[-1])
        assert (those == np.arange(first, last + 1)).all()
        begin = ends[first - 1] if first else 0
        totals, missed = np.zeros(ends[last] - begin), np.empty(len(those))
        project(values[start:stop], start, n, k, ends, first, last + 1, totals)
        misses(values[start:stop], start, n, k, ends, first, last + 1, whole, missed)
        parts[begin : ends[last]] += totals
        of_parts[first : last + 1] += missed
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12)
    np.testing.assert_allclose(of_parts, squares, rtol=0, atol=1e-12)
