"""Several demands under the strict reading: each combination, blanks included, has k members."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from discreet.draws import Draws
from discreet.kernels import combinations as kernel
from discreet.kernels import patterns as tables
from discreet.suppression._problem import GONE, Infeasible, Problem, Solution
from discreet.table.classes import classes_of
from discreet.trace import Trace

# Indexes of tuples by some columns, and their bytes in all.
_MOST_SETS, _MOST_BYTES = 128, 2**28
# Moves between two looks at the clock.
_SLICE = 10
# Moves of a cycle of cooling, which is also the default: fewer where each takes long.
_CYCLE, _LEAST, _WORK = 400, 10, 1_000_000
# In mean weights of a column: the heat at the start and at the end of a cycle, what a missing
# member counts, what a move may cost before it is given up. And how much noise its costs have.
_HOT, _COLD, _HEED, _SLACK, _NOISE = 0.6, 0.1, 8.0, 4.0, 0.1
# Patterns mended between two looks at the state of the start, and by how much members then count
# more if fewer patterns were mended than were made.
_STEPS, _RISE, _MOST_ROUNDS = 500, 2.0, 12
_LOG = 2**14


def solve_combined(
    problem: Problem, seconds: float | None, moves: int | None, draws: Draws
) -> Solution:
    """Blank as little as possible such that every demanded combination has k members.

    Searches for some seconds, or for a number of moves; by default for a number that depends on
    the problem only. What no blanks would keep is left out, where that has a price.
    """
    if seconds is None and moves is None:
        moves = _cycle(problem)
    for attempt in range(4):
        search = Search(problem, draws.words(np.array([attempt]))[0])
        search.run(seconds, moves)
        if not _rare(problem, search).any():
            return search.solution()
    raise RuntimeError("words of patterns collide")  # four times: never


def _cycle(problem: Problem) -> int:
    """Return how many moves take a second or two."""
    k = max((demand.k for demand in problem.demands), default=1)
    return int(np.clip(_WORK // (len(problem.demands) * k**2 + 1), _LEAST, _CYCLE))


def _rare(problem: Problem, search: Search) -> np.ndarray:
    """Return the columns of each member's combinations that are too rare, counted from values."""
    found = np.zeros(len(search.masks), np.int64)
    kept = np.flatnonzero(search.masks != GONE)
    tuples, masks = search.given.tuples[kept], search.masks[kept]
    for demand in problem.demands:
        columns = [c for c in range(len(problem.weights)) if demand.columns >> c & 1]
        shown = [np.where(masks >> c & 1, 0, problem.codes[tuples, c]) for c in columns]
        whole = problem.codes[:, columns].T
        codes = np.concatenate([np.array(shown).reshape(len(columns), -1), whole], axis=1) - 1
        ids, many = classes_of(codes.astype(np.int64), problem.sizes[columns])
        if problem.held is None:
            weights = np.concatenate([np.ones(len(kept)), search.lumps])
            counts = np.bincount(ids, weights, many)
        else:
            pairs = np.unique(np.stack([ids[: len(kept)], search.given.units[kept]]), axis=1)
            counts = np.bincount(pairs[0], minlength=many)
        found[kept[counts[ids[: len(kept)]] < demand.k]] |= demand.columns
    return found


class Search:
    """Members with their masks, mended at first and then improved.

    Of a tuple of 2 k members or more, k can be blanked for others' sake; the rest is a lump that
    stays as it is.
    """

    def __init__(self, problem: Problem, seed: np.uint64) -> None:
        self.problem = problem
        self.seed, self.state = seed, np.full(1, seed, np.uint64)
        k = max((demand.k for demand in problem.demands), default=1)
        counts = problem.counts
        if problem.held is None:
            moving = np.where(counts >= 2 * k, k, counts)
            tuples, units = np.repeat(np.arange(len(counts)), moving), np.empty(0, np.int64)
            rows = np.ones(len(tuples))
        else:
            moving, tuples, units = counts, problem.held.tuples, problem.held.units
            rows = problem.held.rows.astype(np.float64)
        self.lumps = counts - moving
        demanded = int(np.bitwise_or.reduce([d.columns for d in problem.demands] or [0]))
        finite = np.isfinite(problem.weights)
        words = _words(problem.codes, seed)
        sets = _sets(problem, demanded)
        self.given = tables.Given(
            words,
            problem.nulls,
            tuples.astype(np.int64),
            np.append(0, np.cumsum(moving)).astype(np.int64),
            rows,
            units.astype(np.int64),
            np.array([demand.columns for demand in problem.demands], np.int64),
            np.array([demand.k for demand in problem.demands], np.int64),
            problem.weights.astype(np.float64),
            int((finite @ (1 << np.arange(len(finite)))) & demanded),
            float(problem.record_price),
            np.array(sets, np.int64),
            np.array([_order(words, one) for one in sets], np.int32),
        )
        weights = problem.weights[finite & (problem.weights > 0)]
        self.unit = float(weights.mean()) if len(weights) else 1.0
        self.masks = np.zeros(len(tuples), np.int64)
        self.room = self.unit_room = 2**12
        self.moves = 0
        self.stopped = False
        self.trace = Trace("moves", "cost")
        self._lay_out()

    # Tables of patterns

    def _lay_out(self) -> None:
        """Count all patterns anew, in a table of which a third is filled at most."""
        n, demands = len(self.masks), len(self.given.columns)
        while True:
            size, units = self.room, self.unit_room
            self.patterns = tables.Patterns(
                np.zeros(size, np.uint64),
                np.zeros(size, np.int64),
                np.zeros(size, np.int32),
                np.full(size, -1, np.int64),
                np.full(size, -1, np.int64),
                np.zeros(size, np.int64),
                np.zeros(units, np.uint64),
                np.zeros(units, np.int64),
            )
            self.members = tables.Members(
                self.masks,
                np.full(n, -1, np.int64),
                np.zeros(n, np.int64),
                *(np.full(n * demands, -1, np.int64) for _ in range(3)),
            )
            self.tally = np.zeros(5, np.int64)
            done = tables.fill(self.given, self.patterns, self.members, self.tally, self.lumps)
            filled, with_units = self.tally[[tables.FILLED, tables.UNIT_FILLED]]
            crowded, too_few = filled > size / 3, with_units > units / 3
            if done and not crowded and not too_few:
                return
            self.room *= 4 if crowded else 1
            self.unit_room *= 4 if too_few else 1

    def _step(self, moves: int, heats: np.ndarray, heed: float) -> int:
        # Without noise at the start.
        noise = _NOISE if heats.any() else 0.0
        done = kernel.search(
            self.given, self.patterns, self.members, self.tally, self._log, heed * self.unit,
            noise, self.state, self._chosen, moves, heats * self.unit, _SLACK * self.unit,
        )  # fmt: skip
        full = tables.ROOM * np.array([self.room, self.unit_room + 1])
        if (self.tally[[tables.FILLED, tables.UNIT_FILLED]] > full).any():
            self._lay_out()
        return int(done)

    # The search

    def run(self, seconds: float | None, moves: int | None) -> None:
        """Mend, then search for some time, or for a number of moves; the best is kept."""
        self._log, self._chosen = np.zeros((2, _LOG, 3), np.int64)
        try:
            self._start()
        except KeyboardInterrupt:
            # Half a start is nothing that could be repeated: it is made again, and is the result.
            self.stopped, moves = True, 0
            self.masks[:], self.state[:] = 0, self.seed
            self._lay_out()
            self._start()
        end = None if moves is not None else time.monotonic() + (seconds or 0.0)
        best, least = self.masks.copy(), self._cost()
        self.trace.add(0, least)
        try:
            for done in self._slices(end, moves):
                found, cost = self.masks, self._cost()
                if cost >= least - 1e-9:
                    found, cost = best, least
                # At once, so that whenever it is stopped the same moves give the same again.
                best, least, self.moves = found.copy(), cost, done
                self.trace.add(done, least)
        except KeyboardInterrupt:
            self.stopped = True
        self.masks[:] = best
        self._lay_out()
        kernel.give_back(self.given, self.patterns, self.members, self.tally, self._log)

    def _slices(self, end: float | None, moves: int | None) -> Iterator[int]:
        """Search slice by slice; yields the moves so far."""
        whole, done = _cycle(self.problem), 0
        heats = _HOT * (_COLD / _HOT) ** (np.arange(whole) / whole)
        while self.tally[tables.TOUCHED]:
            if done == moves or (end is not None and time.monotonic() >= end):
                return
            stop = done // _SLICE * _SLICE + _SLICE
            stop = stop if moves is None else min(stop, moves)
            while done < stop:
                done += self._step(stop - done, heats[np.arange(done, stop) % whole], _HEED)
            yield done

    def _start(self) -> None:
        """Mend all patterns; what that does not do is blanked by force."""
        heed, before, rounds = _HEED, np.inf, 0
        while self.tally[tables.BAD] and rounds < _MOST_ROUNDS:
            self._step(_STEPS, np.zeros(1), heed)
            bad = self.tally[tables.BAD]
            if bad > 0.9 * before:
                heed, rounds = heed * _RISE, rounds + 1
            before = bad
        if self.tally[tables.BAD]:
            self._force()

    def _force(self) -> None:
        """Blank what is not fixed in combinations that are too rare, until none is.

        Where those with nothing but blanks are too few themselves, others join them; what fixed
        columns alone give away is left out.
        """
        free = self.given.free & ~self.given.nulls[self.given.tuples]
        while (columns := _rare(self.problem, self)).any():
            rare = columns != 0
            more = columns & free & ~self.masks
            # Blanks only become more, so that this ends.
            wanted = int(np.bitwise_or.reduce(columns)) & free & ~self.masks
            others = np.flatnonzero(~rare & (self.masks != GONE) & (wanted != 0))
            alike = others[self._have_fixed_of(others, np.flatnonzero(rare))]
            if more.any():
                self.masks |= more
            elif len(alike):
                some = alike[: int(rare.sum())]
                self.masks[some] |= wanted[some]
            elif np.isfinite(self.problem.record_price):
                self.masks[rare] = GONE
            else:
                raise Infeasible(int(self.given.rows[rare].sum()))
        self._lay_out()

    def _have_fixed_of(self, some: np.ndarray, rare: np.ndarray) -> np.ndarray:
        """Mark members whose fixed values are those of a rare one, in a demand's columns."""
        found = np.zeros(len(some), bool)
        tuples = self.given.tuples
        for demand in self.problem.demands:
            fixed = demand.columns & ~self.given.free
            columns = [c for c in range(len(self.problem.weights)) if fixed >> c & 1]
            if not columns:
                return np.ones(len(some), bool)
            codes = self.problem.codes[:, columns].T.astype(np.int64) - 1
            ids = classes_of(codes, self.problem.sizes[columns])[0]
            found |= np.isin(ids[tuples[some]], ids[tuples[rare]])
        return found

    # The result

    def _cost(self) -> float:
        blanked = np.flatnonzero(self.masks)
        prices = self.problem.price(self.masks[blanked], self.given.tuples[blanked])
        return float((prices * self.given.rows[blanked]).sum())

    def solution(self) -> Solution:
        """Return the members with blanks, those of a tuple with equal ones together."""
        some = np.flatnonzero(self.masks)
        tuples, masks = self.given.tuples[some], self.masks[some]
        held = None
        if self.problem.held is not None:
            order = np.lexsort((masks, tuples))
            tuples, masks, held = tuples[order], masks[order], some[order]
            members = np.ones(len(some), np.int64)
        else:
            (tuples, masks), members = np.unique(
                np.stack([tuples, masks]), axis=1, return_counts=True
            )
        trace = self.trace.to_dict()
        return Solution(
            tuples, masks, members, held, moves=self.moves, stopped=self.stopped, trace=trace
        )


def _words(codes: np.ndarray, seed: np.uint64) -> np.ndarray:
    """Return a random word for each cell, by column and value; 0 for a null."""
    columns = np.arange(codes.shape[1], dtype=np.uint64) << np.uint64(33)
    word = codes.astype(np.uint64) + columns ^ seed
    for _ in range(2):
        word = word + np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    return np.where(codes == 0, np.uint64(0), word)


def _sets(problem: Problem, demanded: int) -> list[int]:
    """Return the sets of columns in which others may agree: all, or a demand's, but for a few."""
    found: set[int] = set()
    most = min(_MOST_SETS, _MOST_BYTES // (4 * len(problem.codes) + 1))
    bases = list(dict.fromkeys([demanded, *(demand.columns for demand in problem.demands)]))
    for left_out in range(3):
        for base in bases:
            columns = [1 << c for c in range(len(problem.weights)) if base >> c & 1]
            for some in combinations(columns, left_out):
                if len(found) >= max(most, 1):
                    return sorted(found)
                found.add(base & ~sum(some))
    return sorted(found)


def _order(words: np.ndarray, columns: int) -> np.ndarray:
    shown = [c for c in range(words.shape[1]) if columns >> c & 1]
    return np.argsort(words[:, shown].sum(axis=1, dtype=np.uint64), kind="stable")
