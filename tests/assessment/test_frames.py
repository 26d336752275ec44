"""Tables in memory and on an engine: the same figures, and those of the public measures."""

import datetime as dt
import pickle
import warnings
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from pyarrow import parquet

from discreet import Recipe, assess, protect
from discreet.assessment.assessment import assess_frames
from discreet.assessment.catalogue import measures
from discreet.attacks import Rate
from discreet.engines import Frame
from discreet.engines.duckdb import DuckDBFrame, Session
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput
from discreet.risk import class_sizes, found_for_certain, interval_disclosure
from discreet.table import normalise
from discreet.utility import (
    contingency_loss,
    entropy,
    il1s,
    il_metrics,
    mean_absolute_correlation,
    null_rates,
    sse_ratio,
)
from tests.examples import examples


@pytest.fixture
def session(tmp_path, monkeypatch):
    # Pieces so small that every sum is one of many.
    monkeypatch.setattr("discreet.engines.duckdb.PIECE", 37)
    with Session(tmp_path, "500MB") as opened:
        yield opened


@pytest.fixture(params=["memory", "duckdb"])
def place(request, session):
    """What makes frames of tables: in memory, and on DuckDB in many pieces."""
    if request.param == "duckdb":
        return lambda *given, **how: frame(session, *given, **how)
    return lambda table, rows=None, markers=(): MemoryFrame(normalise(table, markers), rows)


def frame(session, table, rows=None, markers=()):
    """Put a table into a file, in pieces; with some rows only, as a temporary file has them."""
    path = session.new_file()
    if rows is None:
        parquet.write_table(table, path, row_group_size=50)
        return DuckDBFrame(session, [path], markers)
    schema = pa.schema([field.remove_metadata() for field in table.schema])
    named = table.rename_columns([f"c{i}" for i in range(table.num_columns)])
    named = named.append_column("number", pa.array(rows, pa.int64()))
    parquet.write_table(named, path, row_group_size=50)
    return DuckDBFrame(session, [path], schema=schema, in_order=bool((np.diff(rows) > 0).all()))


def alike(one, other, where=""):
    """The same keys in the same order, the same words, the same figures up to 1e-9."""
    assert type(one) is type(other) or {type(one), type(other)} <= {int, float}, where
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            alike(one[key], other[key], f"{where} {key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for i, pair in enumerate(zip(one, other, strict=True)):
            alike(*pair, f"{where} {i}")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12), where
    else:
        assert one == other, where


def compare(session, before, after, recipe, rows=None, suppressed=(), measures=None, markers=()):
    """Assess in memory and on frames; both must say the same."""
    in_memory = assess(
        before, after, recipe.roles, recipe=recipe, rows=rows,
        suppressed=np.array(suppressed, dtype=int), measures=measures,
    )  # fmt: skip
    at = np.arange(len(after)) if rows is None else rows
    on_frames = assess_frames(
        frame(session, before, markers=markers), frame(session, after, at), recipe,
        suppressed=len(suppressed), measures=measures,
    )  # fmt: skip
    alike(on_frames.to_dict(), in_memory.to_dict())
    if measures is None:
        as_published(in_memory, before, after, at, suppressed)
    return on_frames


def _only_blanks(before, after, column):
    x, y = (table[column].to_pandas() for table in (before, after))
    return bool((x == y)[x.notna() & y.notna()].all())


def as_published(result, before, after, rows, suppressed):
    """The figures are those that the public measures give for the tables."""
    figures = result.figures["columns"]
    changed = [c for c in figures if figures[c]["changed"]]
    labels = [c for c in figures if figures[c]["kind"] == "categorical"]
    numbers = [c for c in figures if c not in labels]
    treated = [c for c in numbers if c in changed]
    whole, before = before, before.take(pa.array(rows))
    moved = [c for c in treated if not _only_blanks(before, after, c)] or treated
    expected = {
        "il1s": lambda: il1s(*both(moved), normalize=True),
        "sse_ratio": lambda: sse_ratio(*both(moved), standardize=True),
        "il_metrics": lambda: il_metrics(*both(treated)),
        "interval_disclosure": lambda: interval_disclosure(*both(treated)),
        "mean_absolute_correlation": lambda: mean_absolute_correlation(*both(numbers)),
        "entropy": lambda: entropy(*both(changed)),
        "contingency_loss": lambda: contingency_loss(*both(labels)),
        "null_rates": lambda: null_rates(whole, laid, quasi, suppressed=gone),
        "class_sizes": lambda: asdict(class_sizes(after, quasi)),
        "found_for_certain": lambda: certain(found_for_certain(*both(quasi), quasi, detail=True)),
    }

    def certain(result):
        return {"found": result.found, "share": result.value}

    def both(names):
        return before.select(names), after.select(names)

    place = np.full(len(whole), -1)
    place[rows] = np.arange(len(rows))
    laid = after.take(pa.array(place, mask=place < 0))
    gone = np.isin(np.arange(len(whole)), suppressed)
    found = result.risk | result.utility
    quasi = list(found.get("class_sizes", {}).get("columns", found.get("null_rates", {}).get("columns", ())))  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        for name in expected.keys() & found.keys():
            own = found[name].get("after", found[name].get("value"))
            assert own == pytest.approx(expected[name](), rel=1e-12), name


def people(n=600, nulls=True, seed=5):
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 90, n).astype(float)
    pay = np.round(rng.lognormal(7, 0.6, n), 2)
    hours = rng.normal(35, 8, n) * (rng.random(n) > 0.05)
    born = [dt.date(2020, 1, 1) - dt.timedelta(days=int(d)) for d in rng.integers(0, 20000, n)]
    table = {
        "age": pa.array(ages.astype(int), mask=rng.random(n) < 0.03 * nulls),
        "sex": pa.array(rng.choice(["f", "m"], n), mask=rng.random(n) < 0.05 * nulls),
        "region": pa.array(rng.choice(["north", "south", "east", "west"], n)).dictionary_encode(),
        "pay": pa.array(pay, mask=rng.random(n) < 0.04 * nulls),
        "hours": hours,
        "born": pa.array(born, mask=rng.random(n) < 0.02 * nulls),
        "same": np.full(n, 3.5),
        "works": pa.array(rng.random(n) < 0.6),
    }
    return pa.table(table)


def recipe_of(quasi, steps, confidential=(), **more):
    return Recipe.from_dict(
        {
            "roles": {
                "quasi": list(quasi),
                "confidential": list(confidential),
                "rest": "insensitive",
                "untouched": [c for c in quasi if not any(c in s["columns"] for s in steps)],
                **more,
            },
            "steps": steps,
            "order_seed": 2**100 + 1,
            "seed": 2**100 + 2,
        }
    )


GENERALIZE = {
    "method": "generalize",
    "columns": ["age", "sex", "region"],
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "suppression_limit": 0.1,
    "hierarchies": {
        "age": {"kind": "intervals", "widths": [10, 40]},
        "sex": {"kind": "prefix"},
        "region": {"kind": "prefix"},
    },
}
RECIPES = {
    "rounding": recipe_of(
        ["age", "sex"],
        [{"method": "oma", "columns": ["age", "pay", "born"], "k": 5}],
        ["pay", "region"],
    ),
    "perturbed quasi": recipe_of(
        ["age", "hours"], [{"method": "noise", "columns": ["age", "hours"], "scale": 0.3}], ["pay"]
    ),
    "labels exchanged": recipe_of(
        ["sex", "region"], [{"method": "pram", "columns": ["sex", "region"], "retention": 0.8}]
    ),
    "generalized": recipe_of(
        ["age", "sex", "region"],
        [GENERALIZE, {"method": "oma", "columns": ["pay"], "k": 4, "promise": False}],
        ["works"],
    ),
    "numbers only": recipe_of([], [{"method": "mdav", "columns": ["pay", "hours"], "k": 10}]),
    "nothing done": recipe_of(["sex"], []),
}


@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("name", RECIPES)
def test_as_in_memory(session, name, nulls):
    table = people(nulls=nulls)
    release = protect(table, RECIPES[name])
    kept = np.delete(np.arange(len(table)), release.left_out)
    gone = release.plan.get("suppressed", {}).get("rows", ())
    after = release.finished.table.take(pa.array(kept))
    rows = kept if len(release.left_out) else None
    compare(session, table, after, release.recipe, rows, gone)


def test_records_left_out_and_columns_missing(session):
    table = people()
    after = table.drop_columns(["sex", "same"])
    pay = after["pay"].to_numpy().round(-2)
    after = after.set_column(2, "pay", pa.array(pay, from_pandas=True))
    rows = np.flatnonzero(np.random.default_rng(1).random(len(table)) < 0.9)
    recipe = recipe_of(["age", "sex", "region"], [], ["pay"])
    gone = np.setdiff1d(np.arange(len(table)), rows)
    result = compare(session, table, after.take(pa.array(rows)), recipe, rows, gone)
    assert result.left_out["quasi column 'sex'"] == "it is not in the protected table"
    assert result.utility["null_rates"]["suppressed"] == len(gone) > 0


def test_blanked_cells_are_no_nulls_of_the_input(session):
    table = people()
    rng = np.random.default_rng(2)
    after = table
    for at, name in ((0, "age"), (1, "sex")):
        blank = pa.array(rng.random(len(table)) < 0.1)
        after = after.set_column(at, name, pc.if_else(blank, None, after[name]))
    rows = np.flatnonzero(rng.random(len(table)) < 0.9)
    recipe = recipe_of(["age", "sex", "region"], [])
    gone = np.setdiff1d(np.arange(len(table)), rows)
    result = compare(session, table, after.take(pa.array(rows)), recipe, rows, gone)
    found = result.utility["null_rates"]
    lost = [
        table[c].take(pa.array(rows)).is_valid().to_numpy()
        & after[c].take(pa.array(rows)).is_null().to_numpy()
        for c in ("age", "sex")
    ]
    assert found["blanked"] == np.sum(lost) / (3 * len(table))
    assert found["blanked_records"] == np.any(lost, axis=0).sum() / len(table)
    nulls = sum(table[c].null_count for c in ("age", "sex"))
    assert found["before"] == nulls / (3 * len(table))


def test_rows_in_another_order_and_markers(place):
    table = people()
    marked = table.set_column(1, "sex", table["sex"].fill_null("?"))
    order = np.random.default_rng(2).permutation(len(table))
    after = table.set_column(
        3, "pay", pa.array(table["pay"].to_numpy().round(-1), from_pandas=True)
    )
    recipe = recipe_of(["sex", "works"], []).model_copy(update={"null_markers": ["?"]})
    before = place(marked, markers=["?"])
    result = assess_frames(before, place(after.take(pa.array(order)), order), recipe)
    alike(result.to_dict(), assess(marked, after, recipe.roles, recipe=recipe).to_dict())


def test_values_far_from_zero(session):
    rng = np.random.default_rng(3)
    x = 1e9 + rng.normal(0, 1e-3, (500, 3))
    y = x + rng.normal(0, 5e-4, x.shape)
    before, after = (pa.table({c: v[:, i] for i, c in enumerate("abc")}) for v in (x, y))
    result = compare(session, before, after, recipe_of([], []))
    sd = result.utility["columns"]["columns"]["a"]["sd"]
    assert sd == [pytest.approx((v[:, 0] - 1e9).std(ddof=1), rel=1e-9) for v in (x, y)]


def test_constant_empty_and_infinite_columns(session):
    n = 90
    x = np.arange(n, dtype=float)
    before = pa.table({"x": x, "one": np.full(n, 7.0), "none": pa.nulls(n, pa.float64()), "far": x})
    after = before.set_column(1, "one", pa.array(np.r_[8.0, np.full(n - 1, 7.0)]))
    after = after.set_column(0, "x", pa.array(np.full(n, 44.5)))
    compare(session, before, after, recipe_of([], []))
    gaps = pa.array(np.where(x % 2 == 0, x, np.nan), from_pandas=True)
    half = after.set_column(2, "none", gaps).set_column(3, "far", gaps)
    compare(session, before, half, recipe_of([], []))
    infinite = after.set_column(3, "far", pa.array(np.r_[np.inf, x[1:]]))
    result = compare(session, before, infinite, recipe_of([], []))
    assert result.left_out["il1s"] == "column 'far' holds infinity; make it null or code it first"


@pytest.mark.parametrize("low", [0.2, 5.0])
def test_weights_are_summed(session, low):
    table = people()
    rng = np.random.default_rng(4)
    table = table.append_column("w", pa.array(low + rng.random(len(table))))
    rows = np.flatnonzero(rng.random(len(table)) < 0.95)
    after = table.drop_columns(["w"]).take(pa.array(rows))
    recipe = recipe_of(["sex", "region"], [], weight="w")
    in_memory = assess(table, after, recipe.roles, recipe=recipe, rows=rows)
    result = assess_frames(frame(session, table), frame(session, after, rows), recipe)
    one, other = (
        {k: r.risk[k] for k in ("individual_risk", "attackers")} for r in (result, in_memory)
    )
    assert ("less than their records" in str(result)) == (low < 1)
    # The row that a warning names is known in memory only.
    for entry in (one, other):
        entry["individual_risk"].pop("notes", None)
    alike(one, other)


def test_households_are_told_of(session):
    table = people(90).append_column("home", pa.array(np.arange(90) // 3))
    recipe = recipe_of(["sex"], [], household="home")
    result = assess_frames(frame(session, table), frame(session, table), recipe)
    assert "household" not in result.risk["individual_risk"]["after"]
    assert result.notes() == ["the risk of households needs all records in memory and is left out"]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("roles", [{"household": "home"}, {"unit": "home"}])
def test_units_are_counted_on_engines_as_in_memory(session, weight, roles):
    rng = np.random.default_rng(3)
    table = people(200).append_column("home", pa.array(rng.integers(0, 70, 200)))
    table = table.append_column("w", pa.array(2 + rng.random(200)))
    rows = np.flatnonzero(rng.random(200) < 0.95)
    after = table.drop_columns(["w"]).take(pa.array(rows))
    blank = pa.array(rng.random(len(rows)) < 0.1)
    after = after.set_column(1, "sex", pc.if_else(blank, None, after["sex"]))
    if "unit" in roles:
        after = after.drop_columns(["home"])
    recipe = recipe_of(["sex", "region"], [], ["works"], weight=weight, **roles)
    names = ["class_sizes", "found_for_certain", "attackers", "diversity", "composition"]
    names = names[: -1 if "unit" in roles else None]
    given = {"recipe": recipe, "rows": rows, "measures": names}
    in_memory = assess(table, after, recipe.roles, **given)
    on_frames = assess_frames(
        frame(session, table), frame(session, after, rows), recipe, measures=names
    )
    alike(on_frames.risk, in_memory.risk)
    assert list(in_memory.risk) == [name for name in measures("risk") if name in names]
    counted = in_memory.risk["class_sizes"]
    assert counted["counts"] == ("units" if "unit" in roles else "households")
    units = table["home"].take(pa.array(rows))
    assert counted["after"] == asdict(class_sizes(after, ["sex", "region"], units=units))
    certain = in_memory.risk["found_for_certain"]
    both = table.take(pa.array(rows)), after
    found = found_for_certain(*both, ["sex", "region"], units=units, detail=True)
    assert certain["after"] == {"found": found.found, "share": found.value}
    assert certain["counts"] == counted["counts"]


def test_too_many_tuples_are_told_of(session, monkeypatch):
    monkeypatch.setattr("discreet.assessment.facts.MOST_TUPLES", 10)
    table = people(300, nulls=False).append_column("w", pa.array(np.full(300, 2.0)))
    after = table.set_column(1, "sex", pa.array(["f"] * 300))
    recipe = recipe_of(["sex"], [], ["region", "works"])
    before, after = frame(session, table), frame(session, after)
    result = assess_frames(before, after, recipe)
    assert result.risk["diversity"]["columns"].keys() == {"region", "works"}
    assert "contingency_loss" in result.utility
    weighted = recipe_of(["region", "works", "age"], [], weight="w")
    assert (
        assess_frames(before, after, weighted)
        .left_out["attackers"]
        .startswith(
            "to sum weights over classes of region, works, age it needs them in memory, and there are"
        )
    )


def test_what_goes_to_the_rows_can_be_pickled(session):
    """As an engine does that sends functions away and gets their results back."""
    table = people(200)
    after = table.set_column(4, "hours", pa.array(np.round(table["hours"].to_numpy())))
    recipe = recipe_of(["sex", "age"], [])
    before, after = frame(session, table), frame(session, after)
    expected = assess_frames(before, after, recipe).to_dict()

    class Sent(DuckDBFrame):
        def fold_pairs(self, after, function, merge, columns=None, columns_after=None):
            def remote(*piece):
                return pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(*piece)))

            return super().fold_pairs(after, remote, merge, columns, columns_after)

    before.__class__ = Sent
    alike(assess_frames(before, after, recipe).to_dict(), expected)


def test_a_weight_that_is_none_is_named(place):
    table = people(100).append_column("w", pa.array([1.0] * 60 + [0.0] + [1.0] * 39))
    recipe = recipe_of(["sex"], [], weight="w")
    result = assess_frames(place(table), place(table.drop_columns("w")), recipe)
    assert result.left_out["class_sizes"] == "column 'w', row 61: a weight must be above 0, not 0.0"


def test_linkage_is_tried_in_a_sample(session, monkeypatch):
    monkeypatch.setattr("discreet.assessment.facts.LINKED", 200)
    monkeypatch.setattr("discreet.assessment.facts.DRAWN", 300)
    table = people(3000, nulls=False).select(["age", "hours", "pay"])
    rng = np.random.default_rng(6)
    pay = pa.array(table["pay"].to_numpy() * rng.uniform(0.9, 1.1, len(table)))
    after = table.set_column(2, "pay", pay)
    recipe = recipe_of(["pay", "hours"], [])
    before, after = frame(session, table), frame(session, after)
    result = assess_frames(before, after, recipe)
    assert assess_frames(before, after, recipe).to_dict() == result.to_dict()
    for name in ("distance_linkage", "probabilistic_linkage"):
        entry = result.risk[name]
        assert (entry["sample"], entry["of"]) == (200, 3000)
        assert entry["interval"] == list(Rate(entry["after"] * 200, 200).interval)
        assert entry["means"].endswith(
            ", looked for among a sample of 200 of 3,000: there an intruder finds at least as many "
            "as in the whole, having fewer to confuse a record with"
        )
    assert result.score is not None
    assert result.figures["sampled"] == {"rows": 300, "of": 3000}
    other = recipe.model_copy(update={"order_seed": 2**90})
    assert assess_frames(before, after, other).risk != result.risk


def test_what_needs_all_rows_is_left_out(session):
    table = people(80)
    recipe = recipe_of(["sex"], [])
    result = assess_frames(
        frame(session, table), frame(session, table), recipe, measures=["suda2", "columns"]
    )
    assert result.left_out == {
        "suda2": "it needs all records in memory; measure a part of the table"
    }
    assert list(result.utility) == ["columns"]
    assert result.figures is None


@pytest.mark.parametrize("measures", [None, ["class_sizes"]])
def test_a_wrong_row_map_is_refused(place, measures):
    table = people(80)
    before, recipe = place(table), recipe_of(["sex"], [])
    for rows, said in (
        (np.r_[0:79, 99], "rows names rows that the original does not have"),
        (np.r_[0:79, 5], "rows names a row of the original twice"),
    ):
        with pytest.raises(BadInput, match=said):
            assess_frames(before, place(table, rows), recipe, measures=measures)


def test_sizes_of_any_engine(place):
    """What an engine counts is what a frame gives that only counts tuples."""
    table = people(300)
    made = place(table)
    gone = np.array([0, 7, 8, 299])
    kept = table.take(pa.array(np.delete(np.arange(300), gone)))
    for columns in (["sex"], ["age", "sex", "region"], ["pay"], ["born", "works"]):
        counts = (
            kept.select(columns).to_pandas().groupby(columns, dropna=False, observed=True).size()
        )
        expected = np.unique(counts, return_counts=True)
        for sizes in (made.sizes, lambda *a: Frame.sizes(made, *a)):
            found = sizes(columns, gone)
            assert found[0].tolist() == expected[0].tolist()
            assert found[1].tolist() == expected[1].tolist()


@st.composite
def columns(draw, n):
    """A column near 0 or far from it, with nulls and ties."""
    base, step = draw(st.sampled_from([(0.0, 0.01), (1e9, 1e-3)]))
    cells = st.none() | st.sampled_from([0, 1, 2]) | st.integers(-9999, 9999)
    found = draw(st.lists(cells, min_size=n, max_size=n))
    return pa.array([None if i is None else base + step * i for i in found], pa.float64())


@examples(40, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_any_numbers_in_any_pieces(tmp_path_factory, data):
    n = data.draw(st.integers(2, 30))
    before, after = (pa.table({c: data.draw(columns(n)) for c in "ab"}) for _ in range(2))
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    with pytest.MonkeyPatch.context() as patch, Session(tmp_path_factory.mktemp("s")) as opened:
        patch.setattr("discreet.engines.duckdb.PIECE", data.draw(st.integers(1, 9)))
        compare(opened, before, after.take(pa.array(rows)), recipe_of(["a"], []), rows)


def test_the_informed_intruder_finds_the_same_on_every_engine(session, monkeypatch):
    monkeypatch.setattr("discreet.assessment.facts.LINKED", 250)
    monkeypatch.setattr("discreet.assessment.facts.MOST_LINKED", 250)
    table = people(600, nulls=True).select(["age", "pay", "sex"])
    steps = [{"method": "noise", "columns": ["age", "pay"], "scale": 0.3}]
    roles = {"quasi": ["age", "pay", "sex"], "untouched": ["sex"]}
    recipe = Recipe.from_dict({"roles": roles, "steps": steps, "order_seed": 2**80})
    after = protect(table, recipe).table
    gone = np.arange(600) % 7 == 0
    kept, rows = after.filter(pa.array(~gone)), np.flatnonzero(~gone)
    engine = assess_frames(frame(session, table), frame(session, kept, rows), recipe)
    memory = assess_frames(MemoryFrame(normalise(table, ())), MemoryFrame(kept, rows), recipe)
    assert engine.risk["informed_linkage"] == memory.risk["informed_linkage"]
    entry = engine.risk["informed_linkage"]
    assert (entry["sample"], entry["of"]) == (250, len(rows))
    assert 0.05 < entry["after"] < 1
