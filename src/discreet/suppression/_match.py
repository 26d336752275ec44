"""`match`: k or more released records agree with each record wherever neither has a blank.

The cheapest blanks under `own` keep this too. From there blanks are given back as long as every
record is still fitted by k: by those that agree in what it shows, and by those that fit it through
*their* blanks. No record gets more blanks than it would need alone. Without this rule k - 1 records
blanked as a whole would be the cheapest solution of any table: everybody fits them, and everybody
else can be found.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.draws import Draws
from discreet.kernels.blanks import fitting, fixed_fits
from discreet.kernels.give_back import Fits, count_all, give_back, improve
from discreet.suppression._own import Counter, cheapest_sets
from discreet.suppression._problem import GONE, Held, Infeasible, Problem, Solution, rows_of

# So many pairs of tuples that fit each other are held in memory; beyond that the tuples with the
# longest lists keep their blanks.
_PAIRS = 30_000_000
# So many tuples that never change are counted for one that they fit, or k where that is more.
_ENOUGH = 20_000
# So many sets that are equally good for a tuple are chosen from, in tables of so many tuples.
_CHOICES, _FEW = 8, 3000
# What the improvement does where neither time nor moves are given, in pairs of tuples looked at,
# in moves a record, and in moves; members that one looks at; moves between two looks at the clock.
_WORK, _MOST_MOVES, _DEFAULT_MOVES, _REGION, _BATCH = 4 * 10**8, 200, 250_000, 8, 512


def solve_match(
    problem: Problem,
    seconds: float | None = None,
    moves: int | None = None,
    draws: Draws | None = None,
) -> Solution:
    """Return blanks under which k released records fit each released record.

    With `draws` the result is improved, for some seconds or a number of moves, which gives the same
    result again; without both as many moves as take a second or two.
    """
    masks, tuples, sets = _sets_among_the_kept(problem)
    layout = _Layout(problem, masks, tuples, sets)
    layout.give_back()
    found = replace(layout.solution(), bound=least_change(problem, bool(masks.any())))
    # Where units are counted, what a blank is good for cannot be updated: no improvement.
    if draws is not None and problem.held is None and len(layout.order):
        done, trace, stopped = layout.improve(seconds, moves, draws)
        improved = layout.solution()
        return replace(improved, bound=found.bound, moves=done, trace=trace, stopped=stopped)
    return found


def least_change(problem: Problem, needed: bool) -> float:
    """Return a price that no solution goes below, if some record needs blanks alone.

    One cheap cell can be enough for all, and none where there are nulls, which fit anything.
    """
    cells = problem.weights[np.isfinite(problem.weights)]
    least = min(float(cells.min(initial=np.inf)), problem.record_price)
    return least if needed and not problem.nulls.any() else 0.0


def _sets_among_the_kept(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cheapest sets under `own`, where only records that are not left out count.

    Then tuples and sets: all that may be chosen from.
    """
    masks = np.full(len(problem.codes), GONE, np.int64)
    kept = np.arange(len(masks))
    while True:
        found = cheapest_sets(_part(problem, kept))
        lost = found.masks == GONE
        if lost.any() and not np.isfinite(problem.record_price):
            rows, lost = rows_of(problem), kept[lost]
            raise Infeasible(int(rows[lost].sum()))
        masks[kept] = found.masks
        if not lost.any():
            tuples, sets = found.choices(_CHOICES if len(kept) <= _FEW else 1)
            return masks, kept[tuples], sets
        kept = kept[~lost]


def _part(problem: Problem, kept: np.ndarray) -> Problem:
    """Return the problem of some tuples only."""
    if len(kept) == len(problem.codes):
        return problem
    held = problem.held
    if held is not None:
        place = np.full(len(problem.codes), -1)
        place[kept] = np.arange(len(kept))
        there = place[held.tuples] >= 0
        held = Held(place[held.tuples[there]], held.units[there], held.rows[there])
    return replace(problem, codes=problem.codes[kept], counts=problem.counts[kept], held=held)


class _Layout:
    """The members that have blanks under `own`, laid out for giving them back."""

    def __init__(
        self, problem: Problem, masks: np.ndarray, chosen: np.ndarray, sets: np.ndarray
    ) -> None:
        self.problem, self.masks = problem, masks
        self.kept = np.flatnonzero(masks != GONE)
        self.nulls = problem.nulls
        # By tuple of the problem: what it may choose, and all that it may ever have blank.
        self.choices = np.searchsorted(chosen, np.arange(len(masks) + 1)), sets
        self.most = np.zeros(len(masks), np.int64)
        np.bitwise_or.at(self.most, chosen, sets)
        # Where units are counted, those without blanks must be told apart too.
        held = problem.held
        self.tuples = np.flatnonzero(masks > 0) if held is None else self.kept
        if held is None:
            self.home = np.repeat(np.arange(len(self.tuples)), problem.counts[self.tuples])
            rows, self.units = np.ones(1, np.int64), np.zeros(0, np.int64)
        else:
            places = np.flatnonzero(masks[held.tuples] != GONE)
            self.places = places[np.argsort(held.tuples[places], kind="stable")]
            self.home = np.searchsorted(self.tuples, held.tuples[self.places])
            rows, self.units = held.rows[self.places], held.units[self.places]
        of_member = self.tuples[self.home]
        order = np.argsort(-problem.price(masks[of_member], of_member) * rows, kind="stable")
        self.order = order[masks[of_member[order]] != 0]
        self.fits = self._fits()

    def _fits(self) -> Fits:
        demands, m = self.problem.demands, len(self.tuples)
        starts = np.searchsorted(self.home, np.arange(m + 1))
        number = np.diff(self.choices[0])[self.tuples]
        choices = np.concatenate([[0], np.cumsum(number)])
        near, fixed = _Lists(len(demands), m), _Lists(len(demands), m)
        needy = np.zeros((len(demands), m), bool)
        for d, (demand, unmet) in enumerate(zip(demands, self._unmet(), strict=True)):
            asked = np.int64(demand.columns)
            own = self.most[self.tuples] & asked
            some = np.flatnonzero(own)
            some = some[np.argsort(own[some], kind="stable")]
            if not len(some):
                continue
            begins, ends, found, differ = self._near(asked, some, near.budget())
            near.add(d, some, begins, ends, found, differ)
            some = some[unmet[self.tuples[some]] & (ends >= begins)]
            needy[d, some] = True
            if self.problem.held is None and len(some):
                fixed.add(d, some, *self._fixed(asked, some, demand.k))
        return Fits._make(
            [
                np.array([d.columns for d in demands], np.int64),
                np.array([d.k for d in demands], np.int64),
                starts,
                self.home,
                choices,
                self.choices[1],
                self.masks[self.tuples[self.home]],
                self.units,
                *near.arrays(np.int32),
                *fixed.arrays(np.int64),
                needy,
                np.zeros((len(demands), len(self.home)), np.int64),
                np.zeros(len(self.home), np.int64),
            ]
        )

    def _unmet(self) -> Iterator[np.ndarray]:
        """Tell for each demand which tuples do not keep it as they are."""
        part = _part(self.problem, self.kept)
        counter, nulls = Counter(part), part.nulls
        for demand in part.demands:
            shown = demand.columns & ~nulls
            few = np.zeros(len(self.masks), bool)
            for one in np.unique(shown):
                same = np.flatnonzero(shown == one)
                few[self.kept[same]] = counter.agree(int(one), same) < demand.k
            yield few

    def _near(self, asked: np.int64, some: np.ndarray, budget: int) -> tuple[np.ndarray, ...]:
        """List for some tuples those with blanks that can fit them, or all if units are counted."""
        others = self.tuples if self.problem.held is not None else self.tuples[np.sort(some)]
        each, whole = len(others), False
        blanks = self.most | self.nulls
        while not whole:
            begins, ends, near, differ, whole = fitting(
                self.problem.codes,
                asked,
                self.nulls,
                blanks,
                *self.choices,
                self.tuples[some],
                others,
                np.unique(blanks[others] & asked),
                each,
                budget,
            )
            each = budget // len(some)
        return begins, ends, np.searchsorted(self.tuples, others)[near], differ

    def _fixed(self, asked: np.int64, some: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
        """Sum up for some tuples the members that never change and can fit them."""
        blanks, others = self.most | self.nulls, self.kept[self.most[self.kept] & asked == 0]
        begins, ends, differ, members = fixed_fits(
            self.problem.codes,
            asked,
            self.nulls,
            blanks,
            self.tuples[some],
            others,
            np.unique(blanks[others] & asked),
            self.problem.counts,
            max(_ENOUGH, k),
        )
        return begins, ends, differ, members

    def give_back(self) -> None:
        """Give back from the dearest record to the cheapest, and the other way; keep the best."""
        fits, prices = self.fits, self.problem.weights
        columns = np.argsort(-prices, kind="stable")
        last = np.full(int(self.units.max(initial=-1)) + 1, -1, np.int64)
        least, best = np.inf, (fits.blanks.copy(), fits.counts.copy())
        for start in self._starts():
            for order in (self.order, self.order[::-1].copy()):
                fits.blanks[:] = start[self.home]
                count_all(fits, last)
                left = -give_back(fits, order, columns, prices, last)
                if left < least:
                    least, best = left, (fits.blanks.copy(), fits.counts.copy())
        fits.blanks[:], fits.counts[:] = best

    def _starts(self) -> Iterator[np.ndarray]:
        """Yield the sets taken under `own`; then others as cheap, with columns in common."""
        yield self.masks[self.tuples]
        choices, sets = self.fits.choices, self.fits.sets
        home = np.repeat(np.arange(len(self.tuples)), np.diff(choices))
        if len(home) == len(self.tuples):
            return
        bits = sets[:, None] >> np.arange(len(self.problem.weights)) & 1
        members = np.diff(self.fits.starts)[home]
        order = np.lexsort([-(bits @ (members @ bits)), home])
        start = np.zeros(len(self.tuples), np.int64)
        start[home[order[::-1]]] = sets[order[::-1]]
        yield start

    def improve(
        self, seconds: float | None, moves: int | None, draws: Draws
    ) -> tuple[int, dict[str, list[float]], bool]:
        """Improve until the time or the moves are over, or Ctrl-C.

        Returns the moves, what was saved when, and whether it was stopped.
        """
        if moves is None and seconds is None:
            looked_at = 1 + len(self.fits.near) // len(self.tuples)
            moves = min(
                _WORK // (_REGION**2 * looked_at), _MOST_MOVES * len(self.order), _DEFAULT_MOVES
            )
        state = draws.words(np.arange(1)).astype(np.uint64)
        prices = self.problem.weights
        given = self.fits, np.argsort(-prices, kind="stable"), prices
        improve(*given, 0, _REGION, state)  # compiled before the clock runs
        end = time.monotonic() + (seconds or 0.0)
        done, saved, stopped = 0, 0.0, False
        trace: dict[str, list[float]] = {"moves": [], "saved": []}
        kept = done, self.fits.blanks.copy()
        try:
            while done < moves if moves is not None else time.monotonic() < end:
                some = _BATCH if moves is None else min(_BATCH, moves - done)
                saved += improve(*given, some, _REGION, state)
                done += some
                trace["moves"].append(done)
                trace["saved"].append(saved)
                # In one step, which Ctrl-C cannot cut in two.
                kept = done, self.fits.blanks.copy()
        except KeyboardInterrupt:
            stopped = True
        done, self.fits.blanks[:] = kept
        return done, trace, stopped

    def solution(self) -> Solution:
        """Return the blanks that are left, and the tuples that are left out."""
        gone = np.flatnonzero(self.masks == GONE)
        left = np.flatnonzero(self.fits.blanks)
        tuples, masks = self.tuples[self.home[left]], self.fits.blanks[left]
        if self.problem.held is not None:
            of_gone = np.flatnonzero(np.isin(self.problem.held.tuples, gone))
            places = np.append(self.places[left], of_gone)
            tuples = self.problem.held.tuples[places]
            masks = np.append(masks, np.full(len(of_gone), GONE))
            order = np.lexsort([places, masks, tuples])
            return Solution(tuples[order], masks[order], np.ones_like(places), places[order])
        members = np.append(np.ones_like(tuples), self.problem.counts[gone])
        pairs = np.stack([np.append(tuples, gone), np.append(masks, np.full(len(gone), GONE))])
        pairs, which = np.unique(pairs, axis=1, return_inverse=True)
        members = np.bincount(which.ravel(), members, pairs.shape[1]).astype(np.int64)
        return Solution(pairs[0], pairs[1], members)


class _Lists:
    """Lists by demand and tuple, put one after the other."""

    def __init__(self, demands: int, tuples: int) -> None:
        self.begins = np.zeros((demands, tuples), np.int64)
        self.ends = np.zeros((demands, tuples), np.int64)
        self.parts: list[tuple[np.ndarray, ...]] = []
        self.used = 0

    def budget(self) -> int:
        """Return how long the lists of another demand may be."""
        return max(_PAIRS - self.used, _PAIRS // len(self.begins))

    def add(
        self,
        demand: int,
        some: np.ndarray,
        begins: np.ndarray,
        ends: np.ndarray,
        *items: np.ndarray,
    ) -> None:
        """Add the lists of some tuples for one demand."""
        self.begins[demand, some], self.ends[demand, some] = begins + self.used, ends + self.used
        self.parts.append(items)
        self.used += len(items[0])

    def arrays(self, kind: type) -> tuple[np.ndarray, ...]:
        """Return where each list begins and ends, and its items, the first of which are a kind."""
        first = [np.zeros(0, kind), *(part[0] for part in self.parts)]
        second = [np.zeros(0, np.int64), *(part[1] for part in self.parts)]
        return self.begins, self.ends, np.concatenate(first, dtype=kind), np.concatenate(second)
