"""Figures of points against the measures themselves."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet import utility
from discreet.risk import informed_linkage
from discreet.tuning import judge as judging
from discreet.tuning.judge import Judge
from discreet.tuning.scored import ScoreJudge
from discreet.tuning.search import search
from discreet.tuning.space import Option, Part, Space
from discreet.tuning.structure import correlation_change
from discreet.tuning.task import Task, read_task
from discreet.utility import information_loss

NUMBERS = ["income", "age", "fixed", "shoe"]
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
    blanks = option({"method": "local-suppression", "k": 3, "improve_moves": 500})
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


def expected_score(judge, choice):
    """Return the mean of a score's parts over the runs that each is taken from."""
    table, found = judge.task.table.select(NUMBERS), []
    for seed in ScoreJudge(judge.task, judge.released, seed=3).seeds:
        run = judge.released.table(choice, seed).select(NUMBERS)
        every = {"interval": "all"} if judge.task.measure == "score" else {}
        measure = getattr(utility, judge.task.measure)
        found.append(measure(table, run, detail=True, **every).parts)
    every = {name: np.mean([one[name] for one in found]) for name in found[0]}
    every |= {
        name: np.mean([one[name] for one in found[:3]]) for name in ("dld", "pld") if name in every
    }
    if judge.task.measure == "score":
        return every["il"], every["dld"] / 4 + every["pld"] / 4 + every["interval"] / 2
    lost = [min(100, one["il"]) + min(100, 100 * one["mean_il1s"]) for one in found]
    return np.mean(lost) / 2, (every["idr"] + every["dld"]) / 2


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["score", "normalized_score"])
@pytest.mark.parametrize("choice", [(2, 1, 0, 0, 0), (3, 2, 1, 0, 0), (2, 2, 0, 0, 1)])
def test_scores_are_those_of_the_measure_on_the_same_cells(name, choice):
    judge = Judge(a_task(measure=name), seed=3)
    found = judge.figures(choice)
    assert (found.loss, found.risk) == pytest.approx(expected_score(judge, choice), abs=1e-9)
    assert found.broken == 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_score_of_a_table_with_nulls():
    task = a_task(measure="score")
    income = task.table["income"].to_pylist()
    income[3] = income[77] = None
    table = task.table.set_column(0, "income", [income])
    judge = Judge(replace(task, table=table), seed=3)
    found = judge.figures((2, 2, 0, 0, 0))
    assert (found.loss, found.risk) == pytest.approx(
        expected_score(judge, (2, 2, 0, 0, 0)), abs=1e-9
    )


def test_a_score_that_leaves_a_column_out_is_none():
    found = Judge(a_task(measure="score")).figures((4, 2, 0, 0, 0))
    assert found.broken == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_linkage_of_a_score_is_remembered_by_the_first_columns():
    judge = Judge(a_task(measure="score"), seed=3)
    for first, second in [(0, 1), (2, 1), (2, 2), (0, 2), (0, 1)]:
        choice = first, second, 0, 0, 0
        found = judge.figures(choice)
        assert (found.loss, found.risk) == pytest.approx(expected_score(judge, choice), abs=1e-9)


def test_another_measure_is_taken_in_full():
    judge = Judge(a_task(measure="il1s"))
    run = judge.released.table(CHOICES[1], judge.seeds[0]).select(NUMBERS)
    with pytest.warns(UserWarning, match="constant"):
        expected = utility.il1s(judge.task.table.select(NUMBERS), run)
    assert judge.figures(CHOICES[1]).loss == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["il1s", "eigen", "propensity_mse"])
def test_for_another_measure_a_column_that_is_gone_is_no_gain(measure):
    judge = Judge(a_task(measure=measure))
    removed = (4, *CHOICES[1][1:])
    assert judge.figures(CHOICES[1]).loss > 0
    assert judge.figures(removed) == judging.REFUSED
    assert judge.profile(0, 4).loss == np.inf
    assert 0 == judge.profile(0, 0).loss < judge.profile(0, 1).loss


def test_tables_of_counts_go_by_labels():
    judge = Judge(a_task(measure="contingency_loss"))
    assert judge.figures((0, 0, 0, 0, 0)).loss == 0
    assert judge.figures((4, 0, 1, 1, 0)).loss > 0
    assert judge.figures((0, 0, 2, 0, 0)) == judging.REFUSED


def test_a_loss_that_is_no_number_is_refused():
    judge = Judge(a_task(measure=lambda before, after: float("nan")))
    assert judge.figures(CHOICES[1]) == judging.REFUSED


def test_what_the_flow_refuses_is_worse_than_all_else():
    task = a_task()
    bad = Part(("income",), (Option(), option({"method": "oma", "k": 5000})))
    space = Space((bad, *task.space.parts[1:]), task.space.base)
    judge = Judge(replace(task, space=space))
    assert not judge.released.usable(0, 1)
    assert judge.released.usable(0, 0)
    assert judge.profile(0, 1).loss == np.inf
    assert judge.figures((1, 0, 0, 0, 0)).broken > 1000
    # Those beside it are usable all the same.
    assert judge.released.usable(1, 1)


def test_standards_are_broken_by_as_much_as_a_measure_exceeds_them():
    strict = Judge(a_task(standards={"correlations": 0.0, "pmse": 1.0}))
    choice = CHOICES[1]
    found = strict.checked(choice, strict.figures(choice))
    run = strict.released.table(choice, strict.seeds[0])
    assert found.broken == pytest.approx(correlation_change(strict.task.table, run))
    loose = Judge(a_task(standards={"correlations": 2.0}))
    assert loose.checked(choice, loose.figures(choice)).broken == 0
    assert Judge(a_task()).checked(choice, found) == found
    nothing = (4, 4, 2, 2, 0)
    assert strict.checked(nothing, strict.figures(nothing)).broken == 0


def test_joint_parts_are_forgotten_and_come_out_the_same(monkeypatch):
    judge = Judge(a_task(), seed=3)
    choices = [(a, b, 0, c, 1) for a in range(2) for b in range(3) for c in range(3)]
    first = [judge.figures(choice) for choice in choices]
    full = judge._sheet.nbytes
    monkeypatch.setattr(judging, "_MOST_BYTES", 30_000)
    assert [judge.figures(choice) for choice in choices] == first
    assert judge._sheet.nbytes < full


def test_rows_that_are_seen_to_belong_together_are_found_together():
    n, base = 600, np.random.default_rng(1).lognormal(10, 1, 150)
    pay = np.repeat(base, 4) * np.random.default_rng(2).lognormal(0, 0.05, n)
    table = pa.table({"person": np.repeat(np.arange(150), 4), "pay": pay})
    roles = {"unit": "person", "confidential": ["pay"], "rest": "drop"}
    shown = search(table, {"roles": roles | {"pseudonyms": ["person"]}}, evaluations=4)
    hidden = search(table, {"roles": roles}, evaluations=4)
    assert (shown.found, hidden.found) == ("units", "records")
    swapped = Judge(read_task(table, {"roles": roles | {"pseudonyms": ["person"]}}))
    alone = Judge(read_task(table, {"roles": roles}))
    place = [o.words for o in swapped.space.parts[0].options].index("swapped within 3 % of ranks")
    assert swapped.figures((place,)).risk > 4 * alone.figures((place,)).risk
    assert swapped.queries == 150
