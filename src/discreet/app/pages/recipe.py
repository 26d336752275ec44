"""The recipe beside every page: its text, its history, and a way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse

from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk


def router(desk: Desk) -> APIRouter:
    """Answer to what is done to the recipe as a whole."""
    routes = APIRouter()

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
        return "No table is open."
    try:
        recipe = Recipe.load(desk.space.recipe_file)
        recipe.roles.assign([look.name for look in desk.look.seen.columns])
    except BadInput as error:
        return str(error).removeprefix(f"{desk.space.recipe_file}: ")
    return None if recipe.steps else "The recipe has no steps yet: go to Protect."


def _reload() -> HTMLResponse:
    """Let the page show the recipe that there is now."""
    return HTMLResponse("", headers={"HX-Refresh": "true"})
