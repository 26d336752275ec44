"""Local suppression until the risk over all records is low enough: some may stay alone."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.generalization import (
    AverageRisk,
    KAnonymity,
    LDiversity,
    PopulationUniqueness,
    SampleUniqueness,
)
from discreet.suppression import LocalSuppression
from tests.examples import examples

MODELS = [
    AverageRisk(0.3),
    AverageRisk(0.6),
    AverageRisk(0.6, highest=0.34, records=0.2),
    SampleUniqueness(0.0),
    SampleUniqueness(0.2),
]
tables = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"), st.sampled_from([1, 2, 3, None])),
    min_size=8,
    max_size=40,
).map(lambda rows: pa.table(dict(zip("pqr", map(list, zip(*rows, strict=True)), strict=True))))


def sizes(table):
    """Return the class size of each record; one that is left out is in none."""
    rows = [tuple(row.values()) for row in table.to_pylist()]
    counts = Counter(rows)
    return [counts[row] for row in rows]


def keeps(model, found):
    if isinstance(model, SampleUniqueness):
        return found.count(1) <= model.share * len(found) + 1e-9
    average = sum(1 / size for size in found) / len(found)
    above = sum(model.highest is not None and 1 / size > model.highest for size in found)
    return average <= model.average + 1e-9 and above <= (model.records or 0) * len(found) + 1e-9


@pytest.mark.parametrize("model", MODELS, ids=str)
@examples(8)
@given(table=tables)
def test_the_risk_is_kept_with_no_more_blanks_than_k_takes(model, table):
    found = LocalSuppression(privacy=model, random_state=0)
    assert keeps(model, sizes(found.fit_transform(table)))
    if keeps(model, sizes(table)):
        assert found.cost_ == 0
    enough = 2 if isinstance(model, SampleUniqueness) else 4
    assert found.cost_ <= LocalSuppression(k=enough, random_state=0).fit(table).cost_


@examples(8)
@given(table=tables)
def test_classes_have_k_records_besides(table):
    models = [AverageRisk(0.4), KAnonymity(2)]
    found = sizes(LocalSuppression(privacy=models, random_state=0).fit_transform(table))
    assert min(found) >= 2
    assert keeps(models[0], found)


def test_the_check_verifies_it():
    table = pa.table({"age": [30, 30, 30, 31, 40, 41, 50, 50], "job": list("aaaabbcc")})
    privacy = [{"model": "sample-uniqueness", "share": 0.2}]
    step = {"method": "local-suppression", "columns": ["age", "job"], "privacy": privacy}
    release = discreet.protect(table, {"roles": {"quasi": ["age", "job"]}, "steps": [step]})
    assert release.check.verified
    (found,) = [f for f in release.check.findings if f.promise.startswith("sample-uniqueness")]
    assert found.detail == "1 record (12.50%) unique"


@pytest.mark.parametrize(
    ("privacy", "options", "said"),
    [
        (PopulationUniqueness(0.1, population=99), {}, "population-uniqueness is estimated for"),
        (
            [AverageRisk(0.4), LDiversity(2, column="r")],
            {},
            "goes with k and max_risk by class alone",
        ),
        (AverageRisk(0.4), {"units": [1, 1, 2, 2]}, "counts records; use k or max_risk"),
        (AverageRisk(0.2), {}, "the average risk of 4 records is 1 / 4 at least"),
        (AverageRisk(0.4), {"null_policy": "own"}, "privacy is for null_policy = 'value' alone"),
    ],
)
def test_what_is_refused(privacy, options, said):
    table = pa.table({"p": list("abcd"), "q": list("aabb"), "r": list("xyxy")})
    units = options.pop("units", None)
    with pytest.raises(BadInput, match=said):
        LocalSuppression(privacy=privacy, columns=["p", "q"], **options).fit(table, units=units)
