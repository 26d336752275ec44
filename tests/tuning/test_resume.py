"""A search that is killed goes on where it was, and gives the same front."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import discreet
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.tuning.journal import Journal
from discreet.tuning.loop import run
from discreet.tuning.trials import Budget, Trials
from tests.tuning.fake import FakeJudge

ROLES = {"roles": {"quasi": ["age", "sex"], "confidential": ["income"], "rest": "drop"}}

SLOWLY = """
import sys, time
from pathlib import Path
from discreet.tuning.journal import Journal
from discreet.tuning.loop import run
from discreet.tuning.trials import Budget, Trials
from tests.tuning.fake import FakeJudge

class Slow(FakeJudge):
    def figures(self, choice, queries=None):
        time.sleep(0.002)
        return super().figures(choice, queries)

judge = Slow()
journal = Journal(Path(sys.argv[1]), {"seed": 0}, resume=True)
run(Trials(judge, judge.rows, Budget(500), journal=journal), judge.parts)
"""

WHOLE = """
import sys
import discreet
from discreet.datasets import make_households
discreet.search(
    make_households(150, seed=1), {roles!r}, evaluations=40, seed=3, out=sys.argv[1], resume=True
)
"""


def killed(code: str, path: Path, journal: Path, seconds: float) -> None:
    """Run code, and kill it some time after its journal is begun."""
    folder = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=folder)
    while not journal.exists() and process.poll() is None:
        time.sleep(0.005)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_killed_search_goes_on_to_the_same_front(tmp_path):
    path = tmp_path / "journal.jsonl"
    killed(SLOWLY, path, path, random.Random().uniform(0.05, 0.6))
    judge, unbroken = FakeJudge(), FakeJudge()
    resumed = Trials(
        judge, judge.rows, Budget(500), journal=Journal(path, {"seed": 0}, resume=True)
    )
    run(resumed, judge.parts)
    alone = Trials(unbroken, unbroken.rows, Budget(500))
    run(alone, unbroken.parts)
    assert judge.calls < unbroken.calls
    assert resumed.front == alone.front
    assert list(resumed.judged.items()) == list(alone.judged.items())


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0, 4.0])
def test_the_folder_of_a_killed_and_resumed_search_is_that_of_an_unbroken_one(tmp_path, seconds):
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    killed(WHOLE.format(roles=ROLES), broken, broken / "journal.jsonl", seconds)
    people = make_households(150, seed=1)
    discreet.search(people, ROLES, evaluations=40, seed=3, out=broken, resume=True)
    discreet.search(people, ROLES, evaluations=40, seed=3, out=unbroken)
    assert content(broken) == content(unbroken)


def test_a_search_goes_on_only_with_the_same_table_recipe_and_seed(tmp_path):
    people = make_households(100, seed=1).select(["age", "sex"])
    recipe = {"roles": {"quasi": ["age", "sex"]}}
    out = tmp_path / "front"
    one = discreet.search(people, recipe, evaluations=2, out=out)
    again = discreet.search(people, recipe, evaluations=2, out=out, resume=True)
    assert again.to_dict() | {"seconds": 0} == one.to_dict() | {"seconds": 0}
    with pytest.raises(BadInput, match="is of a search with another table;"):
        discreet.search(people.slice(1), recipe, evaluations=2, out=out, resume=True)
    with pytest.raises(BadInput, match="is of a search with another seed;"):
        discreet.search(people, recipe, evaluations=2, out=out, resume=True, seed=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 1, "evaluations": 5}, "give minutes or evaluations, not both"),
        ({"minutes": 0}, "minutes must be a number above 0, not 0"),
        ({"minutes": "5"}, "minutes must be a number above 0, not '5'"),
        ({"minutes": float("nan")}, "minutes must be a number above 0, not nan"),
        ({"evaluations": 0}, "evaluations must be a whole number of 1 or more, not 0"),
        ({"evaluations": 2.5}, "evaluations must be a whole number of 1 or more, not 2.5"),
        ({"seed": "a"}, "seed must be a whole number of 0 or more, not 'a'"),
        ({"seed": -1}, "seed must be a whole number of 0 or more, not -1"),
        ({"keep": "age"}, "keep must be a list of columns, not 'age'"),
    ],
)
def test_an_argument_is_refused_by_what_is_wrong_with_it(given, message):
    with pytest.raises(BadInput, match=f"^{message}$"):
        discreet.search(make_households(50), ROLES, **given)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file" / "front"
    with pytest.raises(BadInput, match=r"cannot write to .*: (Not a directory|File exists)"):
        discreet.search(make_households(50, seed=1), ROLES, evaluations=1, out=out)
