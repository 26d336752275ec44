import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.risk import global_risk, household_risk, individual_risk
from tests.risk.tables import COLUMNS, rows, table


def series(f, p):
    """The mean of 1/F over F = f, f + 1, ..., which is negative binomial given f."""
    total, j = 0.0, f
    chance = p**f
    while j < 2 * f / p or chance > 1e-18:
        total += chance / j
        chance *= (1 - p) * j / (j - f + 1)
        j += 1
    return total


def risk(f, p):
    return individual_risk(pa.table({"x": [0] * f}), ["x"], weight=np.full(f, 1 / p))[0]


@pytest.mark.parametrize("f", [1, 2, 3, 4, 7, 20, 50, 51, 80])
@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9])
def test_against_the_series(f, p):
    assert risk(f, p) == pytest.approx(series(f, p), rel=1e-9)


@given(st.floats(1e-6, 0.99))
def test_closed_forms(p):
    assert risk(1, p) == pytest.approx(-p * math.log(p) / (1 - p))
    if p < 0.9:  # the closed form of f = 2 cancels near 1
        two = (p * math.log(p) + 1 - p) * p / (1 - p) ** 2
        assert risk(2, p) == pytest.approx(two, rel=1e-6)


def test_small_shares_and_large_classes_stay_finite():
    assert risk(1, 1e-9) == pytest.approx(1e-9 * math.log(1e9))
    assert risk(5000, 0.001) == pytest.approx(0.001 / 5000 * (1 + 0.999 / 5001), rel=1e-6)
    assert risk(5000, 1.0) == pytest.approx(1 / 5000)


@given(rows())
def test_without_weights_it_is_one_over_the_class(rows):
    found = individual_risk(table(rows), COLUMNS)
    assert found == pytest.approx([1 / rows.count(r) for r in rows])
    whole = global_risk(table(rows), COLUMNS, detail=True)
    assert whole.value == pytest.approx(len(set(rows)) / len(rows))
    assert whole.expected == pytest.approx(len(set(rows)))
    assert whole.largest == pytest.approx(found.max())


@given(rows(), st.data())
def test_households_against_plain_products(rows, data):
    home = data.draw(
        st.lists(st.sampled_from([1, 2, None]), min_size=len(rows), max_size=len(rows))
    )
    weights = data.draw(st.lists(st.floats(1, 9), min_size=len(rows), max_size=len(rows)))
    people = table(rows, home=pa.array(home, pa.int64()), weight=weights)
    single = individual_risk(people, COLUMNS, weight="weight")
    found = household_risk(people, COLUMNS, "home", weight="weight")
    for i, h in enumerate(home):
        members = [i] if h is None else [j for j, other in enumerate(home) if other == h]
        assert found[i] == pytest.approx(1 - math.prod(1 - single[j] for j in members))


def test_weights_below_the_records_warn():
    with pytest.warns(UserWarning, match="sum to less than their records"):
        found = individual_risk(pa.table({"x": [1, 1]}), ["x"], weight=[0.5, 0.5])
    assert found.tolist() == [0.5, 0.5]


def test_a_household_array_of_another_length_is_refused():
    with pytest.raises(BadInput, match="household has 1 values, the table 2 rows"):
        household_risk(pa.table({"x": [1, 1]}), ["x"], [1])
