"""What a steward does on the pages, beyond a first click."""

import contextlib
import html
import io
import re
import shlex
import sys
import time
import tomllib

import pyarrow
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


@pytest.mark.parametrize("most", [10**9, 100], ids=["whole", "its first rows"])
def test_what_is_said_to_be_missing_is_missing_on_all_pages(tmp_path, monkeypatch, most):
    """A column of numbers with a word for those who refused was one of text for ever."""
    monkeypatch.setattr("discreet.app.look.MOST_BYTES", most)
    ages = [str(20 + i % 37) if i % 10 else "refused" for i in range(200)]
    table = pyarrow.table({"age": ages, "sex": ["m", "f"] * 100, "pay": range(200)})
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "t.csv")
    form = {"column": ["age", "sex"], "role": "quasi", "version": page.version}
    assert page.post("/data/role", data=form).is_success

    def looked():
        rows = page.get("/data/columns").text
        return text_of(re.search(r'data-column="age".*?</tr>', rows, re.S)[0])

    def built():
        form = {"column": "age", "kind": "intervals", "levels": "5, 10", "version": page.version}
        return page.post("/hierarchies/rule", data=form)

    assert "text" in looked()
    assert built().status_code == 422
    form = {"marker": "refused", "version": page.version}
    assert page.post("/data/missing", data=form).is_success
    assert "numeric 20 to 56 37 10 %" in looked()
    assert "20-24" in built().text
    # The command takes no such words, and Python does.
    del page.headers["hx-request"]
    for path in ("/data", "/hierarchies?column=sex"):
        shown = page.get(path).text
        assert 'id="as-command"' not in shown
        assert "null_markers=[&#39;refused&#39;]" in shown
    page.headers["hx-request"] = "true"
    form = {"marker": "refused", "remove": "true", "version": page.version}
    assert page.post("/data/missing", data=form).is_success
    assert "text" in looked()
    page.post("/data/anew", data={"version": page.version})
    assert "null_markers" not in page.space.recipe
    page.end()


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


def test_a_form_that_comes_again_is_still_for_the_step_that_it_was_opened_for(page):
    roles = {"roles": {"quasi": ["age", "sex"]}}
    page.space.edit("steps", lambda recipe: {**recipe, **roles, "steps": [
        {"method": "oma", "columns": ["income"], "k": 3},
        {"method": "generalize", "columns": ["age"], "hierarchies": {"age": {"kind": "flat"}}},
        {"method": "mondrian", "columns": ["sex"]},
    ]})  # fmt: skip
    form = {"number": 1, "method": "generalize", "columns": ["age"], "version": page.version}
    # In another tab.
    answer = page.post("/protect/remove", data={"number": 0, "version": page.version})
    assert answer.status_code == 200
    kept = page.space.recipe
    form |= {"privacy.0.model": "k-anonymity"}
    again = page.post("/protect/step", data={**form, "more": "1"}).text
    form |= {"version": re.search(r'name="version" value="(\d+)"', again)[1], "privacy.0.k": "7"}
    answer = page.post("/protect/step", data=form)
    assert "changed in another tab meanwhile" in answer.text
    assert page.space.recipe == kept
    number = re.search(r"Yours is version (\d+)", answer.text)[1]
    steps = tomllib.loads(page.space.text_of(int(number)))["steps"]
    assert [step["method"] for step in steps] == ["oma", "generalize", "mondrian"]
    assert steps[1]["privacy"] == [{"model": "k-anonymity", "k": 7}]


def test_a_step_that_is_added_does_not_take_the_place_of_another_tabs(page):
    steps = [{"method": "oma", "columns": ["income"], "k": 3}]
    page.space.edit("steps", lambda recipe: {**recipe, "steps": steps})
    shown = page.get("/protect/steps").text
    form = re.search(r'hx-get="/protect/step" .*?</form>', shown, re.S)[0]
    asked = dict(re.findall(r'name="(number|version)" value="(\d+)"', form))
    # In another tab.
    more = [*steps, {"method": "oma", "columns": ["assets"], "k": 4}]
    page.space.edit("another step", lambda recipe: {**recipe, "steps": more})
    opened = page.get("/protect/step", params={**asked, "method": "noise"}).text
    opened = re.search(r'<form class="step".*?</form>', opened, re.S)[0]
    given = dict(re.findall(r'name="(number|version|method)" value="(\w+)"', opened))
    answer = page.post("/protect/step", data=given | {"columns": "income"})
    assert "changed in another tab meanwhile" in answer.text
    assert page.space.recipe["steps"] == more


def test_what_is_proposed_for_a_table_is_not_shown_for_another(page, people, monkeypatch):
    from discreet.inspection import candidates

    other = people.parent / "other.csv"
    other.write_text(people.read_text())
    plain = candidates.try_out

    def slow(*given):
        found = plain(*given)
        page.open(other)  # In another tab.
        return found

    monkeypatch.setattr(candidates, "try_out", slow)
    answer = page.post("/protect/propose", data={"version": page.version})
    assert (answer.status_code, "another table was opened" in answer.text) == (422, True)
    assert page.space.proposal is None
    assert "steps" not in page.space.recipe


def test_a_chance_that_needs_too_large_a_k_is_refused(page):
    answer = page.post("/protect/propose", data={"version": page.version, "risk": "1e-9"})
    assert answer.status_code == 422
    assert "that needs k = 1e+11; ask for a k of 100,000 at most" in text_of(answer.text)


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


def test_the_command_and_the_python_of_every_page_run(odd, runs_here, tmp_path, monkeypatch):
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


def test_amounts_as_text_are_no_identifier_if_somebody_says_so(tmp_path):
    """Where all ways stop for the same reason, that is said, and not that too much is asked."""
    people = {
        "age": [20 + i % 40 for i in range(200)],
        "sex": ["male", "female"] * 100,
        "stage": ["I", "II", "III", "IV"] * 50,
        "cost": [f"{i + 1}.{i:03d},50" for i in range(200)],
    }
    pyarrow.csv.write_csv(pyarrow.table(people), tmp_path / "register.csv")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "register.csv")
    asked = {"k": 3, "l": 1, "blanked": 5}
    for column in ("stage", "cost"):
        given = {"role": "confidential", "column": column, "version": page.version}
        shown = page.post("/data/role", data=given).text
    assert "cost looks like an identifier" in text_of(shown)
    refused = page.post("/protect/propose", data=asked | {"version": page.version})
    assert "'cost' would be released, but looks like an identifier" in html.unescape(refused.text)
    assert "no way was found" not in refused.text
    shown = page.post("/data/none", data={"column": "cost", "version": page.version}).text
    assert "looks like an identifier" not in text_of(shown)
    proposed = page.post("/protect/propose", data=asked | {"version": page.version})
    roles = page.space.recipe["roles"]
    page.end()
    assert proposed.is_success, proposed.text
    assert roles["not_identifiers"] == ["cost"]
    assert "cost" in roles["confidential"]


def test_dates_as_text_are_built_by_a_rule_as_they_are_written(tmp_path):
    days = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.{1950 + i % 50}" for i in range(600)]
    people = {"born": days, "sex": ["female", "male"] * 300}
    pyarrow.csv.write_csv(pyarrow.table(people), tmp_path / "people.csv")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "people.csv")
    form = {"column": "born", "kind": "dates"}
    shown = page.post("/hierarchies/rule", data=form | {"levels": "year, decade", "version": 2})
    assert shown.is_success, shown.text
    spec = page.space.recipe["steps"][0]["hierarchies"]["born"]
    assert spec == {"kind": "dates", "levels": ["year", "decade"], "format": "%d.%m.%Y"}
    years = [int(x) for x in re.findall(r"<li>(\d{4}) <", shown.text)]
    assert len(years) > 10
    assert years == sorted(years), "in their own order, as numbers are"
    unknown = form | {"levels": "year, 5 years", "version": page.version}
    refused = html.unescape(page.post("/hierarchies/rule", data=unknown).text)
    saved = page.get("/hierarchies/csv", params={"column": "born"}).headers["content-disposition"]
    rows = b"born;all\n"
    given = {"column": "born", "version": str(page.version)}
    wrong = page.post("/hierarchies/upload", data=given, files={"file": ("a.csv", rows)})
    page.end()
    assert "there is no level '5 years'" in refused
    assert saved == "attachment; filename*=UTF-8''born.csv"
    assert "in 600 rows have no place" in wrong.text


def test_what_is_proposed_under_a_policy_has_the_k_that_its_rules_need(page):
    """Else the run fails by the policy that was chosen beside it."""
    asked = {"k": 5, "l": 1, "blanked": 20, "policy": "example", "version": page.version}
    said = text_of(page.post("/protect/propose", data=asked).text)
    assert "Ways to have 5 or more households" in said, "its own k is larger than the policy's 3"
    answer = page.post("/protect/propose", data=asked | {"policy": "ema-0070", "version": 3})
    assert answer.is_success, answer.text
    said = text_of(answer.text)
    assert "EMA Policy 0070, publication of clinical data needs k = 11. Ways to have 11" in said
    models = [model for step in page.space.recipe["steps"] for model in step.get("privacy", [])]
    sizes = [step["k"] for step in page.space.recipe["steps"] if "k" in step]
    assert {11} == {*(one["k"] for one in models if "k" in one), *sizes}


def test_how_a_file_was_read_is_said_on_the_page(tmp_path):
    lines = ["ort;alter;größe", *(f"Köln;{20 + i % 9};1,{70 + i % 20}" for i in range(60))]
    (tmp_path / "leute.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "leute.csv")
    shown = text_of(page.get("/data/columns").text)
    page.end()
    assert "leute.csv is not UTF-8 and was read as cp1252" in shown
    assert str(tmp_path) not in shown


def test_what_k_counts_now_is_said_beside_the_choice(page):
    assert "else rows (now households)" in text_of(page.get("/data/columns").text)
    given = {"role": "drop", "column": "household_id", "version": page.version}
    assert "else rows (now rows)" in text_of(page.post("/data/role", data=given).text)


def test_levels_that_were_taken_are_no_keys_to_keep(page):
    """Whoever proposes next would hold on to keys that nobody asked to keep."""

    def kept():
        return re.findall(r'name="keep" value="(\w+)" checked', page.get("/protect/steps").text)

    assert page.post("/recipe/text", data={"text": RECIPE, "version": page.version}).is_success
    levels = {"level.age": "2", "level.sex": "0", "version": page.version}
    assert page.post("/explore/take", data=levels).is_success
    assert page.space.recipe["steps"][0]["levels"] == {"age": 2, "sex": 0}
    assert kept() == []
    asked = {"k": 3, "keep": "sex", "version": page.version}
    assert page.post("/protect/propose", data=asked).is_success
    assert kept() == ["sex"]


def test_what_a_number_field_holds_is_read_as_people_write_it(page):
    # A browser lets 1e3 pass as a number.
    for wrong in ("1e3", "5.5", "many"):
        answer = page.post("/protect/propose", data={"version": page.version, "k": wrong})
        assert "k: a whole number is needed" in text_of(answer.text)
    answer = page.post("/protect/search", data={"minutes": "a few"})
    assert "minutes: a number is needed" in text_of(answer.text)
    answer = page.post("/recipe/text", data={"text": "", "version": page.version})
    assert "text: nothing is given" in text_of(answer.text)
    page.post("/recipe/text", data={"text": RECIPE, "version": page.version})
    asked = {"version": page.version, "k": 2, "risk": "25 %"}
    answer = page.post("/protect/propose", data=asked)
    assert answer.is_success, answer.text
    assert "A largest chance of 25 % needs k = 4." in text_of(answer.text)


def test_a_group_is_not_named_like_the_top_or_like_a_value_outside_it(page):
    page.post("/recipe/text", data={"text": RECIPE, "version": page.version})
    gathered = {"column": "sex", "value": "male", "version": page.version}
    assert page.post("/hierarchies/gather", data={**gathered, "group": "men"}).is_success
    before = page.space.recipe
    gathered = {"column": "sex", "value": "female", "version": page.version}
    top = page.post("/hierarchies/gather", data={**gathered, "group": "*"})
    assert top.status_code == 422
    assert "'*' stands for anything; choose another name" in html.unescape(top.text)
    other = page.post("/hierarchies/gather", data={**gathered, "group": "male"})
    assert other.status_code == 422
    said = html.unescape(other.text)
    assert (
        "'male' is a value that is not in this group; mark it too, or choose another name" in said
    )
    assert page.space.recipe == before
    both = {**gathered, "value": ["female", "male"], "group": "male"}
    assert page.post("/hierarchies/gather", data=both).is_success


def test_policies_are_told_by_their_titles(page):
    shown = page.get("/protect/steps").text
    assert '<option value="cihi">CIHI, public use file (cihi)</option>' in shown


def test_a_file_that_cannot_be_read_leaves_no_word_of_recipes(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a,,c\n1,2,3\n")
    page = Page(tmp_path / "work", [tmp_path])
    page.post("/data/open", data={"path": str(path)})
    refused = page.get("/data/columns")
    assert refused.status_code == 422
    assert "column 2 has no name in the header" in refused.text
    assert "The columns have no roles yet: go to Data." in text_of(page.get("/recipe/problem").text)
    page.end()
