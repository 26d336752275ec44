import codecs
import re

import pyarrow as pa
import pytest

from discreet import read_table
from discreet.errors import BadInput


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes, encoding: str = "utf-8"):
        path = tmp_path / "in.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_separator_and_quote_are_found(write, separator, quote):
    rows = [["name", "note"], ["a", f"x{separator}y"], ["b", "two\nlines"], ["c", "plain"]]
    text = "\n".join(separator.join(f"{quote}{cell}{quote}" for cell in row) for row in rows)
    table = read_table(write(text))
    assert table.to_pydict() == {
        "name": ["a", "b", "c"],
        "note": [f"x{separator}y", "two\nlines", "plain"],
    }


def test_doubled_quotes(write):
    assert read_table(write('a,b\n"say ""hi""",1\n'))["a"].to_pylist() == ['say "hi"']


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (b"", "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"),
     (codecs.BOM_UTF16_BE, "utf-16-be"), (b"", "cp1252")],
)  # fmt: skip
def test_encoding_and_byte_order_mark_are_found(write, mark, encoding):
    if encoding == "cp1252":
        with pytest.warns(UserWarning, match="is not UTF-8 and was read as cp1252"):
            table = read_table(write("name,n\nMüller,1\nAndré,2\n".encode(encoding)))
    else:
        table = read_table(write(mark + "name,n\nMüller,1\nAndré,2\n".encode(encoding)))
    assert table.column_names == ["name", "n"]
    assert table["name"].to_pylist() == ["Müller", "André"]


def test_a_given_encoding_is_taken(write):
    path = write("name,n\nŁódź,1\n", "iso8859-2")
    assert read_table(path, encoding="iso8859-2")["name"].to_pylist() == ["Łódź"]


def test_decimal_comma_is_found_where_it_cannot_be_mistaken(write):
    table = read_table(write("a;b\n1,5;x\n-2,25;y\n"))
    assert table["a"].to_pylist() == [1.5, -2.25]
    # A thousands comma in a comma-separated file is not a decimal comma.
    assert read_table(write('a,b\n"1,234",x\n'))["a"].to_pylist() == ["1,234"]
    # Nor is a comma beside a column with decimal points.
    assert read_table(write("a;b\n1,234;1.5\n"))["a"].to_pylist() == ["1,234"]
    assert read_table(write('a,b\n"1,5",x\n'), decimal=",")["a"].to_pylist() == [1.5]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "", "-30"], pa.int64()),
        (["1.5", "", "2"], pa.float64()),
        (["1e-07", "2.5", "1e+21"], pa.float64()),
        (["1E5", "2E5", "12"], pa.string()),
        (["10.1", "10.10", "10.2"], pa.string()),
        (["1.50", "2.25", ""], pa.float64()),
        (["+4915112345678", "+4915112345679", ""], pa.string()),
        (["2020-01-31T12:30:00+02:00", "2020-01-31T12:30:00+02:00", ""], pa.string()),
        (["01234", "20095", "30000"], pa.string()),
        (["0", "10", "20"], pa.int64()),
        (["0.5", "10", "20"], pa.float64()),
        (["2020-01-31", "", "1999-12-01"], pa.date32()),
        (["2020-01-31 12:30:00", "2020-01-31 12:30:00.25", ""], pa.timestamp("us")),
        (["2020-01-31T12:30:00Z", "2020-01-31T12:30:00Z", ""], pa.timestamp("us", tz="UTC")),
        (["true", "false", ""], pa.bool_()),
        (["TRUE", "FALSE", ""], pa.string()),
        (["1", "x", "3"], pa.string()),
        (["", "", ""], pa.string()),
        (["12345678901234567890", "1", "2"], pa.string()),
        (["9007199254740993", "1", "2"], pa.int64()),
    ],
)
def test_types_are_taken_only_where_nothing_is_lost(write, cells, kind):
    text = "id,v\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    column = read_table(write(text))["v"]
    assert column.type == kind
    assert column.null_count == cells.count("")


def test_columns_that_are_numbers_for_certain_may_be_spelt_in_any_way(write):
    path = write("a,b\n10.1,+5\n10.10,1E5\n")
    assert read_table(path)["a"].type == pa.string()
    table = read_table(path, numeric=["a", "b"])
    assert table.to_pydict() == {"a": [10.1, 10.1], "b": [5.0, 100000.0]}


def test_apostrophes_are_not_quotes(write):
    rows = [f"{i},Jansen,{i}" for i in range(60)]
    rows[5], rows[45] = "5,'t Hooft,5", "45,'s Gravesande,45"
    table = read_table(write("id,name,n\n" + "\n".join(rows)))
    assert table.num_rows == 60
    assert table["name"][5].as_py() == "'t Hooft"
    lists = read_table(write("id,tags\n1,\"['a','b','c']\"\n2,\"['d','e']\"\n"))
    assert lists["tags"].to_pylist() == ["['a','b','c']", "['d','e']"]


def test_a_given_decimal_mark_is_obeyed(write):
    table = read_table(write("turnover;price\n1.234;1,5\n"), decimal=",")
    assert table.to_pydict() == {"turnover": ["1.234"], "price": [1.5]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"decimal": "x"}, "the decimal mark must be a point or a comma, not 'x'"),
        ({"separator": "||"}, "the separator must be one character, not '||'"),
        ({"separator": "\0"}, r"the separator must be one character, not '\x00'"),
        ({"quote": ""}, "the quote must be one character or none, not ''"),
        ({"encoding": "rot13"}, "'rot13' is not a text encoding that Python knows"),
        ({"encoding": "nonsense"}, "'nonsense' is not a text encoding that Python knows"),
    ],
)
def test_wrong_options_are_refused(write, given, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        read_table(write("a,b\n1,2\n"), **given)


def test_long_cells_and_carriage_returns(write):
    long = "x" * 200_000
    assert read_table(write(f"a,b\n1,{long}\n2,y\n"))["b"].to_pylist() == [long, "y"]
    assert read_table(write('a,b\n1,"two\rlines"\n2,y\n'))["b"].to_pylist() == ["two\rlines", "y"]
    assert read_table(write("a,b\r\n1,2\r\n"))["b"].to_pylist() == [2]


def test_a_late_surprise_makes_the_column_text(write):
    text = "v,w\n" + "".join(f"{i},1\n" for i in range(200_000)) + "n/a,1\n"
    table = read_table(write(text))
    assert table["v"].type == pa.string()
    assert table["w"].type == pa.int64()


def test_null_markers_and_nan(write):
    table = read_table(write("a,b,c\n1,*,nan\n?,x,1.5\n"), null_markers=["*", "?"])
    assert table.to_pydict() == {"a": [1, None], "b": [None, "x"], "c": [None, 1.5]}


def test_one_column_with_a_null(write):
    assert read_table(write("a\n1\n\n3\n"))["a"].to_pylist() == [1, None, 3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty: it has no header and no rows"),
        ("\n\n", "is empty: it has no header and no rows"),
        ("a,b\n", "has a header but no rows"),
        ("\n\na,b\n1,2\n", "line 1 is blank; it must hold the names of the columns"),
        (
            "id,name\n1,a\n".encode("utf-16-le"),
            "the name of column 'i\\x00d\\x00' has a NUL character; rename it, or name the "
            "encoding if it is another one (such as utf-16-le)",
        ),
        ("a,b\n1,2\n3\n4,5\n", "row 2 has 1 cell, but the header has 2"),
        ("a,b\n1,2\n3,4,5\n", "row 2 has 3 cells, but the header has 2"),
        ("a,b,a\n1,2,3\n", "the header names column 'a' twice"),
        ("a,,c\n1,2,3\n", "column 2 has no name in the header"),
        (b"a,b\n1,\xc3\xa9\n2,\xff\xfe\n", "is not valid UTF-8: byte 0xff in line 3"),
        ("a,b\n1,á\n".encode() + b"2,\xe1\n", "is not valid UTF-8: byte 0xe1 in line 3"),
        ("a,b\n1,é\n".encode() + b"2,\xe9\n", "is not valid UTF-8: byte 0xe9 in line 3"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(write, content, message):
    with pytest.raises(BadInput) as caught:
        read_table(write(content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_nul_in_a_cell_is_told(write):
    with pytest.warns(UserWarning, match=re.escape("in.csv: line 3 has a NUL character")):
        table = read_table(write("a,b\n1,x\n2,y\0z\n3,\0\n"))
    assert table["b"].to_pylist() == ["x", "y\0z", "\0"]
