"""Steps that a search recipe gives, in full or with lists of values to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from discreet.errors import BadInput, nearest
from discreet.recipe.recipe import Step, read_step
from discreet.registry import find_method, parameters
from discreet.report.words import steps_words
from discreet.tuning.space import Option, Part, listed

# Combinations that are taken of one step, or of steps that share columns.
MOST = 200
_OF_STEPS: dict[str, Any] = {"promise": bool, "precision": Literal["input", "full"]}


def given_parts(steps: Any) -> list[Part]:
    """Return the parts that given steps are: what they treat, with one option per combination.

    Steps that share columns are one part. A list is one of choices if the method takes its items
    and not the list; several such lists are all combined.

    Parameters
    ----------
    steps : list of mapping
        As in a recipe.

    Examples
    --------
    >>> [part] = given_parts([{"method": "oma", "columns": ["pay"], "k": [3, 5]}])
    >>> [option.words for option in part.options]
    ['averaged in groups of 3 or more', 'averaged in groups of 5 or more']
    """
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise BadInput(f"steps must be a list of steps, not {steps!r}")
    choices = [_choices(step, number) for number, step in enumerate(steps, start=1)]
    return [_part(choices, numbers) for numbers in _connected(choices)]


def _part(choices: list[list[dict[str, Any]]], numbers: list[int]) -> Part:
    """Combine the choices of steps that share columns."""
    own = [choices[number] for number in numbers]
    _refuse_many(prod(map(len, own)), f"steps {listed([str(n + 1) for n in numbers])} have")
    names = tuple(dict.fromkeys(c for some in own for c in some[0]["columns"]))
    together = any(not _by_column(step, n) for n in numbers for step in choices[n])
    options = []
    for chosen in product(*own):
        steps = tuple(
            {k: v for k, v in step.items() if k != "columns" or tuple(v) != names}
            for step in chosen
        )
        options.append(Option(steps, steps_words(steps), alone=together))
    return Part(names, tuple(options), joint=together)


def _by_column(step: Mapping[str, Any], number: int) -> bool:
    read: Step = read_step(step, number + 1)
    return len(read.columns) == 1 or read.build().by_column


def _connected(choices: list[list[dict[str, Any]]]) -> list[list[int]]:
    """Group the numbers of the steps that share columns, directly or by others."""
    groups: list[tuple[set[str], list[int]]] = []
    for number, some in enumerate(choices):
        names, numbers = set(some[0]["columns"]), [number]
        for group in [one for one in groups if one[0] & names]:
            groups.remove(group)
            names, numbers = names | group[0], [*group[1], *numbers]
        groups.append((names, sorted(numbers)))
    return [numbers for _, numbers in groups]


def _choices(step: Any, number: int) -> list[dict[str, Any]]:
    """Return the steps that a step with lists of choices stands for, each validated."""
    if not isinstance(step, Mapping):
        raise BadInput(f"step {number} must be a table with a method and columns, not {step!r}")
    if "method" not in step:
        raise BadInput(f"step {number} has no method")
    names = names_of(step, number)
    _refuse_unknown(step, number, names)
    lists = [_lists(step, number, name) for name in names]
    count = sum(prod(len(values) for _, values in one) for one in lists)
    _refuse_many(count, f"step {number} has")
    found = [
        one for name, given in zip(names, lists, strict=True) for one in _combined(name, given)
    ]
    for one in found:
        try:
            read_step(one, number)
        except ValueError as error:
            raise BadInput(f"the recipe: {error}") from None
    return found


def _combined(name: str, given: list[tuple[str, list[Any]]]) -> Iterator[dict[str, Any]]:
    for values in product(*(choices for _, choices in given)):
        chosen = zip((key for key, _ in given), values, strict=True)
        yield {"method": name, **dict(chosen)}


def _lists(step: Mapping[str, Any], number: int, name: str) -> list[tuple[str, list[Any]]]:
    """Return the values of each parameter of a method, one where there is no choice."""
    kinds = kinds_of(name)
    found = []
    for key, value in step.items():
        if key == "method" or (key not in kinds and key != "columns"):
            continue
        choice = key != "columns" and isinstance(value, list) and not fits(value, kinds[key])
        if choice and not value:
            raise BadInput(f"step {number}: {key} is an empty list; name one value at least")
        found.append((key, distinct(value) if choice else [value]))
    return found


def kinds_of(name: str) -> dict[str, Any]:
    """Return the types of what a step of a method may say, but for its columns."""
    return {key: kind for key, kind, _ in parameters(find_method(name))} | _OF_STEPS


def fits(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a type, as a recipe takes it."""
    adapter: TypeAdapter[Any] = TypeAdapter(
        kind, config=ConfigDict(strict=True, arbitrary_types_allowed=True)
    )
    try:
        adapter.validate_python(value)
    except (ValidationError, ValueError):
        return False
    return True


def distinct(values: list[Any]) -> list[Any]:
    """Return values without repetition."""
    return [value for place, value in enumerate(values) if value not in values[:place]]


def names_of(step: Mapping[str, Any], number: int) -> list[str]:
    """Return the methods that a step names, one or several to choose from."""
    names = step["method"] if isinstance(step["method"], list) else [step["method"]]
    if not names:
        raise BadInput(f"step {number}: method is an empty list; name one at least")
    for name in names:
        if not isinstance(name, str):
            raise BadInput(f"step {number}: a method is a name, not {name!r}")
        try:
            find_method(name)
        except BadInput as error:
            raise BadInput(f"step {number}: {error}") from None
    return list(names)


def _refuse_unknown(step: Mapping[str, Any], number: int, names: list[str]) -> None:
    """Refuse parameters that there are not."""
    known = ["method", "columns", *dict.fromkeys(key for name in names for key in kinds_of(name))]
    for key in step:
        if key not in known:
            where = f"step {number} ({' or '.join(names)})"
            raise BadInput(f"{where}: unknown key '{key}'; {nearest(key, known)}")


def _refuse_many(count: int, who: str) -> None:
    if count > MOST:
        raise BadInput(f"{who} {count:,} combinations of values; list fewer, {MOST} at most")
