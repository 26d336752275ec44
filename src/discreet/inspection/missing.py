"""Values that probably stand for a missing value, each with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.inspection.encoded import Encoded
from discreet.table import words
from discreet.table.columns import float_values

_TWO_LETTERS = re.compile(r"[A-Za-z]{2}")
# Bytes of a mark, with spaces around it.
_LONGEST = 50
_USUAL = "a usual mark"
_CODE = "or a two-letter code like all the others"


def sentinels(column: Encoded) -> dict[str, str]:
    """Return values that probably stand for a missing value, each with the reason."""
    if column.kind == "numeric":
        temporal = pa.types.is_temporal(column.values.type)
        return _odd_dates(column) if temporal else _odd_numbers(column)
    kind = column.values.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return {}
    known = pa.array(sorted(words.MISSING | words.MAYBE_MISSING), kind)
    # Long text is no mark, and need not be copied.
    short = np.flatnonzero(pc.binary_length(column.values).to_numpy() <= _LONGEST)
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(column.values.take(pa.array(short))))
    found = {}
    for place in short[pc.is_in(plain, known).to_numpy(zero_copy_only=False)].tolist():
        value, count = column.values[place].as_py(), int(column.counts[place])
        word = value.strip().lower()
        if word in words.MAYBE_MISSING:
            if len(column.values) > 2:
                found[value] = f"perhaps, in {count:,} records"
        elif word == "na" and _two_letter_codes(column):
            found[value] = f"{_CODE}, in {count:,} records"
        elif len(column.values) > 1:
            found[value] = f"{_USUAL}, in {count:,} records"
    return found


def _two_letter_codes(column: Encoded) -> bool:
    """Tell whether all values have two letters, as country codes do: NA is Namibia."""
    if not 3 <= len(column.values) <= 1000:
        return False
    texts = [text.strip() for text in column.values.to_pylist()]
    others = [text for text in texts if text.lower() not in words.MISSING]
    return len(others) > 1 and all(map(_TWO_LETTERS.fullmatch, others))


def missing_marks(columns: Mapping[str, Encoded]) -> dict[str, dict[str, str]]:
    """Return the sentinels of each column. A null marker applies to all columns.

    So a mark that is a value in one column is only mentioned for the others.
    """
    found = {name: sentinels(column) for name, column in columns.items()}
    codes = {
        value: name
        for name, marks in found.items()
        for value, reason in marks.items()
        if reason.startswith(_CODE)
    }
    for marks in found.values():
        for value, reason in marks.items():
            if is_usual(reason) and value in codes:
                marks[value] = f"but it may be a value in '{codes[value]}'"
    return {name: marks for name, marks in found.items() if marks}


def is_usual(reason: str) -> bool:
    """Tell whether a sentinel becomes a null marker without asking."""
    return reason.startswith(_USUAL)


def _odd_numbers(column: Encoded) -> dict[str, str]:
    values = float_values(pa.chunked_array([column.values]), column.name)
    order = np.argsort(values)
    values, counts = values[order], column.counts[order]
    plain = ~np.isin(values, words.NEGATIVE_CODES)
    found = {}
    if plain.any() and (values[plain] >= 0).all():
        for value, count in zip(values[~plain], counts[~plain], strict=True):
            found[f"{value:g}"] = f"negative, unlike all the others, in {count:,} records"
    rest = np.flatnonzero(~np.isin(values, words.NINES) & plain)
    if len(rest) > 4:
        top = rest[-1]
        for i in np.flatnonzero(np.isin(values, words.NINES)):
            span = values[top] - values[rest[0]]
            if i > top and values[i] > values[top] + 0.2 * span:
                found[f"{values[i]:.15g}"] = f"far above all the others, in {counts[i]:,} records"
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
