"""Spikes: values that so many share that they can be left as they are.

The other values are cut into parts as if there were no spikes, so a part may lie on both sides of
one. In a plan, `spikes` are looked up before the cuts, and their points come after the parts'.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from discreet.plan import ColumnPlan
from discreet.rounding._sizes import held, held_in_parts
from discreet.table.summary import Summary

Spikes = Literal["group", "keep"]
# One of so many, 5 %, must share a value that is a spike.
ONE_OF = 20


def set_apart(summary: Summary, least: int, column: str) -> tuple[Summary, Summary]:
    """Return the values to cut into parts, and the spikes: those that `least` and 5 % share.

    Where fewer than `least` hold the rest, the nearest spike is given up to it.

    Examples
    --------
    >>> rest, spikes = set_apart(Summary(np.arange(4.0), np.array([9, 1, 1, 2])), 3, "income")
    >>> rest.values, spikes.values
    (array([1., 2., 3.]), array([0.]))
    """
    shared = held_in_parts(summary, np.arange(1, len(summary.values) + 1))
    spike = (shared >= least) & (shared * ONE_OF >= held(summary))
    rest = among(summary, ~spike)
    if spike.any() and (not rest.n or held(rest) < least):
        if rest.n:
            warnings.warn(
                f"column '{column}': a value that many share is grouped with the others, which "
                f"are too few to keep apart from it (fewer than {least})",
                stacklevel=2,
            )
        found = summary.values[spike]
        far = [np.dot(np.abs(rest.values - value), rest.counts) for value in found]
        spike[np.searchsorted(summary.values, found[np.argmin(far)])] = False
        rest = among(summary, ~spike)
    return rest, among(summary, spike)


def spikes_of(ranges: Iterable[Summary], least: int) -> Summary:
    """Return the spikes of a column that comes range after range, in records."""
    n, values, counts = 0, np.empty(0), np.empty(0, np.int64)
    for part in ranges:
        n += part.n
        values = np.concatenate([values, part.values])
        counts = np.concatenate([counts, part.counts])
        many = (counts >= least) & (counts * ONE_OF >= n)
        values, counts = values[many], counts[many]
    return Summary(values, counts)


def among(summary: Summary, chosen: np.ndarray) -> Summary:
    """Return a summary of some of the values, by a mask."""
    classes, holders = summary.classes, summary.holders
    if holders is not None:
        sizes = np.diff(holders.starts)
        starts = np.append(0, np.cumsum(sizes[chosen]))
        holders = replace(holders, units=holders.units[np.repeat(chosen, sizes)], starts=starts)
    classes = None if classes is None else classes[chosen]
    return Summary(summary.values[chosen], summary.counts[chosen], summary.nulls, classes, holders)


def with_spikes(plan: ColumnPlan, spikes: Summary) -> ColumnPlan:
    """Add the spikes to a plan of the other values; none at all leave it as it is."""
    if not len(spikes.values):
        return plan
    plan["spikes"] = spikes.values
    plan["points"] = np.append(plan["points"], spikes.values)
    plan["counts"] = np.append(plan["counts"], spikes.counts)
    if spikes.holders is not None:
        each = np.arange(1, len(spikes.values) + 1)
        plan["units"] = np.append(plan["units"], spikes.holders.in_parts(each))
    return plan


def spike_of(plan: ColumnPlan, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which values are spikes, as a mask, and the number of each one's point."""
    at = np.searchsorted(plan["spikes"], values).clip(max=len(plan["spikes"]) - 1)
    found = plan["spikes"][at] == values
    return found, len(plan["cuts"]) + 1 + at[found]
