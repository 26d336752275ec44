"""Which released records are likely those of a person: scores of all records, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.attacks._reading import Reading, Tables, reading_of
from discreet.generalization.hierarchy import Hierarchy
from discreet.table.classes import classes_of, first_rows

# Scores that are held at a time: 64 MB.
_BLOCK = 2**24
# Scores in all, of an attack: a quarter of a minute.
_SCORES = 2**29


@dataclass(frozen=True)
class Records:
    """The release in some columns: its distinct records, and what each says of people."""

    readings: Sequence[Reading]
    tuples: np.ndarray  # (columns, distinct records): their labels
    of: np.ndarray  # the distinct record that each record is

    @property
    def counts(self) -> np.ndarray:
        """How many records each distinct one stands for."""
        return np.bincount(self.of, minlength=self.tuples.shape[1])

    def affordable(self, people: int) -> int:
        """Return how many people can be scored in time: all but where distinct records are many.

        With fewer people the interval is wider, which a sample of the records would not be.
        """
        return min(people, max(100, _SCORES // max(1, self.tuples.shape[1])))

    def people(self, rows: np.ndarray, held: bool = False) -> np.ndarray:
        """Return what is known of people of the original or the holdout: (columns, people)."""
        return np.array([(one.held if held else one.values)[rows] for one in self.readings])

    def scores(self, people: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Score every distinct record for people, some at a time: (people, distinct records).

        Yields which people, and the scores; these are overwritten by the next.
        """
        n, size = people.shape[1], self.tuples.shape[1]
        widest = max([size, *(one.n_labels + 1 for one in self.readings)])
        step = max(1, _BLOCK // (4 * max(1, widest)))
        found, one = (np.empty((min(step, n), size), np.float32) for _ in range(2))
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            width = part.stop - part.start
            found[:width] = 0
            for reading, values, labels in zip(self.readings, people, self.tuples, strict=True):
                distinct, place = np.unique(values[part], return_inverse=True)
                table = reading.scores(distinct)
                for i, row in enumerate(place):
                    np.take(table[row], labels, out=one[i], mode="clip")
                found[:width] += one[:width]
            yield part, found[:width]


def records_of(
    tables: Tables,
    columns: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    drawn: Sequence[str] = (),
) -> Records:
    """Read some columns of a release.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from discreet.attacks._reading import tables_of
    >>> before = pa.table({"age": [31, 38, 45], "sex": ["f", "m", "f"]})
    >>> after = pa.table({"age": ["30-39", "30-39", "45"], "sex": ["f", None, "f"]})
    >>> records = records_of(tables_of(before, after), ["age", "sex"])
    >>> for _, scores in records.scores(records.people(np.arange(3))):
    ...     print(scores.argmax(axis=1))
    [0 1 2]
    """
    given = hierarchies or {}
    readings = [reading_of(tables, name, given.get(name), name in drawn) for name in columns]
    codes = np.array([one.labels for one in readings])
    # What tells nothing is one value more.
    ids, count = classes_of(codes, np.array([one.n_labels + 1 for one in readings]))
    return Records(readings, codes[:, first_rows(ids, count)], ids)


def some_of(n: int, most: int, draw: np.random.Generator) -> np.ndarray:
    """Draw rows to attack, all of them if they are not too many; in order."""
    return np.sort(draw.permutation(n)[:most])
