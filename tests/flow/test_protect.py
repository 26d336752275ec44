import datetime as dt
import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import Recipe
from discreet.errors import BadInput, BrokenPromise
from discreet.outcome import Outcome
from discreet.rounding import OMA
from tests.examples import examples

CONFIDENTIAL = {"roles": {"confidential": ["x"]}}


def oma(k=2, **step):
    return {**CONFIDENTIAL, "steps": [{"method": "oma", "columns": ["x"], "k": k, **step}]}


@examples(60)
@given(
    cells=st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=40),
    k=st.integers(1, 4),
    keep_ties=st.booleans(),
)
def test_k_records_per_value_nulls_in_place_same_bytes(cells, k, keep_ties):
    table = pa.table({"x": pa.array(cells, pa.int64())})
    present = sum(cell is not None for cell in cells)
    if present < k or k < 2:
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


def test_row_order_never_comes_from_a_small_seed(tmp_path):
    table = pa.table({"x": np.arange(50)})
    recipe = {**oma(), "seed": 7, "allow_predictable_seed": True}
    orders = []
    for name in "ab":
        release = discreet.protect(table, recipe)
        assert release.recipe.order_seed >= 2**127
        release.save(tmp_path / name)
        orders.append((tmp_path / name / "public" / "table.csv").read_bytes())
    assert orders[0] != orders[1]
    with pytest.raises(
        BadInput, match="'order_seed' should be greater than or equal to 18446744073709551616"
    ):
        discreet.protect(table, {**oma(), "order_seed": 7})


def test_a_predictable_seed_that_is_allowed_is_told():
    recipe = {**oma(5, encoding="stochastic"), "seed": 7, "allow_predictable_seed": True}
    release = discreet.protect(pa.table({"x": np.arange(50)}), recipe)
    assert release.log["warnings"] == [
        "seed = 7 can be found by trying, and then undoes the random steps"
    ]


def test_rounding_of_an_earlier_step_is_replayed():
    recipe = oma(3, precision="full", promise=False)
    recipe["steps"].append({"method": "top-bottom", "columns": ["x"], "upper": 50})
    assert discreet.protect(pa.table({"x": [1, 2, 5, 7, 8, 60, 61]}), recipe).check.verified


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            pa.array([[1], [2]]),
            "column 'y' holds list<item: int64>, which cannot be released; drop it, or turn",
        ),
        (pa.array([b"a", b"b"]), "column 'y' holds binary, which cannot be released"),
    ],
)
def test_types_that_cannot_be_released_are_named(column, message):
    table = pa.table({"x": [1, 2], "y": column})
    with pytest.raises(BadInput, match=re.escape(message)):
        discreet.protect(table, {**oma(), "roles": {"rest": "insensitive"}})
    # Dropped, they do no harm.
    discreet.protect(table, {**oma(), "roles": {"confidential": ["x"], "rest": "drop"}})


def test_bounds_that_the_type_cannot_hold():
    step = {"method": "top-bottom", "columns": ["x"], "lower": 300}
    with pytest.raises(BadInput, match="column 'x': uint8 cannot hold 300"):
        discreet.protect(
            pa.table({"x": pa.array([1, 2], pa.uint8())}), {**CONFIDENTIAL, "steps": [step]}
        )


@given(st.lists(st.integers(0, 10**6), min_size=5, max_size=30))
def test_amounts_as_decimals(cents):
    cells = [Decimal(c) / 100 for c in cents]
    table = pa.table({"x": pa.array(cells, pa.decimal128(12, 2))})
    release = discreet.protect(table, oma(5))
    assert release.check.verified
    assert release.table.schema == table.schema


def test_points_that_fall_on_full_hours():
    cells = [
        dt.datetime(2020, 1, d, h, m)
        for d, h, m in ((1, 11, 59), (1, 12, 1), (3, 6, 59), (3, 7, 1))
        for _ in range(5)
    ]
    release = discreet.protect(pa.table({"x": pa.array(cells, pa.timestamp("us"))}), oma(10))
    assert {t.minute for t in release.table["x"].to_pylist()} == {0}
    assert release.check.verified


def test_a_rare_point_is_refused_by_what_is_released():
    x = np.round(np.random.default_rng(53).lognormal(0, 1.2, 40), 2)
    step = {"method": "equal-frequency", "columns": ["x"], "n_points": 4, "encoding": "nearest"}
    with pytest.raises(
        BadInput, match="a point of column 'x' stands for 2 records; set min_count = 3 or"
    ):
        discreet.protect(pa.table({"x": x}), {**CONFIDENTIAL, "steps": [step]})


def test_float32_keeps_its_decimals():
    table = pa.table({"x": pa.array([0.1, 0.2, 0.3, 0.4, 0.7], pa.float32())})
    out = discreet.protect(table, oma(5)).table["x"].to_numpy()
    assert set(out) == {np.float32(0.3)}


def test_odd_types_pass_through(tmp_path):
    table = pa.table({
        "x": [1, 2],
        "none": pa.nulls(2),
        "view": pa.array(["a", "b"], pa.string_view()),
        "time": pa.array([dt.time(1, 2, 3), None]),
        "code": pa.array([2**60, 2**60 + 1]),
        "huge": pa.array([2**64 - 1, 1], pa.uint64()),
        "half": pa.array([0.5, 1.5], pa.float16()),
        "ns": pa.array([2**60, 2**60 + 1], pa.timestamp("ns")),
        "parquet": ["u", "v"],
    })  # fmt: skip
    recipe = {**oma(), "roles": {"confidential": ["x"], "rest": "insensitive"}}
    release = discreet.protect(table, recipe)
    assert release.table.schema == table.schema
    for kind in ("csv", "parquet"):
        release.save(tmp_path / kind, format=kind)


@pytest.mark.parametrize(
    ("table", "recipe", "message"),
    [
        ({"x": [1]}, oma(), "step 1 (oma): column 'x' has 1 values (n_samples = 1), fewer than k = 2"),
        ({"x": [None, None]}, oma(), "column 'x' holds only nulls"),
        ({"y": [1]}, oma(), "the table has no column 'x' (role confidential); known: y"),
        ({"x": [1, 2], "y": [1, 2]}, oma(), "no role for column 'y'; give each a role, "),
        ({"x": [1.0, np.inf]}, oma(), "column 'x', row 2: inf is infinite; remove it or mark it as missing"),
        ({"x": [1, 2**60]}, oma(), "column 'x', row 2: 1152921504606846976 has more digits"),
        ({"x": ["1", "two"]}, oma(), "column 'x', row 2: 'two' is not a number; "),
        ({"x": [1, 2]}, oma(k={"x": 3}), "step 1 (oma): column 'x' has 2 values (n_samples = 2), fewer than k = 3"),
        ({"x": [1, 2]}, {**oma(), "roles": {"rest": "drop"}}, 'step 1 (oma) treats \'x\', which has no role and is dropped (rest = "drop"); give it one'),
        ({"y": [1, 2]}, {**oma(), "roles": {"rest": "drop"}}, "step 1 (oma): the table has no column 'x'; known: y"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_sentence(table, recipe, message):
    with pytest.raises(BadInput) as caught:
        discreet.protect(pa.table(table), recipe)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_method_that_breaks_its_promise_is_found_out(monkeypatch):
    monkeypatch.setattr(OMA, "groups", lambda self, values, *rest: np.array([1, len(values)]))
    with pytest.raises(BrokenPromise) as caught:
        discreet.protect(pa.table({"x": [1, 5, 6]}), oma())
    # What is broken comes first; what is verified is counted.
    first, broken, *more = str(caught.value).splitlines()
    assert first == "the release does not pass its check:"
    assert broken == "  broken: k = 2 per value in column 'x' (1 records hold 1)"
    assert more[-1] == "  verified: 6 others"


def test_a_method_that_alters_a_null_is_found_out(monkeypatch):
    monkeypatch.setattr(
        OMA, "run", lambda self, columns, *rest: Outcome(
            {"x": np.full(4, 5.0)},
            {"x": {"kind": "cuts", "encoding": "group", "cuts": np.array([]), "points": np.array([5.0]), "counts": np.array([4])}},
        )
    )  # fmt: skip
    with pytest.raises(
        BrokenPromise, match="column 'x', row 2: 5, the plan gives nan; 1 cell differs"
    ):
        discreet.protect(pa.table({"x": [5, None, 5, 5]}), oma())


def test_a_release_without_columns_is_refused():
    recipe = {"roles": {"identifiers": ["x"]}}
    with pytest.raises(BadInput, match=r"^no column would be released; give some column another r"):
        discreet.protect(pa.table({"x": ["a", "b"]}), recipe)
