"""Units with several rows: a generator of small tables, and k^m by its definition."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pyarrow as pa


def itemsets(items, units):
    """The set of distinct items of each unit; None is no item."""
    sets = defaultdict(set)
    for item, unit in zip(items, units, strict=True):
        if item is not None and item != -1:
            sets[unit].add(item)
    return sets


def support(sets, m):
    """How many units hold each combination of at most m of a unit's items."""
    return Counter(
        frozenset(chosen)
        for held in sets.values()
        for size in range(1, m + 1)
        for chosen in combinations(sorted(held), size)
    )


def failed(items, units, k, m, values=None, least=0):
    """The combinations that fail and contain no other one that does."""
    sets = itemsets(items, units)
    counts = support(sets, m)
    bad = {
        c for c, n in counts.items() if n < k or not _diverse(c, sets, items, units, values, least)
    }
    return {c: counts[c] for c in bad if not any(other < c for other in bad)}


def _diverse(chosen, sets, items, units, values, least):
    if values is None:
        return True
    held = {
        value
        for item, unit, value in zip(items, units, values, strict=True)
        if item in chosen and chosen <= sets[unit] and value is not None and value != -1
    }
    return len(held) >= least


def sets_shared(items, units, k):
    """Whether every unit's whole set is that of k units."""
    sets = Counter(frozenset(held) for held in itemsets(items, units).values())
    return all(n >= k for n in sets.values())


def episodes(persons=60, seed=0, most=5):
    """Stays of patients: a few rows each, with keys that differ from row to row."""
    rng = np.random.default_rng(seed)
    stays = rng.integers(1, most + 1, persons)
    person = np.repeat(np.arange(persons), stays)
    n = len(person)
    home = rng.integers(0, 4, persons)[person]
    ward = np.where(rng.random(n) < 0.7, home, rng.integers(0, 4, n))
    order = rng.permutation(n)
    return pa.table(
        {
            "patient": [f"P{i:04d}" for i in person[order]],
            "ward": np.array(["east", "north", "south", "west"])[ward[order]],
            "year": 2010 + rng.integers(0, 8, n),
            "days": rng.integers(1, 30, n),
            "drug": np.array(["a", "b", "c", "d"])[rng.integers(0, 4, n)],
        }
    )
