"""Keys that occur more than once against counting them in Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.repeated import repeated


@given(st.lists(st.integers(0, 2**62)) | st.lists(st.integers(0, 9)))
def test_repeated_keys_are_those_that_a_counter_finds(keys):
    counts = Counter(keys)
    ids, count = repeated(np.array(keys, dtype=np.int64), max(keys, default=0) + 1)
    assert [i >= 0 for i in ids] == [counts[key] > 1 for key in keys]
    found = {}
    for key, number in zip(keys, ids.tolist(), strict=True):
        if number >= 0:
            assert found.setdefault(key, number) == number
    assert sorted(found.values()) == list(range(count))


@pytest.mark.parametrize("step", [1, 2**40])
def test_by_place_and_by_hash(step):
    keys = np.random.default_rng(1).integers(0, 50_000, 60_000)
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    ids, count = repeated(keys * step, 50_000 * step)
    np.testing.assert_array_equal(ids < 0, counts[inverse] == 1)
    assert count == (counts > 1).sum()
