"""What the values of each key may become: levels, built by rule or by gathering values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from discreet.app import commands
from discreet.app.forms import toml
from discreet.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

    from discreet.app.server import Desk
    from discreet.generalization import Hierarchy

# The kinds that are built by rule: what their parameters are, and an example.
KINDS = {
    "intervals": ("widths", "5, 10, 20", "numbers by intervals of these widths, level by level"),
    "prefix": ("stars", "1, 2, 3", "codes with so many characters hidden at each level"),
    "dates": ("levels", "month, year", "dates by day, week, month, quarter, year, decade"),
    "order": ("sizes", "2, 4", "so many neighbouring values merged at each level"),
    "flat": ("", "", "the values, and nothing but * above them"),
}
_LABELS, _VALUES = 30, 400
# The methods whose steps have hierarchies of keys.
_RECODING = ("generalize", "mondrian", "safepub")
# What a hierarchy is, in words.
_WORDS = {
    "groups": "groups of values",
    "table": "a table of levels",
    "intervals": "intervals",
    "prefix": "codes with characters hidden",
    "dates": "dates by coarser units",
    "order": "neighbouring values merged",
    "flat": "the value or nothing",
}


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/hierarchies")
    def page(request: Request, column: str | None = None) -> HTMLResponse:
        found = _keys(desk, column)
        shown = found["column"]
        own = shown is not None and tree_of(desk, shown)[1]
        same = commands.of_hierarchy(desk, shown, own)
        return desk.page("hierarchies.html", "hierarchies", request, **found, **same)

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
        if kind not in KINDS:
            raise BadInput(f"there is no hierarchy of kind '{kind}'")
        spec: dict[str, Any] = {"kind": kind}
        if KINDS[kind][0]:
            spec |= _levels(kind, levels.strip()) | {"kind": kind}
        notice = _save(desk, column, spec, f"{column} by {kind}", version)
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.post("/hierarchies/gather")
    def gather(
        column: Annotated[str, Form()],
        version: Annotated[int, Form()],
        group: Annotated[str, Form()] = "",
        value: Annotated[list[str] | None, Form()] = None,
        inner: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        named = group.strip()
        if not named or not (value or inner):
            raise BadInput("mark the values or groups to gather, and name their group")
        if value and inner:
            raise BadInput("mark values, or groups, and not both at once")
        paths = _paths(desk, column)
        into = _values_into if value else _groups_into
        spec = {"kind": "groups", "tree": tree_from(into(paths, value or inner or [], named))}
        notice = _save(desk, column, spec, f"{column}: {named} gathered", version)
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.post("/hierarchies/scatter")
    def scatter(
        column: Annotated[str, Form()],
        version: Annotated[int, Form()],
        value: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        if not value:
            raise BadInput("mark the values to take out of their groups")
        paths = _paths(desk, column) | {one: (one,) for one in value}
        spec = {"kind": "groups", "tree": tree_from(paths)}
        notice = _save(desk, column, spec, f"{column}: values taken out of groups", version)
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


def _levels(kind: str, text: str) -> dict[str, Any]:
    """Read levels as a person writes them (5, 10), or as they are in a recipe."""
    import tomllib

    key, example, _ = KINDS[kind]
    if text[:1] not in ("[", "{"):
        words = text.replace(",", " ").split()
        if kind == "dates":
            words = [f"'{word}'" for word in words]
        text = f"[{', '.join(words)}]" if words else ""
    try:
        given = tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError):  # Also too long a number, or too deep a list.
        raise BadInput(f"write the levels such as {example}") from None
    return given if isinstance(given, dict) else {key: given}


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
    spec, paths = tree.spec, _paths(desk, column)
    return shown | {
        "column": column,
        "own": own,
        "kind": spec["kind"],
        "words": _WORDS.get(spec["kind"], spec["kind"]),
        "spec": toml({k: v for k, v in spec.items() if k not in ("kind", "rows", "tree")}),
        "values": rows[:_VALUES],
        "uncovered": missing,
        "kinds": KINDS,
        "version": desk.space.current,
        "notice": notice,
        "more": max(0, len(rows) - _VALUES),
        "paths": paths,
        "outermost": list(dict.fromkeys(path[0] for path in paths.values())),
        "gathered": any(path != (value,) for value, path in paths.items()),
        "given": toml(spec[KINDS[spec["kind"]][0]]) if _simple(spec) else "",
    }


def _simple(spec: Mapping[str, Any]) -> bool:
    """Tell whether a hierarchy's rule is one list of levels."""
    return spec["kind"] in KINDS and bool(spec.get(KINDS[spec["kind"]][0]))


def _paths(desk: Desk, column: str) -> dict[str, tuple[str, ...]]:
    """Return the groups of each value, the outermost first, where the recipe has gathered any.

    A value that was not gathered is a group of its own.
    """
    _check_key(desk, column)
    tree, own = tree_of(desk, column)
    held = [str(x) for x in desk.look.seen.encoded[column].values.cast("string").to_pylist()]
    found: dict[str, tuple[str, ...]] = {}
    if own and tree.spec["kind"] == "groups":
        found = dict(_inner(tree.spec["tree"], ()))
    return found | {value: (value,) for value in held if value not in found}


def _inner(tree: Any, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(tree, dict):
        for name, within in tree.items():
            yield from _inner(within, (*above, str(name)))
    else:
        for value in tree:
            yield str(value), above


def _values_into(
    paths: dict[str, tuple[str, ...]], values: Sequence[str], group: str
) -> dict[str, tuple[str, ...]]:
    """Put values into a group: one that there is, or a new one where all of them are.

    Examples
    --------
    >>> _values_into({"a": ("a",), "b": ("b",)}, ["a", "b"], "both")
    {'a': ('both',), 'b': ('both',)}
    """
    if any(value not in paths for value in values):
        raise BadInput("there is no such value")
    there = next((path for path in paths.values() if path[-1] == group), None)
    above = {paths[value][:-1] for value in values}
    new = (*(above.pop() if len(above) == 1 else ()), group)
    return paths | dict.fromkeys(values, there or new)


def _groups_into(
    paths: dict[str, tuple[str, ...]], groups: Sequence[str], group: str
) -> dict[str, tuple[str, ...]]:
    """Put outermost groups into another one, a level above them.

    Examples
    --------
    >>> _groups_into({"a": ("low",), "b": ("low",), "c": ("c",)}, ["low", "c"], "any")
    {'a': ('any', 'low'), 'b': ('any', 'low'), 'c': ('any', 'c')}
    """
    if any(all(path[0] != one for path in paths.values()) for one in groups):
        raise BadInput("there is no such group")
    if any(group in path[1:] for path in paths.values()):
        raise BadInput(f"'{group}' is a group within another already; choose another name")
    return {
        value: (group, *path) if path[0] in groups and path[0] != group else path
        for value, path in paths.items()
    }


def tree_from(paths: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Make a tree of the groups of each value.

    Examples
    --------
    >>> tree_from({"a": ("any", "low"), "b": ("any", "low"), "c": ("c",)})
    {'any': {'low': ['a', 'b']}, 'c': ['c']}
    """
    whole = set(paths.values())
    for path in whole:
        if any(path[:i] in whole for i in range(1, len(path))):
            name = next(path[i - 1] for i in range(1, len(path)) if path[:i] in whole)
            raise BadInput(f"'{name}' holds values, so it cannot hold groups; choose another name")
    tree: dict[str, Any] = {}
    for value, path in paths.items():
        place = tree
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place.setdefault(path[-1], []).append(value)
    return tree


def _save(desk: Desk, column: str, spec: dict[str, Any], said: str, seen: int) -> str | None:
    """Write a hierarchy into the recipe: into the step that has one, that could, or a new one."""
    from discreet.generalization import Hierarchy

    _check_key(desk, column)
    found = desk.look.seen.encoded[column]
    # What is wrong with it is said now.
    Hierarchy.from_spec(spec).bind(found.levels(), column)
    # Looked for before the workspace is held: whoever looks at the table may need that.
    names = [] if tree_of(desk, column)[1] else desk.space.recipe["roles"]["quasi"]
    trees = {name: tree_of(desk, name)[0].spec for name in names}

    def change(recipe: dict[str, Any]) -> dict[str, Any]:
        steps = [dict(step) for step in recipe.get("steps", [])]
        able = [step for step in steps if step.get("method") in _RECODING]
        own = [step for step in steps if column in (step.get("hierarchies") or {})]
        treating = [step for step in able if column in step.get("columns", [])]
        for step in own or treating or able:
            step["hierarchies"] = {**(step.get("hierarchies") or {}), column: spec}
            step["columns"] = list(dict.fromkeys([*step.get("columns", []), column]))
            return {**recipe, "steps": steps}
        keys = recipe["roles"]["quasi"]
        new = {
            "method": "generalize",
            "columns": keys,
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {**trees, column: spec},
        }
        others = [step for step in steps if not set(step.get("columns", [])) & set(keys)]
        return {**recipe, "steps": [new, *others]}

    return desk.space.edit(said, change, seen)
