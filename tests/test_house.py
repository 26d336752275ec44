"""The rules of the house, kept by reading the code."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median

import pytest

from discreet.registry import methods
from tests.house import LAYERS, SOURCE, drawn, graph, imports, modules, upward
from tests.long import listed

ROOT = SOURCE.parent.parent
# The check is written from definitions: it shares no code with what it checks.
CHECK_MAY_IMPORT = {"recipe", "table", "chance", "draws", "errors", "engines", "private", "threads"}


@pytest.fixture(scope="module")
def parsed():
    return modules()


@pytest.fixture(scope="module")
def edges(parsed):
    return graph(parsed)


def test_every_package_has_a_place(edges):
    assert sorted(edges) == sorted(name for layer in LAYERS for name in layer)


def test_dependencies_point_downwards(edges):
    assert not upward(edges), drawn(edges)


def test_packages_do_not_import_each_other_in_a_circle(edges):
    # Raises an error that names the circle.
    TopologicalSorter(edges).prepare()


def test_an_import_upwards_is_found_wherever_it_is():
    hidden = "def f():\n    if True:\n        from discreet import flow, __version__"
    found = graph(
        {"table/csv.py": ast.parse(hidden), "flow/a.py": ast.parse("import discreet.table.b")}
    )
    assert upward(found) == ["table/csv.py imports flow"]
    assert "table             -> ^flow^\n" in drawn(found)
    with pytest.raises(ValueError, match="cycle"):
        TopologicalSorter(found).prepare()


def test_the_check_imports_nothing_of_what_it_checks(edges):
    assert set(edges["check"]) <= CHECK_MAY_IMPORT, drawn(edges)


def test_only_kernels_import_numba(parsed):
    users = {
        p
        for p, module in parsed.items()
        for name in imports(module)
        if name.split(".")[0] == "numba"
    }
    assert {path.split("/")[0] for path in users} == {"kernels"}


def test_files_stay_short():
    def lines(folder: Path) -> dict[Path, int]:
        return {path: len(path.read_text("utf-8").splitlines()) for path in folder.rglob("*.py")}

    assert [
        path
        for name in ("src", "tests", "benchmarks")
        for path, n in lines(ROOT / name).items()
        if n > 600
    ] == []
    assert median(lines(SOURCE).values()) < 200


def test_no_file_holds_both_sides_of_a_merge():
    # Templates are text: nothing but a reader would see it.
    marks = tuple(sign * 7 + " " for sign in "<>")
    kinds = {".py", ".html", ".css", ".js", ".md", ".toml"}
    folders = ("src", "tests", "benchmarks", "docs")
    files = [path for name in folders for path in (ROOT / name).rglob("*") if path.suffix in kinds]
    assert [
        path
        for path in files
        if any(x.startswith(marks) for x in path.read_text("utf-8").split("\n"))
    ] == []


def test_every_method_has_an_entry_in_the_docs_and_a_test_file():
    for name, method in methods().items():
        assert (ROOT / "docs" / "reference" / "methods" / f"{name}.md").exists()
        *_, family, module = method.__module__.split(".")
        assert (ROOT / "tests" / family / f"test_{module}.py").exists()


def test_import_and_help_load_nothing_heavy():
    code = (
        "import sys, atexit, discreet\n"
        "from discreet.cli import main\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'sklearn', 'pandas', 'scipy', 'duckdb', 'matplotlib'}\n"
        "atexit.register(lambda: print('loaded', sorted(heavy & set(sys.modules))))\n"
        "sys.argv = ['discreet', '--help']\n"
        "main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "protect" in result.stdout, result.stderr
    assert result.stdout.endswith("loaded []\n")


def test_a_first_look_does_not_wait_for_measures(tmp_path):
    (tmp_path / "in.csv").write_text("age,pay\n" + "".join(f"{i % 7},{i}\n" for i in range(100)))
    code = (
        "import sys, discreet\ndiscreet.inspect('in.csv')\n"
        "print([m for m in ('sklearn', 'duckdb', 'discreet.assessment') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == "[]\n", run.stderr


def test_a_small_run_loads_nothing_that_it_does_not_need(tmp_path):
    (tmp_path / "in.csv").write_text("age,pay\n" + "".join(f"{i % 7},{i}\n" for i in range(100)))
    (tmp_path / "recipe.toml").write_text(
        "[roles]\nquasi = ['age']\nconfidential = ['pay']\n"
        "[[steps]]\nmethod = 'oma'\ncolumns = ['age', 'pay']\nk = 5\n"
    )
    code = (
        "import sys\nfrom discreet.cli.main import main\n"
        "sys.argv = ['discreet', 'protect', 'in.csv', '--recipe', 'recipe.toml', '--out', 'out']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ('matplotlib', 'scipy.stats', 'scipy.special', 'duckdb', 'sklearn.linear_model')\n"
        "sys.stderr.write(repr([m for m in heavy if m in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (tmp_path / "out" / "internal" / "report.html").exists(), run.stdout
    assert run.stderr.strip().endswith("[]"), run.stderr


def test_the_tests_that_are_listed_as_long_are_there():
    # A class may have inherited its tests.
    written = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for one in listed():
        file, *_, name = one.split("::")
        own = (ROOT / file).read_text("utf-8")
        assert f"def {name.rpartition('.')[2]}(" in own + written, one
