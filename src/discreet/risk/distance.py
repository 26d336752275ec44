"""Distance-based record linkage: the nearest record is taken for one's own."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from discreet.errors import BadInput, nearest
from discreet.kernels.kdtree import LEAF, nearest_is_own, split_nodes
from discreet.measure import AVERAGE, Entry, Facts, Figure, Measure
from discreet.risk._known import (
    Known,
    Linkage,
    constant_columns,
    known_sets,
    linkage_over_sets,
    linked_by,
)
from discreet.risk.values import standardize
from discreet.table.pairs import Pair, shared_pairs
from discreet.threads import over_ranges

Direction = Literal["protected_to_original", "original_to_protected"]
Scale = Literal["standardize", "raw"]
Metric = Literal["euclidean", "mahalanobis", "gower"]

# A column of which less than this is left, after the columns before it, is their combination.
_DEPENDENT = 1e-9


@overload
def distance_linkage(
    original: Any,
    protected: Any,
    *,
    known: Known = ...,
    direction: Direction = ...,
    scale: Scale = ...,
    metric: Metric = ...,
    detail: Literal[False] = ...,
) -> float: ...
@overload
def distance_linkage(
    original: Any,
    protected: Any,
    *,
    known: Known = ...,
    direction: Direction = ...,
    scale: Scale = ...,
    metric: Metric = ...,
    detail: Literal[True],
) -> Linkage: ...
def distance_linkage(
    original: Any,
    protected: Any,
    *,
    known: Known = "paper",
    direction: Direction = "protected_to_original",
    scale: Scale = "standardize",
    metric: Metric = "euclidean",
    detail: bool = False,
) -> float | Linkage:
    """Share of the records that an intruder links correctly by taking the nearest.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    known : {"paper", "all"}, list of str or list of lists of str
        What the intruder knows. `"paper"` averages over the first 1, 2, ... h columns, h = half
        of them, rounded up; `"all"` is the strongest intruder; a list names the columns; a list
        of lists is averaged over.
    direction : {"protected_to_original", "original_to_protected"}
        Whose nearest record is looked for, and in which file.
    scale : {"standardize", "raw"}
        Each file by its own mean and standard deviation, or as it is. Gower has its own scale.
    metric : {"euclidean", "mahalanobis", "gower"}
        Mahalanobis takes the covariance of the original. Gower is for numbers and categories
        together: the mean over the columns of |x - y| / range, or of x != y. The other two compare
        numeric columns only.
    detail : bool
        Give the share of each set of columns and the chance of each record too.

    Returns
    -------
    float or Linkage
        Shares in 0..1. A record that is one of t nearest, at exactly the same distance, counts 1/t.

    Warns
    -----
    UserWarning
        Names each column that is left out: constant in one of the files, or, with Mahalanobis,
        a linear combination of others. Without any column all records tie, and 1/n is found.

    Notes
    -----
    Nulls: a record that has one in a known column of either file cannot be linked by that set; it
    counts 0, and the detail says how many there are. If its other half is complete, that can still
    be taken for another record's. So suppressed cells lower this measure more than they lower the
    risk. Gower compares two records by the
    columns that both have, and only a record that shares none with its own original counts 0.

    Examples
    --------
    >>> original = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 9.0], [4.0, 7.0]])
    >>> protected = np.array([[1.5, 5.5], [1.5, 5.5], [3.0, 9.0], [4.0, 7.0]])
    >>> distance_linkage(original, protected, known="all", scale="raw")
    0.75
    """
    _check_choice("direction", direction, ("protected_to_original", "original_to_protected"))
    _check_choice("scale", scale, ("standardize", "raw"))
    _check_choice("metric", metric, ("euclidean", "mahalanobis", "gower"))
    pairs = shared_pairs(original, protected)
    if metric != "gower":
        pairs = {name: pair for name, pair in pairs.items() if not pair.categorical}
    sets = known_sets(known, list(pairs))
    used = dict.fromkeys(name for columns in sets for name in columns)
    constant = constant_columns(pairs, used, "distance_linkage")
    usable = {name: pairs[name] for name in used if name not in constant}
    if metric == "gower":
        usable = {name: _unit_range(pair) for name, pair in usable.items()}
    elif scale == "standardize":
        usable = {
            name: Pair(False, standardize(pair.x), standardize(pair.y))
            for name, pair in usable.items()
        }
    n = len(next(iter(pairs.values())).x)
    outcomes, dependent = [], set()
    for columns in sets:
        names = [name for name in columns if name in usable]
        x = np.column_stack([np.empty((n, 0)), *(usable[name].x for name in names)])
        y = np.column_stack([np.empty((n, 0)), *(usable[name].y for name in names)])
        if metric == "mahalanobis":
            kept, x, y = _whiten(x, y)
            dependent |= {name for i, name in enumerate(names) if i not in kept}
            names = [names[i] for i in kept]
        queries, targets = (y, x) if direction == "protected_to_original" else (x, y)
        if metric == "gower":
            flags = np.array([usable[name].categorical for name in names], dtype=bool)
            outcomes.append((names, *_link_gower(queries, targets, flags)))
        else:
            outcomes.append((names, *linked_by_distance(queries, targets)))
    for name in dependent:
        warnings.warn(
            f"distance_linkage leaves out column '{name}', which is a linear combination of "
            "columns before it",
            stacklevel=2,
        )
    result = linkage_over_sets(outcomes)
    return result if detail else result.value


def _check_choice(parameter: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadInput(f'{parameter} = "{value}": {nearest(value, choices)}')


def linked_by_distance(queries: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, int]:
    """Hits of each record, and how many could not be linked because of nulls."""
    complete = ~np.isnan(targets).any(axis=1)
    unlinkable = int((~complete | np.isnan(queries).any(axis=1)).sum())
    # A query with a null hits nothing; its own target can still be taken for another's.
    if complete.all():
        return _own_hits(queries, targets), unlinkable
    hits = np.zeros(len(targets))
    hits[complete] = _own_hits(queries[complete], targets[complete])
    return hits, unlinkable


def _link_gower(
    queries: np.ndarray, targets: np.ndarray, categorical: np.ndarray
) -> tuple[np.ndarray, int]:
    """Do the same with nulls as -1: a pair is compared by the columns that both have."""
    if len(categorical) == 0:
        return _own_hits(queries, targets), 0
    comparable = ((queries >= 0) & (targets >= 0)).any(axis=1)
    return _own_hits(queries, targets, categorical), int((~comparable).sum())


def _own_hits(
    queries: np.ndarray, targets: np.ndarray, categorical: np.ndarray | None = None
) -> np.ndarray:
    """Share with which each query's own target, in the same row, is its nearest target.

    1/t where the own target is among the t nearest, all at exactly the same distance, else 0. A
    query with NaN has no nearest; targets have none. Euclidean, or with `categorical`, which tells
    the columns that are equal or not, Gower's distance, nulls as -1.

    Examples
    --------
    >>> _own_hits(np.array([[0.0], [0.9]]), np.array([[0.0], [2.0]]))
    array([1., 0.])
    """
    return Nearest(targets).own_hits(queries, categorical)


class Nearest:
    """Targets that the nearest are looked for among, in a tree; see `kernels.kdtree`."""

    def __init__(self, targets: np.ndarray) -> None:
        self.n, p = targets.shape
        self._leaves = 1
        while self.n > LEAF * self._leaves:
            self._leaves *= 2
        nodes = 2 * self._leaves - 1
        spans, columns = np.zeros((nodes, 2), np.int64), np.empty(nodes, np.int64)
        spans[0, 1] = self.n
        points, order = np.array(targets, order="C"), np.arange(self.n)
        self._tree = (points, order, spans, columns, np.empty((nodes, 2, p)))
        width = 1
        # Without a column all records are the same.
        self._usable = self.n > 0 and p > 0
        while self._usable and width <= self._leaves:
            _split_level(self._tree, width, chunk=max(1, width * 250_000 // self.n))
            width *= 2

    def own_hits(self, queries: np.ndarray, categorical: np.ndarray | None = None) -> np.ndarray:
        """Share with which each query's own target, in the same row, is its nearest one."""
        if not self._usable:
            return np.full(self.n, 1.0 / max(1, self.n))
        queries, hits = np.ascontiguousarray(queries), np.zeros(self.n)
        tree, first = self._tree, self._leaves - 1
        over_ranges(
            lambda a, b: nearest_is_own(queries, *tree, categorical, first + a, first + b, hits),
            self._leaves,
            chunk=256,
        )
        return hits


def _split_level(tree: tuple[np.ndarray, ...], width: int, chunk: int) -> None:
    over_ranges(lambda a, b: split_nodes(*tree, width - 1 + a, width - 1 + b), width, chunk)


def _unit_range(pair: Pair) -> Pair:
    """Scale numbers and the codes of categories to 0..1 over both files; nulls become -1."""
    x, y = _matched(pair.x, pair.y) if pair.categorical else (pair.x, pair.y)
    low = min(np.nanmin(x), np.nanmin(y))
    span = max(np.nanmax(x), np.nanmax(y)) - low
    # Codes are scaled too, or the tree would part records by category first, and late by number.
    if span > 0:
        x, y = (x - low) / span, (y - low) / span
    return Pair(pair.categorical, np.nan_to_num(x, nan=-1.0), np.nan_to_num(y, nan=-1.0))


def _matched(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the categories new numbers, and those that only one file has the same one.

    They equal nothing in the other, so no distance changes, and the tree has less to tell apart.
    """
    shared = np.intersect1d(x, y)
    shared = shared[~np.isnan(shared)]
    found = []
    for values, alone in ((x, -1.0), (y, float(len(shared)))):
        codes = np.searchsorted(shared, values).astype(np.float64)
        codes[~np.isin(values, shared)] = alone
        codes[np.isnan(values)] = np.nan
        found.append(codes)
    return found[0], found[1]


def _whiten(x: np.ndarray, y: np.ndarray) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return coordinates in which Mahalanobis distance is Euclidean, and the columns they keep.

    Each column is freed of the ones before it (Gram-Schmidt on the complete records of x) and
    scaled; y is treated alike. Cell by cell, so that equal records stay equal to the last bit.
    """
    complete = ~np.isnan(x).any(axis=1)
    kept: list[int] = []
    new_x: list[np.ndarray] = []
    new_y: list[np.ndarray] = []
    m = int(complete.sum())
    for i in range(x.shape[1] if m > 1 else 0):
        centre = x[complete, i].mean()
        rest_x, rest_y = x[:, i] - centre, y[:, i] - centre
        spread = np.sqrt((rest_x[complete] ** 2).sum() / (m - 1))
        for before_x, before_y in zip(new_x, new_y, strict=True):
            share = (rest_x[complete] * before_x[complete]).sum() / (m - 1)
            rest_x, rest_y = rest_x - share * before_x, rest_y - share * before_y
        left = np.sqrt((rest_x[complete] ** 2).sum() / (m - 1))
        if left > _DEPENDENT * spread:
            kept.append(i)
            new_x.append(rest_x / left)
            new_y.append(rest_y / left)
    empty = np.empty((len(x), 0))
    return kept, np.column_stack([empty, *new_x]), np.column_stack([empty, *new_y])


def _take(t: Facts) -> Entry:
    metric = "euclidean" if set(t.quasi or t.changed_numeric) <= set(t.numeric) else "gower"
    return {"metric": metric, **linked_by(t, partial(distance_linkage, metric=metric))}


def _slow(t: Facts) -> str:
    slow = t.to_link.too_many_to_link(t.quasi or t.changed_numeric)
    return f"it takes long on {t.to_link.num_rows:,} records" * slow


DISTANCE_LINKAGE = Measure(
    "distance_linkage",
    "share of released records whose nearest original is their own",
    _take,
    [
        Figure("linkage by distance", "", "%", guide=AVERAGE, headline=True, attack=True),
        Figure("linkage by distance, weaker", "paper", "%", guide=AVERAGE,
               reading="the same by an intruder who knows half of the columns"),
    ],
    needs=["quasi columns or changed numbers"],
    on_request=_slow,
    intruder="linking to the nearest record; beside one record in n by chance",
)  # fmt: skip
