"""Correlations, class sizes and nulls."""

import numpy as np
import pytest

from discreet.report import pictures
from tests.report.pages import marks


def matrix(n, seed):
    x = np.random.default_rng(seed).normal(size=(50, n)) + np.arange(50)[:, None] * 0.02
    return np.corrcoef(x.T).tolist()


@pytest.mark.parametrize("n", [2, 12, 13, 30])
def test_correlations_of_few_and_many_columns(n):
    names = [f"column number {i}" for i in range(n)]
    figures = {"columns": names, "before": matrix(n, 1), "after": matrix(n, 2)}
    picture = pictures.correlations(figures)
    assert len(picture.svg) < 70_000
    assert ("the lower panel" in picture.caption) == (n > 12)
    changes = np.abs(np.array(figures["after"]) - np.array(figures["before"]))
    i, j = np.unravel_index(np.tril(changes, -1).argmax(), changes.shape)
    told = (
        f"{names[j]} and {names[i]}: {figures['before'][i][j]:.2f} and {figures['after'][i][j]:.2f}"
    )
    assert picture.alt.index(told) < 120, "the largest change is told first"


def test_correlations_that_are_not_there():
    figures = {
        "columns": ["a", "b"],
        "before": [[1, None], [None, 1]],
        "after": [[1, 0.3], [0.3, 1]],
    }
    assert (
        pictures.correlations(figures).alt
        == "Correlations before and after: a and b: none and 0.30."
    )


def test_positive_squares_are_full_and_negative_ones_hollow():
    def drawn(r):
        figures = {"columns": ["a", "b"], "before": [[1, r], [r, 1]], "after": [[1, r], [r, 1]]}
        svg = pictures.correlations(figures).svg
        fills = [mark["fill"] for mark in marks(svg, "path")]
        return fills.count("#1a1a1a"), fills.count("white")

    assert drawn(0.5) == (2, 0)
    assert drawn(-0.5) == (0, 2)
    assert drawn(0.0) == (0, 0)


def test_nulls_show_the_columns_that_have_most():
    names = [f"c{i}" for i in range(60)]
    shares = [i / 100 for i in range(60)]
    picture = pictures.nulls({"columns": names, "rows": 100, "before": shares, "after": shares})
    assert "c59: 59.0 % and 59.0 %" in picture.alt
    assert "c19:" not in picture.alt
    assert "of 60 columns the 40 with most are shown" in picture.caption


def test_patterns_are_told():
    figures = {"columns": ["a", "b"], "rows": 100, "before": [0.2, 0.1], "after": [0.2, 0.1]}
    patterns = [
        {"columns": [], "before": 80, "after": 70},
        {"columns": ["a", "b"], "before": 1200, "after": 0},
        {"columns": ["b"], "before": 30, "after": None},
    ]
    picture = pictures.nulls(figures | {"patterns": patterns})
    assert "no null: 80 and 70; a with b: 1,200 and 0; b: 30 and fewer than 10." in picture.alt
    assert "1,200 → 0" in picture.svg
    assert "30 → &lt;10" in picture.svg
