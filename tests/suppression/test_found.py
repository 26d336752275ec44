"""What a solution says of people found for certain is what the measure finds in the tables."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk import found_for_certain
from discreet.suppression import LocalSuppression
from discreet.suppression._found import people_found
from discreet.suppression._problem import GONE, Demand, Held, Problem, Solution
from tests.examples import examples

row = st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([0, 1, 2, 3, GONE]))


def problem_of(tuples, counts, held=None):
    codes = np.array(tuples, np.int32)
    sizes = np.full(2, 3)
    return Problem(codes, sizes, counts, np.ones(2), (Demand(3, 2),), held=held)


def tables(rows):
    """Codes before and after, without the records that are left out."""
    kept = [r for r in rows if r[2] != GONE]
    before = {n: [r[i] or None for r in kept] for i, n in enumerate("ab")}
    after = {n: [None if r[2] >> i & 1 else r[i] or None for r in kept] for i, n in enumerate("ab")}
    types = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    return pa.table(before, types), pa.table(after, types)


@given(st.lists(row, min_size=1, max_size=12))
def test_records(rows):
    tuples = sorted({r[:2] for r in rows})
    counts = np.array([sum(r[:2] == one for r in rows) for one in tuples])
    entries = sorted({r for r in rows if r[2] != 0})
    solution = Solution(
        np.array([tuples.index(e[:2]) for e in entries], np.int64),
        np.array([e[2] for e in entries], np.int64),
        np.array([rows.count(e) for e in entries], np.int64),
    )
    expected = found_for_certain(*tables(rows), ["a", "b"], detail=True).found
    assert people_found(problem_of(tuples, counts), solution) == expected


@given(st.lists(st.tuples(row, st.integers(0, 3)), min_size=1, max_size=12))
def test_units(pairs):
    # All rows of a unit in one tuple get the same blanks.
    masks = {(r[:2], unit): r[2] for r, unit in pairs}
    rows = [(*r[:2], masks[r[:2], unit]) for r, unit in pairs]
    tuples = sorted({r[:2] for r in rows})
    held = sorted({(tuples.index(r[:2]), unit) for r, (_, unit) in zip(rows, pairs, strict=True)})
    counts = np.bincount([t for t, _ in held])
    places = [i for i, (t, u) in enumerate(held) if masks[tuples[t], u] != 0]
    chosen = [held[i] for i in places]
    solution = Solution(
        np.array([t for t, _ in chosen], np.int64),
        np.array([masks[tuples[t], u] for t, u in chosen], np.int64),
        np.ones(len(chosen), np.int64),
        np.array(places, np.int64),
    )
    of_tuple, of_unit = np.array(held).T
    given = Held(of_tuple, of_unit, np.ones(len(held), np.int64))
    units = [u for r, (_, u) in zip(rows, pairs, strict=True) if r[2] != GONE]
    both = tables(rows)
    expected = found_for_certain(
        *both, ["a", "b"], units=pa.array(units, pa.int64()), detail=True
    ).found
    assert people_found(problem_of(tuples, counts, given), solution) == expected


@examples(40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=6),
    st.integers(2, 4),
)
def test_nobody_is_found_where_a_blank_is_a_value(rows, k):
    columns = list("abc")
    cells = zip(*[[cell or None for cell in row] for row in rows], strict=True)
    table = pa.table({n: pa.array(c, pa.int64()) for n, c in zip(columns, cells, strict=True)})
    after = LocalSuppression(k=k, improve_moves=300, random_state=0).fit_transform(table)
    assert found_for_certain(table, after, columns) == 0
