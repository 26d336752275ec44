"""What somebody reads who opens the app for the first time."""

import re
import subprocess
import sys
import tomllib

import pyarrow as pa
import pyarrow.csv

from tests.app.client import Page, text_of
from tests.app.test_jobs import QUICK, wait


def test_the_first_page_waits_for_nothing_that_reads_tables():
    """It took twice as long, and Arrow's allocator was chosen before the server could choose it."""
    code = "import sys, discreet.app.server as s; print({'numpy', 'pyarrow', 'sklearn'} & {*sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


def test_a_release_that_misses_what_was_asked_is_not_offered_to_be_shared(page, runs_here):
    # It allows a largest risk of 5 %, and k = 3 is not enough for that.
    text = QUICK.replace("[roles]", 'policy = "cihi"\n\n[roles]', 1)
    assert page.post("/recipe/text", data={"text": text, "version": page.version}).is_success
    page.post("/protect/run", content=b"")
    assert wait(page, 1, "done", "failed")["status"] == "done"
    shown = page.get("/release").text
    assert "FAIL: " in shown.split("<h2>")[0], "the verdict comes before the folders"
    assert "Share: public/" not in shown
    assert "Do not share it yet: public/" in shown
    assert 'class="run done missed"' in page.get("/protect/runs").text

    # What nobody asked for is not among what was asked, and decides nothing.
    asked, guides = page.get("/result").text.split("Beside guide values")
    assert "<td>policy</td>" in re.sub(' data-label="[^"]*"', "", asked)
    assert "guide value" not in text_of(asked).split("What was asked")[1]
    assert "they decide nothing" in guides

    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    page.post("/protect/run", content=b"")
    assert wait(page, 2, "done", "failed")["status"] == "done"
    shown = page.get("/release").text
    assert "PASS: " in shown.split("<h2>")[0]
    assert "Share: public/" in shown
    # A report has a number of its own, so not every byte is the same.
    assert "the same table and codebook, byte for byte" in text_of(shown)
    # k = 3 is not said twice.
    figures = text_of(page.get("/risk/figures").text)
    assert figures.count("in a class of fewer than 3") == 1
    assert "fewer than k" not in figures


def test_a_recipe_without_steps_says_where_they_come_from(page):
    said = text_of(page.get("/recipe/problem").text)
    assert said.strip() == "Not ready to run. The recipe has no steps yet: go to Protect."
    # What is wrong besides is said all the same.
    roles = '[roles]\nquasi = ["age"]\nnobody = ["sex"]\nrest = "drop"\n'
    page.post("/recipe/text", data={"text": roles, "version": page.version})
    assert "nobody" in page.get("/recipe/problem").text


def test_a_step_is_described_as_it_is_set(page):
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    assert "at the same level of its hierarchy" in page.get("/protect/steps").text
    text = QUICK.replace("hierarchies =", "local = true\nhierarchies =")
    page.post("/recipe/text", data={"text": text, "version": page.version})
    shown = page.get("/protect/steps").text
    assert "at the same level of its hierarchy" not in shown
    assert "each record at levels of its own" in shown


def test_what_k_counts_is_named_alike_each_time_and_an_l_that_is_not_kept_stands_out(tmp_path):
    visits = {
        "patient_id": [i // 2 for i in range(600)],
        "age": [20 + i // 2 % 50 for i in range(600)],
        "sex": ["male", "male", "female", "female"] * 150,
        "diagnosis": ["I10", "J45", "E11", "F32"] * 150,
    }
    pyarrow.csv.write_csv(pa.table(visits), tmp_path / "visits.csv")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "visits.csv")
    said = []
    for values in (1, 50):
        asked = {"k": 3, "l": values, "blanked": 5, "version": page.version}
        answer = page.post("/protect/propose", data=asked)
        assert answer.is_success, answer.text
        said.append(re.search(r"3 or more (\w+) share", answer.text)[1])
    # A workspace may keep a proposal from before this was said.
    old = {key: value for key, value in page.space.proposal.items() if key != "unmet"}
    page.space.keep_proposal(old, page.version)
    assert page.get("/protect/steps").is_success
    page.end()
    assert said == ["units", "units"]
    assert '<p class="bad">No confidential category has 50 values' in answer.text


def test_numbers_stand_in_their_own_order(page):
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    assert tomllib.loads(page.space.text)["roles"]["quasi"] == ["age", "sex"]
    shown = page.get("/hierarchies/tree", params={"column": "age"}).text
    values = [int(x) for x in re.findall(r'name="value" value="(\d+)"', shown)]
    assert values == sorted(values)
    for level in re.findall(r"<ul tabindex.*?</ul>", shown):
        starts = [int(x) for x in re.findall(r"<li>(\d+)", level)]
        assert starts == sorted(starts)
    # Words stand by how many records have them.
    shown = page.get("/hierarchies/tree", params={"column": "sex"}).text
    held = [int(x) for x in re.findall(r'name="value" [^>]*> \w+ <span class="soft">(\d+)', shown)]
    assert len(held) > 1
    assert held == sorted(held, reverse=True)


def test_a_chance_by_sampling_weights_says_so(tmp_path):
    people = {
        "age": [20 + i % 50 for i in range(200)],
        "sex": ["male", "female"] * 100,
        "weight": [30.0 + i % 7 for i in range(200)],
    }
    pyarrow.csv.write_csv(pa.table(people), tmp_path / "survey.csv")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "survey.csv")
    shown = []
    for role in ("weight", "drop"):
        page.post("/data/role", data={"role": role, "column": "weight", "version": page.version})
        shown.append(page.get("/risk/figures").text)
    page.end()
    assert all("The riskiest records" in one for one in shown)
    assert ["The chance is by the sampling weights" in one for one in shown] == [True, False]


def test_a_run_that_has_no_point_on_explore_is_told_with_the_reason(page):
    text = """
[roles]
identifiers = ["name"]
quasi = ["age", "sex"]
rest = "drop"

[[steps]]
method = "pram"
columns = ["sex"]
retention = 0.9

[[steps]]
method = "oma"
columns = ["age"]
k = 5
"""
    answer = page.post("/recipe/text", data={"text": text, "version": page.version})
    assert answer.status_code == 200, answer.text
    page.post("/protect/run", content=b"")
    run = wait(page, 1, "done", "failed")
    assert run["status"] == "done", run["error"]
    why = "step 1 (pram) perturbs the quasi column &#39;sex&#39;, so that classes of equal values mean nothing."
    explored = text_of(page.get("/explore").text)
    assert f"Run 1 has no average risk, and so no point here: {why} Look at its result" in explored
    assert "Run the recipe" not in explored
    assert f"It has no average risk: {why}" in text_of(page.get("/result").text)


def test_a_mark_of_missing_values_is_asked_for_once_however_many_columns_hold_it(tmp_path):
    ages = [-9 if i % 10 == 0 else 20 + i % 50 for i in range(300)]
    names = [f"answer {i}" for i in range(5)]
    pyarrow.csv.write_csv(pa.table(dict.fromkeys(names, ages)), tmp_path / "answers.csv")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "answers.csv")
    shown = text_of(page.get("/data/columns").text)
    assert shown.count("Yes, it does") == 1
    assert "Does -9 mean that it is missing? It would in all columns." in shown
    assert "answer 2: negative, unlike all the others, in 30 records; and 2 more columns" in shown
    page.post("/data/missing", data={"marker": "-9", "version": page.version})
    assert "Yes, it does" not in page.get("/data/columns").text
    page.end()


def test_a_column_that_another_takes_the_place_of_is_named(page):
    assert page.space.recipe["roles"]["household"] == "household_id"
    data = {"role": "household", "version": page.version, "column": ["name"]}
    shown = text_of(page.post("/data/role", data=data).text)
    said = "Only one column can be the household: it was household_id, which is dropped now."
    assert said in shown
    data = {"role": "quasi", "version": page.version, "column": ["name"]}
    assert "dropped now" not in text_of(page.post("/data/role", data=data).text)


def test_ways_tried_on_a_part_of_a_large_table_do_not_name_that_part_as_the_table(
    people, tmp_path, monkeypatch
):
    monkeypatch.setattr("discreet.app.look.MOST_BYTES", 100)
    monkeypatch.setattr("discreet.inspection.candidates._ROWS", 200)
    page = Page(tmp_path / "work", [people.parent])
    page.open(people)
    page.post("/data/counts", data={"counts": "rows", "version": page.version})
    shown = text_of(page.post("/protect/propose", data={"version": page.version, "k": 3}).text)
    assert re.search(r"share each combination, tried on \d+ records of a part of the table:", shown)
    page.end()


def test_a_table_without_keys_leads_on_from_each_page(page):
    text = '[roles]\nconfidential = ["income"]\nrest = "drop"\n'
    page.post("/recipe/text", data={"text": text, "version": page.version})
    for path in ("/risk/figures", "/hierarchies"):
        shown = page.get(path).text
        assert "No column is a key yet" in text_of(shown)
        assert 'href="/data"' in shown
        assert '<a class="next" href="/protect">' in shown
