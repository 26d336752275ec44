"""Pages from templates: every name is shown as text, whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from discreet.report.pictures.words import number, percent, printable

LONGEST_NAME = 60
# A page of more columns than this shows the first ones; the tables have all.
MOST_DRAWN = 60
# What HTML may not hold, not even escaped; names of columns may.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Table:
    """A table on a page."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: int = 0  # how many columns, from the right, hold numbers
    reading: str = ""  # one sentence on how to read it


def share(value: Any) -> str:
    """Write a share as percent, and a dash for None."""
    return "–" if value is None else percent(float(value)).replace(".0 %", " %")


def figure(value: Any) -> str:
    """Write a number with its digits, text as it is, and a dash for None.

    Examples
    --------
    >>> figure(12345), figure(0.123456), figure(None), figure(True), figure([1, 2])
    ('12,345', '0.1235', '–', 'yes', '1, 2')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(float(f"{value:.4g}") if abs(value) < 1000 else value)
    if isinstance(value, Mapping) and "model" in value:
        rest = {key: item for key, item in value.items() if key != "model"}
        return f"{value['model']} ({figure(rest)})"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {figure(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(figure(item) for item in value)
    return printable(str(value))


def named(columns: Sequence[str], most: int = 6) -> str:
    """List some columns, and how many more there are.

    Examples
    --------
    >>> named(["age", "sex"]), named(list("abcdefgh"), most=2)
    ('age and sex', 'a, b and 6 more')
    """
    shown = [shortened(column) for column in columns]
    if len(shown) > most:
        return f"{', '.join(shown[:most])} and {len(shown) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def shortened(name: str) -> str:
    """Return a column's name, shortened for a sentence."""
    name = printable(name) or repr(name)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def counted(n: int, what: str, many: str = "") -> str:
    """Write a number with what it counts.

    Examples
    --------
    >>> counted(1, "record"), counted(1200, "cell")
    ('1 record', '1,200 cells')
    """
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def unbroken(text: str) -> str:
    """Keep a figure and its sign in one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Only of plain text: what is marked as safe is whole already.
        finalize=lambda value: _CONTROL.sub("\ufffd", value) if type(value) is str else value,
    )
    filters = (share, figure, shortened, unbroken)
    environment.filters |= {one.__name__: one for one in filters}
    return environment


def render(template: str, **content: Any) -> str:
    """Fill in a template."""
    return _environment().get_template(template).render(**content)
