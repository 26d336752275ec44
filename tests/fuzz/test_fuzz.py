"""A few random cases, and violations that the verifier must find; `make fuzz` runs many more."""

import re
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.errors import BrokenPromise
from tests.fuzz.cases import make_case
from tests.fuzz.cells import frame
from tests.fuzz.planter import Planter
from tests.fuzz.plants import SAID, planted
from tests.fuzz.run import BROKEN, EARLY, LATE, LEAK, VERIFIED, _outcome, run_case, run_seed
from tests.fuzz.verifier import verify

FOLDER = Path(__file__).parent


def assert_none_fails(seeds, most=None):
    ended = [run_seed(seed, most=most) for seed in seeds]
    assert [case for case in ended if case.failed] == []
    assert sum(case.outcome == VERIFIED for case in ended) >= len(ended) / 2


def test_random_releases_keep_what_their_recipes_promise():
    assert_none_fails(range(1, 25), most=120)


def test_a_refusal_says_whether_the_data_were_looked_at():
    table = pa.table({"income": [float(x) for x in range(20)]})
    step = {"method": "oma", "columns": ["income"], "k": 3}
    for more, ended in (
        ({}, VERIFIED),
        ({"k": 0}, EARLY),
        ({"columns": ["incom"]}, EARLY),
        ({"k": 21}, LATE),
    ):
        recipe = {"roles": {"confidential": ["income"]}, "steps": [step | more]}
        case = replace(make_case(1), table=table, recipe=recipe, engine="memory", given="arrow")
        assert run_case(case).outcome == ended


def test_only_what_is_given_away_and_not_allowed_counts_as_a_leak():
    leak = "        broken: nothing released gives 'income' away ('tax' tells it)"
    other = "        broken: k = 3 per value in column 'income' (it gives 1 record away)"
    for said, allowed, ended in (
        (leak, [], LEAK),
        (leak, ["income"], BROKEN),
        (other, [], BROKEN),
        (f"{leak}\n{other}", [], BROKEN),
    ):
        assert _outcome(BrokenPromise(said), {"allow_leaks": allowed}) == ended


@pytest.mark.slow
def test_many_random_releases_keep_what_their_recipes_promise():
    assert_none_fails(range(1_000, 1_300))


def found_of(wanted):
    """Plant violations into the releases of seeds in turn, and count by kind how many are found."""
    all_, found, seed = Counter(), Counter(), 0
    while all_.total() < wanted:
        seed += 1
        case = make_case(seed, engine="memory", most=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                released = frame(protect(case.table, case.recipe).table)
            except Exception:
                continue
        original, kinds = case.original(), case.kinds
        planter = Planter(np.random.default_rng(seed), original, case.recipe, released)
        for kind, table in planted(planter, most=2):
            all_[kind] += 1
            problems = verify(original, case.recipe, table, kinds)
            found[kind] += any(SAID.get(kind, "") in problem for problem in problems)
    return all_, found


def test_the_verifier_finds_violations():
    all_, found = found_of(20)
    assert found == all_


@pytest.mark.slow
def test_the_verifier_finds_nearly_all_of_200_violations():
    all_, found = found_of(200)
    print(f"{found.total()} of {all_.total()} found; missed: {dict(all_ - found)}")
    assert len(all_) > 15
    assert found.total() >= 0.98 * all_.total()


def test_the_verifier_shares_no_code_with_the_package():
    plain = ("verifier", "methods", "models", "labels", "looks", "cells", "plants", "blanks")
    for name in (*plain, "planter"):
        assert not re.search(
            r"^\s*(from|import) discreet", (FOLDER / f"{name}.py").read_text(), re.M
        )
    assert re.findall(r"^.*\bdiscreet\b.*$", (FOLDER / "run.py").read_text(), re.M) == [
        "from discreet import protect"
    ]
