"""The pages in a browser that reaches no host: what they ask for, say, show and print."""

import io
import re

import numpy as np
from PIL import Image

from tests.browser.conftest import NAMES, ink

SECTIONS = {
    "internal": {
        "summary", "key", "release", "roles", "nulls", "recipe", "steps", "risk", "attacks", "utility",
        "distributions", "checks", "policy", "warnings", "alternatives", "decision",
    },
    "external": {"summary", "methods", "caveats", "protection", "columns", "suppressed", "distributions"},
    "compare": {"summary", "map", "releases", "risk", "utility", "columns", "notes"},
}  # fmt: skip
# Titles of pictures, as they begin.
PICTURES = {
    "internal": [
        "Distribution of", "Quantiles of", "Categories of", "Correlations before",
        "Records by the size", "Nulls before", "Rounding set of", "Polynomials fitted",
    ],
    "external": ["Distribution of", "Categories of"],
    "compare": ["Risk and loss"],
}  # fmt: skip
BOXES = """[...document.querySelectorAll("figure svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height,
          title: svg.querySelector("title").textContent, role: svg.getAttribute("role"),
          told: svg.getAttribute("aria-labelledby").split(" ")
            .map(id => document.getElementById(id).textContent)};
})"""


def test_nothing_is_asked_for_but_the_file_itself(page, pages, name):
    assert page.requests == [pages[name].as_uri()]


def test_the_browser_has_nothing_to_complain_of(page, name):
    assert page.messages == []


def test_the_browser_would_have_seen_requests_and_errors(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<img src='http://example.com/a.png'><script>missing()</script>")
    page = browser.load(path.as_uri())
    assert "http://example.com/a.png" in page.requests
    assert len(page.messages) == 2


def test_sections_are_there_and_the_contents_lead_to_them(page, name):
    ids = page.evaluate("[...document.querySelectorAll('section h2')].map(h => h.id)")
    assert set(ids) == SECTIONS[name]
    links = page.evaluate(
        "[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))"
    )
    assert links == [f"#{one}" for one in ids]
    empty = page.evaluate(
        "[...document.querySelectorAll('section')]"
        ".filter(s => (s.querySelector('details') || s).children.length < 2)"
        ".map(s => s.innerText)"
    )
    assert empty == []


def test_no_id_is_there_twice(page, name):
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_pictures_are_there_with_size_words_and_caption(page, name):
    boxes = page.evaluate(BOXES)
    for begins in PICTURES[name]:
        assert any(box["title"].startswith(begins) for box in boxes), begins
    for box in boxes:
        assert box["width"] > 300
        assert box["height"] > 80
        assert box["role"] == "img"
        assert box["told"][0] == box["title"]
        assert re.search(r"\d", box["told"][1]), "a description tells figures"
    captions = page.evaluate(
        "[...document.querySelectorAll('figure')].map(f => f.querySelector('figcaption').innerText)"
    )
    assert len(captions) == len(boxes)
    assert all(len(caption) > 40 for caption in captions)


def test_pictures_hold_ink_and_text_stays_inside(page, name):
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    assert 0.01 < ink(shot) < 0.5
    for box in page.evaluate(BOXES):
        left, top = round(box["x"]), round(box["y"])
        part = shot[top : top + round(box["height"]), left : left + round(box["width"])]
        assert ink(part) > 0.005, box["title"]
    outside = page.evaluate("""[...document.querySelectorAll("figure svg")].flatMap(svg => {
      const box = svg.getBoundingClientRect();
      return [...svg.querySelectorAll("text")].filter(text => {
        const own = text.getBoundingClientRect();
        return own.left < box.left - 1 || own.right > box.right + 1
          || own.top < box.top - 1 || own.bottom > box.bottom + 1;
      }).map(text => svg.querySelector("title").textContent + ": " + text.textContent);
    })""")
    assert outside == []


def test_no_page_is_wider_than_its_window(page, name):
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")


def test_pages_print(page, name):
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert len(pdf) > 20_000
    assert pdf.count(b"/Type /Page\n") >= 2


def test_names_are_shown_as_text(page, name):
    text = page.evaluate("document.body.textContent")
    shown = re.sub(r"\s+", " ", text)
    for column in NAMES.values():
        # A long name may be cut.
        assert re.sub(r"\s+", " ", column)[:40] in shown, column
    assert page.evaluate("document.querySelectorAll('script, img, b[onload], i').length") == 0
    assert page.evaluate("document.title") != "broken"
