"""Categories of numbers, as pandas has them, are categories on every engine."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.errors import BadInput

RECIPE = {
    "seed": 2**100 + 17,
    "order_seed": 2**99 + 1,
    "allow_leaks": ["pay", "code", "age"],
    "roles": {"quasi": ["code", "age"], "confidential": ["pay"], "insensitive": ["other"]},
    "steps": [
        {
            "method": "mondrian",
            "columns": ["code", "age"],
            "privacy": [{"model": "k-anonymity", "k": 3}],
        },
        {"method": "oma", "columns": ["pay"], "k": 3},
    ],
}
RNG = np.random.default_rng(3)
CODES = RNG.integers(1, 6, 60)
KINDS = {
    "whole": pa.array(CODES),
    "short": pa.array(CODES, pa.int8()),
    "fractions": pa.array(CODES / 4),
    "truth": pa.array(CODES > 2),
    "days": pa.array(CODES, pa.int32()).cast(pa.date32()),
    "text": pa.array([f"v{code}" for code in CODES]),
}


def table(kind):
    codes = KINDS[kind].dictionary_encode()
    cells = {"age": RNG.integers(20, 60, 60), "pay": RNG.integers(1, 9, 60) * 100}
    return pa.table({"code": codes, **cells, "other": codes})


def released(given, engine):
    release = protect(given, RECIPE, engine)
    try:
        found = release.table
        for to_arrow in ("to_arrow_table", "toArrow"):
            found = getattr(found, to_arrow, lambda found=found: found)()
        return found.to_pydict()
    finally:
        release.close()


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("kind", KINDS)
def test_mondrian_labels_categories_alike(kind, engine):
    given = table(kind)
    found = released(given, engine)
    assert found == released(given, "memory")
    assert found["other"] == given["other"].to_pylist()
    assert not any("-" in str(label) for label in found["code"]) or kind == "days"


def test_ordered_categories_of_numbers_are_refused_on_duckdb():
    given = table("whole")
    kind = pa.dictionary(pa.int32(), pa.int64(), ordered=True)
    given = given.set_column(0, "code", given["code"].cast(kind))
    with pytest.raises(BadInput, match="column 'code' holds ordered categories, which only the"):
        protect(given, RECIPE, "duckdb")
