"""Privacy models under the strict reading, judged from the definition."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.errors import BadInput
from discreet.generalization import (
    AlphaKAnonymity,
    BetaLikeness,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from discreet.suppression import LocalSuppression
from tests.counted import from_counts, in_memory

KEYS = ["a", "b", "c"]
MODELS: list[Any] = [
    LDiversity(2, column="ill"),
    LDiversity(1.7, column="ill", kind="entropy"),
    LDiversity(2, column="ill", kind="recursive", c=3),
    TCloseness(0.35, column="ill"),
    BetaLikeness(1.5, column="ill"),
    AlphaKAnonymity(0.7, 2, column="ill"),
]


def keeps(model: Any, values: list[Any], everyone: list[Any]) -> bool:
    """Tell whether a class with these values, one for each record, keeps a model."""
    counts, overall = Counter(v for v in values if v), Counter(v for v in everyone if v)
    n, total = sum(counts.values()), sum(overall.values())
    falling = sorted(counts.values(), reverse=True)
    if isinstance(model, LDiversity):
        if model.kind == "distinct":
            return len(counts) >= model.l
        if model.kind == "recursive":
            return n > 0 and falling[0] < model.c * sum(falling[int(model.l) - 1 :]) + 1e-9
        entropy = -sum(c / n * math.log(c / n) for c in counts.values())
        return n > 0 and math.exp(entropy) >= model.l - 1e-9
    if n == 0:
        return len(values) >= getattr(model, "k", 1)
    gaps = {v: counts[v] / n - overall[v] / total for v in overall}
    if isinstance(model, TCloseness):
        return sum(abs(gap) for gap in gaps.values()) / 2 <= model.t + 1e-9
    if isinstance(model, BetaLikeness):
        return all(gap / (overall[v] / total) <= model.beta + 1e-9 for v, gap in gaps.items())
    return len(values) >= model.k and falling[0] / n <= model.alpha + 1e-9


def classes(released: pd.DataFrame) -> dict[tuple[Any, ...], list[int]]:
    found = defaultdict(list)
    shown = released[KEYS].astype(object).where(released[KEYS].notna(), None)
    for row, values in enumerate(shown.itertuples(index=False)):
        found[tuple(values)].append(row)
    return found


def table(seed: int, n: int, nulls: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(
        {key: rng.choice(list("xyz")[: 2 + i % 2], n) for i, key in enumerate(KEYS)}
    )
    found["ill"] = rng.choice(["flu", "acne", "gout"], n, p=[0.5, 0.3, 0.2])
    if nulls:
        for name in found:
            found.loc[rng.random(n) < 0.1, name] = None
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32), st.integers(12, 60), st.booleans(), st.sampled_from(MODELS),
    st.integers(1, 4), st.booleans(),
)  # fmt: skip
def test_every_class_keeps_the_model(
    seed: int, n: int, nulls: bool, model: Any, k: int, leave: bool
) -> None:
    people = table(seed, n, nulls)
    method = LocalSuppression(
        k=k, privacy=[model], columns=KEYS, record_cost=2.5 if leave else None,
        importance={"a": 2.0}, improve_moves=200, random_state=0,
    )  # fmt: skip
    try:
        released = method.fit_transform(people)
    except BadInput:
        return  # it cannot be kept, which other tests look at
    there = ~method.suppressed_mask_
    ill = [v if isinstance(v, str) else None for v in people["ill"]]
    rows = np.flatnonzero(there)
    for members in classes(released[there].reset_index(drop=True)).values():
        assert len(members) >= k
        assert keeps(model, [ill[rows[m]] for m in members], ill)
    changed = released[KEYS].notna() & (released[KEYS] != people[KEYS])
    assert not changed.to_numpy().any()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(20, 60))
def test_units_count_once(seed: int, n: int) -> None:
    people = table(seed, n, False)
    units = np.random.default_rng(seed).integers(0, n // 2, n)
    model = LDiversity(2, column="ill")
    method = LocalSuppression(k=3, privacy=[model], columns=KEYS, random_state=0)
    released = method.fit_transform(people, units=units)
    for members in classes(released).values():
        assert len(set(units[members])) >= 3
        assert len(set(people["ill"].iloc[members])) >= 2


def test_a_class_of_one_illness_is_blanked_where_it_differs() -> None:
    people = pd.DataFrame(
        {"age": [30, 30, 40, 40, 50, 50], "sex": list("ffffmm"), "ill": list("aabbab")}
    )
    method = LocalSuppression(privacy=[LDiversity(2, column="ill")], random_state=0)
    released = method.fit_transform(people)
    assert method.blanks_ == {"age": 4, "sex": 0}
    assert released["sex"].tolist() == list("ffffmm")


def test_what_no_blanks_would_keep_is_told() -> None:
    people = pd.DataFrame({"age": [30, 30, 40], "sex": list("fmm"), "ill": list("aab")})
    method = LocalSuppression(
        privacy=[KAnonymity(1), LDiversity(2, column="ill")], fixed=["age"], random_state=0
    )
    with pytest.raises(BadInput, match="not even blanks in all columns that are not fixed"):
        method.fit_transform(people)


@pytest.mark.parametrize("models", [[KAnonymity(3)], [KAnonymity(2), KAnonymity(3)]])
def test_k_as_a_model_is_a_k(models: list[Any]) -> None:
    people = table(2, 80, True)[KEYS]
    by_model = LocalSuppression(privacy=models, random_state=0, improve_moves=50)
    by_k = LocalSuppression(k=3, random_state=0, improve_moves=50)
    pd.testing.assert_frame_equal(by_model.fit_transform(people), by_k.fit_transform(people))
    assert by_model.bound_ == by_k.bound_ > 0


def test_k_of_a_model_gives_a_bound() -> None:
    people = table(2, 80, False)
    model = AlphaKAnonymity(0.9, 3, column="ill")
    judged = LocalSuppression(privacy=[model], columns=KEYS, random_state=0).fit(people)
    by_k = LocalSuppression(k=3, columns=KEYS, random_state=0).fit(people)
    assert judged.cost_ >= judged.bound_ == by_k.bound_ > 0


def test_of_equal_records_one_is_lent_to_a_class_of_one_illness() -> None:
    # Four and two of 30 with either illness, three of 31 with one: one of the two is enough.
    people = pd.DataFrame(
        {"age": [30] * 6 + [31] * 3, "sex": ["f"] * 9, "ill": list("aaaabb") + list("aaa")}
    )
    method = LocalSuppression(k=3, privacy=[LDiversity(2, column="ill")], random_state=0)
    released = method.fit_transform(people)
    assert method.blanks_ == {"age": 4, "sex": 0}
    lent = released["age"].isna() & (people["age"] == 30)
    assert people["ill"][lent].tolist() == ["b"]


def test_adult_needs_few_blanks_for_two_salaries() -> None:
    people = load_adult().to_pandas()
    for name, level in (("age", 2), ("education", 1)):
        labels = pd.read_csv(adult_hierarchy_paths()[name], sep=";", header=None, dtype=str)
        people[name] = people[name].astype(str).map(labels.set_index(0)[level])
    keys = [name for name in people if name != "salary-class"]
    model = LDiversity(2, column="salary-class")
    method = LocalSuppression(k=5, privacy=[model], improve_moves=1_000, random_state=0)
    released = method.fit_transform(people)
    assert released[keys].isna().sum().sum() <= 28_000
    assert released[keys].isna().all(axis=1).sum() <= 50
    of_class = released.groupby(keys, dropna=False)["salary-class"]
    assert of_class.size().min() >= 5
    assert of_class.nunique().min() >= 2


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_enough_to_lend_the_same_records(seed: int) -> None:
    people = pa.Table.from_pandas(table(seed, 70, True), preserve_index=False)
    method = LocalSuppression(k=3, privacy=[LDiversity(2, column="ill")], improve_moves=200)
    whole, _ = in_memory(method, people, KEYS)
    decision, pieces, _ = from_counts(method, people, KEYS)
    assert decision.figures == whole.figures
    for name in KEYS:
        found = [value for piece in pieces for value in piece.columns[name].to_pylist()]
        assert found == whole.columns[name].to_pylist()


def test_models_where_k_alone_would_leave_all_records_out() -> None:
    people = pd.DataFrame({"age": range(6), "sex": list("ffmmff"), "ill": list("aabbaa")})
    model = LDiversity(2, column="ill")
    method = LocalSuppression(k=3, privacy=[model], record_cost=0.5, random_state=0)
    released = method.fit_transform(people)
    assert released[~method.suppressed_mask_].empty
    assert method.cost_ == 3
