import math
from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from discreet.errors import BadInput
from discreet.utility import correlation_distance, eigen, entropy, mean_absolute_correlation
from tests.utility.pairs import both, correlation, tables

pytestmark = pytest.mark.filterwarnings("ignore:.*leaves out column")


@given(tables())
def test_entropy_against_a_counter(pair):
    def bits(column):
        counts = Counter(c for c in column if c == c)
        n = sum(counts.values())
        return -sum(c / n * math.log2(c / n) for c in counts.values())

    before, after = (sum(bits(column) for column in x.T) for x in pair)
    found = entropy(*pair, detail=True)
    assert found.value == entropy(*pair) == pytest.approx(after)
    assert found.before == pytest.approx(before)


def test_entropy_of_wine():
    from sklearn.datasets import load_wine

    data = load_wine()
    table = np.column_stack([data.data, data.target])
    assert entropy(table, table) == pytest.approx(82.80, abs=0.005)


def test_entropy_counts_categories_too():
    table = pa.table({"sex": ["f", "m", None]})
    assert entropy(table, table) == 1.0


@given(tables())
def test_mean_absolute_correlation_against_a_slow_twin(pair):
    x, y = pair
    varied = [
        j for j in range(x.shape[1]) if all(len(set(t[~np.isnan(t[:, j]), j])) > 1 for t in pair)
    ]
    values = [abs(correlation(*both(y[:, i], y[:, j]))) for i, j in combinations(varied, 2)]
    expected = sum(values) / len(values) if values else 0.0
    found = mean_absolute_correlation(x, y, detail=True)
    assert found.value == mean_absolute_correlation(x, y) == pytest.approx(expected, abs=1e-9)
    assert mean_absolute_correlation(y, x) == pytest.approx(found.before)


@pytest.mark.parametrize("seed", range(20))
def test_eigen_and_distance_against_plain_numpy(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-5, 6, (40, 4)).astype(float)
    y = x + rng.integers(-2, 3, x.shape)
    x[rng.random(x.shape) < 0.05] = np.nan
    if seed % 2:
        y[:, 2] = 7.0
    kept = [0, 1, 3] if seed % 2 else [0, 1, 2, 3]
    whole = ~np.isnan(x + y).any(axis=1)
    r, s = (np.corrcoef(t[whole][:, kept].T) for t in (x, y))
    before, after = (np.sort(np.linalg.eigvals(m).real) for m in (r, s))
    assert eigen(x, y) == pytest.approx(sum(abs(before - after) / before), abs=1e-8)
    v, w = (np.linalg.solve(m, np.eye(len(kept))).diagonal() for m in (r, s))
    v, w = v / math.hypot(*v), w / math.hypot(*w)
    assert correlation_distance(x, y) == pytest.approx(math.dist(v, w) / math.sqrt(2), abs=1e-8)


def test_a_singular_matrix_is_refused():
    x = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]])
    y = np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 7.0], [4.0, 8.0]])
    with pytest.raises(BadInput, match="eigen: the original table's correlation matrix is singu"):
        eigen(x, y)
    with pytest.raises(BadInput, match="the protected table's correlation matrix is singular"):
        correlation_distance(y, x)
    with pytest.raises(BadInput, match="needs a numeric column that varies in both tables"):
        eigen([[1.0]], [[1.0]])
