"""Choices that are judged: each once, first on few queries, and until the budget is spent."""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from discreet.tuning.figures import Figures, Profile, Together
from discreet.tuning.journal import Journal
from discreet.tuning.pareto import hypervolume, on_map
from discreet.tuning.space import Choice

# Of the queries, those that a choice is judged on first, and how many they are at least.
_RACED = 0.05
_FEWEST = 50
# Standard errors by which a choice must look worse than a point of the front to be dropped.
_BEYOND = 2.0
# Points of a score by which a choice must look worse than the last of the parents to be dropped.
_WORSE = 0.25
# Parents where only one figure counts.
POPULATION = 32
# Seconds between two reports of progress.
_REPORTS = 0.5


class Judge(Protocol):
    """What tells the figures of a choice; see `discreet.tuning.judge`."""

    @property
    def queries(self) -> int:
        """Records that are looked for where all are."""

    def figures(self, choice: Choice, queries: int | None = None) -> Figures:
        """Return the figures of a choice, its risk on some queries or on all."""

    def checked(self, choice: Choice, figures: Figures) -> Figures:
        """Return the figures of a choice with by how much it breaks minimum standards."""

    def profile(self, part: int, option: int) -> Profile:
        """Return what an option of a column part costs and tells."""

    def together(self, part: int, option: int) -> Together | None:
        """Return what an option of a joint part costs and tells; None if it cannot be."""


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    `best` are the figures of the point that is best so far: the one with the least loss within the
    bound on risk where there is one, else the one nearest to no risk and no loss.
    """

    evaluations: int
    seconds: float
    points: int
    best: Figures | None
    doing: str = "searching"


@dataclass(frozen=True)
class Budget:
    """When to end: after so many choices, or so many seconds; None for never."""

    evaluations: int | None = None
    seconds: float | None = None


class Finished(Exception):
    """The budget is spent."""


class Trials:
    """The choices that were judged, and the front that they make.

    Parameters
    ----------
    judge : Judge
        What tells the figures.
    rows : int
        Of the table that is searched.
    budget : Budget
        When to end.
    single : bool
        One figure counts, the mean of risk and loss, and not the front of both.
    journal : Journal, optional
        What is known already, and where to write what will be.
    progress : callable, optional
        Called with a `Progress` now and then.
    bound : float, optional
        On the risk, for the best so far.
    """

    def __init__(
        self,
        judge: Judge,
        rows: int,
        budget: Budget,
        *,
        single: bool = False,
        journal: Journal | None = None,
        progress: Callable[[Progress], None] | None = None,
        bound: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.judge, self.rows, self.budget, self.single = judge, rows, budget, single
        self.journal = journal or Journal(None, {})
        self.seen: set[Choice] = set()
        # Those that were judged in full, in order.
        self.judged: dict[Choice, Figures] = {}
        # Of them the best by the single figure, with it, where only that counts.
        self.best_first: list[tuple[float, float, Choice]] = []
        # Of them those that are not dominated, by rising risk and falling loss.
        self.front: list[Choice] = []
        # The latest figures, on some queries or on all.
        self.last: Figures | None = None
        self._risks: list[float] = []
        self._losses: list[float] = []
        self._broken = math.inf
        self._progress, self._bound, self._clock = progress, bound, clock
        self._start, self._reported = clock(), 0.0

    @property
    def evaluations(self) -> int:
        """Choices that were judged, on some queries or on all."""
        return len(self.seen)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def judge_in_full(self, choice: Choice) -> Figures:
        """Judge a choice that was not seen before on all queries."""
        self._begin(choice)
        return self._keep(choice)

    def race(self, choice: Choice) -> Figures | None:
        """Judge a choice on few queries first, and in full if it may be on the front.

        Its loss is known at once, so only its risk is uncertain.
        """
        self._begin(choice)
        some = max(_FEWEST, int(_RACED * self.judge.queries))
        if self.single:
            if len(self.best_first) == POPULATION:
                broken, score, _ = _ranked(choice, self._figures(choice, some))
                if (broken, score - _WORSE) > self.best_first[-1][:2]:
                    return None
        elif self.front and 2 * some <= self.judge.queries:
            first = self._figures(choice, some)
            # One more that is found and one that is not: none of few may be chance.
            share = (first.risk * some + 1) / (some + 2)
            slack = _BEYOND * math.sqrt(share * (1 - share) / some)
            if self._beaten(Figures(first.risk - slack, first.loss, first.broken)):
                return None
        return self._keep(choice)

    def best(self) -> Figures | None:
        """Return the figures of the point that is best so far."""
        points = [self.judged[choice] for choice in self.front]
        if self._bound is not None:
            points = [one for one in points if one.risk <= self._bound] or points[:1]
            return min(points, key=lambda one: one.loss, default=None)
        if self.single:
            return self.judged[self.best_first[0][-1]] if self.best_first else None
        return min(points, key=lambda one: sum(on_map(one, self.rows)), default=None)

    def covered(self) -> float:
        """Return the hypervolume of the front."""
        return hypervolume((self.judged[choice] for choice in self.front), self.rows)

    def go_on(self) -> None:
        """Raise `Finished` if the budget is spent, and tell how far it is now and then."""
        spent, now = self.budget, self.seconds
        if spent.evaluations is not None and self.evaluations >= spent.evaluations:
            raise Finished
        if spent.seconds is not None and now >= spent.seconds:
            raise Finished
        if now - self._reported >= _REPORTS:
            self._reported = now
            self.tell("searching")

    def tell(self, doing: str) -> None:
        """Tell how far it is, and what is being done."""
        if self._progress:
            found = len(self.front)
            self._progress(Progress(self.evaluations, self.seconds, found, self.best(), doing))

    def _begin(self, choice: Choice) -> None:
        """Count a choice; the first is judged whatever the budget."""
        if self.seen:
            self.go_on()
        self.seen.add(choice)

    def _figures(self, choice: Choice, queries: int | None) -> Figures:
        known = self.journal.get(choice, queries)
        if known is None:
            known = self.judge.figures(choice, queries)
            # Standards take long: those of points that others beat do not matter.
            if queries is None and (self._broken > 0 or not self._beaten(known)):
                known = self.judge.checked(choice, known)
            known = _rounded(known)
            self.journal.add(choice, queries, known)
        self.last = known
        return known

    def _keep(self, choice: Choice) -> Figures:
        figures = self.judged[choice] = self._figures(choice, None)
        if self.single:
            insort(self.best_first, _ranked(choice, figures))
            del self.best_first[POPULATION:]
        if figures.broken < self._broken:
            self.front, self._risks, self._losses = [], [], []
            self._broken = figures.broken
        if figures.broken == self._broken and not self._beaten(figures):
            # Those that it beats have at least its risk and at least its loss.
            start = bisect_left(self._risks, figures.risk)
            end = start
            while end < len(self.front) and self._losses[end] >= figures.loss:
                end += 1
            self.front[start:end] = [choice]
            self._risks[start:end] = [figures.risk]
            self._losses[start:end] = [figures.loss]
        return figures

    def _beaten(self, figures: Figures) -> bool:
        """Tell whether some point of the front is at least as good."""
        if figures.broken != self._broken:
            return figures.broken > self._broken
        place = bisect_right(self._risks, figures.risk)
        return place > 0 and self._losses[place - 1] <= figures.loss


def _ranked(choice: Choice, figures: Figures) -> tuple[float, float, Choice]:
    """Return what choices are ordered by where one figure counts: the mean of risk and loss."""
    return figures.broken, (figures.risk + figures.loss) / 2, choice


def _rounded(figures: Figures) -> Figures:
    """Return figures with 12 digits: sums may differ in the last ones from machine to machine."""
    return Figures(*(float(f"{x:.12g}") for x in (figures.risk, figures.loss, figures.broken)))
