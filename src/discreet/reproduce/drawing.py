"""Charts as SVG: lines against a setting, bars by method, points of one quantity over another."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from discreet.reproduce.results import Chart, Figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colours = dict[str, str]


def draw(name: str, chart: Chart, figures: Figures) -> bytes:
    """Draw a chart as SVG: ours solid, and the paper's dotted or hollow if it gives them."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    panels = [(quantity, only) for quantity in chart.quantities for only in chart.only]
    painter = {"lines": _lines, "bars": _bars, "points": _points}[chart.kind]
    width = 3.4 if chart.kind == "lines" else 6.4
    colours: Colours = {}
    # Text stays text and names are not random, so that the same figures give the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        canvas = Canvas(figsize=(width * len(panels) + 1.6, 3.4), layout="constrained")
        axes = canvas.subplots(1, len(panels), squeeze=False)[0]
        for axis, (quantity, only) in zip(axes, panels, strict=True):
            painter(axis, chart, figures, quantity, only, colours)
            axis.set(xlabel=chart.x, ylabel=quantity, title=only if len(chart.only) > 1 else "")
        _legend(axes[0], chart, colours, bool(figures.pick(quantity=chart.quantities).given()))
        canvas.legend(loc="outside right upper", fontsize=8)
        canvas.suptitle(chart.title, fontsize=11)
        out = io.BytesIO()
        canvas.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _lines(
    axis: Axes, chart: Chart, figures: Figures, quantity: str, only: str, colours: Colours
) -> None:
    """Draw each series against its setting, the paper's dotted."""
    found = figures.pick(quantity=quantity)
    for series in dict.fromkeys(f.series for f in found if _named(f.series, only)):
        colour = _colour(series.replace(only, "").strip(", "), colours)
        line = found.pick(series=series)
        ours = [(f.x, f.measured) for f in line if f.x is not None]
        axis.plot(*zip(*ours, strict=True), "o-", color=colour, markersize=3)
        paper = [(f.x, f.paper) for f in line if f.x is not None and f.paper is not None]
        axis.plot(*(zip(*paper, strict=True) if paper else ([], [])), ":", color=colour)


def _bars(
    axis: Axes, chart: Chart, figures: Figures, quantity: str, only: str, colours: Colours
) -> None:
    """Draw a group of bars for each series, one for each setting, the paper's hollow around it."""
    found = figures.pick(quantity=quantity)
    series = list(dict.fromkeys(f.series for f in found))
    settings = list(dict.fromkeys(f.setting for f in found))
    wide = 0.8 / len(settings)
    for i, setting in enumerate(settings):
        bars = found.pick(setting=setting)
        at = {f.series: series.index(f.series) + (i - (len(settings) - 1) / 2) * wide for f in bars}
        ours: dict[str, Any] = {"color": _colour(setting, colours), "alpha": 0.6}
        axis.bar([at[f.series] for f in bars], [f.measured for f in bars], 0.9 * wide, **ours)
        given = bars.given()
        hollow: dict[str, Any] = {"fill": False, "edgecolor": "black"}
        axis.bar([at[f.series] for f in given], given.papers(), 0.9 * wide, **hollow)
    axis.set_xticks(range(len(series)), series)


def _points(
    axis: Axes, chart: Chart, figures: Figures, quantity: str, only: str, colours: Colours
) -> None:
    """Draw a point for each row: the panel's quantity over the one that the chart's x names."""
    over = {f.row: f.measured for f in figures.pick(quantity=chart.x)}
    found = figures.pick(quantity=quantity)
    for series in dict.fromkeys(f.series for f in found if _named(f.series, only)):
        cloud = found.pick(series=series)
        colour = _colour(series.replace(only, "").strip(", "), colours)
        x, y = [over[f.row] for f in cloud], [f.measured for f in cloud]
        axis.plot(x, y, "o", color=colour, markersize=4)


def _legend(axis: Axes, chart: Chart, colours: Colours, given: bool) -> None:
    if chart.kind == "bars":
        for label, colour in colours.items():
            axis.bar([0], [0], color=colour, alpha=0.6, label=label)
        if given:
            axis.bar([0], [0], fill=False, edgecolor="black", label="the paper")
        return
    for label, colour in colours.items():
        style = "o-" if chart.kind == "lines" else "o"
        axis.plot([], [], style, color=colour, markersize=3, label=label)
    if given and chart.kind == "lines":
        axis.plot([], [], ":", color="grey", label="the paper")


def _colour(label: str, colours: Colours) -> str:
    return colours.setdefault(label, f"C{len(colours)}")


def _named(series: str, only: str) -> bool:
    """Tell whether a text is one of the parts of a series' name."""
    return not only or only in series.split(", ")
