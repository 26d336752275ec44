"""Columns whose released values move alike, to an intruder who takes them together.

Noise that is correlated between columns hides each of them, but what two related columns differ
by hardly moves. For every column a line tells what is released of an original value on average; how
the rest of the columns varies together is their covariance. Both are learned from pairs of original
and released records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.risk._differences import Cells, Scale
from discreet.risk._tells import LEARNED, Column, Tells

# Columns whose moves have a smaller correlation are taken one by one; as are those for which it may
# come from so few pairs that it is within so many standard errors of 0.
_LEAST, _ERRORS = 0.2, 4.0
# Pairs that correlations are taken from, and for each column those that a covariance needs.
_COMPARED, _PER_COLUMN = 5_000, 5
# Released records, and originals that each is compared with, by which a scale is chosen.
_QUERIES, _ORIGINALS = 100, 1_000
# What remains of a column's variance, at least, when others are known.
_FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class Together:
    """What is expected of every original and what was released, and how both differ.

    One column for each of `names`; those by which least is explained by the ones before them come
    last. All are in units of the standard deviation by which they differ; NaN is a null.
    """

    names: tuple[str, ...]
    x: np.ndarray  # expected, of every original
    y: np.ndarray  # released
    root: np.ndarray  # of the covariance of their differences, lower triangular
    peaks: np.ndarray  # the score of no difference
    nulls: np.ndarray  # scores of nulls: released, original, both


def together(
    columns: Mapping[str, Column], told: Mapping[str, Tells], learned: Cells
) -> Together | None:
    """Take columns of numbers together that move alike; None where none do.

    Parameters
    ----------
    columns : mapping of str to Column
    told : mapping of str to Tells
        What each tells by itself.
    learned : Cells
        What is learned from.
    """
    scales = {name: one.scale for name, one in told.items() if one.scale is not None}
    parts = [
        part
        for names in _alike(scales, learned.first(_COMPARED))
        if (part := _fitted({name: columns[name] for name in names}, learned)) is not None
    ]
    if not parts:
        return None
    return _joined(parts, columns, learned)


# Which


def _alike(scales: Mapping[str, Scale], pairs: Cells) -> list[list[str]]:
    """Return groups of columns of which each moves like another."""
    if len(scales) < 2 or not len(pairs.row):
        return []
    rests = [_Lines([one], pairs).rest[:, 0] for one in scales.values()]
    ranks = np.column_stack([_centred_ranks(rest) for rest in rests])
    there = (~np.isnan(ranks)).astype(float)
    ranks = np.nan_to_num(ranks)
    count = _product(there, there)
    spread = _product(ranks**2, there)
    size = np.sqrt(spread * spread.T)
    related = np.abs(_product(ranks, ranks)) / np.where(size > 0, size, 1.0)
    linked = related >= np.maximum(_LEAST, _ERRORS / np.sqrt(np.maximum(count, 1.0)))
    names, groups = np.array(list(scales)), _reached(linked | np.eye(len(scales), dtype=bool))
    return [names[one].tolist() for one in np.unique(groups, axis=0) if one.sum() > 1]


def _reached(linked: np.ndarray) -> np.ndarray:
    """Return for every column which others can be reached from it.

    Examples
    --------
    >>> _reached(np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)).all()
    np.True_
    """
    while ((farther := linked @ linked) != linked).any():
        linked = farther
    return linked


def _centred_ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks around 0, the same for equal values; a null has none.

    Examples
    --------
    >>> _centred_ranks(np.array([5.0, np.nan, 7.0, 5.0]))
    array([-0.5,  nan,  1. , -0.5])
    """
    there = ~np.isnan(values)
    _, place, counts = np.unique(values[there], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    ranks = np.full(len(values), np.nan)
    ranks[there] = middle[place] - (there.sum() - 1) / 2
    return ranks


# How


class _Lines:
    """What is released of an original in some columns, on scales, as lines.

    Attributes
    ----------
    x : ndarray
        What is expected of every original.
    y : ndarray
        Places of every run.
    rest : ndarray
        How far pairs are from what is expected.
    """

    def __init__(self, scales: Sequence[Scale], pairs: Cells) -> None:
        x = np.column_stack([_originals(scale) for scale in scales])
        self.y = np.stack([_middle(scale.y) for scale in scales], axis=-1)
        own, released = x[pairs.row], self.y[pairs]
        own[np.isnan(released)] = np.nan
        released[np.isnan(own)] = np.nan
        count = np.maximum((~np.isnan(own)).sum(axis=0), 1)
        centres = [np.nansum(side, axis=0) / count for side in (own, released)]
        own, released = own - centres[0], released - centres[1]
        spread = np.nansum(own * own, axis=0)
        slope = np.nansum(own * released, axis=0) / np.where(spread > 0, spread, 1.0)
        self.x = centres[1] + slope * (x - centres[0])
        self.rest = released - slope * own


def _originals(scale: Scale) -> np.ndarray:
    """Return the place of every original, NaN for nulls."""
    return np.append(_middle(scale.x), np.nan)[np.minimum(scale.codes, len(scale.counts))]


def _middle(ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return (ends[0] + ends[1]) / 2


def _fitted(columns: Mapping[str, Column], learned: Cells) -> Together | None:
    """Take a group of columns together, on the scale that tells most; None without many pairs."""
    gone = np.array([np.isnan(c.x[learned.row]) | np.isnan(c.y[learned]) for c in columns.values()])
    whole = ~gone.any(axis=0)
    pairs = Cells(learned.run[whole], learned.row[whole]).first(LEARNED)
    if len(pairs.row) < _PER_COLUMN * len(columns):
        return None
    tried = [
        _on(list(columns), [column.scales[number] for column in columns.values()], pairs)
        for number in range(3)
    ]
    return max(tried, key=lambda one: one[0])[1]


def _on(names: list[str], scales: Sequence[Scale], pairs: Cells) -> tuple[float, Together]:
    """Take columns together on given scales; return what a pair then tells, too."""
    lines = _Lines(scales, pairs)
    sd = np.sqrt((lines.rest**2).mean(axis=0))
    sd = np.where(sd > 0, sd, 1.0)
    rest, x, y = lines.rest / sd, lines.x / sd, lines.y / sd
    released = y[pairs]
    covariance = _product(rest, rest) / len(rest)
    order, root = _root(covariance, released.var(axis=0))
    peaks = 0.5 * np.log(np.maximum(released.var(axis=0)[order], _FLOOR)) - np.log(np.diag(root))
    found = Together(
        tuple(names[k] for k in order), x[:, order], y[0][:, order], root, peaks, np.empty(0)
    )
    return _nats(found, released[:_QUERIES, order], pairs), found


def _nats(one: Together, released: np.ndarray, pairs: Cells) -> float:
    """Return how much more a released record tells of its own original than of any."""
    white = np.linalg.inv(one.root).T
    centre = released.mean(axis=0)
    y, x = (
        _product((side - centre).T, white) for side in (released, one.x[pairs.row[:_ORIGINALS]])
    )
    own = ((y - x[: len(y)]) ** 2).sum(axis=1)
    apart = (y**2).sum(axis=1)[:, None] + (x**2).sum(axis=1) - 2 * _product(y.T, x.T)
    nearest = apart.min(axis=1)
    usual = np.log(np.exp((nearest[:, None] - apart) / 2).mean(axis=1))
    return float(((nearest - own) / 2 - usual).mean())


def _root(covariance: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the columns and the Cholesky root in it.

    Next is always the column that tells most when those before it are known.

    Examples
    --------
    >>> order, root = _root(np.array([[1.0, 0.6], [0.6, 1.0]]), np.array([2.0, 5.0]))
    >>> order, root
    (array([1, 0]), array([[1. , 0. ],
           [0.6, 0.8]]))
    """
    p = len(covariance)
    remains, columns = covariance.copy(), np.zeros((p, p))
    taken: list[int] = []
    for k in range(p):
        variance = np.maximum(np.diag(remains), _FLOOR)
        gain = spread / variance
        gain[taken] = -1.0
        best = int(gain.argmax())
        taken.append(best)
        columns[:, k] = remains[:, best] / np.sqrt(variance[best])
        columns[best, k] = np.sqrt(variance[best])
        remains = remains - np.outer(columns[:, k], columns[:, k])
    order = np.array(taken)
    return order, np.tril(columns[order])


def _joined(parts: Sequence[Together], columns: Mapping[str, Column], learned: Cells) -> Together:
    """Put groups side by side, the one that tells most first; and what nulls tell."""
    parts = sorted(parts, key=lambda part: -part.peaks[0])
    names = tuple(name for part in parts for name in part.names)
    root, at = np.zeros((len(names), len(names))), 0
    for part in parts:
        own = slice(at, at + len(part.names))
        root[own, own] = part.root
        at = own.stop
    told = np.array([columns[name].nulls_tell(learned)[1] for name in names])
    x, y = np.hstack([part.x for part in parts]), np.hstack([part.y for part in parts])
    peaks = np.concatenate([part.peaks for part in parts])
    return Together(names, x, y, root, peaks + told[:, 0], told[:, 1:])


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a.T @ b, the same however many threads there are."""
    return np.einsum("ij,ik->jk", a, b)
