"""What the rules of a policy are held against, and what each of them finds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence
from discreet.check.findings import Finding
from discreet.check.shown import Shown
from discreet.check.verdicts import Status
from discreet.engines import Frame
from discreet.errors import BadInput, nearest
from discreet.recipe.policies import Against, OfColumns, Policy
from discreet.recipe.recipe import Recipe
from discreet.table import float_values, read_table
from discreet.table.identifiers import Marks, can_identify, marks_of

PEOPLE = "population"


@dataclass(frozen=True)
class Found:
    """What a rule finds: its status, the figure in words, the records that miss it, the remedy."""

    status: Status
    found: str
    records: int | None = None
    remedy: str = ""
    excused: tuple[str, ...] = ()  # columns that only the recipe's word lets pass


@dataclass(frozen=True)
class Case:
    """A release, with all that is known about it."""

    shown: Shown
    recipe: Recipe
    policy: Policy
    against: Against
    findings: Sequence[Finding] = ()
    evidence: Evidence | None = None
    original: Frame | None = None

    @classmethod
    def of(
        cls,
        shown: Shown,
        recipe: Recipe,
        policy: Policy,
        against: Against,
        findings: Sequence[Finding] = (),
        evidence: Evidence | None = None,
        original: Frame | None = None,
    ) -> Case:
        """Prepare a release: any of its columns may be counted."""
        own = replace(shown, promised=tuple(shown.column_names), known={}, uniques={}, beside={})
        case = cls(own, recipe, policy, against, findings, evidence, original)
        for group, columns in against.groups.items():
            if strange := case.strange(columns):
                raise BadInput(
                    f"the group '{group}' names '{strange[0]}', which the release does not have; "
                    f"{nearest(strange[0], case.names)}"
                )
        return case

    @property
    def names(self) -> list[str]:
        """The released columns."""
        return self.shown.column_names

    @property
    def quasi(self) -> list[str]:
        """The released quasi columns."""
        return [name for name in self.recipe.roles.quasi if name in self.names]

    @property
    def confidential(self) -> list[str]:
        """The released confidential columns."""
        return [name for name in self.recipe.roles.confidential if name in self.names]

    @property
    def unknown(self) -> bool:
        """Whether nobody has said what any column is."""
        roles = self.recipe.roles
        return not roles.named() and roles.rest is None

    def strange(self, columns: Sequence[str]) -> list[str]:
        """Return those of some columns that neither the release nor its original has."""
        known = {*self.names, *self.recipe.roles.named()}
        known |= set() if self.evidence is None else set(self.evidence.log.get("dropped", ()))
        known |= set() if self.original is None else set(self.original.schema.names)
        return [name for name in columns if name not in known]

    def group(self, name: str) -> list[str] | None:
        """Return the released columns of a group; None where nobody has named them."""
        groups = self.policy.groups | self.against.groups
        return [one for one in groups[name] if one in self.names] if name in groups else None

    def columns(self, rule: OfColumns, usual: str | None = None) -> list[str] | None:
        """Return the released columns that a rule names, or None where it names none.

        A group that is usual for a kind of rule may be given without the rule naming it.
        """
        if rule.columns is not None:
            return [name for name in rule.columns if name in self.names]
        name = rule.group or usual
        return None if name is None else self.group(name)

    def keys(self, rule: OfColumns) -> list[str]:
        """Return the released columns that a rule names, or else the quasi columns."""
        found = self.columns(rule)
        return self.quasi if found is None else found

    @cached_property
    def population(self) -> tuple[pa.Table, np.ndarray] | None:
        """The population table without its numbers, and these; None where there is none."""
        path = self.against.population
        if path is None or path in self.against.gone:
            return None
        table = read_table(path)
        if PEOPLE not in table.column_names or table.num_columns < 2:
            raise BadInput(
                f"{path} is not a population table: it needs a column 'population' with the "
                "number of people, beside those of the release"
            )
        people = np.nan_to_num(float_values(table[PEOPLE], PEOPLE)).round().astype(np.int64)
        return table.drop_columns([PEOPLE]), people

    @cached_property
    def looks(self) -> dict[str, Marks]:
        """What a look at the released columns of text and numbers shows."""
        frame = self.shown.frame
        names = tuple(one for one in self.names if can_identify(frame.schema.field(one).type))
        return frame.fold(partial(_look, names), _joined, names) if names else {}

    @cached_property
    def attacks(self) -> list[dict[str, Any]] | None:
        """The attacks that were measured, as plain data; None where none are given."""
        path = self.against.attacks
        if path is None or path in self.against.gone:
            return None
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}") from None
        except ValueError:
            raise BadInput(f"{path} is not what `discreet attack --json` prints") from None
        found = list(_attacks(content))
        if not found:
            raise BadInput(f"{path} holds no attacks; write it with `discreet attack --json`")
        if not all(_measured(one) for one in found):
            raise BadInput(f"{path} has an attack without figures, or without sense; write it anew")
        return found

    def of_another(self, attack: Mapping[str, Any]) -> bool:
        """Tell whether an attack was on another release than this one, where both are known."""
        number = None if self.evidence is None else self.evidence.log.get("release")
        return bool(number and attack.get("release")) and attack["release"] != number


def _look(names: tuple[str, ...], piece: pa.Table, rows: np.ndarray) -> dict[str, Marks]:
    return {name: marks_of(piece[name]) for name in names}


def _joined(one: dict[str, Marks], other: dict[str, Marks]) -> dict[str, Marks]:
    return {name: marks.joined(other[name]) for name, marks in one.items()}


def _attacks(content: Any, release: Any = None) -> Iterator[dict[str, Any]]:
    """Find what looks like an attack, wherever it is, and which release it was on."""
    if isinstance(content, dict):
        release = content.get("release", release)
        if {"name", "excess"} <= content.keys():
            yield {**content, "release": release}
            return
    if isinstance(content, dict | list):
        for one in content.values() if isinstance(content, dict) else content:
            yield from _attacks(one, release)


def _measured(attack: Mapping[str, Any]) -> bool:
    """Tell whether an attack has its estimate, between both ends of its interval."""
    ends = attack.get("interval")
    return (
        isinstance(ends, list)
        and len(ends) == 2
        and all(isinstance(figure, int | float) for figure in (attack["excess"], *ends))
        # Also false of what is not a number. The ends may be off by rounding.
        and ends[0] - 1e-9 <= attack["excess"] <= ends[1] + 1e-9
    )


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(1 / 11), percent(0.05), percent(0)
    ('9.09 %', '5 %', '0 %')
    """
    return f"{100 * share:.3g} %"


def naming(group: str) -> str:
    """Say how the columns of a group are named.

    Examples
    --------
    >>> naming("counts")
    "name them: --group 'counts=COLUMN,COLUMN', or groups of the recipe's policy"
    """
    return f"name them: --group '{group}=COLUMN,COLUMN', or groups of the recipe's policy"


def listed(names: Sequence[str], most: int = 5) -> str:
    """List some names, and how many more there are.

    Examples
    --------
    >>> listed(["age", "sex"]), listed(list("abcdefg"), 3)
    ('age, sex', 'a, b, c and 4 more')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def quoted(names: Sequence[str]) -> str:
    """List some names in quotes.

    Examples
    --------
    >>> quoted(["age", "sex"])
    "'age', 'sex'"
    """
    return listed([f"'{name}'" for name in names])
