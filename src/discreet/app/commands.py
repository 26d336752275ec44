"""What a page does, as a command and in Python: whoever copies it gets what the page shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk

Same = dict[str, str]


def of_data(desk: Desk) -> Same:
    """Return how to take the first look."""
    return {
        "command": _command("inspect", [_file(desk)], desk),
        "python": _python(f"print(discreet.inspect({_arguments(desk, dialect='**')}).to_dict())"),
    }


def of_risk(desk: Desk) -> Same:
    """Return how to measure the table: by the recipe, or by its roles while it cannot be run."""
    if ready(desk):
        options = ["--recipe", str(desk.space.recipe_file)]
        given: Any = str(desk.space.recipe_file)
    else:
        given = measured_roles(desk.space.recipe)
        options = []
        for role, option in (("quasi", "keys"), ("confidential", "confidential")):
            if given.get(role):
                options += [f"--{option}", ",".join(given[role])]
        for role in ("weight", "unit", "household"):
            options += [f"--{role}", given[role]] if role in given else []
    measured = _arguments(desk, given, engine=desk.look.engine)
    # The command splits names at commas.
    names = given.get("quasi", []) if isinstance(given, dict) else []
    split = any("," in name for name in names)
    command = "" if split else _command("risk", [_file(desk), *options], desk, desk.look.engine)
    return {"command": command, "python": _python(f"print(discreet.risk_of({measured}))")}


def of_hierarchy(desk: Desk, column: str | None, own: bool) -> Same:
    """Return how to see a key's hierarchy."""
    if column is None:
        return of_data(desk)
    lines = [f"seen = discreet.inspect({_arguments(desk, dialect='**')})"]
    if own:
        lines += [
            f"recipe = discreet.Recipe.load({str(desk.space.recipe_file)!r})",
            f"tree = recipe.hierarchies[{column!r}]",
        ]
    else:
        lines.insert(0, "from discreet.inspection.proposal import proposed_hierarchy")
        lines.append(f"tree = proposed_hierarchy(seen, {column!r})")
    lines.append(f"print(tree.show(seen.column({column!r}), {column!r}))")
    words = [_file(desk), f"--hierarchy={column}"]
    # The command knows what is proposed, not what a recipe has.
    command = "" if own else _command("inspect", words, desk)
    return {"command": command, "python": _python(*lines)}


def of_releases(desk: Desk, releases: Sequence[Path], search: Mapping[str, Any] | None) -> Same:
    """Return how to compare releases, and how to search as the last search did."""
    commands, lines = [], []
    if len(releases) > 1:
        paths = [str(path) for path in releases]
        by = ["--risk", "individual_risk.mean", "--out", "compare.html"]
        commands.append(_command("compare", [_file(desk), *paths, *by], desk))
        given = _arguments(desk, paths, risk="individual_risk.mean", dialect="**")
        lines += [f"found = discreet.compare({given})", 'found.to_html("compare.html")']
    if search is not None:
        recipe = str(Path(search["out"]).parent / "recipe.toml")
        minutes = search["options"]["minutes"]
        words = [_file(desk), "--recipe", recipe, "--minutes", f"{minutes:g}", "--out", "front"]
        commands.append(_command("search", words, desk))
        given = _arguments(desk, recipe, minutes=minutes, out="front")
        lines.append(f"front = discreet.search({given})")
    if not commands:
        return of_protect(desk)
    return {"command": "\n".join(commands), "python": _python(*lines)}


def of_protect(desk: Desk) -> Same:
    """Return how to run the recipe as it is."""
    state = desk.space.state
    return _protect(_file(desk), desk.space.recipe_file, state["dialect"], desk.look.engine)


def of_release(run: Mapping[str, Any]) -> Same:
    """Return how to write a run's release again."""
    given = run["options"]
    recipe = Path(run["out"]) / "internal" / "recipe.toml"
    return _protect(
        run["input"], recipe, run["dialect"], given.get("engine", "auto"), given.get("format")
    )


def of_result(run: Mapping[str, Any], table: str) -> Same:
    """Return how to check a run's release, and how to see its report in words."""
    release, source, dialect = run["out"], run["input"], run["dialect"]
    words = [release, "--original", source, *_options(dialect)]
    internal = Path(release) / "internal"
    given = f"{table!r}, {str(internal / 'recipe.toml')!r}, {str(internal)!r}, {source!r}"
    given += f", dialect={dialect!r}" if dialect else ""
    return {
        "command": f"{_joined('check', words)}\n{_joined('report', [release])}",
        "python": _python(f"print(discreet.check_release({given}))"),
    }


def ready(desk: Desk) -> bool:
    """Tell whether the recipe can be read by a command."""
    from discreet.recipe import Recipe

    try:
        Recipe.load(desk.space.recipe_file)
    except BadInput:
        return False
    return True


def measured_roles(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the roles that the risk of a table depends on."""
    measured = ("quasi", "confidential", "weight", "unit", "household")
    return {key: value for key, value in recipe.get("roles", {}).items() if key in measured}


def _protect(
    file: str,
    recipe: Path,
    dialect: Mapping[str, str],
    engine: str = "auto",
    format: str | None = None,
) -> Same:
    words = [file, "--recipe", str(recipe), "--out", "release"]
    words += [] if engine == "auto" else ["--engine", engine]
    words += ["--format", format] if format else []
    table = f"discreet.read_table({file!r}, **{dialect!r})" if dialect else repr(file)
    chosen = "" if engine == "auto" else f", engine={engine!r}"
    written = f", format={format.split(',')!r}" if format else ""
    return {
        "command": _joined("protect", [*words, *_options(dialect)]),
        "python": _python(
            f"release = discreet.protect({table}, {str(recipe)!r}{chosen})",
            f'release.save("release"{written})',
        ),
    }


def _file(desk: Desk) -> str:
    return str(desk.space.input or "FILE")


def _command(name: str, words: Sequence[str], desk: Desk, engine: str = "auto") -> str:
    chosen = [] if engine == "auto" else ["--engine", engine]
    return _joined(name, [*words, *chosen, *_options(desk.space.state["dialect"])])


def _joined(name: str, words: Sequence[str]) -> str:
    return shlex.join(["discreet", name, *words])


def _options(dialect: Mapping[str, str]) -> list[str]:
    return [f"--{key}={value}" for key, value in dialect.items()]


def _arguments(desk: Desk, *given: Any, dialect: str = "dialect=", **named: Any) -> str:
    """Write the arguments of a call: the file, what is given, and how the file is read."""
    words = [repr(_file(desk)), *map(repr, given)]
    words += [f"{key}={value!r}" for key, value in named.items() if value != "auto"]
    found = desk.space.state["dialect"]
    return ", ".join([*words, f"{dialect}{found!r}"] if found else words)


def _python(*lines: str) -> str:
    imports = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    return "\n".join(["import discreet", *imports, "", *rest]) + "\n"
