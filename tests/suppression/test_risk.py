"""Bounds of the risk of every record, counted from the definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.check.risks import dis_scores
from discreet.risk import individual_risk, suda2
from discreet.suppression import LocalSuppression
from tests.timed import within

KEYS = ["a", "b", "c", "d"]


def table(seed: int, n: int, nulls: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(
        {key: rng.choice(list("uvxyz"), n, p=[0.5, 0.2, 0.1, 0.1, 0.1]) for key in KEYS}
    )
    if nulls:
        for name in found:
            found.loc[rng.random(n) < 0.1, name] = None
    found["weight"] = rng.uniform(1, 40, n)
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(10, 60), st.booleans(), st.floats(0.01, 0.5))
def test_no_individual_risk_is_above(seed: int, n: int, nulls: bool, most: float) -> None:
    people = table(seed, n, nulls)
    parameters = {"max_risk": most, "risk": "individual", "weight": "weight", "random_state": 0}
    method = LocalSuppression(record_cost=10.0, columns=KEYS, **parameters)  # type: ignore[arg-type]
    released = method.fit_transform(people)
    there = ~method.suppressed_mask_
    if there.any():
        kept = released[there].reset_index(drop=True)
        weights = people["weight"].to_numpy()[there]
        assert individual_risk(kept, KEYS, weight=weights).max() <= most + 1e-9


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32), st.integers(10, 60), st.booleans(),
    st.sampled_from([0.001, 0.01, 0.05, 0.3]),
)  # fmt: skip
def test_no_suda_score_is_above(seed: int, n: int, nulls: bool, most: float) -> None:
    people = table(seed, n, nulls)[KEYS]
    method = LocalSuppression(max_risk=most, risk="suda", random_state=0)
    released = method.fit_transform(people)
    assert suda2(released, KEYS) <= most + 1e-9


def test_risk_by_class_is_a_k() -> None:
    people = table(1, 60, False)[KEYS]
    by_risk = LocalSuppression(max_risk=0.3, random_state=0, improve_moves=50)
    by_k = LocalSuppression(k=4, random_state=0, improve_moves=50)
    pd.testing.assert_frame_equal(by_risk.fit_transform(people), by_k.fit_transform(people))


def test_weights_protect() -> None:
    # Alone in the sample, but one of a hundred in the population: no blank is needed.
    people = pd.DataFrame({"age": [30, 40, 50], "weight": [100.0, 100.0, 2.0]})
    method = LocalSuppression(max_risk=0.1, risk="individual", weight="weight", random_state=0)
    released = method.fit_transform(people)
    assert released["age"].isna().tolist()[2]
    assert method.blanks_["age"] == 2


def test_a_special_unique_loses_the_cell_that_tells_most() -> None:
    people = pd.DataFrame(
        {"sex": list("ffffmmmm"), "job": ["nurse"] * 4 + ["nurse"] * 3 + ["judge"]}
    )
    method = LocalSuppression(max_risk=0.001, risk="suda", random_state=0)
    released = method.fit_transform(people)
    assert method.blanks_ == {"sex": 0, "job": 1}
    assert pd.isna(released["job"].iloc[-1])


@pytest.mark.parametrize("columns", [4, 14])
def test_many_columns_leave_nobody_unique(columns: int) -> None:
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {f"c{i}": rng.choice(list("xy"), 60, p=[0.9, 0.1]) for i in range(columns)}
    )
    method = LocalSuppression(max_risk=0.02, risk="suda", random_state=0, improve_moves=10)
    assert suda2(method.fit_transform(people), list(people)) <= 0.02


@pytest.mark.parametrize("k", [2, 3])
def test_k_is_kept_besides_suda(k: int) -> None:
    people = pd.DataFrame({"a": [1, 1, 2, 3], "b": [1, 1, 2, 3]})
    method = LocalSuppression(k=k, max_risk=0.2, risk="suda", random_state=0)
    released = method.fit_transform(people)
    assert released.groupby(["a", "b"], dropna=False).size().min() >= k


def test_what_k_would_cost_is_no_bound_of_suda() -> None:
    people = pd.DataFrame({"a": [1, 1, 2, 3], "b": [1, 1, 2, 3]})
    for fixed in (None, ["a", "b"]):
        method = LocalSuppression(max_risk=0.9, risk="suda", fixed=fixed, random_state=0)
        assert method.fit(people).cost_ == 0
    rng = np.random.default_rng(0)
    people = pd.DataFrame(rng.integers(0, 3, (40, 4)), columns=KEYS)
    by_suda = LocalSuppression(max_risk=0.05, risk="suda", random_state=0).fit(people)
    by_k = LocalSuppression(k=2, random_state=0).fit(people)
    assert 0 < by_suda.cost_ < by_k.bound_
    assert not by_suda.bound_
    assert by_suda.gap_ != 0


def test_all_sets_of_twelve_columns_are_counted_in_seconds() -> None:
    rng = np.random.default_rng(3)
    people = pd.DataFrame(rng.integers(0, 4, (100, 12)), columns=list("abcdefghijkl"))
    method = LocalSuppression(max_risk=0.02, risk="suda", random_state=0)
    released = within(15, lambda: method.fit_transform(people))
    assert suda2(released, list(people)) <= 0.02 + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_the_check_counts_the_same_scores(seed: int) -> None:
    codes = np.random.default_rng(seed).integers(-1, 3, (4, 60))
    tuples, records = np.unique(codes, axis=1, return_counts=True)
    people = pd.DataFrame(codes.T, columns=KEYS).replace(-1, None)
    most = dis_scores(tuples, np.full(4, 3), records).max()
    assert most == pytest.approx(suda2(people, KEYS), abs=1e-12)


def test_pairs_alone_have_no_score() -> None:
    codes = np.random.default_rng(0).integers(0, 3, (16, 200))
    assert not dis_scores(codes, np.full(16, 3), np.full(200, 2)).any()
