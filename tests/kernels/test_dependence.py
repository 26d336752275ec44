"""Cells and their agreement against plain Python over dicts."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels import dependence

codes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), min_size=1)


@given(st.lists(st.integers(0, 2**62)) | st.lists(st.integers(0, 9)))
def test_keys_are_numbered_as_they_come(keys):
    ids, count = dependence.numbered(np.array(keys, np.int64), max(keys, default=0) + 1)
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    assert ids.tolist() == [places[key] for key in keys]
    assert count == len(places)


@given(codes)
def test_usual_values_are_those_of_more_than_half(rows):
    ids, count = dependence.numbered(np.array([r[0] for r in rows]), 4)
    values = np.array([r[2] for r in rows])
    found = np.stack(dependence.majorities(ids, count, values), axis=1)
    for cell, (size, hits, at, one, other) in enumerate(found.tolist()):
        there = [i for i in range(len(rows)) if ids[i] == cell]
        assert (size, one, other) == (len(there), there[0], [*there, -1][1])
        usual, most = Counter(values[there].tolist()).most_common(1)[0]
        if most > size / 2:
            assert (hits, values[at], ids[at]) == (most, usual, cell)
        else:
            assert hits <= size / 2


@given(codes)
def test_bets_are_won_at_the_odds_of_the_rows_that_are_left(rows):
    base = np.array([r[0] for r in rows])
    values = np.array([r[0] * 5 + r[2] for r in rows])
    cells = {}
    for row, key in enumerate(r[:2] for r in rows):
        cells.setdefault(key, []).append(row)
    pairs = [there[:2] for there in cells.values() if len(there) > 1]
    one, other = (np.array([p[side] for p in pairs], np.int64) for side in (0, 1))
    sizes = np.bincount(base, minlength=4), np.bincount(values, minlength=20)
    won, agreed, expected = dependence.bets(one, other, base, sizes[0], values, sizes[1])
    left, fortune, chances = list(range(len(rows))), 1.0, 0.0
    for a, b in pairs:
        left.remove(a)
        same = [i for i in left if base[i] == base[a]]
        chance = sum(values[i] == values[a] for i in same) / len(same)
        left.remove(b)
        if 0 < chance < 0.95:
            fortune *= 0.95 / chance if values[a] == values[b] else 0.05 / (1 - chance)
        chances += chance
    assert agreed == sum(values[a] == values[b] for a, b in pairs)
    assert math.isclose(won, math.log(fortune), abs_tol=1e-9)
    assert math.isclose(expected, chances, abs_tol=1e-9)


def test_what_bets_win_by_chance_is_one_on_average():
    # Over all orders of four values in two cells of two: evidence is never overstated.
    base, starts = np.zeros(4, np.int64), np.array([0, 2])
    total = []
    for values in permutations([0, 0, 1, 2]):
        sizes = np.array([4]), np.array([2, 1, 1])
        won, *_ = dependence.bets(starts, starts + 1, base, sizes[0], np.array(values), sizes[1])
        total.append(math.exp(won))
    assert math.isclose(np.mean(total), 1.0)


@given(codes, st.integers(0, 3))
def test_some_cells_come_whole(rows, shift):
    columns = [np.array([r[i] for r in rows]) for i in range(3)]
    found = set(dependence.some_cells(*columns, shift).tolist()) if shift else None
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            if found is not None and row == other:
                assert (i in found) == (j in found)


@given(codes)
def test_blocks_are_sorted_as_python_sorts_them(rows):
    rows = sorted(rows, key=lambda r: r[:2])
    base, by, values = (np.array([r[i] for r in rows], np.float64) for i in range(3))
    won, found, at_stake, expected = dependence.sorted_blocks(base, by, values)
    wins, stake, chance, start = [1.0, 1.0], 0, 0.0, 0
    while start < len(rows):
        same = [r for r in rows[start : start + dependence.BLOCK] if r[0] == rows[start][0]]
        held = [r[2] for r in same]
        ways = math.factorial(len(held)) // math.prod(map(math.factorial, Counter(held).values()))
        one_each = len({r[1:] for r in same}) == len({r[1] for r in same})
        if ways > 1:
            stake, chance = stake + len(same), chance + len(same) / ways
            for way, wanted in enumerate((sorted(held), sorted(held, reverse=True))):
                good = one_each and held == wanted
                wins[way] *= 0.5 * ways + 0.5 if good else 0.5
                assert found[way, start : start + len(same)].all() == good
        start += len(same)
    np.testing.assert_allclose(won, np.log(wins), atol=1e-9)
    assert (at_stake, round(expected, 9)) == (stake, round(chance, 9))
