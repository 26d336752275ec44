"""Information lost, of columns of any kind: what released values no longer tell of the original.

Made for comparing releases by different methods: intervals, labels, noise and suppression all count
in the same unit, and a release that is coarser, cell by cell, never counts as having lost less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Measure, changed_of
from discreet.table.classes import check_columns
from discreet.table.columns import float_values, kind_of
from discreet.table.pairs import as_tables
from discreet.utility.compared import as_text, check_rows
from discreet.utility.covers import Covers, covers_of

if TYPE_CHECKING:
    from discreet.utility.covers import Hierarchies

MOST_BINS = 20
# Records that a cell of the two-way table has on average, where both sides are spread evenly.
_PER_CELL = 5


@dataclass(frozen=True)
class InformationLoss:
    """What a release lost: the share of each column's bits, their mean, and the bits there were.

    0 where the released value tells the original's bin, 1 where it tells nothing of it.
    """

    value: float
    columns: dict[str, float]
    bits: dict[str, float]


@overload
def information_loss(
    original: Any,
    protected: Any,
    columns: Sequence[str] | None = ...,
    *,
    hierarchies: Hierarchies | None = ...,
) -> float: ...
@overload
def information_loss(
    original: Any,
    protected: Any,
    columns: Sequence[str] | None = ...,
    *,
    hierarchies: Hierarchies | None = ...,
    detail: Literal[True],
) -> InformationLoss: ...
def information_loss(
    original: Any,
    protected: Any,
    columns: Sequence[str] | None = None,
    *,
    hierarchies: Hierarchies | None = None,
    detail: bool = False,
) -> float | InformationLoss:
    """Share of what the columns told that the release no longer tells.

    Parameters
    ----------
    original, protected : table or array
    columns : list of str, optional
        Of the original; one that the protected table lacks is lost whole. Those of both tables
        where not given. A column that is constant in the original had nothing to lose, and does not
        count.
    hierarchies : mapping of str to Hierarchy, optional
        Of columns of text: what their labels cover. Where not given, that is what was seen under
        them.
    detail : bool
        Give each column's too.

    Returns
    -------
    float or InformationLoss

    Notes
    -----
    X is the original's column in at most 20 equally filled bins, fewer on small tables, and one for
    nulls; labels are put together as they are sorted. What is released in place of a record's value
    covers m of the original's n records: `30-39` those from 30 to 39, `*` and a null all, a value
    those that have it, and steps of numbers, as rounding gives, those that were put together. Where
    v records have the record's value and b are in its bin, the record has lost
    log(1 + (m - v) / b), and the column the sum of that over the sum of log(1 + (n - v) / b), which
    is what it loses where nothing is left. A wider label loses more, whatever the other records
    show. Where each value is a bin and labels do not overlap, the measure is H(X | Y) / H(X). A
    null that was null before is one of those that were null or are.

    Values that were exchanged or moved by chance cover nothing. Of a column with any such value the
    loss is H(X | Y) / H(X), where Y is the released column in such bins, but for labels that the
    original does not have, which are each a bin; entropies are with Miller and Madow's correction.
    1 minus this is Theil's uncertainty coefficient. It is about each record's own value: a release
    that keeps all totals, but exchanges the values between records, has lost much.

    Examples
    --------
    >>> import numpy as np
    >>> age = np.arange(1000.0).reshape(-1, 1)
    >>> information_loss(age, age)
    0.0
    >>> halves = np.where(age < 500, 250.0, 750.0)
    >>> round(information_loss(age, halves), 2)
    0.77
    """
    before, after = as_tables(original, protected)
    check_rows(before, after)
    if columns is None:
        columns = [name for name in after.column_names if name in before.column_names]
    check_columns(before, columns)
    bins = int(np.clip(np.sqrt(before.num_rows / _PER_CELL), 2, MOST_BINS))
    lost, bits = {}, {}
    for name in columns:
        x = _codes(before[name], name, bins)
        if x.max(initial=0) > x.min(initial=x.max(initial=0)):
            lost[name], bits[name] = 1.0, float(_plain_entropy(x) / np.log(2))
            if name in after.column_names and before[name].equals(after[name]):
                lost[name] = 0.0
            elif name in after.column_names:
                hierarchy = (hierarchies or {}).get(name)
                lost[name] = _lost(before[name], after[name], name, x, bins, hierarchy)
    if not lost:
        raise BadInput("information_loss needs a column that varies in the original")
    found = InformationLoss(float(np.mean(list(lost.values()))), lost, bits)
    return found if detail else found.value


def _lost(
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
    name: str,
    x: np.ndarray,
    bins: int,
    hierarchy: Any,
) -> float:
    covers = covers_of(before, after, name, hierarchy)
    if covers.truthful:
        return _uncovered(covers, x)
    return _conditional(x, _codes(after, name, bins, before))


def _uncovered(covers: Covers, x: np.ndarray) -> float:
    """Compare the others that each record could be, by its label, with those in its bin."""
    own, same = np.bincount(x)[x], covers.counts[covers.x]
    lost, told = (np.log1p((m - same) / own).sum() for m in (covers.covered(), len(x)))
    return float(min(1.0, lost / told)) + 0.0


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


def _conditional(x: np.ndarray, y: np.ndarray) -> float:
    both = x * (y.max() + 1) + y
    h_x, h_y, h_both = _entropy(x), _entropy(y), _entropy(both)
    return float(np.clip((h_both - h_y) / h_x, 0.0, 1.0)) + 0.0


def _entropy(codes: np.ndarray) -> float:
    """Estimate the entropy in nats; small counts make the plain one too low."""
    return _plain_entropy(codes) + (np.count_nonzero(np.bincount(codes)) - 1) / (2 * len(codes))


def _plain_entropy(codes: np.ndarray) -> float:
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    return float(np.log(len(codes)) - (counts * np.log(counts)).sum() / len(codes))


def _take_known(t: Facts) -> Entry:
    before, after = t.shown("known_bits", changed_of(t))
    lost = information_loss(before, after, hierarchies=t.recipe.hierarchies, detail=True)
    columns = {
        name: [bits, (1 - lost.columns[name]) * bits + 0.0] for name, bits in lost.bits.items()
    }
    was, known = (float(sum(pair[side] for pair in columns.values())) for side in (0, 1))
    return {"before": was, "after": known, "columns": columns}


KNOWN_BITS = Measure(
    "known_bits",
    "bits per record that the released values of changed columns still tell of the original ones, "
    "each in at most 20 groups of values: a label tells what it covers, and noise adds nothing",
    _take_known,
    [Figure("bits still known of changed columns", "", "bits", "more")],
    needs=["changed columns"],
)


def _take(t: Facts) -> Entry:
    """Take it over the columns of both tables; a record that was left out has lost all of them."""
    before, after = t.beside(t.shared)
    known = t.recipe.hierarchies
    found = asdict(information_loss(before, after, t.shared, hierarchies=known, detail=True))
    drawn = len(before) < t.before.num_rows
    return found | ({"sample": len(before), "of": t.before.num_rows} if drawn else {})


INFORMATION_LOSS = Measure(
    "information_loss",
    "share of what the columns told of each record that the release no longer tells",
    _take,
    [
        Figure("information lost", "", "%", untouched=0.0, headline=True),
        Figure("information lost", "", "%", untouched=0.0, each=True),
    ],
)
