"""PoROP where the rows are: the same plan and the same bits as in memory."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import parquet

from discreet.draws import Draws
from discreet.engines.duckdb import DuckDBFrame, Session
from discreet.errors import BadInput
from discreet.regression import LiROP, PoROP
from discreet.table.columns import float_values, numbers, numbers_like
from tests.examples import examples

pytestmark = pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")


@pytest.fixture
def session(tmp_path, monkeypatch):
    """An engine of small pieces."""
    monkeypatch.setattr("discreet.engines.duckdb.PIECE", 97)
    monkeypatch.setattr("discreet.regression.porop.STRETCH", 64)
    monkeypatch.setattr("discreet.regression._ordered._ROWS", 5)
    (tmp_path / "work").mkdir()
    with Session(tmp_path / "work", "200MB") as session:
        yield session


def as_float(name, cells):
    return float_values(cells, name)


def to_tens(name, values):
    return np.round(values, -1) + 0.0


def frame_of(session, columns):
    path = session.new_file()
    parquet.write_table(pa.table({n: pa.array(v, from_pandas=True) for n, v in columns.items()}), path)  # fmt: skip
    return DuckDBFrame(session, [path])


def rows_of(frame, n):
    """All columns in the order of rows; NaN where there is none."""
    made = {name: np.full(n, np.nan) for name in frame.schema.names}
    for piece, rows in frame.pieces(frame.schema.names):
        for name in made:
            made[name][rows] = piece[name].to_numpy()
    return made


def example(n=500, p=3, tied=True):
    rng = np.random.default_rng(4)
    columns = {f"x{i}": rng.lognormal(3, 1, n) * 10 for i in range(p)}
    for i, values in enumerate(columns.values()):
        if tied:
            values[:] = np.round(values, -i)
        values[rng.random(n) < 0.2] = np.nan
        values[100:110] = np.nan
    columns["x0"][:4] = [-0.0, 0.0, -5.0, np.nan]
    return columns


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


OPTIONS = [
    {},
    {"degree": 3, "noise": "perturbative", "noise_scale": 2.0},
    {"noise": "none"},
    {"k": 2, "degree": 1},
    {"k": 1100, "second_k": 7},
    {"k": 7, "second_k": 1100, "degree": 12},
    {"second_k": 300, "degree": [5, 2, 1, 3]},
    {"keep_range": True, "noise_scale": 8},
    {"degree": "auto"},
    {"k": 1100, "second_k": 130, "degree": "auto", "noise": "perturbative"},
    {"degree": 70, "second_k": 200},
    {"normalise": "column", "keep_range": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("tied", [True, False])
def test_plan_and_values_are_those_in_memory(session, options, tied):
    columns, draws = example(tied=tied), partial(Draws, 7, 1)
    method = PoROP(**{"k": 90, **options})
    memory = method.run(columns, draws)
    outcome, new = method.run_on(list(columns), frame_of(session, columns), as_float, draws)
    assert_same(outcome.joint, memory.joint)
    assert outcome.plans == memory.plans
    assert outcome.figures == memory.figures
    assert_same(rows_of(new, 500), memory.columns)


@pytest.mark.parametrize("normalise", ["none", "column"])
def test_a_least_noise_is_as_good_as_the_same(session, normalise):
    columns, draws = example(), partial(Draws, 7, 1)
    method = LiROP(k=90, noise_floor=0.5, normalise=normalise)
    memory = method.run(columns, draws)
    outcome, new = method.run_on(list(columns), frame_of(session, columns), as_float, draws)
    assert_same(outcome.joint, memory.joint)
    for name, values in rows_of(new, 500).items():
        mine, other = outcome.plans[name], memory.plans[name]
        assert mine["noise_floor"] == pytest.approx(other["noise_floor"], rel=1e-13)
        np.testing.assert_allclose(values, memory.columns[name], rtol=0, atol=1e-9)


def test_rounding_and_one_column(session):
    columns, draws = example(p=1), partial(Draws, 7, 1)
    memory = PoROP(k=90).run(columns, draws, to_tens)
    outcome, new = PoROP(k=90).run_on(["x0"], frame_of(session, columns), as_float, draws, to_tens)
    assert_same(rows_of(new, 500), memory.columns)
    assert outcome.figures == memory.figures


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 3)),
        elements=st.integers(-3, 3).map(float) | st.floats(-100, 100) | st.just(np.nan),
    ).filter(lambda t: not np.isnan(t).all(axis=0).any() and (~np.isnan(t)).sum() > 1),
    st.data(),
)
def test_any_table(session, table, data):
    columns = {f"x{i}": table[:, i] for i in range(table.shape[1])}
    n = int((~np.isnan(table)).sum())
    method = PoROP(data.draw(st.integers(2, n)), 1, second_k=data.draw(st.integers(2, n)))
    memory = method.run(columns, partial(Draws, 1))
    outcome, new = method.run_on(
        list(columns), frame_of(session, columns), as_float, partial(Draws, 1)
    )
    assert_same(outcome.joint, memory.joint)
    assert_same(rows_of(new, len(table)), memory.columns)


def _days(sources, name, cells):
    return numbers_like(cells, name, sources[name])


def _round_days(sources, name, values):
    return sources[name].round(values)


def test_dates(session):
    rng = np.random.default_rng(2)
    days = {f"d{i}": rng.integers(0, 20_000, 300).astype("datetime64[D]") for i in range(2)}
    table = pa.table(
        {"d0": pa.array(days["d0"]), "d1": pa.array(days["d1"].astype("datetime64[ms]"))}
    )
    path = session.new_file()
    parquet.write_table(table, path)
    frame = DuckDBFrame(session, [path])
    sources = {name: numbers(table[name], name) for name in days}
    columns = {name: source.values for name, source in sources.items()}
    rounded = partial(_round_days, sources)
    memory = PoROP(k=70).run(columns, partial(Draws, 3), rounded)
    _, new = PoROP(k=70).run_on(
        list(days), frame, partial(_days, sources), partial(Draws, 3), rounded
    )
    assert_same(rows_of(new, 300), memory.columns)


def _as_is(cells):
    return cells.to_numpy().astype(np.uint64)


def test_draws_go_by_a_key_and_so_do_equal_values_of_rows_without_a_place(session):
    columns = example()
    keys = np.random.default_rng(0).permutation(5000)[:500]
    shown = columns | {"id": keys}
    method, key = PoROP(k=90), ("id", _as_is)

    def by_key(of_rows):
        return lambda name: Draws(7, name).at(of_rows.astype(np.uint64))

    memory = method.run(columns, by_key(keys))
    frame = frame_of(session, shown)
    _, new = method.run_on(list(columns), frame, as_float, partial(Draws, 7), key=key)
    assert_same(rows_of(new, 500), memory.columns)

    order = np.argsort(keys)
    sorted_rows = {name: values[order] for name, values in columns.items()}
    memory = method.run(sorted_rows, by_key(keys[order]))
    frame.positioned = False
    _, new = method.run_on(list(columns), frame, as_float, partial(Draws, 7), key=key)
    found = {name: values[order] for name, values in rows_of(new, 500).items()}
    assert_same(found, memory.columns)


@pytest.mark.parametrize(
    ("method", "columns"),
    [
        (PoROP(k=11), {"x": np.arange(10.0)}),
        (PoROP(k=5, second_k=11), {"x": np.arange(10.0)}),
        (PoROP(k=5, degree=[1, 2, 3]), {"x": np.arange(10.0)}),
        (PoROP(k=5, normalise="column"), {"x": np.arange(5.0), "y": 1.7e308 * np.array([-1.0, 1, 0, 0, 0])}),
        (PoROP(k=5), {"x": 1.7e308 * np.array([-1.0, 1.0] * 5)}),
        (PoROP(k=5, degree=9), {"x": np.arange(10.0)}),
    ],
    ids=str,
)  # fmt: skip
def test_refusals_are_those_in_memory(session, method, columns):
    frame = frame_of(session, columns)
    with pytest.raises(BadInput) as memory:
        method.run(columns, partial(Draws, 1))
    with pytest.raises(BadInput) as engine:
        method.run_on(list(columns), frame, as_float, partial(Draws, 1))
    assert str(engine.value) == str(memory.value)


def test_a_column_of_nulls_is_refused(session):
    frame = frame_of(session, {"x": np.arange(10.0), "y": np.full(10, np.nan)})
    with pytest.raises(BadInput, match=r"^column 'y' holds only nulls$"):
        PoROP(k=5).run_on(["x", "y"], frame, as_float, partial(Draws, 1))


def test_the_user_is_told_of_unchanged_values_and_no_file_is_left(session):
    frame = frame_of(session, {"x": np.repeat([1.0, 2.0, 3.0], 40)})
    with pytest.warns(UserWarning, match=r"^100% of the values came out unchanged"):
        _, new = PoROP(k=40).run_on(["x"], frame, as_float, partial(Draws, 1))
    left = {path for path in session.folder.iterdir() if path.suffix == ".parquet"}
    assert left == {*frame.files, *new.files}
