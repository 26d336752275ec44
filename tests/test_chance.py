"""Exact chances: what is drawn has the distribution that it should have."""

import math
from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import chisquare

from discreet.chance import Chance
from discreet.draws import Draws


def fits(drawn, shares):
    """Tell whether what was drawn goes with some shares."""
    seen, n = Counter(drawn), len(drawn)
    observed = [seen[value] for value in shares]
    observed.append(n - sum(observed))
    expected = [share * n for share in shares.values()]
    expected.append(n - sum(expected))
    return chisquare(observed, expected).pvalue > 1e-4


def test_whole_numbers_are_equally_likely():
    chance = Chance(Draws(1, "below"))
    assert fits([chance.below(7) for _ in range(3000)], dict.fromkeys(range(6), 1 / 7))
    # Past 64 bits, too.
    large = [chance.below(3 << 90) for _ in range(600)]
    assert fits([x >> 90 for x in large], {0: 1 / 3, 1: 1 / 3})


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_survival(rate):
    chance = Chance(Draws(2, str(rate)))
    assert fits([chance.survives(rate) for _ in range(4000)], {True: math.exp(-rate)})


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(7, 3)])
def test_laplace(scale):
    chance = Chance(Draws(3, str(scale)))
    a = math.exp(-1 / scale)
    shares = {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-4, 5)}
    assert fits([chance.laplace(scale) for _ in range(5000)], shares)


def test_a_choice_goes_by_exp_of_the_scores():
    chance, scores = Chance(Draws(4, "choose")), [0, 3, 5]
    weights = [math.exp(score / 2) for score in scores]
    drawn = [chance.choose(scores, Fraction(1, 2)) for _ in range(3000)]
    assert fits(drawn, {i: weights[i] / sum(weights) for i in range(2)})
