"""Plans of releases to apply again: what the tests of it share."""

from discreet import protect
from discreet.datasets import make_households

K5 = [{"model": "k-anonymity", "k": 5}]
LEVELS = {
    "method": "generalize",
    "columns": ["age", "sex", "postcode"],
    "privacy": K5,
    "hierarchies": {name: {"kind": "auto"} for name in ("age", "sex", "postcode")},
}
BANDS = {"method": "equal-frequency", "columns": ["income"], "n_points": 12, "min_count": 5}
NOISE = {"method": "noise", "columns": ["assets"], "scale": 0.2}


def people(rows=600, seed=1, **more):
    return make_households(rows, seed=seed, null_rate=0.02, **more)


def recipe(*steps, **more):
    steps = steps or (LEVELS, BANDS, NOISE)
    treated = {c for step in steps for c in step["columns"]}
    quasi = [c for c in ("age", "sex", "postcode") if c in treated]
    roles = {"identifiers": ["name"], "quasi": quasi, "confidential": sorted(treated - {*quasi})}
    roles |= {"rest": "drop"} | more.pop("roles", {})
    return {"roles": roles, "steps": list(steps), **more}


def saved(table, asked, folder):
    protect(table, asked).save(folder)
    return folder / "internal"


def few(folder):
    """Make the release of a table whose points k = 20 hold, and a table of far fewer people."""
    bands = {"method": "oma", "columns": ["income", "assets"], "k": 20}
    plan = saved(people(600, 1), recipe(LEVELS, bands), folder / "release")
    return plan, people(80, 2)
