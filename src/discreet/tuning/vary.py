"""What a sweep varies: parameters of steps, their values, and all combinations of these."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import prod
from typing import Any

from discreet.errors import BadInput, nearest
from discreet.generalization.models import MODELS
from discreet.parameters import types_of
from discreet.tuning.asked import plain_model
from discreet.tuning.given import distinct, fits, kinds_of, names_of
from discreet.tuning.space import listed

# Of more combinations, `search` finds the best without trying all.
MOST_COMBINATIONS = 1_000
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\.\.({_NUMBER}))?")
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class Place:
    """Where a parameter is set: in a step, or in one of its privacy models."""

    step: int  # from 0
    method: str
    key: str
    kinds: tuple[Any, ...]  # the types that it may have; several where methods are varied
    model: int | None = None
    model_name: str = ""

    def __str__(self) -> str:
        of = f", {self.model_name}" if self.model_name else ""
        return f"step {self.step + 1} ({self.method}{of})"

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """What may stand before the point of a name such as `2.k`."""
        return str(self.step + 1), self.method, self.model_name

    def given(self, steps: Sequence[Mapping[str, Any]]) -> Any:
        """Return what steps have there; None if nothing."""
        step = steps[self.step]
        return (step if self.model is None else step["privacy"][self.model]).get(self.key)

    def set(self, steps: list[dict[str, Any]], value: Any) -> None:
        """Set it in steps."""
        step = steps[self.step]
        (step if self.model is None else step["privacy"][self.model])[self.key] = value


@dataclass(frozen=True)
class Varied:
    """A parameter that is varied, as it was named, and its values."""

    name: str
    place: Place
    values: list[Any]


def read_varied(steps: Any, vary: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Varied]]:
    """Read what is varied: what is asked for, then the lists that the steps themselves have.

    Parameters
    ----------
    steps : list of mapping
        As in a recipe; a list where a method takes one value is a list of values to vary.
    vary : mapping of str to list or str
        By parameter (`k`, or `2.k`, `generalize.k`, `k-anonymity.k` where several have it) its
        values: a list or range, or text such as "2..20", "2..20..2" or "loss,discernibility".

    Returns
    -------
    steps : list of dict
        With privacy models as plain tables.
    varied : list of Varied

    Examples
    --------
    >>> steps = [{"method": "oma", "columns": ["pay"], "keep_ties": [True, False]}]
    >>> [(one.name, one.values) for one in read_varied(steps, {"k": "2..10..4"})[1]]
    [('k', [2, 6, 10]), ('keep_ties', [True, False])]
    >>> read_varied(steps, {"kk": "2..3"})
    Traceback (most recent call last):
    discreet.errors.BadInput: vary: no step has a parameter 'kk'; did you mean 'k'?
    """
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise BadInput(f"steps must be a list of steps, not {steps!r}")
    plain = [_plain(step, number) for number, step in enumerate(steps, start=1)]
    known = [place for number, step in enumerate(plain) for place in _places(number, step)]
    varied: list[Varied] = []
    for name, values in vary.items():
        place = _find(name, known)
        if any(one.place == place for one in varied):
            raise BadInput(f"vary: {name} is varied twice")
        varied.append(Varied(name, place, _values(name, values, place.kinds)))
    asked = [one.place for one in varied]
    for place in known:
        value = place.given(plain)
        # Models of which something is varied are no choices themselves.
        inner = place.key == "privacy" and any(
            one.place.step == place.step and one.place.model is not None for one in varied
        )
        if place in asked or inner or not isinstance(value, list) or _takes(place, value):
            continue
        if not value:
            raise BadInput(f"{place}: {place.key} is an empty list; name one value at least")
        varied.append(Varied(_name(place, known), place, distinct(value)))
    _check_number(varied)
    return plain, varied


def combinations(
    steps: list[dict[str, Any]], varied: Sequence[Varied]
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the parameters by name, and the steps with them, the first parameter slowest."""
    for values in product(*(one.values for one in varied)):
        made = copy.deepcopy(steps)
        for one, value in zip(varied, values, strict=True):
            one.place.set(made, copy.deepcopy(value))
        for one in varied:
            if one.place.key == "method":
                # What is said for another method does not concern this one.
                step = made[one.place.step]
                own = {"method", "columns", *kinds_of(step["method"])}
                made[one.place.step] = {key: step[key] for key in step if key in own}
        yield dict(zip((one.name for one in varied), values, strict=True)), made


def read_option(text: str) -> tuple[str, str]:
    """Read NAME=VALUES of a command line.

    Examples
    --------
    >>> read_option("k=2..20")
    ('k', '2..20')
    """
    name, _, values = text.partition("=")
    if not name.strip() or not values.strip():
        raise BadInput(f"--vary takes NAME=VALUES, such as k=2..20 or k=3,5,10, not '{text}'")
    return name.strip(), values.strip()


def _check_number(varied: Sequence[Varied]) -> None:
    count = prod(len(one.values) for one in varied)
    if varied and count == 1:
        raise BadInput(
            f"nothing is varied: {varied[0].name} has one value, {varied[0].values[0]}; give "
            "several, such as k=2..20"
        )
    if count == 1:
        raise BadInput(
            "nothing is varied; name a parameter with its values, such as k=2..20, or give a list "
            "of values in a step, such as k = [3, 5, 10]"
        )
    if count > MOST_COMBINATIONS:
        raise BadInput(
            f"{count:,} combinations are asked for, and a sweep tries all; ask for at most "
            f"{MOST_COMBINATIONS:,}, or use search, which finds the best without trying all"
        )


# Where parameters are


def _plain(step: Any, number: int) -> dict[str, Any]:
    """Return a step as plain data, with its models as tables."""
    if not isinstance(step, Mapping):
        raise BadInput(f"step {number} must be a table with a method and columns, not {step!r}")
    found = dict(step)
    if "method" not in found:
        raise BadInput(f"step {number} has no method")
    if not isinstance(found.get("columns"), list | tuple):
        raise BadInput(f"step {number} has no columns; list those that it treats")
    models = found.get("privacy")
    if isinstance(models, Mapping) or hasattr(models, "model"):
        models = [models]
    if isinstance(models, list | tuple):
        found["privacy"] = [plain_model(one) if hasattr(one, "model") else one for one in models]
    return found


def _places(number: int, step: Mapping[str, Any]) -> Iterator[Place]:
    """Yield where parameters of a step, known or not yet set, are."""
    names = names_of(step, number + 1)
    said = " or ".join(names)
    kinds: dict[str, list[Any]] = {"method": [str]}
    for name in names:
        for key, kind in kinds_of(name).items():
            kinds.setdefault(key, []).append(kind)
    for key in step:
        if key not in kinds and key != "columns":
            where = f"step {number + 1} ({said})"
            raise BadInput(f"{where}: unknown key '{key}'; {nearest(key, ['columns', *kinds])}")
    models = step.get("privacy") if "privacy" in kinds else None
    for place, model in enumerate(models if isinstance(models, list) else ()):
        called = model.get("model") if isinstance(model, Mapping) else None
        if called in MODELS:
            for key, kind in types_of(MODELS[called]).items():
                if key not in ("model", "constraints"):
                    yield Place(number, said, key, (kind,), place, called)
    for key, found in kinds.items():
        yield Place(number, said, key, tuple(found))


def _find(name: str, known: Sequence[Place]) -> Place:
    """Find the one place that a name means."""
    before, _, key = name.rpartition(".")
    same = [place for place in known if place.key == key]
    if not same:
        raise BadInput(
            f"vary: no step has a parameter '{key}'; "
            + nearest(key, dict.fromkeys(place.key for place in known))
        )
    found = [place for place in same if not before or before in place.qualifiers]
    if not found:
        raise BadInput(f"vary: '{before}' has no parameter '{key}', which is one of {_all(same)}")
    if len(found) > 1:
        raise BadInput(
            f"vary: '{name}' is a parameter of {_all(found)}; say which, such as "
            f"{_name(found[0], found)}"
        )
    return found[0]


def _all(places: Iterable[Place]) -> str:
    return listed([str(place) for place in places])


def _name(place: Place, known: Sequence[Place]) -> str:
    """Return the shortest name that means a place and no other."""
    same = [one for one in known if one.key == place.key]
    if len(same) == 1:
        return place.key
    for qualifier in place.qualifiers:
        if qualifier and sum(qualifier in one.qualifiers for one in same) == 1:
            return f"{qualifier}.{place.key}"
    return f"{place.step + 1}.{place.key}"


# Values


def _takes(place: Place, value: Any) -> bool:
    return place.key != "method" and any(fits(value, kind) for kind in place.kinds)


def _values(name: str, given: Any, kinds: Sequence[Any]) -> list[Any]:
    """Return the values of a parameter, text as what the parameter takes."""
    if isinstance(given, str):
        found = list(_parsed(name, given, kinds))
    elif isinstance(given, Iterable) and not isinstance(given, Mapping):
        found = [_python(value) for value in given]
    else:
        raise BadInput(f"vary: the values of {name} must be a list or a range, not {given!r}")
    if not found:
        raise BadInput(f"vary: {name} has no values; name one at least")
    return distinct(found)


def _parsed(name: str, text: str, kinds: Sequence[Any]) -> Iterator[Any]:
    """Read values from text: a TOML list, or items and ranges with commas between them."""
    if text.startswith("["):
        try:
            yield from tomllib.loads(f"x = {text}")["x"]
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"vary: {name}={text} is not a list: {error}") from None
        return
    for item in text.split(","):
        word = item.strip()
        if found := _RANGE.fullmatch(word):
            yield from _range(name, word, found)
        elif word:
            yield _typed(word, kinds)


def _range(name: str, word: str, found: re.Match[str]) -> Iterator[Any]:
    """Yield the numbers of a range, both ends among them."""
    first, last, step = (Decimal(one or "1") for one in found.groups())
    if step <= 0 or last < first:
        raise BadInput(
            f"vary: {name}={word} has no values; write FROM..TO or FROM..TO..STEP, the smaller end "
            "first and a step above 0"
        )
    count = int((last - first) / step) + 1
    if count > MOST_COMBINATIONS:
        raise BadInput(f"vary: {name}={word} has {count:,} values; give a larger step")
    whole = "." not in word.replace("..", "")
    for i in range(count):
        yield int(first + i * step) if whole else float(first + i * step)


def _typed(word: str, kinds: Sequence[Any]) -> Any:
    """Return a word as the first of a number, true or false, or text that a parameter takes."""
    readings: list[Any] = []
    for read in (int, float):
        try:
            readings.append(read(word))
        except ValueError:
            continue
    readings += [_FLAGS[word.lower()]] if word.lower() in _FLAGS else []
    readings.append(word.strip("'\""))
    for one in readings:
        if any(fits(one, kind) for kind in kinds):
            return one
    # The parameter's own rule says what is wrong with it.
    return readings[0]


def _python(value: Any) -> Any:
    """Return a number of numpy as one of Python, which recipes take."""
    return value.item() if hasattr(value, "item") else value
