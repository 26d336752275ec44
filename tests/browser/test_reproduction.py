"""The page of a reproduction in the browser."""

import pytest

from discreet.reproduce.page import Heading, blocks, page
from discreet.reproduce.results import Chart, Figure, Figures, Reproduction

HOSTILE = "<script>k</script> & $x$"


@pytest.fixture
def written(tmp_path):
    figures = Figures(
        Figure("1", "ours", f"k = {k}", HOSTILE, 10.0 / k, 11.0 / k, x=float(k)) for k in (3, 5, 10)
    )
    chart = Chart("1", (HOSTILE,), f"{HOSTILE} by k", "k")
    result = Reproduction("rounding", "A paper", {"1": "A table"}, figures, charts=[chart])
    path = tmp_path / "page.html"
    path.write_text(page("The papers", [Heading(1, "The papers"), *blocks([result])]), "utf-8")
    return path


def test_it_loads_alone_and_shows_its_picture(browser, written):
    found = browser.load(written.as_uri())
    asked = [url for url in found.requests if not url.startswith("data:")]
    assert asked == [written.as_uri()]
    assert found.messages == []
    sizes = found.evaluate("[...document.images].map(i => [i.naturalWidth, i.naturalHeight])")
    assert len(sizes) == 1
    assert all(width > 100 and height > 100 for width, height in sizes)
    assert HOSTILE in found.evaluate("document.body.textContent")
    assert found.evaluate("document.scripts.length") == 0
    found.close()
