"""Which columns drive the risk, and what singles out the riskiest records: by brute force."""

import math
from itertools import combinations, permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import protect
from discreet.assessment import reasons as module
from discreet.assessment.facts import Facts
from discreet.assessment.figures import figures_of
from discreet.datasets import make_households
from discreet.engines.memory import MemoryFrame
from discreet.recipe import Recipe, Roles
from discreet.risk import suda2


def figures(before, after, quasi, **roles):
    """What `assess` has as figures, without the measures that it takes before."""
    recipe = Recipe.model_construct(roles=Roles.from_dict({"quasi": quasi, **roles}))
    return figures_of(Facts(MemoryFrame(before), MemoryFrame(after), recipe))


def classes(table, columns):
    return len(set(zip(*(table[c].to_pylist() for c in columns), strict=True))) if columns else 1


def shapley(table, columns):
    """Mean over all orders of the classes that a column adds, as a share."""
    added = dict.fromkeys(columns, 0)
    for order in permutations(columns):
        for place, name in enumerate(order):
            added[name] += classes(table, order[: place + 1]) - classes(table, order[:place])
    total = sum(added.values())
    return {c: None if total == 0 else n / total for c, n in added.items()}


def alone_without(table, columns, left_out):
    others = [c for c in columns if c != left_out]
    tuples = list(zip(*(table[c].to_pylist() for c in others), strict=True))
    tuples = tuples or [()] * table.num_rows
    return sum(tuples.count(t) == 1 for t in tuples)


def texts(names, records):
    columns = zip(*records, strict=True)
    return pa.table([pa.array(column, pa.string()) for column in columns], names)


rows = st.lists(st.tuples(*[st.sampled_from(["a", "b", None])] * 4), min_size=2, max_size=12)


@settings(max_examples=30, deadline=None)
@given(rows)
def test_shares_are_those_of_all_orders(records):
    names = ["w", "x", "y", "z"]
    before = texts(names, records)
    # Every tuple twice, so that nothing is unique and classes decide.
    after = pa.concat_tables([before, before])
    found = figures(after, after, names)["drivers"]
    expected = shapley(after, names)
    assert {one["by"] for one in found} == {"classes"}
    for one in found:
        assert one["unique_without"] == 0
        assert one["before"] == one["after"]
        if expected[one["column"]] is None:
            assert one["after"] is None
        else:
            assert one["after"] == pytest.approx(expected[one["column"]], abs=1e-6)
    shares = [one["after"] or 0.0 for one in found]
    assert shares == sorted(shares, reverse=True)


def test_before_is_of_the_original_and_after_of_the_release():
    before = pa.table({"age": [*range(20)] * 2, "sex": ["f", "m"] * 20})
    before = before.set_column(0, "age", before["age"].cast(pa.string()))
    after = before.set_column(0, "age", pa.array(["*"] * 40))
    found = {one["column"]: one for one in figures(before, after, ["age", "sex"])["drivers"]}
    assert (found["sex"]["after"], found["age"]["after"]) == (1.0, 0.0)
    assert found["age"]["before"] == pytest.approx(shapley(before, ["age", "sex"])["age"], abs=1e-6)
    assert found["sex"]["unique_without"] == 0


def test_special_uniques_decide_where_the_release_has_some():
    table = make_households(300, seed=2).select(["age", "sex", "region"])
    names = table.column_names
    found = figures(table, table, names)["drivers"]
    scores = suda2(table, names, detail=True).columns
    for one in found:
        assert one["by"] == "suda"
        assert one["after"] == pytest.approx(scores[one["column"]] / sum(scores.values()), abs=1e-6)
        assert one["unique_without"] == alone_without(table, names, one["column"])
    assert sum(one["after"] for one in found) == pytest.approx(1.0, abs=1e-5)


def test_no_risk_at_all_has_no_shares():
    table = pa.table({"age": ["*"] * 9, "sex": ["*"] * 9})
    found = figures(table, table, ["age", "sex"])["drivers"]
    assert [one["after"] for one in found] == [None, None]


def test_many_columns_go_by_some_orders_that_come_near(monkeypatch):
    rng = np.random.default_rng(5)
    table = pa.table({f"c{i}": rng.integers(0, 2 + i, 400) for i in range(5)})
    table = pa.concat_tables([table, table])
    names = table.column_names
    monkeypatch.setattr(module, "MOST_EXACT", 3)
    found = figures(table, table, names)["drivers"]
    expected = shapley(table, names)
    assert sum(one["after"] for one in found) == pytest.approx(1.0, abs=1e-5)
    assert all(abs(one["after"] - expected[one["column"]]) < 0.05 for one in found)
    assert found == figures(table, table, names)["drivers"]


def test_many_tuples_are_sampled_and_it_says_so(monkeypatch):
    rng = np.random.default_rng(5)
    table = pa.table({f"c{i}": rng.integers(0, 3 * i + 2, 5_000) for i in range(3)})
    table = pa.concat_tables([table, table])
    exact = {one["column"]: one for one in figures(table, table, table.column_names)["drivers"]}
    assert all("sample" not in one for one in exact.values())
    monkeypatch.setattr(module, "MOST_TUPLES", 60)
    found = figures(table, table, table.column_names)["drivers"]
    for one in found:
        assert one["sample"] == 60
        assert abs(one["after"] - exact[one["column"]]["after"]) < 0.1
    # As many as are taken are all of them.
    tuples = table.group_by(table.column_names).aggregate([]).num_rows
    monkeypatch.setattr(module, "MOST_TUPLES", tuples)
    assert all("sample" not in one for one in figures(table, table, table.column_names)["drivers"])


def test_perturbed_keys_have_no_drivers():
    table = make_households(300, seed=1).select(["age", "income"])
    release = protect(table, {
        "roles": {"quasi": ["age"], "confidential": ["income"]},
        "steps": [{"method": "rank-swap", "columns": ["age"], "p": 5}],
    })  # fmt: skip
    assert release.assess().figures["drivers"] is None


def test_units_are_counted_where_classes_count_them():
    # Bo's two rows are two records, and one person: alone on job.
    table = pa.table({
        "who": ["ann", "bo", "bo", "cy", "di"],
        "sex": ["f", "m", "m", "m", "f"],
        "job": ["nurse", "judge", "judge", "nurse", "nurse"],
    })  # fmt: skip
    found = figures(table, table, ["sex", "job"], unit="who")
    without = {one["column"]: one["unique_without"] for one in found["drivers"]}
    assert without == {"sex": 1, "job": 0}
    bo = next(one for one in found["riskiest"] if one["row"] == 2)
    assert (bo["unique_on"], bo["among"]) == (["job"], 1)


def test_rows_of_the_same_person_do_not_hide_her():
    table = pa.table({"who": ["ann", "ann", "bo", "cy"], "sex": ["f", "f", "m", "m"],
                      "year": [1, 2, 1, 1]})  # fmt: skip
    first = figures(table, table, ["sex", "year"], unit="who")["riskiest"][0]
    assert (first["row"], first["rarest"], first["unique_on"]) == (1, ["sex"], ["sex"])


def smallest(table, columns, row):
    """The first of the smallest sets on which as many equal a record as on all columns."""
    tuples = [tuple(r[c] for c in columns) for r in table.to_pylist()]
    own = tuples[row]
    size = tuples.count(own)
    for k in range(len(columns) + 1):
        for chosen in combinations(range(len(columns)), k):
            if sum(all(t[i] == own[i] for i in chosen) for t in tuples) == size:
                return [columns[i] for i in chosen], size
    raise AssertionError


@settings(max_examples=50, deadline=None)
@given(rows)
def test_the_smallest_set_that_singles_out_a_record(records):
    names = ["w", "x", "y", "z"]
    table = texts(names, records)
    for one in figures(table, table, names)["riskiest"][:10]:
        expected, size = smallest(table, names, one["row"] - 1)
        assert (one["rarest"], one["among"]) == (expected, size)
        assert one["unique_on"] == (expected if size == 1 else None)
        assert one["values"] == table.slice(one["row"] - 1, 1).to_pylist()[0]
        assert "smallest" not in one


def test_of_many_columns_the_set_is_irreducible_and_it_says_that_others_may_be_smaller():
    # Each other record differs from the first in one column: all 14 are needed.
    m = 14
    table = pa.table({f"c{i}": [0] + [int(i == j) for j in range(m)] for i in range(m)})
    first = figures(table, table, table.column_names)["riskiest"][0]
    assert first["unique_on"] == table.column_names
    assert first["smallest"] is False
    # Five are found to be the fewest, since no four suffice.
    few = pa.table({f"c{i}": [0] + [int(i == j) for j in range(5)] for i in range(5)}
                   | {f"d{i}": [0] * 6 for i in range(m)})  # fmt: skip
    first = figures(few, few, few.column_names)["riskiest"][0]
    assert first["unique_on"] == [f"c{i}" for i in range(5)]
    assert "smallest" not in first


def test_only_the_first_ten_are_explained_and_values_are_plain():
    table = pa.table({"age": [float(i) for i in range(14)] + [math.nan],
                      "born": pa.array(range(15), pa.date32())})  # fmt: skip
    found = figures(table, table, ["age", "born"])["riskiest"]
    assert ["values" in one for one in found] == [True] * 10 + [False] * 5
    assert found[0]["values"] == {"age": 0.0, "born": "1970-01-01"}


def test_a_table_of_two_rows():
    table = pa.table({'a "key"': ["x", "y"]})
    found = figures(table, table, ['a "key"'])
    assert found["drivers"][0]["after"] == 1.0
    assert found["drivers"][0]["unique_without"] == 0
    assert found["riskiest"][0]["unique_on"] == ['a "key"']
