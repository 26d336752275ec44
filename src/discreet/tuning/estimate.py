"""What a child's risk and loss will be, from those of its parent and what changed.

Both are learned from the pairs that were judged: how far a bit more or less in a part moves the
risk (columns that tell the same tell less together), and a change of its loss the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.tuning.lagrange import Ladder
from discreet.tuning.space import Choice, Part, leaves_alone

# Pairs that what is expected of a part weighs as much as.
_WEIGHT = 3.0
# How far a bit moves the logarithm of the odds to be found.
_BIT = 0.7
# Pairs after which the estimates are made anew.
_AT_ONCE = 10

Spot = tuple[float, float]


class Estimate:
    """Estimates of where children lie on the map (see `pareto.on_map`).

    Parameters
    ----------
    parts : sequence of Part
    found : sequence of Ladder
        What each option costs and tells by itself.
    rows : int
        Of the table.
    """

    def __init__(self, parts: Sequence[Part], found: Sequence[Ladder], rows: int) -> None:
        self._rows = max(2, rows)
        self._log = math.log(self._rows)
        # The odds of one in all records, or of all but one, are beyond this.
        self._most = math.log(2 * self._rows)
        self._parts, self._found = parts, found
        self._joint = [number for number, part in enumerate(parts) if part.joint]
        # A bit doubles the risk where columns tell different things.
        expected = np.tile([[_BIT], [1 / len(parts)]], (1, len(parts)))
        self._inner = np.array([_WEIGHT * np.eye(len(parts)), 0.05 * _WEIGHT * np.eye(len(parts))])
        self._outer = self._inner @ expected[:, :, None]
        self._weights = expected.tolist()
        self._learned = 0

    def alike(self, parent: Choice, child: Choice) -> bool:
        """Whether what both do to columns together can be compared; else nothing can be said."""
        return all(
            parent[part] == child[part]
            or (self._adds_up(part, parent[part]) and self._adds_up(part, child[part]))
            for part in self._joint
        )

    def learn(self, parent: Choice, before: Spot, child: Choice, after: Spot) -> None:
        """Take note of what a change did."""
        before, after = self._odds(before), self._odds(after)
        changes = self._changes(parent, child)
        changed = list(changes)
        # Where all or none are found, more or less of a bit is not seen.
        seen = all(abs(odds) < 0.9 * self._most for odds in (before[0], after[0]))
        for axis in (0, 1) if seen else (1,):
            change = np.array([one[axis] for one in changes.values()])
            self._inner[axis][np.ix_(changed, changed)] += np.outer(change, change)
            self._outer[axis][changed, 0] += change * (after[axis] - before[axis])
        self._learned += 1
        if self._learned % _AT_ONCE == 0:
            # Machines differ in the last digits, which must not decide.
            self._weights = np.linalg.solve(self._inner, self._outer)[:, :, 0].round(6).tolist()

    def of(self, parent: Choice, before: Spot, child: Choice) -> Spot:
        """Return where a child is expected to lie."""
        odds, up = self._odds(before)
        for part, (bits, loss) in self._changes(parent, child).items():
            odds += self._weights[0][part] * bits
            up += self._weights[1][part] * loss
        risk = 1 / (1 + math.exp(-min(self._most, max(-self._most, odds))))
        return max(0.0, 1 + math.log(risk) / self._log), min(1.0, max(0.0, up))

    def _adds_up(self, part: int, option: int) -> bool:
        """Whether an option of a joint part does the same whatever the others are."""
        chosen = self._parts[part].options[option]
        settles = chosen.alone or chosen.rest or not chosen.steps
        return settles and option in self._found[part].under

    def _changes(self, parent: Choice, child: Choice) -> dict[int, Spot]:
        """Return the change of bits and of loss of each part where there is one."""
        old, new = self._sums(parent), self._sums(child)
        return {
            part: (b[0] - a[0], b[1] - a[1])
            for part, (a, b) in enumerate(zip(old, new, strict=True))
            if a != b
        }

    def _sums(self, choice: Choice) -> list[Spot]:
        """Return bits and loss of each part; where columns are treated together, all bits at it."""
        sums = [
            (ladder.bits[option], ladder.loss[option])
            for ladder, option in zip(self._found, choice, strict=True)
        ]
        for part in self._joint:
            option = choice[part]
            if not self._adds_up(part, option):
                sums[part] = 0.0, 0.0
                continue
            sums[part] = self._found[part].bits[option], 0.0
            for own, loss in self._found[part].under[option].items():
                if leaves_alone(self._parts[own].options[choice[own]]):
                    sums[own] = 0.0, loss
        return sums

    def _odds(self, spot: Spot) -> Spot:
        """Return a spot with the logarithm of the odds to be found in place of that of risk."""
        risk = min(1 - 0.5 / self._rows, max(0.5 / self._rows, math.exp((spot[0] - 1) * self._log)))
        return math.log(risk / (1 - risk)), spot[1]
