"""Which records have their own partner as the nearest: the k-d tree, built and asked in threads."""

from __future__ import annotations

import numpy as np

from discreet.kernels.kdtree import LEAF, nearest_is_own, split_nodes
from discreet.threads import over_ranges


def own_hits(
    queries: np.ndarray, targets: np.ndarray, categorical: np.ndarray | None = None
) -> np.ndarray:
    """Share with which each query's own target, in the same row, is its nearest target.

    Parameters
    ----------
    queries, targets : ndarray of float64, (n, p)
        Targets without NaN; a query with NaN has no nearest.
    categorical : ndarray of bool, optional
        Given: Gower's distance, nulls as -1, and these columns are equal or not. Else Euclidean.

    Returns
    -------
    ndarray of float64
        1/t where the own target is among the t nearest, all at exactly the same distance, else 0.

    Examples
    --------
    >>> own_hits(np.array([[0.0], [0.9]]), np.array([[0.0], [2.0]]))
    array([1., 0.])
    """
    n, p = targets.shape
    if n == 0 or p == 0:
        # Without a column all records are the same.
        return np.full(n, 1.0 / max(1, n))
    points, order = np.array(targets, order="C"), np.arange(n)
    queries = np.ascontiguousarray(queries)
    leaves = 1
    while n > LEAF * leaves:
        leaves *= 2
    nodes = 2 * leaves - 1
    spans, columns = np.zeros((nodes, 2), np.int64), np.empty(nodes, np.int64)
    spans[0, 1] = n
    tree = (points, order, spans, columns, np.empty((nodes, 2, p)))
    width = 1
    while width <= leaves:
        _split_level(tree, width, chunk=max(1, width * 250_000 // n))
        width *= 2
    hits = np.zeros(n)
    over_ranges(
        lambda a, b: nearest_is_own(
            queries, *tree, categorical, leaves - 1 + a, leaves - 1 + b, hits
        ),
        leaves,
        chunk=256,
    )
    return hits


def _split_level(tree: tuple[np.ndarray, ...], width: int, chunk: int) -> None:
    over_ranges(lambda a, b: split_nodes(*tree, width - 1 + a, width - 1 + b), width, chunk)
