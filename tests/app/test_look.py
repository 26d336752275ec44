"""The look at the table: made once, of a sample where it is large, and never of another table."""

import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.app import look
from discreet.app.look import Look
from discreet.app.workspace import Workspace
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


def test_a_file_that_changed_is_looked_at_again(space):
    found = Look(space)
    assert found.seen.rows == 1000
    pq.write_table(pa.table({"x": [1, 2]}), space.input)
    assert found.seen.rows == 2


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
        thread.join(5)
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
