"""What `inspect` tries before it proposes a recipe: a few ways to treat the keys, or a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.fronts import alternatives, axes, differences, figures, progress
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.inspection import Inspection
    from discreet.inspection.proposal import Proposal


def tried(proposal: Proposal, seen: Inspection) -> tuple[Proposal, dict[str, Any]]:
    """Try a few ways to treat the keys; return also what is to be told."""
    from discreet.inspection.candidates import try_out

    try:
        proposal, choice = try_out(proposal, seen)
    except BadInput as error:
        return proposal, {"said": f"Note: nothing was found: {error}."}
    if choice is None:
        return proposal, {"said": "Nothing was tried: the recipe has no keys to treat."}
    ways = [one.to_dict() | {"taken": one is choice.taken} for one in choice.tried]
    return proposal, {"tried": ways, "said": "\n".join(choice.said)}


def searched(
    proposal: Proposal,
    file: Path,
    dialect: Mapping[str, str | None],
    minutes: float | None,
    evaluations: int | None,
) -> tuple[Proposal, dict[str, Any]]:
    """Search for steps that suit the proposed roles; return also what is to be told.

    Where there is nothing to choose from, the proposal stays as it is.
    """
    from discreet.tuning.search import search

    try:
        with progress(minutes, evaluations) as tell:
            front = search(
                file,
                proposal.to_search(),
                minutes=minutes,
                evaluations=evaluations,
                progress=tell,
                dialect=dialect,
                quick=True,
            )
    except BadInput as error:
        return proposal, {"said": f"Note: no search for steps: {error}."}
    content = front.to_dict()
    best = next(point for point in content["points"] if point["name"] == content["best"])
    found = {
        "evaluations": content["evaluations"],
        "risk": best["risk"],
        "loss": best["loss"],
        "words": best["words"],
    }
    said = (
        f"{content['evaluations']:,} recipes tried; the one written has {figures(content, best)}:"
    )
    said = "\n".join([said, *(f"- {word}" for word in best["words"]), *axes(content)])
    bound = content["risk"]["bound"]
    if bound is not None and best["risk"] > bound:
        said += f"\nNo recipe with risk within {bound:.0%} was found; search longer (--seconds)."
    proposal = proposal.with_steps(front.best.recipe, list(_comments(content, best)))
    return proposal, {"search": found, "said": said}


def _comments(front: Mapping[str, Any], best: Mapping[str, Any]) -> Iterator[str]:
    """Say what the recipe does, what that costs, and what else there is to choose from."""
    done = f"{front['evaluations']} recipes tried, with seed {front['seed']}"
    yield f"Found by a search: {done} (--evaluations {front['evaluations']} gives it again)."
    yield from axes(front)
    yield f"This recipe: {figures(front, best, spread=True)}."
    yield from (f"- {word}" for word in best["words"])
    for one in front["recommended"]:
        if one["name"] == best["name"]:
            yield f"Why: {one['reason']}"
    here = {**best, "name": "this"}
    for number, name in enumerate(alternatives(front)[1:]):
        point = next(point for point in front["points"] if point["name"] == name)
        if not number:
            yield "Others (take the steps out and run `discreet search` for their recipes):"
        yield f"- {figures(front, point)}: {differences(point, here)}"
