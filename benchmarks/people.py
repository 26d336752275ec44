"""What it costs to count people: the whole flow with k in households or persons, against rows."""

from functools import cache, partial
from typing import Any

import pyarrow as pa

from benchmarks.rows import Case, row

RECIPE: dict[str, Any] = {
    "roles": {
        "identifiers": ["name"],
        "quasi": ["region", "age", "sex"],
        "confidential": ["income", "assets", "household_size"],
        "household": "household_id",
        "weight": "weight",
        "rest": "drop",
    },
    # The weight says much of the household; here the time is asked for.
    "allow_leaks": ["region", "age", "sex", "income", "assets", "household_size"],
    "steps": [
        {
            "method": "generalize",
            "columns": ["region", "age", "sex"],
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {
                "region": {"kind": "flat"},
                "age": {"kind": "intervals", "widths": [5, 10, 20, 40]},
                "sex": {"kind": "flat"},
            },
        },
        {"method": "oma", "columns": ["income", "assets"], "k": 5},
        {"method": "noise", "columns": ["household_size"], "scale": 0.2},
    ],
}


@cache
def people(n: int) -> pa.Table:
    from discreet.datasets import make_households

    return make_households(n, seed=1)


def flow(table: pa.Table, recipe: dict[str, Any], counts: str) -> Any:
    """Protect, check and assess."""
    from discreet import protect

    release = protect(table, recipe | {"counts": counts})
    return release, release.assess()


def compared(table: pa.Table, recipe: dict[str, Any], counts: str) -> Case:
    def check(ours: Any, peer: Any) -> str:
        assert all(release.check.ok for release, _ in (ours, peer))
        k = [found.risk["class_sizes"]["after"]["smallest"] for _, found in (ours, peer)]
        assert k[0] >= 5
        return f"smallest class of {k[0]} {counts}, of {k[1]} rows"

    ours, peer = (partial(flow, table, recipe, what) for what in (counts, "rows"))
    return Case(ours=ours, peer=peer, check=check)


# At most 1.5 times the time that counting rows takes.
@row("protect and assess n=1e6 by household", peer="discreet", goal=0.667)
def _() -> Case:
    return compared(people(1_000_000), RECIPE, "households")


@row("protect and assess n=1e5 by household", peer="discreet", goal=0.667)
def _() -> Case:
    return compared(people(100_000), RECIPE, "households")


@row("protect and assess n=1e6 by person", peer="discreet", goal=0.667)
def _() -> Case:
    roles = dict(RECIPE["roles"])
    return compared(
        people(1_000_000), RECIPE | {"roles": roles | {"unit": roles.pop("household")}}, "units"
    )
