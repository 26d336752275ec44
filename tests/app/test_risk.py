"""The page of risk: figures of the recipe that is shown, and of no other."""

import contextlib
import html
import io
import re

import pytest

from discreet.app import look
from discreet.app.look import Look
from discreet.app.pages import risk
from discreet.table import read_table, write_table
from tests.app.client import text_of
from tests.app.test_pages import answered

READY = """
[roles]
household = "household_id"
quasi = ["age", "sex"]
rest = "drop"
[[steps]]
method = "generalize"
columns = ["age", "sex"]
privacy = [{ model = "k-anonymity", k = 3 }]
[steps.hierarchies]
age = { kind = "intervals", widths = [10, 20] }
sex = { kind = "flat" }
"""


def took(page, text):
    given = {"text": text, "version": page.version}
    assert page.post("/recipe/text", data=given).status_code == 200


def test_before_there_are_steps_it_goes_by_what_k_counts_and_what_is_missing(page):
    figures = text_of(page.get("/risk/figures").text)
    assert "counted in households" in figures
    form = {"counts": "rows", "version": page.version}
    assert page.post("/data/counts", data=form).status_code == 200
    form = {"marker": "female", "version": page.version}
    assert page.post("/data/missing", data=form).status_code == 200
    figures = page.get("/risk/figures").text
    assert "counted in records" in figures
    assert "sex female" not in text_of(figures)
    # And so does what the page shows as Python.
    del page.headers["hx-request"]
    shown = page.get("/risk").text
    assert 'id="as-command"' not in shown
    code = html.unescape(re.search(r'id="as-python"[^>]*>(.*?)</pre>', shown, re.S)[1])
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, {})
    alone = re.search(r"unique +([\d,]+) records", said.getvalue())[1]
    assert f"records alone with their keys {alone} " in text_of(figures)


def test_a_recipe_that_is_edited_while_rows_are_drawn_has_figures_of_its_own(page, monkeypatch):
    took(page, READY)
    plain = Look.drawn

    def edited(self, columns, whole):
        monkeypatch.setattr(Look, "drawn", plain)
        took(page, 'counts = "rows"\n' + READY)
        return plain(self, columns, whole)

    monkeypatch.setattr(Look, "drawn", edited)
    assert "counted in households" in page.get("/risk/figures").text
    assert "counted in records" in page.get("/risk/figures").text
    page.space.undo()
    assert "counted in households" in page.get("/risk/figures").text


@pytest.fixture
def sampled(page, people, monkeypatch):
    path = people.parent / "large.parquet"
    write_table(read_table(people), path)
    monkeypatch.setattr(look, "MOST_ROWS", 300)
    monkeypatch.setattr(look, "SAMPLE", 200)
    page.open(path)
    return page


def test_a_page_that_is_out_of_date_is_not_told_of_another_recipe(sampled):
    shown = sampled.get("/risk/figures").text
    asked = re.search(r'hx-get="(/risk/among[^"]*)"', shown)[1]
    took(sampled, READY)
    assert "reload the page" in sampled.get(asked).text
    took(sampled, '[roles]\nrest = "drop"\n')
    answer = sampled.get("/risk/all")
    assert (answer.status_code, "No column is a key yet" in answer.text) == (200, True)


def test_what_cannot_be_looked_for_is_said_once(sampled, monkeypatch):
    def broken(*given):
        raise RuntimeError("Ann Miller")

    monkeypatch.setattr(risk, "_among", broken)
    asked = re.search(r'hx-get="(/risk/among[^"]*)"', sampled.get("/risk/figures").text)[1]
    answer = answered(lambda: sampled.get(asked))
    # What is not refused takes the place of what asks every other second.
    assert answer.status_code == 200
    assert "something went wrong (RuntimeError)" in answer.text
    assert "Ann" not in answer.text
    assert "hx-" not in answer.text
