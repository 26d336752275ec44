"""Known members: whoever knows all other values of a group gets the last one from its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.attacks._excess import percent
from discreet.risk.informed_values import informed_values
from discreet.risk.interval import WIDTH


@dataclass(frozen=True)
class KnownMembers:
    """The share of values, by column, that follow from a mean and k - 1 known values."""

    width: float
    columns: dict[str, float]

    @property
    def value(self) -> float:
        """The largest share of a column."""
        return max(self.columns.values(), default=0.0)

    @property
    def said(self) -> str:
        """The result in a sentence."""
        if not self.columns:
            return "No column is released as means of groups."
        name = max(self.columns, key=self.columns.__getitem__)
        return (
            f"Who knows the values of k - 1 people of a group, such as members who put theirs "
            f"together, gets the last one of it for {percent(self.columns[name])} % of the values "
            f"of '{name}', to within {self.width:g} standard deviations: k times the released mean "
            "less what is known. A larger k takes more people who do that."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"value": self.value, "columns": self.columns, "said": self.said}


def known_members(
    original: Any, protected: Any, recipe: Any, *, width: float = WIDTH
) -> KnownMembers:
    """Measure how many values follow from released means for k - 1 members who put theirs together.

    It is what `informed_values` finds of members, by column.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    recipe : Recipe, or sequence of pairs of a method and its columns
        What was done, such as `[(Microaggregation(k=3), ["income"])]`.
    width : float
        A value is found within so many standard deviations of the released column.

    Returns
    -------
    KnownMembers

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.microaggregation import Microaggregation
    >>> pay = np.array([[10.0], [11.0], [15.0], [90.0], [95.0], [97.0]])
    >>> groups = Microaggregation(k=3)
    >>> known_members(pay, groups.fit_transform(pay), [(groups, ["x0"])]).columns
    {'x0': 1.0}
    """
    found = informed_values(original, protected, recipe, width=width, detail=True)
    members = {name: one.members for name, one in found.columns.items()}
    return KnownMembers(width, {name: x for name, x in members.items() if x is not None})
