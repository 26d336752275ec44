"""`discreet search` and `discreet sweep`, run as a user runs them."""

import pytest

from discreet import write_table
from discreet.cli.search import _line
from discreet.datasets import make_households
from discreet.tuning.figures import Figures
from discreet.tuning.trials import Progress


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = make_households(300, seed=3).select(["name", "region", "age", "income"])
    write_table(people, "people.csv")
    (tmp_path / "r.toml").write_text(
        '[roles]\nidentifiers = ["name"]\nquasi = ["region", "age"]\nconfidential = ["income"]\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", "1", "--evaluations", "9"], "give --minutes or --evaluations, not both"),
        (["--out", "people.csv"], "people.csv is a file; choose a folder with --out"),
        (["--out", "no/front"], "no/front: the folder no does not exist"),
        (["--out", "old"], "old exists; choose another place with --out, go on with --resume, or replace it with --force"),
        (["--resume", "--force"], "--resume goes on with what is there, and --force replaces it; choose one"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(place, run, arguments, message):
    (place / "old").mkdir()
    arguments = ["people.csv", "--recipe", "r.toml", *arguments]
    assert run("search", *arguments) == (2, "", f"discreet: {message}\n")


def test_the_line_that_tells_how_far_it_is():
    best = Figures(0.0412, 0.2)
    assert _line(Progress(1200, 61.2, 9, best), 5, None) == (
        "1,200 releases tried, 61 of 300 s; best so far: risk 0.0412, loss 0.2; "
        "Ctrl-C ends with what is found"
    )
    assert _line(Progress(0, 0.2, 0, None), None, 50) == (
        "0 of 50 releases tried, 0 s; Ctrl-C ends with what is found"
    )
