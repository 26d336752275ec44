"""The tree must find what a scan finds, to the last bit and the lowest row, as records go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.mdav_tree import build, distance, farthest, nearest, new_search, remove

# Few values, so that there are ties everywhere.
GRID = st.integers(0, 3)


def plain_distance(a, b, mismatch):
    total = 0.0
    for c in range(len(a)):
        if mismatch is None:
            total += (a[c] - b[c]) * (a[c] - b[c])
        elif mismatch[c] > 0:
            total += mismatch[c] if a[c] != b[c] else 0.0
        else:
            total += abs(a[c] - b[c])
    return total


@st.composite
def clouds(draw):
    n, p = draw(st.integers(1, 60)), draw(st.integers(1, 4))
    if draw(st.booleans()):
        points = draw(st.lists(st.lists(GRID, min_size=p, max_size=p), min_size=n, max_size=n))
        points = np.array(points, dtype=float)
    else:
        points = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, p))
    mismatch = draw(st.sampled_from([None, [0.0, 1.5, 0.0, 0.5]]))
    order = draw(st.permutations(range(n)))
    return points, None if mismatch is None else np.array(mismatch[:p]), order


@given(clouds(), st.integers(1, 6))
def test_as_records_go_the_tree_finds_what_a_scan_finds(cloud, want):
    points, mismatch, order = cloud
    n = len(points)
    spot, search = np.empty(n, np.int64), new_search(want)
    tree = build(points, np.arange(n), spot)
    left = set(range(n))
    for row in order:
        query = points[row]
        far = {i: plain_distance(points[i], query, mismatch) for i in left}
        assert all(distance(points, i, query, mismatch) == far[i] for i in left)
        found = nearest(tree, query, mismatch, want, search)
        expected = sorted(left, key=lambda i: (far[i], i))[:want]
        assert sorted(search.rows[:found]) == sorted(expected)
        assert search.distances[0] == far[expected[-1]]
        # A ball that holds all that are left, around some point.
        centre = points[list(left)].mean(axis=0)
        radius = max(plain_distance(points[i], centre, mismatch) for i in left)
        best = farthest(tree, query, mismatch, search, centre, radius)
        assert best == min(left, key=lambda i: (-far[i], i))
        remove(tree, row)
        left.remove(row)
        if len(left) == n // 2 > 0:
            tree = build(points, np.array(sorted(left)), spot)


@pytest.mark.parametrize("scale", [1e-150, 1e100])
def test_very_small_and_very_large_coordinates(scale):
    points = np.random.default_rng(0).normal(size=(500, 3)) * scale
    tree, search = build(points, np.arange(500), np.empty(500, np.int64)), new_search(5)
    nearest(tree, points[7], None, 5, search)
    far = ((points - points[7]) ** 2).sum(axis=1)
    assert set(search.rows) == set(np.argsort(far)[:5])
