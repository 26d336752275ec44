"""What a search found, told in a terminal in at most thirty lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

# Alternatives told, the recommended one included, and lines for what each does to the columns.
FEWEST, MOST = 3, 5
_LINES = {True: 3, False: 2}
_RISKS = {
    "informed_linkage": "records that an intruder who knows the recipe is expected to find",
    "score": "DR, disclosure risk as the score has it",
    "normalized_score": "DR, disclosure risk as the score has it",
}
_LOSSES = {
    "information_loss": "information lost, as a mean over the columns",
    "score": "IL, information loss as the score has it",
    "normalized_score": "IL, information loss as the score has it",
}


def told(front: Mapping[str, Any], width: int = 80) -> list[str]:
    """Tell a front, as `Front.to_dict` has it: the alternatives, and what it takes to go further.

    Examples
    --------
    >>> point = {"name": "01", "risk": 0.031, "loss": 0.2, "words": ["age in 10-year groups"]}
    >>> front = {
    ...     "risk": {"name": "informed_linkage"}, "loss": {"name": "information_loss"},
    ...     "points": [point], "best": "01", "recommended": [], "further": [],
    ... }
    >>> for line in told(front):
    ...     print(line)
    Risk: records that an intruder who knows the recipe is expected to find.
    Loss: information lost, as a mean over the columns.
    <BLANKLINE>
    01, recommended: risk 3.1 %, loss 20 %
        age in 10-year groups
    """
    risk, loss = front["risk"]["name"], front["loss"]["name"]
    lines = [f"Risk: {_RISKS.get(risk, risk)}.", f"Loss: {_LOSSES.get(loss, loss)}.", ""]
    points = {point["name"]: point for point in front["points"]}
    best = points[front["best"]]
    for name in alternatives(front):
        lines += _alternative(front, points[name], best, width)
    if front["further"]:
        lines += ["", *_wrapped(f"To go further: {' '.join(front['further'])}", width, 4)]
    return lines


def alternatives(front: Mapping[str, Any]) -> list[str]:
    """Name the points to tell of: the best, others that are recommended, and some between them."""
    names = [point["name"] for point in front["points"]]
    chosen = [front["best"], *(one["name"] for one in front["recommended"])]
    chosen = list(dict.fromkeys(chosen))[:MOST]
    while len(chosen) < min(FEWEST, len(names)):
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
    kinds = ["recommended"] * first + [one["kind"] for one in named]
    yield f"{', '.join([point['name'], *kinds])}: {figures(front, point)}"
    if first:
        for one in named[:1]:
            yield from _wrapped(one["reason"], width, 2, "    ")
    words = point["words"]
    other = words if first else [word for word in words if word not in best["words"]]
    start = "" if len(other) == len(words) else f"as {best['name']}, but "
    # What is left out of a point tells of columns that the other one has words for.
    said = ", ".join(other) or "the same with less done"
    yield from _wrapped(start + said, width, _LINES[first], "    ")


def figures(front: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    """Say the risk and the loss of a point in plain figures.

    Examples
    --------
    >>> axes = {"risk": {"name": "informed_linkage"}, "loss": {"name": "il1s"}}
    >>> figures(axes, {"risk": 0.0312, "loss": 0.5, "spread": {"risk": [0.03, 0.04]}})
    'risk 3.1 % (3 to 4 %), loss 0.5'
    """
    shares = {"risk": ("informed_linkage",), "loss": ("information_loss",)}
    said = []
    for axis, names in shares.items():
        low, high = point.get("spread", {}).get(axis) or (None, None)
        if front[axis]["name"] not in names:
            said.append(f"{axis} {point[axis]:.3g}")
            continue
        one = f"{axis} {_percent(point[axis])} %"
        if low is not None and _percent(low) != _percent(high):
            one += f" ({_percent(low)} to {_percent(high)} %)"
        said.append(one)
    return ", ".join(said)


def _percent(share: float) -> str:
    percent = 100 * share
    if 0 < percent < 0.01:
        return "below 0.01"
    return f"{percent:.0f}" if percent >= 10 or not percent else f"{percent:.2g}"


def _wrapped(text: str, width: int, lines: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        max_lines=lines,
        placeholder=" ...",
    )
