"""The pictures of the app for the docs; `docs.build.pictures` asks for them."""

import io
import tempfile
from pathlib import Path

import pyarrow.csv
from PIL import Image
from playwright.sync_api import Browser, expect

from discreet.datasets import make_households
from tests.browser.app import PATIENCE, Server, browsing, opened, run, settled, stage

# By methods that the demonstration has compiled already.
RECIPE = """
[roles]
identifiers = ["name"]
quasi = ["region", "age", "sex", "education"]
confidential = ["income", "assets", "disease"]
household = "household_id"
weight = "weight"
rest = "drop"

[[steps]]
method = "generalize"
columns = ["region", "age", "sex", "education"]
privacy = [{ model = "k-anonymity", k = K }]
suppression_limit = 0.05
[steps.hierarchies]
region = { kind = "flat" }
age = { kind = "intervals", widths = [10, 20, 40] }
sex = { kind = "flat" }
education = { kind = "auto" }

[[steps]]
method = "microaggregation"
columns = ["income", "assets"]
k = K
"""
# Pictures stay small: few colours are enough for a page.
_COLOURS = 48


def make(browser: Browser, folder: Path) -> None:
    """Go through the app with invented households, and take pictures of each page."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as here:
        file = Path(here) / "people.csv"
        pyarrow.csv.write_csv(make_households(800, seed=1), file)
        server = Server(Path(here) / "workspace", file)
        try:
            with browsing(browser) as page:
                opened(page, server)
                for name in ("postcode", "birth_date"):
                    page.get_by_role("checkbox", name=f"Mark {name}").press("d")
                    expect(page.locator(f"select[data-role={name}]")).to_have_value("drop")
                _journey(page, folder)
        finally:
            server.stop()


def _journey(page, folder):
    _picture(page, folder, "data")
    stage(page, "Protect")
    _take(page, 5)
    _picture(page, folder, "protect")
    run(page)
    for number, k in enumerate((3, 10), start=2):
        _take(page, k)
        run(page)
        done = page.locator("#runs li.run.done")
        expect(done).to_have_count(number, timeout=PATIENCE)
    stage(page, "Risk")
    _picture(page, folder, "risk")
    stage(page, "Hierarchies")
    page.get_by_label("Key").select_option("education")
    page.get_by_role("button", name="Show it").click()
    settled(page)
    _picture(page, folder, "hierarchies")
    for title in ("Explore", "Result"):
        stage(page, title)
        _picture(page, folder, title.lower())
    stage(page, "Release")
    # Where this machine keeps it is below.
    below = page.locator("p.soft", has_text="They are in").bounding_box()
    _picture(page, folder, "release", below["y"] - 10)


def _take(page, k):
    """Write a recipe as text."""
    page.fill("#recipe-text", RECIPE.replace("K", str(k)))
    page.get_by_role("button", name="Take this text").click()
    expect(page.locator("#k")).to_have_value(str(k))
    settled(page)


def _picture(page, folder, name, height=900):
    """Take a picture of the top of a page, and one as it is on a narrow screen."""
    expect(page.locator("#recipe .problem")).not_to_contain_text("Reading", timeout=PATIENCE)
    for width, file in ((1280, f"{name}.png"), (390, f"{name}-narrow.png")):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("window.scrollTo(0, 0)")
        whole = {"x": 0, "y": 0, "width": width, "height": height}
        found = Image.open(io.BytesIO(page.screenshot(clip=whole))).convert("RGB")
        small = found.quantize(_COLOURS, dither=Image.Dither.NONE)
        small.save(folder / file, optimize=True)
    page.set_viewport_size({"width": 1280, "height": 900})
