"""The flow on Spark: every method, in a few recipes, against memory."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet.errors import BadInput
from discreet.table import read_table
from tests.flow.recipes import TOGETHER, recipe, rounding, same_plan, same_table, wide

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(scope="module")
def table():
    return wide(20_000)


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    parquet.write_table(table, path, row_group_size=6_001)
    return path


# What DuckDB is asked for too, and asks of a frame what the others do; a null that matches every value,
# and cells that are blanked, are in tests/flow/test_every_engine.py.
SLOW = {"match", "value", "suppress", "blanks"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in TOGETHER],
)
def test_spark_decides_and_releases_what_memory_does(name, session, table, file, tmp_path):
    rules = TOGETHER[name]
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
    same_table(wanted.finished.table.take(pa.array(left)), found.take(pa.array(np.argsort(rows))))
    assert release.log["changed_cells"] == wanted.log["changed_cells"]
    assert release.log["usage"]["bytes_shuffled"] > 0


def test_a_data_frame_is_released_as_one(session, table, tmp_path):
    rules = rounding("oma", "income", k=5)
    data = session.spark.createDataFrame(table.slice(0, 3000).select(["name", "income"]))
    release = discreet.protect(data, rules)
    wanted = discreet.protect(table.slice(0, 3000).select(["name", "income"]), rules).finished.table
    found = release.table.toArrow()
    assert found.column_names == ["income"]
    assert sorted(found["income"].drop_null().to_pylist()) == sorted(
        wanted["income"].drop_null().to_pylist()
    )
    release.save(tmp_path / "out")
    assert release.check.ok
    release.close()


def test_a_table_in_memory_is_taken_to_spark(session, table):
    rules = rounding("oma", "income", k=5)
    small = table.slice(0, 500).select(["name", "income"])
    release = discreet.protect(small, rules, engine="spark")
    wanted = discreet.protect(small, rules).finished.table
    assert release.table.toArrow()["income"].to_pylist() == wanted["income"].to_pylist()
    release.close()


def test_draws_by_row_need_a_key(session, table):
    data = session.spark.createDataFrame(table.slice(0, 100).select(["name", "income"]))
    with pytest.raises(BadInput, match="the rows of this table have no fixed place"):
        discreet.protect(data, rounding("noise", "income"))


def test_what_spark_cannot_do_is_refused_before_any_work(session, tmp_path):
    path = tmp_path / "no table.parquet"
    path.write_text("whoever opens it finds no Parquet file")
    swap = recipe({"method": "rank-swap", "columns": ["income"], "p": 5.0}, confidential=["income"])
    with pytest.raises(BadInput, match="step 1 \\(rank-swap\\) cannot run on spark"):
        discreet.protect(path, swap, engine="spark")
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(BadInput, match="the engine spark reads CSV and Parquet, not xlsx"):
        discreet.protect(tmp_path / "a.xlsx", rounding("oma", k=3), engine="spark")
