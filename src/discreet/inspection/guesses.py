"""What a column probably is, with the reason: a guess for a person to confirm."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.inspection.encoded import Encoded
from discreet.table import words
from discreet.table.identifiers import (
    FEWEST,
    can_identify,
    is_whole,
    looks_like,
    marks_of,
    why_identifier,
)
from discreet.table.patterns import PATTERNS

# Values that are looked at for a pattern.
_LOOKED_AT = 2000
_LONG_TEXT = 60
# Records a person on average, up to which some were entered twice.
ONE_ROW = 1.05
# Records that share a value of a released key, in the proposed recipe.
K = 5


@dataclass(frozen=True)
class Guess:
    """A guess at a column's role, or that it is to be dropped.

    `exposure` says how widely a quasi-identifier is known: 1 for what registers and social networks
    show, 0.8 for what neighbours and colleagues know, 0.5 for the rest.
    """

    role: str
    reason: str
    sure: bool = True  # False if a person should be asked
    exposure: float = 0.5


def guess_role(column: Encoded) -> Guess:
    """Guess the role of a column from its values and its name.

    Tests for what singles people out come first: such a column must not be released.
    """
    present = int(column.counts.sum())
    if present == 0:
        return Guess("drop", "it holds nulls only")
    name = words.parts_of(column.name) + words.parts_of(column.labels.label or "")
    found = (
        _by_pattern(column)
        or _by_use(column, name)
        or _by_persons(column, name)
        or _by_text(column, name)
        or _by_number(column, name)
    )
    if found:
        return found
    if len(column.values) == 1 and column.nulls == 0 and present >= K:
        return Guess("insensitive", "all records hold the same value")
    found = _by_name(column, name) or _by_uniqueness(column, name) or _by_values(column, name)
    if found.role == "quasi" and len(column.values) == 1 and column.nulls:
        return Guess("drop", "it holds one value besides nulls, which is no key", sure=False)
    if found.role == "confidential" and (why := _identifies(column)):
        return Guess("identifiers", why)
    return found


def _identifies(column: Encoded) -> str | None:
    """Say why `protect` would not release a column as it is, if it would not."""
    if not can_identify(column.values.type):
        return None
    present, distinct = int(column.counts.sum()), len(column.values)
    marks = marks_of(pa.chunked_array([column.values]))
    marks = replace(marks, present=present, looked_at=present, distinct=distinct)
    return why_identifier(column.name, marks, lambda: distinct)


def _by_pattern(column: Encoded) -> Guess | None:
    texts = _texts(column)
    if not texts or dates_as_text(column):
        return None
    found = looks_like(texts, PATTERNS)
    return found and Guess("identifiers", "{1:.0%} of its values look like {0}".format(*found))


def _by_use(column: Encoded, name: list[str]) -> Guess | None:
    """Find sampling weights and household numbers."""
    if _has(name, words.WEIGHTS) and column.kind == "numeric" and len(column.values) > 10:
        return Guess("weight", "its name says that it is a sampling weight", sure=False)
    per_value = column.counts.mean()
    many = len(column.values) > len(column.codes) / 50
    said = _has(name, words.HOUSEHOLDS) and _has(name, words.NUMBERS)
    if (said or words.numbers_households(words.parts_of(column.name))) and many and per_value < 20:
        reason = f"its name says so, and a value has {per_value:.1f} records on average"
        return Guess("household", reason)
    return None


def _by_persons(column: Encoded, name: list[str]) -> Guess | None:
    if not _many(column) and len(column.values) > 1:
        return None
    if _names_persons(column, name):
        share = _share(_texts(column), words.PERSON.fullmatch)
        like = f", and {share:.0%} of its values look like names" if share > 0.5 else ""
        return Guess("identifiers", f"its name says that it names people{like}")
    if _has(name, words.CONTACTS):
        return Guess("identifiers", "its name says that it leads to a person")
    return None


def _by_text(column: Encoded, name: list[str]) -> Guess | None:
    """Find free text, and text that is different in nearly every record."""
    if column.kind not in ("text", "categorical", "ordered"):
        return None
    if _many(column) and _mean_length(column) > _LONG_TEXT:
        return Guess("identifiers", "free text, which may name anyone")
    # What others know is made coarser, so it need not go.
    known = _has(name, words.OPEN | words.KNOWN) and not _has(name, words.CONFIDENTIAL)
    if (known and not _has(name, words.NUMBERS)) or dates_as_text(column):
        return None
    return _by_uniqueness(column, name)


def _by_number(column: Encoded, name: list[str]) -> Guess | None:
    """Find person and case numbers; where people have several records, they tell the unit."""
    called = [words.parts_of(said) for said in (column.name, column.labels.label or "")]
    persons = any(map(words.numbers_persons, called))
    surely = persons or _has(name, words.IDS)
    if not (surely or any(map(words.numbers_something, called))):
        return None
    if _has(name, words.OPEN | words.KNOWN) or len(column.values) <= FEWEST:
        return None
    if column.kind == "numeric" and not is_whole(column.values):
        return None
    reason = "its name says that it numbers people or cases"
    each = column.counts.mean()
    if each <= ONE_ROW:
        return Guess("identifiers", reason, sure=surely)
    reason += f"; a value has {each:.1f} records on average, so rows are not one per person"
    # A column of many nulls does not say whose each row is, and a tax number is not only a number.
    named = column.nulls <= 0.1 * (column.nulls + column.counts.sum())
    tells = surely and named and not _has(name, words.CONFIDENTIAL)
    role = "unit" if tells else "identifiers"
    return Guess(role, reason, sure=surely and (persons or each < 50))


def _by_name(column: Encoded, name: list[str]) -> Guess | None:
    if _has(name, words.CONFIDENTIAL) or "".join(name) in words.CONFIDENTIAL:
        return _confidential(column)
    for listed, exposure in ((words.OPEN, 1.0), (words.KNOWN, 0.8)):
        if _has(name, listed) or "".join(name) in listed:
            who = "registers and networks show it" if exposure == 1 else "acquaintances know it"
            return Guess("quasi", f"{who}, as its name says", exposure=exposure)
    return None


def _confidential(column: Encoded) -> Guess:
    """Tell categories from text that no step can treat and that may give its record away."""
    said = "its name says that nobody should learn it"
    if column.kind in ("numeric", "boolean"):
        return Guess("confidential", said)
    distinct, present = len(column.values), int(column.counts.sum())
    if distinct > 20 and _share(_texts(column), words.NUMBER.fullmatch) > 0.5:
        why = "and it mixes numbers with text, which no step can treat"
        return Guess("drop", f"{said}, {why}; list that text in null_markers")
    if distinct > max(K, present / 5):
        why = f"and no step treats text with {distinct:,} values in {present:,} records"
        return Guess("drop", f"{said}, {why}", sure=False)
    return Guess("confidential", said, sure=distinct <= 100)


def _names_persons(column: Encoded, name: list[str]) -> bool:
    """Tell people's names from names of other things, as in `country_name`."""
    if column.kind != "text" or not (_has(name, words.NAMES) or "".join(name) in words.NAMES):
        return False
    other = _has(name, words.OPEN | words.KNOWN | words.CONFIDENTIAL)
    if other or _share(_texts(column), words.ORGANISATION.fullmatch) > 0.5:
        return column.unique > len(column.codes) / 2
    return True


def _by_uniqueness(column: Encoded, name: list[str]) -> Guess | None:
    present = int(column.counts.sum())
    if present < 20 or column.unique < 0.95 * present or dates_as_text(column):
        return None
    said = f"{column.unique / present:.0%} of its records have a unique value"
    if column.kind in ("text", "categorical", "ordered"):
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
    kind = column.values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or dates_as_text(column):
        return Guess("quasi", "dates of events are known to others", sure=False, exposure=0.8)
    if column.kind == "boolean" or (len(column.values) <= 1000 and column.kind != "numeric"):
        return Guess("quasi", f"{len(column.values):,} categories, which others may know", False)
    if column.kind == "numeric" and len(column.values) > 100:
        return Guess("confidential", "a measured amount", sure=False)
    if column.kind == "numeric":
        # A file that says what numbers mean says that they are codes.
        labelled = all(value in column.labels.values for value in column.values.to_pylist())
        are = "codes" if labelled else "numbers"
        return Guess("quasi", f"{len(column.values):,} {are}, which others may know", sure=False)
    return Guess("quasi", "codes or text that others may know", sure=False)


def dates_as_text(column: Encoded) -> str | None:
    """Say how dates are written, if a column of text or integers holds dates."""
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


def _many(column: Encoded) -> bool:
    return len(column.values) > 20 or column.unique > len(column.codes) / 2


def _mean_length(column: Encoded) -> float:
    return float(pc.mean(pc.utf8_length(column.values.cast(pa.large_string()))).as_py())


def _looked_at(column: Encoded) -> list[object]:
    """Return distinct values; if there are too many, a selection spread over all."""
    values = column.values
    if len(values) > _LOOKED_AT:
        step = len(values) // _LOOKED_AT
        values = values.take(pa.array(np.arange(0, step * _LOOKED_AT, step)))
    return values.to_pylist()


def _texts(column: Encoded) -> list[str]:
    return [value for value in _looked_at(column) if isinstance(value, str)]


def _share(texts: list[str], test: Callable[[str], object]) -> float:
    return sum(bool(test(text.strip())) for text in texts) / len(texts) if texts else 0.0


def _has(name: list[str], listed: Collection[str]) -> bool:
    return any(part in listed for part in name)
