"""The chunk kernels against numpy's least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Legendre

from discreet.kernels.gram import fit_chunks, normalise_chunks, release_chunks


def fitted(values, k, degrees):
    """Fit all chunks and give the fit of each value, through the kernels."""
    n = len(values)
    chunks = -(-n // k)
    ends = np.cumsum(np.broadcast_to(np.array(degrees) + 1, chunks))
    coefficients, deviations = np.empty(ends[-1]), np.empty(chunks)
    fit_chunks(values, k, ends, coefficients, deviations, 0, chunks)
    fit, there = np.zeros(n), np.arange(n, dtype=np.int32)
    release_chunks(values, there, there, n, np.zeros(1), np.ones(1), k, ends, coefficients, deviations,
                   False, 0.0, np.zeros(1), fit, 0, chunks)  # fmt: skip
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


def test_pieces_of_chunks_give_the_same_bits():
    values = np.random.default_rng(2).random(10_000)
    ends = np.arange(1, 35) * 4
    whole, parts = [(np.empty(136), np.empty(34)) for _ in range(2)]
    fit_chunks(values, 300, ends, *whole, 0, 34)
    for first, stop in ((20, 34), (0, 7), (7, 20)):
        fit_chunks(values, 300, ends, *parts, first, stop)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
