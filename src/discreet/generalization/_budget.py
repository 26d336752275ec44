"""What SafePub needs for an epsilon and a delta: the share that is sampled, and the least class.

R. Bild, K. Kuhn and F. Prasser, "SafePub", PETS 2018, after N. Li, W. Qardaji and D. Su, "On
sampling, anonymization, and differential privacy", ASIACCS 2012. Every record is sampled with
probability beta <= 1 - exp(-epsilon), and classes with fewer than k sampled records are suppressed.

Two tables differ in one record. Of its class, the larger table has n records and the smaller one
n - 1; j of them are sampled. Seeing j is n (1 - beta) / (n - j) times as likely with the record as
without. That is at most exp(epsilon) where j <= gamma n with gamma = 1 - (1 - beta) exp(-epsilon),
so that delta must cover the j that are larger, and at least k. (Without the record, j is at most
1 / (1 - beta) <= exp(epsilon) times as likely as with it, and so is suppression.) Of all n with the
same floor(gamma n) = j - 1 the largest, ceil(j / gamma) - 1, is the worst, and what n has to be
feared are those that reach k. Hence

    delta(k) = max over j >= k of P[Binomial(ceil(j / gamma) - 1, beta) >= j]

which is the paper's. By Chernoff's bound the term is at most rho^j for some rho < 1, so that only
finitely many j have to be looked at, from the last one down.

All is decimal arithmetic of 100 digits, rounded to the side that protects more. Python's `decimal`
rounds exp and ln correctly, so that the truth lies between the neighbours of what it returns.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from functools import cache

_DIGITS = 100
UP = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_CEILING, Emin=-(10**9), Emax=10**9)
DOWN = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
# A sampled record has a word below this share of all.
WORDS = 1 << 64
# Terms that cannot change a sum by more than this part of it are bounded together.
_NEGLIGIBLE = Decimal("1e-20")


def sampled_below(epsilon: Decimal) -> int:
    """Return the number of 64-bit words that sample a record: beta * 2^64, rounded down.

    Examples
    --------
    >>> sampled_below(Decimal("0.1")) / WORDS
    0.09516258196404043
    """
    share = DOWN.subtract(Decimal(1), _above(UP.exp(UP.minus(epsilon))))
    return int(DOWN.multiply(share, Decimal(WORDS)))


@cache
def least_class(epsilon: Decimal, delta: Decimal) -> int:
    """Return the smallest k with delta(k) <= delta, and 2 at least.

    Examples
    --------
    >>> least_class(Decimal("1"), Decimal("1e-5"))
    61
    """
    beta = DOWN.divide(Decimal(sampled_below(epsilon)), Decimal(WORDS))  # exact
    gamma = DOWN.subtract(
        Decimal(1), UP.multiply(DOWN.subtract(Decimal(1), beta), _above(UP.exp(UP.minus(epsilon))))
    )
    j = max(2, _all_below(beta, gamma, delta))
    while j > 2 and tail(_largest(j - 1, gamma), j - 1, beta) <= delta:
        j -= 1
    return j


def _largest(j: int, gamma: Decimal) -> int:
    """Return the largest n with gamma n < j."""
    return int(UP.divide(Decimal(j), gamma).to_integral_value(decimal.ROUND_CEILING)) - 1


def _all_below(beta: Decimal, gamma: Decimal, delta: Decimal) -> int:
    """Return a j from which on every term is at most delta.

    For any s > 1, P[Binomial(n, beta) >= j] <= (1 - beta + beta s)^n / s^j, and n < j / gamma: with
    the s that is best for large j this is rho^j.
    """
    rest = DOWN.subtract(Decimal(1), beta)
    s = DOWN.divide(
        DOWN.multiply(gamma, rest),
        UP.multiply(beta, UP.subtract(Decimal(1), gamma)),
    )
    mean = UP.add(rest, UP.multiply(beta, s))
    log_rho = UP.subtract(UP.divide(_above(UP.ln(mean)), gamma), DOWN.next_minus(DOWN.ln(s)))
    least = DOWN.next_minus(DOWN.ln(delta))
    return int(UP.divide(least, log_rho).to_integral_value(decimal.ROUND_CEILING))


def tail(n: int, j: int, beta: Decimal) -> Decimal:
    """Return P[Binomial(n, beta) >= j], or a trifle more; beta has at most 64 digits.

    Examples
    --------
    >>> float(tail(3, 2, Decimal("0.5")))
    0.5
    """
    if j > n:
        return Decimal(0)
    rest = DOWN.subtract(Decimal(1), beta)
    term = UP.multiply(_power(beta, j), _power(rest, n - j))
    term = UP.multiply(term, Decimal(math.comb(n, j)))
    odds, total = UP.divide(beta, rest), term
    for i in range(j, n):
        ratio = UP.divide(UP.multiply(Decimal(n - i), odds), Decimal(i + 1))
        if ratio < 1:
            # Ratios fall, so that what is left is less than a geometric series.
            left = UP.divide(UP.multiply(term, ratio), DOWN.subtract(Decimal(1), ratio))
            if left <= UP.multiply(total, _NEGLIGIBLE):
                return UP.add(total, left)
        term = UP.multiply(term, ratio)
        total = UP.add(total, term)
    return total


def _power(base: Decimal, exponent: int) -> Decimal:
    """Raise a number to a whole power by multiplications that round up."""
    result = Decimal(1)
    while exponent:
        if exponent & 1:
            result = UP.multiply(result, base)
        base, exponent = UP.multiply(base, base), exponent >> 1
    return result


def _above(x: Decimal) -> Decimal:
    return UP.next_plus(x)
