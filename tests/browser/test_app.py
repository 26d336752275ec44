"""Whole journeys through the app, each ending in a release that the command line gives too."""

import re

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from discreet.datasets import (
    adult_hierarchy_paths,
    load_adult,
    load_census,
    make_episodes,
    make_households,
)
from tests.browser.app import (
    Server,
    browsing,
    compared,
    eventually,
    faults,
    opened,
    quiet,
    run,
    settled,
    stage,
    stopping,
    tab_to,
)

STAGES = ("Data", "Risk", "Hierarchies", "Protect", "Explore", "Result", "Release")


@pytest.fixture
def serve(tmp_path):
    """Start the app on a table in a folder of its own."""
    started = []

    def start(table, name="table.csv", *arguments):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        path = folder / name
        if isinstance(table, bytes):
            path.write_bytes(table)
        elif name.endswith(".parquet"):
            pq.write_table(table, path)
        else:
            pa.csv.write_csv(table, path)
        started.append(Server(tmp_path / "work", path, *arguments))
        return started[-1]

    yield start
    for server in started:
        server.process.kill()


@pytest.fixture(scope="module")
def survey(windows, tmp_path_factory):
    """A journey on a survey with households, ended: its server and its page."""
    folder = tmp_path_factory.mktemp("survey")
    path = folder / "survey.csv"
    pa.csv.write_csv(make_households(600, seed=2), path)
    server = Server(folder / "work", path)
    with browsing(windows) as page:
        opened(page, server)
        stage(page, "Protect")
        page.get_by_role("button", name="Propose steps").click()
        page.wait_for_selector("ol.steps li")
        run(page)
        yield server, page, folder
    server.process.kill()


def test_a_survey_with_households(survey):
    server, page, folder = survey
    stage(page, "Data")
    expect(page.locator("tr", has_text="household_id").locator("select")).to_have_value("household")
    stage(page, "Result")
    expect(page.locator(".verdict").first).to_contain_text("PASS")
    released = compared(page, server, folder)
    assert (released / "table.csv").exists()
    quiet(page, server)


@pytest.mark.parametrize("title", STAGES)
def test_no_page_has_a_serious_violation_or_is_wider_than_the_screen(survey, title):
    _, page, _ = survey
    stage(page, title)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert faults(page) == []


def test_neither_have_forms_notices_and_refusals(survey):
    server, page, _ = survey
    stage(page, "Protect")
    page.get_by_role("button", name="Edit step 1").click()
    page.wait_for_selector("form.step")
    page.get_by_label("The recipe as text").fill("= 1")
    page.get_by_role("button", name="Take this text").click()
    page.wait_for_selector("#notice .notice")
    assert faults(page) == []
    page.goto(f"{server.base}/data/files")
    assert faults(page) == []
    page.goto(f"{server.base}/result?run=99")
    expect(page.locator("main")).to_contain_text("there is no run 99")
    assert faults(page) == []
    # The console notes every request that is refused, and nothing else was noted.
    assert all(re.search("status of 422|Status Error Code 422", said) for said in page.said)
    page.said.clear()


def test_a_journey_by_keyboard_alone(survey):
    _, page, folder = survey
    page = page.context.new_page()
    page.goto(survey[0].base)
    settled(page)
    tab_to(page, "Data", "A")
    page.keyboard.press("Enter")
    page.wait_for_selector("#roles")
    # A key gives a role to the row, and the focus stays in it.
    tab_to(page, "Mark assets")
    page.keyboard.press("n")
    expect(page.locator("select[data-role=assets]")).to_have_value("insensitive")
    expect(page.get_by_label("Mark assets")).to_be_focused()
    # So does its list, by arrows.
    tab_to(page, "Role of assets")
    page.keyboard.press("ArrowUp")
    expect(page.locator("select[data-role=assets]")).to_have_value("confidential")
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    tab_to(page, "Protect", "A")
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.steps li")
    tab_to(page, "Run", "BUTTON")
    runs = page.locator("#runs li.run")
    before = runs.count()
    page.keyboard.press("Enter")
    expect(runs).to_have_count(before + 1)
    expect(runs.first).to_have_class(re.compile("done"))
    tab_to(page, "Look at the result")
    page.keyboard.press("Enter")
    page.wait_for_selector("iframe")
    tab_to(page, "Next: release it")
    page.keyboard.press("Enter")
    page.wait_for_selector("#again")
    tab_to(page, "CSV")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    tab_to(page, "Folder to be made")
    page.keyboard.press("Control+a")
    page.keyboard.type(str(folder / "by-keyboard"))
    page.keyboard.press("Enter")
    written = page.locator("#runs li.run", has_text="by-keyboard")
    expect(written).to_have_class(re.compile("done"))
    names = {path.name for path in (folder / "by-keyboard" / "public").iterdir()}
    assert {"table.csv", "table.parquet"} <= names
    page.close()


def test_the_levels_are_moved_by_arrows(survey):
    _, page, _ = survey
    stage(page, "Explore")
    tab_to(page, "age", "INPUT")
    before = page.inner_text("#node")
    page.keyboard.press("ArrowLeft")
    eventually(lambda: page.inner_text("#node") != before)
    page.keyboard.press("ArrowRight")
    eventually(lambda: page.inner_text("#node") == before)


def test_of_two_tabs_the_later_sees_a_notice_and_nothing_is_lost(survey):
    server, first, _ = survey
    stage(first, "Data")
    second = first.context.new_page()
    second.goto(f"{server.base}/data")
    second.wait_for_selector("#roles")
    first.locator("select[data-role=region]").select_option("insensitive")
    expect(first.locator("#recipe-text")).to_have_value(re.compile("insensitive = .*region", re.S))
    # A change of one column is made on top of the other tab's.
    second.locator("select[data-role=sex]").select_option("drop")
    expect(second.locator("#columns .notice")).to_contain_text("changed in another tab meanwhile")
    expect(second.locator("select[data-role=region]")).to_have_value("insensitive")
    expect(second.locator("select[data-role=sex]")).to_have_value("drop")
    # A whole text is not: it is kept beside, and can be taken.
    text = first.locator("#recipe-text")
    written = text.input_value() + "# mine\n"
    text.fill(written)
    first.get_by_role("button", name="Take this text").click()
    said = first.locator("#notice .notice")
    expect(said).to_contain_text("Yours is version")
    number = re.search(r"version (\d+)", said.inner_text()).group(1)
    first.locator("summary", has_text="History").click()
    first.get_by_role("button", name=number, exact=True).click()
    expect(first.locator("#recipe-text")).to_have_value(written)
    second.close()


def test_adult_with_hierarchies_built_in_the_page(windows, serve, tmp_path):
    table = load_adult().select(["sex", "age", "race", "education", "salary-class"]).slice(0, 5000)
    server = serve(table, "adult.csv")
    with browsing(windows) as page:
        opened(page, server)
        stage(page, "Hierarchies")
        page.get_by_label("Key").select_option("age")
        page.get_by_role("button", name="Show it").click()
        settled(page)
        page.get_by_label("Kind").select_option("intervals")
        page.get_by_label("Levels", exact=True).fill("[5, 10, 40]")
        page.get_by_role("button", name="Build it").click()
        page.wait_for_selector("text=20-24")
        page.get_by_label("Key").select_option("race")
        page.get_by_role("button", name="Show it").click()
        settled(page)
        for value in ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Other"):
            page.get_by_role("checkbox", name=value).check()
        page.get_by_label("Name of the group").fill("others")
        page.get_by_role("button", name="Gather the marked values").click()
        page.wait_for_selector("text=in others")
        page.get_by_label("Key").select_option("education")
        page.get_by_role("button", name="Show it").click()
        settled(page)
        page.set_input_files("input[type=file]", adult_hierarchy_paths()["education"])
        page.get_by_role("button", name="Read it").click()
        page.wait_for_selector("text=Higher education")
        stage(page, "Explore")
        slider = page.get_by_label("age", exact=True)
        before = page.inner_text("#node")
        slider.press("ArrowLeft")
        eventually(lambda: page.inner_text("#node") != before)
        page.get_by_role("button", name="Optimise the rest").click()
        settled(page)
        page.get_by_role("button", name="Take these levels").click()
        page.wait_for_selector("text=Taken.")
        run(page)
        compared(page, server, tmp_path)
        quiet(page, server)


def test_a_clinical_file_with_several_rows_a_patient(windows, serve, tmp_path):
    server = serve(make_episodes(300, seed=3), "episodes.csv")
    with browsing(windows) as page:
        opened(page, server)
        # By keyboard: the marked rows get a role with one key.
        for name in ("days", "visit_date"):
            page.get_by_role("checkbox", name=f"Mark {name}").check()
        page.get_by_role("checkbox", name="Mark days").press("d")
        expect(page.locator("select[data-role=visit_date]")).to_have_value("drop")
        expect(page.locator("select[data-role=days]")).to_have_value("drop")
        expect(page.locator("select[data-role=patient_id]")).to_have_value("unit")
        stage(page, "Risk")
        expect(page.locator("main")).to_contain_text("counted in units")
        stage(page, "Protect")
        page.get_by_role("button", name="Propose steps").click()
        page.wait_for_selector("ol.steps li")
        run(page)
        compared(page, server, tmp_path)
        quiet(page, server)


def test_numbers_with_the_search(windows, serve, tmp_path):
    server = serve(load_census().select(["AFNLWGT", "AGI", "FEDTAX"]).slice(0, 300), "census.csv")
    with browsing(windows) as page:
        opened(page, server)
        for name in ("AFNLWGT", "AGI", "FEDTAX"):
            page.get_by_role("checkbox", name=f"Mark {name}").check()
        page.get_by_label("Role of the marked columns").select_option("confidential")
        page.get_by_role("button", name="Give it").click()
        expect(page.locator("select[data-role=AGI]")).to_have_value("confidential")
        stage(page, "Protect")
        page.get_by_label("for so many minutes").fill("0.1")
        page.get_by_role("button", name="Search").click()
        page.wait_for_selector("text=Look at them")
        page.get_by_role("link", name="Look at them").click()
        settled(page)
        page.get_by_role("button", name="Take").first.click()
        page.wait_for_selector("text=Taken.")
        run(page)
        compared(page, server, tmp_path)
        quiet(page, server)


def test_a_bad_file_is_said_in_a_sentence_and_another_can_be_opened(windows, serve, tmp_path):
    server = serve(b"\x00\x01PAR1 not a table", "broken.parquet")
    with browsing(windows) as page:
        page.goto(server.url)
        page.wait_for_selector("#notice .notice")
        said = page.inner_text("#notice")
        assert "broken.parquet" in said
        assert "Traceback" not in said
        pa.csv.write_csv(make_households(100, seed=1), tmp_path / "data" / "good.csv")
        page.get_by_role("link", name="Open another").click()
        page.get_by_role("button", name="good.csv").click()
        page.wait_for_selector("#roles")
        text = '[roles]\nconfidential = ["income"]\nrest = "drop"\n[[steps]]\nmethod = "oma"\ncolumns = ["income"]\nk = 3\n'
        page.get_by_label("The recipe as text").fill(text)
        page.get_by_role("button", name="Take this text").click()
        settled(page)
        expect(page.locator(".problem")).to_contain_text("Ready to run.")
        run(page)
        compared(page, server, tmp_path)


def test_a_table_that_is_worked_on_outside_memory_by_its_path(windows, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(make_households(20_000, seed=4), folder / "large.parquet")
    server = Server(tmp_path / "work", "--folder", folder, "--engine", "duckdb")
    with browsing(windows) as page, stopping(server):
        page.goto(server.url)
        page.get_by_label("Or by its path").fill(str(folder / "large.parquet"))
        page.get_by_role("button", name="Open", exact=True).click()
        page.wait_for_selector("#roles")
        expect(page.locator("main")).to_contain_text("too large to be looked at whole")
        text = (
            '[roles]\nidentifiers = ["name"]\nquasi = ["age", "sex"]\nconfidential = ["income"]\n'
            'rest = "drop"\n[[steps]]\nmethod = "generalize"\ncolumns = ["age", "sex"]\n'
            'privacy = [{ model = "k-anonymity", k = 50 }]\n'
            'hierarchies = { age = { kind = "intervals", widths = [10] }, sex = { kind = "flat" } }\n'
        )
        page.get_by_label("The recipe as text").fill(text)
        page.get_by_role("button", name="Take this text").click()
        settled(page)
        run(page)
        compared(page, server, tmp_path)
        quiet(page, server)
