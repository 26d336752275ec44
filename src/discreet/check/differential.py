"""Differential privacy: what epsilon and delta ask for, worked out anew in whole numbers.

SafePub samples each record with a probability beta of at most 1 - exp(-epsilon), and releases only
classes with k sampled records. With gamma = 1 - (1 - beta) exp(-epsilon), it misses its promise
with a chance of at most the largest P[Binomial(n, beta) >= j] over all j >= k, n being the largest
number with gamma n < j. Chances are numbers of 2^-2048, rounded up, so that they are never taken
for smaller than they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from discreet.check.evidence import StepPlan
from discreet.check.findings import NEEDS_INTERNAL, Finding, finding
from discreet.check.shown import Shown
from discreet.recipe.recipe import Step

WORDS = 1 << 64
_BITS = 2048
_ONE = 1 << _BITS
# Digits of logarithms, which only say how far one has to look.
_LOGS = Context(prec=60)
_SPARE = Decimal("1e-40")


def ledger_of(given: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return what a step may spend, as the recipe has it."""
    whole, search = (
        Fraction(repr(float(given.get(x) or 0))) for x in ("epsilon", "epsilon_search")
    )
    delta = Fraction(repr(float(given.get("delta") or 0)))
    return {
        "epsilon": whole,
        "epsilon_anon": whole - search,
        "epsilon_search": search,
        "delta": delta,
    }


def demanded(given: Mapping[str, Any]) -> tuple[int, int]:
    """Return the least class and the number of words that sample a record, for a step."""
    ledger = ledger_of(given)
    return least_class(ledger["epsilon_anon"], ledger["delta"]), sampling(ledger["epsilon_anon"])


@cache
def sampling(epsilon: Fraction) -> int:
    """Return the whole part of (1 - exp(-epsilon)) * 2^64."""
    return math.floor((1 - _exp_minus(epsilon)) * WORDS)


@cache
def least_class(epsilon: Fraction, delta: Fraction) -> int:
    """Return the smallest k for which epsilon and delta are kept.

    Examples
    --------
    >>> least_class(Fraction(1), Fraction(1, 10**5))
    61
    """
    words = sampling(epsilon)
    share = (WORDS - words) * _exp_minus(epsilon)  # (1 - gamma) * 2^64
    gamma = Fraction(math.floor((WORDS - share) * _ONE), WORDS * _ONE)
    most = math.floor(delta * _ONE)
    j = max(2, _enough(Fraction(words, WORDS), gamma, delta))
    while j > 2 and _tail(math.ceil((j - 1) / gamma) - 1, j - 1, words) <= most:
        j -= 1
    return j


def _exp_minus(x: Fraction) -> Fraction:
    """Return exp(-x), or less than 2^-2000 more."""
    parts = max(1, math.ceil(x))
    y, term, total, i = x / parts, _ONE, _ONE, 0
    while term:
        # The signs alternate: what is added is rounded up, what is taken off rounded down.
        i += 1
        up = i % 2 == 0
        term = term * y.numerator // (y.denominator * i) + up
        total += term if up else -term
        term -= up
    return Fraction(total + 4 * i, _ONE) ** parts


def _enough(beta: Fraction, gamma: Fraction, delta: Fraction) -> int:
    """Return a j from which on all chances are small enough, by Chernoff's bound."""
    s = gamma * (1 - beta) / (beta * (1 - gamma))
    rate = _ln(s) - _ln(1 - beta + beta * s) / _decimal(gamma)
    return math.ceil(-_ln(delta) / (rate - _SPARE))


def _ln(x: Fraction) -> Decimal:
    return _LOGS.ln(_decimal(x))


def _decimal(x: Fraction) -> Decimal:
    # Shortened first: more digits than these change nothing.
    shift = 400 - x.numerator.bit_length() + x.denominator.bit_length()
    whole = x.numerator << shift if shift >= 0 else x.numerator >> -shift
    return _LOGS.divide(Decimal(whole // x.denominator), Decimal(1 << max(0, shift)))


def _tail(n: int, j: int, words: int) -> int:
    """Return P[Binomial(n, words / 2^64) >= j] in 2^-2048, rounded up."""
    if j > n:
        return 0
    other = WORDS - words
    term = math.comb(n, j) * _times(_power(words, j), _power(other, n - j))
    total = term
    for i in range(j, n):
        up, down = (n - i) * words, (i + 1) * other
        if up < down and (left := term * up // (down - up) + 1) << 128 < total:
            return total + left
        term = term * up // down + 1
        total += term
    return total


def _power(words: int, exponent: int) -> int:
    """Return (words / 2^64)^exponent in 2^-2048, rounded up."""
    base, result = words << (_BITS - 64), _ONE
    while exponent:
        if exponent & 1:
            result = _times(result, base)
        base, exponent = _times(base, base), exponent >> 1
    return result


def _times(a: int, b: int) -> int:
    return -(-(a * b) >> _BITS)


def safepub(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify the classes of a release, that no column is beside them, and what was spent."""
    given = step.parameters()
    k, words = demanded(given)
    columns = [name for name in step.columns if name in shown.column_names]
    beside = [name for name in shown.column_names if name not in step.columns]
    spent = f"epsilon = {given['epsilon']:g} and delta = {given['delta']:g}"
    tuples, counts = shown.over(columns)
    rare = None
    if len(counts) and counts.min() < k:
        values = tuples.slice(int(counts.argmin()), 1).to_pylist()[0]
        held = ", ".join(f"{name} = {value}" for name, value in values.items())
        rare = f"{counts.min()} {shown.noun} hold {held}"
    smallest = int(counts.min()) if len(counts) else 0
    good = f"{len(counts):,} classes, the smallest of {smallest:,} {shown.noun}"
    return [
        finding(f"k = {k} records per class, as {spent} ask for", rare, good),
        finding(
            "no column is released beside those that epsilon covers",
            f"'{beside[0]}' is" if beside else None,
            f"{len(columns)} of {len(columns)} columns",
        ),
        _sampled(words, spent, shown, plan),
    ]


def _sampled(words: int, spent: str, shown: Shown, plan: StepPlan | None) -> Finding:
    """Find out whether the plan samples with the probability that epsilon allows."""
    said = f"records are sampled as {spent} allow"
    if plan is None:
        return Finding(said, "not verifiable", NEEDS_INTERNAL)
    found = int(plan["joint"]["words"])
    problem = None if found <= words else f"with a probability of {found / WORDS:.6g}"
    n, sampled = plan["joint"]["rows"], plan["joint"]["sampled"]
    share = found / WORDS
    # A sample that is off by seven deviations was not drawn with that probability.
    if abs(sampled - n * share) > 7 * (1 + math.sqrt(n * share * (1 - share))):
        problem = f"{sampled:,} of {n:,} records were, with a probability of {share:.6g}"
    released = sum(int(size) for size in plan["joint"]["sizes"])
    if problem is None and released != shown.num_rows:
        problem = f"{shown.num_rows:,} records are there, the plan has {released:,}"
    return finding(said, problem, f"with a probability of {found / WORDS:.6g}")


# Parts of a column's width that values are rounded to before they are added up.
PARTS = 1 << 20


def noise_scale(given: Mapping[str, Any], name: str, n: int, columns: int) -> Fraction:
    """Return the scale of the noise on the sums of a column's groups, in parts of its width.

    In a total order of the records with cuts at fixed places, a record that is replaced changes one
    record of each group, and so each sum by at most the width; in the order of a single column, all
    sums together by no more. An epsilon that is not given by column is shared evenly.
    """
    asked = given["epsilon"]
    own = asked[name] if isinstance(asked, Mapping) else asked
    epsilon = Fraction(repr(float(own))) / (1 if isinstance(asked, Mapping) else columns)
    groups = n // int(given["k"])
    return PARTS * (groups if columns > 1 else 1) / epsilon


def private_centres(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify groups of k records with values within their bounds, and no column beside them."""
    given, k = step.parameters(), int(step.parameters()["k"])
    columns = [name for name in step.columns if name in shown.column_names]
    beside = [name for name in shown.column_names if name not in step.columns]
    _, counts = shown.over(columns)
    few = int(counts.min()) if len(counts) else k
    beyond = None
    for name in columns:
        low, high = given["bounds"][name]
        ends = shown.ends(name)
        # Whole numbers are rounded, by less than one.
        if ends is not None and (ends[0] <= low - 1 or ends[1] >= high + 1):
            beyond = f"'{name}' goes from {ends[0]:g} to {ends[1]:g}"
    return [
        finding(
            f"k = {k} records per centre",
            f"{few} records share a centre" if few < k else None,
            f"{len(counts):,} centres, the rarest of {few:,} records",
        ),
        finding("centres are within the bounds that epsilon counts with", beyond, "all of them"),
        finding(
            "no column is released beside those that epsilon covers",
            f"'{beside[0]}' is" if beside else None,
            f"{len(columns)} of {len(columns)} columns",
        ),
    ]
