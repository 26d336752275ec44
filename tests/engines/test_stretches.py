"""Whole stretches, from pieces and from files that end anywhere."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from discreet.engines.pieces import whole_stretches
from discreet.engines.spark.ordering import _File, read_stretches

NUMBERS = st.lists(st.integers(0, 40), min_size=1, max_size=25, unique=True).map(sorted)


def plain(numbers, stretch):
    """Lists of numbers of the same stretch."""
    found = {}
    for number in numbers:
        found.setdefault(number // stretch, []).append(number)
    return list(found.values())


def cut(numbers, data):
    """Cut numbers into several lists, none of them empty."""
    cuts = data.draw(st.lists(st.integers(1, len(numbers)), unique=True).map(sorted))
    parts = np.split(np.array(numbers), cuts)
    return [part for part in parts if len(part)]


@given(NUMBERS, st.integers(1, 12), st.data())
def test_pieces_are_cut_and_joined(numbers, stretch, data):
    pieces = [(pa.table({"x": part * 10}), part) for part in cut(numbers, data)]
    pieces.insert(data.draw(st.integers(0, len(pieces))), (pieces[0][0].slice(0, 0), pieces[0][1][:0]))  # fmt: skip
    found = list(whole_stretches(pieces, stretch))
    assert [rows.tolist() for _, rows in found] == plain(numbers, stretch)
    assert all(table["x"].to_pylist() == (rows * 10).tolist() for table, rows in found)


@pytest.mark.parametrize("anew", [True, False])
@given(numbers=NUMBERS, stretch=st.integers(1, 12), data=st.data())
def test_each_stretch_is_read_once_by_the_file_it_begins_in(anew, numbers, stretch, data):
    numbers = list(range(len(numbers))) if anew else numbers
    schema = pa.schema({"x": pa.int64(), "y": pa.int32()})
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, part in enumerate(cut(numbers, data)):
            path = Path(folder, f"{i}.parquet")
            stored = {"c0": part, "c1": (part * 10).astype(np.int32), "c2": part}
            parquet.write_table(pa.table(stored), path)
            files.append(_File(path, int(part[0]), int(part[-1])))
        found = [
            piece
            for place in range(len(files))
            for piece in read_stretches(files, schema, anew, stretch, ["y"], place)
        ]
    assert [rows.tolist() for _, rows in found] == plain(numbers, stretch)
    assert all(table["y"].to_pylist() == (rows * 10).tolist() for table, rows in found)
