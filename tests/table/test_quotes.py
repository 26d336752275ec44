"""A quote that is not closed must not make one cell of the rest of a file in silence."""

import gzip
import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import read_table
from discreet.engines.choice import open_engine
from discreet.errors import BadInput
from discreet.table import dialect

HEADER = "id,name,town\n"
ROWS = "".join(f"{i},n{i},t{i % 7}\n" for i in range(100, 400))
TABLE = HEADER + ROWS
NONE = "--quote none takes quotes as plain text"


def on_duckdb(path, **dialect):
    with open_engine("duckdb") as engine:
        frame = engine.read(path, list, dialect=dialect)
        pieces = [piece for piece, _ in frame.pieces(frame.schema.names)]
        return pieces[0]


READERS = [read_table, on_duckdb]


@pytest.fixture(params=READERS, ids=["memory", "duckdb"])
def read(request, tmp_path):
    def read(text, written="utf-8", name="in.csv", **dialect):
        path = tmp_path / name
        raw = text.encode(written)
        path.write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return request.param(path, **dialect)

    return read


def refused(read, text, **how):
    with pytest.raises(BadInput) as caught:
        read(text, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value).partition(".csv: ")[2]


@pytest.mark.parametrize("header", ['"id,name,town\n', 'id,name,"town\n', "id;'name;town\n"])
def test_a_quote_that_is_never_closed_in_the_header(read, header):
    """There is nothing but a header then; small files are not said to be large."""
    how = {"quote": "'"} if "'" in header else {}
    quote = how.get("quote", '"')
    assert refused(read, header + ROWS, **how) == (
        f"the quote {quote!r} that opens in the header is never closed, so that there are no rows; "
        f"close it, or {NONE}"
    )


@pytest.mark.parametrize("quote", ['"', ""])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_long_cell_in_the_first_row(read, quote, end):
    long = quote + "word " * 400_000 + quote
    table = read((HEADER + f"1,{long},x\n" + ROWS).replace("\n", end))
    assert table.column_names == ["id", "name", "town"]
    assert table["name"][0].as_py() == "word " * 400_000
    assert len(table) == 301


@pytest.mark.parametrize(
    ("text", "line", "swallowed"),
    [
        (HEADER + '1,a,"x\n' + ROWS, 2, 301),
        (TABLE + '900,a,"x\n', 302, 1),
        (TABLE + '900,a,"x', 302, 1),
        (TABLE + '900,a,"', 302, 1),
        (TABLE + '900,a,"x""', 302, 1),
        (TABLE + '900,a,"x\n901,b,y', 302, 2),
        # An even number of quotes, and line ends elsewhere.
        (HEADER + '1,5" pipe,x\n2,"a\nb",y\n\n3,b,"z\n' + ROWS, 6, 301),
        ('"id\n1",name,town\n' + ROWS + '900,a,"x\n', 303, 1),
        ("x\n1\n2\n\"3\n4\n", 4, 2),
    ],
)  # fmt: skip
def test_a_quote_that_is_never_closed_is_refused(read, text, line, swallowed):
    one = "is 1 line" if swallowed == 1 else f"are {swallowed} lines"
    assert refused(read, text) == (
        f"the quote '\"' that opens in line {line} is never closed, so that there {one} in its "
        f"cell; close it, or {NONE}"
    )


@pytest.mark.parametrize("written", ["utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
def test_in_any_encoding(read, written):
    how = {"written": written}
    if written in ("utf-16-be", "cp1252"):
        how["encoding"] = written
    text = TABLE.replace("\n", "\r\n") + '900,é,"x'
    for end in ("", "\r\n", "\r\n\r\n"):
        assert "in line 302 is never closed" in refused(read, text + end, **how)
        assert read(f'{text}"{end}', **how)["name"].to_pylist()[-1] == "é"


def test_in_a_packed_file(read):
    with pytest.raises(BadInput, match="opens in line 302 is never closed"):
        read(TABLE + '900,a,"x\n', name="in.csv.gz")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("before", "after"),
    [('1,"Anna,x', '900,Otto",z'), ('1,a,"x', '900,a,b"'), ('"1,a,x', '9"00,a,b'),
     ('1,"Anna,x', '900,"Otto",z')],
)  # fmt: skip
def test_a_quote_that_is_closed_by_a_later_one_is_refused(read, before, after, ends):
    text = (HEADER + "1,b,c\n" + before + "\n" + ROWS + after + "\n" + ROWS).replace("\n", ends)
    assert refused(read, text) == (
        "the cell in quotes that begins in line 3 holds 302 lines, which have as many cells as rows "
        f"have; a closing quote seems to be missing there; close it, or {NONE}, or --quote '\"' "
        "takes the cell as it is"
    )


def test_it_can_be_read_anyway(read):
    text = HEADER + '1,"Anna,x\n' + ROWS + '900,Otto",z\n'
    assert len(read(text, quote='"')) == 1
    table = read(text, quote="none")
    assert len(table) == 302
    assert table["name"].to_pylist()[::301] == ['"Anna', 'Otto"']
    assert len(read(HEADER + '1,a,"x\n' + ROWS, quote="none")) == 301
    # It must be closed whoever vouches for it.
    assert "is never closed" in refused(read, HEADER + '1,a,"x\n' + ROWS, quote='"')


def test_what_might_be_a_cell_is_told(read, tmp_path):
    text = 'id,note\n1,ok\n2,"Members:\n' + "".join(f"Smith, {i}\n" for i in range(9)) + 'Doe, 9"\n'
    with pytest.raises(UserWarning) as told:
        read(text)
    assert str(told.value).partition(".csv: ")[2] == (
        "the cell in quotes that begins in line 3 holds 11 lines, which have as many cells as rows "
        f"have; if a closing quote is missing there, close it, or {NONE}"
    )
    assert len(read(text, quote='"')) == 2


@pytest.mark.parametrize(
    ("cell", "means"),
    [
        ('"two\nlines"', "two\nlines"),
        ('"Smith, John\nLondon, UK"', "Smith, John\nLondon, UK"),
        ('"' + "word, and so on\n" * 500 + '"', "word, and so on\n" * 500),
        ('"' + "\n" * 500 + '"', "\n" * 500),
        ('"say ""hi"""', 'say "hi"'),
        ('"say ""hi\nho"""', 'say "hi\nho"'),
        ('5" pipe', '5" pipe'),
        ('"big" pipe', "big pipe"),
        ("it's", "it's"),
        ('""""', '"'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n"])
def test_cells_in_quotes_are_read(read, cell, means, end):
    text = f"{TABLE}900,{cell},x\n901,b,{cell}{end}"
    table = read(text)
    assert table["name"].to_pylist()[-2:] == [means, "b"]
    assert table["town"].to_pylist()[-1] == means


def test_many_letters_of_few_lines_are_no_rows(read):
    """Among many cells with line ends, some have as many separators as rows by chance."""
    notes = ["a, b\nc, d", "a, b\n1, 2, 3\n1, 2, 3\nc, d", "a\nb", "a\n\nb, c"] * 100
    rows = "".join(f'{i},"{note}",x\n' for i, note in enumerate(notes))
    assert read(HEADER + rows)["name"].to_pylist() == notes


def test_other_quotes(read):
    rows = "".join(f"'{i}','n','t'\n" for i in range(50))
    text = "'id','name','town'\n" + rows
    assert len(read(text + "'50','a\nb','c'\n")) == 51
    said = refused(read, "id,name,town\n1,a,b\n2,'c\nd',e\n3,f,'g\n4,h,i\n", quote="'")
    assert said.startswith('the quote "\'" that opens in line 5 is never closed')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            HEADER + '1,"Anna,x\n' + ROWS,
            "row 1 has 2 cells, but the header has 3 (line 2, separator ',', quote '\"'); a quote that "
            "opens in line 2 is closed in another line, or not at all",
        ),
        (
            TABLE + "900,a\n",
            "row 301 has 2 cells, but the header has 3 (line 302, separator ',', quote '\"')",
        ),
        (
            HEADER + '1,"a\nb",c\n\n900,a,b,c\n' + ROWS,
            "row 2 has 4 cells, but the header has 3 (line 5, separator ',', quote '\"')",
        ),
    ],
)  # fmt: skip
def test_rows_of_other_lengths_name_their_line(read, text, said):
    assert refused(read, text) == said


cells = st.text(st.sampled_from('ab,"\n\r'), max_size=6)


@given(
    rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=6), end=st.sampled_from(["", "\n"])
)
def test_what_is_written_in_quotes_is_never_said_to_be_open(tmp_path_factory, rows, end):
    path = tmp_path_factory.getbasetemp() / "quoted.csv"
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    path.write_bytes(("x,y\n" + "\n".join(quoted) + end).encode())
    read = read_table(path, quote='"', null_markers=[])
    assert read.num_rows == len(rows)
    # Without its last quote, the last cell is never closed, or ends another.
    path.write_bytes(("x,y\n" + "\n".join(quoted)).encode()[:-1] + end.encode())
    with pytest.raises(BadInput, match="never closed"):
        read_table(path, quote='"')


@given(
    text=st.lists(st.sampled_from(["a", "\n", "\r", "\r\n"]), max_size=60).map("".join),
    size=st.integers(1, 5),
)
def test_lines_are_counted_over_the_pieces_of_a_file(tmp_path_factory, text, size):
    """In whatever pieces it is read: a line end may be half in one and half in the next."""
    path = tmp_path_factory.getbasetemp() / "lines.csv"
    path.write_bytes(b"a" + text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialect, "pieces", lambda path: _cut(path.read_bytes(), size))
        found = dialect.find_dialect(path, dialect.Marks(quote="none", separator=","))
    assert found.lines == len(re.findall("\r\n|\r|\n", text))
    assert found.last.endswith((b"\r", b"\n")) == text.endswith(("\r", "\n"))
    # It may be followed by blank lines.
    lines = ("a" + text).splitlines()
    assert found.last.strip().decode() in (lines[-1], "".join(lines[-2:]))


def _cut(raw, size):
    return (raw[start : start + size] for start in range(0, len(raw), size))
