"""What a page does, as a command and in Python: whoever copies it gets what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.app.server import Desk

Same = dict[str, str]
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"


def of_data(desk: Desk) -> Same:
    """Return how to look at the table."""
    more = _more(desk)
    given = _arguments(desk, dialect="**", **more)
    return {
        # The command knows what a first look finds, and not what a recipe says.
        "command": "" if more else _command("inspect", [_file(desk)], desk),
        "python": _python(f"print(discreet.inspect({given}).to_dict())"),
    }


def of_risk(desk: Desk) -> Same:
    """Return how to measure the table: by the recipe, or by its roles while it cannot be run."""
    options = []
    if ready(desk):
        options = ["--recipe", str(desk.space.recipe_file)]
        given: Any = str(desk.space.recipe_file)
    else:
        given = measured_of_draft(desk.space.recipe)
        for role, option in (("quasi", "keys"), ("confidential", "confidential")):
            if given.get(role):
                options += [f"--{option}", ",".join(given[role])]
        for role in ("weight", "unit", "household"):
            options += [f"--{role}", given[role]] if role in given else []
    measured = _arguments(desk, given, engine=desk.look.engine, memory=desk.look.memory or "auto")
    look = desk.look
    options += [] if look.memory is None else ["--memory", look.memory]
    command = _command("risk", [_file(desk), *options], desk, look.engine)
    # The command takes roles alone, and splits names at commas.
    draft = given if isinstance(given, dict) else {}
    if "roles" in draft or any("," in name for name in draft.get("quasi", [])):
        command = ""
    return {"command": command, "python": _python(f"print(discreet.risk_of({measured}))")}


def of_hierarchy(desk: Desk, column: str | None, own: bool) -> Same:
    """Return how to see a key's hierarchy."""
    if column is None:
        return of_data(desk)
    more = _more(desk)
    lines = [f"seen = discreet.inspect({_arguments(desk, dialect='**', **more)})"]
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
    command = "" if own or more else _command("inspect", words, desk)
    return {"command": command, "python": _python(*lines)}


def of_releases(desk: Desk, releases: Sequence[Path], search: Mapping[str, Any] | None) -> Same:
    """Return how to compare releases, and how to search as the last search did."""
    commands, lines = [], []
    if len(releases) > 1:
        paths = [str(path) for path in releases]
        by = ["--risk", "attackers.marketer", "--out", "compare.html"]
        commands.append(_command("compare", [_file(desk), *paths, *by], desk))
        given = _arguments(desk, paths, risk="attackers.marketer", dialect="**")
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
    look = desk.look
    how = {"engine": look.engine, "memory": look.memory}
    return _protect(_file(desk), desk.space.recipe_file, state["dialect"], how)


def of_release(run: Mapping[str, Any]) -> Same:
    """Return how to write a run's release again."""
    given = run["options"]
    recipe = Path(run["out"]) / "internal" / "recipe.toml"
    return _protect(run["input"], recipe, run["dialect"], given, given.get("format"))


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
        Recipe.load(desk.space.checked_file)
    except BadInput:
        return False
    return True


def measured_roles(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the roles that the risk of a table depends on."""
    measured = ("quasi", "confidential", "weight", "unit", "household")
    return {key: value for key, value in recipe.get("roles", {}).items() if key in measured}


def measured_of_draft(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the risk of a table depends on in a recipe that cannot be run yet.

    Those are the roles; or else a recipe that leaves the keys as they are.
    """
    roles = measured_roles(recipe)
    more = {key: recipe[key] for key in ("null_markers", "counts", "population") if recipe.get(key)}
    if not more:
        return roles
    return {"roles": {**roles, "untouched": roles.get("quasi", []), "rest": "drop"}, **more}


def _more(desk: Desk) -> dict[str, list[str]]:
    """Return what is said to be missing besides what a first look finds, once it was taken."""
    try:
        more = () if desk.look.there("seen") is None else desk.look.more
    except BadInput:
        more = ()  # The file is gone, as the page says.
    return {"null_markers": list(more)} if more else {}


def _protect(
    file: str,
    recipe: Path,
    dialect: Mapping[str, str],
    how: Mapping[str, Any],
    format: str | None = None,
) -> Same:
    words = [file, "--recipe", str(recipe), "--out", "release"]
    given = {key: how[key] for key in ("engine", "memory") if how.get(key) not in (None, "auto")}
    words += [word for key, value in given.items() for word in (f"--{key}", value)]
    words += ["--format", format] if format else []
    table = f"discreet.read_table({file!r}, **{dialect!r})" if dialect else repr(file)
    chosen = "".join(f", {key}={value!r}" for key, value in given.items())
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
    return " ".join(map(_word, ["discreet", name, *words]))


def _word(word: str) -> str:
    """Quote a word for a shell; control characters, which a terminal would take for keys, too."""
    if not re.search(_CONTROL, word):
        return shlex.quote(word)

    def code(found: re.Match[str]) -> str:
        return "".join(f"\\{byte:03o}" for byte in found[0].encode())

    codes = re.sub(_CONTROL + r"|[\\']", code, word)
    return f"$'{codes}'"


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
