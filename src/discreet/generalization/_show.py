"""A hierarchy as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.generalization.ladder import Ladder


def tree(ladder: Ladder, counts: np.ndarray | None, most: int) -> str:
    """Draw a ladder from the top down, with the rows by leaf, as many whole levels as fit.

    `most` lines are drawn, and those that say what was left out. Where the level below `*` is
    longer already, its first labels are drawn.
    """
    sizes = np.cumsum([len(labels) for labels in reversed(ladder.labels)])
    lowest = max(0, ladder.height - max(1, int((sizes <= most).sum()) - 1))

    def lines(level: int, node: int, indent: str) -> Iterator[str]:
        leaves = ladder.maps[level] == node
        notes = [_counted(int(leaves.sum()), "value")] if level == lowest > 0 else []
        if counts is not None:
            notes.append(_counted(int(counts[leaves].sum()), "row"))
        note = f"  ({', '.join(notes)})" if notes else ""
        yield f"{indent}{ladder.labels[level][node]}{note}"
        if level == lowest:
            return
        children = list(dict.fromkeys(ladder.maps[level - 1][leaves].tolist()))
        shown = children[: max(1, most - 1)]
        for child in shown:
            yield from lines(level - 1, child, indent + "  ")
        if len(shown) < len(children):
            yield f"{indent}  ... {len(children) - len(shown)} more"

    return "\n".join(lines(ladder.height, 0, ""))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
