"""The app as a person starts it: a server of its own, and a browser on its page."""

import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, TimeoutError, expect

from tests.app.server import Server

PATIENCE = 120_000
AXE = Path(__file__).parent / "axe" / "axe.min.js"
RELEASE_ID = re.compile(rb"Release [0-9a-f]{12} of")


@contextmanager
def stopping(server: Server):
    """Stop a server at the end, as Ctrl+C does."""
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def browsing(browser: Browser, width=1280, **more):
    """Open a page without any state, and keep what it says and asks for."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **more)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.said = []
    page.asked = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    context.close()


def opened(page: Page, server: Server):
    """Open the app and wait for the columns."""
    page.goto(server.url)
    page.wait_for_selector("#roles")


def stage(page: Page, title: str):
    """Go to a stage by its link, and wait until all its parts are there."""
    page.get_by_role("navigation").get_by_role("link", name=title, exact=True).click()
    settled(page)


def settled(page: Page):
    """Wait until nothing on the page is being waited for."""
    page.wait_for_load_state("load")
    for what in (".htmx-request", ".waiting"):
        try:
            page.wait_for_function(f"() => !document.querySelector('{what}')")
        except TimeoutError as error:
            left = page.locator(what).evaluate_all("all => all.map(one => one.outerHTML)")
            raise AssertionError(f"{page.url} still waits for {left}") from error


def run(page: Page):
    """Run the recipe, and wait for the release."""
    stage(page, "Protect")
    page.wait_for_selector("#runs > *")
    runs = page.locator("#runs li.run")
    before = runs.count()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(runs).to_have_count(before + 1)
    newest = runs.first
    expect(newest).to_have_class(re.compile("done|failed"), timeout=PATIENCE)
    assert "failed" not in newest.get_attribute("class"), newest.inner_text()


def compared(page: Page, server: Server, folder):
    """Run the command that the page shows, and compare what both would share."""
    stage(page, "Release")
    command = page.inner_text("#again").strip()
    assert command.startswith("discreet protect ")
    words = [sys.executable, "-m", *_split(command)]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    where = page.locator("p.soft", has_text="They are in").inner_text().removeprefix("They are in ")
    one, other = Path(where) / "public", Path(folder) / "release" / "public"
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    for name in names:
        first, second = (RELEASE_ID.sub(b"", (x / name).read_bytes()) for x in (one, other))
        assert first == second, name
    return one


def _split(command):
    import shlex

    return shlex.split(command)


def violations(page: Page, *rules: str):
    """Let axe look at the page; return what is serious, with where it is."""
    page.evaluate("source => window.axe || (0, eval)(source)", AXE.read_text(encoding="utf-8"))
    how = {"iframes": False, "resultTypes": ["violations"]}
    if rules:
        how["runOnly"] = list(rules)
    found = page.evaluate("async how => await axe.run(document, how)", how)
    return [
        (one["id"], [node["html"][:160] for node in one["nodes"]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def faults(page: Page):
    """Look at the page at both widths, in light and dark; return what is wrong with it."""
    found = []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        found += [(width, *one) for one in violations(page)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            found.append((width, f"it is {wide} wide"))
        page.emulate_media(color_scheme="dark")
        # Nothing but colours differs.
        found += [(width, "dark", *one) for one in violations(page, "color-contrast")]
        page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    return found


FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const name = one.getAttribute("aria-label") || (one.labels && one.labels[0] ? one.labels[0].innerText : one.innerText);
  const box = one.getBoundingClientRect();
  const seen = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return {tag: one.tagName, name: (name || "").trim(), id: one.id,
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2, seen: seen};
}"""


def tab_to(page: Page, name: str, tag: str | None = None, most=150):
    """Press Tab until what is called so has the focus; whatever gets it on the way shows it."""
    # A page that was just opened by a key has its style only once it is loaded.
    page.wait_for_load_state("load")
    for _ in range(most):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at["tag"] in ("BODY", "IFRAME"):
            continue
        assert at["ring"], f"no focus is seen on {at}"
        assert at["seen"], f"the focus is outside the screen on {at}"
        if at["name"].startswith(name) and tag in (None, at["tag"]):
            return
    raise AssertionError(f"Tab does not lead to {name}")


def quiet(page: Page, server: Server):
    """Tell that the page had nothing to complain of, and asked nobody else."""
    assert page.said == [], page.said
    assert all(url.startswith((server.base, "data:")) for url in page.asked), page.asked


def eventually(check, seconds=30):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.1)
