"""The strict solver: every pattern that is released has k members, for few blanks."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.draws import Draws
from discreet.suppression._problem import GONE, Demand, Held, Problem
from discreet.suppression._strict import Infeasible, solve_strict

ONE = Draws(1, "test")


def problem(rows, k, weights=None, record_price=np.inf, units=None):
    """Count rows of codes as a problem, by plain dictionaries."""
    rows = [tuple(int(v) for v in row) for row in rows]
    tuples = sorted(set(rows))
    codes = np.array(tuples, np.int32).reshape(len(tuples), -1)
    q = codes.shape[1]
    weights = np.ones(q) if weights is None else np.asarray(weights, float)
    counts, held = Counter(rows), None
    if units is not None:
        pairs = Counter((tuples.index(row), unit) for row, unit in zip(rows, units, strict=True))
        places = sorted(pairs)
        held = Held(
            np.array([t for t, _ in places]),
            np.array([u for _, u in places]),
            np.array([pairs[p] for p in places]),
        )
        counts = Counter(tuples[t] for t, _ in places)
    return Problem(
        codes,
        codes.max(axis=0) + 1,
        np.array([counts[t] for t in tuples]),
        weights,
        (Demand((1 << q) - 1, k),),
        record_price,
        held,
    )


def released(problem, solution):
    """Return the patterns that are released with their members (or units), from the definition."""
    patterns = defaultdict(list)
    if problem.held is not None:
        masks = dict(zip(solution.held.tolist(), solution.masks.tolist(), strict=True))
        assert len(masks) == len(solution.held)
        for place, (t, unit) in enumerate(
            zip(problem.held.tuples, problem.held.units, strict=True)
        ):
            _show(patterns, problem.codes[t], masks.get(place, 0), [int(unit)])
        return {shown: len(set(units)) for shown, units in patterns.items()}
    left = problem.counts.copy()
    for t, mask, members in zip(solution.tuples, solution.masks, solution.members, strict=True):
        assert members > 0
        left[t] -= members
        _show(patterns, problem.codes[t], int(mask), [None] * int(members))
    assert (left >= 0).all()
    for t in np.flatnonzero(left):
        _show(patterns, problem.codes[t], 0, [None] * int(left[t]))
    return {shown: len(members) for shown, members in patterns.items()}


def _show(patterns, codes, mask, members):
    if mask != GONE:
        patterns[tuple(0 if mask >> c & 1 else int(v) for c, v in enumerate(codes))] += members


def cost(problem, solution):
    """Add up prices, cell by cell."""
    total = 0.0
    for i, (t, mask) in enumerate(zip(solution.tuples, solution.masks, strict=True)):
        rows = solution.members[i] if problem.held is None else problem.held.rows[solution.held[i]]
        if mask == GONE:
            total += rows * problem.record_price
        else:
            cells = [c for c in range(problem.codes.shape[1]) if mask >> c & 1]
            assert all(problem.codes[t, c] for c in cells)
            total += rows * sum(problem.weights[c] for c in cells)
    return total


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


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(1, 5), st.data())
def test_every_pattern_has_k_members(rows, k, data):
    q = len(rows[0])
    weights = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, np.inf]), min_size=q, max_size=q)
    )
    price = data.draw(st.sampled_from([np.inf, 1.5, 10.0]))
    units = data.draw(
        st.none() | st.lists(st.integers(0, 9), min_size=len(rows), max_size=len(rows))
    )
    one = problem(rows, k, weights, price, units)
    lost = unserved(rows, k, weights, units)
    if lost and np.isinf(price):
        with pytest.raises(Infeasible) as error:
            solve_strict(one, None, 60, ONE)
        assert error.value.rows == lost
        return
    found = solve_strict(one, None, 60, ONE)
    patterns = released(one, found)
    assert all(count >= k for count in patterns.values())
    assert found.cost(one) == pytest.approx(cost(one, found))
    assert np.isfinite(found.cost(one))


def from_file(name, k, **parameters):
    """Read a table of the reference data as a problem."""
    rows = np.loadtxt(reference_file(f"suppression/{name}.csv"), int, delimiter=",", skiprows=1)
    return problem(rows + (1 - rows.min(axis=0)), k, **parameters)


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
    return problem(rows, k, weights)


@pytest.mark.slow
def test_small_tables_are_near_the_optimum():
    gaps = []
    for seed in range(40):
        one = small_table(seed)
        best, ours = milp_optimum(one), solve_strict(one, None, None, ONE).cost(one)
        assert ours >= best - 1e-6
        gaps.append(0.0 if ours <= best + 1e-6 else (ours - best) / best)
    assert np.median(gaps) < 0.02
    assert max(gaps) < 0.08


def test_a_few_small_tables_reach_the_optimum():
    for seed in range(3):
        one = small_table(seed)
        assert solve_strict(one, None, 3000, ONE).cost(one) == pytest.approx(milp_optimum(one))
