"""What a person would say of steps: what becomes of a column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.table.words import parts_of

# What is said of a method, and the parameters that it says.
_SAID: dict[str, tuple[str, tuple[str, ...]]] = {
    "oma": ("averaged in groups of {k} or more", ("k",)),
    "rank-swap": ("swapped within {p:g} % of ranks", ("p",)),
    "microaggregation": ("averaged together over groups of {k} or more records", ("k",)),
    "local-suppression": (
        "with cells blanked until {k} or more records share each combination",
        ("k",),
    ),
    "shuffle": ("shuffled", ()),
    "given-cuts": ("rounded to points that were given before", ()),
    "base": ("rounded to multiples of {base:g}", ("base",)),
    "mdav": ("averaged in groups of {k} or more", ("k",)),
    "porop": ("replaced by a smooth curve with noise", ()),
    "lirop": ("replaced by straight lines with noise", ()),
    "ipso": ("replaced by random values that fit the other columns", ()),
    "date-shift": ("moved by up to {days} days", ("days",)),
    "anatomy": ("in a table of its own, by groups with {l} or more values", ("l",)),
    "dp-microaggregation": ("averaged with noise over groups of {k} or more records", ("k",)),
    "safepub": ("at coarser levels, of a random sample, with epsilon = {epsilon:g}", ("epsilon",)),
    "generalize-items": ("with items made coarser or left out", ()),
}
_ROUNDED = {
    "census-drb": "rounded by the rule census-drb, with small counts blank",
    "census-drb-estimates": "rounded to four significant digits",
}
_NOISE = {
    "additive": "noise of {} of the standard deviation",
    "correlated": "correlated noise of {} of the standard deviation",
    "multiplicative": "noise of {} of each value",
    "logarithmic": "logarithmic noise of {}",
    "correlated-logarithmic": "logarithmic noise of {}, alike in related columns",
}
_KEEPING = {
    "generalize": "at levels that keep",
    "mondrian": "in ranges and sets that keep",
    "local-suppression": "with cells blanked until they keep",
}
# What these have that says nothing of the values: with any value, or with this one.
_PLAIN = {"quality": None, "evaluations": None, "improve_moves": None, "suppression_limit": 0.0}
# What a step has besides its parameters, and what would only clutter a sentence.
_UNSAID = ("method", "columns", "promise", "precision", "hierarchies", "spikes")


def steps_words(steps: Sequence[Mapping[str, Any]]) -> str:
    """Say what steps make of a column, one after the other.

    Examples
    --------
    >>> steps_words([{"method": "oma", "k": 5}, {"method": "rank-swap", "p": 8}])
    'averaged in groups of 5 or more, then swapped within 8 % of ranks'
    >>> steps_words([])
    'kept'
    """
    return ", then ".join(map(step_words, steps)) or "kept"


def step_words(step: Mapping[str, Any]) -> str:
    """Say what a step makes of a column.

    Examples
    --------
    >>> step_words({"method": "noise", "kind": "multiplicative", "scale": 0.15})
    'with noise of 15 % of each value'
    >>> step_words({"method": "noise", "scale": 0.2, "match_ranks": True})
    'reordered by noise of 20 % of the standard deviation'
    >>> step_words({"method": "vmdav", "k": 3})
    'treated by vmdav (k = 3)'
    >>> step_words({"method": "mondrian", "privacy": [{"model": "k-anonymity", "k": 5}]})
    'in ranges and sets that keep k-anonymity with k = 5'
    """
    words, said = _in_short(step)
    more = [
        _parameter(key, value)
        for key, value in step.items()
        if key not in (*said, *_UNSAID) and not isinstance(value, Mapping)
    ]
    return f"{words} ({', '.join(more)})" if more else words


def step_in_short(step: Mapping[str, Any]) -> str:
    """Say what a step makes of a column, without its finer parameters.

    Examples
    --------
    >>> step_in_short({"method": "microaggregation", "k": 5, "algorithm": "mdav"})
    'averaged together over groups of 5 or more records'
    >>> step_in_short({"method": "round-counts", "rule": "cms"})
    'with small counts blank by the rule cms'
    >>> step_in_short({"method": "top-bottom", "upper": 5000.0})
    'with values above 5000 set to it'
    """
    if step["method"] == "top-bottom":
        ends = {"below": step.get("lower"), "above": step.get("upper")}
        said = [f"{side} {end:.12g}" for side, end in ends.items() if isinstance(end, int | float)]
        if said:
            return f"with values {' or '.join(said)} set to it"
    return _in_short(step)[0]


def _in_short(step: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Say what is most important, and name the parameters that are said."""
    method = step["method"]
    if method == "noise":
        kind, scale = step.get("kind", "additive"), step.get("scale", 0.1)
        if not isinstance(scale, Mapping):
            does = "reordered by" if step.get("match_ranks") else "with"
            words = f"{does} {_NOISE[kind].format(_percent(scale))}"
            return words, ("kind", "scale", "match_ranks")
    if method == "round-counts":
        rule = step["rule"]
        if isinstance(rule, Mapping):
            return "rounded by published rules", ("rule",)
        return _ROUNDED.get(rule, f"with small counts blank by the rule {rule}"), ("rule",)
    if method == "pram" and isinstance(step.get("retention"), float):
        does = "drawn anew" if step.get("invariant") else "changed"
        share = _percent(1 - step["retention"])
        return f"{does} in {share} of records", ("retention", "invariant")
    if method == "generalize" and not step.get("privacy"):
        return "recoded to coarser values", ("levels",)
    if method in _KEEPING and step.get("privacy"):
        unsaid = [key for key, value in _PLAIN.items() if value in (None, step.get(key))]
        return f"{_KEEPING[method]} {_models(step['privacy'])}", ("privacy", *unsaid)
    words, said = _SAID.get(method, ("", ()))
    if words and all(isinstance(step.get(key), int | float) for key in said):
        drawn = step.get("window") == "drawn"
        words = words.replace("within", "within about") if drawn else words
        return words.format(**step), (*said, "window")
    return f"treated by {method}", ()


def _models(privacy: Any) -> str:
    return " and ".join(map(_model, privacy if isinstance(privacy, list) else [privacy]))


def _parameter(key: str, value: Any) -> str:
    if key == "privacy":
        return _models(value)
    return f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"


def _model(model: Any) -> str:
    """Say a privacy model: l-diversity with l = 3, column = illness."""
    if not isinstance(model, Mapping):
        return str(model)
    if (said := _over_all(model)) is not None:
        return said
    if model["model"] == "k-map":
        return _k_map(model)
    if model["model"] == "profitability":
        return _intruder(model)
    if model["model"] == "delta-presence":
        ends = f"{100 * model['minimum']:g} % to {100 * model['maximum']:g} %"
        return f"delta-presence with {ends} of the population of each class in the table"
    hidden = ("model", "population")
    given = [_parameter(key, value) for key, value in model.items() if key not in hidden]
    return f"{model['model']} with {', '.join(given)}"


def _k_map(model: Mapping[str, Any]) -> str:
    """Say where a class has k records.

    Examples
    --------
    >>> _k_map({"model": "k-map", "k": 5})
    'k-map with k = 5 records in the population'
    >>> _k_map({"model": "k-map", "k": 5, "population": 60_324, "significance": 0.05})
    'k-map with k = 5 records in a population of 60,324, as estimated at a level of 5 %'
    """
    said = f"k-map with k = {model['k']} records in"
    if not isinstance(number := model.get("population"), int):
        return f"{said} the population"
    level = model.get("significance") or 0.05
    return f"{said} a population of {number:,}, as estimated at a level of {100 * level:g} %"


def _over_all(model: Mapping[str, Any]) -> str | None:
    """Say a model of the risk of all records; None where it is none.

    Examples
    --------
    >>> _over_all({"model": "average-risk", "average": 0.05, "highest": 0.2, "records": 0.01})
    'an average risk of 5 % at most, with 1 % of the records at most above 20 %'
    >>> _over_all({"model": "sample-uniqueness", "share": 0.01})
    '1 % of the records unique at most'
    """
    name = model.get("model")
    if name == "largest-risk":
        return f"a risk of {_percent(model['risk'])} at most for every record"
    if name == "average-risk":
        said = f"an average risk of {_percent(model['average'])} at most"
        if model.get("highest") is not None:
            share, highest = _percent(model.get("records") or 0), _percent(model["highest"])
            said += f", with {share} of the records at most above {highest}"
        return said
    if name == "sample-uniqueness":
        return f"{_percent(model['share'])} of the records unique at most"
    if name == "population-uniqueness":
        by = model.get("estimator", "dankar")
        return f"{_percent(model['share'])} of the population unique at most, estimated by {by}"
    return None


def _intruder(model: Mapping[str, Any]) -> str:
    """Say what an intruder and a publisher count.

    Examples
    --------
    >>> _intruder({"cost": 4, "gain": 300, "loss": 300, "benefit": 1200.0})
    'no class that costs more than it is worth (an attack on a record costs 4 and gains 300; a \
record is worth 1200, and costs 300 where it is found)'
    >>> _intruder({"cost": 4, "gain": 300, "loss": 300, "benefit": 1200, "attack": False})
    'classes so large that no attack pays (on a record it costs 4 and gains 300)'
    >>> money = {"cost": 4, "gain": 300, "loss": 300, "benefit": 1200, "attack": False}
    >>> _intruder(money | {"population": "register.parquet"})
    'classes so large in the population that no attack pays (on a record it costs 4 and gains 300)'
    """
    cost, gain, loss, benefit = (f"{model[x]:g}" for x in ("cost", "gain", "loss", "benefit"))
    where, among = "", ""
    if model.get("population") is not None or model.get("journalist"):
        where, among = " in the population", " among those of the population with its labels"
    if not model.get("attack", True):
        return (
            f"classes so large{where} that no attack pays (on a record it costs {cost} and gains "
            f"{gain})"
        )
    return (
        f"no class that costs more than it is worth (an attack on a record costs {cost} and gains "
        f"{gain}; a record is worth {benefit}, and costs {loss} where it is found{among})"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def level_words(spec: Mapping[str, Any], level: int, labels: Sequence[str], name: str) -> str:
    """Say what a level of a hierarchy makes of a column's values, which get these labels.

    Examples
    --------
    >>> level_words({"kind": "intervals", "widths": [5, 10]}, 2, [], "age")
    'in 10-year groups'
    >>> level_words({"kind": "intervals", "widths": [5, 10]}, 1, [], "hours")
    'in groups of width 5'
    >>> level_words({"kind": "dates", "levels": ["month", "year"]}, 1, [], "born")
    'by month'
    >>> level_words({"kind": "prefix", "stars": [2]}, 1, [], "zip")
    'without the last 2 characters'
    >>> level_words({"kind": "table", "rows": []}, 1, ["north", "south"], "region")
    'in 2 broader groups'
    >>> level_words({"kind": "table", "rows": []}, 1, ["20-29", "30-39"], "age")
    'in 10-year groups'
    >>> level_words({"kind": "table", "rows": []}, 1, ["2009-11", "2009-12"], "month")
    'in 2 broader groups'
    """
    kind = spec["kind"]
    widths = spec.get("widths") if kind == "intervals" else None
    width = widths[level - 1] if widths else _width(labels)
    if width:
        said = f"{width:,.12g}"
        return f"in {said}-year groups" if "age" in parts_of(name) else f"in groups of width {said}"
    if kind == "dates":
        return f"by {spec['levels'][level - 1]}"
    if kind == "prefix" and spec.get("stars"):
        hidden = spec["stars"][level - 1]
        side = {"right": "last", "left": "first"}[spec.get("side", "right")]
        many = f"{hidden} characters" if hidden > 1 else "character"
        return f"without the {side} {many}"
    return f"in {len(labels)} broader group{'s' * (len(labels) != 1)}"


def _width(labels: Sequence[str]) -> int | None:
    """Return the width of ranges of whole numbers that all have the same, such as 20-29."""
    ranges = [re.fullmatch(r"(\d+)\s*-\s*(\d+)", label) for label in labels]
    widths = {int(one[2]) - int(one[1]) + 1 for one in ranges if one}
    # 2009-12 is a month.
    same = len(widths) == 1 and all(ranges) and min(widths) > 0
    return widths.pop() if same else None


def plan_words(told: Mapping[str, Any]) -> str:
    """Say which plan was applied, and how many steps it decided.

    Examples
    --------
    >>> told = {"release": "1a2b3c", "made": "2025-11-18T09:00:00", "sha256": "9f86d081884c7d65"}
    >>> plan_words(told | {"kept": {"1": ["levels"]}, "anew": {"2": "its noise is drawn anew"}})
    'of release 1a2b3c of 2025-11-18 (plan.json 9f86d081884c): step 1 kept, step 2 decided on anew'
    """
    of = f"of release {told['release']} of {told['made'][:10]} (plan.json {told['sha256'][:12]})"
    kinds = (("kept", "kept"), ("anew", "decided on anew"))
    said = [
        f"step{'s' * (len(told[kind]) > 1)} {', '.join(told[kind])} {words}"
        for kind, words in kinds
        if told[kind]
    ]
    return f"{of}: {', '.join(said) or 'it has no steps'}"


def aside_words(log: Mapping[str, Any]) -> str:
    """Say how many records were set aside before any step, where some were.

    Examples
    --------
    >>> told = {"records": 31, "of": 300, "groups": 10, "of_groups": 100, "what": "households"}
    >>> aside_words({"holdout": told})
    '31 of 300 records (10 of 100 households) were set aside as a holdout'
    """
    told = log.get("holdout")
    if told is None:
        return ""
    groups = f" ({told['groups']:,} of {told['of_groups']:,} {told['what']})"
    groups *= told["what"] != "records"
    return f"{told['records']:,} of {told['of']:,} records{groups} were set aside as a holdout"
