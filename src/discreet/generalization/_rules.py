"""What every kind of hierarchy does, and the short kinds: flat, prefix and order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.generalization._distinct import Distinct, as_text
from discreet.generalization._tables import Table, table_of


class Rule(Protocol):
    """One kind of hierarchy."""

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Label the distinct values of a column at each level between them and `*`."""

    def settle(self, found: Distinct, name: str) -> Rule:
        """Fix what depends on the column, so that new values are labelled in the same way."""


def by_key(keys: np.ndarray, label: Callable[[int], str]) -> pa.DictionaryArray:
    """Label values by integer keys, each label written once."""
    unique, codes = np.unique(keys, return_inverse=True)
    labels = pa.array([label(key) for key in unique.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels)


# Of values or characters: no column has more.
_MOST = 2**31 - 1


def whole_numbers(values: Any, what: str, least: int = 1) -> tuple[int, ...]:
    """Take a rising list of whole numbers."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise BadInput(f"{what} must be a list of whole numbers, not {values!r}")
    for value in values:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            raise BadInput(f"{what} must be whole numbers, but one is {value!r}")
        if value < least:
            raise BadInput(f"{what} must be at least {least}, but one is {value}")
        if value > _MOST:
            raise BadInput(f"{what} must be at most {_MOST:,}, but one is {value:,}")
    for below, above in pairwise(values):
        if above <= below:
            raise BadInput(f"{what} must rise from level to level, but {above} follows {below}")
    return tuple(int(value) for value in values)


@dataclass(frozen=True)
class Flat:
    """The values, then `*`."""

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        return {"kind": "flat"}

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Return no level."""
        return []

    def settle(self, found: Distinct, name: str) -> Rule:
        """Nothing depends on the column."""
        return self


@dataclass(frozen=True)
class Prefix:
    """Characters hidden by stars, from one end."""

    stars: tuple[int, ...] | None
    side: str
    keep: tuple[int, ...] = ()  # instead of stars: the characters that are left

    @classmethod
    def make(cls, stars: Any, side: Any, keep: Any = None) -> Prefix:
        """Check the parameters."""
        if keep is not None:
            if stars is not None or side != "right":
                raise BadInput("keep says how many characters stay; leave out stars and side")
            if isinstance(keep, str) or not isinstance(keep, Sequence) or not keep:
                raise BadInput(f"keep must be a list such as [3, 1], not {keep!r}")
            for more, fewer in pairwise(keep):
                if isinstance(more, int) and isinstance(fewer, int) and fewer >= more:
                    raise BadInput(
                        f"keep must fall from level to level, but {fewer} follows {more}"
                    )
            return cls(None, "right", whole_numbers(list(keep)[::-1], "keep")[::-1])
        if side not in ("right", "left"):
            raise BadInput(f"side must be 'right' or 'left', not {side!r}")
        return cls(None if stars is None else whole_numbers(stars, "stars"), side)

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        spec: dict[str, Any] = {"kind": "prefix"}
        if self.keep:
            return spec | {"keep": list(self.keep)}
        if self.stars is not None:
            spec["stars"] = list(self.stars)
        return spec | ({"side": self.side} if self.side != "right" else {})

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Hide characters; those of a value that has fewer are all hidden."""
        text = as_text(found.values)
        if self.keep:
            return [self._kept(text, characters) for characters in self.keep]
        length = pc.utf8_length(text)
        labels = []
        for hidden in self._stars(text):
            stars = pc.binary_repeat("*", pc.min_element_wise(length, hidden))
            if self.side == "right":
                kept = pc.utf8_slice_codeunits(text, 0, -hidden)
                labels.append(pc.binary_join_element_wise(kept, stars, ""))
            else:
                kept = pc.utf8_slice_codeunits(text, hidden)
                labels.append(pc.binary_join_element_wise(stars, kept, ""))
        return labels

    def _kept(self, text: pa.Array, characters: int) -> pa.Array:
        """Return the first characters, and one star for the others; a shorter value is its own."""
        start = pc.utf8_slice_codeunits(text, 0, characters)
        return pc.binary_join_element_wise(start, "*", "")

    def _stars(self, text: pa.Array) -> tuple[int, ...]:
        if self.stars is not None:
            return self.stars
        return tuple(range(1, pc.max(pc.utf8_length(text)).as_py() or 1))

    def settle(self, found: Distinct, name: str) -> Rule:
        """Fix the levels by the longest value."""
        if self.keep:
            return self
        return Prefix(self._stars(as_text(found.values)), self.side)


@dataclass(frozen=True)
class Order:
    """Neighbouring values merged, so many at a time."""

    sizes: tuple[int, ...]

    @classmethod
    def make(cls, sizes: Any) -> Order:
        """Check the parameters."""
        sizes = whole_numbers(sizes, "sizes", least=2)
        for below, above in pairwise(sizes):
            if above % below:
                raise BadInput(
                    f"sizes: {above} is not a multiple of {below}, so the levels would not nest"
                )
        return cls(sizes)

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        return {"kind": "order", "sizes": list(self.sizes)}

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Name each group by its first and last value."""
        return self.over(as_text(found.values).to_pylist())

    def over(self, texts: list[str]) -> list[pa.Array]:
        """Merge values that are given in their order."""

        def label(group: int) -> str:
            first, *rest = texts[group * size : (group + 1) * size]
            return f"{first} to {rest[-1]}" if rest else first

        levels = []
        for size in self.sizes:
            levels.append(by_key(np.arange(len(texts)) // size, label))
        return levels

    def settle(self, found: Distinct, name: str) -> Rule:
        """Write the groups down as a table: a new value has no place among them."""
        texts = as_text(found.values).to_pylist()
        if not texts:
            return self
        return self.table(texts, {"kind": "order", "sizes": list(self.sizes), "values": texts})

    def table(self, texts: list[str], spec: dict[str, Any]) -> Table:
        """Merge values that the recipe lists in their order."""
        levels = [level.cast(pa.string()).to_pylist() for level in self.over(texts)]
        rows = [list(row) for row in zip(texts, *levels, strict=True)]
        return table_of(rows, spec, "the hierarchy")
