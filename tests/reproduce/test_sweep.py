"""Trying every node, against the definitions node by node, and against the search."""

from itertools import product
from math import log2, log10, prod

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.generalization import Generalize, Hierarchy, KAnonymity
from discreet.reproduce.sweep import QUALITIES, Sweep

# Labels of the leaves by level: 4 leaves in 3 levels, 3 leaves in 2.
MAPS = [np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]), np.array([[0, 1, 2], [0, 0, 0]])]
records = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=40)


def quality(rows, levels, k):
    """All models at one node, from the definitions, with dictionaries."""
    n, d = len(rows), len(MAPS)
    size = [m.shape[1] for m in MAPS]
    general = [tuple(int(MAPS[a][levels[a]][v]) for a, v in enumerate(row)) for row in rows]
    counts = {g: general.count(g) for g in general}
    kept = [g for g in general if counts[g] >= k]
    gone = [g for g in general if counts[g] < k]
    s = len(gone)

    def under(a, label):
        return int((MAPS[a][levels[a]] == label).sum())

    loss = nue = nnue = precision = 0.0
    for a in range(d):
        share = sum(under(a, g[a]) for g in kept) / size[a]
        loss += max(0.0, (share + s - n / size[a]) / (n - n / size[a]))
        precision += ((n - s) * levels[a] / (len(MAPS[a]) - 1) + s) / n / d
        leaves = [row[a] for row in rows]
        labels = [g[a] for g in general]
        lost = sum(log2(labels.count(labels[i]) / leaves.count(v)) for i, v in enumerate(leaves))
        lost += sum(-log2([x[a] for x in gone].count(g[a]) / s) for g in gone)
        nue += lost
        whole = -sum(log2(leaves.count(v) / n) for v in leaves)
        nnue += lost / whole if whole > 0 else 0.0
    classes = {g: c for g, c in counts.items() if c >= k}
    stands = {g: prod(under(a, v) for a, v in enumerate(g)) for g in classes}
    whole = prod(size)
    return s, {
        "Loss": loss,
        "Precision": precision,
        "NUE": nue,
        "NNUE": nnue,
        "DM": sum(c * c for c in classes.values()) + n * s,
        "AEC": n / (len(classes) + (s > 0)),
        "AM": sum(c * stands[g] for g, c in classes.items()) + s * whole,
        "EBM": sum(c * (1 + log10(stands[g] / whole) / log10(whole)) for g, c in classes.items())
        + s,
    }


@given(records, st.integers(2, 6))
def test_no_node_is_better_and_the_value_is_the_models(rows, k):
    sweep = Sweep(np.array(rows), MAPS)
    nodes = list(product(range(3), range(2)))
    known = {levels: quality(rows, levels, k) for levels in nodes}
    for best in sweep.best([k, k + 3]):
        if best.k != k:
            continue
        suppressed, values = known[best.levels]
        assert best.suppressed == suppressed == sweep.suppressed(best.levels, k).sum()
        assert best.value == pytest.approx(values[best.quality], abs=1e-9)
        least = min(known[levels][1][best.quality] for levels in nodes)
        assert best.value == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("name", QUALITIES)
def test_the_search_finds_the_same(name):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.geometric(0.1, 400).clip(max=40), "b": rng.integers(0, 9, 400)})
    hierarchies = {"a": Hierarchy.intervals([5, 10, 20]), "b": Hierarchy.intervals([3])}
    method = Generalize(
        hierarchies, [KAnonymity(4)], QUALITIES[name], aggregate="sum", suppression_limit=1.0
    ).fit(frame)
    codes, maps = [], []
    table = frame.to_dict("list")
    for column, hierarchy in hierarchies.items():
        ladder, code = hierarchy.bind_and_encode(pa.array(table[column]), column)
        codes.append(code)
        maps.append(ladder.maps)
    [best] = [b for b in Sweep(np.column_stack(codes), maps).best([4]) if b.quality == name]
    assert best.levels == tuple(method.levels_[0]["levels"].values())
    assert best.suppressed == method.suppressed_
    assert best.value == pytest.approx(method.quality_)
