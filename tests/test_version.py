"""The commit behind the version: from a build, a clone, a worktree; and nothing where it is unknown."""

import runpy
import subprocess
from pathlib import Path

import pytest

from discreet import __version__
from discreet import version as told

SOURCE = Path(told.__file__)


def git(folder, *arguments):
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit_in(root, home="src"):
    """The commit that a copy of the module in `root/src/discreet` finds."""
    place = root / home / "discreet"
    place.mkdir(parents=True, exist_ok=True)
    (place / "version.py").write_text(SOURCE.read_text())
    return runpy.run_path(str(place / "version.py"))["commit"]()


@pytest.fixture
def clone(tmp_path):
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
    return root


def test_a_clone_tells_what_is_checked_out(clone):
    head = git(clone, "rev-parse", "HEAD")[:7]
    assert commit_in(clone) == head
    git(clone, "pack-refs", "--all")
    assert commit_in(clone) == head
    git(clone, "checkout", "--quiet", "--detach")
    assert commit_in(clone) == head
    git(clone, "worktree", "add", "--quiet", "-b", "side", str(clone.parent / "tree"))
    git(clone.parent / "tree", "commit", "--quiet", "--allow-empty", "--message", "second")
    assert commit_in(clone.parent / "tree") == git(clone, "rev-parse", "side")[:7] != head


def test_a_build_tells_its_own_whatever_is_around_it(clone):
    (clone / "src" / "discreet").mkdir(parents=True)
    (clone / "src" / "discreet" / "commit.txt").write_text("0123456789abcdef\n")
    assert commit_in(clone) == "0123456"


def test_the_commit_of_a_clone_that_it_is_installed_in_is_not_its_own(clone):
    assert commit_in(clone, "vendored") is None


@pytest.mark.parametrize("head", [None, "", "ref: refs/heads/none", "ref: ../../outside", "\xff\n"])
def test_nothing_is_said_where_it_is_not_known(tmp_path, head):
    if head is not None:
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "HEAD").write_text(head, "latin-1")
    assert commit_in(tmp_path) is None


def test_the_version_names_the_commit_if_there_is_one(monkeypatch):
    monkeypatch.setattr(told, "commit", lambda: "066a99c")
    assert told.version() == f"{__version__} (066a99c)"
    monkeypatch.setattr(told, "commit", lambda: None)
    assert told.version() == __version__
