"""Points that no other beats in both risk and loss, and how good a set of them is."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from discreet.tuning.figures import Figures


def dominates(a: Figures, b: Figures) -> bool:
    """Tell whether a point is as good as another in everything, and better in something.

    Minimum standards come first: a point that keeps them beats every point that does not.

    Examples
    --------
    >>> dominates(Figures(0.1, 0.2), Figures(0.1, 0.3))
    True
    >>> dominates(Figures(0.1, 0.2, broken=0.5), Figures(0.9, 0.9))
    False
    """
    if a.broken != b.broken:
        return a.broken < b.broken
    return a.risk <= b.risk and a.loss <= b.loss and (a.risk < b.risk or a.loss < b.loss)


def non_dominated(figures: Sequence[Figures]) -> list[int]:
    """Return the places of the points that no other dominates, from the least risk to the largest.

    Of points with the same figures the first is taken.

    Examples
    --------
    >>> non_dominated([Figures(0.5, 0.1), Figures(0.1, 0.5), Figures(0.5, 0.6)])
    [1, 0]
    """
    least = min((one.broken for one in figures), default=0.0)
    places = [place for place, one in enumerate(figures) if one.broken == least]
    places.sort(key=lambda place: (figures[place].risk, figures[place].loss, place))
    front: list[int] = []
    for place in places:
        if not front or figures[place].loss < figures[front[-1]].loss:
            front.append(place)
    return front


def on_map(figures: Figures, rows: int) -> tuple[float, float]:
    """Return where a point lies on the map: both coordinates in 0..1, small is good.

    Risk counts by its logarithm, from one record in the whole table (0) to every record (1).

    Examples
    --------
    >>> on_map(Figures(0.0625, 0.3), rows=256)
    (0.5, 0.3)
    """
    if figures.risk <= 0 or rows < 2:
        across = 0.0 if figures.risk <= 0 else 1.0
    else:
        across = 1 + math.log(figures.risk) / math.log(rows)
    return min(1.0, max(0.0, across)), min(1.0, max(0.0, figures.loss))


def crowding(points: Sequence[tuple[float, float]]) -> list[float]:
    """Return how much room each point of a front has: the distance between its two neighbours.

    The points are in order, and those at the ends have all the room in the world.

    Examples
    --------
    >>> crowding([(0.0, 1.0), (0.25, 0.5), (1.0, 0.0)])
    [inf, 2.0, inf]
    """
    room = [math.inf] * len(points)
    for place in range(1, len(points) - 1):
        (x0, y0), (x1, y1) = points[place - 1], points[place + 1]
        room[place] = abs(x1 - x0) + abs(y1 - y0)
    return room


def hypervolume(points: Iterable[Figures], rows: int) -> float:
    """Return the share of the map that some points dominate; larger is better.

    Parameters
    ----------
    points : iterable of Figures
        Those that break a minimum standard do not count.
    rows : int
        Of the table: a risk of one in so many is the left edge of the map (see `on_map`).

    Returns
    -------
    float
        The area between the points and the worst corner, where every record is found and
        everything is lost: 0..1.

    Examples
    --------
    >>> round(hypervolume([Figures(0.01, 0.5)], rows=10_000), 3)
    0.25
    """
    kept = [one for one in points if not one.broken]
    on = sorted(on_map(one, rows) for one in kept)
    area, least = 0.0, 1.0
    for x, y in on:
        if y < least:
            area += (1 - x) * (least - y)
            least = y
    return area


def gain(front: Sequence[tuple[float, float]], spot: tuple[float, float]) -> float:
    """Return by how much a point adds to the hypervolume of a front.

    Parameters
    ----------
    front : sequence of (float, float)
        Of points on the map that do not dominate each other, from left to right.
    spot : (float, float)

    Examples
    --------
    >>> gain([(0.25, 0.75), (0.75, 0.25)], (0.5, 0.5))
    0.0625
    """
    x, y = spot
    place = bisect_right(front, (x, math.inf))
    above = front[place - 1][1] if place else 1.0
    area = 0.0
    while above > y and x < 1:
        right = front[place][0] if place < len(front) else 1.0
        area += (right - x) * (above - y)
        x, above = right, front[place][1] if place < len(front) else 0.0
        place += 1
    return area
