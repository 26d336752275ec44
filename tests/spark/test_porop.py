"""PoROP on Spark: the same plan and the same bits as in memory, and its cells derived again."""

from functools import partial
from operator import add

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.draws import Draws
from discreet.engines.spark import SparkFrame
from discreet.regression import PoROP
from tests.check.test_ordered import count_others, derived
from tests.engines.order import whole
from tests.regression.test_porop_on_engines import as_float, assert_same, example

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning"),
]


@pytest.fixture
def frame_of(session, tmp_path, monkeypatch):
    """An engine of small pieces."""
    monkeypatch.setattr("discreet.regression.porop.STRETCH", 64)
    monkeypatch.setattr("discreet.regression._ordered._ROWS", 5)
    monkeypatch.setattr("discreet.check.ordered._STRETCH", 100)
    monkeypatch.setattr("discreet.check.ordered._ROWS", 5)

    def make(columns):
        cells = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        parquet.write_table(pa.table(cells), path, row_group_size=200)
        return SparkFrame.stored(session, [path])

    return make


@pytest.mark.parametrize(
    "options",
    [
        {"k": 1100, "second_k": 7, "noise": "perturbative", "keep_range": True},
        {"second_k": 300, "degree": [5, 2, 1, 3], "noise_floor": 0.01},
        pytest.param(
            {"second_k": 300, "degree": "auto", "normalise": "column"}, marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_plan_and_values_are_those_in_memory_and_are_derived_again(frame_of, options):
    columns, draws = example(), partial(Draws, 7, 2)
    method = PoROP(**{"k": 90, **options})
    memory = method.run(columns, draws)
    frame = frame_of(columns)
    outcome, new = method.run_on(list(columns), frame, as_float, draws)
    assert_same(outcome.joint, memory.joint)
    assert outcome.figures == memory.figures
    table, rows, _ = whole(new)
    for name, values in memory.columns.items():
        np.testing.assert_allclose(table[name].to_numpy(), values[rows], rtol=0, atol=1e-9)
        if "noise_floor" not in options:
            np.testing.assert_array_equal(table[name].to_numpy(), values[rows])

    step = {"step": 2, "columns": outcome.plans, "joint": outcome.joint}
    both, names = derived(frame, step, 7), list(columns)
    count = partial(count_others, names)
    assert both.fold_pairs(new, count, add, None, names) == 0
    assert both.fold_pairs(frame, count, add, None, names) > 500
