"""A hierarchy laid out for the values of one column: what the searches work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.generalization._distinct import Distinct, as_text, distinct
from discreet.table.columns import float_values, kind_of

TOP = "*"
_MOST_SHOWN = 5


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

    Examples
    --------
    >>> ladder = Ladder.from_levels(pa.array(["a", "b", "c"]), [pa.array(["x", "x", "y"])])
    >>> ladder.height, ladder.labels[1], ladder.maps[1].tolist()
    (2, ['x', 'y'], [0, 0, 1])
    >>> ladder.encode(pa.chunked_array([["c", None, "a"]]), "letter")
    array([ 2, -1,  0], dtype=int32)
    """

    leaves: pa.Array
    labels: list[list[str]]
    maps: np.ndarray

    @property
    def height(self) -> int:
        """The number of levels above the values themselves."""
        return len(self.maps) - 1

    @classmethod
    def from_levels(
        cls, leaves: pa.Array, levels: Sequence[pa.Array], source: str = "the hierarchy"
    ) -> Ladder:
        """Lay out what each leaf becomes, level by level, and put `*` on top.

        Parameters
        ----------
        leaves : pyarrow.Array
            Without nulls, each once.
        levels : sequence of pyarrow.Array
            Text, or dictionaries of text; one for each level between the leaves and `*`.
        source : str
            Where the levels come from, for messages.
        """
        labels = [as_text(leaves).to_pylist()]
        maps = np.zeros((len(levels) + 2, len(leaves)), dtype=np.int32)
        maps[0] = np.arange(len(leaves))
        for number, level in enumerate(levels, start=1):
            # Decoded first: labels are one where they read the same.
            encoded = level.cast(pa.string()).dictionary_encode()
            maps[number] = encoded.indices.to_numpy()
            labels.append(encoded.dictionary.to_pylist())
            _check_nesting(labels, maps, number, source)
        labels.append([TOP])
        return cls(leaves, labels, maps)

    def encode(self, column: pa.ChunkedArray | pa.Array, name: str) -> np.ndarray:
        """Return the leaf of each row as an int32 code; -1 where null.

        Parameters
        ----------
        column : pyarrow.ChunkedArray
            Numbers match leaves that are text: 39 and 39.0 are `"39"`.
        name : str
            The column's name, for the message that lists values without a place.
        """
        found = distinct(column, name)
        return self.encode_distinct(found, name)

    def encode_distinct(self, found: Distinct, name: str) -> np.ndarray:
        """Do what `encode` does, where the distinct values are known already."""
        places = np.append(self.places(found, name), np.int32(-1))
        return places[found.codes]

    def places(self, found: Distinct, name: str) -> np.ndarray:
        """Return the leaf of each distinct value, or list those that have no place."""
        values = found.values
        if values.type == self.leaves.type:
            codes = pc.index_in(values, value_set=self.leaves)
        else:
            codes = pc.index_in(as_text(values), value_set=pa.array(self.labels[0], pa.string()))
        places = pc.fill_null(codes, -1).to_numpy().astype(np.int32, copy=False)
        if (places < 0).any():
            places = self._places_by_meaning(values, places)
        if (places < 0).any():
            raise BadInput(_say_missing(found, places < 0, name))
        return places

    def _places_by_meaning(self, values: pa.Array, places: np.ndarray) -> np.ndarray:
        """Match numbers and booleans that are spelt in another way: 1.50 and 1.5, true and True."""
        known: dict[object, int] = {}
        if pa.types.is_boolean(values.type):
            known = {text.lower(): i for i, text in enumerate(self.labels[0])}
            keys: list[object] = as_text(values).to_pylist()
        elif kind_of(values.type) == "numeric" and not pa.types.is_temporal(values.type):
            for i, text in enumerate(self.labels[0]):
                number = _number(text)
                if number is not None:
                    known.setdefault(number, i)
            keys = float_values(pa.chunked_array([values]), "").tolist()
        else:
            return places
        return np.array(
            [
                known.get(key, -1) if place < 0 else place
                for key, place in zip(keys, places.tolist(), strict=True)
            ],
            dtype=np.int32,
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_nesting(labels: list[list[str]], maps: np.ndarray, number: int, source: str) -> None:
    """Refuse a level that splits what the level below had put together."""
    below, here = maps[number - 1], maps[number]
    if number == 1 or not len(here):
        return
    parent = np.zeros(len(labels[number - 1]), dtype=np.int32)
    parent[below] = here
    split = np.flatnonzero(parent[below] != here)
    if len(split):
        leaf = split[0]
        other = np.flatnonzero((below == below[leaf]) & (here == parent[below[leaf]]))[0]
        first, second = sorted((int(leaf), int(other)))
        raise BadInput(
            f"{source}: '{labels[number - 1][below[leaf]]}' of level {number - 1} is under "
            f"'{labels[number][here[first]]}' (as '{labels[0][first]}') and under "
            f"'{labels[number][here[second]]}' (as '{labels[0][second]}') at level {number}; "
            "levels must nest, so give it one parent, or two names"
        )


def _say_missing(found: Distinct, missing: np.ndarray, name: str) -> str:
    texts = as_text(found.values.filter(pa.array(missing))).to_pylist()
    rows = int(found.counts[missing].sum())
    shown = ", ".join(f"'{text}'" for text in texts[:_MOST_SHOWN])
    if len(texts) > _MOST_SHOWN:
        shown += f" and {len(texts) - _MOST_SHOWN} more"
    one = len(texts) == 1
    # Values in no row of the table are those that only its population has.
    where = f"{rows} row{'' if rows == 1 else 's'}" if rows else "the population"
    return (
        f"column '{name}': {len(texts)} value{'' if one else 's'} in {where} "
        f"{'has' if one else 'have'} no place in the hierarchy: "
        f"{shown}; add {'it' if one else 'them'} to the hierarchy, or correct the data"
    )
