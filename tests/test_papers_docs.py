"""Every name in code font in docs/papers/index.md exists: a method, parameter, measure or command."""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import typer

import discreet.risk
import discreet.utility
from discreet.cli.main import app
from discreet.generalization.models import MODELS
from discreet.registry import methods, parameters
from discreet.reproduce import PAPERS
from discreet.reproduce.run import titles

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "papers" / "index.md").read_text("utf-8")
COMMANDS = typer.main.get_command(app).commands
# A row of a table, or a line of text; parameters belong to what the same line names.
LINES = [line for line in TEXT.splitlines() if "`" in line]


def tokens(line: str) -> list[str]:
    """The names of a line; what has no letter, such as `*`, is a cell's text and no name."""
    return [token for token in re.findall(r"`([^`]+)`", line) if re.search(r"[A-Za-z]", token)]


def owner(name: str) -> Callable[..., Any] | None:
    """What a name alone stands for: a method, a privacy model, a measure, or a dotted path."""
    if name in methods():
        return methods()[name]
    if name in MODELS:
        return MODELS[name]
    for package in (discreet.risk, discreet.utility):
        if inspect.isfunction(getattr(package, name, None)):
            return getattr(package, name)
    return dotted(name) if name.startswith("discreet.") else None


def dotted(name: str) -> Any:
    home, _, last = name.rpartition(".")
    try:
        return getattr(import_module(home), last, None)
    except ModuleNotFoundError:
        above, _, middle = home.rpartition(".")
        return getattr(getattr(import_module(above), middle, None), last, None)


def types(of: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of an owner with their types."""
    if of in methods().values():
        return {name: kind for name, kind, _ in parameters(of)}
    hints = get_type_hints(of)
    return {name: hints.get(name, Any) for name in inspect.signature(of).parameters}


def texts(kind: Any) -> Iterator[str | None]:
    """The texts that a type allows; None if any will do."""
    if kind is str or kind is Any:
        yield None
    elif get_origin(kind) is Literal:
        yield from (text for text in get_args(kind) if isinstance(text, str))
    elif get_origin(kind) in (Union, UnionType, Annotated, list):
        for part in get_args(kind):
            yield from texts(part)


def takes(of: Callable[..., Any], name: str, value: Any) -> bool:
    """Whether an owner has a parameter, and that takes the value where it is text."""
    known = types(of)
    if name not in known:
        return False
    allowed = set(texts(known[name]))
    return not isinstance(value, str) or None in allowed or value in allowed


def command(words: list[str]) -> bool:
    """Whether a command and the options that are written with it exist."""
    [name, *rest] = words
    if name not in COMMANDS:
        return False
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    if name == "reproduce" and rest:
        paper = rest[0]
        if "--table" in rest:
            table = " ".join(rest[rest.index("--table") + 1 :]).strip('"')
            return paper in PAPERS and table in titles(paper)
        return paper in (*PAPERS, "all")
    return {word for word in rest if word.startswith("--")} <= options


def resolves(token: str, line: str) -> bool:
    """Whether a name in code font stands for something."""
    if token.startswith("discreet "):
        return command(token.split()[1:])
    if "=" in token:
        [(name, value)] = tomllib.loads(token).items()
        owners = [found for one in tokens(line) if callable(found := owner(one))]
        return any(takes(of, name, value) for of in owners)
    return owner(token) is not None


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60])
def test_every_name_exists(line):
    missing = [token for token in tokens(line) if not resolves(token, line)]
    assert not missing, f"docs/papers/index.md names what is not there: {missing}"


def test_a_name_that_is_gone_is_found():
    line = "| `oma`, `k = 5` | `il1s` | `discreet.rounding.OMA` |"
    assert all(resolves(token, line) for token in tokens(line))
    for gone in (
        "oms",
        "k_min = 5",
        'objective = "l3"',
        "threshold = 1",
        "discreet.rounding.OMB",
        "discreet.rounder.OMA",
        "discreet prtect",
        "discreet protect --no-such-option",
        "discreet reproduce nothing",
        "discreet reproduce rounding --table 99",
    ):
        assert not resolves(gone, line), gone
    # A parameter counts only beside what has it.
    assert resolves("threshold = 1", "`il_metrics`")


def test_each_paper_has_its_table_and_each_experiment_its_row():
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert len(sections) >= len(PAPERS)
    for name in PAPERS:
        [section] = [text for text in sections if f"`discreet reproduce {name}`" in text]
        rows = [line for line in section.splitlines() if line.startswith("| ")]
        kinds = {row.split("|")[1].strip() for row in rows}
        assert {"definition", "algorithm", "measure", "data", "experiment"} <= kinds
        for table in titles(name):
            asked = f'--table "{table}"' if " " in table else f"--table {table}"
            assert f"`discreet reproduce {name} {asked}`" in section, table
