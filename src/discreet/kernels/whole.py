"""Whether groups of tuples keep privacy models, for tuples whose records are all treated alike.

The records, or rows that stand for some, are sorted by tuple: those of tuple t are `starts[t]` up
to `starts[t + 1]`. Group by group their confidential values are counted on the common axis of
`discreet.kernels.privacy`, a unit or a unit with its value once where units are counted.
"""

import numpy as np
from numba import njit

from discreet.kernels.lattice import members_of
from discreet.kernels.privacy import holds


@njit(cache=True, nogil=True)
def judge(ids, groups, tuples, starts, codes, records, holdings, place, rules):
    """Tell which groups keep all models; entry e says that `tuples[e]` is in group `ids[e]`.

    `codes` (columns by rows) are places of values, -1 for a null. With `place`, `holdings`
    (columns by rows, -1 for a null) are counted instead, each once, at their places.
    """
    entries, members = members_of(ids, groups)
    kept = np.zeros(groups, np.bool_)
    histogram = np.zeros(rules.q.size + 1, np.int64)
    seen = np.zeros(place.size, np.int64)
    for g in range(groups):
        size = 0
        for e in range(members[g], members[g + 1]):
            t = tuples[entries[e]]
            for row in range(starts[t], starts[t + 1]):
                size += records[row]
                if place.size:
                    for j in range(holdings.shape[0]):
                        h = holdings[j, row]
                        if h >= 0 and seen[h] != g + 1:
                            seen[h] = g + 1
                            histogram[place[h]] += 1
                else:
                    for j in range(codes.shape[0]):
                        if codes[j, row] >= 0:
                            histogram[codes[j, row]] += records[row]
        if place.size:
            size = histogram[rules.units]
        kept[g] = holds(rules, size, histogram)
        histogram[:] = 0
    return kept
