"""Models of the whole table on releases, and the check's own estimates of population uniqueness."""

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.check.uniques import unique_share
from discreet.datasets import load_adult
from discreet.generalization.targets import ESTIMATORS
from discreet.kernels import population as kernels
from discreet.risk import frequencies
from tests.check.test_privacy import people, tampered

STEP = {
    "method": "generalize",
    "columns": ["age", "zip"],
    "suppression_limit": 0.2,
    "hierarchies": {"age": {"kind": "intervals", "widths": [10, 20]}, "zip": {"kind": "prefix"}},
}
ROLES = {"quasi": ["age", "zip"], "confidential": ["ill"]}
MODELS = {
    "average": {"model": "average-risk", "average": 0.2},
    "three": {"model": "average-risk", "average": 0.3, "highest": 0.2, "records": 0.2},
    "sample": {"model": "sample-uniqueness", "share": 0.05},
    "largest": {"model": "largest-risk", "risk": 0.25},
    "population": {"model": "population-uniqueness", "share": 0.05, "sampling_fraction": 0.1},
}


def released(model, table=None, **step):
    recipe = {"roles": ROLES, "steps": [{**STEP, "privacy": [model], **step}]}
    return discreet.protect(people() if table is None else table, recipe)


def verdicts(found, model):
    return [f for f in found.findings if f.promise.startswith(model["model"])]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("policy", ["value", "suppress", "segregate"])
def test_releases_keep_their_models(name, policy):
    model = MODELS[name]
    table = people(nulls=0) if (name, policy) == ("population", "segregate") else people()
    release = released(model, table, null_policy=policy)
    found = release.check
    told = verdicts(found, model)
    assert told
    assert {f.status for f in told} == {"verified"}
    assert found.verified


@pytest.mark.parametrize("name", MODELS)
def test_a_release_with_finer_values_is_found_out(name):
    table = people(nulls=0)
    release = released(MODELS[name], table, null_policy="value")
    found = tampered(release, age=[f"{x}" for x in range(len(table))])
    assert "broken" in {f.status for f in verdicts(found, MODELS[name])}


def test_records_that_show_nothing_are_left_out():
    table = pa.table({"age": [30] * 9 + [71], "zip": ["1"] * 10, "ill": ["flu"] * 10})
    model = {"model": "average-risk", "average": 0.15}
    release = released(model, table, null_policy="value")
    assert release.table["age"].to_pylist()[-1] == "*"
    (found,) = verdicts(release.check, model)
    assert (found.status, found.detail) == ("verified", "the average risk is 0.1111")


@pytest.mark.parametrize("people", [317_238_626.0, 150_810.0, 40_000.0])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_check_estimates_by_itself(estimator, people):
    classes = frequencies(load_adult(), ["sex", "race", "education", "occupation"]).classes
    sizes = np.bincount(classes)
    found = kernels.estimate(
        ESTIMATORS.index(estimator), *np.unique(sizes, return_counts=True), people
    )
    assert unique_share(estimator, sizes, people) == pytest.approx(found, rel=1e-7)


def test_a_bound_that_protects_little_is_weak():
    release = released({"model": "average-risk", "average": 0.6}, null_policy="value")
    told = [f"{f.promise}: {f.detail}" for f in release.check.having("weak")]
    said = "average = 0.6 leaves many records alone in their class"
    assert f"step 1 (generalize): average-risk bounds next to nothing: {said}" in told
