"""What an attacker tried, or a hasty person with two tabs: nothing is lost, followed or mixed up."""

import datetime as dt
import html
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from unicodedata import category

import httpx
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.app.commands import of_risk
from discreet.app.guard import Guard
from discreet.app.workspace import Folders
from tests.app.client import PORT, Page, text_of
from tests.app.server import Server
from tests.app.test_jobs import QUICK, wait
from tests.app.test_sliders import searched


def at_once(*calls):
    """Make calls at the same moment, and return what they answer."""
    answers, ready = [None] * len(calls), threading.Barrier(len(calls))

    def make(i, call):
        ready.wait()
        answers[i] = call()

    threads = [threading.Thread(target=make, args=one) for one in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_groups_that_are_gathered_at_the_same_moment_are_all_kept(page):
    values = [str(x) for x in page.desk.look.seen.encoded["education"].values.to_pylist()]
    page.post("/hierarchies/rule",
              data={"column": "education", "kind": "flat", "version": page.version})  # fmt: skip
    form = {"column": "education", "version": page.version}

    def gather(i):
        data = {**form, "group": f"group {i}", "value": [values[i]]}
        return lambda: page.post("/hierarchies/gather", data=data)

    answers = at_once(*(gather(i) for i in range(4)))
    assert all(answer.is_success for answer in answers)
    tree = page.space.recipe["steps"][0]["hierarchies"]["education"]["tree"]
    assert {f"group {i}": [values[i]] for i in range(4)}.items() <= tree.items()
    told = [answer for answer in answers if "made on top of that" in answer.text]
    assert len(told) == 3


def test_a_proposal_does_not_undo_what_another_tab_did_meanwhile(page):
    seen = page.version
    page.post("/data/role", data={"role": "drop", "version": seen, "column": ["assets"]})
    other = page.space.text
    answer = page.post("/protect/propose", data={"version": seen, "k": 3})
    assert "stays as that made it" in text_of(answer.text)
    assert page.space.text == other
    page.space.take(page.version + 1)
    assert page.space.recipe["steps"]


@pytest.mark.parametrize("what", ["/data/columns", "/risk/figures", "/protect/propose"])
def test_a_link_that_is_put_in_the_place_of_the_table_is_not_followed(tmp_path, people, what):
    home = tmp_path / "home"
    home.mkdir()
    table, secret = home / "people.csv", tmp_path / "secret.csv"
    shutil.copy(people, table)
    secret.write_text("name,age\nAnn Miller,61\n" * 30)
    page = Page(tmp_path / "work", [home])
    try:
        page.open(table)
        table.unlink()
        table.symlink_to(secret)
        form = {"version": page.version}
        answer = page.post(what, data=form) if "propose" in what else page.get(what)
        assert answer.status_code == 422
        assert "is, or is behind, a link" in answer.text
        assert "Miller" not in answer.text
    finally:
        page.end()


def test_nor_one_in_the_place_of_a_file_that_the_recipe_names(tmp_path, people):
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(people, home / "people.csv")
    (home / "sex.csv").write_text("male;any\nfemale;any\n")
    (tmp_path / "secret.csv").write_text("Ann;Miller\n")
    page = Page(tmp_path / "work", [home])
    try:
        page.open(home / "people.csv")
        text = (
            '[roles]\nquasi = ["sex"]\nrest = "drop"\n[[steps]]\nmethod = "generalize"\n'
            f'columns = ["sex"]\nhierarchies = {{ sex = "{home}/sex.csv" }}\n'
            'privacy = [{ model = "k-anonymity", k = 2 }]\n'
        )
        assert page.post("/recipe/text", data={"text": text, "version": page.version}).is_success
        assert page.get("/hierarchies/tree?column=sex").status_code == 200
        (home / "sex.csv").unlink()
        (home / "sex.csv").symlink_to(tmp_path / "secret.csv")
        for where in ("/hierarchies/tree?column=sex", "/recipe/problem"):
            assert "is, or is behind, a link" in text_of(page.get(where).text)
            assert "Miller" not in page.get(where).text
        assert page.post("/protect/run", content=b"").status_code == 422
    finally:
        page.end()


TREE = """
[roles]
quasi = ["sex"]
rest = "drop"
[[steps]]
method = "generalize"
columns = ["sex"]
hierarchies = { sex = "FILE" }
privacy = [{ model = "k-anonymity", k = 2 }]
"""


@pytest.mark.parametrize("file", ["home/link/../secret.csv", "work/hierarchies/link/../secret.csv"])
def test_two_dots_behind_a_link_lead_to_where_the_link_does(page, tmp_path, people, file):
    """And not to the folder that the link is in, as the path reads."""
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "other" / "secret.csv").write_text("male;Miller\nfemale;Miller\n")
    where = file.replace("home", str(people.parent)).replace("work", str(page.space.folder))
    link = Path(where).parents[1]
    link.symlink_to(tmp_path / "other" / "inner")
    try:
        text = TREE.replace("FILE", where)
        answer = page.post("/recipe/text", data={"text": text, "version": page.version})
        assert answer.status_code == 422
        assert "is, or is behind, a link" in answer.text
        assert "Miller" not in page.get("/hierarchies/tree?column=sex").text
    finally:
        link.unlink()


def test_a_link_among_the_files_of_a_folder_is_not_followed(tmp_path):
    home = tmp_path / "home"
    (home / "years").mkdir(parents=True)
    secret, table = tmp_path / "secret.parquet", pa.table({"town": ["Ely", "Ayr"] * 20})
    pa.parquet.write_table(table, home / "years" / "a.parquet")
    pa.parquet.write_table(table, secret)
    page = Page(tmp_path / "work", [home])
    try:
        page.open(home / "years")
        (home / "years" / "b.parquet").symlink_to(secret)
        form = {"path": str(home / "years")}
        for answer in (page.get("/data/columns"), page.post("/data/open", data=form)):
            assert answer.status_code == 422
            assert "'b.parquet' is, or is behind, a link" in html.unescape(answer.text)
    finally:
        page.end()


def test_a_pipe_is_no_file_to_wait_for(page, people):
    pipe = people.parent / "pipe.csv"
    os.mkfifo(pipe)
    try:
        before = page.space.state
        for text in (TREE.replace("FILE", str(pipe)), f"policy = '{pipe}'\n{QUICK}"):
            answer = page.post("/recipe/text", data={"text": text, "version": page.version})
            assert "'pipe.csv' is not a file" in html.unescape(answer.text)
        assert page.post("/data/open", data={"path": str(pipe)}).status_code == 422
        assert page.space.state == before
    finally:
        pipe.unlink()


def test_roles_of_one_table_are_not_written_for_another(page, people, monkeypatch):
    """It is opened in another tab while the first is looked at."""
    other = people.parent / "small.csv"
    other.write_text("town,ill\n" + "a,b\nc,d\n" * 20)
    third = people.parent / "third.csv"
    third.write_text("x,y\n" + "a,b\nc,d\n" * 20)
    page.open(other)
    page.post("/data/open", data={"path": str(third)})
    from discreet.app.pages import data

    real = data.guessed

    def slow(desk):
        found = real(desk)
        monkeypatch.setattr(data, "guessed", real)
        page.post("/data/open", data={"path": str(people)})
        return found

    monkeypatch.setattr(data, "guessed", slow)
    assert page.get("/data/columns").status_code == 200
    assert page.space.input == people
    assert page.space.recipe["roles"].get("identifiers") == ["name"]


def test_a_click_on_the_page_of_another_table_is_refused(page, people):
    seen = page.version
    copy = people.parent / "copy.csv"
    shutil.copy(people, copy)
    page.open(copy)
    before = page.space.text
    answer = page.post("/data/role", data={"role": "drop", "version": seen, "column": ["sex"]})
    assert answer.status_code == 422
    assert "another table was opened meanwhile" in answer.text
    answer = page.post("/data/dialect", data={"separator": ";", "version": seen})
    assert "another table was opened meanwhile" in answer.text
    assert page.space.text == before
    assert page.space.state["dialect"] == {}


def test_the_session_ends_with_the_server(page):
    """A browser sends the cookie to all ports of this machine, and keeps it."""
    cookie = dict(page.cookies)
    assert list(cookie) == [f"discreet-{PORT}"]
    page.guard.__init__(page.served, PORT)
    answer = page.get("/data")
    assert answer.status_code == 401
    assert "printed when it was started last" in answer.text
    assert page.get("/", params={"token": page.guard.token}).status_code == 303
    assert page.get("/data").status_code == 200
    assert Guard(page.served, PORT).session != Guard(page.served, PORT).session


def test_who_goes_away_before_the_answer_ends_no_server(tmp_path):
    """The answer met a connection that was closed, and the signal of that ended the server."""
    server = Server(tmp_path / "work", "--folder", tmp_path)
    address = "127.0.0.1", int(server.base.rpartition(":")[2])
    try:
        for _ in range(300):
            with socket.create_connection(address) as connection:
                connection.sendall(f"GET / HTTP/1.1\r\nHost: {address[0]}\r\n\r\n".encode())
        assert httpx.get(server.base).status_code == 401
    finally:
        server.stop()


def test_a_table_of_three_thousand_columns_can_be_worked_on(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"question {i}" for i in range(3000)]
    pa.csv.write_csv(pa.table({name: [1, 2] * 10 for name in names}), path)
    page = Page(tmp_path / "work", [tmp_path])
    try:
        page.open(path)
        form = {"version": page.version, "role": "insensitive", "column": names}
        assert page.post("/data/role", data=form).status_code == 200
        assert len(page.space.recipe["roles"]["insensitive"]) == 3000
        form = {"version": page.version, "number": 0, "method": "noise", "columns": names}
        assert page.post("/protect/step", data=form).status_code == 200
        del page.headers["hx-request"]
        form = {"version": page.version, "role": "drop", "column": names * 20}
        answer = page.post("/data/role", data=form)
        assert answer.status_code == 400
        assert "edit the recipe as text instead" in answer.text
        assert answer.text.startswith("<!doctype html>")
    finally:
        page.end()


def test_a_folder_that_is_reached_through_a_link_is_taken_for_what_is_there(tmp_path):
    real = tmp_path / "real" / "inner"
    real.mkdir(parents=True)
    (real / "a.csv").write_text("x\n1\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    linked = tmp_path / "link" / "inner"
    folders = Folders([linked])
    assert (
        folders.find(str(linked / "a.csv")) == folders.find(str(real / "a.csv")) == real / "a.csv"
    )
    with pytest.raises(Exception, match="outside the folders"):
        folders.find(str(linked / ".." / "b.csv"))
    (real / "out").symlink_to(tmp_path)
    with pytest.raises(Exception, match="behind, a link"):
        folders.find(str(linked / "out" / "b.csv"))
    # The workspace, too.
    page = Page(linked / "work", [linked])
    try:
        page.open(linked / "a.csv")
        assert page.space.input == real / "a.csv"
        assert page.space.folder == real / "work"
    finally:
        page.end()


def test_only_values_of_the_table_are_taken_out_of_groups(page):
    page.post("/hierarchies/rule",
              data={"column": "sex", "kind": "flat", "version": page.version})  # fmt: skip
    before = page.space.text
    form = {"column": "sex", "version": page.version, "value": ["no such"]}
    assert "there is no such value" in page.post("/hierarchies/scatter", data=form).text
    assert page.space.text == before


def test_to_undo_all_keeps_what_can_be_redone(page):
    page.post("/data/role", data={"role": "drop", "version": page.version, "column": ["sex"]})
    last, many = page.version, len(page.space.state["versions"])
    for _ in range(5):
        page.post("/recipe/undo", content=b"")
        page.get("/data/columns")
    assert page.space.recipe["roles"]["identifiers"] == ["name"], "not before the first look"
    assert (
        '<button hx-post="/recipe/undo" hx-swap="none" disabled>' in page.get("/data/columns").text
    )
    page.post("/recipe/redo", content=b"")
    assert page.version == last
    assert len(page.space.state["versions"]) == many


def test_a_release_that_is_whole_stands_though_its_server_was_killed(page, people, tmp_path):
    """Between the release, here outside the workspace, and its result."""
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    page.post("/protect/run", content=b"")
    run = wait(page, 1, "done", "failed")
    assert run["status"] == "done", run["error"]
    target = people.parent / "whole"
    page.desk.queue.close()
    number = page.desk.queue.add(QUICK, "written", 1, target, again=run)
    page.desk.queue._note(number, status="running", began=0)
    os.rename(run["out"], target)
    first = page.desk.queue.result(1)
    page.end()
    again = Page(tmp_path / "work", [people.parent])
    try:
        assert again.desk.queue.get(number)["status"] == "done"
        found = again.desk.queue.result(number)
        assert found["decision"] == first["decision"]
        assert Path(found["table"]).parent == target / "public"
        shown = text_of(again.get(f"/result?run={number}").text)
        assert first["decision"]["verdict"]["said"] in shown
    finally:
        again.end()
        shutil.rmtree(target)


@pytest.mark.parametrize("place", ["internal", "internal/report.html", "public/table.csv"])
def test_links_in_a_release_are_not_followed(page, tmp_path, place):
    """Whoever may write to the folder that it was written to may have put them there."""
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    page.post("/protect/run", content=b"")
    assert wait(page, 1, "done", "failed")["status"] == "done"
    part = Path(page.desk.queue.get(1)["out"], place)
    part.rename(tmp_path / "secret")
    part.symlink_to(tmp_path / "secret")
    for where in ("/result/1/report", "/result/1/rows", "/release?run=1"):
        answer = page.get(where)
        assert answer.status_code == 422, where
        assert "the release of run 1 is not there any more, or not whole" in answer.text
    for where in ("/result", "/release", "/explore", "/risk/figures", "/protect/runs"):
        assert page.get(where).status_code == 200, where


def test_a_search_names_no_recipe_outside_the_folders(page, tmp_path):
    (tmp_path / "secret.toml").write_text('seed = 1 # "Ann Miller"\n')
    run = searched(page)
    result = page.desk.queue.path(run) / "result.json"
    result.write_text(
        result.read_text().replace('"recipe": "a"', '"recipe": "../../../../secret.toml"')
    )
    before = page.space.text
    form = {"run": run, "name": "a", "version": page.version}
    assert "is outside the folders" in page.post("/explore/recipe", data=form).text
    assert page.space.text == before


def test_a_name_is_no_key_of_the_terminal_that_a_command_is_pasted_into(tmp_path):
    """Ctrl+C, or the mark that ends what is pasted, and whatever follows would be carried out."""
    names = ["a\x1b[201~\x03\ntouch it\n'", "tab\t\\\x9b", "age"]
    path = tmp_path / "people.parquet"
    pa.parquet.write_table(pa.table({name: ["x", "y"] * 20 for name in names}), path)
    page = Page(tmp_path / "work", [tmp_path])
    try:
        page.open(path)
        form = {"role": "quasi", "version": page.version, "column": names}
        assert page.post("/data/role", data=form).is_success
        (command,) = of_risk(page.desk)["command"].splitlines()
        assert not any(category(c) == "Cc" for c in command)
        shell = f'discreet() {{ printf "%s\\\\0" "$@"; }}; {command}'
        given = subprocess.run(["bash", "-c", shell], check=True, capture_output=True, text=True)
        assert given.stdout.split("\0")[2:4] == ["--keys", ",".join(names)]
    finally:
        page.end()


def test_of_clicks_at_the_same_moment_one_writes_a_release(page, people, tmp_path, monkeypatch):
    page.post("/recipe/text", data={"text": QUICK, "version": page.version})
    page.post("/protect/run", content=b"")
    assert wait(page, 1, "done", "failed")["status"] == "done"
    page.desk.queue.close()
    add = page.desk.queue.add

    def slow(*given, **more):
        time.sleep(0.2)
        return add(*given, **more)

    monkeypatch.setattr(page.desk.queue, "add", slow)
    form = {"run": 1, "out": str(people.parent / tmp_path.name)}
    answers = at_once(*[lambda: page.post("/release/write", data=form)] * 3)
    assert sorted(answer.status_code for answer in answers) == [200, 422, 422]


def test_durations_can_be_gathered(tmp_path):
    days = [dt.timedelta(1 + i % 3) for i in range(60)]
    pa.parquet.write_table(pa.table({"stay": days, "sex": ["m", "f"] * 30}), tmp_path / "a.parquet")
    page = Page(tmp_path / "work", [tmp_path])
    try:
        page.open(tmp_path / "a.parquet")
        form = {"role": "quasi", "version": page.version, "column": ["stay", "sex"]}
        assert page.post("/data/role", data=form).is_success
        values = [str(day // dt.timedelta(microseconds=1)) for day in days[:2]]
        form = {"column": "stay", "version": page.version, "group": "short", "value": values}
        assert page.post("/hierarchies/gather", data=form).is_success
        assert "short" in page.get("/hierarchies/tree?column=stay").text
    finally:
        page.end()
