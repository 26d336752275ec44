"""The recipes of docs/explanation/people.md are run on the tables that it names."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from discreet import Recipe, datasets, protect
from docs.build.pictures import PEOPLE, drawn

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "explanation" / "people.md").read_text("utf-8")
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


def test_each_picture_is_drawn_and_says_what_it_shows():
    pictures = re.findall(r"!\[.+?\]\(../made/people/(.+?)\.svg\)", TEXT)
    assert len(pictures) == 3
    for name in pictures:
        title, told, sides = PEOPLE[name]
        found = ElementTree.fromstring(drawn(title, told, sides))
        texts = [one.text for one in found.iter() if one.text]
        assert told in texts
        assert all(
            cell in texts for *_, rows in sides for row in rows for cell in row[2:].split(", ")
        )
