"""Mondrian: multidimensional recoding from the top down (LeFevre, DeWitt and Ramakrishnan 2006)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._axes import Axis, in_order, in_tree
from discreet.generalization._base import Recoding
from discreet.generalization._by_tuple import Recoded, labelled
from discreet.generalization._groups import (
    ALL,
    Group,
    Segregate,
    SmallGroup,
    make_groups,
    records,
    too_few,
    warn_suppressed,
)
from discreet.generalization._holdings import how_many, with_several
from discreet.generalization._match import check_units
from discreet.generalization._partition import Partition, keeps
from discreet.generalization._released import released
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.models import (
    KAnonymity,
    LDiversity,
    PrivacyModel,
    read_models,
)
from discreet.generalization.population import KMap
from discreet.generalization.privacy import bind, distribution, trees
from discreet.generalization.targets import LargestRisk, refuse_whole
from discreet.kernels.mondrian import APART, FORBIDS, MADE_UP, MATCHES, VALUE
from discreet.method import as_arrow, unit_codes
from discreet.plan import JointPlan
from discreet.table.classes import check_columns, classes_of, encode_columns

NullPolicy = Literal["segregate", "value", "suppress", "match", "contaminate", "semi-partition"]
_NO_POPULATION = "mondrian makes ranges of the table's own records; use generalize"
_NULLS = {"contaminate": FORBIDS, "match": MATCHES, "semi-partition": MADE_UP}


class Mondrian(Recoding):
    """Cut the records in two, again and again, while both sides keep the privacy models.

    Each time the column in which the part is widest is cut, as near to two halves as its values
    allow; what cannot be cut any more is a class, and its values are replaced by what covers them:
    `30-39`, `{nurse, teacher}`, or a node of a hierarchy.

    Where `fit` is given units, the models count these and not records.

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
    null_policy : {"segregate", "value", "suppress", "match", "contaminate", "semi-partition"}
        What a null is. Records with and without are cut apart from each other; one more value,
        after the largest; the record is suppressed; what matches any value, joins the smaller side
        of a cut and stays null (for k-anonymity and distinct l-diversity, and no more than a
        wildcard: with their nulls, records may stand out in their class); its column cannot be cut
        where there is one; or it is cut off from values at each cut, and where nulls are too few,
        some records join them and lose their value (Gong and others 2017; for k-anonymity of
        records alone, and with `strict=False`).
    segregate : {"any", "pattern"}
        Under `"segregate"`: one group of records with nulls, or one for each set of columns that
        are null, sets with too few records together.
    small_group : {"suppress", "append"}
        What becomes of a group that has fewer records than k: suppressed, or released as it is. A
        group that breaks another model even as one class is suppressed, with a warning.
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
    >>> from discreet.generalization.models import KAnonymity
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
    anew: ClassVar[str] = "its classes were cut around the earlier records"
    minimal: ClassVar[bool] = True
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
        segregate: Segregate = "any",
        small_group: SmallGroup = "suppress",
        allow_disclosure: bool = False,
    ) -> None:
        self.privacy = privacy
        self.hierarchies = hierarchies
        self.columns = columns
        self.strict = strict
        self.enhanced = enhanced
        self.null_policy = null_policy
        self.segregate = segregate
        self.small_group = small_group
        self.allow_disclosure = allow_disclosure

    def check_params(self) -> None:
        """Refuse to cut nulls off where that is forbidden, and what semi-partition cannot do."""
        super().check_params()
        if self.null_policy == "semi-partition" and self.strict:
            raise BadInput(
                "null_policy = 'semi-partition' takes records from among their equals; set "
                "strict = false"
            )
        refuse_whole(
            self.models, "mondrian cuts class by class; use generalize, or largest-risk here"
        )
        for model in self.models:
            counts = isinstance(model, KAnonymity | KMap | LargestRisk)
            if self.null_policy == "semi-partition" and not counts:
                raise BadInput(
                    "null_policy = 'semi-partition' is for k-anonymity alone, not for "
                    f"{model.model}; use 'segregate'"
                )
            if self.null_policy == "match" and not counts and not _is_distinct(model):
                raise BadInput(
                    "null_policy = 'match' is for k-anonymity and distinct l-diversity here: what "
                    f"a class matches beyond itself may break {model.model}; use generalize, or "
                    "'segregate'"
                )
        if self.enhanced and self.null_policy in ("contaminate", "semi-partition"):
            does = "forbids" if self.null_policy == "contaminate" else "does anyway"
            raise BadInput(
                f"enhanced cuts nulls off, which null_policy = '{self.null_policy}' {does}; "
                "use one of them"
            )

    def fit(self, X: Any, y: Any = None, units: Any = None) -> Mondrian:
        """Treat the rows and keep the plan, like `fit_transform`; there is no `transform`."""
        self.fit_transform(X, y, units)
        return self

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> Any:
        """Treat a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array
            Columns that are not treated are given back as they are.
        y : ignored
        units : array of shape (n_samples,), optional
            The person or household of each row, where the models count these and not rows.

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
        columns = {name: table[name] for name in names}
        others = {name: table[name] for name in self.reads}
        self.check_treated(names)
        codes = with_several(unit_codes(units, table.num_rows), None)
        parts = self._divide(columns, others, units=codes)
        recoded = self._recoded(parts, others, units=codes)
        self.plan_ = recoded.joint | {"columns": recoded.plans}
        self.classes_ = parts.by_row(parts.classes)
        self.suppressed_mask_ = recoded.suppressed
        self.suppressed_ = int(recoded.suppressed.sum())
        return released(X, table, recoded.outcome().columns, recoded.unsafe)

    def _treated(self, names: Sequence[str]) -> list[str]:
        if self.columns is not None:
            return list(self.columns)
        if self.hierarchies:
            return list(self.hierarchies)
        return [name for name in names if name not in self.reads]

    @property
    def bound_to_memory(self) -> str | None:
        """Distinct tuples with counts are enough where equal records stay together."""
        return None if self.strict else "strict = false shares out equal values in row order"

    def _recode(
        self,
        columns: Mapping[str, Any],
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None,
        units: np.ndarray | None,
        draws: Callable[[str], Draws],
    ) -> Recoded:
        self.check_treated(list(columns))
        units = with_several(units, weights)
        parts = self._divide(columns, others, weights, units)
        return self._recoded(parts, others, weights, units)

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse columns that do not fit the parameters."""
        super().check_treated(columns)
        for name in self.hierarchies or {}:
            if name not in columns:
                raise BadInput(
                    f"hierarchies names '{name}', which is not among the columns to treat"
                )

    def _divide(
        self,
        columns: Mapping[str, Any],
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> Partition:
        """Cut the records into classes; `weights` are the records that each row stands for."""
        n = len(next(iter(columns.values())))
        if units is not None and self.null_policy == "semi-partition":
            raise BadInput(
                "null_policy = 'semi-partition' counts records, and here units have several; use "
                "'segregate'"
            )
        bound = bind(read_models(self.privacy), others, n, weights, units, _NO_POPULATION)
        if self.null_policy == "match":
            check_units(bound)
        axes = {name: self._axis(name, column, weights) for name, column in columns.items()}
        nulls = _NULLS.get(self.null_policy, VALUE)
        nulls |= APART if self.enhanced else 0
        parts = Partition(axes, bound, nulls, self.strict, weights)
        self._treat(parts, others, weights, units)
        if more := parts.suppress_alike():
            warnings.warn(
                f"{more:,} records are suppressed, since they break the privacy models together "
                "with records of the same labels; use weaker models to keep them",
                stacklevel=2,
            )
        return parts

    def _recoded(
        self,
        parts: Partition,
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> Recoded:
        """Return the rows' labels and fates, the plans and figures."""
        models = read_models(self.privacy)
        labels = parts.labels()
        new = parts.released(labels)
        joint: JointPlan = {
            "kind": "mondrian",
            "null_policy": self.null_policy,
            "sizes": parts.sizes_of_classes,
            "labels": labels,
            "groups": parts.groups,
            "confidential": {c: distribution(others[c], c, weights, units) for c in self.reads},
            "trees": trees(models, others),
        }
        if any(isinstance(model, KMap) for model in models):
            n = records(parts.weights, len(parts.classes)) if units is None else how_many(units)
            joint["population"] = {"records": n, "least": parts.bound.rules.k}
        if self.strict:
            joint["tuples"] = parts.tuples()
        else:  # Equal records are told apart: a class is of a row.
            joint["classes"] = parts.classes
        figures = {
            "null_policy": self.null_policy,
            "classes": len(joint["sizes"]),
            "suppressed": records(parts.weights, parts.suppressed),
            "groups": parts.groups,
        }
        if "population" in joint:
            figures["population"] = joint["population"]
        if self.null_policy == "match":
            figures["exposed"] = _exposed(new, parts.bound.rules.k, parts)
        return Recoded(
            {name: (parts.by_row(places), texts) for name, (places, texts) in new.items()},
            parts.by_row(parts.suppressed),
            parts.by_row(parts.unsafe),
            parts.by_row(parts.disclosed),
            {name: {"kind": "mondrian"} for name in new},
            joint,
            figures,
        )

    def _treat(
        self,
        parts: Partition,
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None,
        units: np.ndarray | None,
    ) -> None:
        """Cut each group into classes, or do what is to be done where it cannot be one itself."""
        k = parts.bound.rules.k
        together = self.null_policy in ("contaminate", "semi-partition")
        policy = "value" if together else self.null_policy
        groups = make_groups(
            parts.null,
            policy,
            self.segregate,
            k,
            parts.weights,
            None if units is None else parts.units_of,
        )
        if all(group.treatment == "suppress" for group in groups):
            raise BadInput("every record has a null; use another null_policy than 'suppress'")
        kept = [parts.keeps(parts.rows(group)) for group in groups]
        segregated = policy == "segregate" and len(groups) > 1
        if segregated and not any(kept):
            raise BadInput(
                "neither the records without nulls nor a group of those with nulls keep the "
                "privacy models by themselves; use null_policy = 'value', or weaker models"
            )
        for group, may in zip(groups, kept, strict=True):
            if group.treatment == "suppress":
                parts.suppress(group)
            elif may:
                parts.cut(group)
            elif not segregated:
                model = self._broken(parts, group, others, weights, units)
                who = f"the {group.n:,} records" + ("" if group.name == ALL else f" {group.name}")
                raise BadInput(f"{who} do not keep {model} even as one class; weaken it")
            elif group.size < k and self.small_group == "append":
                parts.append(group)
            else:
                why = too_few(k, units is not None)
                if group.size >= k:
                    model = self._broken(parts, group, others, weights, units)
                    why = f"they do not keep {model} even as one class"
                warn_suppressed(group, why)
                parts.suppress(group)

    def _broken(
        self,
        parts: Partition,
        group: Group,
        others: Mapping[str, pa.ChunkedArray],
        weights: np.ndarray | None,
        units: np.ndarray | None,
    ) -> PrivacyModel:
        """Find the first model that a group's records break together."""
        rows, models = parts.by_row(parts.rows(group)), read_models(self.privacy)
        bound = [(m, bind([m], others, len(rows), weights, units)) for m in models]
        return next(m for m, alone in bound if not keeps(alone, rows, weights))

    def _axis(self, name: str, column: pa.ChunkedArray, weights: np.ndarray | None) -> Axis:
        if not self.hierarchies or name not in self.hierarchies:
            return in_order(column, name)
        hierarchy = Hierarchy.from_spec(self.hierarchies[name])
        ladder, _ = hierarchy.bind_and_encode(column, name, weights)
        return in_tree(column, name, ladder)


def _is_distinct(model: PrivacyModel) -> bool:
    """Tell whether a model asks for distinct values, which more records cannot take away."""
    return isinstance(model, LDiversity) and model.kind == "distinct"


def _exposed(labels: Mapping[str, tuple[np.ndarray, pa.Array]], k: int, parts: Partition) -> int:
    """Count the records that share their own cells, nulls included, with fewer than k."""
    columns = {name: labelled(places, texts) for name, (places, texts) in labels.items()}
    classes, count = classes_of(*encode_columns(pa.table(columns), list(columns)))
    few = parts.sizes_in(classes, count) < k
    return records(parts.weights, few[classes])
