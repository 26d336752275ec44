"""Differentially private microaggregation: what a record can change, the noise, and the loss."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import check_release, protect
from discreet.datasets import load_census
from discreet.errors import BadInput
from discreet.microaggregation import DPMicroaggregation
from discreet.microaggregation.dp_microaggregation import PARTS, _ordered, _sizes

RECORDS = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[st.integers(0, 9)] * d), min_size=4, max_size=12)
)


def sums(records, k):
    """Return the sums of all groups, a row for each column."""
    whole = np.array(records).T
    count = whole.shape[1] // k
    ends = np.cumsum(_sizes(whole.shape[1], count))[:-1]
    return np.array([[part.sum() for part in np.split(x[_ordered(whole)], ends)] for x in whole])


@given(RECORDS, st.integers(2, 4), st.data())
def test_a_replaced_record_changes_sums_by_no_more_than_the_noise_is_for(records, k, data):
    """The sensitivity: the width for each group, and for all together in the order of one column."""
    other = list(records)
    place = data.draw(st.integers(0, len(records) - 1))
    other[place] = tuple(data.draw(st.integers(0, 9)) for _ in records[0])
    changed = np.abs(sums(records, k) - sums(other, k))
    assert changed.max() <= 9
    if len(records[0]) == 1:
        moved = abs(records[place][0] - other[place][0])
        assert changed.sum() <= moved
    # Groups are of k or more, whatever the records are.
    assert _sizes(len(records), len(records) // k).min() >= k


def test_the_noise_has_the_scale_that_epsilon_asks_for():
    rng = np.random.default_rng(1)
    one, two = rng.uniform(0, 8, (400, 1)), rng.uniform(0, 8, (400, 2))
    for values, wide in ((one, PARTS), (two, PARTS * 4)):
        bounds = {f"x{i}": [0, 8] for i in range(values.shape[1])}
        spread = []
        for seed in range(300):
            method = DPMicroaggregation(100, 50.0, bounds, random_state=seed).fit(values)
            plan = method.plan_["columns"]["x0"]
            exact = np.bincount(method.groups_, np.rint(values[:, 0] / 8 * PARTS)) / 100
            spread += list(np.abs(np.array(plan["centres"]) / 8 * PARTS - exact) * 100)
        # The mean of an absolute Laplace is its scale; clipping hardly matters here.
        scale = wide / (50 / values.shape[1])
        assert np.mean(spread) == pytest.approx(scale, rel=0.15)


def census():
    table = load_census()
    return np.column_stack([column.to_numpy() for column in table.columns]).astype(float)


def loss(values, released):
    """Return the information loss in %: the mean over columns of SSE / SST."""
    total = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return 100 * float(np.mean(((values - released) ** 2).sum(axis=0) / total))


def by_laplace(values, bounds, epsilon, seed):
    """Return records with noise of their own, within the same bounds."""
    high = np.array([bound[1] for bound in bounds.values()])
    noise = np.random.default_rng(seed).laplace(size=values.shape)
    return np.clip(values + noise * high * values.shape[1] / epsilon, 0, high)


@pytest.mark.parametrize(("columns", "k"), [(list(range(13)), 360), ([0, 1], 200), ([7], 50)])
def test_census_loses_less_than_with_noise_on_its_records(columns, k):
    """At every epsilon, and less the larger it is; docs/explanation/differential_privacy.md has the figures."""
    values = census()[:, columns]
    bounds = {f"x{i}": [0.0, 1.5 * column.max()] for i, column in enumerate(values.T)}
    last = np.inf
    for epsilon in (0.1, 1.0, 10.0):
        runs = [DPMicroaggregation(k, epsilon, bounds, random_state=seed) for seed in range(5)]
        mine = np.mean([loss(values, run.fit_transform(values)) for run in runs])
        plain = np.mean([loss(values, by_laplace(values, bounds, epsilon, s)) for s in range(5)])
        assert mine < 0.75 * plain
        assert mine < last
        last = mine


STEP = {
    "method": "dp-microaggregation",
    "columns": ["pay", "tax"],
    "k": 50,
    "epsilon": 2.0,
    "bounds": {"pay": [0, 100], "tax": [0, 50]},
}


def people(n=400):
    rng = np.random.default_rng(2)
    pay = rng.integers(0, 101, n)
    return pa.table({"pay": pay, "tax": pay // 2})


def recipe(step=STEP, **more):
    return {"roles": {"confidential": ["pay", "tax"]}, "steps": [step], **more}


def test_a_release_is_checked_and_tells_what_was_spent(tmp_path):
    release = protect(people(), recipe({**STEP, "epsilon": {"pay": 1.5, "tax": 0.5}}))
    assert release.check.ok
    ledger = {"epsilon": 2.0, "epsilon of pay": 1.5, "epsilon of tax": 0.5}
    assert release.log["steps"][0]["ledger"] == ledger
    release.save(tmp_path / "out")
    public = (tmp_path / "out/public/report.html").read_text()
    assert "at most 7.39 times as likely" in public
    folder, given = tmp_path / "out", release.recipe
    internal = folder / "internal"
    found = check_release(folder / "public/table.csv", given, internal, people())
    assert found.verified
    # Noise for a larger budget than the recipe's is found.
    less = recipe({**STEP, "epsilon": {"pay": 1.0, "tax": 0.5}})
    found = check_release(folder / "public/table.csv", less, internal, people())
    assert any("scale of the noise" in one.detail for one in found.having("broken"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": {"pay": [0, 100]}}, "bounds has none for column 'tax'"),
        ({"bounds": {"pay": [9, 3], "tax": [0, 1]}}, "the bounds of 'pay' must be a list of two"),
        ({"k": 500}, "400 records cannot make a group of k = 500"),
        ({"epsilon": {"pay": 1.0}}, "epsilon is given by column, but not for column 'tax'"),
        ({"epsilon": 0.0}, "epsilon must be a number above 0"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(BadInput, match=message):
        protect(people(), recipe({**STEP, **change}))


def test_tables_that_it_cannot_protect():
    nulls = people().set_column(0, "pay", pa.array([None, *range(399)], pa.int64()))
    with pytest.raises(BadInput, match="column 'pay' holds nulls"):
        protect(nulls, recipe())
    exact = people().set_column(1, "tax", pa.array(np.arange(400) / 8))
    with pytest.raises(BadInput, match="as many decimals as some record of the table has"):
        protect(exact, recipe())
    assert protect(exact, recipe({**STEP, "precision": "full"})).check.ok
    with pytest.raises(BadInput, match="it puts all records into one order"):
        protect(people(), recipe(), engine="duckdb")
    with pytest.raises(BadInput, match="units have several"):
        DPMicroaggregation(2, 1.0, {"x0": [0, 1]}).run(
            {"x0": np.zeros(4)}, DPMicroaggregation(2, 1, {})._draws, units=np.array([0, 0, 1, 2])
        )
