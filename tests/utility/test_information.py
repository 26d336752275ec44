"""Information lost, against a plain count and against what must hold."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import assess
from discreet.errors import BadInput
from discreet.generalization import Hierarchy, KAnonymity, Mondrian
from discreet.utility import entropy, information_loss

RNG = np.random.default_rng(8)


def plain(x, y):
    """H(X | Y) / H(X) by counting, with Miller and Madow's correction."""

    def h(values):
        counts = Counter(values)
        n = len(values)
        return -sum(c / n * math.log(c / n) for c in counts.values()) + (len(counts) - 1) / (2 * n)

    found = (h(list(zip(x, y, strict=True))) - h(y)) / h(x)
    return min(1.0, max(0.0, found))


labels = st.sampled_from(["a", "b", "c", None])


@given(st.lists(st.tuples(labels, labels), min_size=80, max_size=120))
def test_against_a_plain_count(rows):
    x, y = zip(*rows, strict=True)
    before, after = (pa.table({"c": pa.array(side, pa.string())}) for side in (x, y))
    if len(set(x)) < 2:
        with pytest.raises(BadInput):
            information_loss(before, after)
        return
    found = information_loss(before, after)
    if any(b not in (a, None) for a, b in rows):
        assert found == pytest.approx(plain(x, y))
    else:
        # Nothing but blanks, of which each record's own is lost.
        assert 0 <= found <= 1


def test_nothing_is_lost_by_what_can_be_undone():
    x = RNG.normal(size=(1000, 1))
    assert information_loss(x, x) == 0
    assert information_loss(x, 1e3 + 1e-3 * x) == 0
    # Where the order is turned, values on an edge change sides.
    assert information_loss(x, -x) < 0.05
    words = pa.table({"c": RNG.choice(["a", "b", "c"], 300)})
    coded = pa.table({"c": ["xyz"["abc".index(v)] for v in words["c"].to_pylist()]})
    assert information_loss(words, coded) == 0
    codes = pa.table({"c": [f"{i:04}" for i in RNG.integers(0, 500, 3000)]})
    assert information_loss(codes, codes) == 0
    shorter = pa.table({"c": [c[:3] for c in codes["c"].to_pylist()]})
    shortest = pa.table({"c": [c[:2] for c in codes["c"].to_pylist()]})
    assert 0 < information_loss(codes, shorter) < information_loss(codes, shortest) < 1


def test_all_is_lost_by_a_constant_by_nulls_by_chance_and_by_leaving_out():
    x = RNG.normal(size=(5000, 1))
    assert information_loss(x, np.zeros_like(x)) == 1
    assert information_loss(x, np.full_like(x, np.nan)) == 1
    assert information_loss(x, RNG.permutation(x)) == pytest.approx(1, abs=0.01)
    codes = RNG.integers(0, 500, 5000).astype(str)
    before, after = (pa.table({"c": side}) for side in (codes, RNG.permutation(codes)))
    assert information_loss(before, after) == pytest.approx(1, abs=0.01)
    before = pa.table({"a": [1, 2] * 50, "b": [1, 2] * 50})
    found = information_loss(before, before.select(["a"]), ["a", "b"], detail=True)
    assert (found.value, found.columns) == (0.5, {"a": 0.0, "b": 1.0})


def test_more_noise_loses_more_and_so_do_wider_intervals():
    x = RNG.normal(size=(4000, 1))
    noise = RNG.normal(size=x.shape)
    losses = [information_loss(x, x + size * noise) for size in (0.01, 0.1, 0.5, 1, 3)]
    assert losses == sorted(losses)
    ages = pa.table({"age": RNG.integers(0, 100, 4000)})
    wide = [
        information_loss(
            ages, pa.table({"age": [f"{a // w * w}-" for a in ages["age"].to_pylist()]})
        )
        for w in (1, 10, 20, 50, 100)
    ]
    assert wide[0] == pytest.approx(0, abs=0.03)
    assert wide == sorted(wide)
    assert wide[-1] == 1
    # Halves tell 1 of log2(20) bits.
    assert wide[3] == pytest.approx(1 - 1 / math.log2(20), abs=0.02)


def test_the_bins_do_not_depend_on_the_order_of_rows():
    x = RNG.normal(size=(700, 2))
    y = x + RNG.normal(size=x.shape)
    order = RNG.permutation(700)
    assert information_loss(x, y) == pytest.approx(information_loss(x[order], y[order]), rel=1e-12)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(
        BadInput, match=r"^information_loss needs a column that varies in the original$"
    ):
        information_loss([[1.0], [1.0]], [[1.0], [2.0]])
    with pytest.raises(BadInput, match=r"^the original has 2 rows, the protected table 1$"):
        information_loss([[1.0], [2.0]], [[1.0]])
    with pytest.raises(BadInput, match=r"^the table has no column 'y'; "):
        information_loss([[1.0], [2.0]], [[1.0], [2.0]], ["y"])


# Recoded columns: a coarser release never counts as having lost less


def test_larger_classes_lose_more():
    """Labels of few records were one label, and lost more than wider ones of many."""
    rng = np.random.default_rng(0)
    ages = [None if rng.random() < 0.5 else int(rng.integers(18, 90)) for _ in range(300)]
    people = pa.table(
        {"age": pa.array(ages), "code": rng.integers(0, 100, 300), "pay": rng.integers(0, 50, 300)}
    )
    for policy in ("contaminate", "segregate"):
        made = [Mondrian([KAnonymity(k)], null_policy=policy) for k in (2, 3, 5, 6, 10, 20)]
        losses = [information_loss(people, one.fit_transform(people)) for one in made]
        assert losses == sorted(losses)


@st.composite
def nested(draw):
    """Numbers, and two releases of them of which the second is coarser in every cell."""
    n = draw(st.integers(2, 40))
    values = draw(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=n, max_size=n))
    sides = []
    for x in values:
        if x is None:
            finer = draw(st.sampled_from([None, "*"]))
            sides.append((finer, finer if finer == "*" else draw(st.sampled_from([None, "*"]))))
            continue
        a, b, c, d = (draw(st.integers(0, 6)) for _ in range(4))
        ranges = [f"{x}", f"{x - a} to {x + b}", f"{x - a - c} to {x + b + d}", "*", None]
        first = draw(st.integers(0, 4))
        sides.append((ranges[first], ranges[draw(st.integers(first, 4))]))
    # Of * and null neither tells more of a value.
    return values, [y for y, _ in sides], [z for _, z in sides]


@given(nested())
def test_a_release_that_is_coarser_cell_by_cell_has_lost_at_least_as_much(case):
    values, *sides = case
    if len(set(values)) < 2:
        return
    before = pa.table({"c": pa.array(values, pa.int64())})
    finer, coarser = (pa.table({"c": pa.array(side, pa.string())}) for side in sides)
    assert information_loss(before, finer) <= information_loss(before, coarser) + 1e-12


TREE = {"north": {"coast": ["a", "b"], "hills": ["c"]}, "south": ["d", "e"]}
UP = {
    "a": ["a", "coast", "north", "*"],
    "b": ["b", "coast", "north", "*"],
    "c": ["c", "hills", "north", "*"],
    "d": ["d", "south", "south", "*"],
    "e": ["e", "south", "south", "*"],
}


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(UP)), st.integers(0, 3), st.integers(0, 3)),
        min_size=2,
        max_size=40,
    )
)
def test_the_same_of_labels_by_their_hierarchy(rows):
    if len({x for x, _, _ in rows}) < 2:
        return
    before = pa.table({"c": [x for x, _, _ in rows]})
    finer = pa.table({"c": [UP[x][min(i, j)] for x, i, j in rows]})
    coarser = pa.table({"c": [UP[x][max(i, j)] for x, i, j in rows]})
    known = {"c": Hierarchy.groups(TREE)}
    one, other = (information_loss(before, y, hierarchies=known) for y in (finer, coarser))
    assert one <= other + 1e-12
    assert information_loss(before, before, hierarchies=known) == 0
    starred = pa.table({"c": ["*"] * len(rows)})
    assert information_loss(before, starred, hierarchies=known) == 1


def test_labels_that_do_not_overlap_lose_the_conditional_entropy():
    x = RNG.choice(list("aabcde"), 600).tolist()
    y = [UP[v][2] for v in x]
    n = len(x)
    lost = sum(math.log(y.count(b) / x.count(a)) for a, b in zip(x, y, strict=True))
    told = sum(math.log(n / x.count(a)) for a in x)
    found = information_loss(pa.table({"c": x}), pa.table({"c": y}))
    assert found == pytest.approx(lost / told)


def test_numbers_ranges_labels_and_stars_are_on_one_scale():
    ages = RNG.integers(0, 100, 4000)
    steps = ages // 25
    before = pa.table({"c": ages})
    forms = {
        "numbers": steps * 25.0 + 12,
        "whole ranges": [f"{s * 25}-{s * 25 + 24}" for s in steps],
        "open ranges": [f"[{s * 25}, {s * 25 + 25})" for s in steps],
        "words": ["young", "grown", "old", "aged"],
    }
    forms["words"] = [forms["words"][s] for s in steps]
    found = [information_loss(before, pa.table({"c": form})) for form in forms.values()]
    assert found == pytest.approx([found[0]] * 4)
    # 24 other ages of 40 records could be meant, of 99, in bins of 200.
    assert found[0] == pytest.approx(math.log(1 + 24 / 5) / math.log(1 + 99 / 5), abs=0.01)


def test_a_null_that_was_null_costs_as_far_as_others_were_blanked():
    before = pa.table({"c": pa.array([None, None, "a", "b"] * 25)})
    assert information_loss(before, before) == 0
    blanked = pa.table({"c": pa.array([None, None, None, "b"] * 25, pa.string())})
    # 50 nulls could be 75, 25 a could be all: of 50 log 2 + 50 log 4.
    lost = 50 * math.log(75 / 50) + 25 * math.log(4)
    assert information_loss(before, blanked) == pytest.approx(lost / (150 * math.log(2)))
    gone = pa.table({"c": pa.array([None] * 100, pa.string())})
    assert information_loss(before, gone) == 1


def test_what_is_known_never_exceeds_what_there_was():
    marital = RNG.choice(["single", "married", "widowed", "divorced"], 500, p=[0.4, 0.4, 0.1, 0.1])
    shown = np.where(RNG.random(500) < 0.3, "*", marital)
    table, local = (pa.table({"marital": side}) for side in (marital, shown))
    assert entropy(table, local) > entropy(table, table)
    roles = {"quasi": ["marital"]}
    found = assess(table, local, roles, measures=["known_bits"]).utility["known_bits"]
    assert found["before"] == pytest.approx(entropy(table, table))
    assert 0 < found["after"] < found["before"]
    assert found["columns"]["marital"] == [found["before"], found["after"]]
