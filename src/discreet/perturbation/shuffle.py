"""Shuffling: the values of a column in random order."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.draws import Draws
from discreet.method import RowBound, as_arrow, as_given
from discreet.outcome import Given, Outcome
from discreet.unchanged import warn_unchanged

# Among few categories a random order leaves many values as they were: told past this share.
MOST = 0.5
_WHY = "most of them are equal, or they are few; take another method, or suppress the column"


class Shuffle(RowBound):
    """Put the values of each column in random order.

    Each column keeps its values exactly, and loses all relation to the other columns. Any kind of
    column can be shuffled.

    Parameters
    ----------
    together : bool
        False: each column by itself. True: the columns in one order, so that they keep their
        relations to each other and lose those to the rest of the table.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    plan_ : dict
        Under `columns`, for each column: `rows`, the row that each row's value came from.

    See Also
    --------
    RankSwap : swaps near values only, and keeps much of the relations.

    Notes
    -----
    Nulls stay. Together, records are shuffled among those with nulls in the same columns, so one
    that no other shares its nulls with keeps its values; a warning counts such records. Another
    names the share of a column's values that came out unchanged where that is above a half.

    This is a plain permutation, not the data shuffling of Muralidhar and Sarathy (2006), which
    keeps correlations by a model.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "m", "m", None], "age": [31, 45, 28, 70]})
    >>> shuffled = Shuffle(random_state=3).fit_transform(people)
    >>> sorted(shuffled["age"].to_pylist()), shuffled["sex"][3].as_py()
    ([28, 31, 45, 70], None)
    """

    recipe_name: ClassVar[str] = "shuffle"
    anew: ClassVar[str] = "it exchanges values between the earlier records"
    amount: ClassVar[float] = math.inf
    effect: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    in_words: ClassVar[str] = "the values were put in random order"
    caveat: ClassVar[str] = (
        "values were exchanged between records at random: the column by itself is exact, and its "
        "relations to columns that were not exchanged with it mean nothing"
    )
    published_with_noise: ClassVar[tuple[str, ...]] = ("together",)

    def __init__(self, *, together: bool = False, random_state: Any = None) -> None:
        self.together = together
        self.random_state = random_state

    @property
    def by_column(self) -> bool:
        """Each has its own order, unless they are shuffled together."""
        return not self.together

    def _run(self, given: Given) -> Outcome:
        """Shuffle each column, or all in one order."""
        columns, draws = given.columns, given.draws
        nulls = {name: np.asarray(column.is_null()) for name, column in columns.items()}
        if self.together:
            order = _within(_patterns(list(nulls.values())), draws(next(iter(columns))))
            rows = {
                name: np.where(null, np.arange(len(null)), order) for name, null in nulls.items()
            }
        else:
            rows = {name: _present(null, draws(name)) for name, null in nulls.items()}
        new = {name: columns[name].take(pa.array(rows[name])) for name in columns}
        for name, column in columns.items():
            warn_unchanged(_share_unchanged(column, new[name], rows[name]), _WHY, name, MOST)
        plans = {name: {"kind": "sources", "rows": rows[name]} for name in columns}
        return Outcome(new, plans, {"kind": "sources"})

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Shuffle the columns of a table or array of any kinds; the same kind comes back.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : ignored
        """
        self.check_params()
        table = as_arrow(self, X, reset=True)
        outcome = self.run({c: table[c] for c in table.column_names}, self._draws)
        self._learned(outcome)
        return as_given(X, pa.table(outcome.columns), set(table.column_names))


def _share_unchanged(before: pa.ChunkedArray, after: pa.ChunkedArray, rows: np.ndarray) -> float:
    """Return the share of the values, nulls apart, that are as they were."""
    present = len(before) - before.null_count
    try:
        same = pc.sum(pc.equal(before, after)).as_py() or 0
    except pa.ArrowNotImplementedError:  # lists and the like: those that did not move
        same = int((rows == np.arange(len(rows))).sum()) - before.null_count
    return same / present if present else 0.0


def _present(null: np.ndarray, draws: Draws) -> np.ndarray:
    """Shuffle the rows that are not null."""
    rows = np.arange(len(null))
    present = rows[~null]
    rows[present] = present[draws.permutation(len(present))]
    return rows


def _patterns(nulls: list[np.ndarray]) -> np.ndarray:
    """Return each row the number of the set of columns in which it has nulls."""
    pattern = np.zeros(len(nulls[0]), dtype=np.int64)
    for null in nulls:
        if null.any():
            _, pattern = np.unique(2 * pattern + null, return_inverse=True)
    return pattern


def _within(group: np.ndarray, draws: Draws) -> np.ndarray:
    """Shuffle the rows of each group among themselves."""
    alone = int((np.bincount(group) == 1).sum())
    if alone:
        warnings.warn(
            f"{alone} records are the only ones with nulls in just their columns, and keep their "
            "values; shuffle fewer columns together",
            stacklevel=3,
        )
    rows = np.empty(len(group), dtype=np.int64)
    rows[np.argsort(group, kind="stable")] = np.lexsort((draws.words(np.arange(len(group))), group))
    return rows
