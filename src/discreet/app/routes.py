"""Routes whose forms may be as wide as tables are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute

# A field for each column, and a few more; the guard bounds the bytes.
MOST_FIELDS = 50_000
# What is asked for first is there at once, and needs less.
_FIRST = ("/", "/data")
_loading = threading.Lock()


class _Wide(Request):
    """A request whose form may have more fields than the framework's thousand."""

    def form(self, *, max_fields: int | float = MOST_FIELDS, **more: Any) -> Any:
        return super().form(max_fields=max_fields, **more)


class _Route(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def wide(request: Request) -> Response:
            return await handler(_Wide(request.scope, request.receive))

        return wide


def _load(request: Request) -> None:
    """Load what pages are made with; who asks meanwhile waits.

    Two threads that load a package and a part of it at the same moment find them half loaded.
    """
    if request.url.path not in _FIRST:
        with _loading:
            import discreet.generalization
            import discreet.recipe  # noqa: F401


def new_router() -> APIRouter:
    """Return a router for a page.

    Examples
    --------
    >>> new_router().routes
    []
    """
    return APIRouter(route_class=_Route, dependencies=[Depends(_load)])
