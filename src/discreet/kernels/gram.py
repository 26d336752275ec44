"""Polynomial regression on ordered partitions: least squares on positions, chunk by chunk.

1. The basis. Every chunk has the positions 0..k-1, on which the discrete orthogonal (Gram)
   polynomials are orthonormal: p_0 = 1/sqrt(k), and with t the position minus (k-1)/2,
   b_j+1 p_j+1 = t p_j - b_j p_j-1, where b_j^2 = j^2 (k^2 - j^2) / (4 (4 j^2 - 1)).
2. The fit. Because they are orthonormal, the coefficient of p_j is the sum of p_j times the values:
   no equations to solve, so nothing that a high degree could make ill-conditioned.
3. The short last chunk of r < k values is fitted on the last k values.
4. Stretches. All sums are of a stretch of the values, and the caller adds those of a chunk that
   lies in several: in memory and on engines, where a chunk may be larger than memory, alike.

5. Steep polynomials. That recurrence is accurate to 1e-11 while the degree is at most 4.5 sqrt(k);
   beyond, small values near the ends are lost. These polynomials are computed along the positions
   instead, by the difference equation of the Hahn polynomials with both parameters 0 (Koekoek and
   Swarttouw 1998, 1.5): with B = (x+1)(x+1-k) and D = x(x-k),
   B p_j(x+1) = (j(j+1) + B + D) p_j(x) - D p_j(x-1). From an end inwards they only grow until they
   swing, so that no digits are lost: orthonormal to 1e-11 up to degree k-1, without orthogonalising
   each by all before it, which would take k degree^2 steps.
6. Degrees. Because a coefficient does not depend on the degree, one set of them, up to the highest,
   gives the fits of all degrees: what each misses, and what it discloses, in one pass.

Work goes in blocks of positions that stay in the cache: O(n degree) time, and memory that does not
grow with k, except that a steep polynomial takes one number for each position.
"""

from math import erfc

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_BLOCK = 512
# Highest degree, in square roots of k, at which the recurrence over degrees is accurate.
_STEEPEST = 4.5
# A steep polynomial starts as small, and is scaled down when it is as large; squares stay finite.
_SMALL, _LARGE = 1e-140, 1e140


@njit(cache=True)
def normalise_chunks(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale each chunk of k sorted values to [0, 1], in place; return their lows and widths.

    Equal values become 0.
    """
    n = values.size
    chunks = (n + k - 1) // k
    lows, widths = np.empty(chunks), np.empty(chunks)
    for c in range(chunks):
        first, end = c * k, min(n, (c + 1) * k)
        low = values[first]
        width = values[end - 1] - low
        lows[c], widths[c] = low, width
        for i in range(first, end):
            values[i] = (values[i] - low) / width if width > 0 else 0.0
    return lows, widths


@njit(cache=True, nogil=True)
def project(
    values: np.ndarray,
    start: int,
    n: int,
    k: int,
    ends: np.ndarray,
    first: int,
    stop: int,
    totals: np.ndarray,
) -> None:
    """Sum the polynomials times a stretch of the values: its share of the chunks' coefficients.

    The values are at positions start, start + 1, ... of n, with k <= n in a chunk; the chunks
    first..stop-1 are fitted on some of them. `ends` says where the coefficients of each chunk end,
    degree + 1 of them. `totals` has zeros for those of these chunks, to which the sums are added.
    """
    most = _most(ends, first, stop)
    steps = _recurrence(k, most)
    now, before = np.empty(_BLOCK), np.empty(_BLOCK)
    offset = _start(ends, first)
    for c in range(first, stop):
        begin = min(c * k, n - k)
        a = totals[_start(ends, c) - offset : ends[c] - offset][: steps.size]
        end = min(start + values.size, begin + k)
        for at in range(max(start, begin), end, _BLOCK):
            m = min(_BLOCK, end - at)
            _first_two(k, m, now, before)
            for j in range(a.size):
                total = 0.0
                for i in range(m):
                    total += now[i] * values[at - start + i]
                a[j] += total
                if j + 1 < a.size:
                    _next(steps, j, k, at - begin, m, now, before)
    if most >= steps.size:
        steep = np.empty(k)
        for j in range(steps.size, most + 1):
            steep_polynomial(k, j, steep)
            for c in range(first, stop):
                where = _start(ends, c) + j
                if where < ends[c]:
                    begin = min(c * k, n - k)
                    total = 0.0
                    for at in range(max(start, begin), min(start + values.size, begin + k)):
                        total += steep[at - begin] * values[at - start]
                    totals[where - offset] += total


@njit(cache=True, nogil=True)
def misses(
    values: np.ndarray,
    start: int,
    n: int,
    k: int,
    ends: np.ndarray,
    first: int,
    stop: int,
    coefficients: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Sum the squares of what the fits miss in a stretch of the values.

    As in `project`, but `coefficients` are those of all chunks; `squares` has room for one sum for
    each of the chunks first..stop-1.
    """
    steps = _recurrence(k, _most(ends, first, stop))
    steep = _steep_parts(k, ends, first, stop, coefficients, steps.size)
    now, before, fit = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for c in range(first, stop):
        begin = min(c * k, n - k)
        a = coefficients[_start(ends, c) : ends[c]]
        end = min(start + values.size, begin + k)
        squares[c - first] = 0.0
        for at in range(max(start, begin), end, _BLOCK):
            m = min(_BLOCK, end - at)
            _evaluate(a, steps, k, at - begin, m, fit, now, before)
            _add_steep(steep, c - first, at - begin, m, fit)
            total = 0.0
            for i in range(m):
                total += (values[at - start + i] - fit[i]) ** 2
            squares[c - first] += total


@njit(cache=True, nogil=True)
def curves(
    start: int, n: int, k: int, ends: np.ndarray, coefficients: np.ndarray, fits: np.ndarray
) -> None:
    """Write the fits at positions start, start + 1, ... of n, each by its own chunk."""
    first, stop = start // k, (start + fits.size - 1) // k + 1
    steps = _recurrence(k, _most(ends, first, stop))
    steep = _steep_parts(k, ends, first, stop, coefficients, steps.size)
    now, before, fit = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for c in range(first, stop):
        begin = min(c * k, n - k)
        end = min(start + fits.size, c * k + k)
        for at in range(max(start, c * k), end, _BLOCK):
            m = min(_BLOCK, end - at)
            a = coefficients[_start(ends, c) : ends[c]]
            _evaluate(a, steps, k, at - begin, m, fit, now, before)
            _add_steep(steep, c - first, at - begin, m, fit)
            fits[at - start : at - start + m] = fit[:m]


@njit(cache=True, nogil=True)
def release_chunks(
    values: np.ndarray,
    places: np.ndarray,
    cells: np.ndarray,
    first_k: int,
    lows: np.ndarray,
    widths: np.ndarray,
    k: int,
    ends: np.ndarray,
    coefficients: np.ndarray,
    deviations: np.ndarray,
    by_cell: bool,
    scale: float,
    floors: np.ndarray,
    released: np.ndarray,
    first: int,
    stop: int,
) -> None:
    """Release the chunks first..stop-1 of the second pass: fit plus noise, back in their cells.

    As in `misses`, with all n values; `first_k`, `lows` and `widths` are the chunks of the first
    pass, and `deviations` sqrt(SSE / k) of each chunk.

    Parameters
    ----------
    places : ndarray of int32
        The position of each value in the first order.
    cells : ndarray of int32
        The cell of each value of the first order, counted row by row.
    by_cell : bool
        Noise in proportion to each cell's own residual instead of the chunk's deviation.
    scale : float
        Multiplies the noise.
    floors : ndarray of float64
        Smallest standard deviation of the noise in each column.
    released : ndarray of float64
        Holds a standard normal draw in each cell, which the released value replaces.
    """
    n, columns = values.size, floors.size
    steps = _recurrence(k, _most(ends, first, stop))
    steep = _steep_parts(k, ends, first, stop, coefficients, steps.size)
    now, before, fit = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for c in range(first, stop):
        shift = max(0, (c + 1) * k - n)
        begin = c * k - shift
        a = coefficients[_start(ends, c) : ends[c]]
        for start in range(shift, k, _BLOCK):
            m = min(_BLOCK, k - start)
            _evaluate(a, steps, k, start, m, fit, now, before)
            _add_steep(steep, c - first, start, m, fit)
            for i in range(m):
                at = begin + start + i
                place = places[at]
                chunk, cell = place // first_k, cells[place]
                sd = abs(values[at] - fit[i]) if by_cell else deviations[c]
                sd = max(scale * sd * widths[chunk], floors[cell % columns])
                released[cell] = lows[chunk] + (widths[chunk] * fit[i] + sd * released[cell])


@njit(cache=True, nogil=True)
def misses_by_degree(
    values: np.ndarray,
    start: int,
    n: int,
    k: int,
    first: int,
    coefficients: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Sum the squares of what the fits of all degrees miss in a stretch of the values.

    As in `misses`, for the chunks from `first` on, as many as `squares` has rows. `coefficients`
    has a row for each chunk of all; both have a column for each degree from 0 on, none of them
    steep. The sums are added.
    """
    steps = _recurrence(k, squares.shape[1] - 1)
    now, before, fit = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for c in range(first, first + len(squares)):
        begin = min(c * k, n - k)
        end = min(start + values.size, begin + k)
        for at in range(max(start, begin), end, _BLOCK):
            m = min(_BLOCK, end - at)
            _first_two(k, m, now, before)
            fit[:m] = 0.0
            for j in range(steps.size):
                total = 0.0
                for i in range(m):
                    fit[i] += coefficients[c, j] * now[i]
                    total += (values[at - start + i] - fit[i]) ** 2
                squares[c - first, j] += total
                if j + 1 < steps.size:
                    _next(steps, j, k, at - begin, m, now, before)


@njit(cache=True, nogil=True)
def disclosures_by_degree(
    values: np.ndarray,
    start: int,
    n: int,
    k: int,
    first: int,
    coefficients: np.ndarray,
    spreads: np.ndarray,
    by_cell: bool,
    scale: float,
    widest: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Sum the probabilities that fit plus noise is near the value, for the fits of all degrees.

    As in `misses_by_degree`. Near is within a distance that is as likely to be any from 0 to
    `widest` of the chunk. `spreads` has the noise's standard deviation for each chunk and degree;
    with `by_cell`, it is `scale` times what the fit misses of the value.
    """
    steps = _recurrence(k, sums.shape[1] - 1)
    now, before, fit = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for c in range(first, first + len(sums)):
        begin = min(c * k, n - k)
        end = min(start + values.size, begin + k)
        for at in range(max(start, begin), end, _BLOCK):
            m = min(_BLOCK, end - at)
            _first_two(k, m, now, before)
            fit[:m] = 0.0
            for j in range(steps.size):
                total = 0.0
                for i in range(m):
                    fit[i] += coefficients[c, j] * now[i]
                    missed = abs(values[at - start + i] - fit[i])
                    spread = scale * missed if by_cell else spreads[c, j]
                    total += _near(missed, spread, widest[c])
                sums[c - first, j] += total
                if j + 1 < steps.size:
                    _next(steps, j, k, at - begin, m, now, before)


@inner
def _near(missed, spread, widest):
    """Return the mean over 0 < h < widest of P(|missed + spread Z| < h), Z being normal."""
    if widest <= 0.0:
        return 1.0
    if spread <= 1e-9 * widest:
        return max(0.0, 1.0 - missed / widest)
    # The integral of the normal distribution function from -inf to u is _area(u).
    middle, step = -missed / spread, widest / spread
    return (_area(middle + step) + _area(middle - step) - 2.0 * _area(middle)) / step


@inner
def _area(u):
    """Return u times the normal distribution function at u, plus the density there."""
    return 0.5 * u * erfc(-u * np.sqrt(0.5)) + np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)


@njit(cache=True)
def steep_polynomial(k: int, degree: int, values: np.ndarray) -> None:
    """Write the polynomial of a degree at the positions 0..k-1, computed from the ends inwards."""
    half = (k + 1) // 2
    square = float(degree) * (degree + 1)
    before, now = 0.0, _SMALL
    values[0] = now
    for x in range(half - 1):
        up, down = (x + 1.0) * (x + 1.0 - k), float(x) * (x - k)
        new = ((square + up + down) * now - down * before) / up
        before, now = now, new
        values[x + 1] = now
        if abs(now) > _LARGE:
            values[: x + 2] *= _SMALL / _LARGE
            before, now = before * (_SMALL / _LARGE), now * (_SMALL / _LARGE)
    odd = degree % 2 == 1
    if odd and k % 2 == 1:
        values[half - 1] = 0.0
    total = 0.0
    for x in range(half):
        total += values[x] ** 2 if 2 * x == k - 1 else 2.0 * values[x] ** 2
    # As with the recurrence, the polynomials are positive at the last position.
    norm = np.sqrt(total)
    for x in range(half):
        end = values[x] / norm
        values[x] = -end if odd else end
        values[k - 1 - x] = end


@inner
def _steep_parts(k, ends, first, stop, coefficients, flat):
    """Sum the polynomials of degree `flat` and more for some chunks; empty if there are none."""
    most = _most(ends, first, stop)
    if most < flat:
        return np.zeros((0, 0))
    sums, steep = np.zeros((stop - first, k)), np.empty(k)
    for j in range(flat, most + 1):
        steep_polynomial(k, j, steep)
        for c in range(first, stop):
            where = _start(ends, c) + j
            if where < ends[c]:
                sums[c - first] += coefficients[where] * steep
    return sums


@njit(inline="always")
def _add_steep(steep, row, start, m, fit):
    """Add the steep part at the m positions from `start` on, if there is one."""
    if steep.size:
        fit[:m] += steep[row, start : start + m]


@inner
def _recurrence(k, degree):
    """Return b_0..b_degree, or as many as are accurate."""
    degree = min(degree, int(_STEEPEST * np.sqrt(k)))
    steps = np.zeros(degree + 1)
    for j in range(1, degree + 1):
        jj, kk = float(j) * j, float(k) * k
        steps[j] = np.sqrt(jj * (kk - jj) / (4.0 * (4.0 * jj - 1.0)))
    return steps


@inner
def _start(ends, c):
    """Return where the coefficients of chunk c begin."""
    return ends[c - 1] if c else 0


@inner
def _most(ends, first, stop):
    """Return the highest degree of some chunks."""
    most = 0
    for c in range(first, stop):
        most = max(most, ends[c] - _start(ends, c) - 1)
    return most


@njit(inline="always")
def _first_two(k, m, now, before):
    """Set p_0 and p_-1 of m positions."""
    now[:m] = 1.0 / np.sqrt(k)
    before[:m] = 0.0


@njit(inline="always")
def _next(steps, j, k, start, m, now, before):
    """Go from p_j to p_j+1 at the m positions from `start` on."""
    centre, step, last = start - 0.5 * (k - 1), 1.0 / steps[j + 1], steps[j]
    for i in range(m):
        new = ((centre + i) * now[i] - last * before[i]) * step
        before[i] = now[i]
        now[i] = new


@njit(inline="always")
def _evaluate(a, steps, k, start, m, fit, now, before):
    """Write the fit at the m positions from `start` on."""
    _first_two(k, m, now, before)
    fit[:m] = 0.0
    size = min(a.size, steps.size)
    for j in range(size):
        for i in range(m):
            fit[i] += a[j] * now[i]
        if j + 1 < size:
            _next(steps, j, k, start, m, now, before)
