"""Released cells of parts of a table, as the flow itself makes them: what a search is judged by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput
from discreet.flow.protection import prepare
from discreet.recipe.recipe import Recipe, Step, needed_columns, read_step
from discreet.recipe.roles import LISTS, Roles
from discreet.tuning.space import Choice, Part, Space

if TYPE_CHECKING:
    from discreet.tuning.task import Task

Cells = dict[str, pa.ChunkedArray]
_KEPT = ("quasi", "confidential", "insensitive")
# Bytes of released cells that are kept.
_MOST_BYTES = 1 << 28
_MOST_RECIPES = 2_000


@dataclass(frozen=True)
class Group:
    """Columns whose released cells are made together, and all that decides about them."""

    columns: tuple[str, ...]
    # Parts, with the number of the option of each.
    options: tuple[tuple[int, int], ...]


class Released:
    """What `protect` makes of each part of a table, by option and seed.

    A part is put through the flow without the other columns, since what becomes of them changes
    nothing of it. Where that is not so, as where records are left out, all of the table is.

    Parameters
    ----------
    task : Task
    trial : int
        The seed of runs that do not depend on it, and of those that show what a group does.
    """

    def __init__(self, task: Task, trial: int = 0) -> None:
        self.original, self.space, self.trial = task.table, task.space, trial
        self._kept: OrderedDict[tuple[Group, int], tuple[_Run, int]] = OrderedDict()
        self._bytes = 0
        self._recipes: dict[Group, Recipe] = {}
        self._refused: dict[Group, str] = {}
        self._rows: dict[tuple[int, bool], list[Group]] = {}
        self._not_along: set[Group] = set()
        self._apart: dict[Group, tuple[bool, bool]] = {}
        self._part_of = {
            name: number
            for number, part in enumerate(self.space.parts)
            if not part.joint
            for name in part.columns
        }
        searched = {name for part in self.space.parts for name in part.columns}
        roles = Roles.from_dict(self.space.base["roles"]).assign(self.original.column_names)
        kept = [name for name, role in roles.items() if role in _KEPT]
        self._quasi = {name for name, role in roles.items() if role == "quasi"}
        self.names = tuple(kept)
        self._others = Group(tuple(name for name in kept if name not in searched), ())

    def usable(self, part: int, option: int) -> bool:
        """Tell whether the flow accepts an option of a part that is not joint."""
        group = Group(self.space.parts[part].columns, ((part, option),))
        with suppress(BadInput):
            self.of(group, self.trial)
            return True
        return False

    def cells(self, part: int, option: int, seed: int) -> Cells:
        """Return the released cells of a part that is not joint; none where it is dropped."""
        return self.of(Group(self.space.parts[part].columns, ((part, option),)), seed)

    def joint(self, choice: Choice, seed: int) -> Cells:
        """Return the released cells of the columns of joint parts that do something."""
        groups = [one for one in self.groups(choice) if self._is_joint(one)]
        return {name: cells for one in groups for name, cells in self.of(one, seed).items()}

    def table(self, choice: Choice, seed: int) -> pa.Table:
        """Return all columns that a point releases, in the original's order."""
        found: Cells = {}
        for group in self.groups(choice):
            found |= self.of(group, seed)
        return pa.table({name: found[name] for name in self.original.column_names if name in found})

    def of(self, group: Group, seed: int) -> Cells:
        """Return the released cells of a group; without chance they are those of any seed."""
        return self._run(group, seed).cells

    # What belongs together

    def groups(self, choice: Choice) -> list[Group]:
        """Return all columns that may be released, in the groups that a point makes of them."""
        joined = self._joined(choice)
        if not self._stand_alone(joined):
            return [Group(self.names, tuple(enumerate(choice)))]
        taken = {name for one in joined for name in one.columns}
        for number, part in enumerate(self.space.parts):
            if not part.joint and not taken.issuperset(part.columns):
                joined.append(Group(part.columns, ((number, choice[number]),)))
        return [*joined, self._others]

    def _joined(self, choice: Choice) -> list[Group]:
        """Return the joint parts that do something, those that share columns as one."""
        found: list[tuple[set[str], set[int]]] = []
        for number, part in enumerate(self.space.parts):
            if not part.joint or not _does_something(part, choice[number]):
                continue
            columns, numbers = self._whole_parts(self.space.treated(choice, number)), {number}
            for others in [one for one in found if one[0] & columns]:
                found.remove(others)
                columns, numbers = columns | others[0], numbers | others[1]
            found.append((columns, numbers))
        return [self._of_joint(choice, *one) for one in found]

    def _whole_parts(self, columns: Sequence[str]) -> set[str]:
        """Name columns that are treated together, and those that go with them."""
        own = {self._part_of[name] for name in columns if name in self._part_of}
        return {*columns, *(name for one in own for name in self.space.parts[one].columns)}

    def _of_joint(self, choice: Choice, columns: set[str], numbers: set[int]) -> Group:
        parts = self.space.parts
        alone = {
            name
            for number in numbers
            if parts[number].options[choice[number]].alone
            or parts[number].options[choice[number]].rest
            for name in self.space.treated(choice, number)
        }
        own = {self._part_of[name] for name in columns - alone if name in self._part_of}
        ordered = tuple(name for name in self.original.column_names if name in columns)
        return Group(ordered, tuple((one, choice[one]) for one in sorted(own | numbers)))

    def _is_joint(self, group: Group) -> bool:
        return any(self.space.parts[number].joint for number, _ in group.options)

    def _stand_alone(self, joined: Sequence[Group]) -> bool:
        """Tell whether the cells of other columns are as they would be without joint parts.

        Of two that must keep something, each would lack the records that the other suppresses.
        """
        for group in joined:
            if group not in self._apart:
                run = self._run(group, self.trial)
                self._apart[group] = run.alone, run.suppresses
        alone = all(self._apart[group][0] for group in joined)
        return alone and (len(joined) < 2 or not any(self._apart[one][1] for one in joined))

    # Runs

    def _run(self, group: Group, seed: int) -> _Run:
        if group in self._refused:
            raise BadInput(self._refused[group])
        try:
            seed = seed if self._by_chance(group) else self.trial
            if (group, seed) not in self._kept and not self._made_along(group, seed):
                self._keep((group, seed), self._made(group, seed))
        except BadInput as error:
            self._refused[group] = str(error)
            raise
        self._kept.move_to_end((group, seed))
        return self._kept[group, seed][0]

    def _made_along(self, group: Group, seed: int) -> bool:
        """Put a group through the flow with those beside it, if that can be done.

        A run takes about as long for many columns as for one.
        """
        groups = self.beside(group)
        if len(groups) == 1 or groups[0] in self._not_along:
            return False
        columns = tuple(name for one in groups for name in one.columns)
        made = None
        with suppress(BadInput):
            made = self._made(Group(columns, tuple(one.options[0] for one in groups)), seed)
        if made is None or not made.alone:
            self._not_along.add(groups[0])
            return False
        for one in groups:
            own = {name: made.cells[name] for name in one.columns}
            self._keep((one, seed), _Run(own))
        # Of many large columns, not all are kept.
        return (group, seed) in self._kept

    def beside(self, group: Group) -> list[Group]:
        """Return the groups that cells are made of along with one: the same option elsewhere."""
        if len(group.options) != 1 or self._is_joint(group) or not self._recipe(group).steps:
            return [group]
        [(_, option)] = group.options
        chance = self._by_chance(group)
        if (option, chance) not in self._rows:
            self._rows[option, chance] = [
                one for one in self._row(option) if self._by_chance(one) == chance
            ]
        return self._rows[option, chance]

    def _row(self, option: int) -> Iterator[Group]:
        """Yield the groups of an option of all parts that have it, and where it has steps."""
        for number, part in enumerate(self.space.parts):
            if part.joint or option >= len(part.options):
                continue
            one = Group(part.columns, ((number, option),))
            with suppress(BadInput):
                if part.options[option].released and self._recipe(one).steps:
                    yield one

    def _keep(self, key: tuple[Group, int], made: _Run) -> None:
        """Keep cells, and forget the oldest where they are too many."""
        size = sum(cells.nbytes for cells in made.cells.values())
        # Those made along with others may be here already.
        self._bytes += size - self._kept.pop(key, (None, 0))[1]
        self._kept[key] = made, size
        while self._bytes > _MOST_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]

    def _by_chance(self, group: Group) -> bool:
        return any(step.build().is_random for step in self._recipe(group).steps)

    def _made(self, group: Group, seed: int) -> _Run:
        recipe = self._recipe(group)
        roles = recipe.roles.named()
        shown = [name for name in group.columns if roles.get(name) in _KEPT]
        if not recipe.steps:
            return _Run({name: self.original[name] for name in shown})
        # A holdout is for the release: what is compared with all rows is made from all of them.
        own = {"seed": seed, "allow_predictable_seed": True, "holdout": None}
        seeded = recipe.model_copy(update=own)
        used = needed_columns(recipe, self.original.column_names)
        release = prepare(self.original.select(used), seeded, "memory")
        frame = release.finished
        assert isinstance(frame, MemoryFrame)
        told: Mapping[str, Any] | None = release.plan.get("suppressed")
        # Suppressed records must not tell other quasi columns either.
        within = told is None or (not told["left_out"] and self._quasi.issubset(group.columns))
        return _Run({name: frame.table[name] for name in shown}, within, told is not None)

    # Recipes

    def _recipe(self, group: Group) -> Recipe:
        """Return the recipe of a group's columns, without what concerns others."""
        if group not in self._recipes:
            if len(self._recipes) > _MOST_RECIPES:
                self._recipes.clear()
            self._recipes[group] = self._new_recipe(group)
        return self._recipes[group]

    def _new_recipe(self, group: Group) -> Recipe:
        """Take the parts of the group for a space of their own."""
        own = tuple(_narrowed(self.space.parts[part], group) for part, _ in group.options)
        whole = Space(own, self.space.base).recipe(tuple(option for _, option in group.options))
        roles = Roles.from_dict(whole["roles"])
        read = {name for step in whole["steps"] for name in _reads(step)}
        shown = {*group.columns, *read}
        linked = {roles.household, roles.unit}
        kept = {
            role: [name for name in getattr(roles, role) if name in shown]
            for role in (*LISTS, "household_level", "not_identifiers", "untouched")
        }
        kept["pseudonyms"] = [name for name in roles.pseudonyms if name in linked]
        content = {key: value for key, value in whole.items() if key != "allow_leaks"}
        return Recipe.from_dict({**content, "roles": {**whole["roles"], **kept, "rest": "drop"}})


@dataclass(frozen=True)
class _Run:
    cells: Cells
    # Whether the cells of other columns are as they would be otherwise.
    alone: bool = True
    suppresses: bool = False


def _narrowed(part: Part, group: Group) -> Part:
    """Return a joint part without the columns that are treated elsewhere."""
    if not part.joint:
        return part
    return replace(part, columns=tuple(name for name in part.columns if name in group.columns))


def _does_something(part: Part, option: int) -> bool:
    chosen = part.options[option]
    return bool(chosen.steps) or not chosen.released


def _reads(step: Mapping[str, Any]) -> Sequence[str]:
    """Name the columns that a step looks at without treating them."""
    try:
        one: Step = read_step(step, 1)
    except ValueError as error:
        raise BadInput(str(error)) from None
    return one.build().reads
