"""What holds seeds, keys or plans can be read by its owner only, from the moment it is there."""

import os
import resource
import shutil
import signal
import stat

import pytest

from discreet import Recipe, assess, protect
from discreet.check import evidence
from discreet.private import write_private
from tests.flow.recipes import people

ROLES = {"identifiers": ["name"], "confidential": ["income"], "pseudonyms": ["key"], "rest": "drop"}
# More cuts than stand in the plan's JSON go to a file of their own.
STEPS = [{"method": "oma", "columns": ["income"], "k": 2}]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022], ids=oct, autouse=True)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def table():
    return people(500).select(["name", "income", "key"])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("target", ["out", "shared.csv"])
def test_internal_files_of_a_release(table, tmp_path, engine, target, monkeypatch):
    monkeypatch.setattr(evidence, "LONGEST_JSON_ARRAY", 100)
    release = protect(table, {"roles": ROLES, "steps": STEPS}, engine)
    release.save(tmp_path / target)
    release.close()
    inside = tmp_path / ("shared.internal" if target == "shared.csv" else "out/internal")
    assert mode(inside) == 0o700
    files = {path.name: mode(path) for path in inside.rglob("*") if path.is_file()}
    assert set(files.values()) == {0o600}, files
    assert {"pseudonyms.key", "recipe.toml", "rows.parquet", "report.html", "log.json"} < set(files)
    assert len([name for name in files if name.startswith("plan-")]) > 0


def test_pages_that_are_written_elsewhere(released, tmp_path, run):
    page, told, public = tmp_path / "a.html", tmp_path / "c.json", tmp_path / "public.html"
    for path in (page, told):
        path.touch(0o644)
    assert run("report", released / "out", "--out", page, "--force")[0] == 0
    assert run("report", released / "out", "--out", public, "--external")[0] == 0
    shutil.copytree(released / "out", tmp_path / "other")
    compared = ["compare", released / "in.csv", released / "out", tmp_path / "other"]
    assert run(*compared, "--out", told, "--force")[0] == 0
    assert run(*compared, "--out", tmp_path / "c.html")[0] == 0
    secret = [page, told, tmp_path / "c.html"]
    assert [mode(path) for path in secret] == [0o600] * 3
    assert mode(public) & 0o044  # Who made it may share it.


def test_pages_from_python(released, tmp_path):
    recipe = Recipe.load(released / "recipe.toml")
    original, written = released / "in.csv", released / "out"
    assess(original, written, recipe.roles, recipe=recipe).to_html(tmp_path / "a.html")
    assert mode(tmp_path / "a.html") == 0o600


@pytest.mark.parametrize("secret", ["seed", "order_seed"])
def test_a_recipe_with_a_seed(tmp_path, secret):
    Recipe.from_dict({"roles": ROLES, "steps": STEPS, secret: 2**100}).dump(tmp_path / "a.toml")
    assert mode(tmp_path / "a.toml") == 0o600
    Recipe.from_dict({"roles": ROLES, "steps": STEPS}).dump(tmp_path / "b.toml")
    assert mode(tmp_path / "b.toml") & 0o044


def test_whoever_holds_the_old_file_open_does_not_see_the_new_one(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with path.open() as watching:
        os.umask(0o277)
        write_private(path, "the seed")
        assert watching.read() == "old"
    assert (path.read_text(), mode(path)) == ("the seed", 0o600)


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path):
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "report.html"
    elsewhere.write_text("another's")
    elsewhere.chmod(0o644)
    path.symlink_to(elsewhere)
    write_private(path, "the seed")
    assert (elsewhere.read_text(), mode(elsewhere)) == ("another's", 0o644)
    assert not path.is_symlink()
    assert (path.read_text(), mode(path)) == ("the seed", 0o600)


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_private(path, "x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_private(tmp_path / "pipe", "the page")
    assert os.read(reader, 100) == b"the page"
    os.close(reader)
