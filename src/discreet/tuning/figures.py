"""What a search goes by: the figures of a point."""

from __future__ import annotations

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
