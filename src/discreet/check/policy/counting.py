"""Classes of records, and the people whom they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.policy.case import Case
from discreet.check.risks import mean_of_one_over
from discreet.check.shown import WEIGHT
from discreet.check.wildcard import matching
from discreet.engines import Frame
from discreet.engines.frame import in_rows, plain_type
from discreet.table import float_values
from discreet.table.cells import plain
from discreet.table.classes import classes_of, encode_columns, first_rows
from discreet.table.labels import STAR


@dataclass(frozen=True)
class Classes:
    """The distinct tuples of some columns, a star being a null."""

    table: pa.Table
    codes: np.ndarray  # by column and tuple, -1 where null
    sizes: np.ndarray  # the number of values of each column
    counts: np.ndarray  # records, or units, of each tuple
    weights: np.ndarray | None = None  # the people whom they stand for, by weight
    at_most: bool = False  # units are meant, and records counted: there are no more
    of_units: bool = False  # units are counted: one that is in several tuples, in each of them

    @property
    def told(self) -> np.ndarray:
        """Which tuples tell anything; suppressed records do not."""
        return np.asarray((self.codes >= 0).any(axis=0))

    def many(self, which: np.ndarray) -> str:
        """Say how many records some tuples have, of all; of units, how many classes they are."""
        if self.of_units:
            return f"{int(which.sum()):,} of {int(self.told.sum()):,} classes"
        return f"{int(self.counts[which].sum()):,} of {int(self.counts.sum()):,} records"

    def matched(self) -> np.ndarray:
        """Count the records that agree with each tuple wherever neither is null."""
        return matching(self.codes, self.sizes, self.counts)

    def over(self, places: Sequence[int], of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Add numbers up over the cells of a table of some columns; those with nulls are none.

        Returns for each tuple the number of its cell, -1 where it is in none, and the sums.
        """
        some = self.codes[list(places)]
        there = np.asarray((some >= 0).all(axis=0))
        cell = np.full(len(there), -1)
        if not there.any():
            return cell, np.empty(0)
        cell[there], n = classes_of(some[:, there], self.sizes[list(places)])
        return cell, np.bincount(cell[there], of[there], minlength=n)


def classes(case: Case, columns: Sequence[str]) -> Classes:
    """Count what the recipe counts, or records where it cannot be told which are of one unit."""
    shown = case.shown
    at_most = shown.units is not None and not shown.tells_units
    table, counts = (shown.records if at_most else shown).over(columns)
    found = _merged(table, columns, counts, None, at_most)
    return replace(found, of_units=shown.tells_units)


def weighed(case: Case, columns: Sequence[str]) -> Classes | None:
    """Count records, and add up their weights; None where there are none."""
    known = _with_weights(case, columns)
    if known is None:
        return None
    frame, made = known
    name = WEIGHT if made else str(case.recipe.roles.weight)
    table, counts = frame.counts([*columns, name], by_value=True)
    weights = float_values(table[name], name)
    # A record without a weight stands for itself.
    sums = counts * np.maximum(np.where(np.isnan(weights), 1.0, weights), 1.0)
    found = _merged(table.select(list(columns)), columns, counts, sums, False)
    if made:
        frame.remove()
    return found


def _with_weights(case: Case, columns: Sequence[str]) -> tuple[Frame, bool] | None:
    name, shown, original = case.recipe.roles.weight, case.shown, case.original
    if name is None:
        return None
    if name in case.names and name not in columns:
        return shown.frame, False
    if original is None or not shown.mapped or name not in original.schema.names:
        return None
    fields = [(one, plain_type(shown.frame.schema.field(one).type)) for one in columns]
    schema = pa.schema([*fields, (WEIGHT, pa.float64())])
    function = partial(_beside, name, schema)
    return original.map_pairs(shown.frame, function, schema, [name], list(columns)), True


def _beside(
    weight: str,
    schema: pa.Schema,
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> pa.Table:
    # Records that are left out are null in all columns, and so tell nothing.
    cells = after.columns if there.all() else in_rows(after, there)
    weights = pa.array(float_values(before[weight], weight))
    return pa.table([*map(plain, cells), weights], schema=schema)


def without_stars(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn stars into nulls."""
    column = plain(column)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    return pc.if_else(pc.equal(column, STAR), pa.scalar(None, column.type), column)


def _merged(
    table: pa.Table,
    columns: Sequence[str],
    counts: np.ndarray,
    weights: np.ndarray | None,
    at_most: bool,
) -> Classes:
    """Make tuples one that differ in whether a cell is null or a star."""
    table = pa.table({name: without_stars(table[name]) for name in columns})
    codes, sizes = encode_columns(table, columns)
    if not len(counts):
        return Classes(table, codes, sizes, counts, weights, at_most)
    ids, n = classes_of(codes, sizes)
    first = first_rows(ids, n)
    return Classes(
        table.take(pa.array(first)),
        codes[:, first],
        sizes,
        np.bincount(ids, counts, minlength=n).astype(np.int64),
        None if weights is None else np.bincount(ids, weights, minlength=n),
        at_most,
    )


# People


def people(case: Case, columns: Sequence[str]) -> tuple[Classes, np.ndarray, str] | None:
    """Return classes of records, the people each stands for, and how that is known.

    By the population table where it has the columns, else by the weights.
    """
    population = case.population
    if population is not None and set(columns) <= set(population[0].column_names):
        table, counts = case.shown.records.over(columns)
        found = _merged(table, columns, counts, None, False)
        return found, _in_population(found, columns, *population), "by the population table"
    by_weight = weighed(case, columns)
    if by_weight is None:
        return None
    assert by_weight.weights is not None
    return by_weight, by_weight.weights, "by sampling weights"


def _in_population(
    found: Classes, columns: Sequence[str], table: pa.Table, numbers: np.ndarray
) -> np.ndarray:
    """Count the people who have all that each tuple shows; at least its own records."""
    n = found.table.num_rows
    both = pa.table(
        {
            name: pa.concat_tables(
                [pa.table({name: as_text(one[name])}) for one in (found.table, table)]
            )[name]
            for name in columns
        }
    )
    codes, sizes = encode_columns(both, columns)
    counted = matching(codes[:, n:], sizes, numbers, people=codes[:, :n])
    return np.maximum(counted, found.counts)


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write values so that those of two tables are equal; whole numbers have no decimals."""
    column = without_stars(column)
    if pa.types.is_floating(column.type):
        values = column.drop_null()
        if pc.all(pc.equal(pc.floor(values), values)).as_py() is not False:
            column = column.cast(pa.int64(), safe=False)
    return column.cast(pa.string())


def needs_people(case: Case) -> str:
    """Say what it takes to count people in the population."""
    weight, path = case.recipe.roles.weight, case.against.population
    if path is not None and path in case.against.gone:
        return f"put {path} back, or give --population FILE"
    by_weight = "give the column of sampling weights the role weight"
    if weight is not None:
        by_weight = f"the internal folder and --original, which has the weights '{weight}'"
    return f"give --population FILE, or {by_weight}"


def risk_by_people(found: Classes, in_population: np.ndarray, by_weights: bool) -> np.ndarray:
    """Return the chance that a record is of the person one knows, by class.

    By weights, the number of people is estimated: the mean of 1 / F where the class's size in the
    sample is one of a negative binomial number (Benedetti and Franconi 1998).
    """
    if not by_weights:
        return 1 / np.maximum(in_population, 1)
    return mean_of_one_over(found.counts, np.minimum(found.counts / in_population, 1.0))
