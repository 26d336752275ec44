"""Differentially private microaggregation: noise on the centres of groups, not on the records.

J. Soria-Comas, J. Domingo-Ferrer, D. Sanchez and S. Martinez, "Enhancing data utility in
differential privacy via microaggregation-based k-anonymity", VLDB Journal 2014.

Records are put into a total order that does not depend on the table, and cut into groups at fixed
places of it. This is *insensitive*: where one record is replaced, those between its old and its new
place move by one, so that every group loses at most one record and gains one. Its sum in a column
of width D then changes by at most D, and the sums of all G groups by G * D together. Where there is
only one column, and records are in its order, the moves have one direction and add up to the
difference of the two values: D for all groups together (sorting never makes the sum of distances of
two lists larger). So much Laplace noise goes to the sums; the centres have it divided by k or more.

All of it is whole numbers: values are multiples of a 2^20th of the column's width, counted from
its lower bound, and the noise is drawn from the discrete Laplace distribution, exactly. What
follows, a division and the return to the column's numbers, can give away no more. (Laplace noise
in floats can be told apart from the value it hides: I. Mironov, "On significance of the least
significant bits for differential privacy", CCS 2012.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.chance import Chance
from discreet.errors import BadInput, nearest
from discreet.method import RowBound, per_column, private_in_words
from discreet.outcome import Given, Outcome
from discreet.parameters import Constraints, Rule, as_float, number, whole
from discreet.plan import ColumnPlan, JointPlan

# Parts of a column's width that values are rounded to: their squares add up in 64 bits.
PARTS = 1 << 20


class DPMicroaggregation(RowBound):
    """Replace records by the noisy centre of their group: differentially private with epsilon.

    Groups are of k or more records that follow each other in an order of all records: by their
    distance from the lower bounds, in widths of the columns. A centre of many records is hardly
    changed by one of them, so that it needs far less noise than a record would.

    Parameters
    ----------
    k : int
        Fewest records of a group. The larger it is, the less noise there is, and the more is lost
        by grouping; with several columns, below the square root of the number of records there is
        more noise than records themselves would need.
    epsilon : float, or mapping of str to float
        What is spent on all columns together, in equal parts; or on each column.
    bounds : mapping of str to [float, float]
        The least and the largest value that a column can have, known without looking at the table.
        Values beyond are taken for the bound.
    random_state : int, RandomState instance or None
        None takes a fresh secret. Whoever knows the state knows the noise.

    Attributes
    ----------
    groups_ : ndarray of int
    ledger_ : dict
        What was spent: `epsilon`, and by column.
    plan_ : dict

    See Also
    --------
    Microaggregation : exact centres of better groups, and no such promise.
    discreet.generalization.SafePub : differentially private labels of true records.

    Notes
    -----
    Two tables are neighbours where one record of one is replaced by any other: the number of
    records is taken as known, as are the columns and their types. The promise is about a table in
    random order, as `Release.save` writes it: what is given back here is in the order of X, and
    shows which records are grouped together.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).integers(18, 90, (1000, 1))
    >>> noisy = DPMicroaggregation(k=100, epsilon=1, bounds={"x0": [0, 120]}, random_state=5)
    >>> np.unique(noisy.fit_transform(ages)).round(1)
    array([21.2, 28.8, 34.7, 41.9, 47.6, 57.2, 64.1, 72.1, 78.1, 86.3])
    >>> np.array([ages[noisy.groups_ == group].mean() for group in range(10)]).round(1)
    array([21.4, 28.5, 36. , 43.2, 49.7, 56.7, 64.3, 71.8, 78.8, 86.3])
    """

    recipe_name: ClassVar[str] = "dp-microaggregation"
    anew: ClassVar[str] = "its groups are of the earlier records, and its noise is drawn anew"
    is_random: ClassVar[bool] = True
    private: ClassVar[bool] = True
    takes_dates: ClassVar[bool] = False
    effect: ClassVar[str] = "perturbs"
    promise: ClassVar[str] = "private-centres"
    in_words: ClassVar[str] = "replaced by the centre of a group of similar records, with noise"
    caveat: ClassVar[str] = (
        "values are centres of groups with noise: small differences mean nothing, variances and "
        "correlations come out wrong, and results for small subgroups mislead"
    )
    published: ClassVar[tuple[str, ...]] = ("k", "epsilon", "bounds")
    constraints: ClassVar[Constraints] = {
        "k": whole(2),
        "epsilon": number(above=0, most=100, by_column=True),
        "bounds": Rule(
            wanted="a list of two numbers, the lower one first",
            good=lambda pair: _are_bounds(pair),
            called="the bounds of '{column}'",
            only_by_column=True,
        ),
    }

    def __init__(
        self,
        k: int,
        epsilon: float | Mapping[str, float],
        bounds: Mapping[str, list[float]],
        *,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.epsilon = epsilon
        self.bounds = bounds
        self.random_state = random_state

    @property
    def spent(self) -> float:
        """What is spent in all."""
        given = self.epsilon
        return float(sum(given.values())) if isinstance(given, Mapping) else given

    @property
    def meaning(self) -> str:
        """What epsilon means for a person."""
        return private_in_words(self.spent, changed=True)

    @property
    def bound_to_memory(self) -> str | None:
        """Records are ordered over all columns."""
        return "it puts all records into one order"

    def _run(self, given: Given) -> Outcome:
        """Order the records, cut the order into groups, and draw their noisy centres."""
        columns = given.columns
        self.check_treated(list(columns))
        if given.linked is not None or (
            given.units is not None and np.bincount(given.units).max(initial=0) > 1
        ):
            raise BadInput(
                "the promise of dp-microaggregation is about single records, and units have "
                "several here; release one record of each"
            )
        whole = np.array([self._parts(columns[name], name) for name in columns])
        n = whole.shape[1]
        if n < self.k:
            raise BadInput(f"{n:,} records cannot make a group of k = {self.k}; lower k")
        count = n // self.k
        groups = np.empty(n, np.int64)
        groups[_ordered(whole)] = np.repeat(np.arange(count), _sizes(n, count))
        sizes = np.bincount(groups)
        new, ledger = {}, {"epsilon": self.spent}
        plans: dict[str, ColumnPlan] = {}
        for name, parts in zip(columns, whole, strict=True):
            epsilon = self._budget(name, len(columns))
            # What one record can change of the sums of all groups.
            changed = PARTS * (count if len(columns) > 1 else 1)
            scale, chance = changed / epsilon, Chance(given.draws(name))
            sums = np.bincount(groups, parts).astype(np.int64).tolist()
            noisy = [total + chance.laplace(scale) for total in sums]
            low, high = (float(bound) for bound in self.bounds[name])
            shares = [
                total / size / PARTS for total, size in zip(noisy, sizes.tolist(), strict=True)
            ]
            centres = low + (high - low) * np.clip(shares, 0.0, 1.0)
            new[name] = centres[groups]
            plans[name] = {
                "kind": "private-centres",
                "low": low,
                "high": high,
                "noise_scale": str(scale),
                "centres": centres,
            }
            ledger[f"epsilon of {name}"] = float(epsilon)
        joint: JointPlan = {
            "kind": "private-centres",
            "k": int(self.k),
            "groups": groups,
            "ledger": ledger,
        }
        return Outcome(
            new, plans, joint, figures={"ledger": ledger, "meaning": self.meaning, "groups": count}
        )

    def _budget(self, name: str, columns: int) -> Fraction:
        """Return what is spent on a column, as it was written."""
        given = Fraction(repr(float(per_column(self.epsilon, name, "epsilon"))))
        return given if isinstance(self.epsilon, Mapping) else given / columns

    def _parts(self, values: np.ndarray, name: str) -> np.ndarray:
        """Return values as whole parts of the column's width."""
        if np.isnan(values).any():
            raise BadInput(
                f"column '{name}' holds nulls, which have no place in the order of records; fill "
                "or drop them first"
            )
        low, high = self.bounds[name]
        share = (np.clip(values, low, high) - low) / (high - low)
        return np.rint(share * PARTS).astype(np.int64)

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse columns without bounds, and what is given of others."""
        super().check_treated(columns)
        for name in columns:
            if name not in self.bounds:
                raise BadInput(
                    f"bounds has none for column '{name}'; give the least and the largest value "
                    "that it can have, whatever the table holds"
                )
        for parameter in (self.bounds, self.epsilon):
            for name in parameter if isinstance(parameter, Mapping) else ():
                if name not in columns:
                    said = "bounds" if parameter is self.bounds else "epsilon"
                    raise BadInput(
                        f"{said} names '{name}', no column that is treated; "
                        + nearest(name, columns)
                    )

    def _learned(self, outcome: Outcome) -> None:
        super()._learned(outcome)
        self.groups_ = outcome.joint["groups"]
        self.ledger_ = outcome.joint["ledger"]


def _ordered(whole: np.ndarray) -> np.ndarray:
    """Order records by their distance from the lower bounds, and equal ones by their values.

    Records that are alike in all columns are the same to every group, so that the order is total.
    """
    return np.lexsort([*whole[::-1], (whole**2).sum(axis=0)])


def _sizes(n: int, count: int) -> np.ndarray:
    """Share n records out to groups as evenly as can be, the larger ones first."""
    return np.full(count, n // count) + (np.arange(count) < n % count)


def _are_bounds(pair: Any) -> bool:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return False
    low, high = (as_float(bound) for bound in pair)
    return bool(np.isfinite(high - low) and low < high)
