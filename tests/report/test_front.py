"""The page of a front, from plain data."""

from discreet.report.front import front_page
from tests.report.fronts import made
from tests.report.pages import is_self_contained


def test_the_page_is_whole_and_the_first_card_is_the_best():
    page = is_self_contained(front_page(made()))
    assert page.text.index("★ Take this one 09") < page.text.index("08: best balance")
