import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.utility import null_rates

cell = st.sampled_from([1.0, float("nan"), None])
row = st.tuples(cell, cell, cell, cell, st.booleans())


@given(st.lists(row, min_size=1))
def test_against_plain_counting(rows):
    before, after = (
        pa.table({c: pa.array([r[i + s] for r in rows], pa.float64()) for i, c in enumerate("ab")})
        for s in (0, 2)
    )
    gone = [r[4] for r in rows]
    found = null_rates(before, after, ["a", "b"], suppressed=gone, detail=True)
    n = len(rows)
    was = sum(c != 1.0 for r in rows for c in r[:2])
    now = sum(c != 1.0 or r[4] for r in rows for c in r[2:4])
    assert found.value == null_rates(before, after, ["a", "b"], suppressed=gone)
    assert found.value == pytest.approx(now / (2 * n))
    assert found.before == pytest.approx(was / (2 * n))
    assert found.records == pytest.approx(sum(r[4] or r[2:4] != (1.0, 1.0) for r in rows) / n)
    assert found.suppressed == sum(gone)
    assert found.contaminated == (now > was)
    assert sum(found.columns.values()) == pytest.approx(2 * found.value)
    blanked = [sum(not r[4] and r[i] == 1.0 and r[i + 2] != 1.0 for i in range(2)) for r in rows]
    assert found.blanked == pytest.approx(sum(blanked) / (2 * n))
    assert found.blanked_records == pytest.approx(sum(b > 0 for b in blanked) / n)


def test_a_star_is_a_value():
    table = pa.table({"zip": ["*", "*"]})
    assert null_rates(table, table, ["zip"]) == 0


def test_bad_input():
    table = pa.table({"zip": ["*", "*"]})
    with pytest.raises(BadInput, match=r"suppressed has shape \(1,\), the table 2 rows"):
        null_rates(table, table, ["zip"], suppressed=[True])
    with pytest.raises(BadInput, match="the original has 2 rows, the protected table 1"):
        null_rates(table, table.slice(1), ["zip"])
