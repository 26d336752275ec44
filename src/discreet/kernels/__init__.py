"""Compiled code (numba), and nothing but: arrays in, arrays out, no tables.

Kernels compile on their first call, never at import, and stay in numba's cache on disk.
"""

from __future__ import annotations


def warm() -> None:
    """Compile into the cache what the demonstration needs, so that its first run is quick."""
    import numpy as np

    from discreet.kernels.oma import oma_l2, oma_l2_counts
    from discreet.kernels.parts import distinct, part_means, spread
    from discreet.kernels.philox import philox
    from discreet.kernels.sorting import sort, sort_rows

    _, rows = sort_rows(np.arange(8.0))
    values, counts = distinct(sort(np.arange(8.0)))
    oma_l2(values, 2)
    ends = oma_l2_counts(values, counts, 2)
    spread(part_means(values, counts, ends), ends, rows, 8)
    philox(np.uint64(1), np.uint64(2), np.arange(3, dtype=np.uint64), np.uint64(0))
