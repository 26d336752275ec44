"""What a table holds as a whole, before and after: entropy, correlations and their eigenvalues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, LeftOut, Measure, changed_of
from discreet.table.classes import encode
from discreet.table.pairs import as_tables
from discreet.utility.compared import (
    check_rows,
    compared,
    complete_rows,
    finite_pairs,
    is_constant,
    leave_out,
)
from discreet.utility.moments import correlations


@dataclass(frozen=True)
class BeforeAfter:
    """A figure of the protected table and of the original, and each column's before and after."""

    value: float
    before: float
    columns: Mapping[str, tuple[float, float]]


@overload
def entropy(original: Any, protected: Any) -> float: ...
@overload
def entropy(original: Any, protected: Any, *, detail: Literal[True]) -> BeforeAfter: ...
def entropy(original: Any, protected: Any, *, detail: bool = False) -> float | BeforeAfter:
    """Shannon entropy of the protected columns in bits, summed over the columns of both tables.

    Parameters
    ----------
    original, protected : table or array
    detail : bool
        Give the original's too, and each column's.

    Returns
    -------
    float or BeforeAfter
        Nulls are left out: the entropy is of the values that are there. A constant column, and
        one without values, has entropy 0.

    Examples
    --------
    >>> entropy([[1.0], [2.0], [3.0], [4.0]], [[1.5], [1.5], [3.5], [3.5]])
    1.0
    """
    before, after = as_tables(original, protected)
    check_rows(before, after)
    columns = {
        name: (_bits(before[name], name), _bits(after[name], name))
        for name in after.column_names
        if name in before.column_names
    }
    found = entropy_of(columns)
    return found if detail else found.value


def entropy_of(columns: Mapping[str, tuple[float, float]]) -> BeforeAfter:
    """Sum the columns' bits before and after."""
    before, after = (float(sum(pair[side] for pair in columns.values())) for side in (0, 1))
    return BeforeAfter(after, before, columns)


def _bits(column: pa.ChunkedArray, name: str) -> float:
    codes, size = encode(column, name)
    return bits_of(np.bincount(codes[codes >= 0], minlength=size))


def bits_of(counts: np.ndarray, repeats: np.ndarray | None = None) -> float:
    """Entropy from counts of values; `repeats` says how many values have each count.

    Examples
    --------
    >>> bits_of(np.array([1, 1, 2])), bits_of(np.array([1, 2]), np.array([2, 1]))
    (1.5, 1.5)
    """
    repeats = np.ones_like(counts) if repeats is None else repeats
    held = counts > 0
    p = counts[held] / max(1, (counts * repeats).sum())
    return float(-(repeats[held] * p * np.log2(p)).sum()) + 0.0


@overload
def mean_absolute_correlation(original: Any, protected: Any) -> float: ...
@overload
def mean_absolute_correlation(
    original: Any, protected: Any, *, detail: Literal[True]
) -> BeforeAfter: ...
def mean_absolute_correlation(
    original: Any, protected: Any, *, detail: bool = False
) -> float | BeforeAfter:
    """Mean of |R_ij| over the pairs of numeric columns, of the protected table.

    Parameters
    ----------
    original, protected : table or array
    detail : bool
        Give the original's too, and the mean of each column with the others.

    Returns
    -------
    float or BeforeAfter
        A correlation takes the rows where both columns have values. Columns that are constant in
        either table are left out, each with a warning; 0 where fewer than two are left.

    Examples
    --------
    >>> x = [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]
    >>> round(mean_absolute_correlation(x, x), 12)
    1.0
    """
    measure = "mean_absolute_correlation"
    pairs = {}
    for name, (x, y) in finite_pairs(original, protected).items():
        if _flat(x) or _flat(y):
            leave_out(measure, name, "which is constant")
        else:
            pairs[name] = x, y
    if len(pairs) < 2:
        return BeforeAfter(0.0, 0.0, {}) if detail else 0.0
    r_x, r_y = (correlations([pair[side] for pair in pairs.values()]) for side in (0, 1))
    found = mean_absolute_correlation_of(list(pairs), r_x, r_y)
    return found if detail else found.value


def mean_absolute_correlation_of(
    names: Sequence[str], r_x: np.ndarray, r_y: np.ndarray
) -> BeforeAfter:
    """Mean of |R_ij| from the two correlation matrices of some columns."""
    if len(names) < 2:
        return BeforeAfter(0.0, 0.0, {})
    means = []
    for r in (np.abs(r_x), np.abs(r_y)):
        np.fill_diagonal(r, 0.0)
        means.append(r.sum(axis=1) / (len(names) - 1))
    before, after = means
    each = zip(before.tolist(), after.tolist(), strict=True)
    columns = dict(zip(names, each, strict=True))
    return BeforeAfter(float(after.mean()), float(before.mean()), columns)


def _flat(x: np.ndarray) -> bool:
    return bool(np.isnan(x).all()) or is_constant(x)


def eigen(original: Any, protected: Any) -> float:
    """Sum of |l_x - l_y| / l_x over the eigenvalues of the two correlation matrices.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.

    Returns
    -------
    float
        Rows with a null in any numeric column, in either table, are left out, and so are columns
        that are constant in either, each with a warning. Refused where the original's correlation
        matrix is singular.

    Examples
    --------
    >>> x = [[1.0, 2.0], [2.0, 1.0], [3.0, 4.0]]
    >>> eigen(x, x)
    0.0
    """
    r_x, r_y = _matrices(original, protected, "eigen")
    before, after = np.linalg.eigvalsh(r_x), np.linalg.eigvalsh(r_y)
    _refuse_singular(before, "original", "eigen")
    return float((np.abs(before - after) / before).sum())


def correlation_distance(original: Any, protected: Any) -> float:
    """|v_x - v_y| / sqrt(2), with v the diagonal of the inverse correlation matrix, of length 1.

    Parameters and null rule are those of `eigen`; refused where either matrix is singular.

    Examples
    --------
    >>> x = [[1.0, 2.0], [2.0, 1.0], [3.0, 4.0]]
    >>> correlation_distance(x, x)
    0.0
    """
    lengths = []
    matrices = _matrices(original, protected, "correlation_distance")
    for r, which in zip(matrices, ("original", "protected"), strict=True):
        _refuse_singular(np.linalg.eigvalsh(r), which, "correlation_distance")
        v = np.diag(np.linalg.inv(r))
        lengths.append(v / np.linalg.norm(v))
    return float(np.linalg.norm(lengths[0] - lengths[1]) / np.sqrt(2))


def _matrices(original: Any, protected: Any, measure: str) -> tuple[np.ndarray, np.ndarray]:
    pairs = compared(original, protected, measure)
    if not pairs:
        raise BadInput(f"{measure} needs numeric columns with values in both tables")
    x, y = complete_rows(pairs)
    kept = []
    for i, name in enumerate(pairs):
        if is_constant(x[:, i]) or is_constant(y[:, i]):
            leave_out(measure, name, "which is constant where all columns have values")
        else:
            kept.append(i)
    if not kept:
        raise BadInput(f"{measure} needs a numeric column that varies in both tables")
    return correlations(list(x[:, kept].T)), correlations(list(y[:, kept].T))


def _refuse_singular(eigenvalues: np.ndarray, which: str, measure: str) -> None:
    if eigenvalues.min() <= 1e-10 * eigenvalues.max():
        raise BadInput(
            f"{measure}: the {which} table's correlation matrix is singular, because a column is a "
            "sum of others or there are too few rows; leave that column out"
        )


def _take_correlation(t: Facts) -> Entry:
    if len(t.numeric) < 2:
        raise LeftOut("there is only one numeric column")
    found = t.mean_absolute_correlation()
    return {"before": found.before, "after": found.value}


def _take_entropy(t: Facts) -> Entry:
    found = t.entropy(changed_of(t))
    columns = {name: list(pair) for name, pair in found.columns.items()}
    return {"before": found.before, "after": found.value, "columns": columns}


# A release may spoil it either way, so that none is better.
MEAN_ABSOLUTE_CORRELATION = Measure(
    "mean_absolute_correlation",
    "how strongly numeric columns are related, from 0 to 1",
    _take_correlation,
    [Figure("mean absolute correlation", "", "0 to 1", None, headline=True)],
    needs=["changed numbers"],
)
ENTROPY = Measure(
    "entropy",
    "bits per record in the columns that changed, nulls left out; labels, * and noise count as "
    "values, so that it may rise",
    _take_entropy,
    [Figure("entropy of changed columns", "", "bits", None)],
    needs=["changed columns"],
    on_request="labels and noise add to it; known_bits says what is still known",
)
EIGEN = Measure(
    "eigen",
    "relative change of the correlation matrix's eigenvalues, summed",
    lambda t: {"value": eigen(*t.rows().changed())},
    [Figure("change of eigenvalues", untouched=0.0)],
    needs=["changed numbers", "all rows"],
    on_request="mean_absolute_correlation and il_metrics say the same more plainly",
)
CORRELATION_DISTANCE = Measure(
    "correlation_distance",
    "distance between the diagonals of the inverse correlation matrices, from 0 to 1",
    lambda t: {"value": correlation_distance(*t.rows().changed())},
    [Figure("correlation distance", untouched=0.0)],
    needs=["changed numbers", "all rows"],
    on_request="mean_absolute_correlation and il_metrics say the same more plainly",
)
