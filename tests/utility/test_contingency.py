from collections import Counter
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import assess
from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from discreet.utility import contingency_loss

row = st.tuples(*[st.sampled_from(["a", "b", None])] * 6)


@given(st.lists(row, min_size=1, max_size=12))
def test_against_counters(rows):
    # The original holds every label, so that none is a name for something else.
    rows = [*rows, ("a",) * 6, ("b",) * 6]
    x, y = [r[:3] for r in rows], [r[3:] for r in rows]
    moved = 0
    for i, j in combinations(range(3), 2):
        before, after = (Counter((r[i], r[j]) for r in t) for t in (x, y))
        moved += sum(abs(before[key] - after[key]) for key in before | after)
    one, other = (
        pa.table({c: pa.array([r[i] for r in t], pa.string()) for i, c in enumerate("uvw")})
        for t in (x, y)
    )
    assert contingency_loss(one, other) == pytest.approx(moved / (2 * len(rows) * 3))
    detail = contingency_loss(one, other, detail=True)
    assert sum(detail.columns.values()) / 3 == pytest.approx(detail.value)


def test_numbers_that_became_intervals_are_compared_by_what_they_cover():
    original = pa.table({"age": [1, 2, 9], "sex": pa.array(["f", "m", "m"]).dictionary_encode()})
    protected = pa.table({"age": ["1", "[2, 3]", ">=3"], "sex": ["f", "m", "m"]})
    assert contingency_loss(original, protected) == 0
    # 9 is counted among those of 2 and 3.
    wrong = protected.set_column(0, "age", pa.array(["1", "[2, 3]", "[2, 3]"]))
    assert contingency_loss(original, wrong) == pytest.approx(1 / 3)


TREE = {"north": {"coast": ["a", "b"], "hills": ["c"]}, "south": ["d", "e"]}
UP = {
    "a": ("a", "coast", "north", "*"),
    "b": ("b", "coast", "north", "*"),
    "c": ("c", "hills", "north", "*"),
    "d": ("d", "south", "south", "*"),
    "e": ("e", "south", "south", "*"),
}
LEAVES = {label: [v for v in UP if label in UP[v]] for path in UP.values() for label in path}


def by_hand(rows, released):
    """Spread every released pair over the pairs of values that it covers, and compare."""
    groups = [
        {v: frozenset(r[side] for r in released if v in LEAVES[r[side]]) for v in UP}
        for side in (0, 1)
    ]
    was, now = Counter(), Counter()
    for one, other in rows:
        was[groups[0][one], groups[1][other]] += 1
    for one, other in released:
        held = [
            [v for v in LEAVES[label] if any(r[side] == v for r in rows)]
            for side, label in enumerate((one, other))
        ]
        for v in held[0]:
            for w in held[1]:
                now[groups[0][v], groups[1][w]] += 1 / (len(held[0]) * len(held[1]))
    return sum(abs(was[key] - now[key]) for key in was | now) / (2 * len(rows))


leaf, level = st.sampled_from(sorted(UP)), st.integers(0, 3)


@given(st.lists(st.tuples(leaf, leaf, level, level), min_size=1, max_size=12))
def test_local_recoding_against_spreading_by_hand(rows):
    x = [(a, b) for a, b, _, _ in rows]
    y = [(UP[a][i], UP[b][j]) for a, b, i, j in rows]
    before, after = (pa.table({"u": [r[0] for r in t], "v": [r[1] for r in t]}) for t in (x, y))
    known = dict.fromkeys("uv", Hierarchy.groups(TREE))
    found = contingency_loss(before, after, hierarchies=known)
    assert found == pytest.approx(by_hand(x, y), abs=1e-12)


@given(st.lists(st.tuples(leaf, leaf), min_size=1, max_size=12), level, level)
def test_recoding_all_records_alike_moves_none(rows, i, j):
    before = pa.table({"u": [a for a, _ in rows], "v": [b for _, b in rows]})
    after = pa.table({"u": [UP[a][i] for a, _ in rows], "v": [UP[b][j] for _, b in rows]})
    assert contingency_loss(before, after) == pytest.approx(0, abs=1e-12)


def test_a_star_is_spread_over_all_values():
    before = pa.table({"u": ["a", "b", "b", "b"], "v": ["x"] * 4})
    after = pa.table({"u": ["a", "b", "*", "*"], "v": ["x"] * 4})
    # Counted are 1 + 1 of a and 1 + 1 of b.
    assert contingency_loss(before, after) == 0.25


def test_many_values_are_counted_in_limited_memory():
    n = 4000
    before = pa.table({"u": [f"{i}" for i in range(n)], "v": [f"{i % 1700}" for i in range(n)]})
    after = before.set_column(0, "u", pa.array(["*", *before["u"].to_pylist()[1:]]))
    assert 0 < contingency_loss(before, after) < 2 / n


def test_cells_that_are_no_category_are_refused():
    table = pa.table({"a": [[1], [2]], "b": ["x", "y"]})
    with pytest.raises(BadInput, match=r"column 'a' holds list.*, which is no category"):
        contingency_loss(table, table)


def test_one_column_is_refused():
    table = pa.table({"sex": ["f"], "age": [1]})
    with pytest.raises(BadInput, match="contingency_loss needs two columns that are not numeric"):
        contingency_loss(table, table)


def test_weights_count_instead_of_records():
    before = pa.table({"u": ["a", "b"], "v": ["x", "y"], "w": [3.0, 1.0]})
    after = before.set_column(0, "u", pa.array(["a", "a"]))
    assert contingency_loss(before, after) == 0.5
    assert contingency_loss(before, after, weights=before["w"].to_numpy()) == 0.25
    roles = {"quasi": ["u", "v"], "weight": "w"}
    entry = assess(before, after, roles, measures=["contingency_loss"]).utility["contingency_loss"]
    assert (entry["value"], entry["weighted"]) == (0.5, 0.25)
