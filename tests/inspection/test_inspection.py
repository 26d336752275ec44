"""The first look: figures of columns, the same for a file and for a table."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.inspection import inspect, keys
from discreet.table import write_table


@pytest.fixture(scope="module")
def people():
    return make_households(10_000, seed=3, null_rate=0.02)


@pytest.fixture(scope="module")
def seen(people):
    return inspect(people)


def test_the_households_are_seen_through(seen):
    roles = {name: guess.role for name, guess in seen.roles.items()}
    assert [name for name, role in roles.items() if role == "identifiers"] == ["name"]
    assert roles["household_id"] == "household"
    assert roles["weight"] == "weight"
    assert {name for name, role in roles.items() if role == "confidential"} == {
        "income", "assets", "disease",
    }  # fmt: skip
    assert seen.keys.riskiest[0].columns == ("postcode", "birth_date", "sex")
    assert set(seen.finer) == {("postcode", "region"), ("birth_date", "age")}


def test_figures_are_those_of_pandas(people, seen):
    frame = people.to_pandas()
    assert seen.rows == len(frame)
    for look in seen.columns:
        column = frame[look.name]
        counts = column.value_counts()
        assert look.nulls == column.isna().sum()
        assert look.distinct == len(counts)
        assert look.unique == pytest.approx((counts == 1).sum() / len(frame))
    income = next(look for look in seen.columns if look.name == "income")
    assert float(income.largest) == frame["income"].max()
    born = next(look for look in seen.columns if look.name == "birth_date")
    assert (born.smallest, born.kind) == (str(frame["birth_date"].min()), "numeric")
    key = seen.keys.riskiest[0]
    counted = frame.groupby(list(key.columns), dropna=False).size()
    assert key.singled_out == (counted == 1).sum() / len(frame)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".feather"])
def test_a_file_looks_as_the_table_does(tmp_path, people, seen, suffix):
    write_table(people, tmp_path / f"p{suffix}")
    assert inspect(tmp_path / f"p{suffix}").to_dict() == seen.to_dict()


def test_a_csv_is_typed_as_read_table_types_it(tmp_path):
    (tmp_path / "t.csv").write_text(
        "zip;height;n;day;mixed;empty;flag;nan\n"
        "007;1,5;3;2024-01-05;1.0;;true;nan\n"
        "010;2,25;?;2024-01-06;x;;false;nan\n"
        "007;;3;2024-02-30;1.0;;true;3\n"
    )
    table = discreet.read_table(tmp_path / "t.csv", null_markers=["?"])
    looks = inspect(tmp_path / "t.csv", null_markers=["?"]).columns
    assert [(look.name, look.type) for look in looks] == [
        (field.name, str(field.type)) for field in table.schema
    ]
    assert [look.nulls for look in looks] == [column.null_count for column in table.columns]


def test_a_csv_of_empty_cells_alone(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + ",\n" * 5)
    assert [look.nulls for look in inspect(tmp_path / "t.csv").columns] == [5, 5]


def test_pandas_polars_and_odd_columns():
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["a", "b", None], categories=["b", "a", "unused"]),
            "none": [None] * 3,
            "same": [1, 1, 1],
            "list": [[1], [2], [1]],
            "time": [dt.time(1), None, dt.time(2)],
        }
    )
    looks = {look.name: look for look in discreet.inspect(frame).columns}
    assert (looks["kind"].distinct, looks["kind"].nulls) == (2, 1)
    assert looks["none"].guess.reason == "it holds nulls only"
    assert looks["same"].guess.role == "quasi"  # of three records only
    assert (looks["list"].distinct, looks["list"].kind) == (2, "other")
    assert (looks["time"].distinct, looks["time"].nulls) == (2, 1)
    with pytest.raises(BadInput, match="the table has no rows"):
        inspect(frame.iloc[:0])


def test_a_column_that_is_not_there(seen):
    with pytest.raises(BadInput, match="the table has no column 'agee'; did you mean 'age'"):
        seen.column("agee")
    assert seen.column("sex").equals(seen.column("sex"))


def test_columns_come_back(people, seen):
    for name in people.column_names:
        assert seen.column(name).to_pylist() == people[name].to_pylist()


def test_labels_of_the_file_help(tmp_path):
    import pyreadstat

    frame = pd.DataFrame({"v1": [f"{i}x" for i in range(30)], "v2": [i % 3 for i in range(30)]})
    labels = {"v1": "E-mail address of the person", "v2": "Gender"}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), column_labels=labels)
    seen = inspect(tmp_path / "t.sav")
    assert [look.label for look in seen.columns] == list(labels.values())
    assert [guess.role for guess in seen.roles.values()] == ["identifiers", "quasi"]


def test_one_column_and_one_row():
    seen = inspect(pa.table({"a": ["x"]}))
    assert seen.rows == 1
    assert [key.columns for key in seen.keys.riskiest] in ([], [("a",)])


@pytest.fixture(scope="module")
def marked():
    """Marks of missing values among numbers, and NA among codes of countries."""
    rng = np.random.default_rng(1)
    n = 400
    return {
        "age": ["?" if i % 20 == 0 else str(rng.integers(18, 90)) for i in range(n)],
        "income": ["n/a" if i % 50 == 0 else str(rng.integers(1000, 99999)) for i in range(n)],
        "country": rng.choice(["NA", "DE", "FR", "ES"], n),
        "score": ["NA" if i % 9 == 0 else str(i) for i in range(n)],
    }


def test_kinds_are_those_without_the_marks(tmp_path, marked):
    pd.DataFrame(marked).to_csv(tmp_path / "t.csv", index=False)
    seen = inspect(tmp_path / "t.csv")
    looks = {look.name: look for look in seen.columns}
    assert seen.markers == ("?", "n/a")
    assert [looks[name].kind for name in ("age", "income")] == ["numeric", "numeric"]
    assert (looks["age"].nulls, looks["income"].nulls) == (20, 8)
    assert looks["age"].missing == {"?": "a usual mark, in 20 records"}
    read = discreet.read_table(tmp_path / "t.csv", null_markers=seen.markers)
    assert [look.type for look in seen.columns] == [str(field.type) for field in read.schema]


def test_a_country_code_is_no_mark(tmp_path, marked):
    pd.DataFrame(marked).to_csv(tmp_path / "t.csv", index=False)
    looks = {look.name: look for look in inspect(tmp_path / "t.csv").columns}
    namibia = int((marked["country"] == "NA").sum())
    assert looks["country"].missing == {
        "NA": f"or a two-letter code like all the others, in {namibia} records"
    }
    assert looks["country"].distinct == 4
    # A marker counts in all columns.
    assert looks["score"].missing == {"NA": "but it may be a value in 'country'"}
    alone = inspect(pa.table({"score": marked["score"]}))
    assert alone.markers == ("NA",)


def test_few_of_many_columns_are_compared_and_on_few_records(monkeypatch):
    judged = []

    def usual(fine, coarse, rows):
        judged.append(len(rows))
        return plainly(fine, coarse, rows)

    plainly = keys._usual
    monkeypatch.setattr(keys, "_usual", usual)
    rng = np.random.default_rng(1)
    n = 20_000
    seen = inspect(
        pa.table({f"c{i}": rng.integers(0, 9 + i % 9, n).astype(str) for i in range(90)})
    )
    assert "of 90 columns the 30 most exposed were combined" in seen.keys.note
    assert 0 < len(judged) <= 30 * 29 / 2
    assert max(judged) == 2000
