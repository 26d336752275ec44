"""Local suppression: blank the fewest cells such that the key columns are k-anonymous."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, PlainSerializer

from discreet.draws import Draws, smallest
from discreet.errors import BadInput
from discreet.generalization._holdings import with_several
from discreet.generalization._released import released
from discreet.generalization.models import PrivacyModel, confidential_columns, read_models
from discreet.generalization.targets import of_whole_table, refuse_whole
from discreet.method import Method, as_arrow, unit_codes
from discreet.outcome import Counted, Decision, Given, Outcome, Rounder, as_computed
from discreet.parameters import Constraints, number, whole
from discreet.suppression._blanking import ByTuple, treated
from discreet.suppression._demands import (
    check_demands,
    check_importance,
    check_names,
    refuse_models,
    with_numbers,
)
from discreet.suppression._keys import Keys, Units
from discreet.suppression._made import Others, make
from discreet.table.classes import check_columns, encode
from discreet.table.keys import group_numbers
from discreet.table.lookup import Lookup

NullPolicy = Literal["value", "own", "match"]
Risk = Literal["class", "individual", "suda"]
IN_WORDS = {
    "value": "a null is a blank that costs nothing, and blanks are one more value",
    "own": "a null is a blank that costs nothing, and agrees with no value of another record",
    "match": "a null is a blank that costs nothing, and blanks match any value",
}


BySize = Annotated[
    dict[int, int],
    BeforeValidator(with_numbers),
    PlainSerializer(lambda given: {str(size): k for size, k in given.items()}),
]
Importance = Annotated[dict[str, float] | list[str] | None, BeforeValidator(check_importance)]


class LocalSuppression(Method):
    """Blank the fewest cells, by importance, such that the keys of every record are shared by k.

    Parameters
    ----------
    k : int, optional
        How many records must share what a record shows in the key columns.
    null_policy : {"value", "own", "match"}
        What a blank is, and so what is promised. One more value: every released tuple, blanks
        included, is that of k records. What hides a record's own cells: k of the *original* records
        agree with the cells that it shows. Or what matches anything: k released records agree with
        it wherever neither has a blank. The first is the strictest and holds under each reading;
        the last takes the fewest blanks. Under the other two, people may be found for certain.
    importance : dict of str to float, or list of str, optional
        What a blank costs in a column, 1 where not given; or columns, most important first: the
        last of n columns costs 2, the first n + 1, and each that is not listed 1.
    fixed : list of str, optional
        Columns that are never blanked.
    limit : dict of str to float, optional
        Largest share of the records that may be blanked in a column.
    combinations : list of dict, optional
        Each has `columns` and `k`: what k records must share in these columns alone. With `k`,
        the whole is demanded too.
    subsets : int or dict of int to int, optional
        3: every three key columns together must be shared by k, and the whole need not be.
        {3: 30, 4: 20}: every three by 30, every four by 20.
    privacy : privacy model or list of them, optional
        What a tuple's records must keep besides, such as `LDiversity(2, column="illness")`; with
        null_policy "value" alone. `AverageRisk` and `SampleUniqueness` are of all records: some
        may stay alone.
    max_risk : float, optional
        Largest risk of a record that remains.
    risk : {"class", "individual", "suda"}
        Of `max_risk`: 1 / (records that share the keys); that of a sample, with weights; or the
        SUDA score.
    weight : str, optional
        The column of sampling weights, for risk = "individual".
    record_cost : float, optional
        What it costs to leave a whole record out; without it, none is left out.
    improve : float, optional
        Seconds to look for fewer blanks. Ctrl-C ends it early, with the best so far. With `privacy`
        it is spent on k alone, before classes that break a model are mended; not with units.
    improve_moves : int, optional
        Moves of that search instead of seconds: the same seed then gives the same blanks. By
        default, a number that depends on the table. There is no such search, so that neither does
        anything, with `exact`, null_policy "own", `privacy` beyond k, risk "individual" or "suda",
        and where units are counted under "match".
    exact : bool
        Find the proven optimum; for small tables, under "value" or "own", without `privacy`,
        `limit` and risks other than "class".
    columns : list of str, optional
        The key columns; all but those that `privacy` and `weight` name by default. In a recipe, the
        step's columns.
    random_state : int, RandomState instance or None
        Which of equal records are blanked is drawn.

    Attributes
    ----------
    blanks_ : dict of str to int
        Cells blanked, by column.
    cost_ : float
        What the blanks cost.
    bound_, gap_ : float or None
        What no solution can cost less than, and how far the cost is from it, as a share of the
        cost; None where no bound of use is known, as mostly under "match".
    suppressed_mask_ : ndarray of bool
        The records that were left out.
    plan_ : dict

    See Also
    --------
    discreet.generalization.Generalize : coarser values, the same in all records.

    Examples
    --------
    Two of the nurses would be found by their age:

    >>> import pandas as pd
    >>> people = pd.DataFrame({
    ...     "age": [30, 30, 30, 30, 70, 71],
    ...     "job": ["nurse", "nurse", "clerk", "clerk", "nurse", "nurse"],
    ... })
    >>> LocalSuppression(k=2, random_state=0).fit_transform(people)
        age    job
    0  30.0  nurse
    1  30.0  nurse
    2  30.0  clerk
    3  30.0  clerk
    4   NaN  nurse
    5   NaN  nurse
    """

    recipe_name: ClassVar[str] = "local-suppression"
    anew: ClassVar[str] = "its blanks are cells of the earlier records"
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    budgets: ClassVar[tuple[str, ...]] = ("improve", "improve_moves")
    blanks: ClassVar[bool] = True
    is_random: ClassVar[bool] = True
    draws_by: ClassVar[Literal["row", "person", "counted"]] = "counted"
    promise: ClassVar[str] = "local-suppression"
    in_words: ClassVar[str] = "cells that would give somebody away are blanked"
    caveat: ClassVar[str] = (
        "cells were blanked that would have given somebody away, so that rare values, rare "
        "combinations and groups that are all alike come out too seldom: do not take these blanks "
        "for values missing at random"
    )
    published: ClassVar[tuple[str, ...]] = ("k", "null_policy", "combinations", "subsets")
    constraints: ClassVar[Constraints] = {
        "k": whole(1, optional=True),
        "limit": number(
            least=0,
            most=1,
            called="the limit of column '{column}'",
            optional=True,
            only_by_column=True,
        ),
        "max_risk": number(least=1e-9, below=1, optional=True),
        "record_cost": number(above=0, most=1e9, optional=True),
        "improve": number(least=0, optional=True),
        "improve_moves": whole(0, optional=True),
    }

    def __init__(
        self,
        k: int | None = None,
        null_policy: NullPolicy = "value",
        importance: Importance = None,
        fixed: list[str] | None = None,
        limit: dict[str, float] | None = None,
        combinations: list[dict[str, list[str] | int]] | None = None,
        subsets: int | BySize | None = None,
        privacy: list[PrivacyModel] | None = None,
        max_risk: float | None = None,
        risk: Risk = "class",
        weight: str | None = None,
        record_cost: float | None = None,
        improve: float | None = None,
        improve_moves: int | None = None,
        exact: bool = False,
        columns: list[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.null_policy = null_policy
        self.importance = importance
        self.fixed = fixed
        self.limit = limit
        self.combinations = combinations
        self.subsets = subsets
        self.privacy = privacy
        self.max_risk = max_risk
        self.risk = risk
        self.weight = weight
        self.record_cost = record_cost
        self.improve = improve
        self.improve_moves = improve_moves
        self.exact = exact
        self.columns = columns
        self.random_state = random_state

    @property
    def suppresses(self) -> bool:
        """True where records may be left out."""
        return self.record_cost is not None

    @property
    def nulls_in_words(self) -> str:
        """What a blank is under the policy; a null of the input is one too."""
        return IN_WORDS[self.null_policy]

    @property
    def reads(self) -> Sequence[str]:
        """The confidential columns that the models name, and the weights."""
        named = confidential_columns(self.models)
        return [*named, *filter(None, [self.weight])]

    @property
    def models(self) -> list[Any]:
        """The privacy models."""
        return [] if self.privacy is None else read_models(self.privacy)

    @property
    def _tells_apart(self) -> bool:
        """True where it matters which of equal records are blanked, by what else they have."""
        return self.privacy is not None and self.risk != "individual"

    def check_params(self) -> None:
        """Refuse what demands nothing, and what does not go together."""
        super().check_params()
        check_importance(self.importance)
        check_demands(self)
        if self.improve is not None and self.improve_moves is not None:
            raise BadInput("give improve (seconds) or improve_moves, not both")
        models = self.models
        self._check_whole(models)
        refuse_models(models)
        if models and self.null_policy != "value":
            raise BadInput(
                f"privacy is for null_policy = 'value' alone, not for {self.null_policy!r}: under "
                "it no records are a class"
            )
        if self.max_risk is None and (self.risk != "class" or self.weight is not None):
            raise BadInput("risk and weight are for max_risk, such as max_risk = 0.1")
        if (self.weight is not None) != (self.risk == "individual"):
            raise BadInput("risk = 'individual' needs the column of weights, and no other takes it")
        if self.risk != "class" and self.null_policy != "value":
            raise BadInput(f"risk = {self.risk!r} is for null_policy = 'value' alone")
        judged = "privacy" if models else "risk = 'individual'"
        if (models or self.risk == "individual") and (self.combinations or self.subsets):
            raise BadInput(
                f"{judged} is about all key columns together; leave combinations and subsets out"
            )
        if self.exact:
            self._check_exact()

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse parameters that name what is no key column."""
        check_names(self, columns)

    def _check_whole(self, models: Sequence[Any]) -> None:
        """Refuse models of all records that blanks are not chosen for."""
        whole = of_whole_table(models)
        for model in whole:
            if hasattr(model, "estimator"):
                raise BadInput(
                    f"{model.model} is estimated for a sample, which blanks would distort; use "
                    "sample-uniqueness here, or generalize"
                )
        if whole and (self.risk != "class" or confidential_columns(models)):
            refuse_whole(
                whole,
                "goes with k and max_risk by class alone in local-suppression; use generalize",
            )

    def _check_exact(self) -> None:
        """Refuse what no optimum can be proven for."""
        if self.null_policy == "match":
            raise BadInput(
                "exact = true is for the null policies 'value' and 'own': under 'match' the fewest "
                "blanks are those of k - 1 records that are blanked whole, with which everybody "
                "else can be found"
            )
        besides = {
            "privacy": self.privacy,
            f"risk = {self.risk!r}": self.risk != "class",
            "limit": self.limit,
        }
        for said, given in besides.items():
            if given:
                raise BadInput(
                    "exact = true is for k, combinations, subsets and the risk by class alone; "
                    f"leave {said} out"
                )

    @property
    def bound_to_memory(self) -> str | None:
        """Distinct tuples with counts are enough, and the smallest words of some."""
        return None

    # From rows

    def fit(self, X: Any, y: Any = None, units: Any = None) -> LocalSuppression:
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
            The person or household of each row, where k counts these and not rows.

        Returns
        -------
        what X is
            Blanks are nulls. Records that are left out are empty in all columns.
        """
        self.check_params()
        table = as_arrow(self, X, reset=True)
        names = self.columns
        if names is None:
            names = [name for name in table.column_names if name not in self.reads]
        check_columns(table, [*names, *self.reads])
        columns = {name: table[name] for name in names}
        others = {name: table[name] for name in self.reads}
        codes = unit_codes(units, table.num_rows)
        outcome = self.run(columns, self._draws, others=others, units=codes)
        self.plan_ = outcome.joint | {"columns": outcome.plans}
        self.blanks_ = outcome.figures["blanked"]
        self.cost_, self.bound_ = outcome.figures["cost"], outcome.figures["bound"]
        self.gap_ = outcome.figures["gap"]
        self.suppressed_mask_ = outcome.suppressed
        assert outcome.unsafe is not None
        return released(X, table, outcome.columns, outcome.unsafe)

    def _run(self, given: Given) -> Outcome:
        """Treat the columns together."""
        if given.linked is not None:
            raise BadInput(
                f"rows of a unit can be seen to belong together, and {self.recipe_name} does not "
                "protect that; use generalize with global recoding"
            )
        self.check_treated(list(given.columns))
        keys = Keys.of(given.columns, None)
        words = given.draws(next(iter(given.columns))).words(np.arange(len(keys.of_row)))
        codes = with_several(given.units, None)
        units = None if codes is None else Units.of(keys, codes, words, None)
        others = Others(given.others, None, codes)
        kinds = None
        if self._tells_apart and units is None:
            kinds = Keys.of({**given.columns, **given.others}, None)
        of_row = (kinds or keys).of_row
        made = make(
            self, keys, units, others, given.draws, lambda n: smallest(of_row, words, n)[1], kinds
        )
        if units is not None:
            words = units.words[units.of_row]
        masks = made.blanking.masks_of(keys.of_row, words.__getitem__)
        done = treated(given.columns, masks)
        fates = done.suppressed, done.unsafe
        return Outcome(done.columns, made.plans, made.joint, *fates, made.figures, made.fixed)

    # From counts

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide from the distinct tuples of the columns, and of those that are read.

        Where units are counted, a tuple has a row for each of its units.
        """
        self.check_treated(columns)
        unit = [] if counted.unit is None else [counted.unit]
        table, weights = counted.tuples([*columns, *self.reads, *unit])
        own = {name: table[name] for name in columns}
        keys = Keys.of(own, weights)
        drawn, codes, units = draws(columns[0]), None, None
        if unit:
            codes = with_several(encode(table[unit[0]], unit[0])[0], weights)
            words = drawn.at(group_numbers(table[unit[0]])).words(np.arange(len(table)))
            units = None if codes is None else Units.of(keys, codes, words, weights)
        lookup = Lookup.learn(own)
        places = keys.of_row[lookup.first]
        find = partial(_tuples, lookup, places)
        others = Others({name: table[name] for name in self.reads}, weights, codes)
        kinds, looked_at, known = None, list(columns), find
        if self._tells_apart and units is None:
            kinds = Keys.of({**own, **others.columns}, weights)
            looked_at += self.reads
            every = Lookup.learn({**own, **others.columns})
            known = partial(_tuples, every, kinds.of_row[every.first])
        made = make(
            self, keys, units, others, draws,
            lambda n: counted.smallest(looked_at, known, n, drawn), kinds,
        )  # fmt: skip
        treat = ByTuple(find, made.blanking)
        return Decision(made.plans, treat, made.joint, made.figures, made.fixed)


def _tuples(lookup: Lookup, places: np.ndarray, columns: Mapping[str, Any]) -> np.ndarray:
    return places[lookup.find(columns)]
