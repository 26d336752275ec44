"""`release.table` holds what is released: nothing of it is in what travels beside the cells."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from discreet import assess, check_release, protect
from discreet.errors import BadInput
from discreet.table import to_arrow
from discreet.table.labels import Labels, labels_of, with_labels

# The one record of its class, which is left out; and what only it holds.
SECRET, NUMBER = "Zanzibar-7731", 4_444_555_566_667
COLOURS = ["red", "green", "blue", SECRET, "nobody's"]
ROLES = {"quasi": ["zip"], "insensitive": ["colour", "code", "town", "flag"]}
STEP = {
    "method": "generalize",
    "columns": ["zip"],
    "hierarchies": {"zip": {"kind": "auto"}},
    "privacy": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "l": 2, "column": "colour"},
    ],
    "suppression_limit": 0.2,
}
RECIPE = {"roles": ROLES, "steps": [STEP]}


def people() -> pa.Table:
    rows = 31
    place = np.arange(rows)
    colours = np.where(place == 17, SECRET, np.array(COLOURS)[place // 3 % 3])
    return pa.table(
        {
            "zip": [f"{1000 + i % 3}" if i != 17 else "9000" for i in place],
            "colour": pa.array(colours),
            "code": pa.array(np.where(place == 17, NUMBER, place % 5)),
            "town": pa.array([SECRET if i == 17 else None if i % 7 == 3 else "Ulm" for i in place]),
            "flag": pa.array([i % 2 == 0 for i in place]),
        }
    )


def pandas(kind: str) -> pd.DataFrame:
    frame = people().to_pandas()
    frame["colour"] = pd.Categorical(frame["colour"], COLOURS, ordered=kind == "ordered")
    if kind == "masked":
        frame = frame.astype({"code": "Int64", "flag": "boolean", "town": "string[python]"})
    if kind == "arrow":
        frame = pd.concat([frame, frame]).astype({"town": "string[pyarrow]"})
        frame = frame.convert_dtypes(dtype_backend="pyarrow").iloc[: len(frame) // 2]
        frame["colour"] = pd.Categorical(people()["colour"].to_pandas(), COLOURS)
    frame.index = pd.Index([f"{SECRET} {i}" for i in range(len(frame))], name=SECRET)
    frame.columns.name = SECRET
    frame.attrs["made by"] = SECRET
    return frame


def polars(kind: str) -> pl.DataFrame:
    own = pl.Enum(COLOURS) if kind == "enum" else pl.Categorical()
    return pl.from_arrow(people()).with_columns(pl.col("colour").cast(own))


def arrow(kind: str) -> pa.Table:
    table = people()
    table = pa.concat_tables([table, table]).combine_chunks().slice(0, len(table))
    if kind == "dictionary":
        labels = pa.DictionaryArray.from_arrays(
            pa.array([COLOURS.index(c) for c in people()["colour"].to_pylist()], pa.int8()), COLOURS
        )
        table = table.set_column(1, "colour", labels)
    note = {"note": SECRET}
    fields = [field.with_metadata(note) for field in table.schema]
    return table.cast(pa.schema(fields, metadata=note))


TABLES = {
    **{f"pandas, {kind}": (pandas, kind) for kind in ("plain", "ordered", "masked", "arrow")},
    **{f"polars, {kind}": (polars, kind) for kind in ("categories", "enum")},
    **{f"pyarrow, {kind}": (arrow, kind) for kind in ("slice", "dictionary")},
}


@pytest.fixture(params=TABLES)
def release(request):
    make, kind = TABLES[request.param]
    return protect(make(kind), RECIPE)


def written(table, folder) -> dict[str, bytes]:
    """What its users may do with a table, without compression."""
    paths = SimpleNamespace(**{n: folder / n for n in ("parquet", "feather", "ipc")})
    if isinstance(table, pd.DataFrame):
        table.to_parquet(paths.parquet, compression=None)
        table.to_feather(paths.feather, compression="uncompressed")
    elif isinstance(table, pl.DataFrame):
        table.write_parquet(paths.parquet, compression="uncompressed")
        table.write_ipc(paths.feather)
    else:
        parquet.write_table(table, paths.parquet, compression="none")
        feather.write_feather(table, paths.feather, compression="uncompressed")
        with pa.OSFile(str(paths.ipc), "wb") as file, pa.ipc.new_file(file, table.schema) as ipc:
            ipc.write_table(table)
    return {"pickle": pickle.dumps(table)} | {p.name: p.read_bytes() for p in folder.iterdir()}


def test_what_a_left_out_record_held_is_nowhere(release, tmp_path):
    assert release.left_out.tolist() == [17]
    for name, content in written(release.table, tmp_path).items():
        for value in (SECRET.encode(), b"nobody's", NUMBER.to_bytes(8, "little")):
            assert value not in content, (name, value)


def test_it_is_the_table_that_was_checked(release):
    table = release.table
    assert type(table) is type(release.given)
    assert to_arrow(table)["town"].to_pylist()[:5] == ["Ulm", "Ulm", "Ulm", None, "Ulm"]
    evidence = release.check.findings
    again = check_release(table, release.recipe)
    assert again.ok
    assert len(evidence) >= len(again.findings) - 1
    assess(release.given, table, release.recipe.roles)


def test_types_stay(release):
    given, table = release.given, release.table
    if isinstance(given, pd.DataFrame):
        kinds = {name: str(kind) for name, kind in given.dtypes.items()}
        found = {name: str(kind) for name, kind in table.dtypes.items()}
        # A null that is new does not fit numpy's integers and booleans.
        kinds |= {n: found[n] for n, kind in kinds.items() if kind in ("int64", "bool")}
        assert {n: found[n] for n in kinds if n != "zip"} == {
            n: kind for n, kind in kinds.items() if n != "zip"
        }
        assert table["colour"].cat.ordered == given["colour"].cat.ordered
    else:
        for name in ("code", "town", "flag"):
            assert (
                table.schema[name] == given.schema[name]
                if isinstance(given, pl.DataFrame)
                else table.schema.field(name).type == given.schema.field(name).type
            )


def test_categories_are_those_that_are_there():
    kept = protect(pandas("ordered"), RECIPE).table["colour"].cat.categories
    assert list(kept) == ["red", "green", "blue"]
    # Without an order of their own they are sorted: that of first appearance tells of rows.
    assert list(protect(pandas("plain"), RECIPE).table["colour"].cat.categories) == [
        "blue", "green", "red",
    ]  # fmt: skip
    enum = protect(polars("enum"), RECIPE).table["colour"].dtype
    assert enum == pl.Enum(["red", "green", "blue"])
    column = protect(arrow("dictionary"), RECIPE).table["colour"]
    assert column.type == pa.dictionary(pa.int8(), pa.string())
    assert column.chunk(0).dictionary.to_pylist() == ["blue", "green", "red"]


def test_the_index_is_kept_where_that_is_asked_for():
    frame = pandas("plain")
    release = protect(frame, RECIPE)
    assert release.table.index.equals(pd.RangeIndex(len(frame)))
    assert not any("index" in warning for warning in release.log["warnings"])
    release = protect(frame, RECIPE, keep_index=True)
    assert release.table.index.equals(frame.index)
    assert release.table.attrs == {}
    assert (
        "release.table keeps the index of the input, which may say who the records are; the "
        "written file does not hold it" in release.log["warnings"]
    )
    with pytest.raises(BadInput, match="keep_index is for pandas tables, the only ones with an"):
        protect(people(), RECIPE, keep_index=True)


def test_labels_of_statistical_programs_stay():
    table = people()
    field = with_labels(table.schema.field("code"), Labels("The code", {1: "one", NUMBER: SECRET}))
    table = table.cast(table.schema.set(2, field.with_metadata({**field.metadata, "x": SECRET})))
    known = protect(table, RECIPE).table.schema.field("code")
    assert labels_of(known) == Labels("The code", {1: "one"})
    assert len(known.metadata) == 1
