"""Plans applied again: several steps on a column, and plans that are not what was asked for."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.check.check import check_release
from discreet.check.evidence import Evidence
from discreet.check.replay import generalization, rounding

STEPS = {
    "porop": {"k": 20},
    "lirop": {"k": 15},
    "ipso": {"confidential": ["z"]},
    "additive": {"method": "noise", "scale": 0.1},
    "correlated": {"method": "noise", "kind": "correlated"},
    "multiplicative": {"method": "noise", "kind": "multiplicative"},
    "on logs": {"method": "noise", "kind": "correlated-logarithmic", "scale": 0.3},
    "matched": {"method": "noise", "kind": "logarithmic", "scale": 0.5, "match_ranks": True},
    "rank-swap": {"p": 20, "promise": False},
    "shuffle": {},
    "top-bottom": {"lower": -1.0, "upper": 1.5, "promise": False},
    "oma": {"k": 3, "promise": False},
    "round-counts": {"rule": "census-drb-estimates", "promise": False},
    "base": {"base": 0.1, "promise": False},
    "microaggregation": {"k": 3, "promise": False},
}


def table(nulls=True):
    draw = np.random.default_rng(3)
    x, y, z = draw.standard_normal((3, 120))
    x[5:9] = np.nan if nulls else x[5:9]
    return pa.table(
        {"x": pa.array(x, from_pandas=True), "y": y + x.mean(where=~np.isnan(x)), "z": z}
    )


def recipe(*steps):
    return {
        "roles": {"confidential": ["x", "y", "z"]},
        "seed": 3,
        "allow_predictable_seed": True,
        "steps": [
            {"method": name, "columns": ["x", "y"], **STEPS[name], **more} for name, more in steps
        ],
    }


@pytest.mark.parametrize(
    ("first", "second"),
    list(itertools.combinations_with_replacement(STEPS, 2)),
    ids=lambda name: name,
)
def test_any_two_steps_on_the_same_columns(first, second):
    """One after the other, and the first again: so both orders are in one release."""
    full = {"precision": "full"}
    release = discreet.protect(table(), recipe((first, full), (second, full), (first, full)))
    assert release.check.verified


def test_what_was_kept_between_steps_must_be_what_the_plan_gives():
    release = discreet.protect(table(), recipe(("porop", {}), ("top-bottom", {})))
    release.plan["steps"][0]["results"]["x"][0] += 0.01
    report = again(release)
    assert "column 'x' after step 1 is not what was kept" in str(report)


def test_plans_with_nulls_are_read_back(tmp_path):
    rules = recipe(("ipso", {}), ("top-bottom", {}))
    release = discreet.protect(table(), rules)
    release.save(tmp_path / "out")
    report = check_release(
        tmp_path / "out" / "public" / "table.csv", rules, tmp_path / "out" / "internal", table()
    )
    assert report.verified, str(report)


def again(release, changed=None):
    evidence = Evidence(release.plan, release.log, release.recipe)
    return check_release(changed or release.table, release.recipe, evidence, release.original)


@pytest.mark.parametrize("name", ["porop", "lirop", "ipso", "microaggregation"])
@pytest.mark.parametrize("centre", [0.0, 1e9])
def test_a_cell_that_is_a_little_off_is_found(name, centre):
    values = table(nulls=False).to_pandas() * 1e-3 + centre
    given = pa.Table.from_pandas(values)
    release = discreet.protect(given, recipe((name, {"promise": True, "precision": "full"})))
    assert release.check.verified
    cells = release.table["x"].to_numpy().copy()
    cells[7] += 2e-5
    forged = release.table.set_column(0, "x", pa.array(cells))
    (broken,) = again(release, forged).having("broken")[-1:]
    assert broken.detail.startswith("column 'x', row 8:")


@pytest.mark.parametrize(
    ("name", "where", "said"),
    [
        ("additive", {"columns": {"x": {"scale": 1e-12}}}, "scale in column 'x'"),
        ("multiplicative", {"columns": {"y": {"noise": "additive"}}}, "kind in column 'y'"),
        ("correlated", {"columns": {"y": {"weights": {"x": 0.0, "y": 1e-9}}}}, "size of the noise"),
        ("on logs", {"columns": {"y": {"weights": {"x": 0.0, "y": 1e-9}}}}, "size of the noise"),
        ("matched", {"columns": {"y": {"match_ranks": False}}}, "match_ranks in column 'y'"),
        ("porop", {"joint": {"noise_scale": 0.0}}, "noise_scale in column 'x'"),
        ("porop", {"joint": {"k": 21}}, "k in column 'x'"),
        ("lirop", {"joint": {"noise": "none"}}, "noise in column 'x'"),
        ("ipso", {"joint": {"variant": "C"}}, "variant in column 'x'"),
        ("top-bottom", {"columns": {"x": {"upper": 9.0}}}, "upper in column 'x'"),
    ],
)
def test_a_plan_that_decided_something_else_is_found(name, where, said):
    release = discreet.protect(table(), recipe((name, {"promise": True})))
    for part, changes in where.items():
        for key, change in changes.items():
            inside = release.plan["steps"][0][part]
            if isinstance(change, dict):
                inside[key].update(change)
            else:
                inside[key] = change
    broken = {f.promise: f.detail for f in again(release).having("broken")}
    assert said in broken["released values and their counts are the plan's"]


def test_pram_that_does_nothing_is_found():
    rules = {
        "roles": {"confidential": ["x"]},
        "steps": [{"method": "pram", "columns": ["x"], "retention": 0.2}],
    }
    release = discreet.protect(pa.table({"x": ["a", "b", "c"] * 30}), rules)
    release.plan["steps"][0]["columns"]["x"]["matrix"] = np.eye(3).ravel()
    report = again(release, release.original)
    assert "the plan's retention kept in column 'x' is False" in str(report)


def test_groups_across_strata_are_found():
    given = table(nulls=False).append_column("region", pa.array(["n", "s"] * 60))
    rules = recipe(("microaggregation", {"strata": "region", "promise": True}))
    rules["roles"]["insensitive"] = ["region"]
    release = discreet.protect(given, rules)
    joint = release.plan["steps"][0]["joint"]
    joint["groups"] = joint["groups"].copy()
    joint["groups"][[0, 1]] = joint["groups"][[1, 0]]
    assert "reaches across the strata of column 'region'" in str(again(release))
    joint["strata"] = None
    assert "the plan's strata in column 'x' is None, the recipe's region" in str(again(release))


def test_results_past_the_range_of_numbers_are_refused():
    huge = pa.table({"x": [-1.7e308, 1.7e308] * 20, "y": [1.0] * 40, "z": [1.0] * 40})
    with pytest.raises(discreet.errors.BadInput, match=r"column 'x', row 1: .* is too large to"):
        discreet.protect(huge, recipe(("multiplicative", {"scale": 2.0})))


def test_units_are_not_pooled():
    days = pa.array(np.arange(120), pa.int32()).cast(pa.date32())
    given = table().set_column(1, "y", days)
    said = "puts its columns together, but 'x' holds plain numbers and 'y' days since 1970-01-01"
    with pytest.raises(discreet.errors.BadInput, match=said):
        discreet.protect(given, recipe(("porop", {})))


def test_many_cuts_are_found_as_few_are(monkeypatch):
    draw = np.random.default_rng(8)
    plan = {"encoding": "group", "cuts": np.sort(draw.random(500)), "points": np.arange(501.0)}
    x = np.append(draw.random(2000), plan["cuts"][::7])
    few = rounding.cuts(plan, x, np.arange(len(x)), None)
    monkeypatch.setattr(rounding, "_MANY", 0)
    np.testing.assert_array_equal(rounding.cuts(plan, x, np.arange(len(x)), None), few)
    below = [sum(cut <= value for cut in plan["cuts"]) for value in x]
    np.testing.assert_array_equal(few, below)


@pytest.mark.parametrize("few", [0, 100])
def test_rows_of_the_same_leaves_may_be_looked_at_once(few, monkeypatch):
    monkeypatch.setattr(generalization, "_FEW_ROUNDS", few)
    draw = np.random.default_rng(9)
    people = pa.table(
        {
            "age": pa.array(draw.integers(20, 60, 200), mask=draw.random(200) < 0.1),
            "zip": draw.choice(
                ["1011", "1012", "2011", "2012", "9999"], 200, p=[0.3] * 3 + [0.09, 0.01]
            ),
        }
    )
    step = {
        "method": "generalize", "columns": ["age", "zip"], "local": True, "suppression_limit": 0.3,
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "hierarchies": {"age": {"kind": "intervals", "widths": [5, 20]}, "zip": {"kind": "prefix"}},
    }  # fmt: skip
    rules = {"roles": {"quasi": ["age", "zip"]}, "steps": [step]}
    assert discreet.protect(people, rules).check.verified
