"""What a proposed recipe loses, against the best that a search finds for the same promise."""

from __future__ import annotations

import os
import warnings
from functools import cache, partial
from typing import Any

import pyarrow as pa

from benchmarks.rows import Case, row
from benchmarks.tables import TABLES

# Of each search: `DISCREET_PROPOSAL_SECONDS=20 make bench ARGS='--large --rows proposal/'`.
SECONDS = float(os.environ.get("DISCREET_PROPOSAL_SECONDS", "120"))
# The proposal's loss over that of the search, and the seconds that this holds for.
_RATIO, _ENOUGH = 1.2, 120.0


def figures(table: pa.Table, recipe: Any) -> tuple[float, float]:
    """Risk and loss of a recipe's release, measured alike whoever made the recipe."""
    from discreet import protect
    from discreet.risk import informed_linkage
    from discreet.utility import information_loss

    roles = recipe.roles
    release = protect(table, recipe)
    judged, trees = [*roles.quasi, *roles.confidential], release.recipe.hierarchies
    risk = informed_linkage(table, release.table, known=roles.quasi, drawn=(), queries=2_000)
    return risk, information_loss(table, release.table, judged, hierarchies=trees)


@cache
def proposed(name: str) -> tuple[pa.Table, Any]:
    """A table, and the recipe that is proposed for it."""
    from discreet.inspection import inspect
    from discreet.inspection.candidates import try_out
    from discreet.inspection.proposal import propose

    table = TABLES[name]()
    seen = inspect(table)
    return table, try_out(propose(seen), seen)[0]


def searched(table: pa.Table, proposal: Any, risk: float) -> Any:
    """The recipe with the least loss that a search finds, with the same promise and risk."""
    from discreet import search

    content = proposal.to_search()
    content["search"]["risk"] = f"linkage <= {risk:.4f}"
    return search(table, content, minutes=SECONDS / 60).best.recipe


def _compared(name: str) -> dict[str, tuple[float, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table, proposal = proposed(name)
        ours = figures(table, proposal.recipe)
        return {
            "proposal": ours,
            "search": figures(table, searched(table, proposal, ours[0])),
        }


def _is_near(found: dict[str, tuple[float, float]], _: Any) -> str:
    (risk, loss), (risk_of_search, least) = found["proposal"], found["search"]
    said = (
        f"loss {loss:.3f} (risk {risk:.3f}), search {least:.3f} (risk {risk_of_search:.3f}): "
        f"{loss / least:.2f}x"
    )
    if SECONDS >= _ENOUGH:
        assert loss <= _RATIO * least, said
    return said


for _name in TABLES:
    row(f"{_name}: loss against a search", large=True)(
        partial(lambda name: Case(ours=partial(_compared, name), check=_is_near), _name)
    )
