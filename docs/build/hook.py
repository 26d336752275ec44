"""What MkDocs calls while it builds: adds the pages that come from the code, and orders all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[2]))
from discreet.generalization.models import MODELS
from docs.build import reference
from docs.build.gallery import gallery_pages
from docs.build.nav import nav, tutorials

# What the code knows, in pages of prose: `<!-- made: methods -->`.
MADE = {
    "methods": reference.method_table,
    "measures": reference.measure_table,
    "commands": reference.command_table,
    "api": reference.api_table,
    "tutorials": tutorials,
}
# Words that people look for and most pages have, by the page that is to come first. It is led to by
# a tag, which counts for more than any text.
SOUGHT = {
    "index.md": ["install", "anonymize", "anonymise", "anonymization", "anonymisation"],
    "explanation/nulls.md": ["missing"],
    "explanation/people.md": ["households"],
    "explanation/seeds.md": ["reproducible", "reproducibility"],
    "reference/hierarchies.md": ["hierarchy"],
    "reference/privacy_models.md": sorted(MODELS),
    "reference/recipe.md": ["weights"],
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that nobody writes by hand."""
    gallery = gallery_pages()
    for path in (*reference.methods(), *reference.measure_pages()):
        if files.get_file_from_path(path) is None:
            _add(files, config, path, "")
    for path, content in (reference.command_pages() | reference.api_pages() | gallery).items():
        _add(files, config, path, content)
    config.nav = nav(path for path in gallery if path.endswith(".md"))
    return files


def on_page_markdown(markdown: str, page: Page, **more: Any) -> str:
    """Put into a page what the code says of its subject."""
    path = page.file.src_uri
    if path.endswith("_reproduced.md"):
        # Thousands of figures, among which nothing else would be found.
        page.meta["search"] = {"exclude": True}
    elif path.startswith("reference/api/"):
        # Attributes have short names, and would stand before the pages that explain the word.
        page.meta["search"] = {"boost": 0.5}
    elif path in SOUGHT:
        page.meta["tags"] = SOUGHT[path]
    if path in reference.methods():
        return reference.method_page(reference.methods()[path], markdown)
    if path in reference.measure_pages():
        return reference.measure_page(reference.measure_pages()[path], markdown)
    for name, make in MADE.items():
        mark = f"<!-- made: {name} -->"
        if mark in markdown:
            markdown = markdown.replace(mark, make())
    return markdown


def on_post_page(output: str, **more: Any) -> str:
    """Name the dialog of the search, which the theme leaves without a name."""
    return output.replace('class="md-search"', 'class="md-search" aria-label="Search"', 1)


def _add(files: Files, config: MkDocsConfig, path: str, content: str | bytes) -> None:
    if (there := files.get_file_from_path(path)) is not None:
        files.remove(there)
    files.append(File.generated(config, path, content=content))
