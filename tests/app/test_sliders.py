"""Sliders: what a node comes to, as a run with these levels gives it."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tomli_w

from discreet import protect, read_table
from discreet.app import look
from discreet.datasets import make_episodes, make_households
from discreet.errors import BadInput
from discreet.generalization.nodes import Nodes
from discreet.table import write_table
from tests.app.client import Page, text_of


def generalize(hierarchies, k, **more):
    return {
        "method": "generalize",
        "columns": list(hierarchies),
        "hierarchies": hierarchies,
        "privacy": [{"model": "k-anonymity", "k": k}],
        **more,
    }


TREES = {
    "age": {"kind": "intervals", "widths": [10, 20, 40]},
    "sex": {"kind": "flat"},
    "region": {"kind": "flat"},
}
HOUSEHOLDS = {
    "null_markers": ["55"],
    "roles": {
        "identifiers": ["name"],
        "household": "household_id",
        "quasi": list(TREES),
        "rest": "drop",
    },
    "steps": [generalize(TREES, 6, suppression_limit=0.2)],
}
# A step before it, and k counts rows.
CODED = {
    "counts": "rows",
    "roles": HOUSEHOLDS["roles"],
    "steps": [
        {"method": "top-bottom", "columns": ["age"], "upper": 70, "promise": False},
        generalize(TREES, 10, null_policy="value"),
    ],
}
# A unit's rows can be seen to belong together.
LINKED_TREES = {"birth_year": {"kind": "intervals", "widths": [20, 40]}, "sex": {"kind": "flat"}}
LINKED = {
    "known_rows": 2,
    "roles": {
        "unit": "patient_id",
        "pseudonyms": ["patient_id"],
        "quasi": list(LINKED_TREES),
        "rest": "drop",
    },
    "steps": [generalize(LINKED_TREES, 8, suppression_limit=0.02)],
}


@pytest.fixture
def opened(tmp_path):
    pages = []

    def opening(table, recipe, name="table.csv"):
        path = tmp_path / "data" / name
        path.parent.mkdir()
        write_table(table, path)
        page = Page(tmp_path / "work", [path.parent])
        pages.append(page)
        page.open(path)
        given = {"text": tomli_w.dumps(recipe), "version": page.version}
        answer = page.post("/recipe/text", data=given)
        assert answer.status_code == 200, answer.text
        return page, path

    yield opening
    for page in pages:
        page.end()


def levels_of(shown):
    """Return where the sliders stand, and how far they go."""
    found = re.findall(r'name="level\.([^"]+)" min="0" max="(\d+)" value="(\d+)"', shown)
    return {name: int(at) for name, _, at in found}, {name: int(top) for name, top, _ in found}


@pytest.mark.parametrize(
    ("table", "recipe", "unit"),
    [
        (make_households(900, seed=2), HOUSEHOLDS, "household_id"),
        (make_households(600, seed=2), CODED, None),
        (make_episodes(150, seed=3), LINKED, "patient_id"),
    ],
    ids=["households", "after another step", "linked rows"],
)
def test_a_node_is_what_a_run_with_its_levels_gives(opened, table, recipe, unit):
    page, path = opened(table, recipe)
    _, tops = levels_of(page.get("/explore/sliders").text)
    draw, seen = random.Random(1), set()
    for _ in range(5):
        levels = {name: draw.randint(0, top) for name, top in tops.items()}
        given = {f"level.{name}": level for name, level in levels.items()}
        shown = text_of(page.get("/explore/node", params=given).text)
        *before, step = recipe["steps"]
        fixed = {**recipe, "steps": [*before, {**step, "levels": levels}]}
        try:
            release = protect(read_table(path), fixed)
        except BadInput:
            assert "Does not keep what is asked" in shown
            seen.add(False)
            continue
        seen.add(True)
        assert "Keeps what is asked" in shown
        gone = release.log["steps"][-1]["suppressed"]
        assert f" {gone:,} records suppressed" in shown
        kept = release.table.to_pandas()
        if gone:
            keys = kept[list(tops)]
            kept = kept[~(keys == "*").all(axis=1) & ~keys.isna().all(axis=1)]
        keys = kept.groupby(list(tops), dropna=False)
        sizes = keys.size() if unit is None else keys[unit].nunique()
        what = {None: "records", "household_id": "households", "patient_id": "units"}[unit]
        assert f"{len(sizes):,} classes, the smallest of {sizes.min()} {what}" in shown
    assert seen == {True, False}


@pytest.mark.parametrize(("nulls", "said"), [("value", "optimum"), ("segregate", "best found")])
def test_the_optimum_is_taken_and_the_rest_optimised(opened, nulls, said):
    # Of levels for records with nulls and for others, the best of all is not known.
    [step] = HOUSEHOLDS["steps"]
    recipe = {**HOUSEHOLDS, "steps": [{**step, "null_policy": nulls}]}
    page, _ = opened(make_households(900, seed=2), recipe)
    shown = page.get("/explore/sliders").text
    best, tops = levels_of(shown)
    assert "Keeps what is asked" in shown
    marked = re.findall(rf"{said}: (\d+) of", shown)
    assert [int(one) for one in marked] == list(best.values())
    given = {f"level.{name}": level for name, level in best.items()}
    assert page.post("/explore/take", data={**given, "version": page.version}).status_code == 200
    assert page.space.recipe["steps"][0]["levels"] == best
    fixed = page.get("/explore/best", params={**given, "fix": "sex", "level.sex": tops["sex"]})
    again, _ = levels_of(fixed.text)
    assert again["sex"] == tops["sex"]
    assert "Keeps what is asked" in fixed.text


def test_a_lattice_too_large_for_its_optimum_has_the_best_that_was_found(opened, monkeypatch):
    monkeypatch.setattr("discreet.app.pages.explore._SECONDS", 0.5)
    draw = np.random.default_rng(1)
    names = [f"c{i}" for i in range(24)]
    table = pa.table({name: draw.integers(0, 40, 200) for name in names})
    step = {"method": "generalize", "columns": names}
    step |= {"privacy": [{"model": "k-anonymity", "k": 3}], "suppression_limit": 0.1}
    trees = {name: {"kind": "intervals", "widths": [5, 10, 20]} for name in names}
    roles = {"quasi": names}
    page, _ = opened(table, {"roles": roles, "steps": [step | {"hierarchies": trees}]})
    for path in ("sliders", "best?fix=c0&level.c0=4"):
        shown = page.get(f"/explore/{path}").text
        assert "the best that were found" in shown
        assert len(re.findall(r"best found: \d of 4", shown)) == len(names)
        assert "optimum" not in shown


def test_sliders_of_a_large_table_say_that_they_count_a_sample(opened, monkeypatch):
    monkeypatch.setattr(look, "MOST_ROWS", 500)
    monkeypatch.setattr(look, "SAMPLE", 400)
    table = make_households(1500, seed=2)
    page, _ = opened(table, HOUSEHOLDS, "table.parquet")
    shown = text_of(page.get("/explore/sliders").text)
    found = re.search(r"Counted in (\d+) of ([\d,]+) records, drawn at random", shown)
    assert int(found[2].replace(",", "")) == table.num_rows
    assert 300 < int(found[1]) < 500


def test_levels_are_taken_for_the_step_that_the_sliders_show(opened):
    roles = {"quasi": list(TREES), "identifiers": ["name"], "rest": "drop"}
    first = generalize({"region": TREES["region"]}, 5, levels={"region": 0})
    del first["privacy"]
    second = generalize({"age": TREES["age"], "sex": TREES["sex"]}, 5)
    page, _ = opened(make_households(300, seed=2), {"roles": roles, "steps": [first, second]})
    given = {"level.age": 2, "level.sex": 1, "version": page.version}
    assert page.post("/explore/take", data=given).status_code == 200
    steps = page.space.recipe["steps"]
    assert [step["levels"] for step in steps] == [{"region": 0}, {"age": 2, "sex": 1}]


def test_levels_are_taken_again_by_the_page_that_took_others(opened):
    """It was told of another tab, which was itself."""
    page, _ = opened(make_households(300, seed=2), CODED)
    given = {"level.age": 3, "level.sex": 1, "level.region": 1, "version": page.version}
    for age in (3, 2):
        shown = page.post("/explore/take", data=given | {"level.age": age, "fix": "sex"}).text
        assert "Taken. Run it" in shown
        assert levels_of(shown)[0]["age"] == age
        assert re.findall(r'name="fix" value="(\w+)"[^>]* checked', shown) == ["sex"]
        given["version"] = re.search(r'<form id="levels">\s*<[^>]*value="(\d+)"', shown)[1]
    assert page.space.recipe["steps"][1]["levels"]["age"] == 2


def test_sliders_of_another_recipe_are_not_told_of_this_one(opened):
    roles = {"quasi": list(TREES), "identifiers": ["name"], "rest": "drop"}
    few = generalize({"age": TREES["age"], "sex": TREES["sex"]}, 5)
    first = {"roles": {**roles, "untouched": ["region"]}, "steps": [few]}
    page, _ = opened(make_households(300, seed=2), first)
    given = {"level.age": 2, "level.sex": 1, "version": page.version}
    assert page.get("/explore/node", params=given).status_code == 200
    # In another tab.
    page.space.edit("more", lambda recipe: {"roles": roles, "steps": [generalize(TREES, 5)]})
    for path in ("node", "best"):
        answer = page.get(f"/explore/{path}", params=given)
        assert (answer.status_code, "reload the page" in answer.text) == (422, True)
    # The levels are taken for what was shown: the key that came later has none yet.
    assert "changed in another tab" in page.post("/explore/take", data=given).text
    assert page.space.recipe["steps"][0]["levels"] == {"age": 2, "sex": 1}


def searched(page):
    """Write down a search that found two recipes."""
    queue = page.desk.queue
    queue.close()
    number = queue.add("", "a search", 1, kind="search", minutes=1)
    out = Path(queue.get(number)["out"])
    out.mkdir()
    points = [{"name": one, "risk": 0.1, "loss": 0.2, "words": [], "recipe": one} for one in "ab"]
    for seed, one in enumerate(points):
        (out / one["recipe"]).write_text(f"seed = {seed}\n")
    measure = {"name": "linkage"}
    front = {"points": points, "best": "a", "risk": measure, "loss": measure, "evaluations": 9}
    (queue.path(number) / "result.json").write_text(json.dumps({"front": front}))
    queue._note(number, status="done")
    return number


def test_one_recipe_after_another_is_taken_from_a_search_of_this_table(page, people):
    run = searched(page)
    shown = page.get("/explore").text
    for name, seed in (("a", 0), ("b", 1)):
        version = re.search(r'name="version" value="(\d+)"><button>Take', shown)[1]
        form = {"run": run, "name": name, "version": version}
        answer = page.post("/explore/recipe", data=form)
        shown = answer.text
        assert "Taken. Run it" in shown
        assert page.space.recipe == {"seed": seed}
        # The levels are asked for anew.
        assert answer.headers["hx-trigger"] == "recipe"
    other = people.parent / "other-searched.csv"
    other.write_text("town,ill\n" + "a,b\nc,d\n" * 20)
    page.open(other)
    assert "What search" not in page.get("/explore").text
    answer = page.post("/explore/recipe", data=form | {"version": page.version})
    assert "that search has no such recipe" in answer.text


def test_levels_better_than_the_best_that_was_found_are_marked_instead(opened, monkeypatch):
    """A search with columns fixed has less to go through, and may come further."""
    best = Nodes.best

    def stopped(self, fixed, seconds):
        # As a search that had no time found the top of all.
        return best(self, fixed, seconds) if fixed else replace(self.at(self.height), proven=False)

    monkeypatch.setattr(Nodes, "best", stopped)
    page, _ = opened(make_households(900, seed=2), HOUSEHOLDS)
    shown = page.get("/explore/sliders").text
    _, tops = levels_of(shown)
    assert re.findall(r"best found: (\d+) of", shown) == [str(one) for one in tops.values()]
    shown = page.get("/explore/best", params={"fix": "sex", "level.sex": 0}).text
    found, _ = levels_of(shown)
    assert found != tops
    assert re.findall(r"best found: (\d+) of", shown) == [str(one) for one in found.values()]


def test_what_is_missing_is_called_so_beside_the_sliders(opened):
    table = make_households(300, seed=2, null_rate=0.2)
    [step] = HOUSEHOLDS["steps"]
    recipe = {**HOUSEHOLDS, "steps": [{**step, "null_policy": "value"}]}
    page, _ = opened(table, recipe)
    shown = text_of(page.get("/explore/node", params={"level.sex": 0}).text)
    assert "female, male, missing" in shown
    assert "None" not in shown


def test_without_steps_it_says_what_sliders_are_for(opened):
    page, _ = opened(make_households(300, seed=2), {**HOUSEHOLDS, "steps": []})
    shown = page.get("/explore/sliders").text
    assert "Sliders are for a step generalize with a privacy model; the recipe has none." in shown
    assert "Drag" not in page.get("/explore").text + shown
