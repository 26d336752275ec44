"""Classes that were decided apart and are released under the same labels.

Where units are counted, records of one class that keep a model may break it together with those of
another: a unit that has a value in both counts once. Where records are, the mean of two
distributions is no farther off; but for delta-disclosure a value that only one of them has may be
too rare in both together, and Grassberger's entropy is an estimate that may fall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.generalization._distinct import counted
from discreet.generalization._holdings import pairs
from discreet.generalization.ladder import TOP
from discreet.generalization.privacy import Bound
from discreet.kernels.privacy import holds
from discreet.table.classes import classes_of, encode


def may_break(bound: Bound) -> bool:
    """Tell whether classes that keep the models may break them together."""
    if bound.holdings is None:
        return not bound.rules.mergeable
    return len(bound.rules.kinds) > 0


@dataclass(frozen=True)
class Alike:
    """Rows by their labels: which have the same, and which have stars only.

    `labels` are by column the place of each row's label on a list, and that list; `weights` the
    records of each row, one each by default.
    """

    bound: Bound
    classes: np.ndarray
    stars: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def by_labels(
        cls,
        bound: Bound,
        labels: Mapping[str, tuple[np.ndarray, pa.Array]],
        weights: np.ndarray | None = None,
    ) -> Alike:
        """Compare the rows' labels; the same text of two levels is the same label."""
        codes, sizes, stars = [], [], []
        for name, (places, texts) in labels.items():
            of_text, size = encode(pa.chunked_array([texts]), name)
            codes.append(of_text[places])
            sizes.append(size)
            stars.append(np.array([text == TOP for text in texts.to_pylist()])[places])
        classes, _ = classes_of(np.array(codes), np.array(sizes))
        return cls(bound, classes, np.all(stars, axis=0), weights)

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
        gone = [c for c, size, held in self._histograms(rows) if not self._holds(size, held)]
        return (apart >= 0) & np.isin(self.classes, gone)

    def stars_hold(self, kept: np.ndarray, suppressed: np.ndarray) -> bool:
        """Tell whether suppressed rows, with those kept that also have stars only, are a class."""
        rows = np.flatnonzero((kept & self.stars) | suppressed)
        if self.bound.holdings is None:
            return self._holds(*self._records(rows))
        held = self.bound.holdings.histogram(rows)
        return self._holds(held[-1], held)

    def _holds(self, size: int, histogram: np.ndarray) -> bool:
        # Of the population, two classes have the records of both.
        rules = self.bound.rules._replace(population=-1, mapped=0, lowest=0.0, highest=1.0)
        return bool(holds(rules, size, histogram))

    def _records(self, rows: np.ndarray) -> tuple[int, np.ndarray]:
        """Count the records of some rows, and those at each place."""
        codes = self.bound.codes[:, rows]
        held = None if self.weights is None else self.weights[rows]
        histogram = np.zeros(self.bound.rules.q.size, np.int64)
        for one in codes:
            there = one >= 0
            histogram += counted(one[there], len(histogram), None if held is None else held[there])
        return len(rows) if held is None else int(held.sum()), histogram

    def _histograms(self, rows: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """Count the records of each class, or its distinct holdings, at each place.

        It is done class after class: all together they might not fit into memory.
        """
        held = self.bound.holdings
        if held is None:
            order = rows[np.argsort(self.classes[rows], kind="stable")]
            classes, starts = np.unique(self.classes[order], return_index=True)
            for c, part in zip(classes, np.split(order, starts[1:]), strict=True):
                yield int(c), *self._records(part)
            return
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
            histogram = np.bincount(part, minlength=size)
            yield int(c), int(histogram[-1]), histogram
