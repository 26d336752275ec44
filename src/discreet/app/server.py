"""The server: one page per stage, on this machine alone."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import warnings
import webbrowser
from collections.abc import AsyncIterator, Mapping, Sequence
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
from starlette.exceptions import HTTPException

from discreet.app import commands
from discreet.app.guard import Guard
from discreet.app.jobs import Queue
from discreet.app.look import Look
from discreet.app.routes import MOST_FIELDS
from discreet.app.workspace import Folders, Workspace
from discreet.errors import BadInput

# FastAPI would hand requests, and what exceptions say, to whatever listens on this machine.
_SILENT = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
# glibc's M_ARENA_MAX.
_ARENAS = -8
# Risk and loss have one measure each, and one name, on all pages.
MEASURES = {
    "risk": "Average risk: the chance to be found by somebody who knows a person's keys and that "
    "they are in the table, as a mean over all; the page Risk calls it the chance of a marketer.",
    "loss": "Information lost: the share of what a column told of each record that it does not "
    "tell any more, as a mean over the keys and the confidential columns.",
}
# Versions that stand beside every page.
_VERSIONS = 50
# What is said of requests that no page sends.
_MISSED = {
    400: f"That form cannot be read, or has more than {MOST_FIELDS:,} fields: edit the recipe as "
    "text instead.",
    404: "There is no such page.",
    405: "There is no such page.",
}
# What a field needs, by how the kind of what is wrong with it begins.
_NEEDED = {
    "missing": "nothing is given",
    "int": "a whole number is needed",
    "float": "a number is needed",
}
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
        own = self.templates.get_template(template).render(**content)
        aside = self.templates.get_template("aside.html").render(swap=True, **self.beside())
        return HTMLResponse(own + aside)

    def beside(self) -> dict[str, Any]:
        """Return what stands beside every page: the recipe, and what is wrong with it."""
        state = self.space.state
        return {
            "input": self.space.input,
            "recipe": self.space.text,
            "version": state["current"],
            "versions": _in_sight(state),
            "can_undo": self.space.can_undo,
            "can_redo": any(v["parent"] == state["current"] for v in state["versions"]),
            **commands.of_protect(self),
        }


def make_app(
    space: Workspace, roots: Sequence[Path], engine: str = "auto", memory: str | None = None
) -> FastAPI:
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
    templates.globals |= {"share": _share, "measures": MEASURES}
    folders = Folders([*roots, space.folder])
    space.folders = folders
    how = engine, memory
    desk = Desk(space, folders, Queue(space, *how), Look(space, *how), templates)
    app.state.desk = desk
    app.mount("/static", StaticFiles(directory=here / "static"))
    for name, _ in STAGES:
        app.include_router(import_module(f"discreet.app.pages.{name}").router(desk))
    app.include_router(import_module("discreet.app.pages.recipe").router(desk))

    @app.get("/events")
    async def events(request: Request) -> StreamingResponse:
        """Tell a page that runs changed; it asks for what it shows."""
        return StreamingResponse(_changes(desk.queue, request), media_type="text/event-stream")

    # In threads: what is refused is shown beside the recipe, which somebody may be changing.
    @app.exception_handler(BadInput)
    def refused(request: Request, error: BadInput) -> HTMLResponse:
        return _said(desk, request, " ".join(str(error).splitlines()), 422)

    @app.exception_handler(RequestValidationError)
    def misread(request: Request, error: RequestValidationError) -> HTMLResponse:
        said = [f"{one['loc'][-1]}: {_misread(one)}" for one in error.errors()]
        return _said(desk, request, "; ".join(said), 422)

    @app.exception_handler(HTTPException)
    def missed(request: Request, error: HTTPException) -> HTMLResponse:
        said = _MISSED.get(error.status_code, "The app cannot answer to that.")
        return _said(desk, request, said, error.status_code)

    @app.exception_handler(OSError)
    def unwritable(request: Request, error: OSError) -> HTMLResponse:
        # Such as a disk that is full. The file's name may be one of the table's.
        why = error.strerror or type(error).__name__
        said = f"A file could not be read or written: {why}. Nothing was lost; try again."
        return _said(desk, request, said, 500)

    @app.exception_handler(Exception)
    def failed(request: Request, error: Exception) -> HTMLResponse:
        # What an exception says may hold values of the table; where it came from does not.
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = "" if last is None else f" at {last.tb_frame.f_code.co_qualname}:{last.tb_lineno}"
        print(f"discreet app: {type(error).__name__}{place}", file=sys.stderr)
        said = f"Something went wrong ({type(error).__name__}). Nothing was lost; try again."
        return _said(desk, request, said, 500)

    return app


def _in_sight(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the versions to choose from, the last one first; a name keeps an early one there."""
    early, last = state["versions"][:-_VERSIONS], state["versions"][-_VERSIONS:]
    kept = [one for one in early if one["name"] or one["number"] == state["current"]]
    return [*kept, *last][::-1]


def _misread(error: Mapping[str, Any]) -> str:
    """Say what a field needs; what the validation says of it is for programmers."""
    known = (said for kind, said in _NEEDED.items() if error["type"].startswith(kind))
    return next(known, error["msg"].lower())


def _share(value: float) -> str:
    """Write a share as percent; what writes it in reports would be long to import."""
    return f"{100 * value:.3g} %"


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


def _give_back_memory() -> None:
    """Let freed memory go back to the system, or to whoever asks next.

    A server lives for hours and works now and then: what Arrow's own allocator and each thread's
    part of the heap would keep for later is a fifth of all its memory.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Only glibc has such parts.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENAS, 1)


def serve(
    file: Path | None,
    workspace: Path,
    port: int = 0,
    browser: bool = True,
    folders: Sequence[Path] = (),
    engine: str = "auto",
    memory: str | None = None,
) -> None:
    """Serve the app until it is interrupted, and open it in the browser."""
    _give_back_memory()
    if hasattr(signal, "SIGPIPE"):
        # It ends a command whose reader is gone; a browser may go elsewhere before it is answered.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # First, before a run that waits is started in vain.
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise BadInput(f"port {port} cannot be used: {error.strerror}; leave --port out") from None
    port = listener.getsockname()[1]
    space = Workspace(workspace)
    # They name rows and values; pages show those about the file, and a release's log has all.
    warnings.simplefilter("ignore")
    # Temporary files hold rows of people. Not by the environment, which a browser would have, too.
    tempfile.tempdir = str(space.temporary)
    roots = [*folders, *([file.absolute().parent] if file is not None else [])]
    app = make_app(space, roots or [Path.cwd()], engine, memory)
    if file is not None:
        found = app.state.desk.folders.find(str(file))
        if space.input != found:
            from discreet.app.pages.data import open_table

            open_table(app.state.desk, found)
    guard = Guard(app, port)
    url = f"http://127.0.0.1:{port}/?token={guard.token}"
    print(f"Discreet is at {url}\nIts workspace: {space.folder}\nCtrl+C ends it.", flush=True)
    if browser:
        threading.Timer(0.3, webbrowser.open, [url]).start()
    # Where no file descriptor is left for a connection, it would say so, megabytes a second.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        guard,
        # And try again at once so often.
        backlog=32,
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
        if any(
            not one.daemon for one in threading.enumerate() if one is not threading.main_thread()
        ):
            # Somebody's page is still being counted, and would be waited for; all that was clicked
            # is on disk.
            os._exit(130)
