"""Local suppression checked: every reading from its definition, and what is wrong is found."""

import copy
import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet import check_release
from discreet.check.evidence import Evidence
from discreet.errors import BrokenPromise
from tests.suppression.counter import Suppressed, found_for_certain, violations

CELLS = "every treated cell equals the plan applied, nulls in place"
FIGURES = "released values and their counts are the plan's"
UNTOUCHED = "every other cell equals the original"
KEYS = ["age", "job", "area"]
OVER = "over age, job, area"
READING = {
    "value": "(null_policy = value: a blank is one more value)",
    "own": "(null_policy = own: of the originals that hold what a record shows)",
    "match": "(null_policy = match: a blank equals anything)",
}


def people(n=150, seed=4):
    draw = np.random.default_rng(seed)
    table = {
        "age": draw.choice([20, 30, 40, 50, 60], n, p=[0.4, 0.3, 0.2, 0.07, 0.03]).tolist(),
        "job": draw.choice(["nurse", "clerk", "judge"], n, p=[0.6, 0.35, 0.05]).tolist(),
        "area": draw.choice(["north", "south", "west"], n, p=[0.5, 0.4, 0.1]).tolist(),
        "ill": draw.choice(["yes", "no"], n).tolist(),
        "person": (np.arange(n) // 2).tolist(),
    }
    table["age"][3] = table["job"][8] = None
    return pa.table(table)


def rules(**asked):
    roles = {"quasi": KEYS, "confidential": ["ill"], "identifiers": ["person"]}
    if asked.pop("units", False):
        roles |= {"identifiers": [], "unit": "person"}
    step = {"method": "local-suppression", "columns": KEYS, "improve_moves": 500, **asked}
    return {"roles": roles, "steps": [step], "allow_leaks": KEYS}


def protect(**asked):
    return _protected(json.dumps(asked))


@cache
def _protected(asked):
    """Protect once what many tests look at; none changes the release."""
    release = discreet.protect(people(), rules(**json.loads(asked)))
    assert release.check.verified
    return release


def again(release, plan=None, recipe=None, **columns):
    """Check a release again, with other columns or another plan."""
    table = release.table
    for name, cells in columns.items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(cells, table.schema.field(name).type))
    evidence = Evidence(plan or release.plan, release.log, release.recipe)
    return check_release(table, recipe or release.recipe, evidence, people())


def broken(report):
    return {one.promise: one.detail for one in report.having("broken")}


def cells(release):
    return {name: release.table[name].to_pylist() for name in KEYS}


def blanked(release):
    """Return the first cell that was blanked: its column and row."""
    before = people()
    for name in KEYS:
        for row, cell in enumerate(release.table[name].to_pylist()):
            if cell is None and before[name][row].as_py() is not None:
                return name, row
    raise AssertionError("nothing was blanked")


def counted(release, **asked):
    """Return what was asked and came out, for the counter."""
    before, after = people(), release.table
    gone = after["ill"].is_null().to_pylist()
    rows = [
        list(zip(*(t[name].to_pylist() for name in KEYS), strict=True)) for t in (before, after)
    ]
    units = before["person"].to_pylist() if asked.pop("units", False) else None
    return Suppressed(KEYS, *rows, asked, gone, units)


# From the definition


@pytest.mark.parametrize("reading", ["value", "own", "match"])
@pytest.mark.parametrize("seed", range(12))
def test_random_blanks_are_judged_as_the_counter_does(reading, seed):
    draw = np.random.default_rng(seed)
    k, n = int(draw.integers(2, 5)), int(draw.integers(6, 40))
    before = [[str(x) for x in row] for row in draw.integers(0, 2, (n, 3))]
    after = [[None if draw.random() < 0.3 else x for x in row] for row in before]
    asked = {"null_policy": reading, "k": k}
    if seed % 3 == 1:
        asked |= {"subsets": 2}
    elif seed % 3 == 2:
        asked |= {"combinations": [{"columns": ["age", "area"], "k": k + 1}]}
    right = not violations(Suppressed(KEYS, before, after, asked, [False] * n))
    table = pa.table(
        {name: list(x) for name, x in zip(KEYS, zip(*after, strict=True), strict=True)}
    )
    table = table.append_column("ill", pa.array(["no"] * n))
    report = check_release(table, rules(**asked))
    found = {one.status for one in report.findings if "null_policy" in one.promise}
    if reading == "own":
        # Of the originals only what is shown is known.
        assert "broken" not in found
        assert right or "not verifiable" in found
    else:
        assert ("broken" not in found) == right
        assert found <= {"verified", "broken"}


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("reading", ["value", "own", "match"])
def test_who_is_found_for_certain_is_told(reading, units):
    release = protect(k=3, null_policy=reading, units=units)
    number = found_for_certain(counted(release, k=3, null_policy=reading, units=units))
    of_what = " units" if units else ""
    found = {one.promise: one.detail for one in release.check.findings}
    said = found[f"k = 3{of_what} {OVER} {READING[reading]}"]
    weak = {one.promise: one.detail for one in release.check.having("weak")}
    name = "step 1 (local-suppression) lets people be found for certain"
    if number:
        assert f"; but {number:,} " in said
        assert weak[name].startswith(f"the keys of {number:,} fit one released record alone")
    else:
        assert said.endswith("; nobody is found for certain by these columns")
        assert name not in weak
    assert number == 0 or reading != "value"


@pytest.mark.parametrize(
    "asked",
    [{"k": 3, "subsets": 1}, {"combinations": [{"columns": ["age", "job"], "k": 3}]}],
)
def test_who_is_found_by_keys_that_are_not_demanded_together(asked):
    release = protect(**asked)
    number = found_for_certain(counted(release, **asked))
    assert number == release.log["steps"][0]["found_for_certain"] > 0
    weak = {one.promise: one.detail for one in release.check.having("weak")}
    assert weak["step 1 (local-suppression) lets people be found for certain"] == (
        f"the keys of {number:,} fit one released record alone; k = 2 over all keys together "
        "prevents that"
    )


@pytest.mark.parametrize(
    ("reading", "each"),
    [("value", "is in 3"), ("own", "agrees with 3"), ("match", "agrees with 3")],
)
def test_what_is_counted_is_said(reading, each):
    found = {one.promise: one.detail for one in protect(k=3, null_policy=reading).check.findings}
    of_what = " of the original" if reading == "own" else ""
    assert f"; each {each} records{of_what} or more" in found[f"k = 3 {OVER} {READING[reading]}"]


def test_who_may_be_found_is_told_without_the_original():
    table = pa.table(
        {
            "age": [20, 20, None, 30],
            "job": ["clerk", "clerk", "clerk", "clerk"],
            "area": ["north", "north", "north", None],
            "ill": ["no"] * 4,
        }
    )
    report = check_release(table, rules(k=2, null_policy="match"))
    assert report.ok
    weak = {one.promise: one.detail for one in report.having("weak")}
    assert weak["step 1 (local-suppression) may let people be found for certain"] == (
        'null_policy = "match" counts others for 2 records that share what they show, blanks '
        'included, with too few; null_policy = "value" prevents that'
    )


def test_own_is_not_verifiable_where_the_release_does_not_show_enough():
    table = pa.table({"age": [20, None], "job": ["x", "x"], "area": ["n", "n"], "ill": ["no"] * 2})
    report = check_release(table, rules(k=2, null_policy="own"))
    said = f"k = 2 {OVER} {READING['own']}"
    assert {one.promise: one.status for one in report.findings}[said] == "not verifiable"


def test_units_are_not_verifiable_without_their_column():
    release = protect(k=3, units=True)
    report = check_release(release.table, release.recipe)
    said = f"k = 3 units {OVER} {READING['value']}"
    assert {one.promise: one.status for one in report.findings}[said] == "not verifiable"


@pytest.mark.parametrize(
    ("asked", "units"),
    [
        pytest.param(asked, units, marks=pytest.mark.slow if units == at % 2 else ())
        for units in (False, True)
        for at, asked in enumerate(
            [
                {"k": 3},
                {"k": 3, "null_policy": "match"},
                {"k": 3, "null_policy": "own", "fixed": ["area"], "record_cost": 2.0},
                {"subsets": {"1": 4, "2": 3}, "null_policy": "own"},
                {"max_risk": 0.3, "limit": {"age": 0.999}},
            ]
        )
    ],
    ids=str,
)
def test_files_are_checked_alike_on_all_engines(tmp_path, checked, asked, units):
    discreet.write_table(people(), tmp_path / "people.csv")
    path = tmp_path / "people.csv"
    release = discreet.protect(path, rules(**asked, units=units))
    table = release.save(tmp_path / "out", format="csv")
    for given in ((), (tmp_path / "out/internal",), (tmp_path / "out/internal", path)):
        report = checked(table, release.recipe, *given)
        assert report.ok, str(report)
    assert report.verified, str(report)


# What is wrong


def test_a_blank_that_was_undone_is_found():
    release = protect(k=3)
    name, row = blanked(release)
    new = cells(release)[name]
    new[row] = people()[name][row].as_py()
    found = broken(again(release, **{name: new}))
    assert found[CELLS].startswith(f"column '{name}', row {row + 1}: ")
    found = broken(again(release, **{name: people()[name].to_pylist()}))
    assert found[FIGURES].startswith(f"column '{name}' has fewer nulls than the ")


def without(release, part, entry):
    """Return plan and columns of which one entry's records are released as they were."""
    plan = copy.deepcopy(release.plan)
    step, new, before = plan["steps"][0], cells(release), people()
    joint = step["joint"]
    place = int(joint[part]["tuples"][entry])
    listed = [(joint["tuples"][name]["values"], joint["tuples"][name]["codes"]) for name in KEYS]
    wanted = [None if codes[place] < 0 else values[codes[place]] for values, codes in listed]
    for key, numbers in joint[part].items():
        joint[part][key] = np.delete(numbers, entry)
    for row in range(len(before)):
        was = [before[name][row].as_py() for name in KEYS]
        if [None if x is None else str(x) for x in was] == wanted:
            for name, cell in zip(KEYS, was, strict=True):
                step["columns"][name]["blanked"] -= new[name][row] is None and cell is not None
                new[name][row] = cell
    return plan, new


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("reading", ["value", "own", "match"])
def test_blanks_that_are_missing_are_found_though_the_plan_agrees(reading, units):
    """The plan lists a tuple less, and the table shows its records as they were."""
    asked = {"k": 4, "null_policy": reading}
    release, missed = protect(**asked, units=units), 0
    of_what = " units" if units else ""
    before = list(zip(*(people()[name].to_pylist() for name in KEYS), strict=True))
    holders = people()["person"].to_pylist() if units else None
    for entry in range(min(8, len(release.plan["steps"][0]["joint"]["whole"]["tuples"]))):
        plan, new = without(release, "whole", entry)
        after = list(zip(*new.values(), strict=True))
        wrong = violations(Suppressed(KEYS, before, after, asked, [False] * 150, holders))
        found = broken(again(release, plan, **new))
        assert found.keys() == {f"k = 4{of_what} {OVER} {READING[reading]}"} if wrong else not found
        missed += bool(wrong)
    assert missed or reading != "value"


def test_a_blank_elsewhere_is_found():
    release = protect(k=3)
    name, row = blanked(release)
    other = next(one for one in KEYS if one != name)
    new = cells(release)[other]
    row = next(i for i, cell in enumerate(new) if cell is not None)
    new[row] = None
    assert CELLS in broken(again(release, **{other: new}))
    ill = release.table["ill"].to_pylist()
    ill[0] = None
    assert broken(again(release, ill=ill))[UNTOUCHED] == "column 'ill', row 1 differs"


def test_a_fixed_column_and_a_limit_are_held_to():
    release = protect(k=3)
    name, _ = blanked(release)
    number = release.plan["steps"][0]["columns"][name]["blanked"]
    for asked, said in (
        ({"fixed": [name]}, f"column '{name}' has no blanks of this step"),
        ({"limit": {name: 0.001}}, f"column '{name}' is blanked in 0.001 of the records at most"),
    ):
        found = broken(again(release, recipe=rules(k=3, **asked)))
        assert found[said] in (f"{number} cells of 150", f"{number} cell of 150")
    # Without the original, nulls may have been there.
    report = check_release(release.table, rules(k=3, fixed=[name]))
    said = f"column '{name}' has no blanks of this step"
    assert {one.promise: one.status for one in report.findings}[said] == "not verifiable"


def test_a_combination_that_is_broken_is_found():
    release = protect(k=3)
    combos = [{"columns": ["age", "job"], "k": 60}]
    found = broken(again(release, recipe=rules(k=3, combinations=combos)))
    assert f"k = 60 over age, job {READING['value']}" in found
    found = broken(again(release, recipe=rules(k=60, subsets=2)))
    assert f"k = 60 over every 2 of age, job, area {READING['value']}" in found
    assert found[FIGURES].startswith("the plan's demands in column 'age'")


@pytest.mark.parametrize(("risk", "bound"), [("individual", 0.02), ("suda", 0.0001)])
def test_a_risk_above_its_bound_is_found(risk, bound):
    table = people().append_column("weight", pa.array(np.linspace(1, 9, 150)))
    given = rules(k=2)
    given["roles"]["rest"] = "drop"
    release = discreet.protect(table, given)
    more = {"max_risk": bound, "risk": risk}
    recipe = rules(**more | ({"weight": "weight"} if risk == "individual" else {}))
    recipe["roles"]["weight"] = "weight"
    evidence = Evidence(release.plan, release.log, release.recipe)
    what = "individual, by weights" if risk == "individual" else "SUDA, as DIS"
    said = f"a risk of {bound:g} at most ({what}) {OVER}"
    found = broken(check_release(release.table, recipe, evidence, table))
    if risk == "individual":
        assert found[said].startswith("the largest is ")
        alone = check_release(release.table, recipe)
        assert {one.promise: one.status for one in alone.findings}[said] == "not verifiable"
    else:
        assert said not in found


def _edit(path, change):
    """Change one part of the step's plan."""

    def edit(plan):
        found = plan["steps"][0]
        for key in path[:-1]:
            found = found[key]
        found[path[-1]] = change(found[path[-1]])

    return edit


@pytest.mark.parametrize(
    ("edit", "promise", "said"),
    [
        (_edit(["joint", "null_policy"], lambda x: "match"), FIGURES, "null_policy in column"),
        (_edit(["joint", "demands"], lambda x: []), FIGURES, "demands in column"),
        (_edit(["joint", "demands", 0, "k"], lambda x: 2), FIGURES, "demands in column"),
        (_edit(["joint", "kind"], lambda x: "shift"), FIGURES, "of the kind shift"),
        (_edit(["columns", "age", "blanked"], lambda x: x + 1), CELLS, "cells of column 'age'"),
        (_edit(["joint", "whole", "records"], lambda x: x + 1), CELLS, "as many records"),
        (_edit(["joint", "whole", "blanked"], lambda x: 0 * x), CELLS, "no set of the step's"),
        (_edit(["joint", "whole", "blanked"], lambda x: x + 8), CELLS, "no set of the step's"),
        (_edit(["joint", "whole", "blanked"], lambda x: x[1:]), CELLS, "not of one length"),
        (_edit(["joint", "whole", "tuples"], lambda x: x * 0), CELLS, "a tuple twice"),
        (_edit(["joint", "tuples", "age", "codes"], lambda x: x + 9), CELLS, "what its values say"),
        (_edit(["joint", "tuples", "job", "codes"], lambda x: x * 0), CELLS, ""),
        (_edit(["joint", "whole"], lambda x: {}), CELLS, "cannot be applied"),
    ],
)
def test_an_edited_plan_is_found(edit, promise, said):
    release = protect(k=3)
    plan = copy.deepcopy(release.plan)
    edit(plan)
    found = broken(again(release, plan))
    assert said in found[promise]


def test_records_that_may_not_be_left_out_are_found():
    release = protect(k=8, fixed=["age"], record_cost=0.1)
    gone = release.table["ill"].null_count
    assert gone == release.plan["suppressed"]["left_out"] > 0
    found = broken(again(release, recipe=rules(k=8, fixed=["age"])))
    assert "leaving out of records" in found[FIGURES]


def test_a_released_file_that_was_edited_is_found(tmp_path):
    release = protect(k=3)
    table = release.save(tmp_path / "out", format="csv")
    lines = table.read_text().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if line.startswith(","))
    lines[place] = f"20{lines[place]}"
    table.write_text("".join(lines))
    internal = tmp_path / "out/internal"
    found = broken(check_release(table, release.recipe, internal))
    assert "the released file is the one that was written" in found
    found = broken(check_release(table, release.recipe, internal, people()))
    assert CELLS in found
    plan = json.loads((internal / "plan.json").read_text())
    plan["steps"][0]["joint"]["demands"][0]["k"] = 2
    (internal / "plan.json").write_text(json.dumps(plan))
    found = broken(check_release(table, release.recipe, internal))
    assert FIGURES in found


@pytest.mark.parametrize("kind", [pa.duration("us"), pa.time32("s"), pa.date32()])
def test_keys_of_any_type_may_be_blanked_after_levels_that_keep_them(kind):
    values = pa.array(np.arange(60, dtype=np.int32) % 5)
    values = values.cast(pa.int64()) if pa.types.is_duration(kind) else values
    table = pa.table({"age": np.arange(60) % 10, "at": values.cast(kind)})
    first = {"method": "generalize", "columns": ["age", "at"], "promise": False}
    first |= {"hierarchies": {name: {"kind": "flat"} for name in ("age", "at")}}
    first |= {"privacy": [{"model": "k-anonymity", "k": 2}], "levels": {"age": 0, "at": 0}}
    steps = [first, {"method": "local-suppression", "columns": ["age", "at"], "k": 3}]
    release = discreet.protect(table, {"roles": {"quasi": ["age", "at"]}, "steps": steps})
    assert release.check.verified
    assert release.table["at"].type == kind


def test_blanks_that_other_members_show_are_told_with_what_works():
    # Of the oldest there is one in each area, whose area is cheaper to blank than the age.
    homes = np.arange(60) // 2
    table = {
        "home": homes,
        "area": np.where(homes < 15, "north", "south"),
        "age": np.where(np.isin(np.arange(60), [0, 59]), 90, 30),
        "pay": np.arange(60) % 7 * 1.5,
    }
    roles = {"household": "home", "quasi": ["area", "age"], "confidential": ["pay"]}
    step = {"method": "local-suppression", "columns": ["age", "area"], "k": 2}
    step["importance"] = {"age": 5.0}
    with pytest.raises(BrokenPromise) as refused:
        discreet.protect(pa.table(table), {"roles": roles, "steps": [step]})
    assert "set fixed = ['area'], set release_household = false, or drop" in str(refused.value)
    apart = {"roles": roles | {"release_household": False}, "steps": [step]}
    assert discreet.protect(pa.table(table), apart).check.verified
    fixed = {"roles": roles, "steps": [step | {"fixed": ["area"]}]}
    assert discreet.protect(pa.table(table), fixed).check.verified
