"""Points of a front: a recipe, its risk and loss on fresh seeds, and what it does in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.recipe.recipe import Recipe

# An intruder who finds fewer than one in twenty, where no other bound is given.
SAFE = 0.05


@dataclass(frozen=True)
class Axis:
    """What a front is drawn by: a figure that is to be small, and the bound that it should keep."""

    name: str
    bound: float | None = None
    # "share": in 0..1 and told in per cent; "": told as it is.
    unit: str = ""
    # The largest value there is, if there is one.
    top: float | None = None

    def say(self, value: float) -> str:
        """Return a value as people read it; one beyond the bound does not look like the bound.

        Examples
        --------
        >>> Axis("linkage", unit="share").say(0.0384), Axis("information loss").say(0.4149)
        ('3.8 %', '0.41')
        >>> Axis("linkage", 0.05, "share").say(0.0502)
        '5.02 %'
        """
        digits = 2
        if self.bound is not None and value > self.bound:
            while digits < 6 and self._written(value, digits) == self._written(self.bound, digits):
                digits += 1
        return self._written(value, digits)

    def _written(self, value: float, digits: int) -> str:
        if self.unit == "share":
            return rounded(100 * value, digits) + " %"
        return rounded(value, digits)


@dataclass(frozen=True)
class Point:
    """A recipe and what it costs.

    Attributes
    ----------
    name : str
        Its number on the front, from the safest: "01".
    recipe : Recipe
        Ready for `protect`: a secret seed is drawn there.
    risk, loss : float
        Means over fresh seeds.
    words : list of str
        What becomes of the columns.
    measures : dict
        Every measure, as means over fresh seeds.
    columns : dict
        The loss of each column.
    confirmed : dict
        The smallest and the largest risk, and loss, of the fresh seeds.
    parts : dict
        What becomes of each column, for comparisons of points.
    left_out : tuple of str
        The columns that are not released.
    check_ok : bool
        Whether the independent check verified every run.
    """

    name: str
    recipe: Recipe = field(repr=False)
    risk: float
    loss: float
    words: list[str]
    measures: Mapping[str, float] = field(default_factory=dict, repr=False)
    columns: Mapping[str, float] = field(default_factory=dict, repr=False)
    confirmed: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    parts: Mapping[str, str] = field(default_factory=dict, repr=False)
    left_out: tuple[str, ...] = field(default=(), repr=False)
    check_ok: bool = True


def rounded(value: float, digits: int = 2) -> str:
    """Write a number with so many digits that count, and whole above 100.

    Examples
    --------
    >>> [rounded(x) for x in (0, 0.0123, 0.999, 17.26, 96.4, 12345)]
    ['0', '0.012', '1', '17', '96', '12345']
    """
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{float(f'{value:.{digits}g}'):g}"
