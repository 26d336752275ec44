"""What is asked of the release, the steps that do it, and the runs."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tomli_w
from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from discreet.app.forms import in_short, method_fields, model_fields, read_step, toml, whole
from discreet.app.pages.recipe import problem_of
from discreet.app.pages.result import measured_of
from discreet.app.routes import new_router
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk
    from discreet.inspection.candidates import Asked, Choice
    from discreet.inspection.proposal import Proposal
    from discreet.recipe.recipe import Recipe

# Fields of a step that are shown at once; there may be more that are needed or set.
_SHOWN = 5
# The largest k that can be asked for.
_MOST = 100_000
# What k counts, in words.
_COUNTED = {"rows": "records"}
# What was asked and is not kept is no remark.
_UNMET = "so l is not demanded"
# What goes with the steps of a recipe.
_OF_STEPS = ("roles", "steps", "allow_leaks")
_TREATED = ("quasi", "confidential", "insensitive")


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = new_router()

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
        risk: Annotated[str, Form()] = "",
        policy: Annotated[str, Form()] = "",
        policy_file: Annotated[str, Form()] = "",
        keep: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        from discreet.inspection.candidates import Asked

        if not (2 <= k <= _MOST and 1 <= l <= 1000 and 0 <= blanked <= 100):
            raise BadInput(f"k is 2 to {_MOST:,}, l is 1 to 1,000, and blanked 0 to 100 percent")
        recipe = desk.space.as_seen(version)
        if set(keep or []) - set(recipe.get("roles", {}).get("quasi", [])):
            raise BadInput("keep: only keys can be kept as they are")
        given = _policy(desk, recipe, policy, policy_file)
        by_rules, title = _k_of(given)
        needed = max(k, _k_for(risk), by_rules)
        if needed > _MOST:
            raise BadInput(f"that needs k = {needed:.3g}; ask for a k of {_MOST:,} at most")
        asked = Asked(needed, l, blanked / 100, keep or [])
        found = _proposed(desk, version, recipe, asked, given)
        if needed > k:
            why = title if by_rules == needed else f"A largest chance of {_percent(risk)} %"
            found["before"] = f"{why} needs k = {needed}. {found['before']}"
        said, content = f"steps proposed for k = {needed}", found.pop("content")
        # First, as that is refused where another table was opened meanwhile.
        desk.space.keep_proposal(found, version)
        notice = desk.space.replace(tomli_w.dumps(content), said, version)
        return desk.part("steps.html", **_steps(desk, notice))

    @routes.post("/protect/way")
    def way(
        proposal: Annotated[int, Form()],
        way: Annotated[int, Form()],
        version: Annotated[int, Form()],
    ) -> HTMLResponse:
        found = desk.space.proposal or {"ways": []}
        ways = found["ways"]
        if found.get("number") != proposal:
            raise BadInput("others were proposed meanwhile, in another tab; reload the page")
        if not 0 <= way < len(ways) or ways[way]["content"] is None:
            raise BadInput("there is no such proposal")
        made_for = [found["roles"], *(one["content"]["roles"] for one in ways if one["content"])]
        known = [_unordered(roles) for roles in made_for]
        content = ways[way]["content"]

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            if _unordered(recipe.get("roles", {})) not in known:
                raise BadInput("the roles are others than when this was proposed; propose again")
            # All else may have been changed since.
            kept = {key: value for key, value in recipe.items() if key not in _OF_STEPS}
            return _ordered(kept | {key: content[key] for key in _OF_STEPS if key in content})

        notice = desk.space.edit(f"taken: {ways[way]['words']}", change, version)
        return desk.part("steps.html", **_steps(desk, notice))

    @routes.get("/protect/step")
    def one(number: int, method: str = "", version: int | None = None) -> HTMLResponse:
        seen = desk.space.current if version is None else version
        return desk.part("step.html", **_form(desk, seen, number, method))

    @routes.post("/protect/step")
    async def save(request: Request) -> HTMLResponse:
        form = await request.form()
        given = {key: [str(value) for value in form.getlist(key)] for key in form}
        return await run_in_threadpool(saved, given)

    def saved(given: dict[str, list[str]]) -> HTMLResponse:
        number, seen = (whole(one, given.get(one, [""])[0]) for one in ("number", "version"))
        method = given.get("method", [""])[0]

        def read(recipe: dict[str, Any]) -> dict[str, Any]:
            return dict(read_step(method, given, _step_at(recipe, number, new=True) or {}))

        if "more" in given:
            # A privacy model was chosen: the form comes again, with what it holds and its fields.
            step = read(desk.space.as_seen(seen))
            return desk.part("step.html", **_form(desk, seen, number, method, step))

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
    def run(version: Annotated[int | None, Form()] = None) -> HTMLResponse:
        version = _still(desk, version)
        problem = problem_of(desk)
        if problem is not None:
            raise BadInput(problem)
        desk.queue.add(_text_to_run(desk, version), _in_short(desk), version)
        return desk.part("runs.html", **runs_shown(desk))

    @routes.post("/protect/search")
    def search(
        minutes: Annotated[float, Form()] = 1.0,
        k: Annotated[int, Form()] = 5,
        risk: Annotated[str, Form()] = "",
        version: Annotated[int | None, Form()] = None,
    ) -> HTMLResponse:
        version = _still(desk, version)
        if not 0 < minutes <= 24 * 60:
            raise BadInput("a search takes some minutes, and a day at most")
        text = tomli_w.dumps(_searched(desk, k, _share(risk)))
        said = f"a search of {minutes:g} min"
        desk.queue.add(text, said, version, kind="search", minutes=minutes)
        return desk.part("runs.html", **runs_shown(desk))

    @routes.get("/protect/runs")
    def runs(again: int | None = None) -> HTMLResponse:
        shown = desk.templates.get_template("runs.html")
        return HTMLResponse(shown.render(**runs_shown(desk, again)))

    @routes.post("/protect/cancel")
    def cancel(number: Annotated[int, Form()]) -> HTMLResponse:
        desk.queue.cancel(number)
        return desk.part("runs.html", **runs_shown(desk))

    return routes


def _still(desk: Desk, version: int | None) -> int:
    """Return the recipe's version, unless a page shows another one: that would not be what runs."""
    now = desk.space.current
    if version not in (None, now):
        raise BadInput("the recipe was changed meanwhile, in another tab; reload the page")
    return now


def _text_to_run(desk: Desk, version: int) -> str:
    """Return a recipe's text, with files named so that they are found from a run's folder."""
    text, content = desk.space.text_of(version), desk.space.content_of(version)
    return text if tomllib.loads(text) == content else tomli_w.dumps(content)


def _steps(desk: Desk, notice: str | None = None) -> dict[str, Any]:
    from discreet.recipe.policies import Policy, shipped
    from discreet.registry import methods

    recipe = desk.space.recipe
    return {
        "steps": [
            {
                "method": step["method"],
                "columns": step.get("columns", []),
                "rest": _rest(step),
                "what": _what(step) if step["method"] in methods() else "",
            }
            for step in recipe.get("steps", [])
        ],
        "methods": {name: in_short(name) for name in methods()},
        "policies": {name: Policy.load(name).title for name in shipped()},
        "keys": recipe.get("roles", {}).get("quasi", []),
        "asked": _asked(recipe),
        "version": desk.space.current,
        "notice": notice,
        "proposal": _shown(desk.space.proposal, recipe),
    }


def _what(step: dict[str, Any]) -> str:
    """Say what a step does as it is set: `local` makes another method of generalize."""
    if step["method"] == "generalize" and step.get("local"):
        return "Replace values by coarser ones, each record at levels of its own."
    return in_short(step["method"])


def _shown(proposal: dict[str, Any] | None, recipe: dict[str, Any]) -> dict[str, Any] | None:
    """Return what was proposed, and which of it the recipe has now."""
    if proposal is None:
        return None
    steps = recipe.get("steps", [])
    ways = [
        one | {"taken": one["content"] is not None and one["content"].get("steps") == steps}
        for one in proposal["ways"]
    ]
    return {"number": 0, **proposal, "ways": ways}


def _unordered(roles: dict[str, Any]) -> dict[str, Any]:
    """Return roles without the order of their columns, which changes when one is given back."""
    named = {key: one for key, one in roles.items() if one != []}
    return {key: set(one) if isinstance(one, list) else one for key, one in named.items()}


def _ordered(content: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe with its tables last, as TOML has them."""
    return dict(sorted(content.items(), key=lambda one: one[0] in ("roles", "steps")))


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
            # Levels of all keys were taken from sliders: none of them was asked to be kept.
            if set(levels) < set(step.get("columns", [])):
                asked["keep"] += [name for name in levels if levels[name] == 0]
            asked["keep"] += step.get("fixed", [])
    return asked


def _percent(text: str) -> str:
    """Return the number of a percentage, which people write with its sign or without."""
    return text.strip().removesuffix("%").strip()


def _share(percent: str) -> float | None:
    """Read a chance in percent; none where nothing is asked."""
    if not percent.strip():
        return None
    try:
        share = float(_percent(percent).replace(",", ".")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise BadInput(f"risk: '{percent}' is not a chance in percent, such as 9")
    return share


def _k_for(percent: str) -> int:
    """Return the k that keeps everybody's chance to be found within a bound."""
    share = _share(percent)
    return 2 if share is None else max(2, math.ceil(1 / share - 1e-9))


def _policy(desk: Desk, recipe: dict[str, Any], name: str, file: str) -> Any:
    """Return what the recipe says of its policy: a shipped one, or a file within the folders."""
    from discreet.recipe.policies import shipped

    before = recipe.get("policy", "")
    if file.strip():
        path = desk.folders.find(file.strip())
        if not path.is_file():
            raise BadInput(f"policy_file: '{path.name}' does not exist")
        name = str(path)
    elif name and name not in shipped():
        raise BadInput(f"there is no policy '{name}'")
    # What its rules need to know beside the release stays.
    return before | {"name": name} if isinstance(before, dict) and name else name


def _k_of(policy: Any) -> tuple[int, str]:
    """Return the k that a policy's rules need, and its title."""
    from discreet.recipe.policies import Policy

    if not policy:
        return 1, ""
    rules = Policy.load(policy["name"] if isinstance(policy, dict) else policy)
    return rules.k, rules.title


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
    desk: Desk, seen: int, number: int, method: str, step: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the form of a step as the recipe was `seen`: its number may be another's by now."""
    recipe = desk.space.as_seen(seen)
    if step is None:
        step = _step_at(recipe, number, new=bool(method)) or {"method": method, "columns": []}
    method = method or step["method"]
    if step["method"] != method:
        step = {"method": method, "columns": step.get("columns", [])}
    from discreet.generalization.models import MODELS

    columns = {role: recipe.get("roles", {}).get(role, []) for role in _TREATED}
    other = set(step.get("columns", [])).difference(*columns.values())
    return {
        "number": number,
        "step": step,
        "method": method,
        "what": in_short(method),
        **_sorted(method, step),
        "columns": {**columns, "not to be treated": sorted(other)},
        "models": list(MODELS),
        "model_fields": model_fields,
        "version": seen,
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


def _proposed(
    desk: Desk, version: int, recipe: dict[str, Any], asked: Asked, policy: Any
) -> dict[str, Any]:
    """Propose steps for what is asked, with the recipe's roles and hierarchies.

    Returns the recipe with the best way (`content`), and what a page shows: all `ways`, each with
    its own recipe, and what is to be said `before` and `after` them.
    """
    from discreet.generalization import Hierarchy
    from discreet.inspection.candidates import try_out

    own, proposal = _own_trees(desk, version), _proposal(desk, recipe)
    trees = proposal.hierarchies
    if asked.keep and set(asked.keep) >= set(trees):
        raise BadInput("all keys are to be kept as they are; leave one to be treated")
    # What somebody built is not replaced by what is proposed.
    built = {name: Hierarchy.from_spec(own[name]) for name in trees if name in own}
    proposal = replace(proposal, hierarchies=trees | built)
    proposal = replace(proposal, recipe=_told(proposal.recipe, recipe))
    proposal, choice = try_out(proposal, desk.look.seen, asked)
    content = _filled(recipe, proposal, policy)
    remarks = [one for one in _after(choice) if _UNMET not in one]
    if choice is None:
        for step in content.get("steps", []):
            step |= {"k": asked.k} if "k" in step else {}
    return {
        "content": content,
        "roles": recipe.get("roles", {}),
        "before": ""
        if choice is None
        else _before(choice, proposal.who, content.get("counts"), desk.look.sampled),
        "unmet": [one for one in _after(choice) if _UNMET in one],
        "after": " ".join([*remarks, *_dropped(proposal, recipe)]),
        "ways": []
        if choice is None
        else [
            {
                **one.to_dict(),
                "average": one.average,
                "content": None if made is None else _filled(recipe, made, policy),
            }
            for one, made in zip(choice.tried, choice.proposals, strict=True)
        ],
    }


def _told(proposed: Recipe, recipe: dict[str, Any]) -> Recipe:
    """Return a proposed recipe with what was said on the page of columns, beside the roles."""
    kept = {name for role in _TREATED for name in getattr(proposed.roles, role)}
    none = [name for name in recipe.get("roles", {}).get("not_identifiers", []) if name in kept]
    roles = proposed.roles.model_copy(update={"not_identifiers": none})
    counts = {"counts": recipe["counts"]} if recipe.get("counts") else {}
    return proposed.model_copy(update={"roles": roles} | counts)


def _filled(recipe: dict[str, Any], proposal: Proposal, policy: Any) -> dict[str, Any]:
    """Put what is proposed into a recipe; what else it says stays, and all that has no field."""
    found = tomllib.loads(proposal.text)
    # Marks of missing values, and what k counts, are what was said on the page of columns.
    content = {**recipe, **found}
    content |= {key: recipe[key] for key in ("null_markers", "counts") if key in recipe}
    content["roles"] = {**recipe.get("roles", {}), **found["roles"]}
    content.pop("policy", None)
    if policy:
        content["policy"] = policy
    return _ordered(content)


def _before(choice: Choice, guessed: str, counts: str | None, sampled: bool) -> str:
    """Return the sentence on top of the ways that were tried, with what k counts by the recipe.

    Of a large table a part is looked at, whose records are not all.
    """
    said = choice.said[0]
    if sampled:
        said = re.sub(r" of the [\d,]+ records:$", " records of a part of the table:", said)
    if not counts:
        return said
    return said.replace(f" {guessed} share", f" {_COUNTED.get(counts, counts)} share")


def _after(choice: Choice | None) -> list[str]:
    """Return what is to be said about the ways, but for the figures, which the page explains."""
    if choice is None:
        return []
    start = next(i for i, line in enumerate(choice.said) if line.startswith("Loss: "))
    return list(choice.said[start + 1 :])


def _dropped(proposal: Proposal, recipe: dict[str, Any]) -> list[str]:
    from discreet.app.pages.data import role_of

    return [
        f"{name} is dropped: {guess.reason}."
        for name, guess in proposal.guesses.items()
        if guess.role == "drop" and role_of(recipe, name) != "drop"
    ]


def _searched(desk: Desk, k: int, risk: float | None = None) -> dict[str, Any]:
    """Return what a search may choose within: the recipe's roles and hierarchies, and k."""
    content = _proposal(desk, desk.space.recipe).to_search()
    for name, tree in _own_trees(desk, desk.space.current).items():
        if name in content.get("hierarchies", {}):
            content["hierarchies"][name] = tree
    for model in content.get("search", {}).get("privacy", []):
        if "k" in model:
            model["k"] = k
    if risk is not None:
        content.setdefault("search", {})["risk"] = f"linkage <= {risk:g}"
    return content


def _own_trees(desk: Desk, version: int) -> dict[str, Any]:
    """Return the hierarchies that a version of the recipe has, by column."""
    steps = desk.space.content_of(version).get("steps", [])
    return {name: tree for step in steps for name, tree in (step.get("hierarchies") or {}).items()}


def _proposal(desk: Desk, recipe: dict[str, Any]) -> Proposal:
    """Propose a recipe for the roles as they are."""
    from discreet.app.pages.data import role_of
    from discreet.inspection.proposal import ANSWERS, propose

    seen = desk.look.seen
    given = {look.name: role_of(recipe, look.name) for look in seen.columns}
    return propose(seen, {name: role for name, role in given.items() if role in ANSWERS})


def runs_shown(desk: Desk, again: int | None = None) -> dict[str, Any]:
    """Return the runs as a page shows them: all, or those that write a release again."""
    runs = [run for run in desk.queue.all() if again is None or run.get("again") == again]
    for run in runs[:20]:
        going = run["status"] == "running"
        run["stages"] = desk.queue.progress(run["number"]) if going else []
        result = desk.queue.result(run["number"])
        run["verdict"] = result["decision"]["verdict"] if result and "decision" in result else None
        run["measured"] = measured_of(result)
        run["table"] = Path(run["input"]).name
        run["found"] = len(result["front"]["points"]) if result and "front" in result else None
    return {"runs": runs[:20], "again": again}
