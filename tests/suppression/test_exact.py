"""Proven optima by integer programming against all solutions, and bounds that hold."""

import itertools

import numpy as np
import pytest

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization import KAnonymity
from discreet.suppression import LocalSuppression, _exact
from discreet.suppression._exact import lower_bound, solve_exact
from discreet.suppression._match import solve_match
from discreet.suppression._own import solve_own
from discreet.suppression._problem import GONE, Infeasible, Solution
from discreet.suppression._strict import solve_strict
from tests.suppression.problems import every, problem, random_problem, reference, violations

ONE = Draws(1, "test")


def cheapest(one):
    """Return the price of the cheapest solution, by trying all of them."""
    q = one.codes.shape[1]
    fixed = sum(1 << c for c in range(q) if np.isinf(one.weights[c]))
    sets = [s for s in range(1 << q) if s & fixed == 0]
    if np.isfinite(one.record_price):
        sets.append(GONE)
    held = one.held
    tuples = np.repeat(np.arange(len(one.codes)), one.counts) if held is None else held.tuples
    best = np.inf
    for masks in itertools.product(sets, repeat=len(tuples)):
        found = _solution(one, tuples, masks)
        price = found.cost(one)
        if price < best - 1e-9 and violations(one, found, "value") == 0:
            best = price
    return best


def _solution(one, tuples, masks):
    masks = np.array(masks, np.int64)
    order = np.lexsort([masks, tuples])
    order = order[masks[order] != 0]
    if one.held is not None:
        return Solution(tuples[order], masks[order], np.ones_like(order), order)
    return Solution(tuples[order], masks[order], np.ones_like(order))


@pytest.mark.parametrize("seed", range(40))
def test_no_solution_is_cheaper(seed):
    one = random_problem(seed, most_rows=4, most_columns=2)
    least = cheapest(one)
    if np.isinf(least):
        with pytest.raises((Infeasible, BadInput)):
            solve_exact(one, "value")
        return
    found = solve_exact(one, "value")
    assert violations(one, found, "value") == 0
    assert found.cost(one) == pytest.approx(least)
    assert found.bound == pytest.approx(least)
    assert lower_bound(one) <= least + 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold(seed):
    one = random_problem(seed, most_rows=30, most_columns=5)
    try:
        own = solve_own(one)
    except Infeasible:
        return
    assert own.bound == pytest.approx(own.cost(one))
    match = solve_match(one, moves=50, draws=ONE)
    assert match.bound <= match.cost(one)
    assert own.bound <= lower_bound(one) + 1e-6


@pytest.mark.parametrize(
    ("k", "least", "best"), [(2, 110, 115), (3, 168.5, 174), (5, 236.6, 257), (10, 326.9, 348)]
)
def test_bounds_of_a_reference_table(k, least, best):
    # As high as those that were known, and not above the best solutions that were.
    assert least <= lower_bound(problem(reference("testdata2_7"), k)) <= best


@pytest.mark.parametrize(("name", "k", "cells"), [("francdat4", 2, 6), ("casc1", 2, 53)])
def test_small_reference_tables(name, k, cells):
    one = problem(reference(name), k)
    found = solve_exact(one, "value")
    assert found.cost(one) == pytest.approx(cells)
    assert violations(one, found, "value") == 0
    assert solve_strict(one, None, None, ONE).cost(one) >= cells - 1e-9


def test_combinations_are_proven_too():
    one = problem([row[:4] for row in reference("testdata2_7")[:8]], demands=every(4, {2: 2}))
    found = solve_exact(one, "value")
    assert violations(one, found, "value") == 0
    assert found.bound == pytest.approx(found.cost(one))
    assert solve_own(one).cost(one) <= found.cost(one)


def test_own_is_proven_as_it_is():
    one = problem(reference("testdata7"), 3)
    assert solve_exact(one, "own").cost(one) == 283


def test_what_cannot_be_proven_is_refused():
    with pytest.raises(
        BadInput, match=r"at most 20,000 ways to blank .* 412 distinct records in 7"
    ):
        solve_exact(problem(reference("testdata7"), 3), "value")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": 2, "null_policy": "match"}, "under 'match' the fewest blanks are those of k - 1"),
        ({"privacy": [KAnonymity(2)]}, "leave privacy out"),
        ({"max_risk": 0.1, "risk": "suda"}, "leave risk = 'suda' out"),
        ({"max_risk": 0.1, "risk": "individual", "weight": "w"}, "leave risk = 'individual' out"),
        ({"k": 2, "limit": {"a": 0.5}}, "leave limit out"),
    ],
)
def test_what_no_optimum_is_proven_for_is_refused(given, said):
    with pytest.raises(BadInput, match=f"exact = true is for .*{said}"):
        LocalSuppression(**given, exact=True).check_params()


def test_the_bound_of_a_large_table_is_that_of_own(monkeypatch):
    one = problem(reference("testdata2_7"), 3)
    monkeypatch.setattr(_exact, "_MOST_BOUND", 100)
    assert lower_bound(one) == 162


def test_a_bound_that_takes_too_long_is_that_of_own(monkeypatch):
    one = problem(reference("testdata2_7"), 3)
    assert lower_bound(one) > 162
    monkeypatch.setattr(_exact, "_SECONDS_OF_BOUND", 0.0)
    assert lower_bound(one) == 162
