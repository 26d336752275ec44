"""The likeliest original by columns that are taken together, against a sum over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.together import own_is_likeliest
from discreet.risk._found import Sheet
from discreet.risk._tells import Tells
from tests.examples import examples

UNIT = 8.0


def slow_sum(x, y, root, peaks, nulls):
    """Judge each column by what those before it do not explain; a null explains nothing."""
    total, explained = 0.0, np.zeros(len(x))
    for k in range(len(x)):
        gone = np.isnan([y[k], x[k]])
        if gone.any():
            total += nulls[k][[(True, False), (False, True), (True, True)].index(tuple(gone))]
            continue
        apart = y[k] - x[k]
        for m in range(k):
            apart -= root[k, m] * explained[m]
        explained[k] = apart / root[k, k]
        total += peaks[k] - UNIT * explained[k] ** 2 / 2
    return round(total)


def slow_hits(x, y, root, peaks, nulls, others):
    found = []
    for q in range(len(y)):
        sums = np.array([slow_sum(one, y[q], root, peaks, nulls) for one in x]) + others[q]
        ties = sums == sums.max()
        found.append(ties[q] / ties.sum())
    return found


def some(rng, n, p, null):
    """Values of few kinds, so that there are ties."""
    values = rng.integers(-3, 4, (n, p)) / 2
    values[rng.random((n, p)) < null] = np.nan
    return values


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
)
@examples(100)
def test_against_all_pairs(seed, n, p, null, besides):
    rng = np.random.default_rng(seed)
    x, y = some(rng, n, p, null), some(rng, n, p, null)
    root = np.tril(rng.integers(-1, 2, (p, p)) / 2, -1) + np.diag(rng.integers(1, 4, p) / 2)
    peaks = rng.integers(0, 9, p).astype(float)
    nulls = rng.integers(-9, 9, (p, 3)).astype(float)
    sheet, others = Sheet(np.arange(n)), np.zeros((n, n), int)
    layout = np.empty((0, 10), np.int64)
    if besides:
        codes, rows = rng.integers(0, 3, n), rng.integers(0, 2, n)
        table = rng.integers(-9, 9, (2, 3)).astype(np.int32)
        told = sheet.add(Tells(codes, 3, 1.0, np.empty(0, np.int32), rows=rows, table=table))
        layout, others = np.array([told.layout]), table[rows][:, codes]
    order = np.argsort(x[:, 0], kind="stable")
    hits = np.full(n, -1.0)
    columns = order, np.argsort(order), x[order], y, root, peaks, nulls, UNIT
    own_is_likeliest(sheet._places.array, sheet._scores.array, layout, *columns, 0, n, hits)
    assert hits == pytest.approx(slow_hits(x, y, root, peaks, nulls, others))
