"""Differencing: what two releases of one table tell together.

Each release keeps its promise by itself. Whoever has both knows of a person the class in the one
and the class in the other, and so that the person is one of those in both, with a value that both
have; and where a record of the one can be joined with its record in the other, each cell is what
both of its labels cover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from discreet.attacks._planned import numbered
from discreet.attacks._reading import Reading, check_known, reading_of, tables_of
from discreet.generalization.hierarchy import Hierarchy
from discreet.parameters import whole
from discreet.table.classes import encode
from discreet.utility.compared import as_text

# Values and pairs of labels that are held at a time, and values and labels of a column that are.
_BLOCK, _WIDEST = 1 << 24, 1 << 26


@dataclass(frozen=True)
class Differencing:
    """What a pair of releases narrows down.

    Attributes
    ----------
    records : int
    k : int
        What class sizes are held against.
    smallest : tuple of int
        The smallest class of the one release, of the other, and of both together; without records
        of which the release, or both of them, show nothing.
    below_k, classes : int
        Records in classes of the pair with fewer than k records, though their classes in either
        release have k or more, and the number of these classes.
    below_l : int
        Records for which fewer than l values of a confidential column are left that both classes
        have, though each class has l or more; 0 where no confidential column was named.
    cells, narrowed, single : int
        Cells of quasi columns, without columns of very many values and labels; those whose two
        labels together cover fewer values of the table than either; and of these, those that are
        left with one value.
    joined : int
        Records that can be joined for certain, by columns that both releases show alike.
    """

    records: int
    k: int
    l: int  # noqa: E741
    smallest: tuple[int, int, int]
    below_k: int
    classes: int
    below_l: int
    cells: int
    narrowed: int
    single: int
    joined: int

    @property
    def said(self) -> str:
        """The result in a sentence."""
        lost = f", and {self.below_l:,} to fewer than {self.l} values" if self.below_l else ""
        return (
            f"Together the two releases narrow {self.below_k:,} of {self.records:,} records down "
            f"to fewer than {self.k} ({self.classes:,} classes, the smallest of "
            f"{self.smallest[2]:,}; {self.smallest[0]:,} and {self.smallest[1]:,} in the releases "
            f"alone){lost}; {self.narrowed:,} of {self.cells:,} quasi cells become finer, "
            f"{self.single:,} of them a single value, where records of both can be joined: for "
            f"{self.joined:,} that is certain by columns that both show alike."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"smallest": list(self.smallest), "said": self.said}


def differencing(
    original: Any,
    one: Any,
    other: Any,
    *,
    quasi: Sequence[str],
    secret: str | Sequence[str] = (),
    k: int | None = None,
    l: int = 2,  # noqa: E741
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Differencing:
    """Measure what two releases of one table tell together.

    The intruder has both releases and knows everybody's quasi values, and so who is in which class
    of each. Nothing is claimed of what more releases, or other tables, would add.

    Parameters
    ----------
    original, one, other : table
        The same rows in the same order; a record that a release leaves out has nulls there.
    quasi : list of str
        The columns that the intruder knows.
    secret : str or list of str
        The confidential columns, as both releases show them.
    k : int, optional
        What a class should have; by default, what the smallest class of either release has, where
        suppressed records are no class.
    l : int
        How many confidential values should be left.
    hierarchies : mapping of str to Hierarchy, optional
        Of quasi columns with labels that do not say themselves what they cover.

    Returns
    -------
    Differencing

    Examples
    --------
    The one release groups ages by decades from 30, the other by decades from 25:

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 33, 36, 38]})
    >>> one = pd.DataFrame({"age": ["30-39"] * 4})
    >>> other = pd.DataFrame({"age": ["25-34", "25-34", "35-44", "35-44"]})
    >>> found = differencing(people, one, other, quasi=["age"], k=2)
    >>> found.smallest, found.narrowed
    ((4, 2, 2), 0)
    """
    if k is not None:
        whole(1).check("k", k)
    whole(1).check("l", l)
    tables = [tables_of(original, release) for release in (one, other)]
    secrets = [secret] if isinstance(secret, str) else list(secret)
    for pair in tables:
        check_known(pair, quasi, "quasi")
        if secrets:
            check_known(pair, secrets, "secret")
    given = hierarchies or {}
    readings = [[reading_of(pair, name, given.get(name)) for name in quasi] for pair in tables]
    labels = [[reading.labels for reading in own] for own in readings]
    classes = [numbered(own)[1] for own in labels]
    _, both = numbered([label for own in labels for label in own])
    sizes = [np.bincount(number)[number] for number in (*classes, both)]
    shown = [_shown(own) for own in readings]
    smallest = tuple(
        int(size.min(where=told, initial=len(both)))
        for size, told in zip(sizes, (*shown, shown[0] | shown[1]), strict=True)
    )
    limit = min(smallest[:2]) if k is None else k
    few = (sizes[2] < limit) & (np.minimum(sizes[0], sizes[1]) >= limit)
    fewer = np.zeros(len(both), bool)
    for name in secrets:
        released = [as_text(pair.protected[name], name) for pair in tables]
        fewer |= _fewer_values(classes, both, released, l)
    cells = narrowed = single = 0
    for first, second in zip(*readings, strict=True):
        if first.n_values * max(first.n_labels, second.n_labels) > _WIDEST:
            continue
        cells += len(both)
        finer, one_left = _narrowed(first, second)
        narrowed, single = narrowed + finer, single + one_left
    alike = _alike(tables[0].protected, tables[1].protected)
    return Differencing(
        len(both),
        limit,
        l,
        (smallest[0], smallest[1], smallest[2]),
        int(few.sum()),
        len(np.unique(both[few])),
        int(fewer.sum()),
        cells,
        narrowed,
        single,
        0 if not alike else int((np.bincount(ids := numbered(alike)[1])[ids] == 1).sum()),
    )


def _shown(readings: Sequence[Reading]) -> np.ndarray:
    """Tell of which records a release shows something: not only stars and nulls."""
    return np.any([reading.labels < reading.n_labels for reading in readings], axis=0)


def _fewer_values(
    classes: Sequence[np.ndarray],
    both: np.ndarray,
    released: Sequence[pa.ChunkedArray],
    l: int,  # noqa: E741
) -> np.ndarray:
    """Tell which records have fewer than l values that their two classes share."""
    n = len(both)
    codes, size = encode(pa.chunked_array([*released[0].chunks, *released[1].chunks]), "secret")
    held = []
    for own, values in zip(classes, (codes[:n], codes[n:]), strict=True):
        there = np.flatnonzero(values >= 0)
        ones = np.ones(len(there), bool)
        shape = int(own.max()) + 1, size
        held.append(sparse.csr_array((ones, (own[there], values[there])), shape=shape))
    first = np.unique(both, return_index=True)[1]
    rows = [own[first] for own in classes]
    # Each class has a value or has it not.
    number = [np.asarray(one.astype(np.int64).sign().sum(axis=1)).ravel() for one in held]
    common = held[0][rows[0]].multiply(held[1][rows[1]])
    shared = np.asarray(common.astype(np.int64).sign().sum(axis=1)).ravel()
    enough = np.minimum(number[0][rows[0]], number[1][rows[1]]) >= l
    # Where nothing is shared, values were changed, and what they tell is not this.
    return ((shared > 0) & (shared < l) & enough)[both]


def _narrowed(one: Reading, other: Reading) -> tuple[int, int]:
    """Count the cells whose labels together cover fewer values than either, and one value."""
    n = one.n_values
    step = max(1, _BLOCK // max(1, n))
    pairs, number = np.unique(np.stack([one.labels, other.labels]), axis=1, return_counts=True)
    covers = [_covered(reading) for reading in (one, other)]
    narrowed = single = 0
    for start in range(0, pairs.shape[1], step):
        some = pairs[:, start : start + step]
        parts = [fits[:, label] for fits, label in zip(covers, some, strict=True)]
        left = (parts[0] & parts[1]).sum(axis=0)
        alone = np.minimum(parts[0].sum(axis=0), parts[1].sum(axis=0))
        finer = (left < alone) & (left > 0)
        counts = number[start : start + step]
        narrowed += int(counts[finer].sum())
        single += int(counts[finer & (left == 1)].sum())
    return narrowed, single


def _covered(reading: Reading) -> np.ndarray:
    """Return whether each value is covered by each label; the last label tells nothing."""
    return reading.fits(np.arange(reading.n_values))


def _alike(one: pa.Table, other: pa.Table) -> list[np.ndarray]:
    """Return the columns that two releases show alike in all rows, as numbers."""
    found = []
    for name in one.column_names:
        if name in other.column_names and one[name].equals(other[name]):
            found.append(encode(one[name], name)[0] + 1)
    return found
