"""Sums and quotients as pairs of doubles, high part and low part: some 32 digits."""

from numba import njit

_SPLITTER = 134217729.0  # 2**27 + 1 cuts a double into two halves of 26 bits (Veltkamp)


@njit(cache=True)
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b as rounded sum and exact error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit(cache=True)
def two_prod(a: float, b: float) -> tuple[float, float]:
    """Return a * b as rounded product and exact error (Dekker)."""
    p = a * b
    t = _SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = _SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(cache=True)
def add_pair(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the sum of two pairs of doubles."""
    s, e = two_sum(a, b)
    e += a_low + b_low
    high = s + e
    return high, e - (high - s)


@njit(cache=True)
def times_over(a: float, a_low: float, b: float, b_low: float, w: float) -> tuple[float, float]:
    """Return a * b / w for pairs a and b and a plain w."""
    p, e = two_prod(a, b)
    e += a * b_low + a_low * b
    high = p / w
    back, back_low = two_prod(high, w)
    return high, ((p - back) - back_low + e) / w
