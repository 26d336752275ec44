"""Records that match where a null equals anything: by patterns, and by brute force."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import check_release
from discreet.check.wildcard import matching


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
