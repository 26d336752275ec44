"""Whatever a form holds: it is taken, or refused in a sentence, and never an error of the app."""

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.app.forms import method_fields
from discreet.registry import methods
from tests.app.client import Page

TEXT = """
[roles]
quasi = ["age", "sex"]
confidential = ["pay"]
rest = "drop"

[[steps]]
method = "generalize"
columns = ["age", "sex"]
privacy = [{ model = "k-anonymity", k = 2 }]
hierarchies = { age = { kind = "intervals", widths = [10] }, sex = { kind = "flat" } }
"""
ODD = [
    "", " ", "0", "-1", "1", "2", "0.5", "-0.0", "nan", "inf", "-inf", "1e26", "1e400", "9" * 30,
    "[1e26]", "[2, 4]", "[0]", "[-1]", "[nan]", "[inf]", "[1e308, 1e308]", "[true]", "[[1]]", "[]",
    "{}", "{ lower = 1e26 }", "{ widths = [1], lower = nan }", '{ sizes = "x" }', "true", "1979-05-27",
    "{ age = 1 }", "{ age = -1 }", "{ age = [1] }", '["year"]', '["month", "month"]', "year", "'",
    "\0", "\t", "\n", "\x1b", "ab", ";;", "…", "\u202e", "日本", "a" * 300, "../..", "/", "no such",
    "age", "sex", "pay", "male", "generalize", "oma", "intervals", "prefix", "dates", "order", "flat",
    "k-anonymity", "csv", "utf-16", "rot13", "latin-1", "none", "{{ 7*7 }}", "%s", "\ud7ff", "1_000",
]  # fmt: skip
WORD = st.sampled_from(ODD) | st.text(max_size=8)
COLUMN = st.sampled_from(["age", "sex", "age", "sex", "pay", "no such", ""])
SEVERAL = st.lists(WORD | COLUMN, max_size=3)
KIND = st.sampled_from(["intervals", "prefix", "dates", "order", "flat", "x"])
FORMS = {
    "/data/open": {"path": WORD, "separator": WORD, "decimal": WORD, "quote": WORD,
                   "encoding": WORD, "sheet": WORD},
    "/data/dialect": {"separator": WORD, "decimal": WORD, "quote": WORD, "encoding": WORD,
                      "sheet": WORD},
    "/data/missing": {"marker": WORD, "remove": WORD, "version": WORD},
    "/data/counts": {"counts": WORD | st.sampled_from(["rows", "units", "households", "auto"])},
    "/data/role": {"role": WORD | st.sampled_from(["quasi", "drop", "unit", "weight"]),
                   "column": SEVERAL},
    "/data/none": {"column": COLUMN},
    "/data/anew": {"version": WORD},
    "/hierarchies/rule": {"column": COLUMN, "kind": KIND, "levels": WORD},
    "/hierarchies/gather": {"column": COLUMN, "group": WORD, "value": SEVERAL, "inner": SEVERAL},
    "/hierarchies/scatter": {"column": COLUMN, "value": SEVERAL},
    "/protect/propose": {"k": st.sampled_from(["2", "1e3", "-1", "x", "99999999999"]), "l": WORD,
                         "blanked": WORD, "risk": WORD, "policy": WORD, "policy_file": WORD,
                         "keep": SEVERAL},
    "/protect/way": {"way": WORD, "proposal": WORD},
    "/protect/remove": {"number": WORD},
    "/protect/move": {"number": WORD, "by": WORD | st.sampled_from(["1", "-1"])},
    "/protect/run": {},
    "/protect/search": {"minutes": WORD, "k": WORD, "risk": WORD},
    "/protect/cancel": {"number": WORD},
    "/explore/recipe": {"run": WORD, "name": WORD},
    "/explore/take": {"level.age": WORD, "level.sex": WORD, "version": WORD},
    "/release/write": {"run": WORD, "out": WORD, "format": SEVERAL},
    "/recipe/take": {"number": WORD},
    "/recipe/name": {"number": WORD, "name": WORD},
    "/recipe/text": {"text": WORD},
    "/recipe/undo": {},
    "/recipe/redo": {},
    "/risk/all": {},
}  # fmt: skip
PAGES = {
    "/data/files": ["folder"], "/hierarchies/tree": ["column"], "/hierarchies/csv": ["column"],
    "/hierarchies": ["column"], "/protect/step": ["number", "method"], "/explore": ["a", "b"],
    "/explore/node": ["level.age", "level.sex"], "/explore/best": ["level.age", "fix"],
    "/result": ["run"], "/release": ["run"], "/result/1/report": ["external"],
    "/result/1/rows": [],
}  # fmt: skip
SHOWN = ["/data/columns", "/hierarchies/tree?column=age", "/hierarchies/csv?column=age",
         "/protect/steps", "/explore/sliders", "/recipe/problem", "/risk/figures"]  # fmt: skip
EXAMPLES = settings(
    max_examples=12, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page on a small table, whose runs wait for ever."""
    folder = tmp_path_factory.mktemp("any")
    table = pa.table(
        {
            "age": [20 + i % 7 for i in range(40)],
            "sex": ["male", "female"] * 20,
            "pay": [100.5 * i for i in range(40)],
        }
    )
    pa.csv.write_csv(table, folder / "small.csv")
    opened = Page(folder / "work", [folder])
    opened.desk.queue.close()
    opened.open(folder / "small.csv")
    opened.table = folder / "small.csv"
    yield opened
    opened.end()


def restored(page):
    """Begin where the recipe is known; what went before does not matter."""
    if page.space.input != page.table or page.space.state["dialect"]:
        page.space.open_file(page.table, "", "opened")
    page.space.replace(TEXT, "known", page.version)


def sent(page, path, form):
    """Send a form, and say what went wrong in the app, if anything did."""
    answer = page.post(path, data=form)
    assert answer.status_code in (200, 303, 400, 422), (path, form, answer.text)
    for where in SHOWN if answer.status_code == 200 else ():
        shown = page.get(where)
        assert shown.status_code in (200, 422), (path, form, where, shown.text)


def test_all_forms_are_tried(page):
    pages = [one for one in page.served.routes if hasattr(one, "original_router")]
    posts = {
        route.path
        for one in pages
        for route in one.original_router.routes
        if "POST" in route.methods
    }
    assert posts == {*FORMS, "/hierarchies/upload", "/protect/step"}


@pytest.mark.parametrize("path", FORMS)
@EXAMPLES
@given(data=st.data())
def test_no_form_breaks_the_app(page, path, data):
    restored(page)
    form = {name: data.draw(value, label=name) for name, value in FORMS[path].items()}
    if "version" not in form or data.draw(st.booleans()):
        form["version"] = page.version
    if path == "/data/open" and data.draw(st.booleans()):
        form["path"] = str(page.table)
    sent(page, path, form)


@pytest.mark.parametrize("field", ["separator", "decimal", "quote", "encoding", "sheet"])
def test_no_way_to_read_a_file_breaks_the_app(page, field):
    restored(page)
    for value in ODD:
        answer = page.post("/data/dialect", data={field: value})
        assert answer.status_code in (200, 422), (field, value, answer.text)


@pytest.mark.parametrize("kind", ["intervals", "prefix", "dates", "order"])
def test_no_rule_breaks_the_app(page, kind):
    restored(page)
    for levels in [*ODD, "2, 9" + "9" * 30, '{ keep = ["a", 1] }', "{ widths = [1e-300] }"]:
        form = {"column": "age", "kind": kind, "levels": levels, "version": page.version}
        answer = page.post("/hierarchies/rule", data=form)
        assert answer.status_code in (200, 422), (form, answer.text)


@pytest.mark.parametrize("method", methods())
@settings(EXAMPLES, max_examples=4)
@given(data=st.data())
def test_no_step_breaks_the_app(page, method, data):
    restored(page)
    form = {"number": "1", "method": method, "version": page.version}
    form["columns"] = data.draw(st.lists(COLUMN, max_size=2))
    for one in data.draw(st.lists(st.sampled_from(method_fields(method)), max_size=3)):
        form[one.name] = data.draw(WORD | st.sampled_from(one.choices or ("3",)), label=one.name)
    answer = page.post("/protect/step", data=form)
    assert answer.status_code in (200, 422), (form, answer.text)
    assert page.get("/protect/steps").status_code == 200
    assert page.get("/protect/step", params={"number": 0, "method": method}).status_code == 200
    assert page.get("/recipe/problem").status_code == 200


@pytest.mark.parametrize("path", PAGES)
@EXAMPLES
@given(data=st.data())
def test_no_address_breaks_the_app(page, path, data):
    restored(page)
    asked = {name: data.draw(WORD | COLUMN, label=name) for name in PAGES[path]}
    answer = page.get(path, params=asked)
    assert answer.status_code in (200, 422), (path, asked, answer.text)


@EXAMPLES
@given(content=st.binary(max_size=60) | st.lists(SEVERAL, max_size=4).map(
    lambda rows: "\n".join(";".join(row) for row in rows).encode()))  # fmt: skip
def test_no_hierarchy_from_a_file_breaks_the_app(page, content):
    restored(page)
    form = {"column": "sex", "version": page.version}
    answer = page.post("/hierarchies/upload", data=form, files={"file": ("h.csv", content)})
    assert answer.status_code in (200, 422), (content, answer.text)
