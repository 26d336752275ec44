"""Utility by models: one that tells the tables apart, and ones trained on the release."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Measure, target_of
from discreet.parameters import number, whole
from discreet.table.columns import kind_of
from discreet.table.native import to_arrow
from discreet.table.pairs import as_table
from discreet.utility.compared import (
    Pairs,
    check_target,
    finite_pairs,
    is_constant,
    leave_out,
    shared_codes,
)
from discreet.utility.contingency import grouped
from discreet.utility.covers import covers_of

_FOLDS = 10
# A 0/1 column each: more would fill memory, and names of single records teach a model nothing.
_MOST_CATEGORIES = 200
_FEW_FEATURES = 300


def propensity_mse(original: Any, protected: Any) -> float:
    """How well a logistic regression tells protected rows from original ones: mean (p - 0.5)^2.

    Parameters
    ----------
    original, protected : table or array
        As many rows in both.

    Returns
    -------
    float
        0 where the tables cannot be told apart, 0.25 where they fall apart entirely. The model has
        the numeric columns, standardised, and their squares (means alone would not show that a
        method shrinks the spread), a 0/1 column per category, and one per numeric column that
        marks its nulls; a null is a category of its own. Its ridge penalty is scikit-learn's
        default, 1. A numeric column that is constant over both tables and a column of more than
        200 categories are left out with a warning.

    Examples
    --------
    >>> propensity_mse([[1.0], [2.0], [3.0]], [[1.0], [2.0], [3.0]])
    0.0
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if len(as_table(original)) == 0:
        raise BadInput("propensity_mse needs rows, and the table has none")
    numeric = finite_pairs(original, protected)
    features = [
        part for name, (x, y) in numeric.items() for part in _standard(np.concatenate([x, y]), name)
    ]
    if not isinstance(original, np.ndarray | list | tuple):
        for sides in _memberships(original, protected, "propensity_mse").values():
            shares = np.concatenate(sides)
            features.append(shares[:, shares.any(axis=0)])
    if not features:
        return 0.0
    design = np.column_stack(features)
    n = len(design) // 2
    label = np.repeat([0, 1], n)
    # The same optimum, many times sooner where there are not too many features.
    solver = "newton-cholesky" if design.shape[1] <= _FEW_FEATURES else "lbfgs"
    with warnings.catch_warnings():
        # At the optimum from the start, Newton's steps find nothing better, and it falls back.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(solver=solver, max_iter=1000, tol=1e-8).fit(design, label)
    return float(np.mean((model.predict_proba(design)[:, 1] - 0.5) ** 2))


def _memberships(
    original: Any, protected: Any, measure: str, target: str | None = None
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the columns of categories, but a target, as a 0/1 column for each group of values.

    Groups are those that released labels tell apart, so that a model does not learn the names of
    labels; one that covers several groups is in each in part. Columns with too many are left out.
    """
    before, after = to_arrow(original), to_arrow(protected)
    found = {}
    for name in after.column_names:
        if name == target or name not in before.column_names:
            continue
        if kind_of(before[name].type) == kind_of(after[name].type) == "numeric":
            continue
        own = grouped(covers_of(before[name], after[name], name))
        if own.size > _MOST_CATEGORIES:
            leave_out(measure, name, f"which has more than {_MOST_CATEGORIES} categories")
            continue
        found[name] = np.eye(own.size)[own.was], own.spread[own.label].toarray()
    return found


def _standard(x: np.ndarray, name: str) -> list[np.ndarray]:
    null = np.isnan(x)
    parts = [null.astype(np.float64)] if null.any() else []
    if null.all() or is_constant(x):
        leave_out("propensity_mse", name, "which is constant")
        return parts
    # Tiny numbers have squares of 0, and huge ones of infinity.
    x = x / np.nanmax(np.abs(x))
    z = (x - np.nanmean(x)) / np.nanstd(x)
    z = np.where(null, 0.0, z)
    return [*parts, z, z * z]


@dataclass(frozen=True)
class RegressionUtility:
    """A linear model trained on the protected table: its R squared and error on original rows.

    `r2_protected` is R squared on the rows that it was trained on.
    """

    value: float
    mse: float
    r2_protected: float


@overload
def regression_utility(original: Any, protected: Any, target: str) -> float: ...
@overload
def regression_utility(
    original: Any, protected: Any, target: str, *, detail: Literal[True]
) -> RegressionUtility: ...
def regression_utility(
    original: Any, protected: Any, target: str, *, detail: bool = False
) -> float | RegressionUtility:
    """R squared on the original rows of a linear model that was trained on the protected ones.

    Parameters
    ----------
    original, protected : table or array
        The same columns; the model has all numeric ones.
    target : str
        The column to predict; x0, x1, ... in arrays.
    detail : bool
        Give mse and the R squared on the protected rows too.

    Returns
    -------
    float or RegressionUtility
        Rows with a null are left out, of each table by itself. A target that is constant has no R
        squared: refused in the original, 0 with a warning in the protected table.

    Examples
    --------
    >>> x = [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]
    >>> round(regression_utility(x, x, "x1"), 12)
    1.0
    """
    pairs = finite_pairs(original, protected)
    check_target(target, list(pairs))
    (x, a), (y, b) = (_features(pairs, target, side) for side in (0, 1))
    if len(a) == 0 or is_constant(a):
        raise BadInput(f"the target '{target}' is constant in the original's complete rows")
    if len(b) == 0:
        raise BadInput("the protected table has no row without nulls to train on")
    centre, mean = y.mean(axis=0), b.mean()
    slopes = np.linalg.lstsq(y - centre, b - mean, rcond=None)[0]
    on_original = a - mean - (x - centre) @ slopes
    on_protected = b - mean - (y - centre) @ slopes
    r2 = 1 - float((on_original**2).sum() / ((a - a.mean()) ** 2).sum())
    if not detail:
        return r2
    if is_constant(b):
        leave_out("regression_utility", target, "constant in the protected table, so r2 there is 0")
        fit = 0.0
    else:
        fit = 1 - float((on_protected**2).sum() / ((b - mean) ** 2).sum())
    return RegressionUtility(r2, float((on_original**2).mean()), fit)


def _features(pairs: Pairs, target: str, side: int) -> tuple[np.ndarray, np.ndarray]:
    table = np.column_stack(
        [pairs[target][side], *(p[side] for c, p in pairs.items() if c != target)]
    )
    table = table[~np.isnan(table).any(axis=1)]
    return table[:, 1:], table[:, 0]


@dataclass(frozen=True)
class ClassificationUtility:
    """A decision tree trained on the protected table, by cross-validation.

    `value`, AccO, is its accuracy on the original rows of the held-out folds (or on all original
    rows), `protected`, AccV, that on the protected rows of the held-out folds. `cp` and `depth` are
    what the tree was held to.
    """

    value: float
    protected: float
    cp: float = 0.0
    depth: int | None = None


@overload
def classification_utility(
    original: Any,
    protected: Any,
    target: str,
    *,
    cp: float = ...,
    depth: int | None = ...,
    all_rows: bool = ...,
    random_state: int = ...,
) -> float: ...
@overload
def classification_utility(
    original: Any,
    protected: Any,
    target: str,
    *,
    cp: float = ...,
    depth: int | None = ...,
    all_rows: bool = ...,
    random_state: int = ...,
    detail: Literal[True],
) -> ClassificationUtility: ...
def classification_utility(
    original: Any,
    protected: Any,
    target: str,
    *,
    cp: float = 0.0,
    depth: int | None = None,
    all_rows: bool = False,
    random_state: int = 0,
    detail: bool = False,
) -> float | ClassificationUtility:
    """Accuracy on original rows of a decision tree trained on protected ones, in 10 folds.

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table
        The same rows in the same order.
    target : str
        The class to predict.
    cp : float
        Complexity parameter, as R's rpart defines it: a split stays if it lowers the training
        error by more than this share of the root's error, splits below it included, for each leaf
        that it adds. rpart's default is 0.01; 0, the default here, grows the tree to the end, as
        scikit-learn does.
    depth : int, optional
        Most splits between the root and a leaf; rpart's default is 30.
    all_rows : bool
        Score on all original rows, those that the tree was trained on too, as the rounding paper
        did; for its reproduction.
    random_state : int
        Of folds and tree.
    detail : bool
        Give the accuracy on protected rows too.

    Returns
    -------
    float or ClassificationUtility
        Rows whose target is null in either table are left out. Elsewhere the tree knows nulls:
        numeric ones go where they split best, in categories they are one more. A column of more
        than 200 categories is left out with a warning.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [1.0, 2.0, 8.0, 9.0] * 5, "adult": ["no", "no", "yes", "yes"] * 5})
    >>> classification_utility(table, table, "adult")
    1.0
    """
    from sklearn.model_selection import KFold
    from sklearn.tree import DecisionTreeClassifier

    number(least=0).check("cp", cp)
    whole(1, optional=True).check("depth", depth)
    x, y, a, b = _class_problem(original, protected, target)
    if len(a) < 2:
        raise BadInput(f"classification needs two rows with a target '{target}' in both tables")
    correct_protected = correct = scored = 0
    folds = KFold(min(_FOLDS, len(a)), shuffle=True, random_state=random_state)
    for train, test in folds.split(y):
        tree = DecisionTreeClassifier(max_depth=depth, random_state=random_state)
        tree.fit(y[train], b[train])
        told = tree.classes_[pruned_answers(tree.tree_, cp)]
        rows = np.arange(len(a)) if all_rows else test
        correct_protected += int((told[tree.apply(y[test])] == b[test]).sum())
        correct += int((told[tree.apply(x[rows])] == a[rows]).sum())
        scored += len(rows)
    value = correct / scored
    if not detail:
        return value
    return ClassificationUtility(value, correct_protected / len(a), float(cp), depth)


def pruned_answers(tree: Any, cp: float) -> np.ndarray:
    """Return the class that each node of a grown tree answers, by its place, when it is pruned.

    By cost-complexity (Breiman and others 1984) with the training error as cost, as rpart has it:
    of a tree's subtrees the smallest with the least error + cp * (root's error) * (leaves).

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
        Its nodes come after their parents; `value` has the share of each class.
    cp : float
    """
    shares = tree.value[:, 0, :]
    answers = shares.argmax(axis=1)
    if cp == 0:
        return answers
    records = tree.weighted_n_node_samples
    error = records * (1 - shares.max(axis=1) / shares.sum(axis=1))
    price = cp * error[0]
    inner = np.flatnonzero(tree.children_left >= 0)
    least = error + price
    stops = np.ones(len(least), dtype=bool)
    # Counts that are whole come back from shares with an error in the last digits.
    slack = 1e-9 * records[0]
    for node in inner[::-1]:
        split = least[tree.children_left[node]] + least[tree.children_right[node]]
        stops[node] = least[node] <= split + slack
        least[node] = min(least[node], split)
    for node in inner:
        for child in (tree.children_left[node], tree.children_right[node]):
            if stops[node]:
                answers[child], stops[child] = answers[node], True
    return answers


def _class_problem(
    original: Any, protected: Any, target: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the features of both tables, and the classes of both."""
    numeric = finite_pairs(original, protected)
    groups = _memberships(original, protected, "classification_utility", target)
    codes = shared_codes(original, protected, [target])
    check_target(target, [*numeric, *groups, *codes])
    if target in codes:
        a, b, _ = codes[target]
        kept = (a > 0) & (b > 0)
    else:
        a, b = numeric.pop(target)
        kept = ~(np.isnan(a) | np.isnan(b))
        # A class is a name, also where it is a number.
        ids = np.unique(np.concatenate([a, b]), return_inverse=True)[1]
        a, b = ids[: len(a)], ids[len(a) :]
    sides = []
    for side in (0, 1):
        parts = [pair[side][:, None] for pair in numeric.values()]
        parts += [pair[side] for pair in groups.values()]
        if not parts:
            raise BadInput(f"there is no column to predict '{target}' from")
        sides.append(np.column_stack(parts)[kept])
    return sides[0], sides[1], a[kept], b[kept]


def _sides(t: Facts) -> tuple[pa.Table, pa.Table]:
    """Return the records to train on: all that are in memory, or a sample."""
    return t.drawn.before.select(t.shared), t.drawn.after.select(t.shared)


def _trained(t: Facts, found: Entry) -> Entry:
    return found | t.estimated(t.drawn.num_rows)


PROPENSITY_MSE = Measure(
    "propensity_mse",
    "how well a model tells released from original records: 0 not at all, 0.25 always",
    lambda t: _trained(t, {"value": propensity_mse(*_sides(t))}),
    [Figure("propensity score error", untouched=0.0)],
    on_request="it trains a model",
)
REGRESSION_UTILITY = Measure(
    "regression_utility",
    "R squared on original records of a linear model trained on the release",
    lambda t: _trained(t, asdict(regression_utility(*_sides(t), target_of(t), detail=True))),
    [Figure("R squared of a model", better="more")],
    needs=["a target"],
    on_request="it trains a model",
)
CLASSIFICATION_UTILITY = Measure(
    "classification_utility",
    "accuracy on original records of a decision tree grown on the release",
    lambda t: _trained(t, asdict(classification_utility(*_sides(t), target_of(t), detail=True))),
    [Figure("accuracy of a tree", "", "%", "more")],
    needs=["a target"],
    on_request="it trains a model",
)
