"""What labels of released cells name: periods of time, and ranges of numbers."""

from __future__ import annotations

import math
import re
from datetime import date

import numpy as np

from discreet.table import words

# The coarsest first.
FINER = ("year", "quarter", "month", "week", "day")
_NUMBER = r"([-+]?\d+(?:\.\d+)?)"
_FORMS = [
    (re.compile(pattern), low, high, closed)
    for pattern, low, high, closed in (
        (rf"{_NUMBER}", 1, 1, True),
        (rf"\[?{_NUMBER}\s*(?:-|–|to|,|\.\.)\s*{_NUMBER}\]?", 1, 2, True),
        (rf"\[{_NUMBER},\s*{_NUMBER}\)", 1, 2, False),
        (rf"(?:>=|≥|from)\s*{_NUMBER}", 1, None, True),
        (rf"{_NUMBER}\s*(?:\+|and over|and older|or more|or over|or older|plus)", 1, None, True),
        (rf"(?:<|under|below)\s*{_NUMBER}", None, 1, False),
        (rf"(?:<=|≤|up to)\s*{_NUMBER}", None, 1, True),
    )
]
_DAY = r"\d{4}-\d\d-\d\d"
_TEXTS = {
    "year": re.compile(
        r"\d{4}s?|[\[<>]=?\s*\d{4}[\])]?|\[?\d{4}(?:\s*[-–,]\s*|\s+to\s+)(?:1[89]|2[01])\d\d[\])]?"
        r"|\d{4}\s*\+|\d{4}-(?:1[3-9]|[2-9]\d)"
    ),
    "quarter": re.compile(r"(?i)\d{4}[- ]?Q[1-4]|Q[1-4][- /]?\d{4}"),
    "month": re.compile(
        r"(?i)\d{4}[-/](?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])[-/.]\d{4}|[a-z]{3,9}[ -]\d{4}"
    ),
    "week": re.compile(r"(?i)\d{4}[- ]?W\d\d?"),
}


def ends(label: str) -> tuple[float, float] | None:
    """Return the smallest and largest whole number that a label covers; None where it is no range.

    Examples
    --------
    >>> ends("[85, 90)"), ends("90-94"), ends(">=90"), ends("<18"), ends("adult")
    ((85.0, 89.0), (90.0, 94.0), (90.0, inf), (-inf, 17.0), None)
    """
    for pattern, low, high, closed in _FORMS:
        if found := pattern.fullmatch(label.strip()):
            bottom = -math.inf if low is None else float(found[low])
            top = math.inf if high is None else float(found[high])
            return bottom, top if closed else math.ceil(top) - 1.0
    return None


def fineness(label: str) -> str | None:
    """Return the period that a label names; None where it is none.

    Examples
    --------
    >>> fineness("2019"), fineness("2019-Q2"), fineness("2019-07"), fineness("2019-07-14")
    ('year', 'quarter', 'month', 'day')
    >>> fineness("[2019-01-01, 2020-01-01)"), fineness("winter")
    ('year', None)
    """
    label = label.strip()
    days = re.findall(_DAY, label)
    if len(days) == 2:
        try:
            first, last = map(date.fromisoformat, days)
        except ValueError:
            return None
        return _of_span((last - first).days)
    if any(pattern.fullmatch(label) for pattern in words.DATES):
        return "day"
    return next((name for name, form in _TEXTS.items() if form.fullmatch(label)), None)


def _of_span(days: int) -> str:
    least = {"year": 364, "quarter": 89, "month": 27, "week": 6}
    return next((name for name, length in least.items() if days >= length), "day")


def of_numbers(numbers: np.ndarray) -> str | None:
    """Read years, and days or months that are written as one number."""
    if ((numbers >= 1800) & (numbers <= 2100)).all():
        return "year"
    if ((numbers >= 1800_01) & (numbers <= 2100_12)).all():
        return "month"
    if ((numbers >= 1800_01_01) & (numbers <= 2100_12_31)).all():
        return "day"
    return None
