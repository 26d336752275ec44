"""What came of attacks: a table of rates and a sentence each, for terminal and notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.attacks._excess import percent
from discreet.report.page import Table

Facts = Mapping[str, Any]
_HEAD = ("attack", "in the original", "not in it", "by a guess", "excess (95 % interval)")
_READING = (
    "How often each attack succeeds with people of the original, with people who are not in the "
    "release, and by a guess; the excess is what the release adds, in percentage points."
)


def attack_table(found: Facts) -> Table:
    """Lay out attacks, as `Attacked.to_dict` returns them."""
    rows = []
    for one in found["attacks"]:
        low, high = map(percent, one["interval"])
        rates = (one["attack"], one["control"], one["guess"])
        figures = ("-" if rate is None else f"{percent(rate['value'])} %" for rate in rates)
        rows.append((attack_name(one), *figures, f"{percent(one['excess'])} ({low} to {high})"))
    return Table(_HEAD, rows, 4, _READING)


def attack_name(one: Facts) -> str:
    """Name an attack with what it goes by.

    Examples
    --------
    >>> attack_name({"name": "inference", "detail": {"secret": "income"}})
    'inference of income'
    """
    detail = one["detail"]
    if one["name"] == "singling out":
        return f"{one['name']}, {'one column' if detail['mode'] == 'one' else 'several columns'}"
    return f"{one['name']} of {detail['secret']}" if "secret" in detail else str(one["name"])


def attack_sentences(found: Facts) -> list[str]:
    """Say what came of each attack."""
    said = [f"{attack_name(one)}: {one['said']}" for one in found["attacks"]]
    return [one[0].upper() + one[1:] for one in said]


def worst_sentence(found: Facts) -> str:
    """Say whether any attack does better than without the release, and which does best.

    Examples
    --------
    >>> worst_sentence({"attacks": []})
    'No attack could be tried.'
    """
    if not found["attacks"]:
        return "No attack could be tried."
    worst = max(found["attacks"], key=lambda one: one["excess"])
    low, high = map(percent, worst["interval"])
    figures = f"{percent(worst['excess'])} percentage points (95 % interval {low} to {high})"
    if not any(one["interval"][0] > 0 for one in found["attacks"]):
        return f"No attack gains from the release beyond chance; the most is {figures}."
    return f"An attack gains from the release: {attack_name(worst)}, {figures}."
