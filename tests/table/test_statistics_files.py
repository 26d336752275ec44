"""Files of SPSS, Stata and SAS as other programs make them, and the way back."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from discreet.errors import BadInput
from discreet.table import read_table, write_table
from discreet.table.labels import Labels, labels_of, null_codes, with_labels, with_null_codes


@pytest.fixture
def survey(tmp_path):
    """An SPSS file with labels, codes of missing values, dates and a time."""
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0, 9.0, 2.0, np.nan],
            "income": [1200.5, -9.0, -8.0, 900.25, 0.0],
            "born": [dt.date(1980, 2, 29), None, dt.date(1901, 1, 1), dt.date(2020, 12, 31), None],
            "seen": [dt.datetime(2024, 1, 1, 12, 30, 15)] * 5,
            "Straße": ["A", "", "ü€", "99", "b"],
        }
    )
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels={"sex": "Sex of the person", "income": "Net | income"},
        variable_value_labels={
            "sex": {1: "male", 2: "female", 9: "no answer"},
            "income": {-9: "refused", -8: "not asked"},
        },
        missing_ranges={"sex": [9], "income": [{"lo": -9, "hi": -1}], "Straße": ["99"]},
        variable_format={"sex": "F1.0", "income": "F8.2"},
        variable_measure={"sex": "nominal", "income": "scale"},
    )
    return path


def raw(path):
    """What another program reads."""
    reader = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}[path.suffix]
    return reader(str(path), user_missing=True)


def test_spss_is_read_with_all_it_says(survey):
    table = read_table(survey)
    assert table.to_pydict() == {
        "sex": [1, 2, None, 2, None],
        "income": [1200.5, None, None, 900.25, 0.0],
        "born": [dt.date(1980, 2, 29), None, dt.date(1901, 1, 1), dt.date(2020, 12, 31), None],
        "seen": [dt.datetime(2024, 1, 1, 12, 30, 15)] * 5,
        "Straße": ["A", None, "ü€", None, "b"],
    }
    sex = labels_of(table.schema.field("sex"))
    assert sex == Labels(
        label="Sex of the person",
        values={1: "male", 2: "female", 9: "no answer"},
        missing=(9,),
        format="F1.0",
        measure="nominal",
        program="sav",
    )
    assert labels_of(table.schema.field("income")).missing == ((-9, -1),)
    codes = null_codes(table.schema.field("income"), table["income"])
    assert codes.to_pylist() == [None, -9, -8, None, None]


def test_spss_is_written_back_as_it_was(survey, tmp_path):
    write_table(read_table(survey), tmp_path / "back.sav")
    (before, meta), (after, other) = raw(survey), raw(tmp_path / "back.sav")
    pd.testing.assert_frame_equal(before, after)
    for part in ("column_names_to_labels", "variable_value_labels", "missing_ranges",
                 "original_variable_types", "variable_measure"):  # fmt: skip
        assert getattr(meta, part) == getattr(other, part), part


def test_stata_from_pandas_with_categories_and_dates(tmp_path):
    frame = pd.DataFrame(
        {
            "age": np.array([31, 45, 60], np.int8),
            "town": pd.Categorical(["Köln", "Bonn", "Köln"]),
            "day": pd.to_datetime(["2024-02-29", None, "1950-01-01"]),
            "x": [1.5, np.nan, 2.5],
        }
    )
    path = tmp_path / "t.dta"
    frame.to_stata(path, write_index=False, version=118, convert_dates={"day": "td"},
                   variable_labels={"age": "Age in years"})  # fmt: skip
    table = read_table(path)
    assert table["age"].type == pa.int8()
    assert table["day"].to_pylist() == [dt.date(2024, 2, 29), None, dt.date(1950, 1, 1)]
    town = labels_of(table.schema.field("town")).values
    assert [town[code] for code in table["town"].to_pylist()] == ["Köln", "Bonn", "Köln"]
    assert labels_of(table.schema.field("age")).label == "Age in years"
    write_table(table, tmp_path / "back.dta")
    back = pd.read_stata(tmp_path / "back.dta")
    pd.testing.assert_frame_equal(pd.read_stata(path), back, check_dtype=False)


def test_stata_keeps_its_letters_for_missing(tmp_path):
    frame = pd.DataFrame({"income": [1.5, "a", "b", 2.0, np.nan], "x": [1.0, 2, 3, 4, 5]})
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(frame, str(path), missing_user_values={"income": ["a", "b"]})
    table = read_table(path)
    assert table["income"].to_pylist() == [1.5, None, None, 2.0, None]
    write_table(table, tmp_path / "back.dta")
    (before, _), (after, _) = raw(path), raw(tmp_path / "back.dta")
    pd.testing.assert_frame_equal(before, after)


def test_sas_transport_of_another_program(tmp_path):
    frame = pd.DataFrame(
        {"A": [1.0, np.nan], "D": [0.0, 22000.0], "T": [1e9, np.nan], "S": ["x", ""]}
    )
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(frame, str(path), column_labels={"A": "First"}, file_format_version=5,
                           variable_format={"D": "DATE9", "T": "DATETIME20"})  # fmt: skip
    table = read_table(path)
    assert table.to_pydict() == {
        "A": [1, None],
        "D": [dt.date(1960, 1, 1), dt.date(2020, 3, 26)],
        "T": [dt.datetime(1991, 9, 9, 1, 46, 40), None],
        "S": ["x", None],
    }
    assert labels_of(table.schema.field("A")).label == "First"
    write_table(table, tmp_path / "back.xpt")
    assert read_table(tmp_path / "back.xpt").equals(table)


def test_codes_of_another_order_of_rows_are_not_taken(survey, tmp_path):
    table = read_table(survey)
    write_table(table.take([4, 3, 2, 1, 0]), tmp_path / "other.sav")
    frame, _ = raw(tmp_path / "other.sav")
    assert frame["income"].isna().tolist() == [False, False, True, True, False]


def test_codes_go_to_the_program_that_they_are_of(survey, tmp_path):
    write_table(read_table(survey), tmp_path / "t.dta")
    frame, meta = raw(tmp_path / "t.dta")
    assert frame["income"].isna().tolist() == [False, True, True, False, False]
    assert meta.variable_value_labels["sex"] == {1: "male", 2: "female", 9: "no answer"}


def test_labels_of_letters_stay_with_stata(tmp_path):
    frame = pd.DataFrame({"x": pd.Series([1.0, "a", 2.0], dtype=object)})
    path = tmp_path / "t.dta"
    labels = {1: "one", "a": "refused"}
    pyreadstat.write_dta(
        frame, str(path), missing_user_values={"x": ["a"]}, variable_value_labels={"x": labels}
    )
    table = read_table(path)
    write_table(table, tmp_path / "t.sav")
    frame, meta = raw(tmp_path / "t.sav")
    assert meta.variable_value_labels == {"x": {1: "one"}}
    assert frame["x"].isna().tolist() == [False, True, False]
    write_table(table, tmp_path / "back.dta")
    assert raw(tmp_path / "back.dta")[1].variable_value_labels == {"x": labels}


def test_labels_of_whole_numbers_in_a_column_of_fractions_go_to_stata(tmp_path):
    labels = {2: "two", 1.5: "half", 3e9: "large", -9: "refused"}
    pyreadstat.write_sav(
        pd.DataFrame({"x": [1.5, 2.0]}),
        str(tmp_path / "t.sav"),
        variable_value_labels={"x": labels},
        variable_format={"x": "F8.2"},
    )
    write_table(read_table(tmp_path / "t.sav"), tmp_path / "t.dta")
    # Stata labels whole numbers of four bytes alone.
    assert raw(tmp_path / "t.dta")[1].variable_value_labels == {"x": {2: "two", -9: "refused"}}


def test_letters_of_sas_are_nulls_in_a_transport_file(tmp_path):
    column = pa.chunked_array([pa.array([1.5, None])])
    field = with_labels(pa.field("a", pa.float64()), Labels(missing=("A",), program="sas"))
    field = with_null_codes(field, column, pa.array([None, "A"]))
    write_table(pa.table([column], schema=pa.schema([field])), tmp_path / "t.xpt")
    assert read_table(tmp_path / "t.xpt").to_pydict() == {"a": [1.5, None]}


def test_what_pyreadstat_refuses_is_said_without_the_folder(tmp_path, monkeypatch):
    def refuses(*args, **kwargs):
        raise pyreadstat.PyreadstatError("no")

    monkeypatch.setattr(pyreadstat, "write_sav", refuses)
    with pytest.raises(BadInput, match=r"^t\.sav cannot be written for SPSS: no$"):
        write_table(pa.table({"a": [1]}), tmp_path / "t.sav")


def test_parquet_and_feather_carry_labels_and_no_codes(survey, tmp_path):
    table = read_table(survey)
    for suffix in (".parquet", ".feather"):
        write_table(table, tmp_path / f"t{suffix}")
        back = read_table(tmp_path / f"t{suffix}")
        for name in table.column_names:
            assert labels_of(back.schema.field(name)) == labels_of(table.schema.field(name))
            assert null_codes(back.schema.field(name), back[name]) is None
        assert b"null codes" not in (tmp_path / f"t{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("table", "suffix", "message"),
    [
        ({"marital status": [1]}, ".sav", "column 'marital status' has a name that SPSS does not allow"),
        ({"1st": [1]}, ".dta", "column '1st' has a name that Stata does not allow"),
        ({"größe": [1]}, ".xpt", "column 'größe' has a name that SAS does not allow: letters without accents"),
        ({"a" * 33: [1]}, ".dta", "at most 32"),
        ({"a": ["x "]}, ".sav", "column 'a' holds 'x ', whose last space SPSS would drop"),
        ({"a": [2**53 + 1]}, ".sav", "column 'a' holds 9007199254740993, which SPSS cannot hold exactly"),
        ({"a": ["b", None, "x\0y"]}, ".sav", "column 'a', row 3 holds text with a NUL character, which SPSS would cut there"),
        ({"a": ["x\0y"]}, ".dta", "column 'a', row 1 holds text with a NUL character, which Stata would cut there"),
        ({"a": ["x\0y"]}, ".xpt", "column 'a', row 1 holds text with a NUL character, which SAS would cut there"),
        ({"a": [1.0, None, -1e308]}, ".xpt", "column 'a', row 3 holds -1e+308, which SAS cannot hold"),
        ({"a": [0.0, 1e-320]}, ".xpt", "column 'a', row 2 holds 1e-320, which SAS cannot hold"),
        ({"a": [float("inf")]}, ".xpt", "column 'a', row 1 holds inf, which SAS cannot hold"),
        ({"a": [8.99e307]}, ".dta", "column 'a', row 1 holds 8.99e+307, which Stata cannot hold"),
        ({"a": [-1.7976931348623157e308]}, ".sav", "column 'a', row 1 holds -1.7976931348623157e+308, which SPSS cannot hold"),
        ({"a": [[1]]}, ".dta", "column 'a' holds list<item: int64>, which Stata cannot hold; use Parquet"),
    ],
)  # fmt: skip
def test_what_a_program_cannot_hold_is_refused(tmp_path, table, suffix, message):
    with pytest.raises(BadInput) as caught:
        write_table(pa.table(table), tmp_path / f"t{suffix}")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sas_reads_a_sas7bdat_through_pyreadstat(tmp_path, monkeypatch):
    """No library writes this format, so the reader is a stand-in that gives what it would give."""
    frame = pd.DataFrame({"a": [1.0, 2.0], "d": [0.0, 1.0]})
    pyreadstat.write_xport(frame, str(tmp_path / "t.xpt"), variable_format={"d": "DATE9"})
    cells, meta = pyreadstat.read_xport(
        str(tmp_path / "t.xpt"), disable_datetime_conversion=True, output_format="dict"
    )
    meta.missing_user_values = {"a": ["A"]}
    cells["a"] = [1.0, "A"]
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", lambda *args, **kwargs: (cells, meta))
    (tmp_path / "t.sas7bdat").write_bytes(bytes(12) + b"\xc2\xea\x81\x60" + bytes(100))
    table = read_table(tmp_path / "t.sas7bdat")
    assert table.to_pydict() == {"a": [1, None], "d": [dt.date(1960, 1, 1), dt.date(1960, 1, 2)]}
    assert null_codes(table.schema.field("a"), table["a"]).to_pylist() == [None, "A"]
