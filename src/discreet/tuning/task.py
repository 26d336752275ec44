"""What is searched: a table, what may be done to it, and what counts."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.choice import open_engine
from discreet.generalization import Hierarchy
from discreet.recipe.recipe import Recipe
from discreet.table.columns import kind_of
from discreet.tuning.options import KEPT, column_options
from discreet.tuning.space import Part, Space


@dataclass(frozen=True)
class Bound:
    """The largest value that a measure may have."""

    name: str
    value: float


@dataclass(frozen=True)
class Task:
    """What is searched."""

    table: pa.Table
    space: Space
    # What the intruder knows, and the columns whose loss counts.
    known: tuple[str, ...]
    counted: tuple[str, ...]
    risk: Bound | None = None
    loss: Bound | None = None
    # The measure of loss; None for `information_loss`.
    measure: str | Callable[[Any, Any], float] | None = None
    standards: Mapping[str, float] = field(default_factory=dict)
    # The table to confirm points on, where another than `table`.
    full: Any = None


def read_task(
    table: Any,
    recipe: Mapping[str, Any] | str | Path,
    *,
    keep: Sequence[str] = (),
    known: str | Sequence[str] | None = None,
    **arguments: Any,
) -> Task:
    """Read what is to be searched, or say what is wrong with it."""
    content = (
        dict(recipe)
        if isinstance(recipe, Mapping)
        else tomllib.loads(Path(recipe).read_text(encoding="utf-8-sig"))
    )
    hierarchies = {
        name: Hierarchy.from_spec(spec) for name, spec in content.pop("hierarchies", {}).items()
    }
    content.pop("search", None)
    roles = dict(content["roles"])
    roles["untouched"] = roles.get("quasi", [])
    base = Recipe.from_dict({**content, "roles": roles, "steps": []})
    with open_engine("memory") as engine:
        data = engine.read(table, list, base.null_markers).table
    by_role = base.roles.assign(data.column_names)
    released = [n for n, r in by_role.items() if r in ("quasi", "confidential", "insensitive")]
    numeric = [n for n in released if kind_of(data[n].type) == "numeric"]
    searched = [n for n in released if by_role[n] != "insensitive"]
    knows = [n for n in searched if by_role[n] == "quasi" or n in numeric]
    parts = tuple(
        Part(
            (n,),
            (KEPT,)
            if n in keep or n not in knows
            else column_options(data[n], n, hierarchies.get(n)),
        )
        for n in searched
    )
    roles["insensitive"] = [n for n in released if by_role[n] == "insensitive"]
    roles["rest"] = "drop"
    roles.pop("untouched")
    counted = [n for n in released if pc.count_distinct(data[n], mode="all").as_py() > 1]
    return Task(
        table=data,
        space=Space(parts, {**content, "roles": roles}),
        known=tuple(knows),
        counted=tuple(counted),
    )
