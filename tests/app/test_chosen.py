"""What a steward chooses on Protect and Hierarchies, and finds again later."""

import re

import pytest

from tests.app.client import Page, text_of
from tests.app.test_jobs import QUICK, wait


@pytest.fixture(scope="module")
def proposed(tmp_path_factory, people, runs_here_of_module):
    """A page that proposed steps, and ran the best of them."""
    page = Page(tmp_path_factory.mktemp("proposed") / "work", [people.parent])
    page.open(people)
    page.post("/data/missing", data={"marker": "n/a", "version": page.version})
    page.post("/data/counts", data={"counts": "rows", "version": page.version})
    # What is left as it is loses nothing, and is no part of the mean on any page.
    left = {"role": "insensitive", "version": page.version, "column": ["education"]}
    page.post("/data/role", data=left)
    data = {"version": page.version, "k": 3, "blanked": 10}
    assert page.post("/protect/propose", data=data).status_code == 200
    yield page
    page.end()


def test_each_way_that_was_proposed_can_be_taken_also_after_a_reload(proposed):
    before = proposed.space.recipe
    assert (before["null_markers"], before["counts"]) == (["n/a"], "rows"), "as it was said"
    shown = proposed.get("/protect/steps").text
    assert text_of(shown).count("in the recipe") == 1
    ways = re.findall(r'name="way" value="(\d+)"', shown)
    assert len(ways) > 1
    texts = {proposed.space.text}
    own = {"proposal": re.search(r'name="proposal" value="(\d+)"', shown)[1]}
    for way in ways:
        form = own | {"way": way, "version": proposed.version}
        answer = proposed.post("/protect/way", data=form)
        assert answer.status_code == 200, answer.text
        assert text_of(answer.text).count("in the recipe") == 1
        assert "Ready to run" in proposed.get("/recipe/problem").text
        texts.add(proposed.space.text)
    assert len(texts) == len(ways) + 1
    assert (
        "there is no such proposal"
        in proposed.post("/protect/way", data=own | {"way": 99, "version": proposed.version}).text
    )
    # A role that was changed and given back stands in another place, and is the same.
    for role in ("drop", "quasi"):
        turn = {"role": role, "version": proposed.version, "column": ["age"]}
        proposed.post("/data/role", data=turn)
    assert proposed.space.recipe["roles"] != before["roles"]
    again = own | {"way": ways[0], "version": proposed.version}
    assert proposed.post("/protect/way", data=again).status_code == 200
    # What was changed since stays, but for roles: those it was made for.
    note = {"marker": "none", "version": proposed.version}
    proposed.post("/data/missing", data=note)
    proposed.post("/protect/way", data=own | {"way": ways[0], "version": proposed.version})
    assert "none" in proposed.space.recipe["null_markers"]
    drop = {"role": "drop", "version": proposed.version, "column": ["sex"]}
    proposed.post("/data/role", data=drop)
    answer = proposed.post("/protect/way", data=own | {"way": ways[1], "version": proposed.version})
    assert "propose again" in answer.text
    proposed.space.edit("as before", lambda recipe: before)
    # In another tab others are proposed: a way of the first is none of these.
    kept = proposed.space.proposal
    proposed.space.keep_proposal(kept, proposed.version)
    answer = proposed.post("/protect/way", data=again | {"version": proposed.version})
    assert "others were proposed meanwhile, in another tab" in answer.text
    assert proposed.space.recipe == before


def test_a_proposal_its_run_and_its_result_name_the_same_risk_and_loss(proposed):
    proposed.post("/protect/run", content=b"")
    run = wait(proposed, 1, "done", "failed")
    assert run["status"] == "done", run["error"]
    taken = re.search(r'<tr class="taken">(.*?)</tr>', proposed.get("/protect/steps").text, re.S)
    promised = re.findall(r'class="n"[^>]*>([\d.]+) %', taken.group(1))[:2]
    runs = text_of(proposed.get("/protect/runs").text)
    assert "Average risk {} %, information lost {} %".format(*promised) in runs
    assert "people.csv, version" in runs
    result = text_of(proposed.get("/result").text)
    assert f"Average risk {promised[0]} %" in result
    assert f"Information lost {promised[1]} %" in result
    explored = re.findall(r'class="n"[^>]*>([\d.]+) %', proposed.get("/explore").text)
    assert explored[:2] == promised


def test_the_same_release_in_other_formats_is_no_other_point(proposed, people):
    out = people.parent / "formats"
    proposed.post("/release/write", data={"run": 1, "out": str(out), "format": ["parquet"]})
    assert wait(proposed, 2, "done", "failed")["status"] == "done"
    assert proposed.get("/explore").text.count("<circle") == 1
    assert '<option value="2"' in proposed.get("/release").text


def test_a_file_is_gone_on_with_where_it_was_left(page, people):
    other = people.parent / "other-table.csv"
    other.write_text("town,ill\n" + "a,b\nc,d\n" * 20)
    guesses = page.space.recipe
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    left = page.version
    page.open(other)
    page.post("/recipe/undo", content=b"")
    assert page.space.input == other
    page.open(people)
    assert (page.version, page.space.text) == (left, QUICK)
    shown = page.get("/data/columns").text
    assert "Start again from the guesses" in shown
    answer = page.post("/data/anew", data={"version": page.version})
    assert page.space.recipe == guesses
    assert "Start again from the guesses" not in answer.text
    page.post("/recipe/undo", content=b"")
    assert page.space.text == QUICK
    # The recipe of another table is copied, and undone as any change.
    page.open(other)
    mine = page.version
    page.post("/recipe/take", data={"number": left})
    assert page.space.text == QUICK
    page.post("/recipe/undo", content=b"")
    assert page.version == mine


def test_a_hierarchy_drops_no_step(page):
    text = (
        '[roles]\nquasi = ["age", "sex", "region"]\nconfidential = ["income"]\nrest = "drop"\n'
        '[[steps]]\nmethod = "oma"\ncolumns = ["age"]\nk = 3\n'
        '[[steps]]\nmethod = "local-suppression"\ncolumns = ["age", "sex", "region"]\nk = 3\n'
    )
    page.post("/recipe/text", data={"text": text, "version": page.version})
    before = page.space.recipe["steps"]
    form = {"column": "sex", "kind": "flat", "version": page.version}
    assert page.post("/hierarchies/rule", data=form).is_success
    new, *others = page.space.recipe["steps"]
    assert others == before
    assert (new["method"], new["columns"]) == ("generalize", ["sex", "region"])
    form = {"column": "age", "kind": "intervals", "levels": "5", "version": page.version}
    answer = page.post("/hierarchies/rule", data=form)
    assert "a step oma treats age" in answer.text


def test_the_rule_form_holds_all_that_a_rule_says_and_suits_the_column(page):
    levels = "{ widths = [5, 10], lower = 20, upper = 80 }"
    form = {"column": "age", "kind": "intervals", "levels": levels, "version": page.version}
    shown = page.post("/hierarchies/rule", data=form).text
    held = re.search(r'name="levels"[^>]* value="([^"]*)"', shown).group(1).replace("&#34;", '"')
    spec = page.space.recipe["steps"][0]["hierarchies"]["age"]
    assert spec == {"kind": "intervals", "widths": [5, 10], "lower": 20, "upper": 80}
    page.post("/hierarchies/rule", data={**form, "levels": held, "version": page.version})
    assert page.space.recipe["steps"][0]["hierarchies"]["age"] == spec
    gathered = {"column": "sex", "group": "any", "value": "male", "version": page.version}
    page.post("/hierarchies/gather", data=gathered)
    for column, kind in (("sex", "flat"), ("age", "intervals"), ("birth_date", "dates")):
        shown = page.get("/hierarchies/tree", params={"column": column}).text
        chosen = re.search(r'<option value="(\w+)"[^>]* selected>', shown).group(1)
        assert chosen == kind, column
