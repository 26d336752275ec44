"""What the app knows, on disk: the input, the recipe with its history, and the runs.

Whatever was clicked is written before the click is answered, each file whole or not at all, so that
a reload, a second tab or a killed server loses nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from discreet.errors import BadInput
from discreet.private import make_private_folder, write_private

_STATE = "workspace.json"
_NEW: dict[str, Any] = {"input": None, "dialect": {}, "current": 0, "versions": []}
_FOLDERS = ("recipes", "runs", "hierarchies")
_LOCK = ".open"
# What names a file in a recipe, from its folder on; "name" is that of a policy.
_NAMES_FILE = ("policy", "name", "pseudonym_key", "project_key", "population", "attacks", "path")
Content = dict[str, Any]


class Workspace:
    r"""A folder that holds all state of the app; one server at a time has it open.

    The recipe is a draft: it may be incomplete until it is run. Its versions are a tree, so that
    an edit after an undo loses neither branch.

    Examples
    --------
    >>> import tempfile
    >>> space = Workspace(Path(tempfile.mkdtemp(), "work"))
    >>> said = space.edit("age is a key", lambda recipe: recipe | {"roles": {"quasi": ["age"]}})
    >>> space.recipe
    {'roles': {'quasi': ['age']}}
    >>> space.undo()
    >>> space.recipe
    {}
    >>> space.redo()
    >>> space.text
    '[roles]\nquasi = [\n    "age",\n]\n'
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        # Those that a recipe may name files of; any, where nobody says.
        self.folders: Folders | None = None
        self._lock = threading.RLock()
        if not self.folder.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            make_private_folder(self.folder)
        if not self.folder.is_dir() or self.folder.is_symlink():
            raise BadInput(f"the workspace {folder} is not a folder; choose another")
        here = sorted(path.name for path in self.folder.iterdir())
        # A server that was killed early may have made only some of these.
        others = [name for name in here if name not in (*_FOLDERS, _LOCK) and not _is_part(name)]
        if others and _STATE not in here:
            raise BadInput(
                f"{folder} holds other files ('{others[0]}'); choose an empty or a new folder for "
                "the workspace"
            )
        self.folder.chmod(0o700)
        self._alone()
        for name in _FOLDERS:
            if not (self.folder / name).exists():
                make_private_folder(self.folder / name)
        if _STATE not in here:
            self._write(_NEW)
        self._tidy()

    def _tidy(self) -> None:
        """Settle what a server that was killed left half done."""
        for folder in (self.folder, self.folder / "recipes", *(self.folder / "runs").iterdir()):
            for path in folder.iterdir() if folder.is_dir() else ():
                if _is_part(path.name) and path.is_file():
                    path.unlink()
        # The state is written before the file that commands read.
        text = self.text
        if not self.recipe_file.exists() or self.recipe_file.read_text(encoding="utf-8") != text:
            write_private(self.recipe_file, text)

    def _alone(self) -> None:
        """Refuse a workspace that another server has open."""
        self._held = (self.folder / _LOCK).open("w")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(
                f"the workspace {self.folder} is open in another app; close that, or choose "
                "another with --workspace"
            ) from None

    def close(self) -> None:
        """Let another server open the workspace."""
        self._held.close()

    # What is on disk

    @property
    def state(self) -> dict[str, Any]:
        """The input, and the history of the recipe."""
        with self._lock:
            found: dict[str, Any] = json.loads((self.folder / _STATE).read_text(encoding="utf-8"))
            return found

    def _write(self, state: Mapping[str, Any]) -> None:
        write_private(self.folder / _STATE, json.dumps(state, indent=1, ensure_ascii=False))

    @property
    def input(self) -> Path | None:
        """The table that is worked on."""
        found = self.state["input"]
        return None if found is None else Path(found)

    @property
    def session(self) -> str:
        """The secret that a browser shows, which stays the same when the server starts again."""
        path = self.folder / "session"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32))
        return path.read_text()

    @property
    def stage(self) -> str | None:
        """The page that was looked at last."""
        path = self.folder / "stage"
        return path.read_text() if path.exists() else None

    def visit(self, stage: str) -> None:
        """Keep in mind which page is looked at."""
        if stage != self.stage:
            write_private(self.folder / "stage", stage)

    def open_file(self, path: Path, recipe: str, said: str, **dialect: str | None) -> None:
        """Work on another table, from a recipe's text; what was there stays in the history."""
        with self._lock:
            given = {key: value for key, value in dialect.items() if value}
            # A recipe for another table is no use here: to undo ends where this one was opened.
            more: dict[str, Any] = {} if path == self.input else {"current": 0}
            # The table and its recipe change at once, also for a server that is killed here.
            self._add(recipe, said, input=str(path), dialect=given, **more)
            self.visit("data")

    # The recipe

    @property
    def current(self) -> int:
        """The number of the recipe's version; 0 before there is any."""
        return int(self.state["current"])

    @property
    def text(self) -> str:
        """The recipe as TOML."""
        return self.text_of(self.current)

    def text_of(self, number: int) -> str:
        """Return a version of the recipe as TOML."""
        return "" if number == 0 else self._path(number).read_text(encoding="utf-8")

    @property
    def recipe(self) -> Content:
        """What the recipe says; nothing is validated."""
        return tomllib.loads(self.text)

    @property
    def recipe_file(self) -> Path:
        """The file that always holds the recipe as it is now."""
        return self.folder / "recipe.toml"

    def edit(
        self, said: str, change: Callable[[Content], Content], seen: int | None = None
    ) -> str | None:
        """Change the recipe; return a notice where somebody else did so since it was `seen`.

        The change is made to the recipe as it is now, so that neither is lost.
        """
        with self._lock:
            state, before = self.state, self.recipe
            meanwhile = seen is not None and seen != state["current"]
            if (now := change(before)) == before:
                return None
            self._add(tomli_w.dumps(now), said)
            if not meanwhile:
                return None
            last = next(
                (v["said"] for v in state["versions"] if v["number"] == state["current"]), ""
            )
            return (
                f"The recipe was changed in another tab meanwhile ({last}). Your change was made "
                "on top of that; the history has both."
            )

    def edit_as_seen(
        self, said: str, change: Callable[[Content], Content], seen: int
    ) -> str | None:
        """Change the recipe as it was `seen`, for changes that go by a step's place in it.

        Where it changed since, that place may be another step's: the result is kept in the history.
        """
        self._check_version(seen)
        return self.replace(tomli_w.dumps(change(tomllib.loads(self.text_of(seen)))), said, seen)

    def replace(self, text: str, said: str, seen: int) -> str | None:
        """Take a whole text for the recipe, unless it changed since it was `seen`.

        Then it is kept in the history, beside the recipe and not in its place.
        """
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # Too long a number, or too deep a list.
            raise BadInput(f"the recipe is not TOML: {error}") from None
        _check_shape(content)
        self._check_version(seen)
        with self._lock:
            if seen == self.current:
                self._add(text, said)
                return None
            number = self._add(text, f"{said}, beside a change of another tab", seen)
            return (
                "The recipe was changed in another tab meanwhile and stays as that made it. "
                f"Yours is version {number} of the history, where you can take it."
            )

    def _check_version(self, number: int) -> None:
        """Refuse a version that never was: an undo would lead there."""
        if number not in [0, *(one["number"] for one in self.state["versions"])]:
            raise BadInput(f"the history has no version {number}")

    def _add(self, text: str, said: str, parent: int | None = None, **more: Any) -> int:
        """Put a version into the history, and make it the current one unless it has a parent."""
        if self.folders is not None:
            here = Path(os.path.realpath(self.folder))
            for file in _files(tomllib.loads(text)):
                self.folders.find(str(here / file))
        state = self.state | more
        number = len(state["versions"]) + 1
        write_private(self._path(number), text)
        one = {
            "number": number,
            "parent": state["current"] if parent is None else parent,
            "said": said,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "name": None,
        }
        versions = [*state["versions"], one]
        current = number if parent is None else state["current"]
        self._settle(state | {"versions": versions, "current": current})
        return number

    def undo(self) -> None:
        """Go back to the version that the current one was made from."""
        with self._lock:
            state = self.state
            for one in state["versions"]:
                begins = not one["parent"] and state["input"] is not None
                if one["number"] == state["current"] and not begins:
                    self._settle(state | {"current": one["parent"]})

    def redo(self) -> None:
        """Go to the version that was made last from the current one."""
        with self._lock:
            state = self.state
            made = [v["number"] for v in state["versions"] if v["parent"] == state["current"]]
            if made:
                self._settle(state | {"current": max(made)})

    def take(self, number: int) -> None:
        """Make a version of the history the current one."""
        with self._lock:
            state = self.state
            if number not in [one["number"] for one in state["versions"]]:
                raise BadInput(f"the history has no version {number}")
            self._settle(state | {"current": number})

    def name(self, number: int, name: str) -> None:
        """Give a version a name, or take it away."""
        with self._lock:
            state = self.state
            for one in state["versions"]:
                if one["number"] == number:
                    one["name"] = name.strip()[:80] or None
            self._write(state)

    def _settle(self, state: Mapping[str, Any]) -> None:
        """Write the state, and the recipe as it is now where commands find it."""
        self._write(state)
        write_private(self.recipe_file, self.text_of(int(state["current"])))

    def _path(self, number: int) -> Path:
        return self.folder / "recipes" / f"{number:04d}.toml"


def _check_shape(content: Content) -> None:
    """Refuse what no page could show; a draft may lack anything, but what it has is of its kind."""

    def need(held: bool, said: str) -> None:
        if not held:
            raise BadInput(f"the recipe cannot be shown: {said}")

    roles, steps = content.get("roles", {}), content.get("steps", [])
    need(isinstance(roles, dict), "roles is not a table")
    for role, names in roles.items():
        one = role not in ("quasi", "confidential", "insensitive")
        need(
            _is_list(names, str) or (one and isinstance(names, str | bool)),
            f"roles.{role} does not name columns",
        )
    need(_is_list(content.get("null_markers", []), str), "null_markers is not a list of texts")
    need(_is_list(steps, dict), "steps is not a list of tables")
    for number, step in enumerate(steps, start=1):
        need(isinstance(step.get("method"), str), f"step {number} has no method")
        need(_is_list(step.get("columns", []), str), f"step {number}: columns is not a list")
        need(_is_list(step.get("privacy", []), dict), f"step {number}: privacy is not a list")
        for name in ("hierarchies", "levels"):
            need(isinstance(step.get(name, {}), dict), f"step {number}: {name} is not a table")


def _files(content: Any, above: str = "") -> Iterator[str]:
    """Return what a recipe names as files; a word that means something else is none elsewhere."""
    for one in content if isinstance(content, list) else ():
        yield from _files(one)
    for key, value in content.items() if isinstance(content, dict) else ():
        if not isinstance(value, str):
            yield from _files(value, key)
        elif key in _NAMES_FILE or above == "hierarchies":
            yield value


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _is_part(name: str) -> bool:
    """Tell whether a file is one that was being written."""
    return name.startswith(".") and name.endswith(".part")


class Folders:
    """The folders that files may be read from and written to.

    Examples
    --------
    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> Folders([home]).find(str(home / ".." / "passwd"))
    Traceback (most recent call last):
    discreet.errors.BadInput: ... is outside the folders that the app was started with
    """

    def __init__(self, roots: list[Path]) -> None:
        self.roots = list(dict.fromkeys(Path(os.path.realpath(root)) for root in roots))

    def find(self, text: str) -> Path:
        """Return a path within the folders, or refuse it; a link may lead anywhere."""
        if not text or "\0" in text:
            raise BadInput("name a file")
        if max(len(os.fsencode(part)) for part in text.split("/")) > 255 or len(text) > 4000:
            raise BadInput("that name is too long for a file")
        path = Path(os.path.normpath(Path(text).absolute()))
        for root in self.roots:
            if path == root or root in path.parents:
                if Path(os.path.realpath(path)) != path:
                    raise BadInput(f"'{path.name}' is, or is behind, a link; name the file itself")
                return path
        raise BadInput(f"'{path.name}' is outside the folders that the app was started with")
