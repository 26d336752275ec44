"""Steps that blank cells before others that treat records with and without nulls apart."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.check.evidence import Evidence

SEED = 2**100 + 5
K = 3
# One record lacks a height. Too few do for a group, so that others are blanked with it.
PEOPLE = pa.table(
    {
        "height": pa.array([None, *(150.0 + 7 * i % 40 for i in range(29))]),
        "weight": [50.0 + 11 * i % 40 for i in range(30)],
        "ill": ["a", "b", "c"] * 10,
    }
)
GROUPS = {"method": "microaggregation", "columns": ["height", "weight"], "k": K, "promise": False}
CLASSES = {"columns": ["height", "weight"], "privacy": [{"model": "k-anonymity", "k": K}]}
INTERVALS = {"kind": "intervals", "widths": [10, 20]}
APART = [
    CLASSES | {"method": "mondrian"},
    CLASSES
    | {
        "method": "generalize",
        "suppression_limit": 0.0,
        "hierarchies": {"height": INTERVALS, "weight": INTERVALS},
    },
]


def recipe(*steps, quasi=("height", "weight")):
    return {
        "seed": SEED,
        "order_seed": SEED + 1,
        "roles": {"quasi": list(quasi), "confidential": ["ill"]},
        "steps": list(steps),
        "allow_leaks": list(quasi),
    }


@pytest.mark.parametrize("step", APART, ids=lambda step: step["method"])
def test_what_an_earlier_step_blanks_is_missing_like_the_nulls_of_the_original(step):
    release = discreet.protect(PEOPLE, recipe(GROUPS, step))
    counts = Counter(
        zip(*(release.table[name].to_pylist() for name in GROUPS["columns"]), strict=True)
    )
    assert counts[None, None] >= K
    assert min(counts.values()) >= K
    said = "k-anonymity (k = 3) over height, weight, within each group by nulls"
    assert {one.promise: one.status for one in release.check.findings}[said] == "verified"


def test_a_class_of_blanks_beside_values_is_still_found_out():
    release = discreet.protect(PEOPLE, recipe(GROUPS, APART[0]))
    rows = release.table.to_pylist()
    blank = next(row for row in range(1, len(rows)) if rows[row]["height"] is None)
    other = next(row for row in rows if row["height"] is not None)
    rows[blank] = other | {"ill": rows[blank]["ill"]}
    found = discreet.check_release(
        pa.Table.from_pylist(rows, release.table.schema),
        release.recipe,
        Evidence(release.plan, release.log, release.recipe),
        PEOPLE,
    )
    broken = {one.promise for one in found.findings if one.status == "broken"}
    assert "k-anonymity (k = 3) over height, weight, within each group by nulls" in broken


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_blanks_of_local_suppression_too(engine):
    draw = np.random.default_rng(3)
    places = ["n"] * 30 + ["s"] * 30 + ["w", None]
    table = pa.table(
        {
            "place": places,
            "sex": [*draw.choice(["f", "m"], 60), "f", "m"],
            "ill": draw.choice(["a", "b"], 62),
        }
    )
    names = ["place", "sex"]
    blank = {"method": "local-suppression", "columns": names, "k": 2, "promise": False}
    flat = {name: {"kind": "flat"} for name in names}
    apart = CLASSES | {
        "method": "generalize",
        "columns": names,
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "hierarchies": flat,
        "suppression_limit": 0.0,
    }
    release = discreet.protect(table, recipe(blank, apart, quasi=names), engine=engine)
    assert release.check.ok
    release.close()


@pytest.mark.parametrize("later", [False, True], ids=["generalize first", "generalize last"])
@pytest.mark.parametrize("null", [False, True], ids=["no nulls", "nulls"])
def test_a_record_that_is_left_out_of_a_group_is_no_dead_end(later, null):
    """One of a group of five is left out: the other four are blank, which is said, not refused."""
    ages = [99] + [30] * 12 + [40] * 12
    heights = [150.0 + 10 * (i // 5) + 0.1 * (i % 5) for i in range(25)]
    weights = [None if null and i in (6, 12, 18) else h - 100 for i, h in enumerate(heights)]
    table = pa.table({"age": ages, "height": heights, "weight": weights})
    leave = {
        "method": "generalize",
        "columns": ["age"],
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "hierarchies": {"age": {"kind": "flat"}},
        "levels": {"age": 0},
        "suppression_limit": 0.05,
    }
    group = {"method": "microaggregation", "columns": ["height", "weight"], "k": 5}
    steps = [group, leave] if later else [leave, group]
    roles = {"quasi": ["age", "height", "weight"]}
    asked = {"seed": SEED, "order_seed": SEED + 1, "roles": roles, "steps": steps}
    release = discreet.protect(table, asked | {"allow_leaks": ["height", "weight"]})
    assert release.check.verified
    assert release.log["suppressed"]["left_out"] == 1
    rows = [row for row in release.table.to_pylist() if row["age"] is not None]
    assert len(rows) == 24
    tuples = Counter((row["height"], row["weight"]) for row in rows)
    assert tuples.pop((None, None)) == 4
    assert min(tuples.values()) >= 5
    (said,) = [f.detail for f in release.check.findings if f.promise.startswith("k = 5 per tuple")]
    assert said.endswith("the rarest in 5 records; but only 4 records of nulls, which show as well")
