"""Part files: all rows once, in order, whatever happens to a task."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.draws import Draws
from discreet.engines.spark import SparkFrame
from discreet.engines.spark import frame as module
from discreet.errors import BadInput
from tests.engines.contract import followed, listed, paired
from tests.spark import functions

pytestmark = pytest.mark.spark
N = 5000


@pytest.fixture(scope="module")
def frame(session, tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    keys = pa.array(np.arange(N) * 3)
    paths = [folder / f"{i}.parquet" for i in range(3)]
    for i, path in enumerate(paths):
        parquet.write_table(pa.table({"key": keys[i * 2000 : (i + 1) * 2000]}), path)
    return SparkFrame.stored(session, paths)


@pytest.fixture(autouse=True)
def several_parts(monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 1000)


@pytest.fixture(scope="module")
def wanted():
    """The rows that are written, in their order."""
    rows = Draws(11, "row order").permutation(N)
    return rows[rows % 4 != 2]


def rows_in(folder: Path) -> np.ndarray:
    """The parts' rows, in the order of their names."""
    paths = sorted(folder.iterdir())
    return pa.concat_tables([parquet.read_table(path) for path in paths])


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_rows_are_written_once_in_the_order_of_their_words(frame, wanted, tmp_path):
    made = frame.map(functions.treated, functions.TREATED)
    before = frame.session.usage()
    folder, maps = tmp_path / "public", tmp_path / "internal" / "rows"
    n = made.write_parts("order", folder, maps, functions.released, without="out")
    assert n == len(wanted)
    assert rows_in(maps)["original_row"].to_numpy().tolist() == wanted.tolist()
    assert rows_in(folder)["key"].to_numpy().tolist() == (wanted * 3).tolist()
    assert names(folder) == names(maps) == [f"part-{i:05d}.parquet" for i in range(8)]
    sizes = sum(path.stat().st_size for path in folder.iterdir())
    written = frame.session.usage()["bytes_written"] - before["bytes_written"]
    assert written > sizes  # The treated rows were kept as well.
    # The same words give the same bytes, in any run.
    again = tmp_path / "again"
    made.arranged(1000).write_parts("order", again, tmp_path / "m", functions.released, "out")
    for path in folder.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_written_parts_are_a_frame_again(frame, wanted, tmp_path):
    folder, maps = tmp_path / "public", tmp_path / "rows"
    made = frame.map(functions.treated, functions.TREATED)
    made.write_parts("order", folder, maps, functions.released, "out")
    after = SparkFrame.released(frame.session, folder, maps)
    assert after.num_rows == len(wanted)
    assert after.schema == pa.schema(list(functions.TREATED)[:2])
    kept = [row for row in range(N) if row % 4 != 2]
    assert after.fold(listed, followed, ["key"]) == [(row, row * 3) for row in kept]
    pairs = frame.fold_pairs(after, paired, followed)
    label = {row: f"town {row % 7}" if row % 5 else None for row in range(N)}
    assert pairs == [
        (row, row * 3, None if row % 4 == 2 else (row * 3, label[row])) for row in range(N)
    ]
    tuples, counts = after.counts(["label"])
    assert tuples["label"].to_pylist()[:3] == [None, "town 1", "town 3"]
    assert counts.sum() == len(wanted)
    # A part that lost its rows, or whose map did.
    longer = pa.table({"original_row": np.arange(3)})
    parquet.write_table(longer, maps / "part-00000.parquet")
    with pytest.raises(BadInput, match="does not have the rows that its row map"):
        SparkFrame.released(frame.session, folder, maps).counts(["key"])
    (folder / "part-00003.parquet").unlink()
    with pytest.raises(BadInput) as refused:
        SparkFrame.released(frame.session, folder, maps)
    assert str(refused.value) == f"the parts in {folder} are not those that {maps} lists"


def test_a_task_that_fails_once_is_tried_again_and_nothing_is_doubled(frame, wanted, tmp_path):
    flags = [tmp_path / "mapped", tmp_path / "written", tmp_path / "folded"]
    made = frame.map(partial(functions.treated_at_second_try, flags[0]), functions.TREATED)
    folder, maps = tmp_path / "public", tmp_path / "rows"
    finish = partial(functions.released_at_second_try, flags[1])
    n = made.write_parts("order", folder, maps, finish, "out")
    assert n == len(wanted)
    assert rows_in(maps)["original_row"].to_numpy().tolist() == wanted.tolist()
    assert names(folder) == names(maps) == [f"part-{i:05d}.parquet" for i in range(8)]
    after = SparkFrame.released(frame.session, folder, maps)
    kept = [row for row in range(N) if row % 4 != 2]
    work = partial(functions.listed_at_second_try, flags[2])
    assert after.fold(work, followed, ["key"]) == kept
    assert all(flag.exists() for flag in flags)


def test_a_task_that_always_fails_leaves_no_parts(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", N)
    made = frame.map(functions.treated, functions.TREATED)
    folder, maps = tmp_path / "public", tmp_path / "rows"
    with pytest.raises(Exception, match="no way"):
        made.write_parts("order", folder, maps, functions.always_fails, "out")
    assert names(folder) == names(maps) == []
    assert list(maps.iterdir()) == []


def test_nothing_to_write_is_one_part_without_rows(frame, tmp_path):
    made = frame.map(functions.nobody, functions.TREATED)
    folder, maps = tmp_path / "public", tmp_path / "rows"
    assert made.write_parts("order", folder, maps, functions.released, "out") == 0
    assert rows_in(folder).num_rows == 0
    assert rows_in(folder).column_names == ["key", "label"]
    after = SparkFrame.released(frame.session, folder, maps)
    assert after.num_rows == 0
    assert after.fold(listed, followed, ["key"]) == []
    found = frame.fold_pairs(after, paired, followed, ["key"])
    assert found == [(row, row * 3, None) for row in range(N)]
    tuples, counts = after.counts(["key"])
    assert len(tuples) == len(counts) == 0
