from collections import Counter
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.utility import contingency_loss

row = st.tuples(*[st.sampled_from(["a", "b", None])] * 6)


@given(st.lists(row, min_size=1, max_size=12))
def test_against_counters(rows):
    x, y = [r[:3] for r in rows], [r[3:] for r in rows]
    moved = 0
    for i, j in combinations(range(3), 2):
        before, after = (Counter((r[i], r[j]) for r in t) for t in (x, y))
        moved += sum(abs(before[key] - after[key]) for key in before | after)
    one, other = (
        pa.table({c: pa.array([r[i] for r in t], pa.string()) for i, c in enumerate("uvw")})
        for t in (x, y)
    )
    assert contingency_loss(one, other) == pytest.approx(moved / (2 * len(rows) * 3))
    detail = contingency_loss(one, other, detail=True)
    assert sum(detail.columns.values()) / 3 == pytest.approx(detail.value)


def test_numbers_that_became_intervals_are_compared_as_text():
    original = pa.table({"age": [1, 2], "sex": pa.array(["f", "m"]).dictionary_encode()})
    protected = pa.table({"age": ["1", "[2, 3]"], "sex": ["f", "m"]})
    assert contingency_loss(original, protected) == 0.5


def test_cells_that_are_no_category_are_refused():
    table = pa.table({"a": [[1], [2]], "b": ["x", "y"]})
    with pytest.raises(BadInput, match=r"column 'a' holds list.*, which is no category"):
        contingency_loss(table, table)


def test_one_column_is_refused():
    table = pa.table({"sex": ["f"], "age": [1]})
    with pytest.raises(BadInput, match="contingency_loss needs two columns that are not numeric"):
        contingency_loss(table, table)
