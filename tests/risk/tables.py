"""Random small tables with nulls, ties and constant columns, and plain counting on them."""

import pyarrow as pa
from hypothesis import strategies as st

cell = st.sampled_from(["a", "b", None])
COLUMNS = ["u", "v", "w"]


def rows(most: int = 14):
    return st.lists(st.tuples(cell, cell, st.integers(0, 2)), min_size=1, max_size=most)


def table(rows, **more):
    names = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    types = {"u": pa.string(), "v": pa.string(), "w": pa.int64()}
    return pa.table({name: pa.array(names[name], types[name]) for name in COLUMNS} | more)


def same(a, b, nulls):
    """Whether two records share their values, by the definition."""
    wild = nulls == "match"
    return all(x == y or (wild and (x is None or y is None)) for x, y in zip(a, b, strict=True))
