"""What a column probably is, each time with the reason: a guess that a person confirms."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.inspection import words
from discreet.inspection.encoded import Encoded
from discreet.inspection.patterns import PATTERNS
from discreet.table.columns import float_values

# Values that are looked at for a pattern, and the share that must have it.
_LOOKED_AT = 2000
_MOST = 0.9
_LONG_TEXT = 60


@dataclass(frozen=True)
class Guess:
    """A guess at a column's role.

    Attributes
    ----------
    role : str
        identifiers, quasi, confidential, insensitive, household, weight or drop.
    reason : str
    sure : bool
        False where a person should be asked.
    exposure : float
        How widely a quasi-identifier is known: 1 for what registers and social networks show, 0.8
        for what neighbours and colleagues know, 0.5 for the rest.
    """

    role: str
    reason: str
    sure: bool = True
    exposure: float = 0.5


def guess_role(column: Encoded) -> Guess:
    """Guess the role of a column by its values, and by its name."""
    present = int(column.counts.sum())
    if present == 0:
        return Guess("drop", "it holds nulls only")
    if len(column.values) == 1 and column.nulls == 0:
        return Guess("insensitive", "all records hold the same value")
    name = words.parts_of(column.name) + words.parts_of(column.labels.label or "")
    found = (
        _by_pattern(column)
        or _by_use(column, name)
        or _by_name(column, name)
        or _by_uniqueness(column, name)
    )
    return found or _by_values(column, name)


def _by_pattern(column: Encoded) -> Guess | None:
    texts = _texts(column)
    if not texts or dates_as_text(column):
        return None
    for what, test in PATTERNS.items():
        share = _share(texts, test)
        if share >= _MOST:
            return Guess("identifiers", f"{share:.0%} of its values look like {what}")
    return None


def _by_use(column: Encoded, name: list[str]) -> Guess | None:
    """Find sampling weights and numbers of households."""
    if _has(name, words.WEIGHTS) and column.kind == "numeric" and len(column.values) > 10:
        return Guess("weight", "its name says that it is a sampling weight", sure=False)
    per_value = column.counts.mean()
    many = len(column.values) > len(column.codes) / 50
    if _has(name, words.HOUSEHOLDS) and _has(name, words.NUMBERS) and many and per_value < 20:
        reason = f"its name says so, and a value has {per_value:.1f} records on average"
        return Guess("household", reason)
    return None


def _by_name(column: Encoded, name: list[str]) -> Guess | None:
    many = len(column.values) > 20 or column.unique > len(column.codes) / 2
    if _names_persons(column, name) and many:
        share = _share(_texts(column), words.PERSON.fullmatch)
        like = f", and {share:.0%} of its values look like names" if share > 0.5 else ""
        return Guess("identifiers", f"its name says that it names persons{like}")
    if _has(name, words.CONTACTS) and many:
        return Guess("identifiers", "its name says that it leads to a person")
    if _has(name, words.CONFIDENTIAL) or "".join(name) in words.CONFIDENTIAL:
        return Guess("confidential", "its name says that nobody should learn it")
    for listed, exposure in ((words.OPEN, 1.0), (words.KNOWN, 0.8)):
        if _has(name, listed) or "".join(name) in listed:
            who = "registers and networks show it" if exposure == 1 else "acquaintances know it"
            return Guess("quasi", f"{who}, as its name says", exposure=exposure)
    return None


def _names_persons(column: Encoded, name: list[str]) -> bool:
    """Tell a name of persons from the name of something else, as in `country_name`."""
    if column.kind != "text" or not (_has(name, words.NAMES) or "".join(name) in words.NAMES):
        return False
    other = _has(name, words.OPEN | words.KNOWN | words.CONFIDENTIAL)
    return not other or column.unique > len(column.codes) / 2


def _by_uniqueness(column: Encoded, name: list[str]) -> Guess | None:
    present = int(column.counts.sum())
    if present < 20 or column.unique < 0.95 * present:
        return None
    said = f"{column.unique / present:.0%} of its records have a value of their own"
    if column.kind in ("text", "categorical", "ordered"):
        lengths = pc.mean(pc.utf8_length(column.values.cast(pa.string()))).as_py()
        if lengths > _LONG_TEXT:
            return Guess("identifiers", f"free text, which may name anyone; {said}")
        return Guess("identifiers", said)
    if pa.types.is_integer(column.values.type):
        ends = pc.min_max(column.values).as_py()
        dense = ends["max"] - ends["min"] < 20 * present
        digits = len(str(abs(ends["max"]))) == len(str(abs(ends["min"]))) > 4
        if _has(name, words.NUMBERS) or dense or digits:
            return Guess("identifiers", said, sure=_has(name, words.NUMBERS) or digits)
    return None


def _by_values(column: Encoded, name: list[str]) -> Guess:
    texts = _texts(column)
    if texts and len(column.values) <= 6 and {t.strip().lower() for t in texts} <= words.SEXES:
        return Guess("quasi", "its values are sexes", exposure=1.0)
    if pa.types.is_date(column.values.type) or pa.types.is_timestamp(column.values.type):
        return Guess("quasi", "dates of events are known to others", sure=False, exposure=0.8)
    if column.kind == "boolean" or (len(column.values) <= 1000 and column.kind != "numeric"):
        return Guess("quasi", f"{len(column.values):,} categories, which others may know", False)
    if column.kind == "numeric" and len(column.values) > 100:
        return Guess("confidential", "a measured amount", sure=False)
    if column.kind == "numeric":
        return Guess("quasi", f"{len(column.values):,} numbers, which others may know", sure=False)
    return Guess("quasi", "codes or text that others may know", sure=False)


def dates_as_text(column: Encoded) -> str | None:
    """Say how dates are written, where a column of text or integers holds dates."""
    kind = column.values.type
    if pa.types.is_integer(kind):
        ends = pc.min_max(column.values).as_py()
        if not len(column.values) or ends["min"] < 18_000_101 or ends["max"] > 20_991_231:
            return None
    texts = [str(v) for v in _looked_at(column)] if pa.types.is_integer(kind) else _texts(column)
    if len(texts) < 2:
        return None
    for pattern, said in words.DATES.items():
        if _share(texts, pattern.fullmatch) >= 0.95:
            return said
    return None


def sentinels(column: Encoded) -> dict[str, str]:
    """Give values that probably stand for a missing value, each with the reason."""
    if column.kind == "numeric":
        temporal = pa.types.is_temporal(column.values.type)
        return _odd_dates(column) if temporal else _odd_numbers(column)
    found = {}
    for value, count in zip(_looked_at(column, all_if=5000), column.counts, strict=False):
        if isinstance(value, str):
            word = value.strip().lower()
            if word in words.MISSING and len(column.values) > 1:
                found[value] = f"a usual mark, in {count:,} records"
            elif word in words.MAYBE_MISSING and len(column.values) > 2:
                found[value] = f"perhaps, in {count:,} records"
    return found


def _odd_numbers(column: Encoded) -> dict[str, str]:
    values = float_values(pa.chunked_array([column.values]), column.name)
    order = np.argsort(values)
    values, counts = values[order], column.counts[order]
    plain = ~np.isin(values, words.NEGATIVE_CODES)
    found = {}
    if plain.any() and (values[plain] >= 0).all():
        for value, count in zip(values[~plain], counts[~plain], strict=True):
            found[f"{value:g}"] = f"negative where all else is not, in {count:,} records"
    rest = np.flatnonzero(~np.isin(values, words.NINES) & plain)
    if len(rest) > 4:
        top = rest[-1]
        for i in np.flatnonzero(np.isin(values, words.NINES)):
            span = values[top] - values[rest[0]]
            if i > top and values[i] > values[top] + 0.2 * span:
                found[f"{values[i]:.15g}"] = f"far above all else, in {counts[i]:,} records"
            elif i > top and counts[i] > 4 * max(counts[max(top - 4, 0) : top + 1].mean(), 2):
                found[f"{values[i]:.15g}"] = f"the largest, and common: {counts[i]:,} records"
    return found


def _odd_dates(column: Encoded) -> dict[str, str]:
    if not (pa.types.is_date(column.values.type) or pa.types.is_timestamp(column.values.type)):
        return {}
    days = column.values.cast(pa.timestamp("s"), safe=False).cast(pa.date32()).cast(pa.string())
    usual = max(10 * float(np.median(column.counts)), 10)
    return {
        day: f"a usual stand-in, in {count:,} records"
        for day, count in zip(days.to_pylist(), column.counts.tolist(), strict=True)
        if day in words.DATE_CODES and (count > usual or day[:1] in "39" or day[:2] == "29")
    }


def _looked_at(column: Encoded, all_if: int = _LOOKED_AT) -> list[object]:
    """Give distinct values, spread over all where they are too many."""
    values = column.values
    if len(values) > all_if:
        step = len(values) // all_if
        values = values.take(pa.array(np.arange(0, step * all_if, step)))
    return values.to_pylist()


def _texts(column: Encoded) -> list[str]:
    return [value for value in _looked_at(column) if isinstance(value, str)]


def _share(texts: list[str], test: Callable[[str], object]) -> float:
    return sum(bool(test(text.strip())) for text in texts) / len(texts) if texts else 0.0


def _has(name: list[str], listed: Collection[str]) -> bool:
    return any(part in listed for part in name)
