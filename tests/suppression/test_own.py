"""`own`: the cheapest blanks per record, each fitting k of the originals; proven."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from discreet.suppression import LocalSuppression, _own
from discreet.suppression._own import solve_own
from discreet.suppression._problem import GONE, Demand, Infeasible
from tests.suppression.problems import every, problem, random_problem, reference, violations
from tests.timed import within


def cheapest(one, t):
    """Return the lowest price for tuple t, by trying every set of columns."""
    q = one.codes.shape[1]
    best = one.record_price
    for size in range(q + 1):
        for blanks in itertools.combinations(range(q), size):
            price = sum(one.weights[c] for c in blanks if one.codes[t, c])
            if price < best and all(_has_k(one, t, blanks, demand) for demand in one.demands):
                best = price
    return best


def _has_k(one, t, blanks, demand):
    shown = [
        c
        for c in range(one.codes.shape[1])
        if demand.columns >> c & 1 and c not in blanks and one.codes[t, c]
    ]
    agree = np.flatnonzero((one.codes[:, shown] == one.codes[t, shown]).all(axis=1))
    if one.held is None:
        return one.counts[agree].sum() >= demand.k
    return len({int(u) for u in one.held.units[np.isin(one.held.tuples, agree)]}) >= demand.k


@pytest.mark.parametrize("seed", range(150))
def test_no_set_of_blanks_is_cheaper(seed):
    one = random_problem(seed)
    prices = np.array([cheapest(one, t) for t in range(len(one.codes))])
    rows = one.counts
    if one.held is not None:
        rows = np.bincount(one.held.tuples, one.held.rows)
    lost = ~np.isfinite(prices)
    if lost.any():
        with pytest.raises(Infeasible, match="cannot be protected") as error:
            solve_own(one)
        assert error.value.rows == rows[lost].sum()
        return
    found = solve_own(one)
    assert found.cost(one) == pytest.approx((prices * rows).sum())
    assert found.bound == pytest.approx(found.cost(one))
    assert violations(one, found, "own") == 0


@pytest.mark.parametrize(
    ("name", "k", "cells"),
    [
        *(("testdata2_7", k, cells) for k, cells in ((2, 109), (3, 162), (5, 217), (10, 297))),
        *(("testdata7", k, cells) for k, cells in ((3, 283), (5, 461), (10, 767))),
    ],
)
def test_known_optima(name, k, cells):
    one = problem(reference(name), k)
    assert solve_own(one).cost(one) == cells


@pytest.mark.parametrize(
    ("name", "sizes", "cells"),
    [
        ("testdata2_7", {5: 10, 4: 20, 3: 30}, 470),
        ("testdata7", {3: 3}, 126),
        ("testdata7", {3: 10}, 453),
    ],
)
def test_known_optima_of_combinations(name, sizes, cells):
    one = problem(reference(name), demands=every(7, sizes))
    assert solve_own(one).cost(one) == cells


def test_the_pattern_that_more_records_share_is_taken():
    # The first record can blank either column; with the second blank it is like two others.
    rows = [(1, 1), (1, 2), (1, 3), (2, 1), (9, 9), (9, 9)]
    one = problem(rows, 2)
    found = solve_own(one)
    assert dict(zip(found.tuples.tolist(), found.masks.tolist(), strict=True))[0] == 0b10


def test_demands_counted_one_by_one_are_the_same(monkeypatch):
    one = problem(reference("testdata2_7"), demands=every(7, {4: 5, 2: 9}))
    once = solve_own(one)
    monkeypatch.setattr(_own, "_CLOSURE", 10)
    again = solve_own(one)
    np.testing.assert_array_equal(once.masks, again.masks)


def test_more_values_than_a_key_can_tell_apart():
    one = problem(reference("testdata2_7"), 3)
    large = replace(one, sizes=np.full(7, 2**20))
    np.testing.assert_array_equal(solve_own(large).masks, solve_own(one).masks)


def test_a_null_agrees_with_no_shown_value_and_is_blank_for_nothing():
    one = problem([(1, 0), (1, 2), (1, 2)], 2)
    assert not solve_own(one).tuples.size
    one = problem([(1, 0), (2, 2), (2, 2)], 2)
    found = solve_own(one)
    assert found.masks.tolist() == [0b01]
    assert found.cost(one) == 1


def test_a_record_is_left_out_where_that_is_cheaper():
    rows = [(1, 1, 1), (2, 2, 2), (2, 2, 2)]
    one = problem(rows, 2, record_price=2.5)
    found = solve_own(one)
    assert found.masks.tolist() == [GONE]
    assert found.cost(one) == found.bound == 2.5
    one = problem(rows, 2, record_price=3.0)
    assert solve_own(one).masks.tolist() == [0b111]


def wide(q=20, n=400):
    rng = np.random.default_rng(1)
    return rng.integers(1, 4, size=(n, 1)).repeat(q, axis=1) * (rng.random((n, q)) < 0.8) + 1


def test_many_columns_stop_early_and_tell_it(monkeypatch):
    one = problem(wide(), 3)
    monkeypatch.setattr(_own, "_ALL_SETS", 4)
    monkeypatch.setattr(_own, "_WORK", 1)
    found = solve_own(one)
    assert violations(one, found, "own") == 0
    assert 0 < found.bound < found.cost(one)


def test_many_columns_with_few_combinations_are_proven():
    one = problem(wide(n=200), demands=[Demand(0b111, 3), Demand(0b11 << 15, 8)])
    found = solve_own(one)
    assert violations(one, found, "own") == 0
    assert found.bound == found.cost(one)


@pytest.mark.parametrize("policy", ["value", "own", "match"])
@pytest.mark.parametrize("demanded", [{"k": 3}, {"k": 2, "subsets": 2}])
def test_the_cheapest_sets_are_looked_for_once(policy, demanded, monkeypatch):
    searches, run = [], _own._Search.run
    monkeypatch.setattr(_own._Search, "run", lambda self: searches.append(1) or run(self))
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (60, 3)), columns=list("abc"))
    LocalSuppression(null_policy=policy, **demanded, random_state=0).fit(table)
    assert len(searches) == 1


def test_few_tuples_of_many_columns_take_seconds():
    one = problem(np.random.default_rng(0).integers(1, 5, (50, 24)), 3)
    found = within(20, lambda: solve_own(one))
    assert violations(one, found, "own") == 0
    assert 0 < found.bound <= found.cost(one)
