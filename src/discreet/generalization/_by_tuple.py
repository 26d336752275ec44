"""Rows treated by what was decided about their tuples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.method import Outcome, Rounder
from discreet.table.lookup import Lookup


@dataclass(frozen=True)
class ByTuple:
    """Labels and fates of distinct tuples, for `Decision.treat`.

    `labels` has by column, for each tuple, the place of its label on a list; a null there is a
    null. The masks are by tuple, as an `Outcome` has them by record.
    """

    lookup: Lookup
    labels: dict[str, tuple[np.ndarray, pa.Array]]
    suppressed: np.ndarray
    unsafe: np.ndarray
    disclosed: np.ndarray | None

    @classmethod
    def learn(
        cls,
        columns: Mapping[str, pa.ChunkedArray],
        labels: Mapping[str, tuple[np.ndarray, pa.Array]],
        suppressed: np.ndarray,
        unsafe: np.ndarray,
        disclosed: np.ndarray | None,
    ) -> ByTuple:
        """Keep what was decided about rows that have all tuples; equal ones were treated alike."""
        lookup = Lookup.learn(columns)
        first = lookup.first
        return cls(
            lookup,
            {name: (place[first], texts) for name, (place, texts) in labels.items()},
            suppressed[first],
            unsafe[first],
            None if disclosed is None else disclosed[first],
        )

    def __call__(
        self, columns: Mapping[str, Any], draws: Callable[[str], Draws], rounded: Rounder
    ) -> Outcome:
        """Treat rows; what an engine calls."""
        tuples = self.lookup.find(columns)
        return Outcome(
            {name: labelled(place[tuples], texts) for name, (place, texts) in self.labels.items()},
            {},
            suppressed=self.suppressed[tuples],
            unsafe=self.unsafe[tuples],
            disclosed=None if self.disclosed is None else self.disclosed[tuples],
        )


def labelled(places: np.ndarray, texts: pa.Array) -> pa.ChunkedArray:
    """Return rows their labels as text.

    Examples
    --------
    >>> labelled(np.array([1, 0, 2], np.int32), pa.array(["a", "b", None])).to_pylist()
    ['b', 'a', None]
    """
    column = pa.DictionaryArray.from_arrays(pa.array(places), texts)
    return pa.chunked_array([column.dictionary_decode()])
