"""Multivariate microaggregation: MDAV, V-MDAV, CBFS, and a refinement that goes well below them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput, nearest
from discreet.method import RowBound, as_arrow, as_given, unit_codes
from discreet.microaggregation._blocks import SAMPLE, algorithm, exact_up_to, group
from discreet.microaggregation._centres import centres, planned, released
from discreet.microaggregation._parts import parts
from discreet.microaggregation._refine import Refinement, loss_now, progress
from discreet.microaggregation._space import (
    Column,
    Space,
    check_refinable,
    coordinates,
    count_units,
    encode,
    loss,
    space,
    units_of,
)
from discreet.outcome import Given, Outcome, Rounder
from discreet.parameters import Constraints, number, whole
from discreet.plan import ColumnPlan, JointPlan
from discreet.table import Numbers, kind_of, numbers
from discreet.trace import Trace

Algorithm = Literal["mdav", "vmdav", "cbfs"]
SmallPattern = Literal["blank", "error"]


class Microaggregation(RowBound):
    """Replace records by the centre of a group of at least k similar ones, over several columns.

    Parameters
    ----------
    k : int
        Fewest records of a group; with `units`, fewest distinct units. A group then takes the
        nearest records until it has k units, which may be more than 2k-1 records.
    algorithm : {"mdav", "vmdav", "cbfs"}
        Groups of k around the records farthest from the centre of those that are left and farthest
        from these; groups of k to 2k-1; groups of k around the records farthest from the centre of
        all. What is left at the end makes one group of k to 2k-1, or joins the nearest.
    refine : float
        Seconds to lower the loss by local search. Ctrl-C ends it early, with the best so far.
    refine_moves : int, optional
        Moves of the local search, instead of seconds: the same seed then gives the same groups.
        A move takes some neighbouring groups apart and puts their records together anew.
    gamma : float
        Of "vmdav": how far a record may be from a group that it joins, in distances to its
        nearest other record.
    block_size : int, optional
        Larger tables are cut into blocks of at most so many records first. Where not given, 250,000
        with up to 6 columns, 100,000 with up to 10, and 25,000 with more.
    strata : str, optional
        A column that records of a group have in common. It is not treated.
    small_pattern : {"blank", "error"}
        What becomes of records that share their pattern of nulls (and their stratum) with fewer
        than k: null in all columns, or an error. Where fewer than k records would then be null in
        all columns, or are from the start, some more are blanked too, or it is an error.
    weights : mapping of str to float, optional
        How much a column's squared distances count (with categories: distances), against those of
        others; 1 where not given.
    random_state : int, RandomState instance or None
        For the refinement.

    Attributes
    ----------
    groups_ : ndarray of int
        The group of each record, -1 where it was blanked.
    loss_ : float
        100 * sum of squares within groups / total sum of squares, of z-scores.
    moves_ : int
        Moves of the refinement.
    plan_ : dict
        `groups`, `loss`, `moves`, and under `columns` each group's centre.

    See Also
    --------
    discreet.rounding.OMA : one column at a time, where k per value is enough.

    Notes
    -----
    Numbers are compared as z-scores by Euclidean distance. With categories among the columns it is
    Gower's: the difference in ranges for numbers, in ranks for ordered categories, and 0 or 1 for
    others. The centre of a category is the most frequent one, the first in order of several; that
    of an ordered one the lower median.

    Examples
    --------
    Three companies are alike, and so are three others:

    >>> import numpy as np
    >>> companies = np.array([[1, 10], [50, 99], [2, 12], [3, 14], [52, 93], [54, 90]])
    >>> grouped = Microaggregation(k=3).fit(companies)
    >>> grouped.groups_
    array([0, 1, 0, 0, 1, 1])
    >>> Microaggregation(k=3).fit_transform(companies)
    array([[ 2., 12.],
           [52., 94.],
           [ 2., 12.],
           [ 2., 12.],
           [52., 94.],
           [52., 94.]])
    """

    recipe_name: ClassVar[str] = "microaggregation"
    anew: ClassVar[str] = "its groups are of the earlier records"
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "mixed"
    budgets: ClassVar[tuple[str, ...]] = ("refine", "refine_moves")
    blanks: ClassVar[bool] = True
    averages: ClassVar[bool] = True
    in_words: ClassVar[str] = "replaced by the centre of a group of similar records"
    caveat: ClassVar[str] = (
        "values are centres of groups of similar records: means are kept, variances come out too "
        "small, correlations among the columns treated together come out too strong, those with "
        "other columns too weak, and results for small subgroups mislead"
    )
    published: ClassVar[tuple[str, ...]] = ("k",)
    constraints: ClassVar[Constraints] = {
        "k": whole(1),
        "refine": number(least=0),
        "refine_moves": whole(0, optional=True),
        "gamma": number(least=0),
        "weights": number(
            above=0,
            called="the weight of column '{column}'",
            hint="; leave a column without weight out",
            optional=True,
            only_by_column=True,
        ),
    }

    def __init__(
        self,
        k: int,
        algorithm: Algorithm = "mdav",
        *,
        refine: float = 0.0,
        refine_moves: int | None = None,
        gamma: float = 0.2,
        block_size: int | None = None,
        strata: str | None = None,
        small_pattern: SmallPattern = "blank",
        weights: Mapping[str, float] | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.algorithm = algorithm
        self.refine = refine
        self.refine_moves = refine_moves
        self.gamma = gamma
        self.block_size = block_size
        self.strata = strata
        self.small_pattern = small_pattern
        self.weights = weights
        self.random_state = random_state

    @property
    def is_random(self) -> bool:
        """True where it refines."""
        return self.refine > 0 or bool(self.refine_moves)

    @property
    def promise(self) -> str | None:
        """Every released tuple, nulls included, occurs at least k times."""
        return "k-per-tuple"

    @property
    def reads(self) -> Sequence[str]:
        """The strata."""
        return () if self.strata is None else (self.strata,)

    def check_params(self) -> None:
        """Refuse two budgets, and blocks that are too small to be grouped."""
        super().check_params()
        if self.refine_moves is not None and self.refine > 0:
            raise BadInput("give refine (seconds) or refine_moves, not both")
        whole(2 * self.k, optional=True).check("block_size", self.block_size)

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse to treat the column of strata."""
        super().check_treated(columns)
        if self.strata in columns:
            raise BadInput(f"column '{self.strata}' cannot be treated and give the strata")

    def _run(self, given: Given) -> Outcome:
        """Group the records and replace them by their groups' centres."""
        columns = given.columns
        encoded = encode(columns, self._weights(columns))
        everyone = np.arange(len(next(iter(encoded.values())).values))
        units = units_of(given.units, everyone)
        n = count_units(units, everyone)
        if n < self.k:
            what = "records" if units is None else "units"
            raise BadInput(f"{n} {what} cannot make a group of k = {self.k}; lower k")
        if self.is_random:
            check_refinable(encoded)
        where = space(encoded, units)
        strata = None if self.strata is None else given.others[self.strata]
        far = (where.points**2).sum(axis=1)
        rows = parts(encoded, strata, self.k, self.small_pattern, far, units)
        labels, figures = self._group(encoded, where, rows)
        search, trace = None, None
        if self.is_random:
            search, trace = self._refine(encoded, labels, rows, given.draws, units)
        fixed: dict[str, Any] = {}
        if search is not None:
            labels = search.labels
            if search.moves != self.refine_moves:
                fixed = {"refine": 0.0, "refine_moves": search.moves}
        kept = labels >= 0
        labels[kept] = np.unique(labels[kept], return_inverse=True)[1]
        lost, moves = loss(encoded, labels), search.moves if search else 0
        joint: JointPlan = {
            "kind": "microaggregation",
            "k": int(self.k),
            "algorithm": self.algorithm,
            "strata": self.strata,
            "groups": labels,
            "loss": lost,
            "moves": moves,
        }
        new, plans = _replace(columns, encoded, labels, given.rounded)
        figures |= {"loss": lost, "groups": int(labels.max()) + 1, "moves": moves}
        figures["blanked_records"] = int((~kept).sum())
        if trace is not None and moves:
            figures["trace"] = trace.to_dict()
        return Outcome(new, plans, joint, figures=figures, fixed=fixed)

    def fit(self, X: Any, y: Any = None, units: Any = None) -> Microaggregation:
        """Group the records and keep the groups, like `fit_transform`; there is no `transform`."""
        self.fit_transform(X, y, units)
        return self

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> Any:
        """Group the records of a table or array, and replace them.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null. The column that `strata` names is passed through.
        y : ignored
        units : array of shape (n_samples,), optional
            The person or household of each row, where k counts these and not rows.

        Returns
        -------
        ndarray or table
            float64 where all columns are numbers; else a table of the kind of X.
        """
        self.check_params()
        table = as_arrow(self, X, reset=True)
        if self.strata is not None and self.strata not in table.column_names:
            known = nearest(self.strata, table.column_names)
            raise BadInput(f"there is no column '{self.strata}' for strata; {known}")
        sources: dict[str, Numbers] = {}
        columns: dict[str, Any] = {}
        for name in table.column_names:
            if name == self.strata:
                continue
            columns[name] = table[name]
            if kind_of(table[name].type) == "numeric":
                sources[name] = numbers(table[name], name)
                columns[name] = sources[name].values
        if not columns:
            raise BadInput(f"column '{self.strata}' gives the strata, and there is no other column")
        others = {name: table[name] for name in self.reads}
        codes = unit_codes(units, len(table))
        outcome = self.run(columns, self._draws, others=others, units=codes)
        self._learned(outcome)
        plain = all(name in sources and sources[name].unit is None for name in table.column_names)
        if plain:
            return np.column_stack(list(outcome.columns.values()))
        cells = {
            name: sources[name].restore(column, "full") if name in sources else column
            for name, column in outcome.columns.items()
        }
        result = pa.table({name: cells.get(name, table[name]) for name in table.column_names})
        return as_given(X, result, set(columns))

    def _learned(self, outcome: Outcome) -> None:
        super()._learned(outcome)
        self.groups_ = outcome.joint["groups"]
        self.loss_ = outcome.joint["loss"]
        self.moves_ = outcome.joint["moves"]

    def _weights(self, columns: Mapping[str, Any]) -> Mapping[str, float] | None:
        for name in self.weights or ():
            if name not in columns:
                raise BadInput(f"weights names '{name}', no column; {nearest(name, columns)}")
        self.check_treated(list(columns))
        return self.weights

    def _group(
        self, encoded: Mapping[str, Column], where: Space, rows: list[np.ndarray]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Run the algorithm, in blocks where the table is large; also give what the log says."""
        run = algorithm(self.algorithm, self.k, self.gamma)
        size = self.block_size or exact_up_to(where)
        labels, blocks = group(where, rows, run, self.k, size)
        if not blocks:
            return labels, {}
        # On a sample, as many blocks against none.
        largest = max(rows, key=len)
        sample = largest[:: -(-len(largest) // SAMPLE)]
        some = {
            name: Column(c.values[sample], c.kind, c.labels, c.weight)
            for name, c in encoded.items()
            if not np.isnan(c.values[sample[0]])
        }
        there = space(some, units_of(where.units, sample))
        all_rows = [np.arange(len(sample))]
        cut_to = max(2 * self.k, size * len(sample) // len(largest))
        exact, _ = group(there, all_rows, run, self.k, len(sample))
        cut, _ = group(there, all_rows, run, self.k, cut_to)
        figures = {
            "blocks": blocks,
            "block_size": size,
            "on_a_sample": {
                "records": len(sample),
                "loss_without_blocks": loss(some, exact),
                "loss_in_blocks": loss(some, cut),
            },
        }
        return labels, figures

    def _refine(
        self,
        encoded: Mapping[str, Column],
        labels: np.ndarray,
        rows: list[np.ndarray],
        draws: Callable[[str], Draws],
        units: np.ndarray | None,
    ) -> tuple[Refinement | None, Trace | None]:
        points = coordinates(encoded)
        if not len(points) or not rows:
            return None, None
        search = Refinement(points, labels, rows, self.k, draws("refinement").apart(), units)
        total = sum(float(((x - x.mean()) ** 2).sum()) for x in points.T)
        at_first = loss(encoded, labels)
        trace = Trace("moves", "loss")
        with progress(at_first, total) as say:

            def note(refinement: Refinement) -> None:
                trace.add(refinement.moves, loss_now(at_first, total, refinement))
                say(refinement)

            search.run(float(self.refine), self.refine_moves, note)
        if search.stopped:
            warnings.warn(
                f"the refinement was stopped after {search.moves:,} moves; the best so far is kept",
                stacklevel=3,
            )
        return search, trace


def _replace(
    columns: Mapping[str, Any],
    encoded: Mapping[str, Column],
    labels: np.ndarray,
    rounded: Rounder,
) -> tuple[dict[str, Any], dict[str, ColumnPlan]]:
    """Return the released columns, and the centres as plans."""
    new: dict[str, Any] = {}
    plans: dict[str, ColumnPlan] = {}
    groups = int(labels.max()) + 1
    for name, column in encoded.items():
        found = centres(column, labels, groups)
        plans[name] = {"kind": "microaggregation", "centres": planned(column, found)}
        if column.kind == "number":
            found = rounded(name, found)
        # The label -1 takes the last, which is null.
        new[name] = released(column, columns[name], np.append(found, np.nan)[labels])
    return new, plans
