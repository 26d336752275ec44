"""The most likely original against sums over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk._found import Sheet
from discreet.risk._tells import Tells
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


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4), st.booleans())
@examples(100)
def test_against_all_pairs(seed, n, p, small):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, p)
    codes = [rng.integers(0, size, n) for size in sizes]
    own = rng.integers(0, n, 7)
    told, rows = [], []
    for c, size in enumerate(sizes):
        if rng.random() < 0.5:
            table = rng.integers(-3, 4, (3, size)).astype(np.int32)
            chosen = rng.integers(0, 3, n)
            none = np.empty(0, np.int32)
            told.append(Tells(codes[c], size, rng.random(), none, rows=chosen, table=table))
            rows.append(table[chosen[own]])
        else:
            scores = rng.integers(-3, 4, 4).astype(np.int32)
            scores[rng.random(4) < 0.1] = -(2**30)
            ends = np.sort(rng.integers(0, size + 1, (n, 4)), axis=1)
            ends[:, -1] = size
            told.append(Tells(codes[c], size, rng.random(), scores, ends.__getitem__))
            rows.append([laid_out(size, own_ends, scores) for own_ends in ends[own]])
    sheet = Sheet(own, small)
    written = [sheet.add(one) for one in told]
    assert sheet.hits(written) == pytest.approx(slow_hits(codes, own, rows))
    assert (sheet.hits(written, 3) == sheet.hits(written)[:3]).all()


def test_large_tables_are_gone_through_too():
    rng = np.random.default_rng(1)
    codes, table = rng.integers(0, 300, 500), rng.integers(-50, 50, (4, 300)).astype(np.int32)
    chosen, own = rng.integers(0, 4, 500), np.arange(500)
    sheet = Sheet(own)
    none = np.empty(0, np.int32)
    written = [sheet.add(Tells(codes, 300, 1.0, none, rows=chosen, table=table))]
    assert sheet.hits(written) == pytest.approx(slow_hits([codes], own, [table[chosen]]))
