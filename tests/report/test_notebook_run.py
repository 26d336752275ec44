"""A real notebook: results are shown as HTML, and progress only while there is some."""

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

SETUP = """
import discreet
from discreet.assessment.attacked import attack
from discreet.datasets import make_households
from IPython.utils.capture import capture_output

people = make_households(300, seed=1).select(["age", "sex", "income"])
recipe = {
    "roles": {"quasi": ["age", "sex"], "confidential": ["income"], "untouched": ["sex"]},
    "steps": [{"method": "oma", "columns": ["age", "income"], "k": 5}],
}
"""
RELEASE = "release = discreet.protect(people, recipe); release"
QUIET = "discreet.protect(people, recipe, progress=False).check.ok"
# What is put on the page and changed there, in the order in which it happens.
WATCHED = """
with capture_output() as watched:
    attack(people, release, queries=30)
    discreet.search(people, {"roles": {"quasi": ["age", "sex"], "rest": "drop"}}, evaluations=3)
    discreet.sweep(people, recipe, vary={"k": [3, 5]})
for one in watched.outputs:
    print(bool(one.update), one.data["text/plain"])
"""
TOLD = """
told = []
discreet.protect(people, recipe, progress=told.append)
told[0]
"""


@pytest.fixture(scope="module")
def cells():
    given = [SETUP, RELEASE, QUIET, WATCHED, TOLD]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in given])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


def test_a_cell_that_ends_with_a_release_shows_it_and_keeps_no_progress(cells):
    progress, shown = cells[1]
    assert (progress.output_type, progress.data["text/html"]) == ("display_data", "")
    assert 'class="discreet-shown"' in shown.data["text/html"]
    assert shown.data["text/plain"].startswith("<Release of 300 rows and 3 columns")


def test_nothing_is_shown_where_it_is_not_wanted(cells):
    [only] = cells[2]
    assert only.data["text/plain"] == "True"
    [only] = cells[4]
    assert only.data["text/plain"] == "'opening the table'"


def test_progress_is_one_line_for_each_call_that_goes_when_it_ends(cells):
    [told] = cells[3]
    lines = [one.partition(" ") for one in told.text.splitlines()]
    first = [text for update, _, text in lines if update == "False"]
    assert len(first) == 3
    assert first[0] == "singling out"
    assert "3 tried" in first[1]
    assert first[2] == "1 of 2: k = 3"
    assert [text for _, _, text in lines].count("") == 3
    assert lines[-1] == ("True", " ", "")
