"""A hierarchy laid out for the values of one column: what the searches work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Ladder:
    """The values of a column, and what each becomes at every level.

    Attributes
    ----------
    leaves : pyarrow.Array
        The distinct values, in their order: the rows of the hierarchy.
    labels : list of list of str
        By level, the names that occur there; level 0 has the leaves' own.
    maps : ndarray of int32, shape (height + 1, leaves)
        By level, the position in `labels` of what each leaf becomes. The last level has one label,
        `*`.
    """

    leaves: pa.Array
    labels: list[list[str]]
    maps: np.ndarray

    @property
    def height(self) -> int:
        """The number of levels above the values themselves."""
        return len(self.maps) - 1
