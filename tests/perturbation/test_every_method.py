"""What holds for all methods that perturb: the release, its check, its seed, its nulls."""

import datetime as dt
import json
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet import Recipe, check_release
from discreet.check.evidence import Evidence, load_plan, save_plan

NUMBERS = ["age", "income", "paid"]
ANY = [*NUMBERS, "sex", "level", "works", "born"]
STEPS = {
    "additive": ("noise", NUMBERS, {"scale": 0.2}),
    "correlated": ("noise", NUMBERS, {"kind": "correlated"}),
    "multiplicative": ("noise", NUMBERS, {"kind": "multiplicative", "scale": {"age": 0.1, "income": 0.2, "paid": 0.3}}),
    "logarithmic": ("noise", NUMBERS, {"kind": "logarithmic", "scale": 0.3}),
    "correlated-logarithmic": ("noise", NUMBERS, {"kind": "correlated-logarithmic", "scale": {"age": 0.1, "income": 0.2, "paid": 0.3}, "match_ranks": True}),
    "matched": ("noise", NUMBERS, {"kind": "logarithmic", "scale": 0.3, "match_ranks": True}),
    "correlated, matched": ("noise", ["born", *NUMBERS], {"kind": "correlated", "scale": 0.3, "match_ranks": True}),
    "full": ("noise", NUMBERS, {"precision": "full"}),
    "dates": ("noise", ["born", "age"], {"kind": "correlated"}),
    "rank-swap": ("rank-swap", [*NUMBERS, "born"], {"p": 10}),
    "shuffle": ("shuffle", ANY, {}),
    "together": ("shuffle", ANY, {"together": True}),
    "pram": ("pram", ["age", "sex", "level", "works"], {"retention": 0.5}),
    "invariant": ("pram", ["sex", "level", "works"], {"invariant": True}),
    "matrix": ("pram", ["works"], {"matrix": {"works": {"true": {"false": 1}, "false": {"true": 0.5, "false": 0.5}}}}),
}  # fmt: skip
every_step = pytest.mark.parametrize("name", STEPS)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(8)
    n = 300
    born = [dt.date(1950, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 20_000, n)]
    age = rng.integers(18, 90, n)
    table = {
        "age": pa.array(age, pa.int16()),
        "income": pa.array(rng.lognormal(10, 1, n) + 100.0 * age),
        "paid": pa.array([Decimal(int(v)) / 100 for v in rng.integers(0, 10**6, n)], pa.decimal128(9, 2)),
        "sex": pa.array(rng.choice(["f", "m"], n)),
        "level": pa.array(rng.choice(["low", "mid", "high"], n)).dictionary_encode(),
        "works": pa.array(rng.random(n) < 0.6),
        "born": pa.array(born),
    }  # fmt: skip
    hole = {name: pa.array(np.arange(n), mask=rng.random(n) < 0.1) for name in table}
    return pa.table({name: column.take(hole[name]) for name, column in table.items()})


@pytest.fixture(scope="module")
def released(people):
    """The release of each step, made once; no test changes it."""
    return cache(lambda name: discreet.protect(people, recipe_of(name)))


def recipe_of(name, seed=None):
    method, columns, parameters = STEPS[name]
    return {
        "roles": {"rest": "insensitive"},
        "steps": [{"method": method, "columns": columns, **parameters}],
    } | ({} if seed is None else {"seed": seed})


@every_step
def test_a_release_is_checked_against_its_original(name, people, released, tmp_path):
    release = released(name)
    assert release.check.verified
    assert release.log["steps"][0]["effect"] == "perturbs"
    for column in people.column_names:
        assert release.table[column].is_null().equals(people[column].is_null())
        if name != "full":
            assert release.table[column].type == people[column].type
    for column in STEPS[name][1]:
        assert release.log["changed_cells"][column] > 10
    for suffix in ("csv", "parquet"):
        path = release.save(tmp_path / f"{suffix}.{suffix}")
        internal = tmp_path / f"{suffix}.internal"
        report = check_release(path, internal / "recipe.toml", internal, people)
        assert report.verified, str(report)
    plan = json.loads((internal / "plan.json").read_text("utf-8"))
    assert plan["steps"][0]["columns"].keys() == set(STEPS[name][1])


@every_step
def test_the_same_seed_gives_the_same_bytes(name, people, tmp_path):
    people, written = people.select(STEPS[name][1]), []
    for run in range(2):
        recipe = Recipe.from_dict(recipe_of(name, 2**100 + 7) | {"order_seed": 2**101})
        path = discreet.protect(people, recipe).save(tmp_path / f"{run}.csv")
        plan = tmp_path / f"{run}.internal" / "plan.json"
        written.append([path.read_bytes(), plan.read_bytes()])
    assert written[0] == written[1]
    other = discreet.protect(people, recipe_of(name, 2**100 + 8)).table
    assert not other.equals(discreet.protect(people, recipe_of(name, 2**100 + 7)).table)


@every_step
def test_a_small_seed_is_refused(name, people):
    with pytest.raises(discreet.errors.BadInput, match="seed = 5 can be found by trying"):
        discreet.protect(people, recipe_of(name, 5))
    release = discreet.protect(people, recipe_of(name, 5) | {"allow_predictable_seed": True})
    assert "seed = 5 can be found by trying" in release.log["warnings"][0]


@every_step
def test_a_cell_that_was_altered_is_found(name, people, released):
    release = released(name)
    evidence = Evidence(release.plan, release.log, release.recipe)
    for column in STEPS[name][1]:
        cells = release.table[column].combine_chunks()
        (present,) = np.nonzero(cells.is_valid().to_numpy(zero_copy_only=False))
        plain = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
        # Another value of the same column, so that only the cell's place is wrong.
        row, other = next((i, j) for i in present for j in present if plain[i] != plain[j])
        places = np.arange(len(cells))
        places[row] = other
        position = release.table.column_names.index(column)
        altered = release.table.set_column(position, column, cells.take(pa.array(places)))
        report = check_release(altered, release.recipe, evidence, people)
        assert any(
            f.promise.startswith("every treated cell") and f"'{column}'" in f.detail
            for f in report.having("broken")
        )


@every_step
def test_pandas_in_pandas_out(name, people):
    frame = people.select(STEPS[name][1]).to_pandas()
    frame.index = pd.RangeIndex(1000, 1000 + len(frame))
    out = discreet.protect(frame, recipe_of(name)).table
    assert isinstance(out, pd.DataFrame)
    assert out.index.equals(pd.RangeIndex(len(frame)))
    assert (out.isna().to_numpy() == frame.isna().to_numpy()).all()


@pytest.mark.parametrize("kind", ["additive", "correlated", "multiplicative"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_noise_on_decimals_that_arrow_took_for_narrow(kind, suffix, tmp_path):
    """A pandas column of Decimals has no precision but that of its values: here 4 digits."""
    cells = [Decimal(i % 99) + Decimal("0.25") for i in range(200)] + [None]
    frame = pd.DataFrame({"paid": cells, "n": range(201)})
    step = {"method": "noise", "columns": ["paid", "n"], "kind": kind, "scale": 2}
    release = discreet.protect(frame, {"roles": {"rest": "insensitive"}, "steps": [step]})
    assert release.check.verified
    paid = release.table["paid"]
    assert max(abs(cell) for cell in paid[:200]) > 100
    assert {cell.as_tuple().exponent for cell in paid[:200]} == {-2}
    assert paid[200] is None
    path = release.save(tmp_path / "out", format=suffix)
    internal = tmp_path / "out" / "internal"
    assert check_release(path, internal / "recipe.toml", internal, frame).verified


def test_noise_on_decimals_of_polars():
    frame = pl.DataFrame({"paid": [i + 0.25 for i in range(99)]}, schema={"paid": pl.Decimal(4, 2)})
    step = {"method": "noise", "columns": ["paid"], "scale": 2}
    release = discreet.protect(frame, {"roles": {"rest": "insensitive"}, "steps": [step]})
    assert release.check.verified
    assert release.table["paid"].abs().max() > 100


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([0, 250] * 50, pa.uint8()), r"column 'x': uint8 cannot hold -?\d+ \(row \d+\), only 0 to 255; bring"),
        (pa.array([dt.date(2, 1, 1), dt.date(9998, 1, 1)] * 50), r"column 'x': date32\[day\] cannot hold -?\d+-\d\d-\d\d \(row \d+\), only 0001"),
        (pa.array([0, 2**63 - 2**63 % (86_400 * 10**9)] * 50, pa.timestamp("ns")), r"column 'x': timestamp\[ns\] cannot hold 2\d+-\d\d-\d\d \(row \d+\), only 1677"),
    ],
)  # fmt: skip
def test_noise_that_leaves_the_type_is_refused_before_anything_is_released(column, message):
    step = {"method": "noise", "columns": ["x"], "scale": 0.3}
    with pytest.raises(discreet.errors.BadInput, match=message):
        discreet.protect(
            pa.table({"x": column}), {"roles": {"rest": "insensitive"}, "steps": [step]}
        )


def test_a_large_plan_is_kept_in_files_and_applied_from_them(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=20_000), "c": rng.integers(0, 200, 20_000)})
    steps = [
        {"method": "rank-swap", "columns": ["x"], "p": 5},
        {"method": "pram", "columns": ["c"]},
    ]
    release = discreet.protect(table, {"roles": {"rest": "insensitive"}, "steps": steps})
    internal = tmp_path / "out" / "internal"
    path = release.save(tmp_path / "out", format="parquet")
    assert check_release(path, internal / "recipe.toml", internal, table).verified
    assert (
        sum(len(parquet.read_table(p)) for p in internal.glob("plan-*.parquet")) == 20_000 + 200**2
    )


def edited(release, folder, edit):
    """Check a release's table by a plan that was edited."""
    release.save(folder)
    plan = load_plan(folder / "internal")
    edit(plan["steps"][0]["columns"])
    save_plan(plan, folder / "internal")
    return str(check_release(release.table, release.recipe, folder / "internal", release.original))


def test_a_plan_that_swaps_too_far_or_twice_is_found(people, tmp_path):
    release = discreet.protect(people, recipe_of("rank-swap"))

    def narrow(columns):
        columns["income"]["window"] -= 20

    assert "ranks, not" in edited(release, tmp_path / "narrow", narrow)

    def twice(columns):
        rows = columns["income"]["rows"]
        changed = np.flatnonzero(rows != np.arange(len(rows)))
        rows[changed[0]] = rows[changed[1]]

    assert "does not take each value once" in edited(release, tmp_path / "twice", twice)


def test_a_plan_without_a_category_is_found(people, tmp_path):
    release = discreet.protect(people, recipe_of("pram"))

    def rename(columns):
        columns["sex"]["categories"][0] = "x"

    assert "the plan lacks a category" in edited(release, tmp_path / "out", rename)


def test_steps_that_follow_each_other(people, tmp_path):
    steps = [
        {"method": "noise", "columns": ["age", "income"], "scale": 0.3},
        {"method": "top-bottom", "columns": ["age"], "lower": 18, "upper": 85},
        {"method": "shuffle", "columns": ["income", "sex"]},
        {"method": "pram", "columns": ["sex"], "retention": 0.5},
        {"method": "rank-swap", "columns": ["income"], "p": 20},
    ]
    release = discreet.protect(people, {"roles": {"rest": "insensitive"}, "steps": steps})
    path = release.save(tmp_path / "out")
    internal = tmp_path / "out" / "internal"
    assert check_release(path, internal / "recipe.toml", internal, people).verified
    assert release.table["age"].drop_null().to_numpy().min() == 18
