"""A folder of many small Parquet files costs about what one file with the same rows costs."""

import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet import read_table
from discreet.engines import sources
from discreet.engines.choice import open_engine
from discreet.errors import BadInput

ROWS = 20
RECIPE = f"""\
seed = {2**100}
order_seed = {2**100 + 1}
null_markers = ["*"]
allow_leaks = ["income"]
[roles]
quasi = ["town"]
confidential = ["income"]
untouched = ["town"]
rest = "drop"
[[steps]]
method = "oma"
columns = ["income"]
k = 5
"""


def table(n):
    draw = np.random.default_rng(4)
    income = draw.integers(0, 900, n) / 4
    return pa.table(
        {
            "town": pa.array(draw.choice(["a", "b", "*", ""], n)).dictionary_encode(),
            "income": pa.array(np.where(draw.random(n) < 0.1, np.nan, income)),
            "n": pa.array(np.arange(n)),
        }
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same rows in one file and in 300."""
    rows, where = table(300 * ROWS), tmp_path_factory.mktemp("files")
    (where / "one").mkdir()
    (where / "many").mkdir()
    parquet.write_table(rows, where / "one/all.parquet")
    for i in range(300):
        parquet.write_table(rows.slice(i * ROWS, ROWS), where / f"many/{i:03}.parquet")
    return where


def seconds(folder):
    with open_engine("duckdb") as engine:
        frame = engine.read(folder, list, ["*"])
        frame.counts(["town"])
        start = time.process_time()
        for column in ("town", "income", "n"):
            frame.counts([column])
        return time.process_time() - start


def test_a_query_costs_what_it_costs_on_one_file(folders):
    most = max(5 * seconds(folders / "one"), 0.1)
    assert seconds(folders / "many") < most


def test_the_rows_of_small_files_are_together_in_memory(folders):
    found = read_table(folders / "many")
    assert [column.num_chunks for column in found.columns] == [1, 1, 1]
    assert found.equals(read_table(folders / "one"))


def test_a_release_is_that_of_one_file(folders, tmp_path, run):
    (tmp_path / "recipe.toml").write_text(RECIPE)
    with_recipe = ("--recipe", tmp_path / "recipe.toml")
    made = []
    for name in ("one", "many"):
        folder, out = folders / name, tmp_path / name
        code, _, said = run("protect", folder, *with_recipe, "--out", out, "--engine", "duckdb")
        assert code == 0, said
        assert run("check", out, "--original", folder, "--engine", "duckdb")[0] == 0
        made.append(next(out.glob("**/public/*.parquet")).read_bytes())
    assert made[0] == made[1]


def test_frames_of_few_and_of_many_files_hold_the_same(folders):
    with open_engine("duckdb") as engine:
        many = engine.read(folders / "many", list, ["*"])
        one = engine.read(folders / "one", list, ["*"])
        assert many.schema == one.schema
        assert many.positioned
        assert many.num_rows == one.num_rows
        for columns in (["town"], ["income"], ["n", "town"]):
            assert many.counts(columns)[0] == one.counts(columns)[0]
            assert (many.counts(columns)[1] == one.counts(columns)[1]).all()


def test_large_files_are_read_where_they_are(folders, monkeypatch):
    """Of many large files there is no copy, which the disk may have no room for."""
    monkeypatch.setattr(sources, "SMALL", 100)
    with open_engine("duckdb") as engine:
        assert len(engine.read(folders / "many", list).files) == 300


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_one_file_among_many_that_is_not_like_the_others(folders, tmp_path, engine):
    for i in range(300):
        (tmp_path / f"{i:03}.parquet").symlink_to(folders / f"many/{i:03}.parquet")
    (tmp_path / "200.parquet").unlink()
    odd = table(ROWS).set_column(2, "n", pa.array([str(i) for i in range(ROWS)]))
    parquet.write_table(odd, tmp_path / "200.parquet")
    with open_engine(engine) as opened, pytest.raises(BadInput, match=r"200\.parquet"):
        opened.read(tmp_path, list)
