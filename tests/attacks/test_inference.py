"""Inference: a secret, guessed from the nearest records or by a model of the release."""

import datetime as dt
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.attacks import inference
from discreet.datasets import load_adult
from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from tests.attacks.people import independent, kept_or_blank, mixed
from tests.timed import within

N = 1200
EVERYBODY = mixed(N + 600, np.random.default_rng(5))
PEOPLE, OTHERS = EVERYBODY[:N], EVERYBODY[N:].reset_index(drop=True)


@pytest.mark.parametrize("secret", ["ill", "member", "town", "pay", "born"])
def test_whose_name_is_released_has_no_secret(secret):
    named = EVERYBODY.assign(name=[f"n{i}" for i in range(len(EVERYBODY))])
    found = inference(named[:N], named[:N], secret=secret, known=["name"], holdout=named[N:])
    assert found.attack.value > 0.99
    assert found.detail["by"] == "nearest"
    assert found.interval[0] > 0.1


def test_on_the_unprotected_table_as_many_as_possible():
    """Nobody can do better than to say the most frequent secret of all who look alike."""
    known = ["age", "town"]
    found = inference(PEOPLE, PEOPLE, secret="ill", known=known, by="nearest")
    most = PEOPLE.groupby(known)["ill"].transform(lambda own: own.value_counts().iloc[0] / len(own))
    assert found.attack.value == pytest.approx(most.mean(), abs=0.03)


@pytest.mark.parametrize("holdout", [None, OTHERS])
@pytest.mark.parametrize("by", [None, "nearest", "model"])
@pytest.mark.parametrize("secret", ["ill", "town", "pay"])
def test_independent_rows_add_nothing(secret, by, holdout):
    released = independent(PEOPLE, np.random.default_rng(2))
    found = inference(PEOPLE, released, secret=secret, by=by, holdout=holdout)
    assert found.interval[0] <= 0 <= found.interval[1]


def test_rows_of_other_people_add_nothing_that_others_do_not_suffer():
    other = mixed(N, np.random.default_rng(78))
    found = inference(PEOPLE, other, secret="pay", known=["age", "born"], holdout=OTHERS, width=0.5)
    assert found.excess == pytest.approx(0, abs=0.06)
    assert found.interval[0] <= 0 <= found.interval[1]
    # Without a control group it would have looked like a risk.
    without = inference(PEOPLE, other, secret="pay", known=["age", "born"], width=0.5)
    assert without.interval[0] > 0


def test_what_holds_of_everybody_is_learned_by_the_model():
    sick = PEOPLE.assign(ill=np.where(PEOPLE["age"] > 50, "yes", "no"))
    others = OTHERS.assign(ill=np.where(OTHERS["age"] > 50, "yes", "no"))
    found = inference(sick, sick, secret="ill", known=["age"], holdout=others, by="model")
    assert found.attack.value > 0.97
    assert found.control.value > 0.97
    assert abs(found.excess) < 0.03


def test_recall_and_precision_by_their_definition():
    people, released, others = kept_or_blank(400, 0.5, np.random.default_rng(1))
    found = inference(people, released, secret="secret", known=["a"], holdout=others, by="nearest")
    values = found.detail["values"]
    assert list(values) == ["flu", *sorted(list(values)[1:], key=lambda v: -values[v]["people"])]
    kept = released["a"] != "*"
    for value, told in values.items():
        have = people["secret"] == value
        said = np.where(kept, people["secret"], "flu") == value
        assert told["people"] == have.sum()
        assert told["answers"] == said.sum()
        assert told["recall"] == pytest.approx((have & said).sum() / have.sum())
        assert told["precision"] == pytest.approx((have & said).sum() / said.sum())
        assert told["guess_recall"] == pytest.approx(said.mean())
        assert told["guess_precision"] == pytest.approx(have.mean())
    # Nothing is known of the others: "flu" is said of all of them.
    assert values["flu"]["control_recall"] == 1
    assert values["gout"]["control_recall"] == 0
    assert values["gout"]["control_precision"] is None
    assert values["flu"]["control_precision"] == pytest.approx((others["secret"] == "flu").mean())


def test_the_guess_of_a_number_must_be_near_and_not_only_in_its_quarter():
    """40 numbers of 5 people each, none near another: dealt at random, one answer in 40 is near."""
    people = pd.DataFrame({"name": [f"n{i}" for i in range(200)], "pay": np.arange(200) % 40})
    found = inference(people, people, secret="pay", by="nearest", width=0.01)
    assert found.attack.value == 1
    assert len(found.detail["values"]) == 4
    for told in found.detail["values"].values():
        assert told["recall"] == told["precision"] == 1
        assert told["guess_recall"] == told["guess_precision"] == pytest.approx(1 / 40)


def test_the_guess_is_the_chance_agreement_of_cohens_kappa():
    people, released, _ = kept_or_blank(400, 0.5, np.random.default_rng(1))
    found = inference(people, released, secret="secret", known=["a"], by="nearest")
    said = people["secret"].where(released["a"] != "*", "flu")
    shares = (x.value_counts(normalize=True) for x in (said, people["secret"]))
    assert found.guess.value == pytest.approx((next(shares) * next(shares)).sum())
    assert found.attack.value == pytest.approx((said == people["secret"]).mean())
    assert found.excess == pytest.approx(found.attack.value - found.guess.value)


@pytest.mark.parametrize(
    "released",
    [
        {"pay": [f"[{v // 5 * 5:.0f}, {v // 5 * 5 + 5:.0f})" for v in PEOPLE["pay"]]},
        {"pay": PEOPLE["pay"] + np.random.default_rng(1).normal(size=N)},
        {"pay": PEOPLE["pay"].where(np.arange(N) % 2 == 0)},
        {"pay": PEOPLE["pay"].astype(str).where(np.arange(N) % 2 == 0, "*")},
    ],
    ids=["intervals", "noise", "blanks", "stars"],
)
@pytest.mark.parametrize("by", ["nearest", "model"])
def test_a_protected_secret_is_inferred_less_often(released, by):
    found = pay_inferred(PEOPLE.assign(**released), by)
    assert found.attack.value < unprotected(by).attack.value + 0.03
    assert found.interval[0] > 0


def pay_inferred(released, by):
    known = ["age", "town", "born"]
    return inference(PEOPLE, released, secret="pay", known=known, by=by, width=0.1)


@cache
def unprotected(by):
    return pay_inferred(PEOPLE, by)


def test_a_broad_label_speaks_for_what_it_covers():
    # Whoever is in the north is in Cork, most likely.
    towns = np.repeat(["Aix", "Bonn", "Cork", "Delft"], [40, 10, 30, 20])
    people = pd.DataFrame({"id": [f"i{k}" for k in range(100)], "town": towns})
    tree = Hierarchy.groups({"south": ["Aix", "Bonn"], "north": ["Cork", "Delft"]})
    broad = people.assign(town=np.where(towns < "C", "south", "north"))
    found = inference(people, broad, secret="town", by="nearest", hierarchies={"town": tree})
    assert found.attack.value == pytest.approx(0.7)
    assert found.detail["values"]["Aix"]["recall"] == 1
    assert found.detail["values"]["Delft"]["recall"] == 0
    assert found.detail["values"]["Cork"]["precision"] == pytest.approx(0.6)


def test_dates_are_near_and_few_numbers_are_categories():
    days = [dt.date(2020, 1, 1) + dt.timedelta(k) for k in range(300)]
    people = pd.DataFrame(
        {"id": [f"i{k}" for k in range(300)], "day": days, "kids": [k % 3 for k in range(300)]}
    )
    moved = people.assign(
        day=[d + dt.timedelta(1) for d in days], kids=[(k + 1) % 3 for k in range(300)]
    )
    assert inference(people, moved, secret="day", known=["id"], by="nearest").attack.value == 1
    # Being one off is no success with the number of children.
    kids = inference(people, moved, secret="kids", known=["id"], by="nearest")
    assert kids.attack.value == 0
    assert set(kids.detail["values"]) == {"0", "1", "2"}
    assert len(inference(people, moved, secret="day").detail["values"]) == 4


def test_people_without_a_secret_are_left_out():
    some = PEOPLE.assign(ill=PEOPLE["ill"].where(np.arange(N) % 4 > 0, None))
    assert inference(some, some, secret="ill", by="nearest").attack.of == N * 3 // 4


def test_a_release_without_any_secret_infers_none():
    for nothing in ("*", None):
        for secret in ("ill", "pay"):
            for by in ("nearest", "model"):
                hidden = PEOPLE.assign(**{secret: nothing})
                found = inference(PEOPLE, hidden, secret=secret, by=by, holdout=OTHERS)
                assert found.interval[0] <= 0 <= found.interval[1]


@pytest.mark.parametrize("secret", ["ill", "pay"])
def test_a_known_column_that_was_emptied_tells_nothing(secret):
    hidden = PEOPLE.assign(age="*")
    found = inference(PEOPLE, hidden, secret=secret, known=["age"], by="model", holdout=OTHERS)
    assert found.interval[0] <= 0 <= found.interval[1]


def test_whoever_is_better_is_chosen_by_people_who_do_not_count():
    found = inference(PEOPLE, PEOPLE, secret="ill", known=["age", "born"])
    assert set(found.detail["intruders"]) == {"nearest", "model"}
    assert found.attack.of == N - N // 5
    assert found.attack.to_dict() == found.detail["intruders"][found.detail["by"]]


def test_any_frame_and_the_same_again():
    tables = [(PEOPLE, OTHERS)]
    tables.append(tuple(pl.from_pandas(one) for one in tables[0]))
    tables.append(tuple(pa.Table.from_pandas(one) for one in tables[0]))
    found = [inference(one, one, secret="ill", holdout=other) for one, other in tables]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"secret": "il"},
            "secret names 'il', which the original does not have; did you mean 'ill'",
        ),
        ({"secret": ["ill"]}, "secret must be the name of one column"),
        ({"secret": "ill", "known": ["ill"]}, "'ill' is known and secret"),
        ({"secret": "ill", "known": []}, "known is empty"),
        ({"secret": "ill", "known": "age"}, r"known must be a list, such as \['age'\]"),
        ({"secret": "ill", "by": "magic"}, "by = 'magic' must be 'nearest' or 'model'"),
        ({"secret": "ill", "width": -1}, "width must be"),
        ({"secret": "ill", "queries": 2.5}, "queries must be a whole number"),
        (
            {"secret": "ill", "holdout": OTHERS.assign(ill=None)},
            "column 'ill' has no values in the holdout",
        ),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(BadInput, match=message) as error:
        inference(PEOPLE, PEOPLE, **given)
    assert "\n" not in str(error.value)


def test_a_secret_that_nobody_has_or_shares_is_refused():
    with pytest.raises(BadInput, match="column 'ill' has no values to infer"):
        inference(PEOPLE.assign(ill=None), PEOPLE, secret="ill")
    names = pd.DataFrame({"name": [f"n{i}" for i in range(8000)], "x": np.arange(8000)})
    with pytest.raises(
        BadInput,
        match="'name' has 8,000 different values; a secret to infer is one that people share",
    ):
        inference(names, names, secret="name")


@pytest.mark.slow
@pytest.mark.parametrize("secret", ["salary-class", "occupation", "age"])
def test_2000_people_of_adult_in_ten_seconds(secret):
    adult = load_adult()
    given = {"secret": secret, "holdout": adult[27_000:]}
    found = within(10, lambda: inference(adult[:27_000], adult[:27_000], **given))
    assert found.attack.of == found.control.of == 2000
