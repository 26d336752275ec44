"""The 95 % intervals of attacks cover the true excess, on simulated releases of which it is known."""

import numpy as np
import pytest

from discreet.attacks import inference, linkability
from tests.attacks.people import AMONG, kept_or_blank

N, SHARE = 300, 0.3
SECRETS = np.array([0.6, 0.2, 0.2])


def linked(*tables, **given):
    return linkability(*tables, known=(["a"], ["b"]), among=AMONG, **given)


def inferred(*tables, **given):
    return inference(*tables, secret="secret", known=["a"], by="nearest", **given)


# Whose record is kept is linked for certain. Who is hidden is looked for among those of the AMONG
# who are hidden too: (1 - s) E[1 / (1 + Bin(AMONG - 1, 1 - s))] = (1 - s^AMONG) / AMONG.
LINKED = SHARE + (1 - SHARE**AMONG) / AMONG - 1 / AMONG
# Whose record is kept is inferred for certain; of all others, the most frequent secret is said.
INFERRED = SHARE * (1 - SECRETS.max())
# That is right by chance, too: of a share s of answers once in sum p^2, of others once in max p.
BEYOND_CHANCE = SHARE * (1 - (SECRETS**2).sum())
CASES = [
    pytest.param(linked, True, LINKED, id="linkability, holdout"),
    pytest.param(linked, False, LINKED, id="linkability"),
    pytest.param(inferred, True, INFERRED, id="inference, holdout"),
    pytest.param(inferred, False, BEYOND_CHANCE, id="inference"),
]


def coverage(attack, with_holdout, truth, times):
    covered = 0
    for seed in range(times):
        people, released, others = kept_or_blank(N, SHARE, np.random.default_rng(seed))
        # Ties are drawn: in every simulation anew.
        given = {"holdout": others if with_holdout else None, "random_state": seed}
        low, high = attack(people, released, **given).interval
        covered += low <= truth <= high
    return covered / times


@pytest.mark.parametrize(("attack", "with_holdout", "truth"), CASES)
def test_intervals_cover_the_true_excess(attack, with_holdout, truth):
    assert coverage(attack, with_holdout, truth, 60) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "with_holdout", "truth"), CASES)
def test_intervals_cover_the_true_excess_as_often_as_they_say(attack, with_holdout, truth):
    assert 0.93 <= coverage(attack, with_holdout, truth, 500) <= 0.97
