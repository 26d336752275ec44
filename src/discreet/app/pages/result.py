"""What a run came to: the decision page, the check, and the reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from discreet.app import commands
from discreet.app.look import first_rows
from discreet.app.routes import new_router
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk

# Rows of the release that are shown.
_ROWS = 10
# A report brings its own style and no script; it is shown in a frame that can do nothing else.
_REPORT = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'; sandbox"
}


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = new_router()

    @routes.get("/result")
    def page(request: Request, run: int | None = None) -> HTMLResponse:
        return desk.page("result.html", "result", request, **_result(desk, run))

    @routes.get("/result/{number}/report")
    def report(number: int, external: bool = False) -> HTMLResponse:
        path = release_of(desk, number)
        found = path / ("public" if external else "internal") / "report.html"
        if not found.is_file():
            raise BadInput(f"the report of run {number} is not there any more: {found}")
        return HTMLResponse(found.read_text(encoding="utf-8"), headers=_REPORT)

    @routes.get("/result/{number}/rows")
    def rows(number: int) -> HTMLResponse:
        table = first_rows(_table_of(release_of(desk, number)), _ROWS)
        cells = [[_cell(x) for x in one.values()] for one in table.to_pylist()]
        return desk.part("rows.html", names=table.column_names, cells=cells)

    return routes


def release_of(desk: Desk, number: int) -> Path:
    """Return the folder of a run's release, if it is still there."""
    run = desk.queue.get(number)
    path = Path(run["out"])
    if run["status"] != "done" or run["kind"] != "protect":
        raise BadInput(f"run {number} has no release: it is {run['status']}")
    desk.folders.find(str(path))
    if not _is_there(desk, run):
        raise BadInput(f"the release of run {number} is not there any more, or not whole: {path}")
    return path


def _table_of(release: Path) -> Path:
    """Return the released table, in the format that is written first where there are several."""
    found = sorted((release / "public").glob("table.*"))
    if not found:
        raise BadInput("the release has no table")
    return found[0]


def _cell(value: Any) -> str:
    """Write a value as a file has it.

    Examples
    --------
    >>> _cell(True), _cell(0.1), _cell(None)
    ('true', '0.1', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def finished(desk: Desk) -> list[dict[str, Any]]:
    """Return the runs that have a release, the last one first."""
    return [run for run in ended(desk) if run["kind"] == "protect"]


def of_this_table(desk: Desk) -> list[dict[str, Any]]:
    """Return the runs whose release is one of the table that is open, the last one first."""
    return [run for run in finished(desk) if run["input"] == str(desk.space.input)]


def ended(desk: Desk) -> list[dict[str, Any]]:
    """Return the runs that ended well and whose folder is still there, the last one first."""
    done = [run for run in desk.queue.all() if run["status"] == "done"]
    return [run for run in done if _is_there(desk, run)]


def _is_there(desk: Desk, run: dict[str, Any]) -> bool:
    """Tell whether what a run made is there, and no link was put in its place, or in it.

    One half of a release may have been moved away, to share it or to keep it safe.
    """
    try:
        found = desk.folders.find(run["out"])
    except BadInput:
        return False
    kept = found / "internal"
    halves = (found / "public", kept, kept / "recipe.toml") if run["kind"] == "protect" else ()
    there = all(path.exists() for path in (found, *halves))
    there = there and not any(path.is_symlink() for path in found.rglob("*"))
    return there and desk.queue.result(run["number"]) is not None


def measured_of(result: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the risk and the loss of a release, by the measures that all pages name."""
    found = (result or {}).get("assessment")
    if not found:
        return None
    risk = found["risk"].get("attackers", {}).get("after", {})
    lost = found["utility"].get("information_loss", {})
    if risk.get("marketer") is None or lost.get("value") is None:
        return None
    # The assessment's mean is over all columns that are released, also over those left as they are.
    judged = _judged(result or {})
    losses = [loss for name, loss in lost.get("columns", {}).items() if name in judged]
    loss = sum(losses) / len(losses) if losses else lost["value"]
    return {
        "risk": risk["marketer"],
        "loss": loss,
        "largest": risk.get("prosecutor"),
        "of_all": lost["value"],
    }


def unmeasured(result: dict[str, Any]) -> str:
    """Say why a release has no average risk, where its assessment does."""
    why = (result.get("assessment") or {}).get("left_out", {}).get("attackers", "")
    # What else could be asked for is said to those who write recipes.
    return str(why).partition("; ")[0]


def _judged(result: dict[str, Any]) -> set[str]:
    """Return the keys and the confidential columns of a release."""
    columns = result["decision"]["columns"]
    return {one["column"] for one in columns if one["role"] in ("quasi", "confidential")}


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
    check, targets = found["check"], found["decision"]["verdict"]["targets"]
    return {
        **chosen,
        "decision": found["decision"],
        "measured": measured_of(found),
        "unmeasured": unmeasured(found),
        "check": check,
        # What is not as it should be comes first.
        "findings": sorted(check["findings"], key=lambda one: one["status"] == "verified"),
        # A release of an earlier version does not say it.
        "stated": found["decision"]["verdict"].get("stated", True),
        "targets": _in_order(targets, stated=True),
        "guides": _in_order(targets, stated=False),
        "notes": check.get("notes", []),
        **commands.of_result(run, found["table"]),
    }


def _in_order(targets: list[dict[str, Any]], stated: bool) -> list[dict[str, Any]]:
    """Return what was asked, or the guide values beside it; what is missed comes first."""
    some = [one for one in targets if (one["source"] != "guide value") == stated]
    return sorted(some, key=lambda one: one["met"] is True)
