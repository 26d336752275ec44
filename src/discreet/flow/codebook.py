"""The codebook of a released file: what its users may know of each column.

All of it comes from the released table and from what methods do in general; nothing from the plan,
the seed or the original.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from discreet.recipe.recipe import Recipe
from discreet.table import kind_of
from discreet.table.columns import ends_of
from discreet.table.labels import STAR, Labels, labels_of
from discreet.table.two_tables import SECOND

# More levels than this are counted and not listed.
MOST_LEVELS = 50
_GUARDED = (
    " Text, and names of columns, that a spreadsheet would take for a formula have a single quote "
    "before them, which is not part of them."
)
# What Markdown gives a meaning: marks anywhere, underscores at the ends of words, and what begins a
# heading or a list.
_MARKS = re.compile(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)|^[#+-](?=\s|$)|(?<=^\d)[.)](?=\s|$)")


def codebook(
    recipe: Recipe,
    released: pa.Table,
    csv_safe: bool = False,
    blanked: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Describe each released column: its type, labels and levels, and what was done to it.

    `blanked` are, by column, the cells that suppression emptied.
    """
    lines = [
        "# Codebook",
        "",
        f"{released.num_rows:,} rows in random order, {released.num_columns} columns. "
        f"{held_back(recipe)}{_apart(recipe)}{_nulls(recipe, released)}{_counted(recipe)}"
        f"{_GUARDED * csv_safe}",
        "",
        "| column | label | kind | type | values | what was done to it |",
        "|---|---|---|---|---|---|",
    ]
    for entry in describe(recipe, released, blanked):
        parts = ("name", "label", "kind", "type", "values", "done")
        lines.append(f"| {' | '.join(_cell(entry[part]) for part in parts)} |")
    for field in released.schema:
        levels = _levels(released[field.name], labels_of(field))
        if levels:
            lines += ["", f"## {_cell(field.name)}", "", *levels]
    return "\n".join(lines) + "\n"


def held_back(recipe: Recipe) -> str:
    """Say which share of the original is not in the file, by design and whoever they are."""
    if recipe.holdout is None:
        return ""
    roles = recipe.roles
    what = "households" if roles.household else "units" if roles.unit else "records"
    return f"A random {100 * recipe.holdout:g} % of the {what} were set aside and are not in it. "


def describe(
    recipe: Recipe, released: pa.Table, blanked: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return of each released column its name, label, kind, type and values, and what was done."""
    done = _done(recipe, blanked)
    return [
        {
            "name": field.name,
            "label": labels_of(field).label or "",
            "kind": kind_of(field.type),
            "type": str(field.type),
            "values": _values(released[field.name]),
            "done": "; ".join(done.get(field.name, ["nothing"])),
        }
        for field in released.schema
    ]


def _done(recipe: Recipe, blanked: Mapping[str, int]) -> dict[str, list[str]]:
    treated: dict[str, list[str]] = {}
    for step in recipe.steps:
        apart = step.build().apart
        for column in apart or step.columns:
            treated.setdefault(column, []).append(step.build().done_in_words)
        for column in step.build().adds:
            treated[column] = ["added: the group of the record, by which the two tables are joined"]
    if recipe.roles.household is not None:
        treated[recipe.roles.household] = ["replaced by random numbers, one a household"]
    said = "replaced by keyed pseudonyms, the same value by the same one"
    treated |= {name: [said] for name in recipe.roles.pseudonyms}
    for name, cells in blanked.items():
        # In a treated column, values that too few others still hold are emptied, too.
        why = "because of suppression" if name in recipe.treated else "that are suppressed"
        treated.setdefault(name, []).append(f"emptied in {cells:,} records {why}")
    return treated


def _apart(recipe: Recipe) -> str:
    """Say which columns are in a second table."""
    if not recipe.apart:
        return ""
    listed, by = (", ".join(map(_cell, names)) for names in (recipe.apart, recipe.added))
    return (
        f"The table `{SECOND}` has {listed}, by {by}; the other columns are in `table`. A record's "
        "values are among those of its group, each of them as likely as the others. "
    )


def _counted(recipe: Recipe) -> str:
    if recipe.counted is None or not recipe.steps:
        return ""
    return f" Groups and classes of the protection are counted in {recipe.counted_as}, not in rows."


def _nulls(recipe: Recipe, released: pa.Table) -> str:
    if any(step.method == "round-counts" for step in recipe.steps):
        return "An empty cell is a missing value, or a count that its column says is left blank."
    if any(labels_of(field).missing for field in released.schema):
        return "An empty cell, or a code that its column lists as missing, is a missing value."
    return "An empty cell is a missing value."


def _values(column: pa.ChunkedArray) -> str:
    """Say in a few words what a column holds: a range, or how many values."""
    present = column.drop_null()
    if not len(present):
        return "none"
    if kind_of(column.type) == "numeric":
        first, last = ends_of(present)
        return f"{_text(first)} to {_text(last)}"
    return f"{len(_distinct(column)):,} different"


def _levels(column: pa.ChunkedArray, labels: Labels) -> list[str]:
    """List the values of a category, and what those with a label mean."""
    lines = []
    if labels.codes:
        lines = [_coded(text, code, labels) for text, code in labels.codes.items()]
    elif labels.values:
        lines = [f"- {_cell(_text(v))}: {_cell(label)}" for v, label in labels.values.items()]
    elif kind_of(column.type) not in ("numeric", "other"):
        values = _distinct(column)
        if 0 < len(values) <= MOST_LEVELS:
            lines = [f"- {_cell(_text(value))}" for value in values]
    for code in labels.missing:
        said = " to ".join(_text(end) for end in (code if isinstance(code, tuple) else (code,)))
        lines.append(f"- missing: {_cell(said)}")
    return lines


def _coded(text: str, code: int, labels: Labels) -> str:
    """Say what text that was a code means, or what it is where numbers have labels."""
    if text == STAR:
        return f"- {_cell(text)}: not told, a missing value ({code} in SPSS, .a in Stata)"
    if text != str(code):
        return f"- {_cell(text)} ({code} in SPSS and Stata)"
    return (
        f"- {_cell(text)}: {_cell(labels.values[text])}" if text in labels.values else f"- {text}"
    )


def _distinct(column: pa.ChunkedArray) -> list[object]:
    """Return the values that occur: in their order where they have one, else sorted."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        used = set(column.cast(kind.value_type).unique().to_pylist()) - {None}
        if kind.ordered:
            order = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
            return [value for value in order if value in used]
        return sorted(used)
    return sorted(set(column.unique().to_pylist()) - {None})


def _text(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _cell(text: str) -> str:
    """Keep text on one line and inside its cell; neither Markdown nor HTML changes what it says."""
    return _MARKS.sub(r"\\\g<0>", escape(" ".join(text.split()), quote=False))
