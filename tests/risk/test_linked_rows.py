"""Units that some of their rows tell apart: by the definition, and in an assessment."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from discreet.risk import linked_rows
from tests.linked import episodes, itemsets, support


def standing_out(table, columns, k, m):
    """The share of units with m rows, or all, that fewer than k units have."""
    keys = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    sets = itemsets(
        [None if set(key) <= {"*"} else key for key in keys], table["patient"].to_pylist()
    )
    everyone = len(set(table["patient"].to_pylist()))
    if m is None:
        counts = Counter(map(frozenset, sets.values()))
        return sum(counts[frozenset(held)] < k for held in sets.values()) / everyone
    rare = [c for c, n in support(sets, m).items() if n < k]
    return sum(any(c <= held for c in rare) for held in sets.values()) / everyone


@pytest.mark.parametrize("m", [1, 2, 3, None])
def test_units_that_stand_out_are_those_of_the_definition(m):
    for seed in range(20):
        table = episodes(40, seed)
        found = linked_rows(table, "patient", ["ward", "drug"], m, detail=True)
        assert found.unique == pytest.approx(standing_out(table, ["ward", "drug"], 2, m))
        assert found.under_5 == pytest.approx(standing_out(table, ["ward", "drug"], 5, m))
        assert linked_rows(table, "patient", ["ward", "drug"], m) == found.unique


def test_rows_of_stars_tell_nothing():
    table = episodes(40, 1)
    rng = np.random.default_rng(0)
    gone = rng.random(table.num_rows) < 0.3
    for name in ("ward", "drug"):
        hidden = np.where(gone, "*", table[name].to_numpy(zero_copy_only=False))
        table = table.set_column(table.column_names.index(name), name, pa.array(hidden))
    for m in (2, None):
        found = linked_rows(table, "patient", ["ward", "drug"], m)
        assert found == pytest.approx(standing_out(table, ["ward", "drug"], 2, m))


def test_an_assessment_tells_what_linked_rows_give_away():
    table = episodes(150, 1).rename_columns({"patient": "home"})
    keys = ["ward", "year"]
    recipe = {
        "known_rows": 2,
        "roles": {"household": "home", "quasi": keys, "confidential": ["drug"], "rest": "drop"},
        "steps": [
            {
                "method": "generalize",
                "columns": keys,
                "privacy": [{"model": "k-anonymity", "k": 5}],
                "hierarchies": {"ward": {"kind": "flat"}, "year": {"kind": "intervals"}},
            }
        ],
    }
    recipe["steps"][0]["hierarchies"]["year"]["widths"] = [2, 4]
    release = discreet.protect(table, recipe)
    found = release.assess().risk["linked_rows"]
    assert found["before"]["unique"] > 0.2
    assert found["after"]["unique"] == found["after"]["under_5"] == 0
    assert found["known"] == 2
    del recipe["known_rows"]
    alone = discreet.protect(table, recipe).assess()
    assert "linked_rows" not in alone.risk


@pytest.mark.parametrize(
    ("table", "m", "message"),
    [
        ({"patient": [1, None], "ward": ["a", "b"]}, 2, "'patient', which says what rows"),
        ({"patient": [1, 2], "ward": ["a", "b"]}, 0, "m must be a whole number of 1 or more"),
        ({"patient": [1, 2]}, 1, "the table has no column 'ward'"),
    ],
)
def test_bad_input_is_refused(table, m, message):
    with pytest.raises(BadInput, match=message):
        linked_rows(pa.table(table), "patient", ["ward"], m)
