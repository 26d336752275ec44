"""Tables without what travels beside their cells, and would go to a file with them.

Lists of categories name values that no row holds, metadata say what nobody looked at, an index
numbers people, and the memory behind a null or outside a slice still has what was there.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.table.labels import own_field
from discreet.table.native import tidy_dictionary


def bare(table: Any, keep_index: bool = False) -> Any:
    """Return a pandas, polars or pyarrow table that holds its cells, their types and their labels.

    Categories that no row has are dropped; those without an order of their own are sorted, because
    that in which they first appear tells of rows. A pandas index is replaced by the rows' numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> kind = pd.CategoricalDtype(["Zoe's", "b", "a"])
    >>> frame = pd.DataFrame({"x": pd.Series(["b", "a"], ["Ann", "Bob"], kind)})
    >>> bare(frame)["x"].cat.categories.tolist(), bare(frame).index.tolist()
    (['a', 'b'], [0, 1])
    """
    if isinstance(table, pa.Table):
        columns = [_bare_column(column) for column in table.columns]
        fields = [own_field(field) for field in table.schema]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))
    frame = nw.from_native(table, eager_only=True)
    if frame.implementation.is_pandas():
        return _bare_pandas(table, keep_index)
    made = nw.DataFrame.from_arrow(bare(frame.to_arrow()), backend=frame.implementation)
    casts = []
    for name, kind in frame.schema.items():
        if isinstance(kind, nw.Enum):
            used = set(made[name].drop_nulls().unique().cast(nw.String).to_list())
            kind = nw.Enum([one for one in kind.categories if one in used])
        if made.schema[name] != kind:
            casts.append(nw.col(name).cast(kind))
    return made.with_columns(*casts).to_native()


def _bare_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Copy the cells that are there, and of a dictionary the labels that are used."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        tidy = tidy_dictionary(column).combine_chunks()
        tidy = tidy if isinstance(tidy, pa.DictionaryArray) else tidy.chunk(0)
        codes = _bare_column(pa.chunked_array([tidy.indices])).combine_chunks()
        made = pa.DictionaryArray.from_arrays(
            codes.cast(kind.index_type), tidy.dictionary, ordered=kind.ordered
        )
        return pa.chunked_array([made])
    if pa.types.is_string_view(kind):
        return _bare_column(column.cast(pa.large_string())).cast(kind)
    # Taking rows copies only valid cells.
    rows = pa.array(np.arange(len(column)))
    return column.take(pc.if_else(column.is_valid(), rows, pa.scalar(None, pa.int64())))


def _bare_pandas(frame: Any, keep_index: bool) -> Any:
    import pandas as pd

    index = frame.index if keep_index else pd.RangeIndex(len(frame))
    columns = {name: _bare_series(frame[name].array) for name in frame.columns}
    return pd.DataFrame(columns, index=index)


def _bare_series(values: Any) -> Any:
    """Return the values of a column of pandas; what has a mask or is Arrow's is made anew."""
    import pandas as pd

    kind = values.dtype
    if isinstance(kind, pd.CategoricalDtype):
        values = values.remove_unused_categories()
        if kind.ordered:
            return values
        try:
            return values.reorder_categories(values.categories.sort_values())
        except TypeError:  # Numbers beside text: they have no order.
            return values
    if isinstance(kind, np.dtype | pd.DatetimeTZDtype) or not hasattr(kind, "__from_arrow__"):
        return values
    cells = pa.array(values)
    cells = cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])
    return kind.__from_arrow__(_bare_column(cells))
