"""The recipes of docs/people.md are run on the tables that it names."""

import re
import tomllib
from pathlib import Path

import pytest

from discreet import Recipe, datasets, protect

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "people.md").read_text("utf-8")
CASES = dict(re.findall(r"<!-- run: (.+?) -->\n```toml\n(.+?)```", TEXT, re.DOTALL))
COUNTED = ["records", "households", "units", "units"]


@pytest.mark.parametrize(("table", "counted"), list(zip(CASES, COUNTED, strict=True)))
def test_each_case_is_released(table, counted):
    recipe = Recipe.from_toml(CASES[table])
    assert recipe.counted_as == counted
    release = protect(eval(table, vars(datasets)), recipe)
    assert release.check.ok
    k = next(found.promise for found in release.check.findings if "k = 5" in found.promise)
    assert ("k = 5" if counted == "records" else f"k = 5 {counted}") in k
    sizes = release.assess().risk["class_sizes"]
    assert sizes.get("counts", "records") == counted


def test_all_that_is_shown_is_toml_and_all_pictures_are_there():
    blocks = re.findall(r"```toml\n(.+?)```", TEXT, re.DOTALL)
    assert len(blocks) > len(CASES)
    for block in blocks:
        assert tomllib.loads(block)
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", TEXT)
    assert len(pictures) == 3
    for picture in pictures:
        assert (DOCS / picture).read_text("utf-8").startswith("<svg")
