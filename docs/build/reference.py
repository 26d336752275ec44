"""Pages that are made from the code: methods, measures, commands and the API.

Each function gives pages by their path in the site, or the part of a page that the code knows. The
prose about a method or a measure is in `docs/reference`, one small file each.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from discreet import registry
from discreet.assessment.catalogue import measures
from discreet.cli import show
from discreet.cli.main import app
from discreet.measure import Figure, Measure
from discreet.method import Method
from discreet.parameters import rules_of

DOCS = Path(__file__).parents[1]
# Packages with public names, as they are listed in the API; methods and measures have own pages.
PACKAGES = {
    "discreet": "The flow",
    "discreet.flow": "Releases",
    "discreet.assessment": "Assessments and comparisons",
    "discreet.check": "The check",
    "discreet.inspection": "First looks",
    "discreet.tuning.search": "Searches",
    "discreet.tuning.sweep": "Sweeps",
    "discreet.recipe": "Recipes",
    "discreet.attacks": "Attacks",
    "discreet.generalization": "Hierarchies and privacy models",
    "discreet.rounding": "Rounding",
    "discreet.microaggregation": "Microaggregation",
    "discreet.perturbation": "Perturbation",
    "discreet.regression": "Regression",
    "discreet.suppression": "Suppression",
    "discreet.risk": "Risk",
    "discreet.utility": "Utility",
    "discreet.table": "Tables",
    "discreet.engines": "Engines",
    "discreet.datasets": "Data to try things on",
    "discreet.report": "Reports",
    "discreet.reproduce": "Papers",
    "discreet.errors": "Errors",
}
# What a search and a sweep return is in modules that no package names.
_MORE = {
    "discreet.tuning.search": ("discreet.tuning.front.Front",),
    "discreet.tuning.sweep": ("discreet.tuning.swept.Sweep",),
}


def public(package: str) -> list[str]:
    """Return the public names of a package: those of `__all__`, or that it imports to be had."""
    home = import_module(package)
    named = getattr(home, "__all__", None)
    if named is not None:
        return [name for name in named if not name.startswith("__")]
    return [
        name
        for name, member in vars(home).items()
        if not name.startswith("_")
        and (inspect.isclass(member) or inspect.isfunction(member))
        and member.__module__.startswith(package)
    ]


# Methods.


def methods() -> dict[str, type[Method]]:
    """Return the methods by the path of their page."""
    return {f"reference/methods/{name}.md": found for name, found in registry.methods().items()}


def method_page(method: type[Method], prose: str) -> str:
    """Put a method's page together: what it declares, the prose, its parameters, its class."""
    name = method.recipe_name
    body = prose.removeprefix(f"# {name}\n").strip()
    # The page says which class it is in its facts.
    body = re.sub(r"^`discreet\.\w+\.\w+`\. ", "", body)
    return "\n\n".join(
        [
            f"# {name}",
            _facts(_declared(method)),
            body,
            "## Parameters",
            "\n".join(_parameters(method)),
            "## In Python",
            f"::: {_path(method)}\n    options:\n      heading_level: 3\n",
        ]
    )


def _declared(method: type[Method]) -> Iterator[tuple[str, str]]:
    told = show.describe(method)
    example: Any = method(**dict.fromkeys(told["required"]))
    yield "Does", f"{_sentence(told['does'])}."
    takes = {"numeric": "numbers", "mixed": "numbers and categories", "any": "any column"}
    yield "Columns", takes[told["needs"]] + (", dates too" if method.takes_dates else "")
    drawn = ", at random" if told["random"] else ""
    yield "Effect", f"{told['effect']}{drawn}, with its defaults"
    promise = told["promise"]
    link = f"[{promise}](../../explanation/promises.md#{promise})"
    yield "Promises", link if promise else "nothing, with its defaults"
    why = None if method.orders else example.bound_to_memory
    yield "Engines", "memory, DuckDB and Spark" if why is None else f"memory alone: {why}"
    yield "Class", f"`{told['class']}`"


def _parameters(method: type[Method]) -> Iterator[str]:
    told, rules = show.describe(method), rules_of(method)
    if not told["types"]:
        yield "It has none."
        return
    yield "| parameter | type | must be | default |"
    yield "|---|---|---|---|"
    for name, kind in told["types"].items():
        rule = rules.get(name)
        wanted = "" if rule is None or "one of" in rule.wanted else rule.wanted
        if rule is not None and (rule.by_column or rule.only_by_column):
            wanted += ", also by column" if rule.by_column else ", by column"
        given = "required" if name in told["required"] else f"`{told['optional'][name]!r}`"
        yield f"| `{name}` | {_code(_short(kind))} | {_cell(wanted)} | {_cell(given)} |"


def _short(kind: str) -> str:
    """Say a type without the modules of its parts."""
    kind = re.sub(r"\b(?:collections\.abc|discreet(?:\.\w+)+)\.", "", kind)
    kind = re.sub(r"<class '([\w.]+)'>", r"\1", kind)
    kind = re.sub(r"Annotated\[(.+?), .*\]", r"\1", kind)
    return re.sub(r"Literal\[([^\]]*)\]", lambda found: found[1].replace(", ", " | "), kind)


def method_table() -> str:
    """List the methods by family, with what they do."""
    parts = []
    for family in registry.FAMILIES:
        home = import_module(f"discreet.{family}")
        said = (home.__doc__ or "").split("\n")[0].rstrip(".")
        rows = [f"## {family.capitalize()}", f"{said}.", "", "| method | what it does | effect |"]
        rows += ["|---|---|---|"]
        for name, method in registry.methods().items():
            if method.__module__.split(".")[1] == family:
                told = show.describe(method)
                rows.append(
                    f"| [`{name}`](methods/{name}.md) | {told['does']} | {told['effect']} |"
                )
        parts.append("\n".join([rows[0], "", *rows[1:]]))
    return "\n\n".join(parts)


# Measures.


@cache
def measure_pages() -> dict[str, tuple[str, ...]]:
    """Return the pages of measures and functions that measure, with the names each is about.

    A file of prose names in its heading all that it is about; what no file names has a page to
    itself.
    """
    found: dict[str, tuple[str, ...]] = {}
    for file in sorted((DOCS / "reference" / "measures").glob("*.md")):
        head = file.read_text("utf-8").split("\n", 1)[0].removeprefix("# ")
        found[f"reference/measures/{file.name}"] = tuple(re.split(r", | and ", head))
    told = {name for names in found.values() for name in names}
    known = [*measures(), *public("discreet.risk"), *public("discreet.utility")]
    for name in known:
        if name not in told:
            found[f"reference/measures/{name}.md"] = (name,)
    return found


def family(names: tuple[str, ...]) -> str:
    """Return whether names are about risk or about utility."""
    of_risk = {*measures("risk"), *public("discreet.risk"), "drivers"}
    return "Risk" if of_risk & set(names) else "Utility"


def measure_page(names: tuple[str, ...], prose: str) -> str:
    """Put the page of a measure together: its figures, the prose, its functions."""
    head, _, body = prose.partition("\n")
    parts = [head or f"# {', '.join(names)}"]
    for name in names:
        if name in measures():
            parts.append("\n".join(_figures(measures()[name])))
    parts.append(body.strip())
    functions = [
        f"discreet.{family}.{name}"
        for name in names
        for family in ("risk", "utility")
        if name in public(f"discreet.{family}")
    ]
    if functions:
        parts.append("## In Python")
    parts += [_documented(path, "heading_level: 3") for path in functions]
    return "\n\n".join(parts)


def _figures(measure: Measure) -> Iterator[str]:
    needs = ", ".join(measure.needs)
    yield _facts(
        [
            ("Says", f"{_sentence(measure.reading)}."),
            *([("Intruder", f"{_sentence(measure.intruder)}.")] if measure.intruder else []),
            ("Taken", _sentence(_taken(measure)) + (f"; needs {needs}." if needs else ".")),
        ]
    )
    yield ""
    yield "| figure | in words | how to read it | unit | better | guide |"
    yield "|---|---|---|---|---|---|"
    for figure in measure.figures:
        yield f"| {' | '.join(map(_cell, figure_row(measure, figure)))} |"
    guides = [figure.guide for figure in measure.figures if figure.guide is not None]
    for source in dict.fromkeys(guide.source for guide in guides):
        yield f"\n{source}"


def _taken(measure: Measure) -> str:
    """Say when a measure is taken."""
    asked = measure.on_request
    return "always" if not asked else "by name" if isinstance(asked, str) else "if it pays"


def figure_row(measure: Measure, figure: Figure) -> tuple[str, ...]:
    """Tell a figure of a measure: name, title, reading, unit, better, guide."""
    name = f"{measure.name}.{figure.key}" if figure.key else measure.name
    return (
        f"`{name}`" + " of each column" * figure.each,
        figure.title,
        figure.reading or measure.reading * (not figure.each),
        figure.unit,
        figure.better or "",
        "" if figure.guide is None else f"{figure.guide.value:g}",
    )


def measure_table() -> str:
    """List all figures that `assess` takes, by family."""
    page = {name: path for path, names in measure_pages().items() for name in names}
    parts = []
    for family in ("risk", "utility"):
        rows = ["| figure | in words | unit | better | guide | needs | taken |"]
        rows.append("|---|---|---|---|---|---|---|")
        for measure in measures(family).values():
            needs = ", ".join(measure.needs)
            link = page[measure.name].removeprefix("reference/")
            for figure in measure.figures:
                name, title, _, unit, better, guide = figure_row(measure, figure)
                name = re.sub(r"^(`[^`]+`)", rf"[\1]({link})", name)
                cells = (name, title, unit, better, guide, needs, _taken(measure))
                rows.append(f"| {' | '.join(map(_cell, cells))} |")
        parts.append("\n".join([f"{family.capitalize()}:", "", *rows]))
    others = [
        f"[`{name}`]({path.removeprefix('reference/')})"
        for path, names in measure_pages().items()
        for name in names
        if name not in measures()
    ]
    parts.append(f"To be called in Python, or part of others: {', '.join(others)}.")
    return "\n\n".join(parts)


# Commands.


def commands() -> dict[str, Any]:
    """Return the commands by their words, those of groups after the group."""
    return dict(_below("", typer.main.get_command(app)))


def _below(words: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        if not command.hidden:
            yield f"{words} {name}".strip(), command
            yield from _below(f"{words} {name}".strip(), command)


def command_pages() -> dict[str, str]:
    """Return a page for each command, from what `--help` says."""
    return {command_path(words): _command(words, command) for words, command in commands().items()}


def command_path(words: str) -> str:
    """Return the path of a command's page."""
    return f"reference/commands/{words.replace(' ', '_')}.md"


def _command(words: str, command: Any) -> str:
    context = command.context_class(command, info_name=f"discreet {words}")
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"# discreet {words}", _prose(command.help or "")]
    parts.append(f"```text\ndiscreet {words} {usage}\n```")
    for kind in ("argument", "option"):
        asked = (one for one in command.params if one.param_type_name == kind)
        records = [record for one in asked if (record := one.get_help_record(context))]
        rows = [f"| {_code(name)} | {_cell(said)} |" for name, said in records]
        if rows:
            parts.append("\n".join([f"| {kind} | meaning |", "|---|---|", *rows]))
    below = getattr(command, "commands", {})
    if below:
        links = (f"[`{name}`]({words.replace(' ', '_')}_{name}.md)" for name in below)
        parts.append(f"Commands: {', '.join(links)}.")
    return "\n\n".join(parts) + "\n"


def command_table() -> str:
    """List the commands with their first sentence."""
    rows = ["| command | what it does |", "|---|---|"]
    for words, command in commands().items():
        link = command_path(words).removeprefix("reference/")
        said = _prose(command.help or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| [`discreet {words}`]({link}) | {_cell(said)} |")
    return "\n".join(rows)


def _prose(text: str) -> str:
    return inspect.cleandoc(text).replace("\b\n", "").replace("\f", "")


# The API.


def homes() -> dict[str, str]:
    """Return the page of every public name, by its dotted path."""
    found: dict[str, str] = {}
    classes = {method: path for path, method in methods().items()}
    told = {name: path for path, names in measure_pages().items() for name in names}
    seen: dict[Any, str] = {}
    for package in PACKAGES:
        for name in public(package):
            member = getattr(import_module(package), name)
            dotted = f"{package}.{name}"
            if inspect.isclass(member) and member in classes:
                found[dotted] = classes[member]
            elif package in ("discreet.risk", "discreet.utility"):
                found[dotted] = told[name]
            elif not isinstance(member, tuple) and member in seen:
                found[dotted] = seen[member]
            else:
                found[dotted] = f"reference/api/{package}.md"
                if not isinstance(member, tuple):
                    seen[member] = found[dotted]
        for dotted in _MORE.get(package, ()):
            found[dotted] = f"reference/api/{package}.md"
    return found


def api_pages() -> dict[str, str]:
    """Return a page for each package: its public names with their docstrings, or where they are."""
    where, pages = homes(), {}
    for package, title in PACKAGES.items():
        path = f"reference/api/{package}.md"
        home = import_module(package)
        names = [f"{package}.{name}" for name in public(package)]
        own = [dotted for dotted in names if where[dotted] == path and not _constant(dotted)]
        parts = [f"# {title}", f"`{package}`", _prose(home.__doc__ or "")]
        elsewhere = [dotted for dotted in names if where[dotted] != path]
        if elsewhere:
            links = (
                f"[`{dotted.rpartition('.')[2]}`](../{where[dotted].removeprefix('reference/')})"
                for dotted in elsewhere
            )
            parts.append(f"On pages of their own: {', '.join(links)}.")
        # What is called comes before what it returns.
        own.sort(key=lambda dotted: dotted.rpartition(".")[2][0].isupper())
        parts += [
            _documented(dotted, "members: true", 'filters: ["!^_", "!^model_config$"]')
            for dotted in (*own, *_MORE.get(package, ()))
        ]
        pages[path] = "\n\n".join(parts) + "\n"
    return pages


def _documented(dotted: str, *options: str) -> str:
    """Ask for the docstring of a public name, which a module of its own may share with it."""
    home, _, name = dotted.rpartition(".")
    member = getattr(import_module(home), name)
    if member.__module__ == dotted:
        options = (*options, f"heading: {dotted}")
        dotted = f"{dotted}.{name}"
    return "\n".join([f"::: {dotted}", "    options:", *(f"      {one}" for one in options), ""])


def _constant(dotted: str) -> bool:
    home, _, name = dotted.rpartition(".")
    return isinstance(getattr(import_module(home), name), tuple)


def api_table() -> str:
    """List the packages with their names."""
    rows = ["| package | names |", "|---|---|"]
    for package, title in PACKAGES.items():
        names = ", ".join(f"`{name}`" for name in public(package))
        rows.append(f"| [{title}](api/{package}.md)<br>`{package}` | {names} |")
    return "\n".join(rows)


# Cells and facts.


def _path(member: Any) -> str:
    return f"{member.__module__.rsplit('.', 1)[0]}.{member.__name__}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _facts(rows: Any) -> str:
    told = (f"{name}\n:   {text}" for name, text in rows)
    return '<div class="facts" markdown>\n\n' + "\n\n".join(told) + "\n\n</div>"
