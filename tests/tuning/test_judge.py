"""Figures of points against the measures themselves."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.risk import informed_linkage
from discreet.tuning.judge import Judge
from discreet.tuning.space import Option, Part, Space
from discreet.tuning.task import Task
from discreet.utility import information_loss

REMOVED = Option(words="removed", released=False)


def people(n=300):
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "income": rng.lognormal(10, 1, n).round(2),
            "age": rng.integers(18, 90, n),
            "region": rng.choice(["north", "south", "east", "west"], n),
            "sex": rng.choice(["f", "m"], n),
            "fixed": np.ones(n),
            "shoe": rng.integers(35, 48, n),
        }
    )


def option(*steps):
    return Option(tuple(steps))


def numbers():
    swap, oma = {"method": "rank-swap", "p": 10}, {"method": "oma", "k": 5}
    noise = {"method": "noise", "kind": "additive", "scale": 0.2}
    return Option(), option(oma), option(noise), option(oma | {"promise": False}, swap), REMOVED


def labels():
    return Option(), option({"method": "pram", "retention": 0.8, "invariant": True}), REMOVED


def a_task(**more):
    table = people()
    parts = [Part((name,), numbers()) for name in ("income", "age")]
    parts += [Part((name,), labels()) for name in ("region", "sex")]
    blanks = option({"method": "local-suppression", "k": 3})
    parts.append(Part(("age", "region", "sex"), (Option(), blanks), joint=True))
    roles = {"quasi": ["age", "region", "sex"], "confidential": ["income"]}
    roles |= {"insensitive": ["fixed", "shoe"]}
    space = Space(tuple(parts), {"roles": roles})
    known = ("income", "age", "region", "sex")
    return Task(table, space, known, tuple(table.column_names), **more)


CHOICES = [
    (0, 0, 0, 0, 0),
    (1, 2, 1, 0, 0),
    (2, 3, 1, 1, 0),
    (3, 4, 0, 2, 0),
    (2, 1, 0, 0, 1),
    (4, 2, 1, 2, 1),
]


@pytest.fixture(scope="module")
def judge():
    return Judge(a_task(), seed=3)


@pytest.mark.parametrize("choice", CHOICES)
def test_figures_are_those_of_the_measures_on_the_same_cells(judge, choice):
    runs = [judge.released.table(choice, seed) for seed in judge.seeds]
    task, found = judge.task, judge.figures(choice)
    known = [name for name in task.known if name in runs[0].column_names]
    risk = informed_linkage(task.table, runs[0], known=known, reruns=runs[1:])
    assert found.risk == pytest.approx(risk, abs=1e-12)
    loss = information_loss(task.table, runs[0], list(task.counted))
    assert found.loss == pytest.approx(loss, abs=1e-12)


def test_with_nothing_known_all_records_tie(judge):
    assert judge.figures((4, 4, 2, 2, 0)).risk == 1 / 300


def test_few_queries_are_some_of_all(judge):
    choice = CHOICES[1]
    runs = [judge.released.table(choice, seed) for seed in judge.seeds]
    few = informed_linkage(
        judge.task.table, runs[0], known=judge.task.known, reruns=runs[1:], queries=40
    )
    assert judge.figures(choice, 40).risk == pytest.approx(few, abs=1e-12)


def test_profiles_of_parts_add_up_to_the_loss(judge):
    choice = CHOICES[2]
    lost = [judge.profile(part, choice[part]).loss for part in range(4)]
    # Five columns vary, one of which is released as it is.
    assert judge.figures(choice).loss == pytest.approx(sum(lost) / 5)
    assert judge.profile(0, 4).bits == 0.0
    assert judge.profile(0, 0).bits > judge.profile(0, 2).bits > 0


def test_the_same_seed_gives_the_same_figures(judge):
    again = Judge(a_task(), seed=3)
    choice = CHOICES[2]
    assert again.figures(choice) == judge.figures(choice)
    assert Judge(a_task(), seed=4).figures(choice) != judge.figures(choice)
