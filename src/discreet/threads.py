"""Work on ranges of rows in threads, for compiled code that releases the interpreter's lock.

Plain threads, not numba's own, which end the process after a fork or with a second caller.
"""

from __future__ import annotations

import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import chain, islice
from typing import Any, TypeVar

from discreet import cgroups

Result = TypeVar("Result")

_FEW_ROWS = 1000


def over_ranges(
    work: Callable[[int, int], Result], n: int, chunk: int, rows: int | None = None
) -> list[Result]:
    """Call `work(start, stop)` on the pieces of 0..n, on all cores; results come in order.

    Parameters
    ----------
    work : callable
        Must not depend on how the rows are cut, so that any number of threads gives the same
        result.
    n : int
        Rows in all.
    chunk : int
        Rows per piece: many pieces even out the load, but each costs some ten microseconds.
    rows : int, optional
        Where pieces are no ranges of rows, such as columns: the rows that each looks at. Few take
        less time than it takes to start a thread.

    Examples
    --------
    >>> over_ranges(lambda start, stop: stop - start, 10, chunk=4)
    [4, 4, 2]
    """
    starts = range(0, n, chunk)
    stops = [min(start + chunk, n) for start in starts]
    few = rows is not None and rows < _FEW_ROWS
    threads = 1 if few else min(len(starts), cores())
    if threads < 2:
        return [work(start, stop) for start, stop in zip(starts, stops, strict=True)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, starts, stops))


def spread(function: Callable[..., Result], items: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
    """Call a function on items as they come, as many at once as there are cores.

    Results come in the items' order, and items are only taken as they are worked on. No thread is
    started for one item alone.

    Examples
    --------
    >>> list(spread(pow, [(2, 3), (3, 2), (5, 1)]))
    [8, 9, 5]
    """
    coming = iter(items)
    first = list(islice(coming, 2))
    if len(first) < 2:
        yield from (function(*item) for item in first)
        return
    with ThreadPoolExecutor(cores()) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, coming):
            waiting.append(pool.submit(function, *item))
            if len(waiting) > cores():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def cores() -> int:
    """Count the cores that this process may use, or a container's share of them."""
    if hasattr(os, "sched_getaffinity"):  # On Linux.
        return min(len(os.sched_getaffinity(0)), quota())
    return os.cpu_count() or 1


@cache
def quota() -> int:
    """Return the number of threads that a control group leaves time for; read once."""
    allowed = cgroups.processors()
    return sys.maxsize if allowed is None else max(1, math.ceil(allowed))
