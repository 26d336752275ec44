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

# Rows of a table that does not fit in memory which are looked at.
SAMPLE = 200_000


class Look:
    """The first look at a workspace's table, and what is computed from it, each made once."""

    def __init__(self, space: Workspace, engine: str = "auto") -> None:
        self.space, self.engine = space, engine
        self._lock = threading.RLock()
        self._key: Any = None
        self._made: dict[Any, Any] = {}

    def once(self, name: Any, make: Any) -> Any:
        """Return what was made under a name from this table, or make it."""
        with self._lock:
            key = _key(self.space)
            if key != self._key:
                self._key, self._made = key, {}
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]

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
        from discreet.engines.choice import choose

        return bool(self.once("engine", lambda: choose(self.engine, self.path)) != "memory")

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


def sample(path: Path) -> pa.Table:
    """Take rows from all over a Parquet file, or the first ones of another, in seconds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet.table.files import parquet_files

    if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
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
