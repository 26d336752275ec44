"""The progress of a search, kept short."""

from __future__ import annotations

import math
import time

MOST = 200


class Trace:
    """What a search had reached when: at most 200 points, including the first and the last.

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
        """Add a point; if there are too many, drop every second one.

        The clock starts with the first: compiling before that is not part of the search.
        Values that are not finite are skipped, because a log could not hold them.
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
