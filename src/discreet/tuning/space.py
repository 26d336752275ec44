"""What a search chooses from: parts of a table, each with options from weak to strong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The number of the option of each part: a point of the space.
Choice = tuple[int, ...]


@dataclass(frozen=True)
class Option:
    """One way to treat the columns of a part."""

    # Steps of a recipe without their `columns`, in order; none leave the columns as they are.
    steps: tuple[Mapping[str, Any], ...] = ()
    # What becomes of the columns, such as "in 10-year groups".
    words: str = "kept as it is"
    # False where the columns are left out of the release.
    released: bool = True
    # Of a joint part: it decides about its columns itself, whatever their own parts say.
    alone: bool = False


@dataclass(frozen=True)
class Part:
    """Columns that are treated together, and the ways to treat them.

    A joint part is applied after the parts of its columns: local suppression after recoding. Its
    first option may be to do nothing.
    """

    columns: tuple[str, ...]
    options: tuple[Option, ...]
    joint: bool = False
