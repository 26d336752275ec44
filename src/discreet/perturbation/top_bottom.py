"""Top and bottom coding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import ColumnMethod
from discreet.outcome import Rounder
from discreet.parameters import Constraints, number
from discreet.plan import ColumnPlan
from discreet.table.summary import Summary

_BOUND = number(wanted="a finite number", optional=True, by_column=True)


@dataclass(eq=False, repr=False)
class TopBottom(ColumnMethod):
    """Replace values beyond a bound by the bound.

    Parameters
    ----------
    lower, upper : float, mapping of str to float, or None
        Smallest and largest value to release; by column where a mapping. A column that a mapping
        does not name has no such bound. At least one of the two must be given.

    Attributes
    ----------
    plan_ : dict of str to dict
        Bounds of each column, and how many values lay beyond them.

    See Also
    --------
    discreet.rounding.OMA : for a minimum number of records per released value.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.array([[17.0], [45.0], [103.0]])
    >>> TopBottom(upper=90).fit_transform(ages).ravel()
    array([17., 45., 90.])
    """

    recipe_name: ClassVar[str] = "top-bottom"
    takes_dates: ClassVar[bool] = False
    in_words: ClassVar[str] = "values beyond a bound are replaced by the bound"
    caveat: ClassVar[str] = (
        "values at a bound stand for all beyond it: means and variances of the column come out too "
        "small; use medians, or models for censored values"
    )
    published: ClassVar[tuple[str, ...]] = ("lower", "upper")
    constraints: ClassVar[Constraints] = {"lower": _BOUND, "upper": _BOUND}

    lower: float | Mapping[str, float] | None = None
    upper: float | Mapping[str, float] | None = None

    @property
    def promise(self) -> str | None:
        """No released value beyond the bounds."""
        return "within-bounds"

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Keep the parameters, which say all that there is to decide."""
        return {}

    def check_params(self) -> None:
        """Refuse missing and unordered bounds."""
        super().check_params()
        if self.lower is None and self.upper is None:
            raise BadInput("top-bottom needs a bound: give lower, upper or both")
        by_column = [bound for bound in (self.lower, self.upper) if isinstance(bound, Mapping)]
        for column in set[str]().union(*by_column) if by_column else {""}:
            lower, upper = self._bounds(column)
            if lower > upper:
                raise BadInput(f"lower = {lower:g} is above upper = {upper:g}")

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse a column without a bound."""
        super().check_treated(columns)
        for column in columns:
            self._bounds(column)

    def _bounds(self, column: str) -> tuple[float, float]:
        lower, upper = (
            bound.get(column) if isinstance(bound, Mapping) else bound
            for bound in (self.lower, self.upper)
        )
        if lower is None and upper is None:
            raise BadInput(f"top-bottom has neither lower nor upper for column '{column}'")
        return (-np.inf if lower is None else lower, np.inf if upper is None else upper)

    def decide(self, summary: Summary, column: str) -> ColumnPlan:
        """Take the bounds, and count what lies beyond them."""
        lower, upper = self._bounds(column)
        return {
            "kind": "clip",
            "lower": None if np.isinf(lower) else float(lower),
            "upper": None if np.isinf(upper) else float(upper),
            "below": int(summary.counts[summary.values < lower].sum()),
            "above": int(summary.counts[summary.values > upper].sum()),
        }

    def decide_rounded(
        self, summary: Summary, column: str, draws: Draws, rounded: Rounder
    ) -> ColumnPlan:
        """Refuse bounds that the column cannot hold: rounded, they could lie beyond themselves."""
        for bound in self._bounds(column):
            if np.isfinite(bound) and rounded(column, np.array([bound]))[0] != bound:
                raise BadInput(
                    f"the bound {bound:g} has more decimals than column '{column}'; "
                    'round it, or set precision = "full"'
                )
        return self.decide(summary, column)

    def apply(self, plan: ColumnPlan, values: np.ndarray, draws: Draws) -> np.ndarray:
        """Clip to the bounds; NaN stays."""
        return np.clip(values, plan["lower"], plan["upper"])
