"""Workbooks as other programs make them."""

import datetime as dt

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from discreet.errors import BadInput
from discreet.table import read_table, write_table


def workbook(path, *sheets: tuple[str, list[list]]) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def refusal(path, **options) -> str:
    with pytest.raises(BadInput) as caught:
        read_table(path, **options)
    return str(caught.value).replace(str(path), "FILE")


def test_cells_of_every_type(tmp_path):
    path = tmp_path / "t.xlsx"
    rows = [
        ["ñame", "n", "x", "day", "at", "yes", "time", "mixed"],
        [
            "Ä",
            1,
            1.5,
            dt.date(2024, 2, 29),
            dt.datetime(2024, 1, 1, 12, 30),
            True,
            dt.time(7, 5),
            1,
        ],
        [None, 2, 2, dt.date(1999, 1, 1), None, False, None, "x"],
        ["007", None, None, None, dt.datetime(2024, 1, 2), None, dt.time(0, 0), 2.0],
    ]
    workbook(path, ("people", rows))
    table = read_table(path)
    assert [str(kind) for kind in table.schema.types] == [
        "string", "int64", "double", "date32[day]", "timestamp[us]", "bool", "time64[us]", "string",
    ]  # fmt: skip
    assert table["ñame"].to_pylist() == ["Ä", None, "007"]
    assert table["mixed"].to_pylist() == ["1", "x", "2"]
    assert table["day"].to_pylist()[0] == dt.date(2024, 2, 29)
    assert table["at"].to_pylist() == [
        dt.datetime(2024, 1, 1, 12, 30),
        None,
        dt.datetime(2024, 1, 2),
    ]


def test_pandas_writes_and_reads_the_same(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.5, None], "b": ["x", "1+1"], "c": pd.to_datetime(["2024-01-01"] * 2)}
    )
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    assert read_table(tmp_path / "t.xlsx")["c"].type == pa.date32()
    write_table(frame, tmp_path / "u.xlsx")
    pd.testing.assert_frame_equal(pd.read_excel(tmp_path / "u.xlsx"), frame, check_dtype=False)


def test_text_that_looks_like_a_formula_is_no_formula(tmp_path):
    write_table(pa.table({"=a": ["=1+1", "+1", "@x"]}), tmp_path / "t.xlsx")
    cells = openpyxl.load_workbook(tmp_path / "t.xlsx").active["A"]
    assert [(cell.value, cell.data_type) for cell in cells] == [
        ("=a", "s"), ("=1+1", "s"), ("+1", "s"), ("@x", "s"),
    ]  # fmt: skip


def test_sheets_are_chosen_by_name(tmp_path):
    path = tmp_path / "t.xlsx"
    workbook(path, ("notes", [["about"], ["x"]]), ("people", [["a"], [1]]))
    assert read_table(path, sheet="people").to_pydict() == {"a": [1]}
    with pytest.warns(
        UserWarning, match="the first sheet, 'notes', was read; there are others: 'people'"
    ):
        read_table(path)
    assert refusal(path, sheet="peple") == "FILE has no sheet 'peple'; did you mean 'people'?"
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(BadInput, match="is not a workbook, so it has no sheet 'x'"):
        read_table(tmp_path / "t.csv", sheet="x")


def test_what_an_export_leaves_is_told(tmp_path):
    """Blank lines counted as patients, and ages of text, were told by nothing."""
    path = tmp_path / "export.xlsx"
    rows = [["age", "postcode", "cost", "sex"], ["41", "01067", "1.250,50", "f"], []]
    workbook(path, ("s", [*rows, ["7", "79098", "980", "m"], [None, None, None, "f"]]))
    with pytest.warns(UserWarning, match="sheet") as told:
        table = read_table(path)
    said = [str(one.message).removeprefix(f"{path}: sheet 's': ") for one in told]
    assert said == [
        "1 row is empty and is a record without any value; delete what is none",
        "columns 'age', 'cost' hold numbers as text, and text they stay; if they are amounts, turn "
        "them into numbers in the workbook",
    ]
    assert table["age"].to_pylist() == ["41", None, "7", None]


def test_empty_rows_at_the_end_are_no_records(tmp_path):
    path = tmp_path / "t.xlsx"
    workbook(path, ("t", [["a", "b"], [1, None], [None, None], [2, 3], [None, None], []]))
    assert read_table(path).to_pydict() == {"a": [1, None, 2], "b": [None, None, 3]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "FILE: sheet 't' is empty"),
        ([["a", "b"]], "FILE: sheet 't' has a header but no rows"),
        ([["a", "a"], [1, 2]], "FILE: the first row of sheet 't' names column 'a' twice"),
        ([["Table 1"], ["a", "b"], [1, 2]], "FILE: row 2 of sheet 't' has 2 cells, but the header has 1; the names of the columns must be in the first row"),
        ([["Size", None, "Place"], ["cm", "kg", "zip"], [1, 2, 3]], "FILE: column 2 of sheet 't' has no name in the first row; is there a title above the names, or a header of two rows?"),
        ([["h", "w"], ["cm", "kg"], [1, 2], [3, 4]], "FILE: sheet 't': row 2 looks like a second header ('cm' above numbers); keep one row of names"),
        ([["a"], [1], ["#DIV/0!"]], "FILE: sheet 't', row 3, column 1 holds the error #DIV/0!; correct it, or list it in null_markers"),
        ([["a", "b"], [1, "=A2*2"]], "FILE: sheet 't', row 2, column 2 holds a formula that was never computed; open and save the workbook in Excel"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, rows, message):
    workbook(tmp_path / "t.xlsx", ("t", rows))
    assert refusal(tmp_path / "t.xlsx") == message


def test_a_chart_sheet_without_its_chart(tmp_path):
    book = openpyxl.Workbook()
    book.create_chartsheet("Chart", 0)
    for row in (["a"], [1]):
        book.worksheets[0].append(row)
    book.save(tmp_path / "t.xlsx")
    assert refusal(tmp_path / "t.xlsx") == (
        "FILE cannot be read as an Excel workbook; if it has a chart sheet, delete it, or save the "
        "table's sheet as a workbook of its own"
    )


@pytest.mark.parametrize(
    ("merged", "refused"), [("B2:B4", True), ("A7:B7", True), ("D2:E9", False)]
)
def test_merged_cells_are_no_nulls(tmp_path, merged, refused):
    book = openpyxl.Workbook()
    book.active.title = "t"
    for row in (["a", "b"], *([i, "x"] for i in range(5)), ["total", None]):
        book.active.append(row)
    book.active.merge_cells(merged)
    book.save(tmp_path / "t.xlsx")
    if refused:
        assert refusal(tmp_path / "t.xlsx") == (
            f"FILE: sheet 't' has merged cells ({merged}), of which only the first has a value; "
            "unmerge them in Excel and fill each cell"
        )
    else:
        assert read_table(tmp_path / "t.xlsx").num_rows == 6


def test_markers_of_nulls_leave_numbers_numbers(tmp_path):
    workbook(tmp_path / "t.xlsx", ("t", [["a"], [1], ["#N/A"], ["n/a"]]))
    table = read_table(tmp_path / "t.xlsx", null_markers=["#N/A", "n/a"])
    assert table.to_pydict() == {"a": [1, None, None]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"a": ["x" * 32_768]}), "column 'a' holds a text of 32,768 characters, but a cell of Excel at most 32,767"),
        (pa.table({"a": ["x", None, "x\x07"]}), "column 'a', row 3 holds a control character or a carriage return, which Excel cannot hold"),
        (pa.table({"a": ["x", "a\r\nb"]}), "column 'a', row 2 holds a control character or a carriage return, which Excel cannot hold"),
        (pa.table({"a": ["\uffff"]}), "column 'a', row 1 holds a control character"),
        (pa.table({"a\rb": [1]}), "a column's name holds control characters, which Excel does not allow; rename it"),
        (pa.table({"a": ["x", "#N/A"]}), "column 'a', row 2 holds the text #N/A, which is an error in Excel"),
        (pa.table({"a": [float("inf")]}), "column 'a' holds infinity, which Excel cannot hold"),
        (pa.table({"a": [[1]]}), "column 'a' holds list<item: int64>, which Excel cannot hold"),
        (pa.table({"a": pa.nulls(1_048_576, pa.int8())}), "1,048,576 rows and 1 columns do not fit a sheet"),
    ],
)  # fmt: skip
def test_what_a_sheet_cannot_hold_is_refused(tmp_path, table, message):
    with pytest.raises(BadInput) as caught:
        write_table(table, tmp_path / "t.xlsx")
    assert message in str(caught.value)


def test_numbers_that_excel_would_round_are_text(tmp_path):
    write_table(pa.table({"a": [10**16 + 1, 1]}), tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").to_pydict() == {"a": ["10000000000000001", "1"]}
