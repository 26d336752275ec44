"""What a search chooses from: parts of a table, each with options from weak to strong."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.recipe.roles import LISTS
from discreet.registry import find_method

# The number of the option of each part: a point of the space.
Choice = tuple[int, ...]


@dataclass(frozen=True)
class Option:
    """One way to treat the columns of a part."""

    # Steps of a recipe without their `columns`, in order; none leave the columns as they are.
    steps: tuple[Mapping[str, Any], ...] = ()
    # What becomes of the columns, such as "in 10-year groups".
    words: str = "kept"
    # False where the columns are left out of the release.
    released: bool = True
    # Of a joint part: it decides about its columns itself, whatever their own parts say.
    alone: bool = False


@dataclass(frozen=True)
class Part:
    """Columns that are treated together, and the ways to treat them.

    A joint part is applied after the parts of its columns: local suppression after recoding. Its
    first option may be to do nothing.
    """

    columns: tuple[str, ...]
    options: tuple[Option, ...]
    joint: bool = False


@dataclass(frozen=True)
class Space:
    """All choices of options, and the recipe that each of them is.

    Attributes
    ----------
    parts : tuple of Part
        Column parts first: no column is in two of these. Joint parts follow.
    base : mapping
        The recipe without its steps. Every released column has a role; the others are dropped.

    Examples
    --------
    >>> space = Space(
    ...     (Part(("age",), (Option(), Option(({"method": "oma", "k": 5},), "in groups of 5"))),),
    ...     {"roles": {"quasi": ["age"], "rest": "drop"}},
    ... )
    >>> space.steps((1,))
    [{'method': 'oma', 'k': 5, 'columns': ['age']}]
    >>> space.words((1,))
    ['age in groups of 5']
    >>> space.recipe((0,))["roles"]["untouched"]
    ['age']
    """

    parts: tuple[Part, ...]
    base: Mapping[str, Any]

    def first(self) -> Choice:
        """Return the weakest option of every part."""
        return (0,) * len(self.parts)

    def last(self) -> Choice:
        """Return the strongest option of every part."""
        return tuple(len(part.options) - 1 for part in self.parts)

    def option(self, choice: Choice, part: int) -> Option:
        """Return the option that a choice takes for a part."""
        return self.parts[part].options[choice[part]]

    def dropped(self, choice: Choice) -> list[str]:
        """Name the columns that a choice leaves out of the release."""
        decided = self._decided_alone(choice)
        gone = {
            c for part, option in self._chosen(choice) if not option.released for c in part.columns
        }
        return [
            c
            for part in self.parts
            for c in part.columns
            if c in gone and c not in decided and not part.joint
        ]

    def steps(self, choice: Choice) -> list[dict[str, Any]]:
        """Return the steps of a choice; the same step on several columns is one."""
        decided, gone = self._decided_alone(choice), set(self.dropped(choice))
        rounds: list[list[tuple[dict[str, Any], list[str]]]] = []
        joint: list[tuple[dict[str, Any], list[str]]] = []
        for part, option in self._chosen(choice):
            over = () if option.alone else decided
            columns = [c for c in part.columns if c not in gone and (part.joint or c not in over)]
            for number, step in enumerate(option.steps if columns else ()):
                if part.joint:
                    joint.append((_of_columns(step, part.columns, columns), columns))
                    continue
                rounds += [[]] * (number + 1 - len(rounds))
                rounds[number] = [*rounds[number], (dict(step), columns)]
        own = [one for some in rounds for one in some]
        applied = list(_without_early_promises([*own, *joint]))
        return [*_merged(applied[: len(own)]), *(_step(*one) for one in applied[len(own) :])]

    def recipe(self, choice: Choice) -> dict[str, Any]:
        """Return the whole recipe of a choice, as `Recipe.from_dict` takes it."""
        steps, gone = self.steps(choice), set(self.dropped(choice))
        recipe = copy.deepcopy(dict(self.base))
        roles = recipe["roles"]
        for role in (*LISTS, "household_level", "untouched", "not_identifiers"):
            if role in roles:
                roles[role] = [c for c in roles[role] if c not in gone]
        if gone:
            roles["rest"] = "drop"
        treated = {c for step in steps for c in step["columns"]}
        left = [c for c in roles.get("quasi", ()) if c not in treated]
        if left:
            roles["untouched"] = left
        return recipe | {"steps": steps}

    def words(self, choice: Choice) -> list[str]:
        """Say what becomes of the columns, those of the same treatment together."""
        decided = self._decided_alone(choice)
        said: dict[str, list[str]] = {}
        for part, option in self._chosen(choice):
            if part.joint and not option.steps:
                continue
            columns = [c for c in part.columns if part.joint or c not in decided]
            if columns:
                said.setdefault(option.words, []).extend(columns)
        return [f"{listed(list(dict.fromkeys(columns)))} {how}" for how, columns in said.items()]

    def _chosen(self, choice: Choice) -> Iterator[tuple[Part, Option]]:
        for part, number in zip(self.parts, choice, strict=True):
            yield part, part.options[number]

    def _decided_alone(self, choice: Choice) -> set[str]:
        return {c for part, option in self._chosen(choice) if option.alone for c in part.columns}


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> listed(["age", "sex", "region"])
    'age, sex and region'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _of_columns(
    step: Mapping[str, Any], of: Sequence[str], columns: Sequence[str]
) -> dict[str, Any]:
    """Leave out what a joint step says about columns that are not released."""
    gone = set(of) - set(columns)
    return {
        key: {c: v for c, v in value.items() if c not in gone}
        if isinstance(value, Mapping) and gone
        else value
        for key, value in step.items()
    }


def _without_early_promises(
    applied: list[tuple[dict[str, Any], list[str]]],
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Take back what a step promises about columns that a later one alters."""
    for number, (step, columns) in enumerate(applied):
        later = {c for _, others in applied[number + 1 :] for c in others}
        if later.intersection(columns) and _promises(step):
            step = step | {"promise": False}
        yield step, columns


def _promises(step: Mapping[str, Any]) -> bool:
    own = {key: value for key, value in step.items() if key not in _OF_STEPS}
    return step.get("promise", True) and find_method(step["method"])(**own).promise is not None


_OF_STEPS = ("method", "promise", "precision", "columns")


def _merged(applied: list[tuple[dict[str, Any], list[str]]]) -> list[dict[str, Any]]:
    """Put the columns of equal steps together; so too what is only recoded."""
    merged: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for step, columns in applied:
        by_column = ("hierarchies", "levels") if _only_recodes(step) else ()
        rest = {key: value for key, value in step.items() if key not in by_column}
        key = json.dumps(rest, sort_keys=True, default=str)
        key += str(sum(bool({*columns} & {*c}) for _, c in merged.values()))
        if key not in merged:
            merged[key] = (step, list(columns))
            continue
        known, of = merged[key]
        together = {name: {**known[name], **step[name]} for name in by_column}
        merged[key] = (known | together, [*of, *columns])
    return [_step(*one) for one in merged.values()]


def _step(step: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    return {**step, "columns": list(columns)}


def _only_recodes(step: Mapping[str, Any]) -> bool:
    return step["method"] == "generalize" and not step.get("privacy")
