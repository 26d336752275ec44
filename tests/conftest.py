import os
import sys

import pyarrow as pa
import pytest
from hypothesis import settings

from discreet.cli import main
from discreet.datasets import make_households

# Machines differ too much for a deadline per example; the suite as a whole has one.
# A gate must say the same of the same code, so it draws the same examples each time; elsewhere new
# ones are looked for.
settings.register_profile("discreet", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("discreet")

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


@pytest.fixture(scope="session")
def households() -> pa.Table:
    return make_households(500, seed=3, null_rate=0.03)


@pytest.fixture(scope="session")
def recipe_text() -> str:
    return RECIPE


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
