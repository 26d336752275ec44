"""The two ways a run can end badly: the input is wrong, or a promise does not hold."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class BadInput(ValueError):
    """The table, the recipe or a parameter cannot be used; one sentence says what to do."""


class Unmet(BadInput):
    """Nothing that a step may choose keeps its promise on these rows.

    Attributes
    ----------
    what : str
        What is not kept, without the advice behind it.
    advice : str
        What to do.
    works : float or None
        The smallest `suppression_limit` with which it is, if one would help.
    step : int or None
        The step's number, where it is one of a recipe.
    """

    def __init__(self, what: str, advice: str, works: float | None = None) -> None:
        super().__init__(f"{what}; {advice}")
        self.what, self.advice, self.works = what, advice, works
        self.step: int | None = None


@contextmanager
def in_step(number: int, where: str) -> Iterator[None]:
    """Name a recipe's step in what is said to be wrong with it."""
    try:
        yield
    except BadInput as error:
        named = str(error) if str(error).startswith(where) else f"{where}: {error}"
        if isinstance(error, Unmet):
            error.args, error.step = (named,), number
            raise
        raise BadInput(named) from None


class BrokenPromise(RuntimeError):
    """The check found that a release does not keep what its recipe promises."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that an unknown one probably means, as the end of a sentence.

    Examples
    --------
    >>> nearest("colums", ["columns", "method"])
    "did you mean 'columns'?"
    >>> nearest("Bottom", ["oma", "top-bottom"])
    "did you mean 'top-bottom'?"
    >>> nearest("zzz", ["oma", "top-bottom"])
    'known: oma, top-bottom'
    """
    known = list(known)
    word = str(word)
    close = difflib.get_close_matches(word, known, n=1)
    # Part of a name is far from it by difflib's count of letters.
    close = close or [one for one in known if len(word) > 2 and word.lower() in one.lower()]
    return f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(known)


def one_line(error: BaseException) -> str:
    r"""Return the first line of what a library says, since our messages are one sentence.

    Examples
    --------
    >>> one_line(OSError("the page is damaged\nIn file.cc, line 12"))
    'the page is damaged'
    """
    return (str(error).splitlines() or [type(error).__name__])[0]
