"""Labels and codes of nulls, on their way through a release."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.table import normalise, read_table
from discreet.table.labels import (
    Labels,
    labels_of,
    null_codes,
    take_rows,
    with_labels,
    with_null_codes,
)

cells = st.lists(st.sampled_from([1.0, 2.5, None]), min_size=1, max_size=20)


@given(cells, st.data())
def test_codes_of_nulls_come_back_for_the_same_column_alone(values, data):
    column = pa.chunked_array([pa.array(values, pa.float64())])
    kept = [data.draw(st.sampled_from([None, -9.0, -8.0])) if v is None else None for v in values]
    field = with_null_codes(pa.field("x", pa.float64()), column, pa.array(kept, pa.float64()))
    found = null_codes(field, column)
    assert (found.to_pylist() if found is not None else [None] * len(values)) == kept
    # However it is cut, it is the same column; with another cell it is not.
    cut = pa.chunked_array([column.combine_chunks()[:1], column.combine_chunks()[1:]])
    assert (null_codes(field, cut) is None) == (found is None)
    other = pa.chunked_array([pa.array([*values[:-1], 7.0], pa.float64())])
    assert null_codes(field, other) is None
    rows = np.array(data.draw(st.permutations(range(len(values)))))
    table = pa.table({"x": column}, schema=pa.schema([field]))
    taken = take_rows(table, rows)
    found = null_codes(taken.schema.field("x"), taken["x"])
    assert (found.to_pylist() if found is not None else [None] * len(values)) == [
        kept[row] for row in rows
    ]


def test_what_a_marker_makes_null_leaves_the_other_codes():
    column = pa.chunked_array([pa.array([1.0, None, 99.0, None])])
    field = with_labels(pa.field("x", pa.float64()), Labels("X", {1.0: "one"}))
    field = with_null_codes(field, column, pa.array([None, -9.0, None, -8.0]))
    table = normalise(pa.table([column], schema=pa.schema([field])), ["99"])
    assert table["x"].to_pylist() == [1.0, None, None, None]
    assert labels_of(table.schema.field("x")).label == "X"
    assert null_codes(table.schema.field("x"), table["x"]).to_pylist() == [None, -9.0, None, -8.0]


@pytest.fixture
def survey(tmp_path):
    """Forty persons: a code of one of them, a label that nobody has, and two kinds of nulls."""
    n = 40
    frame = pd.DataFrame(
        {
            "job": np.tile([1.0, 2.0, -9.0, -8.0], n // 4),
            "income": np.where(np.arange(n) % 10 == 0, -9.0, np.arange(n) * 100.0),
            "sex": np.tile([1.0, 2.0], n // 2),
            "age": np.arange(n) + 20.0,
        }
    )
    names = {1: "nurse", 2: "clerk", 3: "astronaut", -9: "refused", -8: "not asked"}
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "s.sav"),
        column_labels={"job": "Occupation", "income": "Income", "age": "Age"},
        variable_value_labels={"job": names, "income": {-9: "refused"}, "sex": {1: "m", 2: "f"}},
        missing_ranges={"job": [-9, -8], "income": [-9]},
        variable_format={"job": "F2.0", "income": "F8.0", "sex": "F1.0", "age": "F3.0"},
    )
    return tmp_path / "s.sav"


RECIPE = {
    "roles": {
        "quasi": ["sex", "age"],
        "confidential": ["income", "job"],
        "untouched": ["sex"],
    },
    "steps": [
        {"method": "oma", "columns": ["income"], "k": 4},
        {"method": "top-bottom", "columns": ["age"], "upper": 50},
    ],
}


def test_a_release_shares_labels_that_apply_and_no_others(survey, tmp_path):
    release = discreet.protect(survey, RECIPE)
    written = release.save(tmp_path / "out.sav")
    frame, meta = pyreadstat.read_sav(str(written), user_missing=True)
    # Nobody is an astronaut, and the list of labels may have been made from the records.
    assert meta.variable_value_labels["job"] == {
        1: "nurse", 2: "clerk", -9: "refused", -8: "not asked",
    }  # fmt: skip
    assert b"astronaut" not in written.read_bytes()
    assert meta.column_names_to_labels["income"] == "Income"
    # Nulls of a treated column are one class, so their codes stay at home.
    assert "income" not in meta.variable_value_labels
    assert "income" not in meta.missing_ranges
    assert frame["income"].isna().sum() == 4
    original, _ = pyreadstat.read_sav(str(survey), user_missing=True)
    assert sorted(frame["job"]) == sorted(original["job"])


def test_codes_go_with_their_rows(survey, tmp_path):
    release = discreet.protect(survey, RECIPE)
    release.save(tmp_path / "out", format="sav")
    frame, _ = pyreadstat.read_sav(str(tmp_path / "out/public/table.sav"), user_missing=True)
    rows = pd.read_parquet(tmp_path / "out/internal/rows.parquet")["original_row"]
    original, _ = pyreadstat.read_sav(str(survey), user_missing=True)
    assert frame["job"].tolist() == original["job"][rows].tolist()
    assert b"null codes" not in (tmp_path / "out/internal/schema.arrow").read_bytes()


def test_a_table_in_memory_keeps_its_labels(survey):
    table = read_table(survey)
    release = discreet.protect(table, RECIPE)
    job = release.table.schema.field("job")
    assert "astronaut" not in labels_of(job).values.values()
    assert null_codes(job, release.table["job"]).to_pylist()[:4] == [None, None, -9, -8]
    assert labels_of(release.table.schema.field("age")).label == "Age"


def test_a_column_that_a_privacy_model_reads_has_no_codes(survey):
    recipe = {
        "roles": {"quasi": ["sex"], "confidential": ["job"], "rest": "drop"},
        "steps": [
            {
                "method": "generalize",
                "columns": ["sex"],
                "hierarchies": {"sex": {"kind": "flat"}},
                "privacy": [{"model": "l-diversity", "l": 2, "column": "job"}],
            }
        ],
    }
    job = discreet.protect(survey, recipe).protected.schema.field("job")
    assert labels_of(job).missing == ()
    assert labels_of(job).values == {1: "nurse", 2: "clerk"}


def test_codes_that_are_generalized_keep_their_meaning(survey, tmp_path):
    recipe = {
        "roles": {"quasi": ["sex", "job"], "rest": "drop"},
        "steps": [
            {
                "method": "generalize",
                "columns": ["sex", "job"],
                "hierarchies": {
                    "sex": {"kind": "flat"},
                    "job": {"kind": "groups", "tree": {"care": ["1"], "office": ["2", "3"]}},
                },
                "privacy": [{"model": "k-anonymity", "k": 5}],
                "levels": {"sex": 0, "job": 1},
            }
        ],
    }
    release = discreet.protect(survey, recipe)
    for suffix in ("sav", "dta", "xlsx"):
        release.save(tmp_path / f"out-{suffix}.{suffix}")
    meta = pyreadstat.read_sav(str(tmp_path / "out-sav.sav"))[1]
    assert meta.variable_value_labels == {"sex": {"1": "m", "2": "f"}}
    assert meta.column_names_to_labels["job"] == "Occupation"
