"""The fingerprint of a table: by content, wherever and however its cells are stored."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.fingerprint import fold_cells, text_words
from discreet.table.fingerprint import Fingerprint
from tests.examples import examples

SEED = 2**100 + 7
MASK = 2**64 - 1
words = st.integers(0, MASK)


def digest(table, rows=None):
    rows = np.arange(len(table)) if rows is None else rows
    return Fingerprint.of(SEED, table, rows).hexdigest(SEED)


def plain_fold(key_0, key_1, word, state):
    product = (word ^ key_0) * (state ^ key_1)
    product = ((product & MASK) ^ key_1) * ((product >> 64) ^ key_0 ^ word)
    return (product & MASK) ^ (product >> 64) ^ state


@examples(60)
@given(words, words, st.lists(st.tuples(words, words), max_size=5))
def test_the_kernel_of_cells_equals_plain_integers(key_0, key_1, pairs):
    cells, states = (np.array([pair[i] for pair in pairs], np.uint64) for i in range(2))
    found = fold_cells(np.uint64(key_0), np.uint64(key_1), cells, states)
    assert found.tolist() == [plain_fold(key_0, key_1, *pair) for pair in pairs]


@examples(60)
@given(words, words, st.lists(st.binary(max_size=20), max_size=5))
def test_the_kernel_of_texts_equals_plain_bytes(key_0, key_1, texts):
    starts = np.cumsum([0, *map(len, texts)])
    letters = np.frombuffer(b"".join(texts), np.uint8)
    found = text_words(np.uint64(key_0), np.uint64(key_1), letters, starts)
    for text, word in zip(texts, found.tolist(), strict=True):
        state = len(text)
        for at in range(0, len(text) - len(text) % 8, 8):
            state = plain_fold(key_0, key_1, int.from_bytes(text[at : at + 8], "big"), state)
        rest = int.from_bytes(text[len(text) - len(text) % 8 :], "big")
        assert word == plain_fold(key_0, key_1, rest, state)


MOMENT = datetime(1950, 5, 17, 3, 4, 5, 678000)


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1, -5, None, 2**53], [pa.int64(), pa.float64()]),
        ([1, 2, None, 200], [pa.int16(), pa.uint8(), pa.int64(), pa.uint64(), pa.float32()]),
        ([2**60 + 1, None], [pa.int64(), pa.uint64()]),
        (["a", "", None, "\u00e4" * 40], [pa.string(), pa.large_string()]),
        ([True, None, False], [pa.bool_()]),
        ([MOMENT, None], [pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")]),
        ([date(2020, 1, 1), None], [pa.date32()]),
        ([Decimal("1.20"), None], [pa.decimal128(5, 2), pa.decimal128(30, 2)]),
    ],
)
def test_a_cell_counts_by_its_value(values, types):
    tables = [pa.table({"x": pa.array(values, kind)}) for kind in types]
    tables += [
        pa.table({"x": table["x"].combine_chunks().dictionary_encode()})
        for table in tables
        if not pa.types.is_decimal(table["x"].type)
    ]
    tables += [pa.concat_tables([pa.table({"x": [None]}).cast(t.schema), t])[1:] for t in tables]
    assert len(set(map(digest, tables))) == 1
    assert digest(tables[0].filter(tables[0]["x"].is_valid())) != digest(tables[0])


def test_no_sign_of_nought_and_no_kind_of_null_makes_a_difference():
    numbers = [pa.array([0.0, None]), pa.array([-0.0, float("nan")])]
    assert len({digest(pa.table({"x": one})) for one in numbers}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([1]), pa.array([4607182418800017408])),  # the bits of 1.0
        (pa.array([None], pa.int64()), pa.array([-7046029254386353131])),
        (pa.array([None], pa.int64()), pa.array([0])),
        (pa.array([1]), pa.array([date(1970, 1, 2)])),
        (pa.array([2**63 + 5], pa.uint64()), pa.array([-(2**63) + 5])),
        (pa.array(["1"]), pa.array([1])),
        (pa.array([datetime(1970, 1, 1)]), pa.array([date(1970, 1, 1)])),
    ],
)
def test_no_value_passes_for_one_of_another_kind(one, other):
    assert digest(pa.table({"x": one})) != digest(pa.table({"x": other}))


cells = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from(["", "a", "b", None]), st.floats(-2, 2)),
    min_size=1,
    max_size=12,
)


@examples(80)
@given(cells, st.randoms(use_true_random=False))
def test_pieces_in_any_order_add_up_and_one_changed_cell_shows(rows, random):
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate("abc")})
    whole = Fingerprint.of(SEED, table, np.arange(len(table)))
    at = random.randrange(len(table) + 1)
    parts = [
        Fingerprint.of(SEED, table[start:stop], np.arange(start, stop))
        for start, stop in [(at, len(table)), (0, at)]
    ]
    assert parts[0] + parts[1] == whole
    assert digest(table.select(["c", "a", "b"])) == digest(table)
    row = random.randrange(len(table))
    other = table["a"].to_pylist()
    other[row] += 1
    assert digest(table.set_column(0, "a", pa.array(other))) != digest(table)
    assert digest(table.rename_columns(["b", "a", "c"])) != digest(table)


def test_the_order_of_rows_counts_where_they_have_places():
    table = pa.table({"x": [1, 2, 3]})
    turned = table.take([2, 1, 0])
    assert digest(table) != digest(turned)
    assert Fingerprint.of(SEED, table, None) == Fingerprint.of(SEED, turned, None)


def test_another_seed_has_another_fingerprint():
    table = pa.table({"x": [1, 2, 3]})
    found = {Fingerprint.of(seed, table, None).hexdigest(seed) for seed in range(20)}
    assert len(found) == 20
