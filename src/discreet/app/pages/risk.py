"""What the table gives away as it is, and what a run made of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from discreet.app import commands
from discreet.app.pages.data import settle_roles
from discreet.app.pages.result import of_this_table

if TYPE_CHECKING:
    from discreet.app.server import Desk

# Who looks for people, and what they know.
ATTACKERS = {
    "prosecutor": "looks for one person who is known to be in the table",
    "journalist": "looks for anybody, and does not know who is in the table",
    "marketer": "looks for as many as can be found",
}


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/risk")
    def page(request: Request) -> HTMLResponse:
        settle_roles(desk)
        return desk.page("risk.html", "risk", request, **commands.of_risk(desk))

    @routes.get("/risk/figures")
    def figures() -> HTMLResponse:
        figures = _figures(desk)
        if not figures:
            said = "No column is a key yet: give those that others may know the role quasi."
            return desk.part("notice.html", said=said)
        return desk.part("risk_figures.html", **figures)

    return routes


def _figures(desk: Desk) -> dict[str, Any]:
    from discreet.inspection import risk_of

    settle_roles(desk)
    roles = commands.measured_roles(desk.space.recipe)
    if not roles.get("quasi"):
        return {}
    # The whole recipe says more, such as what k counts, but a draft cannot be read as one.
    given: Any = desk.space.recipe_file if commands.ready(desk) else roles
    dialect, engine = desk.space.state["dialect"], desk.look.engine
    name = ("risk", desk.space.text if given is not roles else str(sorted(roles.items())))
    found = desk.look.once(
        name, lambda: risk_of(desk.look.path, given, engine=engine, dialect=dialect)
    )
    return {
        "risk": found,
        "sizes": found.risk["class_sizes"],
        "after": _after(desk, found.risk["class_sizes"].get("k", 0)),
        "attackers": ATTACKERS,
    }


def _after(desk: Desk, k: int) -> dict[str, Any] | None:
    """Return the last release's figures, to set beside those of the table."""
    from discreet.recipe.recipe import content_of

    runs = of_this_table(desk)
    if not runs:
        return None
    result = desk.queue.result(runs[0]["number"])
    assert result is not None
    measured = result["assessment"]["risk"]
    chances = measured.get("attackers", {}).get("after", {})
    sizes = dict(measured.get("class_sizes", {}).get("after", {}))
    if sizes.get("smallest", 0) >= k:
        sizes.setdefault("under_k", 0)
    recipe = content_of(desk.queue.path(runs[0]["number"]) / "recipe.toml")
    keys = recipe["roles"].get("quasi", [])
    return {"run": runs[0]["number"], "attackers": chances, "sizes": sizes, "keys": keys}
