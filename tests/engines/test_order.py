"""Frames that sort: ranks, whole stretches, tables of other rows, two tables side by side."""

from functools import partial
from operator import add

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.engines.duckdb import DuckDBFrame, Session


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.engines.duckdb.PIECE", 7)
    (tmp_path / "work").mkdir()
    with Session(tmp_path / "work", "200MB") as session:
        yield session


@pytest.fixture
def frame(session, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 6, 100) / 2, "number": rng.permutation(100)})
    parquet.write_table(table.slice(0, 60), tmp_path / "a.parquet")
    parquet.write_table(table.slice(60), tmp_path / "b.parquet")
    return DuckDBFrame(session, [tmp_path / "a.parquet", tmp_path / "b.parquet"])


def whole(frame):
    """All rows with their numbers, and the sizes of the pieces."""
    tables, rows = zip(*frame.pieces(frame.schema.names), strict=True)
    return pa.concat_tables(tables), np.concatenate(rows), [len(piece) for piece in rows]


def test_rows_are_ranked_by_value_and_then_by_number(frame):
    before, _, _ = whole(frame)
    after, rows, sizes = whole(frame.ranked(["x"], was="row", stretch=30))
    order = np.argsort(before["x"].to_numpy(), kind="stable")
    assert after.column_names == ["x", "number", "row"]
    assert rows.tolist() == list(range(100))
    assert after["row"].to_pylist() == order.tolist()
    assert after["number"].to_pylist() == before["number"].to_numpy()[order].tolist()
    assert sizes == [30, 30, 30, 10]


def test_rows_are_ranked_by_several_columns(frame):
    before, _, _ = whole(frame)
    after, _, _ = whole(frame.ranked(["x", "number"], was="row", stretch=8))
    order = np.lexsort([before["number"].to_numpy(), before["x"].to_numpy()])
    assert after["row"].to_pylist() == order.tolist()


def _renumbered(piece, rows):
    """Every third row is left out; the others are numbered by a column."""
    kept = rows % 3 > 0
    return pa.table({"y": 2 * piece["x"].to_numpy()[kept]}), piece["number"].to_numpy()[kept]


def test_other_rows_with_numbers_of_their_own_and_their_arrangement(frame):
    before, rows, _ = whole(frame)
    made = frame.flat_map(_renumbered, pa.schema({"y": pa.float64()}))
    assert not made.in_order
    after, numbers, sizes = whole(made.arranged(10))
    kept = rows % 3 > 0
    old = before["number"].to_numpy()[kept]
    assert numbers.tolist() == sorted(old)
    assert after["y"].to_pylist() == (2 * before["x"].to_numpy()[kept])[np.argsort(old)].tolist()
    assert sizes == np.unique(np.sort(old) // 10, return_counts=True)[1].tolist()


def test_a_table_without_rows(frame):
    none = frame.flat_map(lambda piece, rows: (piece.slice(0, 0), rows[:0]), frame.schema)
    assert none.num_rows == 0
    assert none.ranked(["x"], was="row", stretch=5).num_rows == 0


def _sum(piece, rows, there, after):
    made = piece["x"].to_numpy().copy()
    made[there] += 100 * after["y"].to_numpy()
    return pa.table({"z": made})


def test_two_tables_side_by_side(frame):
    before, rows, _ = whole(frame)
    other = frame.flat_map(_renumbered, pa.schema({"y": pa.float64()}))
    made, numbers, _ = whole(frame.map_pairs(other, _sum, pa.schema({"z": pa.float64()}), ["x"]))
    wanted = before["x"].to_numpy().copy()
    kept = rows % 3 > 0
    wanted[before["number"].to_numpy()[kept]] += 200 * before["x"].to_numpy()[kept]
    assert numbers.tolist() == list(range(100))
    assert made["z"].to_pylist() == wanted.tolist()


def _of_stretch(stretch, piece, rows):
    return [(int(rows[0]), len(rows), piece["x"].to_numpy().sum())]


@pytest.mark.parametrize("stretch", [1, 6, 7, 8, 50, 1000])
def test_functions_get_whole_stretches(frame, stretch):
    ranked = frame.ranked(["x"], was="row", stretch=stretch)
    found = ranked.fold(partial(_of_stretch, stretch), add, ["x"])
    assert [first for first, _, _ in found] == list(range(0, 100, stretch))
    assert [size for _, size, _ in found] == [min(100, s + stretch) - s for s in range(0, 100, stretch)]  # fmt: skip
    values = np.sort(whole(frame)[0]["x"].to_numpy())
    assert [total for _, _, total in found] == [values[s : s + stretch].sum() for s in range(0, 100, stretch)]  # fmt: skip


def test_removing_takes_temporary_files_only(frame, session):
    made = frame.ranked(["x"], was="row", stretch=10)
    assert made.files[0].exists()
    made.remove()
    made.remove()
    frame.remove()
    assert not made.files[0].exists()
    assert all(path.exists() for path in frame.files)
