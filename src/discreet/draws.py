"""Random draws that depend on a key, a step, a column and a row number, and on nothing else.

Every random method gets its numbers here. A release's key is derived from its secret seed, its
input and its recipe. Because a draw is a function of the row's number and not of earlier draws, the
result is the same on any engine, with any number of threads and in any order of work.
"""

from __future__ import annotations

import hashlib
import secrets
from copy import copy
from typing import Any

import numpy as np

from discreet.kernels.philox import philox

SEED_BITS = 128
# Below this a seed can be found by trying them all, and found seeds undo noise and swapping.
PREDICTABLE_BELOW = 2**64


def secret_seed() -> int:
    """Draw a 128-bit seed from the operating system; its top bit is set, so it is never small."""
    return secrets.randbits(SEED_BITS - 1) | 1 << (SEED_BITS - 1)


def derived(seed: int, *of: str) -> int:
    """Return a seed of 128 bits for one use of a secret; other uses tell nothing of it.

    Examples
    --------
    >>> derived(2024, "one table") == derived(2024, "another table")
    False
    """
    return int.from_bytes(_digest(b"discreet seed", seed, *of), "big")


def _digest(use: bytes, *parts: int | str) -> bytes:
    # Length-prefixed parts: ("1", "2x") and ("12", "x") must not give the same key.
    said = [str(part).encode() for part in parts]
    text = b"".join(len(part).to_bytes(8, "big") + part for part in said)
    return hashlib.blake2b(text, digest_size=16, person=use).digest()


class Seed(int):
    """What all draws of a release go by.

    `project` is what those go by that are to be the same in other releases too, where the recipe
    has a project key.
    """

    project: int | None = None

    @classmethod
    def of(cls, seed: int, project: int | None) -> Seed:
        """Put the two together.

        Examples
        --------
        >>> Seed.of(2024, None) == 2024, Seed.of(2024, 7).project
        (True, 7)
        """
        made = cls(seed)
        made.project = project
        return made


class Draws:
    """The draws of one step and column.

    Parameters
    ----------
    seed : int
        The release's seed, of any size.
    *scope : int or str
        What the draws are for, such as the step's number and the column's name. Different scopes
        give independent draws.

    Examples
    --------
    >>> import numpy as np
    >>> draws = Draws(2024, 1, "income")
    >>> rows = np.arange(4)
    >>> bool((draws.uniform(rows[::-1]) == draws.uniform(rows)[::-1]).all())
    True
    """

    def __init__(self, seed: int, *scope: int | str) -> None:
        self._key = np.frombuffer(_digest(b"discreet draws", seed, *scope), dtype="<u8")
        self._rows: np.ndarray | None = None
        # A project's draws instead, with the numbers of rows, and of their cells, there.
        self._project: tuple[Draws, np.ndarray, np.ndarray] | None = None

    def at(self, rows: np.ndarray) -> Draws:
        """Return the draws of some rows, which then count as 0, 1, ...

        Examples
        --------
        >>> draws, some = Draws(2024, 1, "income"), np.array([7, 3])
        >>> bool((draws.at(some).uniform(np.arange(2)) == draws.uniform(some)).all())
        True
        """
        placed = copy(self)
        placed._rows = rows if self._rows is None else self._rows[rows]
        if self._project is not None:
            steady, numbers, cells = self._project
            placed._project = steady, numbers[rows], cells[rows]
        return placed

    def tied(self, project: int, column: str, numbers: np.ndarray, cells: np.ndarray) -> Draws:
        """Return these draws with those of a project beside them, for `under` to take.

        `numbers` and `cells` say of each row and of each cell which it is, wherever it comes.
        """
        beside = copy(self)
        beside._project = Draws(project, "project", column), numbers, cells
        return beside

    @property
    def is_tied(self) -> bool:
        """True where a project's draws are beside these."""
        return self._project is not None

    def under(self, *terms: str, by_cell: bool = True) -> Draws:
        """Return a project's draws under some terms, by cell or by row; without one, these.

        The same cell has the same draw wherever the terms are the same, and another one where they
        are not: the same noise at two scales would give the original back.

        Examples
        --------
        >>> numbers, rows = np.array([7, 3]), np.arange(2)
        >>> one, other = (Draws(s, 1, "pay").tied(9, "pay", numbers, numbers) for s in (1, 2))
        >>> bool((one.under("0.1").uniform(rows) == other.under("0.1").uniform(rows)).all())
        True
        >>> bool((one.under("0.1").uniform(rows) == other.under("0.2").uniform(rows)).any())
        False
        """
        if self._project is None:
            return self
        steady, numbers, cells = self._project
        own = copy(steady)
        key = _digest(b"discreet terms", *map(int, steady._key), *terms)
        own._key = np.frombuffer(key, dtype="<u8")
        return own.at(cells if by_cell else numbers)

    def apart(self) -> Draws:
        """Return draws by plain numbers, for what is not drawn row by row.

        Examples
        --------
        >>> draws, numbers = Draws(2024, 1, "income"), np.arange(2)
        >>> apart = draws.at(np.array([7, 3])).apart()
        >>> bool((apart.uniform(numbers) == draws.uniform(numbers)).all())
        True
        """
        plain = copy(self)
        plain._rows = plain._project = None
        return plain

    def part(self, number: int) -> Draws:
        """Return draws of one of several parts of a column, which others tell nothing of.

        Examples
        --------
        >>> draws, numbers = Draws(2024, 1, "income"), np.arange(2)
        >>> bool((draws.part(0).words(numbers) == draws.part(1).words(numbers)).any())
        False
        """
        own = self.apart()
        key = _digest(b"discreet part", *map(int, self._key), number)
        own._key = np.frombuffer(key, dtype="<u8")
        return own

    @classmethod
    def from_random_state(cls, random_state: Any, *scope: int | str) -> Draws:
        """Make draws from scikit-learn's `random_state`; None takes a fresh secret."""
        if random_state is None:
            return cls(secret_seed(), *scope)
        if isinstance(random_state, int | np.integer):
            return cls(int(random_state), *scope)
        from sklearn.utils import check_random_state

        words = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
        return cls(int.from_bytes(words.tobytes(), "little"), *scope)

    @property
    def key(self) -> tuple[np.uint64, np.uint64]:
        """The generator's key, for compiled code that draws as it goes."""
        return self._key[0], self._key[1]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers by which some rows draw: their own, or those given to `at`."""
        return rows if self._rows is None else self._rows[rows]

    def words(self, rows: np.ndarray, stream: int = 0) -> np.ndarray:
        """Return one 64-bit word per row number; `stream` numbers several draws of one row."""
        counters = np.ascontiguousarray(self.numbers(rows), dtype=np.uint64)
        return philox(*self.key, counters, np.uint64(stream))

    def uniform(self, rows: np.ndarray, stream: int = 0) -> np.ndarray:
        """Return one uniform number per row, strictly between 0 and 1."""
        return ((self.words(rows, stream) >> np.uint64(12)) + 0.5) * 2.0**-52

    def normal(self, rows: np.ndarray, stream: int = 0) -> np.ndarray:
        """Return one standard normal number per row, by the inverse distribution function."""
        from scipy.special import ndtri

        return ndtri(self.uniform(rows, stream))

    def permutation(self, n: int) -> np.ndarray:
        """Return a random order of 0..n-1: rows sorted by their word."""
        return np.argsort(self.words(np.arange(n)), kind="stable")


def smallest(
    tuples: np.ndarray, words: np.ndarray, needed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest words of rows of the same tuple, as many as it needs, with the tuples.

    Tuples are 0, 1, ..., and `needed` is by tuple. They are returned in order.

    Examples
    --------
    >>> tuples, words = np.array([0, 1, 0, 0]), np.array([7, 5, 3, 9], np.uint64)
    >>> [found.tolist() for found in smallest(tuples, words, np.array([2, 0]))]
    [[0, 0], [3, 7]]
    """
    rows = np.flatnonzero(needed[tuples])
    order = rows[np.lexsort((words[rows], tuples[rows]))]
    sorted_ = tuples[order]
    place = np.arange(len(order)) - np.searchsorted(sorted_, sorted_)
    kept = order[place < needed[sorted_]]
    return tuples[kept], words[kept]
