"""Whole journeys through the app, each ending in a release that the command line gives too."""

import json
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
from discreet.engines.choice import choose, memory_needed
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
    ended = server.process.poll()
    server.process.kill()
    assert ended is None, f"the server ended before its time, with {ended}"


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
    expect(page.get_by_label("Role of assets")).to_be_focused()
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


def test_whoever_drags_a_slider_waits_for_its_last_place_alone(survey):
    """Each place on the way was counted, one after the other, also when it was left already."""
    _, page, _ = survey
    stage(page, "Explore")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    slider = page.get_by_label("age", exact=True)
    top = int(slider.get_attribute("max"))
    slider.evaluate(
        """(one, top) => { for (let i = 0; i < 30; i++) {
            one.value = (i + top) % 2 ? 0 : top;
            one.dispatchEvent(new Event("input", {bubbles: true}));
        } }""",
        top,
    )
    last = page.locator("#node dt", has_text=re.compile("^age$")).locator("+ dd .soft")
    expect(last).to_have_text(f"level {0 if (29 + top) % 2 else top}")
    settled(page)
    assert 1 <= len([url for url in asked if "/explore/node" in url]) <= 3


def test_what_is_being_written_stays_when_the_recipe_is_shown_anew(survey):
    _, page, _ = survey
    stage(page, "Data")
    text = page.get_by_label("The recipe as text")
    before = text.input_value()
    text.fill(before + "# mine\n")
    # As a list does, and what comes late, such as figures of a large table.
    page.evaluate("giveRole(['region'], 'insensitive')")
    expect(page.locator("select[data-role=region]")).to_have_value("insensitive")
    settled(page)
    expect(text).to_have_value(before + "# mine\n")
    expect(text).to_be_focused()
    page.get_by_role("button", name="Take this text").click()
    expect(page.locator("#notice .notice")).to_contain_text("Yours is version")
    # It is in the history, and the recipe as it is stands here.
    expect(text).to_have_value(re.compile('insensitive = .*"region"', re.S))
    expect(text).not_to_have_value(re.compile("# mine"))
    page.get_by_role("button", name="Undo").click()
    expect(text).to_have_value(before)


def test_who_left_the_recipe_is_not_taken_back_to_it(survey):
    """A place in the text was kept, and the next notice went there."""
    _, page, _ = survey
    stage(page, "Explore")
    text = page.get_by_label("The recipe as text")
    before = text.input_value()
    text.focus()
    # What comes late, such as the levels themselves.
    page.evaluate("htmx.ajax('GET', '/explore/sliders', {target: '#sliders', swap: 'innerHTML'})")
    settled(page)
    expect(text).to_be_focused()
    take = page.get_by_role("button", name="Take these levels")
    take.press("Enter")
    expect(page.locator("#notice .notice")).to_contain_text("Taken")
    settled(page)
    expect(take).to_be_focused()
    page.get_by_role("button", name="Undo").click()
    expect(text).to_have_value(before)


def test_another_way_is_taken_also_after_a_reload(survey):
    _, page, _ = survey
    stage(page, "Protect")
    before = page.get_by_label("The recipe as text").input_value()
    page.get_by_role("button", name="Take it").first.click()
    expect(page.get_by_label("The recipe as text")).not_to_have_value(before)
    page.reload()
    settled(page)
    expect(page.locator("tr.taken")).to_contain_text("in the recipe")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("The recipe as text")).to_have_value(before)


def test_the_rows_of_a_narrow_page_are_compact(survey):
    _, page, _ = survey
    page.set_viewport_size({"width": 390, "height": 900})
    stage(page, "Data")
    rows = "[...document.querySelectorAll('#columns tbody tr')].map(one => one.offsetHeight)"
    heights = sorted(page.evaluate(rows))
    assert heights[len(heights) // 2] < 90
    assert heights[-1] < 130
    assert faults(page) == []
    page.set_viewport_size({"width": 1280, "height": 900})


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


def test_many_tabs_leave_the_app_a_connection(survey):
    server, first, _ = survey
    hide = """Object.defineProperty(document, "hidden", {value: %s, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"))"""
    tabs = []
    for _ in range(8):
        tabs.append(first.context.new_page())
        tabs[-1].goto(f"{server.base}/protect", timeout=10_000)
        tabs[-1].wait_for_selector("ol.steps li")
        tabs[-1].evaluate(hide % "true")
    # One that is looked at again is told what it missed.
    with tabs[0].expect_response("**/protect/runs"):
        tabs[0].evaluate(hide % "false")
    for tab in tabs:
        tab.close()


def test_many_columns_are_marked_at_once_and_a_dead_app_says_so_where_one_looks(windows, serve):
    """Without a click: a run would seem to go on for ever."""
    columns = {f"item_{i:02d}": [i, 1, 2, 3] * 10 for i in range(40)}
    server = serve(pa.table(columns))
    with browsing(windows) as page:
        opened(page, server)
        page.get_by_label("Mark item_03").click()
        page.get_by_label("Mark item_35").click(modifiers=["Shift"])
        assert page.locator("input[name=column]:checked").count() == 33
        # What is chosen for them stays in sight.
        chosen = page.get_by_label("Role of the marked columns")
        expect(chosen).to_be_in_viewport()
        chosen.select_option("insensitive")
        page.get_by_role("button", name="Give it").click()
        expect(page.locator("select[data-role=item_20]")).to_have_value("insensitive")
        expect(page.locator("select[data-role=item_36]")).not_to_have_value("insensitive")
        stage(page, "Protect")
        page.get_by_role("heading", name="Runs").scroll_into_view_if_needed()
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.said.clear()
        server.kill()
        expect(page.locator("#notice")).to_contain_text("not running any more", timeout=20_000)
        expect(page.locator("#notice .notice")).to_be_in_viewport()


def test_roles_that_are_chosen_faster_than_the_app_answers_are_all_given(windows, serve):
    """All but the first and the last were lost, and the page was told of another tab."""
    names = [f"item_{i}" for i in range(6)]
    server = serve(pa.table({name: [i, 1, 2, 3] * 10 for i, name in enumerate(names)}))
    with browsing(windows) as page:
        opened(page, server)
        page.evaluate(
            """names => { for (const name of names) {
                const one = document.querySelector(`select[data-role=${name}]`);
                one.value = "insensitive";
                one.dispatchEvent(new Event("change", {bubbles: true}));
            } }""",
            names,
        )
        for name in names:
            expect(page.locator(f"select[data-role={name}]")).to_have_value("insensitive")
        settled(page)
        expect(page.locator("#columns .notice")).to_have_count(0)
        quiet(page, server)


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
        page.get_by_label("Levels", exact=True).fill("five")
        page.get_by_role("button", name="Build it").click()
        expect(page.locator("#notice")).to_contain_text("write the levels")
        page.said.clear()
        page.get_by_label("Levels", exact=True).fill("[5, 10, 40]")
        page.get_by_role("button", name="Build it").press("Enter")
        page.wait_for_selector("text=20-24")
        # What was wrong is not said any more, and the keyboard is where it was.
        expect(page.locator("#notice")).to_be_empty()
        expect(page.get_by_role("button", name="Build it")).to_be_focused()
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
        # Which recipes were tried in that time is the machine's.
        said = re.compile("(least loss within|nearest to) the risk bound")
        expect(page.locator("main")).to_contain_text(said)
        page.get_by_role("button", name="Take").first.click()
        page.wait_for_selector("text=Taken.")
        run(page)
        compared(page, server, tmp_path)
        quiet(page, server)


def test_a_name_without_an_end_stays_within_the_page(windows, serve):
    table = make_households(200, seed=1).select(["age", "sex", "income"])
    server = serve(table.rename_columns(["age", "x" * 200, "income"]))
    with browsing(windows) as page:
        opened(page, server)
        stage(page, "Protect")
        page.get_by_role("button", name="Propose steps").click()
        page.wait_for_selector("ol.steps li")
        run(page)
        for title in STAGES:
            stage(page, title)
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 900})
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{title} is {wide} wide"
            page.set_viewport_size({"width": 1280, "height": 900})


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


def test_a_table_larger_than_memory_by_its_path(windows, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / "large.parquet"
    pq.write_table(make_households(400_000, seed=4), path)
    # Unpacked, the table itself is larger than all the memory that the app is given for it.
    assert path.stat().st_size < 64 << 20 < memory_needed(path) // 3
    assert choose("auto", path) == "memory"
    server = Server(tmp_path / "work", "--folder", folder, "--memory", "64MiB")
    with browsing(windows) as page, stopping(server):
        page.goto(server.url)
        page.get_by_label("Or by its path").fill(str(path))
        page.get_by_role("button", name="Open", exact=True).click()
        page.wait_for_selector("#roles")
        expect(page.locator("main")).to_contain_text("too large to be looked at whole")
        text = (
            '[roles]\nidentifiers = ["name"]\nhousehold = "household_id"\nquasi = ["age", "sex"]\n'
            'confidential = ["income"]\nrest = "drop"\n[[steps]]\nmethod = "generalize"\n'
            'columns = ["age", "sex"]\nprivacy = [{ model = "k-anonymity", k = 50 }]\n'
            'hierarchies = { age = { kind = "intervals", widths = [10] }, sex = { kind = "flat" } }\n'
        )
        page.get_by_label("The recipe as text").fill(text)
        page.get_by_role("button", name="Take this text").click()
        settled(page)
        stage(page, "Risk")
        expect(page.locator("#risk")).to_contain_text("of 400,000 records, drawn at random")
        expect(page.locator("#risk")).to_contain_text("looked for among all: in the whole table")
        stage(page, "Explore")
        expect(page.locator("#sliders")).to_contain_text("of 400,000 records, drawn at random")
        run(page)
        log = (tmp_path / "work/runs/0001/release/internal/log.json").read_text()
        assert json.loads(log)["engine"] == "duckdb"
        compared(page, server, tmp_path)
        assert "--memory 64MiB" in page.inner_text("#again")
        quiet(page, server)
