"""The formulas of indicators: a small language, read by hand and never run as code.

    indicator = function "(" [argument] ")" ["by" column {"," column}]
    function  = count | sum | mean | median | quantile | gini | share
    argument  = term, of quantile with a share after a comma, of share a comparison of two terms
    term      = numbers and columns with + - * / and parentheses

A column whose name is not one word stands between backticks, text between quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from discreet.errors import BadInput, nearest

FUNCTIONS = ("count", "sum", "mean", "median", "quantile", "gini", "share")
COMPARED = ("<=", ">=", "==", "!=", "<", ">")
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |`(?P<quoted>[^`]+)`
    |"(?P<text>[^"]*)"
    |'(?P<text2>[^']*)'
    |(?P<op><=|>=|==|!=|[-+*/(),<>])
    )""",
    re.VERBOSE,
)
# Deep and long enough for any formula, and far from Python's own limit.
_MOST_NESTED, _MOST_TOKENS = 50, 200
# So much of a text is told of one that cannot be read.
_TOLD = 150


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True)
class Text:
    """A value of a column of text."""

    value: str


@dataclass(frozen=True)
class Column:
    """The values of a column."""

    name: str


@dataclass(frozen=True)
class Operation:
    """Two terms and what is done with them; of a minus sign the first is 0."""

    sign: str
    left: Term
    right: Term


Term = Number | Text | Column | Operation


@dataclass(frozen=True)
class Formula:
    """An indicator: what is computed of which term, within which groups."""

    text: str
    function: str
    term: Term | None
    level: float | None  # of a quantile
    by: tuple[str, ...]

    @property
    def used(self) -> list[str]:
        """The columns of the term."""
        return list(dict.fromkeys(_columns(self.term)))

    @property
    def columns(self) -> list[str]:
        """All columns that it names."""
        return list(dict.fromkeys([*self.used, *self.by]))


def read_formula(text: str) -> Formula:
    """Read an indicator, or say in one sentence what is wrong with it.

    Examples
    --------
    >>> formula = read_formula("sum(income * weight) by region")
    >>> formula.function, formula.used, formula.by
    ('sum', ['income', 'weight'], ('region',))
    >>> read_formula("share(`monthly income` >= 1000)").used
    ['monthly income']
    """
    if not isinstance(text, str):
        raise BadInput(f"an indicator is text such as 'mean(age) by region', not {text!r}")
    return _Reader(text).formula()


def _columns(term: Term | None) -> Iterator[str]:
    if isinstance(term, Column):
        yield term.name
    elif isinstance(term, Operation):
        yield from _columns(term.left)
        yield from _columns(term.right)


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, text: str) -> None:
        # On one line, for messages and tables.
        self.text, self.at = " ".join(text.split()), 0
        self.tokens: list[tuple[str, str]] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                rest = " ".join(text[place:].split())
                self._refuse(f"cannot be read from '{_short(rest)}' on")
            kind = str(found.lastgroup)
            self.tokens.append((kind.removesuffix("2"), found[kind]))
            place = found.end()
            if len(self.tokens) > _MOST_TOKENS:
                self._refuse(f"has more than {_MOST_TOKENS} words and signs")

    def formula(self) -> Formula:
        kind, function = self._next()
        if kind != "name" or function not in FUNCTIONS:
            known = nearest(function, FUNCTIONS)
            self._refuse(f"begins with '{function}', which is no function; {known}")
        self._expect("(")
        term: Term | None = None
        level = None
        if function != "count":
            if self._peek() == ("op", ")"):
                self._refuse(f"has nothing to compute: write {function}(column)")
            term = self._comparison() if function == "share" else self._sum(0)
            if isinstance(term, Text):
                self._refuse(f"computes with the text '{term.value}'")
        if function == "quantile":
            self._expect(",", "lacks the share of the quantile: quantile(income, 0.9)")
            kind, value = self._next()
            if kind != "number" or not 0 < float(value) < 1:
                self._refuse(f"asks for the quantile {value}, which is not between 0 and 1")
            level = float(value)
        self._expect(")")
        by = self._groups()
        if self.at < len(self.tokens):
            rest = _short(self._next()[1])
            self._refuse(f"goes on after its end, with '{rest}'; write odd names as `odd name`")
        return Formula(self.text, function, term, level, by)

    def _groups(self) -> tuple[str, ...]:
        if self._peek() != ("name", "by"):
            return ()
        self.at += 1
        found: list[str] = []
        while True:
            kind, name = self._next()
            if kind not in ("name", "quoted"):
                self._refuse(f"has '{name}' where a column belongs, after by")
            if name in found:
                self._refuse(f"groups by '{name}' twice")
            found.append(name)
            if self._peek() != ("op", ","):
                return tuple(found)
            self.at += 1

    def _comparison(self) -> Term:
        left = self._sum(0)
        kind, sign = self._next()
        if kind != "op" or sign not in COMPARED:
            self._refuse(f"has '{sign}' where a comparison belongs: share(income > 1000)")
        right = self._sum(0)
        texts = [one for one in (left, right) if isinstance(one, Text)]
        if texts:
            columns = [one for one in (left, right) if isinstance(one, Column)]
            if len(texts) != 1 or len(columns) != 1 or sign not in ("==", "!="):
                self._refuse("compares text with something else than == or != and a column")
        return Operation(sign, left, right)

    def _sum(self, depth: int) -> Term:
        found = self._product(depth)
        while self._peek() in (("op", "+"), ("op", "-")):
            sign = self._next()[1]
            found = self._both(sign, found, self._product(depth))
        return found

    def _product(self, depth: int) -> Term:
        found = self._factor(depth)
        while self._peek() in (("op", "*"), ("op", "/")):
            sign = self._next()[1]
            found = self._both(sign, found, self._factor(depth))
        return found

    def _both(self, sign: str, left: Term, right: Term) -> Term:
        for one in (left, right):
            if isinstance(one, Text):
                self._refuse(f"computes with the text '{one.value}'")
        return Operation(sign, left, right)

    def _factor(self, depth: int) -> Term:
        if depth > _MOST_NESTED:
            self._refuse(f"is nested more than {_MOST_NESTED} deep")
        kind, value = self._next()
        if kind == "number":
            return Number(float(value))
        if kind == "text":
            return Text(value)
        if kind in ("name", "quoted"):
            if kind == "name" and self._peek() == ("op", "("):
                self._refuse(f"calls '{value}' within another function")
            return Column(value)
        if value == "-":
            return self._both("-", Number(0.0), self._factor(depth + 1))
        if value == "(":
            found = self._sum(depth + 1)
            self._expect(")")
            return found
        self._refuse(f"has '{value}' where a number or a column belongs")

    def _peek(self) -> tuple[str, str] | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _next(self) -> tuple[str, str]:
        if self.at == len(self.tokens):
            self._refuse("ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def _expect(self, sign: str, why: str = "") -> None:
        found = self._peek()
        if found != ("op", sign):
            here = f"'{found[1]}'" if found else "its end"
            self._refuse(why or f"has {here} where '{sign}' belongs")
        self.at += 1

    def _refuse(self, what: str) -> NoReturn:
        raise BadInput(f"'{_short(self.text)}' {what}")


def _short(text: str) -> str:
    return text if len(text) <= _TOLD else f"{text[:_TOLD]}..."
