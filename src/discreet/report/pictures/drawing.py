"""How every picture is drawn: small SVG by hand, and looks that differ without colour.

Text stays text, so that a picture is small, can be searched, and shows any name that a browser
can. The same figures give the same bytes. All places are in points from the top left.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from discreet.report.pictures.words import printable, width

LIGHT, GREY, DARK, BLUE = "#c9ced6", "#7b8494", "#1a1a1a", "#2f5d8a"
GRID = "#dddddd"
Look = dict[str, Any]
Looks = dict[str, Look]
# The two sides, told apart by fill, hatch and line and not by colour alone. A hatch has an id of
# its own in each picture, which stands where the zero is.
BARS: Looks = {
    "before": {"fill": LIGHT, "stroke": GREY, "stroke_width": 0.6},
    "after": {"fill": "url(#\0)", "stroke": DARK, "stroke_width": 0.6},
}
LINES: Looks = {
    "before": {"stroke": GREY, "stroke_width": 2.2},
    "after": {"stroke": DARK, "stroke_width": 1.1, "stroke_dasharray": "4.4 1.6"},
}
AREAS: Looks = {"before": {"fill": LIGHT}, "after": {"stroke": DARK, "stroke_width": 1.2}}
_HATCH = (
    '<defs><pattern id="\0" width="4" height="4" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><path d="M0 0H4V4H0z" fill="{BLUE}"/>'
    f'<path d="M0 0V4" stroke="{DARK}"/></pattern></defs>'
)
WIDE, HIGH = 490.0, 166.0
# Size of letters; what stands beside the bars takes the margin.
TEXT, MARGIN = 8.5, 119.0


@dataclass(frozen=True)
class Picture:
    """A picture for a page."""

    svg: str  # to be put into a page as it is; its title and description are inside
    title: str
    alt: str  # what it shows in words and figures, for those who do not see it
    caption: str  # one sentence on how to read it


class Canvas:
    """Marks on a page of some height, one above the other.

    Examples
    --------
    >>> canvas = Canvas(20)
    >>> canvas.text(3, 10, "<1>")
    >>> picture = canvas.picture("A & B", "One.", "Read it.")
    >>> "&lt;1&gt;</text>" in picture.svg, "A &amp; B" in picture.svg
    (True, True)
    """

    def __init__(self, high: float = HIGH, wide: float = WIDE) -> None:
        self.high, self.wide = high, wide
        self._marks: list[str] = []

    def _mark(self, tag: str, given: Look, inside: str = "") -> None:
        told = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in given.items())
        self._marks.append(f"<{tag}{told}>{inside}</{tag}>" if inside else f"<{tag}{told}/>")

    def line(self, x: Any, y: Any, **look: Any) -> None:
        """Draw a line, broken where a number is missing; filled where the look says so."""
        if found := path(x, y):
            self._mark("path", {"d": found, "fill": "none"} | look)

    def strokes(self, at: Any, start: Any, end: Any, *, lying: bool = False, **look: Any) -> None:
        """Draw upright or lying lines as one path."""
        place, a, b, gap = np.broadcast_arrays(np.atleast_1d(at), start, end, np.nan)
        ends = np.repeat(place, 3), np.stack([a, b, gap], axis=1).ravel()
        self.line(*(ends[::-1] if lying else ends), **look)

    def boxes(self, left: Any, right: Any, top: Any, bottom: Any, **look: Any) -> None:
        """Draw rectangles as one path."""
        sides = np.broadcast_arrays(left, right, top, bottom, np.nan)
        a, b, c, d, gap = (np.atleast_1d(side) for side in sides)
        x, y = np.stack([a, b, b, a, a, gap], axis=1), np.stack([c, c, d, d, c, gap], axis=1)
        self.line(x.ravel(), y.ravel(), **look)

    def dots(self, x: Any, y: Any, **look: Any) -> None:
        """Draw round dots; the look holds their radius `r`."""
        for a, b in zip(x, y, strict=True):
            if math.isfinite(a) and math.isfinite(b):
                self._mark("circle", {"cx": short(a), "cy": short(b)} | look)

    def text(self, x: float, y: float, text: str, anchor: str = "start", **look: Any) -> None:
        """Write on a line; `turned=True` upwards."""
        given: dict[str, Any] = {"x": short(x), "y": short(y)}
        if look.pop("turned", False):
            given["transform"] = f"rotate(-90 {given['x']} {given['y']})"
        if anchor != "start":
            given["text_anchor"] = anchor
        if words := printable(text):
            self._mark("text", given | look, escape(words))

    def legend(self, entries: Looks, right: float = WIDE) -> None:
        """Name looks in the line above the axes, up to its right end."""
        for name, look in reversed(entries.items()):
            right -= TEXT * width(name)
            self.text(right, 11, name)
            if "r" in look:
                self.dots([right - 8], [8], **look)
            elif "fill" in look:
                self.boxes(right - 16, right - 4, 4, 11, **look)
            else:
                self.line([right - 20, right - 4], [8, 8], **look)
            right -= 30

    def picture(self, title: str, alt: str, caption: str) -> Picture:
        """Return what was drawn, with a title, a description and a sentence on how to read it."""
        title, alt, caption = (printable(text) for text in (title, alt, caption))
        marks = "".join(self._marks)
        key = hashlib.sha256(f"{title}\0{alt}\0{marks}".encode()).hexdigest()[:8]
        marks = (_HATCH + marks if "\0" in marks else marks).replace("\0", f"{key}-hatch")
        box = f"0 0 {self.wide:g} {short(self.high)}"
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" '
            f'width="{self.wide * 4 / 3:.0f}" height="{self.high * 4 / 3:.0f}" role="img" '
            f'aria-labelledby="{key}-title {key}-desc" font-family="sans-serif" '
            f'font-size="{TEXT}" fill="{DARK}" style="max-width:100%;height:auto">'
            f'<title id="{key}-title">{escape(title)}</title>'
            f'<desc id="{key}-desc">{escape(alt)}</desc>{marks}</svg>'
        )
        return Picture(svg, title, alt, caption)


def path(x: Any, y: Any) -> str:
    """Write a line with few digits, and along an axis by the one number that changes.

    Examples
    --------
    >>> path([1.004, 5.5, 5.5, np.nan, 1, 2], [2, 2, 4, 0, 1, 3])
    'M1 2H5.5V4M1 1L2 3'
    """
    pieces, at = [], ("", "")
    for a, b in zip(np.asarray(x).tolist(), np.asarray(y).tolist(), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            at = ("", "")
            continue
        here = short(a), short(b)
        if not at[0]:
            pieces.append(f"M{here[0]} {here[1]}")
        elif here[1] == at[1]:
            pieces.append(f"H{here[0]}")
        elif here[0] == at[0]:
            pieces.append(f"V{here[1]}")
        else:
            pieces.append(f"L{here[0]} {here[1]}")
        at = here
    return "".join(pieces)


def short(value: float) -> str:
    """Write a place with two digits after the point at most."""
    return f"{round(float(value), 2) + 0.0:.7g}"
