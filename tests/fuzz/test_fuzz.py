"""A few random cases, and violations that the verifier must find; `make fuzz` runs many more."""

import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from discreet import protect
from tests.fuzz.cases import make_case
from tests.fuzz.cells import frame
from tests.fuzz.plants import Planter, planted
from tests.fuzz.run import VERIFIED, run_seed
from tests.fuzz.verifier import verify

FOLDER = Path(__file__).parent


def assert_none_fails(seeds, most=None):
    ended = [run_seed(seed, most=most) for seed in seeds]
    assert [case for case in ended if case.failed] == []
    assert sum(case.outcome == VERIFIED for case in ended) >= len(ended) / 2


def test_random_releases_keep_what_their_recipes_promise():
    assert_none_fails(range(1, 25), most=120)


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
            found[kind] += bool(verify(original, case.recipe, table, kinds))
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
    for name in ("verifier", "methods", "models", "labels", "looks", "cells", "plants"):
        assert not re.search(
            r"^\s*(from|import) discreet", (FOLDER / f"{name}.py").read_text(), re.M
        )
    assert re.findall(r"^.*\bdiscreet\b.*$", (FOLDER / "run.py").read_text(), re.M) == [
        "from discreet import protect"
    ]
