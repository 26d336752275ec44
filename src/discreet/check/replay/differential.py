"""SafePub's plans, applied again: the sample by its draws, its classes by counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

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
