"""Run a case as its user would, and give back what the terminal shows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import tomli_w
from typer.testing import CliRunner

from discreet.cli import show
from discreet.cli.main import app
from tests.friction.cases import CASES, SEED

PAGES = Path(__file__).parent / "pages"
WIDTH = 100


def page(name: str, folder: Path, enter: Callable[[Path], object] = os.chdir) -> str:
    """Protect the case's table in a folder of its own; return the page."""
    case = CASES[name]
    file = case.write(folder)
    (folder / "recipe.toml").write_text(tomli_w.dumps(SEED | dict(case.recipe)), "utf-8")
    enter(folder)
    width, show.out.width = show.out.width, WIDTH
    try:
        command = ["protect", file.name, "--recipe", "recipe.toml", "--out", "out", *case.options]
        result = CliRunner().invoke(app, command)
    finally:
        show.out.width = width
    if result.exception:
        raise result.exception
    return result.stdout


def write_pages() -> None:
    """Write all pages anew."""
    PAGES.mkdir(exist_ok=True)
    home = Path.cwd()
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            text = page(name, Path(folder))
            os.chdir(home)
        (PAGES / f"{name}.txt").write_text(text, "utf-8")
        print(f"{name}: {len(text.splitlines())} lines")
