"""Interval disclosure: how often an original lies in a small interval around its released value."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.errors import BadInput, nearest
from discreet.measure import INTERVALS, Entry, Facts, Figure, Measure
from discreet.risk._known import Known, known_sets
from discreet.risk.values import refuse_infinite, sd
from discreet.table.pairs import numeric_pairs

Kind = Literal["rank", "sd", "sd-record"]

# Half the interval of the two kinds by standard deviations, in these.
WIDTH = 0.05
# Half widths of the rank intervals, in percent of the records.
_RANK_PERCENTS = range(1, 11)


@dataclass(frozen=True)
class Disclosure:
    """A share of cells or of records, and each column's share of cells."""

    value: float
    columns: dict[str, float]


@overload
def interval_disclosure(
    original: Any,
    protected: Any,
    *,
    kind: Kind = ...,
    width: float = ...,
    known: Known = ...,
    detail: Literal[False] = ...,
) -> float: ...
@overload
def interval_disclosure(
    original: Any,
    protected: Any,
    *,
    kind: Kind = ...,
    width: float = ...,
    known: Known = ...,
    detail: Literal[True],
) -> Disclosure: ...
def interval_disclosure(
    original: Any,
    protected: Any,
    *,
    kind: Kind = "sd",
    width: float = WIDTH,
    known: Known = "all",
    detail: bool = False,
) -> float | Disclosure:
    """Share of cells or records whose original lies in an interval around the released value.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    kind : {"sd", "sd-record", "rank"}
        `"sd"`: share of cells within `width` standard deviations of the released column.
        `"sd-record"`: share of records all of whose cells are.
        `"rank"`: share of cells between the released values that lie floor(p n / 100) ranks below
        and above their own, averaged over p = 1..10; tied values take all of their ranks.
    width : float
        Half the interval of the two `sd` kinds.
    known : {"all", "paper"}, list of str or list of lists of str
        The columns to look at, as in `distance_linkage`; several sets of them are averaged over.
    detail : bool
        Give the columns' shares too.

    Returns
    -------
    float or Disclosure
        Shares in 0..1. Cells that are null on either side are left out, and so is a record without
        any other; a column without any other is left out with a warning, and so is a set of known
        columns that holds no more.

    Examples
    --------
    >>> original, protected = [[1.0], [2.0], [9.0]], [[1.0], [2.5], [9.0]]
    >>> interval_disclosure(original, protected)
    0.6666666666666666
    >>> interval_disclosure(original, protected, kind="rank")
    0.6666666666666666
    """
    if kind not in ("rank", "sd", "sd-record"):
        raise BadInput(f'kind = "{kind}": {nearest(kind, ["rank", "sd", "sd-record"])}')
    if not width >= 0:
        raise BadInput(f"width = {width} must be 0 or more")
    pairs = numeric_pairs(original, protected)
    sets = [list(pairs)] if known == "all" else known_sets(known, list(pairs))
    shares, cells, beyond = {}, {}, {}
    for name in dict.fromkeys(name for chosen in sets for name in chosen):
        x, y = pairs[name]
        refuse_infinite(name, x, y)
        both = ~(np.isnan(x) | np.isnan(y))
        if not both.any():
            say_no_values(name)
            continue
        close = disclosed_cells(x[both], y[both], kind, width)
        shares[name], cells[name] = float(close.mean()), int(both.sum())
        if kind == "sd-record":
            beyond[name] = both, both.copy()
            beyond[name][1][both] = close == 0
    found = []
    # A set without any value says nothing, and must not lower the mean.
    known_values = [[name for name in chosen if name in shares] for chosen in sets]
    for there in [names for names in known_values if names] or [[]]:
        if kind == "sd-record" and there:
            compared, outside = (
                np.any([beyond[name][side] for name in there], axis=0) for side in (0, 1)
            )
            found.append(float(1 - outside[compared].mean()))
        else:
            own = {name: shares[name] for name in there}
            found.append(disclosure_of(own, cells).value)
    value = float(np.mean(found))
    return Disclosure(value, shares) if detail else value


def say_no_values(name: str) -> None:
    """Warn that a column without values is left out."""
    warnings.warn(f"interval_disclosure leaves out column '{name}': no values", stacklevel=3)


def disclosure_of(shares: dict[str, float], cells: dict[str, int]) -> Disclosure:
    """Put the columns' shares together, each by its number of cells.

    Examples
    --------
    >>> disclosure_of({"age": 0.5, "pay": 0.25}, {"age": 100, "pay": 300}).value
    0.3125
    """
    hits = sum(shares[name] * cells[name] for name in shares)
    return Disclosure(hits / max(1, sum(cells[name] for name in shares)), shares)


def disclosed_cells(x: np.ndarray, y: np.ndarray, kind: Kind, width: float = WIDTH) -> np.ndarray:
    """Return of each cell whether, or in which share of the intervals, its original lies."""
    return _by_rank(x, y) if kind == "rank" else _by_sd(x, y, width)


def _by_sd(x: np.ndarray, y: np.ndarray, width: float) -> np.ndarray:
    """1 for each cell within some standard deviations of y, else 0."""
    return (np.abs(x - y) <= width * sd(y)).astype(np.float64)


def _by_rank(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of the ten rank intervals around each y that x lies in."""
    n, ordered = len(y), np.sort(y)
    first = np.searchsorted(ordered, y, side="left")
    last = np.searchsorted(ordered, y, side="right") - 1
    inside = np.zeros(n)
    for percent in _RANK_PERCENTS:
        ranks = percent * n // 100
        low = ordered[np.maximum(first - ranks, 0)]
        high = ordered[np.minimum(last + ranks, n - 1)]
        inside += (low <= x) & (x <= high)
    return inside / len(_RANK_PERCENTS)


def _take(t: Facts) -> Entry:
    found = t.interval_disclosure()
    perturbed = [share for name, share in found.columns.items() if name in t.perturbed]
    return asdict(found) | ({"perturbed": max(perturbed)} if perturbed else {})


WORST_PERTURBED = Figure(
    "interval disclosure, perturbed columns",
    "perturbed",
    "%",
    guide=INTERVALS,
    untouched=1.0,
    reading="the same of the worst column whose values were perturbed one by one",
    headline=True,
)
INTERVAL_DISCLOSURE = Measure(
    "interval_disclosure",
    "share of cells within 5 % of a standard deviation of their original",
    _take,
    [
        Figure("interval disclosure", "", "%", untouched=1.0, headline=True),
        WORST_PERTURBED,
        Figure("cells near", "", "%", untouched=1.0, each=True),
    ],
    needs=["changed numbers"],
    intruder="taking a released number for the original; beside the original table, all of it",
)
