"""How often an attack succeeds, how often it would have anyway, and what the release adds.

An attack succeeds or fails with each of its targets. Its rate has Wilson's interval (1927). The
control group are people who are not in the release: of two rates of different people, the
difference has the interval of Newcombe's hybrid score method (1998, method 10). Without them, the
rate is compared with what a guess from the margins would have got with the same targets, and
because these are the same, the interval goes by how the two vary together (the same method for
paired rates).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

# 95 % of a normal distribution is within so many standard deviations.
Z = 1.959963984540054
Interval = tuple[float, float]


@dataclass(frozen=True)
class Rate:
    """So many successes of so many attempts.

    Examples
    --------
    >>> rate = Rate(30, 200)
    >>> rate.value, [round(end, 3) for end in rate.interval]
    (0.15, [0.107, 0.206])
    """

    successes: float
    of: int

    @property
    def value(self) -> float:
        """The share of successes; 0 of no attempts."""
        return float(self.successes / self.of) if self.of else 0.0

    @property
    def interval(self) -> Interval:
        """The 95 % interval of Wilson; without attempts it could be any rate."""
        if not self.of:
            return 0.0, 1.0
        p, n = self.value, self.of
        middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        # No success at all does not exclude 0, whatever rounding makes of it.
        return (
            0.0 if p == 0 else max(0.0, middle - half),
            1.0 if p == 1 else min(1.0, middle + half),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "successes": float(self.successes),
            "of": self.of,
            "value": self.value,
            "interval": list(self.interval),
        }


@dataclass(frozen=True)
class Attack:
    """What came of an attack on a release.

    Attributes
    ----------
    name : str
    attack : Rate
        Of people who are in the original table.
    control : Rate or None
        Of people who are not; None without a holdout.
    guess : Rate
        What a guess from the margins gets with the targets of the attack, on average.
    excess : float
        The rate of the attack less that of what it is held against.
    interval : (float, float)
        The 95 % interval of the excess.
    against : {"holdout", "guess"}
        What the attack is held against.
    said : str
        The result in a sentence; without a holdout, also what cannot be concluded from it.
    detail : dict
        More figures, by attack; plain data.
    """

    name: str
    attack: Rate
    control: Rate | None
    guess: Rate
    excess: float
    interval: Interval
    against: Literal["holdout", "guess"]
    said: str
    detail: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "name": self.name,
            "attack": self.attack.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            "guess": self.guess.to_dict(),
            "excess": self.excess,
            "interval": list(self.interval),
            "against": self.against,
            "said": self.said,
            "detail": self.detail,
        }


def concluded(
    name: str,
    attacked: np.ndarray,
    expected: np.ndarray | float,
    controlled: np.ndarray | None = None,
    *,
    did: str,
    detail: Mapping[str, Any] | None = None,
) -> Attack:
    """Put together what came of an attack.

    Parameters
    ----------
    name : str
    attacked : (targets,) array
        1 for each target that the attack succeeded with, 0 for the others.
    expected : (targets,) array or float
        How likely a guess from the margins was to succeed with each.
    controlled : array, optional
        1 or 0 of each person of the holdout.
    did : str
        What a success is, to go after "the attack": "finds the person".
    detail : mapping, optional

    Examples
    --------
    >>> found = concluded("x", np.repeat([1, 0], 50), 0.1, np.repeat([1, 0], [20, 80]), did="hits")
    >>> round(found.excess, 2), [round(end, 2) for end in found.interval], found.against
    (0.3, [0.17, 0.42], 'holdout')
    >>> print(found.said)
    The attack hits 50 % of the time, 20 % with people who are not in the release, and a guess from
    the margins 10 %: being in the release adds 30 percentage points (95 % interval 16.9 to 41.7).
    """
    attacked = np.asarray(attacked, np.float64)
    expected = np.broadcast_to(np.asarray(expected, np.float64), attacked.shape)
    attack, guess = _rate(attacked), _rate(expected)
    control = None if controlled is None else _rate(np.asarray(controlled, np.float64))
    if control is None:
        excess, interval = attack.value - guess.value, paired(attacked, expected)
    else:
        excess, interval = attack.value - control.value, difference(attack, control)
    return Attack(
        name,
        attack,
        control,
        guess,
        excess,
        interval,
        "guess" if control is None else "holdout",
        sentence(did, attack, control, guess, excess, interval),
        dict(detail or {}),
    )


def difference(one: Rate, other: Rate) -> Interval:
    """Return the 95 % interval of the difference of two rates of different people (Newcombe).

    Examples
    --------
    Newcombe's first example, 56 of 70 and 48 of 80:

    >>> [round(end, 4) for end in difference(Rate(56, 70), Rate(48, 80))]
    [0.0524, 0.3339]
    """
    floor, ceiling = other.interval
    return hybrid(one, other.value, (other.value - floor, ceiling - other.value), together=0.0)


def paired(attacked: np.ndarray, expected: np.ndarray) -> Interval:
    """Return the 95 % interval of the mean of 0/1 less the mean of what was expected of each.

    What was expected varies less than 0/1 would, or not at all, and often with the outcome: its
    part in the interval is as large as it varies.
    """
    one, other = _rate(attacked), _rate(expected)
    if not one.of:
        return 0.0, 1.0
    spread, own = float(np.std(expected)), float(np.std(attacked))
    together = 0.0
    if own > 0 and spread > 0:
        together = float(np.mean((attacked - one.value) * (expected - other.value)))
        together = min(1.0, max(-1.0, together / (own * spread)))
    # Not Wilson's, which is of 0/1: with few targets it is lopsided, and would cancel too much.
    side = Z * spread / math.sqrt(one.of)
    return hybrid(one, other.value, (side, side), together)


def hybrid(one: Rate, q: float, sides: Interval, together: float) -> Interval:
    """Return the interval of a rate less another (Newcombe).

    The other, q, is given with how far its own interval goes below and above it; `together` is the
    correlation of the two.
    """
    p, (low, high), (below, above) = one.value, one.interval, sides
    down, up = p - low, high - p
    return (
        max(-1.0, p - q - math.sqrt(max(0.0, down**2 - 2 * together * down * above + above**2))),
        min(1.0, p - q + math.sqrt(max(0.0, up**2 - 2 * together * up * below + below**2))),
    )


def _rate(outcomes: np.ndarray) -> Rate:
    return Rate(float(np.sum(outcomes)), len(outcomes))


def sentence(
    did: str, attack: Rate, control: Rate | None, guess: Rate, excess: float, interval: Interval
) -> str:
    adds = f"adds {percent(excess)} percentage points ({_ends(interval)})"
    if control is not None:
        return (
            f"The attack {did} {percent(attack.value)} % of the time, {percent(control.value)} % "
            f"with people who are not in the release, and a guess from the margins "
            f"{percent(guess.value)} %: being in the release {adds}."
        )
    return (
        f"The attack {did} {percent(attack.value)} % of the time, and a guess from the margins "
        f"{percent(guess.value)} %: the release {adds}; without a holdout, what it says of single "
        "people in it cannot be told apart from what it says of everybody."
    )


def widened(found: Attack, *to: float) -> Attack:
    """Return a result whose interval holds some more values.

    Examples
    --------
    >>> found = concluded("x", np.repeat([1, 0], 50), 0.1, did="hits")
    >>> round(found.interval[0], 2), widened(found, 0.0).interval[0]
    (0.3, 0.0)
    """
    interval = min(*to, found.interval[0]), max(*to, found.interval[1])
    said = found.said.replace(_ends(found.interval), _ends(interval))
    return replace(found, interval=interval, said=said)


def _ends(interval: Interval) -> str:
    low, high = (percent(end) for end in interval)
    return f"95 % interval {low} to {high}"


def percent(share: float) -> str:
    """Write a share in percent with one digit after the point, or two where it is small.

    Examples
    --------
    >>> percent(0.95249), percent(0.0004), percent(1), percent(-1e-6)
    ('95.2', '0.04', '100', '0')
    """
    value = 100 * share
    text = f"{value:.1f}" if abs(value) >= 1 or value == 0 else f"{value:.2f}"
    # Adding nothing turns "-0.00" into "0".
    return f"{float(text) + 0.0:g}"
