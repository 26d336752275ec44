"""The releases on a plane of risk and loss, and the levels of a generalization as sliders."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse

from discreet.app import commands
from discreet.app.pages.result import ended, of_this_table
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk
    from discreet.generalization.nodes import NodeLook, Nodes

_WIDE, _HIGH, _EDGE = 520, 300, 46
Box = tuple[float, float, float, float]
# Where a label may go, beside its point; first where the line of the best does not go.
_PLACES = [(9, -7), (-9, 18), (10, 4), (-10, 4), (0, -12), (0, 22), (-9, -7), (9, 18)]
_LETTER, _LINE = 8, 14


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()
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
            nodes = _nodes(desk)
            levels = _levels(nodes, request.query_params)
            shown = desk.templates.get_template("node.html")
            return HTMLResponse(shown.render(**_node(nodes, nodes.at(levels), _counted(desk))))

    @routes.get("/explore/best")
    def best(request: Request) -> HTMLResponse:
        with lock:
            nodes = _nodes(desk)
            levels = _levels(nodes, request.query_params)
            fixed = {n: levels[n] for n in request.query_params.getlist("fix") if n in levels}
            found = nodes.best(fixed)
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
        text = (Path(desk.queue.get(run)["out"]) / point["recipe"]).read_text(encoding="utf-8")
        notice = desk.space.replace(text, f"recipe {name} of search {run}", version)
        return desk.part("notice.html", said=notice or "Taken. Run it on the page Protect.")

    @routes.post("/explore/take")
    async def take(request: Request) -> HTMLResponse:
        form = await request.form()
        given = {key: str(form[key]) for key in form}
        with lock:
            levels = _levels(_nodes(desk), given)
        said = "levels " + ", ".join(f"{name} {level}" for name, level in levels.items())

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            steps = [dict(step) for step in recipe["steps"]]
            for step in steps:
                if step["method"] == "generalize":
                    step.pop("local", None)
                    step["levels"] = levels
                    break
            return {**recipe, "steps": steps}

        notice = desk.space.edit(said[:120], change, int(given["version"]))
        return desk.part("notice.html", said=notice or "Taken. Run it on the page Protect.")

    return routes


def _searches(desk: Desk) -> list[dict[str, Any]]:
    """Return what searches found, the last one first."""
    found = []
    for run in ended(desk):
        result = desk.queue.result(run["number"]) if run["kind"] == "search" else None
        if result is not None:
            found.append({"number": run["number"], **result["front"]})
    return found


def _plane(desk: Desk, a: int | None, b: int | None) -> dict[str, Any]:
    """Lay the runs out by risk and loss; those that no other beats are joined."""
    points, runs = [], of_this_table(desk)
    for run in runs:
        result = desk.queue.result(run["number"])
        assert result is not None
        found = result["assessment"]
        risk = found["risk"].get("individual_risk", {}).get("after", {}).get("mean")
        loss = found["utility"].get("information_loss", {}).get("value")
        if risk is None or loss is None:
            continue
        points.append(
            {
                "number": run["number"],
                "said": run["said"],
                "risk": risk,
                "loss": loss,
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
    left = {True: x + dx, False: x + dx - wide}[dx > 0] if dx else x - wide / 2
    anchor = ("start" if dx > 0 else "end") if dx else "middle"
    at = {"x": round(x + dx, 1), "y": round(y + dy, 1), "anchor": anchor}
    return (left, left + wide, y + dy - _LINE + 3, y + dy + 3), at


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether a release is better in one respect and worse in none."""
    better = one["risk"] < other["risk"] or one["loss"] < other["loss"]
    return bool(better and one["risk"] <= other["risk"] and one["loss"] <= other["loss"])


def _step(desk: Desk) -> Any:
    """Return the recipe's step that generalizes, validated."""
    from discreet.recipe.recipe import content_of, read_step

    for number, step in enumerate(content_of(desk.space.recipe_file).get("steps", []), start=1):
        if step.get("method") == "generalize" and step.get("privacy"):
            try:
                return read_step(step, number)
            except ValueError as error:
                raise BadInput(str(error)) from None
    raise BadInput("sliders are for a step generalize with a privacy model; the recipe has none")


def _nodes(desk: Desk) -> Nodes:
    """Return the lattice of that step, made once for its hierarchies, models and quality."""
    from discreet.generalization.nodes import Nodes

    step = _step(desk)
    method = step.build()
    method.local = False
    wanted = [*step.columns, *method.reads]
    named = ("hierarchies", "privacy", "quality", "aggregate", "weights", "suppression_limit")
    key = ("nodes", *(repr(getattr(method, name)) for name in named))

    def made() -> Nodes:
        import pyarrow as pa

        seen = desk.look.seen
        return Nodes(method, pa.table({name: seen.column(name) for name in wanted}))

    found: Nodes = desk.look.once(key, made)
    return found


def _levels(nodes: Nodes, given: Any) -> dict[str, int]:
    levels = {}
    for name, height in nodes.height.items():
        try:
            level = int(given.get(f"level.{name}", 0))
        except ValueError:
            raise BadInput("a level is a whole number") from None
        levels[name] = min(max(level, 0), height)
    return levels


def _counted(desk: Desk) -> str | None:
    """Return what k counts where that is not records, which is what is counted here."""

    def found() -> str | None:
        recipe = desk.space.recipe
        roles = recipe.get("roles", {})
        usual = next((f"{one}s" for one in ("household", "unit") if one in roles), "rows")
        counts = str(recipe.get("counts", usual))
        return None if counts == "rows" else counts

    said: str | None = desk.look.once(("counted", desk.space.current), found)
    return said


def _node(nodes: Nodes, at: NodeLook, counted: str | None) -> dict[str, Any]:
    shown = {}
    for name, level in at.levels.items():
        labels = [str(label) for label in nodes.labels(name, level)[:4]]
        more = len(nodes.labels(name, level)) - len(labels)
        shown[name] = ", ".join(labels) + (f" and {more:,} more" if more else "")
    records = nodes.records
    return {
        "at": at,
        "labels": shown,
        "records": records,
        "share": at.suppressed / max(records, 1),
        "counted": counted,
    }


def _sliders(
    desk: Desk, at: NodeLook | None = None, fixed: dict[str, int] | None = None
) -> dict[str, Any]:
    nodes = _nodes(desk)
    # With its lattice, so that no other takes over its identity.
    _, best = desk.look.once(("best", id(nodes)), lambda: (nodes, nodes.best()))
    step = _step(desk)
    if at is None:
        own = step.levels or {}
        whole = {n: v for n, v in own.items() if isinstance(v, int)}
        start = best.levels if best is not None else nodes.height
        at = nodes.at({**start, **whole})
    return {
        "nodes": nodes,
        "best": best,
        "local": bool(step.local),
        "fixed": fixed or {},
        "version": desk.space.current,
        **_node(nodes, at, _counted(desk)),
    }
