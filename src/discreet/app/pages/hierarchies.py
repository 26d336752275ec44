"""What the values of each key may become: levels, built by rule or by gathering values."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from discreet.app.forms import toml
from discreet.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

    from discreet.app.server import Desk
    from discreet.generalization import Hierarchy

# The kinds that are built by rule: what their parameters are, and an example.
KINDS = {
    "intervals": ("widths", "[5, 10, 20]", "numbers by intervals of these widths, level by level"),
    "prefix": ("stars", "[1, 2, 3]", "codes with so many characters hidden at each level"),
    "dates": ("levels", '["month", "year"]', "dates by day, week, month, quarter, year, decade"),
    "order": ("sizes", "[2, 4]", "so many neighbouring values merged at each level"),
    "flat": ("", "", "the values, and nothing but * above them"),
}
_LABELS, _VALUES = 30, 400


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/hierarchies")
    def page(request: Request, column: str | None = None) -> HTMLResponse:
        return desk.page("hierarchies.html", "hierarchies", request, **_keys(desk, column))

    @routes.get("/hierarchies/tree")
    def tree(column: str) -> HTMLResponse:
        return desk.part("tree.html", **_tree(desk, column))

    @routes.post("/hierarchies/rule")
    def rule(
        column: Annotated[str, Form()],
        kind: Annotated[str, Form()],
        version: Annotated[int, Form()],
        levels: Annotated[str, Form()] = "",
    ) -> HTMLResponse:
        import tomllib

        if kind not in KINDS:
            raise BadInput(f"there is no hierarchy of kind '{kind}'")
        spec: dict[str, Any] = {"kind": kind}
        if KINDS[kind][0]:
            try:
                spec[KINDS[kind][0]] = tomllib.loads(f"x = {levels.strip()}")["x"]
            except tomllib.TOMLDecodeError:
                raise BadInput(f"write the levels such as {KINDS[kind][1]}") from None
        notice = _save(desk, column, spec, f"{column} by {kind}", version)
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.post("/hierarchies/gather")
    def gather(
        column: Annotated[str, Form()],
        group: Annotated[str, Form()],
        version: Annotated[int, Form()],
        value: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        if not value or not group.strip():
            raise BadInput("mark the values to gather, and name their group")
        spec = {"kind": "groups", "tree": _gathered(desk, column, group.strip(), value)}
        notice = _save(desk, column, spec, f"{column}: {group.strip()} gathered", version)
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.post("/hierarchies/upload")
    async def upload(
        column: Annotated[str, Form()], version: Annotated[int, Form()], file: UploadFile
    ) -> HTMLResponse:
        try:
            text = (await file.read()).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BadInput("the file is not valid UTF-8") from None
        separator = ";" if ";" in text else ","
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
        notice = _save(
            desk, column, {"kind": "table", "rows": rows}, f"{column} from a file", version
        )
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.get("/hierarchies/csv")
    def download(column: str) -> Response:
        from discreet.generalization._tables import rows_of

        ladder = _bound(desk, column)[0]
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows_of(ladder))
        headers = {"content-disposition": 'attachment; filename="hierarchy.csv"'}
        return Response(text.getvalue(), media_type="text/csv", headers=headers)

    return routes


def _keys(desk: Desk, column: str | None) -> dict[str, Any]:
    from discreet.app.pages.data import settle_roles

    settle_roles(desk)
    keys = desk.space.recipe.get("roles", {}).get("quasi", [])
    return {"keys": keys, "column": column if column in keys else (keys[0] if keys else None)}


def _check_key(desk: Desk, column: str) -> None:
    """Refuse a column that is not a key of the table: the values of others are not shown."""
    if column not in desk.space.recipe.get("roles", {}).get("quasi", []):
        raise BadInput("only keys have hierarchies: give the column the role quasi")
    if column not in desk.look.seen.encoded:
        raise BadInput(f"the table has no column '{column}'")


def tree_of(desk: Desk, column: str) -> tuple[Hierarchy, bool]:
    """Return a key's hierarchy, and whether the recipe has it or it is only proposed."""
    from discreet.generalization import Hierarchy
    from discreet.inspection.proposal import proposed_hierarchy
    from discreet.recipe.recipe import content_of

    for step in content_of(desk.space.recipe_file).get("steps", []):
        if column in (step.get("hierarchies") or {}):
            return Hierarchy.from_spec(step["hierarchies"][column]), True
    return proposed_hierarchy(desk.look.seen, column), False


def _bound(desk: Desk, column: str) -> tuple[Any, np.ndarray]:
    """Lay a key's hierarchy out, and count the records at each leaf."""
    import numpy as np

    _check_key(desk, column)
    tree, _ = tree_of(desk, column)
    found = desk.look.seen.encoded[column]
    ladder, codes = tree.bind_and_encode(found.levels(), column, found.counts)
    counts = np.bincount(codes[codes >= 0], found.counts[codes >= 0], len(ladder.leaves))
    return ladder, counts.astype(np.int64)


def _tree(desk: Desk, column: str, notice: str | None = None) -> dict[str, Any]:
    import numpy as np

    _check_key(desk, column)
    tree, own = tree_of(desk, column)
    seen = desk.look.seen.encoded[column]
    known = set(tree.listed or ())
    values = [str(x) for x in seen.values.cast("string").to_pylist()]
    missing = [x for x in values if known and x not in known]
    shown: dict[str, Any] = {"levels": [], "problem": None}
    try:
        ladder, counts = _bound(desk, column)
    except BadInput as error:
        shown["problem"] = str(error)
    else:
        for level, labels in enumerate(ladder.labels):
            held = np.bincount(ladder.maps[level], counts, len(labels)).astype(int)
            order = np.argsort(-held, kind="stable")[:_LABELS]
            some = [(labels[i], int(held[i])) for i in order]
            shown["levels"].append({"labels": some, "more": len(labels) - len(some)})
    rows = sorted(zip(values, seen.counts.tolist(), strict=True), key=lambda one: -one[1])
    spec = tree.spec
    return shown | {
        "column": column,
        "own": own,
        "kind": spec["kind"],
        "spec": toml({k: v for k, v in spec.items() if k not in ("kind", "rows", "tree")}),
        "values": rows[:_VALUES],
        "uncovered": missing,
        "kinds": KINDS,
        "version": desk.space.current,
        "notice": notice,
        "group_of": _groups(desk, column),
    }


def _groups(desk: Desk, column: str) -> dict[str, str]:
    """Return the named group of each value, where values were gathered."""
    spec = tree_of(desk, column)[0].spec
    if spec["kind"] != "groups":
        return {}
    return {
        str(value): name
        for name, values in spec["tree"].items()
        if isinstance(values, list)
        for value in values
    }


def _gathered(desk: Desk, column: str, group: str, values: list[str]) -> dict[str, list[str]]:
    """Put values into a named group; those that are in none stay groups of their own."""
    _check_key(desk, column)
    held = [str(x) for x in desk.look.seen.encoded[column].values.cast("string").to_pylist()]
    if any(value not in held for value in values):
        raise BadInput(f"'{column}' has no such value")
    named = _groups(desk, column)
    named |= dict.fromkeys(values, group)
    tree: dict[str, list[str]] = {}
    for value in held:
        tree.setdefault(named.get(value, value), []).append(value)
    return tree


def _save(desk: Desk, column: str, spec: dict[str, Any], said: str, seen: int) -> str | None:
    """Write a hierarchy into the recipe: into the step that has one, or a new one."""
    from discreet.generalization import Hierarchy

    _check_key(desk, column)
    found = desk.look.seen.encoded[column]
    # What is wrong with it is said now.
    Hierarchy.from_spec(spec).bind(found.levels(), column)

    def change(recipe: dict[str, Any]) -> dict[str, Any]:
        steps = [dict(step) for step in recipe.get("steps", [])]
        for step in steps:
            if column in (step.get("hierarchies") or {}):
                step["hierarchies"] = {**step["hierarchies"], column: spec}
                return {**recipe, "steps": steps}
        keys = recipe["roles"]["quasi"]
        trees = {name: tree_of(desk, name)[0].spec for name in keys}
        new = {
            "method": "generalize",
            "columns": keys,
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {**trees, column: spec},
        }
        others = [step for step in steps if not set(step.get("columns", [])) & set(keys)]
        return {**recipe, "steps": [new, *others]}

    return desk.space.edit(said, change, seen)
