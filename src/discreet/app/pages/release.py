"""Where a release goes, in which formats, and what of it may be shared."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w
from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse

from discreet.app import commands
from discreet.app.jobs import ENDED
from discreet.app.pages.protect import runs_shown
from discreet.app.pages.result import chosen_of, release_of
from discreet.app.routes import new_router
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk

FORMATS = {
    "csv": "CSV",
    "parquet": "Parquet",
    "xlsx": "Excel",
    "sav": "SPSS",
    "dta": "Stata",
}
# What the files of a release are.
_MEANING = {
    "table": "the table",
    "codebook": "what each column is, and what became of it",
    "report": "what was done, and what it cost",
    "README": "what is in this folder",
    "assessment": "risk and utility, before and after",
    "check": "what the independent check found",
    "log": "versions, timings, warnings",
    "manifest": "sizes and hashes of all files, sealed",
    "plan": "what each step decided",
    "recipe": "the recipe with its seeds",
    "rows": "the original row of each released row",
    "schema": "the types of the columns",
    "pseudonyms": "the key of the pseudonyms",
    "project": "the key of the project",
}


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = new_router()
    lock = threading.Lock()

    @routes.get("/release")
    def page(request: Request, run: int | None = None) -> HTMLResponse:
        return desk.page("release.html", "release", request, **_release(desk, run))

    @routes.post("/release/write")
    def write(
        run: Annotated[int, Form()],
        out: Annotated[str, Form()],
        format: Annotated[list[str] | None, Form()] = None,
    ) -> HTMLResponse:
        from discreet.check.folders import is_file_target
        from discreet.recipe.recipe import content_of

        target = desk.folders.find(out)
        if target.exists():
            raise BadInput(f"'{target.name}' exists; name a folder that is to be made")
        if is_file_target(target):
            raise BadInput(f"'{target.name}' names a file; name a folder that is to be made")
        if desk.space.folder == target or desk.space.folder in target.parents:
            raise BadInput("the workspace is not a place for releases; name a folder beside it")
        recipe = release_of(desk, run) / "internal" / "recipe.toml"
        chosen = ",".join(one for one in FORMATS if one in (format or ["csv"]))
        if not chosen:
            raise BadInput(f"choose a format: {', '.join(FORMATS)}")
        said = f"run {run} written to {target}"
        past = desk.queue.get(run)
        desk.folders.find(past["input"])
        # Its keys are files beside it.
        text = tomli_w.dumps(content_of(recipe))
        with lock:  # Two clicks may be answered at once.
            going = [one["out"] for one in desk.queue.all() if one["status"] not in ENDED]
            if str(target) in going:
                raise BadInput(f"another run is to write to '{target.name}'; name another folder")
            desk.queue.add(text, said, past["version"], target, again=past, format=chosen)
        return desk.part("runs.html", **runs_shown(desk, run))

    return routes


def _release(desk: Desk, number: int | None) -> dict[str, Any]:
    found = chosen_of(desk, number)
    run = found["run"]
    if run is None:
        return found
    path = release_of(desk, run["number"])
    recipe = path / "internal" / "recipe.toml"
    result = desk.queue.result(run["number"])
    assert result is not None
    return {
        **found,
        "verdict": result["decision"]["verdict"],
        "path": path,
        "public": _files(path / "public"),
        "internal": _files(path / "internal"),
        "formats": FORMATS,
        "proposed": desk.folders.roots[0] / "release",
        "again": commands.of_release(run)["command"],
        "exact": recipe.read_text(encoding="utf-8"),
        **commands.of_release(run),
    }


def _files(folder: Path) -> list[tuple[str, int, str]]:
    """Return the files of a folder: name, bytes, and what it is."""
    found = sorted(path for path in folder.iterdir() if path.is_file())
    return [(x.name, x.stat().st_size, _MEANING.get(x.name.split(".")[0], "")) for x in found]
