import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk import interval_disclosure

cells = st.integers(-20, 20).map(float) | st.just(math.nan)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=20))
@pytest.mark.filterwarnings("ignore:interval_disclosure leaves out")
def test_against_a_slow_twin(pairs):
    both = [(a, b) for a, b in pairs if a == a and b == b]
    sd = statistics.stdev([b for _, b in both]) if len(both) > 1 else 0.0
    hits = sum(abs(a - b) <= 0.05 * sd for a, b in both)
    x, y = ([[pair[i]] for pair in pairs] for i in (0, 1))
    assert interval_disclosure(x, y) == pytest.approx(hits / max(1, len(both)))


def test_identical_tables_disclose_everything():
    assert interval_disclosure([[1.0], [2.0]], [[1.0], [2.0]]) == 1.0


def test_a_column_without_values_is_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="interval_disclosure leaves out column 'x0': no values"):
        assert interval_disclosure([[math.nan]], [[1.0]]) == 0
