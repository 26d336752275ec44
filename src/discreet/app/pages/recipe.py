"""The recipe beside every page: its text, its history, and a way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse

from discreet.app.routes import new_router
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk

_NO_ROLES = "the columns have no roles yet: go to Data"
_NO_STEPS = "the recipe has no steps yet: go to Protect"


def router(desk: Desk) -> APIRouter:
    """Answer to what is done to the recipe as a whole."""
    routes = new_router()

    @routes.get("/")
    def start() -> RedirectResponse:
        return RedirectResponse(f"/{desk.space.stage or 'data'}")

    @routes.post("/recipe/undo")
    def undo() -> HTMLResponse:
        desk.space.undo()
        return _reload()

    @routes.post("/recipe/redo")
    def redo() -> HTMLResponse:
        desk.space.redo()
        return _reload()

    @routes.post("/recipe/take")
    def take(number: Annotated[int, Form()]) -> HTMLResponse:
        desk.space.take(number)
        return _reload()

    @routes.post("/recipe/name")
    def name(number: Annotated[int, Form()], name: Annotated[str, Form()]) -> HTMLResponse:
        desk.space.name(number, name)
        return _reload()

    @routes.post("/recipe/text")
    def text(text: Annotated[str, Form()], version: Annotated[int, Form()]) -> HTMLResponse:
        notice = desk.space.replace(text.replace("\r\n", "\n"), "edited as text", version)
        if notice is None:
            return _reload()
        return desk.part("notice.html", said=notice)

    @routes.get("/recipe/problem")
    def problem() -> HTMLResponse:
        said = problem_of(desk)
        return HTMLResponse(desk.templates.get_template("problem.html").render(said=said))

    return routes


def problem_of(desk: Desk) -> str | None:
    """Say what keeps the recipe from being run, if anything does."""
    from discreet.recipe import Recipe

    if desk.space.input is None:
        return "No table is open"
    if not desk.space.recipe:
        return _NO_ROLES
    try:
        recipe = Recipe.load(desk.space.checked_file)
        recipe.roles.assign([look.name for look in desk.look.seen.columns])
    except BadInput as error:
        said = str(error).removeprefix(str(desk.space.recipe_file)).lstrip(":, ")
        # Before there is any step, that none treats the first key is no news.
        bare = "no step treats" in said and not desk.space.recipe.get("steps")
        return _NO_STEPS if bare else said
    return None if recipe.steps else _NO_STEPS


def _reload() -> HTMLResponse:
    """Let the page show the recipe that there is now."""
    return HTMLResponse("", headers={"HX-Refresh": "true"})
