"""Sets of items in a release: whether k records share any m items of one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.shown import UNIT, Shown
from discreet.recipe.recipe import Step
from discreet.table.classes import encode, in_order


def k_per_combination(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Count the records that hold each combination of at most m items.

    Where units are counted, each must have one set, in all of its records.
    """
    k, m, separator = (step.parameters()[name] for name in ("k", "m", "separator"))
    findings = []
    for name in step.columns:
        said = f"any {m} items of a set are in k = {k} {shown.noun}, in column '{name}'"
        if name not in shown.column_names:
            findings.append(Finding(said, "broken", "the column is missing"))
            continue
        if _several_sets(shown, name):
            findings.append(Finding(said, "broken", f"some {shown.noun} have several sets"))
            continue
        cells, counts = shown.over([name])
        held: Counter[tuple[str, ...]] = Counter()
        for cell, number in zip(cells[name].to_pylist(), counts.tolist(), strict=True):
            items = sorted(set(split(cell, separator)))
            for size in range(1, m + 1):
                for chosen in combinations(items, size):
                    held[chosen] += number
        rare = min((chosen for chosen, number in held.items() if number < k), default=None)
        problem = None if rare is None else f"{held[rare]} {shown.noun} hold {', '.join(rare)}"
        fewest = f", the rarest in {min(held.values()):,} {shown.noun}" if held else ""
        findings.append(finding(said, problem, f"{len(held):,} combinations{fewest}"))
    return findings


def _several_sets(shown: Shown, name: str) -> bool:
    """Tell whether some unit has different sets: it would count as often as it has."""
    if not shown.tells_units:
        return False
    pairs, _ = shown.over([name, UNIT])
    units, _ = encode(pairs[UNIT].filter(pairs[name].is_valid()), UNIT)
    return len(in_order(units)) < len(units)


def split(cell: str | None, separator: str) -> list[str]:
    """Return the items of a cell; none where it is null."""
    return [item for item in map(str.strip, (cell or "").split(separator)) if item]
