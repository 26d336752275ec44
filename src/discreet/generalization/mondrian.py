"""Mondrian: multidimensional recoding from the top down (LeFevre, DeWitt and Ramakrishnan 2006)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._axes import Axis, Parts, in_order, in_tree
from discreet.generalization._distinct import distinct
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.ladder import TOP
from discreet.generalization.privacy import (
    Bound,
    PrivacyModel,
    bind,
    confidential_columns,
    read_models,
)
from discreet.kernels.mondrian import APART, FORBIDS, VALUE, mondrian
from discreet.kernels.privacy import Rules, holds
from discreet.method import Method, Outcome, Plan, Rounder, as_arrow, as_computed, as_given
from discreet.table.classes import check_columns, classes_of

NullPolicy = Literal["segregate", "value", "suppress", "contaminate"]
SmallGroup = Literal["suppress", "append"]


class Mondrian(Method):
    """Cut the records in two, again and again, while both sides keep the privacy models.

    Each time the column in which the part is widest is cut, as near to two halves as its values
    allow; what cannot be cut any more is a class, and its values are replaced by what covers them:
    `30-39`, `{nurse, teacher}`, or a node of a hierarchy.

    Parameters
    ----------
    privacy : privacy model or list of them
        Such as `KAnonymity(5)`; every class keeps all of them.
    hierarchies : mapping of str to Hierarchy or dict, optional
        Trees of categorical columns. Without one a column is cut in the order of its values.
    columns : list of str, optional
        The quasi-identifiers. If not given, those that `hierarchies` names; if that is not given
        either, all columns that `privacy` does not name. In a recipe, the step's columns.
    strict : bool
        True: records that are equal in a column are on one side of a cut. False: those equal to
        the median are shared out, in row order.
    enhanced : bool
        Cut nulls off from values where both sides keep the models.
    null_policy : {"segregate", "value", "suppress", "contaminate"}
        What a null is. Records with and without are cut apart from each other; one more value,
        after the largest; the record is suppressed; or its column cannot be cut where there is one.
    small_group : {"suppress", "append"}
        What becomes of the records with nulls, or of those without, if they are too few to keep
        the models by themselves: suppressed, or released as they are.
    allow_disclosure : bool
        Must be True for `"append"`.

    Attributes
    ----------
    classes_ : ndarray of int32
        The class of each row; -1 where it is suppressed.
    suppressed_ : int
        Suppressed records.
    suppressed_mask_ : ndarray of bool
    plan_ : dict
        The classes with their labels, sizes and groups.

    See Also
    --------
    discreet.generalization.Generalize : the same labels for the same values everywhere.

    Examples
    --------
    >>> import pandas as pd
    >>> from discreet.generalization.privacy import KAnonymity
    >>> people = pd.DataFrame({
    ...     "age": [23, 67, 25, 61, 24, 68],
    ...     "job": ["nurse", "none", "clerk", "none", "nurse", "none"],
    ... })
    >>> Mondrian(KAnonymity(3)).fit_transform(people)
         age             job
    0  23-25  {clerk, nurse}
    1  61-68            none
    2  23-25  {clerk, nurse}
    3  61-68            none
    4  23-25  {clerk, nurse}
    5  61-68            none
    """

    recipe_name: ClassVar[str] = "mondrian"
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    in_words: ClassVar[str] = (
        "values are replaced by ranges and sets that a class of records shares"
    )

    def __init__(
        self,
        privacy: list[PrivacyModel],
        hierarchies: dict[str, Hierarchy] | None = None,
        columns: list[str] | None = None,
        strict: bool = True,
        enhanced: bool = False,
        null_policy: NullPolicy = "segregate",
        small_group: SmallGroup = "suppress",
        allow_disclosure: bool = False,
    ) -> None:
        self.privacy = privacy
        self.hierarchies = hierarchies
        self.columns = columns
        self.strict = strict
        self.enhanced = enhanced
        self.null_policy = null_policy
        self.small_group = small_group
        self.allow_disclosure = allow_disclosure

    @property
    def promise(self) -> str | None:
        """Every class keeps the privacy models."""
        return "privacy-models"

    @property
    def reads(self) -> Sequence[str]:
        """The confidential columns that the models name."""
        return confidential_columns(read_models(self.privacy))

    def check_params(self) -> None:
        """Refuse unknown policies, and raw records that nobody allowed."""
        read_models(self.privacy)
        for name, choices in (("null_policy", NullPolicy), ("small_group", SmallGroup)):
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(repr(choice) for choice in get_args(choices))
                raise BadInput(f"{name} must be one of {known}, not {getattr(self, name)!r}")
        if self.enhanced and self.null_policy == "contaminate":
            raise BadInput(
                "enhanced cuts nulls off, which null_policy = 'contaminate' forbids; "
                "use one of them"
            )
        if self.small_group == "append" and not self.allow_disclosure:
            raise BadInput(
                "small_group = 'append' releases records as they are; set allow_disclosure = true "
                "if that may be, or use small_group = 'suppress'"
            )

    def fit(self, X: Any, y: Any = None) -> Mondrian:
        """Treat the rows and keep the plan, like `fit_transform`; there is no `transform`."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Treat a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array
            Columns that are not treated are given back as they are.
        y : ignored

        Returns
        -------
        what X is
            Suppressed records have `*` in the treated columns. They are empty in all columns where
            they are too few, or too alike, to be a class of their own.
        """
        self.check_params()
        table = as_arrow(self, X, reset=True)
        names = self._treated(table.column_names)
        check_columns(table, [*names, *self.reads])
        outcome = self.run(
            {name: table[name] for name in names},
            self._draws,
            others={name: table[name] for name in self.reads},
        )
        for name, column in outcome.columns.items():
            table = table.set_column(table.column_names.index(name), name, column)
        assert outcome.suppressed is not None
        assert outcome.unsafe is not None
        if outcome.unsafe.any():
            table = _blanked(table, outcome.unsafe)
            names = table.column_names
        self.plan_ = outcome.joint | {"columns": outcome.plans}
        self.classes_ = outcome.joint["classes"]
        self.suppressed_mask_ = outcome.suppressed
        self.suppressed_ = int(outcome.suppressed.sum())
        return as_given(X, table, set(names))

    def _treated(self, names: Sequence[str]) -> list[str]:
        if self.columns is not None:
            return list(self.columns)
        if self.hierarchies:
            return list(self.hierarchies)
        return [name for name in names if name not in self.reads]

    def run(
        self,
        columns: Mapping[str, Any],
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
        target: np.ndarray | None = None,
        others: Mapping[str, pa.ChunkedArray] | None = None,
    ) -> Outcome:
        """Treat the columns together; what `protect` calls."""
        models, others = read_models(self.privacy), others or {}
        for name in self.reads:
            if name in columns:
                raise BadInput(
                    f"column '{name}' is confidential to the privacy models and cannot be "
                    "generalized as well; take it out of the columns, or out of privacy"
                )
        for name in self.hierarchies or {}:
            if name not in columns:
                raise BadInput(
                    f"hierarchies names '{name}', which is not among the columns to treat"
                )
        n = len(next(iter(columns.values())))
        bound = bind(models, others, n)
        axes = {name: self._axis(name, column) for name, column in columns.items()}
        search = _Search(axes, bound, self)
        search.run(lambda model, rows: _keeps(bind([model], others, n), rows))
        labels = search.labels()
        released = {name: _released(labels[name], search) for name in axes}
        joint = {
            "kind": "mondrian",
            "classes": search.classes,
            "sizes": np.bincount(search.classes[search.classes >= 0]),
            "labels": labels,
            "groups": search.groups,
            "confidential": {name: _spread(others[name], name, models) for name in self.reads},
        }
        figures = {
            "classes": len(joint["sizes"]),
            "suppressed": int(search.suppressed.sum()),
            "groups": search.groups,
            "null_policy": self.null_policy,
        }
        plans: dict[str, Plan] = {name: {"kind": "mondrian"} for name in axes}
        return Outcome(released, plans, joint, search.suppressed, search.unsafe, figures)

    def _axis(self, name: str, column: pa.ChunkedArray) -> Axis:
        if not self.hierarchies or name not in self.hierarchies:
            return in_order(column, name)
        hierarchy = Hierarchy.from_spec(self.hierarchies[name])
        return in_tree(column, name, hierarchy.bind(column, name))


class _Search:
    """The groups of records, the cuts in each, and what came of them."""

    def __init__(self, axes: Mapping[str, Axis], bound: Bound, method: Mondrian) -> None:
        self.axes, self.bound, self.method = axes, bound, method
        self.codes = np.array([axis.codes for axis in axes.values()])
        self.sizes = np.array([axis.size for axis in axes.values()], dtype=np.int64)
        self.null = self.codes == self.sizes[:, None]
        n = self.codes.shape[1]
        self.classes = np.full(n, -1, dtype=np.int32)
        self.suppressed = np.zeros(n, dtype=bool)
        self.unsafe = np.zeros(n, dtype=bool)
        self.groups: list[dict[str, Any]] = []
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.count = 0
        contaminate = method.null_policy == "contaminate"
        self.nulls = FORBIDS if contaminate else APART if method.enhanced else VALUE
        self.layout = self._layout()

    def run(self, keeps: Callable[[Any, np.ndarray], bool]) -> None:
        """Treat the groups that the null policy makes.

        `keeps` tells whether some records together keep one model, for the message.
        """
        policy, deficient = self.method.null_policy, self.null.any(axis=0)
        apart = policy in ("segregate", "suppress") and deficient.any()
        groups = {"without nulls": ~deficient, "with nulls": deficient}
        for name, rows in groups.items() if apart else [("all", np.full(len(deficient), True))]:
            if not rows.any():
                continue
            if policy == "suppress" and name == "with nulls":
                self._leave(rows, name, "suppressed")
            elif _keeps(self.bound, rows):
                self._cut(rows, name, "cut", self.bound.rules)
            elif policy != "segregate" or not apart:
                raise BadInput(self._say(rows, name, keeps))
            elif self.method.small_group == "append":
                # Each distinct tuple is a class of its own: no model, so all cuts may be.
                self._cut(rows, name, "appended", _NO_RULES)
            else:
                self._leave(rows, name, "suppressed")
        if self.suppressed.any() and not _keeps(self.bound, self.suppressed):
            self.unsafe = self.suppressed
        if all(group["treatment"] != "cut" for group in self.groups):
            raise BadInput(
                "neither the records with nulls nor those without keep the privacy models by "
                "themselves; use null_policy = 'value', or weaker models"
            )

    def _say(self, rows: np.ndarray, name: str, keeps: Callable[[Any, np.ndarray], bool]) -> str:
        """Say which model a group breaks as a whole."""
        n, k = int(rows.sum()), self.bound.rules.k
        who = f"the {n:,} records" + ("" if name == "all" else f" {name}")
        if n < k:
            return f"{who} are fewer than k = {k}; use a smaller k, or another null_policy"
        models = read_models(self.method.privacy)
        broken = next(model for model in models if not keeps(model, rows))
        return f"{who} do not keep {broken} even as one class; weaken it"

    def _leave(self, rows: np.ndarray, name: str, treatment: str) -> None:
        self.suppressed = self.suppressed | rows
        self._note(rows, name, treatment, 0)

    def _note(self, rows: np.ndarray, name: str, treatment: str, classes: int) -> None:
        """Keep what was done with a group; its classes come after those of the groups before."""
        self.groups.append(
            {
                "group": name,
                "treatment": treatment,
                "rows": int(rows.sum()),
                "first_class": self.count,
                "classes": classes,
            }
        )
        self.count += classes

    def _cut(self, rows: np.ndarray, name: str, treatment: str, rules: Rules) -> None:
        """Cut one group into classes."""
        cells, units = self._units(rows, rules)
        nulls = VALUE if rules is _NO_RULES else self.nulls
        relaxed = not self.method.strict and rules is not _NO_RULES
        ends, low, high, null = mondrian(cells, *self.layout, rules, relaxed, nulls)
        of_unit = np.empty(len(cells), dtype=np.int32)
        of_unit[cells[:, -1]] = np.repeat(
            np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0)
        )
        self.classes[rows] = of_unit[units] + self.count
        self.parts.append((low, high, null))
        self._note(rows, name, treatment, len(ends))

    def _units(self, rows: np.ndarray, rules: Rules) -> tuple[np.ndarray, np.ndarray]:
        """Count the distinct tuples of a group; give the kernel's table and each row's unit.

        Where ties are shared out each row is a unit, because their order matters.
        """
        confidential = self.bound.codes if rules is self.bound.rules else self.bound.codes[:0]
        codes = np.concatenate((self.codes, confidential))
        if not rows.all():
            codes = codes[:, rows]
        n = codes.shape[1]
        first, counts, units = np.arange(n), np.ones(n, dtype=np.int64), np.arange(n)
        if self.method.strict or rules is _NO_RULES:
            sizes = np.append(self.sizes + 1, np.full(len(confidential), rules.q.size))
            units, count = classes_of(codes, sizes)
            first = np.empty(count, dtype=np.int64)
            first[units[::-1]] = np.arange(n)[::-1]
            counts = np.bincount(units)
        cells = np.empty((len(first), len(codes) + 2), dtype=np.int32)
        cells[:, :-2] = codes[:, first].T
        cells[:, -2] = counts
        cells[:, -1] = np.arange(len(first))
        return cells, units

    def _layout(self) -> tuple[np.ndarray, ...]:
        """Lay the columns' places and trees end to end, as the kernel takes them."""
        starts, used = [], [0, 0]
        places, ranks, spans = [np.empty(0)], [np.empty(0, np.int32)], [np.empty(0)]
        for axis, null in zip(self.axes.values(), self.null, strict=True):
            with_null = bool(null.any()) and self.nulls == VALUE
            starts.append(used[axis.height > 0])
            if axis.height:
                rank, span = axis.tree(with_null)
                ranks.append(rank.ravel())
                spans.append(span.ravel())
            else:
                places.append(axis.place(with_null))
            used[axis.height > 0] += (axis.size + 1) * (axis.height + 1)
        heights = np.array([axis.height for axis in self.axes.values()], dtype=np.int64)
        tables = (np.concatenate(places), np.concatenate(ranks), np.concatenate(spans))
        return self.sizes, heights, np.array(starts, dtype=np.int64), *tables

    def labels(self) -> dict[str, Any]:
        """Name the classes in every column."""
        low, high, null = (np.concatenate(arrays).T for arrays in zip(*self.parts, strict=True))
        if self.nulls == FORBIDS:
            # Nulls alone are released as everything too.
            low, high = np.where(null, 0, low), np.where(null, self.sizes[:, None] - 1, high)
        return {
            name: axis.label(Parts(low[c], high[c], null[c], partial(self._members, c)))
            for c, (name, axis) in enumerate(self.axes.items())
        }

    def _members(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Give the distinct pairs of class and value of a column, in order."""
        kept = (self.classes >= 0) & ~self.null[c]
        size = self.sizes[c]
        pairs = np.unique(self.classes[kept] * size + self.codes[c, kept])
        return pairs // size, pairs % size


# What keeps no model.
_NO_RULES = Rules(
    1,
    np.empty(0, np.int64),
    np.empty((0, 4), np.int64),
    np.empty((0, 2)),
    np.zeros(1, np.int64),
    np.empty(0),
    np.empty(0, np.int32),
)


def _released(named: Mapping[str, Any], search: _Search) -> pa.ChunkedArray:
    """Give each row its class's label."""
    texts = [*named["labels"], TOP]
    label = np.append(named["label"], np.int32(len(texts) - 1))[search.classes]
    null = (label < 0) | search.unsafe
    indices = pa.array(np.where(null, 0, label).astype(np.int32), mask=null)
    return pa.chunked_array([pa.array(texts, pa.string()).take(indices)])


def _keeps(bound: Bound, rows: np.ndarray) -> bool:
    """Tell whether some records together keep the models."""
    held = bound.codes[:, rows]
    histogram = np.bincount(held[held >= 0], minlength=bound.rules.q.size)
    return holds(bound.rules, int(rows.sum()), histogram)


def _spread(column: pa.ChunkedArray, name: str, models: Sequence[Any]) -> dict[str, Any]:
    """Count the values of a confidential column over all records, in their order."""
    found = distinct(column, name)
    spread = {
        "values": found.values.cast(pa.string()).to_numpy(zero_copy_only=False),
        "counts": np.bincount(found.codes[found.codes >= 0], minlength=len(found.values)),
    }
    for model in models:
        if getattr(model, "hierarchy", None) is not None and model.column == name:
            ladder = Hierarchy.from_spec(model.hierarchy).bind(column, name)
            spread["levels"] = [*ladder.maps[:, ladder.places(found, name)]]
    return spread


def _blanked(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Empty some rows in all columns."""
    keep = pa.array(~rows)
    for position, name in enumerate(table.column_names):
        column = table[name]
        empty = pa.scalar(None, column.type)
        table = table.set_column(position, name, pc.if_else(keep, column, empty))
    return table
