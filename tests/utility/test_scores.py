import numpy as np
import pytest

import discreet.risk
from discreet.errors import BadInput
from discreet.utility import dr, il1s, il_dr_score, il_metrics, normalized_score, score

X = np.random.default_rng(0).normal(size=(40, 2)) + 5
Y = X + np.random.default_rng(1).normal(size=X.shape) * 0.3


@pytest.fixture
def figures(monkeypatch):
    """Linkage of known shares, so that only the arithmetic is tested."""
    asked = []

    def measure(name, share):
        def take(original, protected, **more):
            asked.append((name, more))
            return share[more["kind"]] if isinstance(share, dict) else share

        monkeypatch.setattr(discreet.risk, name, take)

    measure("distance_linkage", 0.2)
    measure("probabilistic_linkage", 0.1)
    measure("interval_disclosure", {"rank": 0.4, "sd": 0.3})
    return asked


def test_dr_and_score(figures):
    assert dr(X, Y) == pytest.approx(0.25 * 20 + 0.25 * 10 + 0.5 * 40)
    found = score(X, Y, known=[["x0"]], agreement="graded", detail=True)
    assert found.value == pytest.approx(0.5 * il_metrics(X, Y) + 0.5 * 27.5)
    assert found.parts["pld"] == pytest.approx(10)
    score(X, Y, known=["x1"], interval="all")
    assert sorted(figures, key=lambda one: one[0]) == [
        ("distance_linkage", {"known": "paper"}),
        ("distance_linkage", {"known": [["x0"]]}),
        ("distance_linkage", {"known": ["x1"]}),
        ("interval_disclosure", {"kind": "rank", "known": "paper"}),
        ("interval_disclosure", {"kind": "rank", "known": [["x0"]]}),
        ("interval_disclosure", {"kind": "rank", "known": "all"}),
        ("probabilistic_linkage", {"known": "paper", "agreement": "sd"}),
        ("probabilistic_linkage", {"known": [["x0"]], "agreement": "graded"}),
        ("probabilistic_linkage", {"known": ["x1"], "agreement": "sd"}),
    ]


def by_rank(x, y):
    """Share of cells in each column between released values 1 to 10 % of the ranks away."""
    n, found = len(x), []
    for a, b in zip(x.T, y.T, strict=True):
        ordered, inside = np.sort(b), 0
        for percent in range(1, 11):
            for i in range(n):
                rank = int(np.flatnonzero(ordered == b[i])[0])
                away = percent * n // 100
                low, high = ordered[max(rank - away, 0)], ordered[min(rank + away, n - 1)]
                inside += low <= a[i] <= high
        found.append(inside / (10 * n))
    return np.array(found)


def test_intervals_are_of_the_columns_that_are_known():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(50, 5))
    y = x + rng.normal(size=x.shape) * [0.01, 0.1, 0.5, 1, 2]
    shares = 100 * by_rank(x, y)
    for known, interval, expected in (
        ("paper", "known", np.mean([shares[:h].mean() for h in (1, 2, 3)])),
        ("paper", "all", shares.mean()),
        ("all", "known", shares.mean()),
        (["x4", "x1"], "known", shares[[4, 1]].mean()),
        ([["x4"], ["x0", "x1"]], "known", (shares[4] + shares[:2].mean()) / 2),
    ):
        found = dr(x, y, known=known, interval=interval, detail=True)
        assert found.parts["interval"] == pytest.approx(expected)


def test_an_unknown_reading_of_intervals_is_refused():
    with pytest.raises(BadInput, match='interval = "some" is not "known" or "all"'):
        dr(X, Y, interval="some")


def test_normalized_score_has_no_part_above_100(figures):
    il = 100 * min(1, il1s(X, Y, normalize=True))
    expected = 0.25 * (min(100, il_metrics(X, Y)) + il + 30 + 20)
    assert normalized_score(X, Y) == pytest.approx(expected)
    assert normalized_score(X, 1e6 * Y, detail=True).value == pytest.approx(0.25 * (200 + 50))


def test_the_rounding_papers_score(figures):
    # Its distance linkage by hand, on the raw scale: from the original, hits over cells; or, as it
    # is worded, from the protected, hits over records.
    distance = ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
    own = np.arange(len(X))
    found = {
        "to-protected": (distance.argmin(axis=1) == own).sum() / X.size,
        "to-original": (distance.argmin(axis=0) == own).sum() / len(X),
    }
    assert len(set(found.values())) == 2
    for linkage, ddr in found.items():
        expected = 0.25 * (il_metrics(X, Y) + il1s(X, Y) + 0.3 + ddr)
        assert il_dr_score(X, Y, linkage=linkage) == pytest.approx(expected)
    assert il_dr_score(X, Y, detail=True).parts["ddr"] == found["to-original"]
    with pytest.raises(BadInput, match='linkage = "to-orignal": did you mean'):
        il_dr_score(X, Y, linkage="to-orignal")


def test_the_rounding_papers_first_index_on_ties(figures):
    x = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0]])
    for linkage, expected in (("to-protected", 2 / 6), ("to-original", 2 / 3)):
        found = il_dr_score(x, x, linkage=linkage, detail=True)
        assert found.parts["ddr"] == pytest.approx(expected)


def test_the_direction_matters():
    # Each original is nearest to its own, but both masked records to the first original.
    x, y = np.array([[0.0], [10.0]]), np.array([[3.0], [4.0]])
    found = {
        linkage: il_dr_score(x, y, linkage=linkage, detail=True).parts["ddr"]
        for linkage in ("to-original", "to-protected")
    }
    assert found == {"to-original": 0.5, "to-protected": 1.0}
