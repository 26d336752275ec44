"""Damaged files of every format: a table, or one sentence; never a traceback or a crash."""

import random
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet import protect, read_table, write_table
from discreet.errors import BadInput

FORMATS = ["csv", "csv.gz", "csv.zst", "parquet", "feather", "xlsx", "sav", "dta", "xpt"]
RECIPE = {
    "roles": {"confidential": ["b"], "rest": "insensitive"},
    "allow_leaks": ["b"],
    "steps": [{"method": "oma", "columns": ["b"], "k": 3}],
}


def table():
    rng = np.random.default_rng(1)
    days = pa.array(rng.integers(0, 99, 100), pa.int32()).cast(pa.date32())
    text = [f"v{i % 7}é" for i in range(100)]
    return pa.table({"b": rng.integers(0, 50, 100) / 4, "c": text, "d": days})


def damaged(raw, rng):
    """Cut a file, flip bits of it, write over a part, or take one out."""
    found = bytearray(raw)
    place = rng.randrange(len(raw))
    match rng.randrange(4):
        case 0:
            del found[place:]
        case 1:
            for _ in range(rng.choice([1, 1, 2, 5, 20])):
                found[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        case 2:
            found[place : place + rng.randrange(60)] = rng.randbytes(rng.randrange(60))
        case _:
            del found[place : place + rng.randrange(1, 200)]
    return bytes(found)


def spoil(folder, format, read, rounds, seed):
    """Read a file after each of many damages; tell how often it was refused."""
    good, bad = folder / f"good.{format}", folder / f"bad.{format}"
    write_table(table(), good)
    rng, refused = random.Random(f"{format} {seed}"), 0
    for _ in range(rounds):
        bad.write_bytes(damaged(good.read_bytes(), rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                read(bad)
        except BadInput as error:
            refused += 1
            said = str(error)
        else:
            continue
        assert "\n" not in said
        assert len(said) < 600
    return refused


def on(engine):
    return lambda path: protect(path, RECIPE, engine).close()


@pytest.mark.parametrize("format", FORMATS)
def test_a_damaged_file_is_read_or_refused(tmp_path, format):
    assert spoil(tmp_path, format, read_table, 60, 0) > 10


@pytest.mark.parametrize("format", ["csv.gz", "parquet"])
def test_a_damaged_file_is_protected_or_refused_on_duckdb(tmp_path, format):
    assert spoil(tmp_path, format, on("duckdb"), 25, 0) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("read", [read_table, discreet.inspect, on("memory"), on("duckdb")])
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_in_many_damages(tmp_path, format, read, seed):
    spoil(tmp_path, format, read, 200, seed + 1)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_damaged_page_is_told_in_one_line(tmp_path, engine, run):
    path = tmp_path / "x.parquet"
    parquet.write_table(table(), path, compression="none", use_dictionary=False)
    raw = bytearray(path.read_bytes())
    where = raw.index(b"v0")
    raw[where - 60 : where + 40] = b"\xff" * 100
    path.write_bytes(raw)
    (tmp_path / "recipe.toml").write_text(
        '[roles]\nconfidential = ["b"]\nrest = "insensitive"\n[[steps]]\nmethod = "oma"\n'
        'columns = ["b"]\nk = 3\n'
    )
    out = tmp_path / "out"
    code, _, said = run(
        "protect", path, "--recipe", tmp_path / "recipe.toml", "--out", out, "--engine", engine
    )
    assert code == 2
    assert said.count("\n") == 1
    assert "x.parquet cannot be read as Parquet" in said or "the engine duckdb stopped" in said
    assert not out.exists()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_dates_that_no_calendar_has_are_refused(tmp_path, engine):
    for kind, day in ((pa.date32(), -(10**9)), (pa.date32(), 2_932_897)):
        odd = pa.array([1, day, 3] * 10, pa.int32()).cast(kind)
        path = tmp_path / "x.parquet"
        write_table(pa.table({"b": [1.5, 2.5, 3.5] * 10, "d": odd}), path)
        with pytest.raises(BadInput, match="column 'd' holds a date before the year 1 or after"):
            protect(path, RECIPE, engine)
