"""Decide on all steps of a recipe from counts of a frame."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Plan
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.engines.frame import OfPiece, joined, refuse_type
from discreet.errors import BadInput
from discreet.flow.applying import Applying, Treatment, as_computed_before, beside
from discreet.flow.counting import Counting
from discreet.flow.log import begin_log, tell_null_policy, with_seeds
from discreet.flow.markers import Range, doubtful, plain_range
from discreet.flow.run import (
    check_columns,
    chooses_rarest,
    looked_at,
    plan_entry,
    refuse_rare_point,
    refuse_strange,
    refuse_units,
)
from discreet.method import Decision, Rounder
from discreet.recipe.recipe import Recipe, Step
from discreet.table import Numbers, kind_of
from discreet.table.columns import finer, numbers_like, sources_of
from discreet.table.keys import row_numbers

Tell = Callable[[str], None]


def refuse(recipe: Recipe, engine: str) -> None:
    """Refuse what an engine cannot do, before any work is done."""
    if recipe.roles.household is not None:
        raise BadInput(
            f"the role household numbers households anew, which the engine {engine} cannot; "
            "drop the column, or use --engine memory"
        )
    for number, step in enumerate(recipe.steps, start=1):
        where, why = f"step {number} ({step.method})", step.build().bound_to_memory
        if why is None and step.parameters().get("small_group") == "append":
            why = "small_group = 'append' tells the records that it releases by their rows"
        again = {column for later in recipe.steps[number:] for column in looked_at(later)}
        if why is None and step.build().orders and again & set(step.columns):
            why = f"a later step looks at {min(again & set(step.columns))!r}, its result, again"
        if why is not None:
            raise BadInput(f"{where} cannot run on {engine}: {why}; use --engine memory")


@dataclass
class Decided:
    """What was decided: plan and log, and how to apply it."""

    plan: Plan
    log: dict[str, Any]
    recipe: Recipe
    applying: Applying
    released: list[str]
    frame: Frame  # what the steps are applied to: the original, with what was sorted beside it


def decide(frame: Frame, recipe: Recipe, engine: str, tell: Tell) -> Decided:
    """Decide on all steps.

    Parameters
    ----------
    frame : Frame
    recipe : Recipe
    engine : str
    tell : callable
        Is told what is under way.
    """
    names = frame.schema.names
    roles, released = recipe.roles.assign(names), recipe.roles.released(names)
    for number, step in enumerate(recipe.steps, start=1):
        check_columns(step, number, roles, released)
    if not released:
        raise BadInput("no column would be released; give some column another role")
    for column in released:
        refuse_strange(frame.schema.field(column).type, column)
        refuse_type(frame.schema.field(column))
    key = recipe.roles.row_key
    if key is not None and frame.fold(partial(_nulls, key), add, [key]):
        raise BadInput(f"the row key '{key}' holds nulls; every row needs one")
    if key is not None and not frame.is_unique(key):
        raise BadInput(f"the row key '{key}' is the same in several rows; each needs its own")
    for number, step in enumerate(recipe.steps, start=1):
        if step.build().is_random and not frame.positioned and key is None:
            raise BadInput(
                f"step {number} ({step.method}) draws by row, but the rows of this table have no "
                "fixed place; give a column with a value of its own in each row the role row_key"
            )
    tell("looking at the columns")
    numeric = [column for column in recipe.treated if _is_number(frame, recipe, column)]
    started = time.perf_counter()
    look = frame.fold(partial(_look, tuple(released), tuple(numeric)), _two_looks, released)
    for name in numeric:
        if name not in look.sources:
            raise BadInput(f"column '{name}' holds only nulls")
    sources = look.sources
    log = begin_log(recipe, roles, released, look.nulls)
    log["engine"] = engine
    log["seconds"]["look"] = round(time.perf_counter() - started, 4)
    if recipe.null_markers:
        deficient = {name: look.ends[name] for name in released if look.nulls[name]}
        log["warnings"] += doubtful(deficient, recipe)
    recipe = with_seeds(recipe)
    assert recipe.seed is not None
    assert recipe.order_seed is not None
    applying = Applying(recipe.seed, recipe.order_seed, sources=sources, key=key)
    decided = Decided({"steps": []}, log, recipe, applying, released, frame)
    for number, step in enumerate(recipe.steps, start=1):
        tell(f"step {number}: {step.method} decides on {', '.join(step.columns)}")
        _decide_step(decided, number, step)
    return decided


def applied(frame: Frame, columns: Collection[str], function: OfPiece[pa.Table]) -> Frame:
    """Apply a function to some columns of a frame; the types that it gives are found by trying."""
    taken = [name for name in frame.schema.names if name in columns]
    empty = pa.schema([frame.schema.field(name) for name in taken]).empty_table()
    schema = function(empty, np.empty(0, dtype=np.int64)).schema
    return frame.map(function, schema, taken)


@dataclass(frozen=True)
class _Look:
    nulls: dict[str, int]
    ends: dict[str, Range | None]
    sources: dict[str, Numbers]


def _nulls(name: str, piece: pa.Table, rows: np.ndarray) -> int:
    return piece[name].null_count


def _is_number(frame: Frame, recipe: Recipe, column: str) -> bool:
    needs = {step.build().needs for step in recipe.steps if column in step.columns}
    kind = kind_of(frame.schema.field(column).type)
    return "numeric" in needs or ("mixed" in needs and kind == "numeric")


def _look(
    released: tuple[str, ...], numeric: tuple[str, ...], piece: pa.Table, rows: np.ndarray
) -> _Look:
    return _Look(
        {name: piece[name].null_count for name in released},
        {name: plain_range(piece[name], name) for name in released},
        sources_of(numeric, piece, rows),
    )


def _two_looks(one: _Look, other: _Look) -> _Look:
    return _Look(
        {name: one.nulls[name] + other.nulls[name] for name in one.nulls},
        {name: _wider(one.ends[name], other.ends[name]) for name in one.ends},
        finer(one.sources, other.sources),
    )


def _wider(one: Range | None, other: Range | None) -> Range | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def _decide_step(decided: Decided, number: int, step: Step) -> None:
    method, where = step.build(), f"step {number} ({step.method})"
    applying, log, frame = decided.applying, decided.log, decided.frame
    target = decided.recipe.roles.target if method.supervised else None
    refuse_units(method, step.columns, applying.sources, where)
    looked = [*looked_at(step), *filter(None, [target, applying.key])]
    started = time.perf_counter()
    if applying.touched & set(looked):
        frame = applied(frame, applying.needed(looked), partial(applying.columns, tuple(looked)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            draws = partial(Draws, applying.seed, number)
            rounded = partial(_rounded, applying.sources, step.precision)
            if method.orders:
                decision = _in_order(decided, number, step, frame, draws, rounded)
            else:
                counting = Counting(frame, applying.sources, target)
                decision = method.decide_from(step.columns, counting, draws, rounded)
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from None
    log["warnings"] += [f"{where}: {w.message}" for w in caught]
    tell_null_policy(log, number, step)
    log["steps"].append(
        {
            "step": number,
            "method": step.method,
            "effect": method.effect,
            "seconds": round(time.perf_counter() - started, 4),
            **decision.figures,
        }
    )
    decided.plan["steps"].append(
        plan_entry(number, step, decision.plans, decision.joint, applying.sources)
    )
    decided.applying = applying.after(Treatment(number, step, decision))
    if chooses_rarest(step):
        _refuse_rare_points(decided, where, step.columns)
    if decision.fixed:
        steps = list(decided.recipe.steps)
        steps[number - 1] = step.model_copy(update=decision.fixed)
        decided.recipe = decided.recipe.model_copy(update={"steps": steps})


def _refuse_rare_points(decided: Decided, where: str, columns: Sequence[str]) -> None:
    """Refuse points of one or two records, as the last step has left them."""
    applying = decided.applying
    after = applied(
        decided.frame, applying.needed(columns), partial(applying.columns, tuple(columns))
    )
    for column in columns:
        values, counts = after.counts([column])
        present = counts[values[column].is_valid().to_numpy()]
        refuse_rare_point(where, column, int(present.min()))
    after.remove()


def _in_order(
    decided: Decided, number: int, step: Step, frame: Frame, draws: Any, rounded: Rounder
) -> Decision:
    """Treat columns by sorting their values, and put the result beside the rows."""
    sources, key = decided.applying.sources, decided.applying.key
    outcome, new = step.build().run_on(
        step.columns,
        frame,
        partial(_as_float, sources),
        draws,
        rounded,
        None if key is None else (key, partial(row_numbers, name=key)),
    )
    names = [beside(number, column) for column in step.columns]
    schema = decided.frame.schema
    for name in names:
        schema = schema.append(pa.field(name, pa.float64()))
    decided.frame = decided.frame.map_pairs(new, partial(joined, schema), schema)
    return Decision(outcome.plans, as_computed_before, outcome.joint, outcome.figures)


def _as_float(sources: Mapping[str, Numbers], column: str, cells: pa.ChunkedArray) -> np.ndarray:
    return numbers_like(cells, column, sources[column])


def _rounded(
    sources: Mapping[str, Numbers], precision: str, column: str, values: np.ndarray
) -> np.ndarray:
    return sources[column].round(values, precision)
