"""What releases can be ranked by: each risk and loss with its unit and the way that is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import BadInput

LINKAGE, INFORMATION = "linkage", "information_loss"


@dataclass(frozen=True)
class Axis:
    """A figure that releases are ranked by.

    Attributes
    ----------
    said : str
        Its name in words.
    unit : str
        `"%"` is a share of one, shown in percent; `"percent"` is in percent already.
    more_is_better : bool
        True where a larger figure is safer, or keeps more.
    """

    said: str
    unit: str
    more_is_better: bool = False


RISKS = {
    LINKAGE: Axis("share of records found", "%"),
    "class_sizes.smallest": Axis("smallest class", "records", more_is_better=True),
    "class_sizes.unique": Axis("records in classes under 2", "records"),
    "class_sizes.under_3": Axis("records in classes under 3", "records"),
    "class_sizes.under_5": Axis("records in classes under 5", "records"),
    "individual_risk.largest": Axis("individual risk, largest", "%"),
    "individual_risk.mean": Axis("individual risk, average", "%"),
    "individual_risk.expected": Axis("individual risk, expected finds", "people"),
    "individual_risk.household": Axis("household risk, average", "%"),
    "attackers.prosecutor": Axis("prosecutor, largest", "%"),
    "attackers.journalist": Axis("journalist, largest", "%"),
    "attackers.marketer": Axis("marketer, average", "%"),
    "suda2.largest_dis": Axis("SUDA, largest DIS", "%"),
    "suda2.scored": Axis("SUDA, records scored", "records"),
    "distance_linkage": Axis("linkage by distance", "%"),
    "probabilistic_linkage": Axis("linkage by probability", "%"),
    "interval_disclosure": Axis("interval disclosure", "%"),
}
# Not the mean absolute correlation: a release may spoil it either way.
LOSSES = {
    INFORMATION: Axis("share of information lost", "%"),
    "il_metrics": Axis("information loss by moments", "percent"),
    "il1s": Axis("information loss IL1s", "× 1.41 sd"),
    "sse_ratio": Axis("squares lost", "percent"),
    "entropy": Axis("entropy of changed columns", "bits", more_is_better=True),
    "contingency_loss": Axis("two-way tables moved", "%"),
    "null_rates": Axis("nulls in quasi columns", "%"),
    "eigen": Axis("change of eigenvalues", ""),
    "correlation_distance": Axis("correlation distance", ""),
    "propensity_mse": Axis("propensity score error", ""),
    "regression_utility": Axis("R squared of a model", "", more_is_better=True),
    "classification_utility": Axis("accuracy of a tree", "%", more_is_better=True),
}


def axis_of(measure: str, kind: str) -> Axis:
    """Find what a `"risk"` or `"loss"` is; refuse what is none.

    Examples
    --------
    >>> axis_of("class_sizes.smallest", "risk").more_is_better
    True
    """
    known: Mapping[str, Axis] = {"risk": RISKS, "loss": LOSSES}[kind]
    if measure not in known:
        raise BadInput(f"'{measure}' is no {kind} to rank by; choose from {', '.join(known)}")
    return known[measure]
