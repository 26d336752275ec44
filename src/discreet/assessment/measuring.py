"""The measures that `assess` knows: what each needs, and the figures that it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import utility
from discreet.assessment.facts import Facts
from discreet.assessment.rows import LeftOut
from discreet.risk import distance_linkage, probabilistic_linkage, suda2
from discreet.risk.frequency import ClassSizes
from discreet.risk.individual import GlobalRisk, risk_of
from discreet.utility.scores import normalized_score_of

Entry = dict[str, Any]


def _class_sizes(t: Facts) -> Entry:
    before, after = (ClassSizes.of(f).to_dict() for f in t.frequencies)
    means = "records that share all quasi columns with few others; unique ones stand out"
    return {"means": means, "columns": t.quasi, "nulls": "value", "before": before, "after": after}


def _individual_risk(t: Facts) -> Entry:
    sides = []
    for found in t.frequencies:
        risk = risk_of(found)
        side = asdict(GlobalRisk.of(found, risk))
        household = t.household_risk(risk)
        if household is not None:
            side["household"] = household
        sides.append({"mean": side.pop("value"), **side})
    means = "chance that a record's person is found in the population; expected: how many are"
    basis = "sampling weights" if t.weighted else "the file as the population"
    return {"means": means, "basis": basis, "before": sides[0], "after": sides[1]}


def _attackers(t: Facts) -> Entry:
    sides = []
    for found in t.frequencies:
        side = {
            "prosecutor": float((1 / found.sample).max(initial=0.0)),
            "marketer": found.mean(1 / found.sample),
        }
        if found.population is not None:
            population = np.maximum(found.population, found.sample)
            side["journalist"] = float((1 / population).max(initial=0.0))
        sides.append(side)
    means = "largest (prosecutor, journalist) and mean (marketer) chance to pick the right record"
    return {"means": means, "before": sides[0], "after": sides[1]}


def _diversity(t: Facts) -> Entry:
    columns = [c for c in t.roles.confidential if c in t.shared and c not in t.perturbed]
    if not columns:
        raise LeftOut("there is no confidential column in both tables that was not perturbed")
    means = "confidential values in a class: fewest distinct (l), farthest from the table (t)"
    found: dict[str, Entry] = {c: {} for c in columns}
    for side, when in enumerate(("before", "after")):
        # Where a record is alone l is 1 and says no more; before, that is the usual case.
        if when == "after" or t.frequencies[side].sample.min(initial=2) > 1:
            for c in columns:
                found[c][when] = asdict(t.diversity(side, c))
    return {"means": means, "columns": found}


def _suda(t: Facts) -> Entry:
    t.need_quasi()
    tables, sides = t.rows(), []
    for table in (tables.before, tables.after):
        found = suda2(table, t.quasi, detail=True)
        scored = int((found.scores > 0).sum())
        sides.append({"largest_dis": found.value, "scored": scored, "columns": found.columns})
    means = "records that a few values single out; DIS: chance that a match to one is right"
    return {"means": means, "before": sides[0], "after": sides[1]}


def _interval(t: Facts) -> Entry:
    t.need_changed()
    found = t.interval_disclosure()
    means = "share of cells within 5 % of a standard deviation of their original"
    return {"means": means, "value": found.value, "columns": found.columns}


def _distance_linkage(t: Facts) -> Entry:
    x, y = t.to_link.linked()
    metric = "euclidean" if set(x.column_names) <= set(t.numeric) else "gower"
    # The paper's weaker intruder understates risk, so the headline knows all columns.
    before, after, paper = (
        distance_linkage(x, z, known=known, metric=metric)  # type: ignore[call-overload]
        for z, known in ((x, "all"), (y, "all"), (y, "paper"))
    )
    means = f"share of records found by the nearest in {', '.join(x.column_names)}"
    found = {"before": before, "after": after, "paper": paper}
    return _of_sample(t, {"means": means, "metric": metric, **found})


def _probabilistic_linkage(t: Facts) -> Entry:
    x, y = t.to_link.linked()
    before, after, paper = (
        probabilistic_linkage(x, z, known=known)
        for z, known in ((x, "all"), (y, "all"), (y, "paper"))
    )
    means = "share of records found by weighing which columns agree (Fellegi-Sunter)"
    return _of_sample(t, {"means": means, "before": before, "after": after, "paper": paper})


def _of_sample(t: Facts, entry: Entry) -> Entry:
    sampled = t.sampled(entry["after"])
    if sampled:
        entry["means"] += (
            f", looked for among a sample of {sampled['sample']:,} of {sampled['of']:,}: there an "
            "intruder finds at least as many as in the whole, having fewer to confuse a record with"
        )
    return entry | sampled


def score_of(t: Facts, risk: dict[str, Entry], loss: dict[str, Entry]) -> float:
    """Return the normalised score from figures that were taken, and linkage by what changed."""
    taken = risk | loss
    needed = ("il_metrics", "il1s", "interval_disclosure")
    missing = [n for n in needed if n not in taken or taken[n]["value"] is None]
    if missing:
        raise LeftOut(f"needs {missing[0]}, which was left out")
    if t.to_link.too_many_to_link(t.changed_numeric):
        raise LeftOut("needs distance_linkage, which takes long on so many records")
    return normalized_score_of(
        il=loss["il_metrics"]["value"],
        mean_il1s=loss["il1s"]["value"],
        idr=100 * risk["interval_disclosure"]["value"],
        dld=100 * distance_linkage(*t.to_link.changed(), known="all"),
    )


def _il_metrics(t: Facts) -> Entry:
    t.need_changed()
    means = "mean relative change of cells and moments in percent"
    return {"means": means, **asdict(t.il_metrics())}


def _il1s(t: Facts) -> Entry:
    t.need_changed()
    means = "mean absolute change in units of 1.41 standard deviations; 0 is no loss"
    return {"means": means, **asdict(t.il1s())}


def _sse_ratio(t: Facts) -> Entry:
    t.need_changed()
    means = "squares lost in percent of all, columns weighing alike"
    return {"means": means, **asdict(t.sse_ratio())}


def _correlation(t: Facts) -> Entry:
    if len(t.numeric) < 2 or not t.changed_numeric:
        raise LeftOut("no numeric column differs, or there is only one")
    found = t.mean_absolute_correlation()
    means = "how strongly numeric columns are related, 0..1"
    return {"means": means, "before": found.before, "after": found.value}


def _entropy(t: Facts) -> Entry:
    changed = [c for c in t.shared if c in t.changed_numeric or c in t.changed_categories]
    if not changed:
        raise LeftOut("no column differs")
    found = t.entropy(changed)
    columns = {name: list(pair) for name, pair in found.columns.items()}
    means = "bits per record in the columns that changed, nulls left out"
    return {"means": means, "before": found.before, "after": found.value, "columns": columns}


def _contingency_loss(t: Facts) -> Entry:
    if not t.changed_categories:
        raise LeftOut("no column of categories differs")
    found = t.contingency_loss([c for c in t.shared if c not in t.numeric])
    means = "share of records to move for two-way tables of categories to be as they were"
    return {"means": means, **asdict(found)}


def _null_rates(t: Facts) -> Entry:
    t.need_quasi()
    found = asdict(t.null_rates())
    means = "share of null cells in the quasi columns"
    return {"means": means, "before": found.pop("before"), "after": found.pop("value"), **found}


def _columns(t: Facts) -> Entry:
    found = {}
    for name in t.numeric:
        before, after = t.moments(name)
        found[name] = {key: [before[key], after[key]] for key in before}
    return {"means": "moments and nulls before and after", "columns": found}


def _eigen(t: Facts) -> Entry:
    means = "relative change of the correlation matrix's eigenvalues, summed"
    return {"means": means, "value": utility.eigen(*t.rows().changed())}


def _correlation_distance(t: Facts) -> Entry:
    means = "distance of the inverse correlation matrices' diagonals, 0..1"
    return {"means": means, "value": utility.correlation_distance(*t.rows().changed())}


def _propensity_mse(t: Facts) -> Entry:
    tables = t.rows()
    value = utility.propensity_mse(*(s.select(t.shared) for s in (tables.before, tables.after)))
    return {"means": "0: tables cannot be told apart; 0.25: entirely", "value": value}


def _regression_utility(t: Facts) -> Entry:
    found = utility.regression_utility(*_with_target(t), detail=True)
    return {"means": "R squared on original rows of a model of the release", **asdict(found)}


def _classification_utility(t: Facts) -> Entry:
    found = utility.classification_utility(*_with_target(t), detail=True)
    return {"means": "accuracy on original rows of a tree grown on the release", **asdict(found)}


def _with_target(t: Facts) -> tuple[pa.Table, pa.Table, str]:
    target = t.roles.target
    if target is None:
        raise LeftOut("the roles name no target")
    if target not in t.shared:
        raise LeftOut(f"the target '{target}' is not in both tables")
    tables = t.rows()
    return tables.before.select(t.shared), tables.after.select(t.shared), target


# In the order in which they are shown.
RISK: dict[str, Callable[[Facts], Entry]] = {
    "class_sizes": _class_sizes,
    "individual_risk": _individual_risk,
    "attackers": _attackers,
    "diversity": _diversity,
    "suda2": _suda,
    "distance_linkage": _distance_linkage,
    "probabilistic_linkage": _probabilistic_linkage,
    "interval_disclosure": _interval,
}
UTILITY: dict[str, Callable[[Facts], Entry]] = {
    "il_metrics": _il_metrics,
    "il1s": _il1s,
    "sse_ratio": _sse_ratio,
    "mean_absolute_correlation": _correlation,
    "entropy": _entropy,
    "contingency_loss": _contingency_loss,
    "null_rates": _null_rates,
    "columns": _columns,
    "eigen": _eigen,
    "correlation_distance": _correlation_distance,
    "propensity_mse": _propensity_mse,
    "regression_utility": _regression_utility,
    "classification_utility": _classification_utility,
}
# These count classes, which mean nothing once quasi values were exchanged or drowned in noise.
BY_FREQUENCY = {"class_sizes", "individual_risk", "attackers", "diversity", "suda2"}
# Taken only where asked for by name: slow on large tables, or of use to few.
ON_REQUEST = {
    "suda2": "it looks at all sets of quasi columns",
    "eigen": "mean_absolute_correlation and il_metrics say the same more plainly",
    "correlation_distance": "mean_absolute_correlation and il_metrics say the same more plainly",
    "propensity_mse": "it trains a model",
    "regression_utility": "it trains a model",
    "classification_utility": "it trains a model",
}
