"""Counts lead to what all rows lead to: numeric methods and PRAM.

Generalize and Mondrian are in tests/generalization/test_counts.py.
"""

import warnings
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet import rounding
from discreet.errors import BadInput
from discreet.perturbation import PRAM, Noise, RankSwap, TopBottom
from discreet.table import numbers
from tests.counted import (
    CountedTable,
    assert_columns,
    assert_counts_decide,
    assert_same,
    draws_of,
    from_counts,
    in_memory,
)
from tests.examples import examples

ROUNDING = {
    "base": rounding.BaseRounding(10),
    "base, stochastic": rounding.BaseRounding(10, encoding="stochastic"),
    "equal width": rounding.EqualWidth(5),
    "equal frequency": rounding.EqualFrequency(5),
    "equal frequency, stochastic": rounding.EqualFrequency(5, encoding="stochastic"),
    "k-means": rounding.KMeans(5),
    "resampling": rounding.Resampling(5),
    "mdav": rounding.MDAV(4),
    "vmdav": rounding.VMDAV(4),
    "oma": rounding.OMA(4),
    "oma, nearest": rounding.OMA(4, encoding="nearest"),
    "oma, stochastic": rounding.OMA(4, encoding="stochastic"),
    "mdlp": rounding.MDLP(),
    "chimerge": rounding.ChiMerge(),
    "top-bottom": TopBottom(lower=20, upper=60),
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    n = 200
    age = rng.integers(10, 80, n)
    pay = np.round(rng.lognormal(3, 1, n), 1) + age
    table = {
        "age": pa.array(age, mask=rng.random(n) < 0.1),
        "pay": pa.array(pay, mask=rng.random(n) < 0.1),
        "far": pa.array(1e9 + rng.integers(0, 40, n) * 1e-3),
        "sex": pa.array(rng.choice(["f", "m", "x"], n), mask=rng.random(n) < 0.1),
        "level": pa.array(rng.choice(["low", "mid", "high"], n)).dictionary_encode(),
        "works": pa.array(rng.random(n) < 0.6),
        "one": pa.array(["a"] * n),
        "same": pa.array([7.0] * n),
    }
    return pa.table(table), (age // 20)


def rounder(table):
    sources = {c: numbers(table[c], c) for c in ("age", "pay", "far", "same")}
    return lambda column, values: sources[column].round(values)


@pytest.mark.parametrize("name", ROUNDING)
@pytest.mark.parametrize("round_off", [False, True])
def test_rounding_and_bounds(people, name, round_off):
    table, target = people
    options = {"rounded": rounder(table)} if round_off else {}
    target = target if ROUNDING[name].supervised else None
    assert_counts_decide(ROUNDING[name], table, ["age", "pay"], target=target, **options)


@pytest.mark.parametrize("kind", ["additive", "correlated", "multiplicative"])
@pytest.mark.parametrize("round_off", [False, True])
def test_noise(people, kind, round_off):
    table, _ = people
    options = {"rounded": rounder(table)} if round_off else {}
    names, method = ["age", "pay", "far", "same"], Noise(kind)
    decision, outcomes, expected = assert_counts_decide(method, table, names, 1e-12, **options)
    for name, column in expected.columns.items():
        found = np.concatenate([outcome.columns[name] for outcome in outcomes])
        spread = np.nanmax(column) - np.nanmin(column)
        np.testing.assert_allclose(found, column, rtol=1e-12, atol=1e-11 * spread)
    # The same plan gives the same cells, however the rows are cut.
    again = method._treat(decision.plans, _numbers(table, names), draws_of(), options.get("rounded", lambda _, x: x))  # fmt: skip
    assert_columns(outcomes, again)


def _numbers(table, names):
    return {name: numbers(table[name], name).values for name in names}


def test_noise_of_columns_that_depend_on_each_other(people):
    table, _ = people
    pay = table["pay"].to_numpy(zero_copy_only=False)
    table = pa.table({"pay": pay, "twice": 2 * pay, "far": table["far"]})
    assert_counts_decide(Noise("correlated"), table, table.column_names, 1e-12)


def test_noise_refuses_from_counts_what_it_refuses_from_rows():
    table = pa.table({"a": [1.0, None, 3.0], "b": [None, 2.0, 4.0]})
    for run in (in_memory, from_counts):
        with pytest.raises(BadInput, match=r"rows without nulls, but 1 are complete in all of the"):
            run(Noise("correlated"), table, ["a", "b"])
    table = pa.table({"a": [1e200, -1e200, 0.0]})
    with (
        np.errstate(over="ignore"),
        pytest.raises(BadInput, match=r"column 'a': its values are too large to be squared"),
    ):
        from_counts(Noise(), table, ["a"])


PRAMS = [
    PRAM(0.7),
    PRAM(0.5, invariant=True),
    PRAM(matrix={"works": {"true": {"false": 1}, "false": {"true": 0.5, "false": 0.5}}}),
]


@pytest.mark.parametrize("method", PRAMS)
@pytest.mark.parametrize("decoded", [False, True])
def test_pram(people, method, decoded):
    table, _ = people
    columns = ["sex", "level", "works", "one", "age"]
    assert_counts_decide(method, table, columns, decoded=decoded)


def test_pram_on_pieces_that_hold_some_of_the_categories():
    level = ["low"] * 5 + ["mid"] * 5 + ["high"] * 5 + [None] * 5
    whole = pa.table({"level": pa.array(level).dictionary_encode()})
    method = PRAM(0.1)
    decision = method.decide_from(["level"], CountedTable(whole), draws_of())
    expected, _ = in_memory(method, whole, ["level"])
    found = []
    for start in range(0, 20, 5):
        piece = pa.chunked_array(
            [pa.array(level[start : start + 5], pa.string()).dictionary_encode()]
        )
        rows = np.arange(start, start + 5)
        new = decision.treat({"level": piece}, draws_of(rows), None).columns["level"]
        assert pa.types.is_dictionary(new.type)
        found += new.to_pylist()
    assert found == expected.columns["level"].to_pylist()


def test_pram_counts_equal_labels_of_a_dictionary_together():
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 2]), pa.array(["a", "b", "a"]))
    table = pa.table({"x": twice})
    for method in (PRAM(0.5), PRAM(0.5, invariant=True)):
        expected, _ = in_memory(method, table, ["x"])
        decision = method.decide_from(["x"], _ByLabel(table), draws_of())
        assert_same(decision.plans, expected.plans)


class _ByLabel(CountedTable):
    """Counts by dictionary index."""

    def tuples(self, columns):
        return self.table.slice(0, 3), np.array([1, 1, 2])


@examples(40)
@given(
    st.lists(
        st.one_of(st.none(), st.integers(-3, 3), st.floats(-50, 50).map(lambda x: round(x, 1))),
        min_size=12,
        max_size=40,
    ),
    st.sampled_from(["oma", "mdav", "equal frequency", "top-bottom", "base", "k-means"]),
    st.integers(1, 5),
)
# A piece of nulls only.
@example([None] * 12, "oma", 4)
def test_any_values(values, name, pieces):
    values = [*values, 1.0, 2.0, 3.0, 4.0]
    table = pa.table({"x": pa.array([None if v is None else float(v) for v in values])})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_counts_decide(ROUNDING[name], table, ["x"], pieces=pieces)


def test_decimals_and_dates():
    rng = np.random.default_rng(1)
    days = rng.integers(0, 300, 60)
    table = pa.table(
        {
            "paid": pa.array([Decimal(int(d)) / 4 for d in days], pa.decimal128(9, 2)),
            "born": pa.array(days.astype("datetime64[D]")),
        }
    )
    assert_counts_decide(rounding.OMA(5), table, ["paid", "born"])


def test_what_needs_all_rows_says_why():
    assert rounding.OMA(3, keep_ties=False).bound_to_memory is not None
    assert RankSwap(5).bound_to_memory == "it looks at the rows themselves"
