"""Information lost, of columns of any kind: what released values no longer tell of the original.

Made for comparing releases by different methods: intervals, labels, noise and suppression all count
in the same unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Measure
from discreet.table.classes import check_columns
from discreet.table.columns import float_values, kind_of
from discreet.table.pairs import as_tables
from discreet.utility.compared import as_text, check_rows

MOST_BINS = 20
# Records that a cell of the two-way table has on average, where both sides are spread evenly.
_PER_CELL = 5


@dataclass(frozen=True)
class InformationLoss:
    """What a release lost: H(X | Y) / H(X) of each column, and their mean.

    0 where the released value tells the original's bin, 1 where it tells nothing of it.
    """

    value: float
    columns: dict[str, float]


@overload
def information_loss(
    original: Any, protected: Any, columns: Sequence[str] | None = ...
) -> float: ...
@overload
def information_loss(
    original: Any, protected: Any, columns: Sequence[str] | None = ..., *, detail: Literal[True]
) -> InformationLoss: ...
def information_loss(
    original: Any,
    protected: Any,
    columns: Sequence[str] | None = None,
    *,
    detail: bool = False,
) -> float | InformationLoss:
    """Share of what the columns told that the release no longer tells: H(X | Y) / H(X).

    Parameters
    ----------
    original, protected : table or array
    columns : list of str, optional
        Of the original; one that the protected table lacks is lost whole. Those of both tables
        where not given. A column that is constant in the original had nothing to lose, and does not
        count.
    detail : bool
        Give each column's too.

    Returns
    -------
    float or InformationLoss

    Notes
    -----
    X is the original's column in at most 20 equally filled bins, fewer on small tables, and one for
    nulls; labels are put together as they are sorted. Y is the released one in the same way, but
    for labels that the original does not have, which are each a bin. Entropies are with Miller and
    Madow's correction; 1 minus this is Theil's uncertainty coefficient. It is about each record's
    own value: a release that keeps all totals, but exchanges the values between records, has lost
    much.

    Examples
    --------
    >>> import numpy as np
    >>> age = np.arange(1000.0).reshape(-1, 1)
    >>> information_loss(age, age)
    0.0
    >>> halves = np.where(age < 500, 250.0, 750.0)
    >>> round(information_loss(age, halves), 2)
    0.74
    """
    before, after = as_tables(original, protected)
    check_rows(before, after)
    if columns is None:
        columns = [name for name in after.column_names if name in before.column_names]
    check_columns(before, columns)
    bins = int(np.clip(np.sqrt(before.num_rows / _PER_CELL), 2, MOST_BINS))
    lost = {}
    for name in columns:
        x = _codes(before[name], name, bins)
        if x.max(initial=0) > x.min(initial=x.max(initial=0)):
            lost[name] = 1.0
            if name in after.column_names:
                lost[name] = _lost(x, _codes(after[name], name, bins, before[name]))
    if not lost:
        raise BadInput("information_loss needs a column that varies in the original")
    found = InformationLoss(float(np.mean(list(lost.values()))), lost)
    return found if detail else found.value


def _codes(
    column: pa.ChunkedArray, name: str, bins: int, original: pa.ChunkedArray | None = None
) -> np.ndarray:
    """Return each value the number of its bin, 0 for nulls."""
    if kind_of(column.type) != "numeric":
        if original is None:
            labels, counts, codes = _counted(as_text(column, name))
            return np.append(_numbers(labels, counts, bins), 0)[codes]
        return _as_before(column, original, name, bins)
    values = float_values(column, name)
    present = values[~np.isnan(values)]
    edges = np.unique(present)
    if len(edges) > bins:
        at = np.arange(1, bins) / bins
        edges = np.unique(np.quantile(present, at, method="inverted_cdf"))
    found = np.searchsorted(edges, values, side="right") + 1
    found[np.isnan(values)] = 0
    return found


def _counted(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """Return the labels of a column, their counts, and the label of each cell, -1 for nulls."""
    coded = column.combine_chunks().dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy().astype(np.int64)
    return coded.dictionary, np.bincount(codes[codes >= 0], minlength=len(coded.dictionary)), codes


def _numbers(labels: pa.Array, counts: np.ndarray, bins: int) -> np.ndarray:
    """Return labels the numbers of their bins, from 1 on; many are put together as sorted."""
    if len(labels) <= bins:
        return np.arange(1, len(labels) + 1)
    order = pc.sort_indices(labels).to_numpy()
    middles = np.cumsum(counts[order]) - counts[order] / 2
    number = np.empty(len(labels), np.int64)
    number[order] = 1 + (middles * bins / counts.sum()).astype(np.int64)
    return number


def _as_before(
    column: pa.ChunkedArray, original: pa.ChunkedArray, name: str, bins: int
) -> np.ndarray:
    """Return released labels numbers: the original's as there, new ones their own unless rare."""
    labels, counts, codes = _counted(as_text(column, name))
    number = np.where(counts >= _PER_CELL, bins + 2 + np.arange(len(labels)), bins + 1)
    if kind_of(original.type) != "numeric":
        known, known_counts, _ = _counted(as_text(original, name))
        place = pc.index_in(labels, value_set=known)
        same = place.is_valid().to_numpy(zero_copy_only=False)
        number[same] = _numbers(known, known_counts, bins)[place.drop_null().to_numpy()]
    return np.append(number, 0)[codes]


def _lost(x: np.ndarray, y: np.ndarray) -> float:
    both = x * (y.max() + 1) + y
    h_x, h_y, h_both = _entropy(x), _entropy(y), _entropy(both)
    return float(np.clip((h_both - h_y) / h_x, 0.0, 1.0)) + 0.0


def _entropy(codes: np.ndarray) -> float:
    """Estimate the entropy in nats; small counts make the plain one too low."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    n = len(codes)
    return float(np.log(n) - (counts * np.log(counts)).sum() / n + (len(counts) - 1) / (2 * n))


def _take(t: Facts) -> Entry:
    """Take it over the columns of both tables; a record that was left out has lost all of them."""
    before, after = t.beside(t.shared)
    found = asdict(information_loss(before, after, t.shared, detail=True))
    drawn = len(before) < t.before.num_rows
    return found | ({"sample": len(before), "of": t.before.num_rows} if drawn else {})


INFORMATION_LOSS = Measure(
    "information_loss",
    "share of what the columns told of each record that the release no longer tells",
    _take,
    [
        Figure("information lost", "", "%", untouched=0.0),
        Figure("information lost", "", "%", untouched=0.0, each=True),
    ],
    on_request="it takes another pass over all records",
)
