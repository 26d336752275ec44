"""Quality models that look at whole classes: what these are worth, or how well they predict.

Each tells of a node its value, and two figures that bound the nodes between `lo` and `hi`: what no
node above `lo` costs less than, and what the records that no node below `hi` can keep cost besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.generalization._tuples import Tuples
from discreet.generalization.profit import Figures
from discreet.generalization.quality import Quality, factors
from discreet.kernels import lattice as kernels
from discreet.kernels import worth
from discreet.kernels.lattice import Table

# Sums over classes differ by no more, relative to what they add up, whatever their order.
_SLACK = 1e-12
# These keep no price of a single record.
BY_CLASS = ("kl-divergence", "kl-divergence-by-record", "classification", "payout")
# Suppressed, barred, value, least and total, as a node of the search has them.
Learned = tuple[int, int, float, list[float], Any]


@dataclass(frozen=True)
class Asked:
    """The quality model that is asked for, with what it needs.

    `weights` are by column; `target` is the column to predict: its number where it is treated, or
    its places on the axis of values.
    """

    name: str
    aggregate: str = "geometric"
    weights: Sequence[float] | None = None
    factor: float = 0.5
    target: int | tuple[int, int] | None = None
    payout: Figures | None = None
    # Where the squares of tuples' counts are, for the divergence by record.
    squares: int = -1
    # Where the population is counted, if an intruder finds records among its.
    among: int = -1

    @property
    def by_class(self) -> bool:
        """True for the models of this module."""
        return self.name in BY_CLASS or (self.name == "entropy-based" and self.factor != 0.5)

    def on(self, tuples: Tuples) -> Quality:
        """Return the model on a set of tuples."""
        if self.name == "kl-divergence":
            return Divergence(tuples)
        if self.name == "kl-divergence-by-record":
            return DivergenceByRecord(tuples, self.squares)
        if self.name == "classification":
            assert self.target is not None
            return Classification(tuples, self.target, self.factor)
        if self.name == "payout":
            assert self.payout is not None
            return PayoutCost(tuples, self.payout, self.among)
        if self.name == "entropy-based" and self.factor != 0.5:
            return WeighedEntropy(tuples, self.factor)
        return Quality(self.name, tuples, self.aggregate, self.weights, self.factor)

    def ready(self, tuples: Tuples) -> Tuples:
        """Return the tuples with what the model counts in them."""
        return with_squares(tuples, self.squares) if self.squares >= 0 else tuples


class ByClass(Quality):
    """Base of the models of this module; g of the entropy-based loss is known by column."""

    def __init__(self, name: str, tuples: Tuples, factor: float = 0.5) -> None:
        super().__init__("entropy-based", tuples)
        self.name, self.lattice = name, tuples.lattice
        self.of_kept, self.of_gone = factors(factor)
        self.whole = float(np.prod(self.lattice.domain))

    def learn(
        self,
        levels: Sequence[int],
        table: Table,
        node: np.ndarray,
        out: np.ndarray,
        sure: np.ndarray,
        stays: np.ndarray,
    ) -> Learned:
        """Learn of a node what the search needs.

        `out` and `sure` are as `kernels.judge` has them; `stays` marks the classes whose records
        every coarser node keeps too.
        """
        raise NotImplementedError

    def united(self, kept: Sequence[tuple[Table, np.ndarray]], gone: Sequence[Tuples]) -> float:
        """Return the quality of tables of kept classes with their levels, and suppressed tuples."""
        raise NotImplementedError

    def _penalties(
        self, table: Table, node: np.ndarray, out: np.ndarray, sure: np.ndarray
    ) -> Sequence[tuple[int, np.ndarray]]:
        """Return the penalties of what is suppressed here, and at every finer node."""
        given = self.lattice, table, node
        here = kernels.penalties(*given, out, self.kind, self.n)
        finer = here if sure is out else kernels.penalties(*given, sure, self.kind, self.n)
        return here, finer

    def _records_lost(self, kept: Sequence[tuple[Table, np.ndarray]]) -> float:
        """Sum the shares of information that kept records lose."""
        nothing = [np.zeros_like(table.counts) for table, _ in kept]
        return sum(
            worth.capped(self.lattice, table, node, none, none == 0, 1.0)[0]
            for (table, node), none in zip(kept, nothing, strict=True)
        )


class PayoutCost(ByClass):
    """What the publisher is short of: benefits lost with information, and losses by attacks."""

    def __init__(self, tuples: Tuples, payout: Figures, place: int = -1) -> None:
        super().__init__("payout", tuples)
        self.figures, self.benefit = (payout.figures, place), float(payout.benefit)

    def learn(
        self,
        levels: Sequence[int],
        table: Table,
        node: np.ndarray,
        out: np.ndarray,
        sure: np.ndarray,
        stays: np.ndarray,
    ) -> Learned:
        """Learn of a node what the search needs."""
        (suppressed, penalty), (barred, least) = self._penalties(table, node, out, sure)
        hits, more = worth.attacked(self.lattice, table, node, *self.figures, out, sure)
        value = self.value(levels, [*penalty.tolist(), hits], 0.0)
        return suppressed, barred, value, [*least.tolist(), more], 0.0

    def value(self, levels: Sequence[int], penalty: Sequence[float], total: Any) -> float:
        """Return the quality of a node; what attacks cost is after the columns' penalties."""
        lost = super().value(levels, penalty[: len(self.domain)], total)
        return self.benefit * lost + sum(penalty[len(self.domain) :])

    def bound(self, lo: Sequence[int], total: Any, least: Sequence[float]) -> float:
        """Return what no node between `lo` and `hi` is below."""
        return self.value(lo, least, total) - _SLACK * self.benefit * self.n

    def united(self, kept: Sequence[tuple[Table, np.ndarray]], gone: Sequence[Tuples]) -> float:
        """Return the quality of all groups and rounds."""
        lost = self._records_lost(kept) + sum(one.n for one in gone)
        hits = 0.0
        for table, node in kept:
            none = np.zeros_like(table.counts)
            hits += worth.attacked(self.lattice, table, node, *self.figures, none, none)[0]
        return self.benefit * lost + hits


class WeighedEntropy(ByClass):
    """The entropy-based loss where suppression and generalization do not cost alike."""

    def __init__(self, tuples: Tuples, factor: float) -> None:
        super().__init__("entropy-based", tuples, factor)
        # A cheap suppression is a limit to what any record costs.
        self.by_column = self.of_gone >= self.of_kept

    def learn(
        self,
        levels: Sequence[int],
        table: Table,
        node: np.ndarray,
        out: np.ndarray,
        sure: np.ndarray,
        stays: np.ndarray,
    ) -> Learned:
        """Learn of a node what the search needs."""
        (suppressed, penalty), (barred, least) = self._penalties(table, node, out, sure)
        value = self._weighed(levels, penalty.tolist(), suppressed)
        if self.by_column:
            return suppressed, barred, value, [*least.tolist(), float(barred)], 0.0
        floor, more = worth.capped(self.lattice, table, node, sure, stays, self.of_gone)
        return suppressed, barred, value, [more], floor

    def bound(self, lo: Sequence[int], total: Any, least: Sequence[float]) -> float:
        """Return what no node between `lo` and `hi` is below."""
        slack = _SLACK * self.n
        if not self.by_column:
            return float(total) + least[0] - slack
        columns = len(self.domain)
        return self._weighed(lo, least[:columns], sum(least[columns:])) - slack

    def _weighed(self, levels: Sequence[int], penalty: Sequence[float], suppressed: float) -> float:
        # Suppressed records count 1 in the plain loss.
        plain = self._over_columns(levels, penalty)
        return self.of_kept * plain + (self.of_gone - self.of_kept) * suppressed

    def united(self, kept: Sequence[tuple[Table, np.ndarray]], gone: Sequence[Tuples]) -> float:
        """Return the quality of all groups and rounds."""
        suppressed = sum(one.n for one in gone)
        return self.of_kept * self._records_lost(kept) + self.of_gone * suppressed


class Divergence(ByClass):
    """How far the released distribution is from the input's, in bits.

    A class spreads its records evenly over the tuples that its labels stand for, and suppressed
    records are one class over all tuples. By the log sum inequality the divergence grows when
    classes are merged, and p of suppressed records is their own divergence if they had all tuples
    for themselves that no class of `lo` stands for.
    """

    def __init__(self, tuples: Tuples) -> None:
        super().__init__("kl-divergence", tuples)
        self.by_column = False
        self.own = _own(tuples.table.counts, 1)

    def learn(
        self,
        levels: Sequence[int],
        table: Table,
        node: np.ndarray,
        out: np.ndarray,
        sure: np.ndarray,
        stays: np.ndarray,
    ) -> Learned:
        """Learn of a node what the search needs."""
        kept, every, area, gone, of_gone = worth.diverged(self.lattice, table, node, out, sure)
        suppressed = int(out.sum())
        value = (self.own + kept + self._of(suppressed, self.whole)) / self.n
        return suppressed, int(sure.sum()), value, [float(gone), of_gone], (every, area)

    def bound(self, lo: Sequence[int], total: Any, least: Sequence[float]) -> float:
        """Return what no node between `lo` and `hi` is below."""
        (every, area), (gone, of_gone) = total, least
        more = 0.0
        if self.whole > area:
            more = max(0.0, self._of(gone, self.whole - area) - of_gone)
        value = self.own + every + more
        return value / self.n - _SLACK * (abs(value) / self.n + math.log2(max(self.whole, 2)))

    def _of(self, records: float, room: float) -> float:
        return records * math.log2(room / records) if records else 0.0

    def united(self, kept: Sequence[tuple[Table, np.ndarray]], gone: Sequence[Tuples]) -> float:
        """Return the quality of all groups and rounds."""
        nothing = [np.zeros_like(table.counts) for table, _ in kept]
        total = sum(
            worth.diverged(self.lattice, table, node, none, none)[0]
            for (table, node), none in zip(kept, nothing, strict=True)
        )
        total += self._of(sum(one.n for one in gone), self.whole)
        return (self.own + total) / self.n


class DivergenceByRecord(ByClass):
    """The same with each tuple's term once for every record that has it, as ARX sums.

    This need not grow with generalization: all nodes are tried.
    """

    def __init__(self, tuples: Tuples, squares: int) -> None:
        super().__init__("kl-divergence-by-record", tuples)
        self.by_column, self.squares = False, squares
        counts = tuples.table.counts
        self.own = _own(counts, 2)
        # No class has more records than there are, nor fewer tuples to stand for than one.
        self.floor = self.own - float((counts.astype(float) ** 2).sum()) * math.log2(self.n)

    def learn(
        self,
        levels: Sequence[int],
        table: Table,
        node: np.ndarray,
        out: np.ndarray,
        sure: np.ndarray,
        stays: np.ndarray,
    ) -> Learned:
        """Learn of a node what the search needs."""
        kept, gone = worth.diverged_by_record(self.lattice, table, node, out, self.squares)
        suppressed = int(out.sum())
        more = gone * math.log2(self.whole / suppressed) if suppressed else 0.0
        value = (self.own + kept + more) / self.n
        return suppressed, int(sure.sum()), value, [0.0], 0.0

    def bound(self, lo: Sequence[int], total: Any, least: Sequence[float]) -> float:
        """Return what no node is below."""
        return self.floor / self.n - _SLACK * abs(self.floor)

    def united(self, kept: Sequence[tuple[Table, np.ndarray]], gone: Sequence[Tuples]) -> float:
        """Return the quality of all groups and rounds."""
        total = self.own
        for table, node in kept:
            none = np.zeros_like(table.counts)
            total += worth.diverged_by_record(self.lattice, table, node, none, self.squares)[0]
        counts = np.concatenate([np.empty(0, np.int64), *(one.table.counts for one in gone)])
        if counts.any():
            squares = float((counts.astype(float) ** 2).sum())
            total += squares * math.log2(self.whole / counts.sum())
        return total / self.n


class Classification(ByClass):
    """The share of records that a prediction of the target by class gets wrong."""

    def __init__(self, tuples: Tuples, target: int | tuple[int, int], factor: float) -> None:
        super().__init__("classification", tuples, factor)
        self.by_column, self.target = False, target
        # Of a wrong record, of one of a class without a most frequent value, of a suppressed one.
        self.costs = np.array([self.of_kept, self.of_gone, factor])
        if isinstance(target, int):
            labels = np.diff(self.lattice.first[target, : self.height[target] + 2])
            self.lost = 1 - (labels - 1) / max(labels[0] - 1, 1) if labels[0] > 1 else labels * 0.0
            self.valued = self.n
        else:
            held = (tuples.table.values >= target[0]) & (tuples.table.values < target[1])
            self.valued = max(1, int(tuples.table.numbers[held].sum()))

    def learn(
        self,
        levels: Sequence[int],
        table: Table,
        node: np.ndarray,
        out: np.ndarray,
        sure: np.ndarray,
        stays: np.ndarray,
    ) -> Learned:
        """Learn of a node what the search needs."""
        cost, floor, more = self._cost(table, node, out, sure, stays)
        scale = 1 / self.valued
        return int(out.sum()), int(sure.sum()), cost * scale, [more * scale], floor * scale

    def bound(self, lo: Sequence[int], total: Any, least: Sequence[float]) -> float:
        """Return what no node between `lo` and `hi` is below."""
        return float(total) + least[0] - _SLACK

    def _cost(
        self,
        table: Table,
        node: np.ndarray,
        out: np.ndarray,
        sure: np.ndarray,
        stays: np.ndarray,
    ) -> tuple[float, float, float]:
        """Return the cost of all records, and what bounds it below and above."""
        if isinstance(self.target, int):
            given = self.lattice, table, node, out, stays, self.target, self.costs, self.lost
            wrong, tied, gone, floor = worth.predicted_key(*given)
            lost, more = float(self.lost[node[self.target]]), 0.0
            if lost == 1:
                wrong, tied = int(table.counts.sum()) - gone, 0
        else:
            wrong, tied, gone, floor, more = worth.predicted(
                table, out, sure, stays, *self.target, self.costs
            )
            lost = 0.0
        of_wrong, of_tied = (x * (1 - lost) + lost for x in self.costs[:2].tolist())
        return of_wrong * wrong + of_tied * tied + float(self.costs[2]) * gone, floor, more

    def united(self, kept: Sequence[tuple[Table, np.ndarray]], gone: Sequence[Tuples]) -> float:
        """Return the quality of all groups and rounds."""
        total = 0.0
        for table, node in kept:
            none = np.zeros_like(table.counts)
            total += self._cost(table, node, none, none, none == 0)[0]
        bottom = np.zeros(len(self.domain), np.int64)
        for one in gone:
            counts = one.table.counts
            total += self._cost(one.table, bottom, counts, counts, counts == 0)[0]
        return total / self.valued


def with_squares(tuples: Tuples, place: int) -> Tuples:
    """Count at a place of each tuple the square of its records."""
    table = tuples.table
    m = len(table.counts)
    ends = table.starts[1:] if len(table.starts) > 1 else np.zeros(m, np.int64)
    values = np.insert(table.values, ends, np.int32(place))
    numbers = np.insert(table.numbers, ends, table.counts**2)
    starts = np.append(0, ends + np.arange(1, m + 1))
    return replace(tuples, table=table._replace(starts=starts, values=values, numbers=numbers))


def _own(counts: np.ndarray, power: int) -> float:
    """Sum m^power log2(m) over the counts of tuples."""
    m = counts[counts > 0].astype(np.float64)
    return math.fsum((m**power * np.log2(m)).tolist())
