"""What every method is: a scikit-learn transformer that a recipe can also name.

A method says what it needs, what it does to a column (*coarsens* or *perturbs*), whether it draws
at random, and what it promises; `protect` runs it, and the check verifies the promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_into_dataframe

from discreet._estimator import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    check_is_fitted,
    validate_data,
)
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.outcome import (
    AsFloat,
    Counted,
    Decision,
    Given,
    Key,
    Linked,
    Outcome,
    Rounder,
    as_computed,
)
from discreet.parameters import Constraints, check_declared, check_named, rules_of
from discreet.table.classes import encode
from discreet.table.native import like, normalise, to_arrow
from discreet.table.summary import Summary, summarise

Value = TypeVar("Value")
# Promises about classes of records.
JUDGED = ("privacy-models", "wildcard-k", "local-suppression", "anatomy")


class Method(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of every method that a recipe can name."""

    # The name in a recipe's `method`.
    recipe_name: ClassVar[str]
    # What it is given: "numeric", numbers as float64 (NaN where null), other columns are refused;
    # "any", every column as Arrow holds it; "mixed", numbers as float64 and the others as Arrow.
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "numeric"
    # Parameters that a budget in seconds stands for; a rerun replays what it came to.
    budgets: ClassVar[tuple[str, ...]] = ()
    # It needs classes: `y`, or in a recipe the column with the role target.
    supervised: ClassVar[bool] = False
    # Dates, datetimes and durations are numbers to it; not where its parameters are values.
    takes_dates: ClassVar[bool] = True
    # Parameters that a recipe does not set: all draws come from the release's seed, and every step
    # has columns.
    estimator_only: ClassVar[tuple[str, ...]] = ("random_state", "columns")
    # It puts the values of all its columns together, which must then count the same thing.
    pools: ClassVar[bool] = False
    # On an engine it sorts the values of all its columns there: `run_on` and not `decide_from`.
    orders: ClassVar[bool] = False
    # Rows with the same values get the same, however often they come.
    alike: ClassVar[bool] = False
    # What its draws go by, where a recipe gives it, and else by row: the household, or else the
    # unit ("person"); or what k counts ("counted"). They are the same in all its rows.
    draws_by: ClassVar[Literal["row", "person", "counted"]] = "row"
    # Each cell has its draw, so that a project key can make it the same in other releases.
    steady: ClassVar[bool] = False
    # What it does to a column, for people who read the released file's codebook.
    in_words: ClassVar[str]
    # Parameters that users of a release may know where it coarsens: they say what a released value
    # stands for.
    published: ClassVar[tuple[str, ...]] = ()
    # Those that they may know where it perturbs, if the recipe says `publish_noise`.
    published_with_noise: ClassVar[tuple[str, ...]] = ()
    # It is differentially private: what is published must follow from its result alone.
    private: ClassVar[bool] = False
    # A released value is the centre of a group's values: who knows the others can tell the last.
    averages: ClassVar[bool] = False
    # Why its plan is not applied to other rows, which it decides on anew instead.
    anew: ClassVar[str] = "its plan is about the very records that it was made from"
    # What its parameters must be, beyond those of its bases.
    constraints: ClassVar[Constraints] = {}

    @property
    def effect(self) -> str:
        """`"coarsens"` or `"perturbs"`."""
        return "coarsens"

    @property
    def is_random(self) -> bool:
        """True where the result depends on a seed."""
        return False

    @property
    def draws_by_row(self) -> bool:
        """True where chance decides about each row, and not only how values are grouped."""
        return self.is_random and self.effect == "perturbs"

    @property
    def minimal(self) -> bool:
        """True where it is known to release the best there is: all better would break a promise."""
        return False

    @property
    def suppresses(self) -> bool:
        """True where it may suppress records: they get `*` in its columns, or are left out."""
        return False

    @property
    def by_column(self) -> bool:
        """True where each column is treated by itself, whatever the others hold."""
        return False

    @property
    def blanks(self) -> bool:
        """True where it may turn a value into a null."""
        return False

    @property
    def caveat(self) -> str:
        """What an analyst must know of its result: what it keeps, and what it distorts."""
        raise NotImplementedError

    @property
    def amount(self) -> float:
        """How much it perturbs where it does: little up to 1, much above 5."""
        return 5.0

    @property
    def strength(self) -> str | None:
        """How strongly it perturbs: low, medium or high; None where it does not."""
        if self.effect != "perturbs":
            return None
        found = self.amount
        return "low" if found <= 1 + 1e-9 else "medium" if found <= 5 + 1e-9 else "high"

    @property
    def promise(self) -> str | None:
        """The kind of promise that the check verifies, or None; see `discreet.check.check`."""
        return None

    @property
    def done_in_words(self) -> str:
        """What it does to a column, where that depends on its parameters too."""
        return self.in_words

    @property
    def meaning(self) -> str:
        """What its promise means for a person in the table, for those who must decide on it."""
        return ""

    @property
    def nulls_in_words(self) -> str:
        """What becomes of nulls in its columns; empty where they stay in place."""
        return ""

    @property
    def reads(self) -> Sequence[str]:
        """Columns that it looks at and does not treat; a promise covers them too."""
        return ()

    @property
    def judges(self) -> Sequence[str]:
        """Those of them that its promise is about."""
        return self.reads

    @property
    def takes_along(self) -> Sequence[str]:
        """Columns that it treats besides those that `columns` of a recipe's step names."""
        return ()

    @property
    def adds(self) -> Sequence[str]:
        """Columns that a release has beside those of the table."""
        return ()

    @property
    def apart(self) -> Sequence[str]:
        """Columns that are written to a second table, joined with the first by what it `adds`."""
        return ()

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Return what to set in a recipe's step so that it decides on other rows as it did here.

        Parameters
        ----------
        plan : mapping
            The step's part of a release's plan, as it was read from its file.

        Returns
        -------
        dict or str
            Parameters, and perhaps another `method` that takes these alone. Or, as a sentence
            without a subject, why nothing is kept and the step is decided on anew.
        """
        return self.anew

    def check_params(self) -> None:
        """Raise `BadInput` where a parameter has a value that cannot be used.

        A subclass adds the rules that join several parameters.
        """
        check_declared(self)

    def check_treated(self, columns: Sequence[str]) -> None:
        """Raise `BadInput` where parameters do not fit the columns to treat, whatever they hold."""
        kind: Any = type(self)
        for name, rule in rules_of(kind).items():
            for column in columns if rule.by_column and not rule.optional else ():
                per_column(getattr(self, name), column, name)

    @property
    def bound_to_memory(self) -> str | None:
        """Why it needs all rows in memory; None where it can decide from counts."""
        return "it looks at the rows themselves"

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide on some columns from counts: what `protect` calls on an engine.

        Not called where `bound_to_memory` says why.
        """
        raise NotImplementedError

    def run_on(
        self,
        columns: Sequence[str],
        frame: Frame,
        as_float: AsFloat,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
        key: Key | None = None,
    ) -> tuple[Outcome, Frame]:
        """Treat some columns by sorting their values: what `protect` calls where it `orders`.

        Parameters
        ----------
        columns : sequence of str
        frame : Frame
            The rows, with these columns as the steps before have left them.
        as_float, draws, rounded : callable
            All of them, and the draws, can be pickled.
        key : tuple, optional
            What draws go by where it is not the row's number. Where rows have no fixed place, it
            also orders rows of the same value.

        Returns
        -------
        outcome : Outcome
            Without columns.
        new : Frame
            The treated columns as float64 by row number; rows of nothing but nulls are left out.
        """
        raise NotImplementedError

    def run(
        self,
        columns: Mapping[str, Any],
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
        target: np.ndarray | None = None,
        others: Mapping[str, pa.ChunkedArray] | None = None,
        units: np.ndarray | None = None,
        linked: Linked | None = None,
    ) -> Outcome:
        """Treat some columns: what `protect` calls. `Given` says what it takes."""
        return self._run(Given(columns, draws, rounded, target, others or {}, units, linked))

    def _run(self, given: Given) -> Outcome:
        """Treat what `run` was given."""
        raise NotImplementedError

    def _draws(self, name: str) -> Draws:
        return Draws.from_random_state(getattr(self, "random_state", None), name)

    def _columns(self, X: Any, reset: bool) -> dict[str, np.ndarray]:
        """Take the columns of a numeric table or array."""
        self.check_params()
        if isinstance(X, pa.Table):
            X = X.to_pandas()
        # It adds the values up, which may be more than float64 holds: then it looks at each.
        with np.errstate(invalid="ignore"):
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])
        columns = {str(name): X[:, i] for i, name in enumerate(names)}
        if reset:
            for name, values in columns.items():
                if np.isnan(values).all():
                    raise BadInput(f"column '{name}' holds only nulls")
        check_named(self, columns)
        return columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ColumnMethod(Method):
    """Base of the methods that treat each column by itself: count, decide, apply.

    A subclass writes `decide`, from a summary to a plan, and `apply`, from a plan and values to
    new values. A plan is one of `discreet.plan`, with a `kind` that the check knows.
    """

    random_state: Any = None

    @property
    def by_column(self) -> bool:
        """Each by itself."""
        return True

    def decide(self, summary: Summary, column: str) -> Any:
        """Make the plan of one column from its distinct values and counts."""
        raise NotImplementedError

    def apply(self, plan: Any, values: np.ndarray, draws: Draws) -> np.ndarray:
        """Return new values by a plan; nulls (NaN) stay."""
        raise NotImplementedError

    def decide_rounded(self, summary: Summary, column: str, draws: Draws, rounded: Rounder) -> Any:
        """Make the plan of one column whose results are rounded."""
        return self.decide(summary, column)

    def decide_and_apply(
        self,
        values: np.ndarray,
        column: str,
        draws: Draws,
        rounded: Rounder,
        target: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Treat the rows that the plan is made from."""
        plan = self.decide_rounded(summarise(values, target, units), column, draws, rounded)
        return rounded(column, self.apply(plan, values, draws)), plan

    @property
    def bound_to_memory(self) -> str | None:
        """Distinct values with counts are enough."""
        return None

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide on each column from its distinct values and counts."""
        plans = {name: self._plan_from(counted, name, draws(name), rounded) for name in columns}
        return Decision(plans, partial(self._treat, plans))

    def _plan_from(self, counted: Counted, column: str, draws: Draws, rounded: Rounder) -> Any:
        return self.decide_rounded(counted.summary(column), column, draws, rounded)

    def _treat(
        self,
        plans: Mapping[str, Any],
        columns: Mapping[str, np.ndarray],
        draws: Callable[[str], Draws],
        rounded: Rounder,
    ) -> Outcome:
        """Apply plans to rows."""
        new = {
            name: rounded(name, self.apply(plans[name], values, draws(name)))
            for name, values in columns.items()
        }
        return Outcome(new, {})

    def _run(self, given: Given) -> Outcome:
        """Treat each column by itself."""
        results, plans = {}, {}
        for name, values in given.columns.items():
            results[name], plans[name] = self.decide_and_apply(
                values, name, given.draws(name), given.rounded, given.target, given.units
            )
        return Outcome(results, plans)

    def fit(self, X: Any, y: Any = None, units: Any = None) -> ColumnMethod:
        """Decide on each column of a numeric table or array.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : array of shape (n_samples,), optional
            The class of each row, for supervised methods; the others ignore it.
        units : array of shape (n_samples,), optional
            The person or household of each row, where k counts these and not rows.
        """
        columns = self._columns(X, reset=True)
        n = len(next(iter(columns.values())))
        target, codes = self._classes(y, n), unit_codes(units, n)
        self.plan_ = {
            name: self.decide(summarise(x, target, codes), name) for name, x in columns.items()
        }
        self._learned()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Apply the plan to rows, new ones too; k held for the rows that it was made from."""
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        new = [self.apply(self.plan_[name], x, self._draws(name)) for name, x in columns.items()]
        return _table(new)

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> np.ndarray:
        """Decide on the columns and treat them."""
        columns = self._columns(X, reset=True)
        n = len(next(iter(columns.values())))
        target, codes = self._classes(y, n), unit_codes(units, n)
        outcome = self.run(columns, self._draws, target=target, units=codes)
        self.plan_ = outcome.plans
        self._learned()
        return _table(list(outcome.columns.values()))

    def _classes(self, y: Any, n: int) -> np.ndarray | None:
        """Return the class of each row as 0, 1, ..., for supervised methods."""
        return None

    def _learned(self) -> None:
        """Set the attributes that a family shows after fitting."""


class RowBound(Method):
    """Base of the numeric methods that look at the rows themselves: `fit_transform` only."""

    def fit(self, X: Any, y: Any = None) -> RowBound:
        """Treat the rows and keep the plan, like `fit_transform`; there is no `transform`."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Treat the columns of a numeric table or array.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : ignored
        """
        outcome = self.run(self._columns(X, reset=True), self._draws)
        self._learned(outcome)
        return _table(list(outcome.columns.values()))

    def _learned(self, outcome: Outcome) -> None:
        """Keep what was decided."""
        self.plan_ = outcome.joint | {"columns": outcome.plans}


def as_arrow(method: Method, X: Any, reset: bool) -> pa.Table:
    """Take a table or array of any kinds of columns, for the methods that need `"any"`.

    With `reset` the columns are remembered as scikit-learn does; without, they are compared.
    """
    if is_into_dataframe(X):
        validate_data(method, X, skip_check_array=True, reset=reset)
        return normalise(to_arrow(X), [])
    X = validate_data(method, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
    try:
        columns = {f"x{i}": pa.array(column, from_pandas=True) for i, column in enumerate(X.T)}
    except pa.ArrowException as error:
        raise BadInput(f"a column mixes types or has one that is not supported: {error}") from None
    return normalise(pa.table(columns), [])


def as_given(X: Any, table: pa.Table, changed: set[str]) -> Any:
    """Return a treated table back as what `X` is, an array where it is no table."""
    if is_into_dataframe(X):
        return like(X, table, changed)
    return np.column_stack([c.to_numpy() for c in table.columns])


def unit_codes(units: Any, n: int) -> np.ndarray | None:
    """Return the unit of each of n rows as 0, 1, ..., in the order in which they first appear.

    Examples
    --------
    >>> unit_codes(["b", "a", "b"], 3)
    array([0, 1, 0])
    """
    if units is None:
        return None
    column = units if isinstance(units, pa.ChunkedArray) else pa.chunked_array([pa.array(units)])
    if len(column) != n:
        raise BadInput(f"units has {len(column):,} values for {n:,} rows")
    if column.null_count:
        raise BadInput("units holds nulls; every row needs one")
    return encode(column, "units")[0]


def private_in_words(epsilon: float, delta: float = 0.0, changed: bool = False) -> str:
    """Say what differential privacy promises a person.

    Parameters
    ----------
    epsilon, delta : float
    changed : bool
        Where a record is compared with any other in its place, and not with none.

    Examples
    --------
    >>> print(private_in_words(1, 1e-6))  # doctest: +NORMALIZE_WHITESPACE
    The release is differentially private with epsilon = 1 and delta = 1e-06: whatever comes of it
    for a person, and whatever anybody concludes about them from it, is at most 2.72 times as likely
    as it would be had their record not been in the table, but for a chance of 1 in 1,000,000.
    """
    times = math.exp(epsilon)
    said = f"{times:,.3g}" if times < 1e6 else "millions of"
    with_delta = f" and delta = {delta:g}" if delta else ""
    but_for = f", but for a chance of 1 in {1 / delta:,.0f}" if delta else ""
    otherwise = "held anything else" if changed else "not been in the table"
    return (
        f"The release is differentially private with epsilon = {epsilon:g}{with_delta}: whatever "
        "comes of it for a person, and whatever anybody concludes about them from it, is at most "
        f"{said} times as likely as it would be had their record {otherwise}{but_for}."
    )


def _table(columns: list[np.ndarray]) -> np.ndarray:
    """Put columns side by side; one alone is not copied."""
    return columns[0].reshape(-1, 1) if len(columns) == 1 else np.column_stack(columns)


def largest(parameter: float | Mapping[str, float]) -> float:
    """Return the largest value of a parameter that may be given column by column."""
    return max(parameter.values()) if isinstance(parameter, Mapping) else parameter


def per_column(parameter: Value | Mapping[str, Value], column: str, name: str) -> Value:
    """Look up a parameter that may be given once for all columns or column by column."""
    if not isinstance(parameter, Mapping):
        return parameter
    if column not in parameter:
        raise BadInput(f"{name} is given by column, but not for column '{column}'")
    return parameter[column]
