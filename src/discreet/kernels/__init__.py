"""Compiled code (numba), and nothing but: arrays in, arrays out, no tables.

Kernels compile on their first call, never at import, and stay in numba's cache on disk.
"""

from __future__ import annotations


def warm() -> None:
    """Compile into the cache what the demonstration needs, so that its first run is quick."""
    import numpy as np

    from discreet.kernels.oma import oma_l2, oma_l2_counts
    from discreet.kernels.philox import philox

    values = np.arange(8.0)
    oma_l2(values, 2)
    oma_l2_counts(values, np.ones(8, dtype=np.int64), 2)
    philox(np.uint64(1), np.uint64(2), np.arange(3, dtype=np.uint64), np.uint64(0))
