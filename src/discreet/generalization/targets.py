"""Privacy models of the whole table: how much risk is left over all of its classes.

A class breaks none of them by itself. Where a release has too much risk, its smallest classes are
suppressed until what is left has not: of those of one size first those that lose least (by
`quality = "loss"` or `"entropy-based"`), and then those that come first in the table. Records that
show nothing, `*` in every column, are left out. Models of classes are judged first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from discreet.errors import BadInput
from discreet.parameters import Constraints, check_declared, number

Estimator = Literal["pitman", "zayatz", "snb", "dankar"]


class _Declared:
    """Base of these models: their parameters keep their rules."""

    constraints: ClassVar[Constraints] = {
        "average": number(above=0, below=1),
        "risk": number(above=0, below=1),
        "highest": number(above=0, below=1, optional=True),
        "records": number(least=0, below=1, optional=True),
        "share": number(least=0, below=1),
        "population": number(least=1, optional=True),
        "sampling_fraction": number(above=0, most=1, optional=True),
    }

    def __post_init__(self) -> None:
        check_declared(self)


@dataclass(frozen=True)
class LargestRisk(_Declared):
    """No record is found with a chance above a risk: k-anonymity with k = 1 / risk, rounded up.

    Parameters
    ----------
    risk : float
        Above 0 and below 1.

    Examples
    --------
    >>> LargestRisk(0.09).k
    12
    """

    risk: float
    model: Literal["largest-risk"] = field(default="largest-risk", init=False, repr=False)

    @property
    def k(self) -> int:
        """The records, or units, that every class must have."""
        return size_for(self.risk)


@dataclass(frozen=True)
class AverageRisk(_Declared):
    """The average risk of the records, classes / records, is at most so much.

    Parameters
    ----------
    average : float
        Above 0 and below 1: 0.05 where a class has 20 records on average.
    highest : float, optional
        A risk that most records must not exceed: the risk of a record is 1 / size of its class.
    records : float, optional
        The largest share of records above `highest`; 0 where it is not given.

    Examples
    --------
    >>> AverageRisk(0.05, highest=0.2, records=0.01)
    AverageRisk(average=0.05, highest=0.2, records=0.01)
    """

    average: float
    highest: float | None = None
    records: float | None = None
    model: Literal["average-risk"] = field(default="average-risk", init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.records is not None and self.highest is None:
            raise BadInput(
                "records is the share that may be above highest; give highest, such as "
                "highest = 0.2, too"
            )


@dataclass(frozen=True)
class SampleUniqueness(_Declared):
    """At most a share of the released records is unique among them.

    Parameters
    ----------
    share : float
        At least 0 and below 1.

    Examples
    --------
    >>> SampleUniqueness(0.01)
    SampleUniqueness(share=0.01)
    """

    share: float
    model: Literal["sample-uniqueness"] = field(default="sample-uniqueness", init=False, repr=False)


@dataclass(frozen=True)
class PopulationUniqueness(_Declared):
    """At most a share of the population's people is unique in it, as far as that is estimated.

    Where an estimator has no estimate, or it is 0, no record of the table may be unique.

    Parameters
    ----------
    share : float
        At least 0 and below 1.
    population : int, optional
        The people of whom the table is a sample.
    sampling_fraction : float, optional
        The share of them who are in the table; either this or `population` is needed.
    estimator : {"pitman", "zayatz", "snb", "dankar"}
        `"dankar"`: Pitman where the records are at most a tenth of the population, else the lower
        of SNB and Zayatz.

    Examples
    --------
    >>> PopulationUniqueness(0.001, sampling_fraction=0.1).estimator
    'dankar'
    """

    share: float
    population: float | None = field(default=None, kw_only=True)
    sampling_fraction: float | None = field(default=None, kw_only=True)
    estimator: Estimator = field(default="dankar", kw_only=True)
    model: Literal["population-uniqueness"] = field(
        default="population-uniqueness", init=False, repr=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.population is None) == (self.sampling_fraction is None):
            raise BadInput(
                "population-uniqueness needs to know the population: give either population, such "
                "as population = 80_000_000, or sampling_fraction"
            )

    def people(self, n: int) -> float:
        """Return the size of the population of which so many records are in the table."""
        if self.population is None:
            assert self.sampling_fraction is not None
            return n / self.sampling_fraction
        if self.population < n:
            raise BadInput(
                f"population = {self.population:g} is below the number of records, {n:,}; give "
                "the number of people of whom the table is a sample"
            )
        return float(self.population)


# The models of the whole table, and what a bound on the largest risk of a record is.
Whole = AverageRisk | SampleUniqueness | PopulationUniqueness
ESTIMATORS: tuple[str, ...] = get_args(Estimator)


def size_for(risk: float) -> int:
    """Return the size from which on a class keeps a risk: 1 / size is no larger.

    Examples
    --------
    >>> size_for(0.2), size_for(0.33), size_for(1 / 3)
    (5, 4, 3)
    """
    return math.ceil(1 / risk - 1e-9)


def of_whole_table(models: Sequence[Any]) -> list[Any]:
    """Return those of some models that are of the whole table."""
    return [model for model in models if isinstance(model, get_args(Whole))]


def refuse_whole(models: Sequence[Any], why: str) -> None:
    """Refuse models of the whole table in a sentence that begins with the model's name."""
    for model in of_whole_table(models):
        raise BadInput(f"{model.model} is of the whole table, and {why}")
