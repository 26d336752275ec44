"""Names and numbers in the words of a picture: as wide as fits, with as many digits as tell."""

import unicodedata

# What fits beside an axis and below it, in widths of an m.
BESIDE, BELOW = 13.0, 45.0


def clipped(name: str, room: float = BESIDE) -> str:
    """Shorten a name to what fits; line ends and the like become spaces.

    Examples
    --------
    >>> clipped("monthly income before taxes of the household")
    'monthly income befor…'
    """
    name = printable(name)
    if width(name) <= room:
        return name
    end = 0
    while width(name[: end + 1]) <= room - 1:
        end += 1
    return f"{name[:end].rstrip()}…"


def width(text: str) -> float:
    """Estimate the width of a text in widths of an m, by a wide font.

    Examples
    --------
    >>> round(width("mill"), 2), width("東京")
    (2.05, 2.2)
    """
    return sum(map(_width, text))


def _width(letter: str) -> float:
    if letter in "ijlftrI.,:;'|!()[] ":
        return 0.35 if letter in "ijl.,:;'|! I" else 0.42
    if letter in "mwMW@%…":
        return 1.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.1
    return 0.75 if letter.isupper() or not letter.isascii() else 0.64


def printable(text: str) -> str:
    """Put spaces where there are line ends and what no file may hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def number(value: float) -> str:
    """Write a number in words of a text: five digits at most, thousands apart.

    Examples
    --------
    >>> [number(v) for v in (0.04713, 42.137, 30162.4, 1e9, 0.0)]
    ['0.04713', '42.137', '30,162', '1,000,000,000', '0']
    """
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.5g}"
    return "0" if text in ("-0", "0") else text


def span(low: float, high: float) -> str:
    """Write a range; its ends once where they are the same.

    Examples
    --------
    >>> span(3, 1200), span(2.0, 2.0)
    ('3 to 1,200', '2')
    """
    ends = number(low), number(high)
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def percent(share: float) -> str:
    """Write a share as percent.

    Examples
    --------
    >>> [percent(v) for v in (0.12345, 1.0, 0.0, 0.0004)]
    ['12.3 %', '100 %', '0 %', '0.04 %']
    """
    value = 100 * share
    if value >= 99.95 or value == 0:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 1 else f"{value:.2g} %"
