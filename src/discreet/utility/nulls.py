"""Null rates: what a release left empty, or generalized until nothing was left to tell.

They can be read in two ways. The paper's definition, as printed, has N(S) count the cells that are
`*`, `#` or `-`: to its reader a `*` is as good as a null. Its tables fit another one, in which a
`*` that generalization gave is a value. Both are here by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Measure
from discreet.table.classes import check_columns
from discreet.table.native import to_arrow

Stars = Literal["count", "value"]
# What cells that tell nothing hold, as the paper writes them.
MARKS = ("*", "#", "-")


@dataclass(frozen=True)
class NullReading:
    """The rates by one way to read a `*`; see `NullRates`."""

    value: float
    records: float
    before: float
    contaminated: bool
    columns: dict[str, float]


@dataclass(frozen=True)
class NullRates:
    """Nulls of a release, of which a suppressed record counts all its cells.

    `value`, NVIr, is empty cells / (columns * records), `before` that of the original. `records`,
    NVRr, is the share of records with any empty cell, `suppressed`, SRC, the number of those
    suppressed. `blanked` is the share of cells that had a value and have none in a record that was
    not suppressed, as local suppression leaves them, and `blanked_records` that of records with
    any.

    `stars` says what is empty: by "count" a null, `*`, `#` or `-`, and a release is contaminated
    where it has at least as many of them as the original, be it none; by "value" a null alone, and
    it is where it has more. `readings` has the rates by both.
    """

    value: float
    records: float
    suppressed: int
    before: float
    contaminated: bool
    columns: dict[str, float]
    blanked: float
    blanked_records: float
    stars: Stars
    readings: dict[Stars, NullReading]


class Empty(NamedTuple):
    """Counts of empty cells, by one way to read a `*`; those of suppressed records are among them.

    `was` are the original's, `now` each released column's, `records` those with any.
    """

    was: int
    now: Mapping[str, int]
    records: int


@overload
def null_rates(
    original: Any,
    protected: Any,
    columns: Sequence[str],
    *,
    suppressed: Any = ...,
    stars: Stars = ...,
) -> float: ...
@overload
def null_rates(
    original: Any,
    protected: Any,
    columns: Sequence[str],
    *,
    suppressed: Any = ...,
    stars: Stars = ...,
    detail: Literal[True],
) -> NullRates: ...
def null_rates(
    original: Any,
    protected: Any,
    columns: Sequence[str],
    *,
    suppressed: Any = None,
    stars: Stars = "count",
    detail: bool = False,
) -> float | NullRates:
    """Share of empty cells in some columns of the protected table (NVIr).

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table
        The same rows in the same order.
    columns : sequence of str
        Usually the quasi columns.
    suppressed : array of bool, optional
        The suppressed records, such as `Generalize.suppressed_mask_`.
    stars : {"count", "value"}
        Whether text that is `*`, `#` or `-` counts as null, in both tables, as the paper's
        definition says; or is a value, as its tables have it.
    detail : bool
        Give the other rates too, by both readings.

    Returns
    -------
    float or NullRates
        0 for a table without rows.

    Examples
    --------
    >>> original = pa.table({"age": [31, None, 40], "zip": ["a", "b", "c"]})
    >>> protected = pa.table({"age": [31, None, 40], "zip": ["*", "*", "*"]})
    >>> null_rates(original, protected, ["age", "zip"])
    0.666...
    >>> null_rates(original, protected, ["age", "zip"], stars="value")
    0.166...
    """
    if stars not in get_args(Stars):
        raise BadInput(f"stars must be 'count' or 'value', not {stars!r}")
    before, after = to_arrow(original), to_arrow(protected)
    n = after.num_rows
    for table in (before, after):
        check_columns(table, columns)
    if before.num_rows != n:
        raise BadInput(f"the original has {before.num_rows:,} rows, the protected table {n:,}")
    gone = np.zeros(n, bool) if suppressed is None else np.asarray(suppressed, dtype=bool)
    if gone.shape != (n,):
        raise BadInput(f"suppressed has shape {gone.shape}, the table {n:,} rows")
    counts: dict[Stars, Empty] = {}
    for reading in get_args(Stars):
        was, now = (empty_cells(table, columns, reading) for table in (before, after))
        if reading == "value":
            blanked = now & ~was & ~gone
        now |= gone
        per_column = {c: int(row.sum()) for c, row in zip(columns, now, strict=True)}
        counts[reading] = Empty(int(was.sum()), per_column, int(now.any(axis=0).sum()))
    lost = int(blanked.sum()), int(blanked.any(axis=0).sum())
    found = null_rates_of(n, counts, int(gone.sum()), lost, stars)
    return found if detail else found.value


def null_rates_of(
    n: int,
    counts: Mapping[Stars, Empty],
    suppressed: int,
    blanked: tuple[int, int] = (0, 0),
    stars: Stars = "count",
) -> NullRates:
    """Null rates of n records, from the counts of empty cells by both readings.

    `blanked` are the cells that were emptied in records that were not suppressed, and the records
    with any.

    Examples
    --------
    >>> nulls = Empty(was=1, now={"age": 2, "zip": 3}, records=4)
    >>> null_rates_of(10, {"count": nulls, "value": nulls}, suppressed=2).value
    0.25
    """
    readings: dict[Stars, NullReading] = {}
    for reading, (was, now, records) in counts.items():
        cells, empty = max(1, n * len(now)), sum(now.values())
        readings[reading] = NullReading(
            value=empty / cells,
            records=records / max(1, n),
            before=was / cells,
            contaminated=empty >= was if reading == "count" else empty > was,
            columns={name: count / max(1, n) for name, count in now.items()},
        )
    return NullRates(
        **vars(readings[stars]),
        suppressed=suppressed,
        blanked=blanked[0] / cells,
        blanked_records=blanked[1] / max(1, n),
        stars=stars,
        readings=readings,
    )


def empty_cells(table: pa.Table, columns: Sequence[str], stars: Stars) -> np.ndarray:
    """Mask the cells that are null, NaN among them, or empty by a reading: one row per column."""
    masks = [is_empty(table[name], stars) for name in columns]
    return np.array(masks, dtype=bool).reshape(len(columns), table.num_rows)


def is_empty(column: pa.ChunkedArray, stars: Stars) -> np.ndarray:
    """Mask the cells of a column that are null, NaN among them, or empty by a reading.

    Examples
    --------
    >>> column = pa.chunked_array([["*", None, "a*"]])
    >>> is_empty(column, "count").tolist(), is_empty(column, "value").tolist()
    ([True, True, False], [False, True, False])
    """
    kind = column.type
    null = pc.is_null(column, nan_is_null=True).to_numpy()
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if stars == "value" or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return null
    return null | pc.is_in(column, value_set=pa.array(MARKS, kind)).to_numpy()


def _take(t: Facts) -> Entry:
    found = asdict(t.null_rates())
    if not found["blanked"]:
        del found["blanked"], found["blanked_records"]
    count, value = (found["readings"][reading] for reading in get_args(Stars))
    if not (count["value"] or count["before"]):
        # Where nothing is empty on either side, there are as many of them, and it says nothing.
        found["contaminated"] = None
    found["more_nulls"] = value["contaminated"]
    if any(count[key] != value[key] for key in ("value", "before", "records")):
        found["nulls"] = [value["before"], value["value"]]
        found["null_records"] = value["records"]
    return {"before": found.pop("before"), "after": found.pop("value"), **found}


NULL_RATES = Measure(
    "null_rates",
    "share of cells that are null or * in the quasi columns (NVIr)",
    _take,
    [
        Figure("cells null or * in quasi columns", "", "%", headline=True),
        Figure("records with a cell null or *", "records", "%",
               reading="share of records in which a quasi column is null or * (NVRr)"),
        Figure("suppressed", "suppressed", "records", untouched=0,
               reading="number of records that were suppressed (SRC)"),
        Figure("contaminated", "contaminated",
               reading="whether no fewer cells of the quasi columns are null or * than before, as "
               "in every release that fills in none"),
        Figure("more nulls than before", "more_nulls",
               reading="whether more cells of the quasi columns are null than before: suppressed "
               "records count, a * that generalization gave does not"),
        Figure("nulls in quasi columns", "nulls", "%",
               reading="NVIr where a * that generalization gave is a value"),
        Figure("records with a null", "null_records", "%",
               reading="NVRr where a * that generalization gave is a value"),
        Figure("blanked cells in quasi columns", "blanked", "%", untouched=0.0,
               reading="share of the quasi columns' cells that had a value and were emptied in a "
               "record that was not suppressed"),
        Figure("records with blanked cells", "blanked_records", "%", untouched=0.0,
               reading="share of records in which a quasi column was emptied"),
    ],
    needs=["quasi columns"],
)  # fmt: skip


def _take_columns(t: Facts) -> Entry:
    found = {}
    for name in t.numeric:
        before, after = t.moments(name)
        found[name] = {key: [before[key], after[key]] for key in before}
    return {"columns": found}


COLUMNS = Measure(
    "columns",
    "moments and nulls of each numeric column",
    _take_columns,
    [
        Figure("mean", "mean", "", None, each=True, reading="mean of the values"),
        Figure(
            "weighted mean",
            "weighted_mean",
            "",
            None,
            each=True,
            reading="mean of the values by the sampling weights",
        ),
        Figure("sd", "sd", "", None, each=True, reading="standard deviation of the values"),
        Figure("nulls", "nulls", "cells", None, each=True, reading="cells without a value"),
    ],
)
