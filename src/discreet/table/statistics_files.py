"""SPSS, Stata and SAS files, through pyreadstat.

Dates are read and written as the programs' own numbers, so that nothing passes through slow or
rounded intermediate types. What a program cannot hold exactly is written as text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.cells import plain
from discreet.table.columns import LARGEST_EXACT_INTEGER
from discreet.table.labels import (
    CODED,
    Labels,
    coded,
    is_text,
    labels_of,
    null_codes,
    with_labels,
    with_null_codes,
)
from discreet.table.programs import (
    SAS,
    SPSS,
    STATA,
    Program,
    as_numbers,
    as_text,
    typed,
    utc_datetimes,
)
from discreet.table.signatures import optional

PROGRAMS = {"sav": SPSS, "dta": STATA, "xpt": SAS, "sas7bdat": SAS}
# What metadata calls them: both SAS formats share their formats and codes.
_FAMILY = {"sav": "sav", "dta": "dta", "xpt": "sas", "sas7bdat": "sas"}
_BOOLEAN = {0: "false", 1: "true"}
# Past it Stata's integers are codes of missing values.
_STATA_LARGEST = 2_147_483_620


def read_statistics_file(
    path: Path, format: str, encoding: str | None = None, text: Collection[str] = ()
) -> pa.Table:
    """Read an SPSS, Stata or SAS file with labels, formats and missing-value codes.

    The columns named in `text` stay text, even if they look like datetimes.
    """
    pyreadstat = optional("pyreadstat", path)
    reader = getattr(pyreadstat, {"xpt": "read_xport"}.get(format, f"read_{format}"))
    more = {} if format == "xpt" else {"user_missing": True}
    cells, meta = reader(
        str(path),
        encoding=encoding,
        disable_datetime_conversion=True,
        output_format="dict",
        **more,
    )
    found = [
        _read_column(name, cells.pop(name), meta, format, name in text)
        for name in meta.column_names
    ]
    schema = pa.schema([own for own, _ in found])
    return pa.Table.from_arrays([column for _, column in found], schema=schema)


def _read_column(
    name: str, cells: list[Any], meta: Any, format: str, text: bool
) -> tuple[pa.Field, pa.ChunkedArray]:
    family, program = _FAMILY[format], PROGRAMS[format]
    kind = meta.readstat_variable_types[name]
    missing = _missing_of(name, meta)
    spelt = meta.original_variable_types[name] or ""
    codes: pa.Array | None = None
    if kind == "string":
        column = pa.chunked_array([pa.array(cells, pa.large_string())])
        column, codes = _part_codes(column, missing)
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        column = utc_datetimes(column, text)
    else:
        if family != "sav" and missing:
            codes = pa.array([c if isinstance(c, str) else None for c in cells], pa.string())
            cells = [None if isinstance(c, str) else c for c in cells]
        column = pa.chunked_array([pa.array(cells, pa.float64(), from_pandas=True)])
        if family == "sav":
            column, codes = _part_codes(column, missing)
        column = typed(column, spelt, program)
        if kind.startswith("int") and not pa.types.is_temporal(column.type):
            column = column.cast(getattr(pa, kind)())
    values = dict(meta.variable_value_labels.get(name, {}))
    if pa.types.is_integer(column.type):
        whole = {v: int(v) if isinstance(v, float) and v.is_integer() else v for v in values}
        values = {whole[v]: label for v, label in values.items()}
        if values == _BOOLEAN and set(column.unique().to_pylist()) <= {0, 1, None}:
            column, values = column.cast(pa.bool_()), {}
    measure = meta.variable_measure.get(name)
    labels = Labels(
        label=meta.column_names_to_labels.get(name) or None,
        values=values,
        missing=missing,
        format=spelt or None,
        measure=None if measure == "unknown" else measure,
        program=family,
    )
    own = with_labels(pa.field(name, column.type), labels)
    return with_null_codes(own, column, codes), column


def _missing_of(name: str, meta: Any) -> tuple[Any, ...]:
    ranges = meta.missing_ranges.get(name, [])
    found = [r["lo"] if r["lo"] == r["hi"] else (r["lo"], r["hi"]) for r in ranges]
    return tuple(found) + tuple(meta.missing_user_values.get(name, ()))


def _part_codes(
    column: pa.ChunkedArray, missing: Sequence[Any]
) -> tuple[pa.ChunkedArray, pa.Array | None]:
    """Turn missing-value codes into nulls, and return the codes separately."""
    if not missing:
        return column, None
    hit = pa.scalar(False)
    for one in missing:
        low, high = one if isinstance(one, tuple) else (one, one)
        within = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
        hit = pc.or_(hit, within)
    hit = pc.fill_null(hit, False)
    nothing = pa.scalar(None, column.type)
    codes = pc.if_else(hit, column, nothing).combine_chunks()
    return pc.if_else(hit, nothing, column), codes


# Writing


@dataclass
class _Parts:
    """What a file is made of: the cells, and what is said about them."""

    frame: dict[str, Any] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    values: dict[str, Mapping[Any, str]] = field(default_factory=dict)
    missing: dict[str, list[Any]] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)

    def options(self, family: str) -> dict[str, Any]:
        """Return what the program's writer takes."""
        common = {"column_labels": self.labels, "variable_format": self.formats}
        more: dict[str, Any] = {}
        if family != "sas":
            more["variable_value_labels"] = self.values
        if family == "sav":
            more |= {"missing_ranges": self.missing, "variable_measure": self.measures}
        if family == "dta":
            more["missing_user_values"] = self.missing
        return common | more


def write_statistics_file(table: pa.Table, path: Path, format: str) -> None:
    """Write an SPSS, Stata or SAS (transport) file with labels and missing-value codes."""
    import pandas as pd

    pyreadstat = optional("pyreadstat", Path(path.name))
    program, parts = PROGRAMS[format], _Parts()
    for one in table.schema:
        own, column = one, table[one.name]
        if _FAMILY[format] in CODED:
            own, column = coded(own, column, _FAMILY[format])
        _add_column(parts, own, column, _FAMILY[format], program)
    writer = getattr(pyreadstat, {"xpt": "write_xport"}.get(format, f"write_{format}"))
    data = pd.DataFrame({n: pd.Series(c, dtype=_dtype(c)) for n, c in parts.frame.items()})
    try:
        writer(data, str(path), **parts.options(_FAMILY[format]))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        # Without its folder, which is a passing one while a release is written.
        raise BadInput(f"{path.name} cannot be written for {program.name}: {error}") from None
    _undated(path, format)


def _add_column(
    parts: _Parts, own: pa.Field, column: pa.ChunkedArray, family: str, program: Program
) -> None:
    name, labels = own.name, labels_of(own)
    _check_name(name, program)
    same = labels.program == family
    # SAS has letters of missing values, but pyreadstat does not write them.
    codes = null_codes(own, column) if same and family != "sas" else None
    cells, spelt = _write_column(column, name, program, codes)
    if same and labels.format and not isinstance(cells, list):
        spelt = labels.format
    parts.frame[name] = cells
    if spelt:
        parts.formats[name] = spelt
    parts.labels[name] = labels.label or ""
    values = _BOOLEAN if pa.types.is_boolean(own.type) else _value_labels(own, labels, family)
    if values:
        parts.values[name] = values
    if same and labels.missing:
        ends = [{"lo": m[0], "hi": m[1]} if isinstance(m, tuple) else m for m in labels.missing]
        parts.missing[name] = ends
    if same and labels.measure:
        parts.measures[name] = labels.measure


def _value_labels(own: pa.Field, labels: Labels, family: str) -> dict[Any, str]:
    """Return the value labels that a program can hold: for text, numbers, its missing letters."""
    text = is_text(own.type)
    if family != "dta":
        return {v: label for v, label in labels.values.items() if isinstance(v, str) == text}
    # Stata has labels for whole numbers and for its letters, and none for text.
    values = {}
    for value, label in labels.values.items():
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        letter = isinstance(value, str) and labels.program == family
        if letter or (isinstance(value, int) and abs(value) <= _STATA_LARGEST):
            values[value] = label
    return {} if text else values


def _dtype(cells: Any) -> Any:
    return object if isinstance(cells, list) else cells.dtype


def _check_name(name: str, program: Program) -> None:
    longest = {"SPSS": 64, "Stata": 32, "SAS": 32}[program.name]
    letters = r"[A-Za-z_]\w*" if program is SAS else r"[^\W\d]\w*"
    flags = re.ASCII if program is SAS else 0
    too_long = len(name.encode()) if program is SPSS else len(name)
    if not re.fullmatch(letters, name, flags) or too_long > longest:
        ascii_only = " without accents" if program is SAS else ""
        raise BadInput(
            f"column '{name}' has a name that {program.name} does not allow: letters{ascii_only}, "
            f"digits and _, at most {longest}, not beginning with a digit; rename it, or choose "
            "CSV or Parquet"
        )


def _write_column(
    column: pa.ChunkedArray, name: str, program: Program, codes: pa.Array | None
) -> tuple[Any, str | None]:
    """Return a column as pandas needs it (a list if it holds text), with a format."""
    column, spelt = plain(column), None
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = as_text(column)
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        numbers, spelt = as_numbers(column, program)
        column = as_text(column) if numbers is None else numbers
    elif pa.types.is_boolean(kind):
        column, spelt = column.cast(pa.int8()), program.formats["whole"]
    elif pa.types.is_duration(kind):
        column, spelt = column.cast(pa.int64()), program.formats["whole"]
    elif pa.types.is_integer(kind):
        spelt = program.formats["whole"]
    kind = column.type
    if is_text(kind):
        return _text_cells(column, name, program, codes), None
    if program is STATA and pa.types.is_integer(kind) and codes is None:
        integers = _stata_integers(column)
        if integers is not None:
            return integers, "%12.0f"
    return _number_cells(column, name, program, codes), spelt


def _stata_integers(column: pa.ChunkedArray) -> Any:
    """Return integers as Stata's long, its only integer type that pyreadstat writes.

    None if they are too large.
    """
    import pandas as pd

    ends = pc.min_max(column.cast(pa.int64())).as_py()
    if any(abs(end or 0) > _STATA_LARGEST for end in ends.values()):
        return None
    whole = pc.fill_null(column, 0).to_numpy().astype("int32")
    return pd.arrays.IntegerArray(whole, column.is_null().to_numpy())


def _text_cells(
    column: pa.ChunkedArray, name: str, program: Program, codes: pa.Array | None
) -> list[str]:
    cut = pc.index(pc.match_substring(column, "\0"), True).as_py()
    if cut >= 0:
        raise BadInput(
            f"column '{name}', row {cut + 1} holds text with a NUL character, which {program.name} "
            "would cut there; choose CSV or Parquet, or take such characters out"
        )
    ends = pc.match_substring_regex(column, r"\s$")
    if program is not STATA and pc.any(ends).as_py():
        value = column.filter(ends)[0].as_py()
        raise BadInput(
            f"column '{name}' holds {value!r}, whose last space {program.name} would drop; "
            "choose CSV or Parquet, or take such spaces out"
        )
    if codes is not None:
        column = pc.coalesce(column, pa.chunked_array([codes]).cast(column.type))
    return pc.fill_null(column, "").to_pylist()


def _number_cells(
    column: pa.ChunkedArray, name: str, program: Program, codes: pa.Array | None
) -> Any:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise BadInput(
            f"column '{name}' holds {kind}, which {program.name} cannot hold; use Parquet"
        )
    if pa.types.is_integer(kind):
        largest = max(abs(pc.min(column).as_py() or 0), abs(pc.max(column).as_py() or 0))
        if largest > LARGEST_EXACT_INTEGER:
            raise BadInput(
                f"column '{name}' holds {largest}, which {program.name} cannot hold exactly "
                "(2^53); release it as text, or choose CSV or Parquet"
            )
    numbers = column.cast(pa.float64())
    size = pc.abs(numbers)
    small = pc.and_(pc.greater(size, 0.0), pc.less(size, program.smallest))
    outside = pc.index(pc.or_(small, pc.greater_equal(size, program.limit)), True).as_py()
    if outside >= 0:
        raise BadInput(
            f"column '{name}', row {outside + 1} holds {numbers[outside].as_py()!r}, which "
            f"{program.name} cannot hold; choose CSV or Parquet"
        )
    if codes is None:
        return numbers.to_numpy().astype(np.float64)
    if pa.types.is_string(codes.type):
        letters = codes.to_pylist()
        return [c if x is None else x for x, c in zip(numbers.to_pylist(), letters, strict=True)]
    return pc.coalesce(numbers, pa.chunked_array([codes]).cast(pa.float64())).to_numpy()


def _undated(path: Path, format: str) -> None:
    """Replace the current time by a fixed date, so that a rerun gives the same bytes."""
    with path.open("r+b") as file:
        start = file.read(2000)
        if format == "sav":
            start = start[:92] + b"01 Jan 7000:00:00" + start[109:]
        elif format == "dta":
            start = re.sub(rb"(<timestamp>\x11).{17}", rb"\g<1>01 Jan 1970 00:00", start, count=1)
        else:
            start = re.sub(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00", start, count=4)
        file.seek(0)
        file.write(start)
