"""What a privacy model promises, in one plain sentence for the reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Whoever shares all values of a step's columns is in one class.
_SENTENCES = {
    "k-anonymity": "every record shares its values with others: {k} or more are alike",
    "alpha-k-anonymity": (
        "{k} or more records are alike, and no value of {column} makes up more than {alpha} of them"
    ),
    "l-diversity": "records that are alike have {l} or more values of {column} among them",
    "t-closeness": (
        "among records that are alike, {column} is distributed nearly as in the table: at most "
        "{t} apart"
    ),
    "beta-likeness": (
        "no value of {column} is more than {beta} times its share in the table more common among "
        "records that are alike"
    ),
    "delta-disclosure": (
        "no value of {column} that records alike have is 2^{delta} times as common among them as "
        "in the table, or that much rarer"
    ),
    "k-map": "{k} or more people of the population share the released values of each record",
    "delta-presence": (
        "of the people in the population who share released values, {minimum:%} to {maximum:%} are "
        "in the table"
    ),
    "largest-risk": "the chance to pick a known person's record is at most {risk:%} for everybody",
    "average-risk": "the chance to pick a known person's record is at most {average:%} on average",
    "sample-uniqueness": "at most {share:%} of the records are the only ones with their values",
    "population-uniqueness": (
        "at most {share:%} of the population are estimated to be the only ones with their values"
    ),
}


class _Told:
    """A parameter, as it is or as a percentage."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __format__(self, spec: str) -> str:
        if spec == "%":
            return f"{100 * self._value:.4g} %"
        return f"{self._value:g}" if isinstance(self._value, float) else str(self._value)


def meaning_of(privacy: Any) -> str:
    """Return what the models of a step promise, a sentence each; empty where none is known.

    Examples
    --------
    >>> meaning_of([{"model": "sample-uniqueness", "share": 0.01}])
    'at most 1 % of the records are the only ones with their values'
    >>> meaning_of({"model": "k-map", "k": 5, "population": 60_324})
    '5 or more people of the population share the released values of each record, by estimate'
    """
    models = privacy if isinstance(privacy, list | tuple) else [privacy]
    return "; ".join(
        _sentence(one) for one in models if isinstance(one, Mapping) and one["model"] in _SENTENCES
    )


def _sentence(model: Mapping[str, Any]) -> str:
    told = {key: _Told(value) for key, value in model.items()}
    said = _SENTENCES[model["model"]].format(**told)
    if model["model"] == "average-risk" and model.get("highest") is not None:
        most = _Told(model.get("records") or 0)
        said += f", and above {told['highest']:%} for at most {most:%} of the records"
    if model["model"] == "l-diversity" and model.get("kind", "distinct") != "distinct":
        said += f", by the {model['kind']} of their counts" * (model["kind"] == "entropy")
        said += ", none of them too common" * (model["kind"] == "recursive")
    if model["model"] == "k-map" and isinstance(model.get("population"), int):
        said += ", by estimate"
    return said
