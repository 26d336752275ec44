"""Models that look at a population, from their definitions: it is read, and generalized, again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import NEEDS_INTERNAL, Finding, counted, finding
from discreet.check.replay.generalization import generalize
from discreet.check.shown import GROUP
from discreet.engines.choice import choose, open_engine
from discreet.errors import BadInput
from discreet.recipe.recipe import Step
from discreet.table.cells import plain
from discreet.table.classes import classes_of, encode_columns

# A figure that misses its bound by no more is taken to meet it.
_ROUNDING = 1e-9


def class_size(model: Any, plan: StepPlan | None) -> int:
    """Return the records that a model asks of every class of the release, 1 where it asks for none.

    Where a population is estimated, that follows from how many records are in the sample, which
    the plan tells; without a plan it is no more than k.
    """
    if not is_number(population := getattr(model, "population", None)):
        return 1
    if model.model != "k-map" or population is None:
        return int(getattr(model, "k", 1))
    told = {} if plan is None else plan.get("joint", {}).get("population", {})
    return _estimated(model, int(told["records"])) if "records" in told else int(model.k)


def is_number(population: Any) -> bool:
    """Tell whether a population is told by a number, or none is given."""
    return population is None or isinstance(population, int | float)


def _estimated(model: Any, n: int) -> int:
    """Return the records that are enough, with f k of a class of k expected in a sample of n."""
    from scipy.special import pdtr

    expected = n / model.population * model.k
    # The chance of no record at all is left out of the zero-truncated distribution.
    none = pdtr(0, expected) if model.estimator == "zero-truncated" else 0.0
    counts = np.arange(0 if model.estimator == "poisson" else 1, model.k + 1)
    reached = (pdtr(counts, expected) - none) / (1 - none)
    enough = counts[reached >= 1 - model.significance - _ROUNDING]
    most = min(model.k, n)
    return int(min(enough[0] + (2 if model.arx else 1), most)) if len(enough) else most


def sampled(
    said: str, model: Any, sizes: np.ndarray, plan: StepPlan | None, by_unit: bool
) -> Finding | None:
    """Say what is wrong with the plan's number of records, or units, that classes are judged by."""
    if plan is None:
        if len(sizes) and sizes.min() < model.k:
            return Finding(said, "not verifiable", NEEDS_INTERNAL)
        return None
    told = plan.get("joint", {}).get("population", {})
    n = int(told.get("records", 0))
    # A unit may be in several classes.
    if n < (sizes.max(initial=0) if by_unit else sizes.sum()):
        detail = f"the plan has a sample of {n:,} records, and more are released"
        return Finding(said, "broken", detail)
    if told.get("least", 0) < (least := _estimated(model, n)):
        detail = f"the plan asks for {told.get('least')} records of a class, and {least} are needed"
        return Finding(said, "broken", detail)
    return None


def in_population(
    said: str,
    model: Any,
    step: Step,
    plan: StepPlan | None,
    released: tuple[pa.Table, np.ndarray],
) -> Finding:
    """Count the classes of a release in the population, and judge a model by that."""
    found = counted_in(said, model, step, plan, released)
    if isinstance(found, Finding):
        return found
    assert plan is not None
    (held, outside), sizes = found, released[1]
    if hasattr(model, "k"):
        least = int(held.min(initial=np.iinfo(np.int64).max)) if len(held) else 0
        worst = f"the rarest class has {counted(least, 'record')} in the population"
        return finding(said, worst if len(held) and least < model.k else None, worst)
    shares = sizes / np.maximum(held, 1e-300)
    low, high = (float(shares.min()), float(shares.max())) if len(shares) else (0.0, 0.0)
    good = f"shares of {low:.4g} to {high:.4g} of the population's records"
    bad = len(shares) and (low < model.minimum - _ROUNDING or high > model.maximum + _ROUNDING)
    if model.minimum > 0 and outside:
        # Their class has no record in the release, nor one that was suppressed.
        good += f"; {outside:,} records of the population are in no class of the release"
        bad = bad or not _suppressed(plan)
    return finding(said, good if bad else None, good)


def counted_in(
    said: str,
    model: Any,
    step: Step,
    plan: StepPlan | None,
    released: tuple[pa.Table, np.ndarray],
) -> tuple[np.ndarray, int] | Finding:
    """Return the population's records of each class, and how many are in none; or why not."""
    if plan is None:
        return Finding(said, "not verifiable", NEEDS_INTERNAL)
    try:
        tuples, records = _read(model.population.source, step.columns)
    except (BadInput, OSError) as error:
        return Finding(said, "not verifiable", f"needs the table of the population: {error}")
    if int(records.sum()) != plan["joint"].get("population", {}).get("population"):
        return Finding(said, "broken", f"the population now has {int(records.sum()):,} records")
    classes = released[0]
    try:
        labels = _labelled(step, plan, tuples, GROUP in classes.column_names)
    except ValueError as error:
        return Finding(said, "broken", str(error))
    return _held(classes, labels, records)


def _suppressed(plan: StepPlan) -> int:
    return sum(group["suppressed"] for group in plan["joint"]["groups"])


def _read(source: Any, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
    """Count the distinct tuples of the population."""
    if isinstance(source, Path) and not source.exists():
        raise BadInput(f"{source.name} is not there")
    with open_engine(choose("auto", source)) as engine:
        return engine.read(source, lambda _: list(columns)).counts(list(columns))


class _Columns:
    """The population's tuples as a replay takes columns, with nothing to count or to suppress."""

    rows = None

    def __init__(self, tuples: pa.Table) -> None:
        self.tuples = tuples

    def arrow(self, name: str) -> pa.ChunkedArray:
        return self.tuples[name]

    def count(self, *_: Any, **__: Any) -> None:
        """Pass over what a replay would compare with the sample."""

    def suppress(self, suppressed: np.ndarray, _: np.ndarray) -> None:
        self.suppressed = suppressed


def _labelled(step: Step, plan: StepPlan, tuples: pa.Table, by_group: bool) -> pa.Table:
    """Generalize the population as the sample was; with its groups by nulls, if asked for."""
    columns = _Columns(tuples)
    made = generalize(plan, columns, lambda _: None)  # type: ignore[arg-type, return-value]
    table = pa.table({name: made[name] for name in step.columns})
    if not by_group:
        return table
    nulls = {name: plain(tuples[name]).is_null().to_numpy() for name in step.columns}
    groups = np.any(list(nulls.values()), axis=0).astype(np.int64)
    if step.parameters().get("segregate") == "pattern":
        for number, group in enumerate(plan["joint"]["groups"], start=2):
            for pattern in filter(len, group.get("patterns") or ()):
                same = [null == (name in pattern) for name, null in nulls.items()]
                groups[np.all(same, axis=0)] = number
    return table.append_column(GROUP, pa.array(groups))


def _held(classes: pa.Table, labels: pa.Table, records: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the population's records of each class, and how many are in none."""
    names = labels.column_names
    both = pa.concat_tables(
        pa.table({name: plain(table[name]).cast(pa.string()) for name in names})
        for table in (classes, labels)
    )
    ids, count = classes_of(*encode_columns(both, names))
    mine, theirs = np.split(ids, [len(classes)])
    held = np.bincount(theirs, records, minlength=count).astype(np.int64)
    return held[mine], int(records.sum() - held[np.unique(mine)].sum())
