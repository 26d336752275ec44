"""One reading of released cells, whatever the method was."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.attacks._reading import reading_of, tables_of
from discreet.attacks._records import records_of
from discreet.errors import BadInput
from discreet.generalization import Hierarchy

N = 600
DRAW = np.random.default_rng(7)
PAY = DRAW.lognormal(10, 1, N)
DAYS = [dt.date(2000, 1, 1) + dt.timedelta(int(day)) for day in DRAW.integers(0, 5000, N)]
TOWNS = DRAW.choice(["Aix", "Bonn", "Cork", "Delft"], N, p=[0.4, 0.3, 0.2, 0.1])
PEOPLE = pd.DataFrame({"pay": PAY, "born": DAYS, "town": TOWNS, "kids": TOWNS == "Aix"})


def own_scores(released, name, **given):
    """The score of each person's own cell, and the mean score of all cells."""
    reading = reading_of(tables_of(PEOPLE, PEOPLE.assign(**{name: released})), name, **given)
    table = reading.scores(reading.values)
    return table[np.arange(N), reading.labels], table[:, reading.labels].mean()


def grouped(values, k):
    order, found = np.argsort(values), np.empty(len(values))
    for first in range(0, len(values), k):
        found[order[first : first + k]] = values[order[first : first + k]].mean()
    return found


@pytest.mark.parametrize(
    ("name", "released"),
    [
        ("pay", PAY),
        ("pay", np.round(PAY, -4)),
        ("pay", [f"[{v // 5000 * 5000:.0f}, {v // 5000 * 5000 + 5000:.0f})" for v in PAY]),
        ("pay", grouped(PAY, 10)),
        ("born", DAYS),
        ("born", [f"{day:%Y-%m}" for day in DAYS]),
        ("born", [f"{day:%Y}" for day in DAYS]),
        ("born", [f"{day.year}-Q{(day.month + 2) // 3}" for day in DAYS]),
        ("born", ["{}-W{:02d}".format(*day.isocalendar()) for day in DAYS]),
        ("town", TOWNS),
        ("town", ["north" if town in ("Cork", "Delft") else "south" for town in TOWNS]),
        ("kids", PEOPLE["kids"]),
    ],
)
def test_a_truthful_cell_is_at_least_as_likely_as_any_other(name, released):
    reading = reading_of(tables_of(PEOPLE, PEOPLE.assign(**{name: released})), name)
    table = reading.scores(reading.values)
    own = table[np.arange(N), reading.labels]
    assert (own >= table[:, np.unique(reading.labels)].max(axis=1) - 1e-6).all()
    assert reading.fits(reading.values)[np.arange(N), reading.labels].all()
    assert own.mean() > 0 > table[:, reading.labels].mean()


@pytest.mark.parametrize(
    ("name", "released"),
    [
        ("pay", PAY + DRAW.normal(size=N) * 2000),
        ("pay", PAY * np.exp(DRAW.normal(size=N) * 0.1)),
        (
            "born",
            [
                day + dt.timedelta(int(d))
                for day, d in zip(DAYS, DRAW.integers(-9, 9, N), strict=True)
            ],
        ),
        ("town", np.where(DRAW.random(N) < 0.3, DRAW.permutation(TOWNS), TOWNS)),
    ],
)
def test_a_cell_that_was_moved_still_tells_on_average(name, released):
    own, anybody = own_scores(released, name)
    assert own.mean() > 0.3
    assert own.mean() > anybody + 1


def test_a_fit_counts_by_how_few_people_it_fits():
    own, _ = own_scores(TOWNS, "town")
    share = pd.Series(TOWNS).map(pd.Series(TOWNS).value_counts(normalize=True))
    assert own == pytest.approx(np.log(1 / share), abs=2e-3)


@pytest.mark.parametrize("nothing", ["*", None])
@pytest.mark.parametrize("name", ["pay", "town", "born", "kids"])
def test_a_star_and_a_null_tell_nothing(name, nothing):
    own, anybody = own_scores([nothing] * N, name)
    assert not own.any()
    assert anybody == 0
    some = PEOPLE[name].astype(str).where(np.arange(N) % 2 == 0, nothing)
    own, _ = own_scores(some, name)
    assert not own[1::2].any()
    assert own[::2].all()


def test_nothing_can_be_told_of_a_null():
    before = PEOPLE.assign(pay=np.where(np.arange(N) < 10, np.nan, PAY))
    reading = reading_of(tables_of(before, PEOPLE), "pay")
    assert not reading.scores(reading.values[:10]).any()
    assert reading.scores(reading.values[10:]).any()


def test_names_of_their_own_do_not_give_a_person_away():
    # Nobody can read "cell 17": that it stands beside a value is known only to the data holder.
    own, anybody = own_scores([f"cell {i}" for i in range(N)], "town")
    assert not own.any()
    assert anybody == 0
    own, _ = own_scores(DRAW.choice(["u", "v", "w"], N), "town")
    assert abs(own.mean()) < 0.01


def test_numbers_in_another_order_are_taken_at_their_word():
    order = DRAW.permutation(N)
    reading = reading_of(tables_of(PEOPLE, PEOPLE.assign(pay=PAY[order])), "pay")
    table = reading.scores(reading.values)[:, reading.labels]
    assert (table.argmax(axis=1) == np.argsort(order)).all()


def test_a_hierarchy_says_what_a_label_covers_that_nobody_of_the_rows_shows():
    before, after = pa.table({"town": ["Aix", "Bonn"]}), pa.table({"town": ["*", "south"]})
    tree = Hierarchy.groups({"south": ["Aix", "Bonn"], "north": ["Cork"]})
    reading = reading_of(tables_of(before, after), "town", tree)
    assert reading.fits(reading.values)[:, reading.labels[1]].tolist() == [True, True]
    ages = pa.table({"age": [8, 70, 40]}), pa.table({"age": ["young", "*", "old"]})
    levels = Hierarchy.from_table([["8", "young"], ["40", "old"], ["70", "old"]])
    reading = reading_of(tables_of(*ages), "age", levels)
    assert reading.fits(reading.values)[:, reading.labels[2]].tolist() == [False, True, True]


def test_people_of_the_holdout_are_read_alike():
    after = PEOPLE.assign(pay=[f"{v // 1000 * 1000:.0f}-{v // 1000 * 1000 + 999:.0f}" for v in PAY])
    held = pd.DataFrame({"pay": PAY[:50] + 0.001})
    reading = reading_of(tables_of(PEOPLE, after, held), "pay")
    mine, theirs = reading.scores(reading.values[:50]), reading.scores(reading.held)
    assert (mine == theirs).all()


def test_steps_between_which_nobody_is_belong_to_the_nearer():
    before, after = pa.table({"x": [1, 2, 11, 12]}), pa.table({"x": [1.5, 1.5, 11.5, 11.5]})
    reading = reading_of(tables_of(before, after, pa.table({"x": [0, 3, 10, 40]})), "x")
    fits = reading.fits(reading.held)[:, reading.labels[[0, 2]]]
    assert fits.tolist() == [[True, False], [True, False], [False, True], [False, True]]


def test_scores_of_records_are_sums_over_columns():
    after = PEOPLE.assign(pay=np.round(PAY, -3), town=np.where(TOWNS == "Aix", None, TOWNS))
    tables = tables_of(PEOPLE, after)
    records = records_of(tables, ["pay", "town", "kids"])
    wanted = np.zeros((N, N), np.float32)
    for name in ("pay", "town", "kids"):
        reading = reading_of(tables, name)
        wanted += reading.scores(reading.values)[:, reading.labels]
    found = np.empty((N, records.tuples.shape[1]), np.float32)
    for part, scores in records.scores(records.people(np.arange(N))):
        found[part] = scores
    np.testing.assert_allclose(found[:, records.of], wanted, rtol=0, atol=1e-4)
    assert records.counts.sum() == N


@pytest.mark.parametrize("name", ["pay", "town"])
def test_a_column_without_any_value_tells_nothing(name):
    before = PEOPLE.assign(**{name: None})
    for after in (PEOPLE, before):
        reading = reading_of(tables_of(before, after), name, drawn=True)
        assert not reading.scores(reading.values).any()


def test_infinity_is_refused():
    with pytest.raises(
        BadInput, match=r"column 'x' holds infinity, which is near nothing; make it null"
    ):
        reading_of(tables_of(pa.table({"x": [1.0, np.inf]}), pa.table({"x": [1.0, 2.0]})), "x")


@pytest.mark.parametrize("scale", [1e-300, 1e280])
def test_tiny_and_huge_numbers_are_read_like_others(scale):
    moved = PAY + DRAW.normal(size=N) * 2000
    found = []
    for factor in (1.0, scale):
        tables = tables_of(pa.table({"x": PAY * factor}), pa.table({"x": moved * factor}))
        reading = reading_of(tables, "x")
        found.append(reading.scores(reading.values)[:, reading.labels])
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-3)
