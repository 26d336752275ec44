"""On which line each key and value of a TOML text is, which the standard library does not tell."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator

from discreet.recipe.wording import Where

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')[ \t]*""")
_SCALAR = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'  # up to two more quotes belong to what is quoted
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|[^,\]}#\n]+",
    re.DOTALL,
)


def lines_of(text: str) -> dict[Where, int]:
    r"""Return the line, from 1, of each key, table and value of a valid TOML text, by its path.

    Examples
    --------
    >>> lines_of('[[steps]]\nmethod = "oma"\ncolumns = [\n  "income",\n]')
    {('steps',): 1, ('steps', 0): 1, ('steps', 0, 'method'): 2, ('steps', 0, 'columns'): 3,
    ('steps', 0, 'columns', 0): 4}
    """
    return _Scanner(text).lines


def line_of(lines: dict[Where, int], path: Where, said: str = "") -> int | None:
    """Return the line of a path, or of what is nearest to it: the table that it would be in.

    A message that is about a whole table, such as a step, is often about the first key that it
    names.
    """
    place: Where = ()
    for part in path:
        # The path of a problem also has the names of types, which are not in the text.
        if (*place, part) in lines:
            place = (*place, part)
    below = {one[-1]: one for one in lines if len(one) == len(place) + 1 and one[:-1] == place}
    named = re.findall(r"[\w-]+", said)
    if place == path or not path:
        place = next((below[word] for word in named if word in below), place)
    return lines.get(place)


class _Scanner:
    """Reads a text once. That it is TOML has been verified, so nothing is refused here."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[Where, int] = {}
        self.tables: dict[Where, int] = {}  # how many tables the arrays of tables have so far
        table: Where = ()
        while self._more():
            if self._take("[["):
                table = self._array()
            elif self._take("["):
                table = self._table(self._key())
                self._take("]")
            else:
                self._pair(table)

    def _more(self) -> bool:
        self._skip()
        return self.at < len(self.text)

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _take(self, mark: str) -> bool:
        here = self.text.startswith(mark, self.at)
        self.at += len(mark) * here
        return here

    def _key(self) -> list[str]:
        return list(self._parts())

    def _parts(self) -> Iterator[str]:
        """Read a key, with dots or without."""
        while True:
            found = _KEY.match(self.text, self.at)
            if found is None:
                return
            self.at = found.end()
            part = found[1]
            yield tomllib.loads(f"x = {part}")["x"] if part[0] in "\"'" else part
            if not self._take("."):
                return

    def _mark(self, path: Where) -> None:
        # A table that a key below it makes is where it is first named.
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], bisect_right(self.starts, self.at))

    def _table(self, key: list[str]) -> Where:
        path: Where = ()
        for part in key:
            path = (*path, part)
            if path in self.tables:
                path = (*path, self.tables[path] - 1)
        self._mark(path)
        return path

    def _array(self) -> Where:
        *above, last = self._key()
        array = (*(self._table(above) if above else ()), last)
        self.tables[array] = self.tables.get(array, 0) + 1
        path = (*array, self.tables[array] - 1)
        self._mark(path)
        self._take("]]")
        return path

    def _pair(self, table: Where) -> None:
        start = self.at
        path = (*table, *self._key())
        after, self.at = self.at, start
        self._mark(path)
        self.at = after
        self._take("=")
        self._value(path)

    def _value(self, path: Where) -> None:
        self._skip()
        self._mark(path)
        if self._take("["):
            place = 0
            while not self._closed("]"):
                self._value((*path, place))
                place += 1
        elif self._take("{"):
            while not self._closed("}"):
                self._pair(path)
        else:
            found = _SCALAR.match(self.text, self.at)
            self.at = found.end() if found else len(self.text)

    def _closed(self, bracket: str) -> bool:
        """Go on to the next item, or past the end of the list."""
        self._skip()
        self._take(",")
        self._skip()
        return self._take(bracket) or self.at >= len(self.text)
