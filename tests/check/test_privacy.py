"""Privacy models on releases: what the check finds out by itself."""

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.check.check import check_release
from discreet.check.evidence import Evidence
from discreet.errors import BrokenPromise
from discreet.generalization import Generalize
from discreet.recipe import Recipe

K = 3


def people(n=60, nulls=9):
    """Ages and postcodes; the first ones lack their age."""
    draw = np.random.default_rng(7)
    age = draw.integers(20, 60, n).tolist()
    return pa.table(
        {
            "age": [None] * nulls + age[nulls:],
            "zip": draw.choice(["1011", "1012", "2011", "2012"], n).tolist(),
            "ill": draw.choice(["flu", "gout", "acne"], n).tolist(),
        }
    )


def recipe(*models, **step):
    return {
        "roles": {"quasi": ["age", "zip"], "confidential": ["ill"]},
        "steps": [
            {
                "method": "generalize",
                "columns": ["age", "zip"],
                "privacy": [{"model": "k-anonymity", "k": K}, *models],
                "suppression_limit": 0.2,
                "hierarchies": {
                    "age": {"kind": "intervals", "widths": [10, 20]},
                    "zip": {"kind": "prefix"},
                },
                **step,
            }
        ],
    }


def left_out(release):
    """The records that are blank in the table, by row."""
    rows = release.table.to_pylist()
    return [i for i, row in enumerate(rows) if set(row.values()) == {None}]


def tampered(release, **columns):
    """Check the release in memory with some columns replaced."""
    table = release.table
    for name, cells in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(cells))
    evidence = Evidence(release.plan, release.log, release.recipe)
    return check_release(table, release.recipe, evidence, release.original)


@pytest.mark.parametrize(
    "model",
    [
        {"model": "l-diversity", "l": 2, "column": "ill"},
        {"model": "l-diversity", "l": 1.5, "column": "ill", "kind": "entropy"},
        {"model": "l-diversity", "l": 2, "c": 3.0, "column": "ill", "kind": "recursive"},
        {"model": "t-closeness", "t": 0.5, "column": "ill"},
        {
            "model": "t-closeness",
            "t": 0.3,
            "column": "ill",
            "distance": "ordered",
            "order": ["gout", "acne", "flu"],
        },
        {
            "model": "t-closeness",
            "t": 0.4,
            "column": "ill",
            "distance": "hierarchical",
            "hierarchy": {"kind": "flat"},
        },
        {"model": "beta-likeness", "beta": 0.8, "column": "ill"},
        {"model": "beta-likeness", "beta": 0.8, "column": "ill", "enhanced": True},
        {"model": "alpha-k-anonymity", "alpha": 0.8, "k": 2, "column": "ill"},
    ],
    ids=lambda model: " ".join(str(v) for v in model.values() if not isinstance(v, dict | list)),
)
@pytest.mark.parametrize("policy", ["segregate", "value", "suppress"])
def test_each_model_is_verified_and_missed_where_a_class_breaks_it(model, policy):
    release = discreet.protect(people(), recipe(model, null_policy=policy, suppression_limit=1.0))
    assert release.check.verified
    # Everyone in the first class gets the same illness.
    first = np.flatnonzero(~np.isin(np.arange(60), left_out(release)))[0]
    rows = release.table.to_pylist()
    key = (rows[first]["age"], rows[first]["zip"])
    ill = [
        None if row["ill"] is None else "gout" if (row["age"], row["zip"]) == key else row["ill"]
        for row in rows
    ]
    broken = [f.promise for f in tampered(release, ill=ill).having("broken")]
    assert any(promise.startswith(model["model"]) for promise in broken), broken


def test_the_check_goes_by_the_order_that_the_model_lists():
    """The distance that the check reports is that of the release, in plain numpy."""
    order = ["flu", "acne", "mumps", "gout"]
    model = {"model": "t-closeness", "t": 1.0, "column": "ill", "distance": "ordered"}
    release = discreet.protect(people(), recipe(model | {"order": order}, suppression_limit=1.0))
    rows = [row for row in release.table.to_pylist() if row["ill"] is not None]
    held = [value for value in order if value != "mumps"]
    everybody = people()["ill"].to_pylist()
    far = {}
    for listed in (held, sorted(held)):
        q = np.array([everybody.count(value) for value in listed]) / 60
        reached = []
        for key in {(row["age"], row["zip"]) for row in rows}:
            ill = [row["ill"] for row in rows if (row["age"], row["zip"]) == key]
            p = np.array([ill.count(value) for value in listed]) / len(ill)
            reached.append(np.abs(np.cumsum(p - q)).sum() / 2)
        far[listed[1]] = max(reached)
    said = "t-closeness (t = 1.0, column = ill, distance = ordered) over age, zip"
    [found] = [f.detail for f in release.check.findings if f.promise == said]
    assert found == f"the farthest class reaches {far['acne']:.4g}"
    assert f"{far['acne']:.4g}" != f"{far['flu']:.4g}"


def test_an_order_that_lacks_a_value_is_found_out():
    model = {"model": "t-closeness", "t": 1.0, "column": "ill", "distance": "ordered"}
    release = discreet.protect(people(), recipe(model | {"order": ["flu", "acne", "gout"]}))
    given = release.recipe.model_dump(exclude_none=True)
    given["steps"][0]["privacy"][1]["order"] = ["flu", "acne"]
    other = Recipe.from_dict(given)
    evidence = Evidence(release.plan, release.log, other)
    report = check_release(release.table, other, evidence, release.original)
    said = [f.detail for f in report.having("broken") if f.promise.startswith("t-closeness")]
    assert set(said) == {"'gout', a value of the input, is not in the model's order"}


def test_one_record_altered():
    release = discreet.protect(people(), recipe())
    zips = release.table["zip"].to_pylist()
    zips[-1] = "9***"
    broken = {f.promise: f.detail for f in tampered(release, zip=zips).having("broken")}
    assert broken["every treated cell equals the plan applied, nulls in place"].startswith(
        "column 'zip', row 60: 9***, the plan gives"
    )
    said = broken["k-anonymity (k = 3) over age, zip"]
    assert said == "1 class is smaller, the smallest has 1 record"


def test_without_evidence_the_classes_are_still_counted():
    release = discreet.protect(people(), recipe({"model": "l-diversity", "l": 2, "column": "ill"}))
    alone = check_release(release.table, recipe({"model": "l-diversity", "l": 2, "column": "ill"}))
    status = {f.promise: f.status for f in alone.findings}
    assert status["k-anonymity (k = 3) over age, zip"] == "verified"
    assert status["l-diversity (l = 2, column = ill, kind = distinct) over age, zip"] == "verified"
    assert alone.ok
    assert not alone.verified


def test_one_class_is_no_classes():
    table = pa.table({"age": [30] * 5, "zip": ["1011"] * 5, "ill": ["flu", "gout"] * 2 + ["flu"]})
    said = {f.promise: f.detail for f in discreet.protect(table, recipe()).check.findings}
    assert said["k-anonymity (k = 3) over age, zip"] == "1 class, the smallest of 5 records"


def suppressing():
    """A table of which two records cannot be kept: they stand alone, and together are under K."""
    table = pa.table(
        {
            "age": [30] * 20 + [31, 59],
            "zip": ["1011"] * 20 + ["2022", "3033"],
            "ill": ["flu", "gout"] * 11,
        }
    )
    return table, recipe(levels={"age": 0, "zip": 0})


def test_too_few_suppressed_records_leave_the_table_and_the_file(tmp_path):
    table, rules = suppressing()
    release = discreet.protect(table, rules)
    assert left_out(release) == [20, 21]
    assert release.table.slice(20).to_pylist() == [dict.fromkeys(["age", "zip", "ill"])] * 2
    written = discreet.read_table(release.save(tmp_path / "out"))
    assert written.num_rows == 20
    report = check_release(
        tmp_path / "out" / "public" / "table.csv", rules, tmp_path / "out" / "internal", table
    )
    assert report.verified, str(report)
    in_memory = check_release(release.table, rules, tmp_path / "out" / "internal", table)
    assert in_memory.ok, str(in_memory)
    assert release.log["suppressed"] == {"records": 2, "left_out": 2, "blanked_cells": {}}
    assert release.assess().utility["null_rates"]["suppressed"] == 2


def test_too_few_suppressed_records_left_in_are_found_out():
    table, rules = suppressing()
    release = discreet.protect(table, rules)
    rows = release.table.to_pylist()
    stars = {n: [str(r[n]) for r in rows[:20]] + ["*", "*"] for n in ("age", "zip")}
    report = check_release(pa.table({**stars, "ill": table["ill"]}), rules)
    assert [f.promise for f in report.having("broken")] == ["k-anonymity (k = 3) over age, zip"]


def test_enough_suppressed_records_stay_as_stars():
    table = pa.table(
        {
            "age": [30] * 20 + [31, 59, 42],
            "zip": ["1011"] * 20 + ["2022", "3033", "1099"],
            "ill": ["flu"] * 23,
        }
    )
    release = discreet.protect(table, recipe(levels={"age": 0, "zip": 0}))
    assert not left_out(release)
    assert release.table["age"].to_pylist()[-3:] == ["*", "*", "*"]
    assert release.table["ill"].to_pylist()[-3:] == ["flu", "flu", "flu"]


def test_rounding_points_that_lost_records_are_blanked():
    table, rules = suppressing()
    income = [10.0] * 9 + [90.0] * 2 + [50.0] * 9 + [90.0] * 2
    rules["roles"]["confidential"].append("income")
    rules["steps"].insert(0, {"method": "oma", "columns": ["income"], "k": 4})
    release = discreet.protect(table.append_column("income", pa.array(income)), rules)
    # Two of the four with 90 are suppressed, so the other two would share it alone.
    assert release.table["income"].to_pylist() == [10.0] * 9 + [None] * 2 + [50.0] * 9 + [None] * 2
    assert release.log["suppressed"]["blanked_cells"] == {"income": 2}
    assert release.check.verified


def test_a_class_that_two_groups_make_up_is_no_class_of_either():
    """Both groups reach the top, so that their records look alike; apart they are too few."""
    table = pa.table({"age": [None, None, 30, 30, 30], "zip": ["1"] * 5, "ill": ["flu"] * 5})
    rules = recipe(levels={"age": 3, "zip": 0}, suppression_limit=1.0)
    release = discreet.protect(table, rules)
    assert left_out(release) == [0, 1]
    rows = release.table.to_pylist()
    rows[0] = rows[1] = rows[2]
    joined = {name: [row[name] for row in rows] for name in ("age", "zip", "ill")}
    release.plan["suppressed"]["left_out"] = 0
    broken = [f.promise for f in tampered(release, **joined).having("broken")]
    assert "k-anonymity (k = 3) over age, zip, within each group by nulls" in broken


def test_raw_rows_need_leave_and_are_told():
    table = people(nulls=2)
    rules = recipe(small_group="append", allow_disclosure=True)
    release = discreet.protect(table, rules)
    assert release.plan["steps"][0]["disclosed"].tolist() == [0, 1]
    assert "2 records are released as they are" in release.log["warnings"][0]
    # Without the plan the check cannot know that they were meant to be there.
    assert not check_release(release.table, rules).ok


def test_raw_rows_that_nobody_allowed_are_found_out():
    release = discreet.protect(people(nulls=2), recipe())
    original = people(nulls=2).to_pylist()
    rows = [
        {**row, "age": None, "zip": original[i]["zip"], "ill": original[i]["ill"]} if i < 2 else row
        for i, row in enumerate(release.table.to_pylist())
    ]
    columns = {name: [row[name] for row in rows] for name in ("age", "zip", "ill")}
    report = check_release(pa.table(columns), recipe())
    assert "k-anonymity (k = 3) over age, zip" in [f.promise for f in report.having("broken")]


def test_a_search_that_keeps_a_broken_class_is_not_believed(monkeypatch):
    run = Generalize.run

    def careless(self, *args, **kwargs):
        self.privacy = [{"model": "k-anonymity", "k": 1}]
        return run(self, *args, **kwargs)

    monkeypatch.setattr(Generalize, "run", careless)
    with pytest.raises(BrokenPromise, match="k-anonymity"):
        discreet.protect(people(), recipe())


@pytest.mark.parametrize("marker", ["", "*", "#", "-", "NA", "NaN", None])
def test_a_null_is_one_however_it_is_written(marker, tmp_path):
    cells = [marker if c is None else str(c) for c in people()["age"].to_pylist()]
    table = people().set_column(0, "age", pa.array(cells))
    rules = recipe() | {"null_markers": ["*", "#", "-", "NA", "NaN"]}
    rules["steps"][0]["hierarchies"]["age"] = {"kind": "flat"}
    release = discreet.protect(table, rules)
    assert release.log["nulls"]["cells"]["age"] == 9
    assert release.plan["steps"][0]["joint"]["groups"][1]["rows"] == 9
    path = tmp_path / "people.csv"
    discreet.write_table(table, path)
    again = discreet.protect(path, rules)
    assert again.log["nulls"]["cells"]["age"] == 9


def test_a_marker_that_is_a_value_as_well_is_told():
    table = people().set_column(1, "zip", pa.array(["-", "1011", "1012"] * 20))
    rules = recipe() | {"null_markers": ["-", "44", "-9"]}
    listed = {"kind": "table", "rows": [["1011", "101*"], ["1012", "101*"], ["-", "none"]]}
    rules["steps"][0]["hierarchies"]["zip"] = listed
    assert discreet.protect(table, rules).log["warnings"][:-1] == [
        "the null marker '44' may be a value in 'age': its numbers go from 20 to 59",
        "the null marker '-' may be a value in 'zip': its hierarchy lists it",
    ]


# A plan is believed only as far as it can be verified


def changed(release, **joint):
    release.plan["steps"][0]["joint"].update(joint)
    evidence = Evidence(release.plan, release.log, release.recipe)
    return check_release(release.table, release.recipe, evidence, release.original)


def broken(report):
    return {f.promise: f.detail for f in report.having("broken")}


def test_records_are_outside_the_promise_only_where_the_recipe_says_so():
    rules = recipe()
    rules["steps"][0]["privacy"] = [{"model": "k-anonymity", "k": 2}]
    release = discreet.protect(people(), rules)
    release.plan["steps"][0]["disclosed"] = np.arange(60)
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = check_release(release.table, recipe(), evidence, release.original)
    assert "k-anonymity (k = 3) over age, zip" in broken(report)
    allowed = recipe(small_group="append", allow_disclosure=True)
    report = check_release(release.table, allowed, evidence, release.original)
    said = "only whole groups of fewer than k records are released as they are"
    assert broken(report)[said] == "some of a group of 9 records are"


def test_the_distribution_is_the_inputs():
    model = {"model": "t-closeness", "t": 0.5, "column": "ill"}
    release = discreet.protect(people(), recipe(model))
    spread = release.plan["steps"][0]["joint"]["confidential"]
    spread["ill"]["counts"] = spread["ill"]["counts"][::-1] + 1
    report = changed(release, confidential=spread)
    said = "classes are compared with the input's distribution of 'ill'"
    assert broken(report)[said] == "the plan's counts are others"


def test_groups_go_by_the_nulls_and_not_by_the_plan():
    table = pa.table({"age": [None, None, 30, 30, 30], "zip": ["1"] * 5, "ill": ["flu"] * 5})
    rules = recipe(levels={"age": 3, "zip": 0}, null_policy="value")
    release = discreet.protect(table, rules)
    claimed = recipe(levels={"age": 3, "zip": 0})
    groups = release.plan["steps"][0]["joint"]["groups"]
    groups[0]["patterns"] = [[], ["age"]]
    release.plan["steps"][0]["joint"]["null_policy"] = "segregate"
    for segregate in ("any", "pattern"):
        claimed["steps"][0]["segregate"] = segregate
        evidence = Evidence(release.plan, release.log, release.recipe)
        report = check_release(release.table, claimed, evidence, release.original)
        assert "k-anonymity (k = 3) over age, zip, within each group by nulls" in broken(report)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"levels": {"age": 3}}, "level 1 among those allowed in column 'age'"),
        ({"suppression_limit": 0.0}, "suppression within its limit in column 'age'"),
        ({"null_policy": "value"}, "null_policy in column 'age'"),
    ],
)
def test_a_generalization_that_was_not_asked_for(asked, said):
    release = discreet.protect(people(), recipe(levels={"age": 1, "zip": 2}, suppression_limit=1.0))
    assert release.log["suppressed"]["records"]
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = check_release(release.table, recipe(**asked), evidence, release.original)
    assert said in broken(report)["released values and their counts are the plan's"]


def test_left_out_records_that_are_back_are_found_out():
    table, rules = suppressing()
    release = discreet.protect(table, rules)
    rows = release.table.to_pylist()[:20] + table.to_pylist()[20:]
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = check_release(pa.Table.from_pylist(rows), rules, evidence)
    assert "k-anonymity (k = 3) over age, zip" in broken(report)


def test_a_suppressed_record_tells_no_quasi_value():
    table = pa.table(
        {
            "age": [30] * 20 + [31, 59, 42],
            "zip": ["1011"] * 20 + ["2022", "3033", "1099"],
            "ill": ["flu"] * 23,
            "rooms": [3] * 20 + [7, 8, 9],
        }
    )
    rules = recipe(levels={"age": 0, "zip": 0})
    rules["roles"] |= {"quasi": ["age", "zip", "rooms"], "untouched": ["rooms"]}
    release = discreet.protect(table, rules)
    assert release.table["age"].to_pylist()[20:] == ["*"] * 3
    assert release.table["rooms"].to_pylist() == [3] * 20 + [None] * 3
    assert release.log["suppressed"]["blanked_cells"] == {"rooms": 3}
    assert release.check.verified


def test_two_steps_of_classes_and_suppression_go_together():
    table = people(nulls=0).append_column("sex", pa.array(["f", "m", "f"] * 19 + ["m", "x", "x"]))
    rules = recipe(levels={"age": 1, "zip": 1}, suppression_limit=1.0)
    rules["roles"]["quasi"].append("sex")
    second = {
        "method": "generalize",
        "columns": ["sex"],
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "hierarchies": {"sex": {"kind": "flat"}},
    }
    rules["steps"].append(second)
    release = discreet.protect(table, rules)
    assert release.log["suppressed"]["left_out"] == len(release.plan["excluded"]) > 0
    there = release.table.drop_null()
    for names in (["age", "zip"], ["sex"]):
        sizes = there.group_by(names).aggregate([([], "count_all")])["count_all"]
        assert min(sizes.to_pylist()) >= 3


@pytest.mark.parametrize(
    "damage",
    [
        {"groups": 3},
        {"confidential": 3},
        {"kind": "generalise"},
        {"hierarchies": {}},
    ],
)
def test_a_damaged_plan_is_a_finding(damage):
    model = {"model": "t-closeness", "t": 0.5, "column": "ill"}
    assert not changed(discreet.protect(people(), recipe(model)), **damage).ok
