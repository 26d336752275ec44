"""The commands, run as a user runs them: messages, exit codes, and nothing written on bad input."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from discreet import read_table, write_table
from discreet.cli import show


@pytest.fixture
def place(tmp_path, monkeypatch, households, recipe_text):
    """A folder with a table and a recipe, as the working folder."""
    monkeypatch.chdir(tmp_path)
    write_table(households, "in.csv")
    (tmp_path / "recipe.toml").write_text(recipe_text)
    return tmp_path


@pytest.fixture
def release(place, released):
    """The same folder, with the release in it."""
    shutil.copytree(released / "out", place / "out")
    return place


PROTECT = ("protect", "in.csv", "--recipe", "recipe.toml", "--out", "out")


def test_protect_prints_a_page_of_25_lines_at_most(place, run, households):
    code, out, _ = run(*PROTECT)
    assert code == 0
    lines = out.splitlines()
    assert len(lines) <= 25
    assert lines[0].startswith("Verdict   ")
    for name in ("Columns", "Cost", "Share:", "Keep, never share:", "Report:"):
        assert sum(line.startswith(name) for line in lines) == 1, name
    code, out, _ = run(*PROTECT, "--force", "--verbose")
    assert out.splitlines()[0] == lines[0]
    assert "Risk and utility" in out
    assert "no identifier is released" in out
    found = json.loads(run(*PROTECT, "--force", "--json")[1])["decision"]
    assert " ".join(lines[0].split()[1:]) in found["verdict"]["said"]
    assert {one["column"] for one in found["columns"]} == set(households.column_names)


def test_protect_tells_which_guide_values_are_not_met(place, run):
    code, out, _ = run(*PROTECT, "--verbose")
    assert code == 0
    said = re.search(
        r"(\d+) of (\d+) guide values (?:is|are) not met: (.*?)\. Share:", " ".join(out.split())
    )
    assert said is not None
    failed, of = int(said[1]), int(said[2])
    assert len(re.findall(r"\((guide|recipe): (at|below) ", said[3])) == min(3, failed)
    assert (f"and {failed - 3} more" in said[3]) == (failed > 3)
    code, out, _ = run(*PROTECT, "--force", "--json")
    printed = json.loads(out)
    assert printed["guide_values"]["of"] == of
    assert len(printed["guide_values"]["not_met"]) == failed
    rows = {row["name"]: row for row in printed["assessment"]["shown"]}
    for name in printed["guide_values"]["not_met"]:
        beyond = rows[name]["after"] - rows[name]["guide"]["value"]
        assert beyond < 0 if rows[name]["better"] == "more" else beyond > 0


def test_protect_check_assess(place, run):
    code, out, err = run(*PROTECT, "--verbose")
    assert (code, err) == (0, "")
    assert "Share: out/public/table.csv" in out
    assert "k counts households, by 'household_id', not rows" in out
    code, out, _ = run("check", "out")
    assert code == 0
    assert "not verifiable" in out
    code, out, _ = run("check", "out", "--original", "in.csv", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["ok"]
    assert {f["status"] for f in report["findings"]} == {"verified", "weak"}
    code, out, _ = run("assess", "in.csv", "out", "--recipe", "recipe.toml", "--json")
    assert code == 0
    # Sums over shuffled rows differ in the last digits.
    kept = json.loads((place / "out/internal/assessment.json").read_text())
    assert json.loads(out)["risk"]["class_sizes"] == kept["risk"]["class_sizes"]
    assert json.loads(out)["score"] == pytest.approx(kept["score"])
    assert json.loads(out)["utility"]["il1s"]["columns"] == pytest.approx(
        kept["utility"]["il1s"]["columns"]
    )
    code, out, _ = run("assess", "in.csv", "out", "--recipe", "recipe.toml")
    assert "Left out: suda2" in out


def test_assess_on_an_engine(release, run):
    assess = ("assess", "in.csv", "out", "--recipe", "recipe.toml")
    found = []
    for engine in ("memory", "duckdb"):
        code, out, err = run(*assess, "--engine", engine, "--json")
        assert (code, err) == (0, "")
        found.append(json.loads(out))
    one, other = found
    assert one["left_out"] == other["left_out"]
    assert one["risk"]["class_sizes"] == other["risk"]["class_sizes"]
    assert one["utility"]["null_rates"] == other["utility"]["null_rates"]
    assert one["utility"]["il1s"]["columns"] == pytest.approx(other["utility"]["il1s"]["columns"])
    assert one["score"] == pytest.approx(other["score"])
    code, _, err = run(*assess, "--engine", "spark")
    assert code == 2
    assert err == "discreet: assess runs in memory or on duckdb; use --engine duckdb\n"
    write_table(read_table("in.csv").slice(1), "other.csv")
    code, _, err = run(*assess[:1], "other.csv", *assess[2:], "--engine", "duckdb")
    assert code == 2
    assert "other.csv is not the table that out was made from" in err


LARGE = """
[roles]
quasi = ["age", "sex"]
confidential = ["income"]
rest = "drop"
untouched = ["sex"]
[[steps]]
method = "oma"
columns = ["age", "income"]
k = 5
"""


def test_a_release_made_on_an_engine_is_assessed_on_one(place, run):
    (place / "recipe.toml").write_text(LARGE)
    code, _, err = run(*PROTECT, "--engine", "duckdb")
    assert (code, err) == (0, "")
    assess = ("assess", "in.csv", "out", "--recipe", "recipe.toml")
    code, out, _ = run(*assess, "--json")
    kept = json.loads((place / "out/internal/assessment.json").read_text())
    assert code == 0
    assert json.loads(out) == kept
    # It can be measured in memory just as well.
    code, out, _ = run(*assess, "--engine", "memory", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["risk"]["class_sizes"] == kept["risk"]["class_sizes"]
    assert found["score"] == pytest.approx(kept["score"])
    assert found["utility"]["null_rates"] == kept["utility"]["null_rates"]


def test_protect_to_a_file_and_as_json(place, run):
    code, out, _ = run(
        "protect", "in.csv", "--recipe", "recipe.toml", "--out", "new/shared.parquet", "--json"
    )
    assert code == 0
    result = json.loads(out)
    assert result["table"] == "new/shared.parquet"
    assert "hash_key" not in result["log"]
    assert read_table("new/shared.parquet").num_rows == 500
    assert run("check", "new/shared.parquet", "--original", "in.csv")[0] == 0


def test_a_rerun_from_internal_gives_the_same_file(release, run):
    run("protect", "in.csv", "--recipe", "out/internal/recipe.toml", "--out", "again")
    assert (release / "out/public/table.csv").read_bytes() == (
        release / "again/public/table.csv"
    ).read_bytes()


def test_check_finds_a_tampered_file(release, run):
    path = release / "out/public/table.csv"
    path.write_text(path.read_text().replace('"female"', '"male"', 1))
    code, out, _ = run("check", "out")
    assert code == 1
    assert "broken" in out


def test_check_without_internal_needs_the_recipe(release, run):
    os.rename("out/internal", "elsewhere")
    code, _, err = run("check", "out")
    assert (code, err) == (
        2,
        "discreet: out/internal does not exist; give the recipe with --recipe\n",
    )
    assert run("check", "out", "--recipe", "recipe.toml")[0] == 0


def test_the_public_half_alone_is_checked_by_a_recipe(release, run):
    os.rename("out/public", "shared")
    code, out, _ = run("check", "shared", "--recipe", "recipe.toml", "--json")
    found = {one["promise"]: one for one in json.loads(out)["findings"]}
    assert code == 0
    kept = [one["status"] for said, one in found.items() if said.startswith("k = 5 ")]
    assert kept
    assert set(kept) == {"verified"}
    others = found["every other cell equals the original"]
    assert others["detail"] == "needs the internal folder and the original table"
    os.rename("shared", "out/public")
    # Where they are together, all is found from the public half.
    assert run("check", "out/public")[1] == run("check", "out")[1]


def test_a_check_without_the_original_asks_for_it(release, run):
    code, out, _ = run("check", "out", "--json")
    assert code == 0
    needs = {one["detail"] for one in json.loads(out)["findings"] if "verifiable" in one["status"]}
    assert needs == {"needs the original table; give --original"}


def test_assess_without_a_row_map_says_so(release, run):
    os.rename("out/public/table.csv", "table.csv")
    code, _, err = run("assess", "in.csv", "table.csv", "--recipe", "recipe.toml")
    assert code == 0
    assert "rows are taken to be in the original's order" in err


def recipe_with(old, new):
    def edit(place, text):
        assert old in text
        (place / "recipe.toml").write_text(text.replace(old, new, 1))

    return edit


def table_of(content):
    def edit(place, text):
        (place / "in.csv").write_bytes(content if isinstance(content, bytes) else content.encode())

    return edit


def cell(column, value, row=3):
    def edit(place, text):
        table = read_table(place / "in.csv")
        cells = [None if c is None else str(c) for c in table[column].to_pylist()]
        cells[row - 1] = value
        write_table(
            table.set_column(table.column_names.index(column), column, pa.array(cells)),
            place / "in.csv",
        )

    return edit


def column(name, cells):
    def edit(place, text):
        table = read_table(place / "in.csv")
        new = pa.array(cells(len(table)), pa.float64())
        write_table(table.set_column(table.column_names.index(name), name, new), place / "in.csv")

    return edit


def make_out(place, text):
    (place / "out").mkdir()
    (place / "out" / "precious").touch()


HEADER = "name,region,age,sex,household_id,income,assets,weight\n"
BAD = {
    "missing file": (lambda place, text: os.remove(place / "in.csv"), "in.csv does not exist"),
    "missing recipe": (lambda place, text: os.remove(place / "recipe.toml"), "the recipe recipe.toml cannot be read: No such file or directory"),
    "empty file": (table_of(""), "in.csv is empty: it has no header and no rows"),
    "header only": (table_of(HEADER), "in.csv has a header but no rows"),
    "ragged rows": (table_of(HEADER + "a,n,1,f,1,1,1,1\nb,n,1,f,1\n"), "in.csv: row 2 has 5 cells, but the header has 8"),
    "missing column": (recipe_with('columns = ["income"', 'columns = ["incom"'), "step 2 (oma): the table has no column 'incom'; did you mean 'income'?"),
    "missing role column": (recipe_with('identifiers = ["name"]', 'identifiers = ["nmae"]'), "the table has no column 'nmae' (role identifiers); did you mean 'name'?"),
    "duplicate column names": (table_of("age,age\n1,2\n"), "in.csv: the header names column 'age' twice"),
    "text in a numeric column": (cell("income", "unknown"), "column 'income', row 3: 'unknown' is not a number; correct it, or list it in null_markers if it marks a missing value"),
    "infinity": (cell("income", "inf"), "column 'income', row 3: inf is infinite; remove it or mark it as missing"),
    "an integer above 2^53": (cell("age", "9007199254740993"), "column 'age', row 3: 9007199254740993 has more digits than a float64 can hold exactly (2^53)"),
    "n below k": (recipe_with("k = 5", "k = 600"), "step 2 (oma): column 'income' has 220 units, fewer than k = 600"),
    "all null": (column("income", lambda n: [None] * n), "column 'income' holds only nulls"),
    "two roles": (recipe_with('confidential = ["income"', 'confidential = ["name", "income"'), "recipe.toml, line 4: column 'name' has two roles, identifiers and confidential; keep one"),
    "no role": (recipe_with('rest = "drop"', ""), "no role for columns 'postcode', 'birth_date', 'education', 'occupation', 'marital_status', 'household_size', 'disease'; give each a role, or set rest"),
    "quasi column untouched": (recipe_with('untouched = ["region", "sex"]', 'untouched = ["sex"]'), "recipe.toml, line 3: no step treats the quasi column 'region'; add a step, or list it under untouched to release it as it is"),
    "unknown method": (recipe_with('"oma"', '"omma"'), "recipe.toml, line 16: step 2: there is no method 'omma'; did you mean 'oma'?"),
    "unknown parameter": (recipe_with("k = 5", "kk = 5"), "recipe.toml, line 18: step 2 (oma): unknown key 'kk'; did you mean 'k'?"),
    "unknown recipe key": (recipe_with("[roles]", "sead = 1\n[roles]"), "recipe.toml, line 1: unknown key 'sead'; did you mean 'seed'?"),
    "wrong type": (recipe_with("k = 5", 'k = "5"'), "recipe.toml, line 18: step 2 (oma): 'k' should be a whole number or 'freedman-diaconis' or a table in { }, not '5'"),
    "output exists": (make_out, "out exists; choose another place, or replace it with --force"),
    "folder not writable": (lambda place, text: (place / "out").symlink_to("elsewhere"), "out cannot be written; name a folder or file that is to be made"),
    "broken UTF-8": (table_of(HEADER.encode() + b"\xc3\xa9\xff,n,1,f,1,1,1,1\n"), "in.csv is not valid UTF-8: byte 0xff in line 2"),
    "not TOML": (lambda place, text: (place / "recipe.toml").write_text("roles: yes"), "recipe.toml is not TOML: "),
    "predictable seed": (recipe_with("k = 5", 'k = 5\nencoding = "stochastic"'), "recipe.toml, line 1: seed = 7 can be found by trying, which undoes step 2 (oma); leave seed out"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(place, run, recipe_text, name):
    edit, message = BAD[name]
    text = "seed = 7\n" + recipe_text if name == "predictable seed" else recipe_text
    edit(place, text)
    before = {p: p.read_bytes() for p in place.rglob("*") if p.is_file()}
    code, out, err = run(*PROTECT)
    assert code == 2
    assert out == ""
    assert err.startswith(f"discreet: {message}")
    assert err.count("\n") == 1
    assert {p: p.read_bytes() for p in place.rglob("*") if p.is_file()} == before


def test_a_folder_that_may_not_be_written(place, run, monkeypatch):
    (place / "locked").mkdir()
    # Root may write anywhere, so the answer of the system is stood in for.
    monkeypatch.setattr(os, "access", lambda path, mode: "locked" not in str(path))
    code, _, err = run("protect", "in.csv", "--recipe", "recipe.toml", "--out", "locked/out")
    assert code == 2
    assert err.endswith("locked: it is not a folder that you may write in\n")


def test_force_replaces_a_release_and_nothing_else(place, run):
    assert run(*PROTECT)[0] == 0
    assert run(*PROTECT)[0] == 2
    assert run(*PROTECT, "--force")[0] == 0
    (place / "mine").mkdir()
    (place / "mine" / "file").touch()
    code, _, err = run("protect", "in.csv", "--recipe", "recipe.toml", "--out", "mine", "--force")
    assert (code, err) == (
        2,
        "discreet: mine exists and is not a release, so --force does not replace it\n",
    )


def test_one_measure_by_name(release, run):
    code, out, _ = run(
        "assess", "in.csv", "out", "--recipe", "recipe.toml", "--measure", "suda2", "--json"
    )
    assert code == 0
    assert json.loads(out)["risk"].keys() == {"suda2"}
    code, _, err = run("assess", "in.csv", "out", "--recipe", "recipe.toml", "--measure", "suda")
    assert (code, err) == (2, "discreet: there is no measure 'suda'; did you mean 'suda2'?\n")


def test_another_original_is_not_assessed(release, run):
    write_table(read_table("in.csv").slice(1), "other.csv")
    code, _, err = run("assess", "other.csv", "out", "--recipe", "recipe.toml")
    assert (code, err) == (2, "discreet: other.csv is not the table that out was made from\n")


def test_a_reader_that_stops_listening_is_no_failed_check(release):
    command = f"{sys.executable} -m discreet check out | true; echo ${{PIPESTATUS[0]}}"
    code = subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout.strip()
    assert code in ("0", "141")


def test_methods(run):
    code, out, _ = run("methods", "--json")
    listed = {row["method"]: row for row in json.loads(out)}
    assert code == 0
    assert listed["oma"]["required"] == ["k"]
    assert listed["oma"]["promise"] == "k-per-value"
    assert listed["top-bottom"]["effect"] == "coarsens"
    assert "k (required)" in run("methods")[1]


def test_demo(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("demo", "--rows", 2000)
    assert code == 0
    said = " ".join(out.split())
    assert "PASS: 15-anonymity, 3-diversity of disease and k = 10 per tuple" in said
    assert "14 of 14 guide values are met" in said
    assert said.count("18 verified") == 1
    places = [line.strip().partition(": ")[0] for line in out.splitlines()[-3:]]
    assert [Path(place).name for place in places] == ["table.csv", "report.html", "report.html"]
    assert all((tmp_path / place).exists() for place in places)
    code, _, err = run("demo")
    assert (code, err) == (
        2,
        "discreet: discreet-demo exists; choose another place, or replace it with --force\n",
    )
    assert run("demo", "--rows", 2000, "--force")[0] == 0
    (tmp_path / "discreet-demo" / "mine.txt").touch()
    assert run("demo", "--force")[0] == 2
    assert (tmp_path / "discreet-demo" / "mine.txt").exists()


def test_separator_decimal_and_encoding_can_be_given(place, run):
    (place / "in.csv").write_bytes("name:pay\nJosé:1,5\nRené:2,5\n".encode("cp850"))
    (place / "recipe.toml").write_text(
        '[roles]\nidentifiers = ["name"]\nconfidential = ["pay"]\n[[steps]]\nmethod = "oma"\ncolumns = ["pay"]\nk = 2\n'
    )
    code, _, err = run(*PROTECT, "--separator", ":", "--decimal", ",", "--encoding", "cp850")
    assert (code, err) == (0, "")
    assert read_table("out/public/table.csv")["pay"].to_pylist() == [2.0, 2.0]
    given = ("--separator", ":", "--decimal", ",", "--encoding", "cp850")
    assert run("check", "out", "--original", "in.csv", *given)[0] == 0
    assert run("assess", "in.csv", "out", "--recipe", "recipe.toml", *given)[0] == 0
    assert run("check", "out", "--original", "in.csv")[0] == 2


def test_a_guessed_encoding_is_told(place, run):
    (place / "in.csv").write_bytes(
        (place / "in.csv").read_text().replace("Clara", "Chloé").encode("cp1252", "ignore")
    )
    code, _, err = run(*PROTECT)
    assert (code, err) == (0, "discreet: warning: in.csv is not UTF-8 and was read as cp1252\n")


def test_no_traceback_and_exit_codes_in_a_process_of_its_own(place, run):
    command = [sys.executable, "-m", "discreet", "protect", "none.csv", "--recipe", "recipe.toml"]
    ended = subprocess.run([*command, "--out", "o"], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (2, "discreet: none.csv does not exist\n")
    # What follows is the same in this process, which is there already.
    code, _, errors = run("protect", "in.csv")
    assert code == 2
    assert "Missing option" in errors
    assert "Traceback" not in errors
    code, told, _ = run("--version")
    assert code == 0
    assert re.fullmatch(r"discreet \d+\.\d+\.\d+( \([0-9a-f]{7}\))?\n", told)


def test_help_answers_at_once():
    command = [sys.executable, "-m", "discreet", "--help"]
    seconds = []
    for _ in range(3):
        before = os.times()
        subprocess.run(command, capture_output=True, check=True)
        after = os.times()
        # Of the processor: others may be at work here.
        seconds.append(sum(after[2:4]) - sum(before[2:4]))
    assert min(seconds) < 0.5


@pytest.mark.slow
def test_a_million_households_in_15_seconds_and_3_gigabytes(tmp_path, recipe_text):
    import resource

    from discreet.datasets import make_households

    write_table(make_households(1_000_000, seed=1, null_rate=0.02), tmp_path / "in.csv")
    (tmp_path / "recipe.toml").write_text(recipe_text)
    command = [
        sys.executable,
        "-m",
        "discreet",
        "protect",
        "in.csv",
        "--recipe",
        "recipe.toml",
        "--out",
        "out",
    ]
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        subprocess.run([*command, "--force"], cwd=tmp_path, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    print(f"{min(seconds):.1f} s, {peak:.2f} GB")
    assert min(seconds) < 15
    assert peak < 3


def test_a_full_disk_is_no_failed_check(run, monkeypatch):
    def full(**options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys.modules["discreet.cli.main"], "app", full)
    assert run("check", "out") == (2, "", "discreet: [Errno 28] No space left on device\n")


def test_no_stage_is_left_under_way_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with show.stages() as tell:
        tell("reading")
        tell("checking")
    # What stands at the end: all that was drawn since the last jump back to the first line.
    last = terminal.getvalue().rpartition("\x1b[1A")[2]
    assert "checking" in last
    # A spinner is drawn in dots of Braille.
    assert not re.search("[\u2801-\u28ff]", last)
