import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.risk import journalist, marketer, prosecutor
from tests.risk.tables import COLUMNS, rows, same, table


@given(rows(), st.sampled_from(["value", "match"]))
def test_against_all_pairs(rows, nulls):
    f = [sum(same(a, b, nulls) for b in rows) for a in rows]
    assert prosecutor(table(rows), COLUMNS, nulls=nulls) == pytest.approx(1 / min(f))
    assert marketer(table(rows), COLUMNS, nulls=nulls) == pytest.approx(
        sum(1 / x for x in f) / len(f)
    )


@given(rows(8), rows(8), st.sampled_from(["value", "match"]))
def test_journalist_counts_in_the_population(sample, others, nulls):
    population = sample + others
    sizes = [sum(same(a, b, nulls) for b in population) for a in sample]
    found = journalist(table(sample), COLUMNS, population=table(population), nulls=nulls)
    assert found == pytest.approx(1 / min(sizes))


def test_journalist_by_weights():
    data = pa.table({"x": ["a", "a", "b"], "w": [3.0, 4.0, 5.0]})
    assert journalist(data, ["x"], weight="w") == pytest.approx(1 / 5)


def test_journalist_without_a_population_is_refused():
    with pytest.raises(BadInput, match="journalist needs to know the population"):
        journalist(pa.table({"x": [1]}), ["x"])


def test_a_record_that_the_population_lacks_is_named():
    with pytest.raises(BadInput, match="the population holds no record like row 2 of the table"):
        journalist(pa.table({"x": [1, 2]}), ["x"], population=pa.table({"x": [1, 3]}))


@pytest.mark.parametrize("other", [["a", "b"], [1.5, 2.0], [[1], [2]]])
def test_a_population_of_another_type_is_refused(other):
    with pytest.raises(BadInput, match=r"column 'x' holds int64 in the table and .* in the popul"):
        journalist(pa.table({"x": [1, 2]}), ["x"], population=pa.table({"x": other}))
