"""What released dates, ages and areas still tell: to the year, above an age, of how many people."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.findings import counted
from discreet.check.policy.case import Case, Found, listed, quoted
from discreet.check.policy.counting import as_text, needs_people, weighed, without_stars
from discreet.check.policy.kinds import called, is_date, opaque, present
from discreet.check.policy.periods import FINER, ends, fineness, of_numbers
from discreet.check.policy.vocabulary import AGES, AREAS, BIRTHS, POSTCODES
from discreet.recipe.policies import AgesRule, AreasRule, DatesRule
from discreet.table import kind_of

# Dates


def dates(rule: DatesRule, case: Case) -> Found:
    """Find columns of dates that are finer than they may be."""
    named = case.columns(rule, "dates")
    columns = [n for n in case.names if is_date(case, n)] if named is None else named
    if not columns and named is None and (hidden := opaque(case)):
        needs = f"say what {quoted(hidden)} hold: rename them, or --group dates=COLUMN"
        return Found("open", "no column is called a date, or looks like one", None, needs)
    if not columns:
        return Found("kept", "no column of dates is released")
    too_fine, unclear, worst = {}, [], "year"
    for name in columns:
        found = _finest(case, name)
        if found is None:
            unclear.append(name)
        elif FINER.index(found) > FINER.index(rule.finest):
            too_fine[name] = found
        worst = max(worst, found or "year", key=FINER.index)
    if too_fine:
        records = max(present(case, name) for name in too_fine)
        said = listed([f"'{name}' to the {finest}" for name, finest in too_fine.items()])
        found = f"{said}, in {counted(records, 'record')}; the finest may be the {rule.finest}"
        names = listed([f"'{name}'" for name in too_fine])
        remedy = f"generalize {names} to {rule.finest}s: hierarchies of kind 'dates'"
        return Found("missed", found, records, remedy)
    if unclear:
        names = listed([f"'{name}'" for name in unclear])
        needs = f"look at {names}: write periods as 2019, 2019-Q2, 2019-07 or 2019-07-14"
        return Found("open", f"{names} cannot be read as dates", None, needs)
    return Found("kept", f"{listed(columns)}: to the {worst}, which may be the {rule.finest}")


def _finest(case: Case, name: str) -> str | None:
    """Return the finest period that a column tells."""
    values = without_stars(case.shown.frame.counts([name])[0][name]).drop_null()
    kind = values.type
    if not len(values):
        return "year"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _of_days(values)
    if kind_of(kind) == "numeric":
        numbers = values.cast(pa.float64(), safe=False).to_numpy()
        return of_numbers(numbers)
    found = [fineness(str(text)) for text in values.cast(pa.string()).to_pylist()]
    if None in found:
        return None
    return max((one for one in found if one is not None), key=FINER.index)


def _of_days(values: pa.ChunkedArray) -> str:
    """Return the period whose first days all dates are."""
    exact = values.cast(pa.timestamp("us"), safe=False).combine_chunks().cast(pa.int64())
    stamps = exact.to_numpy().astype("M8[us]")
    days = stamps.astype("M8[D]")
    if (days != stamps).any():
        return "day"
    months = days.astype("M8[M]")
    if (days == months).all():
        number = months.astype(np.int64) % 12
        if (number == 0).all():
            return "year"
        return "quarter" if (number % 3 == 0).all() else "month"
    # 1970-01-01 was a Thursday.
    return "week" if len({*((days.astype(np.int64) + 3) % 7).tolist()}) == 1 else "day"


# Ages


def ages(rule: AgesRule, case: Case) -> Found:
    """Find ages, and years of birth, that tell the oldest apart."""
    named = case.columns(rule, "ages")
    columns = _called(case, AGES) if named is None else named
    births = _called(case, BIRTHS) if named is None else []
    births = [name for name in births if name not in columns and is_date(case, name)]
    bad, unclear, records, checked = [], [], 0, []
    for name in columns:
        found = _oldest(case, name, rule.together_from)
        if found is None:
            unclear.append(f"'{name}' cannot be read as ages")
            continue
        labels, many = found
        checked.append(f"'{name}' has {counted(len(labels), 'such value')}")
        if len(labels) > 1 or (labels and _tells_more(labels[0], rule.together_from)):
            bad.append(f"'{name}' tells {listed(labels, 4)} apart")
            records = max(records, many)
    for name in births:
        said = _born(case, name, rule.together_from)
        if said is None:
            continue
        problem, many = said
        (bad if many else unclear).append(problem)
        records = max(records, many)
    if bad:
        found_ = (
            f"{'; '.join(bad[:3])}, in {counted(records, 'record')} that may be of "
            f"{rule.together_from} or over"
        )
        where = listed([*columns, *births])
        remedy = f"top-code {where} at {rule.together_from}: a step top-bottom, or one interval"
        return Found("missed", found_, records, remedy)
    if unclear:
        needs = "write ages as 42, 40-44, [40, 45) or >=90, and give --collected for births"
        return Found("open", "; ".join(unclear[:3]), None, needs)
    if not columns and not births and named is None and (hidden := opaque(case)):
        needs = f"say what {quoted(hidden)} hold: rename them, or --group ages=COLUMN"
        return Found("open", "no column is called an age", None, needs)
    return Found("kept", "; ".join(checked) or "no released column is called an age or a birth")


def _called(case: Case, vocabulary: frozenset[str]) -> list[str]:
    return [name for name in case.names if vocabulary & set(called(case, name))]


def _oldest(case: Case, name: str, age: int) -> tuple[list[str], int] | None:
    """Return the released values that reach an age, and how many records have them."""
    table, counts = case.shown.frame.counts([name], by_value=True)
    texts = as_text(table[name]).to_pylist()
    labels, records = [], 0
    for text, count in zip(texts, counts.tolist(), strict=True):
        if text is None:
            continue
        span = ends(text)
        if span is None:
            return None
        if span[1] >= age:
            labels.append(text)
            records += count
    return labels, records


def _tells_more(label: str, age: int) -> bool:
    """Tell whether the one value from an age on says more than that: a greater age, or an end."""
    span = ends(label)
    assert span is not None
    return span[0] > age or (span[0] == age and age < span[1] < math.inf)


def _born(case: Case, name: str, age: int) -> tuple[str, int] | None:
    """Say what is wrong with years of birth, and of how many records; None where nothing is."""
    day = case.against.last_day
    if day is None:
        return f"'{name}' tells the age, by the day that the data are about", 0
    table, counts = case.shown.frame.counts([name], by_value=True)
    old, records = set(), 0
    for text, count in zip(as_text(table[name]).to_pylist(), counts.tolist(), strict=True):
        year = None if text is None else re.search(r"\d{4}", text)
        if text is None:
            continue
        if year is None:
            return f"'{name}' cannot be read as births", 0
        if day.year - int(year[0]) >= age:
            old.add(text)
            records += count
    # One year is of all who were born until then, unless it is an earlier one.
    early = any(re.fullmatch(r"\d{4}", one) and day.year - int(one) > age for one in old)
    if len(old) > 1 or early:
        return f"'{name}' tells {listed(sorted(old), 4)} apart", records
    return None


# Areas


def areas(rule: AreasRule, case: Case) -> Found:
    """Find areas with too few people."""
    named = case.columns(rule, "areas")
    columns = named if named is not None else _areas(case, POSTCODES if rule.digits else AREAS)
    if not columns:
        if named is None and (hidden := opaque(case)):
            needs = f"say what {quoted(hidden)} hold: rename them, or --group areas=COLUMN"
            return Found("open", "no column is called like an area", None, needs)
        return Found("kept", "no released column is called like an area")
    found = [_area(rule, case, name) for name in columns]
    for status in ("missed", "open"):
        some = [one for one in found if one.status == status]
        if some:
            records = max((one.records or 0 for one in some), default=0) or None
            said = "; ".join(one.found for one in some)
            return Found(some[0].status, said, records, some[0].remedy)
    return Found("kept", "; ".join(one.found for one in found))


def _areas(case: Case, vocabulary: frozenset[str]) -> list[str]:
    """Return the columns that are called like areas, and do not measure one."""
    looks = case.looks
    return [
        n for n in _called(case, vocabulary) if n not in looks or looks[n].text or looks[n].whole
    ]


def _area(rule: AreasRule, case: Case, name: str) -> Found:
    table, counts = case.shown.records.over([name])
    codes = [_code(text, rule) for text in as_text(table[name]).to_pylist()]
    if rule.digits is not None:
        long = [bool(code) and len(code or "") > rule.digits for code in codes]
        records = int(counts[long].sum())
        if records:
            said = f"'{name}' has more than {rule.digits} digits in {counted(records, 'record')}"
            remedy = f"cut '{name}' to {rule.digits} digits: hierarchies of kind 'prefix'"
            return Found("missed", said, records, remedy)
    shown = [code is not None and code != rule.otherwise for code in codes]
    if not any(shown):
        return Found("kept", f"'{name}' shows no area")
    known = _inhabitants(rule, case, name, codes)
    if known is None:
        fewest = f"'{name}' has {counted(sum(shown), 'area')}"
        return Found("open", fewest, None, f"how many people live in each? {needs_people(case)}")
    people, how = known
    unknown = [code for code, n, there in zip(codes, people, shown, strict=True) if there and n < 0]
    low = np.array([there and 0 <= n < rule.least for n, there in zip(people, shown, strict=True)])
    few = [f"'{code}'" for code, bad in zip(codes, low, strict=True) if bad]
    if few:
        records = int(counts[low].sum())
        found = (
            f"{counted(len(few), 'area')} of '{name}' ({listed(few, 3)}) with fewer than "
            f"{rule.least:,} people{how}, in {counted(records, 'record')}"
        )
        instead = f"'{rule.otherwise}'" if rule.otherwise else "a larger area"
        return Found("missed", found, records, f"release {instead} in place of {listed(few, 3)}")
    if unknown:
        needs = f"put {listed([f'{code}' for code in unknown], 3)} into the population table"
        return Found("open", f"{counted(len(unknown), 'area')} of '{name}' unknown", None, needs)
    least = min(n for n, there in zip(people, shown, strict=True) if there)
    return Found("kept", f"the smallest area of '{name}' has {least:,.0f} people{how}")


def _code(text: str | None, rule: AreasRule) -> str | None:
    """Return what a cell shows of an area's code; leading zeros come back, masks go."""
    if text is None:
        return None
    code = text.rstrip("*xX" if rule.digits else "*").strip()
    if not code:
        return None
    return code.zfill(rule.digits) if rule.digits and code.isdigit() else code


def _inhabitants(
    rule: AreasRule, case: Case, name: str, codes: Sequence[str | None]
) -> tuple[list[float], str] | None:
    """Return how many people live in each area, -1 where nobody says, and how that is known."""
    if case.population is not None:
        table, numbers = case.population
        column = name if name in table.column_names else table.column_names[0]
        if column == name or table.num_columns == 1:
            people: dict[Any, float] = {}
            texts = as_text(table[column]).to_pylist()
            # Codes that were read as numbers have lost their leading zeros.
            width = max((len(text) for text in texts if text and text.isdigit()), default=0)
            for text, number in zip(texts, numbers, strict=True):
                full = text.zfill(width) if rule.digits and text and text.isdigit() else text
                code = _code(full, rule)
                code = code[: rule.digits] if code and rule.digits else code
                people[code] = people.get(code, 0) + int(number)
            return [people.get(code, -1) for code in codes], " by the population table"
    found = None if rule.digits else weighed(case, [name])
    if found is None and set(codes) & set(rule.few):
        return [0.0 if code in rule.few else -1.0 for code in codes], " by the rule's own list"
    if found is None:
        return None
    assert found.weights is not None
    known = dict(zip(as_text(found.table[name]).to_pylist(), found.weights.tolist(), strict=True))
    return [known.get(code, -1) for code in codes], " by sampling weights"
