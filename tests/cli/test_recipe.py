"""`discreet recipe`: a recipe to begin with, what is wrong with one by line, and the schema."""

import json
import re
import shlex
import tomllib

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

from discreet import Recipe, write_table
from discreet.recipe.template import SCHEMA_FILE
from discreet.registry import methods


@pytest.fixture
def place(tmp_path, monkeypatch, households):
    monkeypatch.chdir(tmp_path)
    write_table(households, "in.csv")
    return tmp_path


def test_a_new_recipe_is_right_and_explains_every_choice(place, run):
    code, told, _ = run("recipe", "new")
    assert code == 0
    assert told.splitlines()[-1] == "Then: discreet recipe check recipe.toml --table TABLE"
    assert run("recipe", "check", "recipe.toml")[:2] == (0, "recipe.toml is right: generalize, oma\n")  # fmt: skip
    text = (place / "recipe.toml").read_text()
    named = set(re.findall(r"^(?:# )?([a-z_]+) = ", text, re.MULTILINE))
    schema = Recipe.json_schema()
    known = {*schema["properties"], *schema["$defs"]["Roles"]["properties"]}
    for method in ("OMAStep", "GeneralizeStep"):
        known |= {*schema["$defs"][method]["properties"]}
    assert known - {"seed_for", "order_seed", "roles", "steps", "hierarchies"} <= named
    assert all(method in text for method in methods())
    # Each choice that is written out is one, and leaves the recipe as it is.
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.match(r"# [a-z_]+ = (?!\.\.\.)", line) and "counts" not in line:
            chosen = [*lines[:number], line.removeprefix("# "), *lines[number + 1 :]]
            assert Recipe.from_toml("\n".join(chosen)).steps == Recipe.from_toml(text).steps, line


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('policy = "exmple"\nroles = { rest = "drop" }', ":1: there is no policy 'exmple', nor such a file; did you mean 'example'?"),
        ('policy = { name = "own.toml" }\nroles = { rest = "drop" }', ":1: the policy {place}/own.toml cannot be read: No such file or directory"),
        ('roles = { quasi = ["age"], rest = "drop" }\n[[steps]]\nmethod = "generalize"\ncolumns = ["age"]\n'
         'hierarchies = { age = { kind = "flat" } }\nprivacy = [{ model = "k-map", k = 3, population = "all.csv" }]', ":6: there is no file {place}/all.csv"),
        ('roles = { quasi = ["age"], rest = "drop" }\n[[steps]]\nmethod = "generalize"\ncolumns = ["age"]\n'
         'hierarchies = { age = "../" }\nprivacy = [{ model = "k-anonymity", k = 3 }]', ":5: there is no file {place}/.."),
    ],
)  # fmt: skip
def test_files_that_a_run_would_miss_are_named(place, run, more, said):
    (place / "recipe.toml").write_text(more)
    code, _, told = run("recipe", "check", "recipe.toml")
    assert (code, told) == (2, f"recipe.toml{said.format(place=place)}\n")


def test_the_command_that_comes_next_can_be_copied(place, run):
    (place / "in.csv").rename("my people.csv")
    _, told, _ = run("recipe", "new", "my people.csv", "--out", "my recipe.toml")
    _, *words = shlex.split(told.splitlines()[-1].removeprefix("Then: "))
    assert run(*words)[0] == 0


def test_a_file_that_cannot_be_written_is_said_in_a_sentence(place, run):
    (place / "loop.json").symlink_to("loop.json")
    code, _, said = run("recipe", "schema", "--out", "loop.json")
    assert code == 2
    assert said.startswith("discreet: cannot write to loop.json: ")


def test_a_new_recipe_of_a_table_has_its_columns_and_runs(place, run):
    assert run("recipe", "new", "in.csv", "--out", "own.toml")[0] == 0
    code, told, _ = run("recipe", "check", "own.toml", "--table", "in.csv")
    assert (code, told) == (0, "own.toml is right, and fits the columns of in.csv: generalize, oma\n")  # fmt: skip
    assert "age" in Recipe.load("own.toml").roles.quasi
    # What editors look for is there, and accepts it.
    first = (place / "own.toml").read_text().splitlines()[0]
    assert first == f"#:schema ./{SCHEMA_FILE}"
    schema = json.loads((place / SCHEMA_FILE).read_text())
    assert Draft202012Validator(schema).is_valid(tomllib.loads((place / "own.toml").read_text()))
    assert run("protect", "in.csv", "--recipe", "own.toml", "--out", "out")[0] == 0


def test_a_column_cannot_write_into_a_new_recipe(place, run):
    names = ["a\u2028rest = 'insensitive' #", "b\x85[[steps]]", "c\x0cd"]
    table = pa.table({name: [i % 7 for i in range(60)] for name in names})
    write_table(table, place / "odd.csv")
    run("recipe", "new", "odd.csv", "--out", "odd.toml")
    content = tomllib.loads((place / "odd.toml").read_text("utf-8"))
    assert content["roles"]["quasi"] == names
    assert content["roles"]["rest"] == "drop"


def test_nothing_is_replaced_unasked(place, run):
    (place / "recipe.toml").write_text("mine")
    code, _, told = run("recipe", "new")
    assert (code, told) == (2, "discreet: recipe.toml exists; choose another name, or replace it with --force\n")  # fmt: skip
    assert run("recipe", "new", "in.csv", "--out", "in.csv", "--force")[0] == 2
    assert (place / "recipe.toml").read_text() == "mine"
    assert not (place / SCHEMA_FILE).exists()
    assert run("recipe", "new", "--force")[0] == 0


WRONG = """\
sead = 1
holdout = 0.9
[roles]
quasi = [
    "age",
    "regoin",  # misspelt
]
confidential = ["income"]
rest = "keep"

[[steps]]
method = "generalise"
columns = ["age"]

[[steps]]
method = "oma"  # an inline comment, k = 3
columns = ["income", "income"]
k = 0
objective = "l2"
note = '''
k = 7
'''

[[steps]]
method = "generalize"
columns = ["age", "region"]
privacy = [
    { model = "k-anonymity", k = 5 },
    { model = "l-diversity", l = 3 },
]
[steps.hierarchies]
age = "ages.csv"
region = { kind = "fancy" }
"""
EXPECTED = """\
recipe.toml:1: unknown key 'sead'; did you mean 'seed'?
recipe.toml:2: holdout must be above 0 and at most 0.5, not 0.9
recipe.toml:6: the table has no column 'regoin' (role quasi); did you mean 'region'?
recipe.toml:9: 'roles.rest' should be 'drop' or 'insensitive', not 'keep'
recipe.toml:12: step 1: there is no method 'generalise'; did you mean 'generalize'?
recipe.toml:20: step 2 (oma): unknown key 'note'; known: method, columns, promise, precision, k, objective, representative, encoding, keep_ties, spikes
recipe.toml:29: step 3 (generalize): l-diversity needs column
recipe.toml:32: there is no file {place}/ages.csv
recipe.toml:33: step 3 (generalize): region: there is no hierarchy of kind 'fancy'; known: csv, table, groups, intervals, prefix, dates, order, flat, auto
"""


def test_all_that_is_wrong_is_told_by_line(place, run):
    (place / "recipe.toml").write_text(WRONG)
    code, out, told = run("recipe", "check", "recipe.toml", "--table", "in.csv")
    assert (code, out) == (2, "")
    assert told == EXPECTED.format(place=place)
    code, out, _ = run("recipe", "check", "recipe.toml", "--json")
    assert code == 2
    assert [one["line"] for one in json.loads(out)] == [1, 2, 9, 12, 20, 29, 32, 33]
    # Once types and names are right, the rules of a step and of all together are told.
    text = WRONG.replace("note = '''\nk = 7\n'''\n", "")
    (place / "recipe.toml").write_text(text[text.index("[roles]") :].replace('"keep"', '"drop"'))
    lines = [one["line"] for one in json.loads(run("recipe", "check", "recipe.toml", "--json")[1])]
    assert lines == [10, 15, 16, 24, 27, 28]


def test_rules_that_join_keys_are_all_told_by_line(place, run):
    (place / "recipe.toml").write_text(
        'seed = 7\ncounts = "units"\n[roles]\nidentifiers = ["name", "age"]\nquasi = ["age", "sex"]\n'
        'rest = "drop"\nuntouched = [\n  "region",\n]\n[[steps]]\nmethod = "noise"\n'
        'columns = [\n  "name",\n  "income",\n]\nscale = 0.1\n'
    )
    code, _, told = run("recipe", "check", "recipe.toml")
    assert code == 2
    lines = [int(line.split(":")[1]) for line in told.splitlines()]
    assert lines == [1, 2, 5, 5, 5, 8, 13], told


STEP = """[roles]
quasi = ["age", "sex"]
[[steps]]
columns = ["age", "sex"]
"""
FLAT = 'method = "generalize"\nhierarchies = { age = { kind = "flat" }, sex = { kind = "flat" } }\n'
ALONE = "k = 1 lets every record stand alone; set k = 2 or more"


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        (FLAT + "[[steps.privacy]]\nmodel = 'k-anonymity'\nk = 5\n[[steps.privacy]]\nmodel = 'k-anonymity'\nk = 1", 12, f"step 1 (generalize): {ALONE}"),
        ("method = 'local-suppression'\nk = 3\n[[steps.combinations]]\ncolumns = ['age']\nk = 1", 9, f"step 1 (local-suppression): {ALONE}"),
        ("method = 'local-suppression'\nk = 3\n[[steps.combinations]]\ncolumns = ['zip']\nk = 3", 7, "step 1 (local-suppression): combinations names 'zip', which is not among the columns to treat; known: age, sex"),
        ("method = 'mdav'\n[steps.k]\nage = 3\nsex = 1", 8, f"step 1 (mdav): {ALONE}"),
        ("method = 'mdav'\nk = { age = 3 }", 6, "step 1 (mdav): k is given by column, but not for column 'sex'"),
        ("method = 'given-cuts'\ncuts = [3]\npoints = [1, 5]\nmin_count = { age = 3 }", 8, "step 1 (given-cuts): min_count is given by column, but not for column 'sex'"),
        ("method = 'microaggregation'\nk = 3\nstrata = 'sex'", 7, "step 1 (microaggregation): column 'sex' cannot be treated and give the strata"),
        ("method = 'top-bottom'\nupper = { age = 90 }", 6, "step 1 (top-bottom): top-bottom has neither lower nor upper for column 'sex'"),
        (FLAT + "privacy = [{ model = 'k-anonymity', k = 3 }]\nlevels = { age = [1, 0] }", 8, "step 1 (generalize): levels of 'age' must be the lowest and then the highest of a range, not [1, 0]"),
        ("method = 'ipso'\nconfidential = ['sex']", 6, "step 1 (ipso): column 'sex' cannot be both synthesised and confidential"),
        ("method = 'safepub'\nepsilon = 1.0\ndelta = 1e-5\nlevels = { age = 1 }\nhierarchies = { age = { kind = 'flat' } }", 9, "step 1 (safepub): column 'sex' has no hierarchy, and the promise of safepub is about whole records; give it one under hierarchies, or leave the column out"),
        (FLAT.replace("age = {", "zip = {") + "[[steps.privacy]]\nmodel = 'k-anonymity'\nk = 3", 6, "step 1 (generalize): hierarchies names 'zip', which is not among the step's columns; known: age, sex"),
        ("method = 'generalize'\nprivacy = [{ model = 'k-anonymity', k = 3 }]\nhierarchies = { age = { kind = 'flat' } }", 7, "step 1 (generalize): column 'sex' has no hierarchy; give it one under hierarchies, such as sex = { kind = \"auto\" }"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_columns_of_a_step_is_told_before_there_is_a_table(
    place, run, more, line, said
):
    (place / "recipe.toml").write_text(STEP + more)
    code, _, told = run("recipe", "check", "recipe.toml")
    assert (code, told) == (2, f"recipe.toml:{line}: {said}\n")


@pytest.mark.parametrize(
    "more",
    [
        "method = 'microaggregation'\nk = 3\nstrata = 'nope'",
        "method = 'ipso'\nvariant = 'A'\nconfidential = ['nope']",
        "method = 'anatomy'\nl = 2\nconfidential = ['nope']",
        "method = 'local-suppression'\nk = 3\nweight = 'nope'\nrisk = 'individual'\nmax_risk = 0.1",
        FLAT + "target = 'nope'\nquality = 'classification'\nprivacy = [{ model = 'k-anonymity', k = 3 }]",
    ],
)  # fmt: skip
def test_columns_that_a_step_reads_must_be_there(place, run, more):
    (place / "recipe.toml").write_text(STEP.replace("[[", 'rest = "drop"\n[[') + more)
    _, _, told = run("recipe", "check", "recipe.toml", "--table", "in.csv")
    line = 1 + next(i for i, one in enumerate((STEP + "\n" + more).splitlines()) if "nope" in one)
    said = "the table has no column 'nope' (step 1); "
    assert f"recipe.toml:{line}: {said}" in told


def test_steps_in_single_brackets_are_explained(place, run):
    (place / "recipe.toml").write_text('roles = { rest = "drop" }\n[steps]\nmethod = "oma"\n')
    _, _, told = run("recipe", "check", "recipe.toml")
    assert told == "recipe.toml:2: each step begins with [[steps]], in two pairs of brackets\n"


def test_without_roles_no_column_is_said_to_lack_one(place, run):
    (place / "recipe.toml").write_text("")
    _, _, told = run("recipe", "check", "recipe.toml", "--table", "in.csv")
    assert told == "recipe.toml:1: 'roles' is missing\n"


QUOTES = 'text goes in straight quotes, "like this"; true and false in lower case'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[roles]\nquasi = [\n  'age'\n  'sex'\n]\n", 4, "not TOML: Unclosed array"),
        ("[roles]\nquasi = ['age'", 2, "not TOML: Unclosed array"),
        ("[roles]\n\nseed 7\n", 3, "not TOML: Expected '=' after a key in a key/value pair"),
        ("x = 1\nx = 2\n", 2, "not TOML: Cannot overwrite a value; the key is there twice"),
        ('x = 1\ny = "a\n', 2, "not TOML: Illegal character '\\n'; a closing quote is missing"),
        ("x = 1\ny = True\n", 2, f"not TOML: Invalid value; {QUOTES}"),
        ("y = \u201ca\u201d\n", 1, f"not TOML: Invalid value; {QUOTES}"),
        (
            "[x]\n[x]\n",
            2,
            "not TOML: Cannot declare ('x',) twice; a heading in [ ] may be there once, one in [[ ]] often",
        ),
        ("", 1, "'roles' is missing"),
    ],
)
def test_what_is_not_toml_is_told_with_its_line(place, run, text, line, said):
    (place / "recipe.toml").write_text(text)
    code, _, told = run("recipe", "check", "recipe.toml")
    assert (code, told) == (2, f"recipe.toml:{line}: {said}\n")


def test_what_needs_no_rows_to_be_refused_is_told_before_they_are_read(place, run):
    (place / "recipe.toml").write_text(
        '[roles]\nquasi = ["region"]\nrest = "drop"\n'
        '[[steps]]\nmethod = "generalize"\ncolumns = ["region"]\n'
        'privacy = [{ model = "k-anonymity", k = 2 }]\nhierarchies = {}\n'
        '[[steps]]\nmethod = "oma"\ncolumns = [\n  "income",\n]\nk = 3\n'
    )
    table = next(place.glob("*.csv")).name
    code, _, told = run("recipe", "check", "recipe.toml", "--table", table)
    assert (code, told) == (
        2,
        "recipe.toml:8: step 1 (generalize): column 'region' has no hierarchy; give it one under "
        'hierarchies, such as region = { kind = "auto" }\n'
        "recipe.toml:12: step 2 treats 'income', which has no role and is dropped "
        '(rest = "drop"); give it one\n',
    )


def test_the_schema_is_printed_or_written(place, run):
    code, told, _ = run("recipe", "schema")
    assert (code, json.loads(told)) == (0, Recipe.json_schema())
    assert run("recipe", "schema", "--out", "s.json")[0] == 0
    assert (place / "s.json").read_text() == told
    assert run("recipe", "schema", "--out", "s.json")[0] == 2
