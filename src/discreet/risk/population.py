"""Population uniqueness: how many people are unique, estimated from a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, LeftOut, Measure, people_of
from discreet.risk.frequency import Frequencies, frequencies


@dataclass(frozen=True)
class PopulationUniques:
    """Shares of the population that are unique on some columns, by estimator.

    `dankar` is the one of the others that Dankar's rule takes; None where there is no estimate.
    """

    dankar: float | None
    pitman: float | None
    zayatz: float | None
    snb: float | None

    @classmethod
    def of(cls, found: Frequencies, people: float) -> PopulationUniques:
        """Estimate from frequencies that were counted before."""
        from discreet.kernels import population as kernels

        sizes, counts = _classes(found)
        n = int((sizes * counts).sum())
        if people < n:
            raise BadInput(
                f"population = {people:g} is below the number of records, {n:,}; give the number "
                "of people of whom the table is a sample"
            )
        shares = [kernels.estimate(kind, sizes, counts, float(people)) for kind in range(4)]
        pitman, zayatz, snb, dankar = (None if np.isnan(x) else float(x) for x in shares)
        return cls(dankar, pitman, zayatz, snb)


def _classes(found: Frequencies) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes that classes have, rising, and how many have each."""
    if found.repeats is not None:
        sizes, place = np.unique(found.sample, return_inverse=True)
        return sizes.astype(np.int64), np.bincount(place, found.repeats).astype(np.int64)
    of_class = np.zeros(found.num_classes, np.int64)
    of_class[found.classes] = found.sample
    return np.unique(of_class, return_counts=True)


def population_uniqueness(
    table: Any,
    columns: Sequence[str],
    *,
    population: float | None = None,
    sampling_fraction: float | None = None,
    units: Any = None,
) -> PopulationUniques:
    """Estimate which share of a population is unique on some columns, from a sample of it.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
        A simple random sample of the population.
    columns : sequence of str
        Usually the quasi columns.
    population : float, optional
        How many people there are.
    sampling_fraction : float, optional
        Which share of them is in the table; either this or `population` is needed.
    units : str or array, optional
        Count these instead of records, as in `frequencies`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 30, 30, 40, 50], "sex": list("ffmmfm")})
    >>> found = population_uniqueness(table, ["age", "sex"], population=600)
    >>> round(found.zayatz, 4)
    0.1117
    """
    if (population is None) == (sampling_fraction is None):
        raise BadInput("give either population, the number of people, or sampling_fraction")
    found = frequencies(table, columns, units=units)
    if population is None:
        assert sampling_fraction is not None
        if not 0 < sampling_fraction <= 1:
            raise BadInput(
                f"sampling_fraction must be above 0 and at most 1, not {sampling_fraction!r}"
            )
        population = found.records / sampling_fraction
    return PopulationUniques.of(found, population)


def _take(t: Facts) -> Entry:
    people = people_of(t)
    sides = [asdict(PopulationUniques.of(found, people)) for found in t.frequencies]
    # What has no estimate is not shown, on either side.
    known = [name for name in sides[0] if all(side[name] is not None for side in sides)]
    before, after = ({name: side[name] for name in known} for side in sides)
    if not known:
        raise LeftOut("no estimator has an estimate for this table")
    return {"population": people, "before": before, "after": after} | t.counts


POPULATION_UNIQUENESS = Measure(
    "population_uniqueness",
    "share of the population that is unique on the quasi columns, as estimated",
    _take,
    [
        Figure("unique in the population", "dankar", "%", headline=True,
               reading="share of the population that is unique on the quasi columns, by the "
               "estimator that Dankar's rule takes"),
        Figure("unique in the population, Pitman", "pitman", "%",
               reading="the same by Pitman's model"),
        Figure("unique in the population, Zayatz", "zayatz", "%",
               reading="the same by Zayatz's model"),
        Figure("unique in the population, SNB", "snb", "%",
               reading="the same by the slide negative binomial model"),
    ],
    needs=["quasi columns", "a population"],
    by_frequency=True,
    intruder="matching with a list of the population on all quasi columns; beside the original "
    "table",
)  # fmt: skip
