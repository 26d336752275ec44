"""The look at the table: made once, of a sample where it is large, and never of another table."""

import gc
import threading
import time
import weakref

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.app import look
from discreet.app.drawn import draw, sizes_among_all
from discreet.app.look import Look
from discreet.app.workspace import Workspace
from discreet.errors import BadInput
from discreet.table import read_table
from discreet.table.head import read_head
from tests.app.client import Page


@pytest.fixture
def space(tmp_path):
    opened = Workspace(tmp_path / "work")
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"x": list(range(1000))}), path, row_group_size=50)
    opened.open_file(path, "", "opened")
    yield opened
    opened.close()


def test_a_table_of_many_rows_is_sampled_from_all_over_also_where_it_fits_in_memory(
    space, monkeypatch
):
    assert not Look(space).sampled
    assert Look(space, "duckdb").sampled
    monkeypatch.setattr(look, "MOST_ROWS", 999)
    monkeypatch.setattr(look, "SAMPLE", 200)
    found = Look(space)
    assert found.sampled
    assert found.seen.rows == 200
    values = found.table["x"].to_pylist()
    assert min(values) < 50
    assert max(values) >= 950


def test_a_large_csv_is_read_as_it_is_written(tmp_path, monkeypatch):
    path = tmp_path / "people.csv"
    lines = [f"{i};{i},5;'Zürich; {i}\n'" for i in range(3000)]
    path.write_bytes("\n".join(["id;height;town", *lines]).encode("latin-1"))
    dialect = {"separator": ";", "decimal": ",", "quote": "'", "encoding": "latin-1"}
    whole = read_table(path, **dialect)
    opened = Workspace(tmp_path / "work")
    opened.open_file(path, "", "opened", **dialect)
    monkeypatch.setattr(look, "MOST_BYTES", 1000)
    monkeypatch.setattr(look, "SAMPLE", 200)
    monkeypatch.setattr("discreet.table.head.HEAD", 10_000)
    found = Look(opened)
    assert found.sampled
    assert found.table.equals(whole.slice(0, 200))
    assert [one.kind for one in found.seen.columns] == ["numeric", "numeric", "text"]
    assert found.columns_as({"separator": "\t", "encoding": "latin-1"}) == ["id;height;town"]
    opened.close()


def test_rows_are_drawn_at_random_and_with_their_household(space, monkeypatch):
    homes = np.repeat(np.arange(4000), 5)
    table = pa.table({"age": np.arange(20_000), "home": homes})
    pq.write_table(table, space.input, row_group_size=5000)
    monkeypatch.setattr(look, "SAMPLE", 2000)
    found = Look(space, "duckdb")
    drawn, rows = found.drawn(["home", "age"], "home")
    assert rows.tolist() == drawn["age"].to_pylist()
    assert drawn.column_names == ["home", "age"]
    counts = np.bincount(drawn["home"].to_numpy(), minlength=4000)
    assert set(counts) == {0, 5}
    assert 1500 < drawn.num_rows < 2500
    # In halves of the file about as many: no more than chance tells them apart.
    assert abs(counts[:2000].sum() - counts[2000:].sum()) < 500
    assert drawn.equals(draw(space.input, ["home", "age"], "home", 2000)[0])
    alone, _ = found.drawn(["age"], None)
    assert 1500 < alone.num_rows < 2500
    assert found.records == 20_000


@pytest.mark.parametrize("unit", [None, "home"])
def test_who_was_drawn_is_looked_for_among_all(space, unit):
    rng = np.random.default_rng(1)
    table = pa.table({
        "town": pa.array(rng.choice(["a", "b", "?"], 3000)),
        "age": pa.array(rng.integers(0, 400, 3000)),
        "home": rng.integers(0, 1500, 3000),
    })  # fmt: skip
    pq.write_table(table, space.input, row_group_size=500)
    sizes = sizes_among_all(space.input, ["town", "age"], unit, 1000, ["?"])
    frame = table.to_pandas().replace("?", None)
    drawn, rows = draw(space.input, ["home"], unit, 1000)
    keys = frame.groupby(["town", "age"], dropna=False)["home"]
    of_row = keys.transform("size" if unit is None else "nunique")[rows]
    by = drawn["home"].to_numpy() if unit else rows
    assert sorted(sizes) == sorted(of_row.groupby(by).min())
    assert 700 < len(drawn) < 1300


def test_what_goes_wrong_beside_is_said_to_who_asks_for_it(space):
    found = Look(space)

    def broken():
        raise RuntimeError("Ann Miller, 12 High Street")

    found.beside(("slow", 1), broken)
    while found.making(("slow", 1)):
        time.sleep(0.01)
    with pytest.raises(BadInput, match=r"^something went wrong \(RuntimeError\)$"):
        found.there(("slow", 1))


def test_what_was_made_beside_and_is_no_longer_kept_can_be_made_again(space):
    found = Look(space)
    for i in range(5):
        found.beside(("all", i), lambda: "made")
        while found.making(("all", i)):
            time.sleep(0.01)
    assert found.there(("all", 4)) == "made"
    assert found.there(("all", 0)) is None
    assert not found.making(("all", 0))


@pytest.mark.parametrize("groups", [0, 1])
def test_a_table_without_rows_is_sampled_too(space, groups):
    table = pa.table({"x": pa.array([], pa.int64())})
    with pq.ParquetWriter(space.input, table.schema) as file:
        for _ in range(groups):
            file.write_table(table)
    assert Look(space, "duckdb").table.equals(table)


def test_a_quote_that_is_part_of_the_text_does_not_make_the_first_lines_slow(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.table.head.HEAD", 1_000_000)

    def seconds(first):
        path = tmp_path / "pipes.csv"
        path.write_text("\n".join(["size,n", f"{first},1", *["pipe,2"] * 200_000]))
        start = time.process_time()
        assert read_head(path, 3)["n"].to_pylist() == [1, 2, 2]
        return time.process_time() - start

    plain = min(seconds("5 inch pipe") for _ in range(2))
    assert seconds('5" pipe') < 5 * plain


def test_who_asks_for_one_thing_does_not_wait_for_another(space):
    found, begun, free = Look(space), threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert free.wait(30)
        return 1

    thread = threading.Thread(target=lambda: found.once("slow", slow))
    thread.start()
    begun.wait(30)
    assert found.once("quick", lambda: 2) == 2
    free.set()
    thread.join()
    assert found.once("slow", lambda: 3) == 1


def test_what_was_made_for_earlier_recipes_does_not_pile_up(space):
    found = Look(space)
    for i in range(10):
        found.once(("nodes", i), lambda: "made")
    assert found.once(("nodes", 9), lambda: "again") == "made"
    assert found.once(("nodes", 0), lambda: "again") == "again"


def test_names_of_what_was_made_for_earlier_recipes_do_not_pile_up(space):
    """A name may be a whole recipe, with thousands of values gathered into groups."""

    class Name:
        pass

    found, name = Look(space), Name()
    left = weakref.ref(name)
    found.once(("risk", name), lambda: "made")
    del name
    for i in range(3):
        found.once(("risk", i), lambda: "made")
    gc.collect()
    assert left() is None


def test_a_file_that_changed_is_looked_at_again(space):
    found = Look(space)
    assert found.seen.rows == 1000
    pq.write_table(pa.table({"x": [1, 2]}), space.input)
    assert found.seen.rows == 2


def test_a_file_of_a_folder_that_changed_is_looked_at_again(tmp_path):
    """Written anew in its place, it leaves the folder as it was."""
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts" / "a.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), part)
    opened = Workspace(tmp_path / "work")
    opened.open_file(part.parent, "", "opened")
    found = Look(opened)
    assert found.seen.rows == 2
    pq.write_table(pa.table({"x": [1, 2, 3]}), part)
    assert found.seen.rows == 3
    opened.close()


def test_an_edit_that_looks_at_the_table_and_another_look_do_not_wait_for_each_other(page):
    editing = threading.Event()

    def change(recipe):
        editing.set()
        time.sleep(0.2)  # Until the other look waits for the workspace.
        return {**recipe, "seed": page.desk.look.once("one", lambda: 1)}

    def other():
        editing.wait()
        page.desk.look.once("two", lambda: 2)

    threads = [
        threading.Thread(target=page.space.edit, args=["seed", change], daemon=True),
        threading.Thread(target=other, daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


def test_tabs_that_open_at_once_write_the_first_roles_once(tmp_path, people):
    page = Page(tmp_path / "work", [people.parent])
    page.post("/data/open", data={"path": str(people)})
    threads = [threading.Thread(target=page.get, args=["/data/columns"]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [one["said"] for one in page.space.state["versions"]]
    page.end()
    assert said == ["people.csv opened", "roles as the first look suggests"]
