"""Privacy models from their definitions, on classes given as lists of (value, unit)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

SLACK = 1e-9
# The value that a record of a class holds, and the unit that it counts for.
Held = Sequence[tuple[Any, Hashable]]


def counts(held: Held) -> Counter[Any]:
    """Count the units that hold each value; nulls are not counted."""
    return Counter(value for value, _ in set(held) if value is not None)


def breaks(model: dict[str, Any], held: Held, whole: Counter[Any]) -> str | None:
    """Say how a class breaks a model, if it does; `whole` counts the values of all records."""
    size = len({unit for _, unit in held})
    if size < model.get("k", 1):
        return f"a class of {size}"
    if "column" not in model:
        return None
    found = counts(held)
    if model["model"] == "l-diversity":
        return _poor(model, found)
    if not found:
        return None
    total = sum(found.values())
    p = {value: count / total for value, count in found.items()}
    if model["model"] == "alpha-k-anonymity":
        most = max(p.values())
        return f"a share of {most:.3f}" if most > model["alpha"] + SLACK else None
    q = {value: count / sum(whole.values()) for value, count in whole.items()}
    if set(p) - set(q):
        return "a value that the input does not hold"
    if model["model"] == "t-closeness":
        far = _distance(model, p, q)
        return f"at a distance of {far:.3f}" if far > model["t"] + SLACK else None
    for value, share in p.items():
        most = model["beta"]
        if model.get("enhanced"):
            most = min(most, -math.log(q[value]))
        if (share - q[value]) / q[value] > most + SLACK:
            return f"a gain of {(share - q[value]) / q[value]:.3f}"
    return None


def _poor(model: dict[str, Any], found: Counter[Any]) -> str | None:
    least, kind = model["l"], model.get("kind", "distinct")
    total = sum(found.values())
    falling = sorted(found.values(), reverse=True)
    if kind == "distinct":
        good = len(found) >= least
    elif kind == "entropy":
        entropy = -sum(c / total * math.log(c / total) for c in falling)
        good = bool(found) and math.exp(entropy) >= least * (1 - SLACK)
    else:
        good = bool(found) and falling[0] < model["c"] * sum(falling[int(least) - 1 :])
    return None if good else f"only {dict(found)}"


def _distance(model: dict[str, Any], p: dict[Any, float], q: dict[Any, float]) -> float:
    if model.get("distance", "equal") == "equal":
        return sum(abs(p.get(value, 0.0) - q[value]) for value in q) / 2
    run = far = 0.0
    for value in sorted(q, key=model["order"].index if "order" in model else None):
        run += p.get(value, 0.0) - q[value]
        far += abs(run)
    return far / max(len(q) - 1, 1)


def rare_combination(units: dict[Hashable, set[Any]], most: int | None, k: int) -> Any:
    """Return what fewer than k units hold: some items of a unit, or all of them (`most` None)."""
    held: Counter[Any] = Counter()
    for items in units.values():
        ordered = sorted(items, key=repr)
        if most is None:
            held[tuple(ordered)] += 1
            continue
        for size in range(1, most + 1):
            held.update(combinations(ordered, size))
    return next(
        (combination for combination, count in held.items() if combination and count < k), None
    )
