"""The rules of the house, kept by reading the code."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.registry import methods

SOURCE = Path(discreet.__file__).parent
ROOT = SOURCE.parent.parent
MODULES = sorted(SOURCE.rglob("*.py"))
# A package may import those to its right, and itself.
LAYERS = [
    ["cli", "reproduce"],
    ["inspection"],
    ["flow"],
    ["assessment"],
    ["check"],
    ["recipe"],
    [
        "rounding",
        "microaggregation",
        "regression",
        "perturbation",
        "generalization",
        "risk",
        "utility",
        "report",
    ],
    ["table", "kernels", "engines"],
]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_kernels_import_numba(path):
    if "kernels" not in path.parts:
        assert not any(name.split(".")[0] == "numba" for name in imports(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_dependencies_point_downwards(path):
    home = path.relative_to(SOURCE).parts[0]
    level = next((i for i, layer in enumerate(LAYERS) if home in layer), None)
    if level is None:
        return
    above = {f"discreet.{name}" for layer in LAYERS[:level] for name in layer}
    assert not {name for name in imports(path) if ".".join(name.split(".")[:2]) in above}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_stay_short(path):
    assert len(path.read_text("utf-8").splitlines()) <= 600


def test_every_method_has_an_entry_in_the_docs_and_a_test_file():
    text = (ROOT / "docs" / "methods.md").read_text("utf-8")
    for name, method in methods().items():
        assert f"## {name}\n" in text
        *_, family, module = method.__module__.split(".")
        assert (ROOT / "tests" / family / f"test_{module}.py").exists()


def test_import_and_help_load_nothing_heavy():
    code = (
        "import sys, discreet, discreet.cli.main\n"
        "print([m for m in ('numpy', 'numba', 'pyarrow', 'sklearn', 'pandas') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


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
