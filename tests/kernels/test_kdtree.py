"""The tree against its own definition, and the search against a scan."""

import numpy as np
import pytest

from discreet.kernels.kdtree import LEAF, nearest_is_own, split_nodes


def build(targets):
    n, p = targets.shape
    leaves = 1
    while n > LEAF * leaves:
        leaves *= 2
    nodes = 2 * leaves - 1
    spans = np.zeros((nodes, 2), np.int64)
    spans[0, 1] = n
    tree = (targets.copy(), np.arange(n), spans, np.empty(nodes, np.int64), np.empty((nodes, 2, p)))
    split_nodes(*tree, 0, nodes)
    return tree, leaves


@pytest.mark.parametrize("n", [1, LEAF, LEAF + 1, 1000])
@pytest.mark.parametrize("distinct", [1, 3, 10**6])
def test_every_node_holds_its_records_in_a_tight_box(n, distinct):
    targets = np.random.default_rng(n).integers(0, distinct, size=(n, 3)).astype(float)
    (points, order, spans, columns, boxes), leaves = build(targets)
    np.testing.assert_array_equal(points, targets[order])
    assert sorted(order) == list(range(n))
    for node, (start, stop) in enumerate(spans):
        inside = points[start:stop]
        assert len(inside) >= 1
        assert len(inside) <= LEAF or node < leaves - 1
        np.testing.assert_array_equal(boxes[node], [inside.min(axis=0), inside.max(axis=0)])
        assert (columns[node] == -1) == (len(np.unique(inside, axis=0)) == 1)
        if node < leaves - 1 and columns[node] >= 0:
            middle = spans[2 * node + 1, 1]
            c = columns[node]
            assert points[start:middle, c].max() <= points[middle:stop, c].min()


@pytest.mark.parametrize("distinct", [2, 6, 10**6])
@pytest.mark.parametrize("p", [1, 4])
def test_hits_against_a_scan(distinct, p):
    rng = np.random.default_rng(distinct)
    targets = rng.integers(0, distinct, size=(500, p)).astype(float)
    queries = targets + rng.integers(-1, 2, size=targets.shape)
    queries[::50] = np.nan
    tree, leaves = build(targets)
    hits = np.full(500, np.nan)
    nearest_is_own(queries, *tree, None, leaves - 1, 2 * leaves - 1, hits)
    for i in range(500):
        distances = ((queries[i] - targets) ** 2).sum(axis=1)
        nearest = distances[i] == distances.min()
        assert hits[i] == (1 / np.sum(distances == distances[i]) if nearest else 0)
