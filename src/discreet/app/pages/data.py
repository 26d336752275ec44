"""The first page: which table, and what its columns are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from discreet.app import commands
from discreet.app.forms import whole
from discreet.app.routes import new_router
from discreet.app.workspace import is_text
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk
    from discreet.inspection.encoded import Encoded

# The roles, with the key that gives a column its role, and what it means.
ROLES = {
    "identifiers": ("i", "names a person on its own: dropped"),
    "quasi": ("k", "a key: others may know it, and find a person by it"),
    "confidential": ("c", "what nobody should learn of a person they know"),
    "insensitive": ("n", "released as it is"),
    "pseudonyms": ("p", "replaced by a pseudonym"),
    "household": ("h", "the number of the household"),
    "unit": ("u", "the person or company a row belongs to"),
    "weight": ("w", "the sampling weight, to measure risk by: not released"),
    "target": ("t", "what supervised methods aim at: not released by that alone"),
    "row_key": ("r", "different in every row, draws go by it: not released"),
    "drop": ("d", "not released"),
}
_LISTS = ("identifiers", "quasi", "confidential", "insensitive", "pseudonyms")
# Each value of these leads to somebody.
_NAMING = ("identifiers", "pseudonyms", "unit")
# These say what a column is used for; it is released only if it is in a list, too.
_USES = ("weight", "target", "row_key")
_ALSO = ("untouched", "household_level", "not_identifiers")
# Suffixes of what can be opened.
_FILES = (
    ".csv", ".tsv", ".txt", ".gz", ".zst", ".parquet", ".pq", ".xlsx", ".sav", ".dta", ".sas7bdat",
    ".xpt", ".feather", ".arrow", ".json", ".jsonl", ".ndjson",
)  # fmt: skip
_BARS = 12
# How a file is written: what is asked, and what can be answered.
DIALECT = {
    "separator": ("Separator", "such as ; or tab"),
    "decimal": ("Decimal mark", "such as ,"),
    "quote": ("Quote", "such as ' or none"),
    "encoding": ("Encoding", "such as latin-1"),
    "sheet": ("Sheet of a workbook", "its name"),
}
# What k counts, where it is not what the roles suggest.
COUNTS = {
    "auto": "what the roles suggest: households, else units, else rows",
    "rows": "rows",
    "units": "units",
    "households": "households",
}


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = new_router()

    @routes.get("/data")
    def page(request: Request) -> HTMLResponse:
        if desk.space.input is None:
            return desk.page("open.html", "data", request, **_listing(desk, None))
        state = desk.space.state
        found = {"fields": DIALECT, "dialect": state["dialect"], "version": state["current"]}
        return desk.page("data.html", "data", request, **found, **commands.of_data(desk))

    @routes.get("/data/columns")
    def columns() -> HTMLResponse:
        return desk.part("columns.html", **_columns(desk))

    @routes.get("/data/files")
    def files(request: Request, folder: str | None = None) -> HTMLResponse:
        return desk.page("open.html", "data", request, **_listing(desk, folder))

    @routes.post("/data/open")
    async def opened(request: Request) -> HTMLResponse:
        return await run_in_threadpool(opening, await request.form())

    def opening(form: FormData) -> HTMLResponse:
        found = desk.folders.find_file(str(form.get("path", "")))
        if not found.exists():
            raise BadInput(f"'{found.name}' does not exist")
        open_table(desk, found, **_dialect(form))
        return HTMLResponse("", headers={"HX-Redirect": "/data"})

    @routes.post("/data/dialect")
    async def dialect(request: Request) -> HTMLResponse:
        return await run_in_threadpool(reading, await request.form())

    def reading(form: FormData) -> HTMLResponse:
        if "version" in form:
            desk.space.as_seen(whole("version", str(form["version"])))  # Of this table.
        read_again(desk, _dialect(form))
        return HTMLResponse("", headers={"HX-Redirect": "/data"})

    @routes.post("/data/missing")
    def missing(
        marker: Annotated[str, Form()],
        version: Annotated[int, Form()],
        remove: Annotated[bool, Form()] = False,
    ) -> HTMLResponse:
        if not marker.strip():
            raise BadInput("write what stands for a missing value, such as NA")

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            kept = [one for one in recipe.get("null_markers", []) if one != marker]
            return {**recipe, "null_markers": kept if remove else [*kept, marker]}

        said = f"'{marker}' is {'a value' if remove else 'missing'}"
        notice = desk.space.edit(said, change, version)
        return desk.part("columns.html", **_columns(desk, notice))

    @routes.post("/data/counts")
    def counts(counts: Annotated[str, Form()], version: Annotated[int, Form()]) -> HTMLResponse:
        if counts not in COUNTS:
            raise BadInput(f"k cannot count '{counts}'")

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            left = {key: value for key, value in recipe.items() if key != "counts"}
            return left if counts == "auto" else left | {"counts": counts}

        notice = desk.space.edit(f"k counts {COUNTS[counts]}", change, version)
        return desk.part("columns.html", **_columns(desk, notice))

    @routes.post("/data/none")
    def none(column: Annotated[str, Form()], version: Annotated[int, Form()]) -> HTMLResponse:
        if column not in [look.name for look in desk.look.seen.columns]:
            raise BadInput(f"the table has no column '{column}'")

        def change(recipe: dict[str, Any]) -> dict[str, Any]:
            roles = recipe.get("roles", {})
            kept = [one for one in roles.get("not_identifiers", []) if one != column]
            return {**recipe, "roles": roles | {"not_identifiers": [*kept, column]}}

        notice = desk.space.edit(f"{column} is not an identifier", change, version)
        return desk.part("columns.html", **_columns(desk, notice))

    @routes.post("/data/anew")
    def anew(version: Annotated[int, Form()]) -> HTMLResponse:
        content = guessed(desk)
        said = "started again from the guesses"
        notice = desk.space.edit(said, lambda recipe: content, version)
        return desk.part("columns.html", **_columns(desk, notice))

    @routes.post("/data/role")
    def role(
        role: Annotated[str, Form()],
        version: Annotated[int, Form()],
        column: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        if role not in ROLES:
            raise BadInput(f"there is no role '{role}'")
        chosen = column or []
        known = [look.name for look in desk.look.seen.columns]
        if not chosen or any(name not in known for name in chosen):
            raise BadInput("choose the columns first")
        said = f"{', '.join(chosen[:3])}{' and more' * (len(chosen) > 3)}: {role}"
        before = desk.space.recipe.get("roles", {}).get(role)
        notice = desk.space.edit(said, lambda recipe: with_role(recipe, chosen, role), version)
        if isinstance(before, str) and role_of(desk.space.recipe, before) == "drop":
            gone = f"Only one column can be the {role}: it was {before}, which is dropped now."
            notice = f"{notice} {gone}" if notice else gone
        if role in _USES:
            used = f"{chosen[0]} is used as the {role} and is not released. To release it as well, "
            used += "add it to a list such as insensitive in the recipe's text."
            notice = f"{notice} {used}" if notice else used
        return desk.part("columns.html", **_columns(desk, notice))

    return routes


def open_table(desk: Desk, path: Path, **dialect: str | None) -> None:
    """Work on a table: where it was left, or else with the roles that a first look suggests."""
    if not desk.space.reopen(path):
        desk.space.open_file(path, "", f"{path.name} opened", **dialect)
    elif any(dialect.values()):
        read_again(desk, dialect)


def read_again(desk: Desk, dialect: dict[str, str | None]) -> None:
    """Read the table in another way; the recipe stays where the columns are the same."""
    path = desk.look.path
    # What cannot be read is said before anything changes.
    given = {key: value for key, value in dialect.items() if value}
    text = desk.space.text if desk.look.columns_as(given) == _names(desk) else ""
    desk.space.open_file(path, text, f"{path.name} read in another way", **dialect)


def _names(desk: Desk) -> list[str]:
    """Return the columns as they are read now; none where they cannot be."""
    try:
        return [look.name for look in desk.look.seen.columns]
    except BadInput:
        return []


def _dialect(form: FormData) -> dict[str, str | None]:
    """Read how a file is written; what is left empty is detected."""
    given = {key: str(form.get(key, "")) for key in DIALECT}
    given["separator"] = {"tab": "\t", "\\t": "\t"}.get(given["separator"], given["separator"])
    return {key: value or None for key, value in given.items()}


def settle_roles(desk: Desk) -> None:
    """Write down the roles that the first look suggests, where the recipe has none yet."""
    opened = desk.space.current
    if desk.space.recipe:
        return
    content = guessed(desk)

    def change(recipe: dict[str, Any]) -> dict[str, Any]:
        # Another table may have been opened while this one was looked at.
        return recipe if recipe or desk.space.current != opened else content

    desk.space.edit("roles as the first look suggests", change, begins=True)


def guessed(desk: Desk) -> dict[str, Any]:
    """Return the recipe that a first look begins with: roles, and marks of missing values."""
    seen = desk.look.first
    roles: dict[str, Any] = {}
    for look in seen.columns:
        role = look.guess.role
        if role in _LISTS:
            roles.setdefault(role, []).append(look.name)
        elif role in ROLES and role != "drop":
            roles[role] = look.name
    content: dict[str, Any] = {"roles": {**roles, "rest": "drop"}}
    return {"null_markers": list(seen.markers), **content} if seen.markers else content


def with_role(recipe: dict[str, Any], columns: Sequence[str], role: str) -> dict[str, Any]:
    """Give columns a role in a recipe, and no other.

    Examples
    --------
    >>> with_role({"roles": {"quasi": ["age", "sex"]}}, ["age"], "insensitive")
    {'roles': {'quasi': ['sex'], 'insensitive': ['age'], 'rest': 'drop'}}
    """
    roles: dict[str, Any] = {}
    for key, value in recipe.get("roles", {}).items():
        if isinstance(value, list):
            kept = [
                name for name in value if name not in columns or (key in _ALSO and role == "quasi")
            ]
            if kept:
                roles[key] = kept
        elif value not in columns:
            roles[key] = value
    if role in _LISTS:
        roles[role] = [*roles.get(role, []), *columns]
    elif role != "drop":
        if len(columns) > 1:
            raise BadInput(f"only one column can be the {role}; choose one")
        roles[role] = columns[0]
    roles["rest"] = roles.pop("rest", "drop")
    return {**recipe, "roles": roles}


def role_of(recipe: dict[str, Any], column: str) -> str:
    """Return a column's role in a recipe; a use counts only where there is no other."""
    found = "drop"
    for key, value in recipe.get("roles", {}).items():
        named = value == column or (isinstance(value, list) and column in value)
        if key in ROLES and named and (found == "drop" or key in _LISTS):
            found = key
    return found


def _columns(desk: Desk, notice: str | None = None) -> dict[str, Any]:
    from pyarrow.types import is_temporal

    settle_roles(desk)
    seen, recipe = desk.look.seen, desk.space.recipe
    rows = [
        {
            "look": look,
            "role": role_of(recipe, look.name),
            "bars": bars(seen.encoded[look.name]),
            "names": _names_people(look.guess.role, role_of(recipe, look.name)),
            "nulls": look.nulls / max(seen.rows, 1),
            "kind": "date" if is_temporal(seen.encoded[look.name].values.type) else look.kind,
        }
        for look in seen.columns
    ]
    return {
        "rows": rows,
        "records": seen.rows,
        "sampled": desk.look.sampled,
        "read": desk.look.said,
        "roles": ROLES,
        "uses": _USES,
        "doubted": [row for row in rows if _doubted(row, recipe)],
        "notice": notice,
        "version": desk.space.current,
        "markers": recipe.get("null_markers", []),
        "suspected": _suspected(rows, recipe),
        "begun": recipe != guessed(desk),
        "counts": COUNTS,
        "counted": recipe.get("counts", "auto"),
        "suggested": _suggested(recipe.get("roles", {})),
    }


def _names_people(guessed: str, role: str) -> bool:
    """Tell whether the ends of a column's range are numbers of people, such as of passports."""
    return role in _NAMING or (role == "drop" and guessed == "identifiers")


def _suggested(roles: dict[str, Any]) -> str:
    """Say what k counts by the roles: without a household a unit, and without either rows."""
    return next((f"{one}s" for one in ("household", "unit") if roles.get(one)), "rows")


def _suspected(rows: list[dict[str, Any]], recipe: dict[str, Any]) -> dict[str, Any]:
    """Return what may mean that a value is missing, with the columns and the reason in each.

    A mark holds for the whole table, so it is asked for once.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for value, why in row["look"].missing.items():
            if value not in recipe.get("null_markers", []):
                found.setdefault(value, []).append((row["look"].name, why))
    return found


def _doubted(row: dict[str, Any], recipe: dict[str, Any]) -> bool:
    """Say whether a run may stop at a column: it looks like an identifier, and is to be released.

    Only what it looks like is asked here; a step that treats it settles it as well.
    """
    known = recipe.get("roles", {}).get("not_identifiers", [])
    name, released = row["look"].name, row["role"] in ("quasi", "confidential", "insensitive")
    return row["look"].guess.role == "identifiers" and released and name not in known


def bars(column: Encoded) -> list[float]:
    """Return the heights of a small picture of a column, of 0 to 1.

    Numbers by ranges of equal width; other values by how often the most frequent ones come.
    """
    # Here, so that the first page does not wait for them.
    import numpy as np
    import pyarrow as pa

    from discreet.table.columns import float_values

    counts = np.asarray(column.counts, dtype=float)
    if not len(counts) or counts.sum() == 0:
        return []
    if column.kind == "numeric" and len(counts) > _BARS:
        values = float_values(pa.chunked_array([column.values]), column.name)
        held = np.isfinite(values)
        # Halves, whose differences are numbers too; they may be 0 where integers are huge.
        along = values[held] / 2 - values[held].min() / 2
        places = np.minimum(along / (along.max() or 1.0) * _BARS, _BARS - 1).astype(int)
        counts = np.bincount(places, counts[held], _BARS)
    elif column.kind != "numeric":
        counts = np.sort(counts)[::-1][:_BARS]
    return [float(x) for x in counts / counts.max()]


def _listing(desk: Desk, folder: str | None) -> dict[str, Any]:
    """List what can be opened in a folder, and the folders within it; links are left out."""
    here = desk.folders.roots[0] if folder is None else desk.folders.find(folder)
    if not here.is_dir():
        raise BadInput(f"'{here.name}' is not a folder")
    inner, files, unnamed = [], [], 0
    with os.scandir(here) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name.lower()):
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if not is_text(entry.name):
                unnamed += 1
            elif entry.is_dir():
                inner.append(entry.name)
            elif entry.name.lower().endswith(_FILES):
                files.append((entry.name, entry.stat().st_size))
    above = here.parent if here not in desk.folders.roots else None
    return {
        "here": here,
        "above": above,
        "within": inner,
        "files": files,
        "unnamed": unnamed,
        "roots": desk.folders.roots,
        "fields": DIALECT,
        "dialect": {},
    }
