"""The post-randomisation method (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.utils.validation import check_is_fitted

from discreet.draws import Draws
from discreet.errors import BadInput, nearest
from discreet.method import Method, as_arrow, as_given, per_column
from discreet.outcome import Counted, Decision, Given, Outcome, Rounder, as_computed
from discreet.parameters import Constraints, Rule, check_named, number
from discreet.plan import ColumnPlan

MOST_CATEGORIES = 1000
Matrix = Mapping[str, Mapping[str, float]]
_ROW = number(least=0, most=1, wanted="made of probabilities from 0 to 1", by_column=True)


@dataclass(eq=False, repr=False)
class PRAM(Method):
    """Change categories at random, by known probabilities (post-randomisation).

    A row of the transition matrix says with which probabilities a category becomes each of the
    others, or stays.

    Parameters
    ----------
    retention : float or mapping of str to float
        Probability that a value stays, at least 0 and below 1; by column where a mapping. A value
        that does not stay becomes one of the other categories, each as likely.
    matrix : mapping of str to mapping, optional
        By column: category -> (category -> probability), a row for each category; what a row
        leaves out has probability 0. A column that it does not name is treated by `retention`.
    invariant : bool
        Keep the expected counts of the categories. With `retention`, a value that does not stay
        becomes a category drawn by the column's shares, which may be its own again. A `matrix` P
        becomes R = PQ, where Q undoes P on average: Q_lk = p_k P_kl / sum_m p_m P_ml.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    plan_ : dict of str to dict
        The sorted `categories` of each column, and the `matrix` that was used, row after row.

    See Also
    --------
    RankSwap : for numbers.

    Notes
    -----
    Text, booleans, integers, floats and categories can be treated, with at most 1,000 different
    values in a column; decimals and dates only as text. Nulls stay. New rows must hold known
    categories.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"works": ["no", "yes", "yes", None, "yes", "no", "yes"]})
    >>> pram = PRAM(retention=0.6, random_state=4).fit(people)
    >>> pram.transform(people)["works"].to_pylist()
    ['no', ..., None, ...]
    >>> pram.plan_["works"]["matrix"].reshape(2, 2)
    array([[0.6, 0.4],
           [0.4, 0.6]])
    """

    recipe_name: ClassVar[str] = "pram"
    anew: ClassVar[str] = "its changes are drawn anew, among the categories that there are now"
    effect: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True
    steady: ClassVar[bool] = True
    by_column: ClassVar[bool] = True
    needs: ClassVar[Literal["numeric", "mixed", "any"]] = "any"
    in_words: ClassVar[str] = "some values were replaced by others at random"
    caveat: ClassVar[str] = (
        "categories were changed at random: counts are pulled towards each other and tables with "
        "this column come out too flat; counts can be corrected with the transition probabilities, "
        "where these are published, and are approximate otherwise"
    )
    published_with_noise: ClassVar[tuple[str, ...]] = ("retention", "matrix", "invariant")
    constraints: ClassVar[Constraints] = {
        "retention": number(
            least=0, below=1, wanted="a probability below 1, such as 0.8", by_column=True
        ),
        "matrix": Rule(
            wanted="a row of probabilities for each category",
            good=lambda rows: isinstance(rows, Mapping),
            optional=True,
            by_column=True,
        ),
    }

    retention: float | Mapping[str, float] = 0.8
    _: KW_ONLY
    matrix: Mapping[str, Matrix] | None = None
    invariant: bool = False
    random_state: Any = None

    @property
    def amount(self) -> float:
        """One value in ten that does not stay is little."""
        if self.matrix is not None:
            rows = [row for matrix in self.matrix.values() for row in matrix.items()]
            stay = [row.get(category, 0.0) for category, row in rows]
        else:
            retention = self.retention
            stay = [*retention.values()] if isinstance(retention, Mapping) else [retention]
        return (1 - min(stay, default=1.0)) / 0.1

    def check_params(self) -> None:
        """Refuse rows of a matrix that are no probabilities, or do not add up to 1."""
        super().check_params()
        for column, matrix in (self.matrix or {}).items():
            for category, row in matrix.items():
                _check_row(f"row {_label(category)!r} of the matrix of column '{column}'", row)

    def _run(self, given: Given) -> Outcome:
        """Change the categories of each column."""
        plans = {name: self._decide(name, column) for name, column in given.columns.items()}
        new = self._treat(plans, given.columns, given.draws, given.rounded).columns
        return Outcome(new, plans, {"kind": "pram"})

    @property
    def bound_to_memory(self) -> str | None:
        """Categories with counts are enough."""
        return None

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide on each column from its categories and their counts."""
        plans = {}
        for name in columns:
            table, counts = counted.tuples([name])
            plans[name] = self._decide(name, table[name], counts)
        return Decision(plans, partial(self._treat, plans), {"kind": "pram"})

    def _treat(
        self,
        plans: Mapping[str, ColumnPlan],
        columns: Mapping[str, pa.ChunkedArray],
        draws: Callable[[str], Draws],
        rounded: Rounder,
    ) -> Outcome:
        """Change the categories of rows."""
        new = {
            name: _apply(name, plan, _with_all(name, column, plan), _under(plan, draws(name)))
            for name, column in columns.items()
            for plan in [plans[name]]
        }
        return Outcome(new, {})

    def _decide(
        self, name: str, column: pa.ChunkedArray, counts: np.ndarray | None = None
    ) -> ColumnPlan:
        """Count the categories, and make their transition matrix."""
        counted = _count(_plain(name, column), counts)
        if len(counted) == 0:
            raise BadInput(f"column '{name}' holds only nulls")
        if len(counted) > MOST_CATEGORIES:
            raise BadInput(
                f"column '{name}' has {len(counted):,} categories, pram takes {MOST_CATEGORIES:,} "
                "at most; group them first, or use rank-swap for numbers"
            )
        if len(counted) == 1:
            warnings.warn(f"column '{name}' has one category only: it stays", stacklevel=3)
        counted = counted.take(pc.sort_indices(counted.field("values")))
        categories = counted.field("values").to_pylist()
        held = counted.field("counts").to_numpy()
        matrix = self.transitions(name, categories, held / held.sum())
        return {"kind": "pram", "categories": categories, "matrix": matrix.ravel()}

    def check_treated(self, columns: Sequence[str]) -> None:
        """Take a retention for each column but those that have a matrix."""
        super().check_treated([name for name in columns if name not in (self.matrix or {})])

    def transitions(self, name: str, categories: list[Any], shares: np.ndarray) -> np.ndarray:
        """Return the matrix of a column, row after row; only an invariant one needs the shares."""
        if self.matrix is not None and name in self.matrix:
            given = _given(name, self.matrix[name], [_label(c) for c in categories])
            return _invariant(given, shares) if self.invariant else given
        stay, m = float(per_column(self.retention, name, "retention")), len(categories)
        if self.invariant:
            return stay * np.eye(m) + (1 - stay) * shares
        matrix = np.full((m, m), (1 - stay) / max(m - 1, 1))
        np.fill_diagonal(matrix, stay if m > 1 else 1.0)
        return matrix

    def fit(self, X: Any, y: Any = None) -> PRAM:
        """Make the transition matrix of each column.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : ignored
        """
        table = self._table(X, reset=True)
        self.plan_ = {name: self._decide(name, table[name]) for name in table.column_names}
        return self

    def transform(self, X: Any) -> Any:
        """Change the categories of rows, new ones too; the kind of table comes back as it was."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        new = {
            name: _apply(name, self.plan_[name], table[name], self._draws(name))
            for name in table.column_names
        }
        return as_given(X, pa.table(new), set(new))

    def _table(self, X: Any, reset: bool) -> pa.Table:
        self.check_params()
        table = as_arrow(self, X, reset)
        check_named(self, table.column_names)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _under(plan: ColumnPlan, draws: Draws) -> Draws:
    """Take the draws that a project has for a column with this matrix, if there is a project."""
    if not draws.is_tied:
        return draws
    matrix = [f"{x:.12g}" for x in plan["matrix"].tolist()]
    return draws.under("pram", *(_label(category) for category in plan["categories"]), *matrix)


def _check_row(where: str, row: Any) -> None:
    if not isinstance(row, Mapping):
        raise BadInput(f"{where} must be a mapping from categories to probabilities, not {row!r}")
    _ROW.check(where, row)
    if abs(math.fsum(row.values()) - 1) > 1e-6:
        raise BadInput(f"{where} adds up to {math.fsum(row.values()):.7g}, not to 1")


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as its categories, or refuse what are none."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
    ):
        return column.cast(kind)
    raise BadInput(
        f"column '{name}' holds {column.type}; pram takes text, booleans, integers, floats or "
        "categories: convert it to text first"
    )


def _count(column: pa.ChunkedArray, counts: np.ndarray | None) -> pa.StructArray:
    """Count the values of a column, nulls left out; `counts` are the records of each row."""
    if counts is None:
        return pc.value_counts(column.drop_null())
    rows = pa.table({"values": column, "counts": pa.array(counts, pa.int64())}).drop_null()
    summed = rows.group_by("values").aggregate([("counts", "sum")]).combine_chunks()
    held = [summed[name].combine_chunks() for name in ("values", "counts_sum")]
    return pa.StructArray.from_arrays(held, names=["values", "counts"])


def _label(category: Any) -> str:
    """Name a category as a recipe does: its keys are text."""
    if isinstance(category, bool | np.bool_):
        return str(category).lower()
    if isinstance(category, float) and category.is_integer():
        return str(int(category))
    return str(category)


def _given(name: str, rows: Matrix, labels: list[str]) -> np.ndarray:
    """Lay out the matrix that was given, its rows and columns in the categories' order."""
    position = {label: i for i, label in enumerate(labels)}

    def find(category: Any) -> int:
        if _label(category) not in position:
            raise BadInput(
                f"the matrix of column '{name}' names {_label(category)!r}, which the column does "
                f"not hold; {nearest(_label(category), labels)}"
            )
        return position[_label(category)]

    matrix = np.zeros((len(labels), len(labels)))
    for category, row in rows.items():
        for other, probability in row.items():
            matrix[find(category), find(other)] = probability
    for label, total in zip(labels, matrix.sum(axis=1), strict=True):
        if total == 0:
            raise BadInput(f"the matrix of column '{name}' has no row for {label!r}")
    return matrix / matrix.sum(axis=1, keepdims=True)


def _invariant(first: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Follow a matrix by the one that leads back to the shares (Kooiman et al. 1997)."""
    joint = shares[:, None] * first
    reached = joint.sum(axis=0)
    back = np.divide(joint, reached, out=np.zeros_like(joint), where=reached > 0).T
    # Not a matrix product, whose sums depend on the number of threads.
    return np.einsum("kl,lm->km", first, back)


def _apply(name: str, plan: ColumnPlan, column: pa.ChunkedArray, draws: Draws) -> pa.ChunkedArray:
    """Draw each row's new category, one number a row."""
    plain = _plain(name, column)
    categories = pa.array(plan["categories"], plain.type)
    codes = pc.fill_null(pc.index_in(plain, value_set=categories), -1).to_numpy()
    (rows,) = np.nonzero(codes >= 0)
    if len(rows) < len(codes) - column.null_count:
        row = int(np.argmax((codes < 0) & np.asarray(column.is_valid())))
        raise BadInput(
            f"column '{name}', row {row + 1}: {plain[row].as_py()!r} is not among the categories "
            "that the matrix was made for"
        )
    new = np.full(len(codes), -1, dtype=np.int32)
    new[rows] = _draw(plan["matrix"], codes[rows], draws.uniform(rows))
    if pa.types.is_dictionary(column.type):
        return _as_dictionary(name, column, new, categories)
    return pa.chunked_array([categories.take(pa.array(new, mask=new < 0))])


def _draw(matrix: np.ndarray, codes: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Return the first category whose cumulated probability is above the number drawn."""
    m = math.isqrt(len(matrix))
    cumulated = np.cumsum(np.reshape(matrix, (m, m)), axis=1)
    # The last possible category ends at 1 exactly, so that none behind it is ever drawn.
    cumulated /= cumulated[:, -1:]
    order = np.argsort(codes.astype(np.int16), kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=m))
    new = np.empty(len(codes), dtype=np.int32)
    for i, rows in enumerate(np.split(order, ends[:-1])):
        new[rows] = np.searchsorted(cumulated[i], uniform[rows], side="right")
    return new


def _with_all(name: str, column: pa.ChunkedArray, plan: ColumnPlan) -> pa.ChunkedArray:
    """Let a piece of a dictionary column know the categories that only other pieces hold."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or kind.ordered:
        return column
    column = pa.chunked_array([column.combine_chunks()]) if column.num_chunks != 1 else column
    chunk = column.chunk(0)
    categories = pa.array(plan["categories"], kind.value_type)
    lacking = categories.filter(pc.invert(pc.is_in(categories, value_set=chunk.dictionary)))
    if not len(lacking):
        return column
    labels = pa.concat_arrays([chunk.dictionary, lacking])
    indices = chunk.indices.cast(pa.int32())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, labels)])


def _as_dictionary(
    name: str, column: pa.ChunkedArray, new: np.ndarray, categories: pa.Array
) -> pa.ChunkedArray:
    """Return categories in the column's own dictionary, in its order."""
    labels = column.combine_chunks().dictionary
    place = pc.index_in(categories, value_set=labels)
    if place.null_count:
        lacking = categories[pc.index(place.is_null(), True).as_py()].as_py()
        raise BadInput(
            f"column '{name}' does not know the category {lacking!r}, which may be drawn; add it "
            "to the column's categories"
        )
    codes = place.take(pa.array(new, mask=new < 0)).cast(column.type.index_type)
    ordered = column.type.ordered
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, labels, ordered=ordered)])
