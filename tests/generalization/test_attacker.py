"""An attacker who knows everything about everyone, and which values are missing, links."""

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy, KAnonymity, Mondrian
from tests.examples import examples

JOBS = {"I": ["a", "b"], "II": ["c"], "III": ["d", "e"]}
HIERARCHIES = {
    "age": Hierarchy.intervals(widths=[5, 10]),
    "job": Hierarchy.groups(JOBS),
    "rooms": Hierarchy.flat(),
}
METHODS = {
    "mondrian": Mondrian,
    "generalize": lambda privacy, **given_: Generalize(
        HIERARCHIES, privacy, suppression_limit=1.0, **given_
    ),
}


def covers(label, value):
    """May a value hide behind a label?"""
    if label in ("*", value):
        # A column that is left as it was is released as the numbers that it held.
        return True
    if not isinstance(label, str):
        return False
    if label.startswith("{"):
        return value in label[1:-1].split(", ")
    if re.fullmatch(r"\d+-\d+", label):
        low, high = map(int, label.split("-"))
        return low <= value <= high
    return str(value) in JOBS.get(label, [label])


def candidates(person, missing, released):
    """The released records that may be a person's, to someone who knows his values.

    The attacker knows too which of his values are missing in the input.
    """
    found = []
    for i, record in released.items():
        fits = [
            gone if label is None else covers(label, value) and (label == "*" or not gone)
            for value, gone, label in zip(person, missing, record, strict=True)
        ]
        if all(fits):
            found.append(i)
    return found


def matches(people, missing, released, groups=False):
    """For each person that is released, how many records may be his.

    With `groups` the attacker knows of each released record whether it had a null.
    """
    counts = {}
    for i in released:
        found = candidates(people[i], missing[i], released)
        if groups:
            found = [j for j in found if any(missing[i]) == any(missing[j])]
        # The attacker is no fool: the right one is among them.
        assert i in found
        counts[i] = len(found)
    return counts


def published(people, missing):
    """The table as it is given, without the missing values."""
    columns = {}
    for c, name in enumerate(("age", "job", "rooms")):
        kind = pa.string() if name == "job" else pa.int64()
        cells = [
            None if gone[c] else person[c] for person, gone in zip(people, missing, strict=True)
        ]
        columns[name] = pa.array(cells, kind)
    return pa.table(columns | {"id": list(range(len(people)))})


def released_records(out, suppressed):
    """By number the cells of the records that were not suppressed."""
    rows = out.select(["age", "job", "rooms"]).to_pylist()
    return {i: list(row.values()) for i, row in enumerate(rows) if not suppressed[i]}


PERSON = st.tuples(st.integers(0, 19), st.sampled_from("abcde"), st.integers(1, 3))
MISSING = st.sampled_from(
    [(False,) * 3] * 3 + [(True, False, False), (False, True, False), (True, True, False)]
)


@st.composite
def populations(draw):
    people = draw(st.lists(PERSON, min_size=6, max_size=30))
    missing = draw(st.lists(MISSING, min_size=len(people), max_size=len(people)))
    # Some value of each column is there.
    return people, [(False,) * 3, *missing[1:]]


def attack(method, population, groups=False):
    """How many records may be each person's, or None where nothing can be released."""
    people, missing = population
    try:
        out = method.fit_transform(published(people, missing).drop(["id"]))
    except BadInput:
        return None
    return matches(people, missing, released_records(out, method.suppressed_mask_), groups)


@pytest.mark.parametrize("segregate", ["any", "pattern"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mondrian", {}),
        ("mondrian", {"strict": False}),
        ("mondrian", {"enhanced": True}),
        ("mondrian", {"enhanced": True, "strict": False}),
        ("generalize", {}),
        ("generalize", {"local": True}),
    ],
    ids=str,
)
@examples(25)
@given(population=populations(), k=st.integers(2, 4))
def test_segregated_records_are_matched_with_confidence_of_1_in_k(
    name, options, segregate, population, k
):
    method = METHODS[name](KAnonymity(k), null_policy="segregate", segregate=segregate, **options)
    counts = attack(method, population, groups=True)
    assert counts is None or all(count >= k for count in counts.values())


# Three are alike, but the age of the first is missing; so are the others, but for the rooms.
PEOPLE = [(2, "a", 1)] * 3 + [(12, "d", 2)] * 3
GONE = [(True, False, False), *[(False,) * 3] * 4, (False, False, True)]


def recipe(name, **options):
    step = {"method": name, "columns": ["age", "job", "rooms"], **options}
    step["privacy"] = [{"model": "k-anonymity", "k": 2}]
    if name == "generalize":
        step |= {"suppression_limit": 1.0, "hierarchies": {
            "age": {"kind": "intervals", "widths": [5, 10]},
            "job": {"kind": "groups", "tree": JOBS},
            "rooms": {"kind": "flat"},
        }}  # fmt: skip
    roles = {"quasi": ["age", "job", "rooms"], "insensitive": ["id"]}
    return {"roles": roles, "steps": [step]}


@pytest.mark.parametrize("name", ["mondrian", "generalize"])
def test_matched_records_stand_out_and_the_check_counts_them(name):
    release = discreet.protect(published(PEOPLE, GONE), recipe(name, null_policy="match"))
    assert release.check.verified
    released = {
        row["id"]: [row["age"], row["job"], row["rooms"]] for row in release.table.to_pylist()
    }
    counts = matches(PEOPLE, GONE, released)
    exposed = [i for i, count in counts.items() if count < 2]
    # Whoever knows what is missing knows these two for sure.
    assert exposed == [0, 5]
    (detail,) = [f.detail for f in release.check.findings if f.promise.startswith("wildcard")]
    assert "but 2 records share their own values, nulls included, with fewer than 2" in detail
    (step,) = release.log["steps"]
    assert step["exposed"] == 2
    # Kept apart, they do not stand out.
    release = discreet.protect(published(PEOPLE, GONE), recipe(name))
    released = {
        row["id"]: [row["age"], row["job"], row["rooms"]]
        for row in release.table.to_pylist()
        if row["id"] is not None
    }
    assert min(matches(PEOPLE, GONE, released, groups=True).values()) >= 2
    assert release.check.verified


@pytest.mark.parametrize("name", ["mondrian", "generalize"])
@examples(40)
@given(population=populations(), k=st.integers(2, 4))
def test_whoever_stands_out_is_counted(name, population, k):
    people, missing = population
    method = METHODS[name](KAnonymity(k), null_policy="match")
    counts = attack(method, population)
    if counts is None:
        return
    columns = published(people, missing).drop(["id"])
    outcome = method.run({name: columns[name] for name in columns.column_names}, None)
    assert sum(count < k for count in counts.values()) <= outcome.figures["exposed"]
