"""-0.0 is 0.0: in what is read, released, checked, assessed, compared and reported."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from discreet import Recipe, assess, compare, protect, read_table
from discreet.flow.protection import protect_to
from discreet.flow.reports import saved_facts

AGES = [30, 30, 31, 31, 30, 30, 31, 31]
PAYS = ["-0.0", "0.0", "1.5", "2.5", "-0.0", "0.0", "1.5", "2.5"]
ROLES = {"quasi": ["age", "pay"], "untouched": ["age", "pay"]}
OMA = {"roles": ROLES | {"untouched": ["pay"]},
       "steps": [{"method": "oma", "columns": ["age"], "k": 2}]}  # fmt: skip
INTERVALS = {
    "roles": ROLES | {"untouched": []},
    "steps": [{
        "method": "generalize", "columns": ["age", "pay"], "suppression_limit": 1.0,
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "hierarchies": {c: {"kind": "intervals", "widths": [1, 2, 4]} for c in ("age", "pay")},
    }],
}  # fmt: skip


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"people.{request.param}"
    if request.param == "csv":
        lines = ["age,pay", *(f"{a},{p}" for a, p in zip(AGES, PAYS, strict=True))]
        path.write_text("\n".join(lines) + "\n")
    else:
        parquet.write_table(pa.table({"age": AGES, "pay": [float(p) for p in PAYS]}), path)
    return path


def has_negative_zero(column):
    values = column.to_numpy().astype(float)
    return bool((np.signbit(values) & (values == 0)).any())


def test_it_is_read_as_zero(file):
    column = read_table(file)["pay"]
    assert column.type == pa.float64()
    assert column.to_pylist() == [0.0, 0.0, 1.5, 2.5] * 2
    assert not has_negative_zero(column)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("asked", [OMA, INTERVALS], ids=["oma", "generalize"])
def test_a_release_is_that_of_its_table_for_all_who_ask(file, tmp_path, engine, asked):
    folders = [tmp_path / "one", tmp_path / "two"]
    *_, written = protect_to(file, Recipe.from_dict(asked), folders[0], engine)
    assert "-0" not in read_table(written)["pay"].cast(pa.string()).to_pylist()
    shutil.copytree(*folders)
    for working in ("memory", "duckdb"):
        found = assess(file, folders[0], asked, measures=["class_sizes"], engine=working)
        assert found.risk["class_sizes"]["before"]["classes"] == 3
        compared = compare(file, folders, measures=["class_sizes"], engine=working)
        assert len(compared.releases) == 2
        facts = saved_facts(folders[0], file, working)
        assert facts["check"]["ok"]


def test_a_release_in_memory_is_compared_with_the_file(file):
    table = pa.table({"age": AGES, "pay": [float(p) for p in PAYS]})
    released = [protect(table, OMA), protect(table, OMA)]
    for original in (table, read_table(file)):
        assert len(compare(original, released, measures=["class_sizes"]).releases) == 2
