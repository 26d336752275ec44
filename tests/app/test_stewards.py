"""What a steward does on the pages, beyond a first click."""

import contextlib
import html
import io
import re
import shlex
import sys
import time

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from discreet.app.forms import method_fields
from discreet.app.pages.explore import labels_of
from discreet.cli.main import app as cli
from discreet.datasets import make_households
from tests.app.client import Page, text_of

RECIPE = """
[roles]
quasi = ["age", "sex"]
confidential = ["income"]
household = "household_id"
rest = "drop"

[[steps]]
method = "generalize"
columns = ["age", "sex"]
privacy = [{ model = "k-anonymity", k = 5 }]

[steps.hierarchies]
age = { kind = "intervals", widths = [10, 20] }
sex = { kind = "flat" }
"""


@pytest.fixture
def odd(tmp_path):
    """The app on a file whose separator cannot be detected."""
    path = tmp_path / "odd.csv"
    table = make_households(150, seed=1).drop_columns(["birth_date"])
    options = pyarrow.csv.WriteOptions(delimiter="^", quoting_style="none")
    pyarrow.csv.write_csv(table, path, options)
    opened = Page(tmp_path / "work", [tmp_path])
    yield opened, path
    opened.end()


def test_a_file_is_opened_and_read_again_as_it_is_said_to_be_written(odd):
    page, path = odd
    page.post("/data/open", data={"path": str(path), "separator": "^"})
    assert "income" in text_of(page.get("/data/columns").text)
    before = page.space.recipe
    assert page.post("/data/dialect", data={"separator": "^", "encoding": "latin-1"}).is_success
    assert page.space.state["dialect"] == {"separator": "^", "encoding": "latin-1"}
    assert page.space.recipe == before, "the columns are the same, so the recipe stays"
    del page.headers["hx-request"]
    shown = html.unescape(page.get("/result").text)
    assert "--separator='^'" in shown or "'--separator=^'" in shown
    assert "'separator': '^'" in shown, "the Python reads it in the same way"
    refused = page.post("/data/dialect", data={"encoding": "no such"})
    assert refused.status_code == 422
    assert page.space.state["dialect"]["encoding"] == "latin-1"
    page.post("/data/dialect", data={"separator": ";"})
    assert page.space.recipe == {}, "the columns are others, so their roles are looked for anew"


def test_marks_of_missing_values_come_and_go_and_k_counts_what_is_said(page):
    data = {"marker": "none", "version": page.version}
    assert page.post("/data/missing", data=data).is_success
    assert page.space.recipe["null_markers"] == ["none"]
    data = {"marker": "none", "version": page.version, "remove": "true"}
    assert page.post("/data/missing", data=data).is_success
    assert page.space.recipe["null_markers"] == []
    page.post("/data/counts", data={"counts": "rows", "version": page.version})
    assert page.space.recipe["counts"] == "rows"
    page.post("/data/counts", data={"counts": "auto", "version": page.version})
    assert "counts" not in page.space.recipe
    answer = page.post("/data/counts", data={"counts": "cats", "version": page.version})
    assert answer.status_code == 422


def test_groups_are_gathered_into_groups_of_groups(page):
    def gather(**more):
        data = {"column": "education", "version": page.version, **more}
        return page.post("/hierarchies/gather", data=data)

    column = page.desk.look.seen.encoded["education"]
    a, b, c, *others = [str(x) for x in column.values.to_pylist()]
    gather(group="low", value=[a, b])
    answer = gather(group="any", inner=["low", c])
    assert answer.is_success, answer.text
    tree = page.space.recipe["steps"][0]["hierarchies"]["education"]["tree"]
    assert tree == {"any": {"low": [a, b], c: [c]}} | {one: [one] for one in others}
    saved = page.get("/hierarchies/csv", params={"column": "education"}).text
    assert f"{a};low;any;*" in saved
    assert "a group within another already" in gather(group="low", inner=[others[0]]).text
    assert (
        "holds values, so it cannot hold groups" in gather(group=others[1], inner=[others[0]]).text
    )
    data = {"column": "education", "version": page.version, "value": [a]}
    page.post("/hierarchies/scatter", data=data)
    tree = page.space.recipe["steps"][0]["hierarchies"]["education"]["tree"]
    assert tree[a] == [a]
    assert tree["any"]["low"] == [b]


@pytest.mark.parametrize("treated", [["age", "sex"], ["sex"]])
def test_a_hierarchy_for_another_key_leaves_the_step_and_its_k(page, treated):
    step = {
        "method": "mondrian",
        "columns": treated,
        "privacy": [{"model": "k-anonymity", "k": 10}],
        "hierarchies": {"sex": {"kind": "flat"}},
    }
    page.space.edit("a step", lambda recipe: {**recipe, "steps": [step]}, page.version)
    data = {"column": "age", "kind": "intervals", "levels": "5, 10", "version": page.version}
    assert page.post("/hierarchies/rule", data=data).status_code == 200
    (found,) = page.space.recipe["steps"]
    tree = {"kind": "intervals", "widths": [5, 10]}
    assert set(found["columns"]) == {"age", "sex"}
    assert found["hierarchies"] == {"sex": {"kind": "flat"}, "age": tree}
    assert (found["method"], found["privacy"]) == (step["method"], step["privacy"])


def test_proposals_keep_what_is_asked(page):
    flat = {"column": "sex", "kind": "flat", "version": page.version}
    page.post("/hierarchies/rule", data=flat)
    asked = {"k": 2, "l": 2, "blanked": 20, "risk": "14.5", "keep": ["sex"]}
    answer = page.post("/protect/propose", data={"version": page.version, **asked})
    assert answer.is_success, answer.text
    said = text_of(answer.text)
    assert "A largest chance of 14.5 % needs k = 7" in said
    assert "Ways to have 7 or more households" in said
    models = [model for step in page.space.recipe["steps"] for model in step.get("privacy", [])]
    assert {"model": "k-anonymity", "k": 7} in models
    assert any(model["model"] == "l-diversity" and model["l"] == 2 for model in models)
    first = page.space.recipe["steps"][0]
    assert first["levels"]["sex"] == 0
    assert first["hierarchies"]["sex"] == {"kind": "flat"}
    everything = {**asked, "keep": page.space.recipe["roles"]["quasi"]}
    answer = page.post("/protect/propose", data={"version": page.version, **everything})
    assert "leave one to be treated" in answer.text


def test_steps_change_places_and_a_model_brings_its_fields(page):
    page.post("/recipe/text", data={"text": RECIPE, "version": page.version})
    noise = {"number": 1, "method": "noise", "version": page.version, "columns": ["income"]}
    page.post("/protect/step", data=noise)
    page.post("/protect/move", data={"number": 1, "by": "-1", "version": page.version})
    assert [step["method"] for step in page.space.recipe["steps"]] == ["noise", "generalize"]
    far = page.post("/protect/move", data={"number": 1, "by": "1", "version": page.version})
    assert "cannot go further" in far.text
    given = {"number": 1, "method": "generalize", "version": page.version, "columns": ["age"]}
    given |= {"privacy.0.model": "l-diversity", "publish_minimal": "true", "more": "1"}
    before = page.version
    shown = page.post("/protect/step", data=given)
    assert 'name="privacy.0.column"' in shown.text
    assert page.version == before, "nothing is saved before it is said to be"
    # Every field is there, and those that are neither needed nor set are folded away.
    at_once, folded = shown.text.split("<summary>More:")
    for one in method_fields("generalize"):
        assert f'for="field-{one.name}"' in shown.text or one.kind in ("models", "link")
    assert 'for="field-publish_minimal"' in folded
    assert 'for="field-publish_minimal"' not in at_once


def test_labels_of_points_do_not_cover_each_other():
    points = [{"number": i, "x": 100 + 3.0 * i, "y": 100.0 + (i % 3)} for i in range(9)]
    placed = labels_of(points)
    boxes = []
    for one in placed:
        wide = 8 * len(one["text"])
        left = one["x"] - {"start": 0, "middle": wide / 2, "end": wide}[one["anchor"]]
        boxes.append((left, left + wide, one["y"] - 11, one["y"] + 3))
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
    numbers = sorted(int(n) for one in placed for n in one["text"].split(", "))
    assert numbers == list(range(9))


def test_the_command_and_the_python_of_every_page_run(odd, tmp_path, monkeypatch):
    page, path = odd
    page.post("/data/open", data={"path": str(path), "separator": "^"})
    page.get("/data/columns")
    del page.headers["hx-request"]
    early = [_same(page, stage) for stage in ("risk", "hierarchies?column=sex")]
    page.post("/recipe/text", data={"text": RECIPE, "version": page.version})
    for _ in range(2):
        page.post("/protect/run", content=b"")
    end = time.monotonic() + 120
    while any(run["status"] in ("waiting", "running") for run in page.desk.queue.all()):
        assert time.monotonic() < end
        time.sleep(0.1)
    stages = ("data", "risk", "hierarchies?column=age", "protect", "explore", "result", "release")
    pages = [*early, *(_same(page, stage) for stage in stages)]
    names = [command.split()[1] for commands, _ in pages for command in commands]
    assert names == [
        "risk", "inspect", "inspect", "risk", "protect", "compare", "check", "report", "protect",
    ]  # fmt: skip
    for number, (commands, python) in enumerate(pages):
        folder = tmp_path / f"by-hand-{number}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        for command in commands:
            found = CliRunner().invoke(cli, shlex.split(command)[1:])
            assert found.exit_code == 0, (command, found.output, found.exception)
        (folder / "python").mkdir()
        monkeypatch.chdir(folder / "python")
        with contextlib.redirect_stdout(io.StringIO()):
            exec(python, {})


def _same(page, stage):
    """Return the commands and the Python that a page shows."""
    import html

    whole = html.unescape(page.get(f"/{stage}").text)
    shown = {
        name: re.search(rf'id="as-{name}" tabindex="0">(.*?)</pre>', whole, re.DOTALL)
        for name in ("command", "python")
    }
    commands = shown["command"].group(1).splitlines() if shown["command"] else []
    return commands, shown["python"].group(1)


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "discreet.app.server", raising=False)
    found = CliRunner().invoke(cli, ["app", "--no-browser"])
    assert found.exit_code != 0
    assert str(found.exception) == (
        "the app needs fastapi; install it with: pip install 'discreet[app]'"
    )
