"""Several demands under the strict reading, counted from the definition."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.datasets import data_folder
from discreet.draws import Draws
from discreet.suppression import _combined
from discreet.suppression._combined import Search, solve_combined
from discreet.suppression._exact import lower_bound
from discreet.suppression._own import solve_own
from discreet.suppression._problem import GONE, Demand, Held, Infeasible, Problem, Solution


def released(problem: Problem, solution: Solution) -> list[tuple[tuple[int, ...], int | None]]:
    """List the released tuples, member by member, each with its unit; 0 is a blank."""
    rows = []

    def show(t: int, mask: int, unit: int | None) -> None:
        if mask != GONE:
            codes = problem.codes[t].tolist()
            rows.append((tuple(0 if mask >> c & 1 else x for c, x in enumerate(codes)), unit))

    if problem.held is not None:
        assert solution.held is not None
        masks = dict(zip(solution.held.tolist(), solution.masks.tolist(), strict=True))
        for place, (t, unit) in enumerate(zip(problem.held.tuples, problem.held.units)):  # noqa: B905
            show(t, masks.get(place, 0), int(unit))
        return rows
    left = problem.counts.copy()
    for t, mask, members in zip(solution.tuples, solution.masks, solution.members, strict=True):
        left[t] -= members
        for _ in range(members):
            show(t, int(mask), None)
    assert (left >= 0).all()
    for t, members in enumerate(left):
        for _ in range(members):
            show(t, 0, None)
    return rows


def violations(problem: Problem, solution: Solution) -> int:
    rows = released(problem, solution)
    found = 0
    for demand in problem.demands:
        columns = [c for c in range(problem.codes.shape[1]) if demand.columns >> c & 1]
        units = defaultdict(set)
        for number, (row, unit) in enumerate(rows):
            units[tuple(row[c] for c in columns)].add(number if unit is None else unit)
        found += sum(len(members) < demand.k for members in units.values())
    return found


def problem_of(codes: np.ndarray, demands: list[Demand], **more: object) -> Problem:
    unique, counts = np.unique(codes, axis=0, return_counts=True)
    weights = more.pop("weights", np.ones(codes.shape[1]))
    return Problem(
        unique.astype(np.int32),
        codes.max(axis=0) + 1,
        counts,
        weights,
        tuple(demands),
        **more,  # type: ignore[arg-type]
    )


def every(q: int, size: int, k: int) -> list[Demand]:
    return [Demand(sum(1 << c for c in some), k) for some in combinations(range(q), size)]


def read(name: str) -> np.ndarray:
    path = data_folder() / "suppression" / f"{name}.csv"
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    return np.column_stack([np.unique(x, return_inverse=True)[1] + 1 for x in table.T])


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, q = draw(st.integers(6, 60)), draw(st.integers(2, 5))
    codes = rng.integers(draw(st.integers(0, 1)), draw(st.integers(2, 5)), (n, q))
    sizes = draw(st.lists(st.integers(1, q), min_size=1, max_size=2))
    demands = {}
    for size in sizes:
        for demand in every(q, size, draw(st.integers(2, 5))):
            demands[demand.columns] = demand
    weights = rng.choice([1.0, 2.0, 3.5], q)
    record_price = np.inf
    if draw(st.booleans()):
        weights[rng.integers(q)] = np.inf
        record_price = draw(st.sampled_from([1.5, 4.0]))
    made = problem_of(codes, list(demands.values()), weights=weights, record_price=record_price)
    if not draw(st.booleans()):
        return made
    ids = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    units = rng.integers(0, max(6, n // 2), n)
    pairs, rows = np.unique(np.stack([ids, units]), axis=1, return_counts=True)
    held = Held(pairs[0], pairs[1], rows)
    counts = np.bincount(pairs[0])
    return Problem(
        made.codes, made.sizes, counts, made.weights, made.demands, made.record_price, held
    )


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 3))
def test_every_combination_is_shared(problem: Problem, seed: int) -> None:
    try:
        solution = solve_combined(problem, None, 5, Draws(seed))
    except Infeasible:
        # Members in all are too few.
        held = problem.held
        members = problem.counts.sum() if held is None else len(np.unique(held.units))
        assert members < max(demand.k for demand in problem.demands)
        return
    assert violations(problem, solution) == 0
    assert lower_bound(problem) <= solution.cost(problem) + 1e-6
    fixed = sum(1 << c for c, w in enumerate(problem.weights) if np.isinf(w))
    kept = solution.masks != GONE
    assert not (solution.masks[kept] & (fixed | problem.nulls[solution.tuples[kept]])).any()
    assert (solution.masks != 0).all()
    if not np.isfinite(problem.record_price):
        assert kept.all()


@settings(max_examples=20, deadline=None)
@given(problems())
def test_force_keeps_every_demand(problem: Problem) -> None:
    search = Search(problem, np.uint64(1))
    try:
        search._force()
    except Infeasible:
        return
    assert violations(problem, search.solution()) == 0


def test_two_pairs_need_no_blank_in_common() -> None:
    # Every two of three columns at 2: the third record's last value is the only rare one, and one
    # more record must hide its own for the blank to be shared.
    codes = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 2], [1, 1, 1]])
    solution = solve_combined(problem_of(codes, every(3, 2, 2)), None, 20, Draws(0))
    assert solution.cost(problem_of(codes, every(3, 2, 2))) == 2
    assert solution.masks.tolist() == [4, 4]


def test_moves_repeat_the_same_blanks() -> None:
    problem = problem_of(read("testdata2_7")[:, :5], every(5, 3, 5))
    once, twice = (solve_combined(problem, None, 25, Draws(7)) for _ in range(2))
    assert once.moves == twice.moves == 25
    assert (once.tuples == twice.tuples).all()
    assert (once.masks == twice.masks).all()


def test_seconds_are_replayed_by_moves() -> None:
    problem = problem_of(read("testdata2_7")[:, :5], every(5, 3, 5))
    timed = solve_combined(problem, 0.3, None, Draws(3))
    again = solve_combined(problem, None, timed.moves, Draws(3))
    assert (timed.masks == again.masks).all()
    assert (timed.tuples == again.tuples).all()


def test_figures_of_the_trial() -> None:
    """Within three per cent of what a trial reached."""
    problem = problem_of(read("testdata7"), every(7, 3, 3))
    solution = solve_combined(problem, None, 100, Draws(0))
    assert violations(problem, solution) == 0
    assert solution.cost(problem) <= 1.03 * 297
    assert solve_own(problem).bound == 126


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "demands", "reached", "bound"),
    [
        ("testdata7", every(7, 3, 10), 1069, 453),
        ("testdata2_7", every(7, 5, 10) + every(7, 4, 20) + every(7, 3, 30), 525, 470),
    ],
)
def test_figures_of_larger_trials(
    name: str, demands: list[Demand], reached: int, bound: int
) -> None:
    problem = problem_of(read(name), demands)
    solution = solve_combined(problem, None, None, Draws(0))
    assert violations(problem, solution) == 0
    assert solution.cost(problem) <= 1.03 * reached
    assert solve_own(problem).bound == bound


def test_patterns_are_counted_as_in_a_plain_twin() -> None:
    """The table of patterns, after moves, is what counting anew gives."""
    rng = np.random.default_rng(5)
    problem = problem_of(rng.integers(0, 4, (80, 4)), every(4, 2, 4) + every(4, 3, 2))
    search = Search(problem, np.uint64(9))
    search.run(None, 12)
    plain: Counter[int] = Counter()
    for demand in problem.demands:
        seen: Counter[tuple[int, ...]] = Counter()
        for row, _ in released(problem, search.solution()):
            seen[tuple(x for c, x in enumerate(row) if demand.columns >> c & 1)] += 1
        plain.update(seen.values())
    counts = search.patterns.counts
    assert Counter(counts[counts > 0].tolist()) == plain


@pytest.mark.parametrize("stop", [1, 8, 15])
def test_ctrl_c_keeps_what_the_moves_told_give_again(monkeypatch, stop):
    rows = np.random.default_rng(0).integers(1, 5, (100, 5))
    one = problem_of(rows, every(5, 3, 6))
    calls, search = [], _combined.kernel.search

    def interrupted(*given):
        calls.append(search(*given))
        if len(calls) == stop:
            raise KeyboardInterrupt
        return calls[-1]

    monkeypatch.setattr(_combined.kernel, "search", interrupted)
    stopped = solve_combined(one, None, 150, Draws(1, "test"))
    monkeypatch.undo()
    assert stopped.stopped
    assert violations(one, stopped) == 0
    again = solve_combined(one, None, stopped.moves, Draws(1, "test"))
    for name in ("tuples", "masks", "members"):
        np.testing.assert_array_equal(getattr(stopped, name), getattr(again, name))


def test_what_is_forced_is_blanked_in_the_demanded_columns_only(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 4, (60, 12))[rng.integers(0, 60, 300)]
    rows = np.where(rng.random(rows.shape) < 0.004, 7, rows)
    one = problem_of(rows, every(12, 1, 10))
    monkeypatch.setattr(_combined, "_MOST_ROUNDS", 0)
    found = solve_combined(one, None, 0, Draws(1, "test"))
    assert violations(one, found) == 0
    # One cell of a rare value, and what joins it, not twelve.
    assert found.cost(one) < 2 * 10 * 12
