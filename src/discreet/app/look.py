"""What the app knows of the table: looked at once, and again when the file changed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.app.workspace import Workspace
from discreet.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.inspection import Inspection

# Rows that are looked at of a table that is too large to be looked at whole in seconds.
SAMPLE = 200_000
MOST_ROWS, MOST_BYTES = 2_000_000, 500_000_000
# What was made from earlier recipes is kept for an undo or two.
_KEPT = 3


class Look:
    """The first look at a workspace's table, and what is computed from it, each made once."""

    def __init__(self, space: Workspace, engine: str = "auto") -> None:
        self.space, self.engine = space, engine
        self._lock = threading.Lock()
        self._key: Any = None
        self._made: dict[Any, Any] = {}
        self._making: dict[Any, threading.RLock] = {}

    def once(self, name: Any, make: Any) -> Any:
        """Return what was made under a name from this table, or make it.

        Of names that are tuples, the last few with the same first part are kept.
        """
        # Before the lock: an edit that looks at the table holds the workspace's.
        key = _key(self.space)
        with self._lock:
            if key != self._key:
                self._key, self._made, self._making = key, {}, {}
            # Whoever asks for something else does not wait for this.
            made, own = self._made, self._making.setdefault(name, threading.RLock())
        with own:
            if name not in made:
                found = make()
                with self._lock:
                    made[name] = found
                    alike = [one for one in made if isinstance(one, tuple) and one[0] == name[0]]
                    for one in alike[:-_KEPT] if isinstance(name, tuple) else ():
                        del made[one]
                return found
            return made[name]

    @property
    def path(self) -> Path:
        """The table's file."""
        found = self.space.input
        if found is None:
            raise BadInput("no table is open; choose one")
        return found

    @property
    def sampled(self) -> bool:
        """True where the table is too large to be looked at whole."""
        return bool(self.once("sampled", lambda: _is_large(self.path, self.engine)))

    @property
    def table(self) -> Any:
        """What is looked at: the file, or some of its rows."""
        if not self.sampled:
            return self.path
        return self.once("sample", lambda: sample(self.path))

    @property
    def seen(self) -> Inspection:
        """The first look."""
        from discreet.inspection import inspect

        dialect = self.space.state["dialect"]
        found: Inspection = self.once("seen", lambda: inspect(self.table, **dialect))
        return found


def _is_large(path: Path, engine: str) -> bool:
    """Tell whether a look at all rows would take long, or more memory than there is."""
    from discreet.engines.choice import choose
    from discreet.table.files import parquet_files

    if choose(engine, path) != "memory":
        return True
    if not _is_parquet(path):
        return path.stat().st_size > MOST_BYTES
    import pyarrow.parquet as pq

    try:
        files = parquet_files(path) if path.is_dir() else [path]
        return sum(pq.read_metadata(file).num_rows for file in files) > MOST_ROWS
    except (OSError, ValueError):
        return False  # Whoever reads it says what is wrong with it.


def _is_parquet(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in (".parquet", ".pq")


def sample(path: Path) -> pa.Table:
    """Take rows from all over a Parquet file, or the first ones of another, in seconds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet.table.files import parquet_files

    if _is_parquet(path):
        files = parquet_files(path) if path.is_dir() else [path]
        groups = [(file, i) for file in files for i in range(pq.ParquetFile(file).num_row_groups)]
        chosen = groups[:: max(1, len(groups) // 20)]
        each = max(1, SAMPLE // max(1, len(chosen)))
        parts = []
        for file, i in chosen:
            batches = pq.ParquetFile(file).iter_batches(each, row_groups=[i])
            parts.append(pa.Table.from_batches([next(batches)]))
        return pa.concat_tables(parts, promote_options="permissive")
    import duckdb

    return duckdb.connect().read_csv(str(path)).limit(SAMPLE).to_arrow_table()


def _key(space: Workspace) -> Any:
    state = space.state
    if state["input"] is None:
        return None
    try:
        found = Path(state["input"]).stat()
    except OSError as error:
        raise BadInput(f"{state['input']} cannot be read: {error.strerror}") from None
    return state["input"], found.st_mtime_ns, found.st_size, tuple(state["dialect"].items())
