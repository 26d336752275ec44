"""Semi-partition against a plain recursion on lists of records."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.semi_partition import semi_partition
from tests.examples import examples
from tests.kernels.test_mondrian import layout, orders, trees


def cut(rows, columns, k, open_columns):
    """Classes of rows (a number and its codes), in the order in which they are cut."""
    if len(rows) >= 2 * k:
        widths = []
        for c in open_columns:
            values = sorted({row[1][c] for row in rows if row[1][c] < columns[c].size})
            missing = any(row[1][c] == columns[c].size for row in rows)
            if len(values) > 1 or (values and missing):
                widths.append((columns[c].width(values[0], values[-1]), -c))
        for _, c in sorted(widths, reverse=True):
            sides, apart = balanced(rows, -c, columns[-c], k)
            if len(sides) > 1:
                found = []
                for number, side in enumerate(sides):
                    last = apart and number == len(sides) - 1
                    left = [o for o in open_columns if not (last and o == -c)]
                    found += cut(side, columns, k, left)
                return found
    return [[row[0] for row in rows]]


def balanced(rows, c, column, k):
    """The sides of a cut, each with k records, and whether the last is that of nulls."""
    valued = [row for row in rows if row[1][c] < column.size]
    nulls = [row for row in rows if row[1][c] == column.size]
    if len(valued) < k:
        return [rows], False
    codes = sorted({row[1][c] for row in valued})
    if len(codes) == 1:
        sides = [valued]
    elif column.height:
        level = column.level(codes[0], codes[-1]) - 1
        nodes = sorted({column.paths[code][level] for code in codes})
        sides = [[r for r in valued if column.paths[r[1][c]][level] == node] for node in nodes]
    else:
        # The cut that comes nearest to two halves; of two, the later.
        def far(code):
            return abs(2 * sum(row[1][c] <= code for row in valued) - len(valued)), -code

        best = min(codes[:-1], key=far)
        sides = [[r for r in valued if r[1][c] <= best], [r for r in valued if r[1][c] > best]]
    few = sorted(row for side in sides if len(side) < k for row in side)
    sides = [side for side in sides if len(side) >= k]
    sides, few = made_up(sides, few, k)
    sides += [few] if few else []
    sides, nulls = made_up(sides, nulls, k)
    return sides + ([nulls] if nulls else []), bool(nulls)


def made_up(sides, few, k):
    """Records of the largest sides, the last first, join those that are too few."""
    if not few or len(few) >= k:
        return sides, few
    if sum(len(side) - k for side in sides) < k - len(few):
        smallest = min(range(len(sides)), key=lambda s: len(sides[s]))
        return sides[:smallest] + sides[smallest + 1 :], sorted(few + sides[smallest])
    sides = [list(side) for side in sides]
    while len(few) < k:
        few = [*few, max(sides, key=len).pop()]
    return sides, sorted(few)


@st.composite
def tables(draw):
    columns = draw(st.lists(st.one_of(orders(), trees()), min_size=1, max_size=3))
    one = st.tuples(*(st.integers(0, column.size) for column in columns))
    return columns, draw(st.lists(one, min_size=1, max_size=30))


@given(tables(), st.integers(1, 5))
@examples(300)
def test_classes_are_those_of_the_plain_recursion(table, k):
    columns, codes = table
    cells = np.array([(*code, 1, i) for i, code in enumerate(codes)], np.int32)
    ends, low, high, null = semi_partition(cells, *layout(columns), k)
    classes = [cells[a:z, -1].tolist() for a, z in itertools.pairwise([0, *ends])]
    assert classes == cut(list(enumerate(codes)), columns, k, range(len(columns)))
    assert sorted(itertools.chain(*classes)) == list(range(len(codes)))
    assert min(map(len, classes)) >= min(k, len(codes))
    for held, *bounds in zip(classes, low, high, null, strict=True):
        for c, column in enumerate(columns):
            values = [codes[i][c] for i in held if codes[i][c] < column.size]
            expected = (
                min(values, default=column.size),
                max(values, default=-1),
                len(values) < len(held),
            )
            assert tuple(bound[c] for bound in bounds) == expected


def test_nulls_that_are_too_few_get_the_company_they_need():
    # Nine values in two halves, and one null: of the larger half the last joins it.
    class Line:
        height, size = 0, 9
        places = [*range(9), 9.0]

    codes = [*range(9), 9]
    cells = np.array([(code, 1, i) for i, code in enumerate(codes)], np.int32)
    ends, *_ = semi_partition(cells, *layout([Line]), 2)
    classes = [cells[a:z, -1].tolist() for a, z in itertools.pairwise([0, *ends])]
    assert [8, 9] not in classes  # The left half has five values, the right one four.
    assert classes == [[0, 1], [2, 3], [5, 6], [7, 8], [4, 9]]
