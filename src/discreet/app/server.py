"""The server: one page per stage, on this machine alone."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined

from discreet.app import commands
from discreet.app.guard import Guard
from discreet.app.jobs import Queue
from discreet.app.look import Look
from discreet.app.workspace import Folders, Workspace
from discreet.errors import BadInput

# FastAPI would hand requests, and what exceptions say, to whatever listens on this machine.
_SILENT = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
# The stages, in the order in which one goes through them: path, title.
STAGES = (
    ("data", "Data"),
    ("risk", "Risk"),
    ("hierarchies", "Hierarchies"),
    ("protect", "Protect"),
    ("explore", "Explore"),
    ("result", "Result"),
    ("release", "Release"),
)


@dataclass(frozen=True)
class Desk:
    """What every page needs."""

    space: Workspace
    folders: Folders
    queue: Queue
    look: Look
    templates: Environment

    def page(self, template: str, stage: str, request: Request, **content: Any) -> HTMLResponse:
        """Return a page, or for a request from within one only the part that it asked for."""
        if "hx-request" in request.headers:
            return self.part(template, **content)
        self.space.visit(stage)
        whole = {"stage": stage, "stages": STAGES, "inner": template}
        found = self.templates.get_template("page.html")
        return HTMLResponse(found.render(**whole, **(self.beside() | content)))

    def part(self, template: str, **content: Any) -> HTMLResponse:
        """Return a part of a page, and the recipe beside it as it is now."""
        own = self.templates.get_template(template).render(space=self.space, **content)
        aside = self.templates.get_template("aside.html").render(swap=True, **self.beside())
        return HTMLResponse(own + aside)

    def beside(self) -> dict[str, Any]:
        """Return what stands beside every page: the recipe, and what is wrong with it."""
        state = self.space.state
        by_number = {one["number"]: one for one in state["versions"]}
        here = by_number.get(state["current"])
        return {
            "space": self.space,
            "input": self.space.input,
            "recipe": self.space.text,
            "version": state["current"],
            "versions": state["versions"][::-1],
            "can_undo": here is not None and here["parent"] != 0,
            "can_redo": any(v["parent"] == state["current"] for v in state["versions"]),
            **commands.of_protect(self),
        }


def make_app(space: Workspace, roots: Sequence[Path], engine: str = "auto") -> FastAPI:
    """Return the app for a workspace; `Guard` is what makes it safe to serve."""
    silent: Any = {"telemetry": _SILENT}
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, **silent)
    here = Path(__file__).parent
    templates = Environment(
        loader=PackageLoader("discreet.app"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folders = Folders([*roots, space.folder])
    space.folders = folders
    desk = Desk(space, folders, Queue(space, engine), Look(space, engine), templates)
    app.state.desk = desk
    app.mount("/static", StaticFiles(directory=here / "static"))
    for name, _ in STAGES:
        app.include_router(import_module(f"discreet.app.pages.{name}").router(desk))
    app.include_router(import_module("discreet.app.pages.recipe").router(desk))

    @app.get("/events")
    async def events(request: Request) -> StreamingResponse:
        """Tell a page that runs changed; it asks for what it shows."""
        return StreamingResponse(_changes(desk.queue, request), media_type="text/event-stream")

    @app.exception_handler(BadInput)
    async def refused(request: Request, error: BadInput) -> HTMLResponse:
        return _said(desk, request, " ".join(str(error).splitlines()), 422)

    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: RequestValidationError) -> HTMLResponse:
        said = [f"{one['loc'][-1]}: {one['msg'].lower()}" for one in error.errors()]
        return _said(desk, request, "; ".join(said), 422)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> HTMLResponse:
        # What an exception says may hold values of the table; where it came from does not.
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = "" if last is None else f" at {last.tb_frame.f_code.co_qualname}:{last.tb_lineno}"
        print(f"discreet app: {type(error).__name__}{place}", file=sys.stderr)
        said = f"Something went wrong ({type(error).__name__}). Nothing was lost; try again."
        return _said(desk, request, said, 500)

    return app


def _said(desk: Desk, request: Request, said: str, status: int) -> HTMLResponse:
    """Answer with one sentence, as a notice or as a page."""
    if "hx-request" in request.headers:
        shown = desk.templates.get_template("notice.html").render(said=said, swap=True)
        return HTMLResponse(shown, status)
    whole = desk.templates.get_template("page.html")
    content = {"stage": "", "stages": STAGES, "inner": "refused.html", "said": said}
    return HTMLResponse(whole.render(**content, **desk.beside()), status)


async def _changes(queue: Queue, request: Request) -> AsyncIterator[str]:
    import asyncio

    seen, idle = -1, 0.0
    while not await request.is_disconnected():
        if queue.changes != seen:
            seen, idle = queue.changes, 0.0
            yield f"event: runs\ndata: {seen}\n\n"
        elif idle > 15:
            idle = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(0.1)
        idle += 0.1


def serve(
    file: Path | None,
    workspace: Path,
    port: int = 0,
    browser: bool = True,
    folders: Sequence[Path] = (),
    engine: str = "auto",
) -> None:
    """Serve the app until it is interrupted, and open it in the browser."""
    space = Workspace(workspace)
    roots = [*folders, *([file.absolute().parent] if file is not None else [])]
    app = make_app(space, roots or [Path.cwd()], engine)
    if file is not None:
        app.state.desk.folders.find(str(file))
        if space.input != file.absolute():
            from discreet.app.pages.data import open_table

            open_table(app.state.desk, file.absolute())
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise BadInput(f"port {port} cannot be used: {error.strerror}; leave --port out") from None
    port = listener.getsockname()[1]
    guard = Guard(app, port, space.session)
    url = f"http://127.0.0.1:{port}/?token={guard.token}"
    print(f"Discreet is at {url}\nIts workspace: {space.folder}\nCtrl+C ends it.", flush=True)
    if browser:
        threading.Timer(0.3, webbrowser.open, [url]).start()
    config = uvicorn.Config(
        guard,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        app.state.desk.queue.close()
        space.close()
