import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet.release.evidence import load_plan
from discreet.table import read_table
from tests.release.scale.recipes import RECIPES, people, same_plan, same_table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("scale") / "people.parquet"
    # Small row groups, so that pieces end at odd places.
    parquet.write_table(table, path, row_group_size=60_001)
    return path


def saved(folder):
    """Read a release in the original's order."""
    rows = parquet.read_table(folder / "internal" / "rows.parquet")["original_row"].to_numpy()
    released = read_table(next((folder / "public").glob("table.*")))
    return released.take(pa.array(np.argsort(rows))), np.sort(rows)


@pytest.mark.parametrize("name", RECIPES)
def test_duckdb_decides_and_releases_what_memory_does(name, table, file, tmp_path):
    rules = RECIPES[name]
    wanted = discreet.protect(table, rules)
    release = discreet.protect(file, rules, engine="duckdb", memory="1GB")
    same_plan(wanted.plan["steps"], release.plan["steps"])
    release.save(tmp_path / "out")
    release.close()
    assert release.check.verified
    found, rows = saved(tmp_path / "out")
    left = np.delete(np.arange(table.num_rows), wanted.left_out)
    np.testing.assert_array_equal(rows, left)
    same_table(wanted.protected.take(pa.array(left)), found)
    assert release.log["changed_cells"] == wanted.log["changed_cells"]
    if "suppressed" in wanted.log:
        assert release.log["suppressed"] == wanted.log["suppressed"]
    same_plan(wanted.plan["steps"], load_plan(tmp_path / "out" / "internal")["steps"])


def test_rows_are_written_in_the_order_that_memory_writes_them(table, file, tmp_path):
    rules = RECIPES["oma"]
    discreet.protect(table, rules).save(tmp_path / "memory", format="parquet")
    discreet.protect(file, rules, engine="duckdb").save(tmp_path / "duckdb")
    one, other = (
        parquet.read_table(tmp_path / name / "public" / "table.parquet")
        for name in ("memory", "duckdb")
    )
    assert one.equals(other.cast(one.schema))
