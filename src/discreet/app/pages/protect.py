"""What is asked of the release, the steps that do it, and the runs."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tomli_w
from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse

from discreet.app import commands
from discreet.app.forms import in_short, method_fields, model_fields, read_step, toml, whole
from discreet.app.pages.recipe import problem_of
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk
    from discreet.inspection.candidates import Asked
    from discreet.inspection.proposal import Proposal

# Fields of a step that are shown at once; there may be more that are needed or set.
_SHOWN = 5
_TREATED = ("quasi", "confidential", "insensitive")


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/protect")
    def page(request: Request) -> HTMLResponse:
        return desk.page("protect.html", "protect", request, **commands.of_protect(desk))

    @routes.get("/protect/steps")
    def steps() -> HTMLResponse:
        return desk.part("steps.html", **_steps(desk))

    @routes.post("/protect/propose")
    def propose(
        version: Annotated[int, Form()],
        k: Annotated[int, Form()] = 5,
        l: Annotated[int, Form()] = 1,  # noqa: E741
        blanked: Annotated[float, Form()] = 5.0,
        risk: Annotated[str, Form()] = "",
        policy: Annotated[str, Form()] = "",
        policy_file: Annotated[str, Form()] = "",
        keep: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        from discreet.inspection.candidates import Asked

        if not (2 <= k <= 100_000 and 1 <= l <= 1000 and 0 <= blanked <= 100):
            raise BadInput("k is 2 to 100,000, l is 1 to 1,000, and blanked 0 to 100 percent")
        if set(keep or []) - set(desk.space.recipe.get("roles", {}).get("quasi", [])):
            raise BadInput("keep: only keys can be kept as they are")
        needed = max(k, _k_for(risk))
        asked = Asked(needed, l, blanked / 100, keep or [])
        content, said = _proposed(desk, asked, _policy(desk, policy, policy_file))
        if needed > k:
            said = (f"A largest chance of {risk} % needs k = {needed}.", *said)
        notice = desk.space.edit(
            f"steps proposed for k = {needed}", lambda recipe: content, version
        )
        return desk.part("steps.html", **_steps(desk, notice, said))

    @routes.get("/protect/step")
    def one(number: int, method: str = "") -> HTMLResponse:
        return desk.part("step.html", **_form(desk, number, method))

    @routes.post("/protect/step")
    async def save(request: Request) -> HTMLResponse:
        form = await request.form()
        given = {key: [str(value) for value in form.getlist(key)] for key in form}
        number, seen = (whole(one, given.get(one, [""])[0]) for one in ("number", "version"))
        method = given.get("method", [""])[0]

        def read(recipe: dict[str, Any]) -> dict[str, Any]:
            return dict(read_step(method, given, _step_at(recipe, number, new=True) or {}))

        if "more" in given:
            # A privacy model was chosen: the form comes again, with what it holds and its fields.
            return desk.part("step.html", **_form(desk, number, method, read(desk.space.recipe)))

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            now, step = list(recipe.get("steps", [])), read(recipe)
            _check(step, number)
            now[number : number + 1] = [step]
            return {**recipe, "steps": now}

        notice = desk.space.edit_as_seen(f"step {number + 1}: {method}", change, seen)
        return desk.part("steps.html", **_steps(desk, notice))

    @routes.post("/protect/remove")
    def remove(number: Annotated[int, Form()], version: Annotated[int, Form()]) -> HTMLResponse:
        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            _step_at(recipe, number)
            left = [step for i, step in enumerate(recipe.get("steps", [])) if i != number]
            return {**recipe, "steps": left}

        notice = desk.space.edit_as_seen(f"step {number + 1} removed", change, version)
        return desk.part("steps.html", **_steps(desk, notice))

    @routes.post("/protect/move")
    def move(
        number: Annotated[int, Form()],
        version: Annotated[int, Form()],
        by: Annotated[Literal["-1", "1"], Form()],
    ) -> HTMLResponse:
        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            steps, to = list(recipe.get("steps", [])), number + int(by)
            if not (0 <= number < len(steps) and 0 <= to < len(steps)):
                raise BadInput("the step cannot go further")
            steps[number], steps[to] = steps[to], steps[number]
            return {**recipe, "steps": steps}

        said = f"step {number + 1} {'later' if by == '1' else 'earlier'}"
        notice = desk.space.edit_as_seen(said, change, version)
        return desk.part("steps.html", **_steps(desk, notice))

    @routes.post("/protect/run")
    def run() -> HTMLResponse:
        problem = problem_of(desk)
        if problem is not None:
            raise BadInput(problem)
        desk.queue.add(desk.space.text, _in_short(desk), desk.space.current)
        return desk.part("runs.html", **runs_shown(desk))

    @routes.post("/protect/search")
    def search(
        minutes: Annotated[float, Form()] = 1.0,
        k: Annotated[int, Form()] = 5,
        risk: Annotated[str, Form()] = "",
    ) -> HTMLResponse:
        if not 0 < minutes <= 24 * 60:
            raise BadInput("a search takes some minutes, and a day at most")
        text = tomli_w.dumps(_searched(desk, k, _share(risk)))
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
            {
                "method": step["method"],
                "columns": step.get("columns", []),
                "rest": _rest(step),
                "what": in_short(step["method"]) if step["method"] in methods() else "",
            }
            for step in recipe.get("steps", [])
        ],
        "methods": {name: in_short(name) for name in methods()},
        "policies": shipped(),
        "keys": recipe.get("roles", {}).get("quasi", []),
        "asked": _asked(recipe),
        "version": desk.space.current,
        "notice": notice,
        "said": _parted(said),
    }


def _parted(said: Sequence[str]) -> dict[str, Any] | None:
    """Part what a proposal says: before the ways that were tried, these, and after them."""
    if not said:
        return None
    ways = [i for i, line in enumerate(said) if line.startswith("- ")] or [len(said)]
    return {
        "before": " ".join(said[: ways[0]]),
        "ways": [
            (line.removeprefix("- ").removesuffix(" <- taken"), line.endswith(" <- taken"))
            for line in said
            if line.startswith("- ")
        ],
        "after": " ".join(said[ways[-1] + 1 :]),
    }


def _rest(step: dict[str, Any]) -> dict[str, str]:
    """Return a step's parameters as a recipe writes them; privacy models as people name them."""
    shown = {}
    for name, value in step.items():
        if name == "privacy":
            shown[name] = "; ".join(_model(one) for one in value)
        elif name not in ("method", "columns", "hierarchies"):
            shown[name] = toml(value)
    return shown


def _model(model: dict[str, Any]) -> str:
    given = ", ".join(f"{k} = {v}" for k, v in model.items() if k != "model")
    return f"{model.get('model')} ({given})"


def _asked(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return what the recipe asks for, for the fields of the targets."""
    policy = recipe.get("policy", "")
    asked: dict[str, Any] = {"k": 5, "l": 1, "blanked": 5, "keep": []}
    asked["policy"] = policy.get("name", "") if isinstance(policy, dict) else policy
    for step in recipe.get("steps", []):
        for model in step.get("privacy", []):
            asked |= {key: model[key] for key in ("k", "l") if key in model}
        if "suppression_limit" in step:
            asked["blanked"] = round(100 * step["suppression_limit"], 6)
        if step.get("privacy") or step["method"] == "local-suppression":
            levels = step.get("levels", {})
            asked["keep"] += [name for name in levels if levels[name] == 0]
            asked["keep"] += step.get("fixed", [])
    return asked


def _share(percent: str) -> float | None:
    """Read a chance in percent; none where nothing is asked."""
    if not percent.strip():
        return None
    try:
        share = float(percent.replace(",", ".")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise BadInput(f"risk: '{percent}' is not a chance in percent, such as 9")
    return share


def _k_for(percent: str) -> int:
    """Return the k that keeps everybody's chance to be found within a bound."""
    share = _share(percent)
    return 2 if share is None else max(2, math.ceil(1 / share - 1e-9))


def _policy(desk: Desk, name: str, file: str) -> Any:
    """Return what the recipe says of its policy: a shipped one, or a file within the folders."""
    from discreet.recipe.policies import shipped

    before = desk.space.recipe.get("policy", "")
    if file.strip():
        path = desk.folders.find(file.strip())
        if not path.is_file():
            raise BadInput(f"policy_file: '{path.name}' does not exist")
        name = str(path)
    elif name and name not in shipped():
        raise BadInput(f"there is no policy '{name}'")
    # What its rules need to know beside the release stays.
    return before | {"name": name} if isinstance(before, dict) and name else name


def _in_short(desk: Desk) -> str:
    """Name a run by the version's own name, or by what its steps do."""
    state = desk.space.state
    own = next((v["name"] for v in state["versions"] if v["number"] == state["current"]), None)
    if own:
        return str(own)
    recipe = desk.space.recipe
    found = ", ".join(dict.fromkeys(step["method"] for step in recipe["steps"]))
    sizes = [m["k"] for step in recipe["steps"] for m in step.get("privacy", []) if "k" in m]
    return found + (f", k = {sizes[0]}" if sizes else "")


def _step_at(recipe: dict[str, Any], number: int, new: bool = False) -> dict[str, Any] | None:
    """Return a step of a recipe; none for the place after the last, where a `new` one goes."""
    steps = recipe.get("steps", [])
    if not 0 <= number < len(steps) + new:
        raise BadInput(f"the recipe has no step {number + 1}")
    return dict(steps[number]) if number < len(steps) else None


def _form(
    desk: Desk, number: int, method: str, step: dict[str, Any] | None = None
) -> dict[str, Any]:
    recipe = desk.space.recipe
    if step is None:
        step = _step_at(recipe, number, new=bool(method)) or {"method": method, "columns": []}
    method = method or step["method"]
    if step["method"] != method:
        step = {"method": method, "columns": step.get("columns", [])}
    roles = recipe.get("roles", {})
    from discreet.generalization.models import MODELS

    return {
        "number": number,
        "step": step,
        "method": method,
        "what": in_short(method),
        **_sorted(method, step),
        "columns": {role: roles.get(role, []) for role in _TREATED},
        "models": list(MODELS),
        "model_fields": model_fields,
        "version": desk.space.current,
    }


def _sorted(method: str, step: dict[str, Any]) -> dict[str, Any]:
    """Part the fields of a step: those that are needed or set, and the first of the others."""
    fields = method_fields(method)
    first = [
        one for one in fields if one.needed or one.name in step or one.kind in ("models", "link")
    ]
    for one in fields:
        if len(first) < _SHOWN and one not in first:
            first.append(one)
    shown = [one for one in fields if one in first]
    return {"fields": shown, "more": [one for one in fields if one not in first]}


def _check(step: dict[str, Any], number: int) -> None:
    """Refuse a step that cannot be run, in the words of the recipe."""
    from discreet.recipe.recipe import read_step as validated

    try:
        validated(step, number + 1)
    except ValueError as error:
        raise BadInput(str(error)) from None


def _proposed(desk: Desk, asked: Asked, policy: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Propose steps for what is asked, with the recipe's roles and hierarchies."""
    from discreet.app.pages.data import role_of
    from discreet.generalization import Hierarchy
    from discreet.inspection.candidates import try_out

    own, recipe = _own_trees(desk), desk.space.recipe
    proposal = _proposal(desk)
    trees = proposal.hierarchies
    if asked.keep and set(asked.keep) >= set(trees):
        raise BadInput("all keys are to be kept as they are; leave one to be treated")
    # What somebody built is not replaced by what is proposed.
    built = {name: Hierarchy.from_spec(own[name]) for name in trees if name in own}
    proposal, choice = try_out(replace(proposal, hierarchies=trees | built), desk.look.seen, asked)
    if trees and choice is None:
        raise BadInput(
            "no way was found that keeps all that is asked; ask for less, let more be blanked, or "
            "keep fewer columns as they are"
        )
    found = tomllib.loads(proposal.text)
    # What else the recipe says stays: pseudonyms, targets, and all that has no field here.
    content = {**recipe, **found, "roles": {**recipe.get("roles", {}), **found["roles"]}}
    if choice is None:
        for step in content.get("steps", []):
            step |= {"k": asked.k} if "k" in step else {}
    content.pop("policy", None)
    if policy:
        content["policy"] = policy
    content = dict(sorted(content.items(), key=lambda one: one[0] in ("roles", "steps")))
    gone = [
        f"{name} is dropped: {guess.reason}."
        for name, guess in proposal.guesses.items()
        if guess.role == "drop" and role_of(recipe, name) != "drop"
    ]
    return content, (*(() if choice is None else choice.said), *gone)


def _searched(desk: Desk, k: int, risk: float | None = None) -> dict[str, Any]:
    """Return what a search may choose within: the recipe's roles and hierarchies, and k."""
    content = _proposal(desk).to_search()
    for name, tree in _own_trees(desk).items():
        if name in content.get("hierarchies", {}):
            content["hierarchies"][name] = tree
    for model in content.get("search", {}).get("privacy", []):
        if "k" in model:
            model["k"] = k
    if risk is not None:
        content.setdefault("search", {})["risk"] = f"linkage <= {risk:g}"
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


def runs_shown(desk: Desk) -> dict[str, Any]:
    """Return the runs as a page shows them."""
    runs = desk.queue.all()
    for run in runs[:20]:
        run["stages"] = desk.queue.progress(run["number"])
        result = desk.queue.result(run["number"])
        run["verdict"] = result["decision"]["verdict"] if result and "decision" in result else None
        run["found"] = len(result["front"]["points"]) if result and "front" in result else None
    return {"runs": runs[:20]}
