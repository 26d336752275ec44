"""Bins and labels: never fewer than ten records, nothing lost, no edge from a record."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.assessment.bins import FEWEST, categories, histogram, quantiles, told

numbers = st.one_of(
    st.floats(-1e6, 1e6),
    st.integers(-50, 50).map(float),
    st.floats(0, 1e-3).map(lambda x: 1e9 + x),
    st.sampled_from([0.0, 1.0, 1e300, -1e300]),
)
# Long enough for several bins, drawn from few values: fast to make.
sides = st.builds(
    lambda values, n, seed: np.random.default_rng(seed).choice(values, n),
    st.lists(numbers, min_size=1, max_size=30),
    st.integers(0, 200),
    st.integers(0, 1000),
)


@given(sides, sides)
def test_bins_hold_all_records_and_at_least_ten(before, after):
    found = histogram(before, after)
    if found is None:
        return
    edges, *counts = found
    assert len(edges) >= 1
    assert (np.diff(edges) > 0).all()
    for side, count in zip((before, after), counts, strict=True):
        assert len(count) == len(edges) + 1
        assert count.sum() == len(side)
        assert not len(side) or count.min() >= FEWEST
        # By another road: how many lie below each edge.
        below = [(side < edge).sum() for edge in edges]
        assert np.cumsum(count)[:-1].tolist() == below


def test_few_records_and_constants_have_no_bins():
    assert histogram(np.arange(9.0)) is None
    assert histogram(np.arange(100.0), np.arange(9.0)) is None
    assert histogram(np.full(100, 3.5)) is None
    assert histogram(np.empty(0), np.empty(0)) is None
    assert histogram(np.repeat([-1.7e308, 1.7e308], 50)) is None


def test_an_empty_side_is_drawn_as_none():
    _, before, after = histogram(np.arange(100.0), np.empty(0))
    assert before.sum() == 100
    assert after.sum() == 0


def test_values_that_heap_at_round_numbers_lie_inside_bins():
    heaped = np.repeat(np.arange(0.0, 50_000.0, 1000.0), 20)
    nudged = heaped - 0.01  # As a group's centre may come out.
    _, before, after = histogram(np.append(heaped, 0.5), np.append(nudged, 0.5))
    assert before.tolist() == after.tolist()


@given(arrays(np.float64, st.integers(50, 100), elements=st.integers(0, 1000).map(float)))
def test_no_edge_is_a_whole_value(values):
    found = histogram(values)
    if found is not None:
        assert not np.isin(found[0], values).any()


def test_far_values_fall_into_the_open_bins():
    values = np.append(np.linspace(0.0, 100.0, 1000), [1e12] * 5)
    edges, counts = histogram(values)
    assert edges[-1] < 200
    assert counts[-1] >= 5


@pytest.mark.parametrize(
    ("first", "last", "some"),
    [
        ("1930-05-01", "2010-03-01", "1950-01-01"),
        ("2019-01-05", "2020-11-03", "2019-06-01"),
        ("2019-01-05", "2019-02-20", "2019-01-16"),
    ],
)
def test_dates_are_cut_by_the_calendar(first, last, some):
    ends = np.array([first, last], dtype="datetime64[s]").astype(np.float64)
    values = np.linspace(*ends, 2000)
    edges, _ = histogram(values, dates=True)
    assert some in told(edges, dates=True)
    assert (np.diff(edges) > 0).all()


@pytest.mark.parametrize(
    "values",
    [
        12345678901234560.0 + np.repeat(np.arange(30.0), 20),
        1e8 + np.random.default_rng(0).random(100) * 1e-7,
        -1e9 + np.random.default_rng(0).random(500) * 1e-3,
    ],
)
def test_large_numbers_close_together(values):
    edges, counts = histogram(values)
    assert (np.diff(edges) > 0).all()
    assert len(counts) >= 2
    assert counts.sum() == len(values)
    assert values.min() <= edges[0] <= edges[-1] <= values.max()


def test_times_within_minutes_are_told_apart():
    start = float(np.datetime64("2024-01-01T10:00", "s").astype(int))
    edges, _ = histogram(start + np.linspace(0, 300, 400), dates=True)
    said = told(edges, dates=True)
    assert "2024-01-01T10:00:40" in said
    assert len(set(said)) == len(edges) > 10


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar_are_told(day):
    far = float(np.datetime64(day, "s").astype(int))
    values = np.append(np.linspace(0.0, 1e9, 50), np.full(50, far))
    edges, _ = histogram(values, dates=True)
    assert len(told(edges, dates=True)) == len(edges)
    assert told(np.array([far, 0.0]), dates=True) == [day, "1970-01-01"]


@given(sides, sides)
def test_quantiles_have_ten_records_between_them(before, after):
    found = quantiles(before, after)
    if found is None:
        assert min(len(before), len(after)) < 2 * FEWEST or np.abs(before).max() > 1e299
        return
    for side, levels in zip((before, after), found, strict=True):
        assert len(levels) <= min(100, len(side) // FEWEST)
        assert (np.diff(levels) >= 0).all()


counts = st.dictionaries(st.text(max_size=3), st.integers(1, 40), max_size=40)


@given(counts, counts)
def test_rare_labels_are_pooled(before, after):
    found = categories(before, after)
    if found is None:
        return
    assert len(found["labels"]) == len(set(found["labels"])) <= 21
    for name, side in (("before", before), ("after", after)):
        assert all(n == 0 or n >= FEWEST for n in found[name])
        assert sum(found[name]) == sum(side.values())
        shown = dict(zip(found["labels"], found[name], strict=True))
        for label in {name for name in shown if "other" not in name} & set(side):
            assert shown[label] == side[label]


def test_a_label_called_other_stays_one():
    found = categories({"other": 50, "rare": 3, "scarce": 9})
    assert found == {"labels": ["other", "all other"], "counts": [50, 12]}


def test_no_two_labels_have_one_name():
    given = {"other": 50, "all other": 40, "rare": 3, "scarce": 9}
    found = categories(given)
    assert found["labels"] == ["other", "all other", "all other (2)"]
    assert found["counts"] == [50, 40, 12]
    found = categories(given | {"all other (2)": 30})
    assert found["labels"][-1] == "all other (3)"


@pytest.mark.parametrize(
    "labels",
    [
        ["0-9", "10-19", "20-29", "100-109", "*"],
        ["<20", "20-29", "30-39", "north", "south"],
        ["[-20, -10)", "[-10, 0)", "[0, 5.5)", "[5.5, 10)"],
        ["500-999", "1,000-1,999", "2,000-2,999", "10,000 and more"],
    ],
)
def test_intervals_stay_in_their_order(labels):
    counts = {label: 20 + i for i, label in enumerate(labels)}
    words = sorted((x for x in labels if x[0].isalpha()), key=lambda x: -counts[x])
    expected = [x for x in labels if not x[0].isalpha()] + words
    found = categories(counts)
    assert found["labels"] == expected
    assert found["counts"] == [counts[label] for label in expected]
    # The commonest are kept, wherever they stand; what is pooled comes last.
    assert categories(counts | {"5": 3, "6": 8})["labels"] == [*expected, "other"]


def test_labels_of_one_record_each_tell_nothing():
    assert categories({f"name {i}": 1 for i in range(9)}) is None
    assert categories({f"name {i}": 1 for i in range(30)}) == {"labels": ["other"], "counts": [30]}
