"""What `protect` prints for ten tables that hurt: pages of at most 25 lines, reviewed by eye.

`python -m tests.friction` writes the pages anew; read them before they are committed.
"""

import pytest

from tests.friction.cases import CASES
from tests.friction.run import PAGES, WIDTH, page


@pytest.mark.usefixtures("next_tried")
@pytest.mark.parametrize("name", CASES)
def test_the_page_is_the_one_that_was_read(name, tmp_path, monkeypatch):
    shown = page(name, tmp_path, monkeypatch.chdir)
    assert shown == (PAGES / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_page_fits_the_screen_and_decides(name):
    text = (PAGES / f"{name}.txt").read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= WIDTH
    for said in CASES[name].says:
        assert said in " ".join(text.split())
