"""The gallery: each script of `examples/` with its code, its output and its picture.

`gallery_pages` runs them for the site. ``python -m docs.build.gallery`` writes what they print
beside them, where a reader finds it and a test compares it.
"""

from __future__ import annotations

import ast
import io
import re
import runpy
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).parents[2] / "examples"
# From what most people have to do to what some want to know.
ORDER = (
    "households", "visits", "companies", "blanks", "releases", "attack", "budget", "pipeline",
)  # fmt: skip


def scripts() -> list[Path]:
    """Return the scripts in the order of the gallery."""
    return [EXAMPLES / f"{name}.py" for name in ORDER]


def run(script: Path, folder: Path) -> str:
    """Run a script, which puts its picture into a folder, and return what it prints."""
    printed = io.StringIO()
    plt.switch_backend("Agg")
    with plt.rc_context(), patch.object(sys, "argv", [str(script), str(folder)]):
        with redirect_stdout(printed):
            runpy.run_path(str(script), run_name="__main__")
        plt.close("all")
    return printed.getvalue()


def told(script: Path) -> tuple[str, str]:
    """Return the title of a script and what it says about itself."""
    title, _, text = (ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "").partition("\n")
    return title.removesuffix("."), " ".join(text.split())


def gallery_pages() -> dict[str, str | bytes]:
    """Run all examples; return pages and pictures by their path in the site."""
    pages: dict[str, str | bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for script in scripts():
            printed = run(script, Path(folder))
            name = script.stem
            pages[f"gallery/{name}.md"] = _page(script, printed)
            pages[f"gallery/{name}.png"] = (Path(folder) / f"{name}.png").read_bytes()
    return {"gallery/index.md": _index()} | pages


def _page(script: Path, printed: str) -> str:
    title, text = told(script)
    code = script.read_text("utf-8")
    # What the page says above is not said again in the code.
    code = code[code.index('"""', 3) + 3 :].strip()
    return "\n\n".join(
        [
            f"# {title}",
            text,
            f"![{_alt(text)}]({script.stem}.png)",
            "It prints",
            f"```text\n{printed.rstrip()}\n```",
            f"The whole script, `examples/{script.name}`:",
            f"```python\n{code}\n```\n",
        ]
    )


def _index() -> str:
    """Lay out all examples with their pictures, which lead to their pages."""
    cards = []
    for script in scripts():
        (title, text), name = told(script), script.stem
        whom = re.split(r"(?<=\.) ", text)[0]
        cards.append(
            f"-   [![{_alt(text)}]({name}.png)]({name}.md)\n\n    **[{title}]({name}.md)**\n\n"
            f"    {whom}"
        )
    start = (
        "Scripts of fewer than sixty lines on invented data: each runs by itself in a few seconds, "
        "and draws the picture that is shown here."
    )
    listed = "\n\n".join(cards)
    return f'# Gallery\n\n{start}\n\n<div class="grid cards" markdown>\n\n{listed}\n\n</div>\n'


def _alt(text: str) -> str:
    """Return the sentence that says what the picture shows."""
    found = re.search(r"The picture shows [^.]*", text)
    assert found, f"the docstring does not say what the picture shows: {text}"
    return found[0].replace("[", "(").replace("]", ")")


def main() -> None:
    """Write what each script prints beside it."""
    with tempfile.TemporaryDirectory() as folder:
        for script in scripts():
            script.with_suffix(".txt").write_text(run(script, Path(folder)), "utf-8")


if __name__ == "__main__":
    main()
