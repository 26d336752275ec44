"""The recipe of docs/explanation/suppression.md runs, and its table for users of sdcMicro is right."""

import re
from pathlib import Path

from discreet import Recipe, datasets, protect

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "explanation" / "suppression.md").read_text("utf-8")


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
