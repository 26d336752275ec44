"""Where the table's values must not be.

The app shows a table to the person who has it, so some pages are about values: the first look
(ranges, marks for missing values), the risk (keys of the riskiest records), hierarchies and levels
(values of keys), what each column became, and the reports; that which goes with a release has the
release's values. The recipe has them too, once somebody gathered values into groups.

What names a person is nowhere. What is confidential is nowhere, but for the range of its numbers in
the first look, and in the reports. And in what is seen, copied or sent on without a thought
there is no value of any column: the terminal, errors, the command and the Python, the news of runs,
the release's page, the frame around the pages, and the workspace's own notes. A refusal, and a run
that failed, may name the value of a key that a hierarchy does not have: it is what has to be mended.
"""

import re
import subprocess
import time

import httpx
import pytest

from tests.app.server import Server

ROWS = 400
# Each value tells where it comes from.
PERSON = re.compile(r"\bNAME\w*|\bNOTE\w*|\b5500\d{4}\b")
SECRET = re.compile(r"\bILL[a-e]\b|\b81\d{5}\b")
KEY = re.compile(r"\bTOWN[a-f]\b|\b703\d\d\b|\bSEX[mf]\b")
ANY = re.compile(f"{PERSON.pattern}|{SECRET.pattern}|{KEY.pattern}")
# The pages that are about values of keys.
LOOK = ("/data/columns", "/data/role")
ABOUT = (*LOOK, "/risk/figures", "/hierarchies/", "/explore", "/result/1/report")
RECIPE = """
[roles]
identifiers = ["name"]
quasi = ["town", "age", "sex"]
confidential = ["ill", "pay"]
rest = "drop"
"""
STEP = """
[[steps]]
method = "generalize"
columns = ["town", "age", "sex"]
privacy = [{ model = "k-anonymity", k = 3 }, { model = "l-diversity", l = 2, column = "ill" }]
suppression_limit = 0.5
hierarchies = { town = { kind = "flat" }, age = { kind = "intervals", widths = [10, 30] }, sex = { kind = "flat" } }
"""
WRONG = [
    # Text where numbers are needed, in a key and in what is confidential.
    STEP + '[[steps]]\nmethod = "oma"\ncolumns = ["ill"]\nk = 3\n',
    STEP + '[[steps]]\nmethod = "noise"\ncolumns = ["ill"]\n',
    STEP.replace('town = { kind = "flat" }', 'town = { kind = "intervals", widths = [5] }'),
    STEP.replace('town = { kind = "flat" }', 'town = { kind = "groups", tree = { x = ["y"] } }'),
    STEP.replace("l = 2", "l = 200"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("values") / "people.csv"
    lines = ["name,town,age,sex,ill,pay,note,passport"]
    for i in range(ROWS):
        town, sex, ill = "abcdef"[i % 6], "mf"[i % 2], "abcde"[i * 7 % 11 % 5]
        age, pay = 70300 + i * 31 % 60, 8100000 + i * 7919 % 99991
        lines.append(
            f"NAMEx{i},TOWN{town},{age},SEX{sex},ILL{ill},{pay},NOTEy{i} and more,{55000000 + i}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def heard(table, tmp_path_factory):
    """All that the app said on a journey with many mistakes: (request, status, text), and files."""
    space = tmp_path_factory.mktemp("heard") / "work"
    server = Server(space, table, stderr=subprocess.STDOUT)
    page = httpx.Client(base_url=server.base, headers={"origin": server.base}, timeout=120)
    said = []

    def note(answer):
        path = answer.request.url.raw_path.decode()
        said.append((f"{answer.request.method} {path}", answer.status_code, answer.text))
        return answer

    def get(path, **more):
        note(page.get(path, **more))
        return note(page.get(path, headers={"hx-request": "true"}, **more))

    def post(path, **form):
        return note(page.post(path, data=form, headers={"hx-request": "true"}))

    def version():
        return int(re.search(r'name="version" value="(\d+)"', get("/release").text).group(1))

    def take(text):
        assert post("/recipe/text", text=text, version=version()).status_code == 200

    def run():
        post("/protect/run")
        while re.search('class="run (waiting|running)"', post_runs()):
            time.sleep(0.05)

    def post_runs():
        return note(page.get("/protect/runs")).text

    page.get(server.url)
    get("/data/columns")
    take(RECIPE + STEP)
    run()
    for path in (
        "/data", "/data/files", "/risk", "/risk/figures", "/hierarchies", "/protect",
        "/protect/steps", "/protect/step?number=0", "/explore", "/explore/sliders",
        "/explore/node?level.age=0", "/explore/best?fix=age", "/result", "/release",
        "/result/1/report", "/result/1/report?external=true", "/recipe/problem",
        "/hierarchies/tree?column=town", "/hierarchies/csv?column=age",
        # And what cannot be answered.
        "/hierarchies/tree?column=ill", "/hierarchies/csv?column=ill", "/hierarchies/csv?column=x",
        "/hierarchies/csv?column=name", "/result?run=9", "/result/9/report", "/nothing",
        "/explore/node?level.age=x", "/protect/step?number=x", "/data/files?folder=/etc",
        "/protect/step?number=0&method=x",
    ):  # fmt: skip
        get(path)
    now = version()
    for column in ("ill", "pay", "name", "note", "town", "x"):
        for kind in ("intervals", "prefix", "dates", "order"):
            levels = {"dates": '["year"]', "order": "[2]"}.get(kind, "[5]")
            post("/hierarchies/rule", column=column, kind=kind, levels=levels, version=now)
        post("/hierarchies/gather", column=column, group="g", value="ILLz", version=now)
        file = {"file": ("h.csv", b"TOWNa;west\n")}
        form = {"column": column, "version": str(now)}
        note(page.post("/hierarchies/upload", data=form, files=file))
    post("/data/role", role="weight", column=["town", "ill"], version=now)
    post("/data/role", role="x", column="ill", version=now)
    for role in ("weight", "household", "unit", "target", "row_key", "pseudonyms"):
        post("/data/role", role=role, column="sex", version=now)
        get("/risk/figures")
        get("/recipe/problem")
        post("/recipe/undo")
    for wrong in WRONG:
        take(RECIPE + wrong)
        get("/recipe/problem")
        get("/explore/sliders")
        get("/risk/figures")
        run()
    post("/protect/propose", k="x", version=now)
    post("/protect/propose", k=200000, l=7, version=now)
    post("/release/write", run=1, out="/etc/x")
    with page.stream("GET", "/events") as events:
        said.append(("GET /events", 200, next(events.iter_text())))
    # The table itself breaks: a quote that does not close.
    table.write_text(table.read_text() + 'NAMEx,TOWNa,"70301,SEXm\n')
    for path in ("/data/columns", "/risk/figures", "/hierarchies/tree?column=town"):
        get(path)
    server.stop()
    said.append(("the terminal", 0, server.process.stdout.read()))
    return said, space


def found(pattern, text):
    return sorted(set(pattern.findall(text)))


def test_the_scan_would_find_values(heard):
    said, _ = heard
    seen = {request: text for request, _, text in said[::-1]}
    assert "TOWNa" in found(KEY, seen["GET /hierarchies/tree?column=town"])
    assert found(KEY, seen["GET /risk/figures"])
    assert found(SECRET, seen["GET /data/columns"])
    assert sum(status >= 400 for _, status, _ in said) > 40


def test_what_names_a_person_is_nowhere(heard):
    for request, _, text in heard[0]:
        assert found(PERSON, text) == [], request


def test_what_is_confidential_is_nowhere_but_as_a_range(heard):
    for request, status, text in heard[0]:
        if request.startswith("GET /result/1/report"):
            continue
        values = found(SECRET, text)
        if request.endswith(LOOK) and status == 200:
            values = [one for one in values if not one.startswith("81")]
        assert values == [], (request, status)


def test_values_of_keys_are_on_pages_about_keys_and_in_what_a_refusal_asks_to_mend(heard):
    for request, status, text in heard[0]:
        path = request.partition(" ")[2]
        mend = status == 422 or path.startswith(("/protect/run", "/recipe/problem"))
        if path.startswith(ABOUT) and status == 200:
            continue
        assert mend or found(KEY, text) == [], (request, status)


def test_the_workspace_notes_nothing_of_the_table(heard):
    _, space = heard
    notes = [*space.glob("*.json"), space / "stage", space / "recipe.toml"]
    notes += [*space.glob("runs/*/progress"), *space.glob("runs/*/run.json")]
    assert len(notes) > 8
    for path in notes:
        assert found(re.compile(f"{PERSON.pattern}|{SECRET.pattern}"), path.read_text()) == [], path
    for path in space.glob("runs/*/progress"):
        assert found(ANY, path.read_text()) == []
