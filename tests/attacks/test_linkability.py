"""Linkability: two parties, one person, and the release between them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.attacks import linkability
from discreet.datasets import load_adult
from discreet.errors import BadInput
from tests.attacks.people import independent, kept_or_blank, mixed
from tests.timed import within

N = 900
EVERYBODY = mixed(N + 400, np.random.default_rng(3))
PEOPLE, OTHERS = EVERYBODY[:N], EVERYBODY[N:].reset_index(drop=True)
KNOWN = (["age", "town", "member"], ["pay", "born"])


def grouped(values, k):
    order, found = np.argsort(values.to_numpy()), np.empty(len(values))
    for first in range(0, len(values), k):
        found[order[first : first + k]] = values.to_numpy()[order[first : first + k]].mean()
    return found


def test_names_that_are_released_are_put_together_for_certain():
    people, _, others = kept_or_blank(250, 1, np.random.default_rng(0))
    found = linkability(people, people, known=(["a"], ["b"]), holdout=others)
    assert found.attack.value == 1
    assert found.control.value < 0.05
    assert found.excess > 0.95
    assert found.guess.value == pytest.approx(0.01)
    assert found.against == "holdout"
    assert found.detail == {"known": [["a"], ["b"]], "among": 100}


def test_on_the_unprotected_table_as_many_as_possible():
    """Nobody can do better than by counts of the table itself: those of (i, j), over those of j."""
    found = linkability(PEOPLE, PEOPLE, known=KNOWN, among=N, queries=N)
    mine, theirs = (PEOPLE.groupby(list(one), sort=False).ngroup().to_numpy() for one in KNOWN)
    counts = pd.crosstab(mine, theirs).to_numpy()
    likely = counts[mine][:, theirs] / counts.sum(axis=0)[theirs]
    best = likely == likely.max(axis=1, keepdims=True)
    possible = np.mean(best[np.arange(N), np.arange(N)] / best.sum(axis=1))
    assert possible > 0.5
    assert found.attack.value == pytest.approx(possible, abs=0.05)


@pytest.mark.parametrize("holdout", [None, OTHERS])
def test_independent_rows_add_nothing(holdout):
    for seed in (2, 3, 4):
        released = independent(PEOPLE, np.random.default_rng(seed))
        low, high = linkability(PEOPLE, released, known=KNOWN, holdout=holdout).interval
        assert low <= 0 <= high


def test_rows_of_other_people_add_nothing_that_others_do_not_suffer():
    # Of the same population: what holds of anybody puts halves together, in the control as well.
    other = mixed(N, np.random.default_rng(77))
    found = linkability(PEOPLE, other, known=KNOWN, holdout=OTHERS)
    assert found.attack.value > 2 * found.guess.value
    assert found.interval[0] <= 0 <= found.interval[1]


RELEASES = {
    "broad labels": {
        "age": [f"{v // 10 * 10}-{v // 10 * 10 + 9}" for v in PEOPLE["age"]],
        "pay": [f"[{v // 5 * 5:.0f}, {v // 5 * 5 + 5:.0f})" for v in PEOPLE["pay"]],
        "born": [f"{v:%Y-%m}" for v in PEOPLE["born"]],
    },
    "noise": {"pay": PEOPLE["pay"] + np.random.default_rng(1).normal(size=N)},
    "groups": {"pay": grouped(PEOPLE["pay"], 5), "age": grouped(PEOPLE["age"], 5)},
    "blanks": {"born": PEOPLE["born"].where(np.arange(N) % 2 == 0, None)},
    "stars": {"town": PEOPLE["town"].where(np.arange(N) % 3 == 0, "*")},
}


@pytest.mark.parametrize("kind", RELEASES)
def test_a_protected_table_lies_between(kind):
    whole = linkability(PEOPLE, PEOPLE, known=KNOWN, holdout=OTHERS)
    found = linkability(PEOPLE, PEOPLE.assign(**RELEASES[kind]), known=KNOWN, holdout=OTHERS)
    assert found.interval[0] > 0
    assert found.excess < whole.excess + 0.03


def test_all_stars_are_a_guess():
    released = pd.DataFrame({name: ["*"] * N for name in PEOPLE})
    low, high = linkability(PEOPLE, released, known=KNOWN).interval
    assert low <= 0 <= high


def test_the_order_of_released_rows_does_not_matter():
    shuffled = PEOPLE.sample(frac=1, random_state=1).reset_index(drop=True)
    one, other = (linkability(PEOPLE, x, known=KNOWN).attack.value for x in (PEOPLE, shuffled))
    assert one == pytest.approx(other, abs=0.05)


def test_any_frame_and_the_same_again():
    tables = [(PEOPLE, OTHERS)]
    tables.append(tuple(pl.from_pandas(one) for one in tables[0]))
    tables.append(tuple(pa.Table.from_pandas(one) for one in tables[0]))
    found = [linkability(one, one, known=KNOWN, holdout=other) for one, other in tables]
    assert found[0] == found[1] == found[2]
    assert linkability(PEOPLE, PEOPLE, known=KNOWN, random_state=1) != found[0]


def test_columns_of_the_parties_if_they_are_not_said():
    assert linkability(PEOPLE, PEOPLE).detail["known"] == [
        ["age", "pay", "born"],
        ["town", "member", "ill"],
    ]
    halves = linkability(PEOPLE, PEOPLE, known=["age", "pay", "town"]).detail["known"]
    assert halves == [["age", "pay"], ["town"]]


def test_few_people_are_looked_for_among_as_few():
    found = linkability(PEOPLE, PEOPLE, known=KNOWN, holdout=OTHERS[:30])
    assert found.detail["among"] == 30
    assert found.control.of == 30
    assert found.attack.of == N
    assert found.guess.value == pytest.approx(1 / 30)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"known": (["age"], ["nay"])}, "known names 'nay', which the original does not have"),
        ({"known": (["age"], ["age"])}, "both parties know 'age', by which they need no release"),
        ({"known": (["age"], [])}, "known is empty; name at least one column"),
        ({"known": "age"}, "known must name columns for two parties"),
        ({"known": (["age"], ["pay"], ["born"])}, "known must be two lists of columns"),
        ({"known": (["age", "age"], ["pay"])}, "known names 'age' twice"),
        ({"queries": 0}, "queries must be a whole number of at least 1, not 0"),
        ({"among": 1}, "among must be a whole number of at least 2, not 1"),
        ({"holdout": OTHERS[["age"]], "known": KNOWN}, "which the holdout does not have"),
        ({"holdout": OTHERS[:0]}, "the holdout has no rows"),
        ({"holdout": OTHERS[:1]}, "at least two people to tell apart"),
        (
            {"holdout": OTHERS.assign(age="old")},
            "column 'age' is numeric in the original and text in the holdout",
        ),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(BadInput, match=message) as error:
        linkability(PEOPLE, PEOPLE, **given)
    assert "\n" not in str(error.value)


def test_tables_that_do_not_belong_together_are_refused():
    with pytest.raises(BadInput, match="the original has 900 rows, the protected table 400"):
        linkability(PEOPLE, OTHERS)
    with pytest.raises(BadInput, match="nobody to attack"):
        linkability(PEOPLE[:0], PEOPLE[:0])
    with pytest.raises(BadInput, match="at least two people"):
        linkability(PEOPLE[:1], PEOPLE[:1])


@pytest.mark.slow
def test_2000_people_of_adult_in_ten_seconds():
    adult = load_adult()
    found = within(10, lambda: linkability(adult[:27_000], adult[:27_000], holdout=adult[27_000:]))
    assert found.attack.of == found.control.of == 2000
