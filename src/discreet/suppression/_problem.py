"""Local suppression as a problem: tuples, prices and demands; and what a solution of it is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.errors import BadInput

# The set of columns that stands for a record that is left out as a whole.
GONE = -1


@dataclass(frozen=True)
class Demand:
    """Some key columns, as a set of bits, whose combinations k members must share."""

    columns: int
    k: int


@dataclass(frozen=True)
class Held:
    """Which tuple is held by which unit, where units are counted: one entry a pair, by tuple."""

    tuples: np.ndarray
    units: np.ndarray
    rows: np.ndarray  # what a blank must be paid for


@dataclass(frozen=True)
class Problem:
    """Distinct tuples of the key columns, of which as little as possible is to be blanked.

    A *member* of a tuple is a record, or a unit where units are counted: then `held` has the
    members of each tuple one by one, and a unit that several tuples of a pattern have counts once.
    """

    codes: np.ndarray  # int32, tuples by columns: 0 where the input is null, else 1, 2, ...
    sizes: np.ndarray  # by column, what its codes are below
    counts: np.ndarray  # int64, the members of each tuple
    weights: np.ndarray  # the price of a blank in each column; infinite where it is fixed
    demands: tuple[Demand, ...]
    record_price: float = np.inf  # of leaving a record out
    held: Held | None = None

    @property
    def nulls(self) -> np.ndarray:
        """The columns that are null already in each tuple, as sets of bits."""
        return (self.codes == 0) @ (1 << np.arange(self.codes.shape[1], dtype=np.int64))

    def price(self, masks: np.ndarray, tuples: np.ndarray) -> np.ndarray:
        """Return what it costs to blank sets of columns in one row of some tuples.

        A null is blank already, for nothing.
        """
        new = masks & ~self.nulls[tuples]
        prices = np.zeros(len(masks))
        for column, weight in enumerate(self.weights):
            prices[(new >> column) & 1 == 1] += weight
        return np.where(masks == GONE, self.record_price, prices)


def rows_of(problem: Problem) -> np.ndarray:
    """Return the rows of each tuple, which is what blanks are paid for."""
    if problem.held is None:
        return problem.counts
    held = problem.held
    return np.bincount(held.tuples, held.rows, len(problem.codes)).astype(np.int64)


@dataclass(frozen=True)
class Solution:
    """Which members of which tuples get blanks; all others are released as they are.

    Entry by entry: `members` members of a tuple get blanks in a set of columns, or are left out
    (`GONE`). Where units are counted, an entry is one place of `Problem.held`, listed in `held`.
    Entries are sorted by tuple, then by set of columns, and then by kind where it matters which of
    equal records get the blanks.
    """

    tuples: np.ndarray
    masks: np.ndarray  # int64, sets of bits
    members: np.ndarray
    held: np.ndarray | None = None
    bound: float = 0.0  # no solution costs less
    moves: int = 0  # what the improvement did, to be repeated
    stopped: bool = False  # by Ctrl-C: the moves are fewer than they should have been
    trace: dict[str, list[float]] = field(default_factory=dict)
    kinds: np.ndarray | None = None  # of each entry, where equal records are told apart

    def cost(self, problem: Problem) -> float:
        """Return the price of all blanks."""
        rows = self.members
        if self.held is not None and problem.held is not None:
            rows = problem.held.rows[self.held]
        return float((problem.price(self.masks, self.tuples) * rows).sum())


class Infeasible(BadInput):
    """Some members cannot be released: too few agree with them in the columns that are fixed."""

    def __init__(self, rows: int) -> None:
        super().__init__(
            f"{rows:,} records cannot be protected by blanks in the columns that are not fixed: "
            "fix fewer columns, or set record_cost so that records may be left out"
        )
        self.rows = rows
