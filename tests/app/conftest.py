import subprocess
from pathlib import Path
from types import SimpleNamespace

import pyarrow.csv
import pytest

from discreet.app.worker import carry_out
from discreet.datasets import make_households
from tests.app.client import Page


class Here:
    """A run in this process, for tests that are not about processes: to start one takes seconds."""

    def __init__(self, command, **options):
        self.returncode = carry_out(Path(command[-1]))

    def poll(self):
        return self.returncode


def _runs_here():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "discreet.app.jobs.subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": Here})
        )
        yield


runs_here = pytest.fixture(_runs_here, name="runs_here")
runs_here_of_module = pytest.fixture(_runs_here, scope="module", name="runs_here_of_module")


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    """A file of invented people, in a folder of its own."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(make_households(400, seed=1), path)
    return path


@pytest.fixture
def page(tmp_path, people):
    opened = Page(tmp_path / "work", [people.parent])
    opened.open(people)
    yield opened
    opened.end()
