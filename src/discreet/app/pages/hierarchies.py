"""Placeholder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

if TYPE_CHECKING:
    from discreet.app.server import Desk


def router(desk: Desk) -> APIRouter:
    """Answer to what is done on the page."""
    routes = APIRouter()

    @routes.get("/hierarchies")
    def page(request: Request) -> HTMLResponse:
        return desk.page("refused.html", "hierarchies", request, said="not yet")

    return routes
