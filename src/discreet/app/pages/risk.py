"""What the table gives away as it is, and what a run made of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from discreet.app.pages.data import settle_roles
from discreet.app.pages.result import finished

if TYPE_CHECKING:
    from discreet.app.server import Desk

_MEASURED = ("quasi", "confidential", "weight", "unit", "household")


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/risk")
    def page(request: Request) -> HTMLResponse:
        return desk.page("risk.html", "risk", request)

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
    recipe = desk.space.recipe
    roles = {key: value for key, value in recipe.get("roles", {}).items() if key in _MEASURED}
    if not roles.get("quasi"):
        return {}
    dialect = desk.space.state["dialect"]
    name = ("risk", str(sorted(roles.items())))
    engine = desk.look.engine
    found = desk.look.once(
        name, lambda: risk_of(desk.look.path, roles, engine=engine, dialect=dialect)
    )
    return {"risk": found, "sizes": found.risk["class_sizes"], "after": _after(desk)}


def _after(desk: Desk) -> dict[str, Any] | None:
    """Return the last release's figures, to set beside those of the table."""
    runs = finished(desk)
    if not runs:
        return None
    result = desk.queue.result(runs[0]["number"])
    assert result is not None
    measured = result["assessment"]["risk"]
    chances = measured.get("attackers", {}).get("after", {})
    sizes = measured.get("class_sizes", {}).get("after", {})
    return {"run": runs[0]["number"], "attackers": chances, "sizes": sizes}
