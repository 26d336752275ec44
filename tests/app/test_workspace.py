"""The workspace: whatever was clicked is on disk, and nothing is lost."""

import json
import os
import re
import shutil
import stat
import threading

import pytest
import tomli_w

from discreet.app.workspace import Folders, Workspace
from discreet.errors import BadInput
from tests.app.client import Page


@pytest.fixture
def space(tmp_path):
    opened = Workspace(tmp_path / "work")
    yield opened
    opened.close()


def said(text):
    return lambda recipe: {**recipe, "roles": {"quasi": [text]}}


def test_a_workspace_opened_again_is_where_it_was(tmp_path):
    first = Workspace(tmp_path / "work")
    first.open_file(tmp_path / "a.csv", "", "opened")
    first.edit("age", said("age"))
    first.edit("sex", said("sex"))
    first.undo()
    first.close()
    again = Workspace(tmp_path / "work")
    assert again.recipe == {"roles": {"quasi": ["age"]}}
    assert again.input == tmp_path / "a.csv"
    assert again.recipe_file.read_text() == again.text
    again.redo()
    assert again.recipe == {"roles": {"quasi": ["sex"]}}
    again.close()


@pytest.mark.parametrize("writes", range(12))
def test_a_server_killed_at_any_write_leaves_a_workspace_that_opens(tmp_path, monkeypatch, writes):
    """A kill between two writes: the table and its recipe, and the file of it, still agree."""
    done = 0
    real = os.replace

    def counted(*paths):
        nonlocal done
        if done == writes:
            raise KeyboardInterrupt
        done += 1
        real(*paths)

    steps = {None: {}, "a.csv": {"roles": {"quasi": ["age"]}}, "b.csv": {"roles": {"unit": "id"}}}
    monkeypatch.setattr("os.replace", counted)
    space = None
    try:
        space = Workspace(tmp_path / "work")
        for name, recipe in list(steps.items())[1:]:
            space.open_file(tmp_path / name, tomli_w.dumps(recipe), f"{name} opened")
    except KeyboardInterrupt:
        pass
    monkeypatch.setattr("os.replace", real)
    (tmp_path / "work" / ".abc.part").write_text("half")
    if space is not None:
        space.close()
    again = Workspace(tmp_path / "work")
    assert again.recipe == steps[again.input and again.input.name]
    assert again.recipe_file.read_text() == again.text
    assert not list(again.folder.rglob("*.part"))
    again.edit("sex", said("sex"))
    again.undo()
    assert again.recipe == steps[again.input and again.input.name]
    again.close()


def test_nobody_else_can_read_it(tmp_path):
    before = os.umask(0)
    try:
        space = Workspace(tmp_path / "work")
        space.edit("age", said("age"))
    finally:
        os.umask(before)
    for path in [space.folder, *space.folder.rglob("*")]:
        if path.name == ".open":
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    space.close()


@pytest.mark.parametrize(
    "place", [".open", "workspace.json", "tmp", "runs", "runs/0002", "runs/0001/held"]
)
def test_a_workspace_with_links_is_refused_and_what_they_lead_to_stays(tmp_path, place):
    """One that came from elsewhere would have files written and folders removed where they lead."""
    (tmp_path / "own" / "thesis").mkdir(parents=True)
    (tmp_path / "own" / "notes").write_text("mine")
    space = Workspace(tmp_path / "work")
    (space.folder / "runs" / "0001").mkdir()
    run = {"number": 2, "kind": "protect", "status": "running", "input": "a.csv", "out": "out"}
    (space.folder / "runs" / "0001" / "run.json").write_text(json.dumps(run))
    space.close()
    link = space.folder / place
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(
        tmp_path / "own" / ("" if "." not in place and "held" not in place else "notes")
    )
    with pytest.raises(BadInput) as error:
        Workspace(tmp_path / "work")
    assert str(error.value) == (
        f"{link} is a link, and the workspace would be written to where that leads; remove it"
    )
    assert (tmp_path / "own" / "thesis").is_dir()
    assert (tmp_path / "own" / "notes").read_text() == "mine"


def test_what_a_killed_server_was_counting_is_removed(tmp_path):
    space = Workspace(tmp_path / "work")
    (space.temporary / "discreet-1").mkdir()
    (space.temporary / "discreet-1" / "people.csv").write_text("name\nAnn\n")
    space.close()
    again = Workspace(tmp_path / "work")
    assert list(again.temporary.iterdir()) == []
    again.close()


def test_undo_ends_where_the_table_was_opened(space, tmp_path):
    space.open_file(tmp_path / "a.csv", "", "opened")
    space.edit("age", said("age"))
    space.open_file(tmp_path / "a.csv", "", "read in another way")
    space.undo()
    assert space.recipe == {"roles": {"quasi": ["age"]}}
    space.open_file(tmp_path / "b.csv", "", "opened")
    opened = space.current
    space.edit("sex", said("sex"))
    space.undo()
    space.undo()
    assert (space.current, space.recipe) == (opened, {})


def test_an_edit_after_an_undo_loses_neither_branch(space):
    space.edit("age", said("age"))
    space.edit("sex", said("sex"))
    space.undo()
    space.edit("town", said("town"))
    assert [v["said"] for v in space.state["versions"]] == ["age", "sex", "town"]
    space.take(2)
    assert space.recipe == {"roles": {"quasi": ["sex"]}}


def test_the_later_of_two_tabs_sees_a_notice_and_nothing_is_lost(space):
    space.edit("age", lambda recipe: {"roles": {"quasi": ["age"]}})
    seen = space.current
    assert space.edit("sex", lambda r: {"roles": {**r["roles"], "weight": "w"}}, seen) is None
    notice = space.edit("null", lambda r: {**r, "null_markers": ["?"]}, seen)
    assert notice == (
        "The recipe was changed in another tab meanwhile (sex). Your change was made on top of "
        "that; the history has both."
    )
    assert space.recipe == {
        "null_markers": ["?"], "roles": {"quasi": ["age"], "weight": "w"},
    }  # fmt: skip
    kept = space.text
    notice = space.replace("[roles]\nquasi = ['mine']\n", "text", seen)
    assert "Yours is version 4 of the history" in notice
    assert space.text == kept
    space.take(4)
    assert space.recipe == {"roles": {"quasi": ["mine"]}}


def test_a_text_for_the_table_before_stays_with_that_table(space, tmp_path):
    space.open_file(tmp_path / "first.csv", "seed = 1\n", "first opened")
    seen = space.current
    space.open_file(tmp_path / "second.csv", "seed = 2\n", "second opened")
    assert "Yours is version 3" in space.replace("seed = 3\n", "edited as text", seen)
    # To take it is to copy it, so that an undo does not end among the versions of the first.
    space.take(3)
    assert space.recipe == {"seed": 3}
    space.undo()
    assert space.recipe == {"seed": 2}
    assert not space.can_undo


def test_many_threads_lose_no_edit(space):
    def add(name):
        space.edit(name, lambda recipe: {**recipe, name: 1})

    threads = [threading.Thread(target=add, args=[f"x{i}"]) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(space.recipe) == 20
    assert len(space.state["versions"]) == 20


def test_a_text_that_is_no_toml_is_refused(space):
    with pytest.raises(BadInput, match="the recipe is not TOML: "):
        space.replace("roles = [", "text", 0)
    assert space.state["versions"] == []


@pytest.mark.parametrize("seen", [7, -1, 10**30])
def test_a_text_made_from_a_version_that_never_was_is_refused(space, seen):
    """An undo of it would lead to a version without a file, and no page would open again."""
    space.edit("age", said("age"))
    with pytest.raises(BadInput, match="the history has no version"):
        space.replace("[roles]\n", "text", seen)
    assert [one["parent"] for one in space.state["versions"]] == [0]


@pytest.mark.parametrize(
    "text",
    [
        "roles = 3", "roles.quasi = 3", "null_markers = 3", "steps = 5", "steps = [1]",
        "[[steps]]\ncolumns = ['age']", "[[steps]]\nmethod = 'oma'\ncolumns = 3",
        "[[steps]]\nmethod = 'generalize'\nprivacy = [1]",
        "[[steps]]\nmethod = 'generalize'\nhierarchies = 3",
        "[[steps]]\nmethod = 'generalize'\nlevels = 3",
        "roles.household = true", "roles.weight = ['a']", "roles.pseudonyms = 'a'", "policy = [1]",
        "[[steps]]\nmethod = 'generalize'\nprivacy = [{}]",
        "[[steps]]\nmethod = 'generalize'\nprivacy = [{ model = 'k-anonymity', k = 0 }]",
        "[[steps]]\nmethod = 'generalize'\nprivacy = [{ model = 'k-anonymity', k = 'x' }]",
        "[[steps]]\nmethod = 'generalize'\nsuppression_limit = '5 %'",
        "[[steps]]\nmethod = 'local-suppression'\nfixed = 5",
        f"x = {'[' * 5000}{']' * 5000}", f"x = {'9' * 5000}",
    ],
)  # fmt: skip
def test_a_draft_that_no_page_could_show_is_refused(space, text):
    with pytest.raises(BadInput, match=r"^the recipe"):
        space.replace(text, "text", 0)
    assert space.state["versions"] == []
    space.replace("[roles]\nhousehold = 'id'\nrelease_household = false\n", "text", 0)


def test_one_server_at_a_time(space):
    with pytest.raises(BadInput, match="is open in another app"):
        Workspace(space.folder)


def test_a_folder_of_other_files_is_not_taken(tmp_path):
    (tmp_path / "thesis.doc").write_text("")
    with pytest.raises(BadInput, match=r"holds other files \('thesis.doc'\)"):
        Workspace(tmp_path)


def test_a_state_is_whole_or_not_at_all(space, monkeypatch):
    space.edit("age", said("age"))
    before = (space.folder / "workspace.json").read_bytes()

    def killed(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        space.edit("sex", said("sex"))
    assert (space.folder / "workspace.json").read_bytes() == before
    assert json.loads(before)["current"] == 1
    assert space.recipe == {"roles": {"quasi": ["age"]}}


@pytest.mark.parametrize(
    "path", ["../secret.csv", "link.csv", "linked/inner.csv", "a\0b", "", "sub/../../secret.csv"]
)
def test_paths_outside_the_folders_are_refused(tmp_path, path):
    home = tmp_path / "home"
    (tmp_path / "other").mkdir()
    home.mkdir()
    (home / "sub").mkdir()
    for name in ("secret.csv", "other/inner.csv", "home/own.csv"):
        (tmp_path / name).write_text("a\n1\n")
    (home / "link.csv").symlink_to(tmp_path / "secret.csv")
    (home / "linked").symlink_to(tmp_path / "other")
    folders = Folders([home])
    assert folders.find(str(home / "own.csv")) == home / "own.csv"
    assert folders.find(str(home / "sub" / ".." / "own.csv")) == home / "own.csv"
    with pytest.raises(BadInput):
        folders.find(path and f"{home}/{path}")


NEW = '{"input": %s, "dialect": %s, "current": 0, "versions": []}'


@pytest.mark.parametrize(
    "state",
    ["", '{"input": "a', "[]", "{}", '{"current": "../x"}', NEW % (5, "{}"), NEW % ("null", "[]")],
)
def test_a_damaged_state_is_refused_by_name(tmp_path, state):
    Workspace(tmp_path / "work").close()
    (tmp_path / "work" / "workspace.json").write_text(state)
    with pytest.raises(BadInput, match=r"workspace\.json.* is damaged"):
        Workspace(tmp_path / "work")


@pytest.mark.parametrize("content", [b"", b'{"a', b"[1]", b"{}", b"\xff\n", b"/example.org"])
def test_other_damaged_files_are_left_out(page, content):
    """A disk that was full, or an editor: the app starts, and shows what can be read."""
    for path in ("proposal.json", "stage", "runs/0001/run.json", "runs/0001/progress"):
        (page.space.folder / path).parent.mkdir(exist_ok=True)
        (page.space.folder / path).write_bytes(content)
    page.end()
    again = Page(page.space.folder, page.desk.folders.roots)
    assert again.get("/").headers["location"] == "/data"
    for path in ("/protect/steps", "/protect/runs", "/explore", "/result", "/release"):
        assert again.get(path).status_code == 200, path
    again.end()


def test_levels_are_not_taken_for_a_version_that_is_no_number(page):
    roles = {"quasi": ["age", "sex"], "rest": "drop"}
    step = {"method": "generalize", "columns": ["age", "sex"]}
    step |= {"privacy": [{"model": "k-anonymity", "k": 3}]}
    step |= {"hierarchies": {"age": {"kind": "intervals", "widths": [10]}, "sex": {"kind": "flat"}}}
    page.space.edit("steps", lambda recipe: {"roles": roles, "steps": [step]})
    for form in ({"level.age": "1"}, {"level.age": "1", "version": "x"}):
        assert page.post("/explore/take", data=form).status_code == 422


def test_an_early_version_stays_in_sight_if_it_has_a_name(page):
    page.post("/recipe/name", data={"number": 1, "name": "for the board"})
    for i in range(60):
        page.space.edit(f"edit {i}", lambda recipe, i=i: {**recipe, "seed": i})

    def shown():
        part = page.get("/data").text
        return [int(x) for x in re.findall(r'name="number" value="(\d+)">\s*<button', part)]

    last = [*range(page.version, page.version - 50, -1)]
    assert shown() == [*last, 1]
    # As does the one that is worked with.
    page.space.take(5)
    assert shown() == [*last, 5, 1]


def test_a_disk_that_is_full_is_said_and_pages_can_be_looked_at(page, monkeypatch, capsys):
    def full(*given):
        raise OSError(28, "No space left on device", "Ann Miller")

    version = page.version
    monkeypatch.setattr("os.replace", full)
    del page.headers["hx-request"]
    for path in ("/data", "/risk", "/protect"):
        assert page.get(path).status_code == 200
    form = {"role": "drop", "column": "sex", "version": version}
    answer = page.post("/data/role", data=form)
    assert "A file could not be read or written: No space left on device." in answer.text
    assert "Ann" not in answer.text + capsys.readouterr().err
    monkeypatch.undo()
    assert page.version == version
    assert page.post("/data/role", data=form).status_code == 200


def test_what_is_run_is_the_recipe_that_is_shown(page, monkeypatch):
    """The file for commands was not written, or was edited: it is made the recipe's again."""
    page.space.recipe_file.write_text(page.space.text.replace("age", "sex"))
    assert page.space.checked_file.read_text() == page.space.text
    real, fails = os.replace, [page.space.recipe_file]

    def full(source, target):
        if target in fails:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr("os.replace", full)
    form = {"role": "drop", "column": "sex", "version": page.version}
    assert page.post("/data/role", data=form).status_code == 500
    fails.clear()
    assert "sex" not in page.space.recipe["roles"]["quasi"]
    assert page.space.checked_file.read_text() == page.space.text


def test_a_version_of_the_recipe_that_is_gone_is_named(page):
    page.space.path_of(1).unlink()
    answer = page.post("/recipe/take", data={"number": 1})
    assert answer.status_code == 422
    assert "0001.toml cannot be read; put a copy of it there" in answer.text
