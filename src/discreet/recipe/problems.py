"""All that is wrong with the text of a recipe, each with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.errors import BadInput, nearest
from discreet.recipe.lines import line_of, lines_of
from discreet.recipe.policies import Against
from discreet.recipe.recipe import Recipe, in_folder, tried_step
from discreet.recipe.roles import LISTS, SINGLE, no_role, unreleased
from discreet.recipe.rules import UNTREATED
from discreet.recipe.wording import Where, not_toml, told

_Found = list[tuple[Where, str]]
# The keys of steps that name columns of the table, beside those of privacy models.
_COLUMNS = ("columns", "confidential", "strata", "target", "weight")


@dataclass(frozen=True)
class Problem:
    """What is wrong, in one sentence, and on which line; None where no line is to blame."""

    line: int | None
    said: str


def problems_in(
    text: str, folder: str | Path = ".", columns: Sequence[str] | None = None
) -> list[Problem]:
    r"""Return all that is wrong with a recipe, by line.

    Parameters
    ----------
    text : str
        The recipe, as TOML.
    folder : str or Path
        Where the files are that it names.
    columns : sequence of str, optional
        Those of the table; by default the names of columns are not looked at.

    Examples
    --------
    >>> text = '''
    ... [roles]
    ... quasi = ["age"]
    ... rest = "drop"
    ... [[steps]]
    ... method = "omma"
    ... '''
    >>> for problem in problems_in(text, columns=["Age"]):
    ...     print(problem.line, problem.said)
    3 the table has no column 'age' (role quasi); did you mean 'Age'?
    6 step 1: there is no method 'omma'; did you mean 'oma'?
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [_of_syntax(text, str(error))]
    lines = lines_of(text)
    content = in_folder(content, Path(folder))
    found = _of_recipe(content)
    found += _of_files(content)
    found += _of_columns(content, columns) if columns is not None else []
    problems = [Problem(line_of(lines, path, said), said) for path, said in found]
    return sorted(dict.fromkeys(problems), key=lambda one: one.line or 0)


def _of_syntax(text: str, said: str) -> Problem:
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", said)
    line = int(found[1]) if found and found[1] else len(text.splitlines()) or 1
    return Problem(line, f"not TOML: {not_toml(said[: found.start()] if found else said)}")


def _of_recipe(content: Mapping[str, Any]) -> _Found:
    found: _Found = []
    steps: Any = content.get("steps", [])
    if isinstance(steps, list):
        tried = [tried_step(step, number) for number, step in enumerate(steps, start=1)]
        found = [(("steps", *path), said) for _, wrong in tried for path, said in wrong]
        steps = [step for step, _ in tried]
    wrong = bool(found)
    together: _Found = []
    try:
        Recipe.model_validate({**content, "steps": [] if wrong else steps}, context=together)
    except ValidationError as error:
        found += told(error, Recipe)
    # A step that is wrong may yet treat what without it nothing does.
    return found + [one for one in together if not (wrong and one[1].startswith(UNTREATED))]


def _of_files(content: Mapping[str, Any]) -> _Found:
    """Tell which files of hierarchies and populations do not exist, and whether a policy is one."""
    found: _Found = [(("policy",), said) for said in _of_policy(content.get("policy"))]
    for at, step in _steps(content):
        for place, model in _listed(step.get("privacy")):
            path = model.get("population") if isinstance(model, dict) else None
            if isinstance(path, str) and not Path(path).is_file():
                where = (*at, "privacy", place, "population")
                found.append((where, f"there is no file {path}"))
        trees = step.get("hierarchies")
        for column, tree in trees.items() if isinstance(trees, dict) else ():
            path = tree.get("path") if isinstance(tree, dict) else tree
            if isinstance(path, str) and not Path(path).is_file():
                found.append(((*at, "hierarchies", column), f"there is no file {path}"))
    return found


def _of_policy(given: Any) -> Iterator[str]:
    """Say why a policy cannot be read; that it is not named as one should be is said elsewhere."""
    if given is None:
        return
    try:
        Against.model_validate({"name": given} if isinstance(given, str) else given).load()
    except ValidationError:
        return
    except BadInput as error:
        yield str(error)


def _of_columns(content: Mapping[str, Any], columns: Sequence[str]) -> _Found:
    """Tell which columns the table does not have, and which have no role."""
    roles = content.get("roles")
    roles = roles if isinstance(roles, dict) else {}
    named: list[tuple[Where, Any, str]] = [
        (("roles", role, place), name, f" (role {role})")
        for role in (*LISTS, "household_level", *SINGLE)
        for place, name in _listed(roles.get(role))
    ]
    found: _Found = []
    dropped = roles.get("rest") == "drop"
    for at, step in _steps(content):
        in_step: list[tuple[Where, Any]] = [
            ((key, place), name) for key in _COLUMNS for place, name in _listed(step.get(key))
        ]
        for place, model in _listed(step.get("privacy")):
            if isinstance(model, dict) and "column" in model:
                in_step.append((("privacy", place, "column"), model["column"]))
        where = f" (step {int(at[-1]) + 1})"
        named += [((*at, *path), name, where) for path, name in in_step]
    known = [name for path, name, _ in named if path[0] == "roles"]
    for path, name, where in named:
        if dropped and path[2:3] == ("columns",) and name in columns and name not in known:
            said = f"step {int(path[1]) + 1} treats {unreleased(name, 'drop')}"
            found.append((path, said))
        if isinstance(name, str) and name not in columns:
            said = f"the table has no column '{name}'{where}; {nearest(name, columns)}"
            found.append((path, said))
    without = [column for column in columns if column not in known]
    if without and roles and roles.get("rest") is None:
        found.append((("roles",), no_role(without)))
    return found


def _steps(content: Mapping[str, Any]) -> Iterator[tuple[Where, dict[str, Any]]]:
    for place, step in _listed(content.get("steps")):
        if isinstance(step, dict):
            yield ("steps", place), step


def _listed(value: Any) -> list[tuple[int, Any]]:
    """Return what is in a list, or a single value, with its place."""
    several = value if isinstance(value, list) else [] if value is None else [value]
    return list(enumerate(several))
