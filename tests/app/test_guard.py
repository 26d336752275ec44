"""Requests that must be refused, each for its own reason."""

import os
import resource
import socket
import time

import httpx
import pytest

from discreet.app import guard
from tests.app.client import BASE, PORT, Page
from tests.app.server import Server

EVIL = "http://evil.example"


@pytest.fixture
def stranger(tmp_path, people):
    page = Page(tmp_path / "work", [people.parent], signed_in=False)
    yield page
    page.end()


def test_the_token_works_once_and_is_swapped_for_a_strict_cookie(stranger):
    answer = stranger.get("/", params={"token": stranger.first_token})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert stranger.get("/data").status_code == 200
    stranger.cookies.clear()
    again = stranger.get("/", params={"token": stranger.first_token})
    assert again.status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/data", {}, 401),  # no token
        ("GET", "/?token=guess", {}, 401),
        ("GET", "/?token=", {}, 401),
        ("GET", "/data?token=TOKEN", {}, 401),  # the token is for the first page alone
        ("POST", "/?token=TOKEN", {"origin": BASE}, 401),
        ("GET", "/static/app.js", {}, 401),
        ("GET", "/events", {}, 401),
        ("GET", "/?token=TOKEN", {"host": "evil.example"}, 403),  # DNS rebinding
        ("GET", "/?token=TOKEN", {"host": f"evil.example:{PORT}"}, 403),
        ("GET", "/?token=TOKEN", {"host": f"127.0.0.1:{PORT + 1}"}, 403),
        ("GET", "/?token=TOKEN", {"host": f"localhost:{PORT}"}, 403),  # ::1 may be another's
        ("GET", "/?token=TOKEN", {"origin": f"http://localhost:{PORT}"}, 403),
        ("GET", "/?token=TOKEN", {"origin": EVIL}, 403),
        ("GET", "/?token=TOKEN", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/data", {"cookie": f"discreet-{PORT}=guess"}, 401),
        ("GET", "/data", {"cookie": f"discreet-{PORT}=\xfc"}, 401),
        ("GET", "/data", {"cookie": "\x00;=;;"}, 401),
    ],
)
def test_strangers_are_refused(stranger, method, path, headers, status):
    token = stranger.first_token
    sent = {k: v.encode("latin-1") for k, v in headers.items()}
    answer = stranger.request(method, path.replace("TOKEN", token), headers=sent)
    assert answer.status_code == status
    # A refused request does not use the token up.
    assert stranger.get("/", params={"token": token}).status_code == 303


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": EVIL}, 403),
        ({"origin": "null"}, 403),
        ({"origin": None}, 403),  # a post without an origin is no browser's own
        ({"host": "evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-length": "99999999"}, 413),
        ({"content-length": "x"}, 403),
        ({"content-length": "9" * 5000}, 413),
    ],
)
def test_other_pages_cannot_post_with_the_cookie(page, headers, status):
    before = page.version
    for name, value in headers.items():
        if value is None:
            del page.headers[name]
        else:
            page.headers[name] = value
    answer = page.post("/recipe/undo", content=b"")
    assert answer.status_code == status
    assert page.version == before


@pytest.mark.parametrize(
    ("mine", "its", "status"),
    [(1000, 1001, 403), (1000, 1000, 303), (1000, 0, 303), (0, 1001, 303)],
)
def test_the_token_is_not_swapped_for_another_user(
    stranger, tmp_path, monkeypatch, mine, its, status
):
    """They can list processes, and see the address that the browser is started with."""
    ends = f"0100007F:{50000:04X}", f"0100007F:{PORT:04X}"  # A test client's port is 50000.
    rows = [f" {i}: {one} {other} 01 0:0 0:0 0 {user} 0 1" for i, (one, other, user) in
            enumerate([(*ends, its), (*ends[::-1], mine), (ends[1], "00000000:0000", 1001)])]  # fmt: skip
    listed = tmp_path / "tcp"
    listed.write_text("\n".join(["  sl  local_address", *rows]))
    monkeypatch.setattr(guard, "_CONNECTIONS", (listed, tmp_path / "none"))
    monkeypatch.setattr(os, "geteuid", lambda: mine)
    asked = {"params": {"token": stranger.first_token}}
    assert stranger.get("/", **asked).status_code == status
    # A refused request does not use the token up.
    listed.unlink()
    stranger.cookies.clear()
    assert stranger.get("/", **asked).status_code == (303 if status == 403 else 401)


@pytest.mark.skipif(not guard._CONNECTIONS[0].exists(), reason="Linux lists connections")
def test_the_system_lists_who_connects(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            scope = {"client": client.getsockname()}
            assert guard._users(scope, port) == {os.geteuid()}


def test_a_body_that_is_larger_than_it_says_is_refused(page):
    def endless():
        for _ in range(20):
            yield b"text=" + b"x" * 1_000_000

    before = page.version
    answer = page.post(
        "/recipe/text", content=endless(),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert answer.status_code == 413
    assert page.version == before


def test_cookies_of_other_apps_on_this_machine_do_not_lock_anybody_out(stranger):
    """Browsers send the cookies of all ports; many are not as the standard would have them."""
    own = f"discreet-{PORT}={stranger.guard.session}"
    for others in ('a={"b": 1, "c": [2]}', "a b=c", "[x]=1", "=", "é=ü"):
        for cookie in (f"{others}; {own}", f"{own}; {others}"):
            answer = stranger.get("/data", headers={"cookie": cookie.encode("latin-1")})
            assert answer.status_code == 200, cookie


@pytest.mark.parametrize("path", ["/data", "/nothing", "/static/app.css", "/data/columns"])
def test_every_answer_forbids_scripts_from_elsewhere_and_copies(page, path):
    headers = page.get(path).headers
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_there_is_no_page_about_the_interface(page):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert page.get(path).status_code == 404


def test_files_of_the_app_alone_are_static(page):
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py"):
        assert page.get(path).status_code == 404


def test_connections_without_end_fill_no_terminal(tmp_path, people):
    """Anybody on this machine may open some; the terminal may be a file."""

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with (tmp_path / "errors").open("w") as errors:
        server = Server(tmp_path / "work", people, stderr=errors, preexec_fn=few)
        try:
            place = ("127.0.0.1", int(server.base.rsplit(":", 1)[1]))
            held = [socket.create_connection(place) for _ in range(100)]
            time.sleep(2)
            for one in held:
                one.close()
            assert httpx.get(server.url, timeout=30).status_code == 303
        finally:
            server.stop()
    assert (tmp_path / "errors").stat().st_size < 10_000
