from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.risk import class_size_risk


@given(st.lists(st.tuples(st.sampled_from(["f", "m", None]), st.integers(0, 3)), min_size=1))
def test_against_a_counter(rows):
    table = pa.table({"s": pa.array([r[0] for r in rows], pa.string()), "a": [r[1] for r in rows]})
    sizes = Counter(rows)
    risk = class_size_risk(table, ["s", "a"])
    assert risk.records == len(rows)
    assert risk.classes == len(sizes)
    assert risk.smallest == min(sizes.values())
    assert risk.unique == sum(sizes[r] == 1 for r in rows)
    assert risk.under_3 == sum(sizes[r] < 3 for r in rows)
    assert risk.under_5 == sum(sizes[r] < 5 for r in rows)
    assert risk.average_risk == pytest.approx(sum(1 / sizes[r] for r in rows) / len(rows))


def test_a_missing_column_is_named():
    with pytest.raises(BadInput, match=r"the table has no column 'agee'; did you mean 'age'\?"):
        class_size_risk(pa.table({"age": [1]}), ["agee"])
