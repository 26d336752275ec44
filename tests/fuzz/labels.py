"""Whether a generalized label tells the truth: the original value is among those it stands for."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_HALF_OPEN = re.compile(rf"\[{_NUMBER}, {_NUMBER}\)")
_RANGE = re.compile(rf"{_NUMBER}(?:-| to ){_NUMBER}")
_BY_FREQUENCY = ("rare", "less common", "other")
_BELOW, _FROM = re.compile(rf"<{_NUMBER}"), re.compile(rf">={_NUMBER}")


def text_of(value: Any) -> str:
    """Return a value as text, as level 0 of a hierarchy shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return str(value)


def covers(
    label: str, value: Any, spec: dict[str, Any] | None, domain: list[str], slack: float = 1e-9
) -> bool:
    """Tell whether a label may stand for a value.

    `spec` is the column's hierarchy, if it has one, and `domain` its values in order, as text; ends
    of ranges are as exact as `slack`.
    """
    if label == "*" or label == text_of(value):
        return True
    if isinstance(value, float) and _covers_number(label, value, slack * abs(value)):
        return True
    if isinstance(value, pd.Timestamp) and _covers_time(label, value):
        return True
    said = text_of(value)
    if label.startswith("{") and label.endswith("}"):
        return f", {said}, " in f", {label[1:-1]}, "
    if spec and spec["kind"] == "auto" and label in _BY_FREQUENCY:
        return True  # Which values these are goes by how often they come.
    if spec and spec["kind"] == "groups":
        return label in _above(spec["tree"], said)
    first, to, last = label.partition(" to ")
    if to and first in domain and last in domain and said in domain:
        return domain.index(first) <= domain.index(said) <= domain.index(last)
    if spec and spec["kind"] == "auto" and isinstance(value, str) and not set(label) & {"*", "{"}:
        # Which names a group has is not known from outside; it is not called as another value is.
        return not to and label not in domain
    hidden = len(label) == len(said) and "*" in label
    return hidden and all(a in ("*", b) for a, b in zip(label, said, strict=True))


def _covers_number(label: str, value: float, near: float) -> bool:
    try:
        return abs(float(label) - value) <= near
    except ValueError:
        pass
    if found := _HALF_OPEN.fullmatch(label):
        return float(found[1]) - near <= value < float(found[2]) + near
    if found := _RANGE.fullmatch(label):
        # A range of whole numbers holds what is below the next one.
        return float(found[1]) - near <= value <= float(found[2]) + near
    if found := _BELOW.fullmatch(label):
        return value < float(found[1]) + near
    found = _FROM.fullmatch(label)
    return bool(found) and value >= float(found[1]) - near


def _covers_time(label: str, value: pd.Timestamp) -> bool:
    year, week, _ = value.isocalendar()
    periods = (
        f"{value:%Y-%m-%d}",
        f"{year}-W{week:02d}",
        f"{value:%Y-%m}",
        f"{value.year}-Q{value.quarter}",
        f"{value.year}",
        f"{value.year // 10 * 10}s",
    )
    if label in periods:
        return True
    first, to, last = label.partition(" to ")
    try:
        stamps = [pd.Timestamp(part) for part in ((first, last) if to else (label,))]
    except ValueError:
        return False
    stamps = [s if s.tz is None else s.tz_convert("UTC").tz_localize(None) for s in stamps]
    return stamps[0] <= value <= stamps[-1]


def _above(tree: Any, leaf: str) -> list[str]:
    """Return the groups that a leaf is in."""
    if isinstance(tree, list):
        return [leaf] if leaf in map(str, tree) else []
    for name, below in tree.items():
        if found := _above(below, leaf):
            return [name, *found]
    return []
