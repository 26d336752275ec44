"""The course of a search, kept short."""

from __future__ import annotations

import math
import time

MOST = 200


class Trace:
    """What a search had reached by when: at most 200 points, the first and the last among them.

    Parameters
    ----------
    work, reached : str
        What is counted (moves, evaluations), and what gets better (loss, quality).

    Examples
    --------
    >>> trace = Trace("moves", "loss")
    >>> for moves in range(1000):
    ...     trace.add(moves, 1 / (1 + moves))
    >>> found = trace.to_dict()
    >>> list(found), len(found["moves"]), found["moves"][0], found["moves"][-1]
    (['seconds', 'moves', 'loss'], 200, 0, 999)
    """

    def __init__(self, work: str, reached: str) -> None:
        self.names = ("seconds", work, reached)
        self.points: list[tuple[float, int, float]] = []
        self._start: float | None = None

    def add(self, work: int, reached: float) -> None:
        """Note a point; where there are too many, every second one goes.

        The clock starts with the first: what was compiled before is no part of the search.
        What is not finite is none: a log could not hold it.
        """
        if not math.isfinite(reached):
            return
        if len(self.points) == MOST:
            self.points = self.points[::2]
        now = time.perf_counter()
        self._start = now if self._start is None else self._start
        self.points.append((round(now - self._start, 4), work, reached))

    def to_dict(self) -> dict[str, list[float]]:
        """Return the points as one list for each of the three."""
        return {name: [point[i] for point in self.points] for i, name in enumerate(self.names)}
