"""Risk from small classes: records that share their quasi columns with few others."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.errors import BadInput, nearest
from discreet.table import to_arrow, tuple_counts


@dataclass(frozen=True)
class ClassSizes:
    """Sizes of the classes of records that share a tuple, in figures.

    Attributes
    ----------
    records, classes, smallest : int
    unique : int
        Records that are alone in their class.
    under_3, under_5 : int
        Records in classes of fewer than 3, and of fewer than 5.
    average_risk : float
        Mean over the records of 1 / class size.
    """

    records: int
    classes: int
    smallest: int
    unique: int
    under_3: int
    under_5: int
    average_risk: float

    def to_dict(self) -> dict[str, Any]:
        """Give the figures as plain data."""
        return asdict(self)


def class_size_risk(table: Any, columns: list[str]) -> ClassSizes:
    """Count the classes that some columns form together; a null is a value like any other.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : list of str
        Usually the quasi columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["f", "f", "m"], "region": ["north", "north", "north"]})
    >>> class_size_risk(table, ["sex", "region"]).unique
    1
    """
    table = to_arrow(table)
    for column in columns:
        if column not in table.column_names:
            raise BadInput(
                f"the table has no column '{column}'; {nearest(column, table.column_names)}"
            )
    _, sizes = tuple_counts(table, columns)
    return ClassSizes(
        records=int(sizes.sum()),
        classes=len(sizes),
        smallest=int(sizes.min(initial=np.iinfo(np.int64).max)) if len(sizes) else 0,
        unique=int(sizes[sizes < 2].sum()),
        under_3=int(sizes[sizes < 3].sum()),
        under_5=int(sizes[sizes < 5].sum()),
        average_risk=len(sizes) / max(1, int(sizes.sum())),
    )
