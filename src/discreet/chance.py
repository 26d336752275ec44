"""Chances that are exact: draws whose distribution is what it should be, to the last bit.

A guarantee of differential privacy is about the distribution that is really drawn from. Sums and
logarithms of floats have another one, whose gaps give values away (Mironov 2012), so that here all
is whole numbers and fractions. C. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for
differential privacy", NeurIPS 2020, whose algorithms 1 and 2 these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.draws import Draws

_AT_ONCE = 4096


class Chance:
    """A stream of exact chances, from the words of some draws.

    Examples
    --------
    >>> chance = Chance(Draws(2024, 1, "income"))
    >>> sum(chance.happens(Fraction(1, 3)) for _ in range(3000))
    1034
    """

    def __init__(self, draws: Draws) -> None:
        self._draws, self._next = draws.apart(), 0
        self._words: list[int] = []

    def word(self) -> int:
        """Return the next 64 bits."""
        if not self._words:
            numbers = np.arange(self._next, self._next + _AT_ONCE)
            self._words = self._draws.words(numbers)[::-1].tolist()
            self._next += _AT_ONCE
        return self._words.pop()

    def below(self, most: int) -> int:
        """Return a whole number from 0 to `most` - 1, each as likely as the others."""
        bits = (most - 1).bit_length()
        while True:
            drawn, had = 0, 0
            while had < bits:
                drawn, had = drawn << 64 | self.word(), had + 64
            drawn >>= had - bits
            if drawn < most:
                return drawn

    def happens(self, chance: Fraction) -> bool:
        """Return True with a chance of 0 to 1."""
        return self.below(chance.denominator) < chance.numerator

    def survives(self, rate: Fraction) -> bool:
        """Return True with a chance of exp(-rate)."""
        while rate > 1:
            if not self._survives_below_one(Fraction(1)):
                return False
            rate -= 1
        return self._survives_below_one(rate)

    def _survives_below_one(self, rate: Fraction) -> bool:
        # exp(-r) = 1 - r + r^2 / 2 - ...: the first trial that fails is an odd one.
        trial = 1
        while self.happens(rate / trial):
            trial += 1
        return trial % 2 == 1

    def choose(self, scores: Sequence[int], rate: Fraction) -> int:
        """Return the place of a score, each with a chance in proportion to exp(rate * score)."""
        best = max(scores)
        while True:
            place = self.below(len(scores))
            if self.survives(rate * (best - scores[place])):
                return place

    def laplace(self, scale: Fraction) -> int:
        """Return a whole number z with a chance in proportion to exp(-abs(z) / scale)."""
        s, t = scale.denominator, scale.numerator
        while True:
            part = self.below(t)
            if not self._survives_below_one(Fraction(part, t)):
                continue
            whole = 0
            while self._survives_below_one(Fraction(1)):
                whole += 1
            size = (part + t * whole) // s
            negative = self.below(2) == 1
            if not (negative and size == 0):
                return -size if negative else size
