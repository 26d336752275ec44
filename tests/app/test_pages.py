"""The pages: what they show, what they change, and what they must not show."""

import html
import tomllib

import pyarrow as pa
import pyarrow.csv
import pytest

from discreet.app.server import STAGES
from discreet.recipe import Recipe
from tests.app.client import Page, text_of

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
    names = [HOSTILE, "a\nb", "c;d", "sex"]
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
        page.post("/data/role", data=data)
        for where in (
            "/data/columns", "/risk/figures", "/protect/steps", "/protect/step?number=0&method=oma",
            "/hierarchies", "/explore/sliders", "/recipe/problem",
        ):  # fmt: skip
            found = page.get(where)
            assert "<script>alert" not in found.text, where
            assert "</script>49" not in html.unescape(found.text), where
        for name in columns:
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
    ):
        data = {"column": column, "kind": kind, "levels": levels, "version": page.version}
        assert page.post("/hierarchies/rule", data=data).status_code == 200
        built = page.space.recipe["steps"][0]["hierarchies"][column]
        assert built == {"kind": kind, **spec}
    unnamed = page.post("/hierarchies/gather", data={"column": "sex", "version": page.version})
    assert "mark the values or groups to gather, and name their group" in unnamed.text


def test_sliders_tell_what_the_search_finds(page):
    page.post("/hierarchies/rule", data={"column": "sex", "kind": "flat", "version": page.version})
    assert page.get("/explore/sliders").status_code == 200
    nodes = next(
        v for k, v in page.desk.look._made.items() if isinstance(k, tuple) and k[0] == "nodes"
    )
    best = nodes.best()
    given = {f"level.{name}": level for name, level in best.levels.items()}
    shown = text_of(page.get("/explore/node", params=given).text)
    assert f"{best.suppressed:,} records suppressed" in shown
    assert "Keeps what is asked" in shown
    bottom = text_of(page.get("/explore/node", params={f"level.{n}": 0 for n in best.levels}).text)
    assert "Does not keep what is asked" in bottom
    taken = page.post("/explore/take", data={**given, "version": page.version})
    assert taken.status_code == 200
    assert page.space.recipe["steps"][0]["levels"] == best.levels
    fixed = page.get("/explore/best", params={**given, "fix": "sex", "level.sex": 1})
    assert fixed.status_code == 200


def test_an_error_says_nothing_of_the_data(page, capsys, monkeypatch):
    def broken(*given):
        raise RuntimeError("Ann Miller, 12 High Street")

    monkeypatch.setattr("discreet.app.pages.risk._figures", broken)
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
    assert "k: input should be a valid integer" in text_of(answer.text)


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
