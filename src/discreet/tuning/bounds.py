"""Which risk and loss a search goes by, and the largest that are wanted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import BadInput, nearest
from discreet.tuning.structure import STANDARDS

Measure = Callable[[Any, Any], float]

# The names of the risk, of losses whose measure takes two tables, and of scores of both.
RISKS = ("linkage", "informed_linkage", "risk")
# Risks that are promised, and not measured: privacy models of a table.
_PROMISED = ("largest-risk", "average-risk", "sample-uniqueness", "population-uniqueness")
SCORES = ("score", "normalized_score")
LOSSES = (
    "information_loss",
    *SCORES,
    "il_metrics",
    "il1s",
    "sse_ratio",
    "eigen",
    "correlation_distance",
    "contingency_loss",
    "propensity_mse",
)
_BOUND = re.compile(r"\s*([A-Za-z]\w*)\s*<=\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(%?)\s*")


@dataclass(frozen=True)
class Bound:
    """The largest value that a measure may have."""

    name: str
    value: float


def read_risk(given: Any, measure: str | Measure | None = None) -> Bound | None:
    """Read a bound on the risk: text, or a number.

    Examples
    --------
    >>> read_risk("linkage <= 5 %")
    Bound(name='informed_linkage', value=0.05)
    """
    scored = measure in SCORES
    name, known = ("dr", ("dr", "risk")) if scored else ("informed_linkage", RISKS)
    if given is None or isinstance(given, Bound):
        return given
    if _is_number(given):
        return _checked(Bound(name, float(given)), "risk", 100 if scored else 1)
    found = _bound(given, "risk", f"{known[0]} <= {5 if scored else 0.05}")
    if found.name.replace("_", "-") in _PROMISED:
        model = found.name.replace("_", "-")
        raise BadInput(
            f"risk: the search goes by {known[0]}; put {model} under privacy, and every recipe "
            "that it tries promises it"
        )
    if found.name not in known:
        raise BadInput(
            f"risk: there is no risk '{found.name}' to search by; known: " + ", ".join(known)
        )
    return _checked(Bound(name, found.value), "risk", 100 if scored else 1)


def read_loss(given: Any) -> tuple[str | Measure | None, Bound | None]:
    """Read the measure of loss, None for `information_loss`, and a bound on it.

    Examples
    --------
    >>> read_loss("information_loss <= 0.3")
    (None, Bound(name='information_loss', value=0.3))
    >>> read_loss("score")
    ('score', None)
    """
    if given is None or callable(given):
        return given, None
    if isinstance(given, Bound):
        return _measure(given.name), given
    if _is_number(given):
        return None, _checked(Bound("information_loss", float(given)), "loss", 1)
    if isinstance(given, str) and "<" not in given and "=" not in given:
        return _measure(given.strip()), None
    found = _bound(given, "loss", "information_loss <= 0.3")
    measure = _measure(found.name)
    return measure, _checked(found, "loss", 1 if measure is None else math.inf)


def read_standards(given: Any) -> dict[str, float]:
    """Read the largest changes of structure that are allowed."""
    if not isinstance(given, Mapping):
        raise BadInput(f"standards must be a table such as {{correlations = 0.1}}, not {given!r}")
    for name, value in given.items():
        if name not in STANDARDS:
            raise BadInput(f"there is no standard '{name}'; {nearest(name, STANDARDS)}")
        if not _is_number(value) or not value >= 0:
            raise BadInput(f"the standard {name} must be a number of at least 0, not {value!r}")
    return {name: float(value) for name, value in given.items()}


def _measure(name: str) -> str | None:
    if name not in LOSSES:
        raise BadInput(f"loss: there is no measure '{name}'; {nearest(name, LOSSES)}")
    return None if name == "information_loss" else name


def _bound(given: Any, what: str, example: str) -> Bound:
    found = _BOUND.fullmatch(given) if isinstance(given, str) else None
    try:
        name, number, percent = found.groups() if found else ("", "", "")
        return Bound(name, float(number) / (100 if percent else 1))
    except ValueError:
        raise BadInput(f"{what}: {given!r} is not a bound; write it as '{example}'") from None


def _checked(bound: Bound, what: str, most: float) -> Bound:
    if not 0 <= bound.value <= most:
        wanted = "0 or more" if most == math.inf else f"from 0 to {most:g}"
        raise BadInput(f"{what}: the bound on {bound.name} must be {wanted}, not {bound.value:g}")
    return bound


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
