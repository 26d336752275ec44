"""Rules about how many share something: k, l, risks, cells of tables, households, suppression."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.findings import NEEDS_INTERNAL, NEEDS_ORIGINAL, counted
from discreet.check.policy.case import Case, Found, listed, percent
from discreet.check.policy.counting import (
    Classes,
    classes,
    needs_people,
    people,
    risk_by_people,
    without_stars,
)
from discreet.recipe.policies import (
    AtRiskRule,
    CellsRule,
    HouseholdsRule,
    KRule,
    LRule,
    OfColumns,
    RiskRule,
    SuppressedRule,
)
from discreet.table.classes import classes_of, encode_columns

# Figures are computed in floating point, and bounds are written in decimals.
_ROUNDING = 1e-12
_PEOPLE = "it is about people in the population"
_NO_MATCHES = "where a blank stands for anything, only records are counted: set counts = 'rows'"


def no_keys(case: Case, rule: OfColumns | None = None) -> Found:
    """Judge a release without columns that a rule is about: none released, or none named.

    A rule about columns of its own is given; one that is about quasi columns anyway need not be.
    """
    if rule is not None and (own := rule.columns) is not None:
        return Found("kept", f"none of the columns of the rule ({listed(own)}) is released")
    if rule is not None and (group := rule.group) is not None:
        return Found("kept", f"no column of the group '{group}' is released")
    if quasi := case.recipe.roles.quasi:
        return Found("kept", f"none of the quasi columns ({listed(quasi)}) is released")
    needs = "say which columns could identify someone together: the role quasi in a recipe"
    return Found("open", "no quasi column is named", None, needs)


def _nothing_told(columns: Sequence[str]) -> Found:
    return Found("kept", f"no record tells anything of {listed(columns)}")


def k(rule: KRule, case: Case) -> Found:
    """Find the smallest class of the quasi columns."""
    columns = case.keys(rule)
    if not columns:
        return no_keys(case, rule)
    own, noun = classes(case, columns), case.shown.noun
    if not own.told.any():
        return _nothing_told(columns)
    sizes = _sizes(own, rule.nulls, case)
    low = own.told & (sizes < rule.least)
    records = int(own.counts[low].sum())
    smallest = int(sizes[own.told].min())
    over = f"over {listed(columns)}"
    if not low.any():
        found = f"the smallest class has {counted(smallest, noun.removesuffix('s'))}, {over}"
        return _in_units(own, found)
    reading = ", a null or star standing for anything" if rule.nulls == "match" else ""
    shared = f"have fewer than {rule.least} {noun}; the smallest has"
    if not own.of_units:
        shared = f"share their values with fewer than {rule.least}; the smallest class has"
    found = f"{own.many(low)} {shared} {smallest}, {over}{reading}"
    if rule.nulls == "match" and case.shown.tells_units:
        return Found("open", found, records, _NO_MATCHES)
    return Found("missed", found, records, larger_classes(case, rule.least, columns))


def _sizes(own: Classes, nulls: str, case: Case) -> np.ndarray:
    """Return how many share each tuple; of matching units at least those that are equal."""
    match = nulls == "match" and not case.shown.tells_units
    return own.matched() if match else own.counts


def _in_units(own: Classes, found: str) -> Found:
    """Leave open whether a class with enough records is of enough units."""
    if own.at_most:
        return Found("open", f"{found}, counting records", None, NEEDS_ORIGINAL)
    return Found("kept", found)


def l_diversity(rule: LRule, case: Case) -> Found:
    """Find the class with the fewest values of each confidential column."""
    columns = case.columns(rule, "confidential")
    columns = case.confidential if columns is None else columns
    keys = [name for name in case.quasi if name not in columns]
    if set(columns) & set(case.recipe.apart):
        needs = "the values are in a table of their own: see what the recipe promises of its groups"
        return Found("open", f"values of {listed(columns)} by class", None, needs)
    if not columns and case.recipe.roles.confidential:
        return Found("kept", "no confidential column is released")
    if not columns:
        needs = "say which columns nobody should learn: the role confidential in a recipe"
        return Found("open", "no confidential column is named", None, needs)
    if not keys and not case.recipe.roles.quasi:
        return no_keys(case)
    poorest, bad, where = math.inf, 0, columns[0]
    for name in columns:
        least, records = _fewest(case, keys, name, rule.least)
        if (records, -least) > (bad, -poorest):
            poorest, bad, where = least, records, name
    if math.isinf(poorest):
        return _nothing_told(keys)
    if not bad:
        return Found("kept", f"the poorest class has {poorest:g} values of '{where}'")
    found = (
        f"{bad:,} of {case.shown.num_rows:,} records are in classes with fewer than {rule.least} "
        f"values of '{where}'; the poorest has {poorest:g}"
    )
    remedy = (
        f"add l-diversity with l = {rule.least} and column = '{where}' to the privacy models of "
        f"{step_of(case, keys) or 'a step generalize'}"
    )
    return Found("missed", found, bad, remedy)


def _fewest(case: Case, keys: Sequence[str], name: str, least: int) -> tuple[float, int]:
    """Return the fewest values in a class, and the records in classes with too few."""
    table, counts = case.shown.records.over([*keys, name])
    table = pa.table({one: without_stars(table[one]) for one in table.column_names})
    ids, n = np.zeros(len(counts), np.int64), 1
    if keys:
        codes, sizes = encode_columns(table, keys)
        told = (codes >= 0).any(axis=0)
        table, counts, codes = table.filter(pa.array(told)), counts[told], codes[:, told]
        if not len(counts):
            return math.inf, 0
        ids, n = classes_of(codes, sizes)
    values = encode_columns(table, [name])[0][0]
    pairs = np.unique(np.stack([ids, values])[:, values >= 0], axis=1)
    held = np.bincount(pairs[0], minlength=n)
    return float(held.min()), int(np.bincount(ids, counts, minlength=n)[held < least].sum())


# Risks


def risk(rule: RiskRule, case: Case) -> Found:
    """Find the largest or the average risk of a record."""
    largest = rule.rule == "largest-risk"

    def judge(own: Classes, risks: np.ndarray, how: str) -> Found:
        records = int(own.counts.sum())
        figure = risks.max(initial=0.0) if largest else (risks * own.counts).sum() / max(records, 1)
        kept = figure <= rule.most + _ROUNDING
        above = risks > rule.most + _ROUNDING
        over = int(own.counts[above].sum())
        found = (
            f"{rule.rule.replace('-', ' ')} {percent(figure)}{how}; the rule allows "
            f"{percent(rule.most)}"
        )
        if not kept:
            found += f"; {own.many(above)} are above it"
        least = math.ceil(1 / rule.most - _ROUNDING) if rule.most else math.inf
        remedy = "" if kept else larger_classes(case, least, case.keys(rule), not largest)
        return Found("kept", found) if kept else Found("missed", found, over, remedy)

    return _by_risk(rule, case, judge)


def at_risk(rule: AtRiskRule, case: Case) -> Found:
    """Find the share of records with a risk above a bound."""

    def judge(own: Classes, risks: np.ndarray, how: str) -> Found:
        records = int(own.counts.sum())
        over = int(own.counts[risks > rule.over + _ROUNDING].sum())
        kept = over <= rule.most * records + _ROUNDING
        share = percent(over / max(records, 1))
        noun = "units, each counted once in a class," if own.of_units else "records"
        found = (
            f"{over:,} of {records:,} {noun} ({share}) have a risk above "
            f"{percent(rule.over)}{how}; the rule allows {percent(rule.most)}"
        )
        least = math.ceil(1 / rule.over - _ROUNDING) if rule.over else math.inf
        remedy = "" if kept else larger_classes(case, least, case.keys(rule))
        return Found("kept" if kept else "missed", found, over, remedy)

    return _by_risk(rule, case, judge)


def _by_risk(
    rule: RiskRule | AtRiskRule,
    case: Case,
    judge: Callable[[Classes, np.ndarray, str], Found],
) -> Found:
    """Judge the risks of records: among those of a class, or the people whom it stands for."""
    columns = case.keys(rule)
    if not columns:
        return no_keys(case, rule)
    if rule.counted == "population":
        known = people(case, columns)
        if known is not None:
            own, numbers, how = known
            risks = risk_by_people(own, numbers, "weights" in how)
            return judge(own, np.where(own.told, risks, 0.0), f" {how}")
    own = classes(case, columns)
    sizes, noun = _sizes(own, rule.nulls, case), case.shown.noun
    found = judge(own, np.where(own.told, 1 / np.maximum(sizes, 1), 0.0), f" among the {noun}")
    if rule.nulls == "match" and case.shown.tells_units and found.status == "missed":
        return Found("open", found.found, found.records, _NO_MATCHES)
    if own.at_most and found.status == "kept":
        return Found("open", f"{found.found}, not {case.recipe.counted_as}", None, NEEDS_ORIGINAL)
    if rule.counted == "population" and found.status == "missed":
        # In the population there are more of each, so that what holds of the sample holds of it.
        return Found("open", found.found, found.records, f"{_PEOPLE}: {needs_people(case)}")
    return found


def larger_classes(case: Case, least: float, columns: Sequence[str], average: bool = False) -> str:
    """Say how to make classes larger."""
    if not math.isfinite(least):
        return "release no quasi columns, or synthetic ones"
    step = step_of(case, columns)
    reach = f"k = {least}, or as much as it takes," if average else f"k = {least}"
    if step is None:
        return f"add a step generalize or local-suppression with {reach} over {listed(columns)}"
    return f"set {reach} in {step}"


def step_of(case: Case, columns: Sequence[str]) -> str | None:
    """Name the step that makes classes of some columns, if there is one."""
    for number, step in enumerate(case.recipe.steps, start=1):
        given = step.parameters()
        if set(columns) <= set(step.columns) and {"k", "privacy"} & given.keys():
            return f"step {number} ({step.method})"
    return None


# Tables


def cells(rule: CellsRule, case: Case) -> Found:
    """Find the smallest cell of the tables of the quasi columns."""
    columns = case.keys(rule)
    tables, known = _tables(rule, case, columns)
    used = list(dict.fromkeys(one for table in tables for one in table))
    if not columns and rule.groups is None:
        return no_keys(case, rule)
    if not tables:
        return Found("kept", f"there is no table of {counted(rule.ways, 'quasi column')}")
    by_people = people(case, used) if rule.counted == "population" else None
    if by_people is not None:
        own, numbers, how = by_people
        noun, what = "people", f" {how}"
    else:
        own, noun, what = classes(case, used), case.shown.noun, ""
        numbers, how = own.counts, ""
    if "table" in how or (by_people is None and case.shown.tells_units):
        # One is in several rows, or known of all columns together only as a bound.
        found = _worst([_smallest_of(case, rule, table, "table" in how) for table in tables])
    else:
        found = _smallest(own, numbers, tables, used, rule.least)
    enough = rule.counted == "records" or by_people is not None
    judged = _cells_found(rule, case, tables, found, noun, what, known, enough)
    if own.at_most and judged.status == "kept":
        return Found("open", f"{judged.found}, not {case.recipe.counted_as}", None, NEEDS_ORIGINAL)
    return judged


_Smallest = tuple[float, tuple[str, ...], int, int]


def _smallest_of(
    case: Case, rule: CellsRule, table: tuple[str, ...], by_population: bool
) -> _Smallest:
    """Find the smallest cell of one table, counted by itself."""
    known = people(case, table) if by_population else None
    own = classes(case, table) if known is None else known[0]
    numbers = own.counts if known is None else known[1]
    whole = (own.codes >= 0).all(axis=0)
    low = whole & (numbers < rule.least)
    smallest = float(min(numbers[whole], default=np.inf))
    return smallest, table, int(low.sum()), int(own.counts[low].sum())


def _smallest(
    own: Classes,
    numbers: np.ndarray,
    tables: Sequence[tuple[str, ...]],
    used: Sequence[str],
    least: int,
) -> _Smallest:
    """Find the smallest cell, its table, how many are too small, and the most records in these."""
    found: list[_Smallest] = []
    for table in tables:
        cell, sums = own.over([used.index(name) for name in table], numbers)
        low = sums < least
        there = cell >= 0
        records = own.counts[there][low[cell[there]]].sum()
        found.append((float(sums.min(initial=np.inf)), table, int(low.sum()), int(records)))
    return _worst(found)


def _worst(found: Sequence[_Smallest]) -> _Smallest:
    smallest, table, _, _ = min(found, key=lambda one: one[0])
    return smallest, table, sum(one[2] for one in found), max(one[3] for one in found)


def _cells_found(
    rule: CellsRule,
    case: Case,
    tables: Sequence[tuple[str, ...]],
    smallest: _Smallest,
    noun: str,
    how: str,
    known: bool,
    enough: bool,
) -> Found:
    size, table, small, records = smallest
    if not np.isfinite(size):
        return Found("kept", "no cell holds anybody")
    where = f"the smallest, of {' x '.join(table)}, has {size:,.6g} {noun}{how}"
    of = f"{counted(len(tables), 'table')} of {counted(rule.ways, 'column')}"
    if not small:
        return Found("kept", f"{where}, in {of}")
    found = (
        f"{counted(small, 'cell')} of {of} {'has' if small == 1 else 'have'} fewer than "
        f"{rule.least:,} {noun}, in one table up to {records:,} records; {where}"
    )
    if not enough:
        return Found("open", found, records, f"{_PEOPLE}: {needs_people(case)}")
    if not known:
        names = listed([f"'{name}'" for name in rule.groups or ()])
        needs = f"say which columns are in the groups {names}, with --group or in the recipe"
        return Found("open", found, records, needs)
    remedy = f"recode {' or '.join(table)} to fewer values, or suppress the rare ones"
    return Found("missed", found, records, remedy)


def _tables(
    rule: CellsRule, case: Case, columns: Sequence[str]
) -> tuple[list[tuple[str, ...]], bool]:
    """Return the tables that a rule is about, and whether these are all that are meant.

    Where nobody has said which columns are in its groups, all tables that there are: what holds of
    them holds of some.
    """
    if rule.groups is None:
        return list(combinations(columns, rule.ways)), True
    groups = [case.group(name) for name in rule.groups]
    if any(group is None for group in groups):
        return list(combinations(columns, rule.ways)), False
    chosen = {tuple(sorted(set(one), key=case.names.index)) for one in product(*_given(groups))}
    return sorted(table for table in chosen if len(table) == rule.ways), True


def _given(groups: Sequence[list[str] | None]) -> Iterator[list[str]]:
    return (group for group in groups if group is not None)


# Households


def households(rule: HouseholdsRule, case: Case) -> Found:
    """Find the rarest combination of what is the same for a whole household."""
    roles = case.recipe.roles
    home = roles.household
    named = case.columns(rule, "household")
    columns = named or [name for name in roles.household_level if name in case.names]
    if case.unknown:
        return Found("open", "no column has a role", None, "say which has the role household")
    if home is None:
        return Found("kept", "the recipe names no column of households")
    if home not in case.names:
        return Found("kept", "household numbers are not released, so that nobody sees households")
    if not columns:
        columns = _levels(case, home)
    if not columns:
        return Found("kept", f"no column is the same for all members of a '{home}'")
    table, numbers = case.shown.frame.counts(columns, by_value=True, of=home)
    table = pa.table({name: without_stars(table[name]) for name in columns})
    told = (encode_columns(table, columns)[0] >= 0).any(axis=0)
    numbers = numbers[told & (numbers > 0)]
    if not len(numbers):
        return _nothing_told(columns)
    few, smallest = int(numbers[numbers < rule.least].sum()), int(numbers.min())
    over = f"over {listed(columns)}"
    if not few:
        return Found("kept", f"the rarest combination has {counted(smallest, 'household')}, {over}")
    found = (
        f"{counted(few, 'household')} share theirs with fewer than {rule.least}; the rarest has "
        f"{smallest}, {over}"
    )
    remedy = f"recode {' or '.join(columns[:3])}, or set release_household = false"
    return Found("missed", found, few, remedy)


def _levels(case: Case, home: str) -> list[str]:
    """Return the quasi columns that are constant within all households."""
    homes = case.shown.frame.counts([home])[0].num_rows
    return [
        name
        for name in case.quasi
        if name != home and case.shown.frame.counts([home, name])[0].num_rows == homes
    ]


# Suppression


def suppressed(rule: SuppressedRule, case: Case) -> Found:
    """Find the share of the cells that are suppressed."""
    columns = case.keys(rule)
    if not columns:
        return no_keys(case, rule)
    blank, evidence = {name: _blank(case, name) for name in columns}, case.evidence
    rows = case.shown.frame.num_rows
    if evidence is not None:
        before = evidence.log["nulls"].get("cells", {})
        gone = max(evidence.log["input"]["rows"] - rows, 0)
        blank = {name: max(n + gone - before.get(name, 0), 0) for name, n in blank.items()}
        rows += gone
    total, share = sum(blank.values()), sum(blank.values()) / max(rows * len(columns), 1)
    most = max(blank, key=lambda name: blank[name])
    found = f"{total:,} of {rows * len(columns):,} cells ({percent(share)}) are suppressed"
    found += f", most in '{most}' ({blank[most]:,})" if total else ""
    found += f"; the rule allows {percent(rule.most)}"
    if evidence is None:
        said = found.replace("suppressed", "null or a star")
        said += "; records that were left out are not among them"
        why = "to tell which were null before and which records were left out"
        return Found("open", said, None, f"{NEEDS_INTERNAL}, {why}")
    if share <= rule.most + _ROUNDING:
        return Found("kept", found)
    remedy = f"recode '{most}' more coarsely before cells are suppressed, or ask for a smaller k"
    return Found("missed", found, blank[most], remedy)


def _blank(case: Case, name: str) -> int:
    """Count the cells of a column that are null or a star."""
    values, counts = case.shown.frame.counts([name])
    return int(counts[pc.is_null(without_stars(values[name])).to_numpy()].sum())
