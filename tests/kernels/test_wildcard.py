"""What matches a tuple, where a null matches anything, against plain sets."""

import numpy as np
import pytest

from discreet.kernels.privacy import EQUAL, Rules
from discreet.kernels.wildcard import wildcard_models, wildcard_units


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


@pytest.mark.parametrize("wholly", [False, True])
@pytest.mark.parametrize("nulls", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("columns", [1, 3])
def test_models_are_judged_on_all_that_match(columns, nulls, wholly):
    draw = np.random.default_rng(columns)
    codes = draw.integers(0, 3, (60, columns))
    codes[draw.random(codes.shape) < nulls] = -1
    codes = np.unique(codes, axis=0)
    held = draw.integers(0, 3, (len(codes), 4)) * (draw.random((len(codes), 4)) < 0.5)
    held[0, 0] = 1
    # Besides these, each tuple has a record without a value.
    counts = held.sum(axis=1) + 1
    tuples, values = np.nonzero(held)
    starts = np.searchsorted(tuples, np.arange(len(codes) + 1))
    q = held.sum(axis=0) / held.sum()
    rules = Rules(
        5, np.array([3]), np.array([[EQUAL, 0, 0, 0]]), np.array([[0.25, 0.0]]), np.array([0, 4]), q,
        np.empty(0, np.int32),
    )  # fmt: skip
    numbers = held[tuples, values]
    sizes = np.full(columns, 3)
    found = wildcard_models(
        codes, sizes, counts, starts, values.astype(np.int32), numbers, rules, wholly
    )
    for one, keeps in zip(codes, found, strict=True):
        alike = ((one == codes) | (one < 0) | (codes < 0)).all(axis=1)
        p = held[alike].sum(axis=0)
        close = np.abs(p / max(p.sum(), 1) - q).sum() / 2 <= 0.25
        assert keeps == (counts[alike].sum() >= 5 and (p > 0).sum() >= 3 and (close or not wholly))
