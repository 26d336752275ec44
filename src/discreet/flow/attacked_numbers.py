"""Figures of the attacks on released numbers: regression, known members, and averaging."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.assessment.passes import sums_by_value
from discreet.assessment.samples import beside
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.method import Method
from discreet.recipe.recipe import Recipe, Step
from discreet.risk._guesses import is_mean
from discreet.risk.interval import WIDTH
from discreet.risk.values import sd
from discreet.table.classes import encode
from discreet.table.columns import float_values, kind_of

# Records that regressions are tried on, and columns that each uses at most.
_TRIED, _USED = 20_000, 20
# An error of the line below this share of the released value's own is worth saying.
_NEARER = 0.95
# And so many more guesses that are near than by the released value or one value for all.
_MORE = 0.01
# Releases that are averaged over for the figure.
_RELEASES = 4
_NORMAL = ("additive", "correlated")


class Numbers:
    """The numbers of a release beside the original ones."""

    def __init__(self, recipe: Recipe, original: Frame, released: Frame) -> None:
        self.recipe, self.original, self.released = recipe, original, released
        roles = recipe.roles
        ids = {roles.household, roles.unit, roles.row_key, *roles.pseudonyms, *recipe.apart}
        schemas = original.schema, released.schema
        self.names = [
            name
            for name in released.schema.names
            if name in original.schema.names
            and name not in ids
            and all(kind_of(one.field(name).type) == "numeric" for one in schemas)
        ]

    @cached_property
    def pair(self) -> tuple[pa.Table, pa.Table]:
        """All rows where they are in memory, and else a sample; nulls where a row is left out."""
        before, after = beside(self.original, self.released, self.names, _TRIED)
        return before.select(self.names), after.select(self.names)

    @cached_property
    def tried(self) -> tuple[pa.Table, pa.Table]:
        """Some of them, drawn so that a rerun finds the same."""
        before, after = self.pair
        if len(before) <= _TRIED:
            return before, after
        some = np.sort(np.random.default_rng(0).choice(len(before), _TRIED, replace=False))
        return before.take(some), after.take(some)

    def regressed(self, step: Step) -> Mapping[str, Any]:
        """Guess the columns of a step from all released numbers, and say what that adds."""
        from discreet.attacks.regression import regression

        found, why = {}, "none of its columns is released as numbers"
        for name in (one for one in step.columns if one in self.names):
            used = [name, *(one for one in self.names if one != name)][:_USED]
            before, after = (table.select(used) for table in self.tried)
            try:
                told = regression(before, after, name)
            except BadInput as error:
                why = str(error)
                continue
            keys = ("known", "error", "released_error", "released")
            found[name] = {key: told.detail[key] for key in keys}
            found[name] |= {"attack": told.attack.value, "guess": told.guess.value}
        if not found:
            return {"said": f"Not measured: {why}."}
        return {"columns": found, "said": _of_lines(found)}

    def members(self, step: Step, levels: Mapping[str, str]) -> Mapping[str, Any]:
        """Say how many values follow from a group's mean and the values of its other members.

        By `levels`, a column's values are of households or persons, one each.
        """
        method = step.build()
        if not is_mean(method):
            return {
                "said": "Not measured: what is released is not the mean of a group, so that the "
                "values of the other members do not give the last one by subtraction."
            }
        mine = [name for name in step.columns if name in self.names]
        others = [one for one in self.recipe.steps if one != step and set(one.columns) & set(mine)]
        if others:
            return {
                "said": "Not measured: another step changes the same columns, so that no means are "
                "released."
            }
        if not mine:
            return {"said": "Not measured: none of its columns is released as numbers."}
        if self.original.whole:
            told = self._known(step, method, levels).to_dict()
            if self.recipe.counted is not None and not levels:
                told["said"] += (
                    f" k counts {self.recipe.counted_as} here, and groups of more than k rows are "
                    "taken as not all known."
                )
            return told
        if levels:
            return {
                "said": "Not measured: groups are of households or persons, whose rows are not "
                "together on this engine; --engine memory measures it."
            }
        return self._known_by_sums(method, mine).to_dict()

    def _known(self, step: Step, method: Method, levels: Mapping[str, str]) -> Any:
        from discreet.attacks.known_members import KnownMembers, known_members

        shares: dict[str, float] = {}
        for level in dict.fromkeys(levels.get(name) for name in step.columns):
            names = [name for name in step.columns if levels.get(name) == level]
            names = [name for name in names if name in self.released.schema.names]
            asked = names if level is None else [*names, level]
            before, after = beside(self.original, self.released, asked, _TRIED)
            if level is not None:
                first = np.unique(encode(before[level], level)[0], return_index=True)[1]
                before, after = before.take(first), after.take(first)
            before, after = before.select(names), after.select(names)
            shares |= known_members(before, after, [(method, names)]).columns
        return KnownMembers(WIDTH, shares)

    def _known_by_sums(self, method: Method, mine: Sequence[str]) -> Any:
        from discreet.attacks.known_members import KnownMembers
        from discreet.risk.informed_values import members_on_engine

        _, after = self.pair
        y = {name: float_values(after[name], name) for name in mine}
        y = {name: values[~np.isnan(values)] for name, values in y.items()}
        distinct = {name: np.unique(values) for name, values in y.items() if len(values)}
        sums = sums_by_value(self.original, self.released, distinct)
        shares = {}
        for name in distinct:
            half = WIDTH * sd(y[name])
            share = members_on_engine(y, distinct, sums, method, mine, name, half)
            if share is not None:
                shares[name] = share
        return KnownMembers(WIDTH, shares)


def _of_lines(found: Mapping[str, Mapping[str, float]]) -> str:
    """Tell of the column in which a line is nearest, by what the released value is off."""
    from discreet.attacks._excess import percent

    name = min(found, key=lambda x: found[x]["error"] / (found[x]["released_error"] or 1.0))
    one = found[name]
    where = f"In '{name}'"
    if len(found) > 1:
        where = f"Of {len(found)} columns, a line helps most in '{name}': there"
    said = (
        f"{where} a line through the values of {one['known']} known people is off by "
        f"{one['error']:.2f} standard deviations for the others, and the released value by "
        f"{one['released_error']:.2f}. Within {WIDTH:g} are {percent(one['attack'])} % of the "
        f"line's guesses, {percent(one['released'])} % of the released values, and "
        f"{percent(one['guess'])} % of the guesses by one value for all."
    )
    nearer = one["error"] < _NEARER * one["released_error"]
    if nearer or one["attack"] > max(one["released"], one["guess"]) + _MORE:
        return (
            f"{said} So the released values hide less than they seem to: judge the step by the "
            "line, and use stronger parameters if it comes too near."
        )
    return f"{said} So the line tells nothing that these do not."


def averaged(step: Step, recipe: Recipe) -> Mapping[str, Any]:
    """Tell what several releases with new draws would give, of normal noise by its distribution."""
    from discreet.attacks._excess import percent

    given = step.parameters()
    if step.method != "noise" or given["kind"] not in _NORMAL or given.get("match_ranks"):
        said = (
            f"Not measured: how fast the draws of {step.method} with these parameters average out "
            "is only seen from several releases (discreet.attacks.averaging)."
        )
        return {"said": said + _same_draws(recipe, step)}
    scales: Sequence[float] = (
        list(given["scale"].values()) if isinstance(given["scale"], Mapping) else [given["scale"]]
    )
    least = min(scales)
    one, several = (_within(least, n) for n in (1, _RELEASES))
    said = (
        f"With a scale of {least:g}, one release is within {WIDTH:g} standard deviations of "
        f"{percent(one)} % of the values, and the mean of {_RELEASES} releases with new draws of "
        f"{percent(several)} %."
    )
    said += _same_draws(recipe, step)
    return {"one": one, "several": several, "releases": _RELEASES, "said": said}


def _same_draws(recipe: Recipe, step: Step) -> str:
    """Say what keeps draws from averaging out."""
    if not step.build().steady:
        return " Release the table once."
    if recipe.project_key is None:
        return " Release the table once, or set a project_key, which repeats the draws."
    return " Releases with this project_key and these parameters have the same draws."


def _within(scale: float, releases: int) -> float:
    """Return the share of normal noise, averaged over releases, within the width.

    Examples
    --------
    >>> round(_within(0.1, 1), 3), round(_within(0.1, 4), 3)
    (0.383, 0.683)
    """
    return math.erf(WIDTH * math.sqrt(releases) / scale / math.sqrt(2))
