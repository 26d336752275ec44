"""Units that are found by all of their rows, against plain counting."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.perturbation import RankSwap
from discreet.risk import informed_linkage
from discreet.risk._units import Units, linked_units

rng = np.random.default_rng


def visits(n=400, seed=1):
    draw = rng(seed)
    return pa.table(
        {
            "person": draw.integers(0, 150, n),
            "ward": draw.choice(list("abcd"), n),
            "day": draw.integers(0, 5, n),
        }
    )


def counted(table, units):
    """Return the hits of units whose rows are released as they are."""
    rows: dict[int, list[tuple]] = {}
    for person, ward, day in zip(*(table[c].to_pylist() for c in table.column_names), strict=True):
        rows.setdefault(person, []).append((ward, day))
    hits = []
    for number in range(units.asked):
        first, last = units.begins[number], units.begins[number + 1]
        asked = {
            tuple(table[c][int(row)].as_py() for c in ("ward", "day"))
            for row in units.rows[first:last]
        }
        like = [
            one
            for one in rows.values()
            if asked <= set(one) and (len(one) == last - first or units.some)
            if len(one) >= last - first
        ]
        hits.append(1 / len(like))
    return hits


@pytest.mark.parametrize("known_rows", [None, 1, 2])
def test_units_whose_rows_are_kept_tie_with_those_that_have_them_too(known_rows):
    table = visits()
    units = Units(table["person"], known_rows)
    hits = linked_units(table, table, units, ["ward", "day"], [], [])
    assert len(hits) == units.count
    np.testing.assert_allclose(hits, counted(table, units))


def test_rows_that_hide_alone_are_found_together():
    base = rng(2).lognormal(10, 1, 200)
    pay = (base[:, None] * rng(3).lognormal(0, 0.2, (200, 6))).ravel()
    table = pa.table({"person": np.repeat(np.arange(200), 6), "pay": pay})
    swapped = [RankSwap(p=10, random_state=s).fit_transform(pay[:, None]) for s in range(4)]
    runs = [table.set_column(1, "pay", pa.array(one[:, 0])) for one in swapped]
    alone = informed_linkage(table, runs[0], known=["pay"], reruns=runs[1:])
    together = linked_units(table, runs[0], Units(table["person"]), ["pay"], ["pay"], runs[1:])
    one = linked_units(table, runs[0], Units(table["person"], 1), ["pay"], ["pay"], runs[1:])
    assert together.mean() > 5 * alone
    assert together.mean() > 2 * one.mean()


def test_where_nothing_is_known_units_of_as_many_rows_tie():
    people = pa.table({"person": [1, 1, 2, 2, 3, 3, 3]})
    hits = linked_units(people, people, Units(people["person"]), [], [], [])
    assert sorted(hits) == [0.5, 0.5, 1.0]


def test_rows_of_no_unit_stand_alone():
    units = Units(pa.chunked_array([pa.array([1, None, 1, None])]))
    assert units.count == 3
    assert sorted(units.rows) == [0, 1, 2, 3]
