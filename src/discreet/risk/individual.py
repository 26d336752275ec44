"""Individual risk: the chance to find a record's person in the population (Franconi, Polettini).

An intruder sees f records of a sample in a class and knows that the population holds F of them or
so. With p = f / F the class's size in the population is taken as f plus a negative binomial, and
the risk is the mean of one over it: (p^f / f) 2F1(f, f; f + 1; 1 - p), which Euler's transformation
turns into (p / f) 2F1(1, 1; f + 1; 1 - p): no powers that vanish or overflow.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.measure import AVERAGE, LARGEST, Entry, Facts, Figure, Measure
from discreet.risk.frequency import Frequencies, Nulls, frequencies, unit_ids
from discreet.table.native import to_arrow

# Above it the plain series needs few terms, and scipy's function many or none that helps.
_SERIES_FROM = 50


def individual_risk(
    table: Any,
    columns: Sequence[str],
    *,
    weight: Any = None,
    nulls: Nulls = "value",
    units: Any = None,
) -> np.ndarray:
    """Risk of each record to be re-identified, given its class and the sampling weights.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : sequence of str
        What the intruder knows: usually the quasi columns.
    weight : str or array, optional
        Sampling weights: a column's name, or a number for each record. Without, the file is the
        population, and the risk is 1 / f.
    nulls, units
        As in `discreet.risk.frequencies`.

    Returns
    -------
    ndarray of float64
        In 0..1. Where the weights of a class sum to less than its records, the class is taken to
        be whole in the file (1 / f), with a warning.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["f", "f", "m"], "weight": [50.0, 50.0, 2.0]})
    >>> individual_risk(table, ["sex"]).tolist()
    [0.5, 0.5, 1.0]
    >>> individual_risk(table, ["sex"], weight="weight").round(4).tolist()
    [0.0188, 0.0188, 0.6931]
    """
    return risk_of(frequencies(table, columns, weight=weight, nulls=nulls, units=units))


def risk_of(found: Frequencies) -> np.ndarray:
    """Individual risk from frequencies that were counted before."""
    f = found.sample
    if found.population is None:
        return 1.0 / f
    if (found.population < f * (1 - 1e-12)).any():
        row = int(np.argmax(found.population < f * (1 - 1e-12)))
        first = "" if found.classes is None else f" (first: row {row + 1})"
        warnings.warn(
            f"the weights of some classes sum to less than their records{first}; "
            "these are taken as whole in the file",
            stacklevel=3,
        )
    if found.classes is None:
        return risk_by(f, found.population)
    # Records of a tuple share f and F: few evaluations for many records.
    count = int(found.classes.max(initial=-1)) + 1
    of_class, in_population = np.empty(count, np.int64), np.empty(count)
    of_class[found.classes], in_population[found.classes] = f, found.population
    return risk_by(of_class, in_population)[found.classes]


def risk_by(f: np.ndarray, population: np.ndarray) -> np.ndarray:
    """Individual risk of classes of f records that stand for some of the population."""
    p = np.minimum(1.0, f / population)
    q = 1.0 - p
    risk = 1.0 / f
    sampled = q > 0
    one = sampled & (f == 1)
    risk[one] = -p[one] * np.log(p[one]) / q[one]
    few = sampled & (f > 1) & (f <= _SERIES_FROM)
    from scipy.special import hyp2f1

    risk[few] = p[few] / f[few] * hyp2f1(1.0, 1.0, f[few] + 1.0, q[few])
    many = sampled & (f > _SERIES_FROM)
    risk[many] = p[many] / f[many] * _series(f[many], q[many])
    return risk


def _series(f: np.ndarray, q: np.ndarray) -> np.ndarray:
    """2F1(1, 1; f + 1; q) term by term; the terms fall faster than (j / (f + j))^j."""
    term = np.ones(len(f))
    total = term.copy()
    for j in range(1, 10_000):
        term *= q * j / (f + j)
        total += term
        if not (term > 1e-17 * total).any():
            break
    return total


@dataclass(frozen=True)
class GlobalRisk:
    """Risk of a file as a whole: the mean of the individual risks, their sum and the largest.

    The sum is the number of re-identifications to expect.
    """

    value: float
    expected: float
    largest: float

    @classmethod
    def of(cls, found: Frequencies, risk: np.ndarray) -> GlobalRisk:
        """Summarise individual risks."""
        largest = float(risk.max(initial=0.0))
        return cls(found.mean(risk), float(found.total(risk)), largest)


@overload
def global_risk(
    table: Any, columns: Sequence[str], *, weight: Any = ..., nulls: Nulls = ..., units: Any = ...
) -> float: ...
@overload
def global_risk(
    table: Any,
    columns: Sequence[str],
    *,
    weight: Any = ...,
    nulls: Nulls = ...,
    units: Any = ...,
    detail: Literal[True],
) -> GlobalRisk: ...
def global_risk(
    table: Any,
    columns: Sequence[str],
    *,
    weight: Any = None,
    nulls: Nulls = "value",
    units: Any = None,
    detail: bool = False,
) -> float | GlobalRisk:
    """Mean individual risk; with `detail=True` also the expected number of re-identifications.

    Parameters are those of `individual_risk`. A unit's risk is that of its riskiest record.

    Examples
    --------
    >>> import pyarrow as pa
    >>> global_risk(pa.table({"sex": ["f", "f", "m"]}), ["sex"], detail=True)
    GlobalRisk(value=0.666..., expected=2.0, largest=1.0)
    """
    found = frequencies(table, columns, weight=weight, nulls=nulls, units=units)
    result = GlobalRisk.of(found, risk_of(found))
    return result if detail else result.value


def household_risk(
    table: Any,
    columns: Sequence[str],
    household: Any,
    *,
    weight: Any = None,
    nulls: Nulls = "value",
) -> np.ndarray:
    """Risk of each record that at least one member of its household is re-identified.

    Parameters
    ----------
    table, columns, weight, nulls
        As in `individual_risk`.
    household : str or array
        The household of each record: a column's name, or a value for each. A record without one
        is a household of its own.

    Returns
    -------
    ndarray of float64
        1 - prod(1 - r) over the members, for each record.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"home": [1, 1, 2, 2], "sex": ["f", "m", "f", "m"]})
    >>> household_risk(table, ["sex"], "home").tolist()
    [0.75, 0.75, 0.75, 0.75]
    """
    table = to_arrow(table)
    risk = individual_risk(table, columns, weight=weight, nulls=nulls)
    return household_risk_of(risk, unit_ids(table, household, "household"))


def household_risk_of(risk: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Household risk from individual risks."""
    certain = risk >= 1
    # log1p keeps small risks that 1 - r would lose; a certain member settles the household.
    spared = np.bincount(ids, np.log1p(-np.where(certain, 0.0, risk)))
    found = np.bincount(ids, certain) > 0
    return np.where(found, 1.0, -np.expm1(spared))[ids]


def _take(t: Facts) -> Entry:
    sides = []
    for found in t.frequencies:
        risk = risk_of(found)
        whole = GlobalRisk.of(found, risk)
        side = {"mean": whole.value, "expected": whole.expected, "largest": whole.largest}
        household = t.household_risk(risk)
        sides.append(side if household is None else side | {"household": household})
    basis = "sampling weights" if t.weighted else "the file as the population"
    return {"basis": basis, "before": sides[0], "after": sides[1]} | t.counts


INDIVIDUAL_RISK = Measure(
    "individual_risk",
    "chance that the person behind a record is found in the population",
    _take,
    [
        Figure("individual risk, largest", "largest", "%", guide=LARGEST, headline=True,
               reading="chance that the person most at risk is found in the population"),
        Figure("individual risk, average", "mean", "%", guide=AVERAGE, headline=True),
        Figure("individual risk, expected finds", "expected", "people",
               reading="people found if all are looked for"),
        Figure("household risk, average", "household", "%", guide=AVERAGE,
               reading="chance that at least one member of a record's household is found"),
    ],
    needs=["quasi columns"],
    by_frequency=True,
    intruder="matching with the population that the weights stand for; beside the original table",
)  # fmt: skip
