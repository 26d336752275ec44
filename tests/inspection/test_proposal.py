"""Recipes that a first look suggests: they run as they are, and keep what they promise."""

import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import discreet
from discreet.datasets import load_adult, make_episodes, make_households
from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from discreet.inspection import inspect
from discreet.inspection.candidates import try_out
from discreet.inspection.proposal import MOST_QUASI, file_names, propose, write_hierarchies
from discreet.recipe.recipe import Recipe
from discreet.table import write_table


@pytest.fixture(scope="module")
def people():
    return make_households(1000, seed=3, null_rate=0.02)


@pytest.fixture(scope="module")
def seen(people):
    return inspect(people)


@pytest.mark.parametrize("name", ["households", "episodes", "adult"])
def test_the_recipe_runs_unchanged_and_passes_its_check(tmp_path, people, name):
    made = {"households": lambda: people, "episodes": lambda: make_episodes(200),
            "adult": lambda: load_adult().slice(0, 1000)}  # fmt: skip
    table = made[name]()
    path = tmp_path / "table.csv"
    write_table(table, path)
    (tmp_path / "recipe.toml").write_text(propose(inspect(path)).text, encoding="utf-8")
    release = discreet.protect(path, tmp_path / "recipe.toml")
    release.save(tmp_path / "out")
    report = discreet.check_release(
        tmp_path / "out/public/table.csv", tmp_path / "recipe.toml", tmp_path / "out/internal", path
    )
    assert report.verified
    assert any("k = 5" in finding.promise for finding in report.findings)


def test_roles_and_steps_of_the_households(seen):
    recipe = propose(seen).recipe
    assert recipe.roles.identifiers == ["name"]
    # Of two columns that say the same, the coarser one is kept.
    assert {"region", "age", "sex"} < set(recipe.roles.quasi)
    assert not {"postcode", "birth_date"} & set(recipe.roles.quasi)
    assert recipe.roles.household == "household_id"
    assert recipe.roles.weight == "weight"
    generalize, oma = recipe.steps
    assert generalize.columns == recipe.roles.quasi
    assert (generalize.local, generalize.aggregate) == (True, "sum")
    assert generalize.hierarchies["age"] == Hierarchy.intervals(
        widths=[5, 10, 20, 40], upper=90, whole=True
    )
    assert oma.columns == ["income", "assets"]


def test_reasons_stand_beside_the_roles(seen):
    text = propose(seen).text
    assert "# The riskiest key: postcode x birth_date singles out 100.0% of" in text
    assert '    "sex",  # registers and networks show it, as its name says\n' in text
    assert '# dropped: "postcode": says more than region, which it determines' in text
    assert 'add { model = "l-diversity", l = 3, column = "disease" }' in text
    assert Recipe.from_toml(text) == propose(seen).recipe


def test_answers_decide(seen):
    recipe = propose(seen, {"postcode": "quasi", "income": "drop", "weight": "insensitive"}).recipe
    assert "postcode" in recipe.roles.quasi
    assert recipe.roles.weight is None
    assert recipe.roles.insensitive == ["weight"]
    assert recipe.steps[1].columns == ["assets"]
    with pytest.raises(BadInput, match="'secret' is not a role; known: identifiers, quasi"):
        propose(seen, {"income": "secret"})


def test_hierarchies_are_written_to_edit_and_the_recipe_reads_them(tmp_path, people, seen):
    proposal = propose(seen, folder="trees")
    write_hierarchies(seen, proposal.hierarchies, tmp_path / "trees")
    (tmp_path / "recipe.toml").write_text(proposal.text, encoding="utf-8")
    assert (tmp_path / "trees/sex.csv").read_text() == "female;*\nmale;*\n"
    release = discreet.protect(people, tmp_path / "recipe.toml")
    assert release.check.verified
    with pytest.raises(BadInput, match=r"\.csv exists; choose another folder, or remove it"):
        write_hierarchies(seen, proposal.hierarchies, tmp_path / "trees")


def test_marks_of_missing_values_are_taken_and_codes_only_mentioned():
    n = 60
    table = pa.table(
        {
            "sex": ["m", "f", "?"] * (n // 3),
            "income": [*np.linspace(1, 9000, n - 3), -9.0, -9.0, -9.0],
            "seen on": [f"{i % 28 + 1:02d}.01.2024" for i in range(n)],
        }
    )
    proposal = propose(inspect(table))
    assert proposal.recipe.null_markers == ["?"]
    assert "# Missing: \"?\" in 'sex'." in proposal.text
    assert (
        "# Missing? '-9' in 'income' (negative, unlike all the others, in 3 records)."
        in proposal.text
    )
    assert "# 'seen on' holds dates as text (day.month.year)." in proposal.text


def test_a_hierarchy_of_dates_has_the_format_of_the_column():
    days = [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.{1980 + i // 10}" for i in range(300)]
    numbers = [int("".join(day.split(".")[::-1])) for day in days]
    table = pa.table({"sex": ["m", "f"] * 150, "seen on": days, "left_on": numbers})
    proposal = propose(inspect(table))
    levels = 'levels = ["quarter", "year", "decade"]'
    said = [f'"seen on" = {{ kind = "dates", {levels}, format = "%d.%m.%Y" }}',
            f'left_on = {{ kind = "dates", {levels}, format = "%Y%m%d" }}']  # fmt: skip
    assert set(said) < set(proposal.text.splitlines())
    release = discreet.protect(table, proposal.recipe)
    assert release.check.verified


def test_groups_are_written_a_line_each(seen):
    lines = propose(seen).text.splitlines()
    at = lines.index("[steps.hierarchies.marital_status]")
    assert lines[at + 1 : at + 6] == [
        'kind = "groups"',
        'tree.single = ["single"]',
        'tree.other.married = ["married"]',
        'tree.other."less common".cohabiting = ["cohabiting"]',
        'tree.other."less common".rare = ["divorced", "widowed"]',
    ]


def test_strange_names_and_columns_that_no_step_can_treat():
    n = 40
    table = pa.table(
        {
            'a "b"\n#c': ["x", "y"] * (n // 2),
            "größe [cm]": np.linspace(0.1, 99.7, n),
            "lists": [[i] for i in range(n)],
            "salary": [1.0] * 3 + [None] * (n - 3),
            "capital": [2**60 + i * 2**40 for i in range(n)],
            "loss": [float("inf"), *np.linspace(0, 1, n - 1)],
        }
    )
    proposal = propose(inspect(table), {"größe [cm]": "quasi"})
    assert set(tomllib.loads(proposal.text)["steps"][0]["hierarchies"]) == {
        'a "b"\n#c',
        "größe [cm]",
    }
    for reason in ("only 3 records have a value", "too many digits", "holds infinity", "list<item"):
        assert reason in proposal.text
    assert discreet.protect(table, proposal.recipe).check.verified


def test_not_more_quasi_identifiers_than_can_be_kept():
    rng = np.random.default_rng(2)
    table = pa.table({f"v{i}": rng.integers(0, 3, 300).astype(str) for i in range(25)})
    proposal = propose(inspect(table))
    assert len(proposal.recipe.roles.quasi) == MOST_QUASI
    assert "k-anonymity over more than 10 columns leaves little" in proposal.text


@pytest.mark.parametrize("rows", [1, 7, 9])
def test_small_tables_get_no_recipe(rows):
    records = "1 record" if rows == 1 else f"{rows} records"
    said = f"the table has {records}, too few to hide each among 5; no recipe is proposed"
    with pytest.raises(BadInput, match=said):
        propose(inspect(make_households(rows, seed=1)))


def test_the_smallest_table_has_the_usual_k():
    recipe = propose(inspect(make_households(10, seed=1))).recipe
    assert recipe.steps[0].privacy[0].k == 5


def test_nothing_to_release():
    table = pa.table({"name": [f"Ann Lee{i}" for i in range(30)], "mail": ["a@b.org"] * 30})
    with pytest.raises(BadInput, match="no column would be released, so no recipe is proposed: "):
        propose(inspect(table))


def test_what_names_persons_is_never_released(tmp_path):
    rng = np.random.default_rng(1)
    n = 400
    note = "Patient {} was seen by the doctor on duty and complained about a bad knee"
    people = {
        "age": ["?" if i % 20 == 0 else str(rng.integers(18, 90)) for i in range(n)],
        "sex": rng.choice(["m", "f"], n),
        "income": ["n/a" if i % 50 == 0 else str(rng.integers(1000, 99999)) for i in range(n)],
        "tax_id": [f"DE{i:09d}" for i in rng.permutation(n)],
        "treatment_notes": [note.format(i) for i in range(n)],
        "contact": ["j@example.org"] * n,
        "country": rng.choice(["NA", "DE", "FR", "ES"], n),
    }
    path = tmp_path / "t.csv"
    pd.DataFrame(people).to_csv(path, index=False)
    proposal = propose(inspect(path))
    assert proposal.recipe.null_markers == ["?", "n/a"]
    assert proposal.recipe.roles.identifiers == ["tax_id", "treatment_notes", "contact"]
    assert proposal.recipe.steps[1].columns == ["income"]
    assert proposal.hierarchies["age"].spec["kind"] == "intervals"
    assert "# Missing? 'NA' in 'country' (or a two-letter code like all the others" in proposal.text
    release = discreet.protect(path, proposal.recipe)
    assert release.check.verified
    public = release.table
    assert set(public.column_names) == {"age", "sex", "income", "country"}
    assert public["income"].drop_null().value_counts().to_pandas().str["counts"].min() >= 5


def test_names_that_break_lines_and_names_of_files_that_collide(tmp_path):
    rng = np.random.default_rng(1)
    names = ["birth\ndate = 'x'", "sex", "a b", "a/b", "A_b", "a_b_2", "x" * 300]
    table = pa.table({name: rng.choice(list("xyz"), 300) for name in names})
    table = table.set_column(0, names[0], pa.array(rng.integers(0, 200, 300)))
    path = tmp_path / "one\ntwo = 3.csv"
    write_table(table, path)
    seen = inspect(path)
    proposal = propose(seen, folder="trees")
    assert "# The riskiest key: birth date = 'x'" in proposal.text
    write_hierarchies(seen, proposal.hierarchies, tmp_path / "trees")
    files = file_names(seen)
    assert len({file.lower() for file in files.values()}) == len(names)
    assert {file.name for file in (tmp_path / "trees").iterdir()} == set(files.values())
    (tmp_path / "recipe.toml").write_text(proposal.text, encoding="utf-8")
    assert discreet.protect(path, tmp_path / "recipe.toml").check.verified


def test_no_hierarchy_is_written_where_one_exists(tmp_path, seen):
    hierarchies = propose(seen).hierarchies
    (tmp_path / file_names(seen)[list(hierarchies)[-1]]).write_text("mine")
    with pytest.raises(BadInput, match=r"\.csv exists; choose another folder, or remove it"):
        write_hierarchies(seen, hierarchies, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def _found(proposal, steps, **roles):
    """The roles of a proposal with other steps, as a search finds them."""
    content = proposal.recipe.model_dump(exclude_none=True)
    return Recipe.from_dict(content | {"roles": content["roles"] | roles, "steps": steps})


def test_what_a_search_may_choose_within(seen):
    content = propose(seen).to_search()
    # Amounts are averaged as proposed.
    assert [step["method"] for step in content["steps"]] == ["oma"]
    assert content["roles"]["quasi"] == list(content["hierarchies"])
    models = [{"model": "k-anonymity", "k": 5}]
    # What k = 5 promises, and no less.
    bound = {"risk": "linkage <= 0.2"}
    assert content["search"] == {**bound, "known": "quasi", "privacy": models}
    amounts = pa.table({"income": [float(i * i % 97) for i in range(50)]})
    content = propose(inspect(amounts)).to_search()
    assert content["search"] == bound
    assert "steps" not in content


def test_the_steps_of_a_search_take_the_place_of_the_proposed(seen):
    proposal = propose(seen)
    again = proposal.with_steps(proposal.recipe, [])
    assert again.recipe == proposal.recipe
    spec = {"kind": "intervals", "widths": [10]}
    steps = [
        {"method": "generalize", "columns": ["age"], "hierarchies": {"age": spec}, "levels": {"age": 1}},
        {"method": "noise", "columns": ["income"], "scale": 0.2, "kind": "multiplicative"},
    ]  # fmt: skip
    kept = {"quasi": ["age", "sex"], "untouched": ["sex"], "confidential": ["income"]}
    found = _found(proposal, steps, **kept)
    written = proposal.with_steps(found, ["age in 10-year groups", ""])
    assert written.recipe.roles == found.roles
    assert written.recipe.steps == found.steps
    lines = written.text.splitlines()
    assert "# age in 10-year groups" in lines
    assert '    "age",  # registers and networks show it, as its name says' in lines
    [dropped] = [line for line in lines if line.startswith('# dropped: "disease"')]
    assert dropped.endswith("it was taken for confidential")
    # What is so by default is not written.
    assert "precision" not in written.text


def test_the_steps_of_a_search_read_the_hierarchies_that_are_written(seen):
    proposal = propose(seen, folder="trees")
    steps = [
        {
            "method": "generalize",
            "columns": ["age"],
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {"age": {"kind": "auto"}},
        }
    ]
    found = _found(proposal, steps, quasi=["age"])
    text = proposal.with_steps(found, []).text
    assert 'privacy = [{ k = 5, model = "k-anonymity" }]' in text
    assert 'age = "trees/age.csv"' in text


def test_strange_names_in_the_steps_of_a_search():
    names = ['"odd" \\name', "two\nlines", "zip [code]"]
    table = pa.table({name: [str(i % 5) for i in range(100)] for name in names})
    proposal = propose(inspect(table), dict.fromkeys(names, "quasi"))
    assert proposal.with_steps(proposal.recipe, ["two\nlines"]).recipe == proposal.recipe


def test_the_recipe_says_what_codes_mean(tmp_path):
    often = [1.0] * 60 + [2.0] * 30 + [3.0] * 15 + [4.0] * 8 + [5.0] * 4 + [6.0] * 3
    frame = pd.DataFrame({"region": often, "sex": [1, 2] * 60})
    frame["mood"], frame["age"] = [1.0, 2, 2, 9] * 30, range(120)
    labels = {
        "region": {i: f"Region {i}\n{'AB'[i % 2]}" for i in range(1, 8)},
        "sex": {1: "male", 2: "female"},
        "mood": {9: "no answer"},
    }
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=labels)
    seen = inspect(tmp_path / "t.sav")
    for text in (propose(seen).text, try_out(propose(seen), seen)[0].text):
        regions = ", ".join(f"{i} = Region {i} {'AB'[i % 2]}" for i in range(1, 7))
        assert f"[steps.hierarchies.region]\n# {regions}\n" in text
        assert "# 1 = male, 2 = female\nsex = " in text
        assert "# 9 = no answer\nmood = " in text
    reasons = {look.name: look.guess.reason for look in seen.columns}
    assert reasons["mood"] == "3 numbers, which others may know"
