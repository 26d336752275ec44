"""Rows treated by what was decided about their tuples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.outcome import Decision, Outcome, Rounder
from discreet.table.lookup import Lookup


@dataclass(frozen=True)
class Recoded:
    """What a method decided about rows, which may be distinct tuples: labels, fates and plans.

    `labels` has by column, for each row, the place of its label on a list; a null there is a null.
    The rest is as an `Outcome` has it.
    """

    labels: dict[str, tuple[np.ndarray, pa.Array]]
    suppressed: np.ndarray
    unsafe: np.ndarray
    disclosed: np.ndarray | None
    plans: dict[str, Any] = field(default_factory=dict)
    joint: Any = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)

    def outcome(self) -> Outcome:
        """Return the rows' labels as text, with the plans."""
        columns = {name: labelled(*places) for name, places in self.labels.items()}
        masks = self.suppressed, self.unsafe
        return Outcome(
            columns, self.plans, self.joint, *masks, self.figures, self.fixed, self.disclosed
        )

    def decision(self, columns: Mapping[str, pa.ChunkedArray]) -> Decision:
        """Return the plans, and what treats rows as the rows of these columns were.

        They have all tuples; equal ones were treated alike.
        """
        lookup = Lookup.learn(columns)
        treat = ByTuple(lookup, self.take(lookup.first))
        return Decision(self.plans, treat, self.joint, self.figures, self.fixed)

    def take(self, rows: np.ndarray) -> Recoded:
        """Return labels and fates of some rows, without plans."""
        return Recoded(
            {name: (place[rows], texts) for name, (place, texts) in self.labels.items()},
            self.suppressed[rows],
            self.unsafe[rows],
            None if self.disclosed is None else self.disclosed[rows],
        )


@dataclass(frozen=True)
class ByTuple:
    """Labels and fates of distinct tuples, for `Decision.treat`."""

    lookup: Lookup
    recoded: Recoded

    def __call__(
        self, columns: Mapping[str, Any], draws: Callable[[str], Draws], rounded: Rounder
    ) -> Outcome:
        """Treat rows; what an engine calls."""
        return self.recoded.take(self.lookup.find(columns)).outcome()


def labelled(places: np.ndarray, texts: pa.Array) -> pa.ChunkedArray:
    """Return rows their labels as text.

    Examples
    --------
    >>> labelled(np.array([1, 0, 2], np.int32), pa.array(["a", "b", None])).to_pylist()
    ['b', 'a', None]
    """
    column = pa.DictionaryArray.from_arrays(pa.array(places), texts)
    return pa.chunked_array([column.dictionary_decode()])
