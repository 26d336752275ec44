"""Runs: the same bytes as the command line, cancelled at once, and never half."""

import contextlib
import fcntl
import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from discreet.app import jobs
from tests.app.client import Page, text_of
from tests.app.server import Server

RELEASE_ID = re.compile(rb"Release [0-9a-f]{12} of")


def wait(page, number, *wanted, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        run = page.desk.queue.get(number)
        if run["status"] in wanted:
            return run
        time.sleep(0.05)
    raise AssertionError(f"run {number} is {run['status']}: {page.desk.queue.progress(number)}")


def same_public(one, other):
    """Compare what two releases share; each names itself by chance in its report."""
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    for name in names:
        first, second = (RELEASE_ID.sub(b"", (x / name).read_bytes()) for x in (one, other))
        assert first == second, name


QUICK = """
[roles]
identifiers = ["name"]
quasi = ["age", "sex"]
confidential = ["income"]
rest = "drop"

[[steps]]
method = "generalize"
columns = ["age", "sex"]
privacy = [{ model = "k-anonymity", k = 3 }]
hierarchies = { age = { kind = "intervals", widths = [10, 20] }, sex = { kind = "flat" } }
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory, people):
    """A page whose recipe ran once."""
    page = Page(tmp_path_factory.mktemp("ran") / "work", [people.parent])
    page.open(people)
    answer = page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    assert answer.status_code == 200
    assert page.post("/protect/run", content=b"").status_code == 200
    run = wait(page, 1, "done", "failed")
    assert run["status"] == "done", run["error"]
    yield page
    page.end()


def test_a_run_writes_what_the_command_line_writes(ran, people, tmp_path):
    release = Path(ran.desk.queue.get(1)["out"])
    shown = ran.get("/release").text
    assert "internal/recipe.toml" in shown
    command = [
        sys.executable,
        "-m",
        "discreet",
        "protect",
        str(people),
        "--out",
        str(tmp_path / "r"),
    ]
    command += ["--recipe", str(release / "internal" / "recipe.toml")]
    subprocess.run(command, check=True, capture_output=True)
    same_public(release / "public", tmp_path / "r" / "public")


def test_the_result_and_its_reports_are_shown(ran):
    page = ran.get("/result")
    assert "PASS: 3-anonymity holds, as the recipe asks" in text_of(page.text)
    inner = ran.get("/result/1/report")
    assert "Never share this file" in inner.text
    assert "sandbox" in inner.headers["content-security-policy"]
    assert "script-src" not in inner.headers["content-security-policy"]
    outer = ran.get("/result/1/report", params={"external": True})
    assert "Never share this file" not in outer.text
    # What users get can be looked at: the header and ten rows.
    table = ran.get("/result/1/rows").text
    written = ran.space.folder / "runs" / "0001" / "release" / "public" / "table.csv"
    first = written.read_text().splitlines()[1].replace('"', "").split(",")
    assert table.count("<tr>") == 11
    assert re.findall(r"<td>(.*?)</td>", table)[: len(first)] == first
    assert ran.get("/explore").text.count("<circle") == 1
    figures = ran.get("/risk/figures").text
    assert "Release of run 1" in figures
    assert "had other keys" not in figures


@pytest.mark.parametrize("gone", ["public", "internal", "result.json", "decision"])
def test_pages_open_though_a_part_of_a_release_was_moved_away(ran, tmp_path, gone):
    part = Path(ran.desk.queue.get(1)["out"], gone)
    part = part if part.exists() else ran.desk.queue.path(1) / "result.json"
    shutil.move(part, tmp_path / gone)
    if gone == "decision":
        part.write_text('{"decision": 1}')
    try:
        for path in ("/result", "/release", "/explore", "/risk/figures", "/protect/runs"):
            assert ran.get(path).status_code == 200, path
        for path in ("/result?run=1", "/release?run=1", "/result/1/report"):
            answer = ran.get(path)
            assert answer.status_code == 422
            assert "the release of run 1 is not there any more, or not whole" in answer.text
    finally:
        if part.is_file():
            part.unlink()
        shutil.move(tmp_path / gone, part)
    assert ran.get("/result?run=1").status_code == 200


def test_a_release_is_written_in_several_formats_to_a_folder_beside(ran, people):
    target = people.parent / "shared"
    form = {"run": 1, "out": str(target), "format": ["csv", "parquet"]}
    answer = ran.post("/release/write", data=form)
    assert answer.status_code == 200, answer.text
    twice = ran.post("/release/write", data=form)
    assert twice.status_code == 422, "the second could only fail"
    number = ran.desk.queue.all()[0]["number"]
    run = wait(ran, number, "done", "failed")
    assert run["status"] == "done", run["error"]
    names = {path.name for path in (target / "public").iterdir()}
    assert {"table.csv", "table.parquet"} <= names
    first = Path(ran.desk.queue.get(1)["out"]) / "public" / "table.csv"
    assert filecmp.cmp(first, target / "public" / "table.csv", shallow=False)
    again = ran.post("/release/write", data=form)
    assert again.status_code == 422
    assert "exists; name a folder that is to be made" in again.text
    inside = ran.post("/release/write", data={**form, "out": str(ran.space.folder / "x")})
    assert inside.status_code == 422
    file = ran.post("/release/write", data={**form, "out": str(people.parent / "x.csv")})
    assert "names a file; name a folder" in file.text
    outside = ran.post("/release/write", data={**form, "out": "/opt/x"})
    assert "outside the folders" in outside.text


def test_two_are_not_written_to_one_folder(ran, people):
    """Such as by a double click: the second failed, and named an option of the command."""
    form = {"run": 1, "out": str(people.parent / "twice")}
    first, second = (ran.post("/release/write", data=form) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 422)
    assert "another run is to write to" in second.text
    assert wait(ran, ran.desk.queue.all()[0]["number"], "done", "failed")["status"] == "done"


def test_a_release_stays_that_of_its_table_when_another_is_open(ran, people, runs_here):
    other = people.parent / "other.csv"
    other.write_bytes(b"".join(people.read_bytes().splitlines(keepends=True)[:200]))
    ran.open(other)
    try:
        for stage in ("result", "release"):
            assert "There is no release of this table yet" in ran.get(f"/{stage}").text
            assert "a release of people.csv, which is not" in ran.get(f"/{stage}?run=1").text
        target = people.parent / "shared-later"
        assert ran.post("/release/write", data={"run": 1, "out": str(target)}).status_code == 200
        run = wait(ran, ran.desk.queue.all()[0]["number"], "done", "failed")
        assert run["status"] == "done", run["error"]
        first = Path(ran.desk.queue.get(1)["out"]) / "public" / "table.csv"
        assert filecmp.cmp(first, target / "public" / "table.csv", shallow=False)
    finally:
        ran.open(people)
    # The keys are those of the first look then.
    assert ran.post("/data/anew", data={"version": ran.version}).status_code == 200
    assert "had other keys, and its figures are by these: age, sex." in text_of(
        ran.get("/risk/figures").text
    )


def test_files_that_are_no_runs_are_left_alone(tmp_path, people):
    """Such as those that a file manager leaves in every folder that it shows."""
    (tmp_path / "work" / "runs").mkdir(parents=True)
    (tmp_path / "work" / "runs" / ".DS_Store").write_text("")
    page = Page(tmp_path / "work", [people.parent])
    try:
        page.open(people)
        assert page.get("/protect/runs").status_code == 200
        page.desk.queue.close()
        assert page.desk.queue.add(QUICK, "one", 1) == 1
    finally:
        page.end()


def test_a_format_that_there_is_not_is_refused(ran, people):
    form = {"run": 1, "out": str(people.parent / "odd"), "format": ["exe"]}
    answer = ran.post("/release/write", data=form)
    assert answer.status_code == 422
    assert "choose a format" in answer.text


def test_a_recipe_that_cannot_run_is_not_put_into_the_queue(page):
    answer = page.post("/protect/run", content=b"")
    assert answer.status_code == 422
    assert "no steps yet" in answer.text
    text = QUICK.replace('quasi = ["age", "sex"]', 'quasi = ["age", "sex", "region"]')
    page.post("/recipe/text", data={"text": text, "version": page.version})
    answer = page.post("/protect/run", content=b"")
    assert answer.status_code == 422
    assert "no step treats the quasi column" in answer.text
    assert page.desk.queue.all() == []
    # The recipe is shown beside it: its line is of use, where the file is is not.
    told = page.get("/recipe/problem").text
    assert "Line " in told
    assert "no step treats the quasi column" in told
    assert "recipe.toml" not in told


def test_what_runs_is_what_the_page_shows(page):
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    seen = page.version
    # In another tab.
    page.post("/data/role", data={"role": "drop", "column": "income", "version": seen})
    for path in ("/protect/run", "/protect/search"):
        answer = page.post(path, data={"version": seen})
        assert answer.status_code == 422
        assert "the recipe was changed meanwhile, in another tab; reload the page" in answer.text
    assert page.desk.queue.all() == []
    shown = page.get("/protect/steps").text
    assert f"""hx-vals='{{"version": "{page.version}"}}'""" in shown
    assert page.post("/protect/run", data={"version": page.version}).status_code == 200


SLOW = """
[roles]
rest = "insensitive"
[[steps]]
method = "noise"
columns = ["income"]
"""


@pytest.fixture
def sleepy(page, monkeypatch, tmp_path):
    """A page whose runs take a minute: the worker sleeps before it begins."""
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import sys, time\nif any('discreet.app.worker' in a for a in sys.orig_argv): time.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{hook}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return page


def test_a_cancel_takes_effect_at_once_and_leaves_nothing(sleepy):
    first = sleepy.desk.queue.add(SLOW, "one", 1)
    second = sleepy.desk.queue.add(SLOW, "two", 1)
    wait(sleepy, first, "running")
    start = time.monotonic()
    answer = sleepy.post("/protect/cancel", data={"number": second})
    assert answer.status_code == 200
    sleepy.post("/protect/cancel", data={"number": first})
    # Whoever does not stop is killed then.
    assert time.monotonic() - start < jobs._PATIENCE
    assert [run["status"] for run in sleepy.desk.queue.all()] == ["cancelled", "cancelled"]
    assert not any(path.is_dir() for path in sleepy.desk.queue.path(first).iterdir())


def test_a_worker_that_has_hardly_begun_is_waited_for_too(sleepy):
    """By the next server, where this one is killed right after it started the worker."""
    queue = sleepy.desk.queue
    number = queue.add(SLOW, "one", 1)
    while queue._running != number:
        time.sleep(0.01)
    with (queue.path(number) / "held").open() as held:
        with pytest.raises(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        queue.cancel(number)
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)


DEAF = """
import signal, sys, time
from pathlib import Path
from discreet.app import worker

def deaf(folder):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / "progress").write_text(str(__import__("os").getpid()))
    time.sleep(60)

worker._work = deaf
sys.exit(worker.main(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("how", ["the server is gone", "it is asked to stop"])
def test_a_run_that_hears_nothing_is_stopped_all_the_same(tmp_path, how):
    """Compiled code hears no signal."""
    command = [sys.executable, "-c", DEAF, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    said = tmp_path / "progress"
    while not (said.exists() and said.read_text()):
        time.sleep(0.02)
    child = int(said.read_text())
    if how == "the server is gone":
        process.stdin.close()
    else:
        process.terminate()
    assert process.wait(10) != 0
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


BUSY = """
import sys, time
from pathlib import Path
from discreet.app.pages import risk
from discreet.app.server import serve

def counting(desk):
    print("counting", flush=True)
    time.sleep(60)

risk._shown = counting
serve(Path(sys.argv[1]), Path(sys.argv[2]), browser=False)
"""


def test_an_interrupt_does_not_wait_for_what_is_being_counted(tmp_path, people):
    command = [sys.executable, "-c", BUSY, people, tmp_path / "work"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = re.search(r"http\S+", process.stdout.readline())[0]
    with httpx.Client(base_url=url.split("/?")[0]) as page:
        page.get(url)

        def ask():
            with contextlib.suppress(httpx.HTTPError):
                page.get("/risk/figures", timeout=60)

        threading.Thread(target=ask, daemon=True).start()
        while process.stdout.readline() != "counting\n":
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_a_run_is_interrupted_by_ctrl_c_and_has_not_failed(sleepy, people, tmp_path):
    """A terminal tells all processes that it started, and the run's ended before its server."""
    work = tmp_path / "other"
    server = Server(work, people, start_new_session=True)
    with httpx.Client(base_url=server.base, headers={"origin": server.base}) as page:
        page.get(server.url)
        page.post("/recipe/text", data={"text": QUICK, "version": 1})
        assert page.post("/protect/run").status_code == 200
        while 'class="run running' not in page.get("/protect/runs").text:
            time.sleep(0.02)
        time.sleep(0.5)
        os.killpg(server.process.pid, signal.SIGINT)
    server.process.wait(20)
    assert json.loads((work / "runs" / "0001" / "run.json").read_text())["status"] == "interrupted"


def test_after_a_kill_a_run_is_interrupted_and_what_waits_goes_on(tmp_path, people):
    page = Page(tmp_path / "work", [people.parent])
    page.open(people)
    page.desk.queue.close()
    first, second = (page.desk.queue.add(QUICK, said, 1) for said in ("one", "two"))
    page.desk.queue._note(first, status="running")
    # What a server that was killed may leave.
    (page.desk.queue.path(first) / "release").mkdir()
    (page.desk.queue.folder / "0003").mkdir()
    (page.desk.queue.path(first) / ".0123.part").write_text("{")
    page.end()
    # The worker of the first run is still at its end.
    held = (page.desk.queue.path(first) / "held").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    ends = threading.Timer(0.5, held.close)
    start = time.monotonic()
    ends.start()
    again = Page(tmp_path / "work", [people.parent])
    try:
        assert time.monotonic() - start > 0.4
        assert again.desk.queue.get(first)["status"] == "interrupted"
        left = {path.name for path in again.desk.queue.path(first).iterdir()}
        assert left == {"run.json", "recipe.toml", "held"}
        assert wait(again, second, "done", "failed")["status"] == "done"
        assert again.desk.queue.add(QUICK, "three", 1) == 4
    finally:
        again.end()
    # Closed while it ran: it is interrupted, and not said to have failed.
    assert again.desk.queue.get(4)["status"] in ("waiting", "interrupted")


KEYED = 'project_key = "new"\n' + QUICK.replace("identifiers =", "pseudonyms =")


@pytest.mark.parametrize("text", [QUICK, KEYED], ids=["plain", "with keys in files"])
def test_a_release_is_written_again_from_its_own_table(page, people, tmp_path, text, runs_here):
    """Also where another table was opened meanwhile."""
    page.post("/recipe/text", data={"text": text, "version": page.version})
    page.post("/protect/run", content=b"")
    assert wait(page, 1, "done", "failed")["error"] is None
    page.desk.space.open_file(people.parent / "other.csv", "", "other.csv opened", separator=";")
    out = people.parent / tmp_path.name
    answer = page.post("/release/write", data={"run": 1, "out": str(out)})
    assert answer.status_code == 200
    again = wait(page, 2, "done", "failed")
    assert (again["input"], again["dialect"], again["error"]) == (str(people), {}, None)
    same_public(out / "public", Path(page.desk.queue.get(1)["out"]) / "public")


def test_a_run_imports_nothing_from_the_folder_that_the_app_was_started_in(
    page, tmp_path, monkeypatch
):
    (tmp_path / "json.py").write_text("raise SystemExit('not the library')\n")
    monkeypatch.chdir(tmp_path)
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    page.post("/protect/run", content=b"")
    assert wait(page, 1, "done", "failed")["status"] == "done"
