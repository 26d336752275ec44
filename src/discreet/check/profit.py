"""What each released class pays its publisher, computed anew from the labels that it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import NEEDS_INTERNAL, Finding, counted, finding
from discreet.check.population import counted_in
from discreet.recipe.recipe import Step
from discreet.table.cells import plain
from discreet.table.labels import is_text

# A record's payout that misses zero by no more than this share of its benefit is taken to meet it.
_ROUNDING = 1e-9
_TOP = "*"


def profitable(
    said: str,
    model: Any,
    step: Step,
    plan: StepPlan | None,
    released: tuple[pa.Table, np.ndarray],
) -> Finding:
    """Verify that no class is released that costs more than it is worth.

    Parameters
    ----------
    said : str
        The promise in words.
    model : Profitability
    step : Step
    plan : dict, optional
        Its joint part has `hierarchies`, and `leaves` of each column, a null counted as one.
    released : tuple of pyarrow.Table and ndarray
        The labels of each class, and its records.
    """
    joint: Mapping[str, Any] = {} if plan is None else plan.get("joint", {})
    if "leaves" not in joint:
        return Finding(said, "not verifiable", NEEDS_INTERNAL)
    tuples, sizes = released
    among = sizes
    if model.population is not None:
        # To a journalist a record may be any of the population's.
        found = counted_in(said, model, step, plan, released)
        if isinstance(found, Finding):
            return found
        among = np.maximum(found[0], 1)
    bits, whole = np.zeros(len(sizes)), 0.0
    stars = np.full(len(sizes), True)
    for name, total in joint["leaves"].items():
        whole += np.log10(total)
        column = plain(tuples[name])
        if not is_text(column.type):
            # Numbers and dates are values as they were, of which each is a leaf.
            stars[:] = False
            continue
        under, shown = _leaves(name, int(total), joint), column.to_pylist()
        if strange := [label for label in dict.fromkeys(shown) if label not in under]:
            return Finding(said, "broken", f"'{strange[0]}' is no label of '{name}'")
        bits += np.log10([under[label] for label in shown])
        stars &= np.array([label == _TOP for label in shown], bool)
    lost = bits / whole if whole else np.ones(len(sizes))
    attacked = model.gain / among - model.cost > 0
    paid = model.benefit * (1 - lost) - attacked * model.loss / among
    # Suppressed records pay nothing, and cost nothing where no attack on them pays.
    bad = np.where(stars, attacked, paid <= -_ROUNDING * model.benefit)
    least = f"the poorest class pays {paid[~stars].min():.4g} a record" if (~stars).any() else ""
    held = f"{counted(len(sizes), 'class', 'classes')}, {int(attacked.sum()):,} worth an attack"
    worse = f"{counted(int(bad.sum()), 'class costs', 'classes cost')} more than worth"
    return finding(said, ", ".join(filter(None, [worse, least])) if bad.any() else None,
                   ", ".join(filter(None, [held, least])))  # fmt: skip


def _leaves(name: str, total: int, joint: Mapping[str, Any]) -> dict[str | None, int]:
    """Count the leaves under each label that the plan's levels show; a null is a leaf."""
    tree = joint["hierarchies"][name]
    used = {int(one["levels"][name]) for group in joint["groups"] for one in group["rounds"]}
    found: dict[str | None, int] = {None: 1}
    for level in sorted(used):
        texts: Sequence[Any] = tree["labels"][level]
        many = np.bincount(np.asarray(tree["maps"][level], np.int64), minlength=len(texts))
        for text, leaves in zip(texts, many.tolist(), strict=True):
            # Where levels call different sets the same, the class may be the larger one.
            found[text] = max(leaves, found.get(text, 0))
    return found | {_TOP: total}
