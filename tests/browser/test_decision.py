"""The decision on the first screen of the internal report, and the rest folded until it is printed."""

import pytest

from discreet import protect
from discreet.report import internal_report
from tests.report.tables import reasoned, wide_recipe, wide_table

TOP = "document.querySelector('nav').getBoundingClientRect().top + scrollY"


@pytest.fixture(scope="module")
def wide_page(browser, tmp_path_factory):
    release = protect(wide_table(), wide_recipe())
    path = tmp_path_factory.mktemp("wide") / "report.html"
    path.write_text(internal_report(reasoned(release.facts(assessment=release.assess()))), "utf-8")
    page = browser.load(path.as_uri())
    page.resize(1200)
    yield page
    page.close()


def test_the_decision_is_within_the_first_1400_pixels(wide_page):
    assert 600 < wide_page.evaluate(TOP) <= 1400
    assert wide_page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_the_rest_is_folded_and_reached_from_the_contents(wide_page):
    assert wide_page.evaluate("document.querySelectorAll('details').length") > 10
    assert wide_page.evaluate("document.querySelectorAll('details[open]').length") == 0
    hidden = "[...document.querySelectorAll('nav a')].filter(a => { const at = "
    hidden += "document.querySelector(a.getAttribute('href')); "
    hidden += "return at.getBoundingClientRect().height === 0 }).length"
    assert wide_page.evaluate(hidden) == 0


def test_what_is_folded_is_printed(wide_page):
    folded = wide_page.pdf().count(b"/Type /Page\n")
    wide_page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    opened = wide_page.pdf().count(b"/Type /Page\n")
    wide_page.evaluate("document.querySelectorAll('details').forEach(one => one.open = false)")
    assert folded >= opened - 1
    assert folded > 5
