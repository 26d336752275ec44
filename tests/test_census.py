"""MDAV-masked Census: each figure computed twice, by the product and by plain numpy."""

import numpy as np
import pytest

from discreet.datasets import load_census
from discreet.risk import distance_linkage, interval_disclosure, probabilistic_linkage
from discreet.rounding import MDAV
from discreet.utility import dr, il1s, il_metrics, score, sse_ratio


@pytest.fixture(scope="module")
def tables():
    try:
        x = load_census().to_pandas().to_numpy(float)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return x, MDAV(k=10, keep_ties=False).fit_transform(x)


def z(x):
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


def paper_sets(x):
    return [slice(0, h) for h in range(1, -(-x.shape[1] // 2) + 1)]


def test_losses(tables):
    x, y = tables
    cells = np.abs(x - y)[x != 0] / np.abs(x[x != 0])
    vx, vy = np.cov(x.T), np.cov(y.T)
    upper, above = np.triu_indices(13), np.triu_indices(13, 1)
    terms = [
        cells.mean(),
        (np.abs(x.mean(0) - y.mean(0)) / np.abs(x.mean(0))).mean(),
        (np.abs(vx - vy) / np.abs(vx))[upper].mean(),
        (np.abs(vx - vy) / np.abs(vx)).diagonal().mean(),
        np.abs(np.corrcoef(x.T) - np.corrcoef(y.T))[above].mean(),
    ]
    assert il_metrics(x, y) == pytest.approx(100 * np.mean(terms), rel=1e-9)
    assert il1s(x, y) == pytest.approx((np.abs(x - y) / (np.sqrt(2) * x.std(0, ddof=1))).sum())
    lost = ((x - y) / x.std(0, ddof=1)) ** 2
    assert sse_ratio(x, y, standardize=True) == pytest.approx(100 * lost.sum() / (z(x) ** 2).sum())


def linked_by_distance(x, y):
    originals, hits = z(x), 0.0
    for i, row in enumerate(z(y)):
        distances = ((originals - row) ** 2).sum(axis=1)
        nearest = np.isclose(distances, distances.min(), rtol=1e-12, atol=0)
        hits += nearest[i] / nearest.sum()
    return hits / len(x)


def test_risks(tables):
    x, y = tables
    dld = np.mean([linked_by_distance(x[:, s], y[:, s]) for s in paper_sets(x)])
    assert distance_linkage(x, y) == pytest.approx(dld, abs=1e-9)
    sd = (np.abs(x - y) <= 0.05 * y.std(axis=0, ddof=1)).mean()
    assert interval_disclosure(x, y, kind="sd") == pytest.approx(sd)


def test_the_score_is_made_of_its_parts(tables):
    x, y = tables
    for interval, known in (("all", "all"), ("known", "paper")):
        risk = (
            0.25 * distance_linkage(x, y)
            + 0.25 * probabilistic_linkage(x, y, agreement="sd")
            + 0.5 * interval_disclosure(x, y, kind="rank", known=known)
        )
        assert dr(x, y, interval=interval) == pytest.approx(100 * risk)
        expected = 0.5 * il_metrics(x, y) + 50 * risk
        assert score(x, y, interval=interval) == pytest.approx(expected)
