"""What a search chooses from: parts of a table, each with options from weak to strong."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.method import Method
from discreet.recipe.recipe import Step
from discreet.recipe.roles import LISTS
from discreet.registry import find_method

# The number of the option of each part: a point of the space.
Choice = tuple[int, ...]


@dataclass(frozen=True)
class Option:
    """One way to treat the columns of a part."""

    # Steps of a recipe, in order; none leave the columns as they are. `columns` are those of the
    # part, where a step does not name its own.
    steps: tuple[Mapping[str, Any], ...] = ()
    # What becomes of the columns, such as "in 10-year groups".
    words: str = "kept"
    # False where the columns are left out of the release.
    released: bool = True
    # Of a joint part: it decides about its columns itself, whatever their own parts say.
    alone: bool = False
    # Of a joint part: it is for the rest of its columns, those that their own parts leave alone.
    rest: bool = False


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

    def treated(self, choice: Choice, part: int) -> tuple[str, ...]:
        """Name the columns of a part that its option is for, if no other decides about them."""
        one = self.parts[part]
        return rest_of(self.parts, choice, one) if one.options[choice[part]].rest else one.columns

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
        # What comes first for a column, then what comes second, then what columns share.
        rounds: dict[float, list[_Applied]] = {}
        for place, (part, option) in enumerate(self._chosen(choice)):
            out = gone if option.alone or part.joint else gone | decided
            treated = self.treated(choice, place)
            for number, step in enumerate(option.steps):
                columns = [c for c in step.get("columns", treated) if c not in out]
                if columns:
                    one = _of_columns(step, gone)
                    rounds.setdefault(math.inf if part.joint else number, []).append((one, columns))
        order = sorted(rounds)
        applied = _without_early_promises([one for number in order for one in rounds[number]])
        joint = len(rounds.get(math.inf, ()))
        own = len(applied) - joint
        return [*_merged(applied[:own]), *(_step(*one) for one in applied[own:])]

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

    def words(self, choice: Choice, came: Mapping[int, str] | None = None) -> list[str]:
        """Say what becomes of the columns, those of the same treatment together.

        What came of those of a joint part, by its number, follows after a colon.
        """
        decided, gone = self._decided_alone(choice), set(self.dropped(choice))
        shared = {
            c
            for place, (part, option) in enumerate(self._chosen(choice))
            if part.joint and option.steps
            for c in self.treated(choice, place)
        }
        said: dict[str, list[str]] = {}
        for place, (part, option) in enumerate(self._chosen(choice)):
            # Of what is treated together it goes without saying that it is kept elsewhere.
            unsaid = gone if part.joint else decided if option.steps else decided | (shared - gone)
            columns = [c for c in self.treated(choice, place) if c not in unsaid]
            if columns and (option.steps or not part.joint):
                after = (came or {}).get(place)
                how = f"{option.words}: {after}" if after else option.words
                said.setdefault(how, []).extend(columns)
        return [f"{listed(list(dict.fromkeys(columns)))} {how}" for how, columns in said.items()]

    def _chosen(self, choice: Choice) -> Iterator[tuple[Part, Option]]:
        for part, number in zip(self.parts, choice, strict=True):
            yield part, part.options[number]

    def _decided_alone(self, choice: Choice) -> set[str]:
        return {
            c
            for place, (_, option) in enumerate(self._chosen(choice))
            if option.alone or option.rest
            for c in self.treated(choice, place)
        }


def rest_of(parts: Sequence[Part], choice: Choice, part: Part) -> tuple[str, ...]:
    """Name the columns of a joint part that their own parts leave alone.

    Examples
    --------
    >>> parts = [Part((c,), (Option(), Option(released=False))) for c in ("age", "size", "cost")]
    >>> rest_of(parts, (0, 1, 0), Part(("age", "size", "cost"), (Option(),), joint=True))
    ('age', 'cost')
    """
    treated = {
        c
        for own, number in zip(parts, choice, strict=True)
        if not own.joint and not leaves_alone(own.options[number])
        for c in own.columns
    }
    return tuple(c for c in part.columns if c not in treated)


def leaves_alone(option: Option) -> bool:
    """Tell whether an option releases columns as they are."""
    return option.released and not option.steps


def settled(parts: Sequence[Part], choice: Choice) -> Choice:
    """Return a choice with the first option in every part that others leave nothing to decide.

    Examples
    --------
    >>> own = Part(("age",), (Option(), Option(released=False)))
    >>> ways = Option(), Option(({},), alone=True), Option(({},), rest=True)
    >>> joint = Part(("age",), ways, joint=True)
    >>> [settled([own, joint], one) for one in ((1, 1), (1, 2), (0, 2))]
    [(0, 1), (1, 0), (0, 2)]
    """
    chosen = [part.options[number] for part, number in zip(parts, choice, strict=True)]
    both = list(zip(parts, chosen, strict=True))
    decided = {c for part, option in both if option.alone for c in part.columns}
    own = tuple(
        0 if decided and not part.joint and decided.issuperset(part.columns) else number
        for part, number in zip(parts, choice, strict=True)
    )
    return tuple(
        0 if option.rest and not rest_of(parts, own, part) else number
        for (part, option), number in zip(both, own, strict=True)
    )


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> listed(["age", "sex", "region"])
    'age, sex and region'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


# A step, and the columns that it is applied to.
_Applied = tuple[dict[str, Any], list[str]]


def _of_columns(step: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    """Leave out what a step says about columns that are not released."""
    return {
        key: {c: v for c, v in value.items() if c not in gone}
        if isinstance(value, Mapping)
        else value
        for key, value in step.items()
        if key != "columns"
    }


def _without_early_promises(applied: list[_Applied]) -> list[_Applied]:
    """Take back what a step promises about columns that a later one alters."""
    found = []
    for number, (step, columns) in enumerate(applied):
        later = {c for _, others in applied[number + 1 :] for c in others}
        if later.intersection(columns) and _promises(step):
            step = step | {"promise": False}
        found.append((step, columns))
    return found


def built(step: Mapping[str, Any]) -> Method:
    """Make the method that a step describes, valid or not.

    Examples
    --------
    >>> built({"method": "oma", "k": 5, "promise": False}).promise
    'k-per-value'
    """
    own = {key: value for key, value in step.items() if key not in Step.model_fields}
    return find_method(step["method"])(**own)


def _promises(step: Mapping[str, Any]) -> bool:
    return step.get("promise", True) and built(step).promise is not None


def _merged(applied: list[_Applied]) -> list[dict[str, Any]]:
    """Put the columns of equal steps together; so too what is only recoded."""
    merged: dict[str, _Applied] = {}
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
