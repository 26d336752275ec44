"""The flow on Spark: every method, in a few recipes, against memory."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet.errors import BadInput
from discreet.table import read_table
from tests.release.scale.recipes import (
    K5,
    generalize,
    people,
    recipe,
    rounding,
    same_plan,
    same_table,
)

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::UserWarning")]


def wide(rows=200_000):
    """Give the table with more columns of numbers, so that each method has its own."""
    table = people(rows)
    extra = {f"income {i}": table["income"] for i in range(8)}
    for name, column in extra.items():
        table = table.append_column(name, column)
    return table


# Steps by column, so that one run shows many methods.
RECIPES = {
    "rounding": recipe(
        {"method": "oma", "columns": ["income", "assets"], "k": 5},
        {"method": "mdav", "columns": ["income 0"], "k": 5},
        {"method": "vmdav", "columns": ["income 1"], "k": 4},
        {"method": "equal-width", "columns": ["income 2"], "n_points": 8, "min_count": 5},
        {"method": "equal-frequency", "columns": ["birth_date"], "n_points": 8},
        {
            "method": "kmeans",
            "columns": ["income 3"],
            "n_points": 8,
            "min_count": 3,
            "encoding": "stochastic",
        },
        {
            "method": "resampling",
            "columns": ["income 4"],
            "n_points": 4,
            "min_count": 3,
            "n_quantiles": 4,
            "max_draws": 20,
        },
        {"method": "base", "columns": ["income 5"], "base": 1000.0},
        {"method": "mdlp", "columns": ["age"], "min_count": 3},
        {"method": "chimerge", "columns": ["hours"], "min_count": 3},
        confidential=[
            "income", "assets", "birth_date", "age", "hours", *(f"income {i}" for i in range(6)),
        ],
        target="household_size",
    ),
    "noise": recipe(
        {"method": "top-bottom", "columns": ["income"], "upper": 80_000},
        {"method": "noise", "columns": ["income 0", "income 1"], "kind": "correlated"},
        {"method": "pram", "columns": ["disease", "education"], "retention": 0.8},
        {"method": "porop", "columns": ["income 2", "assets"], "k": 100},
        {"method": "lirop", "columns": ["income 3"], "k": 50, "noise": "perturbative"},
        confidential=["income", "assets", "disease", "education",
                      *(f"income {i}" for i in range(4))],
        row_key="key",
    ),
    "segregate": generalize(
        ["age", "sex", "education"],
        [*K5, {"model": "t-closeness", "t": 0.5, "column": "disease"}],
        {"method": "oma", "columns": ["income"], "k": 20},
    ),
    "match": generalize(["age", "sex"], null_policy="match"),
    "value": generalize(["age", "postcode", "sex"], null_policy="value"),
    "suppress": generalize(["age", "sex"], null_policy="suppress"),
    "mondrian": recipe(
        {"method": "mondrian", "columns": ["age", "postcode", "sex"], "privacy": K5},
        quasi=["age", "postcode", "sex"],
        confidential=["income"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return wide()


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    parquet.write_table(table, path, row_group_size=60_001)
    return path


@pytest.mark.parametrize("name", RECIPES)
def test_spark_decides_and_releases_what_memory_does(name, session, table, file, tmp_path):
    rules = RECIPES[name]
    wanted = discreet.protect(table, rules)
    release = discreet.protect(file, rules, engine="spark")
    same_plan(wanted.plan["steps"], release.plan["steps"])
    release.save(tmp_path / "out")
    release.close()
    assert release.check.verified
    rows = read_table(tmp_path / "out" / "internal" / "rows.parquet")["original_row"].to_numpy()
    found = read_table(tmp_path / "out" / "public" / "table.parquet")
    left = np.delete(np.arange(table.num_rows), wanted.left_out)
    np.testing.assert_array_equal(np.sort(rows), left)
    same_table(wanted.protected.take(pa.array(left)), found.take(pa.array(np.argsort(rows))))
    assert release.log["changed_cells"] == wanted.log["changed_cells"]
    assert release.log["usage"]["bytes_shuffled"] > 0


def test_a_data_frame_is_released_as_one(session, table, tmp_path):
    rules = rounding("oma", "income", k=5)
    data = session.spark.createDataFrame(table.slice(0, 3000).select(["name", "income"]))
    release = discreet.protect(data, rules)
    wanted = discreet.protect(table.slice(0, 3000).select(["name", "income"]), rules).protected
    found = release.table.toArrow()
    assert found.column_names == ["income"]
    assert sorted(found["income"].drop_null().to_pylist()) == sorted(
        wanted["income"].drop_null().to_pylist()
    )
    release.save(tmp_path / "out")
    assert release.check.ok
    release.close()


def test_draws_by_row_need_a_key(session, table):
    data = session.spark.createDataFrame(table.slice(0, 100).select(["name", "income"]))
    with pytest.raises(BadInput, match="the rows of this table have no fixed place"):
        discreet.protect(data, rounding("noise", "income"))


def test_what_spark_cannot_do_is_refused_before_any_work(session, tmp_path):
    swap = recipe({"method": "rank-swap", "columns": ["income"], "p": 5.0}, confidential=["income"])
    with pytest.raises(BadInput, match="step 1 \\(rank-swap\\) cannot run on spark"):
        discreet.protect(tmp_path / "not there.parquet", swap, engine="spark")
    (tmp_path / "a.csv").write_text("name,income\nx,1\n")
    with pytest.raises(BadInput, match="the engine spark reads Parquet, not csv"):
        discreet.protect(tmp_path / "a.csv", rounding("oma", k=3), engine="spark")
