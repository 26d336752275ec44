"""Information lost, against a plain count and against what must hold."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.utility import information_loss

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
    assert information_loss(before, after) == pytest.approx(plain(x, y))


def test_nothing_is_lost_by_what_can_be_undone():
    x = RNG.normal(size=(1000, 1))
    assert information_loss(x, x) == 0
    assert information_loss(x, 1e9 + 1e-3 * x) == 0
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
    assert wide[3] == pytest.approx(1 - 1 / math.log2(20), abs=0.01)


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
