"""Whether a plan decided what its recipe asked for: strengths, kinds and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from discreet.check.differential import demanded as demanded_by_budget
from discreet.check.differential import ledger_of, noise_scale
from discreet.check.evidence import StepPlan
from discreet.check.suppression import demanded
from discreet.recipe.recipe import Step

# What a plan should say, and what it says: name, recipe's value, plan's value.
Pairs = Iterator[tuple[str, Any, Any]]
# The highest degree that regression on ordered partitions tries where it chooses.
_HIGHEST = 6


# Parameters that are not one for each column where they are mappings, or only then.
_WHOLE = ("subsets", "epsilon")


def not_as_asked(step: Step, plan: StepPlan) -> str | None:
    """Say where a step's plan differs from the recipe's parameters, if it does.

    A method that is not known here cannot have done what was asked.
    """
    if step.method not in ASKED:
        return f"the check does not know the method {step.method}, so it proves nothing of its plan"
    given = step.parameters()
    kind, pairs = _JOINT if given.get("joint") else ASKED[step.method]
    # Of what kind the whole is decides how it is replayed, so that another must not pass.
    together, wanted = plan.get("joint", {}).get("kind"), _together(step, kind)
    if together != wanted:
        return f"the step's plan is of the kind {together}, not {wanted}"
    for name in step.columns:
        mine = {
            key: value.get(name) if isinstance(value, Mapping) and key not in _WHOLE else value
            for key, value in given.items()
        }
        found = plan["columns"][name]["kind"]
        if found != kind:
            return f"the plan of column '{name}' is of the kind {found}, not {kind}"
        for what, asked, decided in pairs(mine, plan, name):
            if not np.array_equal(asked, decided):
                return f"the plan's {what} in column '{name}' is {decided}, the recipe's {asked}"
    return None


def _together(step: Step, kind: str) -> str | None:
    """Return the kind of what a step decides for its columns together, if it does."""
    if kind == "noise":
        return "correlated-noise" if "correlated" in step.parameters()["kind"] else None
    return (
        None
        if kind in ("cuts", "multiples", "counts", "clip") or step.method == "rank-swap"
        else kind
    )


def _groups(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    """Compare groups of k records; of a k by a rule the plan alone tells what it came to."""
    column = plan["columns"][name]
    if not isinstance(given["k"], str):
        yield "k", given["k"], column["k"]
    yield "k records in each group", True, bool(np.min(column["counts"]) >= column["k"])
    yield "encoding", given["encoding"], column["encoding"]
    yield from _points(given, column)
    if given["keep_ties"]:
        yield "splitting of equal values", False, "splits" in column


def _parts(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    """Compare parts; a column of few values has fewer points than asked for."""
    column = plan["columns"][name]
    points = given.get("n_points")
    if given.get("ties", "merge") != "merge" and isinstance(points, int):
        # Twice as many quantiles coincide wherever so many do.
        low, high = (points, 2 * points) if given["ties"] == "raise_c" else (1, points)
        yield "c as ties allow", True, low <= column["c"] <= high
        points = column["c"]
    if points is not None and not isinstance(points, str):
        spikes = len(column.get("spikes", ()))
        yield "n_points kept", True, len(column["points"]) - spikes <= points
    yield "min_count kept", True, bool(np.min(column["counts"]) >= given["min_count"])
    yield "encoding", given["encoding"], column["encoding"]
    yield from _points(given, column)


def _points(given: dict[str, Any], column: dict[str, Any]) -> Pairs:
    """Compare what stands for the parts; of the kinds of centres a plan tells only the drawn."""
    drawn = "resampled-mean"
    yield "drawing of points", given["representative"] == drawn, "representative" in column
    if given["spikes"] == "group":
        yield "keeping of spikes", False, "spikes" in column


def _multiples(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    column = plan["columns"][name]
    if given["base"] is not None:
        yield "base", float(given["base"]), column["base"]
    elif given["bases"] == "nice":
        digits = Decimal(repr(column["base"])).normalize().as_tuple().digits
        yield "base is nice", True, digits in [(1,), (2,), (2, 5), (5,)]
    elif given["bases"] != "smallest":
        yield "base among bases", True, column["base"] in [float(base) for base in given["bases"]]
    elif "none_below" in column:
        yield "base from none_below on", True, column["none_below"] <= column["base"]
    yield "points at multiples of the base", True, _at_multiples(column)
    if given["min_attraction"] is not None and given["encoding"] == "group":
        kept = bool(np.min(column["counts"]) >= given["min_attraction"])
        yield "min_attraction kept", True, kept
    # Plans of before there was a choice have neither.
    yield "rounding", given["rounding"], column.get("rounding", "nearest")
    yield "ends", given["ends"], column.get("ends", "closed")
    yield "encoding", given["encoding"], column["encoding"]


def _at_multiples(column: dict[str, Any]) -> bool:
    """Tell whether points are whole multiples, but for rounding to the decimals that they have."""
    points = np.asarray(column["points"], dtype=np.float64)
    numbers = np.asarray(column["multiples"], dtype=np.float64)
    decimals = max(_decimals(point) for point in points.tolist())
    # Released with single precision, a number has 24 bits.
    slack = 0.5 * 10.0**-decimals + 2.0**-23 * np.abs(points)
    near = np.abs(points - numbers * column["base"]) <= slack
    return points.shape == numbers.shape and bool((near & (numbers == np.floor(numbers))).all())


def _decimals(x: float) -> int:
    """Count the decimals of a point; of single precision, as it is written there."""
    with np.errstate(over="ignore"):
        single = np.float32(x)
    # Compared as doubles: a double beside a number of single precision would be cast to that.
    shown = str(single) if float(single) == x else repr(x)
    return max(0, -int(Decimal(shown).normalize().as_tuple().exponent))


def _given_cuts(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    """Compare cuts and points, which may be rounded to the decimals of the column."""
    column, kept = plan["columns"][name], given["kept"] or []
    points = np.asarray(column["points"], dtype=np.float64)
    wanted = np.array([*given["points"], *kept], dtype=np.float64)
    yield "cuts", np.array(given["cuts"], dtype=np.float64), np.asarray(column["cuts"])
    yield "number of points", len(wanted), len(points)
    slack = 0.5 * 10.0 ** -max(map(_decimals, points.tolist())) + 2.0**-23 * np.abs(points)
    yield "points", True, bool((np.abs(points - wanted) <= slack).all())
    yield "values that are kept", np.array(kept, np.float64), np.asarray(column.get("spikes", []))
    yield "encoding", given["encoding"], column["encoding"]


def _swap(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    column = plan["columns"][name]
    yield "p", float(given["p"]), column["p"]
    yield "window", given["window"], "drawn" if "jump" in column else "fixed"


def _shuffle(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    """Compare whether columns keep together; a null, whose source is itself, goes with none."""
    if not given["together"]:
        return
    mine, first = (
        np.asarray(column["rows"])
        for column in (plan["columns"][name], next(iter(plan["columns"].values())))
    )
    row = np.arange(len(mine))
    yield "together", True, not ((mine != first) & (mine != row) & (first != row)).any()


def _noise(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    column = plan["columns"][name]
    yield "kind", given["kind"], column["noise"]
    yield "scale", given["scale"], column["scale"]
    if "weights" in column:
        # Correlations of a column with itself are 1, so that the noise has its own size.
        size = np.linalg.norm(list(column["weights"].values())) if column["weights"] else 0.0
        wanted = given["scale"] * column.get("sd", 1.0)
        yield "size of the noise", True, bool(np.isclose(size, wanted, rtol=1e-6))
    yield "match_ranks", given["match_ranks"], column.get("match_ranks", False)


def _clip(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    for side in ("lower", "upper"):
        bound = given[side]
        endless = bound is None or np.isinf(bound)
        yield side, None if endless else float(bound), plan["columns"][name][side]


def _counts(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    yield "rule", given["rule"], plan["columns"][name]["rule"]


def _shift(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    for what in ("days", "keep_weekday"):
        yield what, given[what], plan["joint"][what]


def _porop(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    joint = plan["joint"]
    yield "k", given["k"], joint["k"]
    yield "second_k", given["second_k"] or given["k"], joint["second_k"]
    degree = given.get("degree", 1)
    if isinstance(degree, str):
        # The plan tells what each degree loses and discloses: the lowest mean is taken.
        tried = min(_HIGHEST, max(1, joint["second_k"] // 2 - 1))
        chunks = len(joint["deviations"])
        figures = [np.asarray(joint.get(name, ())) for name in ("losses", "risks")]
        yield "figures of degrees", [tried * chunks] * 2, [one.size for one in figures]
        degree = 1 + np.add(*figures).reshape(chunks, tried).argmin(axis=1)
        yield "number of degrees", chunks, len(joint["degrees"])
    yield "degree", np.broadcast_to(degree, len(joint["degrees"])), joint["degrees"]
    yield "noise", given["noise"], joint["noise"]
    yield "noise_scale", given["noise_scale"], joint["noise_scale"]
    column = plan["columns"][name]
    yield "noise_floor above 0", given["noise_floor"] > 0, column["noise_floor"] > 0
    yield "keep_range", given["keep_range"], "lower" in column
    yield "normalise", given["normalise"], "column" if "width" in column else "none"


def _ipso(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    yield "variant", given["variant"], plan["joint"]["variant"]
    yield "confidential", list(given["confidential"]), list(plan["joint"]["confidential"])


def _pram(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    column = plan["columns"][name]
    categories = [_key(category) for category in column["categories"]]
    m = len(categories)
    matrix = np.asarray(column["matrix"], dtype=np.float64).reshape(m, m)
    if given["matrix"] is not None and not given["invariant"]:
        asked = [[given["matrix"].get(i, {}).get(j, 0.0) for j in categories] for i in categories]
        yield "matrix", True, bool(np.allclose(asked, matrix, atol=1e-9))
    elif given["matrix"] is None:
        stays = np.diag(matrix)
        least = given["retention"] if m > 1 else 1.0
        # An invariant matrix also sends values to themselves by chance.
        same = stays >= least - 1e-9 if given["invariant"] else np.abs(stays - least) < 1e-9
        yield "retention kept", True, bool(same.all())
        if least < 1:
            yield "retention below 1", True, bool((stays < 1 - 1e-12).any())


def _generalize(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    policy = given["null_policy"] if given["privacy"] else "value"
    yield "null_policy", policy, plan["joint"]["null_policy"]
    if not given["privacy"]:
        yield "records suppressed", 0, sum(one["suppressed"] for one in plan["joint"]["groups"])
    for group in plan["joint"]["groups"]:
        known = group["treatment"] in ("search", "suppress", "append")
        yield "treatment of a group known", True, known
        if group["treatment"] == "search":
            within = group["suppressed"] <= given["suppression_limit"] * group["rows"] + 1e-9
            yield "suppression within its limit", True, within
        if not given["local"]:
            yield "more than one round", False, len(group["rounds"]) > 1
        for one in group["rounds"]:
            level = one["levels"][name]
            asked = given["levels"]
            if isinstance(asked, Mapping):  # of each group; without nulls, all are in one
                own = "without nulls" if group["group"] == "all" else group["group"]
                asked = asked.get(own)
            low, high = asked if isinstance(asked, list) else (asked, asked)
            within = asked is None or low <= level <= high
            yield f"level {level} among those allowed", True, within


def _items(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    for key in ("k", "m", "separator"):
        yield key, given[key], plan["columns"][name][key]


def _mondrian(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    yield "null_policy", given["null_policy"], plan["joint"]["null_policy"]
    # Where equal records may be told apart, the plan has the class of each row.
    yield "strict", given["strict"], "tuples" in plan["joint"]


def _suppression(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    joint = plan["joint"]
    yield "null_policy", given["null_policy"], joint["null_policy"]
    demands = {frozenset(one["columns"]): one["k"] for one in joint["demands"]}
    asked = demanded(list(plan["columns"]), given)
    yield "demands", True, demands == {frozenset(names): k for names, k in asked.items()}
    if name in (given["fixed"] or ()):
        yield "blanks, of a fixed column,", 0, plan["columns"][name]["blanked"]
    if given["record_cost"] is None:
        left = any((np.asarray(joint[part]["blanked"]) < 0).any() for part in ("whole", "some"))
        yield "leaving out of records", False, left


def _microaggregation(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    yield "k", given["k"], plan["joint"]["k"]
    yield "algorithm", given["algorithm"], plan["joint"]["algorithm"]
    yield "strata", given["strata"], plan["joint"].get("strata")


def _anatomy(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    for what in ("l", "group", "null_policy", "small_group", "confidential"):
        yield what, given[what], plan["joint"][what]


def _safepub(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    joint = plan["joint"]
    k, words = demanded_by_budget(given)
    yield "k", k, joint["k"]
    yield "words that sample a record", words, int(joint["words"])
    for what, amount in ledger_of(given).items():
        yield what, float(amount), joint["ledger"][what]
    yield "null_policy", given["null_policy"], joint["null_policy"]
    yield "level", joint["levels"][name], plan["columns"][name]["levels"][0]
    if given["levels"] is not None:
        yield "level", given["levels"], joint["levels"][name]


def _private_centres(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    joint, column = plan["joint"], plan["columns"][name]
    yield "k", given["k"], joint["k"]
    yield "bounds", [float(bound) for bound in given["bounds"]], [column["low"], column["high"]]
    columns = len(plan["columns"])
    scale = noise_scale(given, name, len(joint["groups"]), columns)
    yield "scale of the noise", str(scale), column["noise_scale"]


def _clusters(given: dict[str, Any], plan: StepPlan, name: str) -> Pairs:
    """Compare groups of records over all columns; each pattern of nulls has one of its own."""
    joint = plan["joint"]
    groups = np.asarray(joint["groups"])
    centres = [column["centres"] for column in plan["columns"].values()]
    nulls = np.isnan(np.array([[np.nan if c is None else c for c in column] for column in centres]))
    patterns = len(np.unique(nulls, axis=1).T)
    yield "n_points kept", True, len(centres[0]) <= max(given["n_points"], patterns)
    yield "min_count", given["min_count"], joint["k"]
    sizes = np.bincount(groups[groups >= 0])
    yield "min_count kept", True, bool(sizes.min(initial=joint["k"]) >= joint["k"])
    if joint["representative"] != "resampled":
        yield "representative", given["representative"], joint["representative"]
    yield "points from samples", "n_quantiles" in given, joint["representative"] == "resampled"


def _key(category: Any) -> str:
    """Name a category as a recipe's keys do, which are text: true, 3, north."""
    whole = isinstance(category, float) and category.is_integer()
    text = str(int(category) if whole else category)
    return text.lower() if isinstance(category, bool | np.bool_) else text


# Of what treats its columns together where `joint` says so.
_JOINT = ("microaggregation", _clusters)
# The kind of each column's plan, and what is compared. What else a recipe says, such as what stands
# for a group or how a search goes, a plan does not tell.
ASKED: dict[str, tuple[str, Callable[[dict[str, Any], StepPlan, str], Pairs]]] = {
    "anatomy": ("anatomy", _anatomy),
    "base": ("multiples", _multiples),
    "chimerge": ("cuts", _parts),
    "date-shift": ("shift", _shift),
    "dp-microaggregation": ("private-centres", _private_centres),
    "equal-frequency": ("cuts", _parts),
    "equal-width": ("cuts", _parts),
    "generalize": ("generalize", _generalize),
    "generalize-items": ("items", _items),
    "given-cuts": ("cuts", _given_cuts),
    "ipso": ("ipso", _ipso),
    "kmeans": ("cuts", _parts),
    "local-suppression": ("local-suppression", _suppression),
    "lirop": ("porop", _porop),
    "mdav": ("cuts", _groups),
    "mdlp": ("cuts", _parts),
    "microaggregation": ("microaggregation", _microaggregation),
    "mondrian": ("mondrian", _mondrian),
    "noise": ("noise", _noise),
    "oma": ("cuts", _groups),
    "porop": ("porop", _porop),
    "pram": ("pram", _pram),
    "rank-swap": ("sources", _swap),
    "resampling": ("cuts", _parts),
    "round-counts": ("counts", _counts),
    "safepub": ("safepub", _safepub),
    "shuffle": ("sources", _shuffle),
    "top-bottom": ("clip", _clip),
    "vmdav": ("cuts", _groups),
}
