"""The plans that methods make: which keys they have.

One says what a step decided for a column, or, under `joint`, for its columns together; each has a
`kind` that the check knows. What a release's plan and log are made of is in `check.evidence`.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np


class ColumnPlan(TypedDict, total=False):
    """What was decided for a column.

    `anatomy`, `ipso`, `mondrian` and `shift` have only the kind.
    """

    kind: str
    # What `protect` adds to every one; dates have a unit.
    precision: str
    unit: str
    unit_ns: int
    # `cuts` and `multiples`: points with the number of records at each, and of distinct units where
    # k counts these. `splits` are value, group and count of equal values that are shared out in row
    # order. `spikes` are values that stay what they are, whatever the cuts; their points come last.
    points: np.ndarray
    counts: np.ndarray
    units: np.ndarray
    spikes: np.ndarray
    # Of `oma` where units have several records: loss, as a share of what one group would lose.
    loss: float
    loss_counting_rows: float
    encoding: str
    # Of `equal-frequency`, the number of quantile parts that was used. Of `resampling`, the parts
    # that samples were drawn from, and how many of them had means drawn from their normal limit.
    c: int
    parts: int
    parts_by_limit: int
    # Where points were drawn: the re-sampled mean.
    representative: str
    cuts: np.ndarray
    k: int
    splits: dict[str, np.ndarray]
    # Of `multiples`: the base, and what no smaller one than that keeps `min_attraction`; where the
    # ends are open, values beyond the outermost multiples go to these.
    base: float
    none_below: float
    rounding: str
    ends: str
    multiples: np.ndarray
    # `counts`: the rule that they are rounded by, and the number of cells that it hides.
    rule: str
    hidden: int
    # `clip`: bounds, and the number of values beyond them; `porop` has the range that it keeps.
    lower: float | None
    upper: float | None
    below: int
    above: int
    # `noise`: what it is made of; `weights` are those of all columns' draws. With `match_ranks` it
    # only decides which row gets which of the column's values.
    noise: str
    scale: float
    sd: float
    weights: dict[str, float]
    match_ranks: bool
    # `pram`: sorted categories and their transition matrix, row after row.
    categories: list[Any]
    matrix: np.ndarray
    # `sources`: the row that each row's value came from; `window` are the ranks that it may go,
    # `jump` those that it goes on average where it may go any number.
    rows: np.ndarray
    first: np.ndarray  # the first row of each household or unit, where it is treated once for each
    p: float
    window: int
    jump: float
    # `microaggregation`: the centre of each group of records.
    centres: np.ndarray
    # `private-centres`: the same with noise, of a scale as a fraction, between `low` and `high`.
    noise_scale: str
    high: float
    # `porop`: the least standard deviation of the noise; the ends of the column where these bring
    # it to [0, 1] first.
    noise_floor: float
    low: float
    width: float
    # `generalize` and `safepub`: the level of the column's hierarchy in each search, and what the
    # column's values made of a hierarchy that depends on them, as a recipe has it.
    levels: list[int]
    hierarchy: dict[str, Any]
    # `items`: what each item of a set becomes, None where it is left out.
    m: int
    separator: str | None
    items: list[str]
    labels: list[str | None]
    # `local-suppression`: the cells that were blanked.
    blanked: int


class JointPlan(TypedDict, total=False):
    """What was decided for all columns; correlated noise, `pram` and `sources` have the kind alone.

    `groups` and `confidential` are of another type in each kind.
    """

    kind: str
    # `microaggregation`: `groups` has the group of each record; -1 where it was blanked.
    k: int
    algorithm: str
    strata: str | None
    groups: Any
    loss: float
    moves: int
    # What stands for a group, where it need not be the mean; "resampled": the plan alone tells.
    representative: str
    # `porop`: coefficients and deviations of each chunk; where degrees are chosen, the loss and the
    # risk of every degree that was tried, chunk by chunk; `ties` says what orders equal values.
    second_k: int
    degrees: np.ndarray
    noise: str
    noise_scale: float
    coefficients: np.ndarray
    deviations: np.ndarray
    losses: np.ndarray
    risks: np.ndarray
    ties: str
    # `ipso`: a regression for each set of confidential columns that records have.
    variant: str
    confidential: Any
    centre: np.ndarray
    scale: np.ndarray
    parts: list[dict[str, np.ndarray]]
    # `shift`: the largest, and whether by whole weeks.
    days: int
    keep_weekday: bool
    # `generalize` and `mondrian`: groups of records by their nulls, and the confidential columns'
    # distributions. The levels and classes of each search of `generalize` are in its group.
    null_policy: str
    trees: dict[str, list[np.ndarray]]
    hierarchies: dict[str, Any]
    # Where a model looks at a population: the records of the sample, what a class needs, and how
    # many the population has.
    population: dict[str, int]
    # The leaves of each column, a null counted as one, where classes are judged by what they pay.
    leaves: dict[str, int]
    # `mondrian`: labels and sizes of the classes; the class of each tuple, or of each row.
    sizes: np.ndarray
    labels: dict[str, Any]
    tuples: dict[str, Any]
    classes: np.ndarray
    # `safepub`: the words, of 2^64, that sample a record, how many of how many rows are sampled,
    # what was spent, and the levels; `k` and the `sizes` of the classes that are released.
    words: str
    rows: int
    sampled: int
    ledger: dict[str, float]
    levels: dict[str, int]
    # `anatomy`: `groups` has the number of each record's group, 0 where it is suppressed.
    l: int  # noqa: E741
    group: str
    small_group: str
    # `local-suppression`: which columns, by their place in the step as bits, are blanked in all
    # records of a tuple, or in those with a drawn word; -1 where these are left out.
    demands: list[dict[str, Any]]
    whole: dict[str, np.ndarray]
    some: dict[str, np.ndarray]
