"""Promises in distinct units: persons with several rows, and households."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet import Recipe, check_release
from discreet.check.evidence import Evidence
from discreet.engines import duckdb

CELLS = "every treated cell equals the plan applied, nulls in place"
OMA = {"method": "oma", "columns": ["pay"], "k": 3}
TUPLES = {"method": "microaggregation", "columns": ["pay", "debt"], "k": 3}
GENERALIZE = {
    "method": "generalize",
    "columns": ["age", "zip"],
    "privacy": [{"model": "k-anonymity", "k": 3}],
    "suppression_limit": 1.0,
    "hierarchies": {
        "age": {"kind": "intervals", "widths": [20, 40]},
        "zip": {"kind": "prefix"},
    },
}
MONDRIAN = {key: GENERALIZE[key] for key in ("columns", "privacy")} | {"method": "mondrian"}
MODELS = [
    {"model": "l-diversity", "l": 2, "column": "ill"},
    {"model": "l-diversity", "l": 1.5, "column": "ill", "kind": "entropy"},
    {"model": "l-diversity", "l": 2, "c": 2.0, "column": "ill", "kind": "recursive"},
    {"model": "t-closeness", "t": 0.4, "column": "ill"},
    {"model": "beta-likeness", "beta": 0.8, "column": "ill"},
    {"model": "alpha-k-anonymity", "alpha": 0.7, "k": 2, "column": "ill"},
]
STRICTER = {
    "l-diversity": {"l": 4},
    "entropy": {"l": 2.7},
    "recursive": {"c": 1.0},
    "t-closeness": {"t": 0.15},
    "beta-likeness": {"beta": 0.3},
    "alpha-k-anonymity": {"alpha": 0.45},
}
KINDS = {
    "k-per-value": (OMA, "k = 3{} per value in column 'pay'"),
    "k-per-tuple": (TUPLES, "k = 3{} per tuple of pay, debt"),
    "k-anonymity": (GENERALIZE, "k-anonymity (k = 3{}) over age, zip"),
    "within nulls": (GENERALIZE, "k-anonymity (k = 3{}) over age, zip, within each group by nulls"),
    "mondrian": (MONDRIAN, "k-anonymity (k = 3{}) over age, zip"),
    "wildcard": (
        GENERALIZE | {"null_policy": "match"},
        "wildcard k-anonymity only (k = 3{}, a null equals anything) over age, zip",
    ),
}


def people(n=90, seed=1, units=None, nulls=0.15):
    """Rows of persons, or households; each row is a unit of its own unless there are fewer."""
    draw = np.random.default_rng(seed)
    age = [None if draw.random() < nulls else int(a) for a in draw.integers(20, 60, n)]
    return pa.table(
        {
            "who": np.arange(n) * 7 if units is None else draw.integers(0, units, n),
            "age": age,
            "zip": draw.choice(["1011", "1012", "2011"], n).tolist(),
            "ill": draw.choice(["flu", "gout", "acne"], n).tolist(),
            "pay": draw.integers(0, 50, n).astype(float),
            "debt": draw.integers(0, 50, n).astype(float),
        }
    )


def recipe(*steps, role="household", counts="rows", **more):
    treated = [name for step in steps for name in step["columns"]]
    quasi = [name for name in ("age", "zip") if name in treated]
    roles = {role: "who", "quasi": quasi, "rest": "insensitive"}
    return {"roles": roles | more, "steps": list(steps), "counts": counts}


def status(report, promise):
    found = {f.promise: f for f in report.findings}
    assert promise in found, str(report)
    return found[promise].status, found[promise].detail


@pytest.fixture
def found(monkeypatch):
    """Check files on every engine, in small pieces, and return what becomes of one promise."""
    monkeypatch.setattr(duckdb, "PIECE", 31)

    def check(said, *given):
        reports = [check_release(*given, engine=engine) for engine in ("memory", "duckdb")]
        one, other = (status(report, said) for report in reports)
        assert one == other
        return one

    return check


def saved(table, folder, step, role, counts):
    """Protect by rows, save, and return what it takes to check: files, and a recipe of units."""
    release = discreet.protect(table, recipe(step, role=role))
    path = release.save(folder / "out", format="parquet")
    parquet.write_table(table, folder / "original.parquet")
    asked = release.recipe.model_copy(update={"counts": counts})
    return path, asked, folder / "out" / "internal", folder / "original.parquet"


WITHIN = "the privacy models of step 1 within each group by nulls"
EITHER = pytest.mark.parametrize(
    ("role", "counts"), [("household", "households"), ("unit", "units")], ids=["household", "unit"]
)


@pytest.mark.parametrize("kind", KINDS)
@EITHER
def test_rows_of_one_unit_do_not_make_k(kind, role, counts, found, tmp_path):
    step, said = KINDS[kind]
    said = said.format(f" {counts}")
    # Of two units all rows: whatever classes there are, none has three.
    path, asked, internal, original = saved(people(units=2), tmp_path, step, role, counts)
    became, detail = found(said, path, asked, internal, original)
    assert became == "broken"
    assert counts.removesuffix("s") in detail
    # The release has the households' numbers, but does not tell its units.
    known = role == "household" and kind != "within nulls"
    alone = WITHIN if kind == "within nulls" else said
    for given in ((path, asked), (path, asked, internal), (path, asked, None, original)):
        assert found(alone, *given)[0] == ("broken" if known else "not verifiable")


@pytest.mark.parametrize("kind", KINDS)
@EITHER
def test_where_each_row_is_a_unit_counts_are_those_of_rows(kind, role, counts, found, tmp_path):
    step, said = KINDS[kind]
    path, asked, internal, original = saved(people(), tmp_path, step, role, counts)
    rows = asked.model_copy(update={"counts": "rows"})
    by_rows = found(said.format(""), path, rows, internal, original)
    by_units = found(said.format(f" {counts}"), path, asked, internal, original)
    assert by_units[0] == by_rows[0] == "verified"
    if kind != "wildcard":  # There units are counted up to k.
        assert by_units[1] == by_rows[1].replace("records", counts)
    known = role == "household" and kind != "within nulls"
    alone = WITHIN if kind == "within nulls" else said.format(f" {counts}")
    assert found(alone, path, asked)[0] == ("verified" if known else "not verifiable")


# By plain counting


def held_by(table, units, columns):
    """The units that hold each tuple."""
    found = defaultdict(set)
    for row, unit in zip(table.select(columns).to_pylist(), units, strict=True):
        found[tuple(row.values())].add(unit)
    return found


def agree(one, other):
    return all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))


def expected(release, units, step):
    """The smallest number of units behind anything that a step promises."""
    table, columns = release.table, step["columns"]
    kept = [i for i, row in enumerate(table.to_pylist()) if set(row.values()) != {None}]
    table, units = table.take(kept), [units[i] for i in kept]
    held = held_by(table, units, columns[:1] if step["method"] == "oma" else columns)
    if step.get("null_policy") == "match":
        return min(
            len(set().union(*(u for other, u in held.items() if agree(one, other)))) for one in held
        )
    return min(len(u) for key, u in held.items() if step["method"] != "oma" or key != (None,))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "within nulls"])
@pytest.mark.parametrize("seed", range(6))
def test_smallest_numbers_are_those_of_plain_counting(kind, seed):
    step, said = KINDS[kind]
    table = people(60 + seed, seed, units=6 * (seed + 1))
    units = table["who"].to_pylist()
    release = discreet.protect(table, recipe(step, role="unit"))
    evidence = Evidence(release.plan, release.log, release.recipe)
    asked = release.recipe.model_copy(update={"counts": "units"})
    report = check_release(release.table, asked, evidence, table)
    least = expected(release, units, step)
    found, detail = status(report, said.format(" units"))
    assert found == ("verified" if least >= 3 else "broken")
    if kind != "wildcard" or least < 3:
        assert f"{least} unit{'s' if least > 1 else ''}" in detail


def test_groups_by_nulls_are_counted_apart():
    table = people(80, 3, units=25, nulls=0.4)
    release = discreet.protect(table, recipe(GENERALIZE, role="unit"))
    asked = release.recipe.model_copy(update={"counts": "units"})
    evidence = Evidence(release.plan, release.log, release.recipe)
    lacking = [None in (row["age"], row["zip"]) for row in table.to_pylist()]
    shown = release.table.append_column("lacking", pa.array(lacking))
    kept = [i for i, row in enumerate(release.table.to_pylist()) if set(row.values()) != {None}]
    units = [table["who"][i].as_py() for i in kept]
    held = held_by(shown.take(kept), units, ["age", "zip", "lacking"])
    least = min(map(len, held.values()))
    said = "k-anonymity (k = 3 units) over age, zip, within each group by nulls"
    found, detail = status(check_release(release.table, asked, evidence, table), said)
    assert found == ("verified" if least >= 3 else "broken")
    assert f"{least} units" in detail


def reached(model, pairs, everyone):
    """What a model demands of one class, by distinct units and values, and whether it is met."""
    values = sorted({value for _, value in everyone})
    n = {v: sum(value == v for _, value in pairs) for v in values}
    q = {v: sum(value == v for _, value in everyone) / len(everyone) for v in values}
    p = {v: n[v] / len(pairs) for v in values}
    kind = model.get("kind", model["model"])
    if kind == "entropy":
        return np.exp(-sum(x * np.log(x) for x in p.values() if x)) >= model["l"] - 1e-9
    if kind == "recursive":
        r = sorted(n.values(), reverse=True)
        return r[0] < model["c"] * sum(r[model["l"] - 1 :])
    if kind == "t-closeness":
        return sum(abs(p[v] - q[v]) for v in values) / 2 <= model["t"] + 1e-9
    if kind == "beta-likeness":
        return max((p[v] - q[v]) / q[v] for v in values) <= model["beta"] + 1e-9
    if kind == "alpha-k-anonymity":
        enough = len({unit for unit, _ in pairs}) >= model["k"]
        return enough and max(p.values()) <= model["alpha"] + 1e-9
    return sum(x > 0 for x in n.values()) >= model["l"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.get("kind", model["model"]))
@pytest.mark.parametrize("seed", range(4))
def test_models_are_judged_by_units_and_values(model, seed):
    table = people(90, seed, units=15 + 10 * seed, nulls=0)
    step = GENERALIZE | {"privacy": [{"model": "k-anonymity", "k": 2}, model]}
    release = discreet.protect(table, recipe(step, role="unit"))
    who, ill = table["who"].to_pylist(), table["ill"].to_pylist()
    everyone = set(zip(who, ill, strict=True))
    spread = release.plan["steps"][0]["joint"]["confidential"]["ill"]
    by_rows = np.array(spread["counts"])
    asked = release.recipe.model_copy(update={"counts": "units"})
    evidence = Evidence(release.plan, release.log, release.recipe)
    compared = "classes are compared with the input's distribution of 'ill'"
    report = check_release(release.table, asked, evidence, table)
    assert status(report, compared) == ("broken", "the plan's counts are others")
    spread["counts"] = np.array([sum(v == x for _, v in everyone) for x in spread["values"]])
    assert (spread["counts"] < by_rows).any()
    report = check_release(release.table, asked, evidence, table)
    assert status(report, compared)[0] == "verified"
    classes = defaultdict(set)
    for row, pair in zip(release.table.to_pylist(), zip(who, ill, strict=True), strict=True):
        if set(row.values()) != {None}:
            classes[row["age"], row["zip"]].add(pair)
    for one in (model, model | STRICTER[model.get("kind", model["model"])]):
        step = GENERALIZE | {"privacy": [one]}
        asked = recipe(step, role="unit", counts="units")
        good = all(reached(one, pairs, everyone) for pairs in classes.values())
        (found,) = {
            f.status
            for f in check_release(release.table, asked, evidence, table).findings
            if f.promise.startswith(model["model"]) and "within" not in f.promise
        }
        assert found == ("verified" if good else "broken")


def test_values_are_told_apart_without_knowing_the_units():
    step = GENERALIZE | {"privacy": [*GENERALIZE["privacy"], *MODELS]}
    asked = recipe(step, role="unit", counts="units")
    shown = pa.table({"age": ["*"] * 6, "zip": ["*"] * 6, "ill": ["flu", "gout"] * 3})
    asked["roles"] |= {"rest": "insensitive"}
    report = check_release(shown, asked)
    said = {f.promise: f.status for f in report.findings if "over age, zip" in f.promise}
    assert said.pop(
        "l-diversity (l = 2, column = ill, kind = distinct, counted in = units) over age, zip"
    ) == ("verified")
    assert set(said.values()) == {"not verifiable"}


# Records without a household's number


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([1, 2, 3, None], "verified"),
        ([1, 2, 2, None], "not verifiable"),
        ([1, 1, None, None], "not verifiable"),
        ([1, None], "broken"),
        ([1, 1, 2, 2], "broken"),
    ],
)
def test_unlinked_records_count_as_no_household(numbers, found, checked, tmp_path):
    shown = pa.table({"who": [*numbers, 4, 5, 6], "pay": [10.0] * len(numbers) + [20.0] * 3})
    parquet.write_table(shown, tmp_path / "shown.parquet")
    asked = recipe(OMA, counts="households")
    report = checked(tmp_path / "shown.parquet", asked)
    assert status(report, "k = 3 households per value in column 'pay'")[0] == found
    without = numbers.count(None)
    assert report.notes == (
        "households are counted by what the release says in 'who'; "
        f"{without} records without it count as none",
    )
    if found == "broken" and None in numbers:
        assert "2 records hold 10.0" in str(report)


def test_with_the_original_unlinked_records_are_of_their_household():
    table = pa.table({"who": [1, 2, 3, 3, 4, 5, 6], "pay": [10.0] * 4 + [20.0] * 3})
    release = discreet.protect(table, recipe(OMA))
    evidence = Evidence(release.plan, release.log, release.recipe)
    numbers = release.table["who"].to_pylist()
    asked = release.recipe.model_copy(update={"counts": "households"})
    said = "k = 3 households per value in column 'pay'"
    for gone, found in (([2], "not verifiable"), ([2, 3], "not verifiable"), ([3], "verified")):
        left = [None if i in gone and found != "verified" else x for i, x in enumerate(numbers)]
        left[3] = None
        shown = release.table.set_column(0, "who", pa.array(left))
        assert status(check_release(shown, asked), said)[0] == found
        assert status(check_release(shown, asked, evidence, table), said)[0] == "verified"


# Suppression


def test_values_that_too_few_units_are_left_to_share_are_emptied():
    """Of the last group one unit is left, with three rows: by rows enough, by units not."""
    flat = {"age": {"kind": "flat"}}
    privacy = [{"model": "k-anonymity", "k": 3}]
    step = GENERALIZE | {"columns": ["age"], "hierarchies": flat, "levels": {"age": 0}}
    asked = recipe(OMA, step | {"privacy": privacy, "suppression_limit": 0.5}, role="unit")
    table = pa.table(
        {
            "who": [*range(9), 10, 10, 10, 11, 12],
            "age": [30] * 12 + [31, 59],
            "pay": [1.0, 2.0, 3.0] * 3 + [99.0] * 5,
        }
    )
    release = discreet.protect(table, asked)
    assert release.plan["suppressed"]["blanked"] == {}
    evidence = Evidence(release.plan, release.log, release.recipe)
    units = release.recipe.model_copy(update={"counts": "units"})
    report = check_release(release.table, units, evidence, table)
    assert status(report, "k = 3 units per value in column 'pay'") == (
        "broken",
        "1 units hold 99.0",
    )
    pay = release.table["pay"].to_pylist()
    pay[9:12] = [None] * 3
    place = release.table.column_names.index("pay")
    shown = release.table.set_column(place, "pay", pa.array(pay))
    release.plan["suppressed"]["blanked"] = {"pay": 3}
    report = check_release(shown, units, evidence, table)
    assert status(report, "k = 3 units per value in column 'pay'")[0] == "verified"
    assert status(report, CELLS)[0] == "verified", str(report)
    # Counted by rows, they are enough to stay.
    assert status(check_release(shown, release.recipe, evidence, table), CELLS)[0] == "broken"
    # Of three units, values stay.
    pay[0:3] = [None] * 3
    shown = release.table.set_column(place, "pay", pa.array(pay))
    assert status(check_release(shown, units, evidence, table), CELLS)[0] == "broken"


# Roles


def test_a_household_that_is_not_to_be_released():
    asked = recipe(OMA, release_household=False)
    shown = pa.table({"pay": [1.0] * 3})
    assert "verified: no identifier is released (none of who)" in str(check_release(shown, asked))
    shown = shown.append_column("who", pa.array([1, 2, 3]))
    found = status(check_release(shown, asked), "no identifier is released")
    assert found == ("broken", "column 'who' is there")


PSEUDONYMS = "pseudonyms in 'who' are one to one, and no value is its own"


@pytest.fixture
def renamed():
    """Check a release whose column of persons is replaced by something."""
    table = people(30, units=10).set_column(0, "who", pa.array([f"p{i % 10}" for i in range(30)]))
    release = discreet.protect(table, recipe(OMA, role="household"))
    evidence = Evidence(release.plan, release.log, release.recipe)
    asked = recipe(OMA, role="unit", counts="rows", pseudonyms=["who"])

    def check(new, counts="rows", with_original=True):
        given = table["who"].to_pylist()
        place = release.table.column_names.index("who")
        shown = release.table.set_column(
            place, "who", pa.array([new(i, x) for i, x in enumerate(given)])
        )
        rules = Recipe.from_dict(asked | {"counts": counts})
        return check_release(shown, rules, *((evidence, table) if with_original else ()))

    return check


def keyed(row, name):
    return f"{int(name[1:]) * 977 + 5:032x}"


def test_pseudonyms_are_one_to_one(renamed):
    report = renamed(keyed)
    assert report.ok, str(report)
    assert status(report, PSEUDONYMS) == ("verified", "10")
    assert status(renamed(keyed, with_original=False), PSEUDONYMS)[0] == "not verifiable"
    assert status(report, "no identifier is released")[0] == "verified"
    shared = "some value has two, or shares one"
    wrong = {
        "p0 by two": (lambda i, x: keyed(i, x)[:-1] + str(i // 10 % 2), shared),
        "joined": (lambda i, x: keyed(i, "p1" if x == "p0" else x), shared),
        "lost": (lambda i, x: None if x == "p0" else keyed(i, x), shared),
        "plain": (lambda i, x: x, "a value is its own pseudonym"),
        "one plain": (lambda i, x: x if x == "p3" else keyed(i, x), "a value is its own pseudonym"),
        "reversed": (lambda i, x: x[::-1], "a value is no pseudonym"),
    }
    for name, (new, problem) in wrong.items():
        assert status(renamed(new), PSEUDONYMS) == ("broken", problem), name


def test_units_are_counted_by_their_pseudonyms(renamed):
    said = "k = 3 units per value in column 'pay'"
    for given in (True, False):
        report = renamed(keyed, "units", given)
        assert status(report, said)[0] in ("verified", "broken")
        assert status(report, said) == status(renamed(keyed, "units"), said)
