"""The intruder who knows the recipe: against windows, known chances and plain counting."""

import datetime as dt
import decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import Generalize, KAnonymity, Mondrian
from discreet.microaggregation import Microaggregation
from discreet.perturbation import PRAM, Noise, RankSwap, Shuffle
from discreet.risk import distance_linkage, informed_linkage, probabilistic_linkage
from discreet.rounding import OMA
from tests.examples import examples


def places(column):
    """First and last rank of each value."""
    ordered = np.sort(column)
    return np.searchsorted(ordered, column), np.searchsorted(ordered, column, side="right") - 1


def in_windows(x, y, p):
    """Released record, original -> no column went farther than p % of the ranks."""
    n = len(x)
    possible = np.ones((n, n), dtype=bool)
    for c in range(x.shape[1]):
        (low, high), (y_low, y_high) = places(x[:, c]), places(y[:, c])
        possible &= y_low[:, None] - high <= int(p * n / 100)
        possible &= low - y_high[:, None] <= int(p * n / 100)
    return possible


@pytest.mark.parametrize(("p", "unique"), [(15, 0.818), (10, 0.971)])
def test_rank_swapping_is_undone_as_by_intersecting_windows(census, p, unique):
    x, y = census, RankSwap(p=p, random_state=1).fit_transform(census)
    possible = in_windows(x, y, p)
    assert possible.diagonal().all()
    candidates = possible.sum(axis=1)
    assert (candidates == 1).mean() == pytest.approx(unique, abs=0.04)
    found = informed_linkage(x, y)
    assert found > (1 / candidates).mean() - 0.02
    naive = (
        distance_linkage(x, y, known="all"),
        probabilistic_linkage(x, y, agreement="sd", known="all"),
    )
    assert found > 1.3 * max(naive)
    drawn = informed_linkage(x, RankSwap(p=p, window="drawn", random_state=1).fit_transform(census))
    # A window that is drawn excludes nobody for certain.
    assert drawn < found - 0.08
    print(
        f"Census, rank-swap p = {p}: informed {found:.1%}, with a drawn window {drawn:.1%}; "
        f"windows intersected {(1 / candidates).mean():.1%}; distance {naive[0]:.1%}, "
        f"probabilistic {naive[1]:.1%}"
    )


@pytest.mark.parametrize(
    "method",
    [
        partial(RankSwap, p=20),
        partial(Noise, scale=0.5),
        partial(Noise, kind="multiplicative", scale=0.35),
    ],
    ids=["swap", "noise", "multiplicative"],
)
def test_the_release_alone_teaches_as_much_as_other_runs(census, method):
    y, *reruns = (method(random_state=seed).fit_transform(census) for seed in range(1, 5))
    alone = informed_linkage(census, y)
    taught = informed_linkage(census, y, reruns=reruns)
    assert 0.1 < alone < 0.95
    assert alone == pytest.approx(taught, abs=0.07)


def test_the_nearest_record_is_hardly_better_where_it_is_the_likeliest(census):
    y = Noise(scale=0.3, random_state=1).fit_transform(census)
    assert informed_linkage(census, y) > distance_linkage(census, y, known="all") - 0.08


def test_swaps_that_always_go_far_are_undone():
    # Just outside the intervals that other measures look at, each value goes 11 to 13 % of ranks.
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1000, 8))
    y = np.empty_like(x)
    for c in range(8):
        rank = np.argsort(np.argsort(x[:, c]))
        moved = np.argsort(rank + rng.choice([-1, 1], 1000) * rng.uniform(110, 130, 1000))
        y[moved, c] = np.sort(x[:, c])
    assert distance_linkage(x, y, known="all") < 0.7
    assert informed_linkage(x, y) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_what_tells_nothing_finds_nobody(seed):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(600, 4)), rng.integers(0, 4, (600, 3))])
    unrelated = np.column_stack([rng.normal(size=(600, 4)), rng.integers(0, 4, (600, 3))])
    for y in (unrelated, Shuffle(random_state=seed).fit_transform(x)):
        found = informed_linkage(x, y, detail=True)
        # One in 600 by guessing; by learning from the own record it would be many.
        assert found.value < 0.02
        assert max(found.columns.values()) < 0.15


def test_untouched_records_are_found_as_one_of_their_equals():
    table = pa.table(
        {
            "age": [20, 20, 20, None, None, 51],
            "sex": ["f", "f", None, "m", "m", "m"],
            "born": [dt.date(2000, 1, 1)] * 5 + [dt.date(1999, 1, 1)],
        }
    )
    found = informed_linkage(table, table, detail=True)
    np.testing.assert_allclose(found.records, [1 / 2, 1 / 2, 1, 1 / 2, 1 / 2, 1])
    assert found.value == pytest.approx(4 / 6)
    assert found.largest == 1
    assert found.rows.tolist() == [0, 1, 2, 3, 4, 5]


def test_noise_on_one_column_is_the_likelihood_of_the_normal():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 3))
    y = x + 0.1 * rng.normal(size=x.shape)
    nearest = ((y[:, None, :] - x[None]) ** 2).sum(axis=2).argmin(axis=1)
    best = (nearest == np.arange(2000)).mean()
    assert informed_linkage(x, y) == pytest.approx(best, abs=0.04)
    # The capacity of a normal channel: half the logarithm of 1 + signal over noise.
    bits = informed_linkage(x[:, :1], y[:, :1], detail=True).columns["x0"]
    assert bits == pytest.approx(0.5 * np.log2(1 + 100), abs=0.15)


def people(n=3000, seed=5):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "zip": [f"{z:05d}" for z in rng.integers(10000, 10400, n)],
            "job": rng.choice(list("abcdefgh"), n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]),
            "works": pa.array(rng.random(n) < 0.5),
        }
    )


def test_categories_tell_by_what_is_kept_and_how_rare_they_are():
    table = people().select(["job", "works"])
    changed = PRAM(retention=0.7, random_state=2).fit(table).transform(table)
    found = informed_linkage(table, changed, detail=True)
    a, b = (np.array(t["works"].to_pylist()) for t in (table, changed))
    kept = (a == b).mean()
    entropy = -kept * np.log2(kept) - (1 - kept) * np.log2(1 - kept)
    assert found.columns["works"] == pytest.approx(1 - entropy, abs=0.02)
    # The likeliest original is the one that was kept, so that those who were kept tie.
    joint = {}
    for pair in zip(table["job"].to_pylist(), a, strict=True):
        joint[pair] = joint.get(pair, 0) + 1
    released = zip(changed["job"].to_pylist(), b, strict=True)
    own = zip(table["job"].to_pylist(), a, strict=True)
    expected = np.mean([(r == o) / joint[o] for r, o in zip(released, own, strict=True)])
    assert found.value == pytest.approx(expected, abs=1e-9)


def same_class(protected, columns):
    rows = list(zip(*(protected[c].to_pylist() for c in columns), strict=True))
    return np.array([rows.count(row) for row in rows])


@pytest.mark.parametrize("kind", ["generalize", "mondrian"])
def test_generalized_labels_leave_a_class_to_guess_in(kind):
    table = people(800)
    model = [KAnonymity(5)]
    if kind == "generalize":
        hierarchies = {
            "age": {"kind": "intervals", "widths": [10, 20, 40]},
            "zip": {"kind": "prefix"},
        }
        method = Generalize(hierarchies, model, suppression_limit=0.1)
    else:
        method = Mondrian(model, columns=["age", "job"])
    after = method.fit_transform(table)
    columns = ["age", "zip"] if kind == "generalize" else ["age", "job"]
    found = informed_linkage(table, after, known=columns, drawn=[], detail=True)
    sizes = same_class(after, columns)
    # Never better than to guess within the class, and as good where classes are apart.
    assert (found.records <= 1 / sizes + 1e-12).all()
    assert found.value > 0.5 * (1 / sizes).mean()
    if kind == "generalize":
        kept = ~method.suppressed_mask_
        np.testing.assert_allclose(found.records[kept], 1 / sizes[kept])
    # Who is not told that no seed was in it learns a little less, and never more.
    assert informed_linkage(table, after, known=columns) < found.value + 0.02


def test_groups_of_k_leave_k_to_guess_among(census):
    after = Microaggregation(k=5).fit_transform(census)
    found = informed_linkage(census, after, drawn=[], detail=True)
    assert found.largest <= 1 / 5 + 1e-12
    assert found.value > 0.19
    rounded = OMA(k=50).fit_transform(census[:, :1])
    sizes = np.array([(rounded == value).sum() for value in rounded[:, 0]])
    records = informed_linkage(census[:, :1], rounded, drawn=[], detail=True).records
    np.testing.assert_allclose(records, 1 / sizes)


number = st.none() | st.integers(0, 5).map(float)
label = st.none() | st.sampled_from("abc")
record = st.tuples(number, label, number, label)


def goes_with(x, y, i):
    """Originals that the released value of row i goes with, by the definition."""
    seen = [a for a, b in zip(x, y, strict=True) if b == y[i]]
    if any(isinstance(a, float) for a in x):
        there = [a for a in seen if a is not None]
        return [a in seen if a is None or not there else min(there) <= a <= max(there) for a in x]
    return [a in seen for a in x]


@given(st.lists(st.tuples(record, record), min_size=1, max_size=25))
@examples(60)
@pytest.mark.filterwarnings("error")
def test_without_a_seed_whoever_fits_is_a_candidate(pairs):
    before, after = (list(zip(*side, strict=True)) for side in zip(*pairs, strict=True))
    # Numbers stay numbers or become labels, labels stay labels.
    types = [pa.float64(), pa.string(), pa.float64(), pa.string()]
    after[0] = [None if v is None else f"about {v:.0f}" for v in after[0]]
    kinds = [pa.string(), *types[1:]]
    x, y = (
        pa.table({f"c{i}": pa.array(side[i], kind[i]) for i in range(4)})
        for side, kind in ((before, types), (after, kinds))
    )
    records = informed_linkage(x, y, drawn=[], detail=True).records
    for i, found in enumerate(records):
        fits = np.all([goes_with(before[c], after[c], i) for c in range(4)], axis=0)
        assert found == pytest.approx(1 / fits.sum())
    # Whatever chance did, the figure is a share, and nothing is divided by zero.
    for drawn in (["c0", "c1"], None):
        assert 0 <= informed_linkage(x, y, drawn=drawn) <= 1
    assert 0 <= informed_linkage(x, y, reruns=[y, y.take(np.arange(len(y))[::-1])]) <= 1


def test_nulls_are_values_of_their_own():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3))
    y = x + 0.05 * rng.normal(size=x.shape)
    x[:100, 0] = y[:100, 0] = np.nan  # stay null: these have 100 to tell apart, not 500
    y[100:150, 1] = np.nan  # blanked
    found = informed_linkage(x, y, detail=True)
    assert found.value > informed_linkage(x[:, 1:], y[:, 1:])
    alone = informed_linkage(x[:, :1], y[:, :1], detail=True).records[:100]
    assert alone == pytest.approx(1 / 100)


def test_a_number_that_became_labels_by_chance_is_learned_from_the_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    labels = pa.array([f"{v:.0f}" for v in x + 0.3 * rng.normal(size=4000)])
    found = informed_linkage(pa.table({"v": x}), pa.table({"v": labels}), detail=True)
    assert 0.8 < found.columns["v"] < 2.0
    # Nobody is found by being the only one with his value.
    assert found.value < 0.01


def test_dates_and_huge_numbers_are_compared_as_numbers():
    rng = np.random.default_rng(0)
    day = rng.integers(0, 20_000, 400)
    dates = pa.array(day.astype("datetime64[D]"))
    moved = pa.array((day + rng.integers(-3, 4, 400)).astype("datetime64[D]"))
    huge = rng.normal(size=400) * 1e307
    table = pa.table({"d": dates, "v": huge})
    after = pa.table({"d": moved, "v": huge * rng.uniform(0.99, 1.01, 400)})
    assert informed_linkage(table, after) > 0.95


def test_some_records_stand_for_all():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3))
    y = x + 0.1 * rng.normal(size=x.shape)
    whole = informed_linkage(x, y, detail=True)
    some = informed_linkage(x, y, queries=1000, detail=True)
    assert len(some.rows) == 1000
    np.testing.assert_array_equal(some.records, whole.records[some.rows])
    assert some.value == pytest.approx(whole.value, abs=0.05)


def test_columns_that_other_runs_repeat_are_known_exactly():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    rounded = OMA(k=10).fit_transform(x[:, :1])[:, 0]
    runs = [np.column_stack([rounded, rng.normal(size=300)]) for _ in range(3)]
    found = informed_linkage(x, runs[0], reruns=runs[1:], detail=True)
    assert found.columns["x0"] == pytest.approx(np.log2(30), abs=0.2)
    exact = informed_linkage(x, runs[0], drawn=["x1"], detail=True)
    assert found.columns["x0"] == exact.columns["x0"]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_very_few_records(n):
    x, moved = (pa.table({"a": np.arange(n) + by, "b": np.arange(n) - by}) for by in (0.0, 0.1))
    assert informed_linkage(x, x) == (1.0 if n else 0.0)
    assert 0 <= informed_linkage(x, moved) <= 1


def test_columns_without_values():
    table = pa.table({"v": pa.array([None, None, 1.0]), "s": pa.array([None] * 3, pa.string())})
    blank = pa.table({"v": pa.array([None] * 3, pa.float64()), "s": pa.array(["a", "b", "b"])})
    assert 0 < informed_linkage(table, blank) <= 1
    assert informed_linkage(blank, table) > 0


def test_messages():
    x = np.arange(6.0).reshape(3, 2)
    with pytest.raises(BadInput, match="the original has 3 rows, the protected table 2"):
        informed_linkage(x, x[:2])
    with pytest.raises(BadInput, match="the original has 3 rows, the rerun 2"):
        informed_linkage(x, x, reruns=[x[:2]])
    with pytest.raises(BadInput, match="column 'y' cannot be compared"):
        informed_linkage(x, x, known=["y"])
    with pytest.raises(BadInput, match='known = "paper" is for other linkage'):
        informed_linkage(x, x, known="paper")
    with pytest.raises(BadInput, match=r"drawn must be a list, such as \['x1'\]"):
        informed_linkage(x, x, drawn="x1")
    with pytest.raises(BadInput, match="queries = 0 must be 1 or more"):
        informed_linkage(x, x, queries=0)
    with pytest.raises(BadInput, match="a rerun has no column 'x1'"):
        informed_linkage(x, x, reruns=[x[:, :1]])
    with pytest.raises(BadInput, match="column 'v' holds infinity"):
        informed_linkage(pa.table({"v": [1.0, np.inf]}), pa.table({"v": [1.0, 2.0]}))
    with pytest.raises(BadInput, match="column 'v' holds list"):
        informed_linkage(pa.table({"v": [[1], [2]]}), pa.table({"v": [[1], [3]]}))


@pytest.mark.parametrize(
    "make",
    [
        lambda i: pa.array(2**60 + i),
        lambda i: pa.array(i.astype(np.uint64) + np.uint64(2**63)),
        lambda i: pa.array([decimal.Decimal(10**20 + int(x)) / 100 for x in i]),
    ],
)
def test_numbers_of_many_digits_are_told_apart(make):
    table = pa.table({"account": make(np.random.default_rng(1).permutation(300))})
    assert informed_linkage(table, table) == 1.0
    blank = pa.array([None, *table["account"].to_pylist()[1:]], table["account"].type)
    assert informed_linkage(table, pa.table({"account": blank}), drawn=[]) == 1.0
    mixed = table.take(np.random.default_rng(2).permutation(300))
    assert informed_linkage(table, mixed) < 0.05
