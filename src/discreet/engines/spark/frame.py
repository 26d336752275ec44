"""A table on Spark: Parquet files that its workers can see, or what they make of them."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.files import open_parquet, plain_files, schema_of
from discreet.engines.frame import (
    Frame,
    Merge,
    Numbered,
    OfPair,
    OfPiece,
    Part,
    plain_type,
    refuse_type,
)
from discreet.engines.pieces import same_rows
from discreet.engines.spark import source, workers
from discreet.engines.spark.carried import from_spark, shown, spark_name
from discreet.engines.spark.session import Session
from discreet.engines.spark.workers import ROW
from discreet.errors import BadInput
from discreet.table.files import format_of
from discreet.table.native import check_names
from discreet.table.signatures import check_path

# Rows that one task sorts, that are put beside those of another table, and of a written file.
SPAN = 1 << 20
PAIRS = 1 << 18
PART_ROWS = 1 << 19
# As many parts as powers of 2 at most: files are listed and opened one by one.
MOST_BITS = 14


class SparkFrame(Frame):
    """Columns on Spark: a plan for rows as c0, c1, ... and their number.

    `workers.runs` says what the span is. A plan that is not kept is carried out once, when its rows
    are first used.
    """

    # Of the temporary files, if there are any.
    _folder: Path | None = None

    def __init__(
        self,
        session: Session,
        plan: Any,
        schema: pa.Schema,
        num_rows: int,
        positioned: bool = True,
        span: int = 1,
        kept: bool = True,
    ) -> None:
        self.session, self.schema, self.num_rows = session, schema, num_rows
        self.positioned = positioned
        session.make_room(num_rows // SPAN)
        self._plan, self._span, self._kept = plan, span, kept

    @classmethod
    def of(cls, session: Session, data: Any, markers: Sequence[str] = ()) -> SparkFrame:
        """Return a frame for a Spark DataFrame, written once so that rows keep their numbers."""
        schema = source.schema_of_spark(data)
        folder = session.new_folder()
        with session.telling():
            data.toDF(*_names(len(schema))).write.parquet(source.local(folder))
        return cls.stored(session, sorted(folder.glob("*.parquet")), markers, schema, False)

    @classmethod
    def stored(
        cls,
        session: Session,
        files: Sequence[Path],
        markers: Sequence[str] = (),
        schema: pa.Schema | None = None,
        positioned: bool = True,
    ) -> SparkFrame:
        """Return a frame for Parquet files in the order of their rows.

        All workers see them under these names. The markers stand for a null in them, besides the
        empty text and NaN. A schema is given for temporary files: their columns are in its order.
        """
        found, num_rows = source.footers(files)
        places = None if schema is None else range(len(schema))
        schema = schema or found
        with session.telling():
            plan = source.rows_of(session, files, schema, markers, places)
        return cls(session, plan, schema, num_rows, positioned)

    @classmethod
    def released(
        cls, session: Session, folder: Path, row_maps: Path, schema: pa.Schema | None = None
    ) -> SparkFrame:
        """Return a frame for parts that `write_parts` wrote, with the row numbers of their maps.

        The schema is that of the first part by default.
        """
        maps = sorted(row_maps.glob("part-*.parquet"))
        parts = [(folder / path.name, path) for path in maps]
        if not maps or {path for path, _ in parts} != set(folder.glob("part-*")):
            raise BadInput(f"the parts in {folder} are not those that {row_maps} lists")
        if schema is None:
            schema = schema_of(open_parquet(parts[0][0]).schema_arrow)
        num_rows = sum(open_parquet(path).metadata.num_rows for path in maps)
        places = session.spark.range(0, len(parts), 1, len(parts))
        reading = partial(workers.read_released, schema, parts)
        plan = places.mapInArrow(reading, ddl(schema))
        return cls(session, plan, schema, num_rows, span=0, kept=False)

    # Counting

    def counts(
        self, columns: Sequence[str], by_value: bool = False, of: str | None = None
    ) -> tuple[pa.Table, np.ndarray]:
        """Count by groupBy; sort here."""
        functions = _functions()
        keys = self._keys(columns)
        rows = functions.count("*")
        number = rows if of is None else functions.count_distinct(*self._keys([of]))
        found = [number.alias("n")]
        found += [] if by_value else [functions.min(ROW).alias("first")]
        with self.session.telling():
            table = self._rows().groupBy(*keys).agg(*found).toArrow()
        tuples = self._typed(table, columns)
        order = tuples if by_value else table.select(["first"])
        # By position: names may be any.
        order = order.rename_columns(_names(order.num_columns))
        places = pc.sort_indices(
            order, sort_keys=[(name, "ascending") for name in order.column_names]
        )
        return tuples.take(places), table["n"].take(places).to_numpy().astype(np.int64)

    def values(self, column: str) -> Iterator[tuple[pa.ChunkedArray, np.ndarray]]:
        """Group, sort, write, and read the parts in their order."""
        functions = _functions()
        (key,) = self._keys([column])
        folder = self.session.new_folder()
        with self.session.telling():
            found = self._rows().groupBy(key).agg(functions.count("*").alias("n"))
            found.sort(functions.col(key).asc_nulls_last()).write.parquet(source.local(folder))
        for path in sorted(folder.glob("*.parquet")):
            for batch in open_parquet(path).iter_batches(1 << 20):
                table = pa.table(batch)
                cells = self._typed(table, [column]).column(0)
                yield cells, table["n"].to_numpy().astype(np.int64)
        shutil.rmtree(folder)

    def is_unique(self, column: str) -> bool:
        """Count exactly."""
        functions = _functions()
        with self.session.telling():
            found = self._rows().agg(functions.count_distinct(*self._keys([column]))).first()
        return bool(found[0] == self.num_rows)

    def unique_rows(self, columns: Sequence[str]) -> int:
        """Count where the tuples are."""
        sizes, repeats = self.sizes(columns)
        return int(repeats[sizes == 1].sum())

    def one_valued(self, columns: Sequence[str], of: Sequence[str]) -> list[tuple[int, int]]:
        """Compare the ends of each column where the tuples are."""
        functions = _functions()
        found = []
        for i, name in enumerate(self._keys(of)):
            one = (functions.min(name) == functions.max(name)) & (functions.count("*") > 1)
            held = functions.when(one, functions.count(name))
            found.append(held.alias(f"held{i}"))
        wanted = [
            total(f"held{i}") for i in range(len(of)) for total in (functions.count, functions.sum)
        ]
        with self.session.telling():
            tuples = self._rows().groupBy(*self._keys(columns)).agg(*found)
            numbers = [int(number or 0) for number in tuples.agg(*wanted).first()]
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def sizes(
        self, columns: Sequence[str], without: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count by two groupBys, so that only the sizes come here."""
        functions = _functions()
        rows = self._rows()
        if without is not None and len(without):
            gone = self.session.spark.createDataFrame(
                pa.table({ROW: pa.array(without, pa.int64())})
            )
            rows = rows.join(gone, ROW, "left_anti")
        with self.session.telling():
            tuples = rows.groupBy(*self._keys(columns)).agg(functions.count("*").alias("size"))
            found = tuples.groupBy("size").agg(functions.count("*").alias("repeats")).toArrow()
        found = found.sort_by("size")
        sizes, repeats = (found[name].to_numpy().astype(np.int64) for name in found.column_names)
        return sizes, repeats

    def about_how_many(self, columns: Sequence[str]) -> int:
        """Estimate by a sketch."""
        functions = _functions()
        # A null is a value, and a struct of nulls is no null.
        sketch = functions.approx_count_distinct(functions.struct(*self._keys(columns)), 0.02)
        with self.session.telling():
            return int(self._rows().agg(sketch).first()[0])

    # Rows, a piece at a time

    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Fold runs of rows where they are, and combine the results here."""
        schema = self._schema(columns)
        if not self.num_rows:
            return function(schema.empty_table(), np.arange(0))
        data, span = self._rows().select(*self._keys(columns), ROW), self._span
        if span == 0:
            span = self._span_of_rows()
            placed = self._by_span(columns, span).repartition(self.num_rows // span + 1, "span")
            data = placed.sortWithinPartitions("span", ROW).drop("span")
        work = partial(workers.fold_rows, function, merge, schema, span)
        return self._merged(data.mapInArrow(work, workers.PARTIALS), merge)

    def _beside(
        self, after: SparkFrame, columns: Sequence[str], columns_after: Sequence[str]
    ) -> tuple[Any, pa.Schema, pa.Schema]:
        """Group the rows of two tables together by their numbers; also return their schemas."""
        span = min(PAIRS, self._span_of_rows())
        first, second = self._by_span(columns, span), after._by_span(columns_after, span)
        together = first.groupBy("span").cogroup(second.groupBy("span"))
        return together, self._schema(columns), after._schema(columns_after)

    def _fold_beside(self, pairs: Any, function: OfPair[Part], merge: Merge[Part]) -> Part:
        found, first, second = pairs
        if not self.num_rows:
            none = np.arange(0)
            return function(first.empty_table(), none, none.astype(bool), second.empty_table())
        work = partial(workers.fold_pair, function, first, second)
        return self._merged(found.applyInArrow(work, workers.PARTIALS), merge)

    def _map_beside(self, pairs: Any, function: OfPair[pa.Table], schema: pa.Schema) -> SparkFrame:
        found, first, second = pairs
        work = partial(workers.map_pair, function, first, second, schema)
        made = self._like(found.applyInArrow(work, ddl(schema)), schema)
        made._span = 0
        made._rows()
        return made

    def map(
        self, function: OfPiece[pa.Table], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> SparkFrame:
        """Plan it; the result is written to temporary files when it is first used."""
        return self._mapped(partial(same_rows, function), schema, columns)

    def flat_map(
        self, function: OfPiece[Numbered], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> SparkFrame:
        """Write what the function returns, to know how many rows there are."""
        made = self._mapped(function, schema, columns)
        with self.session.telling():
            made.num_rows = made._rows().count()
        made._span = 0
        return made

    def _mapped(
        self, function: OfPiece[Numbered], schema: pa.Schema, columns: Sequence[str] | None
    ) -> SparkFrame:
        columns = self.schema.names if columns is None else columns
        work = partial(workers.flat_map_rows, function, self._schema(columns), schema, self._span)
        plan = self._plan.select(*self._keys(columns), ROW).mapInArrow(work, ddl(schema))
        return self._like(plan, schema)

    def first_of(self, by: str, columns: Sequence[str]) -> SparkFrame:
        """Keep the rows with the least number of each value."""
        (key,) = self._keys([by])
        first = self._rows().groupBy(key).agg(_functions().min(ROW).alias(ROW)).select(ROW)
        rows = self._rows().select(*self._keys(columns), ROW).join(first, ROW, "left_semi")
        schema = self._schema(columns)
        plan = rows.select(*self._keys(columns), ROW).toDF(*_names(len(schema)), ROW)
        made = self._like(plan, schema)
        with self.session.telling():
            made.num_rows = made._rows().count()
        made._span = 0
        return made

    def ranked(self, by: Sequence[str], was: str, stretch: int) -> SparkFrame:
        """Sort into files, in which a row's number is its place."""
        from discreet.engines.spark.ordering import SortedFrame

        return SortedFrame.ranked_rows(self, by, was, stretch)

    def arranged(self, stretch: int) -> SparkFrame:
        """Sort into files."""
        from discreet.engines.spark.ordering import SortedFrame

        return SortedFrame.arranged_rows(self, stretch)

    def remove(self) -> None:
        """Remove the temporary files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # Writing

    def write_parts(
        self,
        order: str,
        folder: Path,
        row_maps: Path,
        finish: OfPiece[pa.Table],
        without: str,
    ) -> int:
        """Write the rows in the order of a column, to part files and to their row maps; count them.

        The column `order` holds 64-bit words, spread evenly as `Draws.words` are: a row's first
        bits say which part it belongs to, so that a rerun writes the same files on any cluster.
        Row maps have the parts' names, and the number of each row; all workers see both folders.
        `finish` turns rows and their numbers into what is written; `without` marks rows to leave
        out.

        Each attempt at a part writes files of its own. When all are there, those of the attempt
        that Spark counts are renamed, so one that failed or ran twice leaves nothing.
        """
        assert pa.types.is_uint64(self.schema.field(order).type)
        functions = _functions()
        (word,) = self._keys([order])
        bits = min(MOST_BITS, max(0, (self.num_rows - 1) // PART_ROWS).bit_length())
        part = functions.shiftright(word, 64 - bits) if bits else functions.lit(0)
        data = self._rows().where(~functions.col(*self._keys([without])))
        data = data.repartition(1 << bits, part).sortWithinPartitions(word, ROW)
        # Beside the row maps, which are not shared either.
        staging = row_maps / ".attempts"
        attempts = staging / "parts", staging / "row maps"
        for path in (folder, row_maps, *attempts):
            path.mkdir(parents=True, exist_ok=True)
        work = partial(workers.write_rows, finish, self.schema, order, bits, attempts)
        try:
            with self.session.telling():
                written = data.mapInArrow(work, workers.WRITTEN).toArrow().to_pylist()
            for found in written:
                for made, target in zip(attempts, (folder, row_maps), strict=True):
                    name = f"part-{found['part']:05d}.parquet"
                    os.replace(made / f"{found['attempt']}.parquet", target / name)
        finally:
            _remove(staging)
        if not written:
            none = np.arange(0)
            nothing = finish(self.schema.empty_table(), none)
            workers.write_parquet([nothing], folder / "part-00000.parquet")
            workers.write_row_map(none, row_maps / "part-00000.parquet")
        rows = sum(found["rows"] for found in written)
        self.session.written["rows_written"] += rows
        self.session.written["bytes_written"] += sum(found["size"] for found in written)
        return rows

    def native(self) -> Any:
        """Return a DataFrame with the columns' own names."""
        functions = _functions()
        named = [
            functions.expr(shown(key, field.type)).alias(field.name)
            for key, field in zip(self._keys(self.schema.names), self.schema, strict=True)
        ]
        return self._rows().select(*named)

    # Within

    def _rows(self) -> Any:
        """Return the rows to work on; rows that a function makes are made once, and kept."""
        if not self._kept:
            self._folder = self.session.new_folder()
            with self.session.telling():
                self._plan.write.parquet(source.local(self._folder))
            read = self.session.spark.read.schema(self._plan.schema)
            self._plan = read.parquet(source.local(self._folder))
            self._kept = True
        return self._plan

    def _like(self, plan: Any, schema: pa.Schema) -> SparkFrame:
        """Return a frame for what a function makes of the rows."""
        return SparkFrame(
            self.session, plan, schema, self.num_rows, self.positioned, self._span, kept=False
        )

    def _keys(self, columns: Sequence[str]) -> list[str]:
        for name in columns:
            refuse_type(self.schema.field(name))
        return [f"c{self.schema.names.index(name)}" for name in columns]

    def _schema(self, columns: Sequence[str]) -> pa.Schema:
        return pa.schema([self.schema.field(name) for name in columns])

    def _typed(self, table: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Return the first columns of Spark's result in their own types, without dictionaries."""
        kinds = [plain_type(self.schema.field(name).type) for name in columns]
        cells = [from_spark(table.column(i), kind) for i, kind in enumerate(kinds)]
        return pa.table(cells, schema=pa.schema(list(zip(columns, kinds, strict=True))))

    def _span_of_rows(self) -> int:
        """Return how many rows a task gets when rows are placed by their numbers."""
        return max(2, min(SPAN, self.num_rows // (4 * self.session.parallelism)))

    def _by_span(self, columns: Sequence[str], span: int) -> Any:
        """Return some columns, and for each row the span that its number is in."""
        wanted = self._rows().select(*self._keys(columns), ROW)
        return wanted.withColumn("span", _functions().expr(f"{ROW} div {span}"))

    def _merged(self, partials: Any, merge: Merge[Part]) -> Part:
        with self.session.telling():
            found = partials.toArrow()
        places = np.argsort(found["first"].to_numpy())
        # One at a time: all of them may be much more than what comes of them.
        return reduce(merge, (pickle.loads(found["partial"][int(i)].as_py()) for i in places))


def spark_frame(session: Session, table: Any, markers: Sequence[str] = ()) -> SparkFrame:
    """Open a Parquet file, a folder of them, or a Spark DataFrame as a frame."""
    if not isinstance(table, str | Path):
        check_names(table.columns)
        frame = SparkFrame.of(session, table, markers)
    else:
        path = Path(table)
        check_path(path)
        if path.is_file() and format_of(path) != "parquet":
            raise BadInput(
                f"{path}: the engine spark reads CSV and Parquet, not {format_of(path)}; use "
                "--engine memory, or convert it"
            )
        files = plain_files(path) if path.is_dir() else [path]
        frame = SparkFrame.stored(session, [file.absolute() for file in files], markers)
    if frame.num_rows == 0:
        raise BadInput("the table has no rows")
    return frame


def _functions() -> Any:
    from pyspark.sql import functions

    return functions


def _remove(folder: Path) -> None:
    """Remove a folder in which a task may still be writing until it is told to stop."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def _names(number: int) -> list[str]:
    return [f"c{place}" for place in range(number)]


def ddl(schema: pa.Schema) -> str:
    """Return the DDL of the columns that Spark gets back: c0, c1, ... and the number."""
    kinds = [f"c{place} {spark_name(field.type)}" for place, field in enumerate(schema)]
    return ", ".join([*kinds, f"{ROW} bigint"])
