"""Who may ask the app: this machine's own browser, with the cookie that the token was swapped for.

Other pages that are open in the same browser can send requests to 127.0.0.1 too, and a name that
resolves to it makes them look like its own (DNS rebinding). So a request must name this host, come
from a page of this host, and bring the cookie.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
MOST_BYTES = 8_000_000
# Where Linux lists connections, each end with its user.
_CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Refuse what does not come from the page that the app opened."""

    def __init__(self, app: Any, port: int) -> None:
        self.app, self.port = app, port
        # Both end with the server: a cookie that was stolen, or that a browser sent to another
        # port of this machine, opens nothing tomorrow.
        self.session = secrets.token_urlsafe(32)
        self.token: str | None = secrets.token_urlsafe(32)
        # Not localhost: another user may listen on this port of ::1, where browsers go first, and
        # would be sent the cookie.
        self.hosts = {f"127.0.0.1:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}
        # Cookies do not tell ports apart.
        self.cookie = f"discreet-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass a request on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        problem = self._foreign(headers, scope["method"])
        if problem is not None:
            await _answer(send, 403, problem)
            return
        if self._swaps(scope):
            if _is_of_another_user(scope, self.port):
                await _answer(send, 403, "Another user of this machine asked for this.")
                return
            self.token = None
            cookie = f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(send, 303, "", {"location": "/", "set-cookie": cookie})
            return
        if not hmac.compare_digest(self._cookie_of(headers), self.session):
            said = (
                "Open the app by the address that `discreet app` printed when it was started last; "
                "each works once. Nothing was lost."
            )
            await _answer(send, 401, said)
            return
        size = headers.get("content-length", "0")
        if len(size) > 20 or int(size) > MOST_BYTES:
            await _answer(send, 413, "That is too much at once.")
            return
        body = _Body(receive, send)
        try:
            await self.app(scope, body.receive, body.send)
        except _TooMuch:
            await body.refuse()
        except Exception:
            # The app has said so, without what the exception says. It would be logged from here,
            # and the connection closed.
            await body.refuse(500, "Something went wrong. Nothing was lost; try again.")

    def _foreign(self, headers: dict[str, str], method: str) -> str | None:
        """Say what is wrong with where a request comes from."""
        if headers.get("host") not in self.hosts:
            return "This address is not the app's."
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins:
            return "Another page asked for this."
        if headers.get("sec-fetch-site") not in (None, "same-origin", "none"):
            return "Another page asked for this."
        if method not in ("GET", "HEAD") and origin is None:
            return "A change must come from the app's own page."
        if not headers.get("content-length", "0").isdecimal():
            return "The request is not well formed."
        return None

    def _swaps(self, scope: Scope) -> bool:
        """Tell whether a request brings the token, which works once."""
        if scope["path"] != "/" or self.token is None or scope["method"] != "GET":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _cookie_of(self, headers: dict[str, str]) -> str:
        """Return the app's own cookie; others may be written as no parser would have them."""
        for one in headers.get("cookie", "").split(";"):
            name, _, value = one.strip().partition("=")
            if name == self.cookie and value.isascii():
                return value
        return ""


def _is_of_another_user(scope: Scope, port: int) -> bool:
    """Tell whether somebody else asks: a browser is started with the address as its argument.

    Whoever lists processes sees that, and could use the token before the browser does. Root can
    read all files anyway, and may have been asked to start the server.
    """
    if not hasattr(os, "geteuid"):  # Windows.
        return False
    return os.geteuid() != 0 and bool(_users(scope, port) - {0, os.geteuid()})


def _users(scope: Scope, port: int) -> set[int]:
    """Return whose the other end of a connection is, where the system tells."""
    ends = [f":{(scope.get('client') or ('', 0))[1]:04X}", f":{port:04X}"]
    found = set()
    for path in _CONNECTIONS:
        with contextlib.suppress(OSError):  # Other systems have no such list.
            for line in path.read_text("ascii").splitlines()[1:]:
                cells = line.split()
                if [cells[1][-5:], cells[2][-5:]] == ends:
                    found.add(int(cells[7]))
    return found


class _TooMuch(Exception):
    """A body is larger than it said, or than any should be."""


class _Body:
    """A request whose body ends where it is too large, whatever its headers said."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, _with_headers(send)
        self._bytes, self._answered = 0, False

    async def receive(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > MOST_BYTES:
            raise _TooMuch
        return message

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if self._bytes > MOST_BYTES:
            # Whoever read the body may have taken the error for one of the form.
            await self.refuse()
            return
        self._answered = True
        await self._send(message)

    async def refuse(self, status: int = 413, said: str = "That is too much at once.") -> None:
        if not self._answered:
            self._answered = True
            await _answer(self._send, status, said)


def _with_headers(send: Send) -> Send:
    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {key.lower() for key, _ in message["headers"]}
            more = [
                (key.encode(), value.encode())
                for key, value in _HEADERS.items()
                if key.encode() not in given
            ]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


async def _answer(
    send: Send, status: int, said: str, headers: dict[str, str] | None = None
) -> None:
    """Answer with one sentence."""
    sent = _with_headers(send)
    own = [(b"content-type", b"text/plain; charset=utf-8")]
    own += [(key.encode(), value.encode()) for key, value in (headers or {}).items()]
    await sent({"type": "http.response.start", "status": status, "headers": own})
    await sent({"type": "http.response.body", "body": said.encode()})
