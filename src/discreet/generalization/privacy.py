"""Privacy models bound to a table: what every class of its release must keep.

A class is the set of records that share their quasi-identifiers. p is the distribution of a
confidential column in the class, q over all records. A null confidential cell never counts towards
l, and is left out of p and q elsewhere: a class without any value passes those models.

Where units are counted, k is a number of distinct units, and a unit counts once in p, and once in
q, for each value that it has there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput, nearest
from discreet.generalization._distinct import counted, distinct
from discreet.generalization._holdings import Holdings, find_holdings, how_many, pairs
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.models import (
    BetaLikeness,
    DeltaDisclosure,
    LDiversity,
    TCloseness,
    smallest_class,
)
from discreet.generalization.population import DeltaPresence, refuse_table, table_of
from discreet.generalization.profit import attacks_of
from discreet.kernels import privacy as kernels
from discreet.kernels.privacy import Rules
from discreet.table.classes import encode
from discreet.table.columns import kind_of
from discreet.table.listed import places_in


@dataclass(frozen=True)
class Bound:
    """Privacy models, ready to be checked on the classes of one table.

    Attributes
    ----------
    rules : Rules
        For `discreet.kernels.privacy.holds`.
    codes : ndarray of int32, shape (columns, rows)
        The place of each confidential value on the common axis; -1 where null.
    columns : list of str
        What each row of `codes` holds; a column with a hierarchy is numbered apart.
    holdings : Holdings or None
        Where units are counted.
    """

    rules: Rules
    codes: np.ndarray
    columns: list[str]
    holdings: Holdings | None = None

    def part(self, rows: Any) -> Bound:
        """Take some rows, by number or mask; None are all."""
        if rows is None:
            return self
        held = None if self.holdings is None else self.holdings.part(rows)
        return replace(self, codes=np.ascontiguousarray(self.codes[:, rows]), holdings=held)


def bind(
    models: Sequence[Any],
    columns: Mapping[str, pa.ChunkedArray],
    n: int,
    weights: np.ndarray | None = None,
    units: np.ndarray | None = None,
    no_population: str = "here only the records are looked at; use generalize",
    counted_too: Sequence[str] = (),
    labelled: bool = False,
) -> Bound:
    """Return confidential values numbers, and pack the models.

    Parameters
    ----------
    models : sequence of privacy models
    columns : mapping of str to pyarrow.ChunkedArray
        At least those that the models name, over all records.
    n : int
        Rows in all.
    weights : ndarray of int64, optional
        The records that each row stands for; one each where not given.
    units : ndarray of int64, optional
        The unit of each row as 0, 1, ..., where k counts units.
    no_population : str
        Why models that count in the table of a population are refused; empty where they are not.
    counted_too : sequence of str
        Columns whose values are counted, though no model looks at them.
    labelled : bool
        True where classes are of labels of hierarchies, which some models look at.

    Raises
    ------
    BadInput
        Where k is above n or l above the number of values: no class could hold.

    Examples
    --------
    >>> from discreet.generalization import KAnonymity
    >>> ill = pa.chunked_array([["flu", "acne", None, "flu"]])
    >>> bound = bind([KAnonymity(2), LDiversity(2, column="ill")], {"ill": ill}, 4)
    >>> bound.rules.k, bound.rules.least.tolist(), bound.codes.tolist()
    (2, [2], [[0, 1, -1, 0]])
    """
    if no_population:
        refuse_table(models, no_population)
    there = n if weights is None else int(weights.sum())
    there = there if units is None else how_many(units)
    k = smallest_class(models, there)
    if k > there:
        counted_as = "records" if units is None else "units"
        raise BadInput(f"k = {k} is above the number of {counted_as}, {there}; use a smaller k")
    axis = _Axis(weights, units)
    kinds: list[tuple[int, int, int, int]] = []
    numbers: list[tuple[float, float]] = []
    for model in models:
        if not hasattr(model, "column"):
            continue
        if model.column not in columns:
            raise BadInput(
                f"the {model.model} model names '{model.column}', which is no column; "
                + nearest(model.column, columns)
            )
        j = axis.place(model, columns[model.column])
        kind, least, bounds = _as_numbers(model)
        if isinstance(model, DeltaDisclosure):
            least = axis.fewest(j, float(model.delta))
        axis.need(j, least, model)
        if kind != kernels.DISTINCT:
            start, levels = axis.trees.get(j, (0, 0))
            kinds.append((kind, j, start, levels))
            numbers.append(bounds)
    for name in counted_too:
        axis.place(_Counted(name), columns[name])
    rules = Rules(
        k,
        np.array(axis.least, np.int64),
        np.array(kinds, np.int64).reshape(-1, 4),
        np.array(numbers, np.float64).reshape(-1, 2),
        np.cumsum([0, *axis.sizes], dtype=np.int64),
        np.concatenate([np.empty(0), *axis.q]),
        np.concatenate([np.empty(0, np.int32), *axis.tree]).astype(np.int32),
        -1 if units is None else sum(axis.sizes),
        *_in_population(models, sum(axis.sizes)),
        *_profit(models, units, labelled, sum(axis.sizes)),
    )
    places = [
        np.where(c >= 0, c + first, -1)
        for c, first in zip(axis.codes, rules.offsets[:-1], strict=True)
    ]
    codes = np.array(places, np.int32).reshape(len(places), n)
    holdings = None if units is None else find_holdings(units, codes, len(rules.q))
    return Bound(rules, codes, axis.names, holdings)


def _in_population(models: Sequence[Any], place: int) -> tuple[int, int, float, float]:
    """Return where the population is counted, if it is, and what it and a class's share must be."""
    if table_of(models) is None:
        return -1, 0, 0.0, 1.0
    shares = [m for m in models if isinstance(m, DeltaPresence)]
    return (
        place,
        max([m.k for m in models if hasattr(m, "k") and table_of([m])], default=0),
        max([float(m.minimum) for m in shares], default=0.0),
        min([float(m.maximum) for m in shares], default=1.0),
    )


@dataclass(frozen=True)
class _Counted:
    """A column that is counted."""

    column: str


def _profit(
    models: Sequence[Any], units: np.ndarray | None, labelled: bool, place: int
) -> tuple[np.ndarray, int]:
    """Return the figures of the model that looks at what classes pay, empty without one.

    Also where records are counted among which one is found, if that is in the population.
    """
    model = attacks_of(models)
    if model is None:
        return np.empty(0), -1
    if not labelled:
        raise BadInput(
            "profitability looks at how much of their information records lose, which is told by "
            "hierarchies: use generalize, or attack = false, for classes so large that no attack "
            "pays"
        )
    if units is not None:
        raise BadInput(
            "profitability counts records and not units; set attack = false, for so many units "
            "that no attack on one pays"
        )
    return model.figures, place if model.journalist else -1


class _Axis:
    """The confidential columns side by side, as they are met."""

    def __init__(self, weights: np.ndarray | None, units: np.ndarray | None) -> None:
        self.weights, self.units = weights, units
        self.names: list[str] = []
        self.codes: list[np.ndarray] = []
        self.sizes: list[int] = []
        self.least: list[int] = []
        self.q: list[np.ndarray] = []
        self.tree: list[np.ndarray] = []
        self.trees: dict[int, tuple[int, int]] = {}
        self._known: dict[tuple[str, Any], int] = {}

    def place(self, model: Any, column: pa.ChunkedArray) -> int:
        """Return the position of a model's column, which is added where it is new."""
        name, ordered = model.column, getattr(model, "distance", None) == "ordered"
        hierarchy = getattr(model, "hierarchy", None)
        order = getattr(model, "order", None)
        key = (name, order or ordered if hierarchy is None else hierarchy)
        if key not in self._known:
            if hierarchy is not None:
                codes, size = self._climb(hierarchy, column, name)
            else:
                codes, size = ranks(column, name, order) if ordered else encode(column, name)
            held = _spread(codes, size, self.weights, self.units)
            if held.sum() == 0:
                raise BadInput(f"the confidential column '{name}' holds only nulls")
            self._known[key] = len(self.codes)
            self.names.append(name)
            self.codes.append(codes)
            self.sizes.append(size)
            self.least.append(0)
            self.q.append(held / held.sum())
        return self._known[key]

    def _climb(
        self, hierarchy: Hierarchy, column: pa.ChunkedArray, name: str
    ) -> tuple[np.ndarray, int]:
        ladder, codes = hierarchy.bind_and_encode(column, name, self.weights)
        start = sum(len(part) for part in self.tree)
        self.trees[len(self.codes)] = (start, ladder.height)
        self.tree.append(np.asarray(ladder.maps[: ladder.height], np.int32).ravel())
        return codes.astype(np.int64), len(ladder.leaves)

    def fewest(self, j: int, delta: float) -> int:
        """Return how many distinct values delta-disclosure implies; 0 where a class may have none.

        The shares of a class's values add up to 1, and each is below 2^delta q.
        """
        if (self.codes[j] < 0).any():
            return 0
        most = np.cumsum(np.sort(self.q[j])[::-1]) * _two_to(delta)
        return int(np.argmax(most > 1 - 1e-9)) + 1

    def need(self, j: int, least: int, model: Any) -> None:
        """Note how many distinct values a class must have."""
        there = int((self.q[j] > 0).sum())
        if least > there:
            raise BadInput(
                f"l = {model.l:g} is above the number of values of '{model.column}', {there}; "
                "use a smaller l"
            )
        self.least[j] = max(self.least[j], least)


def _spread(
    codes: np.ndarray, size: int, weights: np.ndarray | None, units: np.ndarray | None
) -> np.ndarray:
    """Count the records of each value, or the distinct units; the code of a null is -1."""
    if units is not None:
        return counted(codes[pairs(units, codes)[1]], size)
    there = codes >= 0
    return counted(codes[there], size, None if weights is None else weights[there])


def _as_numbers(model: Any) -> tuple[int, int, tuple[float, float]]:
    """Return a model's kind, the distinct values that it implies, and its bounds."""
    if isinstance(model, LDiversity):
        kind = {"distinct": 0, "entropy": 1, "recursive": 2}[model.kind]
        second = 1.0 if model.estimator == "grassberger" else float(model.c or 0)
        # Entropy is at most log(distinct values); an estimate of it may be above.
        return kind, math.ceil(model.l * (1 - 1e-9)), (float(model.l), second)
    if isinstance(model, TCloseness):
        kind = {"equal": 3, "ordered": 4, "hierarchical": 5}[model.distance]
        return kind, 0, (float(model.t), 0.0)
    if isinstance(model, BetaLikeness):
        return kernels.ENHANCED if model.enhanced else kernels.BETA, 0, (float(model.beta), 0.0)
    if isinstance(model, DeltaDisclosure):
        return kernels.DELTA, 0, (_two_to(model.delta), 0.0)
    return kernels.ALPHA, 0, (float(model.alpha), 0.0)


def ranks(
    column: pa.ChunkedArray, name: str, order: Sequence[str] | None = None
) -> tuple[np.ndarray, int]:
    """Return the values of a column numbers in their order, or a list's; nulls are -1."""
    kind = kind_of(column.type)
    if order is not None:
        column = places_in(order, column, name)
    elif kind == "ordered":
        column = column.unify_dictionaries()
        chunks = [chunk.indices.cast(pa.int64()) for chunk in column.chunks]
        column = pa.chunked_array(chunks, pa.int64())
    elif kind not in ("numeric", "boolean"):
        raise BadInput(
            f"column '{name}' is {kind} and has no order; give its values as order = [...], or "
            "use distance = 'equal' or 'hierarchical'"
        )
    codes, size = encode(column, name)
    first = np.zeros(size, np.int64)
    present = np.flatnonzero(codes >= 0)
    first[codes[present]] = present
    rank = np.full(size + 1, -1)  # the code of a null, -1, picks the last
    rank[pc.sort_indices(column.take(pa.array(first))).to_numpy()] = np.arange(size)
    return rank[codes], size


def distribution(
    column: pa.ChunkedArray,
    name: str,
    weights: np.ndarray | None = None,
    units: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Count the values of a confidential column over all records, for the plan.

    `weights` are the records of each row, and `units` the unit of each, where these are counted.

    Returns
    -------
    dict
        `values` as text in their order, and `counts`: of records, or of the distinct units that
        hold each value.

    Examples
    --------
    >>> pay = pa.chunked_array([[20, 10, None, 10]])
    >>> found = distribution(pay, "pay")
    >>> found["values"].tolist(), found["counts"].tolist()
    (['10', '20'], [2, 1])
    """
    found = distinct(column, name)
    return {
        "values": found.values.cast(pa.string()).to_numpy(zero_copy_only=False),
        "counts": _spread(found.codes, len(found.values), weights, units),
    }


def trees(
    models: Sequence[Any], columns: Mapping[str, pa.ChunkedArray]
) -> dict[str, list[np.ndarray]]:
    """Write down the hierarchies of models, for the plan.

    Returns
    -------
    dict
        From the position of a model with a hierarchy, as text, to the label codes by level: those
        of its column's values, in their order.

    Examples
    --------
    >>> ill = pa.chunked_array([["flu", "acne", "flu"]])
    >>> near = TCloseness(0.5, column="ill", distance="hierarchical", hierarchy=Hierarchy.flat())
    >>> {i: [codes.tolist() for codes in tree] for i, tree in trees([near], {"ill": ill}).items()}
    {'0': [[0, 1], [0, 0]]}
    """
    found: dict[str, list[np.ndarray]] = {}
    for position, model in enumerate(models):
        if (hierarchy := getattr(model, "hierarchy", None)) is not None:
            column = columns[model.column]
            ladder = hierarchy.bind(column, model.column)
            places = ladder.places(distinct(column, model.column), model.column)
            found[str(position)] = [*ladder.maps[:, places]]
    return found


def _two_to(delta: float) -> float:
    """Return 2^delta; no ratio of two shares reaches 2^1000, and 2^1024 is no float."""
    return float(2.0 ** min(float(delta), 1000.0))
