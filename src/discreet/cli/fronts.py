"""What a search found, told in a terminal in at most thirty lines."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

from discreet.progress import progress_line

if TYPE_CHECKING:
    from discreet.tuning.trials import Progress

# Recipes that are told of.
SHOWN = 4
# Lines for all that is told here; those of the command come on top.
LINES = 25
# What is told beside the recommended recipe, until it fits: how many others, the lines for what
# each of them does, and sentences about going further.
_SHORTER = ((3, 2, 2), (3, 2, 1), (3, 1, 1), (2, 1, 1), (3, 1, 0), (2, 1, 0), (1, 1, 0))
# Columns that are named where an intruder knows many.
_NAMED = 8
_AXES = {
    "informed_linkage": "share of the records that an intruder is expected to find",
    "information_loss": "share of the information that is lost, as a mean over the columns",
}


def told(front: Mapping[str, Any], width: int = 80, most: int = LINES) -> list[str]:
    """Tell a front, as `Front.to_dict` has it: which to take, others, how to go further.

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
    Recommended: recipe 01
        risk 3.1 %, loss 0.2
        - age in 10-year groups
    """
    start = [line for axis in axes(front) for line in _wrapped(axis, width, 3, hang="  ")]
    start += ["", *_recommended(front, width, most - len(start) - 2)]
    for others, lines, more in _SHORTER:
        rest = [*_others(front, width, others, lines), *_further(front, width, more)]
        if len(start) + len(rest) <= most:
            return start + rest
    return start


def _recommended(front: Mapping[str, Any], width: int, most: int) -> list[str]:
    """Say in full what the recommended recipe does, what it costs, and why it is that one."""
    best = _best(front)
    named = [one for one in front["recommended"] if one["name"] == best["name"]]
    start = ", ".join([f"Recommended: recipe {best['name']}", *(one["kind"] for one in named)])
    lines = [start, f"    {figures(front, best, spread=True)}"]
    why = [line for one in named for line in _wrapped(f"Why: {one['reason']}", width, 3, "    ")]
    free = most - len(lines) - len(why)
    done = [
        part for w in best["words"] for part in _wrapped(f"- {w}", width, most, "    ", "      ")
    ]
    if len(done) > free:
        done = _wrapped("; ".join(best["words"]), width, most, "    ")
    if len(done) > free:
        done = [*done[: free - 1], "    ... (the page has all)"]
    return lines + done + why


def _others(front: Mapping[str, Any], width: int, count: int, lines: int) -> list[str]:
    """Say what some other recipes are for, their figures and where they differ."""
    points, best = {point["name"]: point for point in front["points"]}, _best(front)
    said = []
    for name in alternatives(front)[1 : count + 1]:
        kinds = [one["kind"] for one in front["recommended"] if one["name"] == name]
        said.append(f"{', '.join([f'Or {name}', *kinds])}: {figures(front, points[name])}")
        other = _shortened(differences(points[name], best), [*best.get("columns", ())])
        said += _wrapped(other, width, lines, "    ")
    return said


def _further(front: Mapping[str, Any], width: int, count: int) -> list[str]:
    return [line for one in front["further"][:count] for line in _wrapped(one, width, 3, hang="  ")]


def _best(front: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(p for p in front["points"] if p["name"] == front["best"])
    return found


def axes(front: Mapping[str, Any]) -> list[str]:
    """Say what risk and loss are."""
    from discreet.report.page import named

    risk, loss = (_AXES.get(name, name) for name in (front[a]["name"] for a in ("risk", "loss")))
    # Rows that are seen to belong together are found together.
    risk = risk.replace("records", front.get("found", "records"))
    if front.get("known"):
        risk += f" who knows the recipe and the values of {named(front['known'], _NAMED)}"
    return [f"Risk: {risk}.", f"Loss: {loss}."]


def alternatives(front: Mapping[str, Any]) -> list[str]:
    """Name the recipes to tell of: the best, others that are recommended, and some between them."""
    names = [point["name"] for point in front["points"]]
    chosen = [front["best"], *(one["name"] for one in front["recommended"])]
    chosen = list(dict.fromkeys(chosen))[:SHOWN]
    while len(chosen) < min(SHOWN, len(names)):
        # The one that is farthest along the front from those chosen.
        taken = [names.index(name) for name in chosen]
        rest = [place for place in range(len(names)) if place not in taken]
        chosen.append(names[max(rest, key=lambda p: min(abs(p - other) for other in taken))])
    return chosen


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


def _shortened(text: str, names: Sequence[str]) -> str:
    """Count the names of a long list, so that what is done to them has its place.

    Examples
    --------
    >>> names = ["age", "sex", "job", "pay", "wage"]
    >>> _shortened("as 02, but age, sex, job, pay and wage kept", names)
    'as 02, but age, sex and 3 more kept'
    """
    if not names:
        return text
    name = "|".join(re.escape(one) for one in sorted(names, key=len, reverse=True))
    few = rf"\b({name}), ({name})((?:, (?:{name}))*) and (?:{name}) (?!and )"

    def counted(found: re.Match[str]) -> str:
        more = len(re.findall(rf", (?:{name})", found[3])) + 1
        return f"{found[1]}, {found[2]} and {more} more " if more > 1 else found[0]

    return re.sub(few, counted, text)


def _wrapped(
    text: str, width: int, lines: int, indent: str = "", hang: str | None = None
) -> list[str]:
    """Break text into some lines, and no figure from its unit."""
    wrapped = textwrap.wrap(
        text.replace(" %", "\N{NO-BREAK SPACE}%"),
        width,
        initial_indent=indent,
        subsequent_indent=indent if hang is None else hang,
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
