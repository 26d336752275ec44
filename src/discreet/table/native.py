"""Frames of pandas, polars and pyarrow in as `pyarrow.Table`, and back as they came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput


def to_arrow(table: Any) -> pa.Table:
    """Give a table of any supported kind as a `pyarrow.Table`, without a pandas index.

    Examples
    --------
    >>> import pandas as pd
    >>> to_arrow(pd.DataFrame({"age": [31, 45]}, index=["a", "b"])).column_names
    ['age']
    """
    if isinstance(table, pa.Table):
        _check_names(table.column_names)
        return table
    try:
        frame = nw.from_native(table, eager_only=True)
        _check_names(frame.columns)
        arrow = frame.to_arrow()
    except nw.exceptions.DuplicateError:
        _check_names(list(table.columns))
        raise
    except TypeError as error:
        if isinstance(error, pa.ArrowTypeError):
            raise BadInput(f"a column mixes types: {error}") from None
        raise BadInput(
            f"a table must be a pandas, polars or pyarrow table, not {type(table).__name__}"
        ) from None
    except pa.ArrowInvalid as error:
        raise BadInput(f"a column mixes types: {error}") from None
    return arrow.select(frame.columns).replace_schema_metadata(None)


def _check_names(names: Sequence[Any]) -> None:
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise BadInput(f"column names must be text, but one is {name!r}")
        if name in seen:
            raise BadInput(f"the table has two columns named '{name}'")
        seen.add(name)


def like(original: Any, result: pa.Table, changed: Iterable[str]) -> Any:
    """Give an arrow table in the kind of the original, with its index, order and types.

    Parameters
    ----------
    original : pandas, polars or pyarrow table
        What came in. Columns that did not change are taken from it as they are.
    result : pyarrow.Table
        As many rows as the original; columns may be missing.
    changed : iterable of str
        The columns whose cells are to be taken from `result`.
    """
    if isinstance(original, pa.Table):
        return result
    frame = nw.from_native(original, eager_only=True).select(result.column_names)
    changed = [name for name in result.column_names if name in set(changed)]
    if not changed:
        return frame.to_native()
    if frame.implementation.is_pandas():
        return _like_pandas(frame.to_native(), result, changed)
    new = nw.DataFrame.from_arrow(result.select(changed), backend=frame.implementation)
    casts = [
        nw.col(name).cast(frame.schema[name])
        for name in changed
        if new.schema[name] != frame.schema[name] and _same_family(frame, result, name)
    ]
    return frame.with_columns(list(new.with_columns(*casts).iter_columns())).to_native()


def _same_family(frame: Any, result: pa.Table, name: str) -> bool:
    """Tell whether the arrow type is still the original's, so that its dtype can be restored."""
    return frame[name].to_arrow().type == result.schema.field(name).type


def _like_pandas(frame: Any, result: pa.Table, changed: list[str]) -> Any:
    frame = frame.copy(deep=False)
    before = to_arrow(frame[changed]).schema
    for name in changed:
        series = result[name].to_pandas()
        dtype = frame[name].dtype
        if before.field(name).type == result[name].type and series.dtype != dtype:
            series = series.astype(dtype)
        frame[name] = series.set_axis(frame.index)
    return frame


def replace_markers(table: pa.Table, markers: Sequence[str]) -> pa.Table:
    """Turn empty text cells and the null markers into nulls, and NaN too.

    Examples
    --------
    >>> replace_markers(pa.table({"a": ["x", "*", ""]}), ["*"])["a"].to_pylist()
    ['x', None, None]
    """
    found = pa.array(["", *markers], pa.string())
    for position, name in enumerate(table.column_names):
        column = table[name]
        new = _without(column, found)
        if new is not column:
            table = table.set_column(position, name, new)
    return table


def _without(column: pa.ChunkedArray, markers: pa.Array) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        # Only the dictionary is looked at, not the rows.
        column = column.unify_dictionaries()
        labels = column.chunk(0).dictionary if column.num_chunks else pa.array([], kind.value_type)
        if not _is_text(labels.type) or not _holds(labels, markers):
            return column
        plain = _without(column.cast(kind.value_type), markers)
        kept = labels.filter(pc.invert(pc.is_in(labels, value_set=markers.cast(labels.type))))
        codes = pc.index_in(plain, value_set=kept).combine_chunks().cast(kind.index_type)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, kept, ordered=kind.ordered)])
    if _is_text(kind) and _holds(column, markers):
        mask = pc.is_in(column, value_set=markers.cast(kind))
        return pc.if_else(mask, pa.scalar(None, kind), column)
    return column


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _holds(column: Any, markers: pa.Array) -> bool:
    return bool(pc.any(pc.is_in(column, value_set=markers.cast(column.type))).as_py())
