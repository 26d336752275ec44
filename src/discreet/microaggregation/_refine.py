"""The refinement in rounds: chunks of neighbouring groups, searched side by side."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.draws import Draws
from discreet.kernels.refine import search
from discreet.microaggregation._space import units_of
from discreet.threads import over_ranges

# Groups of a chunk. Chunks and what they do must not depend on the number of threads.
_CHUNK = 500
# Chunks between two looks at the clock.
_BATCH = 16
# Sweeps of annealing in a try: more as time goes by, when what is easy has been found.
_SWEEPS, _MORE_SWEEPS, _MOST_SWEEPS = 100, 0.2, 2000


class Refinement:
    """A search that can be stopped at any time.

    `labels` are the group of each row; -1 for those in none, which are left alone. `moves` are the
    tries so far, `gained` is by how much the sum of squares fell, and Ctrl-C sets `stopped`.
    """

    def __init__(
        self,
        points: np.ndarray,
        labels: np.ndarray,
        parts: list[np.ndarray],
        k: int,
        draws: Draws,
        units: np.ndarray | None = None,
    ) -> None:
        self.points = points
        self.units = units
        self.labels = labels.copy()
        self.parts = parts
        self.k = k
        self.draws = draws
        self.moves = self.tasks = self.cuts = 0
        self.groups = self.names = int(labels.max()) + 1  # names run on as groups come and go
        self.gained = 0.0
        self.stopped = False

    def run(self, seconds: float, moves: int | None, say: Any = lambda text: None) -> None:
        """Search for some time, or for a number of moves, which gives the same result again."""
        # Compiles, where that was never done, before the clock starts.
        one = np.zeros(1, np.int64)
        for units in (None,) if self.units is None else (None, one):
            search(self.points[:1], one, 1, 1, 0, 1, np.uint64(0), units)
        end = time.monotonic() + seconds
        try:
            say(self)
            while True:
                chunks = [c for rows in self.parts for c in self._chunks(rows)]
                if not chunks:
                    return
                for at in range(0, len(chunks), _BATCH):
                    left = None if moves is None else moves - self.moves
                    if left == 0 or (left is None and time.monotonic() >= end):
                        return
                    self._search(chunks[at : at + _BATCH], left)
                    say(self)
        except KeyboardInterrupt:
            self.stopped = True

    def _search(self, chunks: list[np.ndarray], left: int | None) -> None:
        """Search some chunks; what they find is taken over when all are done, or not at all."""
        tasks = []
        age = self.moves / self.groups
        sweeps = int(min(_MOST_SWEEPS, _SWEEPS * (1 + _MORE_SWEEPS * age)))
        seeds = self.draws.words(np.arange(self.tasks, self.tasks + len(chunks)))
        moves = 0
        for rows, seed in zip(chunks, seeds, strict=True):
            names, own = np.unique(self.labels[rows], return_inverse=True)
            tries = max(min(16, 4 * len(names)), len(names) // 8)
            if left is not None:
                tries = min(tries, left - moves)
            moves += tries
            tasks.append((rows, names, own.astype(np.int64), tries, seed))

        def work(start: int, stop: int) -> tuple[int, float]:
            rows, names, own, tries, seed = tasks[start]
            units = units_of(self.units, rows)
            return search(self.points[rows], own, len(names), self.k, tries, sweeps, seed, units)

        found = over_ranges(work, len(tasks), chunk=1)
        labels, used, gained = self.labels.copy(), self.names, self.gained
        for (rows, names, own, _, _), (groups, gain) in zip(tasks, found, strict=True):
            new = used + np.arange(max(0, groups - len(names)))
            used += len(new)
            labels[rows] = np.concatenate([names, new])[own]
            gained += gain
        # In one step, which Ctrl-C cannot cut in two.
        vars(self).update(
            labels=labels,
            names=used,
            gained=gained,
            tasks=self.tasks + len(tasks),
            moves=self.moves + moves,
        )

    def _chunks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Cut the rows of a part between groups, across random directions."""
        names, own = np.unique(self.labels[rows], return_inverse=True)
        if len(names) < 2:
            return
        pieces = 1 if len(names) < 8 else max(2, len(names) // _CHUNK)
        size = np.bincount(own)
        centres = np.column_stack([np.bincount(own, x) / size for x in self.points[rows].T])
        piece = np.zeros(len(names), dtype=np.int64)
        for number, groups in enumerate(self._cut(centres, np.arange(len(names)), pieces)):
            piece[groups] = number
        order = np.argsort(piece[own], kind="stable")
        ends = np.cumsum(np.bincount(piece[own]))
        yield from (rows[some] for some in np.split(order, ends[:-1]))

    def _cut(self, centres: np.ndarray, groups: np.ndarray, pieces: int) -> Iterator[np.ndarray]:
        if pieces < 2:
            yield groups
            return
        # The direction from one group to another: where there is much, there are many cuts.
        uniform = self.draws.uniform(np.arange(3) + 3 * self.cuts, stream=1)
        self.cuts += 1
        a, b = (centres[groups[int(u * len(groups))]] for u in uniform[:2])
        along = ((centres[groups] - a) * (b - a)).sum(axis=1)
        share = (pieces // 2) / pieces + 0.2 * (uniform[2] - 0.5)
        order = np.argsort(along, kind="stable")
        left = min(max(int(share * len(groups)), 1), len(groups) - 1)
        yield from self._cut(centres, groups[order[:left]], pieces // 2)
        yield from self._cut(centres, groups[order[left:]], pieces - pieces // 2)


@contextmanager
def progress(loss: float, total: float) -> Iterator[Any]:
    """Show the loss on a terminal while it falls; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda refinement: None
        return
    from rich.console import Console

    with Console(stderr=True).status("refining") as status:
        yield lambda refinement: status.update(
            f"refining: loss {loss_now(loss, total, refinement):.4f} % "
            f"after {refinement.moves:,} moves"
        )


def loss_now(loss: float, total: float, refinement: Refinement) -> float:
    """Return the loss that a refinement has come to, from what it was at first."""
    return loss - 100 * refinement.gained / total if total > 0 else loss
