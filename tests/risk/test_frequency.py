import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.risk import class_sizes, frequencies
from tests.risk.tables import COLUMNS, rows, same, table


@given(rows(), st.sampled_from(["value", "match"]), st.randoms(use_true_random=False))
def test_frequencies_against_all_pairs(rows, nulls, random):
    weights = [random.uniform(0.5, 9) for _ in rows]
    found = frequencies(table(rows, weight=weights), COLUMNS, weight="weight", nulls=nulls)
    f = [sum(same(a, b, nulls) for b in rows) for a in rows]
    total = [sum(w for b, w in zip(rows, weights, strict=True) if same(a, b, nulls)) for a in rows]
    assert found.sample.tolist() == f
    assert found.population == pytest.approx(total)
    sizes = class_sizes(table(rows), COLUMNS, nulls=nulls)
    assert (sizes.records, sizes.classes) == (len(rows), len(set(rows)))
    assert sizes.smallest == min(f)
    assert [sizes.unique, sizes.under_3, sizes.under_5] == [
        sum(x < k for x in f) for k in (2, 3, 5)
    ]
    assert sizes.average_risk == pytest.approx(sum(1 / x for x in f) / len(f))


@pytest.mark.parametrize("null_rate", [0.02, 0.5])
def test_wildcards_on_more_rows_and_wider_columns(null_rate):
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(0, m, 400) for m in (2, 5, 40, 300)]).astype(float)
    cells[rng.random(cells.shape) < null_rate] = np.nan
    frame = pd.DataFrame(cells, columns=list("abcd"))
    a, b = cells[:, None, :], cells[None, :, :]
    expected = ((a == b) | np.isnan(a) | np.isnan(b)).all(axis=2).sum(axis=1)
    found = frequencies(frame, list("abcd"), nulls="match")
    assert found.sample.tolist() == expected.tolist()


def test_wide_tables_do_not_overflow():
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 1000, (3000, 30))
    cells[1] = cells[0]
    data = {f"c{i}": cells[:, i] for i in range(30)}
    sizes = class_sizes(pa.table(data), list(data))
    assert (sizes.classes, sizes.unique) == (2999, 2998)


def test_nan_is_null_and_minus_zero_is_zero():
    data = pa.table({"x": [0.0, -0.0, float("nan"), None]})
    assert frequencies(data, ["x"]).sample.tolist() == [2, 2, 2, 2]


def test_categories_and_chunks_are_counted_by_value():
    data = pa.table({"x": pa.chunked_array([["a", "b"], ["b"]]).dictionary_encode()})
    assert frequencies(data, ["x"]).sample.tolist() == [1, 2, 2]


def test_no_rows():
    assert class_sizes(pa.table({"x": pa.array([], pa.int64())}), ["x"]).records == 0


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["agee"], {}, r"the table has no column 'agee'; did you mean 'age'\?"),
        ("age", {}, r"columns must be a list, such as \['age'\]"),
        ([], {}, "columns is empty"),
        (["age"], {"nulls": "drop"}, "nulls must be 'value' or 'match', not 'drop'"),
        (["age"], {"weight": "w"}, "column 'w', row 2: a weight must be above 0, not 0.0"),
        (["age"], {"weight": [1.0]}, r"weight has shape \(1,\), the table 2 rows"),
        (["list"], {}, "column 'list' holds list.*, whose values cannot be counted"),
    ],
)
def test_bad_input_is_named(columns, options, message):
    data = pa.table({"age": [1, 2], "w": [1.0, 0.0], "list": [[1], [2]]})
    with pytest.raises(BadInput, match=message):
        frequencies(data, columns, **options)
