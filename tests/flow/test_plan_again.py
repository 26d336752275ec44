"""The plan of an earlier release applied to another table: what stays, what is decided on anew,
and what is said where a promise no longer holds."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import check_release, protect, write_table
from discreet.check.manifest import Seal
from discreet.errors import BadInput, BrokenPromise
from tests.examples import examples
from tests.flow.plans import BANDS, LEVELS, few, people, recipe, saved


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A release of 2025, and next to it the tables of both years."""
    folder = tmp_path_factory.mktemp("years")
    for year, seed in (2025, 1), (2026, 2):
        write_table(people(seed=seed), folder / f"{year}.csv")
    protect(folder / "2025.csv", recipe()).save(folder / "release")
    return folder


def saved_by_plan(table, plan, folder):
    protect(table, plan=plan).save(folder)
    return folder / "internal"


def checked(release, original):
    internal = release / "internal"
    (table,) = (release / "public").glob("table.*")
    return check_release(table, internal / "recipe.toml", internal, original)


# What stays, and what does not


@examples(32)
@given(
    seed=st.integers(0, 99),
    policy=st.sampled_from(["segregate", "value", "suppress", "match"]),
    method=st.sampled_from(["oma", "mdav", "equal-width"]),
    counts=st.sampled_from([None, "households"]),
)
def test_the_same_table_by_its_own_plan_is_the_same(tmp_path_factory, seed, policy, method, counts):
    rounding = {"method": method, "columns": ["income"], "spikes": "keep"}
    rounding |= {"n_points": 5, "min_count": 4} if method == "equal-width" else {"k": 4}
    households = {} if counts is None else {"roles": {"household": "household_id"}}
    asked = recipe(
        LEVELS | {"null_policy": policy, "suppression_limit": 0.2},
        rounding,
        {"method": "base", "columns": ["assets"], "min_attraction": 3, "ends": "open"},
        **households,
        allow_leaks=["income", "assets"],
    )
    table = people(250, seed)
    first = protect(table, asked)
    first.save(folder := tmp_path_factory.mktemp("own") / "release")
    again = protect(table, plan=folder)
    assert [*again.log["plan"]["kept"]] == ["1", "2", "3"]
    shown = [name for name in first.table.column_names if name != "household_id"]
    assert again.table.select(shown).equals(first.table.select(shown))


def test_next_year_has_the_levels_the_cuts_and_the_labels_of_this_year(earlier):
    first = protect(people(seed=1), recipe())
    later = protect(people(900, seed=7), plan=earlier / "release" / "internal", suppress=True)
    for name in ("age", "postcode", "sex"):
        assert {*later.recipe.steps[0].levels} == {"age", "sex", "postcode"}
        top = len(later.plan["steps"][0]["joint"]["hierarchies"][name]["labels"]) - 1
        if first.plan["steps"][0]["columns"][name]["levels"][0] == top:
            assert {*later.table[name].to_pylist()} <= {"*", None}
    points = {*first.plan["steps"][1]["columns"]["income"]["points"].tolist()}
    assert {*later.table["income"].drop_null().to_pylist()} <= points
    # Intervals of ages that nobody had a year ago are those that there were.
    assert later.recipe.steps[0].hierarchies["age"].spec["kind"] == "intervals"


def test_memory_and_duckdb_give_the_same(earlier, tmp_path):
    plan, table = earlier / "release", earlier / "2026.csv"
    made = [protect(table, plan=plan, engine=e, suppress=True) for e in ("memory", "duckdb")]
    shown = ["age", "sex", "postcode", "income"]
    one, other = (release.finished.native() for release in made)
    other = other.to_arrow_table() if hasattr(other, "to_arrow_table") else other.arrow()
    rows = [sorted(map(str, t.select(shown).to_pylist())) for t in (one, pa.table(other))]
    assert rows[0] == rows[1]
    made[1].save(tmp_path / "release")
    assert checked(tmp_path / "release", table).ok


# An ordinary release


def test_it_is_an_ordinary_release_that_says_whose_plan_it_has(earlier, tmp_path, run):
    out, plan = tmp_path / "out", earlier / "release" / "internal"
    code, said, _ = run("protect", earlier / "2026.csv", "--plan", plan, "--out", out)
    assert code == 0
    log = json.loads((out / "internal" / "log.json").read_text())
    number = json.loads((plan / "log.json").read_text())["release"]
    assert log["plan"]["sha256"] == hashlib.sha256((plan / "plan.json").read_bytes()).hexdigest()
    assert log["plan"]["release"] == number
    assert f"Plan: of release {number} of " in said
    assert "steps 1, 2 kept, step 3 decided on anew" in said
    assert f"of release {number} of " in (out / "internal" / "report.html").read_text()
    assert "the same people in two years" in [one["attack"] for one in log["attacks"]]
    assert run("check", out, "--original", earlier / "2026.csv")[0] == 0
    assert run("assess", earlier / "2026.csv", out)[0] == 0
    assert run("report", out, "--out", tmp_path / "report.html")[0] == 0
    # Its own recipe gives the same bytes, and its own plan serves the year after.
    own, again = out / "internal" / "recipe.toml", tmp_path / "again"
    assert run("protect", earlier / "2026.csv", "--recipe", own, "--out", again)[0] == 0
    table = Path("public") / "table.csv"
    assert (out / table).read_bytes() == (again / table).read_bytes()
    third = protect(earlier / "2026.csv", plan=out)
    assert third.log["plan"]["kept"].keys() == {"1", "2"}


def test_the_public_half_says_nothing_of_the_plan(earlier, tmp_path):
    protect(earlier / "2026.csv", plan=earlier / "release").save(tmp_path / "out")
    log = json.loads((tmp_path / "out" / "internal" / "log.json").read_text())
    for path in (tmp_path / "out" / "public").iterdir():
        assert log["plan"]["release"] not in path.read_text()
        assert log["plan"]["sha256"] not in path.read_text()


# Promises


def test_what_no_longer_holds_is_said_for_each_promise_and_nothing_is_written(tmp_path, run):
    plan, table = few(tmp_path)
    write_table(table, tmp_path / "new.csv")
    out = tmp_path / "out"
    code, said, error = run("protect", tmp_path / "new.csv", "--plan", plan, "--out", out)
    assert (code, said) == (1, "")
    assert not out.exists()
    first, *promises, remedy = error.splitlines()
    number = json.loads((plan / "log.json").read_text())["release"]
    assert first == (
        f"discreet: the plan of release {number} does not keep its promises on these rows:"
    )
    levels, income, assets = promises
    assert levels.startswith("  step 1 (generalize): suppression_limit = 0.05 cannot be met")
    assert "records must be suppressed to keep the privacy models" in levels
    counts = np.bincount(np.unique(_rounded(plan, table, "income"), return_inverse=True)[1])
    rare = counts[counts < 20]
    assert income == (
        f"  step 2 (oma): {rare.sum()} records hold {len(rare)} of the {_points(plan)} points of "
        "'income', each shared by fewer than 20 records"
    )
    assert "'assets', each shared by fewer than 20 records" in assets
    assert remedy == (
        "suppress what breaks them with --suppress, decide on these steps anew with --anew 1 "
        "--anew 2, or on all with --recipe"
    )


def _points(plan):
    return len(
        json.loads((plan / "plan.json").read_text())["steps"][1]["columns"]["income"]["points"]
    )


def _rounded(plan, table, name, step=1):
    """Round by the plan, as its definition says."""
    own = json.loads((plan / "plan.json").read_text())["steps"][step]["columns"][name]
    values = table[name].drop_null().to_numpy()
    return np.array(own["points"])[np.digitize(values, own["cuts"])]


def test_suppress_keeps_the_promises_by_what_the_steps_themselves_do(tmp_path):
    plan, table = few(tmp_path)
    release = protect(table, plan=plan, suppress=True)
    assert release.check.ok
    shown = release.table.filter(pc.is_valid(release.table["sex"]))
    for names, k in ((["age", "sex", "postcode"], 5), (["income"], 20), (["assets"], 20)):
        sizes = pc.value_counts(pa.array(map(str, shown.select(names).to_pylist())))
        assert min(sizes.field("counts").to_pylist()) >= k, names
    assert release.recipe.steps[0].suppression_limit > 0.05
    release.save(tmp_path / "out")
    write_table(table, tmp_path / "new.parquet")
    assert checked(tmp_path / "out", tmp_path / "new.parquet").ok


def test_a_step_is_decided_on_anew_where_that_is_asked_for(tmp_path):
    plan, table = few(tmp_path)
    release = protect(table, plan=plan, anew=[1, 2])
    assert [step.method for step in release.recipe.steps] == ["generalize", "oma"]
    assert release.log["plan"]["anew"] == dict.fromkeys(["1", "2"], "as was asked for")
    with pytest.raises(BadInput, match=r"^there is no step 3 to decide on anew; the plan has 2$"):
        protect(table, plan=plan, anew=[3])


def test_a_step_that_was_decided_on_anew_is_not_to_be_decided_on_anew(tmp_path):
    """The advice would lead to the same message."""
    step = LEVELS | {"columns": ["age"], "levels": {"age": [0, 2]}}
    step["hierarchies"] = {"age": {"kind": "intervals", "widths": [5, 10]}}
    plan = saved(people(600, 1), recipe(step), tmp_path / "release")
    advice = "suppress what breaks them with --suppress, decide on "
    for anew, what in (
        ([], "these steps anew with --anew 1, or on all with --recipe"),
        ([1], "all anew with --recipe"),
    ):
        with pytest.raises(BrokenPromise) as error:
            protect(people(20, 5), plan=plan, anew=anew)
        _, levels, remedy = str(error.value).splitlines()
        assert levels.startswith("  step 1 (generalize): suppression_limit = 0.05 cannot be met")
        assert remedy == advice + what


def test_a_step_without_a_decision_is_not_decided_on_anew(tmp_path):
    cuts = {"method": "given-cuts", "columns": ["x"], "cuts": [50], "points": [25, 75]}
    asked = {"roles": {"confidential": ["x"]}, "steps": [cuts | {"min_count": 3}]}
    plan = saved(pa.table({"x": np.arange(100)}), asked, tmp_path / "release")
    with pytest.raises(
        BrokenPromise, match=r"\nsuppress .* with --suppress, decide on all anew with"
    ):
        protect(pa.table({"x": [*range(50), 99]}), plan=plan)
    with pytest.raises(BadInput, match=r"^step 1 \(given-cuts\) has nothing to decide on anew: "):
        protect(pa.table({"x": [*range(50), 99]}), plan=plan, anew=[1])


def test_a_base_that_no_longer_holds_is_not_suppressed(tmp_path):
    base = {"method": "base", "columns": ["x"], "min_attraction": 3}
    asked = {"roles": {"confidential": ["x"]}, "steps": [base]}
    plan = saved(pa.table({"x": np.arange(100)}), asked, tmp_path / "release")
    with pytest.raises(BrokenPromise) as error:
        protect(pa.table({"x": [0, 50, 100]}), plan=plan, suppress=True)
    assert str(error.value).splitlines()[1:] == [
        "  step 1 (base): column 'x': no base of [4.05] leaves 3 records at each multiple",
        "decide on these steps anew with --anew 1, or on all with --recipe",
    ]


def test_points_of_rows_that_are_linked_are_not_suppressed(tmp_path):
    roles = {"unit": "who", "pseudonyms": ["who"], "confidential": ["x"]}
    bands = {"method": "equal-frequency", "columns": ["x"], "n_points": 5, "min_count": 10}
    table = pa.table({"who": np.arange(100) // 2, "x": np.arange(100) * 1.5})
    plan = saved(table, {"roles": roles, "steps": [bands]}, tmp_path / "release")
    for suppress in (True, False):
        with pytest.raises(BrokenPromise) as error:
            protect(table.slice(0, 30), plan=plan, suppress=suppress)
        few, what = str(error.value).splitlines()[1:]
        assert few.endswith("of the 5 points of 'x', each shared by fewer than 10 units")
        assert what == "decide on these steps anew with --anew 1, or on all with --recipe"


def test_what_is_treated_once_a_household_is_counted_in_households(tmp_path):
    amounts = {"method": "oma", "columns": ["household_income"], "k": 5}
    asked = recipe(amounts, roles={"household": "household_id", "release_household": False})
    plan = saved(people(900, 1, survey=True), asked, tmp_path / "release")
    table = people(150, 2, survey=True)
    with pytest.raises(BrokenPromise) as error:
        protect(table, plan=plan)
    rounded = _rounded(plan, table, "household_income", step=0)
    pairs = {*zip(rounded.tolist(), table["household_id"].to_pylist(), strict=True)}
    shared = np.unique([point for point, _ in pairs], return_counts=True)[1]
    few = shared[shared < 5]
    assert (
        str(error.value)
        .splitlines()[1]
        .startswith(f"  step 1 (oma): {few.sum()} households hold {len(few)} of the ")
    )


# What changed in the table


def test_a_new_column_is_not_released_though_the_rest_is(tmp_path):
    """An attack on the steward: whatever the recipe says of the rest, nobody has seen this one."""
    asked = recipe(BANDS, roles={"rest": "insensitive"})
    kept = ["name", "income", "education"]
    plan = saved(people().select(kept), asked, tmp_path / "release")
    table = people(seed=2).select([*kept, "disease"])
    said = (
        "^column 'disease' is new, and the plan says nothing of it; leave it out of the table, or "
        "decide anew with a recipe instead of the plan$"
    )
    for engine in ("memory", "duckdb"):
        with pytest.raises(BadInput, match=said):
            protect(table, plan=plan, engine=engine)
    released = protect(table.select(kept), plan=plan, suppress=True).table
    assert released.column_names == ["income", "education"]


def test_a_column_that_is_missing_is_named(earlier):
    said = r"^the table has no column 'income' \(role confidential\)"
    with pytest.raises(BadInput, match=said):
        protect(people(seed=2).drop_columns("income"), plan=earlier / "release")


def test_values_that_no_hierarchy_knows(tmp_path):
    """They are named; in the hierarchy's file they can be added, and other labels are told."""
    file = tmp_path / "jobs.csv"
    jobs = sorted({*people(seed=1)["sex"].drop_null().to_pylist()})
    file.write_text("".join(f"{job};person\n" for job in jobs))
    step = {
        **LEVELS,
        "columns": ["sex"],
        "hierarchies": {"sex": {"kind": "csv", "path": str(file)}},
    }
    plan = saved(people(seed=1), recipe(step), tmp_path / "release")
    table = people(seed=2)
    new = pc.if_else(pc.equal(pa.array(np.arange(len(table))), 0), "diverse", table["sex"])
    table = table.set_column(table.column_names.index("sex"), "sex", new)
    said = (
        r"^step 1 \(generalize\): column 'sex': 1 value in 1 row has no place in the hierarchy: "
        "'diverse'; add it to the hierarchy, or correct the data$"
    )
    with pytest.raises(BadInput, match=said):
        protect(table, plan=plan)
    file.write_text(file.read_text() + "diverse;person\n")
    assert not any("other labels" in one for one in protect(table, plan=plan).log["warnings"])
    file.write_text(file.read_text().replace("female;person", "female;woman"))
    (told,) = (one for one in protect(table, plan=plan).log["warnings"] if "labels" in one)
    assert told == (
        "step 1 (generalize): the hierarchy of 'sex' gives 1 value of the earlier table other "
        "labels than then"
    )
    file.write_text("male;person\n")
    with pytest.raises(BadInput, match="the hierarchy's file is not what it was: column 'sex'"):
        protect(table, plan=plan)


def gaps(patterns, seed):
    """Make a table of two columns, where every so many rows lack the columns that are named."""
    draw = np.random.default_rng(seed)
    n = 600
    where = np.arange(n) % len(patterns)
    columns = {"a": draw.integers(0, 90, n), "b": draw.choice(list("pqrstuvw"), n)}
    return pa.table(
        {
            name: pa.array(values, mask=np.array([name in one for one in patterns])[where])
            for name, values in columns.items()
        }
    )


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_values_that_are_written_in_another_way_are_told(tmp_path, engine):
    step = LEVELS | {"hierarchies": LEVELS["hierarchies"] | {"sex": {"kind": "flat"}}}
    plan = saved(people(), recipe(step), tmp_path / "one")
    now = people(seed=2)
    assert not any("the earlier table had not" in one for one in told(now, plan, engine))
    sex = pc.if_else(pc.equal(now["sex"], "male"), "1", now["sex"])
    now = now.set_column(now.column_names.index("sex"), "sex", sex)
    assert (
        "step 1 (generalize): 'sex' has 1 value that the earlier table had not ('1'), and lacks 1 "
        "that it had; if they are only written in another way, write them as before, or the "
        "releases cannot be compared" in told(now, plan, engine)
    )


@pytest.mark.parametrize("method", ["generalize", "mondrian", "local"])
def test_many_new_values_are_told_in_short_and_where_groups_are_decided_on_anew(tmp_path, method):
    """To name them took the square of their number; Mondrian's plan has no values to compare."""
    names = pa.table({"town": [f"{place}{i}" for i in range(20_000) for place in "ab"]})
    step = {"method": "mondrian" if method == "mondrian" else "generalize", "columns": ["town"]}
    step |= {
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "hierarchies": {"town": {"kind": "flat"}},
    }
    step |= {"local": True} if method == "local" else {}
    asked = {"roles": {"quasi": ["town"]}, "steps": [step]}
    plan = saved(names, asked, tmp_path / "one")
    later = pa.table({"town": [f"c{one}" for one in names["town"].to_pylist()]})
    said = [one for one in told(later, plan, "memory") if "the earlier table had not" in one]
    assert all(one.count("'ca") <= 5 and "and 39,995 more" in one for one in said)
    assert len(said) == (method != "mondrian")


def told(table, plan, engine):
    return protect(table, plan=plan, engine=engine, suppress=True).log["warnings"]


def test_records_with_nulls_where_there_were_none_are_told(tmp_path):
    step = LEVELS | {"columns": ["a", "b"], "segregate": "pattern"}
    step["hierarchies"] = {name: {"kind": "auto"} for name in step["columns"]}
    asked = {"roles": {"quasi": ["a", "b"]}, "steps": [step]}
    plan = saved(gaps(["", "", "", "a"], 1), asked, tmp_path / "release")
    for patterns in (["", "a"], [""]):
        again = protect(gaps(patterns, 2), plan=plan, suppress=True)
        assert not any("searched for" in one for one in again.log["warnings"])
    later = protect(gaps(["", "", "", "a", "b"], 2), plan=plan, suppress=True)
    assert later.recipe.steps[0].levels == {"a": {"without nulls": 3, "nulls 1": 0}, "b": 0}
    assert (
        "step 1 (generalize): levels of 'a' say nothing of the records nulls 2, for which the best "
        "level is searched for"
    ) in later.log["warnings"]


def test_each_group_of_records_that_does_not_keep_the_models_is_told(tmp_path):
    step = LEVELS | {"columns": ["a", "b"]}
    step["hierarchies"] = {name: {"kind": "auto"} for name in step["columns"]}
    asked = {"roles": {"quasi": ["a", "b"]}, "steps": [step]}
    plan = saved(gaps(["", "", "", "a"], 1), asked, tmp_path / "release")
    table = gaps(["", "a"], 2).slice(0, 60)
    with pytest.raises(BrokenPromise) as error:
        protect(table, plan=plan)
    said = str(error.value).splitlines()[1]
    told = re.findall(r"for the records (\w+ nulls): at least (\d+) of 30", said)
    release = protect(table, plan=plan, suppress=True)
    groups = release.plan["steps"][0]["joint"]["groups"]
    assert sorted(told) == sorted((one["group"], str(one["suppressed"])) for one in groups)


def test_what_is_wrong_with_a_later_step_is_not_hidden(tmp_path):
    """To decide on the first step anew would only lead to the second one's message."""
    sexes = {**LEVELS, "columns": ["sex"]}
    sexes["hierarchies"] = {"sex": {"kind": "groups", "tree": {"person": ["female", "male"]}}}
    ages = LEVELS | {"columns": ["age", "postcode"]}
    ages["hierarchies"] = {name: {"kind": "auto"} for name in ages["columns"]}
    plan = saved(people(900, 1), recipe(ages, sexes), tmp_path / "release")
    table = people(80, 2)
    new = pc.if_else(pc.equal(pa.array(np.arange(len(table))), 0), "diverse", table["sex"])
    table = table.set_column(table.column_names.index("sex"), "sex", new)
    for suppress in (True, False):
        with pytest.raises(BrokenPromise) as error:
            protect(table, plan=plan, suppress=suppress)
        _, first, and_then, second, what = str(error.value).splitlines()
        assert first.startswith("  step 1 (generalize): suppression_limit = 0.05 cannot be met")
        assert and_then == "and with as many suppressed as that takes, the next step fails:"
        assert second.startswith(
            "  step 2 (generalize): column 'sex': 1 value in 1 row has no place"
        )
        assert what == "decide on these steps anew with --anew 1, or on all with --recipe"


def test_numbers_far_beyond_the_cuts_are_told(earlier):
    table = people(seed=2)
    dear = pc.multiply(table["income"], 10.0)
    table = table.set_column(table.column_names.index("income"), "income", dear)
    log = protect(table, plan=earlier / "release", suppress=True).log
    assert any("values lie far beyond the outermost points" in one for one in log["warnings"])


# Plans that are none


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "give either a recipe, to decide on the table, or the plan of an earlier release, to apply what was decided then"),
        ({"recipe": recipe(), "plan": "release"}, "give either a recipe, to decide on the table"),
        ({"recipe": recipe(), "suppress": True}, "--suppress is for plans of earlier releases; give one with --plan"),
        ({"recipe": recipe(), "anew": [1]}, "--anew is for plans of earlier releases; give one with --plan"),
        ({"plan": "release", "anew": 2}, "anew must be a list of the numbers of steps, such as [2], not 2"),
        ({"plan": "release", "anew": ["2"]}, "anew must be a list of the numbers of steps, such as [2], not ['2']"),
        ({"plan": "nothing"}, "the plan nothing does not exist"),
        ({"plan": "release/public"}, "release/public is the public half of a release, which tells no plan; give the internal folder beside it"),
        ({"plan": "."}, ". is not the internal folder of a release: it has no plan.json"),
        ({"plan": "release", "same_pseudonyms": True}, "there are no pseudonyms to keep: the plan's recipe has no such column"),
    ],
)  # fmt: skip
def test_messages(earlier, monkeypatch, asked, said):
    monkeypatch.chdir(earlier)
    with pytest.raises(BadInput) as error:
        protect(people(seed=2), **asked)
    assert str(error.value).startswith(said)


@pytest.fixture
def copied(earlier, tmp_path):
    shutil.copytree(earlier / "release", tmp_path / "copy")
    return tmp_path / "copy" / "internal"


def replaced(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def refused(plan, **more):
    with pytest.raises(BadInput) as error:
        protect(people(seed=2), plan=plan, **more)
    return str(error.value)


def test_a_plan_that_was_edited(copied):
    replaced(copied / "plan.json", '"kind": "cuts"', '"kind":  "cuts"')
    said = "was changed after it was written: the hash of internal/plan.json differs; run discreet check"
    assert refused(copied) == f"{copied} {said}"


def test_a_plan_of_a_newer_version(copied):
    replaced(copied / "log.json", f'"discreet": "{discreet.__version__}"', '"discreet": "99.1.0"')
    assert refused(copied) == (
        f"the plan in {copied} was made by discreet 99.1.0, which is newer than this one, "
        f"{discreet.__version__}; update discreet"
    )


def test_a_plan_that_another_key_has_sealed(copied, tmp_path, monkeypatch):
    (tmp_path / "key").write_text("2e" * 32)
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("DISCREET_KEY_FILE", str(tmp_path / "key"))
    assert refused(copied) == (
        f"{copied} was sealed with another key than yours, so nobody can tell whether its files "
        "are those that were written; if a colleague did, give --any-key, or any_key=True"
    )
    assert protect(people(seed=2), plan=copied, suppress=True, any_key=True).check.ok


def test_a_plan_of_another_recipe(copied):
    replaced(copied / "recipe.toml", 'method = "equal-frequency"', 'method = "kmeans"')
    replaced(copied / "recipe.toml", 'ties = "merge"\n', "")
    Seal.of().put(copied.parent, json.loads((copied / "log.json").read_text())["release"])
    assert refused(copied) == (
        f"the plan in {copied} is not of the recipe beside it: the plan's steps are not the recipe's"
    )


@pytest.mark.parametrize(
    ("file", "place", "value"),
    [
        ("plan.json", ("steps", 0, "joint", "groups"), 7),
        ("plan.json", ("steps", 0, "joint", "groups", 0, "group"), [[1]]),
        ("plan.json", ("steps", 0, "joint", "groups", 0, "rounds", 0, "levels", "sex"), "x"),
        ("plan.json", ("steps", 1, "columns", "income", "cuts"), "none"),
        ("plan.json", ("steps", 1, "columns", "income", "counts"), None),
        ("log.json", ("plan",), {"asked": 7}),
        ("log.json", ("plan",), {"asked": [{"method": "os"}]}),
    ],
)
def test_a_plan_that_somebody_damaged_and_sealed_anew(copied, file, place, value):
    content = json.loads((copied / file).read_text())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (copied / file).write_text(json.dumps(content))
    Seal.of().put(copied.parent, json.loads((copied / "log.json").read_text())["release"])
    said = refused(copied)
    assert re.fullmatch(
        rf"the plan in {copied} is damaged \(\w+\); take it as it was written, or decide anew "
        "with a recipe instead of the plan",
        said,
    )
