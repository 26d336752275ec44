"""What every engine's frame must do, against plain Python on the same rows.

Functions are at the top: workers of Spark import them from here.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from discreet.draws import Draws
from discreet.engines import Frame
from discreet.engines.frame import plain_type
from discreet.errors import BadInput
from discreet.table.native import normalise

MARKERS = ["*", "-9", "1900-01-01"]
HOSTILE = "a.b`\"c'; --"


def listed(piece: pa.Table, rows: np.ndarray) -> list:
    """The rows themselves: what is merged in another order than theirs shows."""
    cells = [column.to_pylist() for column in piece.columns]
    return list(zip(rows.tolist(), *cells, strict=True))


def shapes(piece: pa.Table, rows: np.ndarray) -> list:
    return [(piece.schema, len(piece) == len(rows))]


def paired(before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table) -> list:
    others = iter(listed(after, np.arange(len(after))))
    return [
        (*row, next(others)[1:] if is_there else None)
        for row, is_there in zip(listed(before, rows), there, strict=True)
    ]


def followed(one: list, other: list) -> list:
    return one + other


def unchanged(piece: pa.Table, rows: np.ndarray) -> pa.Table:
    return piece


def treated(piece: pa.Table, rows: np.ndarray) -> pa.Table:
    words = Draws(7, "row order").words(rows)
    return pa.table({HOSTILE: piece[HOSTILE], "row": rows, "out": rows % 3 == 1, "order": words})


def refusing(row: int, piece: pa.Table, rows: np.ndarray) -> list:
    if row in rows:
        raise BadInput(f"row {row + 1} cannot be used; leave it out")
    return []


TREATED = pa.schema(
    {HOSTILE: pa.int64(), "row": pa.int64(), "out": pa.bool_(), "order": pa.uint64()}
)


def some_rows(n: int, seed: int) -> pa.Table:
    """Rows of all types and names that engines take, with all that means a null."""
    draw = np.random.default_rng(seed)

    def column(values: list, kind: pa.DataType | None = None, nulls: float = 0.1) -> pa.Array:
        cells = [values[i] for i in draw.integers(0, len(values), n)]
        return pa.array([None if draw.random() < nulls else cell for cell in cells], kind)

    days = [dt.date(1, 1, 1), dt.date(1500, 2, 3), dt.date(1900, 1, 1), dt.date(2024, 2, 29)]
    times = [dt.datetime(1000, 1, 1, 3), dt.datetime(1900, 1, 1), dt.datetime(2024, 3, 31, 2, 30)]
    late = [dt.datetime(1901, 1, 1, 3), dt.datetime(1900, 1, 1), dt.datetime(2024, 3, 31, 2, 30)]
    floats = [0.0, -0.0, float("nan"), 1.5, -9.0, 1e9 + 1e-3, 1e9, float("inf"), 5e-324]
    return pa.table(
        {
            HOSTILE: column(list(range(-12, 12))),
            "A": column(["x", "X", "", "*", "é", "e", "z'\\", "Z", "😀"]),
            "a": column([1, 2, -9, 127], pa.int8()),
            "_metadata": column(floats),
            "number": column([1.5, -0.0, float("nan"), 0.1], pa.float32()),
            "span": column([2**64 - 1, 2**63, 2**63 - 1, 0], pa.uint64()),
            "c1": column([0, 255], pa.uint8()),
            "s0": column([0, 2**32 - 1], pa.uint32()),
            "ja?": column([True, False]),
            "day": column(days),
            "ms": column(times, pa.timestamp("ms")),
            "us": column(times, pa.timestamp("us")),
            "ns": column(late, pa.timestamp("ns")),
            "zone": column(times, pa.timestamp("us", "Europe/Madrid")),
            "decimal": column([Decimal("1.10"), Decimal("-9.00"), Decimal("12345678.91")]),
            "wide": column([Decimal(10) ** 30, Decimal(-9)], pa.decimal128(38, 2)),
            "labels": column(["p", "q", "*", ""]).dictionary_encode(),
            "large": column(["long", "*", ""], pa.large_string()),
            "key": pa.array(draw.permutation(n)),
        }
    )


def kept_by_order(piece: pa.Table, rows: np.ndarray) -> tuple[pa.Table, np.ndarray]:
    kept = np.flatnonzero(~piece["out"].to_numpy())
    order = kept[np.argsort(piece["order"].to_numpy()[kept])]
    return piece.take(pa.array(order)), rows[order]


class Contract:
    """Tests of a frame; a subclass has a fixture `make` that makes one from files and markers."""

    @pytest.fixture(scope="class")
    @classmethod
    def rows(cls) -> pa.Table:
        return some_rows(1000, 1)

    @pytest.fixture(scope="class")
    @classmethod
    def files(cls, rows, tmp_path_factory) -> list[Path]:
        """Files of unequal sizes, the largest last, one empty; their names are hostile too."""
        folder = tmp_path_factory.mktemp("in put [1] {a,b}")
        names = ["_b=1.parquet", "a*?%20.parquet", "empty.parquet", "é 'z'.parquet"]
        paths = [folder / name for name in names]
        for path, (start, stop) in zip(
            paths, [(0, 7), (7, 300), (300, 300), (300, 1000)], strict=True
        ):
            parquet.write_table(rows.slice(start, stop - start), path, row_group_size=123)
        return paths

    @pytest.fixture(scope="class")
    @classmethod
    def frame(cls, make, files) -> Frame:
        return make(files, MARKERS)

    @pytest.fixture(scope="class")
    @classmethod
    def expected(cls, rows) -> pa.Table:
        return normalise(rows, MARKERS)

    def test_names_types_and_rows_are_the_files(self, frame, expected):
        kinds = {field.name: plain_type(field.type) for field in frame.schema}
        assert kinds == {field.name: plain_type(field.type) for field in expected.schema}
        assert (frame.num_rows, frame.positioned) == (1000, True)

    def test_counts_by_first_row(self, frame, expected):
        for name in expected.column_names[:-1]:
            tuples, counts = frame.counts([name])
            found = dict(zip(tuples[name].to_pylist(), counts.tolist(), strict=True))
            assert list(found.items()) == list(Counter(expected[name].to_pylist()).items()), name
            assert tuples.schema.field(name).type == plain_type(frame.schema.field(name).type)

    def test_counts_of_tuples_by_first_row(self, frame, expected):
        columns = ["A", HOSTILE, "a", "span"]
        tuples, counts = frame.counts(columns)
        cells = listed(expected.select(columns), np.arange(1000))
        wanted = Counter(cell[1:] for cell in cells)
        found = listed(tuples, counts)
        assert [(cell[1:], cell[0]) for cell in found] == list(wanted.items())

    def test_counts_of_distinct_values_beside_tuples(self, frame, expected):
        columns = ["A", HOSTILE]
        for of in ("number", "labels", "key"):
            held = {}
            cells = zip(*(expected[name].to_pylist() for name in [*columns, of]), strict=True)
            for *key, value in cells:
                held.setdefault(tuple(key), set()).update([] if value is None else [value])
            tuples, counts = frame.counts(columns, of=of)
            found = [(cell[1:], cell[0]) for cell in listed(tuples, counts)]
            assert found == [(key, len(values)) for key, values in held.items()]

    def test_tuples_that_hold_one_value_of_another_column(self, frame, expected):
        columns, of = ["A", HOSTILE], ["number", "labels", "key"]
        wanted = []
        for name in of:
            held = {}
            for *key, value in zip(
                *(expected[one].to_pylist() for one in [*columns, name]), strict=True
            ):
                held.setdefault(tuple(key), []).append(value)
            several = [rows for rows in held.values() if len(rows) > 1]
            values = [[value for value in rows if value is not None] for rows in several]
            alone = [some for some in values if len(set(some)) == 1]
            wanted.append((len(alone), sum(map(len, alone))))
        assert frame.one_valued(columns, of) == wanted

    def test_sizes_of_tuples_with_and_without_some_rows(self, frame, expected):
        columns = ["A", HOSTILE]
        cells = [cell[1:] for cell in listed(expected.select(columns), np.arange(1000))]
        gone = np.array([0, 17, 999])
        left = [cell for row, cell in enumerate(cells) if row not in gone]
        for without, wanted in ((None, cells), (gone, left)):
            sizes, repeats = frame.sizes(columns, without)
            counted = Counter(Counter(wanted).values())
            assert list(zip(sizes, repeats, strict=True)) == sorted(counted.items())
        keyed = Counter(zip(cells, expected["key"].to_pylist(), strict=True))
        once = sum(count == 1 for count in keyed.values())
        assert frame.unique_rows([*columns, "key"]) == once > 0

    @pytest.mark.parametrize("by", [HOSTILE, "A", "number"])
    def test_the_first_row_of_each_value(self, frame, expected, by):
        first: dict = {}
        for row, value in enumerate(expected[by].to_pylist()):
            first.setdefault(value, row)
        columns = ["A", "day", by] if by != "A" else ["A", "day"]
        made = frame.first_of(by, columns)
        assert made.num_rows == len(first)
        found = made.fold(listed, followed, columns)
        rows = np.array(list(first.values()))
        assert found == listed(expected.select(columns).take(pa.array(rows)), rows)

    def test_frames_made_of_another_have_places_where_it_has(self, frame):
        places = frame.positioned
        try:
            frame.positioned = False
            assert not frame.map(unchanged, frame.schema).positioned
        finally:
            frame.positioned = places

    def test_counts_by_value_have_nulls_last(self, frame, expected):
        columns = ["A", "number"]
        tuples, counts = frame.counts(columns, by_value=True)
        wanted = expected.group_by(columns).aggregate([([], "count_all")])
        wanted = wanted.sort_by([(name, "ascending") for name in columns])
        assert tuples.to_pydict() == wanted.select(columns).to_pydict()
        assert counts.tolist() == wanted["count_all"].to_pylist()

    @pytest.mark.parametrize("column", ["_metadata", "A", "span", "ns", "wide", "labels", "key"])
    def test_values_come_in_order(self, frame, expected, column):
        found = []
        for part, counts in frame.values(column):
            found += zip(part.to_pylist(), counts.tolist(), strict=True)
        cells = expected[column]
        cells = cells.cast(plain_type(cells.type))
        counted = Counter(cells.to_pylist())
        wanted = pc.unique(cells)
        wanted = wanted.take(pc.sort_indices(wanted)).to_pylist()
        assert found == [(value, counted[value]) for value in wanted]

    def test_minus_zero_is_zero(self, frame):
        (tuples, _), (narrow, _) = frame.counts(["_metadata"]), frame.counts(["number"])
        for values in (tuples["_metadata"], narrow["number"]):
            values = values.drop_null().to_numpy()
            assert 0.0 in values
            assert not np.signbit(values[values == 0]).any()
        pieces = frame.fold(listed, followed, ["_metadata"])
        assert not any(np.signbit(v) for _, v in pieces if v == 0)

    def test_unique(self, frame):
        assert frame.is_unique("key")
        assert not frame.is_unique("A")

    def test_about_how_many(self, frame, expected):
        assert frame.about_how_many(["key"]) == pytest.approx(1000, rel=0.1)
        columns = [HOSTILE, "A", "a"]
        wanted = len(expected.group_by(columns).aggregate([]))
        assert frame.about_how_many(columns) == pytest.approx(wanted, rel=0.1)

    def test_fold_sees_all_rows_in_their_order(self, frame, expected):
        found = frame.fold(listed, followed, frame.schema.names)
        wanted = listed(expected, np.arange(1000))
        assert found == wanted
        types = frame.fold(shapes, followed, ["labels", "A", "zone"])
        named = [frame.schema.field(name) for name in ("labels", "A", "zone")]
        assert {kind for kind, _ in types} == {pa.schema(named)}
        assert all(fits for _, fits in types)

    def test_map_keeps_rows_and_types(self, frame, expected):
        made = frame.map(unchanged, frame.schema)
        assert made.schema == frame.schema
        assert made.num_rows == 1000
        found = made.fold(listed, followed, made.schema.names)
        assert found == listed(expected, np.arange(1000))

    def test_map_of_a_map_then_counts(self, frame, expected):
        made = frame.map(treated, TREATED, [HOSTILE]).map(unchanged, TREATED)
        tuples, counts = made.counts(["out"])
        assert dict(zip(tuples["out"].to_pylist(), counts.tolist(), strict=True)) == {
            False: 667,
            True: 333,
        }
        assert made.is_unique("order")
        words = Draws(7, "row order").words(np.arange(1000))
        assert made.fold(listed, followed, ["order"]) == list(enumerate(words.tolist()))

    def test_pairs_of_rows_some_of_which_are_gone(self, frame, expected):
        after = frame.map(treated, TREATED, [HOSTILE]).flat_map(kept_by_order, TREATED)
        assert after.num_rows == 667
        found = frame.fold_pairs(after, paired, followed, ["key"], ["row", HOSTILE])
        cells = expected[HOSTILE].to_pylist()
        assert found == [
            (row, key, None if row % 3 == 1 else (row, cells[row]))
            for row, key in enumerate(expected["key"].to_pylist())
        ]
        assert [row for row, _ in after.fold(listed, followed, ["row"])] == [
            row for row in range(1000) if row % 3 != 1
        ]

    def test_pairs_of_all_columns(self, frame):
        made = frame.map(unchanged, frame.schema)
        for row in frame.fold_pairs(made, paired, followed):
            assert row[1:-1] == row[-1]

    def test_what_a_function_refuses_is_told_as_it_said_it(self, frame):
        with pytest.raises(BadInput, match=r"^row 501 cannot be used; leave it out$"):
            frame.fold(partial(refusing, 500), followed, ["key"])

    def test_columns_of_other_types_do_no_harm(self, make, tmp_path):
        path = tmp_path / "t.parquet"
        parquet.write_table(pa.table({"x.y": [[1], [2]], "z": [4, 4]}), path)
        frame = make([path], [])
        assert frame.schema.names == ["x.y", "z"]
        assert frame.counts(["z"])[1].tolist() == [2]
        assert frame.fold(listed, followed, ["z"]) == [(0, 4), (1, 4)]

    def test_a_marker_in_a_column_without_nulls(self, make, tmp_path):
        path = tmp_path / "t.parquet"
        field = pa.field("x", pa.int64(), nullable=False)
        parquet.write_table(pa.table([[5, -9, 7]], schema=pa.schema([field])), path)
        frame = make([path], MARKERS)
        assert frame.fold(listed, followed, ["x"]) == [(0, 5), (1, None), (2, 7)]
        assert frame.map(unchanged, frame.schema).counts(["x"])[0]["x"].to_pylist() == [5, None, 7]

    def test_a_file_that_is_no_parquet_is_refused(self, make, tmp_path):
        path = tmp_path / "t.parquet"
        path.write_text("not one")
        with pytest.raises(BadInput, match="cannot be read as Parquet"):
            make([path], [])
