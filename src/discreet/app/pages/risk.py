"""What the table gives away as it is, and what a run made of that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from discreet.app import commands
from discreet.app.pages.data import settle_roles
from discreet.app.pages.result import of_this_table
from discreet.app.routes import new_router
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk
    from discreet.inspection.raw import RawRisk

# Who looks for people, and what they know.
ATTACKERS = {
    "prosecutor": "looks for one person who is known to be in the table",
    "journalist": "looks for anybody, and does not know who is in the table",
    "marketer": "looks for as many as can be found",
}


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = new_router()

    @routes.get("/risk")
    def page(request: Request) -> HTMLResponse:
        settle_roles(desk)
        return desk.page("risk.html", "risk", request, **commands.of_risk(desk))

    @routes.get("/risk/figures")
    def figures() -> HTMLResponse:
        template, shown = _shown(desk)
        return desk.part(template, **shown)

    @routes.get("/risk/among")
    def among(version: int) -> Response:
        """Look for the records of the sample among all; nothing is answered until that is done."""
        if version != desk.space.current:
            said = "The recipe was changed meanwhile, in another tab: reload the page."
            return _alone(desk, "notice.html", said=said)
        given, name = _asked(desk, version)
        try:
            found = desk.look.there(("among", *name))
        except BadInput as error:
            # An answer, so that the page does not ask again.
            said = f"These records could not be looked for among all: {error}."
            return _alone(desk, "notice.html", said=said)
        if found is None:
            if not desk.look.making(("among", *name)):
                k = _first(desk, version)[0].risk["class_sizes"].get("k")
                desk.look.beside(("among", *name), lambda: _among(desk, given, k))
            return Response(status_code=204)
        return _alone(desk, "risk_among.html", **found)

    @routes.post("/risk/all")
    def count_all() -> HTMLResponse:
        settle_roles(desk)
        given, name = _asked(desk, desk.space.current)
        if desk.look.there(("all", *name)) is None and not desk.look.making(("all", *name)):
            desk.look.beside(("all", *name), lambda: _counted(desk, desk.look.path, given))
        return figures()

    @routes.get("/risk/all")
    def counted() -> Response:
        """Answer with nothing until every record is counted; the page asks again."""
        _, name = _asked(desk, desk.space.current)
        if desk.look.making(("all", *name)):
            return Response(status_code=204)
        template, shown = _shown(desk)
        return _alone(desk, template, **shown)

    return routes


def _alone(desk: Desk, template: str, **content: Any) -> HTMLResponse:
    """Return what nobody clicked for: without the recipe, which somebody may be writing."""
    return HTMLResponse(desk.templates.get_template(template).render(**content))


def _asked(desk: Desk, version: int) -> tuple[Any, tuple[str, str]]:
    """Return what the risk depends on in a version of the recipe, and the name it is kept under."""
    from discreet.recipe import Recipe

    content = desk.space.content_of(version)
    try:
        return Recipe.from_dict(content), ("risk", desk.space.text_of(version))
    except BadInput:
        given = commands.measured_of_draft(content)
        return given, ("risk", str(given))


def _counted(desk: Desk, table: Any, given: Any) -> RawRisk:
    from discreet.inspection import risk_of

    look = desk.look
    how: dict[str, Any] = {}
    if isinstance(table, Path):
        dialect = desk.space.state["dialect"]
        how = {"engine": look.engine, "memory": look.memory, "dialect": dialect}
    return risk_of(table, given, **how)


def _shown(desk: Desk) -> tuple[str, dict[str, Any]]:
    """Return the template of what is shown, and its content: figures, or what to do first."""
    settle_roles(desk)
    version = desk.space.current
    if not desk.space.content_of(version).get("roles", {}).get("quasi"):
        return "no_keys.html", {}
    _, name = _asked(desk, version)
    found, sample, refused = None, None, None
    try:
        found = desk.look.there(("all", *name))
    except BadInput as error:
        refused = str(error)
    if found is None:
        found, sample = _first(desk, version)
    sizes = found.risk["class_sizes"]
    return "risk_figures.html", {
        "risk": found,
        "sizes": sizes,
        "sample": sample,
        "counting": desk.look.making(("all", *name)),
        "refused": refused,
        "after": _after(desk, sizes.get("k", 0)),
        "attackers": ATTACKERS,
        "version": version,
    }


def _first(desk: Desk, version: int) -> tuple[RawRisk, dict[str, Any] | None]:
    """Return what is measured at first, by a version of the recipe."""
    given, name = _asked(desk, version)
    roles = commands.measured_roles(desk.space.content_of(version))
    found: tuple[RawRisk, dict[str, Any] | None] = desk.look.once(
        name, lambda: _measured(desk, given, roles)
    )
    return found


def _measured(
    desk: Desk, given: Any, roles: Mapping[str, Any]
) -> tuple[RawRisk, dict[str, Any] | None]:
    """Measure the table, or rows that are drawn from it where it is large: then say which."""
    look = desk.look
    by = next((role for role in ("household", "unit") if role in roles), None)
    single = [roles[role] for role in ("weight", "unit", "household") if role in roles]
    columns = list(dict.fromkeys([*roles["quasi"], *roles.get("confidential", []), *single]))
    table, rows = look.drawn(columns, None if by is None else roles[by])
    found = _counted(desk, table, given)
    if not look.sampled:
        return found, None
    if rows is not None:
        for one in found.riskiest or ():
            one["row"] = int(rows[one["row"] - 1]) + 1
    return found, {"of": look.records, "whole": by}


def _among(desk: Desk, given: Any, k: int | None) -> dict[str, Any]:
    """Count how many have the keys of each record of the sample in the whole table."""
    from discreet.app.drawn import sizes_among_all
    from discreet.app.look import SAMPLE
    from discreet.recipe.given import as_roles
    from discreet.recipe.recipe import Recipe

    roles, recipe = as_roles(given)
    rules = recipe or Recipe.model_construct(roles=roles)
    path, memory = desk.look.path, desk.look.memory
    sizes = sizes_among_all(path, roles.quasi, rules.counted, SAMPLE, rules.null_markers, memory)
    asked = {3: "in a class of fewer than 3", 5: "in a class of fewer than 5"}
    asked |= {k: f"in a class of fewer than k = {k}"} if k is not None else {}
    asked |= {2: "alone with their keys"}
    shares = {said: float((sizes < least).mean()) for least, said in sorted(asked.items())}
    return {"shares": shares, "looked": len(sizes), "counts": rules.counted_as}


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
