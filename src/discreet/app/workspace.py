"""What the app knows, on disk: the input, the recipe with its history, and the runs.

Whatever was clicked is written before the click is answered, each file whole or not at all, so that
a reload, a second tab or a killed server loses nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
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
_TEMPORARY = "tmp"
_FOLDERS = ("recipes", "runs", "hierarchies", _TEMPORARY)
_LOCK = ".open"
# What names a file in a recipe, from its folder on; "name" is that of a policy.
_NAMES_FILE = ("policy", "name", "pseudonym_key", "project_key", "population", "attacks", "path")
# What of the roles is no list of columns.
_ONE: dict[str, type] = dict.fromkeys(
    ("household", "weight", "target", "unit", "row_key", "rest"), str
)
_ONE["release_household"] = bool
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
        if folder.is_symlink():
            raise BadInput(f"the workspace {folder} is a link; name the folder itself")
        # Its parents may be links, which are followed once and for all.
        self.folder = Path(os.path.realpath(folder))
        # Those that a recipe may name files of; any, where nobody says.
        self.folders: Folders | None = None
        self._lock = threading.RLock()
        if not self.folder.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            make_private_folder(self.folder)
        if not self.folder.is_dir():
            raise BadInput(f"the workspace {folder} is not a folder; choose another")
        here = sorted(path.name for path in self.folder.iterdir())
        # A server that was killed early may have made only some of these.
        others = [name for name in here if name not in (*_FOLDERS, _LOCK) and not _is_part(name)]
        if others and _STATE not in here:
            raise BadInput(
                f"{folder} holds other files ('{others[0]}'); choose an empty or a new folder for "
                "the workspace"
            )
        self._refuse_links()
        self.folder.chmod(0o700)
        self._alone()
        for name in _FOLDERS:
            if not (self.folder / name).exists():
                make_private_folder(self.folder / name)
        if _STATE not in here:
            self._write(_NEW)
        self._tidy()

    def _refuse_links(self) -> None:
        """Refuse a workspace, such as somebody else's, from which links lead to other places."""
        runs = self.folder / "runs"
        for folder in (self.folder, *(self.folder / name for name in _FOLDERS), *runs.glob("*")):
            for path in folder.iterdir() if folder.is_dir() else ():
                if path.is_symlink():
                    raise BadInput(
                        f"{path} is a link, and the workspace would be written to where that "
                        "leads; remove it"
                    )

    def _tidy(self) -> None:
        """Settle what a server that was killed left half done."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.folder, self.folder / "recipes", *(self.folder / "runs").iterdir()):
            for path in folder.iterdir() if folder.is_dir() else ():
                if _is_part(path.name) and path.is_file():
                    path.unlink()
        (self.folder / "session").unlink(missing_ok=True)  # Of earlier versions of the app.
        self._write_text()

    def _write_text(self) -> None:
        """Write the recipe where commands find it, if that is not what is there.

        The state is written first, and a server that is killed, or a disk that is full, may have
        stopped between the two.
        """
        text = self.text
        if not self.recipe_file.exists() or self.recipe_file.read_bytes() != text.encode():
            write_private(self.recipe_file, text)

    def _alone(self) -> None:
        """Refuse a workspace that another server has open."""
        self._held = (self.folder / _LOCK).open("a")
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
            found = read_json(self.folder / _STATE)
            if found is None or not _NEW.keys() <= found.keys() or _is_odd(found):
                raise BadInput(
                    f"{_STATE} in {self.folder} is damaged; put a copy of it there, or choose "
                    "another workspace: the recipes are in the folder recipes"
                )
            return found

    def _write(self, state: Mapping[str, Any]) -> None:
        write_private(self.folder / _STATE, json.dumps(state, indent=1, ensure_ascii=False))

    @property
    def input(self) -> Path | None:
        """The table that is worked on."""
        found = self.state["input"]
        return None if found is None else Path(found)

    @property
    def stage(self) -> str | None:
        """The page that was looked at last."""
        path = self.folder / "stage"
        found = path.read_text("utf-8", errors="replace") if path.exists() else ""
        return found if found.isalpha() else None

    def visit(self, stage: str) -> None:
        """Keep in mind which page is looked at."""
        # Where nothing can be written, all pages can still be looked at.
        with contextlib.suppress(OSError):
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

    def reopen(self, path: Path) -> bool:
        """Go on with a table where it was left; tell whether it was ever open."""
        with self._lock:
            state = self.state
            left = state.get("left", {}).get(str(path))
            if left is None:
                return False
            self._settle(state | {"input": str(path), **left})
            self.visit("data")
            return True

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
        try:
            return "" if number == 0 else self.path_of(number).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            path = self.path_of(number)
            raise BadInput(f"{path} cannot be read; put a copy of it there") from None

    def content_of(self, number: int) -> Content:
        """Return what a version of the recipe says, with whole paths of the files that it names.

        Unlike the recipe's file, a version stays as it is while it is worked with.
        """
        from discreet.recipe.recipe import in_folder

        text = self.text_of(number)
        self.check_files(text)
        content: Content = in_folder(tomllib.loads(text), self.folder)
        return content

    @property
    def recipe(self) -> Content:
        """What the recipe says; nothing is validated."""
        return tomllib.loads(self.text)

    @property
    def temporary(self) -> Path:
        """The folder of temporary files: where a server is killed, the next one removes them."""
        return self.folder / _TEMPORARY

    @property
    def recipe_file(self) -> Path:
        """The file that always holds the recipe as it is now."""
        return self.folder / "recipe.toml"

    @property
    def can_undo(self) -> bool:
        """True where there is something before the recipe as it is, for this table."""
        state = self.state
        one = self._version(state, state["current"])
        begins = one is None or one.get("begins") or (not one["parent"] and state["input"])
        return not begins

    def edit(
        self,
        said: str,
        change: Callable[[Content], Content],
        seen: int | None = None,
        *,
        begins: bool = False,
    ) -> str | None:
        """Change the recipe; return a notice where somebody else did so since it was `seen`.

        The change is made to the recipe as it is now, so that neither is lost. To undo ends with
        one that `begins`.
        """
        with self._lock:
            state, before = self.state, self.recipe
            meanwhile = seen is not None and seen != state["current"]
            if meanwhile:
                self._check_version(seen or 0)
                self._check_table(state, seen or 0)
            if (now := change(before)) == before:
                return None
            _check_shape(now)
            self._add(tomli_w.dumps(now), said, begins=begins)
            if not meanwhile:
                return None
            last = next(
                (v["said"] for v in state["versions"] if v["number"] == state["current"]), ""
            )
            return (
                f"The recipe was changed in another tab meanwhile ({last}). Your change was made "
                "on top of that; the history has both."
            )

    def as_seen(self, seen: int) -> Content:
        """Return the recipe as it was `seen`, for work that takes a while."""
        with self._lock:
            self._check_version(seen)
            self._check_table(self.state, seen)
            return tomllib.loads(self.text_of(seen))

    # What was proposed

    @property
    def proposal(self) -> dict[str, Any] | None:
        """What was proposed last for the table that is open, to be chosen from."""
        found = read_json(self.folder / "proposal.json")
        return found if found and found.get("input") == self.state["input"] else None

    def keep_proposal(self, proposal: Mapping[str, Any], seen: int) -> None:
        """Keep what was proposed for the recipe as it was `seen`, also for after a reload."""
        with self._lock:
            state = self.state
            self._check_table(state, seen)
            path = self.folder / "proposal.json"
            # By which a page tells its own from one that another tab asked for later.
            number = (read_json(path) or {}).get("number", 0) + 1
            kept = {"input": state["input"], **proposal, "number": number}
            write_private(path, json.dumps(kept, ensure_ascii=False))

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
            from discreet.recipe.wording import not_toml

            raise BadInput(f"the recipe is not TOML: {not_toml(str(error))}") from None
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

    def _input_of(self, state: Mapping[str, Any], number: int | None) -> str | None:
        """Return the table that a version is for: the one that is open, if nobody says."""
        one = None if number is None else self._version(state, number)
        found: str | None = (one or state).get("input", state["input"])
        return found

    def _check_table(self, state: Mapping[str, Any], seen: int) -> None:
        """Refuse a change that was meant for another table, whose columns may have these names."""
        if self._input_of(state, seen) != state["input"]:
            raise BadInput("another table was opened meanwhile, in another tab; reload the page")

    @staticmethod
    def _version(state: Mapping[str, Any], number: int) -> dict[str, Any] | None:
        return next((one for one in state["versions"] if one["number"] == number), None)

    def _check_version(self, number: int) -> None:
        """Refuse a version that never was: an undo would lead there."""
        if number not in [0, *(one["number"] for one in self.state["versions"])]:
            raise BadInput(f"the history has no version {number}")

    def check_files(self, text: str | None = None, folder: Path | None = None) -> None:
        """Refuse a recipe that names files outside the folders; links may have been put there."""
        if self.folders is not None:
            for file in _files(tomllib.loads(self.text if text is None else text)):
                self.folders.find_file(str((folder or self.folder) / file))

    @property
    def checked_file(self) -> Path:
        """The file of the recipe as it is now, to be read: all that it names is looked at again."""
        with self._lock:
            self._write_text()
            self.check_files()
        return self.recipe_file

    def _add(
        self,
        text: str,
        said: str,
        parent: int | None = None,
        begins: bool = False,
        **more: Any,
    ) -> int:
        """Put a version into the history, and make it the current one unless it has a parent."""
        self.check_files(text)
        state = self.state | more
        number = len(state["versions"]) + 1
        write_private(self.path_of(number), text)
        one = {
            "number": number,
            "parent": state["current"] if parent is None else parent,
            "said": said,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "name": None,
            "input": self._input_of(state, parent),
            "begins": begins,
        }
        versions = [*state["versions"], one]
        current = number if parent is None else state["current"]
        self._settle(state | {"versions": versions, "current": current})
        return number

    def undo(self) -> None:
        """Go back to the version that the current one was made from."""
        with self._lock:
            state = self.state
            one = self._version(state, state["current"])
            if one is not None and self.can_undo:
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
            one = self._version(state, number)
            if one is None:
                raise BadInput(f"the history has no version {number}")
            if self._input_of(state, number) != state["input"]:
                # That of another table stays where it is, and is copied to this one.
                self._add(self.text_of(number), f"version {number}, of another table")
            else:
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
        if state["input"] is not None:
            here = {key: state[key] for key in ("current", "dialect")}
            state = {**state, "left": {**state.get("left", {}), state["input"]: here}}
        self._write(state)
        self._write_text()

    def path_of(self, number: int) -> Path:
        """Return the file of a version of the recipe."""
        return self.folder / "recipes" / f"{number:04d}.toml"


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a file of the workspace; None where it is not there, or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_odd(state: Content) -> bool:
    """Tell whether what all pages need of the state is not of its kind."""
    path, dialect = state["input"], state["dialect"]
    held = isinstance(path, str | None) and isinstance(dialect, dict)
    return not (held and isinstance(state["current"], int) and _is_list(state["versions"], dict))


def _check_shape(content: Content) -> None:
    """Refuse what no page could show; a draft may lack anything, but what it has is of its kind."""

    def need(held: bool, said: str) -> None:
        if not held:
            raise BadInput(f"the recipe cannot be shown: {said}")

    roles, steps = content.get("roles", {}), content.get("steps", [])
    need(isinstance(roles, dict), "roles is not a table")
    for role, names in roles.items():
        kind = _ONE.get(role)
        held = _is_list(names, str) if kind is None else isinstance(names, kind)
        need(held, f"roles.{role} does not name columns")
    need(isinstance(content.get("policy", ""), str | dict), "policy is not a name")
    need(_is_list(content.get("null_markers", []), str), "null_markers is not a list of texts")
    need(_is_list(steps, dict), "steps is not a list of tables")
    for number, step in enumerate(steps, start=1):
        need(isinstance(step.get("method"), str), f"step {number} has no method")
        need(_is_list(step.get("columns", []), str), f"step {number}: columns is not a list")
        need(_is_list(step.get("privacy", []), dict), f"step {number}: privacy is not a list")
        need(_is_list(step.get("fixed", []), str), f"step {number}: fixed is not a list")
        figures = {"suppression_limit": step.get("suppression_limit", 1)}
        for model in step.get("privacy", []):
            need(isinstance(model.get("model"), str), f"step {number}: a privacy model has no name")
            figures |= {name: model.get(name, 1) for name in ("k", "l")}
            need(figures["k"] != 0, f"step {number}: k is 0")
        for name, figure in figures.items():
            need(isinstance(figure, int | float), f"step {number}: {name} is not a number")
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


def is_text(name: str) -> bool:
    """Tell whether the name of a file can be shown and written; one of other bytes cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
        # Whoever gives a folder means what is there, also where a link leads to it.
        given = [(Path(os.path.normpath(root.absolute())), Path(os.path.realpath(root)))
                 for root in roots]  # fmt: skip
        self.roots = list(dict.fromkeys(real for _, real in given))
        self._linked = {name: real for name, real in given if name != real}

    def find(self, text: str) -> Path:
        """Return a path within the folders, or refuse it; a link may lead anywhere."""
        if not text or "\0" in text:
            raise BadInput("name a file")
        if not is_text(text):
            raise BadInput("a file whose name is not UTF-8 cannot be worked on here; rename it")
        if max(len(part.encode()) for part in text.split("/")) > 255 or len(text) > 4000:
            raise BadInput("that name is too long for a file")
        path = Path(os.path.normpath(Path(text).absolute()))
        for name, real in self._linked.items():
            if path == name or name in path.parents:
                path = real / path.relative_to(name)
        for root in self.roots:
            if path == root or root in path.parents:
                # As it was given: `..` behind a link leads to where that link does.
                if os.path.realpath(text) != str(path):
                    raise BadInput(f"'{path.name}' is, or is behind, a link; name the file itself")
                return path
        raise BadInput(f"'{path.name}' is outside the folders that the app was started with")

    def find_file(self, text: str) -> Path:
        """Return what is to be read: a file, or a folder of Parquet files, none of them a link."""
        from discreet.table.files import parquet_files

        path = self.find(text)
        for file in parquet_files(path) if path.is_dir() else (path,):
            # Whoever reads a pipe may wait for ever, and others for them.
            if self.find(str(file)).exists() and not file.is_file():
                raise BadInput(f"'{file.name}' is not a file")
        return path
