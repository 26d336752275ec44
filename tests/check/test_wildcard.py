"""Records that match where a null equals anything: by patterns, and by brute force."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import check_release, protect
from discreet.check.wildcard import matching
from discreet.cli.main import app


def by_brute_force(codes, counts):
    """Compare each tuple with each other, cell by cell."""
    return [
        sum(
            records
            for other, records in zip(codes.T, counts, strict=True)
            if all(a == b or a < 0 or b < 0 for a, b in zip(one, other, strict=True))
        )
        for one in codes.T
    ]


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
@pytest.mark.parametrize("nulls", [0.0, 0.2, 0.7, 1.0])
def test_matches_are_those_of_brute_force(columns, nulls):
    draw = np.random.default_rng(columns)
    codes = draw.integers(0, 3, (columns, 80))
    codes[draw.random(codes.shape) < nulls] = -1
    codes = np.unique(codes, axis=1)
    counts = draw.integers(1, 5, codes.shape[1])
    found = matching(codes, np.full(columns, 3), counts)
    np.testing.assert_array_equal(found, by_brute_force(codes, counts))


def test_a_record_that_matches_too_few_and_those_that_stand_out():
    step = {
        "method": "generalize",
        "columns": ["age", "zip"],
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "null_policy": "match",
        "hierarchies": {"age": {"kind": "flat"}, "zip": {"kind": "flat"}},
    }
    rules = {"roles": {"quasi": ["age", "zip"]}, "steps": [step]}
    said = "wildcard k-anonymity only (k = 3, a null equals anything) over age, zip"

    def found(*rows):
        ages, zips = zip(*rows, strict=True)
        report = check_release(pa.table({"age": list(ages), "zip": list(zips)}), rules)
        return next(f for f in report.findings if f.promise == said)

    one = found(("a", "1"), ("a", "1"), ("a", None), (None, "1"))
    assert one.status == "verified"
    assert "4 records share their own values, nulls included, with fewer than 3" in one.detail
    other = found(("a", "1"), ("a", "1"), ("b", "1"), (None, "1"))
    assert (other.status, other.detail) == ("broken", "a record matches 2 records")


def test_columns_beyond_the_bits_of_a_word_count_too():
    codes = np.zeros((65, 3), np.int64)
    codes[63], codes[64] = -1, [0, 1, 2]
    assert matching(codes, np.full(65, 3), np.ones(3, np.int64)).tolist() == [1, 1, 1]


def test_values_are_those_of_all_that_match():
    """Distinct values, and their distribution, among the records that each record matches."""
    ages, zips = ["a", "a", None, "b"], ["1", None, "1", "1"]

    def found(*ill):
        table = pa.table({"age": ages, "zip": zips, "ill": ill})
        model = {"model": "l-diversity", "l": 2}
        step = {
            "method": "generalize",
            "columns": ["age", "zip"],
            "privacy": [{"model": "k-anonymity", "k": 2}, model | {"column": "ill"}],
            "null_policy": "match",
            "hierarchies": {"age": {"kind": "flat"}, "zip": {"kind": "flat"}},
        }
        rules = {"roles": {"quasi": ["age", "zip"], "confidential": ["ill"]}, "steps": [step]}
        findings = check_release(table, rules).findings
        return next(f for f in findings if f.promise.startswith(model["model"]))

    # (a, 1) matches x, x, y; (a, null) x, x, y; (null, 1) all; but (b, 1) only y, y.
    one = found("x", "x", "y", "y")
    assert (one.status, one.detail) == ("broken", "the poorest class reaches 1")
    assert one.promise.endswith("over age, zip, a null equals anything")
    assert found("x", "x", "y", "x").status == "verified"


PAIN = ["none", "mild", "severe"]


def released(folder, **changed):
    """Save a release under `match` of 60 records, some with nulls, with l- and t-closeness."""
    draw = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": draw.choice(["20", "30", "40", None], 60, p=[0.3, 0.3, 0.3, 0.1]),
            "zip": draw.choice(["a", "b", None], 60, p=[0.5, 0.4, 0.1]),
            "ill": draw.choice(["flu", "cold", "gout"], 60),
            "pain": draw.choice(PAIN, 60),
        }
    )
    t = {"model": "t-closeness", "t": 0.4, "column": "pain", "distance": "ordered", "order": PAIN}
    step = {
        "method": "generalize",
        "columns": ["age", "zip"],
        "privacy": [
            {"model": "k-anonymity", "k": 3},
            {"model": "l-diversity", "l": 2, "column": "ill"},
            t | changed,
        ],
        "null_policy": "match",
        "suppression_limit": 0.5,
        "hierarchies": {"age": {"kind": "flat"}, "zip": {"kind": "flat"}},
    }
    roles = {"quasi": ["age", "zip"], "confidential": ["ill", "pain"]}
    recipe = {"roles": roles, "steps": [step]}
    protect(table, recipe).save(folder)
    return recipe


def findings(folder, recipe):
    """Return what is found of the models of values, by their first words."""
    table = pd.read_csv(folder / "public" / "table.csv", dtype=str)
    report = check_release(table, recipe, internal=folder / "internal")
    return {f.promise.split()[0]: f for f in report.findings}


@pytest.mark.parametrize(
    ("model", "column", "value"), [("l-diversity", "ill", "flu"), ("t-closeness", "pain", "severe")]
)
def test_values_changed_in_a_release_are_found(tmp_path, model, column, value):
    recipe = released(tmp_path / "out")
    assert findings(tmp_path / "out", recipe)[model].status == "verified"
    file = tmp_path / "out" / "public" / "table.csv"
    table = pd.read_csv(file, dtype=str)
    # All that one record with a null matches, one record after the other until it is too much.
    one = table[table.age.isna() & table.zip.notna()].iloc[0]
    matched = table.index[(table.zip == one.zip) | table.zip.isna()]
    table.loc[matched[:1], column] = value
    table.to_csv(file, index=False)
    assert findings(tmp_path / "out", recipe)[model].status == "verified"
    table.loc[matched, column] = value
    table.to_csv(file, index=False)
    assert findings(tmp_path / "out", recipe)[model].status == "broken"
    result = CliRunner().invoke(app, ["check", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert f"{model} (" in result.output


def test_another_order_in_the_recipe_is_found(tmp_path):
    recipe = released(tmp_path / "out")
    recipe["steps"][0]["privacy"][2]["order"] = ["mild", "none", "severe"]
    found = findings(tmp_path / "out", recipe)["plan,"]
    assert (found.status, found.detail) == ("broken", "the recipe that it is checked by is another")
    recipe["steps"][0]["privacy"][2]["order"] = ["none", "severe"]
    found = findings(tmp_path / "out", recipe)["t-closeness"]
    assert found.status == "broken"
    assert found.detail == "'mild', a value of the input, is not in the model's order"
