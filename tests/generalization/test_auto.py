"""Hierarchies proposed from a column, and the kinds that they need."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadInput
from discreet.generalization import Hierarchy


def test_small_counts_stay_and_large_ones_are_one():
    sizes = pa.array([1] * 40 + [2] * 30 + [3] * 20 + [4] * 6 + [5] * 2 + [6, 9])
    assert Hierarchy.auto().bind(sizes, "household_size").labels[1:-1] == [
        ["<2", "2", "3", "4", ">=5"], ["<3", "3-4", ">=5"], ["<5", ">=5"]
    ]  # fmt: skip


def test_names_are_grouped_by_the_words_they_begin_or_end_with():
    names = [
        "Self-emp-inc",
        "Self-emp-not-inc",
        "Private",
        "State-gov",
        "Local-gov",
        "Never-married",
    ]
    counts = np.array([4, 6, 70, 8, 7, 5])
    hierarchy = Hierarchy.auto().settle(pa.array(names), "work", counts)
    assert hierarchy.spec["tree"] == {
        "Private": ["Private"],
        "other": {
            "gov": ["State-gov", "Local-gov"],
            "less common": {
                "Self-emp": ["Self-emp-not-inc", "Self-emp-inc"],
                "Never-married": ["Never-married"],
            },
        },
    }


def test_stages_of_education_are_recognised():
    adult = [
        "Preschool",
        "5th-6th",
        "9th",
        "11th",
        "HS-grad",
        "Some-college",
        "Bachelors",
        "Masters",
        "Doctorate",
    ]
    labels = Hierarchy.auto().labels(pa.array(adult), "education")
    assert labels[1].to_pylist() == [
        "primary or none", "primary or none", "lower secondary", "upper secondary",
        "upper secondary", "after school", "bachelor", "doctorate or master", "doctorate or master",
    ]  # fmt: skip
    assert dict.fromkeys(labels[2].to_pylist()) == dict.fromkeys(
        ["basic", "secondary and more", "higher"]
    )


@pytest.mark.parametrize("count", range(5, 40, 7))
def test_no_names_are_left_without_levels(count):
    names = pa.array([f"name of {chr(97 + i % 26) * (1 + i // 26)}" for i in range(count)])
    assert Hierarchy.auto().bind(names, "x").height >= 3


def test_a_group_is_not_called_what_a_value_is_called():
    column = pa.array(["other"] * 60 + ["rare"] * 30 + ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + ["d"])
    for level in Hierarchy.auto().labels(column, "x")[1:-1]:
        assert not {"other", "rare"} & set(level.to_pylist()[90:])


def test_dates_in_a_format():
    hierarchy = Hierarchy.dates(["month", "year"], format="%d.%m.%Y")
    assert hierarchy.labels(pa.array(["31.12.1999", "1.2.2003"]))[1].to_pylist() == [
        "1999-12",
        "2003-02",
    ]
    assert Hierarchy.from_spec(hierarchy.spec) == hierarchy
    with pytest.raises(
        BadInput, match=r"'31.02.2003' is not a date written as '%d.%m.%Y'; correct"
    ):
        hierarchy.bind(pa.array(["31.02.2003"]), "born")


@pytest.mark.parametrize("format", ["%d.%m", "%d.%m.%Y %q", "%d.%d.%m.%Y", 3, ""])
def test_formats_that_say_no_date(format):
    with pytest.raises(BadInput, match="format must say where day, month and year stand"):
        Hierarchy.dates(["year"], format=format)


def test_the_first_characters_of_codes():
    hierarchy = Hierarchy.prefix(keep=[3, 1])
    assert [level.to_pylist() for level in hierarchy.labels(pa.array(["E11.9", "E1", "I10"]))[1:3]] == [
        ["E11*", "E1*", "I10*"], ["E*", "E*", "I*"]
    ]  # fmt: skip
    assert Hierarchy.from_spec(hierarchy.spec) == hierarchy
    with pytest.raises(BadInput, match="keep must be a list such as"):
        Hierarchy.prefix(keep="31")
    with pytest.raises(BadInput, match="leave out stars and side"):
        Hierarchy.prefix(stars=[1], keep=[1])
    with pytest.raises(BadInput, match="keep must fall from level to level, but 3 follows 1"):
        Hierarchy.prefix(keep=[1, 3])
