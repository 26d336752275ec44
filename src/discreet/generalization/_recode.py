"""Recode one group of tuples: search, keep the classes that hold, and where asked search again."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._match import Matching
from discreet.generalization._tuples import Tuples
from discreet.generalization.quality import Quality
from discreet.generalization.search import Certificate, Found, Search, judge
from discreet.kernels import lattice as kernels
from discreet.kernels.lattice import Lattice, Table
from discreet.kernels.privacy import Rules


@dataclass(frozen=True)
class Round:
    """One search, and what came of it.

    `members` are the tuples of the group that took part, `classes` those that keep the models, and
    `class_of` the place there of each member's class, -1 where it is not kept. `trace` has seconds,
    evaluations and quality.
    """

    levels: tuple[int, ...]
    members: np.ndarray
    class_of: np.ndarray
    classes: Table
    certificate: Certificate
    trace: dict[str, list[float]]

    @property
    def kept(self) -> np.ndarray:
        """Tell which members are kept."""
        return self.class_of >= 0

    def without(self, gone: np.ndarray, lattice: Lattice) -> Round:
        """Take out the classes of some members."""
        stays = np.full(len(self.classes.counts), True)
        stays[self.class_of[gone & self.kept]] = False
        place = np.append(np.where(stays, np.cumsum(stays) - 1, -1), -1)
        classes = Tuples(lattice, self.classes).part(stays).table
        return replace(self, class_of=place[self.class_of], classes=classes)


@dataclass
class Budget:
    """Seconds or evaluations that are left; each search takes its share."""

    time_limit: float | None
    evaluations: int | Sequence[int] | None
    searches: int = 1
    spent: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._end = math.inf
        if self.time_limit is not None:
            self._end = time.perf_counter() + self.time_limit

    def share(self) -> tuple[float | None, int | None]:
        """Return the seconds and the evaluations of the next search."""
        number = len(self.spent)
        left = None
        if self.time_limit is not None:
            waiting = max(1, self.searches - number)
            left = max(0.0, (self._end - time.perf_counter()) / waiting)
        most = self.evaluations
        if isinstance(most, Sequence):
            most = most[number] if number < len(most) else most[-1]
        return left, most


@dataclass(frozen=True)
class Settings:
    """What a search is to do."""

    quality: str
    aggregate: str
    weights: Sequence[float]
    limit: float
    lo: Sequence[int]
    hi: Sequence[int]
    local: bool
    matching: Matching | None = None
    draws: Draws | None = None  # where the best node is not simply taken

    def search(self, tuples: Tuples, rules: Rules, quality: Quality, allowed: int) -> Search:
        """Return the search for the best node that suppresses no more records than are allowed."""
        return Search(tuples, rules, quality, allowed, self.lo, self.hi, self.matching)


class Infeasible(BadInput):
    """No node is within the limit; `works` is the smallest limit that is."""

    def __init__(self, message: str, works: float) -> None:
        super().__init__(message)
        self.works = works


def recode(
    tuples: Tuples, rules: Rules, settings: Settings, budget: Budget, who: str
) -> list[Round]:
    """Find the best node; with `local`, again for what it suppresses until no class is gained."""
    rounds = [_round(tuples, np.arange(len(tuples.table.counts)), rules, settings, budget, who)]
    while settings.local:
        last = rounds[-1]
        members = last.members[~last.kept]
        if not last.kept.any() or not len(members):
            break
        left = np.zeros(len(tuples.table.counts), bool)
        left[members] = True
        again = _round(tuples.part(left), members, rules, settings, budget, "", limit=1.0)
        if not again.kept.any():
            break
        rounds.append(again)
    return rounds


def _round(
    tuples: Tuples,
    members: np.ndarray,
    rules: Rules,
    settings: Settings,
    budget: Budget,
    who: str,
    limit: float | None = None,
) -> Round:
    limit = settings.limit if limit is None else limit
    n = tuples.n
    quality = Quality(settings.quality, tuples, settings.aggregate, settings.weights)
    allowed = math.floor(limit * n + 1e-9)
    draws = settings.draws, len(budget.spent)
    found = settings.search(tuples, rules, quality, allowed).run(*budget.share(), *draws)
    if found is None:
        raise _infeasible(tuples, rules, settings, who)
    budget.spent.append(found.certificate.evaluations)
    bottom, node = np.zeros(tuples.d, np.int64), np.array(found.levels, np.int64)
    table, ids = kernels.roll_up(tuples.lattice, tuples.table, bottom, node)
    out, _ = judge(tuples.lattice, rules, table, node, settings.matching)
    held = out == 0
    classes = Tuples(tuples.lattice, table).part(held).table
    class_of = np.where(held, np.cumsum(held) - 1, -1)[ids]
    return Round(found.levels, members, class_of, classes, found.certificate, found.trace)


def _infeasible(tuples: Tuples, rules: Rules, settings: Settings, who: str) -> Infeasible:
    """Find the fewest records that must be suppressed, and say which limit allows it."""
    n = tuples.n
    quality = Quality("suppressed", tuples)
    found = settings.search(tuples, rules, quality, n).run()
    assert isinstance(found, Found)
    works = math.ceil(found.suppressed / n * 10_000 - 1e-6) / 10_000
    advice = f"set suppression_limit = {works:g} or more, or weaken the models"
    everything = np.full(len(tuples.table.counts), True)
    if not who and works == 1 and not kernels.together(rules, tuples.table, everything):
        # No limit leaves anything of the table.
        advice = "weaken the models"
    return Infeasible(
        f"suppression_limit = {settings.limit:g} cannot be met{who}: at least "
        f"{found.suppressed:,} of {n:,} records must be suppressed to keep the privacy models; "
        + advice,
        works,
    )
