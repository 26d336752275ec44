import numpy as np
import pytest

import discreet.risk
from discreet.utility import dr, il1s, il_dr_score, il_metrics, normalized_score, score

X = np.random.default_rng(0).normal(size=(40, 2)) + 5
Y = X + np.random.default_rng(1).normal(size=X.shape) * 0.3


@pytest.fixture
def figures(monkeypatch):
    """Linkage of known shares, so that only the arithmetic is tested."""
    shares = {"rank": 0.4, "sd": 0.3}
    known = []

    def linkage(share):
        def measure(original, protected, *, known_by=known, known):
            known_by.append(known)
            return share

        return measure

    monkeypatch.setattr(discreet.risk, "distance_linkage", linkage(0.2), raising=False)
    monkeypatch.setattr(discreet.risk, "probabilistic_linkage", linkage(0.1), raising=False)
    monkeypatch.setattr(
        discreet.risk, "interval_disclosure", lambda x, y, *, kind: shares[kind], raising=False
    )
    return known


def test_dr_and_score(figures):
    assert dr(X, Y) == pytest.approx(0.25 * 20 + 0.25 * 10 + 0.5 * 40)
    found = score(X, Y, known=[["x0"]], detail=True)
    assert found.value == pytest.approx(0.5 * il_metrics(X, Y) + 0.5 * 27.5)
    assert found.parts["pld"] == pytest.approx(10)
    assert figures == ["paper", "paper", [["x0"]], [["x0"]]]


def test_normalized_score_has_no_part_above_100(figures):
    il = 100 * min(1, il1s(X, Y, normalize=True))
    expected = 0.25 * (min(100, il_metrics(X, Y)) + il + 30 + 20)
    assert normalized_score(X, Y) == pytest.approx(expected)
    assert normalized_score(X, 1e6 * Y, detail=True).value == pytest.approx(0.25 * (200 + 50))


def test_the_rounding_papers_score(figures):
    # Its distance linkage by hand: raw scale, from the original, hits over cells.
    distance = ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
    ddr = (distance.argmin(axis=1) == np.arange(len(X))).sum() / X.size
    expected = 0.25 * (il_metrics(X, Y) + il1s(X, Y) + 0.3 + ddr)
    assert il_dr_score(X, Y) == pytest.approx(expected)


def test_the_rounding_papers_first_index_on_ties(figures):
    x = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0]])
    assert il_dr_score(x, x, detail=True).parts["ddr"] == pytest.approx(2 / 6)
