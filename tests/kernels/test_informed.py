"""The most likely original against sums over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.informed import own_is_best
from tests.examples import examples


def laid_out(size, ends, scores):
    """The score of every code, from pieces."""
    row, start = np.empty(size, np.int64), 0
    for end, score in zip(ends, scores, strict=True):
        row[start:end] = score
        start = max(start, end)
    return row


def slow_hits(codes, own, rows):
    """Plain sums: rows[column][query] has the score of every code."""
    found = []
    for q, mine in enumerate(own):
        sums = sum(rows[c][q][codes[c]] for c in range(len(codes)))
        best = sums == sums.max()
        found.append(best[mine] / best.sum())
    return found


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4))
@examples(100)
def test_against_all_pairs(seed, n, p):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, p)
    codes = np.array([rng.integers(0, size, n) for size in sizes], np.int32)
    own = rng.integers(0, n, 7)
    ends = np.zeros((p, 7, 4), np.int32)
    scores = rng.integers(-3, 4, (p, 4)).astype(np.int32)
    scores[rng.random(scores.shape) < 0.1] = -(2**30)
    starts, tables, rows = np.full((p, 7), -1), [np.zeros(1, np.int32)], []
    for c, size in enumerate(sizes):
        if rng.random() < 0.5:
            table = rng.integers(-3, 4, (3, size)).astype(np.int32)
            chosen = rng.integers(0, 3, 7)
            starts[c] = sum(map(len, tables)) + chosen * size
            tables.append(table.ravel())
            rows.append(table[chosen])
        else:
            ends[c] = np.sort(rng.integers(0, size + 1, (7, 4)), axis=1)
            ends[c, :, -1] = size
            rows.append([laid_out(size, own_ends, scores[c]) for own_ends in ends[c]])
    hits = np.full(7, -1.0)
    given = codes, own, sizes, ends, scores, starts, np.concatenate(tables)
    for part in ((0, 3), (3, 7)):
        own_is_best(*given, *part, hits)
    assert hits == pytest.approx(slow_hits(codes, own, rows))
