"""Units that match a tuple, where a null matches anything, against plain sets."""

import numpy as np
import pytest

from discreet.kernels.wildcard import wildcard_units


@pytest.mark.parametrize("nulls", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("k", [1, 3, 12])
def test_units_are_those_of_all_tuples_that_match(k, columns, nulls):
    draw = np.random.default_rng(7 * columns + k)
    codes = draw.integers(0, 3, (60, columns))
    codes[draw.random(codes.shape) < nulls] = -1
    codes = np.unique(codes, axis=0)
    own = draw.integers(0, 2, len(codes))
    shared = [sorted(set(draw.integers(0, 15, draw.integers(0, 4)).tolist())) for _ in codes]
    starts = np.append(0, np.cumsum([len(some) for some in shared]))
    holdings = np.array([unit for some in shared for unit in some], np.int32)
    found = wildcard_units(codes, np.full(columns, 3), own, starts, holdings, 15, k)
    for one, enough in zip(codes, found, strict=True):
        alike = [i for i, r in enumerate(codes) if ((one == r) | (one < 0) | (r < 0)).all()]
        units = {unit for i in alike for unit in shared[i]}
        assert enough == (sum(own[alike]) + len(units) >= k)
