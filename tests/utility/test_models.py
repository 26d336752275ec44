import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from discreet.errors import BadInput
from discreet.utility import classification_utility, propensity_mse, regression_utility
from tests.examples import examples
from tests.utility.pairs import tables

pytestmark = pytest.mark.filterwarnings("ignore:.*leaves out column")


def ridge_propensity(features):
    """Newton's method on the penalised likelihood; the intercept is not penalised."""
    n = len(features) // 2
    x = np.column_stack([np.ones(2 * n), features])
    label = np.repeat([0.0, 1.0], n)
    penalty = np.diag([0.0] + [1.0] * features.shape[1])
    w = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ w))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + penalty
        w -= np.linalg.solve(hessian, x.T @ (p - label) + penalty @ w)
    return np.mean((1 / (1 + np.exp(-x @ w)) - 0.5) ** 2)


@examples(25)
@given(tables(most_columns=2))
def test_propensity_against_newtons_method(pair):
    features = [np.zeros(2 * len(pair[0]))]
    for x in np.concatenate(pair).T:
        null = np.isnan(x)
        if null.any():
            features.append(null * 1.0)
        if not null.all() and np.ptp(x[~null]) > 0:
            z = np.where(null, 0, (x - x[~null].mean()) / x[~null].std())
            features += [z, z**2]
    expected = ridge_propensity(np.column_stack(features))
    assert propensity_mse(*pair) == pytest.approx(expected, abs=1e-5)


def test_propensity_sees_categories_and_spread():
    one = pa.table({"sex": ["f", "m"] * 50})
    other = pa.table({"sex": ["f", "f"] * 50})
    assert propensity_mse(one, one) == pytest.approx(0, abs=1e-12)
    assert 0.05 < propensity_mse(one, other) < 0.25
    x = np.random.default_rng(0).normal(size=(500, 1))
    assert propensity_mse(x, 0.2 * x) > 0.05


@examples(50)
@given(tables(most_rows=20))
def test_regression_against_the_pseudoinverse(pair):
    x, y = (t[~np.isnan(t).any(axis=1)] for t in pair)
    if len(x) == 0 or np.ptp(x[:, 0]) == 0 or len(y) == 0:
        with pytest.raises(BadInput):
            regression_utility(*pair, "x0")
        return
    centre = y.mean(axis=0)
    w = np.linalg.pinv(y[:, 1:] - centre[1:]) @ (y[:, 0] - centre[0])
    error = x[:, 0] - centre[0] - (x[:, 1:] - centre[1:]) @ w
    found = regression_utility(*pair, "x0", detail=True)
    assert found.mse == pytest.approx(np.mean(error**2), rel=1e-6)
    assert found.value == pytest.approx(1 - np.mean(error**2) / np.var(x[:, 0]), rel=1e-6, abs=1e-9)
    assert -1e-9 <= found.r2_protected <= 1 + 1e-9


def test_classification_scores_original_rows_that_were_held_out():
    rng = np.random.default_rng(0)
    label = np.where(rng.random(200) < 0.5, "yes", "no")
    noise = pa.table({"x": rng.normal(size=200), "label": label})
    held_out = classification_utility(noise, noise, "label", detail=True)
    assert held_out.value == held_out.protected
    assert 0.3 < held_out.value < 0.7
    # On the rows that the tree was trained on, noise looks learnt.
    assert classification_utility(noise, noise, "label", all_rows=True) > 0.9


def test_classification_by_hand():
    from sklearn.model_selection import KFold
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    target = (x[:, 0] > 0).astype(int)
    y = x + rng.normal(size=x.shape)
    one = pa.table({"a": x[:, 0], "b": x[:, 1], "t": target})
    other = pa.table({"a": y[:, 0], "b": y[:, 1], "t": target})
    hits = seen = 0
    for train, test in KFold(10, shuffle=True, random_state=0).split(x):
        tree = DecisionTreeClassifier(random_state=0).fit(y[train], target[train])
        hits += sum(tree.predict(x[test]) == target[test])
        seen += sum(tree.predict(y[test]) == target[test])
    found = classification_utility(one, other, "t", detail=True)
    assert (found.value, found.protected) == pytest.approx((hits / 60, seen / 60))


def _smallest_best(tree, node, price, error):
    """The least cost of a node's subtrees and the leaves of the smallest with it, tried out."""
    alone = (error[node] + price, {int(node)})
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return alone
    (a, one), (b, other) = (_smallest_best(tree, c, price, error) for c in (left, right))
    return alone if alone[0] <= a + b + 1e-9 else (a + b, one | other)


@pytest.mark.parametrize(("cp", "depth"), [(0.01, 30), (0.05, None), (0.0, 2), (2.0, None)])
def test_a_tree_is_pruned_and_stopped_as_rpart_defines_it(cp, depth):
    from sklearn.model_selection import KFold
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 3))
    target = (x[:, 0] + 0.7 * rng.normal(size=150) > 0).astype(int) + (x[:, 1] > 1)
    y = x + 0.3 * rng.normal(size=x.shape)
    names = ["a", "b", "c"]
    one, other = (pa.table({**dict(zip(names, v.T, strict=True)), "t": target}) for v in (x, y))
    hits = seen = 0
    for train, test in KFold(10, shuffle=True, random_state=0).split(x):
        grown = DecisionTreeClassifier(random_state=0, max_depth=depth).fit(y[train], target[train])
        tree = grown.tree_
        passed = grown.decision_path(y[train]).toarray().astype(bool)
        held = [np.bincount(target[train][p], minlength=3) for p in passed.T]
        error = [h.sum() - h.max() for h in held]
        _, leaves = _smallest_best(tree, 0, cp * error[0], error)
        if cp == 0:  # not pruned: a split may lower no error
            leaves = set(np.flatnonzero(tree.children_left < 0))
        for rows, v in ((x, 0), (y, 1)):
            for i in test:
                path = grown.decision_path(rows[[i]]).indices
                (stop,) = [node for node in path if node in leaves]
                good = int(np.argmax(held[stop])) == target[i]
                hits, seen = (hits + good, seen) if v == 0 else (hits, seen + good)
    found = classification_utility(one, other, "t", cp=cp, depth=depth, detail=True)
    assert (found.value, found.protected) == pytest.approx((hits / 150, seen / 150))
    assert (found.cp, found.depth) == (cp, depth)


def test_a_tree_without_splits_answers_the_most_frequent_class():
    table = pa.table({"x": [0] * 30 + [1] * 10, "t": ["a"] * 30 + ["b"] * 10})
    assert classification_utility(table, table, "t", cp=2.0) == 0.75
    assert classification_utility(table, table, "t") == 1.0


def test_what_a_tree_is_held_to_is_checked():
    table = pa.table({"x": range(4), "t": ["a", "b"] * 2})
    with pytest.raises(BadInput, match=r"^cp must be a number of at least 0, not -1$"):
        classification_utility(table, table, "t", cp=-1)
    with pytest.raises(BadInput, match=r"^depth must be a whole number of at least 1, not 0$"):
        classification_utility(table, table, "t", depth=0)


def test_nulls_and_categories_are_known_to_the_tree():
    table = pa.table({
        "sex": ["f", "m", None] * 10, "age": [1.0, None, math.nan] * 10,
        "t": ["a", "b", None] * 10,
    })  # fmt: skip
    assert classification_utility(table, table, "t") == 1.0


def test_columns_of_names_are_left_out():
    table = pa.table(
        {"name": [f"n{i}" for i in range(300)], "x": range(300), "t": ["a", "b"] * 150}
    )
    with pytest.warns(UserWarning, match="propensity_mse leaves out column 'name', which has more"):
        assert propensity_mse(table, table) == pytest.approx(0, abs=1e-12)
    with pytest.warns(UserWarning, match="classification_utility leaves out column 'name'"):
        classification_utility(table, table, "t")


def test_an_unknown_target_is_named():
    table = pa.table({"age": [1, 2], "pay": [1, 2]})
    with pytest.raises(BadInput, match=r"share no column 'pya'; did you mean 'pay'\?"):
        regression_utility(table, table, "pya")
    with pytest.raises(BadInput, match="share no column 'x'"):
        classification_utility(table, table, "x")
    with pytest.raises(BadInput, match="there is no column to predict 'age' from"):
        classification_utility(table.select(["age"]), table.select(["age"]), "age")


@pytest.mark.filterwarnings("ignore:column 'age' is not compared as numbers")
def test_other_names_for_the_same_groups_tell_nothing_apart():
    rng = np.random.default_rng(5)
    cities = rng.choice(["oslo", "hamar", "bergen"], 300)
    before = pa.table({"city": cities, "age": rng.integers(0, 60, 300)})
    east = np.isin(cities, ["oslo", "hamar"])
    ages = [f"{a // 20 * 20}-{a // 20 * 20 + 19}" for a in before["age"].to_pylist()]
    after = pa.table({"city": np.where(east, "east", "west"), "age": ages})
    assert propensity_mse(before, after) == pytest.approx(0, abs=1e-12)
    moved = after.set_column(0, "city", pa.array(np.where(rng.random(300) < 0.5, "oslo", cities)))
    assert propensity_mse(before, moved) > 0.005


def test_a_tree_grown_on_labels_is_asked_about_the_same_groups():
    cities = np.array(["oslo", "hamar", "bergen", "voss"] * 50)
    east = np.isin(cities, ["oslo", "hamar"])
    before = pa.table({"city": cities, "votes": np.where(east, "left", "right")})
    after = before.set_column(0, "city", pa.array(np.where(east, "east", "west")))
    assert classification_utility(before, after, "votes") == 1
