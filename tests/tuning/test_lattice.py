"""Trying every node, against the definitions node by node, and against searches one by one."""

import math
from itertools import product
from math import log2, log10, prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy, KAnonymity, LDiversity
from discreet.tuning import lattice
from discreet.tuning.lattice import EveryNode, leading

QUALITIES = [
    "loss", "precision", "nue", "nnue", "discernibility", "average-class", "ambiguity",
    "entropy-based",
]  # fmt: skip
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
        "loss": loss,
        "precision": precision,
        "nue": nue,
        "nnue": nnue,
        "discernibility": sum(c * c for c in classes.values()) + n * s,
        "average-class": n / (len(classes) + (s > 0)),
        "ambiguity": sum(c * stands[g] for g, c in classes.items()) + s * whole,
        "entropy-based": s
        + sum(c * (1 + log10(stands[g] / whole) / log10(whole)) for g, c in classes.items()),
    }


@given(records, st.integers(2, 6), st.sampled_from([0.0, 0.3, 1.0]))
def test_no_node_is_better_and_the_value_is_the_models(rows, k, limit):
    tried = EveryNode(np.array(rows), MAPS, [k, k + 3])
    nodes = list(product(range(3), range(2)))
    known = {levels: quality(rows, levels, k) for levels in nodes}
    fine = [levels for levels in nodes if known[levels][0] <= math.floor(limit * len(rows) + 1e-9)]
    for name in QUALITIES:
        best = tried.best(k, name, aggregate="sum", limit=limit)
        if not fine:
            assert best is None
            continue
        suppressed, values = known[best.levels]
        assert best.suppressed == suppressed == tried.suppressed_rows(best.levels, k).sum()
        assert best.value == pytest.approx(values[name], abs=1e-9)
        assert best.value == pytest.approx(min(known[x][1][name] for x in fine), abs=1e-9)


def test_rows_that_stand_for_several_records_and_some_levels_only():
    rows = np.array([[0, 0], [0, 1], [2, 2]])
    many = EveryNode(np.repeat(rows, [3, 1, 2], axis=0), MAPS, [2, 3])
    few = EveryNode(rows, MAPS, [2, 3], np.array([3, 1, 2]))
    some = EveryNode(rows, MAPS, [2, 3], np.array([3, 1, 2]), lo=[1, 0], hi=[2, 0])
    assert some.nodes.tolist() == [[1, 0], [2, 0]]
    places = [many.nodes.tolist().index(levels) for levels in some.nodes.tolist()]
    for name in QUALITIES:
        np.testing.assert_allclose(many.quality(name), few.quality(name))
        np.testing.assert_allclose(many.quality(name)[places], some.quality(name))


# Against `Generalize`, run one by one

AGES = [*range(20, 32), None]
tables = st.lists(
    st.tuples(st.sampled_from(AGES), st.sampled_from(["a", "b", "c", None]), st.just("x")),
    min_size=6,
    max_size=40,
)
HIERARCHIES = {
    "age": {"kind": "intervals", "widths": [2, 4, 8]},
    "zip": {"kind": "groups", "tree": {"ab": ["a", "b"], "c": ["c"]}},
    "one": {"kind": "flat"},
}


def outcome(table, columns, **parameters):
    """What `Generalize` does, or why it does not."""
    method = Generalize({name: HIERARCHIES[name] for name in columns}, **parameters)
    try:
        method.fit(table)
    except BadInput as error:
        return str(error)
    return method.levels_, method.suppressed_mask_.tolist(), method.quality_


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(deadline=None)
@given(
    tables,
    st.sampled_from(QUALITIES),
    st.sampled_from(["geometric", "sum", "max", "mean"]),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.sampled_from(["value", "segregate", "suppress", "match"]),
    st.sampled_from([None, {"age": [1, 3]}, {"zip": 1}]),
)
def test_what_is_found_together_is_what_is_found_one_by_one(
    rows, name, aggregate, limit, policy, levels
):
    columns = ["age", "zip", "one"]
    table = pd.DataFrame(rows, columns=columns).astype({"age": "Int64"})
    weights = {"age": 0.5} if name == "loss" else None
    asked = {
        "quality": name, "aggregate": aggregate, "suppression_limit": limit,
        "null_policy": policy, "levels": levels, "weights": weights,
    }  # fmt: skip
    sizes = [2, 3, 5]
    alone = [outcome(table, columns, privacy=[KAnonymity(k)], **asked) for k in sizes]
    with leading(sizes) as lattices:
        found = [outcome(table, columns, privacy=[KAnonymity(k)], **asked) for k in sizes]
    assert found == alone
    assert lattices.led or policy == "match" or any(isinstance(one, str) for one in alone)


@pytest.mark.parametrize("name", QUALITIES)
def test_ties_go_to_the_lowest_levels(name):
    # Two columns that are one: what either loses, the other does.
    table = pd.DataFrame({"age": [20, 21, 22, 23] * 3, "other": [20, 21, 22, 23] * 3})
    ages = Hierarchy.intervals(widths=[2, 4])
    asked = {"quality": name, "suppression_limit": 0.5}

    def levels(k):
        return Generalize({"age": ages, "other": ages}, KAnonymity(k), **asked).fit(table).levels_

    alone = [levels(k) for k in (2, 4, 6, 7)]
    with leading([2, 4, 6, 7]) as lattices:
        assert [levels(k) for k in (2, 4, 6, 7)] == alone
    assert lattices.led == 4


def test_only_what_goes_by_k_alone_is_led():
    table = pd.DataFrame({"age": [20, 21, 22, 23] * 3, "ill": ["a", "b", "c"] * 4})
    ages = {"age": Hierarchy.intervals(widths=[2, 4])}
    model = LDiversity(2, column="ill")
    with leading([2, 3]) as lattices:
        Generalize(ages, [KAnonymity(2), model]).fit(table)
        Generalize(ages, [KAnonymity(2)], local=True).fit(table)
        Generalize(ages, [KAnonymity(2)], evaluations=3).fit(table)
        Generalize(ages, [KAnonymity(2)], publish_minimal=False, random_state=1).fit(table)
        Generalize(ages, [KAnonymity(4)]).fit(table)
        Generalize(ages, [KAnonymity(2)]).fit(table, units=np.arange(12) // 2)
        assert (lattices.led, lattices.nodes) == (0, 0)
        method = Generalize(ages, [KAnonymity(3)]).fit(table)
    assert (lattices.led, lattices.nodes) == (1, 4)
    assert "4 of 4 nodes evaluated" in str(method.certificate_)


def test_large_lattices_are_searched_one_by_one(monkeypatch):
    table = pd.DataFrame({"age": [20, 21, 22, 23] * 3})
    method = Generalize({"age": Hierarchy.intervals(widths=[2, 4])}, [KAnonymity(2)])
    for name, value in (("_WORTH", 1), ("_ROOM", 100)):
        with monkeypatch.context() as patched:
            patched.setattr(lattice, name, value)
            with leading([2]) as lattices:
                method.fit(table)
            assert lattices.led == 0
