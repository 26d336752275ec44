"""Classes that were decided apart and are released under the same labels, where units are counted.

Records of one class that keep a model may break it together with those of another: a unit that has
a value in both counts once. (Not so for records: the mean of two distributions is no farther off.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.generalization._holdings import pairs
from discreet.generalization.ladder import TOP
from discreet.generalization.privacy import Bound
from discreet.kernels.privacy import holds
from discreet.table.classes import classes_of, encode


def may_break(bound: Bound) -> bool:
    """Tell whether classes that keep the models may break them together."""
    return bound.holdings is not None and len(bound.rules.kinds) > 0


@dataclass(frozen=True)
class Alike:
    """Rows by their labels: which have the same, and which have stars only.

    `labels` are by column the place of each row's label on a list, and that list.
    """

    bound: Bound
    classes: np.ndarray
    stars: np.ndarray

    @classmethod
    def by_labels(cls, bound: Bound, labels: Mapping[str, tuple[np.ndarray, pa.Array]]) -> Alike:
        """Compare the rows' labels; the same text of two levels is the same label."""
        codes, sizes, stars = [], [], []
        for name, (places, texts) in labels.items():
            of_text, size = encode(pa.chunked_array([texts]), name)
            codes.append(of_text[places])
            sizes.append(size)
            stars.append(np.array([text == TOP for text in texts.to_pylist()])[places])
        classes, _ = classes_of(np.array(codes), np.array(sizes))
        return cls(bound, classes, np.all(stars, axis=0))

    def broken(self, apart: np.ndarray) -> np.ndarray:
        """Tell which rows break the models with others of their labels.

        `apart` are the classes as they were decided; -1 for rows that are in none.
        """
        rows = np.flatnonzero(apart >= 0)
        classes, decided = self.classes[rows], apart[rows]
        count = int(self.classes.max(initial=-1)) + 1
        any_one = np.full(count, -1)
        any_one[classes] = decided
        mixed = np.zeros(count, bool)
        mixed[classes[any_one[classes] != decided]] = True
        rows = rows[mixed[classes]]
        if not len(rows):
            return np.zeros(len(apart), bool)
        gone = [
            c for c, held in self._histograms(rows) if not holds(self.bound.rules, held[-1], held)
        ]
        return (apart >= 0) & np.isin(self.classes, gone)

    def stars_hold(self, kept: np.ndarray, suppressed: np.ndarray) -> bool:
        """Tell whether suppressed rows, with those kept that also have stars only, are a class."""
        assert self.bound.holdings is not None
        held = self.bound.holdings.histogram((kept & self.stars) | suppressed)
        return holds(self.bound.rules, held[-1], held)

    def _histograms(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Count the distinct holdings of each class at each place, class after class.

        All together they might not fit into memory.
        """
        held = self.bound.holdings
        assert held is not None
        found, places = [], []
        for holdings in held.of_row[:, rows]:
            first = pairs(self.classes[rows], holdings)[1]
            found.append(self.classes[rows[first]])
            places.append(held.place[holdings[first]])
        of_entry, place = np.concatenate(found), np.concatenate(places)
        order = np.argsort(of_entry, kind="stable")
        classes, starts = np.unique(of_entry[order], return_index=True)
        size = self.bound.rules.units + 1
        parts = np.split(place[order], starts[1:])
        for c, part in zip(classes, parts, strict=True):
            yield int(c), np.bincount(part, minlength=size)
