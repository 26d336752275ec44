"""What is decided about a table's key columns: from tuples to blanks, plans and figures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.generalization.models import confidential_columns, read_models
from discreet.generalization.privacy import Bound, bind, distribution, trees
from discreet.plan import ColumnPlan, JointPlan
from discreet.risk.frequency import record_weights
from discreet.suppression._blanking import Blanking, as_blanking
from discreet.suppression._demands import as_told, demands_of, essential, of_models, prices
from discreet.suppression._found import people_found
from discreet.suppression._groups import Good, both, keeping, under_risk
from discreet.suppression._keys import Keys, Units
from discreet.suppression._mended import Kinds
from discreet.suppression._problem import GONE, Problem, Solution
from discreet.suppression._solve import log_entries, refuse_impossible, solve
from discreet.table.classes import first_rows

# Records that are blanked without being too many, however few there are in all.
_SOME = 10
# From how many words each tuple needs to its smallest ones, by tuple and in order; or each kind of
# records, where there are any.
Smallest = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Made:
    """What was decided, and what the plan and the log say of it."""

    blanking: Blanking
    plans: dict[str, ColumnPlan]
    joint: JointPlan
    figures: dict[str, Any]
    fixed: dict[str, Any]


@dataclass(frozen=True)
class Others:
    """What is looked at besides the keys, by rows that may stand for several records."""

    columns: Mapping[str, pa.ChunkedArray]
    weights: np.ndarray | None  # the records of each row, one each by default
    units: np.ndarray | None  # the unit of each, where these are counted

    def bound(self, method: Any, n: int) -> Bound | None:
        """Return the privacy models, bound to the rows, if there are any."""
        models = [] if method.privacy is None else read_models(method.privacy)
        # Where only k is left, that is a demand like any other.
        if not confidential_columns(models):
            return None
        return bind(models, self.columns, n, self.weights, self.units)

    def good(self, method: Any, bound: Bound | None, of_row: np.ndarray) -> Good | None:
        """Return what tells whether groups of tuples keep models and risks, if there are any."""
        good = None if bound is None else keeping(bound, of_row, self.weights)
        if method.max_risk is not None and method.risk == "individual":
            sampled = record_weights(pa.table(dict(self.columns)), method.weight)
            assert sampled is not None
            records = np.ones(len(of_row), np.int64) if self.weights is None else self.weights
            low = under_risk(of_row, sampled, records, self.units, method.max_risk)
            good = low if good is None else both(good, low)
        return good

    def plan_entries(self, method: Any) -> JointPlan:
        """Return what the plan must tell of confidential columns for the models."""
        if method.privacy is None:
            return {}
        models = read_models(method.privacy)
        confidential = {
            name: distribution(self.columns[name], name, self.weights, self.units)
            for name in confidential_columns(models)
        }
        return {"confidential": confidential, "trees": trees(models, self.columns)}


def make(
    method: Any,
    keys: Keys,
    units: Units | None,
    others: Others,
    draws: Callable[[str], Draws],
    smallest: Smallest,
    kinds: Keys | None,
) -> Made:
    """Decide which records get which blanks.

    `kinds` are the keys with what is looked at besides, where equal records are told apart by it.
    """
    names = list(keys.values)
    demands = demands_of(method, names)
    problem = Problem(
        keys.codes,
        np.array([len(values) + 1 for values in keys.values.values()], np.int64),
        keys.records if units is None else np.bincount(units.held.tuples),
        prices(method, names),
        essential(demands + of_models(method, names)),
        np.inf if method.record_cost is None else float(method.record_cost),
        None if units is None else units.held,
    )
    refuse_impossible(problem, names, "records" if units is None else "units", method.null_policy)
    bound = others.bound(method, len(keys.of_row))
    good = others.good(method, bound, keys.of_row)
    known = None if kinds is None or bound is None else _known(keys, kinds, bound)
    solution = solve(problem, method, names, draws("improvement").apart(), good, known)
    blanking = as_blanking(problem, solution, units, smallest, kinds)
    cells = dict(zip(names, blanking.blanked(keys).tolist(), strict=True))
    plans: dict[str, ColumnPlan] = {
        name: {"kind": "local-suppression", "blanked": n} for name, n in cells.items()
    }
    joint: JointPlan = {
        "kind": "local-suppression",
        "null_policy": method.null_policy,
        "demands": as_told(demands, names),
        **blanking.joint(keys),  # type: ignore[typeddict-item]
        **others.plan_entries(method),
    }
    figures = _figures(problem, solution, blanking, keys, cells)
    figures |= log_entries(problem, solution, method.null_policy)
    fixed = {}
    if solution.stopped:
        warnings.warn(
            f"the search was stopped after {solution.moves:,} moves; the best so far is kept",
            stacklevel=3,
        )
    for said in _too_many(figures, len(names)):
        warnings.warn(said, stacklevel=3)
    if method.improve is not None or solution.stopped:
        fixed = {"improve": None, "improve_moves": solution.moves}
    return Made(blanking, plans, joint, figures, fixed)


def _known(keys: Keys, kinds: Keys, bound: Bound) -> Kinds:
    first = first_rows(kinds.of_row, len(kinds.records))
    return Kinds(keys.of_row[first], kinds.records, bound.codes[:, first].T, bound.rules)


def _too_many(figures: dict[str, Any], columns: int) -> Iterator[str]:
    """Say that blanks are too many to be the few that they should be."""
    n, touched, blank = (figures[key] for key in ("records", "records_touched", "records_blank"))
    remedy = "recode the columns first, so that fewer blanks are needed"
    if touched > max(_SOME, 0.1 * n):
        yield f"{touched:,} of {n:,} records have cells blanked; {remedy}"
    if columns > 1 and blank > max(_SOME, 0.01 * n):
        yield f"{blank:,} of {n:,} records are blank in all key columns; {remedy}"


def _figures(
    problem: Problem, solution: Solution, blanking: Blanking, keys: Keys, cells: dict[str, int]
) -> dict[str, Any]:
    """Return what the log says."""
    whole, some = keys.records[blanking.whole != 0], blanking.records
    gone = keys.records[blanking.whole == GONE].sum() + some[blanking.masks == GONE].sum()
    nulls, everything = problem.nulls, (1 << len(cells)) - 1
    blank = (blanking.whole > 0) & (blanking.whole | nulls == everything)
    others = (blanking.masks > 0) & (blanking.masks | nulls[blanking.tuples] == everything)
    return {
        "records": int(keys.records.sum()),
        "blanked": cells,
        "cells": sum(cells.values()),
        "records_touched": int(whole.sum() + some.sum() - gone),
        "records_blank": int(keys.records[blank].sum() + some[others].sum()),
        "suppressed": int(gone),
        "found_for_certain": people_found(problem, solution),
    }
