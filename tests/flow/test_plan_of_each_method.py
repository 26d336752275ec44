"""What becomes of each method when the plan of an earlier release is applied."""

import numpy as np
import pyarrow as pa

from discreet import protect
from discreet.registry import methods
from tests.flow.plans import K5

# How each method is asked for, on columns of its own. None: a release has it as its only step.
KEPT = {
    "base": {"min_attraction": 3},
    "chimerge": {"min_count": 3},
    "equal-frequency": {"n_points": 4, "min_count": 3},
    "equal-width": {"n_points": 4, "min_count": 3},
    "generalize": {"hierarchies": {"generalize": {"kind": "auto"}}, "privacy": K5},
    "given-cuts": {"cuts": [0.0], "points": [-1.0, 1.0], "min_count": 3},
    "kmeans": {"n_points": 4, "min_count": 3, "spikes": "keep"},
    "mdav": {"k": 4},
    "mdlp": {"min_count": 3},
    "oma": {"k": "freedman-diaconis"},
    "resampling": {"n_points": 4, "min_count": 3, "max_draws": 20},
    "round-counts": {"rule": "census-drb-estimates"},
    "top-bottom": {"upper": 1.0},
    "vmdav": {"k": 4},
}
ANEW = {
    "anatomy": {"l": 2, "confidential": ["anatomy 2"]},
    "date-shift": {"days": 20},
    "generalize-items": {"k": 3, "m": 1, "separator": ";"},
    "ipso": {"confidential": ["ipso 2"]},
    "lirop": {"k": 8},
    "local-suppression": {"k": 3},
    "microaggregation": {"k": 4},
    "mondrian": {"privacy": K5},
    "noise": {"scale": 0.2},
    "porop": {"k": 8},
    "pram": {"retention": 0.7},
    "rank-swap": {"p": 10.0},
    "shuffle": {},
}
ALONE = {
    "dp-microaggregation": {
        "k": 20,
        "epsilon": 1.0,
        "bounds": {"dp-microaggregation": [-5.0, 5.0]},
        "precision": "full",
    },
    "safepub": {
        "hierarchies": {
            "safepub": {"kind": "intervals", "widths": [1.0, 2.0, 8.0], "whole": False}
        },
        "levels": {"safepub": 2},
        "epsilon": 2.0,
        "delta": 1e-3,
    },
}


def wide(seed):
    """Make a table with a column for each method."""
    draw = np.random.default_rng(seed)
    table = {name: draw.normal(size=150).round(3) for name in methods()}
    table |= {f"{name} 2": draw.normal(size=150).round(3) for name in ("ipso",)}
    table["kmeans"][:40] = 0.5
    # All in one class: of 64 records, which is its k, the sample of two halves may leave fewer.
    table["safepub"] = np.abs(table["safepub"])
    for name in ("pram", "anatomy 2", "local-suppression"):
        table[name] = draw.choice(["a", "b", "c", "d"], 150)
    table["generalize-items"] = draw.choice(["x", "x;y", "y"], 150)
    table["date-shift"] = np.datetime64("2020-01-01") + draw.integers(0, 300, 150)
    table["class"] = draw.choice(["a", "b"], 150)
    return pa.table(table)


def all_methods(kinds):
    steps = []
    for name, parameters in kinds.items():
        more = parameters["confidential"] if name == "anatomy" else ()
        columns = [name, *more]
        steps.append({"method": name, "columns": columns, **parameters})
    named = [c for step in steps for c in step["columns"]]
    named += ["ipso 2"] if "ipso" in kinds else []
    roles = {"confidential": named, "target": "class", "rest": "drop"}
    return {"roles": roles, "steps": steps, "allow_leaks": named}


def test_each_method_is_kept_or_decided_on_anew_by_name(tmp_path):
    assert {*KEPT, *ANEW, *ALONE} == {*methods()}
    table = wide(1)
    for number, kinds in enumerate([KEPT, ANEW, *({name: ALONE[name]} for name in ALONE)]):
        first = protect(table, all_methods(kinds))
        first.save(tmp_path / str(number))
        again = protect(table, plan=tmp_path / str(number))
        told = again.log["plan"]
        assert told["methods"] == list(kinds)
        steps = {str(i) for i in range(1, len(kinds) + 1)}
        assert {*told["kept"]} == (steps if kinds is KEPT else set())
        assert {*told["anew"]} == (set() if kinds is KEPT else steps)
        for i, name in enumerate(kinds, start=1):
            said = f"step {i} ({name}) was decided on anew: "
            assert any(said in one for one in again.log["warnings"]) == (kinds is not KEPT)
        if kinds is KEPT:
            assert again.table.equals(first.table)
