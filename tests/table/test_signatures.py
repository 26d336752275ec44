"""Files that are not what their suffix says: one sentence each."""

import gzip
import io
import tracemalloc
import zipfile

import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from discreet.table import read_table, signatures, write_table

TABLE = pa.table({"a": [1.5, 2.0], "b": ["x", "y"]})


def refusal(path) -> str:
    with pytest.raises(BadInput) as caught:
        read_table(path)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("true", "said", "message"),
    [
        (".parquet", ".csv", "FILE is Parquet, not CSV; rename it to .parquet"),
        (".feather", ".parquet", "FILE is Feather, not Parquet; rename it to .feather"),
        (
            ".xlsx",
            ".csv",
            "FILE is an Excel workbook or another zip archive, not CSV; rename or unpack it",
        ),
        (".sav", ".dta", "FILE is SPSS, not Stata; rename it to .sav"),
        (".dta", ".csv", "FILE is Stata, not CSV; rename it to .dta"),
        (".xpt", ".sas7bdat", "FILE is SAS transport, not SAS; rename it to .xpt"),
        (".csv.gz", ".csv", "FILE is gzip, not CSV; rename it to .csv.gz"),
        (".csv.zst", ".csv", "FILE is zstd, not CSV; rename it to .csv.zst"),
        (
            ".csv",
            ".xlsx",
            "FILE is not an Excel workbook, though its suffix says so; if it is text, rename it to .csv",
        ),
        (
            ".csv",
            ".csv.gz",
            "FILE is not gzip, though its suffix says so; if it is text, rename it to .csv",
        ),
        (
            ".csv",
            ".sav",
            "FILE is not SPSS, though its suffix says so; if it is text, rename it to .csv",
        ),
    ],
)
def test_a_wrong_suffix_is_told_by_the_content(tmp_path, true, said, message):
    write_table(TABLE, tmp_path / f"right{true}")
    (tmp_path / f"right{true}").rename(tmp_path / f"wrong{said}")
    assert refusal(tmp_path / f"wrong{said}") == message


def test_a_protected_workbook_an_old_one_and_a_pdf(tmp_path):
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    (tmp_path / "a.xlsx").write_bytes(ole + "EncryptedPackage".encode("utf-16-le") + bytes(90))
    (tmp_path / "b.xlsx").write_bytes(ole)
    (tmp_path / "c.csv").write_bytes(b"%PDF-1.7")
    assert (
        refusal(tmp_path / "a.xlsx")
        == "FILE is protected by a password; save a copy without one in Excel"
    )
    assert (
        refusal(tmp_path / "b.xlsx")
        == "FILE is a workbook of Excel 2003 or older; save it as .xlsx in Excel"
    )
    assert "is a PDF document" in refusal(tmp_path / "c.csv")


def test_broken_files(tmp_path):
    for suffix in (".parquet", ".feather", ".xlsx", ".sav", ".dta", ".csv.gz", ".csv.zst"):
        path = tmp_path / f"whole{suffix}"
        write_table(TABLE, path)
        half = tmp_path / f"half{suffix}"
        half.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        assert "cannot be" in refusal(half), suffix
        empty = tmp_path / f"empty{suffix}"
        empty.touch()
        assert refusal(empty) == "FILE is empty"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.txt", "no workbook")
    (tmp_path / "zip.xlsx").write_bytes(archive.getvalue())
    assert "cannot be read as an Excel workbook" in refusal(tmp_path / "zip.xlsx")


@pytest.mark.parametrize(("package", "suffix"), [("openpyxl", ".xlsx"), ("pyreadstat", ".sav")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, package, suffix):
    write_table(TABLE, tmp_path / f"t{suffix}")

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(signatures, "import_module", missing)
    assert refusal(tmp_path / f"t{suffix}") == (
        f"FILE needs the package {package}, which is not installed: pip install 'discreet[files]'"
    )


def test_csv_packed_by_others(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(
        gzip.compress("zip;größe\n007;1,5\n008;\n".encode("cp1252"))
    )
    with pytest.warns(UserWarning, match="read as cp1252"):
        table = read_table(tmp_path / "t.csv.gz")
    assert table.to_pylist() == [{"zip": "007", "größe": 1.5}, {"zip": "008", "größe": None}]
    (tmp_path / "ragged.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n3\n"))
    assert "row 2 has 1 cell, but the header has 2" in refusal(tmp_path / "ragged.csv.gz")


def test_a_folder_of_parquet(tmp_path):
    folder = tmp_path / "parts"
    (folder / "year=2024").mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    write_table(pa.table({"a": [1, 2]}), folder / "year=2024" / "0.parquet")
    write_table(pa.table({"a": [3]}), folder / "year=2024" / "1.parquet")
    assert read_table(folder).to_pydict() == {"a": [1, 2, 3], "year": [2024] * 3}
    write_table(pa.table({"a": ["x"]}), folder / "2.parquet")
    with pytest.raises(
        BadInput, match=r"0\.parquet: column 'a' differs from 2\.parquet; the files of"
    ):
        read_table(folder)
    (folder / "2.parquet").write_bytes(b"PAR1")
    with pytest.raises(BadInput, match=r"2\.parquet cannot be read as Parquet"):
        read_table(folder)


def test_a_line_that_is_too_long(tmp_path):
    size = 20 << 20
    for content, message in {
        b"a,b\n1,2\n3,"
        + b"x" * size
        + b"\n"
        + b"4,5\n"
        * 10: "FILE: line 3 is longer than 8 MB; are its line ends missing, or is it not a CSV?",
        b'a,b\n1,2\n3,"'
        + b"x\n"
        * size: "FILE: a cell in quotes that begins in line 3 is longer than 8 MB; a closing quote is missing, or the file uses another quote character; --quote none takes quotes as plain text",
    }.items():
        (tmp_path / "long.csv").write_bytes(content)
        assert refusal(tmp_path / "long.csv") == message


def test_two_header_rows(tmp_path):
    (tmp_path / "t.csv").write_text("name,height,weight\ntext,cm,kg\nA,180,80\nB,170,70\n")
    assert refusal(tmp_path / "t.csv") == (
        "FILE: row 1 looks like a second header ('cm' above numbers in column 'height'); keep one row of names"
    )
    with pytest.raises(BadInput, match="row 1 looks like a second header"):
        discreet.inspect(tmp_path / "t.csv")
    (tmp_path / "v.csv").write_text("name,height,weight\nX,NA,NA\nA,180,80\nB,170,70\n")
    assert read_table(tmp_path / "v.csv").num_rows == 3
    # One word above numbers may be a mark of a missing value.
    (tmp_path / "u.csv").write_text("name,height\nA,none\nB,170\nC,160\n")
    assert read_table(tmp_path / "u.csv").num_rows == 3


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a\n1\n")

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "open", denied)
    for read in (read_table, discreet.inspect):
        with pytest.raises(BadInput, match=r"t\.csv cannot be read: Permission denied"):
            read(tmp_path / "t.csv")
    monkeypatch.setattr(type(tmp_path), "exists", denied)
    assert refusal(tmp_path / "t.csv") == "FILE cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("EncryptedPackage", "FILE is protected by a password; save a copy without one in Excel"),
        ("Workbook", "FILE is a workbook of Excel 2003 or older; save it as .xlsx in Excel"),
    ],
)
def test_a_large_old_workbook_is_told_in_little_memory(tmp_path, end, message):
    path = tmp_path / "t.xlsx"
    with path.open("wb") as file:
        file.write(b"\xd0\xcf\x11\xe0")
        file.seek(64 << 20)
        file.write(end.encode("utf-16-le"))
    tracemalloc.start()
    assert refusal(path) == message
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_too_little_memory_is_not_blamed_on_the_file(tmp_path, monkeypatch, run):
    write_table(TABLE, tmp_path / "x.feather")

    def fail(*given, **more):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr("discreet.table.files._read_arrow", fail)
    with pytest.raises(MemoryError, match="malloc of size 64 failed"):
        read_table(tmp_path / "x.feather")
    code, _, err = run("inspect", tmp_path / "x.feather")
    said = "there is too little memory for this; --engine duckdb takes less"
    assert (code, err) == (2, f"discreet: {said}\n")
