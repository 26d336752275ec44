"""Confidential values inside classes: l-diversity, beta-likeness, (alpha, k)-anonymity.

Each function gives the value that a table reaches: the smallest l, the largest beta or alpha over
its classes. p is the column's distribution in a class, q in the whole table. In the columns that
form the classes a null is a value like any other; a null confidential cell never counts towards l,
and is left out of p and q elsewhere. A class without any value has l = 0, and passes the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.measure import SHARED, Entry, Facts, Figure, Measure, confidential_of
from discreet.risk.closeness import equal_distance, ordered_distance
from discreet.risk.frequency import frequencies
from discreet.risk.within import Pairs, count_pairs, counted, ranks
from discreet.table.classes import encode
from discreet.table.columns import kind_of


def l_diversity(
    table: Any,
    columns: Sequence[str],
    confidential: str,
    *,
    kind: Literal["distinct", "entropy", "recursive"] = "distinct",
    c: float | None = None,
    units: Any = None,
) -> float:
    """Smallest l over the classes.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : sequence of str
        The columns that form the classes.
    confidential : str
    kind : {"distinct", "entropy", "recursive"}
        Distinct values; exp of the Shannon entropy; or the largest l with
        r_1 < c (r_l + ... + r_m), counts r in falling order.
    c : float
        Of recursive (c, l)-diversity, and needed there.
    units : str or array, optional
        The person or household of each record, as in `discreet.risk.frequencies`: each counts once
        for every value that it has in a class.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 1, 2, 2], "ill": ["flu", "flu", "gout", "flu", "acne"]})
    >>> l_diversity(table, ["zip"], "ill")
    2.0
    """
    if kind not in ("distinct", "entropy", "recursive"):
        raise BadInput(f"kind must be 'distinct', 'entropy' or 'recursive', not {kind!r}")
    if kind == "recursive" and (c is None or not c > 0):
        raise BadInput("recursive l-diversity needs a c above 0, such as c=2")
    pairs = counted(table, columns, confidential, units)
    classes = len(pairs.sizes)
    if kind == "distinct":
        reached = np.bincount(pairs.group, minlength=classes).astype(float)
    elif kind == "entropy":
        p = pairs.p
        entropy = np.bincount(pairs.group, -p * np.log(p), minlength=classes)
        reached = np.where(pairs.sizes > 0, np.exp(entropy), 0.0)
    else:
        assert c is not None
        reached = _recursive(pairs, c)
    return float(reached.min()) if classes else 0.0


def _recursive(pairs: Pairs, c: float) -> np.ndarray:
    order = np.lexsort((-pairs.count, pairs.group))
    counts, group = pairs.count[order], pairs.group[order]
    classes = len(pairs.sizes)
    start = np.searchsorted(group, np.arange(classes))
    before = np.cumsum(counts) - counts
    # What is left from the l-th most frequent value on, this one included.
    tail = pairs.sizes[group] - (before - before[start[group]])
    # The tail shrinks with l, so the values that satisfy the rule are the first ones.
    return np.bincount(group, counts[start[group]] < c * tail, minlength=classes)


def beta_likeness(
    table: Any,
    columns: Sequence[str],
    confidential: str,
    *,
    enhanced: bool = False,
    units: Any = None,
) -> float:
    """Largest relative gain in confidence about a value, (p - q) / q where p > q.

    Parameters
    ----------
    table, columns, confidential, units
        As in `l_diversity`.
    enhanced : bool
        Also bound the gain by -ln q. The table then has no beta at all where a gain is above
        that, and infinity is returned.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 2, 2], "ill": ["flu", "flu", "flu", "gout"]})
    >>> beta_likeness(table, ["zip"], "ill")
    1.0
    """
    pairs = counted(table, columns, confidential, units)
    q = pairs.q[pairs.value]
    gain = np.maximum(0.0, (pairs.p - q) / q)
    if enhanced and (gain > -np.log(q) + 1e-12).any():
        return float("inf")
    return float(gain.max(initial=0.0))


@dataclass(frozen=True)
class AlphaK:
    """What (alpha, k)-anonymity a table reaches."""

    alpha: float
    k: int


def alpha_k_anonymity(
    table: Any, columns: Sequence[str], confidential: str, *, units: Any = None
) -> AlphaK:
    """Largest share of one value in a class, and the smallest class.

    Parameters are those of `l_diversity`.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 2, 2], "ill": ["flu", "flu", "flu", "gout"]})
    >>> alpha_k_anonymity(table, ["zip"], "ill")
    AlphaK(alpha=1.0, k=2)
    """
    pairs = counted(table, columns, confidential, units)
    sizes = frequencies(table, columns, units=units).sample
    return AlphaK(float(pairs.p.max(initial=0.0)), int(sizes.min()) if len(sizes) else 0)


@dataclass(frozen=True)
class Diversity:
    """What the classes of a table reach: the smallest distinct l, the largest t and alpha."""

    l: int  # noqa: E741
    t: float
    alpha: float


def diversity_of(
    column: pa.ChunkedArray,
    name: str,
    groups: np.ndarray,
    records: np.ndarray | None = None,
    units: np.ndarray | None = None,
    order: Sequence[str] | None = None,
) -> Diversity:
    """Take three models at once, from one count, on classes that are numbered already.

    t is ordered for numbers, ordered categories and text with an `order`, equal for the others.
    Each entry is a record, or stands for as many as `records` says; units count as in
    `l_diversity`.
    """
    ordered = order is not None or kind_of(column.type) in ("numeric", "ordered")
    encoded = ranks(column, name, order) if ordered else encode(column, name)
    pairs = count_pairs(groups, int(groups.max(initial=-1)) + 1, *encoded, records, units)
    smallest = np.bincount(pairs.group, minlength=len(pairs.sizes)).min() if len(groups) else 0
    t = (ordered_distance if ordered else equal_distance)(pairs).max(initial=0.0)
    return Diversity(int(smallest), float(t), float(pairs.p.max(initial=0.0)))


def _take(t: Facts) -> Entry:
    columns = confidential_of(t)
    found: dict[str, Entry] = {c: {} for c in columns}
    for side, when in enumerate(("before", "after")):
        # Where a record is alone l is 1 and says no more; before, that is the usual case.
        if when == "after" or t.frequencies[side].sample.min(initial=2) > 1:
            for c in columns:
                found[c][when] = asdict(t.diversity(side, c, _order(t, c)))
    return {"columns": found} | t.counts


def _order(t: Facts, column: str) -> Sequence[str] | None:
    """Return the order of a column's values that a step's privacy model lists, if one does."""
    for step in t.recipe.steps:
        for model in step.parameters().get("privacy") or ():
            if getattr(model, "order", None) and model.column == column:
                return model.order
    return None


def _alone(t: Facts) -> str:
    # What is in a second table goes by groups.
    if t.groups is not None:
        return ""
    if t.quasi and t.frequencies[1].sample.min(initial=2) < 2:
        return "records are alone in their class, where l is 1 whatever they hold"
    return ""


DIVERSITY = Measure(
    "diversity",
    "confidential values within a class: few, or unlike the table's, give them away",
    _take,
    [
        Figure("l", "l", "values", "more", each=True, reading="fewest distinct values in a class"),
        Figure("t", "t", each=True, reading="largest distance of a class from the whole table"),
        Figure("alpha", "alpha", "%", each=True, guide=SHARED, headline=True,
               reading="largest share of one value in a class"),
    ],
    needs=["quasi columns", "confidential columns"],
    on_request=_alone,
    by_frequency=True,
    intruder="reading off what a class has in common; beside the values of the whole table",
)  # fmt: skip
