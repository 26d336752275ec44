"""What the shell completes, asked as its scripts ask."""

import os
import shutil
import subprocess
import sys

import pytest

from discreet.assessment import catalogue
from discreet.recipe.policies import shipped
from discreet.registry import methods, parameters

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def completed(run, monkeypatch):
    """Complete the last word of a command line, as one of the shells asks for it."""

    def completed(line: str, shell: str = "bash") -> list[str]:
        monkeypatch.setenv("_DISCREET_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        return run()[1].split()

    return completed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("discreet protect --engine d", ["duckdb"]),
        ("discreet protect --engine s", ["spark"]),
        ("discreet check --engine ", ["auto", "memory", "duckdb"]),
        ("discreet protect --format par", ["parquet"]),
        ("discreet protect --format csv,sa", ["csv,sav"]),
        ("discreet check out --policy hip", ["hipaa-safe-harbor"]),
        ("discreet policies ", list(shipped())),
        ("discreet assess --measure ", list(catalogue.measures())),
        ("discreet compare --risk linka", ["linkage"]),
        ("discreet compare --loss information_l", ["information_loss"]),
        ("discreet sweep --vary oma.k", ["oma.k=", "oma.keep_ties="]),
        ("discreet sweep --best N", ["NVIr", "NVRr"]),
        ("discreet reproduce po", ["porop"]),
        ("discreet invent ", ["people", "survey", "visits", "businesses"]),
        ("discreet invent vi", ["visits"]),
        ("discreet rec", ["recipe"]),
        ("discreet recipe sch", ["schema"]),
    ],
)
def test_names_are_completed(completed, line, expected):
    assert completed(line) == expected


def test_the_parameters_of_every_method_are_completed(completed):
    known = {name for name, method in methods().items() if list(parameters(method))}
    assert {one.split(".")[0] for one in completed("discreet sweep --vary ")} == known


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_the_names(completed, shell):
    assert any("duckdb" in one for one in completed("discreet protect --engine d", shell))


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_is_shown_and_installed(shell, tmp_path):
    """The script asks the command by the variable that it listens to."""
    environment = os.environ | {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # fmt: skip

    def ask(option: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "discreet", option, shell],
            capture_output=True, text=True, env=environment,
        )  # fmt: skip

    shown = ask("--show-completion")
    assert shown.returncode == 0, shown.stderr
    assert f"_DISCREET_COMPLETE=complete_{shell}" in shown.stdout
    if shutil.which(shell) is None and shell != "fish":
        return  # To install it, the shell itself is asked for its version.
    installed = ask("--install-completion")
    assert installed.returncode == 0, installed.stderr
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("_DISCREET_COMPLETE" in text for text in written)
