"""How every picture is drawn: one canvas, two looks that differ without colour, plain small SVG.

Text stays text, so that a picture is small, can be searched, and shows any name that a browser
can. The same figures give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

# The two sides, told apart by fill, hatch and line and not by colour alone.
LIGHT, DARK, BLUE = "#c9ced6", "#1a1a1a", "#2f5d8a"
BEFORE_BARS = {"facecolor": LIGHT, "edgecolor": "#7b8494", "linewidth": 0.6}
AFTER_BARS = {"facecolor": BLUE, "edgecolor": DARK, "linewidth": 0.6, "hatch": "////"}
BEFORE_LINE = {"color": "#7b8494", "linewidth": 2.2, "linestyle": "-"}
AFTER_LINE = {"color": DARK, "linewidth": 1.1, "linestyle": (0, (4, 1.5))}
# What fits beside an axis and below it, in widths of an m; inches that the first takes.
BESIDE, BELOW, MARGIN = 13.0, 45.0, 1.65
TEXT = 8.5  # points
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "discreet",
    "font.family": "sans-serif",
    "font.size": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#444444",
    "axes.axisbelow": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": TEXT,
    "hatch.linewidth": 0.5,
    # Names may hold dollars.
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "path.simplify": False,
}


@dataclass(frozen=True)
class Picture:
    """A picture for a page.

    Attributes
    ----------
    svg : str
        To be put into a page as it is; its title and description are inside.
    title : str
        What it shows.
    alt : str
        What it shows in words and figures, for those who do not see it.
    caption : str
        One sentence on how to read it.
    """

    svg: str
    title: str
    alt: str
    caption: str


def draw(
    paint: Callable[[Any], None],
    size: tuple[float, float],
    title: str,
    alt: str,
    caption: str,
) -> Picture:
    """Draw a picture.

    Parameters
    ----------
    paint : function of a matplotlib Figure
    size : tuple of float
        Width and height in inches.
    title, alt, caption : str
        As `Picture` has them.

    Examples
    --------
    >>> picture = draw(lambda canvas: canvas.subplots().plot([1, 2]), (4, 2), "A & B", "1, 2", "up")
    >>> "<title" in picture.svg, "A &amp; B" in picture.svg, "<?xml" in picture.svg
    (True, True, False)
    """
    import matplotlib
    from matplotlib.figure import Figure

    title, alt, caption = (printable(text) for text in (title, alt, caption))
    out = io.StringIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # Letters that the font used for measuring lacks: the browser has them.
        warnings.simplefilter("ignore")
        canvas = Figure(figsize=size)
        paint(canvas)
        no_data = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(out, format="svg", metadata=no_data, transparent=True)
    return Picture(_embedded(out.getvalue(), title, alt), title, alt, caption)


_NUMBERS = re.compile(r"-?\d+\.\d+")
_REFERENCES = re.compile(r"(?<=url\(#)[^)]+")
_PLACES = {"x", "y", "width", "height", "transform", "points"}
# What is said once for the whole picture, or is what a browser does anyhow.
_SAID = re.compile(r"(font-family:[^;]*|stroke-linejoin: miter|stroke-miterlimit: [^;]*)(; |$)")


def _embedded(svg: str, title: str, alt: str) -> str:
    """Make matplotlib's file a part of a page: no header, no ids of others, few digits."""
    root = ElementTree.fromstring(svg[svg.index("<svg") :].encode())
    key = hashlib.sha256(f"{title}\0{alt}\0{svg}".encode()).hexdigest()[:8]
    for element in root.iter():
        # Inside HTML, names need no namespace.
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = _attributes(element.attrib, key)
    used = set(_REFERENCES.findall(" ".join(v for e in root.iter() for v in e.attrib.values())))
    used |= {e.attrib["href"][1:] for e in root.iter("use")}
    for element in root.iter():
        if element.attrib.get("id") not in used:
            element.attrib.pop("id", None)
    _flatten(root)
    *_, width, height = root.attrib["viewBox"].split()
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": root.attrib["viewBox"],
        "width": f"{float(width) * 4 / 3:.0f}",
        "height": f"{float(height) * 4 / 3:.0f}",
        "role": "img",
        "aria-labelledby": f"{key}-title {key}-desc",
        "style": "font-family:sans-serif;stroke-linecap:butt;max-width:100%;height:auto",
    }
    for place, (name, text) in enumerate((("title", title), ("desc", alt))):
        told = ElementTree.Element(name, {"id": f"{key}-{name}"})
        told.text = text
        root.insert(place, told)
    return ElementTree.tostring(root, encoding="unicode")


def _attributes(given: dict[str, str], key: str) -> dict[str, str]:
    """Return an element's attributes with few digits, and ids that no other picture has."""
    found = {}
    for name, value in given.items():
        name = name.rpartition("}")[2]
        if name == "d":
            value = _path(value)
        elif name in _PLACES:
            value = " ".join(_NUMBERS.sub(_short, value).split())
        if name == "transform" and value.startswith("rotate(-0 "):
            continue
        if name == "style":
            value = _SAID.sub("", value).strip("; ")
        if name in ("style", "clip-path"):
            value = _REFERENCES.sub(lambda one: f"{key}-{one[0]}", value)
        elif name == "id":
            value = f"{key}-{value}"
        elif name == "href":
            value = f"#{key}-{value[1:]}"
        found[name] = value
    return found


def _flatten(element: ElementTree.Element) -> None:
    """Take out what holds or shows nothing: groups without attributes, metadata, style sheets."""
    element.text = element.text if element.tag == "text" else None
    children: list[ElementTree.Element] = []
    for child in element:
        _flatten(child)
        child.tail = None
        empty = child.tag == "defs" and not len(child)
        invisible = child.tag == "path" and child.attrib.get("style") == "fill: none"
        if child.tag in ("metadata", "style") or empty or invisible:
            continue
        plain = child.tag == "g" and not child.attrib
        children += list(child) if plain else [child]
    element[:] = children


def _path(value: str) -> str:
    """Write a path with few digits, and lines along an axis by the one number that they change.

    Examples
    --------
    >>> _path("M 1.004 2 L 5.5 2 L 5.5 4 z M 1 1 L 2 3")
    'M1 2H5.5V4zM1 1L2 3'
    """
    pieces, at = [], ("", "")
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", _NUMBERS.sub(_short, value)):
        found = numbers.split()
        here = (found[-2], found[-1]) if found else ("", "")
        if command == "L" and here[1] == at[1]:
            pieces.append(f"H{here[0]}")
        elif command == "L" and here[0] == at[0]:
            pieces.append(f"V{here[1]}")
        else:
            pieces.append(command + " ".join(found))
        at = here
    return "".join(pieces)


def _short(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def legend(axis: Any, handles: Sequence[Any] | None = None) -> None:
    """Put the legend above the axes, in one line."""
    more = {} if handles is None else {"handles": handles}
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2, **more)


def strokes(at: Any, start: Any, end: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return upright lines as one: x and y with gaps, which takes a tenth of the space of many."""
    gap = np.full(len(at), np.nan)
    start, end = np.broadcast_to(start, len(at)), np.broadcast_to(end, len(at))
    return np.column_stack([at, at, gap]).ravel(), np.column_stack([start, end, gap]).ravel()


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
