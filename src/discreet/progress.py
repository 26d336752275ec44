"""How far the work is: told to a function, shown in a notebook, or neither.

A terminal's progress is the commands' own. Here is what `protect`, `search`, `sweep` and `attack`
show when a notebook calls them: one line that goes when the work ends, so that the saved notebook
does not hold it. It needs nothing but IPython, which a notebook has.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from html import escape
from importlib import import_module
from typing import Any, Literal

# A function that is told; False for nothing; None for a line where a notebook is.
Wanted = Callable[[Any], None] | Literal[False] | None
# What to write, and how much of the work is done, if that is known.
Line = Callable[[Any], tuple[str, float | None]]


def in_notebook() -> bool:
    """Tell whether a notebook runs this, without loading anything."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class Teller:
    """Is told what is under way, and tells it on until it is closed.

    Parameters
    ----------
    wanted : callable, False or None
        Who to tell; None shows a line if this runs in a notebook.
    line : callable, optional
        Turns what is told into text and the share that is done; by default it is the text.

    Examples
    --------
    >>> with Teller(print) as tell:
    ...     tell("counting")
    counting
    >>> Teller(None)("outside a notebook, nothing is shown")
    """

    def __init__(self, wanted: Wanted, line: Line = lambda what: (str(what), None)) -> None:
        self._wanted, self._line = wanted, line
        self._open = wanted is None and in_notebook()
        self._shown: str | None = None

    def __call__(self, what: Any) -> None:
        """Tell what is under way now."""
        if callable(self._wanted):
            self._wanted(what)
        elif self._open:
            text, done = self._line(what)
            self._show({"text/html": _html(text, done), "text/plain": text})

    def close(self) -> None:
        """Take the line away; what is told from now on is not shown."""
        if self._shown is not None:
            self._show({"text/html": "", "text/plain": ""})
        self._open, self._shown = False, None

    def __enter__(self) -> Teller:
        return self

    def __exit__(self, *how: object) -> None:
        self.close()

    def _show(self, content: dict[str, str]) -> None:
        display: Any = import_module("IPython.display").display
        update = {"update": True} if self._shown else {}
        self._shown = self._shown or uuid.uuid4().hex
        display(content, raw=True, display_id=self._shown, **update)


def progress_line(
    so_far: Any,
    minutes: float | None,
    evaluations: int | None,
    ends: str = "Ctrl-C ends it",
) -> str:
    """Say how far a search is, as its `Progress` tells it."""
    of = "" if evaluations is None else f" of {evaluations:,}"
    limit = "" if minutes is None else f" of {60 * minutes:.0f}"
    tried = f"{so_far.evaluations:,}{of} tried, {so_far.seconds:.0f}{limit} s"
    if so_far.doing != "searching":
        return f"{tried}; {so_far.doing}"
    best = so_far.best
    found = "" if best is None else f"; best risk {best.risk:.3g}, loss {best.loss:.3g}"
    return f"{tried}{found} ({ends})"


def of_search(wanted: Wanted, minutes: float | None, evaluations: int | None) -> Teller:
    """Return what a search tells how far it is."""

    def line(so_far: Any) -> tuple[str, float | None]:
        said = progress_line(so_far, minutes, evaluations, "interrupt the kernel to end it")
        if so_far.doing != "searching":
            return said, None
        if evaluations is not None:
            return said, so_far.evaluations / evaluations
        return said, None if minutes is None else so_far.seconds / (60 * minutes)

    return Teller(wanted, line)


def _html(text: str, done: float | None) -> str:
    """Write a bar, which moves by itself where nobody knows how much is done.

    Examples
    --------
    >>> _html("<b>", 0.5)
    '<div><progress aria-label="progress" value="0.500"></progress> &lt;b&gt; ...</div>'
    """
    value = "" if done is None else f' value="{min(1.0, done):.3f}"'
    return f'<div><progress aria-label="progress"{value}></progress> {escape(text)} ...</div>'
