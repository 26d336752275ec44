"""Records with nulls that anatomy puts beside others: judged by their own values."""

import numpy as np
import pyarrow as pa
import pytest

import discreet
from tests.generalization.test_anatomy import broken, recipe


def test_nulls_that_could_be_apart_are_found():
    ages, zips = [1, None, 3, None, 5, None], ["a"] * 6
    table = pa.table({"age": ages, "zip": zips, "ill": list("abcabc")})
    release = discreet.protect(table, recipe(small_group="append"))
    assert release.check.verified
    release.plan["steps"][0]["joint"]["groups"] = np.array([1, 1, 1, 2, 2, 2])
    evidence = discreet.check.evidence.Evidence(release.plan, release.log, release.recipe)
    found = broken(discreet.check_release(release.table, release.recipe, evidence, table))
    said = "records that fit into groups of the same nulls are beside others"
    assert any(said in detail for detail in found.values())


@pytest.mark.parametrize("seed", range(8))
def test_nulls_that_cannot_be_apart_may_look_as_if_they_could(seed):
    """Those without an age all have `a`; beside others, they may get values that differ."""
    table = pa.table({
        "age": [1, 2, 3, 4, 5, 6, 7, None, None],
        "zip": ["z"] * 9,
        "ill": list("abcbcbcaa"),
    })  # fmt: skip
    asked = recipe(small_group="append", l=2) | {"seed": 10**20 + seed}
    release = discreet.protect(table, asked)
    assert release.check.verified
