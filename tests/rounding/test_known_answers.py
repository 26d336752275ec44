"""The paper's figures for wine (178 x 13), as the specification corrects them.

Entropy in bits, summed over the 13 masked columns and the class.
"""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from discreet.rounding import MDAV, MDLP, OMA, VMDAV, EqualFrequency, EqualWidth

X, y = load_wine(return_X_y=True)
RULE = "freedman-diaconis"


def entropy(columns):
    total = 0.0
    for column in (*columns, y):
        shares = np.unique(column, return_counts=True)[1] / len(column)
        total -= (shares * np.log2(shares)).sum()
    return total


def test_the_original():
    assert entropy(X.T) == pytest.approx(82.80, abs=0.006)


@pytest.mark.parametrize(
    ("method", "k", "bits"),
    [
        (OMA, 10, 54.24), (OMA, 15, 46.41), (OMA, 20, 40.39), (OMA, 25, 38.05), (OMA, RULE, 45.07),
        (MDAV, 2, 81.12), (MDAV, 7, 61.88), (MDAV, 10, 54.45), (MDAV, 20, 40.00),
        (MDAV, RULE, 45.33), (VMDAV, 5, 64.58), (VMDAV, 7, 58.96), (VMDAV, 10, 52.95),
        (VMDAV, 25, 35.57), (VMDAV, RULE, 43.66),
    ],
)  # fmt: skip
def test_microaggregation(method, k, bits):
    masked = method(k, keep_ties=False).fit_transform(X)
    assert entropy(masked.T) == pytest.approx(bits, abs=0.006)


def test_mdlp():
    assert entropy(MDLP().fit_transform(X, y).T) == pytest.approx(18.08, abs=0.006)


@pytest.mark.parametrize(
    ("method", "c", "bits"),
    [
        (EqualWidth, 3, 36.90), (EqualWidth, 5, 45.64), (EqualWidth, 10, 56.12),
        (EqualWidth, 15, 62.04), (EqualFrequency, 3, 38.89), (EqualFrequency, 5, 46.73),
        (EqualFrequency, 10, 58.57),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_discretization_with_the_points_of_all_columns_pooled(method, c, bits):
    """The paper encodes with the points of all columns together, which the product never does."""
    sets = method(c).fit(X).rounding_sets_.values()
    # From the top, so that 3.88, halfway between two pooled points, goes up as in the paper.
    points = np.unique(np.concatenate(list(sets)))[::-1]
    nearest = points[np.abs(X[:, :, None] - points).argmin(axis=2)]
    assert entropy(nearest.T) == pytest.approx(bits, abs=0.006)
