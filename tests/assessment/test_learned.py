import numpy as np
import pyarrow as pa
import pytest

from discreet.assessment.learned import values_learned
from discreet.risk import interval_disclosure

PEOPLE = pa.table({"job": ["nurse", "nurse", "judge", None], "pay": [10.0, 20.0, 30.0, 40.0]})


def learned(released):
    return values_learned(PEOPLE, released, ["job", "pay"])


def test_what_is_released_as_it_is_is_learned_whole():
    assert learned(PEOPLE) == {"job": 1.0, "pay": 1.0}


def test_a_column_that_is_not_released_tells_nothing():
    assert learned(PEOPLE.select([])) == {"job": 0.0, "pay": 0.0}


def test_values_of_records_that_were_left_out_are_not_learned():
    gone = pa.table({"job": ["nurse", None, None, None], "pay": [10.0, None, None, None]})
    assert learned(gone) == {"job": pytest.approx(1 / 3), "pay": 0.25}


def test_a_coarser_label_tells_the_commonest_below_it():
    coarse = pa.table({"job": ["*"] * 4, "pay": ["10-20", "10-20", "30", "40"]})
    # Of the interval, the mean 15 is guessed, which is not within 0.05 of a standard deviation.
    assert learned(coarse) == {"job": pytest.approx(2 / 3), "pay": 0.5}


def test_numbers_are_as_in_interval_disclosure():
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    y = x + rng.normal(scale=0.05, size=500)
    before, after = pa.table({"pay": x}), pa.table({"pay": y})
    assert values_learned(before, after, ["pay"])["pay"] == pytest.approx(
        interval_disclosure(before, after)
    )


def test_a_column_without_values_is_left_out():
    nothing = pa.table({"pay": pa.array([None, None], pa.float64()), "job": pa.array([None] * 2)})
    assert values_learned(nothing, nothing, ["pay"]) == {}
