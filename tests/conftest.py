import gc
import hashlib
import importlib
import os
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from discreet import draws, protect, write_table
from discreet.cli import main
from discreet.datasets import load_census, make_households
from discreet.flow import release as writing
from tests.long import is_long

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

# Fewer blanks are looked for in tests that are about them, which ask for `long_search`.
SEARCHES = {
    "_strict._MOVES": 5_000,
    "_strict._MOVES_OF_FEW": 5_000,
    "_match._DEFAULT_MOVES": 10_000,
}


def set_searches(moves: dict[str, int]) -> dict[str, int]:
    """Set how long blanks are looked for where nothing is asked; return what it was."""
    former = {}
    for name, number in moves.items():
        module, _, constant = name.partition(".")
        place = importlib.import_module(f"discreet.suppression.{module}")
        former[name] = getattr(place, constant)
        setattr(place, constant, number)
    return former


FULL_SEARCHES = set_searches(SEARCHES)


class Secrets:
    """Fresh seeds that are the same each time a test or a fixture is run, whatever runs beside it.

    A draw that fails once in a hundred runs fails always or never; `make fuzz` draws new ones.
    """

    def __init__(self) -> None:
        self.users: list[list[str | int]] = []

    def randbits(self, bits: int) -> int:
        name, drawn = user = self.users[-1]
        user[1] = drawn + 1
        words = hashlib.blake2b(f"{drawn} {name}".encode(), digest_size=(bits + 7) // 8).digest()
        return int.from_bytes(words, "big") >> -bits % 8


SECRETS = Secrets()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with pytest.MonkeyPatch.context() as patch:
        SECRETS.users = [[item.nodeid, 0]]
        if settings.default.derandomize:
            patch.setattr(draws, "secrets", SECRETS)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """A fixture of a module draws the same, whichever test is the first to need it."""
    if fixturedef.scope == "function":
        return (yield)
    parameter = getattr(request, "param_index", 0)
    SECRETS.users.append([f"{fixturedef.baseid} {fixturedef.argname} {parameter}", 0])
    try:
        return (yield)
    finally:
        SECRETS.users.pop()


# Ten thousand tests are many objects that stay: to look for garbage among them takes seconds, while
# they are collected and, now and then, as they run.
gc.disable()


def pytest_collection_modifyitems(items):
    for item in items:
        if is_long(item.nodeid):
            item.add_marker(pytest.mark.long)


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_unconfigure():
    gc.unfreeze()  # Else extensions tell at the end what they take for leaks.


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


def _long_search():
    """Look for fewer blanks for as long as it is done outside of tests."""
    set_searches(FULL_SEARCHES)
    yield
    set_searches(SEARCHES)


long_search = pytest.fixture(_long_search, name="long_search")
long_search_of_module = pytest.fixture(_long_search, scope="module", name="long_search_of_module")


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
