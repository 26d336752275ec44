from dataclasses import replace

import pytest

from discreet.tuning.figures import Figures
from discreet.tuning.journal import Journal
from discreet.tuning.lagrange import ladders, lagrange_seeds
from discreet.tuning.loop import run
from discreet.tuning.pareto import hypervolume, non_dominated
from discreet.tuning.trials import POPULATION, Budget, Trials
from tests.tuning.fake import FakeJudge


def searched(judge, evaluations=None, **given):
    seed = given.pop("seed", 0)
    trials = Trials(judge, judge.rows, Budget(evaluations), **given)
    run(trials, judge.parts, seed)
    return trials


def front_of(trials):
    return [(choice, trials.judged[choice]) for choice in trials.front]


def test_a_small_space_is_searched_until_nothing_new_comes_up():
    judge = FakeJudge(parts=3, options=4)
    trials = searched(judge)
    every = judge.every()
    figures = [judge.figures(choice) for choice in every]
    best = [figures[place] for place in non_dominated(figures)]
    assert [(f.risk, f.loss) for _, f in front_of(trials)] == [
        (pytest.approx(f.risk), pytest.approx(f.loss)) for f in best
    ]
    assert trials.evaluations <= len(every)


def test_the_front_is_kept_as_it_would_be_found_afterwards():
    trials = searched(FakeJudge(), 300)
    choices = list(trials.judged)
    places = non_dominated(list(trials.judged.values()))
    assert trials.front == [choices[place] for place in places]


def test_the_search_comes_near_the_true_front_with_few_evaluations():
    judge = FakeJudge(parts=5, options=6, seed=3)
    true = hypervolume(map(judge.figures, judge.every()), judge.rows)
    trials = searched(judge, 400)
    assert hypervolume(trials.judged.values(), judge.rows) > 0.99 * true


def test_as_many_choices_are_judged_as_were_allowed_and_each_once():
    assert searched(FakeJudge(), 123).evaluations == 123
    assert searched(FakeJudge(), 0).evaluations == 1


def test_the_same_seed_and_evaluations_give_the_same_and_more_go_on_from_there():
    one, again, more = (searched(FakeJudge(), n, seed=5) for n in (200, 200, 260))
    assert list(one.judged.items()) == list(again.judged.items())
    assert list(more.judged.items())[: len(one.judged)] == list(one.judged.items())
    assert list(searched(FakeJudge(), 200, seed=6).judged) != list(one.judged)


def test_seconds_end_a_search_and_its_evaluations_repeat_it():
    times = iter(range(10_000))
    trials = Trials(
        judge := FakeJudge(), judge.rows, Budget(seconds=300), clock=lambda: next(times)
    )
    run(trials, judge.parts)
    assert 50 < trials.evaluations < 301
    again = searched(FakeJudge(), trials.evaluations)
    assert front_of(again) == front_of(trials)


def test_ctrl_c_ends_with_the_front_so_far():
    class Impatient(FakeJudge):
        def figures(self, choice, queries=None):
            if self.calls == 150:
                raise KeyboardInterrupt
            return super().figures(choice, queries)

    trials = searched(Impatient())
    assert trials.front
    assert trials.judged.items() <= searched(FakeJudge(), 400).judged.items()


def test_a_raced_child_that_is_dropped_is_not_judged_in_full():
    judge = FakeJudge()
    trials = searched(judge, 300)
    assert 50 < len(trials.judged) < trials.evaluations


def test_where_one_figure_counts_its_least_is_found():
    judge = FakeJudge(parts=5, options=6)
    trials = searched(judge, 400, single=True)
    least = min(f.risk + f.loss for f in map(judge.figures, judge.every()))
    assert trials.best().risk + trials.best().loss <= 1.005 * least


def test_points_that_break_a_standard_give_way_to_those_that_do_not():
    class Strict(FakeJudge):
        def figures(self, choice, queries=None):
            found = super().figures(choice, queries)
            return Figures(found.risk, found.loss, max(0.0, found.loss - 0.4))

    trials = searched(Strict(), 300)
    assert trials.front
    assert all(trials.judged[choice].loss <= 0.4 for choice in trials.front)


def test_progress_tells_how_far_it_is():
    # A clock starts anywhere.
    times = iter(range(5_000, 15_000))
    said = []
    judge = FakeJudge()
    trials = Trials(
        judge, judge.rows, Budget(50), progress=said.append, bound=0.05, clock=lambda: next(times)
    )
    run(trials, judge.parts)
    done = [one.evaluations for one in said]
    assert done == sorted(done)
    assert set(done) == set(range(1, 50))
    assert [one.seconds for one in said] == sorted(one.seconds for one in said)
    assert said[-1].best.risk <= 0.05
    assert {one.doing for one in said} == {"searching"}


def test_lagrange_seeds_are_the_lower_hull_of_loss_and_bits():
    judge = FakeJudge(parts=3, options=5)
    seeds = lagrange_seeds(ladders(judge.parts, judge))
    sums = {
        choice: (judge.loss[range(3), choice].sum(), judge.bits[range(3), choice].sum())
        for choice in judge.every()
    }
    for price in (0.001, 0.03, 0.2, 1.0, 5.0):
        least = min(loss + price * bits for loss, bits in sums.values())
        near = min(sums[seed][0] + price * sums[seed][1] for seed in seeds)
        assert near == pytest.approx(least, abs=0.02)


def test_what_the_journal_knows_is_not_judged_again(tmp_path):
    path = tmp_path / "journal.jsonl"
    first = searched(FakeJudge(), 200, journal=Journal(path, {"seed": 0}))
    first.journal.close()
    written = path.read_bytes()
    judge = FakeJudge()
    again = searched(judge, 200, journal=Journal(path, {"seed": 0}, resume=True))
    assert judge.calls == 0
    assert front_of(again) == front_of(first)
    assert path.read_bytes() == written


def test_where_one_figure_counts_the_best_is_tried_with_what_is_done_together():
    class Together(FakeJudge):
        """The last part is worth something only if the others are not at their first option."""

        def figures(self, choice, queries=None):
            if choice[-1] == 2 and 0 not in choice[:-1]:
                return Figures(0.0, 0.0)
            return super().figures((*choice[:-1], 0), queries)

    judge = Together(parts=4, options=6)
    judge.parts = [*judge.parts[:-1], replace(judge.parts[-1], joint=True)]
    trials = searched(judge, 60, single=True)
    assert trials.best() == Figures(0.0, 0.0)


def test_where_one_figure_counts_a_choice_that_looks_much_worse_is_not_judged_in_full():
    class Percent(FakeJudge):
        def figures(self, choice, queries=None):
            found = super().figures(choice, queries)
            return Figures(100 * found.risk, 100 * found.loss)

    judge = Percent(parts=5, options=6)
    trials = searched(judge, 400, single=True)
    assert POPULATION < len(trials.judged) < trials.evaluations
    least = min(f.risk + f.loss for f in map(judge.figures, judge.every()))
    assert trials.best().risk + trials.best().loss <= 1.005 * least
