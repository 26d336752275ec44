import math
import statistics

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.risk import interval_disclosure

cells = st.integers(-20, 20).map(float) | st.just(math.nan)
rows = st.lists(st.tuples(cells, cells, cells, cells), min_size=1, max_size=30)
quiet = pytest.mark.filterwarnings("ignore:interval_disclosure leaves out")


def within_sd(pairs, width=0.05):
    both = [(a, b) for a, b in pairs if a == a and b == b]
    sd = statistics.stdev([b for _, b in both]) if len(both) > 1 else 0.0
    return [None if a != a or b != b else abs(a - b) <= width * sd for a, b in pairs]


def within_ranks(pairs, percent):
    released = sorted(b for a, b in pairs if a == a and b == b)
    n = len(released)
    ranks = math.floor(percent * n / 100)
    found = []
    for a, b in pairs:
        if a != a or b != b:
            found.append(None)
            continue
        at = [rank for rank, value in enumerate(released) if value == b]
        low, high = released[max(0, at[0] - ranks)], released[min(n - 1, at[-1] + ranks)]
        found.append(low <= a <= high)
    return found


def share(found):
    present = [f for f in found if f is not None]
    return sum(present) / max(1, len(present))


def split(table):
    return [row[:2] for row in table], [row[2:] for row in table]


def columns(table):
    return [[(row[c], row[c + 2]) for row in table] for c in (0, 1)]


@given(rows)
@quiet
def test_sd_against_a_slow_twin(table):
    found = [f for column in columns(table) for f in within_sd(column)]
    assert interval_disclosure(*split(table)) == pytest.approx(share(found))


@given(rows, st.sampled_from([0.05, 0.5]))
@quiet
def test_sd_record_against_a_slow_twin(table, width):
    by_column = [within_sd(column, width) for column in columns(table)]
    records = []
    for marks in zip(*by_column, strict=True):
        present = [mark for mark in marks if mark is not None]
        records.append(all(present) if present else None)
    given_ = interval_disclosure(*split(table), kind="sd-record", width=width)
    assert given_ == pytest.approx(share(records))


@given(st.lists(st.tuples(cells, cells, cells, cells), min_size=1, max_size=150))
@quiet
def test_rank_against_a_slow_twin(table):
    found = [
        share([f for column in columns(table) for f in within_ranks(column, percent)])
        for percent in range(1, 11)
    ]
    given_ = interval_disclosure(*split(table), kind="rank")
    assert given_ == pytest.approx(statistics.mean(found))


@pytest.mark.parametrize("kind", ["rank", "sd", "sd-record"])
def test_identical_tables_disclose_everything(kind):
    assert interval_disclosure([[1.0], [2.0]], [[1.0], [2.0]], kind=kind) == 1.0


def test_far_from_zero():
    x = 1e9 + 1e-3 * np.random.default_rng(0).normal(size=(200, 1))
    noise = np.where(np.arange(200) < 50, 1e-5, 3e-4)[:, None]
    assert interval_disclosure(x, x + noise) == 0.25


def test_known_names_the_columns():
    x = pa.table({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    y = pa.table({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]})
    assert interval_disclosure(x, y, known=["a"]) == 1.0
    assert interval_disclosure(x, y, known=["b"]) == 0.0
    assert interval_disclosure(x, y, detail=True).columns == {"a": 1.0, "b": 0.0}
    with pytest.raises(BadInput, match="column 'c' cannot be compared"):
        interval_disclosure(x, y, known=["c"])


def test_sets_of_known_columns_are_averaged_over():
    x = pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]})
    y = pa.table({"a": [1.0, 2.0], "b": [9.0, 2.0], "c": [9.0, 8.0]})
    # The first one column, and the first two.
    assert interval_disclosure(x, y, known="paper") == pytest.approx((1 + 0.75) / 2)
    sets = [["a"], ["a", "b"], ["c"]]
    assert interval_disclosure(x, y, known=sets) == pytest.approx((1 + 0.75 + 0) / 3)
    found = interval_disclosure(x, y, kind="sd-record", known=sets, detail=True)
    assert found.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.columns == {"a": 1.0, "b": 0.5, "c": 0.0}


@pytest.mark.parametrize("kind", ["rank", "sd", "sd-record"])
def test_a_set_of_columns_without_values_does_not_lower_the_mean(kind):
    nothing = pa.array([None, None], pa.float64())
    x = pa.table({"a": nothing, "b": [1.0, 2.0], "c": [1.0, 2.0]})
    with pytest.warns(UserWarning, match="interval_disclosure leaves out column 'a': no values"):
        assert interval_disclosure(x, x, kind=kind, known="paper") == 1.0


def test_an_unknown_kind_is_refused():
    with pytest.raises(BadInput, match=r'kind = "ranks": did you mean \'rank\'\?'):
        interval_disclosure([[1.0]], [[1.0]], kind="ranks")


def test_a_column_without_values_is_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="interval_disclosure leaves out column 'x0': no values"):
        assert interval_disclosure([[math.nan]], [[1.0]]) == 0
