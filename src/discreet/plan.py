"""The plans that methods make: which keys they have.

One says what a step decided for a column, or, under `joint`, for its columns together; each has a
`kind` that the check knows. What a release's plan and log are made of is in `check.evidence`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import numpy as np


class OfColumn(TypedDict):
    """What `protect` adds to the plan of every column; dates have a unit."""

    precision: NotRequired[Literal["input", "full"]]
    unit: NotRequired[str]
    unit_ns: NotRequired[int]


class RoundingPlan(OfColumn):
    """Points with the number of records at each: between cuts, or multiples of a base.

    `splits` are value, group and count of equal values that are shared out in row order.
    """

    kind: Literal["cuts", "multiples"]
    points: np.ndarray
    counts: np.ndarray
    encoding: NotRequired[str]
    cuts: NotRequired[np.ndarray]
    k: NotRequired[int]
    splits: NotRequired[dict[str, np.ndarray]]
    base: NotRequired[float]
    multiples: NotRequired[np.ndarray]


class ClipPlan(OfColumn):
    """Bounds, and the number of values beyond them."""

    kind: Literal["clip"]
    lower: float | None
    upper: float | None
    below: int
    above: int


class NoisePlan(OfColumn):
    """What the noise of a column is made of; `weights` are those of all columns' draws."""

    kind: Literal["noise"]
    noise: str
    scale: float
    sd: NotRequired[float]
    weights: NotRequired[dict[str, float]]


class PramPlan(OfColumn):
    """Sorted categories and their transition matrix, row after row."""

    kind: Literal["pram"]
    categories: list[Any]
    matrix: np.ndarray


class SourcesPlan(OfColumn):
    """The row that each row's value came from; `window` are the ranks that it may have gone."""

    kind: Literal["sources"]
    rows: np.ndarray
    p: NotRequired[float]
    window: NotRequired[int]


class CentresPlan(OfColumn):
    """The centre of each group of records."""

    kind: Literal["microaggregation"]
    centres: np.ndarray


class CurvePlan(OfColumn):
    """The least standard deviation of a column's noise, and the range that it keeps."""

    kind: Literal["porop"]
    noise_floor: float
    lower: NotRequired[float]
    upper: NotRequired[float]


class LevelsPlan(OfColumn):
    """The level of a column's hierarchy in each search."""

    kind: Literal["generalize"]
    levels: list[int]


class BarePlan(OfColumn):
    """Nothing beyond what was decided for the columns together."""

    kind: Literal["ipso", "mondrian"]


class BareJoint(TypedDict):
    """All is in the plans of the columns."""

    kind: Literal["correlated-noise", "pram", "sources"]


class GroupsJoint(TypedDict):
    """The group of each record; -1 where it was blanked."""

    kind: Literal["microaggregation"]
    k: int
    algorithm: str
    strata: str | None
    groups: np.ndarray
    loss: float
    moves: int


class CurvesJoint(TypedDict):
    """Coefficients and deviations of each chunk; `ties` says what orders equal values."""

    kind: Literal["porop"]
    k: int
    second_k: int
    degrees: np.ndarray
    noise: str
    noise_scale: float
    coefficients: np.ndarray
    deviations: np.ndarray
    ties: NotRequired[Literal["key"]]


class RegressionPart(TypedDict):
    """How records with some of the confidential columns get their values."""

    used: np.ndarray
    intercept: np.ndarray
    coefficients: np.ndarray
    noise: np.ndarray


class RegressionJoint(TypedDict):
    """A regression for each set of confidential columns that records have."""

    kind: Literal["ipso"]
    variant: str
    confidential: list[str]
    centre: np.ndarray
    scale: np.ndarray
    parts: list[RegressionPart]


class RecodingJoint(TypedDict):
    """Groups of records by their nulls, and the confidential columns' distributions."""

    null_policy: str
    groups: list[dict[str, Any]]
    confidential: dict[str, Any]
    trees: dict[str, list[np.ndarray]]


class GeneralizeJoint(RecodingJoint):
    """The columns' hierarchies; the levels and classes of each search are in its group."""

    kind: Literal["generalize"]
    hierarchies: dict[str, Any]


class MondrianJoint(RecodingJoint):
    """Labels and sizes of the classes; the class of each tuple, or of each row."""

    kind: Literal["mondrian"]
    sizes: np.ndarray
    labels: dict[str, Any]
    tuples: NotRequired[dict[str, Any]]
    classes: NotRequired[np.ndarray]
