import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.datasets import make_households, streamed, write_households
from discreet.errors import BadInput


def test_blocks_follow_one_another(tmp_path, monkeypatch):
    monkeypatch.setattr(streamed, "_BLOCK", 400)
    write_households(tmp_path / "a.parquet", 1000, seed=5, null_rate=0.1, columns=["age", "sex"])
    blocks = [make_households(m, 5 + (i << 32), 0.1) for i, m in enumerate((400, 400, 200))]
    wanted = pa.concat_tables([block.select(["age", "sex"]) for block in blocks])
    assert parquet.read_table(tmp_path / "a.parquet").equals(wanted)


def test_the_same_arguments_give_the_same_file(tmp_path):
    for name in ("a", "b"):
        write_households(tmp_path / name, 500, seed=1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_no_rows_and_unknown_columns_are_refused(tmp_path):
    with pytest.raises(BadInput, match="n is 0, but a table needs at least 1 row"):
        write_households(tmp_path / "a", 0)
    with pytest.raises(BadInput, match="there is no column 'incme'; did you mean 'income'"):
        write_households(tmp_path / "a", 5, columns=["incme"])
