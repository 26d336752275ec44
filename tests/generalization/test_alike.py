"""Models that two classes may break together: what has the same labels in a release keeps them."""

import warnings

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import (
    DeltaDisclosure,
    Generalize,
    Hierarchy,
    KMap,
    LDiversity,
    Mondrian,
)
from discreet.suppression import LocalSuppression
from tests.examples import examples
from tests.generalization.plain import plainly
from tests.generalization.test_search import as_method, as_table, tables

MODELS = [
    DeltaDisclosure(1.0, column="ill"),
    DeltaDisclosure(0.5, column="ill"),
    LDiversity(2, column="ill", kind="entropy", estimator="grassberger"),
]


@pytest.mark.parametrize("how", ["local", "segregate", "mondrian", "relaxed"])
@examples(120)
@given(example=tables(nulls=True), model=st.sampled_from(MODELS))
def test_records_of_the_same_labels_keep_the_model(how, example, model):
    columns, forest, records, ill = example
    if how in ("mondrian", "relaxed"):
        method = Mondrian(model, columns=columns, strict=how == "mondrian")
    else:
        method = as_method(columns, forest, model, suppression_limit=1.0, local=how == "local")
        method.null_policy = "segregate"
    assert isinstance(method, Mondrian | Generalize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = method.fit_transform(as_table(columns, records, ill))
        except BadInput:
            return  # Not even all records keep it.
    classes = {}
    rows = zip(*(out[c].to_pylist() for c in columns), strict=True)
    for row, released, value in zip(rows, out["ill"].to_pylist(), ill, strict=True):
        # Records that are left out are empty in all columns.
        if not (released is None and all(label is None for label in row)):
            classes.setdefault(row, []).append(value)
    assert all(plainly(model, values, ill) for values in classes.values())


def test_classes_that_break_a_model_together_are_suppressed():
    def people(a, b, *counts):
        values = zip(["flu", "acne", "gout"], counts, strict=True)
        return [(a, b, ill) for ill, count in values for _ in range(count)]

    # Gout is rare enough among those whose age is known, and too rare with all of the same town.
    rows = [
        *people("30", "Ulm", 3, 4, 1),
        *people(None, "Ulm", 7, 7, 0),
        *people("30", "Jena", 14, 13, 15),
    ]
    table = pa.table(
        dict(zip(["age", "town", "ill"], map(list, zip(*rows, strict=True)), strict=True))
    )
    method = Generalize(
        {"age": Hierarchy.flat(), "town": Hierarchy.flat()},
        DeltaDisclosure(1.1, column="ill"),
        levels={"age": 1, "town": 0},
        suppression_limit=0.5,
    )
    with pytest.warns(UserWarning, match="22 more records are suppressed, since they break"):
        method.fit(table)
    assert method.suppressed_mask_.tolist() == [True] * 22 + [False] * 42


@pytest.mark.parametrize("model", [*MODELS[1:], KMap(5, population=100)], ids=repr)
def test_local_suppression_refuses_what_blanks_may_break(model):
    message = "looks at a population" if isinstance(model, KMap) else "two classes together"
    with pytest.raises(BadInput, match=message):
        LocalSuppression(privacy=[model]).fit(as_table(["a"], [("x",)] * 4, [1, 2, 1, 2]))
