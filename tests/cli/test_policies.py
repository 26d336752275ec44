"""Policies on the command line: which there are, and what falls short of one."""

import json

import pytest

RULES = """
title = "House"
source = "Handbook"
date = 2024-05-01

[[rules]]
rule = "k"
least = 3
says = "Three share all keys."
source = "page 1"

[[rules]]
rule = "old"
years = 1
says = "The data are a year old."
source = "page 2"
"""
RECIPE = """
[roles]
quasi = ["sex"]
untouched = ["sex"]
rest = "insensitive"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "house.toml").write_text(RULES)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    (tmp_path / "kept.csv").write_text("sex,pay\nf,1\nf,2\nf,3\n")
    (tmp_path / "missed.csv").write_text("sex,pay\nf,1\nf,2\nf,3\nm,4\n")
    return tmp_path


def test_a_check_ends_with_1_where_a_rule_is_missed(run, folder):
    given = ["--recipe", folder / "recipe.toml", "--policy", folder / "house.toml"]
    code, text, _ = run("check", folder / "kept.csv", *given)
    assert code == 0
    assert "Against House: 1 kept, 1 open" in text
    assert "Open: The data are a year old: the age of the data; say which day" in text
    code, text, _ = run("check", folder / "missed.csv", *given, "--collected", "2020-01-01")
    assert code == 1
    said = " ".join(text.split())
    assert (
        "Missed: Three share all keys: 1 of 4 records share their values with fewer than 3; the "
        "smallest class has 1, over sex. Next: add a step generalize or local-suppression with "
        "k = 3 over sex."
    ) in said
    code, text, _ = run("check", folder / "missed.csv", *given, "--json")
    policy = json.loads(text)["policy"]
    assert (code, policy["status"], policy["verdicts"][0]["records"]) == (1, "missed", 1)


def test_a_table_of_results_needs_no_recipe(run, folder):
    (folder / "house.toml").write_text(
        RULES.replace('rule = "k"\nleast = 3', 'rule = "hidden"\nhigh = 10')
    )
    (folder / "counts.csv").write_text("region,n\nnorth,11\nsouth,10\n")
    given = ["check", folder / "counts.csv", "--policy", folder / "house.toml"]
    code, text, _ = run(*given, "--group", "counts=n")
    assert code == 1
    assert "1 of 2 cells of n: 10 in 'n' is one of 1 to 10" in " ".join(text.split())
    code, text, _ = run(*given)
    assert code == 0
    assert "name them: --group 'counts=COLUMN,COLUMN'" in " ".join(text.split())
    code, _, said = run(*given, "--group", "n")
    assert code == 2
    assert (
        said == "discreet: --group takes a name and columns, as counts=patients,deaths, not 'n'\n"
    )


def test_policies_are_listed_and_shown(run, folder):
    code, text, _ = run("policies", "--json")
    assert code == 0
    assert "example" in {one["name"] for one in json.loads(text)}
    code, text, _ = run("policies")
    [line] = [line for line in text.splitlines() if line.startswith("hipaa-safe-harbor")]
    assert line.split("  ", 1)[1].strip() == "HIPAA Safe Harbor, 2002 (22 rules)"
    code, text, _ = run("policies", folder / "house.toml")
    assert "Handbook, 2024-05-01" in text
    assert "least = 3" in text
    assert text.endswith(
        f"discreet check RELEASE --policy {folder / 'house.toml'} --collected DAY\n"
    )
    text = " ".join(run("policies", "census-drb")[1].replace("│", " ").split())
    assert "up_to" not in text
    assert text.endswith(
        "Hold a release against it: discreet check RELEASE --policy census-drb --group "
        "'counts=COLUMNS' --group 'estimates=COLUMNS'"
    )
    text = " ".join(run("policies", "statistics-netherlands-public")[1].split())
    assert text.endswith("--population FILE --collected DAY")
    code, _, said = run("policies", "exampel")
    assert (code, said) == (
        2,
        "discreet: there is no policy 'exampel', nor such a file; did you mean 'example'?\n",
    )


def test_the_recipe_names_a_policy_beside_it(run, folder):
    table = "".join(f"f,{i}.5\n" for i in range(40)) + "m,7.25\nm,8.25\n"
    (folder / "in.csv").write_text("sex,pay\n" + table)
    (folder / "recipe.toml").write_text('policy = "house.toml"\n' + RECIPE)
    code, text, error = run(
        "protect", folder / "in.csv", "--recipe", folder / "recipe.toml", "--out", folder / "out"
    )
    # The release is there to be looked at, and whoever runs this in a script is told.
    assert code == 1, text
    assert (folder / "out" / "public" / "table.csv").exists()
    assert error == (
        f"discreet: {folder / 'out' / 'public' / 'table.csv'} misses 1 of 2 rules of House, the "
        "policy of its recipe; mend the recipe before you share it\n"
    )
    assert f"Do not share yet: {folder / 'out' / 'public' / 'table.csv'}" in text
    said = " ".join(text.split())
    assert "(policy: House): Three share all keys (2 of 42 records" in said
    assert "Next add a step generalize or local-suppression with k = 3 over sex" in said
    # Whoever checks the release holds it against the same policy.
    code, text, _ = run("check", folder / "out", "--any-key")
    assert code == 1
    assert "Against House: 1 missed, 1 open" in text
    code, _, said = run("check", folder / "out", "--any-key", "--collected", "soon")
    assert code == 2
    assert "collected must be a day such as 2024-12-31, not 'soon'" in said
    (folder / "house.toml").unlink()
    code, text, said = run("check", folder / "out", "--any-key")
    assert code == 1
    assert "Against House" not in text
    assert "Open: The release keeps the policy of its recipe" in " ".join(text.split())
    assert said == (
        f"discreet: {folder / 'house.toml'}, which the recipe names for its policy, cannot be read; "
        "put it back, or give another\n"
    )


def test_a_policy_beside_the_recipe_may_have_any_name(run, folder, monkeypatch):
    table = "".join(f"f,{i}.5\n" for i in range(40))
    (folder / "in.csv").write_text("sex,pay\n" + table)
    (folder / "house.toml").rename(folder / "house")
    (folder / "recipe.toml").write_text('policy = "house"\n' + RECIPE)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    files = [folder / "in.csv", "--recipe", folder / "recipe.toml", "--out", folder / "out"]
    code, text, _ = run("protect", *files)
    assert code == 0
    assert "Of 2 rules of House, 1 is kept and 1 open" in " ".join(text.split())
    for name, said in (
        ("rules/house.policy", f"the policy {folder / 'rules' / 'house.policy'} cannot be read"),
        ("hipaa", "there is no policy 'hipaa', nor such a file; did you mean 'hipaa-safe-harbor'?"),
    ):
        (folder / "recipe.toml").write_text(f'policy = "{name}"\n' + RECIPE)
        code, _, error = run("protect", *files, "--force")
        assert code == 2
        assert said in error


def test_options_of_a_policy_need_one(run, folder):
    given = ["check", folder / "kept.csv", "--recipe", folder / "recipe.toml"]
    code, _, said = run(*given, "--collected", "2020-01-01")
    assert (code, said) == (
        2,
        "discreet: --collected is for the rules of a policy; give --policy, too\n",
    )
