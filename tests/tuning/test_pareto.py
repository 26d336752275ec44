import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.tuning.figures import Figures
from discreet.tuning.pareto import crowding, dominates, hypervolume, non_dominated, on_map

tenths = st.integers(0, 10).map(lambda x: x / 10)
some_figures = st.lists(st.builds(Figures, tenths, tenths, st.sampled_from([0.0, 0.0, 0.2])))


@given(some_figures)
def test_the_front_is_what_nothing_dominates_each_once(figures):
    front = non_dominated(figures)
    best = {one for one in figures if not any(dominates(other, one) for other in figures)}
    assert {figures[place] for place in front} == best
    assert len(front) == len(best)
    assert front == sorted(front, key=lambda place: figures[place].risk)


@given(some_figures)
def test_hypervolume_is_the_share_of_a_fine_grid_that_is_dominated(figures):
    # With 2**10 rows a risk of 2**-k is k tenths from the right edge.
    points = [Figures(2.0 ** (-10 * one.risk), one.loss, one.broken) for one in figures]
    kept = [on_map(one, 2**10) for one in points if not one.broken]
    cells = (np.arange(10) + 0.5) / 10
    covered = [any(x <= a and y <= b for x, y in kept) for a, b in itertools.product(cells, cells)]
    assert hypervolume(points, 2**10) == pytest.approx(sum(covered) / 100)


def test_hypervolume_of_the_ideal_point_is_everything_and_of_the_worst_nothing():
    assert hypervolume([Figures(0.0, 0.0)], 100) == 1
    assert hypervolume([Figures(1.0, 0.0), Figures(0.0, 1.0)], 100) == 0
    assert hypervolume([], 100) == 0


def test_the_ends_of_a_front_have_all_the_room():
    assert crowding([(0.0, 1.0)]) == [float("inf")]
    assert crowding([]) == []
