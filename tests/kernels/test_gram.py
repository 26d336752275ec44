"""The chunk kernels against numpy's least squares."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Legendre
from scipy.special import gammaln, ndtr

from discreet.kernels.gram import (
    curves,
    disclosures_by_degree,
    misses,
    misses_by_degree,
    normalise_chunks,
    project,
    release_chunks,
    steep_polynomial,
)


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


def by_eigenvectors(k):
    """All Gram polynomials: the recurrence is t's matrix in them, so they are its eigenvectors."""
    j = np.arange(1.0, k)
    b = np.sqrt(j**2 * (k**2 - j**2) / (4 * (4 * j**2 - 1)))
    positions, basis = np.linalg.eigh(np.diag(b, 1) + np.diag(b, -1))
    np.testing.assert_allclose(positions, np.arange(k) - (k - 1) / 2, rtol=0, atol=1e-11 * k)
    return basis * np.sign(basis[0])


@pytest.mark.parametrize("k", [2, 3, 22, 23, 64, 199, 200, 600])
def test_steep_polynomials_are_orthonormal(k):
    ours = np.empty((k, k))
    for degree in range(k):
        steep_polynomial(k, degree, ours[degree])
    np.testing.assert_allclose(ours @ ours.T, np.eye(k), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours, by_eigenvectors(k), rtol=0, atol=1e-11)


@pytest.mark.parametrize("k", [7, 30])
def test_steep_polynomials_in_whole_numbers(k):
    """Gram and Schmidt, in fractions: nothing is rounded before the last root."""
    basis = []
    for degree in range(k):
        new = [Fraction(2 * x - k + 1) ** degree for x in range(k)]
        for old in basis:
            part = sum(a * b for a, b in zip(new, old, strict=True)) / sum(a * a for a in old)
            new = [a - part * b for a, b in zip(new, old, strict=True)]
        basis.append(new)
        total = sum(a * a for a in new)
        exact = [float(a * a / total) ** 0.5 * (1 if a > 0 else -1) for a in new]
        ours = np.empty(k)
        steep_polynomial(k, degree, ours)
        np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-14)


def test_a_steep_polynomial_of_many_positions():
    """The highest one is a binomial coefficient with changing signs, far below the least float."""
    k = 5000
    ours = np.empty(k)
    steep_polynomial(k, k - 1, ours)
    x = np.arange(k)
    logs = gammaln(k) - gammaln(x + 1) - gammaln(k - x)
    total = gammaln(2 * k - 1) - 2 * gammaln(k)
    expected = (-1.0) ** (k - 1 - x) * np.exp(logs - total / 2)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-11)
    assert ours[0] == 0


@pytest.mark.parametrize("k", [25, 60, 199, 200])
def test_steep_fits(k):
    """Between the highest degree of the recurrence and k - 1, with a short last chunk."""
    values = np.random.default_rng(k).normal(size=2 * k + k // 3)
    basis = by_eigenvectors(k)
    flat = int(4.5 * np.sqrt(k))
    for degrees in ([flat + 1] * 3, [2, k - 2, flat], [k - 1] * 3):
        fit, deviations = fitted(values, k, degrees)
        for c, degree in enumerate(degrees):
            begin = min(c * k, len(values) - k)
            own = values[begin : begin + k]
            curve = basis[: degree + 1].T @ (basis[: degree + 1] @ own)
            start = c * k - begin
            np.testing.assert_allclose(fit[c * k : (c + 1) * k], curve[start:], rtol=0, atol=1e-10)
            missed = np.sqrt(np.mean((own - curve) ** 2))
            assert deviations[c] == pytest.approx(missed, abs=1e-10)


def test_steep_sums_of_stretches_are_those_of_the_whole():
    n, k, values = 130, 60, np.random.default_rng(0).random(130)
    ends = np.cumsum([60, 41, 56])
    whole, parts = np.zeros(ends[-1]), np.zeros(ends[-1])
    project(values, 0, n, k, ends, 0, 3, whole)
    for start, stop, first, last in ((0, 50, 0, 1), (50, 100, 0, 3), (100, 130, 1, 3)):
        begin = ends[first - 1] if first else 0
        totals = np.zeros(ends[last - 1] - begin)
        project(values[start:stop], start, n, k, ends, first, last, totals)
        parts[begin : ends[last - 1]] += totals
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12)


def plain_by_degree(values, k, most, scale, by_cell, widest):
    """What fits of all degrees miss and disclose; the distance by a sum over many of them."""
    n = len(values)
    chunks = -(-n // k)
    squares, near = np.empty((2, chunks, most + 1))
    distances = (np.arange(4000) + 0.5) / 4000
    for c in range(chunks):
        begin = min(c * k, n - k)
        own = values[begin : begin + k]
        for degree in range(most + 1):
            missed = own - Legendre.fit(np.arange(k), own, degree)(np.arange(k))
            squares[c, degree] = np.sum(missed**2)
            sd = scale * np.abs(missed) if by_cell else np.full(k, scale * missed.std())
            sd = np.maximum(sd, 1e-300)
            h = np.multiply.outer(distances, np.full(k, widest[c]))
            near[c, degree] = (
                (ndtr((h - missed) / sd) - ndtr((-h - missed) / sd)).mean(axis=0).sum()
            )
    return squares, near


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("by_cell", [False, True])
def test_what_all_degrees_miss_and_disclose(scale, by_cell):
    values, k, most = np.sort(np.random.default_rng(3).lognormal(size=130)), 55, 5
    n, ends, widest = 130, np.arange(6, 19, 6), np.array([0.02, 0.3, 1.0])
    coefficients, squares = np.zeros((3, 6)), np.zeros((3, 6))
    project(values, 0, n, k, ends, 0, 3, coefficients.reshape(-1))
    near = np.zeros((3, 6))
    pieces = ((0, 70, 0, 2), (70, 80, 1, 3), (80, 130, 1, 3))  # with a chunk in several
    for start, stop, first, last in pieces:
        part = np.zeros((last - first, 6))
        misses_by_degree(values[start:stop], start, n, k, first, coefficients, part)
        squares[first:last] += part
    spreads = scale * np.sqrt(squares / k)
    for start, stop, first, last in pieces:
        part = np.zeros((last - first, 6))
        disclosures_by_degree(values[start:stop], start, n, k, first, coefficients, spreads,
                              by_cell, scale, widest, part)  # fmt: skip
        near[first:last] += part
    missed, disclosed = plain_by_degree(values, k, most, scale, by_cell, widest)
    np.testing.assert_allclose(squares, missed, rtol=1e-9)
    np.testing.assert_allclose(near, disclosed, rtol=0, atol=2e-3)


def test_equal_values_are_disclosed_whatever_the_degree():
    near = np.zeros((1, 3))
    disclosures_by_degree(np.zeros(4), 0, 4, 4, 0, np.zeros((1, 3)), np.zeros((1, 3)), False, 1.0,
                          np.zeros(1), near)  # fmt: skip
    assert near.tolist() == [[4, 4, 4]]
