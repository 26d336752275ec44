"""What every engine's frame must do to sort: ranks, whole stretches, other rows, two tables.

Functions are at the top: workers of Spark import them from here.
"""

from operator import add

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet


def of_piece(piece, rows):
    """The rows themselves, as one piece."""
    return [(piece, rows)]


def whole(frame):
    """All rows in order with their numbers, and the sizes of the pieces."""
    tables, rows = zip(*frame.fold(of_piece, add, frame.schema.names), strict=True)
    return pa.concat_tables(tables), np.concatenate(rows), [len(piece) for piece in rows]


def renumbered(piece, rows):
    """Every third row is left out; the others are numbered by a column."""
    kept = rows % 3 > 0
    return pa.table({"y": 2 * piece["x"].to_numpy()[kept]}), piece["number"].to_numpy()[kept]


def total(piece, rows, there, after):
    made = piece["x"].to_numpy().copy()
    made[there] += 100 * after["y"].to_numpy()
    return pa.table({"z": made})


def same(piece, rows):
    return piece


def none_of(piece, rows):
    return piece.slice(0, 0), rows[:0]


class Order:
    """A subclass has the fixture `make`, which makes a frame of files."""

    @pytest.fixture(scope="class")
    @classmethod
    def frame(cls, make, tmp_path_factory):
        folder = tmp_path_factory.mktemp("rows")
        rng = np.random.default_rng(0)
        table = pa.table({"x": rng.integers(0, 6, 100) / 2, "number": rng.permutation(100)})
        parquet.write_table(table.slice(0, 60), folder / "a.parquet", row_group_size=7)
        parquet.write_table(table.slice(60), folder / "b.parquet")
        return make([folder / "a.parquet", folder / "b.parquet"])

    def test_rows_are_ranked_by_value_and_then_by_number(self, frame):
        before, _, _ = whole(frame)
        after, rows, sizes = whole(frame.ranked(["x"], was="row", stretch=30))
        order = np.argsort(before["x"].to_numpy(), kind="stable")
        assert after.column_names == ["x", "number", "row"]
        assert rows.tolist() == list(range(100))
        assert after["row"].to_pylist() == order.tolist()
        assert after["number"].to_pylist() == before["number"].to_numpy()[order].tolist()
        assert sizes == [30, 30, 30, 10]

    def test_rows_are_ranked_by_several_columns(self, frame):
        before, _, _ = whole(frame)
        after, _, _ = whole(frame.ranked(["x", "number"], was="row", stretch=8))
        order = np.lexsort([before["number"].to_numpy(), before["x"].to_numpy()])
        assert after["row"].to_pylist() == order.tolist()

    def test_other_rows_with_numbers_of_their_own_and_their_arrangement(self, frame):
        before, rows, _ = whole(frame)
        made = frame.flat_map(renumbered, pa.schema({"y": pa.float64()}))
        after, numbers, sizes = whole(made.arranged(10))
        kept = rows % 3 > 0
        old = before["number"].to_numpy()[kept]
        assert numbers.tolist() == sorted(old)
        assert (
            after["y"].to_pylist() == (2 * before["x"].to_numpy()[kept])[np.argsort(old)].tolist()
        )
        assert sizes == np.unique(np.sort(old) // 10, return_counts=True)[1].tolist()

    def test_a_table_without_rows(self, frame):
        none = frame.flat_map(none_of, frame.schema)
        assert none.num_rows == 0
        assert none.ranked(["x"], was="row", stretch=5).num_rows == 0

    def test_two_tables_side_by_side(self, frame):
        before, rows, _ = whole(frame)
        other = frame.flat_map(renumbered, pa.schema({"y": pa.float64()}))
        made, numbers, _ = whole(
            frame.map_pairs(other, total, pa.schema({"z": pa.float64()}), ["x"])
        )
        wanted = before["x"].to_numpy().copy()
        kept = rows % 3 > 0
        wanted[before["number"].to_numpy()[kept]] += 200 * before["x"].to_numpy()[kept]
        assert numbers.tolist() == list(range(100))
        assert made["z"].to_pylist() == wanted.tolist()

    @pytest.mark.parametrize("stretch", [1, 6, 7, 8, 50, 1000])
    def test_functions_get_whole_stretches(self, frame, stretch):
        ranked = frame.ranked(["x"], was="row", stretch=stretch)
        after, rows, sizes = whole(ranked)
        assert rows.tolist() == list(range(100))
        assert sizes == [min(100, start + stretch) - start for start in range(0, 100, stretch)]
        assert after["x"].to_pylist() == sorted(whole(frame)[0]["x"].to_pylist())

    def test_what_was_made_stays_when_its_source_is_removed(self, frame):
        ranked = frame.ranked(["x"], was="row", stretch=9)
        again = ranked.map(same, ranked.schema).ranked(["number"], was="place", stretch=9)
        other = ranked.flat_map(renumbered, pa.schema({"y": pa.float64()}))
        both = frame.map_pairs(other, total, pa.schema({"z": pa.float64()}), ["x"])
        ranked.remove()
        assert whole(again)[0]["number"].to_pylist() == list(range(100))
        assert other.arranged(9).num_rows == 66
        other.remove()
        assert len(whole(both)[1]) == 100
        frame.remove()
        assert len(whole(frame)[1]) == 100
