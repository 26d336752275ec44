"""What every measure is: one declaration, and a function of the facts about two tables.

A measure says what its figures are called, their unit, which way is better and how to read them;
`assess`, the terminal, the reports, `compare` and the documentation go by that and by nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Entry = dict[str, Any]
# What measures ask of two tables: `discreet.assessment.facts.Facts`, which is above this module.
Facts = Any


class LeftOut(Exception):
    """A measure does not apply; the text says why."""


@dataclass(frozen=True)
class Guide:
    """What a figure should not be worse than, and where that comes from, in a sentence."""

    value: float
    source: str
    # Who says so: this program for a first look, the recipe, or a policy that it names.
    by: Literal["guide value", "recipe", "policy"] = "guide value"
    excluded: bool = False  # the value itself is not good enough either


# What a review usually asks for.
LARGEST = Guide(
    0.09,
    "9 % for the largest risk of a record is what the European Medicines Agency (policy 0070) and "
    "Health Canada ask for.",
)
AVERAGE = Guide(0.05, "5 % on average and for linkage is one in twenty.")
# Of a value that k records share, to be near the original is what it is for.
INTERVALS = Guide(0.5, "50 % of the cells of a perturbed column is every second one.")
SHARED = Guide(
    1.0,
    "Where all of a class share one confidential value, 100 %, whoever finds the class knows it.",
    excluded=True,
)
NOBODY = Guide(0, "A class under 2, 3 or 5 should have no records.")


@dataclass(frozen=True)
class Figure:
    """One number of a measure."""

    title: str
    key: str = ""  # where the measure's entry has it; empty for the only or main one
    unit: str = ""  # "%" is a share of one, shown in percent; "percent" is in percent already
    # None where it tells neither risk nor loss; releases cannot be ranked by it.
    better: Literal["less", "more"] | None = "less"
    guide: Guide | None = None
    untouched: float | None = None  # of a table that nothing was done to, if not in the entry
    reading: str = ""  # in a sentence; where not given, the measure's, or none of a column
    each: bool = False  # it is of each column, in the entry's `columns`
    headline: bool = False  # a reader looks for it first
    attack: bool = False  # the share of records that an intruder finds; the best can be told


@dataclass(frozen=True)
class Measure:
    """A measure that `assess` takes.

    Examples
    --------
    >>> share = Figure("changed columns", unit="%", untouched=0.0)
    >>> changed = Measure(
    ...     "changed", "share of the columns that differ",
    ...     lambda t: {"value": len(changed_of(t)) / len(t.shared)}, [share],
    ... )
    """

    name: str
    reading: str  # in a sentence
    # From the facts to plain data: `value`, or `before` and `after`, numbers or a dict of them;
    # `columns`, and whatever else is worth keeping.
    take: Callable[[Facts], Entry]
    figures: Sequence[Figure]  # what is shown of that, in order
    needs: Sequence[str] = ()  # what it is left out without; the keys of `NEEDS`
    # Why it is taken only where asked for by name: always, or by the facts; empty: it is taken.
    on_request: str | Callable[[Facts], str] = ""
    # Of a risk: what an intruder does, and what to hold the figure against.
    intruder: str = ""
    # It counts classes of equal quasi values, which mean nothing once these were perturbed.
    by_frequency: bool = False


def in_units(text: str, counts: str) -> str:
    """Say of units, such as households, what a text says of records.

    Examples
    --------
    >>> in_units("records unique on the quasi columns", "households")
    'households unique on the quasi columns'
    """
    text = re.sub(r"\b(records|people)\b", counts, text)
    return re.sub(r"\brecord\b(?!')", counts.removesuffix("s"), text)


def measures_in(package: str, *modules: str) -> list[Measure]:
    """Return the measures that some modules of a package declare, in order."""
    found = (vars(import_module(f"{package}.{module}")).values() for module in modules)
    return [member for members in found for member in members if isinstance(member, Measure)]


def confidential_of(t: Facts) -> list[str]:
    """Return the confidential columns of both tables that no step perturbed."""
    found = [c for c in t.roles.confidential if c in t.shared and c not in t.perturbed]
    if not found:
        raise LeftOut("there is no confidential column in both tables that was not perturbed")
    return found


def target_of(t: Facts) -> str:
    """Return the column that models predict."""
    if t.roles.target is None:
        raise LeftOut("the roles name no target")
    if t.roles.target not in t.shared:
        raise LeftOut(f"the target '{t.roles.target}' is not in both tables")
    return t.roles.target


def changed_of(t: Facts) -> list[str]:
    """Return the columns with a cell that differs."""
    found = [c for c in t.shared if c in t.changed_numeric or c in t.changed_categories]
    if not found:
        raise LeftOut("no column differs")
    return found


def _households(t: Facts) -> None:
    if t.roles.household is None:
        raise LeftOut("the roles name no household")


def _linked(t: Facts) -> None:
    if t.recipe.linked is None:
        raise LeftOut(
            "no unit is among the pseudonyms, nor is a household released with known_rows"
        )


def people_of(t: Facts) -> float:
    """Return the size of the population, as the recipe or a privacy model of a step says."""
    if t.recipe.population is not None:
        return float(t.recipe.population)
    for step in t.recipe.steps:
        for model in getattr(step.build(), "models", ()):
            if hasattr(model, "people"):
                return float(model.people(t.before.num_rows))
    raise LeftOut("the recipe does not say of how many people the table is a sample")


def _indicators(t: Facts) -> None:
    if not t.recipe.indicators:
        raise LeftOut("the recipe has no indicators")


def _changed_categories(t: Facts) -> None:
    if not t.changed_categories:
        raise LeftOut("no column of categories differs")


def _to_link(t: Facts) -> None:
    if not (t.quasi or t.changed_numeric):
        raise LeftOut("there is no quasi column in both tables, and no numeric one differs")


# What a measure may need; each raises LeftOut where it is not there.
NEEDS: dict[str, Callable[[Facts], object]] = {
    "quasi columns": lambda t: t.need_quasi(),
    "quasi columns or changed numbers": _to_link,
    "changed numbers": lambda t: t.need_changed(),
    "changed categories": _changed_categories,
    "changed columns": changed_of,
    "confidential columns": confidential_of,
    "a target": target_of,
    "households": _households,
    "linked rows": _linked,
    "indicators": _indicators,
    "a population": people_of,
    "all rows": lambda t: t.rows(),
}
