"""What docstrings in numpydoc say, for forms, schemas and templates."""

from __future__ import annotations

import inspect
import re
from typing import Any


def in_short(owner: Any) -> str:
    """Return the first paragraph of a docstring, on one line.

    Examples
    --------
    >>> in_short(in_short)
    'Return the first paragraph of a docstring, on one line.'
    """
    return " ".join((inspect.getdoc(owner) or "").split("\n\n")[0].split())


def documented(owner: Any) -> dict[str, str]:
    """Return what a docstring says of each parameter, or attribute if it lists no parameters.

    Examples
    --------
    >>> def f(k):
    ...     '''Group.
    ...
    ...     Parameters
    ...     ----------
    ...     k : int
    ...         How many, at
    ...         least.
    ...     '''
    >>> documented(f)
    {'k': 'How many, at least.'}
    """
    text = inspect.getdoc(owner) or ""
    section = r"^{}\n-+\n(.*?)(\n\n[A-Z][^\n]*\n-+\n|\Z)"
    for title in ("Parameters", "Attributes"):
        found = re.search(section.format(title), text, re.DOTALL | re.MULTILINE)
        if found:
            break
    said: dict[str, list[str]] = {}
    names: list[str] = []
    for line in found.group(1).splitlines() if found else ():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(" : ")[0].split(",")]
        for name in names if line.startswith(" ") else ():
            said.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines).replace("`", "") for name, lines in said.items()}
