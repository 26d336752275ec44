import gc
import os
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from discreet import protect, write_table
from discreet.cli import main
from discreet.datasets import load_census, make_households
from discreet.flow import release as writing

# A gate must say the same of the same code, so it draws the same few examples each time; `make fuzz`
# looks for new ones at length. Machines differ too much for a deadline per example. The numbers
# are percentages of what a test asks for: tests/examples.py.
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("fuzz", max_examples=500, deadline=None, print_blob=True)
settings.load_profile("quick")

# Trying other recipes takes longer than most that is written in tests; those that are about it ask
# for `next_tried`, and commands that run in a process of their own do it anyway.
NEXT_STEPS = writing.next_steps
writing.next_steps = lambda *args, **options: {"next_not_tried": "not in this test"}

# Ten thousand tests are many objects that stay: to look for garbage among them while they are
# collected takes seconds, so it is done more seldom.
gc.set_threshold(50_000, 20, 20)

RECIPE = """\
[roles]
identifiers = ["name"]
quasi = ["region", "age", "sex"]
confidential = ["income", "assets"]
untouched = ["region", "sex"]
household = "household_id"
weight = "weight"
rest = "drop"

[[steps]]
method = "top-bottom"
columns = ["age"]
upper = 85

[[steps]]
method = "oma"
columns = ["income", "assets"]
k = 5
"""


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for doctests in `src` only: the tests have none, and to search them takes seconds."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


@pytest.fixture(scope="session", autouse=True)
def key_store(tmp_path_factory) -> Path:
    """The secret of manifests; never the user's own. No test is the first to make it."""
    path = tmp_path_factory.mktemp("keys") / "key"
    os.environ["DISCREET_KEY_FILE"] = str(path)
    path.write_text("1f" * 32)
    path.chmod(0o600)
    return path


@pytest.fixture
def next_tried(monkeypatch):
    """Try the neighbours of the recipes that are written."""
    monkeypatch.setattr(writing, "next_steps", NEXT_STEPS)


@pytest.fixture(scope="session")
def households() -> pa.Table:
    return make_households(500, seed=3, null_rate=0.03)


@pytest.fixture(scope="session")
def census():
    try:
        return load_census().to_pandas().to_numpy(float)
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def recipe_text() -> str:
    return RECIPE


@pytest.fixture(scope="session")
def released(households, recipe_text, tmp_path_factory) -> Path:
    """A folder with `in.csv`, `recipe.toml`, and the release `out` that they give; to be copied."""
    folder = tmp_path_factory.mktemp("released")
    write_table(households, folder / "in.csv")
    (folder / "recipe.toml").write_text(recipe_text)
    protect(folder / "in.csv", folder / "recipe.toml").save(folder / "out")
    return folder


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in this process; give its exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run
