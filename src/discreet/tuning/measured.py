"""Every measure of a release that a front shows, beside the two that it is searched by."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet import utility
from discreet.check import CheckReport
from discreet.errors import BadInput
from discreet.risk import distance_linkage, informed_linkage, interval_disclosure
from discreet.risk._units import Units, linked_units
from discreet.table.columns import kind_of
from discreet.table.pairs import numeric_pairs
from discreet.tuning.bounds import SCORES
from discreet.tuning.structure import STANDARDS
from discreet.utility import il1s, information_loss
from discreet.utility.scores import normalized_score, score

if TYPE_CHECKING:
    from discreet.tuning.task import Task

# Records that an informed intruder looks for: all of a small table.
_ALL, _SOME = 5_000, 2_000
# Records by which measures are taken whose time grows fast.
_COMPARED = 5_000


def measured(
    task: Task,
    before: pa.Table,
    run: pa.Table,
    others: Sequence[pa.Table],
    drawn: Collection[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    *,
    slow: bool = True,
    more: bool = True,
) -> tuple[dict[str, float], dict[str, float]]:
    """Take every measure of a run; and the loss of each column.

    The intruder learns from the other runs; where there are none, from the run itself, and knows
    which columns were drawn. A measure that there is nothing for, such as numbers, is left out;
    without `slow`, so are those that take most of the time and that no standard is about; without
    `more`, so are all that no standard is about. `risk` and `loss` are among them in any case: what
    the front is drawn by.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Columns that a measure leaves out.
        columns = lost_columns(task, before, run, hierarchies)
        found = _informed(task, before, run, others, drawn)
        found["information_loss"] = float(np.mean([*columns.values()])) if columns else 0.0
        some = _some(before, run)
        for key, take in _MEASURES.items():
            wanted = more and (slow or key not in _SLOW)
            if not wanted and key not in task.standards:
                continue
            try:
                found[key] = float(take(*(before, run) if key in _WHOLE else some))
            except BadInput:
                continue
        found |= _axes(task, found, before, run)
    return {key: value for key, value in found.items() if np.isfinite(value)}, columns


def looked_for(rows: int) -> int:
    """Return how many records an informed intruder looks for.

    Examples
    --------
    >>> looked_for(300), looked_for(20_000)
    (300, 2000)
    """
    return rows if rows <= _ALL else _SOME


def lost_columns(
    task: Task, before: pa.Table, run: pa.Table, hierarchies: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Return the loss of each column that counts, by hierarchies as `compare` takes them."""
    given, columns = hierarchies or {}, list(task.counted)
    try:
        return information_loss(before, run, columns, hierarchies=given, detail=True).columns
    except BadInput:  # None that varies.
        return {}


def of_check(check: CheckReport) -> dict[str, float]:
    """Count what the check found to be given away, though accepted, and to be narrowed down."""
    accepted = {f.promise for f in check.findings if f.detail.startswith("accepted by allow_leaks")}
    narrowed = [note for note in check.notes if " narrow" in note or " tells that " in note]
    return {"leaks": float(len(accepted)), "narrowed": float(len(narrowed))}


def blanked(before: pa.Table, run: pa.Table) -> float:
    """Return the share of the cells of released columns that are empty, and were not before."""
    names = [name for name in run.column_names if name in before.column_names]
    new = sum(max(0, run[name].null_count - before[name].null_count) for name in names)
    return new / max(1, len(names) * before.num_rows)


def _informed(
    task: Task,
    before: pa.Table,
    run: pa.Table,
    others: Sequence[pa.Table],
    drawn: Collection[str],
) -> dict[str, float]:
    known = [name for name in task.known if name in run.column_names]
    n = before.num_rows
    if task.unit is not None and n:
        units = Units(before[task.unit], task.known_rows)
        rerun = [other.select(known) for other in others]
        hits = linked_units(before, run, units, known, drawn, rerun)
        return {"informed_linkage": hits.mean(), "informed_linkage_largest": hits.max()}
    if not known or not n:
        found = 1 / max(1, n)
        return {"informed_linkage": found, "informed_linkage_largest": found}
    linked = informed_linkage(
        before,
        run,
        known=known,
        drawn=drawn,
        reruns=[other.select(known) for other in others],
        queries=looked_for(n),
        detail=True,
    )
    return {"informed_linkage": linked.value, "informed_linkage_largest": linked.largest}


def _distance(before: pa.Table, run: pa.Table) -> float:
    names = list(numeric_pairs(before, run))
    if not names:
        raise BadInput("distance linkage needs numbers")
    return distance_linkage(before.select(names), run.select(names), known="all")


def _interval(before: pa.Table, run: pa.Table) -> float:
    if not numeric_pairs(before, run):
        raise BadInput("interval disclosure needs numbers")
    return interval_disclosure(before, run)


def _il1s(before: pa.Table, run: pa.Table) -> float:
    if not numeric_pairs(before, run):
        raise BadInput("IL1s needs numbers")
    return il1s(before, run, normalize=True)


_SLOW = ("pmse", "models")
_WHOLE = ("interval_disclosure", "il1s", "correlations", "blanks")
_MEASURES: dict[str, Callable[[pa.Table, pa.Table], float]] = {
    "distance_linkage": _distance,
    "interval_disclosure": _interval,
    "il1s": _il1s,
    **STANDARDS,
    "blanks": blanked,
}


def _some(before: pa.Table, run: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return some records of large tables, the same ones each time."""
    n = before.num_rows
    if n <= _COMPARED:
        return before, run
    places = pa.array(np.sort(np.random.default_rng(0).permutation(n)[:_COMPARED]))
    return before.take(places), run.take(places)


# What a front is drawn by


def _axes(task: Task, found: dict[str, float], before: pa.Table, run: pa.Table) -> dict[str, float]:
    """Return risk and loss, as the search defines them."""
    if task.measure is None:
        return {"risk": found["informed_linkage"], "loss": found["information_loss"]}
    if task.measure in SCORES:
        return score_axes(str(task.measure), *_numbers(before, run))
    return {
        "risk": found["informed_linkage"],
        "loss": loss_of(task, before, run),
    }


def score_axes(name: str, before: pa.Table, run: pa.Table) -> dict[str, float]:
    """Return the two halves of a score, and the score: the mean of both."""
    if name == "score":
        # All columns: a search would leave those as they are that no intruder is taken to know.
        parts = score(before, run, interval="all", detail=True).parts
        return {"risk": parts["dr"], "loss": parts["il"], "score": (parts["dr"] + parts["il"]) / 2}
    whole = normalized_score(before, run, detail=True)
    risk = (whole.parts["idr"] + whole.parts["dld"]) / 2
    return {"risk": risk, "loss": 2 * whole.value - risk, "score": whole.value}


def loss_of(task: Task, before: pa.Table, run: pa.Table) -> float:
    """Return the loss of a run by a measure that the task names.

    A function that is given gets all columns that count, and what is released. Of others, each
    column that the measure goes by must be there: it would take one that is gone for no loss.
    """
    if callable(task.measure):
        loss = float(task.measure(before.select(list(task.counted)), run))
    else:
        names = gone_by(task)
        if not names:
            raise BadInput(f"{task.measure} has no column to compare")
        if not can_compare(task, names, dict(zip(run.column_names, run.schema.types, strict=True))):
            raise BadInput(f"{task.measure} needs all of {', '.join(names)}, numbers as numbers")
        named: Callable[[Any, Any], float] = getattr(utility, str(task.measure))
        loss = float(named(before.select(names), run.select(names)))
    if not np.isfinite(loss):
        raise BadInput(f"the loss of a release is {loss}, by which it cannot be compared")
    return loss


def gone_by(task: Task) -> list[str]:
    """Name the columns that a measure of loss that the task names goes by."""
    numeric = [name for name in task.counted if kind_of(task.table[name].type) == "numeric"]
    if task.measure == "contingency_loss":
        return [name for name in task.counted if name not in numeric]
    return list(task.counted) if task.measure == "propensity_mse" else numeric


def can_compare(task: Task, columns: Iterable[str], released: Mapping[str, pa.DataType]) -> bool:
    """Tell whether a named measure can take those of some columns that it goes by.

    They must be released, and numbers as numbers.
    """
    if not isinstance(task.measure, str) or task.measure in SCORES:
        return True
    for name in set(columns) & set(gone_by(task)):
        numeric = kind_of(task.table[name].type) == "numeric"
        if name not in released or (kind_of(released[name]) == "numeric") != numeric:
            return False
    return True


def standards_of(task: Task, before: pa.Table, run: pa.Table) -> dict[str, float]:
    """Take the measures that the task sets minimum standards for, where there is something to."""
    if not run.num_columns:
        return {}
    some, found = _some(before, run), {}
    for name in task.standards:
        with suppress(BadInput):
            found[name] = float(STANDARDS[name](*((before, run) if name in _WHOLE else some)))
    return found


def _numbers(before: pa.Table, run: pa.Table) -> tuple[pa.Table, pa.Table]:
    names = list(numeric_pairs(before, run))
    return before.select(names), run.select(names)
