"""Files and DataFrames as frames need them: plain column names, and nulls as nulls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines.files import open_parquet, schema_of
from discreet.engines.frame import plain_type, refuse_type
from discreet.engines.spark.carried import HALF, carried, spark_name, to_spark
from discreet.engines.spark.session import Session
from discreet.engines.spark.workers import ROW
from discreet.errors import BadInput
from discreet.table.native import marker_values


def footers(files: Sequence[Path]) -> tuple[pa.Schema, int]:
    """Read the schema and the row counts of files, which must have the same schema."""
    if not files:
        raise BadInput("there is no Parquet file to read")
    first, num_rows = open_parquet(files[0]).schema_arrow, 0
    for field in first:
        if pa.types.is_float16(field.type):
            raise BadInput(
                f"column '{field.name}' holds {field.type}, which Spark does not read; turn it "
                "into numbers of 4 or 8 bytes"
            )
    for path in files:
        found = open_parquet(path)
        num_rows += found.metadata.num_rows
        if not found.schema_arrow.equals(first):
            raise BadInput(f"{path} and {files[0]} differ in their columns or types")
    return schema_of(first), num_rows


def takes(field: pa.Field) -> bool:
    """Tell whether engines take the column's type; other columns stay where they are."""
    try:
        refuse_type(field)
    except BadInput:
        return False
    return True


def schema_of_spark(data: Any) -> pa.Schema:
    """Return the columns of a DataFrame as a frame has them."""
    from pyspark.errors import PySparkException

    try:
        found = data.limit(0).toArrow().schema
    except PySparkException as error:
        raise BadInput(
            f"a column has a type that no engine takes ({str(error).splitlines()[0]}); drop it, or "
            "turn it into text or numbers"
        ) from None
    return schema_of(found)


def local(path: Path) -> str:
    """Return a path as Spark needs it: one without a scheme means the cluster's file system.

    Examples
    --------
    >>> local(Path("/tmp/a b"))
    'file:///tmp/a b'
    """
    return f"file://{path}"


def rows_of(
    session: Session,
    files: Sequence[Path],
    schema: pa.Schema,
    markers: Sequence[str],
    places: Sequence[int] | None = None,
) -> Any:
    """Plan to read files: columns as c0, c1, ..., normalised, and the rows' numbers.

    Columns are found in the files by position, or by name if no positions are given.
    """
    from pyspark.sql import functions

    if places is None:
        stored = [field.name for field in open_parquet(files[0]).schema_arrow]
        places = [stored.index(name) for name in schema.names]
    data = session.spark.read.options(
        datetimeRebaseMode="CORRECTED", int96RebaseMode="CORRECTED", mergeSchema="false"
    ).parquet(local(_linked(session, files)))
    kinds = [field.dataType.simpleString() for field in data.schema.fields]
    hidden = data.metadataColumn("_metadata")
    data = data.select("*", hidden.getField("file_name"), hidden.getField("row_index"))
    # By position from here on: names may be any.
    data = data.toDF(*(f"s{place}" for place in range(len(kinds))), "file", "place")
    chosen = []
    for number, (place, field) in enumerate(zip(places, schema, strict=True)):
        if not takes(field):
            continue
        cell = _as_carried(functions.col(f"s{place}"), kinds[place], field)
        chosen.append(_normalised(cell, field.type, markers).alias(f"c{number}"))
    start = functions.substring("file", 1, 19).cast("bigint")
    return data.select(*chosen, (start + functions.col("place")).alias(ROW))


def _linked(session: Session, files: Sequence[Path]) -> Path:
    """Link to files by names that say at which row each starts.

    Spark reads file names as patterns, and skips those that start with an underscore or a point.
    """
    folder = session.new_folder()
    folder.mkdir()
    start = 0
    for path in files:
        rows = open_parquet(path).metadata.num_rows
        if rows or len(files) == 1:
            (folder / f"{start:019d}.parquet").symlink_to(path.absolute())
        start += rows
    if not start and len(files) > 1:
        (folder / f"{0:019d}.parquet").symlink_to(files[0].absolute())
    return folder


def _as_carried(cell: Any, kind: str, field: pa.Field) -> Any:
    """Turn what Spark reads from a file into what it carries of a column's type."""
    from pyspark.sql import functions

    wanted, types = spark_name(field.type), pa.types
    if types.is_uint64(field.type) and kind == "decimal(20,0)":
        return (cell - functions.lit(str(HALF)).cast("decimal(20,0)")).cast("bigint")
    if kind == wanted:
        return cell
    if types.is_timestamp(field.type) and field.type.unit == "ns" and kind.startswith("timestamp"):
        # 96 bits, as older programs write them.
        return functions.unix_micros(cell.cast("timestamp")) * 1000
    if wanted == "string" and kind in ("void", "int"):
        # A column of nothing but nulls.
        return functions.lit(None).cast("string")
    raise BadInput(
        f"column '{field.name}' holds {field.type}, which Spark reads as {kind}; turn it into text "
        "or numbers"
    )


def _normalised(cell: Any, kind: pa.DataType, markers: Sequence[str]) -> Any:
    """Normalise a column's cells as `table.normalise` does."""
    from pyspark.sql import functions

    kind, name = plain_type(kind), spark_name(kind)
    found = to_spark(pa.chunked_array([marker_values(["", *markers], kind)]))
    values = [functions.lit(str(value)).cast(name) for value in found.to_pylist()]
    null = cell.isin(values) if values else None
    if pa.types.is_floating(carried(kind)):
        null = functions.isnan(cell) if null is None else null | functions.isnan(cell)
        # Adding 0 turns -0.0 into 0.0.
        cell = cell + functions.lit("0.0").cast(name)
    return cell if null is None else functions.when(null, functions.lit(None)).otherwise(cell)
