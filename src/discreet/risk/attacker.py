"""Three attackers on the classes of a table: prosecutor, journalist and marketer.

The prosecutor knows that a person is in the file, the journalist does not and wants to show that
anyone can be found, the marketer wants to find as many as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.measure import AVERAGE, LARGEST, Entry, Facts, Figure, Measure
from discreet.risk.frequency import Nulls, frequencies
from discreet.table.classes import check_columns
from discreet.table.native import to_arrow


def prosecutor(
    table: Any, columns: Sequence[str], *, nulls: Nulls = "value", units: Any = None
) -> float:
    """Largest risk of a record, 1 / f, to an attacker who knows that the person is in the file.

    The mean over the records is `marketer`. For parameters see `discreet.risk.frequencies`.

    Examples
    --------
    >>> prosecutor(pa.table({"sex": ["f", "f", "m", "m"]}), ["sex"])
    0.5
    """
    f = frequencies(table, columns, nulls=nulls, units=units).sample
    return float(1 / f.min()) if len(f) else 0.0


def marketer(
    table: Any, columns: Sequence[str], *, nulls: Nulls = "value", units: Any = None
) -> float:
    """Share of records that an attacker gets right who guesses in each class.

    It is the mean of 1 / f: classes / records where nulls are values. Of a unit it is the largest
    of its records'.

    Examples
    --------
    >>> marketer(pa.table({"sex": ["f", "f", "m", "m"]}), ["sex"])
    0.5
    """
    found = frequencies(table, columns, nulls=nulls, units=units)
    return found.mean(1 / found.sample)


def journalist(
    table: Any,
    columns: Sequence[str],
    *,
    weight: Any = None,
    population: Any = None,
    nulls: Nulls = "value",
) -> float:
    """Largest risk of a record, 1 / F, to an attacker who has a list of the population.

    Parameters
    ----------
    table, columns, nulls
        As in `discreet.risk.frequencies`.
    weight : str or array, optional
        Sampling weights, from which F is estimated: a class's sum, and at least its records.
    population : table, optional
        A table with the same columns, in which F is counted. One of the two is needed.

    Examples
    --------
    >>> table = pa.table({"sex": ["f", "m"], "weight": [40.0, 50.0]})
    >>> journalist(table, ["sex"], weight="weight")
    0.025
    """
    if (weight is None) == (population is None):
        raise BadInput(
            "journalist needs to know the population: give either weight (sampling weights) or "
            "population (a table); prosecutor does without"
        )
    if population is None:
        found = frequencies(table, columns, weight=weight, nulls=nulls)
        assert found.population is not None
        size = np.maximum(found.population, found.sample)
    else:
        size = _population_counts(to_arrow(table), to_arrow(population), columns, nulls)
    return float(1 / size.min()) if len(size) else 0.0


def _as_type(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadInput(
            f"column '{name}' holds {kind} in the table and {column.type} in the population; "
            "give both the same type"
        ) from None


def _population_counts(
    table: pa.Table, population: pa.Table, columns: Sequence[str], nulls: Nulls
) -> np.ndarray:
    """Count the records of the population that match each record of the sample."""
    for part in (table, population):
        check_columns(part, columns)
    joined = pa.table(
        {
            c: pa.chunked_array(
                [*table[c].chunks, *_as_type(population[c], table[c].type, c).chunks]
            )
            for c in columns
        }
    )
    n = table.num_rows
    both = frequencies(joined, columns, nulls=nulls).sample[:n]
    size = both - frequencies(table, columns, nulls=nulls).sample
    if (size < 1).any():
        row = int(np.argmax(size < 1))
        raise BadInput(f"the population holds no record like row {row + 1} of the table")
    return size


def _take(t: Facts) -> Entry:
    sides = []
    for found in t.frequencies:
        side = {
            "prosecutor": float((1 / found.sample).max(initial=0.0)),
            "marketer": found.mean(1 / found.sample),
        }
        if found.population is not None:
            population = np.maximum(found.population, found.sample)
            side["journalist"] = float((1 / population).max(initial=0.0))
        sides.append(side)
    return {"before": sides[0], "after": sides[1]} | t.counts


ATTACKERS = Measure(
    "attackers",
    "chance that an attacker who matches on the quasi columns picks the right record",
    _take,
    [
        Figure("prosecutor, largest", "prosecutor", "%", guide=LARGEST, headline=True,
               reading="largest chance to pick the record of a person known to be in the file"),
        Figure("journalist, largest", "journalist", "%", guide=LARGEST,
               reading="largest chance to pick the record of anyone in the population"),
        Figure("marketer, average", "marketer", "%", guide=AVERAGE, headline=True, attack=True,
               reading="share of records picked right by guessing within each class"),
    ],
    needs=["quasi columns"],
    by_frequency=True,
    intruder="matching on all quasi columns, guessing within a class; beside the original table",
)  # fmt: skip
