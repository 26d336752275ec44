"""A run that is asked to stop: its exit status tells by what, and it leaves no rows behind."""

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

RECIPE = """
[roles]
confidential = ["pay"]

[[steps]]
method = "oma"
columns = ["pay"]
k = 5
"""
# The signal comes while DuckDB is at work, where Python's own exception does not get through.
RUN = """
import os, sys, threading
from discreet.cli.main import main
from discreet.engines.duckdb import Session

number = int(sys.argv.pop())
table = Session.table
LONG = "SELECT sum(hash(range) % 7) FROM range(30000000000)"

def slow(session, sql):
    session.run("SET threads = 1")  # Who waits for another thread does not hear a signal.
    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
    return table(session, LONG)

Session.table = slow
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_a_signal_within_a_query_is_told_by_the_exit_status(tmp_path, number, code):
    parquet.write_table(pa.table({"pay": [float(i) for i in range(50)]}), tmp_path / "in.parquet")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    options = ["--recipe", tmp_path / "recipe.toml", "--out", tmp_path / "out"]
    command = ["protect", tmp_path / "in.parquet", *options, "--engine", "duckdb", int(number)]
    before = sorted(path.name for path in tmp_path.iterdir())
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=20,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before
