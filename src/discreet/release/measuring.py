"""The measures that `assess` knows: what each needs, and the figures that it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import utility
from discreet.release.roles import Roles
from discreet.risk import distance_linkage, interval_disclosure, probabilistic_linkage, suda2
from discreet.risk.diversity import diversity_of
from discreet.risk.frequency import ClassSizes, Frequencies, frequencies, record_weights
from discreet.risk.individual import GlobalRisk, household_ids, household_risk_of, risk_of
from discreet.table import kind_of
from discreet.table.pairs import numeric_pairs
from discreet.utility.scores import normalized_score_of

Entry = dict[str, Any]


class LeftOut(Exception):
    """A measure does not apply; the text says why."""


@dataclass
class Tables:
    """The two tables row by row, and what is known of their columns."""

    before: pa.Table
    after: pa.Table
    roles: Roles
    perturbed: Mapping[str, str]  # column -> the step that perturbed it
    whole: pa.Table  # the original with the rows that the release lacks
    rows: np.ndarray | None  # for each row of both the position in the whole; None: in order
    suppressed: np.ndarray  # mask over the whole

    @cached_property
    def shared(self) -> list[str]:
        """Columns of both tables; household numbers are names, not data."""
        names = self.after.column_names
        return [c for c in names if c in self.before.column_names and c != self.roles.household]

    @cached_property
    def quasi(self) -> list[str]:
        """Quasi columns of both tables."""
        return [c for c in self.roles.quasi if c in self.shared]

    @cached_property
    def pairs(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Numeric columns of both tables, NaN where null."""
        return numeric_pairs(self.before, self.after.select(self.shared))

    @cached_property
    def changed_numeric(self) -> list[str]:
        """Numeric columns with a cell that differs."""
        same = (c for c, (x, y) in self.pairs.items() if np.array_equal(x, y, equal_nan=True))
        unchanged = set(same)
        return [c for c in self.pairs if c not in unchanged]

    @cached_property
    def weights(self) -> np.ndarray | None:
        """Sampling weights, which the original holds, whether or not they are released."""
        return record_weights(self.before, self.roles.weight)

    @cached_property
    def frequencies(self) -> tuple[Frequencies, Frequencies]:
        """Counted once for all measures that need them."""
        if not self.quasi:
            raise LeftOut("there is no quasi column in both tables")
        before, after = (
            frequencies(table, self.quasi, weight=self.weights)
            for table in (self.before, self.after)
        )
        return before, after

    def linked(self) -> tuple[pa.Table, pa.Table]:
        """Give the columns that an intruder links by: the quasi ones, else the numbers changed."""
        columns = self.quasi or self.changed_numeric
        if not columns:
            raise LeftOut("there is no quasi column in both tables, and no numeric one differs")
        for column in columns:
            if column not in self.pairs and not self._same_labels(column):
                raise LeftOut(
                    f"'{column}' was recoded: labels that the original does not hold are equally "
                    "far from all that it does; see class_sizes"
                )
        return self.before.select(columns), self.after.select(columns)

    def _same_labels(self, column: str) -> bool:
        """Tell whether every released label of a column is one of the original's."""
        before, after = self.before[column], self.after[column]
        if kind_of(before.type) != kind_of(after.type):
            return False
        known = set(pc.unique(before).to_pylist())
        return set(pc.unique(after).to_pylist()) <= known | {None}

    def too_many_to_link(self, columns: list[str]) -> bool:
        """Tell whether linking takes more than a few seconds, by what was measured."""
        mixed = not set(columns) <= set(self.pairs)
        # A k-d tree serves the worse the more columns there are.
        cost = self.after.num_rows * len(columns) ** 2
        return self.after.num_rows > 100_000 if mixed else cost > 25_000_000

    def changed(self) -> tuple[pa.Table, pa.Table]:
        """Give the numeric columns that differ."""
        if not self.changed_numeric:
            raise LeftOut("no numeric column differs")
        x, y = (pa.table({c: self.pairs[c][side] for c in self.changed_numeric}) for side in (0, 1))
        return x, y


def _class_sizes(t: Tables) -> Entry:
    before, after = (ClassSizes.of(f).to_dict() for f in t.frequencies)
    means = "records that share all quasi columns with few others; unique ones stand out"
    return {"means": means, "columns": t.quasi, "nulls": "value", "before": before, "after": after}


def _individual_risk(t: Tables) -> Entry:
    sides = []
    for found in t.frequencies:
        risk = risk_of(found)
        side = asdict(GlobalRisk.of(risk))
        if t.roles.household in t.before.column_names:
            ids = household_ids(t.before, t.roles.household)
            side["household"] = float(household_risk_of(risk, ids).mean()) if len(risk) else 0.0
        sides.append({"mean": side.pop("value"), **side})
    means = "chance that a record's person is found in the population; expected: how many are"
    basis = "sampling weights" if t.weights is not None else "the file as the population"
    return {"means": means, "basis": basis, "before": sides[0], "after": sides[1]}


def _attackers(t: Tables) -> Entry:
    sides = []
    for found in t.frequencies:
        side = {
            "prosecutor": float((1 / found.sample).max(initial=0.0)),
            "marketer": float((1 / found.sample).mean()) if len(found.sample) else 0.0,
        }
        if found.population is not None:
            population = np.maximum(found.population, found.sample)
            side["journalist"] = float((1 / population).max(initial=0.0))
        sides.append(side)
    means = "largest (prosecutor, journalist) and mean (marketer) chance to pick the right record"
    return {"means": means, "before": sides[0], "after": sides[1]}


def _diversity(t: Tables) -> Entry:
    columns = [c for c in t.roles.confidential if c in t.shared and c not in t.perturbed]
    if not columns:
        raise LeftOut("there is no confidential column in both tables that was not perturbed")
    means = "confidential values in a class: fewest distinct (l), farthest from the table (t)"
    found: dict[str, Entry] = {c: {} for c in columns}
    sides = zip(("before", "after"), (t.before, t.after), t.frequencies, strict=True)
    for when, table, counted in sides:
        # Where a record is alone l is 1 and says no more; before, that is the usual case.
        if when == "after" or counted.sample.min(initial=2) > 1:
            for c in columns:
                found[c][when] = asdict(diversity_of(table[c], c, counted.classes))
    return {"means": means, "columns": found}


def _suda(t: Tables) -> Entry:
    if not t.quasi:
        raise LeftOut("there is no quasi column in both tables")
    sides = []
    for table in (t.before, t.after):
        found = suda2(table, t.quasi, detail=True)
        scored = int((found.scores > 0).sum())
        sides.append({"largest_dis": found.value, "scored": scored, "columns": found.columns})
    means = "records that a few values single out; DIS: chance that a match to one is right"
    return {"means": means, "before": sides[0], "after": sides[1]}


def _interval(t: Tables) -> Entry:
    found = interval_disclosure(*t.changed(), detail=True)
    means = "share of cells within 5 % of a standard deviation of their original"
    return {"means": means, "value": found.value, "columns": found.columns}


def _distance_linkage(t: Tables) -> Entry:
    x, y = t.linked()
    metric = "euclidean" if set(x.column_names) <= set(t.pairs) else "gower"
    # The paper's weaker intruder understates risk, so the headline knows all columns.
    before, after, paper = (
        distance_linkage(x, z, known=known, metric=metric)  # type: ignore[call-overload]
        for z, known in ((x, "all"), (y, "all"), (y, "paper"))
    )
    means = f"share of records found by the nearest in {', '.join(x.column_names)}"
    return {"means": means, "metric": metric, "before": before, "after": after, "paper": paper}


def _probabilistic_linkage(t: Tables) -> Entry:
    x, y = t.linked()
    before, after, paper = (
        probabilistic_linkage(x, z, known=known)
        for z, known in ((x, "all"), (y, "all"), (y, "paper"))
    )
    means = "share of records found by weighing which columns agree (Fellegi-Sunter)"
    return {"means": means, "before": before, "after": after, "paper": paper}


def score_of(t: Tables, risk: dict[str, Entry], loss: dict[str, Entry]) -> float:
    """Give the normalised score from figures that were taken, and linkage by what changed."""
    taken = risk | loss
    needed = ("il_metrics", "il1s", "interval_disclosure")
    missing = [n for n in needed if n not in taken or taken[n]["value"] is None]
    if missing:
        raise LeftOut(f"needs {missing[0]}, which was left out")
    if t.too_many_to_link(t.changed_numeric):
        raise LeftOut("needs distance_linkage, which takes long on so many records")
    return normalized_score_of(
        il=loss["il_metrics"]["value"],
        mean_il1s=loss["il1s"]["value"],
        idr=100 * risk["interval_disclosure"]["value"],
        dld=100 * distance_linkage(*t.changed(), known="all"),
    )


def _il_metrics(t: Tables) -> Entry:
    found = utility.il_metrics(*t.changed(), detail=True)
    return {"means": "mean relative change of cells and moments in percent", **asdict(found)}


def _il1s(t: Tables) -> Entry:
    found = utility.il1s(*t.changed(), normalize=True, detail=True)
    means = "mean absolute change in units of 1.41 standard deviations; 0 is no loss"
    return {"means": means, **asdict(found)}


def _sse_ratio(t: Tables) -> Entry:
    found = utility.sse_ratio(*t.changed(), standardize=True, detail=True)
    return {"means": "squares lost in percent of all, columns weighing alike", **asdict(found)}


def _correlation(t: Tables) -> Entry:
    if len(t.pairs) < 2 or not t.changed_numeric:
        raise LeftOut("no numeric column differs, or there is only one")
    x, y = (pa.table({c: pair[side] for c, pair in t.pairs.items()}) for side in (0, 1))
    found = utility.mean_absolute_correlation(x, y, detail=True)
    means = "how strongly numeric columns are related, 0..1"
    return {"means": means, "before": found.before, "after": found.value}


def _entropy(t: Tables) -> Entry:
    changed = [c for c in t.shared if c in t.changed_numeric or c in _changed_categories(t)]
    if not changed:
        raise LeftOut("no column differs")
    found = utility.entropy(t.before.select(changed), t.after.select(changed), detail=True)
    columns = {name: list(pair) for name, pair in found.columns.items()}
    means = "bits per record in the columns that changed, nulls left out"
    return {"means": means, "before": found.before, "after": found.value, "columns": columns}


def _changed_categories(t: Tables) -> list[str]:
    kept = [c for c in t.shared if c not in t.pairs]
    return [c for c in kept if not t.before[c].equals(t.after[c])]


def _contingency_loss(t: Tables) -> Entry:
    if not _changed_categories(t):
        raise LeftOut("no column of categories differs")
    columns = [c for c in t.shared if c not in t.pairs]
    found = utility.contingency_loss(t.before.select(columns), t.after.select(columns), detail=True)
    means = "share of records to move for two-way tables of categories to be as they were"
    return {"means": means, **asdict(found)}


def _null_rates(t: Tables) -> Entry:
    if not t.quasi:
        raise LeftOut("there is no quasi column in both tables")
    released = t.after.select(t.quasi)
    if t.rows is not None:
        # Records that are not there at all are nulls throughout.
        position = np.full(t.whole.num_rows, -1)
        position[t.rows] = np.arange(len(t.rows))
        released = released.take(pa.array(position, mask=position < 0))
    found = asdict(
        utility.null_rates(t.whole, released, t.quasi, suppressed=t.suppressed, detail=True)
    )
    means = "share of null cells in the quasi columns"
    return {"means": means, "before": found.pop("before"), "after": found.pop("value"), **found}


def _columns(t: Tables) -> Entry:
    found = {}
    for name, sides in t.pairs.items():
        moments = [_moments(side) for side in sides]
        found[name] = {key: [m[key] for m in moments] for key in moments[0]}
    return {"means": "moments and nulls before and after", "columns": found}


def _moments(x: np.ndarray) -> dict[str, Any]:
    present = x[~np.isnan(x)]
    return {
        "mean": float(present.mean()) if len(present) else None,
        "sd": float(present.std(ddof=1)) if len(present) > 1 else None,
        "nulls": len(x) - len(present),
    }


def _eigen(t: Tables) -> Entry:
    means = "relative change of the correlation matrix's eigenvalues, summed"
    return {"means": means, "value": utility.eigen(*t.changed())}


def _correlation_distance(t: Tables) -> Entry:
    means = "distance of the inverse correlation matrices' diagonals, 0..1"
    return {"means": means, "value": utility.correlation_distance(*t.changed())}


def _propensity_mse(t: Tables) -> Entry:
    value = utility.propensity_mse(t.before.select(t.shared), t.after.select(t.shared))
    return {"means": "0: tables cannot be told apart; 0.25: entirely", "value": value}


def _regression_utility(t: Tables) -> Entry:
    found = utility.regression_utility(*_with_target(t), detail=True)
    return {"means": "R squared on original rows of a model of the release", **asdict(found)}


def _classification_utility(t: Tables) -> Entry:
    found = utility.classification_utility(*_with_target(t), detail=True)
    return {"means": "accuracy on original rows of a tree grown on the release", **asdict(found)}


def _with_target(t: Tables) -> tuple[pa.Table, pa.Table, str]:
    target = t.roles.target
    if target is None:
        raise LeftOut("the roles name no target")
    if target not in t.shared:
        raise LeftOut(f"the target '{target}' is not in both tables")
    return t.before.select(t.shared), t.after.select(t.shared), target


# In the order in which they are shown.
RISK: dict[str, Callable[[Tables], Entry]] = {
    "class_sizes": _class_sizes,
    "individual_risk": _individual_risk,
    "attackers": _attackers,
    "diversity": _diversity,
    "suda2": _suda,
    "distance_linkage": _distance_linkage,
    "probabilistic_linkage": _probabilistic_linkage,
    "interval_disclosure": _interval,
}
UTILITY: dict[str, Callable[[Tables], Entry]] = {
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
