import math
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given

from discreet.utility import il_metrics
from tests.utility.pairs import both, correlation, covariance, mean, tables

pytestmark = pytest.mark.filterwarnings("ignore:il_metrics")


def slow_terms(x, y, threshold=0.0):
    """The five terms, column by column, from the definition."""
    columns = [(x[:, j], y[:, j]) for j in range(x.shape[1])]
    pairs = [pair for pair in (both(*c) for c in columns) if pair[0]]
    terms = {
        "cells": [
            abs(i - j) / abs(i)
            for a, b in pairs
            for i, j in zip(a, b, strict=True)
            if abs(i) > threshold
        ],
        "means": [abs(mean(a) - mean(b)) / abs(mean(a)) for a, b in pairs if abs(mean(a)) > 1e-12],
    }
    varied = [c for c in columns if len(set(both(*c)[0])) > 1]
    terms |= {"covariances": [], "variances": [], "correlations": []}
    for (a, b), (c, d) in combinations_with_replacement(varied, 2):
        kept = ~np.isnan(a + b + c + d)
        if abs(covariance(a[kept], c[kept])) > 1e-11:
            v = covariance(a[kept], c[kept])
            terms["covariances"].append(abs(v - covariance(b[kept], d[kept])) / abs(v))
    for a, b in varied:
        i, j = both(a, b)
        terms["variances"].append(abs(covariance(i, i) - covariance(j, j)) / covariance(i, i))
    for (a, b), (c, d) in combinations(varied, 2):
        kept = ~np.isnan(a + b + c + d)
        if len(set(a[kept])) > 1 and len(set(c[kept])) > 1:
            change = correlation(a[kept], c[kept]) - correlation(b[kept], d[kept])
            terms["correlations"].append(abs(change))
    return {name: mean(values) for name, values in terms.items() if values}


@given(tables())
def test_against_a_slow_twin(pair):
    expected = slow_terms(*pair)
    found = il_metrics(*pair, detail=True)
    assert found.terms == pytest.approx(expected, abs=1e-9)
    value = 100 * mean(expected.values()) if expected else 0.0
    assert found.value == il_metrics(*pair) == pytest.approx(value, abs=1e-7)


def test_small_values_can_be_left_out():
    x, y = np.array([[0.001, 5.0], [2.0, 4.0]]), np.array([[1.0, 5.0], [2.0, 4.0]])
    assert il_metrics(x, y, threshold=0.01, detail=True).terms["cells"] == 0
    assert il_metrics(x, y, detail=True).columns == pytest.approx({"x0": 499.5, "x1": 0.0})


def test_identical_tables_lose_nothing():
    x = np.random.default_rng(0).normal(size=(30, 4))
    assert il_metrics(x, x) == 0


def test_census_rounded_computed_twice():
    from discreet.datasets import load_census
    from discreet.rounding import OMA

    try:
        census = load_census()
    except FileNotFoundError:
        pytest.skip("the reference data is not there")
    x = np.column_stack([column.to_numpy().astype(float) for column in census.columns])
    y = OMA(k=10).fit_transform(x)
    assert il_metrics(x, y, detail=True).terms == pytest.approx(slow_terms(x, y))
    assert il_metrics(x, x) == 0


def test_warnings_name_the_column():
    with pytest.warns(UserWarning, match="il_metrics leaves out column 'x0', which is constant"):
        il_metrics([[1.0, 1.0], [1.0, 2.0]], [[1.0, 1.0], [2.0, 2.0]])
    with pytest.warns(UserWarning, match="the correlations of column 'x1', constant in the prot"):
        il_metrics([[1.0, 1.0], [2.0, 2.0]], [[1.0, 3.0], [2.0, 3.0]])
    assert math.isfinite(il_metrics([[math.nan]], [[1.0]]))
