"""Distinct units behind sorted values, against sets."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.units import first_ends, last_starts, units_in_parts

held_by = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), min_size=1, max_size=15)


def as_arrays(held):
    units = np.array([unit for units in held for unit in units])
    return units, np.cumsum([0, *map(len, held)]), 7


@given(held=held_by, data=st.data())
def test_units_of_parts(held, data):
    inner = data.draw(st.sets(st.integers(0, len(held))))
    ends = [*sorted(inner - {len(held)}), len(held)]
    found = units_in_parts(*as_arrays(held)[:2], np.array(ends), 7)
    wanted = [len(set().union(*held[a:z])) for a, z in itertools.pairwise([0, *ends])]
    assert found.tolist() == wanted


@given(held=held_by, k=st.integers(1, 8))
def test_the_shortest_parts_that_k_units_hold(held, k):
    n = len(held)
    enough = {
        (j, i)
        for j, i in itertools.combinations(range(n + 1), 2)
        if len(set().union(*held[j:i])) >= k
    }
    back = last_starts(*as_arrays(held), k)
    assert back.tolist() == [
        max((j for j in range(i) if (j, i) in enough), default=-1) for i in range(n + 1)
    ]
    assert first_ends(back).tolist() == [
        min((i for i in range(n + 1) if (j, i) in enough), default=n + 1) for j in range(n + 1)
    ]
