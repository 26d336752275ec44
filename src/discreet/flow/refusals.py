"""What a run refuses, in one sentence each, before it does harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from discreet.engines import Frame
from discreet.engines.frame import refuse_type
from discreet.errors import BadInput, Unmet, nearest
from discreet.generalization import Hierarchy
from discreet.method import Method
from discreet.recipe.recipe import Recipe, Step
from discreet.recipe.roles import unreleased
from discreet.table import Numbers, kind_of
from discreet.table.labels import labels_of

# With two records at a point, each could work out the other's value.
FEWEST_PER_POINT = 3


def looked_at(step: Step) -> tuple[str, ...]:
    """Name the columns that a step treats or reads."""
    return (*step.columns, *step.build().reads)


def refuse_engine(recipe: Recipe, engine: str) -> None:
    """Refuse the steps that need all rows where these are not in memory."""
    if engine == "memory":
        return
    for number, step in enumerate(recipe.steps, start=1):
        why = step.build().bound_to_memory
        if why is None and step.parameters().get("small_group") == "append":
            why = "small_group = 'append' tells the records that it releases by their rows"
        whole = recipe.household_suppression == "whole" and recipe.roles.household is not None
        if why is None and step.build().suppresses and whole:
            why = "household_suppression = 'whole' looks at the rows of each household"
        if why is None and step.build().suppresses and recipe.linked is not None:
            why = (
                f"rows of one '{recipe.linked}' can be seen to belong together, which takes all of "
                "them at once to protect"
            )
        again = {column for later in recipe.steps[number:] for column in looked_at(later)}
        if why is None and step.build().orders and again & set(step.columns):
            why = f"a later step looks at {min(again & set(step.columns))!r}, its result, again"
        if why is not None:
            raise BadInput(
                f"step {number} ({step.method}) cannot run on {engine}: {why}; use --engine memory"
            )


def refuse_columns(
    frame: Frame, recipe: Recipe, roles: dict[str, str], released: list[str]
) -> None:
    """Refuse columns that cannot be released, and steps that look at what is not."""
    for number, step in enumerate(recipe.steps, start=1):
        _refuse_unreleased(step, number, roles, released)
        _refuse_labels(step, number, frame)
    _refuse_unknown(recipe, roles)
    if recipe.private:
        _refuse_beside_private(recipe, released)
        _refuse_decimals(recipe, frame)
    for name in recipe.added:
        if name in frame.schema.names:
            raise BadInput(
                f"the table has a column '{name}' already; call the groups otherwise, such as "
                f'group = "{name}_number"'
            )
    if not released:
        raise BadInput("no column would be released; give some column another role")
    for column in released:
        _refuse_strange(frame.schema.field(column).type, column)
        if not frame.whole:
            refuse_type(frame.schema.field(column))


def _refuse_labels(step: Step, number: int, frame: Frame) -> None:
    """Refuse hierarchies of the labels of codes, where the column holds the codes."""
    for name, one in (step.parameters().get("hierarchies") or {}).items():
        if name not in frame.schema.names:
            continue
        labels = labels_of(frame.schema.field(name)).values
        listed = set(Hierarchy.from_spec(one).listed or ()) if labels else set()
        for value, label in labels.items():
            whole = isinstance(value, float) and value.is_integer()
            code = str(int(value) if whole else value)
            if label in listed and code not in listed:
                raise BadInput(
                    f"step {number} ({step.method}): the hierarchy of '{name}' lists '{label}', "
                    f"which is the label of the code {code}; write {code}, which the column holds"
                )


def _refuse_unreleased(step: Step, number: int, roles: dict[str, str], released: list[str]) -> None:
    for column in looked_at(step):
        where = f"step {number} ({step.method})"
        if column not in roles:
            raise BadInput(f"{where}: the table has no column '{column}'; {nearest(column, roles)}")
        # Sampling weights are looked at without being released.
        if column not in released and (column in step.columns or roles[column] != "weight"):
            does = "treats" if column in step.columns else "reads"
            raise BadInput(f"{where} {does} {unreleased(column, roles[column])}")


def _refuse_unknown(recipe: Recipe, roles: dict[str, str]) -> None:
    """Refuse lists that name no column: what they should allow or say would be missed."""
    lists = {
        "allow_leaks": recipe.allow_leaks,
        "household_level": recipe.roles.household_level,
        "not_identifiers": recipe.roles.not_identifiers,
    }
    for said, names in lists.items():
        for name in names:
            if name not in roles:
                raise BadInput(
                    f"{said} lists '{name}', but the table has no such column; "
                    f"{nearest(name, roles)}"
                )


def _refuse_beside_private(recipe: Recipe, released: list[str]) -> None:
    """Refuse what a differentially private step does not cover: its promise is about records."""
    number, step = next((i, s) for i, s in enumerate(recipe.steps, 1) if s.build().private)
    where = f"step {number} ({step.method})"
    for other, one in enumerate(recipe.steps, start=1):
        if other != number:
            raise BadInput(
                f"{where} is differentially private and must be the only step; step {other} "
                f"({one.method}) looks at the records, too, and its budget is not known"
            )
    for name in released:
        if name not in step.columns:
            raise BadInput(
                f"column '{name}' would be released beside {where}, whose promise is about whole "
                "records; add it to the step's columns, or drop it"
            )
    several = recipe.roles.household or recipe.roles.unit
    if several is not None:
        raise BadInput(
            f"{where} promises something about each record, and a '{several}' may have several; "
            "release one record of each and list the column under identifiers"
        )


def _refuse_decimals(recipe: Recipe, frame: Frame) -> None:
    """Refuse to round to the decimals of a table's records: one of them may have the most."""
    for number, step in enumerate(recipe.steps, start=1):
        if step.build().needs != "numeric" or step.precision == "full":
            continue
        for name in step.columns:
            if not pa.types.is_integer(frame.schema.field(name).type):
                raise BadInput(
                    f"step {number} ({step.method}) would round '{name}' to as many decimals as "
                    'some record of the table has, which tells of it; set precision = "full"'
                )


def _refuse_strange(kind: pa.DataType, column: str) -> None:
    if kind_of(kind) == "other" and not pa.types.is_time(kind):
        raise BadInput(
            f"column '{column}' holds {kind}, which cannot be released; drop it, or turn it into "
            "text or numbers"
        )


def refuse_units(
    method: Method, columns: Sequence[str], sources: Mapping[str, Numbers], where: str
) -> None:
    """Refuse dates where plain numbers are needed, and to put different things together."""
    units = {column: sources[column].unit for column in columns if column in sources}
    for column, unit in units.items():
        if unit is not None and not method.takes_dates:
            raise BadInput(
                f"{where} takes plain numbers, but column '{column}' holds {sources[column].type}"
            )
    if not method.pools:
        return
    first, *others = columns
    for column in others:
        if units[column] != units[first]:
            held = [units[c] or "plain numbers" for c in (first, column)]
            raise BadInput(
                f"{where} puts its columns together, but '{first}' holds {held[0]} and "
                f"'{column}' {held[1]}; treat them in steps of their own"
            )


def chooses_rarest(step: Step) -> bool:
    """Tell whether a step could say how few records may share a point, and does not."""
    return "min_count" in step.parameters() and "min_count" not in step.model_fields_set


def refuse_rare_point(step: Step, columns: Sequence[str], smallest: int, counted: str) -> None:
    """Refuse a point that stands for too few records: that of one is the record's own value."""
    if smallest < FEWEST_PER_POINT:
        held = counted if smallest > 1 else counted[:-1]
        of = f"column{'s' * (len(columns) > 1)} " + ", ".join(f"'{name}'" for name in columns)
        merge = f"set min_count = {FEWEST_PER_POINT} or more to merge such parts"
        if step.method == "given-cuts":
            merge = "give fewer cuts and points"
        raise Unmet(
            f"a point of {of} stands for {smallest} {held}",
            f"{merge}, or min_count = 1 to release them knowingly",
        )
