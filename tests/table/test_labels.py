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
    job = discreet.protect(survey, recipe).finished.table.schema.field("job")
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
    groups = {101: "care", 102: "office"}
    assert meta.variable_value_labels == {"sex": {1: "m", 2: "f"}, "job": groups}
    assert meta.column_names_to_labels["job"] == "Occupation"


@pytest.fixture
def one_left_out(tmp_path):
    """Forty persons, of whom the eighth is left out: with codes and a long text of his own."""
    n = 40
    age = np.tile([20.0, 21.0], n // 2)
    age[7] = 118.0
    frame = pd.DataFrame({"age": age, "x": 1.0, "note": "short"})
    frame.loc[7, "note"] = "n" * 44
    said = pd.Series(["a", "b", 1.0, 1.0] * (n // 4), dtype=object)
    said[7] = "q"
    frame["said"] = said
    coded = np.tile([-9.0, 1.0], n // 2)
    coded[7] = -77.0
    ranged = np.tile([-9.0, 1.0], n // 2)
    ranged[7] = 99.0
    labels = {-9: "refused", -77: "DIED", 99: "DIED"}
    pyreadstat.write_dta(
        frame,
        str(tmp_path / "s.dta"),
        missing_user_values={"said": ["a", "b", "q"]},
        variable_value_labels={"said": {"a": "refused", "b": "not asked", "q": "DIED"}},
    )
    pyreadstat.write_sav(
        frame.drop(columns="said").assign(coded=coded, ranged=ranged),
        str(tmp_path / "s.sav"),
        missing_ranges={"coded": [-9, -77], "ranged": [{"lo": -9, "hi": -8}, 99]},
        variable_value_labels={"coded": labels, "ranged": labels},
        variable_format={"coded": "F3.0", "ranged": "F3.0", "x": "F8.2"},
    )
    return tmp_path


LEAVE_OUT = {
    "roles": {"quasi": ["age"], "rest": "insensitive"},
    "steps": [
        {
            "method": "generalize",
            "columns": ["age"],
            "privacy": [{"model": "k-anonymity", "k": 3}],
            "suppression_limit": 0.05,
            "hierarchies": {"age": {"kind": "intervals", "widths": [10]}},
        }
    ],
}


@pytest.mark.parametrize("source", ["s.dta", "s.sav"])
@pytest.mark.parametrize("format", ["csv", "parquet", "feather", "xlsx", "sav", "dta", "xpt"])
def test_codes_of_a_record_that_is_left_out_stay_at_home(one_left_out, source, format):
    release = discreet.protect(one_left_out / source, LEAVE_OUT)
    assert list(release.left_out) == [7]
    written = release.save(one_left_out / "out", format=format)
    for path in written.parent.iterdir():
        content = path.read_bytes()
        assert b"DIED" not in content
        assert b"A44" not in content
        assert b"-77" not in content
    book = (written.parent / "codebook.md").read_text()
    kept = format == source[2:]
    # A format with one kind of null needs no codes.
    assert ("missing:" in book) == kept == ("refused" in book)
    assert ("or a code that its column lists" in book) == kept
    if kept and format == "dta":
        meta = pyreadstat.read_dta(str(written), user_missing=True)[1]
        assert meta.variable_value_labels == {"said": {"a": "refused", "b": "not asked"}}
        assert book.count("missing:") == 2
    if kept and format == "sav":
        meta = pyreadstat.read_sav(str(written), user_missing=True)[1]
        assert meta.missing_ranges == {
            "coded": [{"lo": -9.0, "hi": -9.0}],
            "ranged": [{"lo": -9.0, "hi": -8.0}],
        }
        assert meta.original_variable_types["x"] == "F8.2"


def test_formats_of_text_and_of_treated_columns_stay_at_home(one_left_out):
    released = discreet.protect(read_table(one_left_out / "s.sav"), LEAVE_OUT).table
    formats = {field.name: labels_of(field).format for field in released.schema}
    assert formats == {"age": None, "x": "F8.2", "note": None, "coded": "F3.0", "ranged": "F3.0"}
    codes = null_codes(released.schema.field("coded"), released["coded"])
    assert set(codes.to_pylist()) == {None, -9.0}
