"""The app without a browser: requests as its own page would send them."""

import re

from starlette.testclient import TestClient

from discreet.app.guard import Guard
from discreet.app.server import make_app
from discreet.app.workspace import Workspace

PORT = 8123
BASE = f"http://127.0.0.1:{PORT}"


class Page(TestClient):
    """A client that has swapped the token for the cookie, and sends the page's own headers."""

    def __init__(self, folder, roots, signed_in=True, **more):
        self.space = Workspace(folder)
        self.served = make_app(self.space, roots)
        self.desk = self.served.state.desk
        self.guard = Guard(self.served, PORT)
        self.first_token = self.guard.token
        super().__init__(self.guard, base_url=BASE, follow_redirects=False, **more)
        if signed_in:
            assert self.get("/", params={"token": self.first_token}).status_code == 303
            self.headers.update(
                {"origin": BASE, "hx-request": "true", "sec-fetch-site": "same-origin"}
            )

    @property
    def version(self):
        return self.space.current

    def open(self, path):
        answer = self.post("/data/open", data={"path": str(path)})
        assert answer.status_code == 200, answer.text
        assert self.get("/data/columns").status_code == 200

    def end(self):
        self.desk.queue.close()
        self.space.close()


def text_of(html):
    """Return what a page says, without its marks."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))
