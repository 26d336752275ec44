"""Long headers are read whole, and long lines are refused in little memory, on each engine."""

import gzip
import tracemalloc

import pyarrow as pa
import pytest

from discreet import protect, read_table
from discreet.errors import BadInput

MB = 1 << 20
WAYS = ["utf-8", "utf-16", "cp1252", "gz", "zst"]


def write(folder, text, way="utf-8"):
    """Write a text in an encoding, or packed."""
    packed = way in ("gz", "zst")
    path = folder / (f"wide.csv.{way}" if packed else "wide.csv")
    raw = text.encode("utf-8" if packed else way)
    with pa.output_stream(str(path), compression={"gz": "gzip", "zst": "zstd"}.get(way)) as file:
        file.write(raw)
    return path


def wide(columns, name, separator=",", quote=""):
    names = [quote + name.format(i) + quote for i in range(columns)]
    rows = [[quote + str(row + i % 7) + quote for i in range(columns)] for row in range(3)]
    return "".join(separator.join(row) + "\n" for row in [names, *rows])


def test_as_many_columns_as_there_are(tmp_path):
    columns = 29_175
    table = read_table(write(tmp_path, wide(columns, "col{:06d}")))
    assert table.column_names == [f"col{i:06d}" for i in range(columns)]
    assert table[-1].to_pylist() == [(columns - 1) % 7 + row for row in range(3)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:.*cp1252")
def test_a_long_header_is_read_whole(tmp_path, way):
    name = "Größe {} " + "x" * 2000
    table = read_table(write(tmp_path, wide(300, name), way))
    assert table.column_names == [name.format(i) for i in range(300)]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_long_header_of_quoted_names_with_line_ends(tmp_path, separator, quote):
    name = "a\n{} " + "x" * 2000
    table = read_table(write(tmp_path, wide(300, name, separator, quote)))
    assert table.column_names == [name.format(i) for i in range(300)]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_file_with_a_long_header_is_protected(tmp_path, engine):
    long = "x" * (MB >> 2)
    text = f"{long},b,c\n" + "".join(f"{i % 2},{i % 5},{i % 3}\n" for i in range(30))
    recipe = {
        "roles": {"confidential": ["c"], "insensitive": [long, "b"]},
        "steps": [{"method": "oma", "columns": ["c"], "k": 3}],
    }
    release = protect(write(tmp_path, text), recipe, engine)
    assert release.log["input"]["columns"] == [long, "b", "c"]
    release.close()


def test_apostrophes_are_found_in_a_file_that_is_longer_than_the_sample(tmp_path):
    text = "'a','b'\n" + "".join(f"'{i}','it, too'\n" for i in range(50_000))
    assert read_table(write(tmp_path, text)).num_columns == 2


def protect_text(path, engine):
    recipe = {"roles": {"insensitive": ["a", "b"]}}
    protect(path, recipe, engine).close()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", [1, 7 * MB >> 8])
def test_a_line_of_more_than_8_mb_is_refused_wherever_it_stands(tmp_path, engine, way, before):
    cell = "x" * (9 * MB)
    text = "a,b\n" + f"1,{'x' * 253}\n" * before + f"3,{cell}\n4,5\n"
    with pytest.raises(BadInput) as caught:
        protect_text(write(tmp_path, text, way), engine)
    line = text[: text.index(cell)].count("\n") + 1
    said = f"line {line} is longer than 8 MB; are its line ends missing, or is it not a CSV?"
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_line_of_8_mb_and_a_cell_of_more(tmp_path, engine):
    """The limit is that of the documentation, whether or not a reader's blocks meet it."""
    before = "a,b\n" + f"1,{'x' * 253}\n" * (MB >> 6)
    protect_text(write(tmp_path, f"{before}3,{'x' * (8 * MB - 2)}\n4,5\n"), engine)
    with pytest.raises(BadInput, match="line 16386 is longer than 8 MB"):
        protect_text(write(tmp_path, f"{before}3,{'x' * (8 * MB - 1)}\n4,5\n"), engine)
    cell = "x" * (MB - 1) + "\n"
    with pytest.raises(
        BadInput, match="a cell in quotes that begins in line 16386 is longer than 8 MB"
    ):
        protect_text(write(tmp_path, f'{before}3,"{cell * 9}"\n4,5\n'), engine)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_without_line_ends_takes_little_memory(tmp_path, packed):
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    open_ = gzip.open if packed else open
    with open_(path, "wb", **({"compresslevel": 1} if packed else {})) as file:
        for _ in range(16):
            file.write(b"x," * (4 * MB))
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    with pytest.raises(BadInput, match="line 1 is longer than 8 MB"):
        read_table(path)
    assert tracemalloc.get_traced_memory()[1] < 48 * MB
    assert pa.total_allocated_bytes() - before < 48 * MB
    tracemalloc.stop()


def test_a_header_of_more_than_8_mb_in_short_lines_is_refused(tmp_path):
    text = ",".join(f'"{"x" * 99}\n{i}"' for i in range(90_000)) + "\n1\n"
    with pytest.raises(BadInput, match="is longer than 8 MB"):
        read_table(write(tmp_path, text))
