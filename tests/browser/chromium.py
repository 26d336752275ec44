"""The system's Chromium, driven over the DevTools protocol through a pipe; it reaches no host."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
PATIENCE = 60.0


def find() -> str | None:
    """Give the browser's path, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser; `load` opens a page in a tab of its own."""

    def __init__(self, path: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # It reads from 3 and writes to 4, whatever these were here.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_browser, from_browser)]
        self._process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(3, 4),
            preexec_fn=lambda: [os.dup2(end, number) for number, end in enumerate(ends, 3)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        os.set_blocking(self._in, False)
        self._last, self._rest, self.events = 0, b"", []

    def close(self) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, session: str | None = None, **params):
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = self.wait(lambda found: found.get("id") == self._last, method)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def wait(self, wanted, what: str):
        """Read until a message is the wanted one."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            while b"\0" in self._rest:
                text, self._rest = self._rest.split(b"\0", 1)
                message = json.loads(text)
                if "method" in message:
                    self.events.append(message)
                if wanted(message):
                    return message
            try:
                piece = os.read(self._in, 1 << 20)
            except BlockingIOError:
                time.sleep(0.005)
                continue
            if not piece:
                raise OSError("the browser has ended")
            self._rest += piece
        raise TimeoutError(f"the browser did not answer {what} in {PATIENCE:.0f} s")

    def load(self, url: str) -> "Page":
        """Open a page and wait until it is there."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable", session)
        size = {"width": 1100, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", session, **size)
        self.events.clear()

        def loaded(message):
            return (
                message.get("method") == "Page.loadEventFired" and message["sessionId"] == session
            )

        self.call("Page.navigate", session, url=url)
        if not any(loaded(event) for event in self.events):
            self.wait(loaded, url)
        page = Page(self, session, target)
        # What a page does late, it does before the next frame is drawn.
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        own = [event for event in self.events if event.get("sessionId") == session]
        page.requests = [
            event["params"]["request"]["url"]
            for event in own
            if event["method"] == "Network.requestWillBeSent"
        ]
        said = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        page.messages = [event["params"] for event in own if event["method"] in said]
        return page


class Page:
    """A page that was loaded: what it asked for, what it said, and how it looks."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.requests: list[str] = []
        self.messages: list[dict] = []

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def _call(self, method: str, **params):
        """Send a command to the page; in the background it would have no size."""
        self._browser.call("Page.bringToFront", self._session)
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression: str):
        """Run a script in the page, from outside, and give its value."""
        found = self._call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def resize(self, width: int, scheme: str = "light") -> None:
        """Show it in a window of another width, to someone who likes light or dark pages."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=wanted)

    def screenshot(self) -> bytes:
        """Give the whole page as PNG."""
        options = {"format": "png", "captureBeyondViewport": True}
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self._call("Page.captureScreenshot", clip=clip, **options)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """Print the page."""
        options = {"printBackground": True, "preferCSSPageSize": True}
        printed = self._call("Page.printToPDF", **options)
        return base64.b64decode(printed["data"])
