"""Differentially private plans, applied again: samples and noise by their draws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.chance import Chance
from discreet.check.differential import PARTS
from discreet.check.evidence import StepPlan
from discreet.check.replay.generalization import labels_at, leaves_of, texts_of
from discreet.draws import Draws
from discreet.table.classes import classes_of

# The draws, among those of the step, by which records are sampled.
_SAMPLE = 0


def safepub(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Return the labels of the sampled records of large classes, and nulls for the others."""
    joint, names = step["joint"], list(step["columns"])
    n = columns.num_rows
    words = draws(names[0]).apart().part(_SAMPLE).words(np.arange(n))
    sampled = words < np.uint64(int(joint["words"]))
    codes, texts = {}, {}
    for name in names:
        hierarchy = joint["hierarchies"][name]
        found = leaves_of(columns.arrow(name), name, hierarchy)
        level = joint["levels"][name]
        at, start = labels_at(hierarchy, found, level)
        codes[name], texts[name] = np.where(at < 0, -1, start + at), texts_of(hierarchy)
    together = np.array([found + 1 for found in codes.values()])
    ids, count = classes_of(together, together.max(axis=1, initial=0) + 1)
    sizes = np.bincount(ids[sampled], minlength=count)
    kept = sampled & (sizes[ids] >= joint["k"])
    released = np.sort(sizes[sizes >= joint["k"]])[::-1]
    if not np.array_equal(released, np.asarray(joint["sizes"])):
        raise ValueError("the classes do not have the sizes that the plan gives")
    columns.suppress(~kept, ~kept)
    return {
        name: pa.chunked_array([texts[name].take(pa.array(place, mask=~kept | (place < 0)))])
        for name, place in codes.items()
    }


def private_centres(step: StepPlan, columns: Any, draws: Callable[[str], Draws]) -> dict[str, Any]:
    """Return each record the noisy centre of its group.

    Records are ordered by the squares of their parts of the columns' widths, added up, then by the
    parts themselves; the groups are cut from this order.
    """
    joint = step["joint"]
    parts = {}
    for name, plan in step["columns"].items():
        width = plan["high"] - plan["low"]
        share = (np.clip(columns[name], plan["low"], plan["high"]) - plan["low"]) / width
        parts[name] = np.rint(share * PARTS).astype(np.int64)
    n = columns.num_rows
    records = [
        (sum(x * x for x in record), record)
        for record in zip(*(part.tolist() for part in parts.values()), strict=True)
    ]
    order = sorted(range(n), key=records.__getitem__)
    count = n // joint["k"]
    wider = n % count
    groups = np.empty(n, np.int64)
    # The first groups have one record more, where they do not come out even.
    starts = [i * (n // count) + min(i, wider) for i in range(count + 1)]
    for i, (start, end) in enumerate(pairwise(starts)):
        groups[order[start:end]] = i
    if not np.array_equal(groups, np.asarray(joint["groups"])):
        raise ValueError("the plan's groups are not cut from the order of the records")
    new = {}
    for name, plan in step["columns"].items():
        chance, scale = Chance(draws(name)), Fraction(plan["noise_scale"])
        centres = np.empty(count)
        for i in range(count):
            mine = parts[name][order[starts[i] : starts[i + 1]]]
            noisy = int(mine.sum()) + chance.laplace(scale)
            share = min(1.0, max(0.0, noisy / len(mine) / PARTS))
            centres[i] = plan["low"] + (plan["high"] - plan["low"]) * share
        if not np.array_equal(centres, np.asarray(plan["centres"], np.float64)):
            raise ValueError(
                f"the centres of column '{name}' are not those of its groups and draws"
            )
        new[name] = centres[groups]
    return new
