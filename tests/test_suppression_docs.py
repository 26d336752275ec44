"""The examples of docs/suppression.md run, and give what the page says."""

import re
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "suppression.md").read_text("utf-8")


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
