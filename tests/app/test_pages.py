"""The pages: what they show, what they change, and what they must not show."""

import asyncio
import html
import os
import re
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.csv
import pytest

from discreet.app import look
from discreet.app.pages.data import bars
from discreet.app.server import STAGES
from discreet.errors import BadInput
from discreet.inspection.encoded import encode_table
from discreet.recipe import Recipe
from discreet.table import read_table, write_table
from tests.app.client import BASE, Page, text_of
from tests.app.server import Server

HOSTILE = '"><script>alert(1)</script>{{ 7*7 }}'


@pytest.mark.parametrize("stage", [path for path, _ in STAGES])
def test_every_stage_is_a_page_and_a_part_of_one(page, stage):
    part = page.get(f"/{stage}")
    assert part.status_code == 200
    assert "<!doctype html>" not in part.text
    del page.headers["hx-request"]
    whole = page.get(f"/{stage}")
    assert whole.status_code == 200
    assert whole.text.startswith("<!doctype html>")
    assert f'href="/{stage}" aria-current="page"' in whole.text
    assert "import discreet" in html.unescape(whole.text)


def test_the_first_look_gives_roles_and_a_click_changes_one(page):
    roles = page.space.recipe["roles"]
    assert roles["identifiers"] == ["name"]
    assert "income" in roles["confidential"]
    data = {"role": "insensitive", "version": page.version, "column": ["income"]}
    answer = page.post("/data/role", data=data)
    assert answer.status_code == 200
    assert "income" in page.space.recipe["roles"]["insensitive"]
    assert "income" not in page.space.recipe["roles"].get("confidential", [])
    # The recipe beside the page came along.
    assert 'id="recipe"' in answer.text
    assert "hx-swap-oob" in answer.text
    page.post("/recipe/undo", content=b"")
    assert "income" in page.space.recipe["roles"]["confidential"]


@pytest.mark.parametrize(
    "values",
    [[2**60 + i for i in range(20)], [1e308 * (-1) ** i * (1 + i / 99) for i in range(20)]],
)
def test_numbers_that_hardly_differ_or_differ_as_far_as_can_be_have_a_picture(values):
    column = encode_table(pa.table({"x": values}))["x"]
    assert max(bars(column)) == 1.0


def test_many_columns_get_a_role_at_once_and_a_single_role_only_one(page):
    data = {"role": "drop", "version": page.version, "column": ["income", "sex"]}
    assert page.post("/data/role", data=data).status_code == 200
    kept = [x for value in page.space.recipe["roles"].values() for x in value]
    assert "sex" not in kept
    data = {"role": "weight", "version": page.version, "column": ["income", "sex"]}
    answer = page.post("/data/role", data=data)
    assert answer.status_code == 422
    assert "only one column can be the weight; choose one" in answer.text


def test_the_later_of_two_tabs_is_told(page):
    seen = page.version
    page.post("/data/role", data={"role": "drop", "version": seen, "column": ["sex"]})
    answer = page.post("/data/role", data={"role": "drop", "version": seen, "column": ["income"]})
    assert "changed in another tab meanwhile (sex: drop)" in text_of(answer.text)
    named = [x for value in page.space.recipe["roles"].values() for x in value]
    assert "sex" not in named
    assert "income" not in named


def test_a_step_that_moved_meanwhile_is_not_overwritten(page):
    text = (
        '[roles]\nconfidential = ["income", "assets"]\nrest = "drop"\n'
        '[[steps]]\nmethod = "oma"\ncolumns = ["income"]\nk = 3\n'
        '[[steps]]\nmethod = "oma"\ncolumns = ["assets"]\nk = 4\n'
    )
    page.post("/recipe/text", data={"text": text, "version": page.version})
    seen = page.version
    page.post("/protect/remove", data={"number": 0, "version": seen})
    form = {"number": 0, "method": "oma", "version": seen, "columns": ["income"], "k": "9"}
    answer = page.post("/protect/step", data=form)
    assert f"is version {page.version + 1} of the history" in text_of(answer.text)
    assert [(s["columns"], s["k"]) for s in page.space.recipe["steps"]] == [(["assets"], 4)]
    page.space.take(page.version + 1)
    assert [s["k"] for s in page.space.recipe["steps"]] == [9, 4]
    answer = page.post("/protect/remove", data={"number": 0, "version": 99})
    assert answer.status_code == 422


def test_hostile_names_and_values_are_text(tmp_path, people):
    names = [HOSTILE, "a\nb", "c;d", " two  blanks"]
    values = [
        [f"{HOSTILE}{i % 3}" for i in range(60)],
        ["x"] * 60,
        ["1", "2"] * 30,
        ["m", "f"] * 30,
    ]
    table = pa.table(dict(zip(names, values, strict=True)))
    path = tmp_path / "hostile.csv"
    pa.csv.write_csv(table, path)
    page = Page(tmp_path / "work", [tmp_path])
    try:
        page.open(path)
        columns = [look.name for look in page.desk.look.seen.columns]
        data = {"role": "quasi", "version": page.version, "column": columns}
        assert page.post("/data/role", data=data).status_code == 200
        for where in (
            "/data/columns", "/risk/figures", "/protect/steps", "/protect/step?number=0&method=oma",
            "/hierarchies", "/explore/sliders", "/recipe/problem",
        ):  # fmt: skip
            found = page.get(where)
            assert "<script>alert" not in found.text, where
            assert "</script>49" not in html.unescape(found.text), where
        choice = html.unescape(page.get("/hierarchies").text)
        for name in columns:
            # Without a value, a browser sends the words of an option with one blank between them.
            assert f'<option value="{name}"' in choice
            found = page.get("/hierarchies/tree", params={"column": name})
            assert found.status_code == 200
            assert "<script>alert" not in found.text
    finally:
        page.end()


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "", "/nowhere.csv"])
def test_files_outside_the_folders_are_not_opened(page, path):
    before = page.space.input
    answer = page.post("/data/open", data={"path": path})
    assert answer.status_code == 422
    assert "root:" not in answer.text
    assert page.space.input == before
    assert page.get("/data/files", params={"folder": "/etc"}).status_code == 422


def test_a_name_that_is_not_utf_8_does_not_hide_the_others(page):
    """As old archives have them: no page can show them, nor a form send them."""
    folder = page.space.input.parent / "old"
    (folder / "new").mkdir(parents=True)
    for name in (b"gr\xf6\xdfe.csv", b"gr\xf6\xdfer.csv"):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).touch()
    shown = page.get("/data/files", params={"folder": str(folder)})
    assert shown.status_code == 200
    assert "new/" in shown.text
    assert "their names are not UTF-8: 2." in shown.text
    with pytest.raises(BadInput, match="not UTF-8 cannot be worked on here"):
        page.desk.folders.find(os.fsdecode(os.fsencode(folder) + b"/gr\xf6\xdfe.csv"))


@pytest.mark.parametrize(
    "text",
    [
        "policy = 'FILE'", "policy = { name = 'FILE' }", "pseudonym_key = 'FILE'",
        "policy = { name = 'acro', population = 'FILE' }", "project_key = '../../FILE'",
        "[[steps]]\nmethod = 'generalize'\nhierarchies = { sex = 'FILE' }",
        "[[steps]]\nmethod = 'generalize'\nhierarchies.sex = { kind = 'csv', path = 'FILE' }",
        "[[steps]]\nmethod = 'generalize'\nprivacy = [{ model = 'k-map', population = 'FILE' }]",
    ],
)  # fmt: skip
def test_a_recipe_names_no_file_outside_the_folders(page, tmp_path, text):
    (tmp_path / "secret.csv").write_text("male;Ann Miller\nfemale;*\n")
    before = page.version
    outside = text.replace("FILE", str(tmp_path / "secret.csv"))
    answer = page.post("/recipe/text", data={"text": outside, "version": before})
    assert answer.status_code == 422
    assert "'secret.csv' is outside the folders" in html.unescape(answer.text)
    assert page.version == before
    inside = text.replace("../../FILE", "own.csv").replace("FILE", str(page.space.input))
    answer = page.post("/recipe/text", data={"text": inside, "version": before})
    assert answer.status_code == 200


def test_a_rule_reads_no_file(page, tmp_path):
    (tmp_path / "secret.csv").write_text("male;Ann Miller\nfemale;*\n")
    levels = f"{{ kind = 'csv', path = '{tmp_path / 'secret.csv'}' }}"
    form = {"column": "sex", "kind": "order", "levels": levels, "version": page.version}
    answer = page.post("/hierarchies/rule", data=form)
    assert answer.status_code == 422
    assert "Ann" not in answer.text
    assert "path" in text_of(answer.text)


def test_steps_are_proposed_edited_and_removed(page):
    answer = page.post("/protect/propose", data={"version": page.version, "k": 3, "blanked": 10})
    assert answer.status_code == 200, answer.text
    steps = page.space.recipe["steps"]
    models = [model for step in steps for model in step.get("privacy", [])]
    assert {"model": "k-anonymity", "k": 3} in models
    assert Recipe.load(page.space.recipe_file).steps
    assert "Ready to run" in page.get("/recipe/problem").text
    many = len(steps)
    page.post("/protect/remove", data={"number": many - 1, "version": page.version})
    assert len(page.space.recipe["steps"]) == many - 1
    form = {"number": many - 1, "method": "noise", "columns": ["income"]}
    answer = page.post("/protect/step", data={**form, "version": page.version})
    assert answer.status_code == 200, answer.text
    assert page.space.recipe["steps"][-1] == {"method": "noise", "columns": ["income"]}


def test_a_step_that_cannot_be_is_refused_in_the_words_of_the_recipe(page):
    before = page.version
    form = {"number": 0, "method": "oma", "version": before, "columns": ["income"], "k": "1"}
    answer = page.post("/protect/step", data=form)
    assert answer.status_code == 422
    assert "k = 1 lets every record stand alone; set k = 2 or more" in answer.text
    assert page.version == before


STEP = {"number": 0, "method": "oma", "columns": ["income"], "k": "3"}
MODELS = {"number": 0, "method": "generalize", "columns": ["age"]}


@pytest.mark.parametrize(
    ("path", "form"),
    [
        *(("/protect/step", STEP | {"number": one}) for one in (-1, 7, 10**30, "x", "", "9" * 5000)),
        *(("/protect/step", STEP | {"version": one}) for one in (-1, "x", "9" * 5000)),
        *(("/protect/step", STEP | {"k": one}) for one in ("[" * 9000, "9" * 5000, "nan")),
        ("/protect/step", {"method": "oma"}),
        ("/protect/step", {"number": 0}),
        ("/protect/step", MODELS | {"privacy.x.model": "k-anonymity"}),
        ("/protect/step", MODELS | {"privacy.": "k-anonymity"}),
        ("/protect/step", MODELS | {"privacy.0.model": "no such"}),
        *(("/protect/remove", {"number": one}) for one in (-1, 7, 10**30)),
        *(("/protect/propose", {"blanked": one}) for one in ("nan", "-3", "inf")),
        *(("/protect/propose", one) for one in ({"k": -1}, {"k": 10**30}, {"l": -1}, {"l": 10**30})),
        ("/protect/propose", {"keep": "no such"}),
        *(
            ("/hierarchies/rule", {"column": "sex", "kind": "order", "levels": one})
            for one in ("[" * 9000, "9" * 5000)
        ),
        ("/data/open", {"path": "a" * 300}),
    ],
)  # fmt: skip
def test_a_form_that_no_page_sends_is_refused_in_a_sentence(page, path, form):
    before = page.space.state
    if path == "/data/open":
        form = {"path": str(page.space.input.parent / form["path"])}
    answer = page.post(path, data={"version": page.version} | form)
    assert answer.status_code == 422, answer.text
    assert page.space.state == before


@pytest.mark.parametrize("number", [-1, 7])
def test_a_step_that_there_is_not_has_no_form(page, number):
    assert page.get("/protect/step", params={"number": number, "method": "oma"}).status_code == 422
    assert page.get("/protect/step", params={"number": 0}).status_code == 422


def test_a_hierarchy_is_built_by_a_rule_by_hand_and_from_a_file(page):
    data = {"column": "sex", "kind": "flat", "version": page.version}
    assert page.post("/hierarchies/rule", data=data).status_code == 200
    step = page.space.recipe["steps"][0]
    assert step["hierarchies"]["sex"] == {"kind": "flat"}
    assert step["privacy"] == [{"model": "k-anonymity", "k": 5}]
    values = [str(x) for x in page.desk.look.seen.encoded["sex"].values.to_pylist()]
    data = {"column": "sex", "group": "all of them", "value": values, "version": page.version}
    answer = page.post("/hierarchies/gather", data=data)
    assert answer.status_code == 200
    assert page.space.recipe["steps"][0]["hierarchies"]["sex"] == {
        "kind": "groups", "tree": {"all of them": values},
    }  # fmt: skip
    saved = page.get("/hierarchies/csv", params={"column": "sex"}).text
    assert saved == "".join(f"{value};all of them;*\n" for value in values)
    data = {"column": "sex", "version": page.version}
    read = page.post("/hierarchies/upload", data=data, files={"file": ("h.csv", saved)})
    assert read.status_code == 200, read.text
    assert page.space.recipe["steps"][0]["hierarchies"]["sex"]["kind"] == "table"
    Recipe.load(page.space.recipe_file)
    data = {"column": "sex", "kind": "intervals", "levels": "wide", "version": page.version}
    answer = page.post("/hierarchies/rule", data=data)
    assert "write the levels such as 5, 10, 20" in text_of(answer.text)
    for column, kind, levels, spec in (
        ("age", "intervals", "5, 10", {"widths": [5, 10]}),
        ("birth_date", "dates", "month, year", {"levels": ["month", "year"]}),
        ("birth_date", "dates", "", {}),
        ("sex", "prefix", "", {}),
    ):
        data = {"column": column, "kind": kind, "levels": levels, "version": page.version}
        assert page.post("/hierarchies/rule", data=data).status_code == 200
        built = page.space.recipe["steps"][0]["hierarchies"][column]
        assert built == {"kind": kind, **spec}
    unnamed = page.post("/hierarchies/gather", data={"column": "sex", "version": page.version})
    assert "mark the values or groups to gather, and name their group" in unnamed.text


@pytest.mark.parametrize(
    ("separator", "first", "end"),
    [(",", "one; or so", "\n"), (";", "one", "\r"), (";", "one", "\r\n")],
    ids=["a semicolon in a label", "old line ends", "Windows line ends"],
)
def test_a_hierarchy_that_is_sent_is_read_like_the_file_of_a_recipe(page, separator, first, end):
    values = [str(x) for x in page.desk.look.seen.encoded["sex"].values.to_pylist()]
    wanted = [[value, first if value == values[0] else "other"] for value in values]
    content = "".join(separator.join(row) + end for row in wanted)
    data = {"column": "sex", "version": page.version}
    answer = page.post("/hierarchies/upload", data=data, files={"file": ("h.csv", content)})
    assert answer.status_code == 200, answer.text
    assert page.space.recipe["steps"][0]["hierarchies"]["sex"]["rows"] == wanted


def test_too_many_values_are_not_gathered_by_hand(page, monkeypatch):
    monkeypatch.setattr("discreet.app.pages.hierarchies._GATHERED", 20)
    form = {"column": "age", "group": "old", "value": ["60"], "version": page.version}
    answer = page.post("/hierarchies/gather", data=form)
    assert answer.status_code == 422
    assert "values, too many to gather by hand: build its levels by a rule" in answer.text
    form |= {"column": "sex", "value": ["female"]}
    assert page.post("/hierarchies/gather", data=form).status_code == 200


def test_a_key_whose_name_has_two_lines_is_chosen_and_gets_a_hierarchy_from_a_file(tmp_path):
    name = "age\n(years)"
    pyarrow.csv.write_csv(pa.table({name: ["20", "30"] * 10, "n": range(20)}), tmp_path / "t.csv")
    page = Page(tmp_path / "work", [tmp_path])
    page.open(tmp_path / "t.csv")
    form = {"role": "quasi", "column": ["n", name], "version": page.version}
    assert page.post("/data/role", data=form).status_code == 200
    form = {"column": "age\r\n(years)", "version": page.version}
    assert "tree?column=age%0A%28years%29" in page.get("/hierarchies", params=form).text
    files = {"file": ("h.csv", b"20;any\n30;any\n")}
    assert page.post("/hierarchies/upload", data=form, files=files).status_code == 200
    page.end()
    assert list(page.space.recipe["steps"][0]["hierarchies"][name]["rows"][0]) == ["20", "any"]


def test_the_risk_of_a_large_table_is_that_of_a_sample_until_all_of_it_is_counted(
    page, people, monkeypatch
):
    table = read_table(people)
    path = people.parent / "large.parquet"
    write_table(table, path)
    monkeypatch.setattr(look, "MOST_ROWS", 300)
    monkeypatch.setattr(look, "SAMPLE", 200)
    page.open(path)
    shown = text_of(page.get("/risk/figures").text)
    found = re.search(
        r"From a sample of (\d+) of 400 records, drawn at random by whole household", shown
    )
    assert 100 < int(found[1]) < 300
    assert f"{found[1]} records by" in shown
    assert "the risk of a record is overstated" in shown
    said = text_of(answered(lambda: page.get("/risk/among", params={"version": page.version})).text)
    assert "in the whole table" in said
    assert "Counting every record" in text_of(page.post("/risk/all").text)
    whole = text_of(answered(lambda: page.get("/risk/all")).text)
    assert "sample" not in whole
    assert "400 records by" in whole
    assert "400 records by" in text_of(page.get("/risk/figures").text)


def answered(ask):
    """Ask again until there is more than nothing."""
    for _ in range(600):
        answer = ask()
        if answer.status_code != 204:
            return answer
        time.sleep(0.05)
    raise AssertionError("there was no answer")


def test_an_error_says_nothing_of_the_data(page, capsys, monkeypatch):
    def broken(*given):
        raise RuntimeError("Ann Miller, 12 High Street")

    monkeypatch.setattr("discreet.app.pages.risk._shown", broken)
    page._transport.raise_server_exceptions = False
    answer = page.get("/risk/figures")
    assert answer.status_code == 500
    assert "Ann" not in answer.text
    assert "Something went wrong (RuntimeError)" in answer.text
    said = capsys.readouterr()
    assert "Ann" not in said.err + said.out


def test_what_cannot_be_read_is_said_in_a_sentence(page):
    answer = page.post("/protect/propose", data={"version": page.version, "k": "many"})
    assert answer.status_code == 422
    assert "k: a whole number is needed" in text_of(answer.text)


def test_nobody_is_told_of_requests(page, monkeypatch):
    """The framework offers each request to the tracers of its process, if it is let."""
    trace = pytest.importorskip("opentelemetry.trace")
    traced = []

    class Tracer(trace.NoOpTracer):
        def start_span(self, name, *given, **more):
            traced.append(name)
            return super().start_span(name, *given, **more)

    class Provider(trace.TracerProvider):
        def get_tracer(self, *given, **more):
            return Tracer()

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", Provider())
    assert page.get("/data").status_code == 200
    assert traced == []


def test_the_recipe_can_be_edited_as_text(page):
    text = page.space.text + "\n# A note of mine.\n"
    page.post("/recipe/text", data={"text": text, "version": page.version})
    assert page.space.text == text
    answer = page.post("/recipe/text", data={"text": "= 1", "version": page.version})
    assert answer.status_code == 422
    assert "the recipe is not TOML" in answer.text
    assert tomllib.loads(page.space.text) == tomllib.loads(text)


@pytest.mark.parametrize(
    ("path", "slow"),
    [
        ("/explore/take", "discreet.app.pages.explore._nodes"),
        ("/hierarchies/upload", "discreet.app.pages.hierarchies._save"),
        ("/protect/step", "discreet.app.pages.protect.read_step"),
        ("/data/open", "discreet.app.workspace.Folders.find"),
        ("/data/dialect", "discreet.app.workspace.Workspace.as_seen"),
        # What is refused is shown beside the recipe, which somebody may be changing.
        ("/data/counts", "discreet.app.server._said"),
    ],
)
def test_nobody_waits_for_what_another_page_takes_long_for(page, monkeypatch, path, slow):
    begun, free, held_up = threading.Event(), threading.Event(), []

    def work(*given):
        begun.set()
        held_up.append(not free.wait(3))
        raise BadInput("that is all")

    monkeypatch.setattr(slow, work)
    data = {"version": page.version, "number": 0, "method": "generalize", "column": "age"}
    files = {"file": ("h.csv", "1;2")} if path == "/hierarchies/upload" else None

    async def both():
        transport = httpx.ASGITransport(page.guard)
        how = {"base_url": BASE, "headers": page.headers, "cookies": page.cookies, "timeout": 30}
        async with httpx.AsyncClient(transport=transport, **how) as client:
            posted = asyncio.create_task(client.post(path, data=data, files=files))
            while not begun.is_set():
                await asyncio.sleep(0.01)
            answer = await client.get("/protect/runs")
            free.set()
            return answer.status_code, (await posted).status_code

    answered, refused = asyncio.run(both())
    assert answered == 200
    assert refused in (422, 500)
    assert not any(held_up)


def test_the_first_requests_of_many_tabs_are_all_answered(tmp_path, people):
    """Each of their threads loads what it needs, also when all do so at the same moment."""
    server = Server(tmp_path / "work", people)
    parts = ("risk/figures", "hierarchies", "hierarchies/tree?column=age", "protect/steps")
    parts += ("protect/step?number=0&method=generalize", "recipe/problem", "explore/sliders")
    parts += ("hierarchies/csv?column=age", "data/columns", "release", "result", "explore")
    headers = {"origin": server.base, "hx-request": "true"}
    try:
        with httpx.Client(base_url=server.base, headers=headers, timeout=60) as page:
            assert page.get(server.url).status_code == 303
            with ThreadPoolExecutor(len(parts)) as pool:
                found = list(pool.map(lambda part: page.get(f"/{part}"), parts))
            assert not [one.url for one in found if one.status_code == 500]
    finally:
        server.stop()
