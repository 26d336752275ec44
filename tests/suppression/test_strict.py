"""The strict solver: every pattern that is released has k members, for few blanks."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.draws import Draws
from discreet.kernels import recreate
from discreet.suppression import _search
from discreet.suppression._lots import Items
from discreet.suppression._problem import Infeasible
from discreet.suppression._strict import _levels, _sets, solve_strict
from tests.suppression.problems import members, problem, reference, violations
from tests.timed import within

ONE = Draws(1, "test")


def unserved(rows, k, weights, units):
    """Count the rows whose values in the fixed columns fewer than k have."""
    who = defaultdict(set)
    fixed = [tuple(v for v, w in zip(row, weights, strict=True) if np.isinf(w)) for row in rows]
    for i, key in enumerate(fixed):
        who[key].add(i if units is None else units[i])
    return sum(len(who[key]) < k for key in fixed)


tables = st.integers(1, 5).flatmap(
    lambda q: st.lists(st.tuples(*[st.integers(0, 3)] * q), min_size=1, max_size=40)
)
weight = st.sampled_from([0.0, 0.5, 1.0, 3.0, np.inf])


@settings(max_examples=80, deadline=None)
@given(tables, st.integers(1, 5), st.data())
def test_every_pattern_has_k_members(rows, k, data):
    q, n = len(rows[0]), len(rows)
    weights = data.draw(st.lists(weight, min_size=q, max_size=q))
    price = data.draw(st.sampled_from([np.inf, 1.5, 10.0]))
    units = data.draw(st.none() | st.lists(st.integers(0, 9), min_size=n, max_size=n))
    one = problem(rows, k, weights=weights, record_price=price, units=units)
    lost = unserved(rows, k, weights, units)
    if lost and np.isinf(price):
        with pytest.raises(Infeasible) as error:
            solve_strict(one, None, 60, ONE)
        assert error.value.rows == lost
        return
    found = solve_strict(one, None, 60, ONE)
    assert violations(one, found, "value") == 0
    assert np.isfinite(found.cost(one))
    assert found.cost(one) <= found.trace["cost"][0] + 1e-9 if found.trace["cost"] else True


@settings(max_examples=40, deadline=None)
@given(tables, st.integers(2, 4))
def test_no_cell_can_be_given_back(rows, k):
    if len(rows) < k:
        return
    one = problem(rows, k)
    found = members(one, solve_strict(one, None, 60, ONE))
    sizes = defaultdict(int)
    for _, shown, _ in found:
        sizes[tuple(shown)] += 1
    for original, shown, _ in found:
        for c, code in enumerate(original):
            if code and not shown[c]:
                fewer = (*shown[:c], code, *shown[c + 1 :])
                assert not (sizes[tuple(shown)] > k and sizes.get(fewer, 0) >= k)
    for pattern in sizes:
        values = [original for original, shown, _ in found if tuple(shown) == pattern]
        for c, shown in enumerate(pattern):
            # What all have in common is not blank.
            assert shown or len({v[c] for v in values}) > 1 or values[0][c] == 0


# Known answers: the trial's figures of the reference tables, by which ours may be 3 % more.
KNOWN = {
    "testdata2_7": {2: 115, 3: 174, 5: 257, 10: 348},
    "testdata7": {3: 357, 5: 643},
}


# As many moves as it takes are many: some of the tables are for the slow tests.
FEW = {("testdata2_7", 3), ("testdata2_7", 5), ("testdata7", 3)}


@pytest.mark.parametrize(
    ("name", "k"),
    [
        pytest.param(name, k, marks=() if (name, k) in FEW else pytest.mark.slow)
        for name, known in KNOWN.items()
        for k in known
    ],
)
@pytest.mark.usefixtures("long_search")
def test_reference_tables_are_within_three_percent(name, k):
    one = problem(reference(name), k)
    found = solve_strict(one, None, None, ONE)
    assert found.cost(one) <= 1.03 * KNOWN[name][k]
    if name == "testdata2_7":
        assert violations(one, found, "value") == 0


# sdcMicro's kAnon under its own, weaker reading, of which ours may be 1.7 times.
@pytest.mark.parametrize(
    ("name", "k", "cells"),
    [("testdata7", 10, 911), ("free1_6", 3, 1502), ("free1_6", 5, 2392), ("free1_6", 10, 3702)],
)
def test_strict_costs_little_more_than_wildcards(name, k, cells):
    one = problem(reference(name), k)
    assert solve_strict(one, None, 2000, ONE).cost(one) < 1.7 * cells


@pytest.mark.parametrize(("name", "k"), [("francdat4", 2), ("francdat4", 3), ("casc1", 2)])
def test_tiny_tables_reach_the_optimum(name, k):
    one = problem(reference(name), k)
    found = solve_strict(one, None, 3000, ONE)
    assert violations(one, found, "value") == 0
    assert found.cost(one) == pytest.approx(milp_optimum(one))


def milp_optimum(problem):
    """Return the least cost: records choose patterns, open ones have k, by integer programming."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    q, k = problem.codes.shape[1], problem.demands[0].k
    patterns, prices, entries, sizes = {}, [], [], []
    for t, codes in enumerate(problem.codes):
        for mask in range(1 << q):
            shown = tuple(0 if mask >> c & 1 else int(v) for c, v in enumerate(codes))
            price = sum(problem.weights[c] for c in range(q) if mask >> c & 1 and codes[c])
            if all(codes[c] for c in range(q) if mask >> c & 1):
                entries.append((t, patterns.setdefault(shown, len(patterns))))
                prices.append(price)
                sizes.append(problem.counts[t])
    x, p, n = len(entries), len(patterns), len(problem.codes)
    t, pattern = np.array(entries).T
    all_placed = csr_array((np.ones(x), (t, np.arange(x))), shape=(n, x + p))
    # An open pattern has k members, and one that is not open none.
    least = csr_array(
        (np.r_[np.ones(x), np.full(p, -k)], (np.r_[pattern, np.arange(p)], np.arange(x + p))),
        shape=(p, x + p),
    )
    opened = csr_array(
        (
            np.r_[np.ones(x), -np.array(sizes, float)],
            (np.r_[np.arange(x), np.arange(x)], np.r_[np.arange(x), x + pattern]),
        ),
        shape=(x, x + p),
    )
    found = milp(
        np.r_[prices, np.zeros(p)],
        integrality=np.ones(x + p),
        bounds=Bounds(0, np.r_[sizes, np.ones(p)]),
        constraints=[
            LinearConstraint(all_placed, problem.counts, problem.counts),
            LinearConstraint(least, 0, np.inf),
            LinearConstraint(opened, -np.inf, 0),
        ],
        options={"time_limit": 20},
    )
    assert found.status == 0, found.message
    return found.fun


def small_table(seed):
    """Draw a table of 8 to 20 records and 3 or 4 columns, some with nulls and weights."""
    rng = np.random.default_rng(seed)
    q, n, k = int(rng.integers(3, 5)), int(rng.integers(8, 21)), int(rng.integers(2, 4))
    rows = (rng.random((n, q)) ** 2 * rng.integers(2, 5, q)).astype(int) + 1
    if seed % 4 == 0:
        rows[rng.random((n, q)) < 0.1] = 0
    weights = rng.integers(1, 5, q) if seed % 3 == 0 else None
    return problem(rows, k, weights=weights)


def gap(seed, moves):
    one = small_table(seed)
    best, ours = milp_optimum(one), solve_strict(one, None, moves, ONE).cost(one)
    assert ours >= best - 1e-6
    return 0.0 if ours <= best + 1e-6 else (ours - best) / best


def test_small_tables_are_near_the_optimum():
    assert max(gap(seed, 3000) for seed in range(3)) < 0.08


@pytest.mark.slow
def test_forty_small_tables_are_near_the_optimum():
    gaps = [gap(seed, None) for seed in range(40)]
    assert np.median(gaps) < 0.02
    assert max(gaps) < 0.08


# Plain twins


def plain_start(one):
    """Return what the greedy start costs, by dictionaries; without nulls and units."""
    k, codes = one.demands[0].k, one.codes
    waiting = {t: int(c) for t, c in enumerate(one.counts) if c < k}
    spare = {t: int(c) - k for t, c in enumerate(one.counts) if c >= k}
    pools = sorted(spare, key=lambda t: (-one.counts[t], t))
    sets, _ = _sets(one)
    total = 0.0
    for level in _levels(Items(one), sets):
        for blanks in sets:
            price = sum(w for c, w in enumerate(one.weights) if blanks >> c & 1)
            if price > level:
                continue
            groups, lenders = defaultdict(list), defaultdict(list)
            for some, into in ((list(waiting), groups), (pools, lenders)):
                for t in some:
                    into[tuple(0 if blanks >> c & 1 else v for c, v in enumerate(codes[t]))].append(
                        t
                    )
            for shown, own in groups.items():
                served = sum(waiting[t] for t in own)
                want = max(0, k - served)
                lent = {}
                for t in lenders[shown]:
                    lent[t] = min(want - sum(lent.values()), spare[t])
                if sum(lent.values()) < want or price * max(k, served) > level * served * (
                    1 + 1e-12
                ):
                    continue
                total += price * max(k, served)
                for t in own:
                    del waiting[t]
                for t, many in lent.items():
                    spare[t] -= many
    return total, waiting


@pytest.mark.parametrize("seed", range(25))
def test_the_start_is_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    q, n = int(rng.integers(2, 5)), int(rng.integers(20, 90))
    rows = (rng.random((n, q)) ** 2 * 4).astype(int) + 1
    weights = rng.choice([1.0, 2.0, 0.5], q)
    one = problem(rows, int(rng.integers(2, 6)), weights=weights)
    cost, waiting = plain_start(one)
    found = solve_strict(one, None, 0, ONE)
    if not waiting:
        assert found.trace["cost"][0] == pytest.approx(cost)


def test_neighbours_are_the_nearest():
    rng = np.random.default_rng(3)
    one = problem(rng.integers(0, 4, (60, 4)), 3, weights=[1, 2, np.inf, 1])
    near, gaps = recreate.neighbours(one.codes, Items(one).tables, 12)
    for t, codes in enumerate(one.codes):
        differ = one.codes != codes
        far = np.where(differ, one.weights, 0.0).sum(axis=1)
        own = near[t][near[t] >= 0]
        assert own[0] == t
        assert len(set(own.tolist())) == len(own) == min(12, np.isfinite(far).sum())
        assert sorted(far[own]) == sorted(far)[: len(own)]
        assert (gaps[t, : len(own)] == differ[own] @ (1 << np.arange(4))).all()


# Budgets


def test_moves_give_the_same_again_and_draws_another():
    one = problem(reference("testdata7"), 5)
    first, again, other = (solve_strict(one, None, 1500, Draws(s)) for s in (1, 1, 2))
    for a, b in ((first.tuples, again.tuples), (first.masks, again.masks)):
        assert (a == b).all()
    assert (first.members == again.members).all()
    assert first.moves == 1500
    assert len(first.masks) != len(other.masks) or (first.masks != other.masks).any()


def test_seconds_are_repeated_by_their_moves():
    one = problem(reference("free1_6"), 5)
    timed = solve_strict(one, 0.3, None, ONE)
    again = solve_strict(one, None, timed.moves, ONE)
    assert timed.moves > 0
    assert timed.cost(one) == again.cost(one) < timed.trace["cost"][0]
    assert (timed.masks == again.masks).all()


def test_regions_are_searched_on_large_tables():
    rng = np.random.default_rng(0)
    one = problem((rng.random((12_000, 5)) ** 3 * [70, 5, 7, 16, 14]).astype(int) + 1, 5)
    found = solve_strict(one, None, 3000, ONE)
    assert found.cost(one) < found.trace["cost"][0]
    left = one.counts.copy()
    np.subtract.at(left, found.tuples, found.members)
    sizes = defaultdict(int)
    for t, mask, many in zip(found.tuples, found.masks, found.members, strict=True):
        sizes[tuple(0 if mask >> c & 1 else v for c, v in enumerate(one.codes[t]))] += many
    for t in np.flatnonzero(left):
        sizes[tuple(one.codes[t])] += left[t]
    assert min(sizes.values()) >= 5


def test_many_columns_end():
    rng = np.random.default_rng(0)
    one = problem(rng.integers(1, 4, (400, 24)), 5, weights=rng.integers(1, 4, 24))
    found = solve_strict(one, None, 300, ONE)
    assert violations(one, found, "value") == 0
    assert found.cost(one) < 400 * one.weights.sum()


def test_importance_moves_blanks_to_other_columns():
    rows = reference("testdata7")
    plain, dear = problem(rows, 3), problem(rows, 3, weights=[1, 1, 1, 1, 1, 1, 20])
    masks = [solve_strict(one, None, 2000, ONE) for one in (plain, dear)]
    blanks = [int(((s.masks >> 6 & 1) * s.members).sum()) for s in masks]
    assert blanks[1] < blanks[0] / 5


@pytest.mark.parametrize("stop", [1, 3, 5, 8, 12])
def test_ctrl_c_keeps_what_the_moves_told_give_again(monkeypatch, stop):
    one = problem(np.random.default_rng(1).integers(1, 5, (3000, 6)), 5)
    calls, anneal = [], recreate.anneal

    def interrupted(*given):
        found = anneal(*given)
        calls.append(found)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(_search.recreate, "anneal", interrupted)
    stopped = solve_strict(one, None, 6000, ONE)
    monkeypatch.undo()
    assert stopped.stopped
    # The first call only compiles, and the last one came to nothing.
    assert (stopped.moves > 0) == (stop > 2)
    again = solve_strict(one, None, stopped.moves, ONE)
    assert not again.stopped
    for name in ("tuples", "masks", "members"):
        np.testing.assert_array_equal(getattr(stopped, name), getattr(again, name))


@pytest.mark.parametrize(("units", "weight"), [(False, 1.0), (True, 2.0)])
def test_patterns_of_many_lots_take_time_that_grows_with_them(units, weight):
    rng = np.random.default_rng(0)
    sex, job = rng.integers(1, 3, 30_000), rng.integers(1, 4, 30_000)
    rows = np.column_stack([np.arange(30_000) + 1, sex, job])
    people = (np.arange(30_000) // 2).tolist() if units else None
    one = problem(rows, 3, weights=[weight, 1.0, 1.0], units=people)
    found = within(5, lambda: solve_strict(one, None, 500, ONE))
    shown = pd.DataFrame([shown for _, shown, _ in members(one, found)])
    shown["unit"] = [unit for _, _, unit in members(one, found)]
    assert shown.groupby([0, 1, 2])["unit"].nunique().min() >= 3
    # Nothing but the number has to go; where that is the cheapest blank, there are no moves.
    assert found.cost(one) == 30_000 * weight
    assert found.moves == (0 if weight == 1.0 else 500)
