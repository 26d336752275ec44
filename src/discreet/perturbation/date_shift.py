"""Date shifting: all dates of a person or household move by one random number of days."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import RowBound, as_arrow, as_given
from discreet.outcome import Counted, Decision, Given, Outcome, Rounder, as_computed
from discreet.parameters import Constraints, Rule, is_whole
from discreet.plan import ColumnPlan, JointPlan
from discreet.table.keys import row_numbers
from discreet.table.ranges import days_held, nanoseconds

_MOST_DAYS = 1_000_000


class DateShift(RowBound):
    """Move all dates of a person by one random number of days.

    Intervals between the dates of a person are kept exactly, over all rows and over all columns
    that are treated together. Times of day stay as they are, but for summer time in columns with a
    zone.

    Parameters
    ----------
    days : int
        Largest shift. Each shift of 1 to so many days, back or forth, is equally likely. None
        stays in place: a date that did would be released as it is.
    keep_weekday : bool
        Move by whole weeks, so that Mondays stay Mondays. `days` must then be 7 or more.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    plan_ : dict
        `days`, `keep_weekday`, and under `columns` what was shifted.

    See Also
    --------
    Noise : moves each date by itself, and loses the intervals.

    Notes
    -----
    In a recipe all rows of a household move together, or else those of a unit; without either role
    each row moves by itself. Nulls stay.

    A date that is known of a person gives the shift away, and with it all other dates; a rare
    pattern of intervals may tell who it is. Shift dates in addition to other protection.

    Examples
    --------
    >>> import datetime as dt
    >>> import pyarrow as pa
    >>> stays = pa.table({"admitted": [dt.date(2024, 3, 1), dt.date(2024, 5, 1)],
    ...                   "discharged": [dt.date(2024, 3, 9), None]})
    >>> moved = DateShift(days=30, random_state=1).fit_transform(stays, units=["ann", "ann"])
    >>> (moved["discharged"][0].as_py() - moved["admitted"][0].as_py()).days
    8
    >>> (moved["admitted"][1].as_py() - moved["admitted"][0].as_py()).days
    61
    """

    recipe_name: ClassVar[str] = "date-shift"
    anew: ClassVar[str] = "its shifts are drawn anew"
    effect: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True
    steady: ClassVar[bool] = True
    draws_by: ClassVar[Literal["row", "person", "counted"]] = "person"
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    in_words: ClassVar[str] = (
        "all dates of a person were moved by one random number of days, so that the time between "
        "them is kept"
    )
    caveat: ClassVar[str] = (
        "all dates of a person were moved by the same random number of days: the time between two "
        "dates of a person is exact, but calendar dates, seasons and who came first of two persons "
        "mean nothing within the largest shift; do not join the dates with calendars or other "
        "tables"
    )
    published_with_noise: ClassVar[tuple[str, ...]] = ("days", "keep_weekday")
    constraints: ClassVar[Constraints] = {
        "days": Rule(
            wanted=f"a whole number from 1 to {_MOST_DAYS:,}",
            good=lambda x: is_whole(x, 1) and x <= _MOST_DAYS,
            bounds={"minimum": 1, "maximum": _MOST_DAYS},
        )
    }

    def __init__(self, days: int, *, keep_weekday: bool = False, random_state: Any = None) -> None:
        self.days = days
        self.keep_weekday = keep_weekday
        self.random_state = random_state

    @property
    def amount(self) -> float:
        """A month is little."""
        return self.days / 31

    def check_params(self) -> None:
        """Refuse whole weeks in less than a week."""
        super().check_params()
        if self.keep_weekday and self.days < 7:
            raise BadInput(
                f"keep_weekday moves by whole weeks, but days = {self.days}; set 7 or more"
            )

    @property
    def bound_to_memory(self) -> str | None:
        """There is nothing to count."""
        return None

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide nothing beyond the parameters."""
        return Decision(self._plans(columns), self._treat, self._joint)

    def _run(self, given: Given) -> Outcome:
        """Move the dates."""
        new = self._treat(given.columns, given.draws, given.rounded).columns
        return Outcome(new, self._plans(new), self._joint)

    def _plans(self, columns: Any) -> dict[str, ColumnPlan]:
        return {name: {"kind": "shift"} for name in columns}

    @property
    def _joint(self) -> JointPlan:
        return {"kind": "shift", "days": int(self.days), "keep_weekday": bool(self.keep_weekday)}

    def _treat(
        self,
        columns: Mapping[str, pa.ChunkedArray],
        draws: Callable[[str], Draws],
        rounded: Rounder,
    ) -> Outcome:
        rows = np.arange(len(next(iter(columns.values()))))
        step = 7 if self.keep_weekday else 1
        # 0, 1, ... are the steps back and forth, without that of length 0.
        most = self.days // step
        # All columns share one draw, so that intervals between columns are kept too.
        terms = ["date-shift", str(int(self.days)), str(step)]
        # By person and not by date: whoever comes in two releases is moved by as much in both.
        by = draws(next(iter(columns))).under(*terms, by_cell=False)
        drawn = np.floor(by.uniform(rows) * (2 * most)).astype(np.int64) - most
        shift = step * np.where(drawn < 0, drawn, drawn + 1)
        return Outcome({name: self._moved(name, c, shift) for name, c in columns.items()}, {})

    def _moved(self, name: str, column: pa.ChunkedArray, shift: np.ndarray) -> pa.ChunkedArray:
        """Add days to the integers that dates are kept as."""
        kind = column.type
        if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            raise BadInput(f"column '{name}' holds {kind}, not dates; date-shift takes dates only")
        storage = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        mask = column.is_null().to_numpy()
        stored = column.cast(storage).cast(pa.int64()).fill_null(0).to_numpy()
        per_day = 86_400 * 10**9 // nanoseconds(kind)
        day, (first, last) = stored // per_day, days_held(kind)
        # Whatever is drawn: that a run succeeds must not hang on its seed.
        outside = ~mask & ((day - self.days < first) | (day + self.days > last))
        if outside.any():
            raise BadInput(
                f"column '{name}' holds {np.datetime64(int(day[outside][0]), 'D')}, which {kind} "
                f"cannot move by {self.days:,} days; mark such dates as missing (null_markers), or "
                "lower days"
            )
        new = pa.array(stored + per_day * shift, mask=mask)
        return pa.chunked_array([new.cast(storage).cast(kind)])

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> Any:
        """Move the dates of a table; the same kind of table comes back.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Columns of dates or datetimes.
        y : ignored
        units : array of shape (n_samples,), optional
            The person of each row, as whole numbers or text; each row by itself where not given.
        """
        self.check_params()
        table = as_arrow(self, X, reset=True)
        draws = self._draws
        if units is not None:
            keys = row_numbers(pa.chunked_array([pa.array(units)]), "units")
            if len(keys) != len(table):
                raise BadInput(f"units has {len(keys):,} values for {len(table):,} rows")
            draws = lambda name: self._draws(name).at(keys)  # noqa: E731
        outcome = self.run({c: table[c] for c in table.column_names}, draws)
        self._learned(outcome)
        return as_given(X, pa.table(outcome.columns), set(table.column_names))
