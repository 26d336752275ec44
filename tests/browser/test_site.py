"""The documentation as a site, opened from its folder with no host in reach: `make docs` first."""

from pathlib import Path

import pytest

from tests.browser.app import AXE, browsing

SITE = Path(__file__).parents[2] / "site"
# One that is written, one that the code makes, and one that is half of each.
PAGES = ("index.html", "reference/commands/protect.html", "reference/methods/oma.html")


@pytest.fixture(scope="module", autouse=True)
def built():
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site; build it: make docs")


def elsewhere(page):
    """What a page asked for that is not in the folder."""
    return [url for url in page.asked if not url.startswith((SITE.as_uri(), "data:", "blob:"))]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_asks_for_nothing_from_elsewhere_and_everybody_can_use_it(windows, path, scheme):
    with browsing(windows, color_scheme=scheme) as page:
        page.goto((SITE / path).as_uri())
        page.wait_for_selector(
            f"[data-md-color-scheme={'slate' if scheme == 'dark' else 'default'}]"
        )
        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate("axe.run({preload: false}).then(found => found.violations)")
        serious = [
            f"{one['id']}: {[node['target'] for node in one['nodes']][:3]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == []
        assert len(page.asked) > 2
        assert elsewhere(page) == []
        assert page.said == []


def test_the_search_finds_a_method_and_opens_its_page(windows):
    with browsing(windows) as page:
        page.goto((SITE / "index.html").as_uri())
        # The search starts when somebody comes to it.
        page.get_by_role("textbox", name="Search").click()
        page.keyboard.type("microaggregation")
        found = page.locator(".md-search-result__link[href*='methods/microaggregation.html']").first
        found.click()
        page.wait_for_url("**/reference/methods/microaggregation.html*")
        assert page.inner_text("h1").startswith("microaggregation")
        assert elsewhere(page) == []


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("missing values", "explanation/nulls.html"),
        ("weight", "reference/recipe.html"),
        ("weights", "reference/recipe.html"),
        ("household", "explanation/people.html"),
        ("anonymize", "index.html"),
        ("install", "index.html"),
        ("reproducible", "explanation/seeds.html"),
        ("hierarchy", "reference/hierarchies.html"),
        ("l-diversity", "reference/privacy_models.html"),
        ("SPSS", "howto/spss_labels.html"),
    ],
)
def test_the_search_has_the_page_first_that_is_about_the_words(windows, words, path):
    with browsing(windows) as page:
        page.goto((SITE / "index.html").as_uri())
        page.get_by_role("textbox", name="Search").click()
        page.keyboard.type(words)
        page.wait_for_selector(f".md-search-result__item:first-child a[href*='{path}']")


def test_a_narrow_page_does_not_scroll_sideways(windows):
    with browsing(windows, width=390) as page:
        for path in PAGES:
            page.goto((SITE / path).as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            assert page.evaluate("[...document.images].every(one => one.naturalWidth > 0)")


def test_output_of_100_characters_is_not_cut_on_a_screen_of_1280(windows):
    with browsing(windows, width=1280) as page:
        page.goto((SITE / "tutorials/survey.html").as_uri())
        cut, whole = page.evaluate(
            "(() => {"
            "const lines = one => one.innerText.split('\\n').map(line => line.length);"
            "const all = [...document.querySelectorAll('pre code')];"
            "const meant = all.filter(one => Math.max(...lines(one)) <= 100);"
            "const cut = meant.filter(one => one.scrollWidth > one.clientWidth);"
            "return [cut.map(one => one.innerText.slice(0, 40)), meant.length - cut.length];"
            "})()"
        )
        assert cut == []
        assert whole > 10


def test_names_in_tables_stay_in_one_piece_on_a_narrow_page(windows):
    with browsing(windows, width=390) as page:
        page.goto((SITE / "explanation/people.html").as_uri())
        broken = page.evaluate(
            "[...document.querySelectorAll('td code')]"
            ".filter(one => !/[\\s-]/.test(one.innerText) && one.getClientRects().length > 1)"
            ".map(one => one.innerText)"
        )
        assert broken == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
