"""What a search found, told in a terminal in at most thirty lines."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from discreet.tuning.trials import Progress

# Points that are told of, and the lines that are spent on what each does to the columns.
SHOWN = 4
# Columns that are named where an intruder knows many.
_NAMED = 8
_WORDS = {True: 3, False: 2}
_AXES = {
    "informed_linkage": "share of the records that an intruder is expected to find",
    "information_loss": "share of the information that is lost, as a mean over the columns",
}


def told(front: Mapping[str, Any], width: int = 80) -> list[str]:
    """Tell a front, as `Front.to_dict` has it: the alternatives, and what it takes to go further.

    Examples
    --------
    >>> point = {"name": "01", "risk": 0.031, "loss": 0.2, "words": ["age in 10-year groups"]}
    >>> front = {
    ...     "risk": {"name": "informed_linkage", "unit": "share"},
    ...     "loss": {"name": "information_loss", "unit": ""},
    ...     "points": [point], "best": "01", "recommended": [], "further": [],
    ... }
    >>> for line in told(front):
    ...     print(line)
    Risk: share of the records that an intruder is expected to find.
    Loss: share of the information that is lost, as a mean over the columns.
    <BLANKLINE>
    Recommended: 01
        risk 3.1 %, loss 0.2
        age in 10-year groups
    """
    lines = [*axes(front), ""]
    points = {point["name"]: point for point in front["points"]}
    best = points[front["best"]]
    for name in alternatives(front):
        lines += _alternative(front, points[name], best, width)
    if front["further"]:
        lines += ["", "To go further:"]
    for one in front["further"][:2]:
        lines += _wrapped(one, width, 2, "    ")
    return lines


def axes(front: Mapping[str, Any]) -> list[str]:
    """Say what risk and loss are."""
    risk, loss = (_AXES.get(name, name) for name in (front[a]["name"] for a in ("risk", "loss")))
    if front.get("known"):
        risk += f" who knows the recipe and the values of {_some(front['known'])}"
    return [f"Risk: {risk}.", f"Loss: {loss}."]


def _some(names: Sequence[str]) -> str:
    """List a few names, and say how many more there are."""
    more = len(names) - _NAMED
    shown = [*names[:_NAMED], f"{more} more"] if more > 1 else list(names)
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def alternatives(front: Mapping[str, Any]) -> list[str]:
    """Name the points to tell of: the best, others that are recommended, and some between them."""
    names = [point["name"] for point in front["points"]]
    chosen = [front["best"], *(one["name"] for one in front["recommended"])]
    chosen = list(dict.fromkeys(chosen))[:SHOWN]
    while len(chosen) < min(SHOWN, len(names)):
        # The one that is farthest along the front from those chosen.
        taken = [names.index(name) for name in chosen]
        rest = [place for place in range(len(names)) if place not in taken]
        chosen.append(names[max(rest, key=lambda p: min(abs(p - other) for other in taken))])
    return chosen


def _alternative(
    front: Mapping[str, Any], point: Mapping[str, Any], best: Mapping[str, Any], width: int
) -> Iterator[str]:
    """Say what a point is for, its figures and what it does; of others, where they differ."""
    first = point is best
    named = [one for one in front["recommended"] if one["name"] == point["name"]]
    start = f"{'Recommended:' if first else 'Or'} {point['name']}"
    start = ", ".join([start, *(one["kind"] for one in named)])
    if first:
        yield start
        yield f"    {figures(front, point, spread=True)}"
    else:
        yield f"{start}: {figures(front, point)}"
    yield from _wrapped(differences(point, best), width, _WORDS[first], "    ")
    if first and named:
        yield from _wrapped(f"Why: {named[0]['reason']}", width, 2, "    ")


def figures(front: Mapping[str, Any], point: Mapping[str, Any], spread: bool = False) -> str:
    """Say the risk and the loss of a point in plain figures, or with their spread over seeds.

    Examples
    --------
    >>> axes = {"risk": {"unit": "share"}, "loss": {"unit": ""}}
    >>> figures(axes, {"risk": 0.0312, "loss": 0.5, "spread": {"risk": [0.03, 0.04]}}, True)
    'risk 3.1 % (3 to 4 %), loss 0.5'
    """
    said = []
    for axis in ("risk", "loss"):
        scale, unit = (100, " %") if front[axis].get("unit") == "share" else (1, "")
        one = f"{axis} {_plain(scale * point[axis])}{unit}"
        ends = [_plain(scale * value) for value in point.get("spread", {}).get(axis, ())]
        if spread and len(set(ends)) > 1:
            one += f" ({' to '.join(ends)}{unit})"
        said.append(one)
    return ", ".join(said)


def _plain(value: float) -> str:
    """Write a number with two digits that count, and no more than people read."""
    if 0 < value < 0.001:
        return "below 0.001"
    return f"{value:.0f}" if value >= 100 else f"{float(f'{value:.2g}'):g}"


def differences(point: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    """Say what a point does, and of most points only what they do otherwise than the best one.

    Examples
    --------
    >>> best = {"name": "02", "words": ["age kept", "sex kept"]}
    >>> differences({"name": "03", "words": ["age dropped", "sex kept"]}, best)
    'as 02, but age dropped'
    """
    words = point["words"]
    other = [word for word in words if point is best or word not in best["words"]]
    start = "" if len(other) == len(words) else f"as {best['name']}, but "
    return start + (", ".join(other) or "with less done")


def _wrapped(text: str, width: int, lines: int, indent: str = "") -> list[str]:
    """Break text into some lines, and no figure from its unit."""
    wrapped = textwrap.wrap(
        text.replace(" %", "\N{NO-BREAK SPACE}%"),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        max_lines=lines,
        placeholder=" ...",
    )
    return [line.replace("\N{NO-BREAK SPACE}%", " %") for line in wrapped]


@contextmanager
def progress(
    minutes: float | None, evaluations: int | None
) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far the search is and the best so far, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    with Console(stderr=True).status("reading the table ...") as status:
        yield lambda so_far: status.update(progress_line(so_far, minutes, evaluations))


def progress_line(so_far: Progress, minutes: float | None, evaluations: int | None) -> str:
    """Say how far a search is."""
    of = "" if evaluations is None else f" of {evaluations:,}"
    limit = "" if minutes is None else f" of {60 * minutes:.0f}"
    tried = f"{so_far.evaluations:,}{of} tried, {so_far.seconds:.0f}{limit} s"
    if so_far.doing != "searching":
        return f"{tried}; {so_far.doing}"
    best = so_far.best
    found = "" if best is None else f"; best risk {best.risk:.3g}, loss {best.loss:.3g}"
    return f"{tried}{found} (Ctrl-C ends it)"
