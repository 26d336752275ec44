"""The package as others get it: what is in it, and that it runs where there is no source."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import discreet

pytestmark = pytest.mark.dist

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_NAMED = (one.rsplit(" ", 1)[-1] for one in PROJECT["classifiers"] if "Python :: 3." in one)
SUPPORTED = sorted(_NAMED, key=lambda one: int(one.split(".")[1]))
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="session")
def source() -> tuple[str, set[str]]:
    """The commit that is built, and the files that git knows or would take."""
    names = run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard")
    there = {name for name in names.splitlines() if (ROOT / name).exists()}
    return run("git", "-C", ROOT, "rev-parse", "HEAD")[:7], there


@pytest.fixture(scope="session")
def built(source, tmp_path_factory) -> Path:
    """The folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="session")
def started(built, tmp_path_factory) -> dict[str, tuple[subprocess.Popen, Path]]:
    """What runs on the oldest and on the newest Python, beside each other: most of it compiles."""
    running = {}
    for version in (SUPPORTED[0], SUPPORTED[-1]):
        python = find(version)
        if python is not None:
            folder = tmp_path_factory.mktemp(f"python{version}")
            process = start(python, next(built.glob("*.whl")), folder)
            running[version] = process, folder / "here"
    return running


def run(*command, **options) -> str:
    options = {"check": True, "stdout": subprocess.PIPE, "text": True, **options}
    return subprocess.run([*map(str, command)], **options).stdout


def find(version: str) -> Path | None:
    """A Python of that version: on the path, or one of pyenv's."""
    own = [Path(sys.executable)] if sys.version.startswith(f"{version}.") else []
    found = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    rest = pyenv.glob(f"{version}.*/bin/python{version}")
    for path in (*own, *([Path(found)] if found else ()), *rest):
        # A shim of pyenv is there for versions that are not switched on.
        said = subprocess.run([path, "--version"], capture_output=True, text=True)
        if said.stdout.startswith(f"Python {version}."):
            return path
    return None


def start(python: Path, wheel: Path, folder: Path) -> subprocess.Popen:
    """Install the wheel into an empty environment, and run what a newcomer would."""
    (folder / "here").mkdir()
    for name, text in example().items():
        (folder / "here" / name).write_text(text, "utf-8")
    uv = [sys.executable, "-m", "uv"]
    there = folder / "venv"
    steps = [
        [*uv, "venv", "--quiet", "--no-project", "--python", python, there],
        [*uv, "pip", "install", "--quiet", "--python", there / "bin" / "python", wheel],
    ]
    for step in steps:
        run(*step, cwd=folder)
    # A user's own settings must not lead back to the source.
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DISCREET"))}
    clean |= {"PATH": f"{there / 'bin'}:/usr/bin:/bin", "HOME": str(folder), "COLUMNS": "100"}
    script = """
        set -e
        python -c 'import discreet; print(discreet.__file__)' > where.txt
        discreet --version > version.txt
        discreet methods > methods.txt
        python first.py > first.txt
        discreet demo --rows 500 > demo.txt
    """
    return subprocess.Popen(
        ["sh", "-c", script],
        cwd=folder / "here",
        env=clean,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def example() -> dict[str, str]:
    """The files that the README names, its first script among them."""
    return dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', README, re.DOTALL))


def printed() -> str:
    """What the README says that its first script prints."""
    return re.search(r"```console\n\$ python first.py\n(.*?)```", README, re.DOTALL)[1]


def test_the_wheel_has_all_of_the_package_and_nothing_else(source, built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        inside = set(wheel.namelist())
        metadata = wheel.read(next(n for n in inside if n.endswith("METADATA"))).decode()
    about = {name for name in inside if ".dist-info/" in name}
    ours = {name.removeprefix("src/") for name in source[1] if name.startswith("src/")}
    assert inside - about == ours | {"discreet/commit.txt"}
    for needed in (
        "discreet/py.typed",
        "discreet/app/static/htmx.LICENSE",
        "discreet/app/templates/page.html",
        "discreet/report/templates/decision.html",
        "discreet/recipe/policies/hipaa-safe-harbor.toml",
        "discreet/reproduce/figures/rounding.csv",
        "discreet/cli/demo.toml",
    ):
        assert needed in inside
    assert {Path(name).name for name in about if "/licenses/" in name} == {"LICENSE", "htmx.LICENSE"}  # fmt: skip
    assert "License-Expression: BSD-3-Clause AND 0BSD" in metadata
    for extra in ("files", "sign", "spark", "app", "reproduce"):
        assert f"Provides-Extra: {extra}\n" in metadata


def test_the_sdist_has_what_builds_and_tests_it(source, built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        inside = {name.split("/", 1)[1] for name in sdist.getnames()}
    assert inside == source[1] | {"PKG-INFO", "src/discreet/commit.txt"}


@pytest.mark.parametrize("version", [SUPPORTED[0], SUPPORTED[-1]])
def test_an_installed_wheel_runs_without_the_source(source, started, version):
    if version not in started:
        pytest.skip(f"there is no Python {version} on this machine, on the path or of pyenv")
    process, here = started[version]
    _, errors = process.communicate(timeout=1200)
    assert process.returncode == 0, errors
    assert f"python{version}" in (here / "where.txt").read_text()
    assert str(ROOT) not in (here / "where.txt").read_text()
    assert (here / "version.txt").read_text() == f"discreet {discreet.__version__} ({source[0]})\n"
    assert "local-suppression" in (here / "methods.txt").read_text()
    assert "verified" in (here / "demo.txt").read_text()
    assert (here / "discreet-demo" / "release" / "public" / "table.csv").exists()
    assert (here / "first.txt").read_text() == printed()
