"""The facts behind a release's two reports: all for the internal one, few for the external one.

What the users of a release may know comes from the released table, from the recipe's roles and
methods, and from counts of cells and records; of a differentially private release not even these,
since they tell of the original. How strongly a step perturbs is told as low, medium
or high only, since its exact size would help to undo it, unless `publish_noise` is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from discreet.assessment.figures import is_null, released_figures
from discreet.check.manifest import Entry
from discreet.flow.codebook import describe, held_back
from discreet.flow.pseudonyms import kept_recipe
from discreet.flow.told import empties
from discreet.recipe.recipe import Recipe, Step

# In place of a figure that depends on records which are not released.
NOT_TOLD = "not told"


def public_facts(
    recipe: Recipe, log: Mapping[str, Any], released: pa.Table, sample: pa.Table | None = None
) -> dict[str, Any]:
    """Gather what the external report tells.

    The recipe's seeds, and the parameters of its random steps, are not looked at, beyond what
    `Method.strength` says; of the log, the release's number and day, the counts of changed cells,
    blanked cells and suppressed records, and the null policy. A sample of rows comes with a table
    larger than memory: `released` is then a `Told`, with distinct values or ends of columns.
    """
    # Numbers of households and groups, and pseudonyms, are names: there is nothing to see in them.
    names = {*recipe.roles.renamed, *recipe.added}
    data = [name for name in released.column_names if name not in names]
    figures = released_figures((released if sample is None else sample).select(data))
    if sample is not None and len(sample) < released.num_rows:
        figures["sampled"] = {"rows": len(sample), "of": released.num_rows}
    nulls = getattr(released, "null_counts", None)
    nulls = nulls or {c: int(is_null(released[c]).sum()) for c in data}
    perturbed = {c for step in recipe.steps if _perturbs(step) for c in step.columns}
    hidden = set() if recipe.publish_noise else perturbed
    household, pseudonyms = recipe.roles.household, recipe.roles.pseudonyms
    rows = log["input"]["rows"]
    private = recipe.private
    blanked = {} if private else blanked_cells(log)
    columns = []
    for entry in describe(recipe, released, blanked):
        name = entry["name"]
        changed = _changed(log["changed_cells"].get(name, 0), rows, name in hidden)
        changed = NOT_TOLD if private else changed
        own = {"changed": changed, "nulls": nulls.get(name, 0)}
        columns.append(entry | own | {"figures": figures["columns"].get(name)})
    return {
        "release": log.get("release"),
        "day": log["started"][:10],
        "discreet": log["discreet"],
        "rows": released.num_rows,
        "counts": recipe.counted_as,
        "held_back": held_back(recipe).strip(),
        "sampled": figures["sampled"],
        "columns": columns,
        "steps": [_step(step, recipe.publish_noise) for step in recipe.steps],
        "household": None if household in pseudonyms else household,
        "pseudonyms": [name for name in released.column_names if name in pseudonyms],
        "nulls": log["nulls"]["policy"],
        "null_rates": None if private else _null_rates(recipe, log, released),
        "private": private,
        "presence": any(_bounds_presence(step) for step in recipe.steps),
        "suppressed": None if private else log.get("suppressed"),
        "blanked": _emptied_by_steps(log, "blanked"),
        "hidden": _emptied_by_steps(log, "hidden"),
        "blanked_records": [n for s in log["steps"] if (n := s.get("records_touched"))],
    }


def _null_rates(
    recipe: Recipe, log: Mapping[str, Any], released: pa.Table
) -> dict[str, Any] | None:
    """Return SRC, NVIr, NVRr and contamination, a * being as good as a null.

    A reader can count the cells, and is told how many records are not there; of the original it is
    told that it had no more of them, and not how many.
    """
    quasi = [name for name in released.column_names if name in recipe.roles.quasi]
    if not quasi:
        return None
    cells, records = empties(released, quasi)
    suppressed = log.get("suppressed") or {"records": 0, "left_out": 0}
    gone = suppressed["left_out"]
    n = max(1, released.num_rows + gone)
    cells, records = cells + gone * len(quasi), records + gone
    was = sum(log["nulls"]["cells"].get(name, 0) for name in quasi)
    return {
        "suppressed": suppressed["records"],
        "value": cells / (n * len(quasi)),
        "records": records / n,
        "contaminated": cells >= was if cells or was else None,
    }


def blanked_cells(log: Mapping[str, Any]) -> dict[str, int]:
    """Return the cells of each column that suppression emptied, of records or of single cells."""
    found = Counter((log.get("suppressed") or {}).get("blanked_cells", {}))
    return dict(found + Counter(_emptied_by_steps(log, "blanked")))


def _emptied_by_steps(log: Mapping[str, Any], how: str) -> dict[str, int]:
    """Return the cells of each column that local suppression blanked, or that hide small counts."""
    steps = (step.get(how, {}) for step in log["steps"])
    return dict(sum((Counter(one) for one in steps), Counter()))


def _perturbs(step: Step) -> bool:
    return step.build().effect == "perturbs"


def _bounds_presence(step: Step) -> bool:
    models = getattr(step.build(), "models", ())
    return step.promise and any(one.model == "delta-presence" for one in models)


def _step(step: Step, publish_noise: bool) -> dict[str, Any]:
    method = step.build()
    told = method.published
    if method.effect == "perturbs" and not method.private:
        told = method.published_with_noise if publish_noise else ()
    given = step.model_dump(exclude_none=True)
    return {
        "method": step.method,
        "columns": list(step.columns),
        "in_words": method.done_in_words,
        "caveat": method.caveat,
        "meaning": method.meaning,
        "effect": method.effect,
        "strength": method.strength,
        "suppresses": method.suppresses,
        "parameters": {name: _bare(value) for name, value in given.items() if name in told},
    }


def _bare(value: Any) -> Any:
    """Leave out of models the table of a population: where it lies is nobody's business."""
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if isinstance(value, Mapping) and "model" in value:
        hidden = {"population"} if isinstance(value.get("population"), str) else set()
        hidden |= {name for name, one in value.items() if one is False and name == "arx"}
        said = {name: one for name, one in value.items() if name not in hidden}
        if "population" in hidden and value["model"] == "profitability":
            # That there is one tells what an intruder is taken to know.
            said["journalist"] = True
        return said
    return value


def _changed(cells: int, rows: int, hidden: bool) -> float | str:
    """Tell the share of changed cells; of random steps roughly, since it tells their size."""
    part = cells / max(1, rows)
    if not hidden:
        return float(f"{part:.2g}")
    return "none" if part == 0 else "some" if part < 0.5 else "most"


def internal_facts(
    recipe: Recipe,
    plan: Mapping[str, Any],
    log: Mapping[str, Any],
    check: Mapping[str, Any],
    assessment: Mapping[str, Any] | None,
    files: Mapping[str, Entry] | None = None,
) -> dict[str, Any]:
    """Gather what the internal report, and its summary, tell."""
    recipe = kept_recipe(recipe)
    return {
        "recipe": recipe.model_dump(exclude_none=True),
        "counts": recipe.counted_as,
        "recipe_text": recipe.dump(),
        "plan": plan,
        "log": log,
        "check": check,
        "assessment": assessment,
        "files": {name: one.sha256 for name, one in sorted((files or {}).items())},
    }
