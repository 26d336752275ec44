"""A figure against a parameter that was varied, a line for each combination of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.report.pictures.axes import Plot, around
from discreet.report.pictures.drawing import BLUE, DARK, GREY, WIDE, Canvas, Look, Picture
from discreet.report.pictures.words import clipped, number

# Lines that are told apart: by stroke and dots, not by colour alone.
_LOOKS: tuple[Look, ...] = tuple(
    {"stroke": stroke, "stroke_width": wide, **({"stroke_dasharray": dashes} if dashes else {})}
    for stroke, wide in ((DARK, 1.2), (BLUE, 1.8), (GREY, 2.4))
    for dashes in ("", "5 2", "1.5 1.5")
)
_OTHERS: Look = {"stroke": "#c9ced6", "stroke_width": 0.8}
_PLOT, _LINE = 150.0, 12.0


def sweep_lines(
    name: str,
    parameter: str,
    values: Sequence[float | str],
    lines: Sequence[tuple[str, Sequence[float | None]]],
    best: Sequence[tuple[int, int]] = (),
) -> Picture:
    """Draw a figure against the values of a parameter.

    Parameters
    ----------
    name : str
        Of the figure.
    parameter : str
    values : sequence of float or str
        Of the parameter, in order; they are drawn to scale where all are numbers.
    lines : sequence of (str, sequence of float or None)
        Each with its figures at the values; None where there is none.
    best : sequence of (int, int)
        The line and the value of each point to mark.

    Examples
    --------
    >>> picture = sweep_lines("loss", "k", [2, 5, 10], [("value", [0.1, 0.2, None])])
    >>> print(picture.alt)
    loss at k = 2 to 10: value: from 0.1 to 0.2, at 2 of 3 values.
    """
    scaled = all(isinstance(value, int | float) for value in values) and len(set(values)) > 1
    at = np.array([float(v) for v in values] if scaled else np.arange(len(values)), np.float64)
    figures = np.array(
        [[np.nan if y is None else y for y in found] for _, found in lines], np.float64
    ).reshape(len(lines), len(values))
    named = lines[: len(_LOOKS)]
    keys = named if len(lines) > 1 else []
    canvas = Canvas(_PLOT + 34 + _LINE * (len(keys) + (len(lines) > len(_LOOKS))))
    low, high = around(figures.ravel(), 0.06)
    # No figure is below 0.
    low = max(0.0, low)
    ticks = None if scaled else [(float(i), clipped(str(v), 10.0)) for i, v in enumerate(values)]
    y = (low, high if high > low else low + 1.0)
    bottom = _PLOT
    plot = Plot(canvas, around(at, 0.03), y, (parameter, name), x_ticks=ticks, bottom=bottom)
    for place in reversed(range(len(lines))):
        look = _LOOKS[place] if place < len(_LOOKS) else _OTHERS
        plot.line(at, figures[place], **look)
        places = plot.across(at), plot.down(figures[place])
        canvas.dots(*places, r=1.8, fill=look["stroke"])
    for line, value in best:
        x, height = plot.across(at[value]), plot.down(figures[line, value])
        canvas.dots([float(x)], [float(height)], r=5, fill="none", stroke=DARK, stroke_width=1)
    _name(canvas, [text for text, _ in keys], bottom + 44, len(lines) - len(named))
    return canvas.picture(f"{name} against {parameter}", _alt(name, parameter, values, lines),
                          _caption(bool(best), len(lines)))  # fmt: skip


def _name(canvas: Canvas, names: Sequence[str], top: float, more: int) -> None:
    """Name the lines below the axes."""
    for place, text in enumerate(names):
        height = top + _LINE * place
        canvas.line([4, 30], [height - 3] * 2, **_LOOKS[place])
        canvas.text(36, height, clipped(text, (WIDE - 40) / 9))
    if more > 0:
        canvas.text(36, top + _LINE * len(names), f"{more} more in light grey")


def _alt(
    name: str,
    parameter: str,
    values: Sequence[float | str],
    lines: Sequence[tuple[str, Sequence[float | None]]],
) -> str:
    told = []
    for text, found in lines[: len(_LOOKS)]:
        there = [y for y in found if y is not None]
        said = f"from {number(min(there))} to {number(max(there))}" if there else "no figure"
        few = f", at {len(there)} of {len(found)} values" if len(there) < len(found) else ""
        told.append(f"{clipped(text)}: {said}{few}" if text else f"{said}{few}")
    more = f"; {len(lines) - len(told)} more lines" if len(lines) > len(told) else ""
    return f"{name} at {parameter} = {values[0]} to {values[-1]}: {'; '.join(told)}{more}."


def _caption(best: bool, lines: int) -> str:
    said = "Lower is better; a gap is a combination without a release."
    said += " Each line is a combination of the other parameters." if lines > 1 else ""
    return said + (" The best is circled." if best else "")
