"""PoROP's cells, derived again where the rows are."""

from functools import partial
from operator import add

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.check.ordered import with_computed
from discreet.check.replay import computed, prepared
from discreet.draws import Draws
from discreet.engines.duckdb import DuckDBFrame, Session
from discreet.regression import PoROP
from discreet.table import Numbers

pytestmark = pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")
SEED = 2**70 + 1


@pytest.fixture
def session(tmp_path, monkeypatch):
    """An engine of small pieces."""
    monkeypatch.setattr("discreet.engines.duckdb.PIECE", 97)
    monkeypatch.setattr("discreet.check.ordered._STRETCH", 64)
    monkeypatch.setattr("discreet.check.ordered._ROWS", 5)
    (tmp_path / "work").mkdir()
    with Session(tmp_path / "work", "200MB") as session:
        yield session


def example(n=500):
    rng = np.random.default_rng(4)
    columns = {name: np.round(1e6 + rng.lognormal(3, 1, n), 1) for name in ("x", "y", "a.b")}
    for values in columns.values():
        values[rng.random(n) < 0.2] = np.nan
        values[100:110] = np.nan
    return columns


def frame_of(session, columns):
    path = session.new_file()
    parquet.write_table(pa.table({n: pa.array(v, from_pandas=True) for n, v in columns.items()}), path)  # fmt: skip
    return DuckDBFrame(session, [path])


def released(columns, key=None, number=2, **options):
    """The step's plan, and the columns that it gave."""

    def draws(name):
        own = Draws(SEED, number, name)
        return own if key is None else own.at(columns[key].astype(np.uint64))

    treated = {name: values for name, values in columns.items() if name != key}
    outcome = PoROP(**{"k": 90, **options}).run(treated, draws)
    step = {"step": number, "columns": outcome.plans, "joint": outcome.joint}
    return step, outcome.columns


def count_others(names, piece, rows, there, found):
    """Count the cells that are not what was derived; nulls must be where they were."""
    others = 0
    for name in names:
        wanted, slack = (piece[c].to_numpy()[there] for c in computed(2, name))
        values = found[name].to_numpy()
        same = np.abs(values - wanted) <= slack
        others += int((~same & ~(np.isnan(values) & np.isnan(wanted))).sum())
    return others


def derived(frame, step, seed=SEED, key=None, before=()):
    """The table and what the plan makes of it."""
    sources = {name: Numbers(np.empty(0), pa.float64(), 1) for name in step["columns"]}
    plan = prepared({"steps": [*before, step]})
    return with_computed(frame, plan, seed, sources, frame.schema.names, key)


def others(session, original, step, found, **options):
    after = frame_of(session, found)
    frame = derived(frame_of(session, original), step, **options)
    names = list(found)
    return frame.fold_pairs(after, partial(count_others, names), add, None, names)


OPTIONS = [
    {},
    {"degree": 3, "noise": "perturbative", "noise_scale": 2.0},
    {"noise": "none"},
    {"k": 2, "degree": 1, "noise_floor": 0.3},
    {"k": 1000, "second_k": 7},
    {"k": 7, "second_k": 1000, "degree": 12},
    {"second_k": 300, "degree": [5, 2, 1, 3]},
    {"keep_range": True, "noise_scale": 8},
    {"degree": "auto", "second_k": 130},
    {"degree": 70, "second_k": 200, "noise": "perturbative"},
    {"normalise": "column", "noise_floor": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_cell_is_derived_again(session, options):
    columns = example()
    step, found = released(columns, **options)
    assert others(session, columns, step, found) == 0


@pytest.mark.parametrize("by", [1e-4, -1e-4, np.nan])
def test_one_other_cell_is_found(session, by):
    columns = example()
    step, found = released(columns)
    row = int(np.flatnonzero(~np.isnan(found["y"]))[-1])
    found["y"][row] += by
    assert others(session, columns, step, found) == 1


def test_a_value_in_place_of_a_null_is_found(session):
    columns = example()
    step, found = released(columns)
    found["x"][105] = 1e6
    assert others(session, columns, step, found) == 1


def test_two_cells_of_the_same_value_that_changed_places_are_found(session):
    columns = example()
    step, found = released(columns, noise="none", degree=1)
    values, counts = np.unique(columns["x"], return_counts=True)
    same = np.flatnonzero(columns["x"] == values[np.argmax(counts[:-1])])[:2]
    assert found["x"][same[0]] != found["x"][same[1]]
    found["x"][same] = found["x"][same[::-1]]
    assert others(session, columns, step, found) == 2


@pytest.mark.parametrize(
    ("what", "other"),
    [("noise_scale", 1.001), ("k", 91), ("noise", "perturbative")],
)
def test_another_plan_gives_other_cells(session, what, other):
    columns = example()
    step, found = released(columns)
    step["joint"][what] = other
    assert others(session, columns, step, found) > 100


def test_another_seed_gives_other_cells(session):
    columns = example()
    step, found = released(columns)
    assert others(session, columns, step, found, seed=SEED + 1) > 1000


@pytest.mark.parametrize("what", ["deviations", "coefficients"])
def test_a_plan_for_other_chunks_is_told(session, what):
    columns = example()
    step, found = released(columns)
    n = len(step["joint"][what])
    step["joint"][what] = step["joint"][what][:-1]
    with pytest.raises(ValueError, match=f"^{n - 1} {what}, not {n}$"):
        others(session, columns, step, found)


@pytest.mark.parametrize("positioned", [True, False])
def test_draws_by_a_key(session, positioned):
    columns = example()
    keys = np.sort(np.random.default_rng(0).permutation(5000)[:500])
    step, found = released(columns | {"id": keys}, key="id")
    if positioned:
        assert others(session, columns | {"id": keys}, step, found, key="id") == 0
        return
    # In another order, cells of the same value still go by the key.
    order = np.random.default_rng(1).permutation(500)
    shuffled = {name: values[order] for name, values in (columns | {"id": keys}).items()}
    frame = frame_of(session, shuffled)
    step["joint"]["ties"] = "key"
    after = frame_of(session, {name: values[order] for name, values in found.items()})
    count, both = partial(count_others, list(found)), derived(frame, step, key="id")
    assert both.fold_pairs(after, count, add, None, list(found)) == 0


CLIP = {
    "step": 1,
    "columns": {"x": {"kind": "clip", "lower": None, "upper": 1_000_020.0, "precision": "full"}},
}


def test_a_step_after_another(session):
    columns = example()
    clipped = columns | {"x": np.minimum(columns["x"], 1_000_020.0)}
    step, found = released(clipped)
    assert others(session, columns, step, found, before=[CLIP]) == 0
    assert others(session, columns, step, found) > 100


def test_two_steps_each_on_what_the_one_before_left(session):
    columns = example()
    first, between = released(columns, number=1, degree=1)
    for plan in first["columns"].values():
        plan["precision"] = "input"
    second, found = released({name: np.round(values, 1) for name, values in between.items()})
    assert others(session, columns, second, found, before=[first]) == 0
    second, found = released({name: np.round(values, 2) for name, values in between.items()})
    assert others(session, columns, second, found, before=[first]) > 100


def test_no_temporary_file_is_left(session):
    step, _ = released(example())
    frame = frame_of(session, example())
    made = derived(frame, step)
    left = {path for path in session.folder.iterdir() if path.suffix == ".parquet"}
    assert left == {*frame.files, *made.files}


def test_a_plan_without_such_steps_adds_nothing(session):
    frame = frame_of(session, example())
    assert derived(frame, CLIP) is frame
