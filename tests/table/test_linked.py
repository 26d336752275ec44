"""Itemsets of units: the same as all combinations counted one by one."""

from collections import Counter

import numpy as np
import pytest

from discreet.kernels.linked import broken_up
from discreet.table.linked import Itemsets
from tests.linked import failed, itemsets, support


def tables(n=300):
    for seed in range(n):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(1, 60))
        units = rng.permutation(np.append(np.arange(5), rng.integers(0, 5 + rows // 4, rows)))
        units = np.unique(units, return_inverse=True)[1]
        items = rng.integers(-1, rng.integers(1, 9), len(units))
        yield rng, items, units


def as_dict(found):
    listed = (frozenset(row[row >= 0].tolist()) for row in found.combinations)
    return dict(zip(listed, found.support.tolist(), strict=True))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_failed_combinations_are_those_of_all_that_there_are(m):
    for rng, items, units in tables():
        k = int(rng.integers(1, 6))
        found = Itemsets.of(items, units)
        bad = found.failed(k, m)
        wanted = failed(items.tolist(), units.tolist(), k, m)
        assert as_dict(bad) == wanted
        assert len(bad.combinations) == len(wanted)
        least = min(support(itemsets(items.tolist(), units.tolist()), m).values(), default=None)
        if not wanted and least is not None:
            assert bad.smallest == least
        rows = [
            any(item in c and c <= itemsets(items, units)[unit] for c in wanted)
            for item, unit in zip(items.tolist(), units.tolist(), strict=True)
        ]
        assert found.marked(bad).tolist() == rows


@pytest.mark.parametrize("m", [1, 2, 3])
def test_combinations_with_few_values_fail_too(m):
    for rng, items, units in tables():
        k, least = int(rng.integers(1, 4)), int(rng.integers(2, 4))
        values = rng.integers(-1, 4, len(items))
        found = Itemsets.of(items, units).failed(k, m, values, least)
        wanted = failed(items.tolist(), units.tolist(), k, m, values.tolist(), least)
        assert as_dict(found) == wanted


def test_holders_are_the_units_that_hold_a_combination():
    for rng, items, units in tables(100):
        found = Itemsets.of(items, units).failed(int(rng.integers(2, 6)), 3)
        sets = itemsets(items.tolist(), units.tolist())
        start = 0
        for row, n in zip(found.combinations, found.support, strict=True):
            chosen = set(row[row >= 0].tolist())
            held = {unit for unit, of_unit in sets.items() if chosen <= of_unit}
            assert set(found.holders[start : start + n].tolist()) == held
            start += n
        assert start == len(found.holders)


def test_whole_sets_are_equal_where_their_numbers_are():
    for _, items, units in tables():
        found = Itemsets.of(items, units).sets
        sets = itemsets(items.tolist(), units.tolist())
        by_number = {n: sets[u] for u, n in enumerate(found.tolist())}
        assert all(by_number[n] == sets[u] for u, n in enumerate(found.tolist()))
        wanted = Counter(map(frozenset, (held for held in sets.values() if held)))
        assert sorted(Counter(found[found >= 0].tolist()).values()) == sorted(wanted.values())


def test_values_of_whole_sets():
    for rng, items, units in tables(100):
        values = rng.integers(-1, 4, len(items))
        found = Itemsets.of(items, units)
        counts = found.values_of_sets(values)
        for number in set(found.sets[found.sets >= 0].tolist()):
            rows = (found.sets[units] == number) & (items >= 0) & (values >= 0)
            assert counts[number] == len(set(values[rows].tolist()))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_entries_are_chosen_so_that_no_unit_holds_a_combination(m):
    for rng, items, units in tables(100):
        sets = Itemsets.of(items, units)
        bad = sets.failed(int(rng.integers(2, 6)), m)
        found = bad.combinations, bad.support, bad.holders
        chosen = broken_up(sets.starts, sets.items, sets.rows, *found)
        left = itemsets(np.where(sets.of_rows(chosen), -1, items).tolist(), units.tolist())
        combinations = [set(row[row >= 0].tolist()) for row in bad.combinations]
        assert not any(c <= held for c in combinations for held in left.values())
        assert set(sets.owner[chosen].tolist()) == set(bad.holders.tolist())
