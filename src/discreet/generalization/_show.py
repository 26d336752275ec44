"""A hierarchy as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.generalization.ladder import Ladder


def tree(ladder: Ladder, counts: np.ndarray | None, most: int) -> str:
    """Draw a ladder from the top down, at most so many branches below each label.

    Parameters
    ----------
    ladder : Ladder
    counts : ndarray, optional
        Rows by leaf.
    most : int
    """
    parents = [_parents(ladder, level) for level in range(ladder.height)]
    sums = [
        None
        if counts is None
        else np.bincount(ladder.maps[level], counts, len(ladder.labels[level])).astype(np.int64)
        for level in range(ladder.height + 1)
    ]

    def lines(level: int, node: int, indent: str) -> Iterator[str]:
        total = sums[level]
        count = "" if total is None else f"  ({total[node]})"
        yield f"{indent}{ladder.labels[level][node]}{count}"
        if level == 0:
            return
        children = np.flatnonzero(parents[level - 1] == node)
        # One more is no longer than the line that says so.
        shown = children if len(children) <= most + 1 else children[:most]
        for child in shown.tolist():
            yield from lines(level - 1, child, indent + "  ")
        if len(shown) < len(children):
            yield f"{indent}  ... {len(children) - len(shown)} more"

    return "\n".join(lines(ladder.height, 0, ""))


def _parents(ladder: Ladder, level: int) -> np.ndarray:
    parents = np.full(len(ladder.labels[level]), -1, dtype=np.int32)
    parents[ladder.maps[level]] = ladder.maps[level + 1]
    return parents
