"""What a run came to: the decision page, the check, and the reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from discreet.app import commands
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk

# A report brings its own style and no script; it is shown in a frame that can do nothing else.
_REPORT = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'; sandbox"
}


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/result")
    def page(request: Request, run: int | None = None) -> HTMLResponse:
        return desk.page("result.html", "result", request, **_result(desk, run))

    @routes.get("/result/{number}/report")
    def report(number: int, external: bool = False) -> HTMLResponse:
        path = release_of(desk, number)
        found = path / ("public" if external else "internal") / "report.html"
        return HTMLResponse(found.read_text(encoding="utf-8"), headers=_REPORT)

    return routes


def release_of(desk: Desk, number: int) -> Path:
    """Return the folder of a run's release, if it is still there."""
    run = desk.queue.get(number)
    path = Path(run["out"])
    if run["status"] != "done" or run["kind"] != "protect" or not path.is_dir():
        raise BadInput(f"run {number} has no release: it is {run['status']}")
    return path


def finished(desk: Desk) -> list[dict[str, Any]]:
    """Return the runs that have a release, the last one first."""
    return [run for run in ended(desk) if run["kind"] == "protect"]


def of_this_table(desk: Desk) -> list[dict[str, Any]]:
    """Return the runs whose release is one of the table that is open, the last one first."""
    return [run for run in finished(desk) if run["input"] == str(desk.space.input)]


def ended(desk: Desk) -> list[dict[str, Any]]:
    """Return the runs that ended well and whose folder is still there, the last one first."""
    done = [run for run in desk.queue.all() if run["status"] == "done"]
    return [run for run in done if Path(run["out"]).is_dir()]


def chosen_of(desk: Desk, number: int | None) -> dict[str, Any]:
    """Return the runs to choose from, the one to show, and its table where another is open."""
    runs = of_this_table(desk)
    run = desk.queue.get(number) if number is not None else next(iter(runs), None)
    if run is None or run["input"] == str(desk.space.input):
        return {"runs": runs, "run": run, "other": None}
    return {"runs": [run, *runs], "run": run, "other": Path(run["input"]).name}


def _result(desk: Desk, number: int | None) -> dict[str, Any]:
    chosen = chosen_of(desk, number)
    run = chosen["run"]
    if run is None:
        return chosen
    release_of(desk, run["number"])
    found = desk.queue.result(run["number"])
    assert found is not None
    check = found["check"]
    return {
        **chosen,
        "decision": found["decision"],
        "check": check,
        # What is not as it should be comes first.
        "findings": sorted(check["findings"], key=lambda one: one["status"] == "verified"),
        "targets": sorted(
            found["decision"]["verdict"]["targets"], key=lambda one: one["met"] is True
        ),
        "notes": check.get("notes", []),
        **commands.of_result(run, found["table"]),
    }
