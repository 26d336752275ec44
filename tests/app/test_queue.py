"""The queue whatever happens to a run: it goes on, and says what is there."""

import fcntl
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import pytest

from discreet.app.jobs import Queue
from discreet.app.server import serve
from discreet.app.workspace import Folders, Workspace
from discreet.errors import BadInput

WRITES = """
import pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "progress").write_text("starting\\n")
HOW
(folder / "result.json").write_text("{}")
"""
ENDS = WRITES.replace("HOW", "")
# Asked to stop when it is all but done; deaf before it says anything, so that nobody asks too early.
ENDS_LATE = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [15])\n" + WRITES.replace(
    "HOW", "signal.sigwait([15])"
)


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A queue whose workers are short scripts, the last of which is said last."""
    space = Workspace(tmp_path / "work")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("x\n1\n")
    space.folders = Folders([tmp_path / "data", space.folder])
    space.open_file(tmp_path / "data" / "a.csv", "", "opened")
    scripts = []
    real = subprocess.Popen

    def popen(command, **more):
        script = scripts.pop(0)
        if isinstance(script, Exception):
            raise script
        return real([sys.executable, "-c", script, command[-1]], **more)

    monkeypatch.setattr("discreet.app.jobs.subprocess.Popen", popen)
    found = Queue(space)
    found.scripts = scripts
    yield found
    found.close()
    space.close()


def ended(queue, number, *wanted):
    end = time.monotonic() + 30
    while queue.get(number)["status"] not in wanted:
        assert time.monotonic() < end, queue.get(number)
        time.sleep(0.02)
    return queue.get(number)


def test_pages_are_told_of_each_stage(queue):
    queue.scripts += ["import signal; signal.pause()"]
    number = queue.add("", "one", 1)
    ended(queue, number, "running")
    # The first may be taken for the run's own beginning.
    for stages in ("one", "one\ntwo", "one\ntwo\nthree"):
        told, end = queue.changes, time.monotonic() + 30
        (queue.path(number) / "progress").write_text(stages)
        while queue.changes == told:
            assert time.monotonic() < end
            time.sleep(0.02)
    assert queue.progress(number)[-1] == "three"


@pytest.mark.parametrize("broken", [OSError(12, "Cannot allocate memory"), RuntimeError("Ann")])
def test_a_run_that_cannot_be_started_does_not_end_the_queue(queue, broken, capsys):
    queue.scripts += [broken, ENDS]
    first, second = queue.add("", "one", 1), queue.add("", "two", 1)
    assert ended(queue, second, "done")
    said = ended(queue, first, "failed")["error"]
    assert said.startswith("the run could not be started")
    assert "Ann" not in said + capsys.readouterr().err


def test_a_disk_that_is_full_for_a_while_does_not_end_the_queue(queue, monkeypatch):
    real, fails = queue._save, iter([True, True])

    def save(run):
        if run["status"] != "waiting" and next(fails, False):
            raise OSError(28, "No space left on device")
        real(run)

    monkeypatch.setattr(queue, "_save", save)
    queue.scripts += [ENDS] * 3
    assert ended(queue, queue.add("", "one", 1), "done", "failed")
    assert ended(queue, queue.add("", "two", 1), "done")


def test_a_terminal_that_is_gone_does_not_end_the_queue(queue, monkeypatch):
    """As after `discreet app 2>&1 | head -1`, or with its errors in a file on the full disk."""

    class Gone(io.StringIO):
        def write(self, text):
            told.set()
            raise BrokenPipeError(32, "Broken pipe")

    told, real, fails = threading.Event(), queue.all, iter([True])

    def all_runs():
        if threading.current_thread() is not threading.main_thread() and next(fails, False):
            raise OSError(28, "No space left on device")
        return real()

    monkeypatch.setattr(queue, "all", all_runs)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", Gone())
        assert told.wait(30)
    queue.scripts += [ENDS]
    assert ended(queue, queue.add("", "one", 1), "done")


LEAVES = """
import os, pathlib, sys, time
child = os.fork()
if child:
    (pathlib.Path(sys.argv[1]) / "progress").write_text("starting")
time.sleep(60)
"""


def test_a_worker_that_is_killed_leaves_nothing_running(queue):
    queue.scripts += [LEAVES, ENDS]
    number, then = queue.add("", "one", 1), queue.add("", "two", 1)
    end = time.monotonic() + 30
    while not queue.progress(number):
        assert time.monotonic() < end
        time.sleep(0.02)
    os.kill(queue._process.pid, signal.SIGKILL)
    assert ended(queue, number, "failed")["error"] == "the run ended early"
    # Whoever still runs has it.
    with (queue.path(number) / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    assert ended(queue, then, "done")


def test_a_run_that_ends_as_it_is_cancelled_is_done(queue):
    """Its release is whole, and was said to be cancelled."""
    queue.scripts += [ENDS_LATE]
    number = queue.add("", "one", 1)
    ended(queue, number, "running")
    while not queue.progress(number):
        time.sleep(0.02)
    queue.cancel(number)
    assert queue.get(number)["status"] == "done"


RELEASES = """
import json
out = pathlib.Path(json.loads((folder / "run.json").read_text())["out"])
for one in ("public", "internal"):
    (out / one).mkdir(parents=True, exist_ok=True)
(out / "internal" / "log.json").write_text("")
"""


def cancelled(queue, number, out):
    """Cancel a run as soon as it has written its release."""
    ended(queue, number, "running")
    while not queue.progress(number) or not (out / "internal" / "log.json").exists():
        time.sleep(0.02)
    queue.cancel(number)
    return queue.get(number)["status"]


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_a_release_that_is_there_is_told_from_one_that_was_there_before(
    queue, tmp_path, whose, monkeypatch
):
    """Two that are written to the same folder: the second is not done because the first is."""
    monkeypatch.setattr("discreet.app.worker.result_of", lambda release: {})
    out, written = tmp_path / "data" / "out", RELEASES
    if whose == "another's":
        for one in ("public", "internal"):
            (out / one).mkdir(parents=True)
        (out / "internal" / "log.json").write_text("")
        written = ""
    queue.scripts += [WRITES.replace("HOW", written + "signal.pause()")]
    status = cancelled(queue, queue.add("", "one", 1, out), out)
    assert status == ("done" if whose == "its own" else "cancelled")
    assert (out / "internal" / "log.json").exists()


def test_a_run_that_was_cancelled_while_it_waited_has_no_release(queue, tmp_path, monkeypatch):
    """Another wrote to the same folder before it."""
    monkeypatch.setattr("discreet.app.worker.result_of", lambda release: {})
    out = tmp_path / "data" / "out"
    queue.scripts += [WRITES.replace("HOW", RELEASES + "signal.pause()")]
    first, second = queue.add("", "one", 1, out), queue.add("", "two", 1, out)
    ended(queue, first, "running")
    while not (out / "internal" / "log.json").exists():
        time.sleep(0.02)
    queue.cancel(second)
    assert queue.get(second)["status"] == "cancelled"
    queue.cancel(first)
    assert queue.get(first)["status"] == "done"


def test_a_release_that_cannot_be_read_does_not_end_the_queue(queue, tmp_path, monkeypatch):
    def broken(release):
        raise KeyError("check")

    monkeypatch.setattr("discreet.app.worker.result_of", broken)
    out = tmp_path / "data" / "out"
    queue.scripts += [WRITES.replace("HOW", RELEASES + "signal.pause()"), ENDS]
    first, second = queue.add("", "one", 1, out), queue.add("", "two", 1)
    assert cancelled(queue, first, out) == "cancelled"
    assert ended(queue, second, "done")


def test_a_link_swapped_in_while_a_run_waited_is_not_followed(queue, tmp_path):
    (tmp_path / "secret.csv").write_text("x\n2\n")
    table = tmp_path / "data" / "a.csv"
    table.unlink()
    table.symlink_to(tmp_path / "secret.csv")
    said = ended(queue, queue.add("", "one", 1), "failed")["error"]
    assert said == "'a.csv' is, or is behind, a link; name the file itself"
    (tmp_path / "data" / "out").symlink_to(tmp_path)
    table.unlink()
    table.write_text("x\n1\n")
    number = queue.add("", "two", 1, tmp_path / "data" / "out" / "release")
    assert "'release' is, or is behind, a link" in ended(queue, number, "failed")["error"]


def test_temporary_files_are_in_the_workspace(queue, tmp_path, monkeypatch):
    """They hold rows of people, and a server that is killed cannot remove them."""
    queue.scripts.append(WRITES.replace("HOW", "import tempfile; tempfile.mkdtemp()"))
    assert ended(queue, queue.add("", "one", 1), "done")
    assert len(list(queue.space.temporary.iterdir())) == 1
    seen = []
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr("discreet.app.server._give_back_memory", lambda: None)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: seen.append(tempfile.gettempdir()))
    serve(None, tmp_path / "other", browser=False, folders=[tmp_path])
    assert seen == [str(tmp_path / "other" / "tmp")]


def test_the_terminal_is_told_no_warning_about_a_table(tmp_path, monkeypatch):
    """They name rows and values."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr("discreet.app.server._give_back_memory", lambda: None)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: warnings.warn("Ann", stacklevel=1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        serve(None, tmp_path / "work", browser=False, folders=[tmp_path])
    assert told == []


@pytest.mark.parametrize("number", [2, "1", None, "../../data"])
def test_a_run_that_says_it_is_another_is_left_out(queue, number):
    folder = queue.path(1)
    folder.mkdir()
    run = {"number": number, "kind": "protect", "status": "done", "input": "a", "out": "b"}
    (folder / "run.json").write_text(json.dumps(run))
    assert queue.all() == []
    (folder / "run.json").write_text(json.dumps(run | {"number": 1}))
    assert [one["number"] for one in queue.all()] == [1]


def test_a_port_that_is_taken_is_said_before_a_run_that_waits_is_started(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadInput, match=f"port {port} cannot be used"):
            serve(None, tmp_path / "work", port, folders=[tmp_path])
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--port", "70000"), "Invalid value for '--port': "),
        (("--engine", "spark"), "the app works in memory or on DuckDB; --engine cannot be 'spark'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_started(tmp_path, given, said):
    command = [sys.executable, "-m", "discreet", "app", "--no-browser", *given]
    found = subprocess.run(
        [*command, "--workspace", str(tmp_path / "work")],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert found.returncode == 2
    assert said in found.stderr
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "work").exists()
