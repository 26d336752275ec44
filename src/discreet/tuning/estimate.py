"""What a child's risk and loss will be, from those of its parent and what changed.

Both are learned from the pairs that were judged: how far a bit more or less in a part moves the
risk (columns that tell the same tell less together), and a change of its loss the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.tuning.lagrange import Ladder
from discreet.tuning.space import Choice, Part

# Pairs that what is expected of a part weighs as much as.
_WEIGHT = 3.0

Spot = tuple[float, float]


class Estimate:
    """Estimates of where children lie on the map (see `pareto.on_map`).

    Parameters
    ----------
    parts : sequence of Part
    found : sequence of Ladder
        What each option costs and tells by itself.
    rows : int
        Of the table: a bit halves the number of records that are alike.
    """

    def __init__(self, parts: Sequence[Part], found: Sequence[Ladder], rows: int) -> None:
        # Of a column part its own profile; of a joint one each option by itself.
        width = sum(len(part.options) if part.joint else 1 for part in parts)
        self._rows = max(2, rows)
        self._log = math.log(self._rows)
        self._most = math.log(2 * self._rows)
        self._features: list[list[tuple[int, Spot]]] = []
        expected = np.zeros((2, width))
        place = 0
        for part, ladder in zip(parts, found, strict=True):
            options = range(len(part.options))
            if part.joint:
                self._features.append([(place + option, (1.0, 1.0)) for option in options])
                place += len(part.options)
            else:
                self._features.append([(place, (ladder.bits[o], ladder.loss[o])) for o in options])
                expected[:, place] = 0.7, 1 / len(parts)
                place += 1
        scale = np.array([1.0, 0.05])[:, None, None]
        self._inner = np.tile(_WEIGHT * np.eye(width), (2, 1, 1)) * scale
        self._outer = self._inner @ expected[:, :, None]
        self._weights = expected.tolist()
        self._stale = 0

    def learn(self, parent: Choice, before: Spot, child: Choice, after: Spot) -> None:
        """Take note of what a change did."""
        before, after = self._odds(before), self._odds(after)
        ends = all(abs(x) < 0.9 * self._most for x in (before[0], after[0]))
        for axis in (0, 1) if ends else (1,):
            changed: dict[int, float] = {}
            for features, old, new in zip(self._features, parent, child, strict=True):
                if old != new:
                    for option, sign in ((old, -1), (new, 1)):
                        place, values = features[option]
                        changed[place] = changed.get(place, 0.0) + sign * values[axis]
            places = list(changed)
            by = np.array([changed[place] for place in places])
            self._inner[axis][np.ix_(places, places)] += np.outer(by, by)
            self._outer[axis][places, 0] += by * (after[axis] - before[axis])
        self._stale += 1
        if self._stale >= 10:
            self._stale = 0
            solved = np.linalg.solve(self._inner, self._outer)[:, :, 0]
            # Machines differ in the last digits, which must not decide.
            self._weights = np.round(solved, 6).tolist()

    def of(self, parent: Choice, before: Spot, child: Choice) -> Spot:
        """Return where a child is expected to lie."""
        across, up = self._odds(before)
        w, v = self._weights
        for features, old, new in zip(self._features, parent, child, strict=True):
            if old != new:
                for option, sign in ((old, -1), (new, 1)):
                    place, (bits, loss) = features[option]
                    across += sign * w[place] * bits
                    up += sign * v[place] * loss
        risk = 1 / (1 + math.exp(-min(self._most, max(-self._most, across))))
        return max(0.0, 1 + math.log(risk) / self._log), min(1.0, max(0.0, up))

    def _odds(self, spot: Spot) -> Spot:
        """Return a spot with the logarithm of the odds to be found in place of that of risk."""
        risk = min(1 - 0.5 / self._rows, max(0.5 / self._rows, math.exp((spot[0] - 1) * self._log)))
        return math.log(risk / (1 - risk)), spot[1]
