"""The examples of docs/suppression.md run, and give what the page says."""

import doctest
import re
import tomllib
from pathlib import Path

from discreet import Recipe, datasets, protect

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "suppression.md").read_text("utf-8")


def test_the_examples_say_what_comes_out():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    path = str(DOCS / "suppression.md")
    found = doctest.testfile(path, module_relative=False, optionflags=flags)
    assert found.attempted > 8
    assert found.failed == 0


def test_the_recipe_is_released():
    [(table, recipe)] = re.findall(r"<!-- run: (.+?) -->\n```toml\n(.+?)```", TEXT, re.DOTALL)
    release = protect(eval(table, vars(datasets)), Recipe.from_toml(recipe))
    assert release.check.ok
    step = release.log["steps"][-1]
    assert 0 < step["records_touched"] < 0.1 * step["records"]
    assert step["found_for_certain"] == 0


def test_what_sdcmicro_calls_it_is_a_parameter_here():
    from discreet.suppression import LocalSuppression

    [table] = re.findall(r"\| sdcMicro \| here \|\n(.+?)\n\n", TEXT, re.DOTALL)
    given = re.findall(r"`(\w+) = ", " ".join(row.rsplit("|", 2)[1] for row in table.split("\n")))
    assert len(given) > 5
    assert set(given) <= LocalSuppression().get_params().keys()


def test_links_lead_somewhere():
    for name in re.findall(r"\]\((\w+\.md)", TEXT):
        assert (DOCS / name).exists()
    assert "docs/suppression.md" in (DOCS.parent / "README.md").read_text("utf-8")
    assert all(tomllib.loads(block) for block in re.findall(r"```toml\n(.+?)```", TEXT, re.DOTALL))
