"""The smallest base whose multiples all stand for enough records.

Cells are the sets of attraction: the values that go to one multiple j of a base b, from
(j - 1 + `up`) b up to but not including (j + `up`) b, `up` being 1/2 for the nearest multiple and 1
for the one below. As b grows, every positive value moves to smaller multiples and every negative
one to larger, so a cell that is too small stays so until a value crosses one of its two borders.
The search goes from one such crossing to the next: it finds a cell that is too small, moves b on to
where that very cell is mended, and looks again. All that lies between is ruled out.

With open ends, the multiples beyond the outermost values are left out: what lies below the first
multiple in the range goes to that one, and what lies above the last goes to the last.

`back[i]` is the last j such that the values j+1..i are enough, -1 if none; see `units.last_starts`.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

# The least step, as a share of b, once the budget is spent.
COARSE = 2.0**-10


@njit(cache=True)
def multiple(x: float, b: float, up: float) -> float:
    """Return which multiple a value goes to, ends aside; never floor(x / b + 0.5), see `_below`."""
    quotient = x / b
    below = np.floor(quotient)
    return below + 1 if up == 0.5 and quotient - below >= 0.5 else below


@njit(cache=True)
def end_multiples(values: np.ndarray, b: float, open_ends: bool) -> tuple[float, float]:
    """Return the first and the last multiple there is: first > last if none is in the range."""
    if not open_ends:
        return -np.inf, np.inf
    return np.ceil(values[0] / b), np.floor(values[-1] / b)


@inner
def _cell(x: float, b: float, up: float, first: float, last: float) -> float:
    return min(max(multiple(x, b, up), first), last)


@inner
def _end_of_cell(values: np.ndarray, i: int, b: float, up: float, first: float, last: float) -> int:
    """Return where the cell of value i ends (exclusive), by doubled steps and then halved ones."""
    j = _cell(values[i], b, up, first, last)
    low, high, step = i, i + 1, 1
    while high < values.size and _cell(values[high], b, up, first, last) == j:
        low = high
        step *= 2
        high = min(high + step, values.size)
    while high - low > 1:
        middle = (low + high) // 2
        if _cell(values[middle], b, up, first, last) == j:
            low = middle
        else:
            high = middle
    return high


@inner
def _start_of_cell(
    values: np.ndarray, i: int, b: float, up: float, first: float, last: float
) -> int:
    """Return where the cell of value i starts."""
    j = _cell(values[i], b, up, first, last)
    low, high, step = i - 1, i, 1
    while low >= 0 and _cell(values[low], b, up, first, last) == j:
        high = low
        step *= 2
        low = max(low - step, -1)
    while high - low > 1:
        middle = (low + high) // 2
        if _cell(values[middle], b, up, first, last) == j:
            high = middle
        else:
            low = middle
    return high


@njit(cache=True)
def too_small(
    values: np.ndarray, back: np.ndarray, b: float, up: float, open_ends: bool
) -> tuple[int, int, int]:
    """Find a cell that is too small: its start and end, (0, 0) if there is none; and cells seen.

    From 0 outwards: the nearer a cell is to 0, the farther b must go to mend it.
    """
    first, last = end_multiples(values, b, open_ends)
    seen = 0
    if first > last:
        return 0, 0, seen
    # The first value that goes to 0 or above.
    low, high = -1, values.size
    while high - low > 1:
        middle = (low + high) // 2
        if _cell(values[middle], b, up, first, last) < 0:
            low = middle
        else:
            high = middle
    start = high
    while start < values.size:
        end = _end_of_cell(values, start, b, up, first, last)
        seen += 1
        if back[end] < start:
            return start, end, seen
        start = end
    end = high
    while end > 0:
        start = _start_of_cell(values, end - 1, b, up, first, last)
        seen += 1
        if back[end] < start:
            return start, end, seen
        end = start
    return 0, 0, seen


@inner
def _reach(x: float, j: float, b: float, up: float) -> float:
    """Return the smallest base above b that brings a value to multiple j or nearer to 0."""
    border = j + up if x > 0 else j - 1 + up
    now = multiple(x, b, up)
    if x * border <= 0 or (now <= j if x > 0 else now >= j):
        return np.inf
    base = max(x / border, np.nextafter(b, np.inf))
    while (multiple(x, base, up) > j) if x > 0 else (multiple(x, base, up) < j):
        base = np.nextafter(base, np.inf)
    return base


@inner
def _turn(x: float, b: float) -> float:
    """Return the smallest base above b with another multiple at or below a value."""
    now = np.floor(x / b)
    border = now if x > 0 else now + 1
    # A quotient that is too small for float64 is 0, from either side, and remains so.
    if border == 0 or x / b == 0:
        return np.inf
    base = max(x / border, np.nextafter(b, np.inf))
    while np.floor(x / base) == now:
        base = np.nextafter(base, np.inf)
    return base


@inner
def _mended(
    values: np.ndarray,
    back: np.ndarray,
    start: int,
    end: int,
    b: float,
    up: float,
    open_ends: bool,
    most: int,
) -> tuple[float, int]:
    """Return the smallest base above b at which the cell start..end is empty or large enough.

    Infinity if there is none; and how many crossings it took. After `most` of them it is the base
    of the last one: with open ends the outermost multiples alone can turn 2**53 times.
    """
    n = values.size
    first, last = end_multiples(values, b, open_ends)
    j = _cell(values[start], b, up, first, last)
    steps = 0
    while True:
        steps += 1
        base = np.inf
        if j > 0:
            base = min(base, _reach(values[start], j - 1, b, up))
        if j < 0:
            base = min(base, _reach(values[end - 1], j + 1, b, up))
        if j >= 0 and end < n:
            base = min(base, _reach(values[end], j, b, up))
        if j <= 0 and start > 0:
            base = min(base, _reach(values[start - 1], j, b, up))
        if open_ends:
            base = min(base, _turn(values[n - 1], b), _turn(-values[0], b))
        if base == np.inf:
            return base, steps
        b = base
        first, last = end_multiples(values, b, open_ends)
        if first > last:
            return b, steps
        if j >= 0:
            while end < n and _cell(values[end], b, up, first, last) <= j:
                end += 1
            while start < n and _cell(values[start], b, up, first, last) < j:
                start += 1
        if j <= 0:
            while start > 0 and _cell(values[start - 1], b, up, first, last) >= j:
                start -= 1
            while end > 0 and _cell(values[end - 1], b, up, first, last) > j:
                end -= 1
        if start >= end or back[end] >= start or steps >= most:
            return b, steps


@njit(cache=True)
def smallest_base(
    values: np.ndarray, back: np.ndarray, b: float, up: float, open_ends: bool, budget: int
) -> tuple[float, float]:
    """Return a base from b on with no cell that is too small, and a bound: all below it fail.

    The two are the same where the budget of cells and crossings lasts. From there on, bases are
    tried that are at least a thousandth apart. Infinity if there is none.
    """
    bound = np.inf
    while True:
        start, end, seen = too_small(values, back, b, up, open_ends)
        budget -= seen
        if start == end:
            return b, min(b, bound)
        most = max(budget, 1)
        following, steps = _mended(values, back, start, end, b, up, open_ends, most)
        budget -= steps
        if budget < 0:
            bound = min(bound, following)
            following = max(following, b + b * COARSE)
        b = following
        if b == np.inf:
            return b, b


@njit(cache=True)
def least_width(values: np.ndarray, back: np.ndarray, ends: np.ndarray) -> float:
    """Return the largest, over all values, of the width of the narrowest cell that is large enough.

    Every cell must be wider. `ends[i]` is the first end such that the values from i on are enough;
    see `units.first_ends`. The narrowest around value i ends after it and at `ends[i]` at the
    latest, so the least of a window that moves along is kept.
    """
    n = values.size
    queue = np.empty(n + 1, np.int64)
    head = tail = 0
    most = 0.0
    end = 1
    for i in range(n):
        while end < min(ends[i], n + 1):
            if back[end] >= 0:
                width = values[end - 1] - values[back[end]]
                while (
                    tail > head
                    and values[queue[tail - 1] - 1] - values[back[queue[tail - 1]]] >= width
                ):
                    tail -= 1
                queue[tail] = end
                tail += 1
            end += 1
        while head < tail and queue[head] <= i:
            head += 1
        least = np.inf
        if head < tail:
            least = values[queue[head] - 1] - values[back[queue[head]]]
        if ends[i] <= n:
            least = min(least, values[ends[i] - 1] - values[i])
        most = max(most, least)
    return most
