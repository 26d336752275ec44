"""What a search goes by: the figures of a point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Risk and loss of a point, both to be small, and by how much it breaks minimum standards."""

    risk: float
    loss: float
    broken: float = 0.0


@dataclass(frozen=True)
class Profile:
    """What an option of a part does by itself: loss, and bits told, summed over its columns."""

    loss: float
    bits: float


@dataclass(frozen=True)
class Together:
    """What an option of a joint part does by itself: the loss of each column, and all bits told.

    Bits are those that the columns tell together: two to their power is how many times likelier a
    record is found than by chance.
    """

    losses: Mapping[str, float]
    bits: float
