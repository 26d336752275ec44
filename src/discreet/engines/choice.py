"""Which engine a table is for, and how it is opened."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from discreet import cgroups
from discreet.engines.frame import Engine
from discreet.errors import BadInput, nearest
from discreet.table.signatures import check_path

ENGINES = ("auto", "memory", "duckdb", "spark")
# A table is copied and sorted on the way, so that it needs about three times its size.
_SHARE = 3
# In megabytes.
LEAST_MEMORY = 64


def choose(engine: str, table: Any, memory: str | None = None) -> str:
    """Choose the engine for a table, a file or a folder of Parquet files.

    Parameters
    ----------
    engine : {"auto", "memory", "duckdb", "spark"}
    table
    memory : str, optional
        What a file that is worked on in memory must fit into, such as "4GB"; what is free by
        default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> choose("auto", pa.table({"age": [31, 45]}))
    'memory'
    """
    if engine not in ENGINES:
        raise BadInput(f"there is no engine '{engine}'; {nearest(engine, ENGINES)}")
    home = home_of(table)
    if isinstance(table, str | Path):
        check_path(Path(table))
    if engine == "auto":
        if home is not None:
            return home
        if not isinstance(table, str | Path):
            return "memory"
        room = free_memory() if memory is None else min(free_memory(), megabytes(memory) << 20)
        return "memory" if memory_needed(Path(table)) <= room else "duckdb"
    if home is not None and engine != home:
        raise BadInput(f"the table belongs to {home}, so the engine cannot be {engine}; use {home}")
    return engine


def open_engine(
    name: str,
    *,
    memory: str | None = None,
    master: str | None = None,
    table: Any = None,
    folder: Path | None = None,
) -> Engine:
    """Open an engine; the caller closes it, which removes its temporary files.

    Parameters
    ----------
    name : {"memory", "duckdb", "spark"}
    memory : str, optional
        DuckDB's or Spark's limit, such as "4GB".
    master : str, optional
        The Spark master; this machine by default. A session that is already running is used as it
        is.
    table : optional
        The table to work on: a DataFrame brings its own Spark session.
    folder : Path, optional
        For temporary files; in the system's temporary folder by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> with open_engine("memory") as engine:
    ...     engine.read(pa.table({"age": [31, 45]}), list).num_rows
    2
    """
    if name == "memory":
        from discreet.engines.memory import Memory

        return Memory()
    work = folder or Path(tempfile.mkdtemp(prefix="discreet-"))
    if folder is None:
        # For a release that nobody closes.
        atexit.register(shutil.rmtree, work, ignore_errors=True)
    try:
        if name == "duckdb":
            from discreet.engines.duckdb import Session

            return Session(work, memory)
        from discreet.engines.spark import Session as SparkSession

        given = table if home_of(table) == "spark" else None
        return SparkSession(work, memory, master, given)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def home_of(table: Any) -> str | None:
    """Name the engine that a table belongs to, without importing any."""
    module = type(table).__module__.partition(".")[0].strip("_")
    return {"duckdb": "duckdb", "pyspark": "spark"}.get(module)


def memory_needed(path: Path) -> int:
    """Estimate the bytes needed to work on a file in memory."""
    from discreet.table.files import parquet_files

    if path.is_dir():
        return _SHARE * sum(_parquet_size(file) for file in parquet_files(path))
    if path.suffix.lower() in (".parquet", ".pq") and path.is_file():
        return _SHARE * _parquet_size(path)
    # Unpacked, the file is about five times as large.
    packed = path.suffix.lower() in (".gz", ".zst")
    return _SHARE * path.stat().st_size * (5 if packed else 1)


def _parquet_size(path: Path) -> int:
    """Estimate a Parquet file's size in memory from its footer."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowException, OSError):
        return 0  # Reading it will say what is wrong.
    size = 0
    for field in file.schema_arrow:
        try:
            size += file.metadata.num_rows * (field.type.bit_width // 8)
        except ValueError:
            # Text that repeats is listed once in the file, and not in memory.
            size += file.metadata.num_rows * 16
    stored = sum(
        file.metadata.row_group(group).total_byte_size
        for group in range(file.metadata.num_row_groups)
    )
    return max(size, stored)


def free_memory() -> int:
    """Return the bytes of memory that are available without harming other processes.

    The least of what the machine has and of what a container, or another control group, has left.
    """
    left = cgroups.memory_left()
    return _machine_free() if left is None else min(left, _machine_free())


def _machine_free() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return _machine_memory() // 2


def _machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def megabytes(memory: str | None) -> int:
    """Parse a memory size, in powers of 1000 or 1024; 40 % of all memory by default.

    That is the machine's, or the container's where it is limited.

    Examples
    --------
    >>> megabytes("4GiB"), megabytes("512 mb")
    (4096, 488)
    """
    if memory is None:
        whole = min(cgroups.memory_limit() or _machine_memory(), _machine_memory())
        return max(LEAST_MEMORY, int(whole * 0.4) >> 20)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", memory, re.IGNORECASE)
    if not found:
        raise BadInput(f"'{memory}' is not a memory size; give one such as 4GB")
    power = " KMGT".index(found[2].upper() or " ")
    amount = int(float(found[1]) * (1024 if found[3] else 1000) ** power) >> 20
    if amount < LEAST_MEMORY:
        raise BadInput(f"{memory} of memory is too little; give {LEAST_MEMORY}MiB or more")
    return amount
