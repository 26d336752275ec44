"""Convert pandas, polars and pyarrow tables to `pyarrow.Table`, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.labels import replaced
from discreet.table.ranges import refuse_years

# Past this a column of text may not fit 32-bit offsets once its pieces are joined.
_LARGE_TEXT = 1 << 30


def to_arrow(table: Any) -> pa.Table:
    """Return a table of any supported kind as a `pyarrow.Table`, without a pandas index.

    Examples
    --------
    >>> import pandas as pd
    >>> to_arrow(pd.DataFrame({"age": [31, 45]}, index=["a", "b"])).column_names
    ['age']
    """
    if isinstance(table, pa.Table):
        check_names(table.column_names)
        return table.select(_without_index(table)).replace_schema_metadata(None)
    try:
        frame = nw.from_native(table, eager_only=True)
        check_names(frame.columns)
        arrow = frame.to_arrow()
    except nw.exceptions.DuplicateError:
        check_names(list(table.columns))
        raise BadInput("the table has two columns with the same name") from None
    except (pa.ArrowException, NotImplementedError) as error:
        raise BadInput(f"a column mixes types or has one that is not supported: {error}") from None
    except TypeError:
        raise BadInput(
            f"a table must be a pandas, polars or pyarrow table, not {type(table).__name__}"
        ) from None
    return arrow.select(frame.columns).replace_schema_metadata(None)


def check_names(names: Sequence[Any]) -> None:
    """Refuse names that are not text, empty, repeated, or unlike what files can hold."""
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise BadInput(f"column names must be text, but one is {name!r}")
        if not name:
            raise BadInput("one column's name is empty; give it one")
        if name in seen:
            raise BadInput(f"the table has two columns named '{name}'")
        if "\0" in name:
            # Parquet files have none either, and names of our own begin with it.
            raise BadInput(f"the name of column {name!r} has a NUL character; rename it")
        seen.add(name)


def _without_index(table: pa.Table) -> list[str]:
    """Leave out an unnamed pandas index, which is an identifier that nobody meant to share."""
    pandas = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    index = [c for c in pandas.get("index_columns", []) if isinstance(c, str)]
    unnamed = {c for c in index if c.startswith("__index_level_")}
    return [name for name in table.column_names if name not in unnamed]


def like(original: Any, result: pa.Table, changed: Iterable[str]) -> Any:
    """Return an arrow table as the same kind as the original, with its index, order and types.

    The cells of `changed` columns are taken from the result, which has as many rows as the original
    and may lack columns; other columns are taken from the original as they are.
    """
    changed = [name for name in result.column_names if name in set(changed)]
    if isinstance(original, pa.Table):
        for name in result.column_names:
            if name not in changed:
                position = result.column_names.index(name)
                # Labels may say less than the original's do.
                known = result.schema.field(name).metadata
                field = original.schema.field(name).with_metadata(known)
                result = result.set_column(position, field, original[name])
        return result
    frame = nw.from_native(original, eager_only=True).select(result.column_names)
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
        # A null that is new does not fit an integer or a boolean of numpy's.
        fits = not (isinstance(dtype, np.dtype) and dtype.kind in "iub" and series.hasnans)
        if before.field(name).type == result[name].type and series.dtype != dtype and fits:
            series = series.astype(dtype)
        frame[name] = series.set_axis(frame.index)
    return frame


def normalise(table: pa.Table, markers: Sequence[str]) -> pa.Table:
    """Turn what means a null into a null, -0.0 into 0.0, and odd types into plain ones.

    A null is an empty text, NaN, or a marker; a marker that reads as a number or a date also counts
    in columns of numbers or dates.

    Examples
    --------
    >>> table = pa.table({"a": ["x", "*", ""], "b": [1, -99, 3], "c": [0.5, float("nan"), 2.0]})
    >>> normalise(table, ["*", "-99"]).to_pydict()
    {'a': ['x', None, None], 'b': [1, None, 3], 'c': [0.5, None, 2.0]}
    """
    for position, name in enumerate(table.column_names):
        column = _plain(table[name])
        refuse_years(column, name)
        column = _without(column, ["", *markers])
        if column is not table[name]:
            field = replaced(table.schema.field(name), table[name], column)
            table = table.set_column(position, field, column)
    return table


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in a type that the rest of the code knows, if there is one."""
    kind, types = column.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([c.storage for c in column.chunks], kind.storage_type)
        kind = column.type
    if types.is_run_end_encoded(kind):
        column = pa.chunked_array([pc.run_end_decode(c) for c in column.chunks], kind.value_type)
        kind = column.type
    if types.is_null(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    if types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    if types.is_float16(kind):
        return column.cast(pa.float32())
    if types.is_string(kind) and column.nbytes > _LARGE_TEXT:
        return column.cast(pa.large_string())
    if types.is_dictionary(kind):
        column = column.unify_dictionaries()
        labels = column.chunk(0).dictionary if column.num_chunks else pa.array([], kind.value_type)
        # A null among the labels is a null among the cells.
        return tidy_dictionary(column) if labels.null_count else column
    return column


def tidy_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Keep the labels that are used, in their order if that means something, otherwise sorted.

    An unused label, or the order of first appearance, would reveal something about other rows.
    """
    kind = column.type
    plain = column.cast(kind.value_type)
    used = pc.unique(plain.drop_null())
    if kind.ordered:
        labels = column.unify_dictionaries().chunk(0).dictionary.drop_null()
        used = labels.filter(pc.is_in(labels, value_set=used))
    else:
        used = used.take(pc.sort_indices(used))
    codes = pc.index_in(plain, value_set=used).combine_chunks().cast(pa.int32())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, used, ordered=kind.ordered)])


def _without(column: pa.ChunkedArray, markers: Sequence[str]) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_floating(kind):
        values = column.to_numpy()
        if (np.signbit(values) & (values == 0)).any():
            column = pc.add(column, pa.scalar(0.0, kind))
        if np.isnan(values).sum() > column.null_count:
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    if pa.types.is_dictionary(kind):
        # Only the labels are looked at, not the rows.
        labels = column.chunk(0).dictionary if column.num_chunks else pa.array([], kind.value_type)
        found = marker_values(markers, labels.type)
        if not _holds(labels, found):
            return column
        plain = column.cast(kind.value_type)
        plain = pc.if_else(pc.is_in(plain, value_set=found), pa.scalar(None, plain.type), plain)
        kept = labels.filter(pc.invert(pc.is_in(labels, value_set=found)))
        codes = pc.index_in(plain, value_set=kept).combine_chunks().cast(pa.int32())
        return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, kept, ordered=kind.ordered)])
    found = marker_values(markers, kind)
    if _holds(column, found):
        return pc.if_else(pc.is_in(column, value_set=found), pa.scalar(None, kind), column)
    return column


def marker_values(markers: Sequence[str], kind: pa.DataType) -> pa.Array:
    """Return the markers that can be read as a type, in that type."""
    readable: list[Any] = []
    if pa.types.is_boolean(kind):  # "1" would read as true
        return pa.array(readable, kind)
    for marker in markers:
        try:
            readable.append(pa.array([marker], pa.string()).cast(kind)[0].as_py())
        except pa.ArrowException:
            continue
    return pa.array(readable, kind)


def _holds(column: Any, markers: pa.Array) -> bool:
    return bool(len(markers)) and bool(pc.any(pc.is_in(column, value_set=markers)).as_py())
