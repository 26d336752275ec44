"""Tables: reading and writing files, the kinds of columns, nulls, and the counting.

Inside Discreet every table is a `pyarrow.Table`: exact types, true nulls. Frames of pandas, polars
and pyarrow come in through `to_arrow` and go back as they came through `like`.
"""

from discreet.table.columns import Numbers, float_values, kind_of, numbers
from discreet.table.files import read_table, write_table
from discreet.table.native import like, normalise, to_arrow
from discreet.table.summary import Summary, summarise, tuple_counts

__all__ = [
    "Numbers",
    "Summary",
    "float_values",
    "kind_of",
    "like",
    "normalise",
    "numbers",
    "read_table",
    "summarise",
    "to_arrow",
    "tuple_counts",
    "write_table",
]
