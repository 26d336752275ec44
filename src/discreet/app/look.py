"""What the app knows of the table: looked at once, and again when the file changed."""

from __future__ import annotations

import os
import threading
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from discreet.app.drawn import draw
from discreet.app.workspace import Workspace
from discreet.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from discreet.inspection import Inspection

# Rows that are looked at of a table that is too large to be looked at whole in seconds.
SAMPLE = 200_000
MOST_ROWS, MOST_BYTES = 2_000_000, 500_000_000
# What was made from earlier recipes is kept for an undo or two.
_KEPT = 3


class Look:
    """The first look at a workspace's table, and what is computed from it, each made once."""

    def __init__(self, space: Workspace, engine: str = "auto", memory: str | None = None) -> None:
        self.space, self.engine, self.memory = space, engine, memory
        self._lock = threading.Lock()
        self._key: Any = None
        self._made: dict[Any, Any] = {}
        # As long as somebody makes or waits: a name may hold a whole recipe.
        self._making: WeakValueDictionary[Any, threading.RLock] = WeakValueDictionary()
        self._beside: set[Any] = set()

    def once(self, name: Any, make: Any, kept: int = _KEPT) -> Any:
        """Return what was made under a name from this table, or make it.

        Of names that are tuples, the last few with the same first part are kept.
        """
        # Before the lock: an edit that looks at the table holds the workspace's.
        key = _key(self.space)
        with self._lock:
            if key != self._key:
                self._key, self._made, self._making = key, {}, WeakValueDictionary()
            # Whoever asks for something else does not wait for this.
            made, own = self._made, self._making.setdefault(name, threading.RLock())
        with own:
            with self._lock:
                if name in made:
                    return made[name]
            found = make()
            with self._lock:
                made[name] = found
                alike = [one for one in made if isinstance(one, tuple) and one[0] == name[0]]
                for one in alike[:-kept] if isinstance(name, tuple) else ():
                    del made[one]
            return found

    def beside(self, name: Any, make: Any) -> None:
        """Make something under a name while others are answered; `there` tells when it is."""

        def made() -> Any:
            try:
                return make()
            except BadInput as error:
                return error
            except Exception as error:
                # Its text may hold values of the table.
                return BadInput(f"something went wrong ({type(error).__name__})")

        own = _key(self.space), name

        def work() -> None:
            try:
                self.once(name, made)
            except BadInput:
                pass  # The file is gone, as whoever asks next is told.
            finally:
                with self._lock:
                    self._beside.discard(own)

        with self._lock:
            self._beside.add(own)
        threading.Thread(target=work, daemon=True).start()

    def there(self, name: Any) -> Any:
        """Return what was made under a name; None where it was not, or not yet."""
        key = _key(self.space)
        with self._lock:
            found = self._made.get(name) if key == self._key else None
        if isinstance(found, BadInput):
            raise found
        return found

    def making(self, name: Any) -> bool:
        """Tell whether something is being made under a name, beside what is answered."""
        own = _key(self.space), name
        with self._lock:
            return own in self._beside

    @property
    def path(self) -> Path:
        """The table's file."""
        found = self.space.input
        if found is None:
            raise BadInput("no table is open; choose one")
        # Each time: a link may have been put in its place since it was opened.
        return found if self.space.folders is None else self.space.folders.find_file(str(found))

    @property
    def sampled(self) -> bool:
        """True where the table is too large to be looked at whole."""
        return bool(self.once("sampled", lambda: _is_large(self.path, self.engine, self.memory)))

    @property
    def records(self) -> int | None:
        """How many records a Parquet file has; None where they would have to be counted."""
        found: int | None = self.once("records", lambda: _records(self.path))
        return found

    @property
    def table(self) -> Any:
        """What is looked at first: the file, or some of its rows with all columns."""
        if not self.sampled:
            return self.path
        dialect = self.space.state["dialect"]
        return self.once("sample", lambda: sample(self.path, dialect))

    def drawn(self, columns: Sequence[str], whole: str | None) -> tuple[Any, np.ndarray | None]:
        """Return what is counted: the file, or some columns of rows that were drawn from it.

        Rows that have the same value of the column `whole` are all drawn, or none is. With the
        rows' numbers, where they are not those of the file.
        """
        if not self.sampled:
            return self.path, None
        if self.records is None:
            return self.table, None
        name = ("drawn", tuple(columns), whole)
        found: tuple[Any, np.ndarray] = self.once(
            name, lambda: draw(self.path, columns, whole, SAMPLE, self.memory)
        )
        return found

    @property
    def seen(self) -> Inspection:
        """The table with what the recipe says is missing, which may make a column another kind."""
        if not (more := self.more):
            return self.first
        found: Inspection = self.once(("seen", more), lambda: self._inspected(more), kept=1)
        return found

    @property
    def first(self) -> Inspection:
        """The first look, before anybody said anything."""
        return self._looked[0]

    @property
    def more(self) -> tuple[str, ...]:
        """The marks of missing values that the recipe has and the first look has not."""
        version = self.space.current

        def found() -> tuple[str, ...]:
            given = tomllib.loads(self.space.text_of(version)).get("null_markers", [])
            return tuple(one for one in given if one not in self.first.markers)

        more: tuple[str, ...] = self.once(("more", version), found)
        return more

    @property
    def said(self) -> list[str]:
        """What there was to say when the table was read, such as which of its sheets it is."""
        return self._looked[1]

    @property
    def _looked(self) -> tuple[Inspection, list[str]]:
        found: tuple[Inspection, list[str]] = self.once("seen", self._read)
        return found

    def _read(self) -> tuple[Inspection, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = self._inspected()
        said = [str(one.message) for one in caught if one.category is UserWarning]
        path = str(self.path)
        return found, [one.replace(path, self.path.name) for one in dict.fromkeys(said)]

    def columns_as(self, dialect: Mapping[str, str | None]) -> list[str]:
        """Name the columns as they are if the file is read in another way."""
        return [look.name for look in self._inspected(dialect=dialect).columns]

    def _inspected(
        self, markers: Sequence[str] = (), dialect: Mapping[str, str | None] | None = None
    ) -> Inspection:
        from discreet.inspection import inspect

        how = self.space.state["dialect"] if dialect is None else dialect
        if not self.sampled:
            return inspect(self.path, null_markers=markers, **how)
        # A sample was read by its dialect already.
        plain = dialect is None and not markers
        table = self.table if plain else sample(self.path, how, markers)
        return inspect(table, null_markers=markers)


def _is_large(path: Path, engine: str, memory: str | None) -> bool:
    """Tell whether a look at all rows would take long, or more memory than there is."""
    from discreet.engines.choice import choose

    if choose(engine, path, memory) != "memory":
        return True
    if not _is_parquet(path):
        return path.stat().st_size > MOST_BYTES
    return (_records(path) or 0) > MOST_ROWS


def _is_parquet(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in (".parquet", ".pq")


def _records(path: Path) -> int | None:
    """Count the rows of Parquet files, which say it themselves."""
    if not _is_parquet(path):
        return None
    import pyarrow.parquet as pq

    try:
        return sum(pq.read_metadata(file).num_rows for file in _files(path))
    except (OSError, ValueError):
        return None  # Whoever reads it says what is wrong with it.


def _files(path: Path) -> list[Path]:
    from discreet.table.files import parquet_files

    return parquet_files(path) if path.is_dir() else [path]


def sample(path: Path, dialect: Mapping[str, str | None], markers: Sequence[str] = ()) -> pa.Table:
    """Take rows from all over a Parquet file, or the first ones of another, in seconds."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not _is_parquet(path):
        from discreet.table.files import format_of, read_table
        from discreet.table.head import read_head

        given: Any = dict(dialect)
        if format_of(path).startswith("csv"):
            given.pop("sheet", None)
            return read_head(path, SAMPLE, null_markers=markers, **given)
        found = read_table(path, null_markers=markers, **given)
        return found.take(np.linspace(0, len(found) - 1, min(SAMPLE, len(found))).astype(np.int64))
    groups = [(f, i) for f in _files(path) for i in range(pq.ParquetFile(f).num_row_groups)]
    chosen = groups[:: max(1, len(groups) // 20)]
    each = max(1, SAMPLE // max(1, len(chosen)))
    parts = []
    for file, i in chosen:
        with pq.ParquetFile(file) as opened:
            batches = opened.iter_batches(each, row_groups=[i])
            parts.append(pa.Table.from_batches(islice(batches, 1), opened.schema_arrow))
    return pa.concat_tables(parts, promote_options="permissive") if parts else pq.read_table(path)


def first_rows(path: Path, rows: int) -> pa.Table:
    """Return the first rows of a file that the app has written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet.table.files import format_of, read_table
    from discreet.table.head import read_head

    if format_of(path).startswith("csv"):
        return read_head(path, rows)
    if _is_parquet(path):
        with pq.ParquetFile(path) as opened:
            return pa.Table.from_batches(islice(opened.iter_batches(rows), 1), opened.schema_arrow)
    return read_table(path).slice(0, rows)


def _key(space: Workspace) -> Any:
    state = space.state
    if state["input"] is None:
        return None
    path = state["input"]
    try:
        found = [os.stat(path)]
        # A folder stays as it is when a file in it is written anew.
        for folder, _, names in os.walk(path):
            found += [os.stat(os.path.join(folder, name)) for name in sorted(names)]
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    stamps = tuple((one.st_mtime_ns, one.st_size) for one in found)
    return path, stamps, tuple(state["dialect"].items())
