import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import Recipe
from discreet.errors import BadInput, BrokenPromise
from discreet.rounding import OMA

CONFIDENTIAL = {"roles": {"confidential": ["x"]}}


def oma(k=2, **step):
    return {**CONFIDENTIAL, "steps": [{"method": "oma", "columns": ["x"], "k": k, **step}]}


@settings(max_examples=60)
@given(
    cells=st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=40),
    k=st.integers(1, 4),
    keep_ties=st.booleans(),
)
def test_k_records_per_value_nulls_in_place_same_bytes(cells, k, keep_ties):
    table = pa.table({"x": pa.array(cells, pa.int64())})
    present = sum(cell is not None for cell in cells)
    if present < max(1, k):
        with pytest.raises(BadInput):
            discreet.protect(table, oma(k, keep_ties=keep_ties))
        return
    release = discreet.protect(table, oma(k, keep_ties=keep_ties))
    out = release.table["x"].to_pylist()
    assert [cell is None for cell in out] == [cell is None for cell in cells]
    _, counts = np.unique([cell for cell in out if cell is not None], return_counts=True)
    assert counts.min() >= k
    assert release.table.equals(discreet.protect(table, release.recipe).table)


def test_the_whole_flow_on_households(households, recipe_text):
    release = discreet.protect(households, Recipe.from_toml(recipe_text))
    table = release.table
    assert table.column_names == ["region", "age", "sex", "household_id", "income", "assets"]
    assert max(a for a in table["age"].to_pylist() if a is not None) <= 85
    assert release.check.ok
    assert not release.check.having("not verifiable")
    # Household members stay together under their new number.
    before, after = households["household_id"].to_pylist(), table["household_id"].to_pylist()
    assert len(set(before)) == len(set(after)) == len(set(zip(before, after, strict=True)))
    assert set(after) == set(range(1, len(set(before)) + 1))


def test_recipes_as_dict_object_and_file(tmp_path):
    table = pd.DataFrame({"x": [1, 2, 9, 10]})
    recipe = Recipe.from_dict(oma())
    recipe.dump(tmp_path / "r.toml")
    results = [discreet.protect(table, r).table for r in (oma(), recipe, tmp_path / "r.toml", str(tmp_path / "r.toml"))]  # fmt: skip
    assert all(result.equals(results[0]) for result in results)


def test_a_file_in(tmp_path):
    (tmp_path / "in.csv").write_text("x\n1\n?\n9\n10\n2\n")
    release = discreet.protect(tmp_path / "in.csv", {"null_markers": ["?"], **oma()})
    assert release.table["x"].to_pylist() == [2, None, 10, 10, 2]
    assert release.log["input"]["source"] == "in.csv"


def test_plan_is_plain_and_log_counts_changes():
    release = discreet.protect(pa.table({"x": [1, 3, 10, 10, None]}), oma())
    (step,) = release.plan["steps"]
    plan = step["columns"]["x"]
    assert plan["cuts"].tolist() == [6.5]
    assert plan["points"].tolist() == [2, 10]
    assert plan["counts"].tolist() == [2, 2]
    assert release.log["changed_cells"] == {"x": 2}
    assert release.log["steps"][0]["changed_cells"] == {"x": 2}
    assert release.log["nulls"]["cells"] == {"x": 1}
    assert release.log["packages"]["numpy"] == np.__version__
    assert len(release.log["input"]["hmac"]) == 64
    json.dumps(release.log)


def test_hashes_of_equal_inputs_do_not_match():
    table = pa.table({"x": [1, 2, 9, 10]})
    one, other = (discreet.protect(table, oma()).log["input"]["hmac"] for _ in "ab")
    assert one != other


def test_a_step_after_a_step_sees_its_result():
    table = pa.table({"x": [1, 2, 9, 100]})
    recipe = oma()
    top = {"method": "top-bottom", "columns": ["x"], "upper": 12, "promise": False}
    recipe["steps"].insert(0, top)
    assert discreet.protect(table, recipe).table["x"].to_pylist() == [2, 2, 10, 10]


def test_seeds():
    table = pa.table({"x": np.arange(100.0)})
    stochastic = oma(5, encoding="stochastic", precision="full")
    drawn = [discreet.protect(table, stochastic) for _ in "ab"]
    assert not drawn[0].table.equals(drawn[1].table)
    assert all(2**127 <= release.recipe.seed < 2**128 for release in drawn)
    assert drawn[0].table.equals(discreet.protect(table, drawn[0].recipe).table)
    marked = discreet.protect(table, {**stochastic, "seed": 7, "allow_predictable_seed": True})
    assert marked.log["seed"] == {"drawn": False, "predictable": True}
    assert not drawn[0].log["seed"]["predictable"]


def test_a_small_seed_that_no_step_needs_is_not_used_for_the_row_order():
    release = discreet.protect(pa.table({"x": [1, 2, 9, 10]}), {**oma(), "seed": 7})
    assert release.recipe.seed >= 2**127
    assert release.log["warnings"] == [
        "seed = 7 was not used: no step draws, and the order of the written rows must stay secret; "
        "a secret seed was drawn and kept"
    ]


@pytest.mark.parametrize(
    ("table", "recipe", "message"),
    [
        ({"x": [1]}, oma(), "column 'x' has 1 values (n_samples = 1), fewer than k = 2"),
        ({"x": [None, None]}, oma(), "column 'x' holds only nulls"),
        ({"y": [1]}, oma(), "the table has no column 'x' (role confidential); known: y"),
        ({"x": [1, 2], "y": [1, 2]}, oma(), "no role for column 'y'; give each one, "),
        ({"x": [1.0, np.inf]}, oma(), "column 'x', row 2: inf is infinite; remove it or mark it as missing"),
        ({"x": [1, 2**60]}, oma(), "column 'x', row 2: 1152921504606846976 has more digits"),
        ({"x": ["1", "two"]}, oma(), "column 'x', row 2: 'two' is not a number; "),
        ({"x": [1, 2]}, oma(k={"x": 3}), "column 'x' has 2 values (n_samples = 2), fewer than k = 3"),
        ({"x": [1, 2]}, {**oma(), "roles": {"rest": "drop"}}, "step 1 (oma) treats 'x', which is not released (drop)"),
        ({"y": [1, 2]}, {**oma(), "roles": {"rest": "drop"}}, "step 1 (oma): the table has no column 'x'; known: y"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_sentence(table, recipe, message):
    with pytest.raises(BadInput) as caught:
        discreet.protect(pa.table(table), recipe)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_method_that_breaks_its_promise_is_found_out(monkeypatch):
    monkeypatch.setattr(OMA, "groups", lambda self, values, counts, k: np.array([1, len(values)]))
    with pytest.raises(
        BrokenPromise, match=r"broken: k = 2 per value in column 'x' \(1 records hold 1\)"
    ):
        discreet.protect(pa.table({"x": [1, 5, 6]}), oma())


def test_a_method_that_alters_a_null_is_found_out(monkeypatch):
    monkeypatch.setattr(
        OMA, "run", lambda self, columns, draws, rounded, target: (
            {"x": np.full(4, 5.0)},
            {"x": {"kind": "cuts", "encoding": "group", "cuts": np.array([]), "points": np.array([5.0]), "counts": np.array([4])}},
        )
    )  # fmt: skip
    with pytest.raises(
        BrokenPromise, match="column 'x', row 2: 5, the plan gives nan; 1 cells differ"
    ):
        discreet.protect(pa.table({"x": [5, None, 5, 5]}), oma())
