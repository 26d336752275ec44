"""The workspace: whatever was clicked is on disk, and nothing is lost."""

import json
import os
import stat
import threading

import pytest
import tomli_w

from discreet.app.workspace import Folders, Workspace
from discreet.errors import BadInput


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
    session = first.session
    first.close()
    again = Workspace(tmp_path / "work")
    assert again.recipe == {"roles": {"quasi": ["age"]}}
    assert again.input == tmp_path / "a.csv"
    assert again.session == session
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
        _ = space.session
    finally:
        os.umask(before)
    for path in [space.folder, *space.folder.rglob("*")]:
        if path.name == ".open":
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    space.close()


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
