"""Categories beside numbers: Gower's distance, modes and medians."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.microaggregation import Microaggregation


def ordered(values, labels):
    return pa.DictionaryArray.from_arrays(
        pa.array([None if v is None else labels.index(v) for v in values], pa.int32()),
        pa.array(labels),
        ordered=True,
    )


def test_centres_are_mean_mode_and_median():
    table = pa.table(
        {
            "age": [20, 22, 27, 60, 61, 65],
            "sex": ["m", "f", "f", "m", "f", None],
            "income": ordered(["low", "high", "mid", "low", "low", "high"], ["low", "mid", "high"]),
        }
    )
    out = Microaggregation(3, small_pattern="blank", strata=None).fit_transform(table.slice(0, 3))
    assert out.to_pydict() == {"age": [23.0] * 3, "sex": ["f"] * 3, "income": ["mid"] * 3}
    assert out["income"].type.ordered
    assert out["sex"].type == pa.string()


def test_of_equally_frequent_categories_the_first_in_order_and_of_two_middles_the_lower():
    table = pa.table({"city": ["c", "b", "b", "c"], "size": ordered(list("LSML"), list("SML"))})
    out = Microaggregation(4).fit_transform(table)
    assert out.to_pydict() == {"city": ["b"] * 4, "size": ["M"] * 4}


@pytest.mark.parametrize("kind", ["plain", "categorical", "boolean"])
def test_only_categories(kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 2, 60), "b": rng.integers(0, 2, 60)}) == 1
    if kind != "boolean":
        table = table.replace({True: "yes", False: "no"})
    if kind == "categorical":
        table = table.astype("category")
    method = Microaggregation(3)
    out = method.fit_transform(table)
    # Four kinds of records, each with more than k: nearly nothing is lost.
    assert out.value_counts().min() >= 3
    assert (out != table).to_numpy().mean() < 0.05
    assert (out.dtypes == table.dtypes).all()


def by_hand(table, k):
    """MDAV on Gower's distance with pandas, for two columns: x (a number) and c (a category)."""
    x = table["x"].to_numpy()
    x = np.rint((x - x.mean()) / np.ptp(x) * 2.0**36) / 2.0**36
    c = table["c"].to_numpy()
    left, labels, group = list(range(len(table))), np.full(len(table), -1), 0

    def far(point):
        return {i: abs(x[i] - point[0]) + (c[i] != point[1]) for i in left}

    def centre():
        counts = pd.Series(c[left]).value_counts()
        return x[left].mean(), min(counts.index[counts == counts.max()])

    def take(r):
        nonlocal left, group
        left.remove(r)
        gaps = far((x[r], c[r]))
        chosen = [r, *sorted(left, key=lambda i: (gaps[i], i))[: k - 1]]
        labels[chosen] = group
        left, group = [i for i in left if i not in chosen], group + 1

    while len(left) >= 2 * k:
        gaps = far(centre())
        r = min(left, key=lambda i: (-gaps[i], i))
        pair = len(left) >= 3 * k
        take(r)
        if pair:
            gaps = far((x[r], c[r]))
            take(min(left, key=lambda i: (-gaps[i], i)))
    labels[left] = group
    return labels


def test_groups_are_those_of_gowers_distance():
    rng = np.random.default_rng(3)
    for _ in range(5):
        table = pd.DataFrame({"x": rng.lognormal(size=40), "c": rng.choice(list("uvw"), 40)})
        assert (Microaggregation(4).fit(table).groups_ == by_hand(table, 4)).all()


def test_the_loss_of_a_category_counts_how_often_two_records_differ():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"x": rng.normal(size=50), "c": rng.choice(list("uvw"), 50)})
    method = Microaggregation(5).fit(table)
    x = (table["x"] / np.ptp(table["x"])).to_numpy()
    within = total = 0.0
    for rows in [method.groups_ == g for g in range(method.groups_.max() + 1)] + [slice(None)]:
        c = table["c"].to_numpy()[rows]
        both = ((x[rows] - x[rows].mean()) ** 2).sum()
        # Pairs that differ over records, halved as every pair is met twice.
        both += (c[:, None] != c[None]).sum() / len(c) / 2
        within, total = within + total, both
    assert method.loss_ == pytest.approx(100 * within / total)


def test_refinement_lowers_the_loss_of_mixed_columns():
    rng = np.random.default_rng(5)
    size = ordered(list(rng.choice(list("SML"), 300)), list("SML"))
    columns = {"x": rng.normal(size=300), "y": rng.normal(size=300)}
    table = pa.table(columns | {"c": rng.choice(list("uvw"), 300), "size": size})
    plain = Microaggregation(5).fit(table)
    refined = Microaggregation(5, refine_moves=200, random_state=1).fit(table)
    assert refined.loss_ < 0.95 * plain.loss_
    assert np.bincount(refined.groups_).min() >= 5


def test_frames_of_pandas_and_polars_come_back_as_they_came():
    pl = pytest.importorskip("polars")
    table = pd.DataFrame(
        {"age": [1, 2, 3, 4, 5], "sex": pd.Categorical(list("mfmfm"))}, index=list("abcde")
    )
    out = Microaggregation(5).fit_transform(table)
    assert list(out.index) == list("abcde")
    assert out["age"].tolist() == [3.0] * 5
    assert out["sex"].dtype == "category"
    frame = pl.DataFrame({"age": [1, 2, 3], "sex": ["m", "f", "m"]})
    assert Microaggregation(3).fit_transform(frame).to_dict(as_series=False) == {
        "age": [2.0] * 3,
        "sex": ["m"] * 3,
    }
