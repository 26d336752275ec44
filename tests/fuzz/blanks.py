"""Violations of local suppression, as `plants` has those of other methods."""

from __future__ import annotations

import pandas as pd

from tests.fuzz.planter import Planter, Table


def blank_undone(p: Planter) -> Table | None:
    """A blanked cell is shown again, and nobody else shows the same."""
    found = p.step("local-suppression")
    if found is None or found[0].get("null_policy", "value") != "value":
        return None
    step, name = found
    names = step["columns"]
    if "k" not in step or "subsets" in step or set(names) - set(p.once):
        return None
    shown = {tuple(row) for row in p.released[names].to_numpy().tolist()}
    for row in p.rng.permutation(len(p.released)):
        cell = p.original[name][row]
        if p.released[name][row] is not None or cell in (None, *p.recipe.get("null_markers", ())):
            continue
        new = tuple(cell if c == name else p.released[c][row] for c in names)
        if new not in shown and not p.released.loc[row].isna().all():
            return p.with_cell(name, int(row), cell)
    return None


def other_cell(p: Planter) -> Table | None:
    """A cell is neither blank nor as it was."""
    found = p.step("local-suppression")
    if found is None or p.suppresses or set(found[0]["columns"]) - set(p.once):
        return None
    name = found[1]
    row = p.pick(p.shown(name))
    others = [c for c in p.released[name] if c is not None and c != p.released[name][row]]
    return p.with_cell(name, row, p.pick(others)) if others else None


def fixed_blanked(p: Planter) -> Table | None:
    """A cell of a fixed column is blank."""
    found = [s for s in p.steps if s.get("fixed") and s["method"] == "local-suppression"]
    step = p.pick(found)
    if step is None or p.suppresses or set(step["columns"]) - set(p.once):
        return None
    name = step["fixed"][0]
    row = p.pick(p.shown(name))
    return None if row is None else p.with_cell(name, row, None)


def limit_broken(p: Planter) -> Table | None:
    """All cells of a column are blank that may be so in few."""
    found = [s for s in p.steps if s.get("limit") and s["method"] == "local-suppression"]
    step = p.pick(found)
    if step is None or p.suppresses or set(step["columns"]) - set(p.once):
        return None
    ((name, limit),) = step["limit"].items()
    nulls = p.original[name].isin([None, *p.recipe.get("null_markers", ())]).sum()
    shown = len(p.shown(name))
    if len(p.released) - nulls <= limit * len(p.released) + 1 or not shown:
        return None
    table = p.copy()
    table[name] = pd.Series([None] * len(table), dtype=object)
    return table
