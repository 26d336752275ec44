"""The cuts against a plain recursion that sorts and counts."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.mondrian import (
    APART,
    FORBIDS,
    MATCHES,
    NOTHING_HELD,
    VALUE,
    Held,
    mondrian,
)
from discreet.kernels.privacy import Rules
from tests.examples import examples


def rules_of(k, least=0, values=0):
    """k-anonymity, and with `least` distinct l-diversity of one column."""
    columns = int(values > 0)
    return Rules(
        k,
        np.full(columns, least, np.int64),
        np.empty((0, 4), np.int64),
        np.empty((0, 2)),
        np.array([0, values][: columns + 1], np.int64),
        np.full(values, 1 / max(values, 1)),
        np.empty(0, np.int32),
    )


class Order:
    """Values in order; the last place is a null's, and how wide the column is."""

    height = 0

    def __init__(self, places):
        self.size, self.places = len(places) - 1, places

    def width(self, low, high):
        return Fraction(self.places[high] - self.places[low], self.places[-1])

    def keys(self, low, high):
        """What may be cut at, the coarsest first: here the values themselves."""
        return [lambda code: code]


class Tree:
    """Paths from leaf to root by code; the last path is a null's."""

    def __init__(self, paths):
        self.size, self.paths, self.height = len(paths) - 1, paths, len(paths[0]) - 1

    def level(self, low, high):
        return next(
            i
            for i, (a, b) in enumerate(zip(self.paths[low], self.paths[high], strict=True))
            if a == b
        )

    def width(self, low, high):
        level = self.level(low, high)
        node = self.paths[low][level]
        held = sum(path[level] == node for path in self.paths)
        return Fraction(held - 1, max(1, len(self.paths) - 1))

    def keys(self, low, high):
        return [
            lambda code, level=level: self.paths[code][level]
            for level in reversed(range(self.level(low, high)))
        ]


def layout(columns):
    """The columns as the kernel takes them."""
    starts, used = [], [0, 0]
    place, ranks, spans = [], [], []
    for column in columns:
        tree = column.height > 0
        starts.append(used[tree])
        used[tree] += (column.size + 1) * (column.height + 1)
        if not tree:
            place += column.places
            continue
        for level in range(column.height + 1):
            ranks += [path[level] for path in column.paths]
            spans += [
                (sum(other[level] == path[level] for other in column.paths) - 1)
                / max(1, len(column.paths) - 1)
                for path in column.paths
            ]
    return (
        np.array([column.size for column in columns]),
        np.array([column.height for column in columns]),
        np.array(starts),
        np.array(place, np.float64),
        np.array(ranks, np.int32),
        np.array(spans, np.float64),
    )


def cut(rows, columns, may, relaxed, nulls):
    """Classes of rows (code tuples with their number in front), left before right."""

    def widths():
        for c, column in enumerate(columns):
            held = sorted({row[1][c] for row in rows})
            values = [code for code in held if code < column.size]
            if len(held) < 2 or (nulls == FORBIDS and len(values) < len(held)):
                continue
            if nulls == MATCHES and len(values) < 2:
                continue
            used = held if nulls == VALUE else values
            yield column.width(used[0], used[-1]), -c

    for _, c in sorted(widths(), reverse=True):
        for left, right in sides(rows, -c, columns[-c], relaxed, nulls):
            if may(left) and may(right):
                return [
                    *cut(left, columns, may, relaxed, nulls),
                    *cut(right, columns, may, relaxed, nulls),
                ]
    return [[row[0] for row in rows]]


def sides(rows, c, column, relaxed, nulls):
    """The cuts to try in a column, in turn."""
    held = sorted({row[1][c] for row in rows})
    valued = [r for r in rows if r[1][c] < column.size]
    missing = [r for r in rows if r[1][c] == column.size]
    if nulls & APART and missing:
        yield valued, missing
    if nulls & MATCHES and missing:
        # Without the nulls, which then go to the smaller side.
        if held[0] != held[-2]:
            for left, right in sides(valued, c, column, relaxed, VALUE):
                more = (
                    [left + missing, right] if len(left) <= len(right) else [left, right + missing]
                )
                yield [sorted(side) for side in more]
        return
    for key in column.keys(held[0], held[-1]) if column.height or not relaxed else []:
        found = sorted({key(code) for code in held})
        # Of two cuts that are as near to halves the later one.
        best = min(
            found[:-1],
            key=lambda v: (abs(2 * sum(key(r[1][c]) <= v for r in rows) - len(rows)), -v),
        )
        yield [r for r in rows if key(r[1][c]) <= best], [r for r in rows if key(r[1][c]) > best]
    if relaxed:
        ordered = sorted(rows, key=lambda row: row[1][c])
        first = {row[0] for row in ordered[: len(rows) // 2]}
        yield [r for r in rows if r[0] in first], [r for r in rows if r[0] not in first]


def by_kernel(codes, confidential, columns, rules, relaxed, nulls, units=None):
    n = len(codes)
    tuples = [(*code, *conf) for code, conf in zip(codes, confidential, strict=True)]
    distinct = list(enumerate(tuples)) if relaxed else list(enumerate(dict.fromkeys(tuples)))
    members = [[i] for i in range(n)] if relaxed else [
        [i for i in range(n) if tuples[i] == one] for _, one in distinct
    ]  # fmt: skip
    cells = np.array(
        [(*one, len(held), i) for (i, one), held in zip(distinct, members, strict=True)], np.int32
    )
    held = NOTHING_HELD
    if units is not None:
        rules, held = rules._replace(units=len(rules.q)), held_by(members, confidential, units)
    ends, low, high, null = mondrian(cells, *layout(columns), rules, held, relaxed, nulls)
    classes = [
        sorted(itertools.chain.from_iterable(members[i] for i in cells[a:z, -1]))
        for a, z in itertools.pairwise([0, *ends])
    ]
    for held, *bounds in zip(classes, low, high, null, strict=True):
        for c, column in enumerate(columns):
            there = [codes[i][c] for i in held]
            values = [code for code in there if code < column.size]
            expected = (
                min(values, default=column.size),
                max(values, default=-1),
                len(values) < len(there),
            )
            assert tuple(bound[c] for bound in bounds) == expected
    return classes


def held_by(members, confidential, units):
    """The holdings of each tuple's units, each once."""
    numbers: dict = {}
    starts, entries = [0], []
    for rows in members:
        for unit, i in {units[i]: i for i in rows}.items():
            pairs = [(unit, v) if v >= 0 else None for v in confidential[i]]
            entries.append(
                [-1 if p is None else numbers.setdefault(p, len(numbers)) for p in [*pairs, unit]]
            )
        starts.append(len(entries))
    return Held(np.array(starts), np.array(entries, np.int32).T.copy(), len(numbers))


def equal(codes, confidential, columns, k, least, relaxed, nulls, units=None):
    values = max((c[0] for c in confidential if c), default=-1) + 1
    rules = rules_of(k, least, values)

    def may(rows):
        held = {v for row in rows for v in confidential[row[0]] if v >= 0}
        size = len(rows if units is None else {units[row[0]] for row in rows})
        return size >= k and len(held) >= (least if values else 0)

    expected = cut(list(enumerate(codes)), columns, may, relaxed, nulls)
    assert by_kernel(codes, confidential, columns, rules, relaxed, nulls, units) == [
        sorted(c) for c in expected
    ]


@st.composite
def trees(draw):
    """Nested levels: from the root down, each node gets one to three children."""
    height = draw(st.integers(1, 3))
    paths = [[0]]
    for _ in range(height):
        children = [draw(st.integers(1, 3)) for _ in range(paths[-1][-1] + 1)]
        number = itertools.count()
        paths = [[*path, next(number)] for path in paths for _ in range(children[path[-1]])]
    # The null is a node of its own below the root.
    null = [0, *(max(path[level] for path in paths) + 1 for level in range(1, height + 1))]
    return Tree([path[::-1] for path in paths] + [null[::-1]])


@st.composite
def orders(draw):
    steps = draw(st.lists(st.integers(1, 4), max_size=6))
    places = list(itertools.accumulate(steps, initial=0))
    total = places[-1] + 1
    return Order([*places, total])


@examples(300)
@given(
    data=st.data(),
    columns=st.lists(orders() | trees(), min_size=1, max_size=3),
    k=st.integers(1, 4),
    least=st.integers(1, 3),
    diverse=st.booleans(),
    relaxed=st.booleans(),
    nulls=st.sampled_from([VALUE, APART, FORBIDS, MATCHES, MATCHES | APART]),
)
def test_the_cuts_of_a_plain_recursion(data, columns, k, least, diverse, relaxed, nulls):
    row = st.tuples(*(st.integers(0, column.size) for column in columns))
    codes = data.draw(st.lists(row, min_size=1, max_size=25))
    conf = st.tuples(st.integers(-1, 3)) if diverse else st.just(())
    confidential = data.draw(st.lists(conf, min_size=len(codes), max_size=len(codes)))
    units = st.none() | st.lists(st.integers(0, 9), min_size=len(codes), max_size=len(codes))
    equal(codes, confidential, columns, k, least, relaxed, nulls, data.draw(units))


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("k", [1, 7])
def test_many_values_so_that_the_median_is_narrowed_down(k, relaxed):
    rng = np.random.default_rng(k)
    size = 300_000
    columns = [Order([*range(size), size - 1]), Order([0, 2, 9, 10, 10])]
    skewed = (rng.random(400) ** 4 * size).astype(int)
    codes = [(int(a), int(b)) for a, b in zip(skewed, rng.integers(0, 4, 400), strict=True)]
    equal(codes, [()] * 400, columns, k, 0, relaxed, VALUE)


def test_one_class_each_value():
    n = 60_000
    cells = np.array([(i, 1, i) for i in range(n)], np.int32)
    place = np.arange(n + 1.0)
    tables = (place, np.empty(0, np.int32), np.empty(0))
    columns = (np.array([n]), np.array([0]), np.array([0]), *tables)
    ends, low, high, _ = mondrian(cells, *columns, rules_of(1), NOTHING_HELD, False, VALUE)
    assert (ends == np.arange(1, n + 1)).all()
    assert (low.ravel() == np.arange(n)).all()
    assert (high == low).all()


def test_counts_stand_for_records():
    # Doubling counts: each cut takes off the largest value that is left.
    counts = [2**i for i in range(30)]
    cells = np.array([(i, count, i) for i, count in enumerate(counts)], np.int32)
    places = Order([*range(30), 29])
    ends, *_ = mondrian(cells, *layout([places]), rules_of(2**10), NOTHING_HELD, False, VALUE)
    assert ends.tolist() == [10 + 1, *range(12, 31)]


def test_of_two_cuts_as_near_to_halves_the_median_goes_left():
    columns = [Order([0, 5, 10, 10]), Order([0, 1, 10])]
    codes = [(0, 0), (1, 0), (1, 1), (2, 1)]
    # First 0 1 1 | 2; then 0 | 1 1, since the first column is still the widest.
    assert by_kernel(codes, [()] * 4, columns, rules_of(1), False, VALUE) == [[0], [1], [2], [3]]
    # With k = 2 neither cut of the first column may be.
    assert by_kernel(codes, [()] * 4, columns, rules_of(2), False, VALUE) == [[0, 1], [2, 3]]
    assert by_kernel(codes, [()] * 4, columns[:1], rules_of(2), False, VALUE) == [[0, 1, 2, 3]]
    assert by_kernel(codes, [()] * 4, columns[:1], rules_of(2), True, VALUE) == [[0, 1], [2, 3]]
