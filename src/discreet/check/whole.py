"""Models of the whole table verified on a release: by the sizes of its classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import NEEDS_INTERNAL, Finding, counted, finding
from discreet.check.shown import GROUP
from discreet.check.uniques import unique_share
from discreet.table.classes import encode

# What is said of the risk that is left, by model.
OF_TABLE = ("average-risk", "sample-uniqueness", "population-uniqueness")
_ROUNDING = 1e-9


def whole_table(
    said: str, model: Any, table: pa.Table, sizes: np.ndarray, columns: Sequence[str], plan: Any
) -> Finding:
    """Verify a model on the classes of a table, by group where it has groups.

    Records that are `*` in every column are left out.
    """
    hidden = np.full(len(sizes), True)
    for name in columns:
        star = table[name].cast(pa.string()).to_numpy(zero_copy_only=False) == "*"
        hidden &= star
    groups = np.zeros(len(sizes), np.int64)
    if GROUP in table.column_names:
        groups = encode(table[GROUP], GROUP)[0]
    people = None
    if model.model == "population-uniqueness":
        people = _people(model, plan)
        if people is None:
            return Finding(said, "not verifiable", NEEDS_INTERNAL)
    told = []
    for group in np.unique(groups[~hidden]):
        problem, good = _verdict(model, sizes[~hidden & (groups == group)], people)
        if problem is not None:
            return Finding(said, "broken", problem)
        told.append(good)
    if len(told) > 1:
        return finding(said, None, f"in each of {len(told)} groups; {told[-1]} in the last")
    return finding(said, None, told[0] if told else "no record shows anything")


def _people(model: Any, plan: StepPlan | None) -> float | None:
    """Return the size of the population; by the fraction, of the records that were treated."""
    if model.population is not None:
        return float(model.population)
    if plan is None:
        return None
    return sum(group["rows"] for group in plan["joint"]["groups"]) / model.sampling_fraction


def _verdict(model: Any, sizes: np.ndarray, people: float | None) -> tuple[str | None, str]:
    """Return what is wrong, if anything is, and what is so."""
    n = int(sizes.sum())
    if model.model == "average-risk":
        average = len(sizes) / n
        good = f"the average risk is {average:.4g}"
        if average > model.average * (1 + _ROUNDING):
            return good, good
        if model.highest is not None:
            above = int(sizes[1 / sizes > model.highest * (1 + _ROUNDING)].sum())
            share = above / n
            good += f", and {counted(above, 'record')} ({share:.2%}) above {model.highest:g}"
            if share > (model.records or 0) + _ROUNDING:
                return good, good
        return None, good
    unique = int((sizes == 1).sum())
    if people is None:
        good = f"{counted(unique, 'record')} ({unique / n:.2%}) unique"
        return (good if unique / n > model.share + _ROUNDING else None), good
    share = unique_share(model.estimator, sizes, people)
    if not unique:
        return None, "no record is unique"
    if not share > 0:
        told = f"{counted(unique, 'record')} unique, and {model.estimator} has no estimate of them"
        return told, told
    good = f"{share:.4g} of the population are unique, as {model.estimator} estimates"
    return (good if share > model.share + _ROUNDING else None), good
