"""Recode one group of tuples: search, keep the classes that hold, and where asked go on."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.draws import Draws
from discreet.errors import Unmet
from discreet.generalization._match import Matching
from discreet.generalization._rounds import BY_SIZE, PerRecord, RoundSearch, fewest
from discreet.generalization._targets import Targets
from discreet.generalization._tuples import Tuples
from discreet.generalization.by_class import Asked
from discreet.generalization.quality import Quality
from discreet.generalization.search import Certificate, Found, Levels, Search, judge
from discreet.kernels import lattice as kernels
from discreet.kernels.lattice import Lattice, Table
from discreet.kernels.privacy import Rules


@dataclass(frozen=True)
class Round:
    """One search, and what came of it.

    `members` are the tuples of the group that are kept, `classes` their classes, and `class_of` the
    place there of each member's class, -1 where it was taken out again. `rows` are the records that
    took part. `trace` has seconds, evaluations and quality.
    """

    levels: tuple[int, ...]
    rows: int
    members: np.ndarray
    class_of: np.ndarray
    classes: Table
    certificate: Certificate
    trace: dict[str, list[float]]

    @property
    def kept(self) -> np.ndarray:
        """Return the members that are still kept."""
        return self.members[self.class_of >= 0]

    def without(self, gone: np.ndarray, lattice: Lattice) -> Round:
        """Take out the classes of some members."""
        stays = np.full(len(self.classes.counts), True)
        stays[self.class_of[gone & (self.class_of >= 0)]] = False
        place = np.append(np.where(stays, np.cumsum(stays) - 1, -1), -1)
        classes = Tuples(lattice, self.classes).part(stays).table
        return replace(self, class_of=place[self.class_of], classes=classes)


@dataclass
class Budget:
    """Seconds or evaluations that are left; each group takes its share, and each search of it."""

    time_limit: float | None
    evaluations: int | Sequence[int] | None
    groups: int = 1
    spent: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._end = self._next = time.perf_counter() + (self.time_limit or math.inf)

    def start_group(self) -> None:
        """Let the next group have its share of the seconds."""
        now = time.perf_counter()
        self._next = now + (self._end - now) / max(1, self.groups)
        self.groups -= 1

    def share(self, part: float = 1.0) -> tuple[float | None, int | None]:
        """Return the evaluations of the next search, and part of the seconds of its group."""
        number = len(self.spent)
        left = None
        if self.time_limit is not None:
            left = max(0.0, (self._next - time.perf_counter()) * part)
        most = self.evaluations
        if isinstance(most, Sequence):
            most = most[number] if number < len(most) else most[-1]
        return left, most


@dataclass(frozen=True)
class Settings:
    """What a search is to do."""

    quality: Asked
    limit: float
    lo: Sequence[int]
    hi: Sequence[int]
    round_share: float | None = None  # of local recoding
    matching: Matching | None = None
    draws: Draws | None = None  # where the best node is not simply taken
    targets: Targets | None = None  # of the whole table

    def search(self, tuples: Tuples, rules: Rules, quality: Quality, allowed: int) -> Search:
        """Return the search for the best node that suppresses no more records than are allowed."""
        search = Search(tuples, rules, quality, allowed, self.lo, self.hi, self.matching)
        search.targets = self.targets
        return search


class Infeasible(Unmet):
    """No node is within the limit; `works` is the smallest limit that is.

    `needs` says for which records, and how many of them must be suppressed.
    """

    works: float
    needs = ""

    def beside(self, others: Sequence[Infeasible]) -> Infeasible:
        """Tell what other groups of records need, too."""
        needed = [one.needs for one in others if one.needs and self.needs]
        return Infeasible(", nor ".join([self.what, *needed]), self.advice, self.works)


def recode(
    tuples: Tuples, rules: Rules, settings: Settings, budget: Budget, who: str
) -> list[Round]:
    """Find the best node of a group; with local recoding one node after the other."""
    budget.start_group()
    run = _Recoding(tuples, rules, settings, budget)
    if settings.round_share is not None:
        run.by_rounds(settings.round_share)
    if not run.keep_limit():
        raise _infeasible(tuples, rules, settings, who)
    if settings.round_share is not None:
        # Of what one node left for the limit's sake, others may keep some.
        run.by_rounds(settings.round_share)
    return run.rounds


class _Recoding:
    """A group whose tuples are in some round, or left."""

    def __init__(self, tuples: Tuples, rules: Rules, settings: Settings, budget: Budget) -> None:
        self.rules, self.settings, self.budget = rules, settings, budget
        self.tuples = self.left = settings.quality.ready(tuples)
        self.members = np.arange(len(tuples.table.counts))
        self.rounds: list[Round] = []

    def by_rounds(self, share: float) -> None:
        """Take node after node, until none keeps anything of what is left."""
        settings, rules = self.settings, self.rules
        price = None
        if (asked := settings.quality).name not in BY_SIZE:
            price = PerRecord(asked.name, self.tuples, asked.aggregate, asked.weights)
        most: dict[Levels, int] = {}
        while self.left.n >= rules.k:
            least = fewest(rules.k, share, self.tuples.n, self.left.n) if price else rules.k
            ranges = settings.lo, settings.hi, settings.matching
            search = (
                RoundSearch(self.left, rules, price, least, *ranges, most)
                if price
                else self._search(self.left.n - least)
            )
            search.targets = settings.targets
            # If all keep so many, this is the share of each round that is to come; the first take
            # longest.
            found = self._run(search, max(least / self.left.n, 0.1))
            if found is None:
                break
            self._take(found)

    def keep_limit(self) -> bool:
        """See to it that no more records are left than the limit allows; tell whether they are.

        One node for all of them does that. With local recoding the last rounds are taken back
        first: one, two more, four more, and so on.
        """
        allowed = math.floor(self.settings.limit * self.tuples.n + 1e-9)
        back = 1
        while not self.rounds or self.left.n > allowed:
            self._take_back(back)
            found = self._run(self._search(allowed))
            if found is not None:
                self._take(found)
            elif not self.rounds:
                return False
            back *= 2
        return True

    def _search(self, allowed: int) -> Search:
        settings = self.settings
        return settings.search(self.left, self.rules, settings.quality.on(self.left), allowed)

    def _run(self, search: Search, part: float = 1.0) -> Found | None:
        """Search with a part of the seconds that are left."""
        budget = self.budget
        found = search.run(*budget.share(part), self.settings.draws, len(budget.spent))
        budget.spent.append(max(1, len(search.known)))
        return found

    def _take(self, found: Found) -> None:
        """Keep what a node keeps of the tuples that are left."""
        left, lattice = self.left, self.left.lattice
        bottom, node = np.zeros(left.d, np.int64), np.array(found.levels, np.int64)
        table, ids = kernels.roll_up(lattice, left.table, bottom, node)
        out, _ = judge(lattice, self.rules, table, node, self.settings.matching)
        if self.settings.targets is not None:
            out = self.settings.targets.judge(lattice, table, node, out, left.n)
        # A class that only the population has is none of the release.
        held = (out == 0) & (table.counts > 0)
        classes = Tuples(lattice, table).part(held).table
        class_of = np.where(held, np.cumsum(held) - 1, -1)[ids]
        kept = class_of >= 0
        proof = found.certificate, found.trace
        members = self.members[kept]
        self.rounds.append(Round(found.levels, left.n, members, class_of[kept], classes, *proof))
        self.members, self.left = self.members[~kept], left.part(~kept)

    def _take_back(self, many: int) -> None:
        """Undo some of the last rounds."""
        if not self.rounds:
            return
        again = [one.members for one in self.rounds[-many:]]
        del self.rounds[-many:]
        self.members = np.sort(np.concatenate([self.members, *again]))
        chosen = np.zeros(len(self.tuples.table.counts), bool)
        chosen[self.members] = True
        self.left = self.tuples.part(chosen)


def _infeasible(tuples: Tuples, rules: Rules, settings: Settings, who: str) -> Infeasible:
    """Find the fewest records that must be suppressed, and say which limit allows it."""
    n = tuples.n
    quality = Quality("suppressed", tuples)
    found = settings.search(tuples, rules, quality, n).run()
    if found is None:
        raise Infeasible(
            "at these levels some class of the population has no record in the table"
            f"{who}, whatever is suppressed, and delta-presence with a minimum above 0 forbids "
            "that",
            "allow higher levels, or set minimum = 0",
            1.0,
        )
    works = math.ceil(found.suppressed / n * 10_000 - 1e-6) / 10_000
    advice = f"set suppression_limit = {works:g} or more, or weaken the models"
    everything = np.full(len(tuples.table.counts), True)
    if not who and works == 1 and not kernels.together(rules, tuples.table, everything):
        # No limit leaves anything of the table.
        advice = "weaken the models"
    least = f"{who}: at least {found.suppressed:,} of {n:,}"
    error = Infeasible(
        f"suppression_limit = {settings.limit:g} cannot be met{least} records must be suppressed "
        "to keep the privacy models",
        advice,
        works,
    )
    error.needs = least.strip()
    return error
