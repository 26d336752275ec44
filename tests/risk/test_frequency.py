import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.risk import class_sizes, frequencies, marketer, prosecutor
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


@given(
    rows(),
    st.lists(st.sampled_from([1, 2, 3, None]), min_size=14, max_size=14),
    st.randoms(use_true_random=False),
)
def test_units_against_all_pairs(rows, units, random):
    units = units[: len(rows)]
    named = [("alone", place) if unit is None else unit for place, unit in enumerate(units)]
    weights = [random.uniform(0.5, 9) for _ in rows]
    data = table(rows, weight=weights, unit=pa.array(units, pa.int64()))
    found = frequencies(data, COLUMNS, weight="weight", units="unit")
    alike = [
        {other for b, other in zip(rows, named, strict=True) if same(a, b, "value")} for a in rows
    ]
    assert found.sample.tolist() == [len(those) for those in alike]
    population = [sum(_weight(a, unit, rows, named, weights) for unit in those)
                  for a, those in zip(rows, alike, strict=True)]  # fmt: skip
    assert found.population == pytest.approx(population)
    # A unit is as much at risk as the worst of its records.
    worst = {
        unit: min(len(those) for those, its in zip(alike, named, strict=True) if its == unit)
        for unit in named
    }
    sizes = class_sizes(data, COLUMNS, units="unit")
    assert (sizes.records, sizes.classes) == (len(worst), len(set(rows)))
    assert [sizes.unique, sizes.under_3, sizes.under_5] == [
        sum(size < k for size in worst.values()) for k in (2, 3, 5)
    ]
    assert sizes.smallest == min(worst.values())
    mean = sum(1 / size for size in worst.values()) / len(worst)
    assert sizes.average_risk == marketer(data, COLUMNS, units="unit") == pytest.approx(mean)
    assert prosecutor(data, COLUMNS, units="unit") == 1 / sizes.smallest


def _weight(values, unit, rows, named, weights):
    """Average the weights of a unit's records in a class."""
    own = [
        weight
        for row, its, weight in zip(rows, named, weights, strict=True)
        if its == unit and row == values
    ]
    return sum(own) / len(own)


def test_units_and_wildcards_are_refused_together():
    data = pa.table({"sex": ["f", None]})
    with pytest.raises(BadInput, match=r"units are counted where a null is a value"):
        frequencies(data, ["sex"], nulls="match", units=[1, 2])
    with pytest.raises(BadInput, match=r"units has 1 values, the table 2 rows"):
        frequencies(data, ["sex"], units=[1])


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
