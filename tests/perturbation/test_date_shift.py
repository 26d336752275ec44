"""Dates move with their person: intervals are kept, and nothing else of the calendar is."""

import datetime as dt
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import discreet
from discreet import check_release
from discreet.check.evidence import Evidence
from discreet.errors import BadInput
from discreet.perturbation import DateShift

DATES = ["admitted", "seen", "born"]
START = dt.date(2020, 1, 1)


def episodes(persons=40, seed=0) -> pa.Table:
    """Several rows a person, with dates, datetimes with a zone, and nulls."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.repeat(np.arange(persons), rng.integers(1, 9, persons)))
    n = len(person)
    admitted = [START + dt.timedelta(days=int(d)) for d in rng.integers(0, 900, n)]
    seconds = np.array(admitted, "datetime64[s]").astype(int) + rng.integers(0, 86_400, n)
    born = [dt.date(1950, 1, 1) + dt.timedelta(days=int(37 * p)) for p in person]
    hole = rng.random((2, n)) < 0.1
    return pa.table(
        {
            "person": pa.array([f"p{p}" for p in person]),
            "home": pa.array(person // 3),
            "admitted": pa.array(admitted, mask=hole[0]),
            "seen": pa.array(seconds * 10**6, mask=hole[1]).cast(pa.timestamp("us", "Europe/Vienna")),
            "born": pa.array(born),
            "score": pa.array(rng.normal(size=n).round(2)),
        }
    )  # fmt: skip


def recipe(seed=None, roles=None, days=60, **parameters):
    step = {"method": "date-shift", "columns": DATES, "days": days, **parameters}
    roles = roles or {"unit": "person"}
    rules = {"roles": {"insensitive": [*DATES, "score"], "rest": "drop", **roles}, "steps": [step]}
    return rules if seed is None else rules | {"seed": seed}


def shifts(before, after, by):
    """The moves of each person's dates, over all rows and columns."""
    found = defaultdict(set)
    for name in DATES:
        # In UTC: on the clock of a zone, summer time would add an hour or take one.
        old, new = (
            (one[name].cast(pa.timestamp("us", "UTC")) if name == "seen" else one[name]).to_pylist()
            for one in (before, after)
        )
        for owner, x, y in zip(by, old, new, strict=True):
            assert (x is None) == (y is None)
            if x is not None:
                found[owner].add(y - x)
    return found


def test_intervals_within_a_person_are_kept_over_rows_and_columns():
    table = episodes()
    release = discreet.protect(table, recipe())
    assert release.check.verified
    assert release.table.schema.equals(table.select([*DATES, "score"]).schema)
    found = shifts(table, release.table, table["person"].to_pylist())
    assert {len(some) for some in found.values()} == {1}
    days = Counter(some.pop().days for some in found.values())
    assert len(days) > 20
    assert 0 not in days
    assert max(map(abs, days)) <= 60


@pytest.mark.parametrize(
    ("roles", "by"),
    [
        ({"household": "home"}, "home"),
        ({"household": "home", "unit": "person"}, "home"),
        ({"unit": "person"}, "person"),
        ({}, None),
    ],
)
def test_the_household_goes_before_the_unit_and_this_before_the_row(roles, by):
    table = episodes()
    released = discreet.protect(
        table, recipe(seed=2**100 + 1, roles=roles or {"rest": "drop"}) | {"counts": "rows"}
    )
    owners = range(len(table)) if by is None else table[by].to_pylist()
    found = shifts(table, released.table, owners)
    assert {len(some) for some in found.values()} == {1}
    assert len({day for some in found.values() for day in some}) > 10


@given(st.integers(1, 40), st.booleans(), st.integers(0, 2**32))
def test_every_shift_is_as_likely_and_weekdays_can_stay(days, keep_weekday, seed):
    if keep_weekday:
        days += 6
    n = 4000
    table = pa.table({"day": pa.array(np.zeros(n, dtype="datetime64[D]"))})
    moved = DateShift(days, keep_weekday=keep_weekday, random_state=seed).fit_transform(table)
    step = 7 if keep_weekday else 1
    most = days // step
    counts = Counter(moved["day"].to_numpy().astype(int))
    assert set(counts) <= {step * m for m in range(-most, most + 1) if m}
    expected = n / (2 * most)
    assert all(abs(c - expected) < 6 * np.sqrt(expected) + 1 for c in counts.values())


def test_as_a_transformer_with_units():
    table = pd.DataFrame({"a": pd.to_datetime(["2024-01-01", "2024-02-01", None, "2024-03-05"])})
    table["b"] = table["a"] + pd.Timedelta(hours=30)
    units = [7, 8, 8, 7]
    method = DateShift(400, random_state=5)
    out = method.fit_transform(table, units=units)
    assert isinstance(out, pd.DataFrame)
    assert (out["b"] - out["a"]).dropna().eq(pd.Timedelta(hours=30)).all()
    assert out["a"][3] - out["a"][0] == table["a"][3] - table["a"][0]
    assert out["a"][1] - out["a"][0] != table["a"][1] - table["a"][0]
    assert method.plan_["days"] == 400
    pd.testing.assert_frame_equal(out, method.fit_transform(table, units=units))
    with pytest.raises(BadInput, match="units has 2 values for 4 rows"):
        method.fit(table).fit_transform(table, units=[1, 2])


def test_nanoseconds_are_kept_to_the_last():
    stamps = pa.array([1_700_000_000_123_456_789, -1], pa.timestamp("ns"))
    moved = DateShift(3, random_state=1).fit_transform(pa.table({"t": stamps}))
    gone = moved["t"].cast(pa.int64()).to_numpy() - stamps.cast(pa.int64()).to_numpy()
    assert (gone % (86_400 * 10**9) == 0).all()
    assert (gone != 0).all()


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    table = episodes()
    for number, seed in enumerate((2**100 + 1, 2**100 + 1, 2**100 + 2)):
        rules = recipe(seed) | {"order_seed": 2**100}
        discreet.protect(table, rules).save(tmp_path / str(number))
    first, again, other = (
        next((tmp_path / str(number) / "public").glob("table.*")).read_bytes()
        for number in range(3)
    )
    assert first == again != other


@pytest.mark.parametrize("roles", [{"unit": "person"}, {"household": "home"}, {}])
def test_duckdb_gives_the_same_table(roles, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.engines.duckdb.PIECE", 50)
    table = episodes(100).drop_columns("seen")
    parquet.write_table(table, tmp_path / "in.parquet")
    rules = recipe(2**100 + 3, roles or {"rest": "drop"}) | {"order_seed": 2**100, "counts": "rows"}
    rules["roles"]["insensitive"] = ["admitted", "born", "score"]
    rules["steps"][0]["columns"] = ["admitted", "born"]
    tables = []
    for engine in ("memory", "duckdb"):  # both check what they release against the original
        release = discreet.protect(tmp_path / "in.parquet", rules, engine=engine)
        assert release.check.verified
        release.save(tmp_path / engine)
        tables.append(parquet.read_table(tmp_path / engine / "public" / "table.parquet"))
    assert tables[0].select(["admitted", "born"]).equals(tables[1].select(["admitted", "born"]))


def test_a_later_step_goes_on_from_the_shifted_dates():
    table = episodes()
    rules = recipe()
    rules["steps"].append({"method": "oma", "columns": ["admitted"], "k": 3})
    release = discreet.protect(table, rules | {"counts": "rows"})
    assert release.check.verified


def checked(table, rules, change=None, plan=None):
    release = discreet.protect(table, rules)
    if plan is not None:
        plan(release.plan["steps"][0])
    released = release.table if change is None else change(release.table)
    evidence = Evidence(release.plan, release.log, release.recipe)
    return check_release(released, release.recipe, evidence, table)


def one_day_later(released):
    cells = released["born"].to_pylist()
    cells[3] += dt.timedelta(days=1)
    place = released.column_names.index("born")
    return released.set_column(place, "born", pa.array(cells, pa.date32()))


def test_a_cell_that_was_tampered_with_is_found():
    table = episodes()
    assert checked(table, recipe()).verified
    report = checked(table, recipe(), one_day_later)
    assert not report.verified
    assert "column 'born', row 4" in str(report)


def test_missing_dates_of_pandas_are_verified():
    # Behind a null pandas has the least number that there is, and a day less is none.
    days = pd.Series(pd.date_range("2020-01-01", periods=60)).where(np.arange(60) % 2 == 0)
    step = {"method": "date-shift", "columns": ["a"], "days": 5}
    release = discreet.protect(
        pd.DataFrame({"a": days}), {"roles": {"insensitive": ["a"]}, "steps": [step]}
    )
    assert release.table["a"].isna().tolist() == days.isna().tolist()


def test_a_plan_that_was_edited_is_found():
    report = checked(episodes(), recipe(), plan=lambda step: step["joint"].update(days=61))
    assert "the plan's days in column 'admitted' is 61, the recipe's 60" in str(report)


@pytest.mark.parametrize(
    ("column", "parameters", "message"),
    [
        ([1, 2], {}, "step 1 (date-shift): column 'a' holds int64, not dates; date-shift takes dates only"),
        ([dt.timedelta(1)], {}, "step 1 (date-shift): column 'a' holds duration[us], not dates; date-shift takes dates only"),
        (["2020-01-01"], {}, "step 1 (date-shift): column 'a' holds string, not dates; date-shift takes dates only"),
        ([START, dt.date(9999, 12, 31)], {}, "step 1 (date-shift): column 'a' holds 9999-12-31, which date32[day] cannot move by 5 days; mark such dates as missing (null_markers), or lower days"),
        ([dt.datetime(1, 1, 3)], {}, "step 1 (date-shift): column 'a' holds 0001-01-03, which timestamp[us] cannot move by 5 days; mark such dates as missing (null_markers), or lower days"),
        ([START], {"days": 0}, "the recipe: step 1 (date-shift): days must be a whole number from 1 to 1,000,000, not 0"),
        ([START], {"keep_weekday": True}, "the recipe: step 1 (date-shift): keep_weekday moves by whole weeks, but days = 5; set 7 or more"),
    ],
)  # fmt: skip
def test_what_is_refused(column, parameters, message):
    step = {"method": "date-shift", "columns": ["a"], "days": 5, **parameters}
    with pytest.raises(BadInput) as error:
        discreet.protect(
            pa.table({"a": column}), {"roles": {"insensitive": ["a"]}, "steps": [step]}
        )
    assert str(error.value) == message
