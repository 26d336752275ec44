"""Every picture of the documentation: ``python -m docs.build.pictures`` makes those of the site.

They are made anew for each build, in a folder that is not kept. The README needs two that are:
``python -m docs.build.pictures readme`` makes these.
"""

from __future__ import annotations

import io
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import discreet
from discreet.datasets import make_households
from tests.browser import chromium, pictures

DOCS = Path(__file__).parents[1]
MADE = DOCS / "made"
KEPT = DOCS / "pictures"
MISSING = "the pictures need Chromium, and there is none: apt-get install chromium"


@contextmanager
def browser() -> Iterator[Browser]:
    """Start the system's Chromium, which reaches no host but this one."""
    path = chromium.find()
    if path is None:
        raise SystemExit(MISSING)
    with sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        )
        yield found
        found.close()


def make_site() -> None:
    """Make the pictures of the site: the app page by page, and what an intruder sees."""
    with browser() as found:
        pictures.make(found, MADE / "app")
        make_reports(found, MADE)
    (MADE / "people").mkdir(parents=True, exist_ok=True)
    for name, drawing in PEOPLE.items():
        (MADE / "people" / f"{name}.svg").write_text(drawn(*drawing), "utf-8")


def make_readme() -> None:
    """Make the pictures that the README shows."""
    with browser() as found:
        make_reports(found, KEPT)


def make_reports(found: Browser, folder: Path) -> None:
    """Take pictures of a decision page, and of a map of releases."""
    folder.mkdir(parents=True, exist_ok=True)
    many = make_households(10_000, seed=2024, null_rate=0.02)
    people = many.slice(0, 2000)
    asked = tomllib.loads(files("discreet.cli").joinpath("demo.toml").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as here:
        discreet.protect(many, asked).save(Path(here) / "release")
        discreet.compare(people, releases(people, asked)).to_html(Path(here) / "compare.html")
        context = found.new_context(viewport={"width": 1180, "height": 900})
        page = context.new_page()
        page.goto((Path(here) / "release/internal/report.html").as_uri())
        _keep(page.screenshot(), folder / "decision.png")
        page.goto((Path(here) / "compare.html").as_uri())
        page.add_style_tag(content="figure { padding: 16px; }")
        _keep(page.locator("figure").first.screenshot(), folder / "map.png")
        context.close()


def releases(people: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Protect a table in several ways: one set of levels for all, or by rounds, for some k."""
    found = {}
    for local in (False, True):
        for k in (3, 5, 10, 20):
            step = asked["steps"][0] | {
                "privacy": [{"model": "k-anonymity", "k": k}],
                "local": local,
            }
            name = f"k = {k}" + ", local" * local
            found[name] = discreet.protect(people, asked | {"steps": [step]})
    return found


def _keep(taken: bytes, path: Path) -> None:
    """Write a picture with few colours, which are enough for a page."""
    small = Image.open(io.BytesIO(taken)).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


# What an intruder knows and sees: title, what it tells, and tables side by side. Each has what is
# known, what is seen, the columns with their widths, and the rows; `*` before a row marks it, `!`
# as one that gives somebody away.
Side = tuple[str, str, str, dict[str, int], Sequence[str]]
PEOPLE: dict[str, tuple[str, str, list[Side]]] = {
    "one-row": (
        "One row per person",
        "The intruder knows a woman of 41 in the north. Five rows fit, of five persons, with "
        "different incomes: she may be any of them.",
        [
            (
                "",
                "knows: a woman of 41 in the north",
                "sees: five rows that fit, each of another person",
                {"age": 70, "sex": 70, "region": 70, "income": 80},
                [
                    "* 40-49, female, north, 30,200",
                    "* 40-49, female, north, 18,900",
                    "* 40-49, female, north, 30,200",
                    "* 40-49, female, north, 0",
                    "* 40-49, female, north, 51,700",
                    "  40-49, male, north, 44,000",
                ],
            )
        ],
    ),
    "households": (
        "Households",
        "Left, k counts rows: five rows share an income, and all are of household 7, so the income "
        "is exactly theirs. Right, k counts households: rows of five households share it.",
        [
            (
                "k counts rows",
                "knows: a family of five",
                "sees: five rows, one household, its exact income",
                {"household": 90, "age": 90, "income of all": 100},
                [
                    "! 7, 40-49, 52,340",
                    "! 7, 40-49, 52,340",
                    "! 7, 10-19, 52,340",
                    "! 7, 10-19, 52,340",
                    "! 7, 0-9, 52,340",
                    "  8, 30-39, 31,000",
                ],
            ),
            (
                "k counts households",
                "knows: a family of five",
                "sees: an income of five households",
                {"household": 90, "age": 90, "income of all": 100},
                [
                    "* 7, 40-49, 50,800",
                    "* 7, 40-49, 50,800",
                    "* 3, 30-39, 50,800",
                    "* 9, 50-59, 50,800",
                    "* 2, 20-29, 50,800",
                    "* 5, 60-69, 50,800",
                ],
            ),
        ],
    ),
    "several-rows": (
        "Several rows per person",
        "Left, the pseudonym is dropped: each visit is in a class of five persons. Right, the "
        "pseudonym shows which visits are one person's: of two visits that are known, only one "
        "person has both.",
        [
            (
                "unit dropped",
                "knows: a visit for asthma, one for gout",
                "sees: rows that fit, and not which are one person's",
                {"age": 90, "diagnosis": 100},
                [
                    "* 40-49, asthma",
                    "* 40-49, asthma",
                    "* 40-49, gout",
                    "  40-49, flu",
                    "* 40-49, gout",
                    "* 40-49, asthma",
                    "* 40-49, gout",
                ],
            ),
            (
                "unit as a pseudonym",
                "knows: a visit for asthma, one for gout",
                "sees: one person with both, unless k share them",
                {"person": 90, "age": 90, "diagnosis": 100},
                [
                    "! c41f…, 40-49, asthma",
                    "! c41f…, 40-49, gout",
                    "  9e07…, 40-49, asthma",
                    "  9e07…, 40-49, flu",
                    "  1ab8…, 40-49, gout",
                    "  77d0…, 40-49, asthma",
                    "  52c9…, 40-49, gout",
                ],
            ),
        ],
    ),
}
_FILLS = {"*": "#fde3b8", "!": "#f6c4bd", " ": "#ffffff"}
_ROW, _SIDE = 19, 350


def drawn(title: str, told: str, sides: list[Side]) -> str:
    """Draw tables side by side."""
    height = 90 + _ROW * max(len(rows) for *_, rows in sides)
    width = _SIDE * len(sides)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="title desc" font-family="sans-serif" '
        'font-size="12">',
        f'<title id="title">{title}</title>',
        f'<desc id="desc">{told}</desc>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for place, (called, known, seen, columns, rows) in enumerate(sides):
        parts += _table(_SIDE * place + 10, called, known, seen, columns, rows)
    return "\n".join([*parts, "</svg>\n"])


def _table(
    left: int, called: str, known: str, seen: str, columns: dict[str, int], rows: Sequence[str]
) -> Iterator[str]:
    yield _text(left, 18, called, 'font-weight="bold"')
    yield _text(left, 36, known, 'font-style="italic"')
    at = left + 5
    for name, wide in columns.items():
        yield _text(at, 56, name, 'font-weight="bold"')
        at += wide
    for number, row in enumerate(rows):
        top = 62 + _ROW * number
        wide = sum(columns.values())
        yield (
            f'<rect x="{left}" y="{top}" width="{wide}" height="{_ROW}" fill="{_FILLS[row[0]]}" '
            'stroke="#bbbbbb"/>'
        )
        at = left + 5
        for cell, step in zip(row[2:].split(", "), columns.values(), strict=True):
            yield _text(at, top + 14, cell)
            at += step
    yield _text(left, 62 + _ROW * len(rows) + 18, seen)


def _text(x: int, y: int, text: str, style: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="#222222" {style}>{text}</text>'


if __name__ == "__main__":
    (make_readme if sys.argv[1:] == ["readme"] else make_site)()
