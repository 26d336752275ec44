"""What an engine tells of a table, from one in memory; and a method run on it as engines do."""

import math
import pickle
import warnings
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.draws import Draws, smallest
from discreet.method import unit_codes
from discreet.outcome import as_computed
from discreet.table import numbers, summarise
from discreet.table.moments import joined, moments_of


class CountedTable:
    """`Counted` over a table: tuples by first appearance with counts, summaries, moments.

    A row of the table may stand for many records: `weights`. A dictionary is given as it is, or
    with `decoded` as plain values.
    """

    def __init__(self, table, target=None, decoded=False, weights=None, unit=None):
        self.table, self.target, self.decoded, self.unit = table, target, decoded, unit
        self.weights = [1] * table.num_rows if weights is None else weights

    def summary(self, column):
        return summarise(numbers(self.table[column], column).values, self.target)

    def ranges(self, column):
        return None

    def smallest(self, columns, find, needed, draws):
        tuples = find({name: self.table[name] for name in columns})
        return smallest(tuples, draws.words(np.arange(len(tuples))), needed)[1]

    def tuples(self, columns):
        table = self.table.select(columns)
        counts = {}
        cells = [[_key(x) for x in table[name].to_pylist()] for name in columns]
        for row, (key, weight) in enumerate(
            zip(zip(*cells, strict=True), self.weights, strict=True)
        ):
            counts.setdefault(key, [row, 0])[1] += weight
        first = [row for row, _ in counts.values()]
        found = table.take(pa.array(first, pa.int64()))
        if self.decoded:
            plain = [pa.types.is_dictionary(f.type) and f.type.value_type for f in found.schema]
            columns = [c.cast(k) if k else c for c, k in zip(found.columns, plain, strict=True)]
            found = pa.table(dict(zip(table.column_names, columns, strict=True)))
        return found, np.array([n for _, n in counts.values()], np.int64)

    def moments(self, columns):
        values = [numbers(self.table[name], name).values for name in columns]
        pieces = range(0, self.table.num_rows, 7)
        return joined(moments_of([x[i : i + 7] for x in values]) for i in pieces)


def _key(value):
    # The sign of 0.0 and NaN are told apart here, which a method must not do.
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1, value))
    return value


def given(method, table, columns):
    """The columns as a method's `needs` says."""
    if method.needs == "numeric":
        return {name: numbers(table[name], name).values for name in columns}
    return {name: table[name] for name in columns}


def piece_of(column, rows):
    return column[rows] if isinstance(column, np.ndarray) else column.take(pa.array(rows))


def draws_of(rows=None):
    def draw(name):
        draws = Draws(2024, 1, name)
        return draws if rows is None else draws.at(rows)

    return draw


def in_memory(method, table, columns, target=None, rounded=as_computed, unit=None):
    """The outcome of all rows, and the warnings."""
    others = {name: table[name] for name in method.reads}
    units = None if unit is None else unit_codes(table[unit], table.num_rows)
    whole = given(method, table, columns)
    return _caught(partial(method.run, whole, draws_of(), rounded, target, others, units))


def from_counts(
    method,
    table,
    columns,
    target=None,
    rounded=as_computed,
    pieces=3,
    decoded=False,
    unit=None,
):
    """The decision of a method, what its `treat` makes of pieces of the rows, and the warnings.

    The pieces are treated by what was pickled.
    """
    assert method.bound_to_memory is None
    counted = CountedTable(table, target, decoded, unit=unit)
    decision, said = _caught(partial(method.decide_from, columns, counted, draws_of(), rounded))
    treat = pickle.loads(pickle.dumps(decision.treat))
    # Taken before they are cut: a piece of nulls only is no fault of its column.
    whole = given(method, table, columns)
    outcomes = []
    for rows in np.array_split(np.arange(table.num_rows), pieces):
        piece = {name: piece_of(column, rows) for name, column in whole.items()}
        with warnings.catch_warnings():
            # A warning for each piece would be many.
            warnings.simplefilter("error")
            outcomes.append(treat(piece, draws_of(rows), rounded))
    return decision, outcomes, said


def _caught(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    return result, [str(w.message) for w in caught]


def assert_same(found, expected, relative=0.0):
    """Compare plans: dicts, lists, arrays and numbers, with their types and order."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        # How long a search took is no part of what it found.
        expected = {key: value for key, value in expected.items() if key != "seconds"}
        if relative and all(isinstance(value, float) for value in expected.values()):
            # Weights of draws: what is next to none may be less exact.
            least = relative * max(map(abs, expected.values()), default=0.0)
            for key, value in expected.items():
                assert math.isclose(found[key], value, rel_tol=relative, abs_tol=least)
            return
        for key, value in expected.items():
            assert_same(found[key], value, relative)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, relative)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        if relative and expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=relative)
        else:
            np.testing.assert_array_equal(found, expected)
    elif relative and isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=relative, abs_tol=1e-300)
    else:
        assert type(found) is type(expected)
        assert found == expected


def assert_columns(outcomes, expected):
    """Compare what became of pieces with what became of all rows: columns and masks."""
    for name, column in expected.columns.items():
        parts = [outcome.columns[name] for outcome in outcomes]
        if isinstance(column, np.ndarray):
            np.testing.assert_array_equal(np.concatenate(parts), column)
        else:
            assert [x for part in parts for x in part.to_pylist()] == column.to_pylist()
            assert {part.type for part in parts} == {column.type}
    for mask in ("suppressed", "unsafe", "disclosed"):
        parts = [getattr(outcome, mask) for outcome in outcomes]
        if getattr(expected, mask) is None:
            assert parts == [None] * len(parts)
        else:
            assert np.concatenate(parts).tolist() == getattr(expected, mask).tolist()
    assert all(outcome.plans == {} for outcome in outcomes)


def assert_counts_decide(method, table, columns, relative=0.0, **options):
    """Check that counts lead to the plan, the cells and the warnings that all rows lead to."""
    pieces = {key: options.pop(key) for key in ("pieces", "decoded") if key in options}
    expected, before = in_memory(method, table, columns, **options)
    decision, outcomes, said = from_counts(method, table, columns, **options, **pieces)
    for part in ("plans", "joint", "figures", "fixed"):
        assert_same(getattr(decision, part), getattr(expected, part), relative)
    if not relative:
        assert_columns(outcomes, expected)
    assert said == [text for text in before if "as they were" not in text]
    return decision, outcomes, expected
