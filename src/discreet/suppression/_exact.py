"""Proven optima by integer programming, and lower bounds for what is too large for that.

For the strict reading: how many members of each tuple get each set of blanks (only sets with which
k members can share what is left), and which patterns are open. An open pattern has k members or
more, others none; with several demands, a set of blanks makes one pattern for each. Where units
are counted, each place is either given a set or not, and an open pattern has k units.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.suppression._own import Counter, solve_own
from discreet.suppression._problem import GONE, Infeasible, Problem, Solution, rows_of

# Ways to blank a tuple, once for each demand, that an exact solution, or a bound by linear
# programming, is made for.
_MOST_EXACT, _MOST_BOUND = 20_000, 10_000
# Seconds that a proof may take, and a bound.
_SECONDS, _SECONDS_OF_BOUND = 60.0, 20.0


def solve_exact(problem: Problem, null_policy: str) -> Solution:
    """Return a solution that is proven to be the cheapest, or refuse a table that is too large.

    For the null policies `own` and `value`.
    """
    if null_policy == "own":
        found = solve_own(problem)
        if found.bound < found.cost(problem) - 1e-6:
            raise _too_large(problem)
        return found
    model = _model(problem, _MOST_EXACT)
    if model is None:
        raise _too_large(problem)
    return model.solved()


def lower_bound(problem: Problem) -> float:
    """Return a price that no solution under the strict reading goes below."""
    # Whoever shares a pattern with k members fits the originals of these.
    own = solve_own(problem)
    model = _model(problem, _MOST_BOUND)
    # What is proven by floating-point numbers is proven but for their last digits.
    return own.bound if model is None else max(own.bound, model.relaxed() * (1 - 1e-9))


def _too_large(problem: Problem) -> BadInput:
    return BadInput(
        f"exact = true is for tables with at most {_MOST_EXACT // len(problem.demands):,} ways to "
        f"blank their distinct records in all, and {len(problem.codes):,} distinct records in "
        f"{problem.codes.shape[1]} columns have more; use the default, which tells a bound"
    )


@dataclass
class _Model:
    """The ways to treat each tuple (or place), and the patterns that each way makes."""

    problem: Problem
    owners: np.ndarray  # of each way, the tuple or place
    masks: np.ndarray
    prices: np.ndarray  # of each way, for one member
    sizes: np.ndarray  # members by owner
    members: list[tuple[int, list[int]]]  # of each pattern k, and the ways that make it

    def solved(self) -> Solution:
        """Return the cheapest solution."""
        found = self._run(whole=True)
        if found.status == 2:
            raise Infeasible(int(rows_of(self.problem).sum()))
        if found.status != 0:
            raise BadInput(
                f"the fewest blanks of this table were not proven within {_SECONDS:.0f} s: leave "
                "exact = true out, and a bound is told instead"
            )
        values = found.x[: len(self.masks)]
        used = np.flatnonzero((values > 0.5) & (self.masks != 0))
        owners, masks = self.owners[used], self.masks[used]
        held, tuples = None, owners
        if self.problem.held is not None:
            held, tuples = owners, self.problem.held.tuples[owners]
        order = np.lexsort([owners, masks, tuples])
        solution = Solution(
            tuples[order],
            masks[order],
            np.rint(values[used]).astype(np.int64)[order],
            None if held is None else held[order],
        )
        bound = min(float(found.mip_dual_bound), solution.cost(self.problem))
        return replace(solution, bound=bound)

    def relaxed(self) -> float:
        """Return the optimum of the linear relaxation, or 0 where none is found in time."""
        found = self._run(whole=False)
        return float(found.fun) if found.status == 0 else 0.0

    def _run(self, whole: bool) -> Any:
        """Return what `scipy.optimize.milp` finds."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        ways, patterns = len(self.masks), len(self.members)
        rows = _Rows()
        of_owner = defaultdict(list)
        for way, owner in enumerate(self.owners):
            of_owner[int(owner)].append(way)
        for owner, some in of_owner.items():
            rows.add([(way, 1.0) for way in some], self.sizes[owner], self.sizes[owner])
        columns = ways + patterns
        for pattern, (k, some) in enumerate(self.members):
            open_ = ways + pattern
            for way in some:
                rows.add([(open_, float(self.sizes[self.owners[way]])), (way, -1.0)], 0.0)
            if self.problem.held is None:
                rows.add([*((way, 1.0) for way in some), (open_, -float(k))], 0.0)
                continue
            of_unit = defaultdict(list)
            for way in some:
                of_unit[int(self.problem.held.units[self.owners[way]])].append(way)
            there = range(columns, columns + len(of_unit))
            columns += len(of_unit)
            for unit, ones in zip(there, of_unit.values(), strict=True):
                rows.add([*((way, 1.0) for way in ones), (unit, -1.0)], 0.0)
            rows.add([*((unit, 1.0) for unit in there), (open_, -float(k))], 0.0)
        upper = np.ones(columns)
        upper[:ways] = self.sizes[self.owners]
        cost = np.zeros(columns)
        cost[:ways] = self.prices
        matrix = coo_array(
            (rows.values, (rows.rows, rows.columns)), shape=(len(rows.low), columns)
        ).tocsr()
        return milp(
            cost,
            constraints=LinearConstraint(matrix, rows.low, rows.high),
            bounds=Bounds(0, upper),
            integrality=np.full(columns, int(whole)),
            options={"mip_rel_gap": 0.0, "time_limit": _SECONDS if whole else _SECONDS_OF_BOUND},
        )


class _Rows:
    """Rows of constraints, as they come."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, items: list[tuple[int, float]], low: float, high: float = np.inf) -> None:
        """Add one row."""
        for column, value in items:
            self.rows.append(len(self.low))
            self.columns.append(column)
            self.values.append(value)
        self.low.append(float(low))
        self.high.append(float(high))


def _model(problem: Problem, most: int) -> _Model | None:
    """Return the model of a problem in which there are few enough ways to blank, else None."""
    tuples = np.arange(len(problem.codes)) if problem.held is None else problem.held.tuples
    sizes = problem.counts if problem.held is None else np.ones(len(tuples), np.int64)
    rows = np.ones(len(tuples)) if problem.held is None else problem.held.rows
    free = [c for c, weight in enumerate(problem.weights) if np.isfinite(weight)]
    if len(free) > 16:
        return None
    most //= len(problem.demands)
    counter, nulls = Counter(problem), problem.nulls
    asked = int(np.bitwise_or.reduce([d.columns for d in problem.demands]))
    ways: list[tuple[int, int]] = []
    for number in range(1 << len(free)):
        mask = sum(1 << c for i, c in enumerate(free) if number >> i & 1)
        if mask & ~asked:
            continue
        some = np.flatnonzero(nulls & mask == 0)
        good = np.ones(len(problem.codes), bool)
        good[some] = _can(problem, counter, mask, some)
        ways += [(int(e), mask) for e in np.flatnonzero(good[tuples] & (nulls[tuples] & mask == 0))]
        if len(ways) > most:
            return None
    if np.isfinite(problem.record_price):
        ways += [(e, GONE) for e in range(len(tuples))]
    owners = np.array([e for e, _ in ways], np.int64)
    masks = np.array([mask for _, mask in ways], np.int64)
    lost = np.setdiff1d(np.arange(len(tuples)), owners)
    if len(lost):
        raise Infeasible(int((sizes * rows)[lost].sum()))
    prices = problem.price(masks, tuples[owners]) * rows[owners]
    patterns = _patterns(problem, tuples[owners], masks)
    return _Model(problem, owners, masks, prices, sizes, patterns)


def _can(problem: Problem, counter: Counter, mask: int, some: np.ndarray) -> np.ndarray:
    """Tell which tuples have k members that agree in what they show with a set of blanks."""
    ok = np.ones(len(some), bool)
    nulls = problem.nulls[some]
    for one in np.unique(nulls):
        same = np.flatnonzero(nulls == one)
        ok[same] = counter.served(int(mask | one), some[same])
    return ok


def _patterns(
    problem: Problem, tuples: np.ndarray, masks: np.ndarray
) -> list[tuple[int, list[int]]]:
    """Return for every pattern of every demand its k, and the ways that make it."""
    found = []
    stay = np.flatnonzero(masks != GONE)
    blank = masks[:, None] >> np.arange(problem.codes.shape[1]) & 1 == 1
    shown = np.where(blank, 0, problem.codes[tuples])[stay]
    for demand in problem.demands:
        columns = [c for c in range(shown.shape[1]) if demand.columns >> c & 1]
        which = np.unique(shown[:, columns], axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))
        found += [(demand.k, stay[part].tolist()) for part in np.split(order, ends[:-1])]
    return found
