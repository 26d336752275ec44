"""What a released cell says of a person's value: the one reading that all attacks share.

A released interval fits the values in it, a label those that a hierarchy has under it, a value
itself. A star and a null tell nothing, and nothing can be told of a person's null. What a cell
says of a value is a log likelihood ratio: log(1 / share of the people whom the cell fits) where it
fits, and a penalty where it does not, which is finite because cells may have been changed. A
number that was moved is near the original's: how near is known to whoever knows the method. The
scores of several columns are added up.

The intruder knows the method and not the seed (Kerckhoffs). What is known of the method is read
off the original beside the release, as few figures of a column: how far numbers were moved, how
many cells were changed. Where the rows do not show it, because they are in another order or have
nothing to do with each other, cells are taken at their word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from discreet.attacks._near import ALL, Some, Table, near
from discreet.errors import BadInput, nearest
from discreet.generalization.hierarchy import Hierarchy
from discreet.table.columns import float_values, kind_of
from discreet.table.pairs import as_table, as_tables
from discreet.utility.compared import as_text, check_rows
from discreet.utility.covers import TOP, Covers, covers_of, leaves_of, range_of

# Cells that do not fit, where the rows do not show how many: one in a hundred.
_WRONG = 0.01
_FEWEST_WRONG = 1e-3
# So many pairs of values and labels are looked at in one go.
_BLOCK = 2**22
# Less than this above chance is no sign that rows belong together.
_EVIDENT = 0.05
# Calendar periods that a released date may have become.
_PERIODS = ["day", "month", "quarter", "year", "decade"]


@dataclass(frozen=True)
class Reading:
    """A column before and after, and what its released cells say of values.

    Values are numbered 0, 1, ... (null is `n_values`), and so are labels, which are the distinct
    cells of the release (`n_labels` is what tells nothing: a star, a null).
    """

    name: str
    values: np.ndarray  # the value of each person of the original
    held: np.ndarray  # of each person of the holdout
    labels: np.ndarray  # the label of each released record
    n_values: int
    n_labels: int
    # Of some values and all labels: whether they fit, and the scores.
    _fits: Table
    _scores: Table
    known: Any = ()  # the values themselves, in their order
    said: Any = ()  # the labels themselves
    # Of a column of numbers, the middle of the people whom each label fits; else None.
    middles: np.ndarray | None = None

    def fits(self, values: np.ndarray) -> np.ndarray:
        """Tell which labels fit which values: (values, labels and one more) of bool.

        What tells nothing fits everything; a null fits nothing else.
        """
        found = np.zeros((len(values), self.n_labels + 1), bool)
        given = values < self.n_values
        found[given, :-1] = self._fits(values[given])
        found[:, -1] = True
        return found

    def fit_some(self, values: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Tell which of some labels fit which values: (values, labels) of bool."""
        found = np.zeros((len(values), len(labels)), bool)
        given = values < self.n_values
        found[given] = self._fits(values[given], labels)
        return found

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Score labels for values: (values, labels and one more) of float32, 0 for nothing."""
        found = np.zeros((len(values), self.n_labels + 1), np.float32)
        given = values < self.n_values
        found[given, :-1] = self._scores(values[given])
        return found

    def likeliest(self, values: np.ndarray) -> np.ndarray:
        """Return the label that each of some values was most likely released with."""
        counts = np.bincount(self.labels, minlength=self.n_labels + 1)[:-1]
        distinct, place = np.unique(values, return_inverse=True)
        found = np.full(len(distinct), self.n_labels)
        if not counts.any():
            return found[place]
        with np.errstate(divide="ignore"):
            often = np.log(counts).astype(np.float32)
        step = max(1, _BLOCK // self.n_labels)
        for first in range(0, len(distinct), step):
            part = slice(first, first + step)
            found[part] = (self.scores(distinct[part])[:, :-1] + often).argmax(axis=1)
        found[distinct == self.n_values] = self.n_labels
        return found[place]


@dataclass(frozen=True)
class Tables:
    """The tables of an attack, the same rows in the first two."""

    original: pa.Table
    protected: pa.Table
    holdout: pa.Table | None

    @property
    def shared(self) -> list[str]:
        """The columns that all of them have."""
        others = [one for one in (self.protected, self.holdout) if one is not None]
        return [c for c in self.original.column_names if all(c in o.column_names for o in others)]


def tables_of(original: Any, protected: Any, holdout: Any = None) -> Tables:
    """Return the tables of an attack as Arrow's; refuse those that do not belong together."""
    before, after = as_tables(original, protected)
    check_rows(before, after)
    if before.num_rows == 0:
        raise BadInput("there is nobody to attack: the original has no rows")
    if holdout is None:
        return Tables(before, after, None)
    held = as_table(holdout)
    if isinstance(holdout, np.ndarray | list | tuple) and held.num_columns == before.num_columns:
        held = held.rename_columns(before.column_names)
    if held.num_rows == 0:
        raise BadInput("the holdout has no rows; leave it out, or give people not in the release")
    return Tables(before, after, held)


def check_known(tables: Tables, columns: Sequence[str], what: str = "known") -> None:
    """Refuse columns that one of the tables does not have."""
    if isinstance(columns, str):
        raise BadInput(f"{what} must be a list, such as ['{columns}']")
    if not columns:
        raise BadInput(f"{what} is empty; name at least one column")
    sides = {"original": tables.original, "release": tables.protected, "holdout": tables.holdout}
    for name in columns:
        for side, table in sides.items():
            if table is not None and name not in table.column_names:
                hint = nearest(name, table.column_names)
                raise BadInput(f"{what} names '{name}', which the {side} does not have; {hint}")
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if list(columns).count(name) > 1)
        raise BadInput(f"{what} names '{twice}' twice")


def reading_of(
    tables: Tables, name: str, hierarchy: Hierarchy | None = None, drawn: bool = False
) -> Reading:
    """Read a column.

    Parameters
    ----------
    tables : Tables
    name : str
    hierarchy : Hierarchy, optional
        What its labels cover.
    drawn : bool
        Its numbers were moved at random, even where they look as if they were not, such as
        swapped ones.

    Examples
    --------
    >>> before = pa.table({"age": [31, 38, 45, 52]})
    >>> after = pa.table({"age": ["30-39", "30-39", "45", "*"]})
    >>> reading = reading_of(tables_of(before, after), "age")
    >>> reading.fits(reading.values).astype(int).tolist()
    [[1, 0, 1, 1], [1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]]
    >>> reading.scores(reading.values[:1])[0, :3].round(1).tolist()
    [0.699..., -6.9..., 0.0]
    """
    before, after, held = _columns(tables, name)
    n, extra = len(before), 0 if held is None else len(held)
    numbers = kind_of(before.type) == kind_of(after.type) == "numeric"
    if kind_of(before.type) == "numeric" and not numbers:
        if pa.types.is_temporal(before.type):
            hierarchy = hierarchy or _calendar(after, name)
        if hierarchy is not None and _has_names(after, name):
            before, held = as_text(before, name), None if held is None else as_text(held, name)
    if numbers:
        # Dates are numbers here, too.
        before, after = _numbers(before, name), _numbers(after, name)
        held = None if held is None else _numbers(held, name)
    # Beside people of the holdout nothing is released.
    everybody = before if held is None else _chained([before, held])
    released = _chained([after, pa.nulls(extra, after.type)]) if extra else after
    covers = covers_of(everybody, released, name, hierarchy)
    if pa.types.is_temporal(everybody.type):
        moments = float_values(everybody, name)
        covers = replace(covers, known=np.unique(moments[~np.isnan(moments)]))
    size, labels = len(covers.top), covers.y[:n]
    middles: np.ndarray | None
    if numbers:
        _refuse_infinite(covers, name)
    if numbers and size and len(covers.known) and (drawn or not covers.truthful):
        known, told = np.asarray(covers.known), np.asarray(covers.labels)
        fits, scores = near(known, told, covers.x[:n], labels)
        middles = told
    else:
        fits, scores, blank = _inside(covers, n, _unread(covers, name, hierarchy))
        middles = _middles(covers, n)
        labels = np.where(np.append(blank, True)[labels], size, labels)
    return Reading(
        name,
        covers.x[:n],
        covers.x[n:],
        labels,
        len(covers.counts) - 1,
        size,
        fits,
        scores,
        covers.known,
        covers.labels,
        middles,
    )


def _numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if not pa.types.is_temporal(column.type):
        return column
    return pa.chunked_array([pa.array(float_values(column, name), from_pandas=True)])


def _has_names(column: pa.ChunkedArray, name: str) -> bool:
    """Tell whether released labels are more than numbers and ranges of them."""
    texts = pc.unique(as_text(column, name).drop_null()).to_pylist()
    return pa.types.is_temporal(column.type) or any(
        text != TOP and range_of(text) is None for text in texts
    )


def _calendar(column: pa.ChunkedArray, name: str) -> Hierarchy:
    """Return the periods that released dates may be of; weeks are parts of no other."""
    weeks = pc.any(pc.match_substring(as_text(column, name), "-W")).as_py()
    return Hierarchy.dates(levels=["day", "week"] if weeks else _PERIODS)


def _columns(
    tables: Tables, name: str
) -> tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray | None]:
    before, after = (_plain(table[name]) for table in (tables.original, tables.protected))
    if tables.holdout is None:
        return before, after, None
    held = _plain(tables.holdout[name])
    if held.type != before.type:
        try:
            held = held.cast(before.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            if kind_of(held.type) == kind_of(before.type) == "numeric":
                return before.cast(pa.float64()), after, held.cast(pa.float64())
            raise BadInput(
                f"column '{name}' is {kind_of(before.type)} in the original and "
                f"{kind_of(held.type)} in the holdout; read both alike"
            ) from None
    return before, after, held


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionary or NaN; one without any value is text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    return column.cast(pa.large_string()) if pa.types.is_null(column.type) else column


def _chained(columns: Sequence[Any]) -> pa.ChunkedArray:
    kind = columns[0].type
    parts = [c for one in columns for c in (one.chunks if hasattr(one, "chunks") else [one])]
    return pa.chunked_array(parts, kind)


def _refuse_infinite(covers: Covers, name: str) -> None:
    if not (np.isfinite(covers.known).all() and np.isfinite(covers.labels).all()):
        raise BadInput(f"column '{name}' holds infinity, which is near nothing; make it null")


Parts = tuple[Table, Table, np.ndarray]


def _inside(covers: Covers, n: int, unread: np.ndarray) -> Parts:
    """Read labels that cover values: a fit counts by how few it could be."""
    x, y = covers.x[:n], covers.y[:n]
    # People of the original whom each label fits: the holdout is no part of the release.
    people = np.bincount(x, minlength=len(covers.counts))[:-1]
    covered, mass = _fitting(covers, people)
    share = mass / max(1, people.sum())
    blank = covers.top | _unseen(covers, n, share, unread)
    both = (x < len(covers.counts) - 1) & ~np.append(blank, True)[y]
    right = _pairs_fit(covered, x[both], y[both])
    kept = _above_chance(right, share[y[both]])
    wrong = _WRONG if kept <= _EVIDENT else max(_FEWEST_WRONG, 1 - kept)
    fit = np.log((1 - wrong) / np.maximum(share, 1 / max(1, n)) + wrong).astype(np.float32)
    not_fit = np.float32(np.log(wrong))

    def fits(values: np.ndarray, labels: Some = ALL) -> np.ndarray:
        return covered(values, labels) | blank[labels]

    def scores(values: np.ndarray) -> np.ndarray:
        return np.where(blank, np.float32(0), np.where(covered(values), fit, not_fit))

    return fits, scores, blank


def _fitting(covers: Covers, people: np.ndarray) -> tuple[Table, np.ndarray]:
    """Return the function that says which labels cover some values, and how many people that is.

    `people` are those of each value.
    """
    if covers.start is not None and covers.end is not None:
        spoken = not isinstance(covers.labels, np.ndarray)
        start, end = (covers.start, covers.end) if spoken else _steps(covers)
        upto = np.append(0, np.cumsum(people))

        def between(values: np.ndarray, labels: Some = ALL) -> np.ndarray:
            return (start[labels] <= values[:, None]) & (values[:, None] < end[labels])

        return between, upto[end] - upto[start]
    assert covers.values is not None
    assert covers.ends is not None
    label = np.repeat(np.arange(len(covers.top)), np.diff(covers.ends, prepend=0))
    ones, shape = np.ones(len(label)), (len(people), len(covers.top))
    table = sparse.csr_array((ones, (covers.values, label)), shape=shape)

    def under(values: np.ndarray, labels: Some = ALL) -> np.ndarray:
        return np.asarray(table[values][:, labels].toarray() > 0)

    return under, people @ table


def _middles(covers: Covers, n: int) -> np.ndarray | None:
    """Return the median of the people whom each label covers; NaN where there are none."""
    if covers.start is None or covers.end is None or not len(covers.known):
        return None
    upto = np.append(0, np.cumsum(np.bincount(covers.x[:n], minlength=len(covers.counts))[:-1]))
    first, last = upto[covers.start], upto[covers.end]
    place = np.searchsorted(upto, (first + last) / 2, side="right") - 1
    found = np.asarray(covers.known)[np.clip(place, 0, len(covers.known) - 1)]
    return np.where(last > first, found, np.nan)


def _steps(covers: Covers) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that each step of released numbers stands for, with those between.

    Values that nobody of the original has go to the nearer step; where numbers are as they were,
    a step is the number itself.
    """
    assert covers.start is not None
    assert covers.end is not None
    start, end = covers.start.copy(), covers.end.copy()
    held = np.flatnonzero(end > start)
    same = np.isin(covers.labels[held], covers.known).all()
    if not len(held) or (same and (end[held] - start[held] == 1).all()):
        return start, end
    between = (end[held][:-1] + start[held][1:] + 1) // 2
    end[held[:-1]] = np.maximum(end[held][:-1], between)
    start[held[1:]] = np.minimum(start[held][1:], between)
    start[held[0]], end[held[-1]] = 0, len(covers.counts) - 1
    return start, end


def _pairs_fit(fits: Table, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Tell for which of some released cells (2,000 are enough to know) the own value fits."""
    step = max(1, len(x) // 2000)
    x, y = x[::step], y[::step]
    found = np.empty(len(x), bool)
    for first in range(0, len(x), 200):
        part = slice(first, first + 200)
        found[part] = fits(x[part])[np.arange(len(x[part])), y[part]]
    return found


def _above_chance(right: np.ndarray, chance: np.ndarray) -> float:
    """Return the share of right ones, as a share of what chance leaves to be right."""
    if not len(right):
        return 1.0
    by_chance = float(np.mean(chance))
    return 1.0 if by_chance >= 1 else float((right.mean() - by_chance) / (1 - by_chance))


def _unseen(covers: Covers, n: int, share: np.ndarray, unread: np.ndarray) -> np.ndarray:
    """Mark labels of which nothing is known but whom they were released for, where that is chance.

    A label that is no value, no range and in no hierarchy covers what was seen under it. That
    must not tell a person's value just because it was theirs: others must have it too.
    """
    x, y = covers.x[:n], covers.y[:n]
    asked = (x < len(covers.counts) - 1) & np.append(unread, False)[y]
    if not asked.any():
        return unread
    x, y = x[asked], y[asked]
    _, place, count = np.unique(y * len(covers.counts) + x, return_inverse=True, return_counts=True)
    others = count[place] > 1
    if covers.start is not None and covers.end is not None:
        others |= (covers.start[y] < x) & (x < covers.end[y] - 1)
    evident = _above_chance(others, share[y]) > _EVIDENT
    return np.zeros(len(unread), bool) if evident else unread


def _unread(covers: Covers, name: str, hierarchy: Hierarchy | None) -> np.ndarray:
    """Mark labels that are neither a value nor a range, and in no hierarchy."""
    if isinstance(covers.labels, np.ndarray):  # Numbers speak for themselves.
        return np.zeros(len(covers.top), bool)
    if covers.start is not None:
        return np.array([range_of(label) is None for label in covers.labels], bool) & ~covers.top
    own = pc.is_in(covers.labels, value_set=covers.known).to_numpy(zero_copy_only=False)
    found = ~own & ~covers.top
    found[leaves_of(covers.labels, covers.known, name, hierarchy)[0]] = False
    return found
