"""What no measure can take is refused in one sentence, and nothing comes out as NaN."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import risk, utility
from discreet.errors import BadInput

NUMERIC = [
    utility.il1s,
    utility.sse_ratio,
    utility.il_metrics,
    utility.mean_absolute_correlation,
    utility.eigen,
    utility.correlation_distance,
    utility.propensity_mse,
    lambda x, y: utility.regression_utility(x, y, "a"),
    lambda x, y: utility.classification_utility(x, y, "c"),
    utility.dr,
    utility.score,
    utility.normalized_score,
    utility.il_dr_score,
    lambda x, y: risk.distance_linkage(x, y, known="all"),
    lambda x, y: risk.distance_linkage(x, y, known="all", metric="gower"),
    lambda x, y: risk.probabilistic_linkage(x, y, known="all"),
    risk.interval_disclosure,
]


@pytest.mark.parametrize("measure", NUMERIC)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.filterwarnings("error")
def test_infinity_is_refused_by_column(measure, value, side):
    whole = pa.table({"a": [1.0, 2.0, 4.0], "b": [5.0, 1.0, 2.0], "c": ["x", "y", "x"]})
    broken = whole.set_column(1, "b", pa.array([5.0, value, 2.0]))
    pair = (whole, broken) if side else (broken, whole)
    with pytest.raises(BadInput, match="column 'b' holds infinity"):
        measure(*pair)


def test_infinity_in_a_column_that_is_not_looked_at_does_not_matter():
    table = pa.table({"a": [1.0, 2.0, 4.0], "b": [5.0, np.inf, 2.0]})
    assert risk.distance_linkage(table, table, known=["a"]) == 1.0
    assert risk.interval_disclosure(table, table, known=["a"]) == 1.0


@pytest.mark.filterwarnings("error")
def test_a_column_without_values_has_no_entropy():
    for kind in (pa.null(), pa.string(), pa.float64()):
        table = pa.table({"c": pa.nulls(5, kind)})
        assert utility.entropy(table, table) == 0.0


def test_entropy_of_tables_of_different_length_is_refused():
    with pytest.raises(BadInput, match="the original has 2 rows, the protected table 3"):
        utility.entropy([[1.0], [2.0]], [[1.0], [2.0], [3.0]])


def test_negative_widths_are_refused():
    x = [[1.0], [2.0]]
    with pytest.raises(BadInput, match="width = -1 must be 0 or more"):
        risk.interval_disclosure(x, x, width=-1)
    with pytest.raises(BadInput, match="threshold = -1 must be 0 or more"):
        utility.il_metrics(x, x, threshold=-1)


@pytest.mark.parametrize("kind", [pa.string(), pa.float64()])
def test_propensity_needs_rows(kind):
    empty = pa.table({"c": pa.array([], kind)})
    with pytest.raises(BadInput, match="propensity_mse needs rows"):
        utility.propensity_mse(empty, empty)


COMPARING = [
    utility.il1s,
    utility.sse_ratio,
    utility.il_metrics,
    utility.entropy,
    utility.information_loss,
    utility.mean_absolute_correlation,
    utility.score,
    utility.normalized_score,
    risk.interval_disclosure,
    risk.distance_linkage,
    risk.probabilistic_linkage,
    risk.informed_linkage,
]


@pytest.mark.parametrize("measure", COMPARING)
def test_an_array_beside_a_table_goes_by_position(measure):
    draws = np.random.default_rng(0)
    x = draws.lognormal(3, 1, (60, 2))
    y = x + draws.normal(0, 5, x.shape)
    named = [pa.table({"pay": table[:, 0], "rent": table[:, 1]}) for table in (x, y)]
    wanted = measure(*named)
    assert wanted > 0
    assert measure(named[0], y) == wanted
    assert measure(x, named[1]) == wanted


@pytest.mark.parametrize("measure", COMPARING)
def test_tables_without_a_column_in_common_are_refused(measure):
    x = pa.table({"pay": [1.0, 2.0, 4.0], "rent": [3.0, 5.0, 4.0]})
    with pytest.raises(BadInput) as error:
        measure(x, x.rename_columns(["x0", "x1"]))
    assert str(error.value) == (
        "the two tables share no column: the original's first is 'pay', the protected table's 'x0'"
    )
    with pytest.raises(BadInput) as error:
        measure(x, np.ones((3, 1)))
    assert str(error.value) == (
        "the original has 2 columns and the protected table 1, and one of them is an array without "
        'names; give both as tables, after a method by set_output(transform="pandas")'
    )
