"""Decide on all steps of a recipe: from counts of a frame, or from its rows where all are there."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import ByRow, Log, Plan, StepPlan
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.engines.frame import OfPiece, joined
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput, in_step
from discreet.flow.applying import (
    Applying,
    Households,
    Rows,
    Treatment,
    among_all,
    as_computed_before,
    beside,
)
from discreet.flow.counting import Counting, refuse_too_many
from discreet.flow.identifiers import refuse_identifiers, uncounted
from discreet.flow.levels import Part, drawn_by, find_levels, find_links, find_shared, parts_of
from discreet.flow.log import begin_log, tell_null_policy, tell_reuse, with_seeds
from discreet.flow.markers import Range, doubtful, plain_range
from discreet.flow.pseudonyms import pseudonyms_of, with_key
from discreet.flow.refusals import (
    FEWEST_PER_POINT,
    chooses_rarest,
    looked_at,
    refuse_columns,
    refuse_rare_point,
    refuse_units,
)
from discreet.flow.threats import attacks_on
from discreet.method import Method
from discreet.outcome import Decision, Given, Linked, Outcome, Rounder, merged, together
from discreet.recipe.project import with_project_key
from discreet.recipe.recipe import Recipe, Step, needed_columns
from discreet.recipe.seeds import as_kept, draw_seeds
from discreet.table import Numbers, kind_of, numbers
from discreet.table.cells import plain
from discreet.table.classes import first_rows
from discreet.table.columns import finer, numbers_like, refuse_huge, sources_of
from discreet.table.fingerprint import Fingerprint
from discreet.table.keys import row_numbers

Tell = Callable[[str], None]
# Households that are numbered at once, at some 20 bytes each.
MOST_HOUSEHOLDS = 1 << 22


@dataclass
class Decided:
    """What was decided: plan and log, and how to apply it."""

    plan: Plan
    log: Log
    recipe: Recipe
    applying: Applying
    released: list[str]
    frame: Frame  # the original, with what was sorted beside it
    rows: Rows | None = None  # all of them as the steps have left them, where they are in memory
    # The records that the steps are not decided on, since they are suppressed: their row numbers.
    gone: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    why: str = ""  # what would become of a promise if they stayed
    begun: Decided | None = None  # as it was before any step
    # Columns that are still the same in all rows of a household or person, and the column of these.
    levels: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)  # those that are so but for nulls

    def columns(self, names: Sequence[str]) -> Frame:
        """Return some columns as the steps so far leave them."""
        if self.rows is not None:
            table = pa.table({name: self.rows.current(name) for name in names})
            return MemoryFrame(table, self.rows.numbers)
        needed = self.applying.needed(names)
        return applied(self.frame, needed, partial(self.applying.columns, tuple(names)))

    def treated(self) -> Frame:
        """Return what is released of all rows, and of each what becomes of it."""
        applying = replace(self.applying, blanked=tuple(self.blanked()))
        if self.rows is not None:
            found: Frame = MemoryFrame(applying.released(self.shown, self.rows), self.rows.numbers)
        else:
            needed = applying.needed(self.released)
            found = applied(self.frame, needed, partial(applying.release, tuple(self.released)))
        if self.begun is None or not len(self.gone):
            return found
        return self.begun.frame.map_pairs(found, partial(among_all, found.schema), found.schema)

    @property
    def shown(self) -> list[str]:
        """The released columns, and those that steps add to them."""
        return [*self.released, *self.recipe.added]

    @cached_property
    def _links(self) -> list[str]:
        return find_links(self.frame, self.recipe, self.released)

    @property
    def suppressing(self) -> set[int]:
        """The numbers of the steps that suppress records."""
        done = self.applying.treatments
        return {one.number for one in done if one.decision.figures.get("suppressed")}

    def blanked(self) -> list[str]:
        """Name the columns that suppressed records must not tell and have no stars in."""
        steps = self.recipe.steps
        starred = {c for number in self.suppressing for c in steps[number - 1].columns}
        if not starred:
            return [name for name in self.released if name in self.recipe.roles.quasi]
        hidden = {*self.recipe.roles.quasi, *self._links} - starred
        return [name for name in self.released if name in hidden]


def applied(frame: Frame, columns: Collection[str], function: OfPiece[pa.Table]) -> Frame:
    """Apply a function to some columns of a frame; the types that it gives are found by trying."""
    taken = [name for name in frame.schema.names if name in columns]
    empty = pa.schema([frame.schema.field(name) for name in taken]).empty_table()
    schema = pa.schema([])
    if not frame.whole:
        schema = function(empty, np.empty(0, dtype=np.int64)).schema
    return frame.map(function, schema, taken)


def decide(frame: Frame, recipe: Recipe, engine: str, tell: Tell) -> Decided:
    """Decide on all steps."""
    names = frame.schema.names
    roles, released = recipe.roles.assign(names), recipe.roles.released(names)
    refuse_columns(frame, recipe, roles, released)
    refuse_identifiers(frame, recipe, released)
    refuse_rows(frame, recipe)
    tell("looking at the columns")
    started = time.perf_counter()
    log = begin_log(recipe, roles, released)
    recipe = with_project_key(with_key(with_seeds(recipe)))
    look, hashed = _look_at(frame, recipe, released)
    log["nulls"]["cells"] = look.nulls
    log["engine"] = engine
    log["attacks"] = attacks_on(recipe)
    log["seconds"]["look"] = round(time.perf_counter() - started, 4)
    deficient = {name: look.ends[name] for name in look.ends if look.nulls[name]}
    log["warnings"] += doubtful(deficient, recipe) + uncounted(frame, recipe)
    log["input"] = {
        "rows": frame.num_rows,
        "columns": names,
        "hmac": hashed,
        "placed": _is_placed(frame, recipe),
    }
    recipe = tell_reuse(log, recipe)
    key = recipe.roles.row_key
    applying = Applying(
        *draw_seeds(recipe, hashed),
        sources=look.sources,
        key=key,
        pseudonyms=pseudonyms_of(recipe),
        unit=recipe.counted if recipe.steps else None,
    )
    begun = Decided({"steps": []}, log, recipe, applying, released, frame)
    return decide_on(frame, begun, recipe, begun.gone, tell)


def decide_on(
    frame: Frame, begun: Decided, recipe: Recipe, gone: np.ndarray, tell: Tell
) -> Decided:
    """Decide on all steps by the rows of a frame, which lacks some of those that there are."""
    applying, log = begun.applying, deepcopy(begun.log)
    decided = replace(begun, plan={"steps": []}, log=log, recipe=recipe, frame=frame, gone=gone)
    decided.begun = begun
    decided.levels = find_levels(frame, recipe)
    decided.shared = find_shared(frame, recipe, decided.levels)
    _tell_levels(log, recipe, decided.levels)
    if isinstance(frame, MemoryFrame):
        if len(gone):
            known = applying.sources.items()
            some = {name: replace(one, values=one.values[frame.rows]) for name, one in known}
            applying = replace(applying, sources=some)
        decided.applying = applying
        decided.rows = Rows(applying, frame.table, frame.rows, whole=True)
    for number, step in enumerate(recipe.steps, start=1):
        tell(f"step {number}: {step.method} decides on {', '.join(step.columns)}")
        _decide_step(decided, number, step)
    if len(gone):
        decided.plan["excluded"] = gone
    decided.recipe = as_kept(decided.recipe)
    _number_households(decided)
    return decided


def _tell_levels(log: Log, recipe: Recipe, levels: Mapping[str, str]) -> None:
    """Note what is treated once a household, or once a unit."""
    log["counts"] = recipe.counted_as
    treated = {column: level for column, level in levels.items() if column in recipe.treated}
    if treated:
        log["levels"] = treated


def refuse_rows(frame: Frame, recipe: Recipe) -> None:
    """Refuse keys that do not tell rows apart, and draws by rows that nothing tells apart."""
    counted = recipe.counted if recipe.steps else None
    nulls = frame.nulls(counted) if counted is not None else 0
    if nulls:
        raise BadInput(
            f"'{counted}', whose {recipe.counted_as} are counted, is null in {nulls:,} "
            f"row{'s' * (nulls > 1)}; fill it there or remove the row{'s' * (nulls > 1)}, since k "
            "cannot count who is not named"
        )
    key = recipe.roles.row_key
    if key is not None and frame.nulls(key):
        raise BadInput(f"the row key '{key}' holds nulls; every row needs one")
    if key is not None and not frame.is_unique(key):
        raise BadInput(f"the row key '{key}' is the same in several rows; each needs its own")
    _refuse_pseudonyms(frame, recipe)
    for number, step in enumerate(recipe.steps, start=1):
        method = step.build()
        by_row = method.is_random and not method.alike and drawn_by(recipe, method) is None
        if by_row and not frame.positioned and key is None:
            raise BadInput(
                f"step {number} ({step.method}) draws by row, but the rows of this table have no "
                "fixed place; give a column with a value of its own in each row the role row_key"
            )


def _refuse_pseudonyms(frame: Frame, recipe: Recipe) -> None:
    """Refuse to count rows that pseudonyms show to belong together, unless the recipe says so."""
    if recipe.counts is not None or recipe.counted is not None or not recipe.steps:
        return
    for name in recipe.roles.pseudonyms:
        if not frame.is_unique(name):
            raise BadInput(
                f"the pseudonyms of '{name}' show which rows belong together; give it the role "
                'unit too, or set counts = "rows" if each row is a person'
            )


# The first look


@dataclass(frozen=True)
class _Look:
    nulls: dict[str, int]
    ends: dict[str, Range | None]
    sources: dict[str, Numbers]
    rows: Fingerprint


def _is_placed(frame: Frame, recipe: Recipe) -> bool:
    """Tell whether the rows' places are part of the input, and not only what they hold."""
    return frame.positioned and recipe.roles.row_key is None


def _look_at(frame: Frame, recipe: Recipe, released: list[str]) -> tuple[_Look, str]:
    """Count nulls, find decimals and units of what is treated as numbers, and hash the rows."""
    assert recipe.seed is not None
    numeric = [column for column in recipe.treated if _is_number(frame, recipe, column)]
    ranged = released if recipe.null_markers else []
    given = recipe.seed, _is_placed(frame, recipe)
    function = partial(_look, given, released, ranged, [] if frame.whole else numeric)
    look = frame.fold(function, _two_looks, needed_columns(recipe, frame.schema.names))
    if isinstance(frame, MemoryFrame):
        look.sources.update({name: numbers(frame.table[name], name) for name in numeric})
    for name in numeric:
        if name not in look.sources:
            raise BadInput(f"column '{name}' holds only nulls")
    return look, look.rows.hexdigest(recipe.seed)


def _is_number(frame: Frame, recipe: Recipe, column: str) -> bool:
    needs = {step.build().needs for step in recipe.steps if column in step.columns}
    kind = kind_of(frame.schema.field(column).type)
    return "numeric" in needs or ("mixed" in needs and kind == "numeric")


def _look(
    hashed: tuple[int, bool],
    released: list[str],
    ranged: list[str],
    numeric: list[str],
    piece: pa.Table,
    rows: np.ndarray,
) -> _Look:
    seed, placed = hashed
    for name in released:
        refuse_huge(piece[name], name, rows)
    return _Look(
        {name: piece[name].null_count for name in released},
        {name: plain_range(piece[name], name) for name in ranged},
        sources_of(numeric, piece, rows),
        Fingerprint.of(seed, piece, rows if placed else None),
    )


def _two_looks(one: _Look, other: _Look) -> _Look:
    return _Look(
        {name: one.nulls[name] + other.nulls[name] for name in one.nulls},
        {name: _wider(one.ends[name], other.ends[name]) for name in one.ends},
        finer(one.sources, other.sources),
        one.rows + other.rows,
    )


def _wider(one: Range | None, other: Range | None) -> Range | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


# A step


def _decide_step(decided: Decided, number: int, step: Step) -> None:
    method, where = step.build(), f"step {number} ({step.method})"
    log, sources = decided.log, decided.applying.sources
    refuse_units(method, step.columns, sources, where)
    started = time.perf_counter()
    # What overflows is found in the result, and refused there.
    overflow = np.errstate(over="ignore", invalid="ignore")
    with overflow, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with in_step(number, where):
            parts = _parts(decided, number, step, method)
            decision, more = _decided_step(decided, number, step, parts)
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
    if "disclosed" in more:
        log["warnings"].append(
            f"{where}: {len(more['disclosed']):,} records are released as they are, which "
            "allow_disclosure allows"
        )
    levels, drawn = (
        {c: part.level for part in parts if part.level and part.once == once for c in part.columns}
        for once in (True, False)
    )
    entry = _entry(number, step, decision, sources)
    entry.update(more)
    if levels:
        entry["levels"] = levels
    if drawn:
        entry["drawn"] = drawn
    decided.plan["steps"].append(entry)
    decided.applying = decided.applying.after(Treatment(number, step, decision, levels | drawn))
    if not method.alike:
        # What was treated by row need no longer be the same in all rows of a household.
        apart = set(step.columns) - levels.keys()
        decided.levels = {c: level for c, level in decided.levels.items() if c not in apart}
    if chooses_rarest(step):
        with in_step(number, where):
            _refuse_rare_points(decided, step, method.by_column)
    if decision.fixed:
        steps = list(decided.recipe.steps)
        steps[number - 1] = step.model_copy(update=decision.fixed)
        decided.recipe = decided.recipe.model_copy(update={"steps": steps})


def _decided_step(
    decided: Decided, number: int, step: Step, parts: Sequence[Part]
) -> tuple[Decision, ByRow]:
    """Decide on a step; where suppressed records are gone already, without more of them if it can.

    Each time that records may be suppressed anew, other steps would have to be decided anew.
    """
    given = step.parameters()
    none = None
    if "suppression_limit" in given and not given.get("local"):
        none = step.model_copy(update={"suppression_limit": 0.0})
    elif given.get("record_cost") is not None:
        none = step.model_copy(update={"record_cost": None})
    if len(decided.gone) and none is not None:
        with suppress(BadInput):
            return _decision(decided, number, none, parts)
    return _decision(decided, number, step, parts)


def _parts(decided: Decided, number: int, step: Step, method: Method) -> list[Part]:
    target = decided.recipe.roles.target if method.supervised else None
    others = [*method.reads, *filter(None, [target])]
    return parts_of(decided.recipe, number, step, decided.levels, decided.shared, others)


def _decision(
    decided: Decided, number: int, step: Step, parts: Sequence[Part]
) -> tuple[Decision, ByRow]:
    """Decide from the rows where all are there, else from what the engine counts or sorts."""
    method = step.build()
    applying, frame = decided.applying, decided.frame
    target = decided.recipe.roles.target if method.supervised else None
    if decided.rows is not None:
        return _from_rows(decided, decided.rows, number, step, parts)
    counted = decided.recipe.counted
    levels = [part.level for part in parts]
    besides = filter(None, [target, applying.key, counted, *levels])
    looked = list(dict.fromkeys([*looked_at(step), *besides]))
    if applying.touched & set(looked):
        frame = decided.columns(looked)
    draws = partial(Draws, applying.seed, number)
    rounded = partial(_rounded, applying.sources, step.precision)
    once = next((part for part in parts if part.level is not None), None)
    if method.orders and once is not None:
        raise BadInput(
            f"'{once.columns[0]}' is the same in all rows of a '{once.level}', which this method "
            "can only take into account in memory; use --engine memory"
        )
    if method.orders:
        return _in_order(decided, number, step, frame, draws, rounded), {}
    made = []
    for part in parts:
        some, unit = frame, counted
        if part.level is not None and part.once:
            some = frame.first_of(part.level, looked)
            unit = _counted_at(decided.recipe, part.level)
        counting = Counting(some, applying.sources, target, unit, applying.key)
        made.append((part.columns, method.decide_from(part.columns, counting, draws, rounded)))
        if some is not frame:
            some.remove()
    return together(made), {}


def _counted_at(recipe: Recipe, level: str) -> str | None:
    """Return the column of units that k counts among one row of each household or person."""
    return recipe.counted if level == recipe.roles.unit != recipe.counted else None


def _from_rows(
    decided: Decided, rows: Rows, number: int, step: Step, parts: Sequence[Part]
) -> tuple[Decision, ByRow]:
    """Decide and treat at once; what the plan must list by row is returned beside it."""
    before = {column: rows.given(column, step.build()) for column in step.columns}
    made = [_part_from_rows(decided, rows, number, step, part) for part in parts]
    outcome = merged(made)
    rows.keep(number, step, before, outcome)
    decision = Decision(
        outcome.plans, as_computed_before, outcome.joint, outcome.figures, outcome.fixed
    )
    return decision, _by_row(decided.recipe, number, outcome, rows)


def _part_from_rows(decided: Decided, rows: Rows, number: int, step: Step, part: Part) -> Outcome:
    """Treat some columns of a step by one row of each household or person, or by all rows."""
    recipe, method, level = decided.recipe, step.build(), part.level
    target = recipe.roles.target if method.supervised else None
    given = Given(
        {column: rows.given(column, method) for column in part.columns},
        partial(rows.draws, number, {} if level is None else dict.fromkeys(part.columns, level)),
        partial(rows.rounded, step.precision),
        None if target is None else _classes(rows.piece[target], target),
        {column: rows.current(column) for column in method.reads},
        _units(recipe, rows),
        _linked(recipe, rows),
    )
    if level is None or not part.once:
        return method.run(*vars(given).values())
    codes = rows.codes(level)
    first = first_rows(codes, int(codes.max(initial=-1)) + 1)
    unit = _counted_at(recipe, level)
    given = replace(given.at(first), units=None if unit is None else rows.codes(unit)[first])
    return method.run(*vars(given).values()).at(codes, first)


def _units(recipe: Recipe, rows: Rows) -> np.ndarray | None:
    """Return the unit of each row, where k counts units."""
    return None if recipe.counted is None else rows.codes(recipe.counted)


def _linked(recipe: Recipe, rows: Rows) -> Linked | None:
    """Return which rows can be seen to belong together, if any can."""
    if recipe.linked is None:
        return None
    return Linked(rows.codes(recipe.linked), recipe.known_rows).several


def _by_row(recipe: Recipe, number: int, outcome: Outcome, rows: Rows) -> ByRow:
    found: ByRow = {}
    again = {column for later in recipe.steps[number:] for column in looked_at(later)}
    if outcome.joint and again:
        # Long sums may differ in the last digit, so that a check must go on from what was.
        kept = {c: v for c, v in outcome.columns.items() if c in again}
        kept = {c: values for c, values in kept.items() if isinstance(values, np.ndarray)}
        if kept:
            found["results"] = kept
    if outcome.disclosed is not None and outcome.disclosed.any():
        found["disclosed"] = rows.numbers[outcome.disclosed]
    return found


def _classes(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """Return the class of each row as 0, 1, ..., in the order of the classes."""
    classes = plain(column).combine_chunks()
    if classes.null_count:
        raise BadInput(f"the target '{name}' holds nulls; give each row a class")
    distinct = pc.unique(classes)
    if len(distinct) < 2:
        raise BadInput(f"the target '{name}' holds one class only, {distinct[0]}")
    distinct = distinct.take(pc.sort_indices(distinct))
    return pc.index_in(classes, value_set=distinct).to_numpy()


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
    schema = decided.frame.schema
    for column in step.columns:
        schema = schema.append(pa.field(beside(number, column), pa.float64()))
    decided.frame = decided.frame.map_pairs(new, partial(joined, schema), schema)
    return Decision(outcome.plans, as_computed_before, outcome.joint, outcome.figures)


def _as_float(sources: Mapping[str, Numbers], column: str, cells: pa.ChunkedArray) -> np.ndarray:
    return numbers_like(cells, column, sources[column])


def _rounded(
    sources: Mapping[str, Numbers], precision: str, column: str, values: np.ndarray
) -> np.ndarray:
    return sources[column].round(values, precision)


def _entry(number: int, step: Step, decision: Decision, sources: Mapping[str, Numbers]) -> StepPlan:
    """Return a step's part of the plan, with the units of dates and the like."""
    described = {}
    for column, plan in decision.plans.items():
        source = sources.get(column)
        timed = source is not None and source.unit is not None
        unit = {"unit": source.unit, "unit_ns": source.unit_ns} if source and timed else {}
        described[column] = unit | plan | {"precision": step.precision}
    entry: StepPlan = {"step": number, "method": step.method, "columns": described}
    if decision.joint:
        entry["joint"] = dict(decision.joint)
    return entry


def _refuse_rare_points(decided: Decided, step: Step, by_column: bool) -> None:
    """Refuse points of one or two records, as the last step has left them."""
    columns = step.columns
    unit = decided.recipe.counted
    after = decided.columns([*columns, *filter(None, [unit])])
    for names in [[column] for column in columns] if by_column else [columns]:
        values, counts = after.counts(names, of=unit)
        present = np.any([values[name].is_valid().to_numpy() for name in names], axis=0)
        rarest = int(counts[present].min(initial=FEWEST_PER_POINT))
        refuse_rare_point(step, names, rarest, decided.recipe.counted_as)
    after.remove()


def _number_households(decided: Decided) -> None:
    """Draw new numbers, one a household; those of the input are an identifier."""
    column = decided.recipe.roles.household
    given = decided.recipe.roles.pseudonyms
    if column is None or column in given or column not in decided.released:
        return
    if not decided.frame.whole:
        refuse_too_many(decided.frame, [column], MOST_HOUSEHOLDS, "drop the column")
    # In order, so that the numbers do not depend on that of the rows.
    known = decided.frame.counts([column], by_value=True)[0][column].drop_null().combine_chunks()
    draws = Draws(decided.applying.order_seed, "household")
    new = Households(column, known, draws.permutation(len(known)) + 1)
    decided.applying = replace(decided.applying, households=new)
    decided.plan["households"] = {"column": column, "ids": len(known)}
