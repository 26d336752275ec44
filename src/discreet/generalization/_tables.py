"""Hierarchies that list their values: CSV files, tables, trees of groups."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.generalization._distinct import Distinct, as_text
from discreet.generalization.ladder import TOP, Ladder
from discreet.table.dialect import Marks, find_dialect
from discreet.table.native import to_arrow

_SEPARATORS = (";", ",")
_QUOTE = '"'


class Table:
    """A hierarchy given value by value, with its spec as a recipe has it."""

    def __init__(self, spec: dict[str, Any], ladder: Ladder) -> None:
        self._spec = spec
        self.ladder = ladder

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        return self._spec

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Look up the labels of some values."""
        ladder = self.ladder
        places = ladder.places(found, name)
        return [
            pa.DictionaryArray.from_arrays(pa.array(codes[places]), pa.array(labels, pa.string()))
            for codes, labels in zip(ladder.maps[1:-1], ladder.labels[1:-1], strict=True)
        ]

    def settle(self, found: Distinct, name: str) -> Table:
        """Write the table down, so that it no longer depends on a file."""
        if self.spec()["kind"] != "csv":
            return self
        return Table({"kind": "table", "rows": rows_of(self.ladder)}, self.ladder)


class CsvTable(Table):
    """A table in a file, read when it is first needed: a recipe can be read without it."""

    def __init__(self, path: Any, sep: Any) -> None:
        if not isinstance(path, str | Path) or not str(path):
            raise BadInput(f"path must be the name of a file, not {path!r}")
        if sep is not None and (not isinstance(sep, str) or len(sep) != 1):
            raise BadInput(f"sep must be one character, such as ';', not {sep!r}")
        self.path, self.sep = Path(path), sep

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        spec = {"kind": "csv", "path": str(self.path)}
        return spec | ({} if self.sep is None else {"sep": self.sep})

    @cached_property
    def ladder(self) -> Ladder:  # type: ignore[override]
        """Read the file."""
        return table_of(_read(self.path, self.sep), {}, str(self.path)).ladder


def _read(path: Path, sep: str | None) -> list[list[str]]:
    """Read a CSV file without a header."""
    try:
        if not path.read_bytes().strip():
            raise BadInput(f"{path} is empty; a hierarchy has one row for each value")
        dialect = find_dialect(path, Marks(quote=_QUOTE))
        # The mark that some programs put first is not part of the first value.
        encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
        return rows_in(path.read_text(encoding), sep, str(path))
    except OSError as error:
        raise BadInput(f"the hierarchy {path} cannot be read: {error.strerror}") from None


def rows_in(text: str, sep: str | None, source: str) -> list[list[str]]:
    """Return the rows of a CSV text without a header."""
    try:
        return _cells(text, _separator(text, sep))
    except csv.Error as error:
        raise BadInput(f"{source} cannot be read as CSV: {error}") from None


def _cells(text: str, sep: str) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    return [row for row in csv.reader(lines, delimiter=sep, quotechar=_QUOTE) if row]


def _separator(text: str, sep: str | None) -> str:
    """Take the separator that was given, unless another one plainly is the file's.

    That is one that gives all rows as many cells, and more than one.
    """
    fitting = {}
    for mark in dict.fromkeys([sep or _SEPARATORS[0], *_SEPARATORS]):
        lengths = {len(row) for row in _cells(text, mark)}
        if len(lengths) == 1 and max(lengths) > 1:
            fitting[mark] = max(lengths)
    if sep is not None and (sep in fitting or (sep in text and not fitting)):
        return sep
    return max(fitting, key=fitting.__getitem__) if fitting else max(_SEPARATORS, key=text.count)


def rows_of(ladder: Ladder) -> list[list[str]]:
    """Return a ladder as rows: a value, then its coarser levels, the last `*`."""
    columns = [
        [labels[code] for code in codes]
        for labels, codes in zip(ladder.labels, ladder.maps.tolist(), strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def rows_given(table: Any) -> list[list[str]]:
    """Take rows from a frame or a list of lists, every cell as text."""
    if isinstance(table, Sequence) and not isinstance(table, str):
        for number, row in enumerate(table, start=1):
            if isinstance(row, str) or not isinstance(row, Sequence):
                raise BadInput(f"row {number} of the hierarchy must be a list, not {row!r}")
        return [[text_of(cell) for cell in row] for row in table]
    if isinstance(table, np.ndarray):
        return rows_given(table.tolist())
    if nw.dependencies.is_pandas_dataframe(table):
        # A file without header gives columns named 0, 1, ...
        table = table.set_axis([f"level {i}" for i in range(table.shape[1])], axis=1)
    frame = to_arrow(table)
    columns = [as_text(_plain(column)).to_pylist() for column in frame.columns]
    return [["" if cell is None else cell for cell in row] for row in zip(*columns, strict=True)]


def _plain(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else whole.chunk(0)


def text_of(value: Any) -> str:
    """Return one cell as text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return as_text(pa.array([value])).to_pylist()[0]
    except (pa.ArrowException, TypeError, OverflowError):
        raise BadInput(f"a value of a hierarchy must be text or a number, not {value!r}") from None


def table_of(rows: list[list[str]], spec: dict[str, Any], source: str) -> Table:
    """Check the rows of a hierarchy and lay them out.

    A row that is there twice counts once. `*` is put on top where no row ends with it.
    """
    if not rows or not rows[0]:
        raise BadInput(f"{source} has no rows; a hierarchy has one row for each value")
    width = len(rows[0])
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise BadInput(f"{source}: row {number} has {len(row)} cells, but row 1 has {width}")
        if "" in row:
            raise BadInput(
                f"{source}: cell {row.index('') + 1} of row {number} is empty; nulls have no row, "
                "and every other value has a label at each level"
            )
        first = seen.setdefault(row[0], number)
        if rows[first - 1] != row:
            raise BadInput(
                f"{source}: rows {first} and {number} differ, but both are of '{row[0]}'"
            )
    if width > 1 and any(row[-1] == TOP for row in rows):
        _check_top(rows, source)
        width -= 1
    kept = [rows[number - 1] for number in seen.values()]
    leaves, *levels = (pa.array([row[i] for row in kept], pa.string()) for i in range(width))
    return Table(spec, Ladder.from_levels(leaves, levels, source))


def _check_top(rows: list[list[str]], source: str) -> None:
    """Refuse a last level that is `*` in some rows only."""
    top = next(number for number, row in enumerate(rows, start=1) if row[-1] == TOP)
    for number, row in enumerate(rows, start=1):
        if row[-1] != TOP:
            header = "; is it a header? a hierarchy has none" if number == 1 else ""
            raise BadInput(
                f"{source}: the last level is '{row[-1]}' in row {number} and '*' in row {top}, "
                f"but it must be one value{header}"
            )


def rows_of_tree(tree: Any) -> list[list[str]]:
    """Return a tree of groups as rows; a branch that is less deep repeats its lowest group."""
    if not isinstance(tree, Mapping):
        raise BadInput(f"tree must be a table of groups, not {tree!r}")
    if not tree:
        raise BadInput("tree is empty; give groups and their values")
    paths = list(_paths(tree, ()))
    depth = max(len(groups) for _, groups in paths)
    seen: dict[str, tuple[str, ...]] = {}
    for leaf, groups in paths:
        if leaf in seen:
            raise BadInput(
                f"tree: '{leaf}' is in '{'.'.join(seen[leaf])}' and again in '{'.'.join(groups)}'"
            )
        seen[leaf] = groups
    return [
        [leaf, *[groups[-1]] * (depth - len(groups)), *reversed(groups)] for leaf, groups in paths
    ]


def plain_tree(tree: Any) -> Any:
    """Return a tree as TOML holds it, every value as text."""
    if isinstance(tree, Mapping):
        return {text_of(name): plain_tree(inner) for name, inner in tree.items()}
    return [text_of(leaf) for leaf in tree]


def _paths(tree: Any, groups: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    where = ".".join(groups)
    if not isinstance(tree, Mapping | list | tuple):
        raise BadInput(f"tree: '{where}' must be a list of values or a table of groups")
    if not tree:
        raise BadInput(f"tree: '{where}' is empty; give it values or leave it out")
    if isinstance(tree, Mapping):
        for name, inner in tree.items():
            yield from _paths(inner, (*groups, text_of(name)))
    else:
        for leaf in tree:
            yield text_of(leaf), groups
