"""Singling out: what isolates people, and by which predicates."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.attacks import _predicates, singling_out
from discreet.attacks._predicates import Predicates, column_of
from discreet.attacks._reading import reading_of, tables_of
from discreet.engines.choice import open_engine
from discreet.errors import BadInput
from tests.attacks.people import independent, mixed

MANY = 20
CELLS = MANY * MANY


@pytest.fixture
def draw():
    return np.random.default_rng(1)


@pytest.fixture
def people(draw):
    return mixed(900, draw)


def test_the_table_itself_isolates_whoever_is_unique(people):
    found = singling_out(people[:700], people[:700], holdout=people[700:], queries=300)
    assert found.attack.value == 1
    assert found.control.value < 0.02
    assert found.interval[0] > 0.95


def test_independent_rows_add_nothing(people, draw):
    inside, outside = people[:600], people[600:]
    found = singling_out(inside, independent(inside, draw), holdout=outside, columns=2, queries=500)
    assert found.interval[0] <= 0 <= found.interval[1]
    assert found.attack.value > 0


def test_a_holdout_may_be_smaller_or_larger(draw):
    """The control of a small holdout is that of a large one, only less certain."""
    inside, released, everybody = cells(0.0, 40_000, draw)
    small, large = (
        singling_out(inside, released, columns=2, holdout=some, queries=2000)
        for some in (everybody[:100], everybody)
    )
    assert small.control.value == pytest.approx(large.control.value, abs=0.12)
    assert np.ptp(small.interval) > np.ptp(large.interval)


def test_labels_are_read_and_stars_tell_nothing(people):
    inside = people[["age", "town"]]
    ages = pd.DataFrame({"age": (inside["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}")})
    found = singling_out(inside, ages.assign(town="*"), queries=50)
    assert found.detail["true_of_nobody"] == found.detail["true_of_one"] == 0
    nothing = pd.DataFrame({"age": ["*"] * len(inside), "town": ["*"] * len(inside)})
    for mode in ("several", "one"):
        found = singling_out(inside, nothing, mode=mode, holdout=people)
        assert (found.attack.of, found.excess, found.interval) == (0, 0, (0, 1))
        assert found.against == "holdout"
        assert found.said == "The release tells nothing that predicates could be made of."


def test_one_column_asks_for_rare_values_ends_and_nulls():
    people = pd.DataFrame(
        {
            "age": [20, 30, 30, 40, 40, 99],
            "town": ["a", "a", "b", "b", "b", "b"],
            "pay": [1.0, 1.0, 1.0, 1.0, 1.0, None],
        }
    )
    found = singling_out(people, people, mode="one")
    # Ages 20 and 99 and both ends isolate; town a is two people's, pay 1 five people's in three
    # ways (a value, both ends), and one has none.
    assert found.detail["true_of_one"] == 5
    assert found.detail["true_of_more"] == 4
    assert found.detail["mode"] == "one"


@pytest.mark.parametrize("listed", [0, 64, 10**6])
def test_counts_are_those_of_looking_at_every_person(people, draw, listed, monkeypatch):
    """Lists of people and blocks of bits count what one predicate after the other counts."""
    monkeypatch.setattr(_predicates, "_LISTED", listed)
    released = people.assign(
        age=(people["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}"),
        pay=people["pay"] + draw.normal(size=len(people)),
    )
    names = ["age", "pay", "town"]
    tables = tables_of(people, released)
    columns = [column_of(reading_of(tables, name)) for name in names]
    of = np.array([draw.permutation(3)[:2] for _ in range(40)])
    of[::5, 1] = -1
    conditions = np.array(
        [[draw.integers(columns[i].null + 3) if i >= 0 else 0 for i in row] for row in of]
    )
    asked = Predicates(columns, of, conditions)
    values = [one.reading.values for one in columns]
    plain = []
    for row, given in zip(of, conditions, strict=True):
        true = np.ones(len(people), bool)
        for i, condition in zip(row, given, strict=True):
            if i >= 0:
                true &= columns[i].holds(values[i], np.array([condition]))[:, 0]
        plain.append(true.sum())
    assert asked.counts(values).tolist() == plain


def test_what_cannot_be_asked_is_refused(people):
    with pytest.raises(BadInput, match="mode must be 'several' or 'one'"):
        singling_out(people, people, mode="all")
    with pytest.raises(BadInput, match="known names 'size', which the original does not have"):
        singling_out(people, people, known=["size"])
    with pytest.raises(BadInput, match="queries must be a whole number"):
        singling_out(people, people, queries=0)


def test_a_sample_is_counted_among_all(people, tmp_path):
    """What is rare in a sample is counted in the whole table, without any of its rows in memory."""
    people.loc[::7, "pay"] = None
    released = people.assign(age=(people["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}"))
    people.to_parquet(tmp_path / "people.parquet")
    known = {"known": ["age", "pay", "town", "born"], "queries": 300}
    with open_engine("duckdb") as working:
        everybody = working.read(tmp_path / "people.parquet", list)
        for mode in ("several", "one"):
            alone = singling_out(people, released, mode=mode, **known)
            assert singling_out(people, released, mode=mode, everybody=everybody, **known) == alone
            # Of a sample, each predicate that is true of nobody else is so in all of the table.
            some = people[::3], released[::3]
            found = singling_out(*some, mode=mode, columns=1, everybody=everybody, **known)
            apart = singling_out(*some, mode=mode, columns=1, **known)
            assert 0 < found.detail["true_of_one"] < apart.detail["true_of_one"]


def test_arrow_and_pandas_are_alike(people):
    arrow = pa.Table.from_pandas(people)
    found = [singling_out(table, table, queries=40).to_dict() for table in (people, arrow)]
    assert found[0] == found[1]


def cells(kept, others, draw):
    """People in equally likely cells, a release that has each cell once, and other people.

    A person is in the cell of their released record with the given probability, and else anywhere.
    """
    named = [
        {"a": f"a{cell % MANY}", "b": f"b{cell // MANY}", "cell": cell} for cell in range(CELLS)
    ]
    released = pd.DataFrame(named)
    somewhere = released.iloc[draw.integers(0, CELLS, CELLS)].reset_index(drop=True)
    stays = pd.Series(draw.random(CELLS) < kept)
    return released.where(stays, somewhere), released, released.iloc[
        draw.integers(0, CELLS, others)
    ].reset_index(drop=True)  # fmt: skip
