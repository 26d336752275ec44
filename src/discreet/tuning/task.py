"""What is searched: a table, what may be done to it, and what counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from discreet.engines import Frame
from discreet.engines.choice import choose, open_engine
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput, nearest
from discreet.flow.identifiers import refuse_identifiers
from discreet.generalization import Hierarchy
from discreet.generalization.models import confidential_columns, read_models
from discreet.recipe.given import Given
from discreet.recipe.recipe import Recipe
from discreet.registry import find_method
from discreet.table.columns import kind_of
from discreet.tuning.asked import Asked, read_asked
from discreet.tuning.bounds import SCORES, Measure, read_loss, read_risk, read_standards
from discreet.tuning.bounds import Bound as Bound
from discreet.tuning.cells import Group, Released
from discreet.tuning.joint import joint_parts
from discreet.tuning.options import KEPT, column_options, how_many
from discreet.tuning.sample import stratified_sample
from discreet.tuning.space import Option, Part, Space, built

# Rows that are searched; of larger tables, a sample.
ROWS = 20_000
# The label of a range of numbers: 20-29, [20, 30), >= 90.
_RANGE = re.compile(r"\d\s*(-|–|,|to)\s*\d|[<>≤≥]")


@dataclass(frozen=True)
class Task:
    """What is searched, validated.

    Attributes
    ----------
    table : pyarrow.Table
        In memory; a sample of it where it is large.
    space : Space
    known : tuple of str
        The columns that the intruder knows.
    counted : tuple of str
        The columns whose loss counts: those that could be released and vary.
    risk, loss : Bound, optional
    measure : str or callable, optional
        Of loss; None for `information_loss`.
    standards : mapping of str to float
        The largest change of structure that is allowed.
    full : optional
        What points are confirmed on, where that is not `table`.
    unit : str, optional
        The column that the release shows rows to belong together by: then units are found by all
        of their rows, and not single records.
    known_rows : int, optional
        How many rows of a unit the intruder knows; all where not given.
    """

    table: pa.Table
    space: Space
    known: tuple[str, ...]
    counted: tuple[str, ...]
    risk: Bound | None = None
    loss: Bound | None = None
    measure: str | Measure | None = None
    standards: Mapping[str, float] = field(default_factory=dict)
    full: Any = None
    unit: str | None = None
    known_rows: int | None = None


def read_task(
    table: Any,
    recipe: Given,
    *,
    risk: Any = None,
    loss: Any = None,
    keep: Sequence[str] = (),
    known: str | Sequence[str] | None = None,
    privacy: Any = None,
    standards: Mapping[str, float] | None = None,
    only_given: bool = False,
    seed: int = 0,
    dialect: Mapping[str, str | None] | None = None,
) -> Task:
    """Read what is to be searched, or say in one sentence what is wrong with it.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
    recipe : Recipe, Roles, dict or path of a TOML file
        With roles; steps may be left out, given, or have lists of values to choose from. It may
        have `hierarchies` by column, and under `search` what the arguments here override.
    risk, loss : str, float or callable, optional
        A bound such as "linkage <= 0.05"; for the loss also the name of its measure.
    keep : list of str
        Columns whose values are released as they are.
    known : "all", "quasi" or list of str, optional
        What the intruder knows: all quasi and confidential columns, the quasi ones, or those
        listed. By default the quasi columns and the numeric confidential ones.
    privacy : list of privacy models, optional
        What every point promises of the quasi columns.
    standards : mapping of str to float, optional
        The largest change of structure allowed: of `correlations`, `pmse` and `models`.
    only_given : bool
        Columns that no step treats are kept as they are, and steps are not tried.
    seed : int
        Of the sample.
    dialect : mapping, optional
        How a CSV is written.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(500, seed=1)
    >>> task = read_task(people, {
    ...     "roles": {"quasi": ["age", "sex"], "confidential": ["income"], "rest": "drop"}
    ... })
    >>> [part.columns for part in task.space.parts]
    [('age',), ('sex',), ('income',), ('age', 'sex')]
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise BadInput(f"seed must be a whole number of 0 or more, not {seed!r}")
    said = {"risk": risk, "loss": loss, "known": known, "privacy": privacy, "standards": standards}
    kept = keep if isinstance(keep, str) else list(keep)
    asked = read_asked(recipe, {**said, "keep": kept or None})
    measure, most = read_loss(asked.search.get("loss"))
    with open_engine(choose("auto", table), table=table) as engine:
        markers = asked.recipe([]).null_markers
        frame = engine.read(table, list, markers, _numeric(asked), dialect)
        rows = _rows(frame, asked, seed)
        columns = _Columns(asked, rows, measure)
        full = rows if frame.num_rows == len(rows) else frame
        hierarchies = columns.hierarchies(full)
        space = _space(columns, hierarchies, _not_as_they_are(columns, frame), only_given)
    task = Task(
        table=rows,
        space=space,
        known=tuple(columns.known),
        counted=tuple(columns.counted),
        risk=read_risk(asked.search.get("risk"), measure),
        loss=most,
        measure=measure,
        standards=read_standards(asked.search.get("standards", {})),
        full=_to_confirm(table, frame, rows),
        unit=asked.recipe([]).linked,
        known_rows=asked.recipe([]).known_rows,
    )
    if not only_given:
        _try_given(task, asked.given)
    return task


def _try_given(task: Task, given: Sequence[Part]) -> None:
    """Refuse given steps that this table cannot be put through, whatever their choices."""
    released = Released(task)
    for number, part in enumerate(task.space.parts):
        first: BadInput | None = None
        for place in range(len(part.options) if part in given else 0):
            try:
                released.of(Group(part.columns, ((number, place),)), seed=0)
            except BadInput as error:
                first = first or error
            else:
                first = None
                break
        if first is not None:
            raise first


def _numeric(asked: Asked) -> list[str]:
    """Name the columns that given steps need as numbers."""
    return [
        column
        for part in asked.given
        for option in part.options
        for step in option.steps
        if find_method(step["method"]).needs == "numeric"
        for column in step.get("columns", part.columns)
    ]


def _rows(frame: Frame, asked: Asked, seed: int) -> pa.Table:
    """Return what is searched: all rows, or a sample of many."""
    asked.roles.assign(frame.schema.names)
    if isinstance(frame, MemoryFrame) and frame.num_rows <= ROWS:
        return frame.table
    return stratified_sample(frame, asked.roles, rows=ROWS, seed=seed)


def _to_confirm(table: Any, frame: Frame, rows: pa.Table) -> Any:
    if frame.num_rows == len(rows):
        return None
    return frame.table if isinstance(frame, MemoryFrame) else table


class _Columns:
    """What each column is to a search, by its role and what is asked for."""

    def __init__(self, asked: Asked, table: pa.Table, measure: str | Measure | None) -> None:
        self.asked, self.table = asked, table
        self.by_numbers, self.scored = measure is not None, measure in SCORES
        self.role = asked.roles.assign(table.column_names)
        self.released = self._of("quasi", "confidential", "insensitive")
        self._check()
        self.kept = {*asked.names("keep"), *asked.roles.untouched}
        self.known = self._known()
        if not self.known and not self.scored:
            raise BadInput(
                "the intruder knows no column, so there is no risk to search by; name columns that "
                "he may know with known"
            )
        self.counted = [name for name in self.released if how_many(table[name], name) > 1]
        if not self.counted:
            raise BadInput("no column that is released varies, so there is nothing to search for")

    def _of(self, *roles: str) -> list[str]:
        return [name for name in self.table.column_names if self.role[name] in roles]

    def _check(self) -> None:
        """Refuse columns that are not there, and those that nothing can be chosen for."""
        asked = self.asked
        for name in asked.treated:
            self._refuse_unless(name in self.released, name, "a step", "which is not released")
        for name in asked.hierarchies:
            self._refuse_unless(name in self.released, name, "hierarchies", "which is not released")
            self._refuse_unless(
                name not in asked.treated, name, "hierarchies", "which a step treats; give it there"
            )
        for name in asked.names("keep"):
            self._refuse_unless(name in self.released, name, "keep", "which is not released")
            self._refuse_unless(name not in asked.treated, name, "keep", "which a step treats")
        if not self._of("quasi", "confidential") and not asked.given:
            raise BadInput("no column is quasi or confidential, so there is nothing to search for")
        models = read_models(asked.privacy) if asked.privacy else []
        for name in confidential_columns(models):
            self._refuse_unless(name in self.released, name, "privacy", "which is not released")
        keys = [name for name in asked.treated if self.role[name] == "quasi"]
        if models and keys:
            raise BadInput(
                f"privacy is about all quasi columns, but a step treats '{keys[0]}'; leave the "
                "step out, or put the models into it"
            )

    def _refuse_unless(self, fine: bool, name: str, where: str, why: str) -> None:
        if not fine:
            known = self.table.column_names
            why = why if name in known else f"which the table does not have; {nearest(name, known)}"
            raise BadInput(f"{where} names '{name}', {why}")

    def _known(self) -> list[str]:
        known = self.asked.search.get("known")
        if known == "all":
            return self._of("quasi", "confidential")
        if known == "quasi":
            return self._of("quasi")
        if isinstance(known, str):
            raise BadInput(f"known must be 'all', 'quasi' or a list of columns, not '{known}'")
        if known is not None:
            named = self.asked.names("known")
            for name in named:
                self._refuse_unless(name in self.released, name, "known", "which is not released")
            return [name for name in self.table.column_names if name in named]
        amounts = [name for name in self._of("confidential") if self._is_numeric(name)]
        return [n for n in self.table.column_names if n in amounts or self.role[n] == "quasi"]

    def _is_numeric(self, name: str) -> bool:
        return kind_of(self.table[name].type) == "numeric"

    @property
    def own(self) -> list[str]:
        """The columns that no given step treats, and that a search may be about."""
        return [n for n in self._of("quasi", "confidential") if n not in self.asked.treated]

    def is_free(self, name: str) -> bool:
        """Tell whether there is something to choose for a column."""
        matters = name in self.known or (self.by_numbers and self._is_numeric(name))
        return matters and name not in self.kept

    def hierarchies(self, full: pa.Table | Frame) -> dict[str, Hierarchy]:
        """Return what columns may be recoded by, settled on all rows."""
        given = self.asked.hierarchies
        return {
            name: _settled(given.get(name, Hierarchy.auto()), full, name)
            for name in self.own
            if self.is_free(name) or name in given
        }


def _settled(hierarchy: Hierarchy, full: pa.Table | Frame, name: str) -> Hierarchy:
    """Fix what a hierarchy makes of a column, by its distinct values where it is large."""
    if isinstance(full, pa.Table):
        return hierarchy.settle(full[name], name)
    values, counts = full.counts([name])
    return hierarchy.settle(values[name], name, counts)


def _not_as_they_are(columns: _Columns, frame: Frame) -> dict[str, BadInput]:
    """Return the columns that look like identifiers, which `protect` does not release as they are.

    One that must stay as it is, is refused.
    """
    recipe, found = columns.asked.recipe([]), {}
    for name in columns.released:
        if name in columns.asked.treated:
            continue
        try:
            refuse_identifiers(frame, recipe, [name])
        except BadInput as error:
            if name not in columns.own or not columns.is_free(name):
                raise
            found[name] = error
    return found


def _space(
    columns: _Columns,
    hierarchies: Mapping[str, Hierarchy],
    refused: Mapping[str, BadInput],
    only_given: bool,
) -> Space:
    given, own = columns.asked.given, []
    for name in columns.own:
        options: tuple[Option, ...] = (KEPT,)
        if columns.is_free(name) and not only_given:
            options = _options(columns, hierarchies[name], name)
        if name in refused:
            options = tuple(option for option in options if _hides(option, columns.table[name]))
            if not any(option.released for option in options):
                raise refused[name]
        own.append(Part((name,), options))
    joint = [] if only_given else _joint(columns, hierarchies)
    parts = [*own, *(part for part in given if not part.joint)]
    parts += [*(part for part in given if part.joint), *joint]
    return _valid(Space(tuple(parts), _base(columns)))


def _options(columns: _Columns, hierarchy: Hierarchy, name: str) -> tuple[Option, ...]:
    asked = columns.asked
    coded = _is_coded(asked.hierarchies.get(name), columns.table[name], name)
    # What averages promise would not hold of rows that are linked.
    promise = asked.recipe([]).linked is None
    return column_options(
        columns.table[name],
        name,
        hierarchy,
        coded=coded,
        scored=columns.scored,
        promise=promise,
    )


def _hides(option: Option, column: pa.ChunkedArray) -> bool:
    """Tell whether an option leaves no value of text as it is; numbers are hidden by any step."""
    if not option.released:
        return True
    effects = [built(step).effect for step in option.steps]
    return "coarsens" in effects or (bool(effects) and kind_of(column.type) == "numeric")


def _is_coded(hierarchy: Hierarchy | None, column: pa.ChunkedArray, name: str) -> bool:
    """Tell whether numbers stand for categories: those whose groups are listed, and not ranges."""
    if hierarchy is None or kind_of(column.type) != "numeric":
        return False
    if hierarchy.spec["kind"] not in ("csv", "table", "groups"):
        return False
    ladder = hierarchy.bind(column, name)
    labels = ladder.labels[1] if ladder.height > 1 else []
    return not any(map(_RANGE.search, labels))


def _base(columns: _Columns) -> dict[str, Any]:
    """Return the recipe without steps; all columns that are released have a role."""
    roles = columns.asked.roles.model_dump(exclude_defaults=True)
    roles |= {"insensitive": columns._of("insensitive"), "rest": "drop"}
    return {**columns.asked.content, "roles": roles}


def _joint(columns: _Columns, hierarchies: Mapping[str, Hierarchy]) -> list[Part]:
    """Return what can be done to columns together that no step treats, nor anybody keeps."""
    asked = columns.asked
    free = [n for n in columns.own if n not in asked.roles.untouched]
    amounts = [n for n in free if columns.is_free(n)]
    roles = asked.roles.model_copy(
        update={
            "quasi": [n for n in asked.roles.quasi if n in free],
            "confidential": [n for n in asked.roles.confidential if n in amounts],
        }
    )
    return joint_parts(
        columns.table,
        roles,
        dict(hierarchies),
        asked.privacy,
        asked.names("keep"),
        columns.scored,
        _counted(asked),
    )


def _counted(asked: Asked) -> str:
    """Name what k counts, as in a recipe."""
    by_default = "households" if asked.roles.household else "units" if asked.roles.unit else "rows"
    counts = asked.content.get("counts") or by_default
    return "records" if counts == "rows" else str(counts)


def _valid(space: Space) -> Space:
    """Leave out joint options that no recipe takes, such as blanks where rows are linked."""
    parts = []
    for number, part in enumerate(space.parts):
        options = []
        for place, option in enumerate(part.options if part.joint else ()):
            first = space.first()
            try:
                Recipe.from_dict(space.recipe((*first[:number], place, *first[number + 1 :])))
            except BadInput as error:
                refused = error
            else:
                options.append(option)
        if part.joint and not options:
            raise refused
        parts.append(Part(part.columns, tuple(options), joint=True) if part.joint else part)
    return Space(tuple(parts), space.base)
