"""Mondrian: multidimensional recoding from the top down (LeFevre, DeWitt and Ramakrishnan 2006)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._axes import Axis, in_order, in_tree
from discreet.generalization._distinct import distinct
from discreet.generalization._partition import Partition, keeps
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.ladder import TOP
from discreet.generalization.privacy import (
    PrivacyModel,
    bind,
    confidential_columns,
    read_models,
)
from discreet.kernels.mondrian import APART, FORBIDS, VALUE
from discreet.method import Method, Outcome, Plan, Rounder, as_arrow, as_computed, as_given
from discreet.table.classes import check_columns

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
        bound = bind(models, others, len(next(iter(columns.values()))))
        axes = {name: self._axis(name, column) for name, column in columns.items()}
        nulls = APART if self.enhanced else FORBIDS if self.null_policy == "contaminate" else VALUE
        parts = Partition(axes, bound, nulls, self.strict)
        self._treat(parts, others)
        labels = parts.labels()
        joint = {
            "kind": "mondrian",
            "classes": parts.classes,
            "sizes": np.bincount(parts.classes[parts.classes >= 0]),
            "labels": labels,
            "groups": parts.groups,
            "confidential": {name: _spread(others[name], name, models) for name in self.reads},
        }
        figures = {
            "null_policy": self.null_policy,
            "classes": len(joint["sizes"]),
            "suppressed": int(parts.suppressed.sum()),
            "groups": parts.groups,
        }
        released = {name: _released(labels[name], parts) for name in axes}
        plans: dict[str, Plan] = {name: {"kind": "mondrian"} for name in axes}
        return Outcome(
            released,
            plans,
            joint,
            suppressed=parts.suppressed,
            unsafe=parts.unsafe,
            disclosed=parts.disclosed,
            figures=figures,
        )

    def _groups(self, deficient: np.ndarray) -> dict[str, np.ndarray]:
        """Give the groups of records that the null policy makes."""
        if self.null_policy == "suppress" and deficient.all():
            raise BadInput("every record has a null; use another null_policy than 'suppress'")
        apart = self.null_policy in ("segregate", "suppress")
        if not apart or deficient.all() or not deficient.any():
            return {"all": np.full(len(deficient), True)}
        return {"without nulls": ~deficient, "with nulls": deficient}

    def _treat(self, parts: Partition, others: Mapping[str, pa.ChunkedArray]) -> None:
        """Cut each group into classes, or do what is to be done where it cannot be one itself."""
        groups = self._groups(parts.null.any(axis=0))
        kept = {name: keeps(parts.bound, rows) for name, rows in groups.items()}
        segregated = self.null_policy == "segregate" and len(groups) > 1
        if segregated and not any(kept.values()):
            raise BadInput(
                "neither the records with nulls nor those without keep the privacy models by "
                "themselves; use null_policy = 'value', or weaker models"
            )
        for name, rows in groups.items():
            if self.null_policy == "suppress" and name == "with nulls":
                parts.suppress(rows, name)
            elif kept[name]:
                parts.cut(rows, name)
            elif not segregated:
                raise BadInput(self._say_broken(rows, name, others))
            elif self.small_group == "append":
                parts.append(rows, name)
            else:
                parts.suppress(rows, name)

    def _say_broken(
        self, rows: np.ndarray, name: str, others: Mapping[str, pa.ChunkedArray]
    ) -> str:
        """Say which model a group breaks as a whole."""
        who = f"the {int(rows.sum()):,} records" + ("" if name == "all" else f" {name}")
        for model in read_models(self.privacy):
            if not keeps(bind([model], others, len(rows)), rows):
                return f"{who} do not keep {model} even as one class; weaken it"
        raise AssertionError("no model is broken")

    def _axis(self, name: str, column: pa.ChunkedArray) -> Axis:
        if not self.hierarchies or name not in self.hierarchies:
            return in_order(column, name)
        hierarchy = Hierarchy.from_spec(self.hierarchies[name])
        return in_tree(column, name, hierarchy.bind(column, name))


def _released(named: Mapping[str, Any], parts: Partition) -> pa.ChunkedArray:
    """Give each row its class's label."""
    texts = [*named["labels"], TOP]
    # A suppressed record's class, -1, picks the last.
    label = np.append(named["label"], np.int32(len(texts) - 1))[parts.classes]
    null = (label < 0) | parts.unsafe
    indices = pa.array(np.where(null, 0, label).astype(np.int32), mask=null)
    return pa.chunked_array([pa.array(texts, pa.string()).take(indices)])


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
    return table.take(pa.array(np.arange(len(rows)), mask=rows))
