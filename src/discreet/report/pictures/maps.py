"""Several releases on one map: what each risks, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.report.pictures.distributions import WIDE, room
from discreet.report.pictures.drawing import DARK, Picture, clipped, draw, legend, number


def risk_utility(
    releases: Sequence[Mapping[str, Any]], risk: str = "risk", loss: str = "loss"
) -> Picture:
    """Draw releases by risk and loss, those that no other beats in both marked.

    Parameters
    ----------
    releases : list of dict
        `name`, `risk`, `loss`, and `dominated`: True where another is at least as good in both
        and better in one.
    risk, loss : str
        What the two are, with their units.

    Examples
    --------
    >>> two = [{"name": "a", "risk": 0.1, "loss": 0.2, "dominated": False},
    ...        {"name": "b", "risk": 0.3, "loss": 0.2, "dominated": True}]
    >>> print(risk_utility(two).alt)
    loss and risk of 2 releases: a: 0.2 and 0.1, not dominated; b: 0.2 and 0.3, dominated.
    """
    front = sorted((r["loss"], r["risk"]) for r in releases if not r["dominated"])
    beaten = [(r["loss"], r["risk"]) for r in releases if r["dominated"]]

    def paint(canvas: Any) -> None:
        axis = room(canvas, high=3.4)
        if front:
            axis.plot(
                *zip(*front, strict=True),
                color=DARK,
                marker="o",
                markersize=7,
                linewidth=0.8,
                linestyle="--",
                label="not dominated",
            )
        if beaten:
            axis.plot(
                *zip(*beaten, strict=True),
                color="#7b8494",
                marker="s",
                markersize=6,
                markerfacecolor="white",
                linestyle="none",
                label="dominated",
            )
        axis.margins(0.12)
        axis.set(xlabel=loss, ylabel=risk)
        right = axis.get_xlim()[1]
        for one in releases:
            left = one["loss"] > 0.75 * right
            axis.annotate(
                clipped(one["name"]),
                (one["loss"], one["risk"]),
                xytext=(-7 if left else 7, 5),
                ha="right" if left else "left",
                textcoords="offset points",
            )
        legend(axis)

    told = [
        f"{clipped(r['name'])}: {number(r['loss'])} and {number(r['risk'])}, "
        f"{'dominated' if r['dominated'] else 'not dominated'}"
        for r in releases
    ]
    return draw(
        paint,
        (WIDE, 3.4),
        "Risk and loss of the compared releases",
        f"{loss} and {risk} of {len(releases)} releases: {'; '.join(told)}.",
        "Lower is safer, further left keeps more information; a hollow square is dominated: "
        "another release is at least as good in both and better in one.",
    )
