"""Averaging: noise that is drawn anew in each release of a table averages out over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attacks._excess import Rate, percent
from discreet.errors import BadInput
from discreet.risk.interval import WIDTH
from discreet.risk.values import refuse_infinite, sd
from discreet.table.pairs import numeric_pairs


@dataclass(frozen=True)
class Averaged:
    """A column: how far one release and the mean of all are off, in standard deviations.

    `attack` and `guess` are the values that the mean, and the first release, are near.
    """

    one: float
    mean: float
    attack: Rate
    guess: Rate

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        rates = {"attack": self.attack.to_dict(), "guess": self.guess.to_dict()}
        return {"one": self.one, "mean": self.mean} | rates


@dataclass(frozen=True)
class Averaging:
    """What the mean of several releases tells of values.

    Attributes
    ----------
    releases : int
    width : float
        A value is told where a guess is within so many standard deviations of it.
    columns : dict of str to Averaged
    """

    releases: int
    width: float
    columns: dict[str, Averaged]

    @property
    def attack(self) -> Rate:
        """The cells that the mean of all releases tells."""
        return _summed([one.attack for one in self.columns.values()])

    @property
    def guess(self) -> Rate:
        """The cells that the first release tells by itself."""
        return _summed([one.guess for one in self.columns.values()])

    @property
    def excess(self) -> float:
        """What the other releases add to the first."""
        return self.attack.value - self.guess.value

    @property
    def said(self) -> str:
        """The result in a sentence."""
        if not self.columns:
            return "No column was perturbed in all releases."
        worst = min(self.columns, key=lambda name: _shrunk(self.columns[name]))
        shrunk = _shrunk(self.columns[worst])
        return (
            f"The mean of {self.releases} releases is within {self.width:g} standard deviations of "
            f"{percent(self.attack.value)} % of the values, one release of "
            f"{percent(self.guess.value)} %; what is left of the error is {percent(shrunk)} % in "
            f"'{worst}' (independent noise: "
            f"{percent(self.releases**-0.5)} %)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        columns = {name: one.to_dict() for name, one in self.columns.items()}
        rates = {"attack": self.attack.to_dict(), "guess": self.guess.to_dict()}
        return {
            "releases": self.releases,
            "width": self.width,
            "columns": columns,
            **rates,
            "excess": self.excess,
            "said": self.said,
        }


def averaging(original: Any, releases: Sequence[Any], *, width: float = WIDTH) -> Averaging:
    """Measure how much nearer the mean of several releases is to the original than one of them.

    The intruder has all releases and can join their rows, such as by columns that are the same in
    all of them, and knows nothing else.

    Parameters
    ----------
    original : table or array
    releases : list of tables or arrays
        Two or more, with the original's rows in its order. Numeric columns are looked at that some
        release has changed.
    width : float
        A value is told where a guess is within so many standard deviations of the original column.

    Returns
    -------
    Averaging

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> pay = rng.normal(size=(4000, 1))
    >>> found = averaging(pay, [pay + 0.2 * rng.normal(size=pay.shape) for _ in range(4)])
    >>> round(found.columns["x0"].one, 2), round(found.columns["x0"].mean, 2)
    (0.2, 0.1)
    """
    if len(releases) < 2:
        raise BadInput("averaging takes two or more releases of the same rows")
    if not width > 0:
        raise BadInput(f"width = {width} must be above 0")
    pairs = [numeric_pairs(original, release) for release in releases]
    shared = [name for name in pairs[0] if all(name in one for one in pairs)]
    columns = {}
    for name in shared:
        x = pairs[0][name][0]
        released = np.array([one[name][1] for one in pairs])
        refuse_infinite(name, x, *released)
        there = ~np.isnan(x) & ~np.isnan(released).any(axis=0)
        spread = sd(x)
        errors = (released - x)[:, there]
        if not spread or not errors.size or not errors.any():
            continue
        mean = errors.mean(axis=0)
        single = errors / spread
        columns[name] = Averaged(
            float(np.sqrt((single**2).mean())),
            float(np.sqrt((mean**2).mean())) / spread,
            _near(mean / spread, width),
            _near(single[0], width),
        )
    return Averaging(len(releases), width, columns)


def _near(errors: np.ndarray, width: float) -> Rate:
    return Rate(int((np.abs(errors) <= width * (1 + 1e-9)).sum()), len(errors))


def _summed(rates: Sequence[Rate]) -> Rate:
    return Rate(sum(one.successes for one in rates), sum(one.of for one in rates))


def _shrunk(one: Averaged) -> float:
    return one.mean / one.one if one.one else 1.0
