"""Sets of items in a release: whether k records share any m items of one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.shown import Shown
from discreet.recipe.recipe import Step


def k_per_combination(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Count the records that hold each combination of at most m items.

    Where units are counted, each has one set, in all of its records.
    """
    k, m, separator = (step.parameters()[name] for name in ("k", "m", "separator"))
    findings = []
    for name in step.columns:
        said = f"any {m} items of a set are in k = {k} {shown.noun}, in column '{name}'"
        if name not in shown.column_names:
            findings.append(Finding(said, "broken", "the column is missing"))
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


def split(cell: Any, separator: str | None) -> list[str]:
    """Return the items of a cell; none where it is null."""
    if separator is None:
        return [str(item) for item in cell or () if item is not None]
    return [item for item in map(str.strip, str(cell or "").split(separator)) if item]
