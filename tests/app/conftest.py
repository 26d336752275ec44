import pyarrow.csv
import pytest

from discreet.datasets import make_households
from tests.app.client import Page


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
