"""What is asked of the release, the steps that do it, and the runs."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w
from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse

from discreet.app.forms import in_short, method_fields, model_fields, read_step
from discreet.app.pages.recipe import problem_of
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk
    from discreet.inspection.proposal import Proposal

_TREATED = ("quasi", "confidential", "insensitive")


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/protect")
    def page(request: Request) -> HTMLResponse:
        return desk.page("protect.html", "protect", request)

    @routes.get("/protect/steps")
    def steps() -> HTMLResponse:
        return desk.part("steps.html", **_steps(desk))

    @routes.post("/protect/propose")
    def propose(
        version: Annotated[int, Form()],
        k: Annotated[int, Form()] = 5,
        l: Annotated[int, Form()] = 1,  # noqa: E741
        blanked: Annotated[float, Form()] = 5.0,
        policy: Annotated[str, Form()] = "",
        keep: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        content, said = _proposed(desk, k, l, blanked / 100, policy, keep or [])
        notice = desk.space.edit(f"steps proposed for k = {k}", lambda recipe: content, version)
        return desk.part("steps.html", **_steps(desk, notice, said))

    @routes.get("/protect/step")
    def one(number: int, method: str = "") -> HTMLResponse:
        return desk.part("step.html", **_form(desk, number, method))

    @routes.post("/protect/step")
    async def save(request: Request) -> HTMLResponse:
        form = await request.form()
        given = {key: [str(value) for value in form.getlist(key)] for key in form}
        number, method = int(given["number"][0]), given["method"][0]
        seen = int(given["version"][0])

        def read(recipe: dict[str, Any]) -> dict[str, Any]:
            steps = recipe.get("steps", [])
            step = read_step(method, given, steps[number] if number < len(steps) else {})
            _check(step, number)
            return dict(step)

        if "more" in given:
            # Another privacy model is to be added: the form comes again, with what it holds.
            return desk.part("step.html", **_form(desk, number, method, read(desk.space.recipe)))

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            now = list(recipe.get("steps", []))
            now[number : number + 1] = [read(recipe)]
            return {**recipe, "steps": now}

        notice = desk.space.edit_as_seen(f"step {number + 1}: {method}", change, seen)
        return desk.part("steps.html", **_steps(desk, notice))

    @routes.post("/protect/remove")
    def remove(number: Annotated[int, Form()], version: Annotated[int, Form()]) -> HTMLResponse:
        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            left = [step for i, step in enumerate(recipe.get("steps", [])) if i != number]
            return {**recipe, "steps": left}

        notice = desk.space.edit_as_seen(f"step {number + 1} removed", change, version)
        return desk.part("steps.html", **_steps(desk, notice))

    @routes.post("/protect/run")
    def run() -> HTMLResponse:
        problem = problem_of(desk)
        if problem is not None:
            raise BadInput(problem)
        desk.queue.add(desk.space.text, "a release", desk.space.current)
        return desk.part("runs.html", **runs_shown(desk))

    @routes.post("/protect/search")
    def search(
        minutes: Annotated[float, Form()] = 1.0, k: Annotated[int, Form()] = 5
    ) -> HTMLResponse:
        if not 0 < minutes <= 24 * 60:
            raise BadInput("a search takes some minutes, and a day at most")
        text = tomli_w.dumps(_searched(desk, k))
        said = f"a search of {minutes:g} min"
        desk.queue.add(text, said, desk.space.current, kind="search", minutes=minutes)
        return desk.part("runs.html", **runs_shown(desk))

    @routes.get("/protect/runs")
    def runs() -> HTMLResponse:
        shown = desk.templates.get_template("runs.html")
        return HTMLResponse(shown.render(**runs_shown(desk)))

    @routes.post("/protect/cancel")
    def cancel(number: Annotated[int, Form()]) -> HTMLResponse:
        desk.queue.cancel(number)
        return desk.part("runs.html", **runs_shown(desk))

    return routes


def _steps(desk: Desk, notice: str | None = None, said: tuple[str, ...] = ()) -> dict[str, Any]:
    from discreet.recipe.policies import shipped
    from discreet.registry import methods

    recipe = desk.space.recipe
    return {
        "steps": [
            {"method": step["method"], "columns": step.get("columns", []), "rest": _rest(step)}
            for step in recipe.get("steps", [])
        ],
        "methods": {name: in_short(name) for name in methods()},
        "policies": shipped(),
        "keys": recipe.get("roles", {}).get("quasi", []),
        "asked": _asked(recipe),
        "version": desk.space.current,
        "notice": notice,
        "said": said,
    }


def _rest(step: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in step.items() if k not in ("method", "columns", "hierarchies")}


def _asked(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return what the recipe asks for, for the fields of the targets."""
    asked: dict[str, Any] = {"k": 5, "l": 1, "blanked": 5, "policy": recipe.get("policy", "")}
    for step in recipe.get("steps", []):
        for model in step.get("privacy", []):
            asked |= {key: model[key] for key in ("k", "l") if key in model}
        if "suppression_limit" in step:
            asked["blanked"] = round(100 * step["suppression_limit"], 6)
    return asked


def _form(
    desk: Desk, number: int, method: str, step: dict[str, Any] | None = None
) -> dict[str, Any]:
    recipe = desk.space.recipe
    steps = recipe.get("steps", [])
    if step is None:
        step = steps[number] if number < len(steps) else {"method": method, "columns": []}
    method = method or step["method"]
    if step["method"] != method:
        step = {"method": method, "columns": step["columns"]}
    roles = recipe.get("roles", {})
    from discreet.generalization.models import MODELS

    return {
        "number": number,
        "step": step,
        "method": method,
        "what": in_short(method),
        "fields": method_fields(method),
        "columns": {role: roles.get(role, []) for role in _TREATED},
        "models": list(MODELS),
        "model_fields": model_fields,
        "version": desk.space.current,
    }


def _check(step: dict[str, Any], number: int) -> None:
    """Refuse a step that cannot be run, in the words of the recipe."""
    from discreet.recipe.recipe import read_step as validated

    try:
        validated(step, number + 1)
    except ValueError as error:
        raise BadInput(str(error)) from None


def _proposed(
    desk: Desk,
    k: int,
    l: int,  # noqa: E741
    blanked: float,
    policy: str,
    keep: list[str],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Propose steps for what is asked, with the recipe's roles."""
    from discreet.inspection.candidates import try_out

    own, recipe = _own_trees(desk), desk.space.recipe
    proposal, choice = try_out(_proposal(desk), desk.look.seen)
    content = tomllib.loads(proposal.text)
    # What else the recipe says stays: pseudonyms, targets, and all that has no field here.
    content = {**recipe, **content, "roles": {**recipe.get("roles", {}), **content["roles"]}}
    for step in content.get("steps", []):
        _ask(step, k, l, blanked, keep)
        for name in step.get("hierarchies", {}):
            # What somebody built is not replaced by what is proposed.
            step["hierarchies"][name] = own.get(name, step["hierarchies"][name])
    content.pop("policy", None)
    if policy:
        content["policy"] = policy
    content = dict(sorted(content.items(), key=lambda one: one[0] in ("roles", "steps")))
    return content, () if choice is None else choice.said


def _searched(desk: Desk, k: int) -> dict[str, Any]:
    """Return what a search may choose within: the recipe's roles and hierarchies, and k."""
    content = _proposal(desk).to_search()
    for name, tree in _own_trees(desk).items():
        if name in content.get("hierarchies", {}):
            content["hierarchies"][name] = tree
    for model in content.get("search", {}).get("privacy", []):
        if "k" in model:
            model["k"] = k
    return content


def _own_trees(desk: Desk) -> dict[str, Any]:
    """Return the hierarchies that the recipe has, by column."""
    from discreet.recipe.recipe import content_of

    steps = content_of(desk.space.recipe_file).get("steps", [])
    return {name: tree for step in steps for name, tree in (step.get("hierarchies") or {}).items()}


def _proposal(desk: Desk) -> Proposal:
    """Propose a recipe for the roles as they are."""
    from discreet.app.pages.data import role_of
    from discreet.inspection.proposal import ANSWERS, propose

    seen, recipe = desk.look.seen, desk.space.recipe
    given = {look.name: role_of(recipe, look.name) for look in seen.columns}
    return propose(seen, {name: role for name, role in given.items() if role in ANSWERS})


def _ask(step: dict[str, Any], k: int, l: int, blanked: float, keep: list[str]) -> None:  # noqa: E741
    """Put what is asked into a step that was proposed."""
    if "k" in step:
        step["k"] = k
    for model in step.get("privacy", []):
        if "k" in model:
            model["k"] = k
        if "l" in model and l > 1:
            model["l"] = l
    if l < 2 and "privacy" in step:
        step["privacy"] = [one for one in step["privacy"] if one["model"] != "l-diversity"]
    if step["method"] == "generalize" and not step.get("local"):
        step["suppression_limit"] = blanked
    held = [name for name in keep if name in step["columns"]]
    if held and step["method"] == "generalize":
        step["levels"] = {**step.get("levels", {}), **dict.fromkeys(held, 0)}
    if held and step["method"] == "local-suppression":
        step["fixed"] = held


def runs_shown(desk: Desk) -> dict[str, Any]:
    """Return the runs as a page shows them."""
    runs = desk.queue.all()
    for run in runs[:20]:
        run["stages"] = desk.queue.progress(run["number"])
        result = desk.queue.result(run["number"])
        run["verdict"] = result["decision"]["verdict"] if result and "decision" in result else None
        run["found"] = len(result["front"]["points"]) if result and "front" in result else None
    return {"runs": runs[:20]}
