"""What the values of each key may become: levels, built by rule or by gathering values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from discreet.app import commands
from discreet.app.forms import toml
from discreet.app.routes import new_router
from discreet.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from discreet.app.server import Desk
    from discreet.generalization import Hierarchy
    from discreet.inspection.encoded import Encoded

# The groups of each value, the outermost first.
Paths = dict[str, tuple[str, ...]]
# The kinds that are built by rule: what their parameters are, and an example.
KINDS = {
    "intervals": ("widths", "5, 10, 20", "numbers by intervals of these widths, level by level"),
    "prefix": ("stars", "1, 2, 3", "codes with so many characters hidden at each level"),
    "dates": ("levels", "month, year", "dates by day, week, month, quarter, year, decade"),
    "order": ("sizes", "2, 4", "so many neighbouring values merged at each level"),
    "flat": ("", "", "the values, and nothing but * above them"),
}
# Those that have levels where none are given.
_OWN_LEVELS = ("prefix", "dates")
_LABELS, _VALUES = 30, 400
# A recipe says of each value which group it is in, and stands beside every page.
_GATHERED = 20_000
# The methods whose steps have hierarchies of keys.
_RECODING = ("generalize", "mondrian", "safepub")
# Those that work on what such a step leaves.
_AFTER = ("local-suppression",)
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
    routes = new_router()

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
        if kind == "dates":
            # How text is written was found by the first look, or said before.
            spec = _written(desk, column) | spec
        notice = _save(desk, column, lambda paths: spec, f"{column} by {kind}", version)
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
        if named == "*":
            raise BadInput("'*' stands for anything; choose another name")
        into = _values_into if value else _groups_into

        def gathered(paths: Paths) -> dict[str, Any]:
            found = into(paths, value or inner or [], named)
            # In a release it would stand for others here, and for itself elsewhere.
            if named in found and named not in found[named]:
                raise BadInput(
                    f"'{named}' is a value that is not in this group; mark it too, or choose "
                    "another name"
                )
            return {"kind": "groups", "tree": tree_from(found)}

        notice = _save(desk, column, gathered, f"{column}: {named} gathered", version)
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.post("/hierarchies/scatter")
    def scatter(
        column: Annotated[str, Form()],
        version: Annotated[int, Form()],
        value: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        if not value:
            raise BadInput("mark the values to take out of their groups")

        def scattered(paths: Paths) -> dict[str, Any]:
            _check_values(paths, value)
            return {"kind": "groups", "tree": tree_from(paths | {one: (one,) for one in value})}

        said = f"{column}: values taken out of groups"
        notice = _save(desk, column, scattered, said, version)
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.post("/hierarchies/upload")
    def upload(
        column: Annotated[str, Form()], version: Annotated[int, Form()], file: UploadFile
    ) -> HTMLResponse:
        from discreet.generalization._tables import rows_in

        try:
            text = file.file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BadInput("the file is not valid UTF-8; save it with that encoding") from None
        spec = {"kind": "table", "rows": rows_in(text, None, "the file")}
        column = _as_sent(desk, column)
        notice = _save(desk, column, lambda paths: spec, f"{column} from a file", version)
        return desk.part("tree.html", **_tree(desk, column, notice))

    @routes.get("/hierarchies/csv")
    def download(column: str) -> Response:
        from discreet.generalization._tables import rows_of

        ladder = _bound(desk, column)[0]
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows_of(ladder))
        name = quote(f"{column}.csv", safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(text.getvalue(), media_type="text/csv", headers=headers)

    return routes


def _levels(kind: str, text: str) -> dict[str, Any]:
    """Read levels as a person writes them (5, 10), or as they are in a recipe."""
    import tomllib

    key, example, _ = KINDS[kind]
    if not text and kind in _OWN_LEVELS:
        return {}
    if text[:1] not in ("[", "{"):
        words = text.replace(",", " ").split()
        if kind == "dates":
            parts = text.split(",") if "," in text else words
            words = [f"'{one.strip()}'" for one in parts]
        text = f"[{', '.join(words)}]" if words else ""
    try:
        given = tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError):  # Also too long a number, or too deep a list.
        raise BadInput(f"write the levels such as {example}") from None
    return given if isinstance(given, dict) else {key: given}


def _written(desk: Desk, column: str) -> dict[str, str]:
    """Return how the dates of a key are written, if they are text and not as ISO 8601 has them."""
    from discreet.generalization._auto import date_format

    _check_key(desk, column)
    given = tree_of(desk, column)[0].spec.get("format")
    found = given or date_format(desk.look.seen.encoded[column].values)
    return {"format": found} if found else {}


def _keys(desk: Desk, column: str | None) -> dict[str, Any]:
    from discreet.app.pages.data import settle_roles

    settle_roles(desk)
    keys = desk.space.recipe.get("roles", {}).get("quasi", [])
    column = column and _as_sent(desk, column)
    return {"keys": keys, "column": column if column in keys else (keys[0] if keys else None)}


def _as_sent(desk: Desk, column: str) -> str:
    """Return the key that a form names; browsers send line ends as CRLF, where no script does."""
    keys = desk.space.recipe.get("roles", {}).get("quasi", [])
    alike = [key for key in keys if re.sub("\r\n|\r|\n", "\r\n", key) == column]
    return column if column in keys or not alike else alike[0]


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

    for step in content_of(desk.space.checked_file).get("steps", []):
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
    values = _values(desk, column)
    missing = [x for x in values if known and x not in known]
    shown: dict[str, Any] = {"levels": [], "problem": None}
    try:
        ladder, counts = _bound(desk, column)
    except BadInput as error:
        shown["problem"] = str(error)
    else:
        ranked = _ranks(ladder.leaves, seen)
        for level, labels in enumerate(ladder.labels):
            held = np.bincount(ladder.maps[level], counts, len(labels)).astype(int)
            if ranked is None:
                order = np.argsort(-held, kind="stable")[:_LABELS]
            else:
                first = np.full(len(labels), len(ranked))
                np.minimum.at(first, ladder.maps[level], ranked)
                order = np.argsort(first, kind="stable")[:_LABELS]
            some = [(labels[i], int(held[i])) for i in order]
            shown["levels"].append({"labels": some, "more": len(labels) - len(some)})
    ranks = _ranks(seen.values, seen)
    order = np.argsort(-seen.counts if ranks is None else ranks, kind="stable")
    rows = [(values[i], int(seen.counts[i])) for i in order]
    spec, paths = tree.spec, _paths(desk.space.recipe, column, values)
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
        "given": _given(spec),
        "rule": spec["kind"] if spec["kind"] in KINDS else rule_for(seen),
    }


def _ranks(values: pa.Array, column: Encoded) -> np.ndarray | None:
    """Return the places of numbers and dates in their own order; None for words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.generalization._auto import date_format
    from discreet.generalization._dates import days_of

    written = date_format(column.values) if column.kind == "text" and len(column.values) else None
    if written is not None:
        try:
            return pc.rank(pa.array(days_of(values, "dates", written))).to_numpy()
        except BadInput:  # A file has others besides.
            return None
    if not (column.kind == "numeric" or pa.types.is_temporal(column.values.type)):
        return None
    try:
        return pc.rank(values.cast(column.values.type)).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Text: of other values, or durations.
        return None


def _given(spec: Mapping[str, Any]) -> str:
    """Write a rule's levels for its field, with all else that it says, so that none of it is lost.

    Examples
    --------
    >>> _given({"kind": "intervals", "widths": [5, 10]})
    '[5, 10]'
    >>> _given({"kind": "intervals", "widths": [5], "lower": 20})
    '{ widths = [5], lower = 20 }'
    """
    key = KINDS.get(spec["kind"], ("",))[0]
    rest = {name: value for name, value in spec.items() if name != "kind"}
    if not key or not rest:
        return ""
    return toml(rest[key]) if list(rest) == [key] else toml(rest)


def rule_for(column: Encoded) -> str:
    """Return the kind of rule that suits the values of a column."""
    from pyarrow.types import is_temporal

    if is_temporal(column.values.type):
        return "dates"
    if column.kind == "numeric":
        return "intervals"
    values = [str(x) for x in column.values.cast("string").to_pylist()]
    # Codes, such as of places: as long as each other, with digits.
    codes = len({len(x) for x in values}) == 1 and all(any(c.isdigit() for c in x) for x in values)
    return "prefix" if codes else "flat"


def _values(desk: Desk, column: str) -> list[str]:
    return [str(x) for x in desk.look.seen.encoded[column].values.cast("string").to_pylist()]


def _paths(recipe: Mapping[str, Any], column: str, held: Sequence[str]) -> Paths:
    """Return the groups of each value that is held, where the recipe has gathered any.

    A value that was not gathered is a group of its own.
    """
    found: Paths = {}
    for step in recipe.get("steps", []):
        spec = (step.get("hierarchies") or {}).get(column)
        if isinstance(spec, dict) and spec.get("kind") == "groups":
            found = dict(_inner(spec.get("tree", {}), ()))
            break
    return found | {value: (value,) for value in held if value not in found}


def _inner(tree: Any, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(tree, dict):
        for name, within in tree.items():
            yield from _inner(within, (*above, str(name)))
    else:
        for value in tree:
            yield str(value), above


def _check_values(paths: Paths, values: Sequence[str]) -> None:
    if any(value not in paths for value in values):
        raise BadInput("there is no such value")


def _values_into(paths: Paths, values: Sequence[str], group: str) -> Paths:
    """Put values into a group: one that there is, or a new one where all of them are.

    Examples
    --------
    >>> _values_into({"a": ("a",), "b": ("b",)}, ["a", "b"], "both")
    {'a': ('both',), 'b': ('both',)}
    """
    _check_values(paths, values)
    there = next((path for path in paths.values() if path[-1] == group), None)
    above = {paths[value][:-1] for value in values}
    new = (*(above.pop() if len(above) == 1 else ()), group)
    return paths | dict.fromkeys(values, there or new)


def _groups_into(paths: Paths, groups: Sequence[str], group: str) -> Paths:
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


def tree_from(paths: Paths) -> dict[str, Any]:
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


def _save(
    desk: Desk, column: str, made: Callable[[Paths], dict[str, Any]], said: str, seen: int
) -> str | None:
    """Write a hierarchy into the recipe: into the step that has one, that could, or a new one.

    It is made of the groups as they are when it is written, so that of two that are gathered at
    the same moment neither is lost.
    """
    from discreet.generalization import Hierarchy

    _check_key(desk, column)
    # Looked for before the workspace is held: whoever looks at the table may need that.
    encoded, held = desk.look.seen.encoded[column], _values(desk, column)
    names = [] if tree_of(desk, column)[1] else desk.space.recipe["roles"]["quasi"]
    trees = {name: tree_of(desk, name)[0].spec for name in names}

    def change(recipe: dict[str, Any]) -> dict[str, Any]:
        spec = made(_paths(recipe, column, held))
        if spec["kind"] == "groups" and len(held) > _GATHERED:
            raise BadInput(
                f"{column} has {len(held):,} values, too many to gather by hand: build its levels "
                "by a rule, or from a file"
            )
        # What is wrong with it is said now.
        Hierarchy.from_spec(spec).bind_and_encode(encoded.levels(), column, encoded.counts)
        return with_tree(recipe, column, spec, trees)

    return desk.space.edit(said, change, seen)


def with_tree(
    recipe: Mapping[str, Any], column: str, spec: Any, trees: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a recipe with a key's hierarchy; a new step has the `trees` for the other keys.

    All its steps stay. A new one goes before them, for the keys that no step treats, or that only
    have cells blanked.

    Examples
    --------
    >>> steps = [{"method": "oma", "columns": ["age"]}]
    >>> recipe = {"roles": {"quasi": ["age", "sex"]}, "steps": steps}
    >>> found = with_tree(recipe, "sex", {"kind": "flat"}, {})
    >>> [(step["method"], step["columns"]) for step in found["steps"]]
    [('generalize', ['sex']), ('oma', ['age'])]
    """
    steps = [dict(step) for step in recipe.get("steps", [])]
    able = [step for step in steps if step.get("method") in _RECODING]
    own = [step for step in steps if column in (step.get("hierarchies") or {})]
    treating = [step for step in able if column in step.get("columns", [])]
    elsewhere = [step for step in steps if step["method"] not in (*_RECODING, *_AFTER)]
    treated = {name: step["method"] for step in elsewhere for name in step.get("columns", [])}
    if not own and not treating and column in treated:
        raise BadInput(
            f"a step {treated[column]} treats {column} and has no use for a hierarchy: take the "
            "column out of it first"
        )
    for step in own or treating or able:
        step["hierarchies"] = {**(step.get("hierarchies") or {}), column: spec}
        step["columns"] = list(dict.fromkeys([*step.get("columns", []), column]))
        return {**recipe, "steps": steps}
    keys = [name for name in recipe["roles"]["quasi"] if name not in treated]
    new = {
        "method": "generalize",
        "columns": keys,
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "hierarchies": {name: trees[name] for name in keys if name in trees} | {column: spec},
    }
    return {**recipe, "steps": [new, *steps]}
