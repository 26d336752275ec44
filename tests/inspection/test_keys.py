"""The riskiest keys against counting every combination in Python."""

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.inspection import keys as module
from discreet.inspection.encoded import encode_column
from discreet.inspection.keys import find_keys, finer_columns


def encode(table: dict):
    return [encode_column(name, pa.chunked_array([pa.array(c)])) for name, c in table.items()]


def shares(table: dict) -> dict:
    """The share of records singled out by each combination of up to three columns."""
    n = len(next(iter(table.values())))
    found = {}
    for size in (1, 2, 3):
        for names in combinations(table, size):
            counts = Counter(zip(*(table[name] for name in names), strict=True))
            found[names] = sum(count == 1 for count in counts.values()) / n
    return found


rows = st.lists(
    st.tuples(*[st.sampled_from([None, 1, 2, 3])] * 3, st.integers(0, 30)), min_size=1, max_size=40
)


@given(rows)
def test_shares_are_those_of_counting(rows):
    table = {f"c{i}": list(column) for i, column in enumerate(zip(*rows, strict=True))}
    exposure = {"c0": 1.0, "c1": 0.8, "c2": 0.5, "c3": 1.0}
    found = find_keys(encode(table), exposure)
    expected = shares(table)
    assert found.tried == len(expected) == 4 + 6 + 4
    risks = {names: s * np.prod([exposure[n] for n in names]) for names, s in expected.items()}
    for key in found.riskiest:
        assert key.singled_out == expected[key.columns]
        assert key.risk == pytest.approx(risks[key.columns])
        assert not key.estimated
    assert found.riskiest[0].risk == pytest.approx(max(risks.values()))
    assert [key.risk for key in found.riskiest] == sorted(
        (key.risk for key in found.riskiest), reverse=True
    )


def test_a_key_that_a_part_of_it_makes_superfluous_is_not_listed():
    n = 200
    table = {"id": list(range(n)), "sex": [i % 2 for i in range(n)]}
    found = find_keys(encode(table), {"id": 1.0, "sex": 1.0})
    assert [key.columns for key in found.riskiest] == [("id",), ("sex",)]


@pytest.mark.parametrize("common", [0.0, 0.3])
def test_values_of_a_column_are_sampled_without_bias(monkeypatch, common):
    """Also where one value, or the null, has many records."""
    rng = np.random.default_rng(5)
    n = 60_000
    table = {f"c{i}": rng.integers(0, size, n) for i, size in enumerate((4000, 3000, 4, 2))}
    table["c0"][: int(common * n)] = 17
    table["c1"] = pa.array(table["c1"], mask=rng.random(n) < common)
    exposure = dict.fromkeys(table, 1.0)
    whole = {key.columns: key for key in find_keys(encode(table), exposure).riskiest}
    monkeypatch.setattr(module, "_WORK", 200_000)
    some = find_keys(encode(table), exposure)
    assert "counted on the records of" in some.note
    assert any(key.estimated for key in some.riskiest)
    assert {key.columns for key in some.riskiest} & set(whole)
    for key in some.riskiest:
        if key.columns in whole:
            assert key.singled_out == pytest.approx(whole[key.columns].singled_out, abs=0.01)


def test_what_is_left_out_is_said(monkeypatch):
    rng = np.random.default_rng(5)
    table = {f"c{i}": rng.integers(0, 9, 300) for i in range(40)}
    monkeypatch.setattr(module, "_WORK", 10_000)
    found = find_keys(encode(table), dict.fromkeys(table, 1.0))
    assert "of 40 columns the 30 most exposed were combined" in found.note
    assert "triples that extend no risky pair were left out" in found.note
    assert found.tried < 30 + 435 + 4060


def test_a_finer_column_is_found_though_some_cells_are_wrong():
    rng = np.random.default_rng(1)
    postcode = rng.integers(0, 100, 5000)
    region = postcode // 10
    region[:5] = 3
    other = rng.integers(0, 10, 5000)
    columns = encode({"postcode": postcode, "region": region, "other": other})
    assert finer_columns(columns) == [("postcode", "region")]


def test_columns_of_one_group_are_no_key_together():
    table = {"day": list(range(40)), "age": [i // 4 for i in range(40)], "sex": [0, 1] * 20}
    found = find_keys(encode(table), dict.fromkeys(table, 1.0), [("day", "age")])
    assert all({"day", "age"} - set(key.columns) for key in found.riskiest)


def test_no_columns_no_keys():
    assert find_keys([], {}).riskiest == ()


def test_a_finer_column_is_judged_on_records_of_the_whole_table():
    """At the start of this table the first column seems to determine the second."""
    n = 500_000
    first = np.arange(n) % 50
    second = np.where(np.arange(n) < 250_000, first // 10, np.arange(n) // 50 % 5)
    assert finer_columns(encode({"first": first, "second": second})) == []
    assert finer_columns(encode({"first": first, "second": first // 10})) == [("first", "second")]


def test_a_finer_column_of_very_many_values():
    rng = np.random.default_rng(1)
    fine = rng.integers(0, 200_000, 500_000)
    columns = encode({"fine": fine, "coarse": fine // 1000, "other": rng.integers(0, 9, len(fine))})
    assert finer_columns(columns) == [("fine", "coarse")]
