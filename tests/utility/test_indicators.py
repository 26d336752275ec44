"""Own indicators, before and after."""

import datetime as dt
import json
import statistics
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from discreet import assess, protect
from discreet.datasets import make_households
from discreet.generalization import Hierarchy
from discreet.utility import indicators

row = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.one_of(st.none(), st.integers(0, 9)),
    st.one_of(st.none(), st.integers(0, 9)),
)


def by_hand(pairs, function):
    """What plain Python says of each group."""
    groups = defaultdict(list)
    for name, value in pairs:
        if name is not None and value is not None:
            groups[name].append(value)
    return {name: function(values) for name, values in groups.items()}


def gini(values):
    total = sum(values)
    if not total:
        return None
    return sum(abs(x - y) for x in values for y in values) / (2 * len(values) * total)


PLAIN = {
    "sum(v)": sum,
    "mean(v * 2)": lambda values: 2 * sum(values) / len(values),
    "median(v)": statistics.median,
    "gini(v)": gini,
    "share(v > 4)": lambda values: sum(value > 4 for value in values) / len(values),
    "quantile(v, 0.25)": lambda values: float(
        np.quantile(values, 0.25, method="averaged_inverted_cdf")
    ),
}


@given(st.lists(row, min_size=1, max_size=12), st.sampled_from(sorted(PLAIN)))
def test_against_plain_python(rows, text):
    names = pa.array([name for name, _, _ in rows], pa.string())
    before, after = (
        pa.table({"g": names, "v": pa.array([r[side] for r in rows], pa.int64())})
        for side in (1, 2)
    )
    expected = [by_hand([(r[0], r[side]) for r in rows], PLAIN[text]) for side in (1, 2)]
    if not any(v is not None for side in expected for v in side.values()):
        return
    [found] = indicators(before, after, [f"{text} by g"])
    for one in found["groups"]:
        for side, key in enumerate(("before", "after")):
            value = expected[side].get(one["group"])
            assert one[key] == (None if value is None else pytest.approx(value))


def one(before, after, text, **more):
    [found] = indicators(pa.table(before), pa.table(after), [text], **more)
    return found


def test_groups_are_those_of_the_released_labels():
    cities = ["oslo", "hamar", "bergen", "voss"]
    tree = Hierarchy.groups({"east": cities[:2], "west": cities[2:]})
    before = {"city": cities * 3, "pay": [1.0, 2.0, 3.0, 4.0] * 3}
    released = before | {"city": ["east", "east", "west", "west"] * 3}
    found = one(before, released, "mean(pay) by city", hierarchies={"city": tree})
    assert [(g["group"], g["before"], g["after"], g["change"]) for g in found["groups"]] == [
        ("east", 1.5, 1.5, 0.0),
        ("west", 3.5, 3.5, 0.0),
    ]
    # Local recoding: a label that covers two shown groups is halved.
    local = before | {"city": ["oslo", "hamar", "west", "west", *["east"] * 2, *["west"] * 6]}
    found = one(before, local, "count() by city", hierarchies={"city": tree})
    assert {g["group"]: (g["before"], g["after"]) for g in found["groups"]} == {
        "oslo": (3.0, 2.0),
        "hamar": (3.0, 2.0),
        "west": (6.0, 8.0),
    }
    assert (found["change"], found["of"]) == (pytest.approx(1 / 3), 3)


def test_ranges_are_read_as_their_middles_and_open_ones_left_out():
    before = {"age": [30, 34, 38, 91]}
    found = one(before, {"age": ["30-39", "30-39", "30-39", ">=90"]}, "mean(age)")
    assert (found["before"], found["after"], found["nulls"]) == (48.25, 34.5, [0, 1])


def test_two_columns_of_groups_and_ages_in_ranges():
    before = {"age": [31, 35, 52, 58], "sex": ["f", "m", "f", "f"]}
    after = before | {"age": ["30-39", "30-39", "50-59", "50-59"]}
    found = one(before, after, "count() by sex, age")
    assert {g["group"]: g["after"] for g in found["groups"]} == {
        "f, 30-39": 1.0,
        "m, 30-39": 1.0,
        "f, 50-59": 2.0,
    }
    assert found["change"] == 0


def test_rows_that_are_not_released_are_missing_from_sums():
    before, there = {"pay": [1.0, 2.0, 5.0]}, np.array([True, True, False])
    found = one(before, {"pay": [1.0, 2.0, None]}, "sum(pay)", there=there)
    assert (found["before"], found["after"], found["change"]) == (8.0, 3.0, 0.625)


def test_a_group_that_is_gone_has_changed_whole_and_from_nothing_there_is_no_share():
    before = {"g": ["a", "a", "b"], "v": [1.0, 3.0, 0.0]}
    after = {"g": ["a", "a", "a"], "v": [1.0, 3.0, 0.0]}
    means = one(before, after, "mean(v) by g")["groups"]
    assert {g["group"]: g["change"] for g in means} == {"a": pytest.approx(1 / 3), "b": 1.0}
    sums = one(before, {"g": ["a", "b", "b"], "v": [4.0, 0.0, 1.0]}, "sum(v) by g")["groups"]
    assert {g["group"]: g["change"] for g in sums} == {"a": 0.0, "b": None}


def test_what_nothing_is_known_of_has_no_value():
    """Neither a sum of nothing nor a quotient by zero is a figure that stays as it was."""
    table = pa.table({"v": [1.0, 2.0, None, 5.0], "none": [0.0] * 4, "g": ["a", "a", "b", "c"]})
    asked = ["sum(v / none)", "share(v / none > 1)", "sum(1 / 0)", "mean(v / none) by g"]
    with pytest.warns(UserWarning, match="there is no record that it can be computed from") as told:
        assert not indicators(table, table, asked)
    assert len(told) == len(asked)
    [found] = indicators(table, table, ["sum(v) by g"])
    assert {one["group"]: one["before"] for one in found["groups"]} == {"a": 3.0, "c": 5.0}
    # Where some quotients are known, the others are left out.
    part = pa.table({"v": [1.0, 6.0, 4.0], "by": [0.0, 2.0, 2.0]})
    [found] = indicators(part, part, ["share(v / by > 2)"])
    assert (found["before"], found["nulls"]) == (0.5, [1, 1])


def test_groups_by_dates_are_named_as_dates():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2021, 5, 3), None]
    table = pa.table({"day": days, "v": [1.0, 2.0, 3.0, 4.0]})
    [found] = indicators(table, table, ["mean(v) by day"])
    assert {one["group"] for one in found["groups"]} == {"2020-01-01", "2021-05-03"}
    years = table.set_column(0, "day", pa.array(["2020", "2020", "2021", None]))
    [found] = indicators(table, years, ["mean(v) by day"])
    assert {one["group"]: one["change"] for one in found["groups"]} == {
        "2020-01-01": 0.0, "2021-05-03": 0.0,
    }  # fmt: skip
    with pytest.warns(UserWarning, match="'day' holds dates, which cannot be computed with"):
        assert not indicators(table, table, ["mean(day)"])


def test_where_none_can_be_computed_it_is_said_why():
    table = pa.table({"sex": ["f", "m"] * 5})
    asked = {"roles": {"insensitive": ["sex"]}, "indicators": ["mean(sex)", "sum(sex)"]}
    assert assess(table, table, asked).left_out["indicators"] == (
        "the indicator 'mean(sex)' is left out: 'sex' holds text, which cannot be computed with; "
        "the indicator 'sum(sex)' is left out: 'sex' holds text, which cannot be computed with"
    )


def test_weights_beside_and_within():
    before = {"pay": [10.0, 20.0], "w": [1.0, 3.0]}
    after = {"pay": [20.0, 20.0], "w": [1.0, 3.0]}
    found = one(before, after, "mean(pay)", weight="w")
    assert (found["before"], found["after"]) == (15.0, 20.0)
    assert found["weighted"] == {"before": 17.5, "after": 20.0, "change": pytest.approx(1 / 7)}
    found = one(before, after, "sum(pay * w)", weight="w")
    assert (found["before"], found["after"]) == (70.0, 80.0)
    assert "weighted" not in found


def test_what_cannot_be_computed_is_left_out_and_said():
    before, after = {"sex": ["f", "m"], "v": [1.0, 2.0]}, {"sex": ["*", "m"], "v": [2.5, 1.0]}
    with pytest.warns(UserWarning, match="the indicator") as told:
        assert not indicators(
            pa.table(before), pa.table(after), ["share(sex == 'f')", "mean(sex)", "count() by v"]
        )
    assert [str(w.message) for w in told] == [
        "the indicator 'share(sex == 'f')' is left out: 'sex' was recoded, so that its values "
        "cannot be told; use by",
        "the indicator 'mean(sex)' is left out: 'sex' holds text, which cannot be computed with",
        "the indicator 'count() by v' is left out: the values of 'v' were moved, so that groups "
        "of them differ",
    ]


@pytest.fixture(scope="module")
def release():
    people = make_households(300, seed=1).select(["age", "region", "income", "weight"])
    recipe = {
        "indicators": ["sum(income*weight) by region", "mean(age)", "gini(income)"],
        "roles": {
            "quasi": ["age", "region"],
            "confidential": ["income"],
            "weight": "weight",
        },
        "steps": [
            {
                "method": "generalize",
                "columns": ["age", "region"],
                "privacy": [{"model": "k-anonymity", "k": 4}],
                "hierarchies": {
                    "age": {"kind": "intervals", "widths": [10, 20]},
                    "region": {"kind": "flat"},
                },
                "suppression_limit": 0.1,
            }
        ],
    }
    return recipe, protect(people, recipe)


def test_a_release_is_assessed_by_its_recipes_indicators(release):
    recipe, made = release
    found = made.assess()
    entry = found.utility["indicators"]
    changes = [one["change"] for one in entry["columns"].values()]
    assert entry["value"] == max(changes)
    assert {one["text"] for one in entry["columns"].values()} == set(recipe["indicators"])
    # What is told: the largest change, and each before and after, in the terminal and as JSON.
    assert "indicators of mean(age)" in str(found)
    shown = [row for row in found.shown() if row["measure"] == "indicators"]
    assert shown[0]["headline"]
    assert json.loads(found.to_json())["utility"]["indicators"] == entry
    assert "gini(income)" in found.to_html()


def test_without_indicators_nothing_is_said_of_them():
    table = pa.table({"age": [1, 2, 3]})
    found = assess(table, pa.table({"age": [1, 2, 2]}), {"insensitive": ["age"]})
    assert "indicators" not in found.utility
    assert found.left_out["indicators"] == "the recipe has no indicators"


def test_on_an_engine_they_are_left_out_and_why(tmp_path, release):
    recipe, _ = release
    people = make_households(300, seed=1).select(["age", "region", "income", "weight"])
    for name in ("before", "after"):
        parquet.write_table(people, tmp_path / f"{name}.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in ("before", "after")]
    roles = recipe["roles"]
    found = assess(*paths, roles, recipe=recipe, engine="duckdb", measures=["indicators"])
    why = "it needs all records in memory; measure a part of the table"
    assert found.left_out == {"indicators": why}
