"""Privacy models: validation, recipes, and the decision on one class against plain definitions."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy
from discreet.generalization.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PrivacyModel,
    TCloseness,
    read_models,
)
from discreet.generalization.privacy import bind
from discreet.kernels.privacy import _g, holds, may_hold, too_many
from tests.generalization.plain import grassberger, plainly


def models(column: str = "ill") -> st.SearchStrategy:
    share = st.integers(1, 20).map(lambda i: i / 20)
    return st.one_of(
        st.integers(1, 6).map(KAnonymity),
        st.builds(lambda m: LDiversity(m, column=column), st.integers(1, 3)),
        st.builds(
            lambda m: LDiversity(m, column=column, kind="entropy"), share.map(lambda x: 1 + x)
        ),
        st.builds(
            lambda m, c: LDiversity(m, column=column, kind="recursive", c=c),
            st.integers(1, 3),
            share.map(lambda x: 3 * x),
        ),
        st.builds(
            lambda t, d: TCloseness(t, column=column, distance=d),
            share,
            st.sampled_from(["equal", "ordered"]),
        ),
        st.builds(
            lambda m: LDiversity(m, column=column, kind="entropy", estimator="grassberger"),
            st.sampled_from([1.5, 2, 2.5, 3]),
        ),
        st.builds(lambda d: DeltaDisclosure(d, column=column), share.map(lambda x: 4 * x)),
        st.builds(lambda b, e: BetaLikeness(b, column=column, enhanced=e), share, st.booleans()),
        st.builds(lambda a, k: AlphaKAnonymity(a, k, column=column), share, st.integers(1, 5)),
    )


def _listed(*order, t=0.3):
    return TCloseness(t, column="a", distance="ordered", order=list(order))


cells = st.lists(st.sampled_from([1, 2, 3, 4, None]), min_size=8, max_size=25)


@given(cells, st.lists(models(), min_size=1, max_size=3), st.data())
def test_a_class_is_judged_by_the_definitions(values, wanted, data):
    values = [*values, 1, 2, 3]
    chosen = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    bound = bind(wanted, {"ill": pa.chunked_array([pa.array(values, pa.int64())])}, len(values))
    mask = np.array(chosen)
    histogram = np.zeros(len(bound.rules.q), np.int64)
    for codes in bound.codes:
        np.add.at(histogram, codes[mask & (codes >= 0)], 1)
    inside = [v for v, c in zip(values, chosen, strict=True) if c]
    expected = all(plainly(model, inside, values) for model in wanted)
    size = int(mask.sum())
    if size:
        assert holds(bound.rules, size, histogram) == expected
        if expected:
            assert may_hold(bound.rules, size, histogram)


@given(cells, st.lists(models(), min_size=1, max_size=3), st.data())
def test_what_cannot_hold_cannot_hold_in_a_part(values, wanted, data):
    values = [*values, 1, 2, 3]
    column = pa.chunked_array([pa.array(values, pa.int64())])
    rules, codes = (b := bind(wanted, {"ill": column}, len(values))).rules, b.codes
    large = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    small = large & (np.arange(len(values)) % 2 == 0)

    def judged(mask, by):
        histogram = np.zeros(len(rules.q), np.int64)
        for row in codes:
            np.add.at(histogram, row[mask & (row >= 0)], 1)
        return by(rules, int(mask.sum()), histogram)

    if judged(small, holds):
        assert judged(large, may_hold)


@given(cells, st.lists(models(), min_size=1, max_size=3), st.data())
def test_however_a_class_is_divided_as_many_records_break_the_models_as_was_said(
    values, wanted, data
):
    values = [*values, 1, 2, 3]
    column = pa.chunked_array([pa.array(values, pa.int64())])
    bound = bind(wanted, {"ill": column}, len(values))
    n = len(values)
    # Part 0 is not in the class.
    part = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))

    def histogram(mask):
        counts = np.zeros(len(bound.rules.q), np.int64)
        for row in bound.codes:
            np.add.at(counts, row[mask & (row >= 0)], 1)
        return counts

    masks = [part == p for p in (1, 2, 3)]
    broken = sum(
        int(mask.sum())
        for mask in masks
        if not holds(bound.rules, int(mask.sum()), histogram(mask))
    )
    inside = part > 0
    said = too_many(bound.rules, int(inside.sum()), histogram(inside))[1]
    assert broken >= said or not inside.any()


def test_two_columns_must_both_hold():
    columns = {
        "ill": pa.chunked_array([["flu", "acne", "flu", "flu"]]),
        "pay": pa.chunked_array([[1, 1, 2, 2]]),
    }
    bound = bind([LDiversity(2, column="ill"), LDiversity(2, column="pay")], columns, 4)
    assert bound.columns == ["ill", "pay"]
    # The first two records differ in their illness alone.
    assert not holds(bound.rules, 2, np.array([1, 1, 2, 0]))
    assert holds(bound.rules, 3, np.array([2, 1, 2, 1]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KAnonymity(0), "k must be a whole number of at least 1, not 0"),
        (lambda: KAnonymity(2.5), "k must be a whole number of at least 1, not 2.5"),
        (lambda: LDiversity(2.5, column="a"), "l must be a whole number of at least 1, not 2.5"),
        (
            lambda: LDiversity(2, column="a", kind="recursive"),
            "c belongs to recursive l-diversity, and is needed there, such as c = 2",
        ),
        (
            lambda: TCloseness(1.5, column="a"),
            "t must be a number of at least 0 and at most 1, not 1.5",
        ),
        (lambda: BetaLikeness(0, column="a"), "beta must be a number above 0, not 0"),
        (
            lambda: AlphaKAnonymity(0.0, 2, column="a"),
            "alpha must be a number above 0 and at most 1, not 0.0",
        ),
        (
            lambda: LDiversity(2, column="a", kind="disinct"),
            "kind must be one of 'distinct', 'entropy', 'recursive', not 'disinct'",
        ),
        (
            lambda: TCloseness(0.1, column="a", distance="hierarchical"),
            "the t-closeness of 'a' needs a hierarchy where its distance is 'hierarchical', and "
            "takes none elsewhere",
        ),
        (
            lambda: read_models([{"model": "k-anonimity", "k": 3}]),
            "there is no privacy model 'k-anonimity'; did you mean 'k-anonymity'?",
        ),
        (
            lambda: read_models({"model": "l-diversity", "l": 3}),
            "l-diversity needs column",
        ),
        (
            lambda: read_models([{"model": "l-diversity", "l": 3, "colum": "a"}]),
            "l-diversity has no parameter 'colum'; did you mean 'column'?",
        ),
        (lambda: read_models([]), "privacy is empty; name a model, such as KAnonymity(5)"),
        (
            lambda: bind([KAnonymity(5)], {}, 4),
            "k = 5 is above the number of records, 4; use a smaller k",
        ),
        (
            lambda: bind(
                [LDiversity(3, column="a")], {"a": pa.chunked_array([[1, 1, 2, None]])}, 4
            ),
            "l = 3 is above the number of values of 'a', 2; use a smaller l",
        ),
        (
            lambda: bind([LDiversity(3, column="b")], {"a": pa.chunked_array([[1, 2]])}, 2),
            "the l-diversity model names 'b', which is no column; known: a",
        ),
        (
            lambda: bind(
                [TCloseness(0.3, column="a", distance="ordered")],
                {"a": pa.chunked_array([["x", "y"]])},
                2,
            ),
            "column 'a' is text and has no order; give its values as order = [...], or use "
            "distance = 'equal' or 'hierarchical'",
        ),
        (
            lambda: TCloseness(0.3, column="a", order=["x", "y"]),
            "order belongs to distance = 'ordered', and that of 'a' is 'equal'",
        ),
        *(
            (
                lambda order=order: TCloseness(0.3, column="a", distance="ordered", order=order),
                f"order must be a list of two or more different values, not {order!r}",
            )
            for order in ("xy", ["x"], ["x", "x"], ["x", 1], [])
        ),
        (
            lambda: bind([_listed("x", "z")], {"a": pa.chunked_array([["x", "y", None]])}, 3),
            "the order of 'a' does not list 'y'; list all of them, from one end to the other",
        ),
        (
            lambda: bind([_listed("b", "c")], {"a": pa.chunked_array([["x", "y", "c"]])}, 3),
            "the order of 'a' does not list 'x' and 1 more of its values; list all of them, from "
            "one end to the other",
        ),
        (
            lambda: bind([_listed("1", "2")], {"a": pa.chunked_array([[1, 2]])}, 2),
            "order lists text, but column 'a' is numeric; leave order out",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(BadInput) as raised:
        make()
    assert str(raised.value) == message


@given(cells, st.permutations(["low", "mid", "high", "top", "none"]), st.data())
def test_text_is_judged_in_the_order_that_is_listed(values, order, data):
    """As numbers that are in that order are; a value that nobody has is passed over."""
    texts = dict(zip([1, 2, 3, 4], ["low", "mid", "high", "top"], strict=True))
    words = [texts.get(v) for v in [*values, 1, 2]]
    places = [None if w is None else order.index(w) for w in words]
    chosen = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    inside = [place for place, c in zip(places, chosen, strict=True) if c]
    t = data.draw(st.integers(1, 20)) / 20
    column = pa.chunked_array([pa.array(words)])
    for given_column in (column, column.dictionary_encode(), column.cast(pa.large_string())):
        bound = bind([_listed(*order, t=t)], {"a": given_column}, len(words))
        histogram = np.zeros(len(bound.rules.q), np.int64)
        codes = bound.codes[0]
        np.add.at(histogram, codes[np.array(chosen) & (codes >= 0)], 1)
        if inside:
            by_number = TCloseness(t, column="a", distance="ordered")
            expected = plainly(by_number, inside, places)
            assert holds(bound.rules, len(inside), histogram) == expected


class Step(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    privacy: list[PrivacyModel]


def test_models_come_from_a_recipe_and_go_back():
    given_models = [
        {"model": "k-anonymity", "k": 5},
        {"model": "l-diversity", "l": 2, "column": "ill", "kind": "recursive", "c": 2.0},
        {
            "model": "t-closeness",
            "t": 0.2,
            "column": "a",
            "distance": "ordered",
            "order": ["x", "y"],
        },
    ]
    step = Step.model_validate({"privacy": given_models})
    assert step.privacy == [
        KAnonymity(5),
        LDiversity(2, column="ill", kind="recursive", c=2.0),
        _listed("x", "y", t=0.2),
    ]
    assert Step.model_validate(step.model_dump(exclude_none=True)) == step
    assert Step.model_validate({"privacy": step.privacy}) == step
    known = Step.model_json_schema()["$defs"]
    assert known["LDiversity"]["properties"]["model"]["const"] == "l-diversity"


@pytest.mark.parametrize("n", [*range(1, 20), 255, 256, 257, 600, 100_001])
def test_grassbergers_terms_are_as_published(n):
    assert _g(n) == pytest.approx(grassberger(n), rel=1e-13)


def test_a_delta_that_no_float_holds_asks_for_nothing():
    table = pa.table({"age": [20, 21, 50], "ill": ["flu", "flu", "cold"]})
    method = Generalize({"age": Hierarchy.flat()}, DeltaDisclosure(5000, column="ill"))
    assert method.fit(table).suppressed_ == 0


def test_delta_disclosure_is_strict_and_looks_at_what_is_there():
    values = ["flu"] * 4 + ["acne"] * 4
    column = pa.chunked_array([values])
    rules = bind([DeltaDisclosure(1, column="ill")], {"ill": column}, 8).rules
    # Alone, each is twice as common as over all: one bit, which is not below 1.
    assert not holds(rules, 2, np.array([2, 0]))
    assert holds(rules, 4, np.array([3, 2]))
    # Two classes of which one has no gout keep it, and together they do not.
    column = pa.chunked_array([["flu"] * 12 + ["acne"] * 12 + ["gout"] * 8])
    rules = bind([DeltaDisclosure(1.1, column="ill")], {"ill": column}, 32).rules
    assert holds(rules, 8, np.array([3, 4, 1]))
    assert holds(rules, 14, np.array([7, 7, 0]))
    assert not holds(rules, 22, np.array([10, 11, 1]))
    assert not rules.mergeable
