import math
import tracemalloc
from itertools import chain, combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from discreet.errors import BadInput
from discreet.risk import suda2
from tests.risk.tables import COLUMNS, rows, table


def brute_force(rows, d=0.01):
    """Every subset of columns of every record, straight from the definition."""
    m = len(rows[0])
    subsets = list(chain.from_iterable(combinations(range(m), s) for s in range(1, m + 1)))

    def unique(i, s):
        mine = [rows[i][c] for c in s]
        return None not in mine and sum([r[c] for c in s] == mine for r in rows) == 1

    scores = []
    for i in range(len(rows)):
        own = [set(s) for s in subsets if unique(i, s)]
        minimal = [s for s in own if not any(t < s for t in own)]
        scores.append(sum(math.factorial(m - len(s)) for s in minimal))
    pairs = sum(None not in r and rows.count(r) == 2 for r in rows)
    q = 1 + (8 - m) / 20
    a = sum(s**-q for s in scores if s)
    dis = [1 / (1 + pairs * (1 - d) / (d * s**q * a)) if s else 0.0 for s in scores]
    return scores, dis


@given(rows())
def test_against_brute_force(rows):
    scores, dis = brute_force(rows)
    found = suda2(table(rows), COLUMNS, detail=True)
    assert found.scores.tolist() == scores
    assert found.dis == pytest.approx(dis)
    assert found.value == suda2(table(rows), COLUMNS) == pytest.approx(max(dis))


def test_five_keys_against_brute_force():
    import numpy as np

    cells = np.random.default_rng(0).integers(0, [2, 3, 4, 6, 9], (120, 5)).tolist()
    rows = [tuple(r) for r in cells]
    data = pa.table({f"c{i}": list(c) for i, c in enumerate(zip(*rows, strict=True))})
    found = suda2(data, data.column_names, detail=True)
    scores, dis = brute_force(rows)
    assert found.scores.tolist() == scores
    assert found.dis == pytest.approx(dis)
    assert found.columns["c4"] > found.columns["c0"]


def test_bad_input():
    data = pa.table({f"c{i}": [1] for i in range(17)})
    with pytest.raises(BadInput, match="give at most 16 columns"):
        suda2(data, data.column_names)
    with pytest.raises(BadInput, match="d must lie between 0 and 1"):
        suda2(data, ["c0"], d=1.0)


def test_what_would_fill_memory_is_refused(monkeypatch):
    data = pa.table({f"c{i}": [1, 2, 3] * 1000 for i in range(8)})
    suda2(data, data.column_names)
    monkeypatch.setattr("discreet.risk.suda._MOST_BYTES", 3000 * 126 // 8 - 1)
    with pytest.raises(BadInput, match="for 8 columns of 3,000 records; give fewer columns"):
        suda2(data, data.column_names)
    suda2(data, data.column_names[:7])


def test_sets_of_columns_take_a_bit_for_each_record():
    data = pa.table({f"c{i}": [i % 2, 1] * 5_000 for i in range(10)})
    tracemalloc.start()
    try:
        suda2(data, data.column_names)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 462 sets of two sizes at a time; a byte for each record took 5 MB.
    assert peak < 3_500_000


def test_records_that_are_all_unique_on_a_few_columns_leave_none_for_the_many():
    rng = np.random.default_rng(1)
    table = pa.table({f"x{i}": rng.integers(0, 10**6, 400) for i in range(5)})
    found = suda2(table, table.column_names, detail=True)
    assert (found.scores > 0).all()
