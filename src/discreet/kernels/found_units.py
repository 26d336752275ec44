"""The most likely unit of released rows that are seen to belong together.

What columns tell is laid out as in `kernels.informed`. Each released row of a unit goes with the
likeliest of a candidate's rows, and what these tell is added up over the rows. A candidate is given
up as soon as it cannot reach the sum of the unit's own rows any more.
"""

import numpy as np
from numba import njit

from discreet.kernels.informed import BEST, score_of
from discreet.kernels.inner import inner


@njit(cache=True, nogil=True)
def own_unit_is_best(places, scores, layout, given, known_rows, first, last, hits):
    """Fill in the hits of units: 1/t if the own one is among the t with the highest sum.

    Parameters
    ----------
    places, scores, layout
        As in `kernels.informed.own_is_best`.
    given : tuple of int64 arrays
        Where the queries of each unit that is looked for begin, with the end of the last; which
        unit each is; where the originals of every unit begin in the last array, with their end.
    known_rows : bool
        Whether only some rows of a unit are known; else candidates have as many rows as it.
    """
    begins, own, starts, members = given
    for u in range(first, last):
        a, b = begins[u], begins[u + 1]
        rest = np.zeros(b - a + 1, np.int64)
        for q in range(b - 1, a - 1, -1):
            rest[q - a] = rest[q - a + 1]
            for c in range(len(layout)):
                rest[q - a] += scores[layout[c, BEST] + q]
        target = np.int64(0)
        for q in range(a, b):
            target += _likeliest(places, scores, layout, q, members, starts, own[u])
        ties = 0
        for v in range(len(starts) - 1):
            size = starts[v + 1] - starts[v]
            if size < b - a or (size > b - a and not known_rows):
                continue
            total, q = np.int64(0), a
            while q < b and total + rest[q - a] >= target:
                total += _likeliest(places, scores, layout, q, members, starts, v)
                q += 1
            if q == b and total > target:
                ties = 0
                break
            if q == b and total == target:
                ties += 1
        hits[u] = 1.0 / ties if ties else 0.0


@inner
def _likeliest(places, scores, layout, q, members, starts, unit):
    """Return the highest sum that a row of a unit has for a query."""
    best = np.int64(-(2**62))
    for place in range(starts[unit], starts[unit + 1]):
        total = np.int64(0)
        for c in range(len(layout)):
            total += score_of(places, scores, layout[c], q, members[place])
        best = max(best, total)
    return best
