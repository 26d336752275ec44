"""A recipe to begin with: every choice that there is, as a comment beside what is chosen."""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Container, Iterator, Mapping
from typing import Any

from discreet.docstrings import in_short
from discreet.recipe.recipe import Recipe
from discreet.registry import methods

# The file beside the recipe from which editors complete, and the line that tells them so.
SCHEMA_FILE = "discreet-recipe.schema.json"
SCHEMA_LINE = f"#:schema ./{SCHEMA_FILE}"
# What a release writes into its own recipe, for a rerun.
_OF_RELEASES = ("seed_for", "order_seed")
_WIDTH = 96

BLANK = """\
# A recipe: what each column of a table is, and what is done before the table is shared.
# The columns below are made up; put yours in their place. Then
#   discreet recipe check THIS_FILE --table TABLE
# says what is wrong, line by line, and
#   discreet protect TABLE --recipe THIS_FILE --out FOLDER
# runs it.

null_markers = ["NA"]  # cells that stand for a missing value, besides the empty cell

[roles]
identifiers = ["name"]  # identify a person or company on their own; dropped
quasi = ["age", "region"]  # could identify someone together with other columns
confidential = ["income"]  # what nobody should learn about a person they know
rest = "drop"  # what becomes of all other columns; or "insensitive": released as they are

# Values become coarser until k records or more share each combination of them.
[[steps]]
method = "generalize"
columns = ["age", "region"]
privacy = [{ model = "k-anonymity", k = 5 }]
suppression_limit = 0.05

[steps.hierarchies]
age = { kind = "intervals", widths = [5, 10, 20] }
region = { kind = "auto" }

# Amounts become the mean of at least k records, extremes too.
[[steps]]
method = "oma"
columns = ["income"]
k = 5
"""


def with_choices(text: str) -> str:
    """Add to a recipe, as comments, each choice that it leaves at its default.

    Parameters
    ----------
    text : str
        A recipe as `BLANK` is laid out: `[roles]` and `[[steps]]` on lines of their own, and an
        empty line after each block of keys.

    Examples
    --------
    >>> print(with_choices(BLANK)[:39])
    #:schema ./discreet-recipe.schema.json
    """
    schema = Recipe.json_schema()
    content = tomllib.loads(text)
    models = {one["properties"]["method"]["const"]: one for one in _steps(schema["$defs"])}
    top = _choices(schema["properties"], {*content, *_OF_RELEASES, "roles", "steps"})
    lines = [SCHEMA_LINE]
    waiting: list[str] = []  # what follows the block of keys that is being read
    number = 0
    # Names of columns may hold what else ends a line for Python.
    for line in [*text.removesuffix("\n").split("\n"), ""]:
        if line == "[roles]":
            lines += [*top, ""]
            waiting = list(_choices(schema["$defs"]["Roles"]["properties"], content["roles"]))
        elif line == "[[steps]]":
            step = content["steps"][number]
            number += 1
            properties = models[step["method"]]["properties"]
            waiting = list(_choices(properties, step, short=True))
        elif not line:
            lines += waiting
            waiting = []
        lines.append(line)
    return "\n".join([*lines, *_other_methods(content)]) + "\n"


def _steps(definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in definitions.values():
        if "const" in one.get("properties", {}).get("method", {}):
            yield one


def _choices(
    properties: Mapping[str, Any], given: Container[str], short: bool = False
) -> Iterator[str]:
    """Explain each key that is not given; in one sentence where that is to be short."""
    for name, one in properties.items():
        if name in given:
            continue
        said = one.get("description", "")
        said = re.split(r"(?<=[^.][.]) (?=[A-Z])", said)[0] if short else said
        value = _value(one)
        others = [one for one in map(json.dumps, one.get("enum", ())) if one != value]
        beside = f"  # or {', '.join(others)}" if others else ""
        if len(beside) > _WIDTH / 2:
            said, beside = f"{said} Or: {', '.join(others)}.", ""
        yield from _wrapped(said)
        yield f"# {name} = {value}{beside}"


def _value(one: Mapping[str, Any]) -> str:
    """Return the default, or one of the choices; dots where there is something to fill in."""
    if "enum" in one and "default" not in one:
        return json.dumps(one["enum"][0])
    if "default" in one or one.get("type") == "array":
        return json.dumps(one.get("default", []))
    return "..."


def _wrapped(said: str, first: str = "# ", rest: str = "# ") -> list[str]:
    return textwrap.wrap(
        said, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _other_methods(content: Mapping[str, Any]) -> Iterator[str]:
    used = {step["method"] for step in content.get("steps", ())}
    yield "# Other methods that a step may name:"
    for name, method in methods().items():
        if name not in used:
            yield from _wrapped(f"{name}: {in_short(method)}", "#   ", "#     ")
