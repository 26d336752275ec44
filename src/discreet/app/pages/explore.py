"""The releases on a plane of risk and loss, and the levels of a generalization as sliders."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from discreet.app import commands
from discreet.app.forms import whole
from discreet.app.pages.result import ended, measured_of, of_this_table, unmeasured
from discreet.app.routes import new_router
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk
    from discreet.generalization.nodes import NodeLook, Nodes
    from discreet.recipe import Recipe

_WIDE, _HIGH, _EDGE = 520, 300, 46
Box = tuple[float, float, float, float]
# Where a label may go, beside its point; first where the line of the best does not go.
_PLACES = [(9, -7), (-9, 18), (10, 4), (-10, 4), (0, -12), (0, 22), (-9, -7), (9, 18)]
_LETTER, _LINE = 8, 14
# How long a page looks for the best levels: a run takes the time it needs, and can be cancelled.
_SECONDS = 10.0
_TAKEN = "Taken. Run it on the page Protect."
_NONE = "sliders are for a step generalize with a privacy model; the recipe has none"


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = new_router()
    lock = threading.Lock()

    @routes.get("/explore")
    def page(request: Request, a: int | None = None, b: int | None = None) -> HTMLResponse:
        return desk.page("explore.html", "explore", request, **_plane(desk, a, b))

    @routes.get("/explore/sliders")
    def sliders() -> HTMLResponse:
        try:
            with lock:
                return desk.part("sliders.html", **_sliders(desk))
        except BadInput as error:
            # There is nothing to slide, which is no fault of whoever came here.
            return desk.part("none.html", said=str(error))

    @routes.get("/explore/node")
    def node(request: Request) -> HTMLResponse:
        with lock:
            nodes = _nodes_shown(desk, request.query_params)
            levels = _levels(nodes, request.query_params)
            shown = desk.templates.get_template("node.html")
            return HTMLResponse(shown.render(**_node(desk, nodes, nodes.at(levels))))

    @routes.get("/explore/best")
    def best(request: Request) -> HTMLResponse:
        with lock:
            nodes = _nodes_shown(desk, request.query_params)
            levels = _levels(nodes, request.query_params)
            fixed = {n: levels[n] for n in request.query_params.getlist("fix") if n in levels}
            found = nodes.best(fixed, _SECONDS)
            if found is None:
                raise BadInput("with these columns fixed, no levels keep what is asked")
            return desk.part("sliders.html", **_sliders(desk, found, fixed))

    @routes.post("/explore/recipe")
    def recipe(
        run: Annotated[int, Form()], name: Annotated[str, Form()], version: Annotated[int, Form()]
    ) -> HTMLResponse:
        front = next((one for one in _searches(desk) if one["number"] == run), None)
        point = next((one for one in (front or {}).get("points", []) if one["name"] == name), None)
        if point is None:
            raise BadInput("that search has no such recipe")
        found = desk.folders.find(str(Path(desk.queue.get(run)["out"]) / point["recipe"]))
        text = found.read_text(encoding="utf-8")
        notice = desk.space.replace(text, f"recipe {name} of search {run}", version)
        now = {"searches": _searches(desk), "version": desk.space.current}
        shown = desk.part("searches.html", **now, said=notice or _TAKEN)
        # The levels are those of another step now.
        shown.headers["hx-trigger"] = "recipe"
        return shown

    @routes.post("/explore/take")
    async def take(request: Request) -> HTMLResponse:
        form = await request.form()
        # The levels may have to be made, for which nobody else is to wait.
        given = {key: str(form[key]) for key in form}
        return await run_in_threadpool(taken, given, [str(name) for name in form.getlist("fix")])

    def taken(given: dict[str, str], fixed: list[str]) -> HTMLResponse:
        seen = whole("version", given.get("version", ""))
        with lock:
            levels = _levels(_nodes(desk), given)
        # A key that the page did not show, as it came later, is none of those that were chosen.
        levels = {name: level for name, level in levels.items() if f"level.{name}" in given}
        said = "levels " + ", ".join(f"{name} {level}" for name, level in levels.items())

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            steps = [dict(step) for step in recipe.get("steps", [])]
            for step in steps:
                if step["method"] == "generalize" and step.get("privacy"):
                    step.pop("local", None)
                    step["levels"] = levels
                    break
            return {**recipe, "steps": steps}

        notice = desk.space.edit(said[:120], change, seen)
        with lock:
            return desk.part("sliders.html", **_sliders(desk, fixed=fixed), said=notice or _TAKEN)

    return routes


def _searches(desk: Desk) -> list[dict[str, Any]]:
    """Return what searches in the table that is open found, the last one first."""
    found = []
    for run in ended(desk):
        own = run["kind"] == "search" and run["input"] == str(desk.space.input)
        result = desk.queue.result(run["number"]) if own else None
        if result is not None:
            found.append({"number": run["number"], **result["front"]})
    return found


def _plane(desk: Desk, a: int | None, b: int | None) -> dict[str, Any]:
    """Lay the runs out by risk and loss; those that no other beats are joined."""
    # A release that was written again, somewhere else or in other formats, is no run of its own.
    runs = [run for run in of_this_table(desk) if not run.get("again")]
    points, unplaced = [], []
    for run in runs:
        result = desk.queue.result(run["number"])
        assert result is not None
        measured = measured_of(result)
        if measured is None:
            unplaced.append({"number": run["number"], "why": unmeasured(result)})
            continue
        points.append(
            {
                "number": run["number"],
                "said": run["said"],
                "risk": measured["risk"],
                "loss": measured["loss"],
                "passed": result["decision"]["verdict"]["passed"],
                "became": {c["column"]: c["became"] for c in result["decision"]["columns"]},
            }
        )
    most = max([one["risk"] for one in points], default=1.0) or 1.0
    widest = max([one["loss"] for one in points], default=1.0) or 1.0
    for one in points:
        one["x"] = round(_EDGE + (_WIDE - 2 * _EDGE) * one["loss"] / widest, 1)
        one["y"] = round(_HIGH - _EDGE - (_HIGH - 2 * _EDGE) * one["risk"] / most, 1)
        one["front"] = not any(_beats(other, one) for other in points)
    front = sorted((one for one in points if one["front"]), key=lambda one: one["loss"])
    by_number = {one["number"]: one for one in points}
    chosen = [by_number[n] for n in dict.fromkeys((a, b)) if n in by_number]
    if not chosen and points:
        chosen = points[:2]
    columns = list(dict.fromkeys(name for one in chosen for name in one["became"]))
    searches = _searches(desk)
    last = desk.queue.get(searches[0]["number"]) if searches else None
    return {
        "points": points,
        "unplaced": unplaced,
        "labels": labels_of(points),
        "line": " ".join(f"{one['x']},{one['y']}" for one in front),
        "most": most,
        "widest": widest,
        "size": (_WIDE, _HIGH, _EDGE),
        "chosen": chosen,
        "columns": columns,
        "differ": [n for n in columns if len({one["became"].get(n) for one in chosen}) > 1],
        "searches": searches,
        "version": desk.space.current,
        **commands.of_releases(desk, [Path(run["out"]) for run in runs], last),
    }


def labels_of(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Place the numbers of points so that none covers another; points at one place share theirs.

    Examples
    --------
    >>> near = [{"number": 1, "x": 50.0, "y": 50.0}, {"number": 2, "x": 50.0, "y": 50.0}]
    >>> labels_of(near)
    [{'text': '1, 2', 'x': 59.0, 'y': 43.0, 'anchor': 'start'}]
    """
    together: dict[tuple[float, float], list[int]] = {}
    for one in points:
        place = next(
            (p for p in together if abs(p[0] - one["x"]) < 5 and abs(p[1] - one["y"]) < 5),
            (one["x"], one["y"]),
        )
        together.setdefault(place, []).append(one["number"])
    # Of text: left, right, top, bottom. Circles are in the way too.
    taken = [(x - 8, x + 8, y - 8, y + 8) for x, y in together]
    placed = []
    for (x, y), numbers in together.items():
        text = ", ".join(map(str, sorted(numbers)))
        wide = _LETTER * len(text)
        spots = [
            _spot(x, y, wide, step * dx, step * dy) for step in (1, 2, 3) for dx, dy in _PLACES
        ]
        free = (one for one in spots if not any(_meet(one[0], other) for other in taken))
        box, at = next(free, spots[0])
        taken.append(box)
        placed.append({"text": text, **at})
    return placed


def _spot(x: float, y: float, wide: float, dx: float, dy: float) -> tuple[Box, dict[str, Any]]:
    """Return where a text is whose place is so far from its point."""
    anchor = "start" if dx > 0 else "end" if dx else "middle"
    left = x + dx - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
    at = {"x": round(x + dx, 1), "y": round(y + dy, 1), "anchor": anchor}
    return (left, left + wide, y + dy - _LINE + 3, y + dy + 3), at


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether a release is better in one respect and worse in none."""
    better = one["risk"] < other["risk"] or one["loss"] < other["loss"]
    return bool(better and one["risk"] <= other["risk"] and one["loss"] <= other["loss"])


def _step(desk: Desk) -> tuple[Recipe, int]:
    """Return the recipe, and the number of its step that generalizes."""
    from discreet.recipe.recipe import Recipe

    version = desk.space.current

    def found() -> tuple[Recipe, int]:
        content = desk.space.content_of(version)
        # Without steps a recipe is not whole, but that is not what is to be said here.
        if not content.get("steps"):
            raise BadInput(_NONE)
        recipe = Recipe.from_dict(content)
        for number, step in enumerate(recipe.steps, start=1):
            if step.method == "generalize" and step.parameters().get("privacy"):
                return recipe, number
        raise BadInput(_NONE)

    step: tuple[Recipe, int] = desk.look.once(("step", version), found)
    return step


def _nodes(desk: Desk) -> Nodes:
    """Return the lattice of that step, made once for all that it depends on."""

    def named() -> tuple[str, str]:
        recipe, number = _step(desk)
        *before, step = recipe.steps[:number]
        left = step.model_copy(update={"levels": None, "local": False})
        whole = recipe.model_dump(exclude={"steps", "indicators", "policy"})
        return "nodes", repr((whole, before, left.parameters()))

    def made() -> Nodes:
        from discreet.flow.given import given_to
        from discreet.generalization.nodes import Nodes

        recipe, number = _step(desk)
        table, dialect = _rows(desk, recipe)
        given = given_to(table, recipe, number, dialect)
        return Nodes(recipe.steps[number - 1].build(), given)

    found: Nodes = desk.look.once(desk.look.once(("named", desk.space.current), named), made)
    return found


def _nodes_shown(desk: Desk, given: Any) -> Nodes:
    """Return the lattice that a page shows, unless there is another one by now."""
    if given.get("version") not in (None, str(desk.space.current)):
        raise BadInput("the recipe was changed meanwhile, in another tab; reload the page")
    return _nodes(desk)


def _rows(desk: Desk, recipe: Recipe) -> tuple[Any, dict[str, str] | None]:
    """Return the table, or rows drawn from it, and how it is read."""
    from discreet.recipe.recipe import needed_columns

    look = desk.look
    if not look.sampled:
        return look.path, desk.space.state["dialect"]
    names = [one.name for one in look.seen.columns]
    # What a role names must be there, also where it is not released.
    wanted = {*recipe.roles.named(), *needed_columns(recipe, names)}
    columns = [name for name in names if name in wanted]
    return look.drawn(columns, recipe.counted)[0], None


def _levels(nodes: Nodes, given: Any) -> dict[str, int]:
    levels = {}
    for name, height in nodes.height.items():
        try:
            level = int(given.get(f"level.{name}", 0))
        except ValueError:
            raise BadInput("a level is a whole number") from None
        levels[name] = min(max(level, 0), height)
    return levels


def _node(desk: Desk, nodes: Nodes, at: NodeLook) -> dict[str, Any]:
    shown = {}
    for name, level in at.levels.items():
        labels = ["missing" if x is None else str(x) for x in nodes.labels(name, level)[:4]]
        more = len(nodes.labels(name, level)) - len(labels)
        shown[name] = ", ".join(labels) + (f" and {more:,} more" if more else "")
    recipe, _ = _step(desk)
    return {
        "at": at,
        "labels": shown,
        "suppressed": at.suppressed / max(nodes.records, 1),
        "counted": recipe.counted_as,
        "sampled": desk.look.sampled,
        "whole": recipe.household_suppression == "whole" and recipe.roles.household is not None,
    }


def _sliders(desk: Desk, at: NodeLook | None = None, fixed: Collection[str] = ()) -> dict[str, Any]:
    nodes = _nodes(desk)
    # With its lattice, so that no other takes over its identity.
    _, best = desk.look.once(("best", id(nodes)), lambda: (nodes, nodes.best(None, _SECONDS)))
    recipe, number = _step(desk)
    given = recipe.steps[number - 1].parameters()
    if at is None:
        own = given.get("levels") or {}
        one = {n: min(v, nodes.height[n]) for n, v in own.items() if isinstance(v, int)}
        start = best.levels if best is not None else nodes.height
        at = nodes.at({**start, **one})
    if at.holds and best is not None and at.quality < best.quality:
        # With some columns fixed there is less to go through, and more may be found.
        best = replace(at, proven=False)
    return {
        "nodes": nodes,
        "best": best,
        "local": bool(given.get("local")),
        "of": desk.look.records,
        "fixed": fixed,
        "version": desk.space.current,
        **_node(desk, nodes, at),
    }
