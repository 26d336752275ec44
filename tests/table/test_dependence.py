"""What gives a column away is found, and chance is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.table import dependence
from discreet.table.dependence import Hidden, Known, telling


def draw(rng, n, size, skew=1.0):
    return (rng.random(n) ** skew * size).astype(np.int32)


def known(name, codes, numbers=None):
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int32)
    return Known(name, codes, int(codes.max()) + 1, numbers)


def hidden(name, codes, classes=None, numbers=None, **more):
    column = known(name, codes)
    return Hidden(name, column.codes, column.size, numbers, classes, **more)


def found(*given, **more):
    return {told.columns: told.records for told in telling(*given, **more)}


def brute_force(codes, classes, *columns):
    """Count the records whose class and columns leave one value, where the class does not."""
    of_class, of_cell = {}, {}
    keys = list(zip(classes.tolist(), *(c.tolist() for c in columns), strict=True))
    for value, key in zip(codes.tolist(), keys, strict=True):
        of_class.setdefault(key[0], set()).add(value)
        of_cell.setdefault(key, set()).add(value)
    return sum(len(of_class[key[0]]) > 1 and len(of_cell[key]) == 1 for key in keys)


@given(
    n=st.sampled_from([30, 200, 1000]),
    sizes=st.lists(st.integers(2, 400), min_size=3, max_size=6),
    skew=st.floats(0.5, 8),
    coarse=st.integers(1, 20),
    members=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_independent_columns_tell_nothing(n, sizes, skew, coarse, members, seed):
    rng = np.random.default_rng(seed)
    columns = [draw(rng, n, size, skew) for size in sizes]
    others = [known(str(i), c, rng.normal(size=n)) for i, c in enumerate(columns)]
    for i, codes in enumerate(columns):
        for classes in (codes // coarse, None):
            target = hidden(str(i), codes, classes, codes + 0.0)
            assert not telling(target, others, np.arange(n) // members, len(sizes))


@pytest.mark.parametrize("sample", [1 << 16, 1 << 13])
def test_many_independent_columns_tell_nothing(sample, monkeypatch):
    monkeypatch.setattr(dependence, "_SAMPLE", sample)
    rng, n = np.random.default_rng(5), 20_000
    sizes = [2, 2, 3, 5, 9, 20, 71, 300, 1300, 7000]
    columns = [draw(rng, n, size, 1 + i % 4) for i, size in enumerate(sizes)]
    others = [known(str(i), c, rng.normal(size=n)) for i, c in enumerate(columns)]
    amounts = rng.lognormal(10, 1, n)
    rank = np.argsort(np.argsort(amounts))
    targets = [hidden(str(i), c, c // 3, c + 0.0) for i, c in enumerate(columns)]
    targets += [hidden("amount", rank, rank // 5, amounts), hidden("amount", rank, None, amounts)]
    for target in targets:
        assert not telling(target, others, searches=len(targets))


@pytest.mark.parametrize("sample", [1 << 16, 1 << 10])
@pytest.mark.parametrize("part", [1.0, 0.3, 0.05])
def test_a_column_that_tells_some_records_is_found(part, sample, monkeypatch):
    monkeypatch.setattr(dependence, "_SAMPLE", sample)
    rng, n = np.random.default_rng(2), 15_000
    weight = draw(rng, n, 71)
    region = np.where(weight < part * 71, weight // 8, draw(rng, n, 9))
    target = hidden("region", region, region // 3)
    others = [
        known("weight", weight),
        known("sex", draw(rng, n, 2)),
        known("age", draw(rng, n, 90)),
    ]
    assert found(target, others) == {("weight",): brute_force(region, region // 3, weight)}


def test_a_few_exceptions_do_not_hide_what_is_told():
    rng, n = np.random.default_rng(3), 15_000
    size = 1 + draw(rng, n, 5)
    rows = np.where(rng.random(n) < 0.01, np.maximum(size - 1, 1), size)
    told = found(hidden("size", size, size // 3), [known("rows", rows)])
    assert told[("rows",)] > 0.9 * n


def test_small_cells_count_together():
    rng, n = np.random.default_rng(4), 900
    city = draw(rng, n, 300)
    region = np.random.default_rng(0).integers(0, 4, 300)[city]
    told = found(hidden("region", region), [known("city", city), known("b", draw(rng, n, 300))])
    seen = np.bincount(city)[city] > 1
    assert told == {("city",): int(seen.sum())}


def test_a_pair_tells_what_neither_column_does():
    rng, n = np.random.default_rng(6), 5000
    a, b = draw(rng, n, 6), draw(rng, n, 6)
    others = [known("a", a), known("b", b), known("c", draw(rng, n, 9))]
    assert found(hidden("x", (a + b) % 6), others) == {("a", "b"): n}
    # What a alone tells is not the pair's.
    half = np.where(a < 3, a, 3 + (a + b) % 3)
    told = found(hidden("x", half), others)
    assert told == {("a",): int((a < 3).sum()), ("a", "b"): int((a >= 3).sum())}


def test_a_close_relation_is_not_told():
    # Eight of ten have the usual value: no record's is certain.
    rng, n = np.random.default_rng(7), 100_000
    w, b = draw(rng, n, 50), draw(rng, n, 40)
    x = np.where(rng.random(n) < 0.8, w % 5, draw(rng, n, 5))
    assert not telling(hidden("x", x), [known("w", w), known("b", b), known("c", draw(rng, n, 7))])


@pytest.mark.parametrize("classes", ["groups of five", "noise"])
@pytest.mark.parametrize("sample", [1 << 16, 1 << 10])
def test_numbers_that_sort_others_are_found(classes, sample, monkeypatch):
    monkeypatch.setattr(dependence, "_SAMPLE", sample)
    rng, n = np.random.default_rng(8), 10_000
    income = np.round(rng.lognormal(10, 1, n), 2)
    rank = np.argsort(np.argsort(income))
    target = hidden("income", income, rank // 5 if classes != "noise" else None, income)
    others = [
        known("monthly", income, income / 12),
        known("tax left", income, -np.sqrt(income)),
        known("close", rank, np.log(income) + rng.normal(0, 0.05, n)),
        known("other", rank, rng.normal(size=n)),
    ]
    told = {t.columns: t for t in telling(target, others)}
    assert set(told) == {("monthly",), ("tax left",)}
    assert all(t.how == "sorts" and t.records > 0.99 * n for t in told.values())


def test_units_are_asked_once():
    # 200 households of 10 with one value each: 2,000 records, and no more than 200 facts.
    rng = np.random.default_rng(9)
    home = np.repeat(np.arange(200), 10)
    value, place = rng.integers(0, 3, 200)[home], rng.integers(0, 180, 200)[home]
    target, others = hidden("value", value), [known("place", place)]
    assert telling(target, others)
    assert not telling(target, others, home)


def test_columns_with_the_same_protection_are_not_asked():
    city = np.arange(3000) % 30
    target = hidden("region", city // 5, None, beside=["city"])
    assert not telling(target, [known("city", city), known("b", city % 2)])


def test_a_finer_group_narrows_values_down():
    rng, n = np.random.default_rng(10), 20_000
    age = draw(rng, n, 80)
    others = [
        known("fives", age // 5),
        known("sex", draw(rng, n, 2)),
        known("c", draw(rng, n, 500)),
    ]
    (told,) = telling(hidden("age", age, age // 20), others)
    assert (told.columns, told.records, told.how) == (("fives",), n, "narrows")
