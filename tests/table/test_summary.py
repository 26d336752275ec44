from collections import Counter
from functools import reduce

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discreet.table import summarise, tuple_counts
from discreet.table.summary import Tuples


@given(st.lists(st.floats(allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0, 2.0])))
def test_distinct_values_with_counts(values):
    summary = summarise(np.array(values, dtype=float))
    counter = Counter(v + 0.0 for v in values if v == v)
    assert dict(zip(summary.values.tolist(), summary.counts.tolist(), strict=True)) == counter
    assert (np.diff(summary.values) > 0).all()
    assert summary.n + summary.nulls == len(values)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2))))
def test_distinct_tuples_with_counts(rows):
    table = pa.table(
        {"s": pa.array([r[0] for r in rows], pa.string()), "i": pa.array([r[1] for r in rows], pa.int64())}
    )  # fmt: skip
    tuples, counts = tuple_counts(table, ["s", "i"])
    found = {(r["s"], r["i"]): int(c) for r, c in zip(tuples.to_pylist(), counts, strict=True)}
    assert found == Counter(rows)


def test_names_that_look_like_paths_are_names():
    tuples, counts = tuple_counts(pa.table({".a": [1, 1], "[0]": ["x", "x"]}), [".a", "[0]"])
    assert tuples.to_pylist() == [{".a": 1, "[0]": "x"}]
    assert counts.tolist() == [2]


@given(st.lists(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2)))))
def test_tuples_of_pieces_put_together(pieces):
    def table(rows):
        return pa.table([pa.array([r[0] for r in rows], pa.string()),
                         pa.array([r[1] for r in rows], pa.int64())], names=[".s", "i"])  # fmt: skip

    whole = reduce(Tuples.joined, (Tuples.of(table(rows)) for rows in pieces), Tuples.of(table([])))
    tuples, counts = whole.result()
    found = {(r[".s"], r["i"]): int(c) for r, c in zip(tuples.to_pylist(), counts, strict=True)}
    assert found == Counter(row for rows in pieces for row in rows)
