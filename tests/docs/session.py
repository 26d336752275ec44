"""A page of the documentation as one session in an empty folder.

What is run, in the order of the page:

- ``console``: lines that begin with ``$ `` are commands (one that ends in a backslash goes on in the
  next line), and what follows, up to the next command, is what they print;
- ``pycon``: a doctest, all blocks of a page in one namespace;
- a block with a title, such as ``toml title="recipe.toml"``, is written to a file of that name;
- ``python`` without a title runs in the namespace of the page;
- ``toml`` without a title is part of a recipe, or a policy: it is validated as such.

In what is printed, ``...`` stands for anything, but not where a command fails. A block that cannot
be run says why in the line above it: ``<!-- not run: the reason -->``.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import Recipe, Roles
from discreet.cli import main, show
from discreet.generalization import Hierarchy
from discreet.recipe.policies import Policy
from discreet.recipe.recipe import read_step

ROOT = Path(__file__).parents[2]
WIDTH = 100
# Shown, never run: what a program printed, and what is only to be read.
TO_READ = {"text", "json", "html", "svg", "math", "diff"}
_FENCE = re.compile(
    r"(?P<before>[^\n]*)\n(?P<indent> *)(?P<ticks>`{3,})(?P<head>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks) *$",
    re.DOTALL | re.MULTILINE,
)
_NOT_RUN = re.compile(r"<!-- not run: .+ -->")
# A pipe, a redirection, a variable or a second command: for a shell.
_SHELL = re.compile(r"[|><&;$`]")


@dataclass(frozen=True)
class Block:
    """A fenced block: where its text begins and ends in the page, and what it is."""

    start: int
    end: int
    line: int
    indent: str
    language: str
    title: str | None
    not_run: bool
    text: str


def pages() -> list[Path]:
    """Return the pages whose blocks are run: all that are written by hand."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(page for page in docs if "_reproduced" not in page.name)]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found = []
    for match in _FENCE.finditer("\n" + text):
        head = match["head"].strip()
        title = re.search(r'title="([^"]+)"', head)
        start, end = match.start("body") - 1, match.end("body") - 1
        body = "".join(
            line.removeprefix(match["indent"]) for line in match["body"].splitlines(keepends=True)
        )
        found.append(
            Block(
                start,
                end,
                text.count("\n", 0, start),
                match["indent"],
                head.split(" ")[0].strip("{}."),
                title and title[1],
                bool(_NOT_RUN.fullmatch(match["before"].strip())),
                body,
            )
        )
    return found


class Session:
    """The blocks of a page, run one after the other in the working folder."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def real(self, block: Block) -> str:
        """Run a block; return its text with the real output in place of another one."""
        if block.not_run or (block.title is None and block.language in TO_READ):
            return block.text
        if block.title is not None:
            path = Path(block.title)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
            return block.text
        match block.language:
            case "console":
                return "".join(self._commands(block.text))
            case "pycon":
                return "".join(self._examples(block.text))
            case "python":
                exec(compile(block.text, "<page>", "exec"), self.names)
                return block.text
            case "toml":
                validate(tomllib.loads(block.text))
                return block.text
        raise ValueError(
            f"line {block.line}: nobody runs a block of '{block.language}'; give it a title to "
            "write it to a file, or say why it is not run in a comment above it"
        )

    def _commands(self, text: str) -> Iterator[str]:
        for said in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
            if not said:
                continue
            lines = said.splitlines(keepends=True)
            end = next(i for i, line in enumerate(lines, 1) if not line.rstrip().endswith("\\"))
            command = "".join(lines[:end])
            if not command.startswith("$ "):
                raise ValueError(f"a block of commands begins with '$ ', not with {command!r}")
            yield command
            shown = "".join(lines[end:])
            command = command.removeprefix("$ ")
            code, printed = _ran(command)
            if code and "..." in shown:
                # The dots would stand for whatever went wrong.
                raise ValueError(f"{command.strip()} ends with exit code {code}:\n{printed}")
            yield settled(shown, printed)

    def _examples(self, text: str) -> Iterator[str]:
        checker = doctest.DocTestParser()
        for part in checker.parse(text):
            if isinstance(part, str):
                yield part
                continue
            lines = part.source.splitlines(keepends=True)
            yield "".join(
                f"{'>>> ' if i == 0 else '... '}{line}".replace("... \n", "...\n")
                for i, line in enumerate(lines)
            )
            printed = io.StringIO()
            with redirect_stdout(printed), redirect_stderr(printed):
                try:
                    exec(compile(part.source, "<page>", "single"), self.names)
                except Exception as error:
                    if not part.exc_msg:
                        raise
                    told = "".join(traceback.format_exception_only(error))
                    printed.write(f"Traceback (most recent call last):\n    ...\n{told}")
            yield settled(part.want, printed.getvalue())


def validate(content: dict[str, Any]) -> None:
    """Validate part of a recipe, or a policy."""
    if "rules" in content:
        Policy.from_dict(content)
        return
    if "roles" in content and "steps" in content:
        Recipe.from_dict(content)
        return
    unknown = content.keys() - Recipe.model_fields.keys()
    if unknown:
        raise ValueError(f"a recipe has no {', '.join(sorted(unknown))}")
    steps = content.get("steps", [])
    for number, step in enumerate(steps if isinstance(steps, list) else [], start=1):
        read_step(step, number)
    for spec in steps["hierarchies"].values() if isinstance(steps, dict) else ():
        Hierarchy.from_spec(spec)
    if "roles" in content:
        Roles.model_validate(content["roles"])


def settled(shown: str, printed: str) -> str:
    """Return what a page shows if it was printed, ``...`` standing for anything; else the latter."""
    printed = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    one = re.escape(shown.strip("\n")).replace(r"\.\.\.", ".*?")
    if re.fullmatch(one, printed.strip("\n"), re.DOTALL):
        return shown
    end = "\n" if shown.endswith("\n\n") else ""
    return printed.rstrip("\n") + "\n" + end if printed.strip() else end


def _ran(command: str) -> tuple[object, str]:
    """Return a command's exit code and what it prints.

    Ours run in this process, which spares their start.
    """
    words = shlex.split(command.replace("\\\n", " "))
    if words[0] == "discreet" and not _SHELL.search(command):
        printed = io.StringIO()
        code: object = None
        with _as_started(words), redirect_stdout(printed), redirect_stderr(printed):
            try:
                main()
            except SystemExit as ended:
                code = ended.code
        return code, printed.getvalue()
    found = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": str(WIDTH),
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        env=found,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@contextmanager
def _as_started(words: list[str]) -> Iterator[None]:
    """Have the arguments, the width and the warnings of a command that was just started."""
    kept = sys.argv, show.out.width
    sys.argv, show.out.width = words, WIDTH
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for one in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", one)
        try:
            yield
        finally:
            sys.argv, show.out.width = kept


def rerun(text: str, folder: Path) -> str:
    """Run a page in a folder; return it with its real output."""
    session, parts, at = Session(), [], 0
    with chdir(folder):
        for block in blocks(text):
            real = session.real(block)
            parts += [text[at : block.start], _indented(real, block.indent)]
            at = block.end
    return "".join([*parts, text[at:]])


def _indented(text: str, indent: str) -> str:
    return "".join(indent + line if line.strip() else line for line in text.splitlines(True))
