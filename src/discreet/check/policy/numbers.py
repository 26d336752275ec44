"""Rules about the numbers of a table of results: rounded, hidden, and nobody's alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from discreet.check.findings import counted
from discreet.check.policy.case import Case, Found, listed, naming, percent
from discreet.check.policy.counting import as_text, without_stars
from discreet.check.policy.periods import ends
from discreet.check.policy.sizes import no_keys
from discreet.recipe.policies import DominanceRule, HiddenRule, OfColumns, RoundingRule
from discreet.recipe.recipe import Step
from discreet.table import float_values, kind_of
from discreet.table.classes import classes_of, encode_columns, first_rows, renumber

_ROUNDING = 1e-9


def rounding(rule: RoundingRule, case: Case) -> Found:
    """Find numbers that are not admissible after rounding."""

    def wrong(number: float) -> bool:
        if rule.hidden_below is not None and number < rule.hidden_below:
            return not (rule.zeros and number == 0)
        return not is_rounded(number, rule)

    said = "is not rounded as the rule asks"
    remedy = "round it: a step round-counts"
    below = (1, rule.hidden_below or 0)
    return _numbers(rule, case, wrong, said, remedy, below, rule.hidden_as)


def is_rounded(number: float, rule: RoundingRule) -> bool:
    """Tell whether a number is a multiple of its band's base, or has few digits beyond.

    Examples
    --------
    >>> from datetime import date
    >>> bands = [{"up_to": 99, "to": 10}, {"up_to": 999, "to": 50}]
    >>> rule = RoundingRule(rule="rounding", says="", source="", bands=bands, digits=4)
    >>> [is_rounded(n, rule) for n in (20, 25, 150, 160, 12340, 12345)]
    [True, False, True, False, True, False]
    """
    size = abs(number)
    base = next((band.to for band in rule.bands if size <= band.up_to), None)
    if base is None and rule.digits is not None and size > 0:
        base = 10.0 ** (math.floor(math.log10(size)) + 1 - rule.digits)
    if base is None or size == 0:
        return True
    return abs(size / base - round(size / base)) < _ROUNDING * max(1.0, size / base)


def hidden(rule: HiddenRule, case: Case) -> Found:
    """Find small counts that are shown."""

    def wrong(number: float) -> bool:
        return rule.low <= number <= rule.high

    said = f"is one of {rule.low} to {rule.high}"
    remedy = "hide it, and one more cell of its row and column so that totals do not give it away"
    return _numbers(rule, case, wrong, said, remedy, (rule.low, rule.high + 1))


def _numbers(
    rule: OfColumns,
    case: Case,
    wrong: Callable[[float], bool],
    said: str,
    remedy: str,
    hidden: tuple[float, float],
    hidden_as: str | None = None,
) -> Found:
    """Judge each number of the columns of counts; of those hidden, also bounds that tell more."""
    columns = case.columns(rule, "counts")
    if columns is None:
        columns = _rounded(case, rule.group or "counts")
        if not columns:
            needs = naming(rule.group or "counts")
            return Found("open", "nobody has said which columns are meant", None, needs)
    if not columns:
        return Found("kept", "no such column is released")
    bad, cells, first, total = [], 0, "", 0
    for name in columns:
        table, counts = case.shown.frame.counts([name], by_value=True)
        texts = as_text(table[name]).to_pylist()
        for text, count in zip(texts, counts.tolist(), strict=True):
            total += count
            if text is None or text.strip() == hidden_as:
                continue
            number = _number(text)
            if number is None and re.fullmatch(r"[<>≤≥]\s*=?\s*[\d.,]+|\[.*[\])]", text.strip()):
                span = ends(text)
                if span is None or not hidden[0] <= span[1] < hidden[1] - 1:
                    continue  # A bound or an interval shows no number.
            if number is None or wrong(number):
                bad += [name] if name not in bad else []
                cells += count
                first = first or f"{text} in '{name}'"
    if not cells:
        return Found(
            "kept", f"all {counted(total, 'cell')} of {listed(columns)} are as the rule asks"
        )
    found = f"{cells:,} of {counted(total, 'cell')} of {listed(bad)}: {first} {said}"
    return Found("missed", found, cells, remedy)


def _rounded(case: Case, group: str) -> list[str]:
    """Return the columns that steps round as counts, or as estimates."""
    if group not in ("counts", "estimates"):
        return []
    return [
        name
        for step in case.recipe.steps
        if step.method == "round-counts"
        for name in step.columns
        if name in case.names and _rounds_estimates(step, name) == (group == "estimates")
    ]


def _rounds_estimates(step: Step, name: str) -> bool:
    rule = step.parameters()["rule"]
    return str(rule if isinstance(rule, str) else rule[name]).endswith("estimates")


def _number(text: str) -> float | None:
    try:
        found = float(text.replace(",", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


# Sums


def dominance(rule: DominanceRule, case: Case) -> Found:
    """Find cells of tables of sums in which few contributors have most."""
    columns = case.columns(rule, "amounts")
    if columns is None:
        schema = case.shown.frame.schema
        numeric = [one for one in case.confidential if kind_of(schema.field(one).type) == "numeric"]
        columns = numeric
    keys = [name for name in case.quasi if name not in columns]
    if not columns:
        needs = naming(rule.group or "amounts")
        return Found("open", "nobody has said which columns are meant", None, needs)
    if not keys and not case.recipe.roles.quasi:
        return no_keys(case)
    found = [(name, *_dominated(rule, case, keys, name)) for name in columns]
    bad = [one for one in found if one[1]]
    over = f"over {listed(keys)}" if keys else "over all records"
    asked = _asked(rule)
    if not bad:
        cells = sum(one[2] for one in found)
        return Found(
            "kept", f"{asked} holds in {counted(cells, 'cell')} of {listed(columns)}, {over}"
        )
    name, few, cells, records = max(bad, key=lambda one: one[1])
    said = f"{asked} is missed in {few:,} of {counted(cells, 'cell')} of '{name}', {over}"
    remedy = "publish no sums of these cells, or recode the columns so that cells grow"
    return Found("missed", f"{said}, with {counted(records, 'record')}", records, remedy)


def _asked(rule: DominanceRule) -> str:
    if rule.within is not None:
        return f"the {percent(rule.within)} rule"
    assert rule.most is not None
    return f"the ({rule.largest}, {percent(rule.most)}) rule"


def _dominated(rule: DominanceRule, case: Case, keys: list[str], name: str) -> tuple[int, int, int]:
    """Count the cells that are dominated, all cells, and the records in the former."""
    table, counts = case.shown.records.over([*keys, name])
    table = pa.table({one: without_stars(table[one]) for one in table.column_names})
    values = np.abs(float_values(table[name], name))
    there = ~np.isnan(values) & (values > 0)
    if not there.any():
        return 0, 0, 0
    ids = np.zeros(len(values), np.int64)
    if keys:
        ids, _ = classes_of(*encode_columns(table, keys))
    ids, n = renumber(ids[there], int(ids.max()) + 1)
    bad, number = is_dominated(rule, ids, values[there], counts[there], n)
    return int(bad.sum()), n, int(number[bad].sum())


def is_dominated(
    rule: DominanceRule, ids: np.ndarray, values: np.ndarray, counts: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Tell which cells are dominated, and count the records of each.

    Given the cell of each distinct contribution, 0, 1, ... below n, and how many records make it.

    Examples
    --------
    >>> rule = DominanceRule(rule="dominance", says="", source="", largest=2, most=0.9)
    >>> cells, pay = np.array([0, 0, 0, 1, 1]), np.array([50.0, 41.0, 9.0, 45.0, 5.0])
    >>> is_dominated(rule, cells, pay, np.array([1, 1, 1, 2, 2]), 2)[0].tolist()
    [True, False]
    """
    order = np.lexsort((-values, ids))
    ids, values, counts = ids[order], values[order], counts[order]
    first = first_rows(ids, n)
    before = np.cumsum(counts) - counts
    before -= before[first][ids]
    most = rule.largest or 2
    # Of equal contributions only some are among the largest.
    taken = np.minimum(before + counts, most) - np.minimum(before, most)
    total = np.bincount(ids, values * counts, minlength=n)
    largest = np.bincount(ids, values * taken, minlength=n)
    number = np.bincount(ids, counts, minlength=n)
    if rule.within is not None:
        return total - largest < rule.within * values[first] * (1 - _ROUNDING), number
    assert rule.most is not None
    return largest > rule.most * total * (1 + _ROUNDING), number
