"""Recipes of steps that suppress records together with every other method, on small tables.

Run as a script, it prints how each kind of pair ends: `python tests/flow/pairs.py 400`.
"""

from __future__ import annotations

import datetime
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import discreet
from discreet.errors import BadInput, BrokenPromise
from discreet.registry import methods

QUASI = ("age", "zip", "sex", "height", "weight_kg", "born", "shops")
CONFIDENTIAL = ("income", "tax", "illness", "visit", "drugs")
NUMERIC = {"quasi": ("height", "weight_kg"), "confidential": ("income", "tax")}
TEXT = {"quasi": "sex", "confidential": "illness"}
DATE = {"quasi": "born", "confidential": "visit"}
ITEMS = {"quasi": "shops", "confidential": "drugs"}

# What a step needs besides its columns.
PARAMETERS: dict[str, dict[str, Any]] = {
    "kmeans": {"n_points": 4, "min_count": 3},
    "resampling": {"n_points": 4, "min_count": 3},
    "equal-width": {"n_points": 4, "min_count": 3},
    "equal-frequency": {"n_points": 4, "min_count": 3},
    "chimerge": {"min_count": 3},
    "mdlp": {"min_count": 3},
    "base": {"base": 5.0},
    "given-cuts": {
        "cuts": [100.0, 170.0, 2000.0],
        "points": [60.0, 160.0, 180.0, 4000.0],
        "min_count": 1,
    },
    "round-counts": {"rule": "census-drb"},
    "oma": {"k": 4},
    "mdav": {"k": 4},
    "vmdav": {"k": 4},
    "microaggregation": {"k": 4},
    "porop": {"k": 8},
    "lirop": {"k": 8},
    "ipso": {},
    "pram": {"retention": 0.7},
    "date-shift": {"days": 20},
    "shuffle": {},
    "top-bottom": {"lower": -1e6, "upper": 2.0},
    "noise": {"scale": 0.2},
    "rank-swap": {"p": 10.0},
    "generalize-items": {"k": 3, "m": 1, "separator": ";"},
    "anatomy": {"l": 2},
}


def table_of(seed: int) -> pa.Table:
    """Make a small random table, with nulls in some columns of some tables."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(30, 300))
    nulls = float(draw.choice([0.0, 0.0, 0.1]))
    day = datetime.date(2000, 1, 1)
    columns: dict[str, Any] = {
        "age": draw.integers(18, 40, n),
        "zip": draw.choice(["10115", "10117", "10225", "20337", "20338"], n),
        "sex": draw.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05]),
        "height": draw.normal(170, 10, n).round(),
        "weight_kg": draw.normal(70, 10, n).round(),
        "born": [day + datetime.timedelta(int(d)) for d in draw.integers(0, 400, n)],
        "shops": [";".join(draw.choice(["a", "b", "c"], 2)) for _ in range(n)],
        "income": draw.lognormal(8, 1, n).round(),
        "tax": draw.lognormal(6, 1, n).round(),
        "illness": draw.choice(["flu", "cold", "none", "rare"], n, p=[0.3, 0.3, 0.35, 0.05]),
        "visit": [day + datetime.timedelta(int(d)) for d in draw.integers(0, 400, n)],
        "drugs": [";".join(draw.choice(["p", "q", "r"], 2)) for _ in range(n)],
    }
    found = {}
    for name, values in columns.items():
        gone = draw.random(n) < nulls
        # A pure method needs some values.
        found[name] = pa.array(list(values), mask=gone)
    found["home"] = pa.array(draw.integers(0, max(n // 2, 2), n))
    found["number"] = pa.array(draw.permutation(n))
    found["job"] = pa.array(draw.choice(["x", "y"], n))
    return pa.table(found)


def _generalize(columns: tuple[str, ...], **more: Any) -> dict[str, Any]:
    hierarchies: dict[str, Any] = {
        "age": {"kind": "intervals", "widths": [5, 10, 20]},
        "zip": {"kind": "prefix"},
        "sex": {"kind": "flat"},
    }
    return {
        "method": "generalize",
        "columns": list(columns),
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "suppression_limit": 0.3,
        "hierarchies": {name: hierarchies[name] for name in columns},
        **more,
    }


def _mondrian(columns: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return {
        "method": "mondrian",
        "columns": list(columns),
        "privacy": [{"model": "k-anonymity", "k": 3}],
        **more,
    }


def _blank(columns: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return {
        "method": "local-suppression",
        "columns": list(columns),
        "k": 3,
        "improve_moves": 20,
        **more,
    }


def suppressing(read: str = "illness") -> dict[str, dict[str, Any]]:
    """Return steps that suppress records of most tables; models may read a column."""
    k = {"model": "k-anonymity", "k": 3}
    diverse = [k, {"model": "l-diversity", "l": 2, "column": read}]
    close = [k, {"model": "t-closeness", "t": 0.6, "column": read}]
    both = ("age", "zip")
    return {
        "generalize": _generalize(both),
        "generalize, much": _generalize(both, suppression_limit=0.9, quality="precision"),
        "generalize, none": _generalize(both, suppression_limit=0.0),
        "generalize l": _generalize(both, privacy=diverse),
        "generalize t": _generalize(both, privacy=close),
        "generalize, nulls suppressed": _generalize(both, null_policy="suppress"),
        "generalize, nulls match": _generalize(both, null_policy="match"),
        "generalize, patterns": _generalize(both, segregate="pattern"),
        "generalize, append": _generalize(both, small_group="append", allow_disclosure=True),
        "generalize, local": _generalize(both, local=True, suppression_limit=1.0),
        "generalize, drawn": _generalize(both, publish_minimal=False),
        "mondrian": _mondrian(both),
        "mondrian l": _mondrian(both, privacy=diverse),
        "mondrian, nulls suppressed": _mondrian(both, null_policy="suppress"),
        "mondrian, nulls match": _mondrian(both, null_policy="match"),
        "local suppression": _blank(both),
        "local suppression, records": _blank(both, record_cost=1.5),
        "local suppression l": _blank(both, privacy=diverse, record_cost=1.5),
        "local suppression, own": _blank(both, null_policy="own", record_cost=1.5),
        "local suppression, match": _blank(both, null_policy="match", record_cost=1.5),
    }


def others(role: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return a step of each method on columns of a role, or of both."""
    for name in methods():
        if methods()[name].private:
            continue  # The only step of a recipe.
        make = {"generalize": _generalize, "mondrian": _mondrian, "local-suppression": _blank}
        if name in make:
            if role == "quasi":
                yield f"{name} (sex)", make[name](("sex",))
            continue
        quasi, confidential = NUMERIC["quasi"], NUMERIC["confidential"]
        columns = {
            "quasi": [*quasi],
            "confidential": [*confidential],
            "mixed": [quasi[0], confidential[0]],
        }[role]
        kind = {"date-shift": DATE, "pram": TEXT, "generalize-items": ITEMS}.get(name)
        if kind is not None:
            columns = [kind["quasi"], kind["confidential"]] if role == "mixed" else [kind[role]]
        step = {"method": name, "columns": columns, **PARAMETERS[name]}
        if name == "ipso":
            step |= {"columns": columns[:1], "confidential": columns[1:]}
        if name == "anatomy":
            step["confidential"] = columns[1:]
        if name == "top-bottom":
            step["upper"] = {name: 180.0 if name in QUASI else 5000.0 for name in columns}
        yield name, step
    if role == "mixed":
        labels = {"method": "microaggregation", "columns": ["sex", "illness", "income"], "k": 3}
        yield "microaggregation of labels", labels
        yield "microaggregation by sex", {**labels, "columns": ["height", "tax"], "strata": "sex"}
        grouped = {"columns": ["height", "tax"], "n_points": 4, "min_count": 3, "joint": True}
        yield "kmeans together", {"method": "kmeans", **grouped}
        yield "resampling together", {"method": "resampling", "max_draws": 20, **grouped}
    if role == "quasi":
        drawn = {"method": "rank-swap", "columns": ["height"], "p": 10.0, "window": "drawn"}
        yield "rank-swap, drawn", drawn


# Roles and options beside the steps.
SETTINGS: dict[str, dict[str, Any]] = {
    "rows": {},
    "households": {"household": "home"},
    "whole households": {"household": "home", "household_suppression": "whole"},
    "rows of households": {"household": "home", "counts": "rows"},
    "whole, by rows": {"household": "home", "household_suppression": "whole", "counts": "rows"},
    "units": {"unit": "home"},
    "pseudonyms": {"unit": "home", "pseudonyms": ["home"]},
    "known rows": {"household": "home", "known_rows": 1},
    "row key": {"row_key": "number"},
}


def recipe_of(steps: list[dict[str, Any]], setting: str, seed: int) -> dict[str, Any]:
    """Put a recipe together; quasi columns that no step treats are released as they are."""
    treated = {column for step in steps for column in step["columns"]}
    read = {m["column"] for step in steps for m in step.get("privacy", ()) if "column" in m}
    read |= {name for step in steps for name in step.get("confidential", ())}
    quasi = [name for name in QUASI if name in treated | read | {"age", "zip", "sex"}]
    roles: dict[str, Any] = {
        "quasi": quasi,
        "untouched": [name for name in quasi if name not in treated],
        "confidential": [n for n in CONFIDENTIAL if n in treated | read | {"income", "illness"}],
        "rest": "drop",
    }
    if any(step["method"] in ("chimerge", "mdlp") for step in steps):
        roles["target"] = "job"
    given = dict(SETTINGS[setting])
    for role in ("household", "unit", "pseudonyms", "row_key"):
        if role in given:
            roles[role] = given.pop(role)
    # Random tables are small enough for columns to tell each other by chance.
    leaks = sorted(treated)
    return {"roles": roles, "steps": steps, "seed": 2**100 + seed, "allow_leaks": leaks, **given}


def cases(reading: bool = True) -> Iterator[tuple[str, list[dict[str, Any]], str]]:
    """Return all pairs in both orders, on disjoint and on the same columns, by role."""
    for setting in SETTINGS:
        for role in ("quasi", "confidential", "mixed"):
            for name, other in others(role):
                numeric = other["columns"][-1]
                for kind, step in suppressing().items():
                    for order in (1, -1):
                        steps = [other, step][::order]
                        said = " then ".join([f"{name} [{role}]", kind][::order])
                        yield f"{said}, {setting}", steps, setting
                if not reading:
                    continue
                # Models that read what the other step treats.
                for kind, step in suppressing(numeric).items():
                    if "column" in str(step.get("privacy")):
                        yield (
                            f"{name} [{role}] then {kind} of it, {setting}",
                            [other, step],
                            setting,
                        )
        for kind, step in suppressing("sex").items():
            # A column that is quasi and untouched, and confidential to a model.
            if "column" in str(step.get("privacy")):
                yield f"{kind} of a quasi column, {setting}", [step], setting
        for name, kind in product(("noise", "rank-swap", "oma", "top-bottom"), suppressing()):
            # The same column: the earlier promise is given up.
            step = {"method": name, "columns": ["age"], **PARAMETERS[name], "promise": False}
            yield f"{name} then {kind}, age, {setting}", [step, suppressing()[kind]], setting


def outcome(steps: list[dict[str, Any]], setting: str, seed: int, **more: Any) -> tuple[str, str]:
    """Run a recipe: how it ended, and what was said."""
    try:
        recipe = discreet.Recipe.from_dict(recipe_of(steps, setting, seed))
    except BadInput as error:
        return "refused before work", str(error)
    try:
        release = discreet.protect(table_of(seed), recipe, **more)
    except BrokenPromise as error:
        broken = [line.strip() for line in str(error).splitlines() if "broken" in line]
        return "broken", " | ".join(broken) or str(error)
    except BadInput as error:
        return "refused", str(error)
    except Exception:
        return "traceback", traceback.format_exc(limit=-3)
    gone = release.log.get("suppressed")
    if gone is None:
        return "release", ""
    left = "left out" if gone["left_out"] else "all stay"
    return f"release, {left}", str(gone)


def main() -> None:
    """Print the counts, and an example of each way to end badly."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    more = {"engine": sys.argv[2]} if len(sys.argv) > 2 else {}
    every = list(cases())
    chosen = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    picked = chosen.permutation(len(every))[:number]
    counted: Counter[str] = Counter()
    for place in picked:
        said, steps, setting = every[place]
        ended, why = outcome(steps, setting, int(place), **more)
        counted[ended] += 1
        if not ended.startswith("release"):
            print(f"{place} {ended}: {said}\n    {why[:400]}", flush=True)
    print(f"{len(every):,} cases, of which {number:,}:")
    for ended, times in counted.most_common():
        print(f"{times:6,} {ended}")


if __name__ == "__main__":
    main()
