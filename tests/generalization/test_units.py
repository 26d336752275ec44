"""Units instead of rows: every model counts a person once, whatever the number of their rows."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.generalization import (
    AlphaKAnonymity,
    BetaLikeness,
    Generalize,
    Hierarchy,
    KAnonymity,
    LDiversity,
    Mondrian,
    TCloseness,
)
from discreet.recipe import Recipe
from tests.counted import assert_counts_decide
from tests.examples import examples
from tests.flow.test_engines import compare, written_to
from tests.generalization.plain import Plain, plainly_by_unit
from tests.generalization.test_privacy import models
from tests.generalization.test_search import QUALITIES, as_table, tables

MODELS = {
    "k": [KAnonymity(3)],
    "distinct l": [KAnonymity(2), LDiversity(2, column="ill")],
    "entropy l": [LDiversity(1.5, column="ill", kind="entropy")],
    "recursive l": [KAnonymity(2), LDiversity(2, column="ill", kind="recursive", c=3)],
    "t": [KAnonymity(2), TCloseness(0.4, column="ill")],
    "ordered t": [TCloseness(0.3, column="ill", distance="ordered")],
    "beta": [KAnonymity(2), BetaLikeness(1.0, column="ill"), LDiversity(2, column="ill")],
    "enhanced beta": [BetaLikeness(2.0, column="ill", enhanced=True)],
    "alpha": [AlphaKAnonymity(0.6, 3, column="ill")],
}
POLICIES = ["segregate", "value", "suppress", "match"]


@st.composite
def tables_of_units(draw, nulls=False):
    """A small table, whose rows belong to few units; some units have one row or one tuple only."""
    columns, forest, records, ill = draw(tables(nulls=nulls))
    units = draw(st.lists(st.integers(0, 9), min_size=len(ill), max_size=len(ill)))
    if draw(st.booleans()):
        first = dict(zip(reversed(units), reversed(records), strict=True))
        constant = draw(st.integers(0, 9))
        records = [first[u] if u <= constant else r for u, r in zip(units, records, strict=True)]
    return columns, forest, records, ill, units


def trees_of(columns, forest):
    return {
        column: Hierarchy.from_table(list(tree.values()))
        for column, tree in zip(columns, forest, strict=True)
    }


@examples(150)
@given(
    tables_of_units(),
    st.lists(models(), min_size=1, max_size=2),
    st.sampled_from(QUALITIES),
    st.sampled_from([0.0, 0.2, 0.5, 1.0]),
)
def test_the_optimum_is_that_of_all_nodes_tried(example, privacy, quality, limit):
    columns, forest, records, ill, units = example
    plain = Plain(records, forest, ill, units=units)
    method = Generalize(
        trees_of(columns, forest),
        privacy,
        quality=quality,
        suppression_limit=limit,
        null_policy="value",
    )
    assert_best(method, plain, as_table(columns, records, ill), privacy, units)


def assert_best(method, plain, table, privacy, units):
    """Compare with the best of all nodes."""
    pairs = list(zip(units, plain.confidential, strict=True))
    needed = max((m.k for m in privacy if hasattr(m, "k")), default=1)
    if needed > len(set(units)):
        with pytest.raises(BadInput, match=f"above the number of units, {len(set(units))}"):
            method.fit(table, units=units)
        return
    expected = plain.best(method.quality, privacy, method.suppression_limit)
    if expected is None:
        with pytest.raises(BadInput, match="cannot be met"):
            method.fit(table, units=units)
        return
    node, value, suppressed = expected
    together = all(plainly_by_unit(m, pairs, pairs) for m in privacy)
    if suppressed == plain.n and not together and not plain.match:
        with pytest.raises(BadInput, match="nothing would remain"):
            method.fit(table, units=units)
        return
    method.fit(table, units=units)
    assert tuple(method.levels_[0]["levels"].values()) == node
    assert method.quality_ == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert method.suppressed_ == suppressed
    assert method.certificate_.proven


@examples(80)
@given(tables_of_units(nulls=True), st.integers(2, 5), st.sampled_from([0.2, 1.0]))
def test_the_optimum_where_nulls_match(example, k, limit):
    columns, forest, records, ill, units = example
    if any(all(r[a] is None for r in records) for a in range(len(columns))):
        return
    plain = Plain(records, forest, ill, match=True, units=units)
    method = Generalize(
        trees_of(columns, forest),
        [KAnonymity(k)],
        suppression_limit=limit,
        null_policy="match",
    )
    assert_best(method, plain, as_table(columns, records, ill), [KAnonymity(k)], units)


def release(method, table, units):
    """The released table, with the number of each row beside; None where it is refused."""
    table = table.append_column("row", pa.array(range(table.num_rows)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return method.fit_transform(table, units=units)
        except BadInput:
            return None


def assert_units(released, columns, privacy, ill, units, match=False, raw=()):
    """Count the units of every class by plain Python, rows that are left out aside."""
    if released is None:
        return
    pairs = list(zip(units, ill, strict=True))
    classes: dict[tuple, list[int]] = {}
    for i, row in enumerate(released.to_pylist()):
        if row["row"] is not None and i not in raw:
            classes.setdefault(tuple(row[c] for c in columns), []).append(i)
    for key, members in classes.items():
        if match:
            members = [
                i
                for other, some in classes.items()
                if all(x is None or y is None or x == y for x, y in zip(key, other, strict=True))
                for i in some
            ]
        for model in privacy:
            assert plainly_by_unit(model, [pairs[i] for i in members], pairs), (key, members)


@examples(200)
@given(
    tables_of_units(nulls=True),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(POLICIES),
    st.booleans(),
    st.sampled_from(["any", "pattern"]),
    st.sampled_from(["suppress", "append"]),
    st.sampled_from([0.1, 1.0]),
)
def test_every_class_that_generalize_releases(
    example, model, policy, local, segregate, small_group, limit
):
    columns, forest, records, ill, units = example
    privacy = MODELS["k" if policy == "match" else model]
    method = Generalize(
        trees_of(columns, forest),
        privacy,
        null_policy=policy,
        local=local,
        segregate=segregate,
        small_group=small_group,
        allow_disclosure=True,
        suppression_limit=limit,
    )
    table = as_table(columns, records, ill)
    released = release(method, table, units)
    if released is None:
        return
    raw = [
        i
        for i, (before, after) in enumerate(zip(records, released.to_pylist(), strict=True))
        if small_group == "append" and before == tuple(after[c] for c in columns)
    ]
    appended = any(group["treatment"] == "append" for group in method.plan_["groups"])
    assert_units(released, columns, privacy, ill, units, policy == "match", raw if appended else ())


@examples(200)
@given(
    tables_of_units(nulls=True),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from([*POLICIES, "contaminate"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["any", "pattern"]),
)
def test_every_class_that_mondrian_releases(
    example, model, policy, strict, enhanced, trees, segregate
):
    columns, forest, records, ill, units = example
    privacy = MODELS["k" if policy == "match" else model]
    method = Mondrian(
        privacy,
        hierarchies=trees_of(columns, forest) if trees else None,
        columns=columns,
        null_policy=policy,
        strict=strict,
        enhanced=enhanced and policy != "contaminate",
        segregate=segregate,
    )
    released = release(method, as_table(columns, records, ill), units)
    assert_units(released, columns, privacy, ill, units, policy == "match")


# Each group keeps the model: of five values three are "no". Together they are six of eight, since
# units 0 and 1 count once.
BROKEN_TOGETHER = {
    "a": ["p", "q", "r", "s", "t", None, None, None, None, None],
    "b": ["x", "x", "x", "x", "x", "x", "x", "x", "x", "x"],
    "ill": [1, 1, 2, 2, 2, 1, 1, 2, 2, 2],
}
UNITS = [0, 1, 2, 3, 4, 0, 1, 5, 6, 7]


def test_groups_that_keep_a_model_and_break_it_together_are_suppressed():
    privacy = [AlphaKAnonymity(0.6, 3, column="ill")]
    table = pa.table(BROKEN_TOGETHER)
    trees = {"a": Hierarchy.flat(), "b": Hierarchy.flat()}
    method = Generalize(trees, privacy, levels={"a": 1, "b": 0})
    method.fit(table)  # rows add up
    assert method.suppressed_ == 0
    with pytest.raises(BadInput, match="nothing would remain"), pytest.warns(match="same labels"):
        method.fit(table, units=UNITS)
    more = pa.table({**BROKEN_TOGETHER, "b": ["x"] * 5 + ["y"] * 5})
    assert method.fit(more, units=UNITS).suppressed_ == 0


def test_suppressed_records_of_groups_that_break_a_model_together_are_left_out():
    others = {"a": ["u"] * 5, "b": ["z"] * 5, "ill": [1, 1, 2, 2, 2]}
    table = pa.table({name: cells + others[name] for name, cells in BROKEN_TOGETHER.items()})
    table = table.append_column("row", pa.array(range(15)))
    privacy = [AlphaKAnonymity(0.6, 3, column="ill")]
    trees = {"a": Hierarchy.flat(), "b": Hierarchy.flat()}
    options = {"levels": {"a": 1, "b": 0}, "suppression_limit": 1.0}
    method = Generalize(trees, privacy, **options)
    with pytest.warns(match="10 more records are suppressed"):
        released = method.fit_transform(table, units=[*UNITS, 8, 9, 10, 11, 12])
    assert released["b"].to_pylist() == [None] * 10 + ["z"] * 5
    assert released["row"].to_pylist() == [None] * 10 + list(range(10, 15))
    assert method.suppressed_mask_.tolist() == [True] * 10 + [False] * 5


def test_mondrian_suppresses_classes_that_break_a_model_together():
    # Cuts that share out equal records give two classes the same labels.
    a = [*"--qqsqps--u-srutr-qspq-pqt"]
    b = [3, 0, 2, 3, 2, 1, 2, 1, 0, 2, 1, 1, 3, 0, 1, 1, 2, 1, 2, 3, 1, 0, 0, 2, 1, 1]
    ill = [1, 3, 3, 2, 1, 3, 3, 3, 2, 2, 3, 2, 1, 3, 2, 2, 3, 3, 3, 3, 1, 1, 2, 2, 2, 2]
    units = [4, 3, 2, 6, 5, 3, 0, 9, 7, 5, 7, 9, 9, 4, 1, 4, 2, 7, 4, 0, 5, 6, 2, 3, 5, 8]
    cells = {"a": [None if x == "-" else x for x in a], "b": [x or None for x in b], "ill": ill}
    tree = Hierarchy.groups({"m": {"m1": ["p", "q"], "m2": ["r", "s"]}, "n": ["t", "u"]})
    privacy = [AlphaKAnonymity(0.5, 2, column="ill")]
    method = Mondrian(privacy, {"a": tree}, ["a", "b"], strict=False, null_policy="value")
    with pytest.warns(match="together with records of the same labels"):
        method.fit(pa.table(cells), units=units)
    assert 0 < method.suppressed_ < 26
    assert_units(release(method, pa.table(cells), units), ["a", "b"], privacy, ill, units)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["generalize", "local", "mondrian"])
def test_counts_decide_what_rows_decide(name, model, policy):
    if policy == "match" and model != "k":
        return
    privacy, columns = MODELS[model], ["age", "zip"]
    if name == "mondrian":
        method = Mondrian(privacy, null_policy=policy)
    else:
        options = {"local": name == "local", "suppression_limit": 1.0, "segregate": "pattern"}
        trees = {"age": Hierarchy.intervals(widths=[10, 40]), "zip": Hierarchy.prefix(stars=[1, 2])}
        method = Generalize(trees, privacy, null_policy=policy, **options)
    assert_counts_decide(method, episodes(120), columns, unit="person")


def episodes(n, seed=5):
    """Rows of persons: one row or several, alike or not."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, n // 4, n)
    age = 20 + person * 7 % 50 + rng.integers(0, 2, n) * (person % 3)
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(n) < 0.1),
            "zip": rng.choice(["101", "102", "211"], n // 4)[person],
            "ill": pa.array(rng.integers(1, 4, n), mask=rng.random(n) < 0.1),
            "person": [f"p{i}" for i in person],
        }
    )


def test_units_with_one_row_each_lead_to_what_rows_lead_to():
    table = episodes(200)
    for method in (
        Generalize({"age": Hierarchy.intervals(widths=[10, 20])}, [KAnonymity(4)]),
        Mondrian([KAnonymity(4), TCloseness(0.5, column="ill")], columns=["age", "zip"]),
    ):
        expected = method.fit_transform(table)
        assert method.fit_transform(table, units=range(200)).equals(expected)


def test_a_household_is_no_class():
    table = pa.table({"age": [31, 32, 33, 34, 51, 52, 53, 54]})
    trees = {"age": Hierarchy.intervals(widths=[10, 100])}
    alone, together = [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 2, 3, 4, 5, 5]
    for method in (Generalize(trees, KAnonymity(3)), Mondrian(KAnonymity(3))):
        assert len(set(method.fit_transform(table, units=together)["age"].to_pylist())) == 2
        with pytest.raises(BadInput, match="k = 3 is above the number of units, 2"):
            method.fit(table, units=alone)
        mixed = method.fit_transform(table, units=[0, 0, 0, 0, 1, 2, 3, 4])
        assert len(set(mixed["age"].to_pylist())) == 1


def test_new_rows_that_are_suppressed_are_empty_unless_their_units_are_enough():
    table = pa.table({"age": [31, 32, 33, 34, 51, 52, 53], "row": range(7)})
    method = Generalize(
        {"age": Hierarchy.intervals(widths=[10])}, KAnonymity(3), suppression_limit=0.5
    )
    treated = method.fit_transform(table, units=[0, 1, 2, 3, 4, 4, 4])
    assert treated["row"].to_pylist() == [0, 1, 2, 3, None, None, None]
    new = pa.table({"age": [71, 72, 73, 31], "row": range(4)})
    for units, kept in (([0, 1, 2, 0], [0, 1, 2]), ([0, 1, 1, 0], [None] * 3), (None, [None] * 3)):
        assert method.transform(new, units=units)["row"].to_pylist() == [*kept, 3]


def recipe_of(method, privacy, **parameters):
    step = {"method": method, "columns": ["age", "zip"], "privacy": privacy, **parameters}
    if method == "generalize":
        age, place = {"kind": "intervals", "widths": [10, 40]}, {"kind": "prefix", "stars": [1, 2]}
        step |= {"hierarchies": {"age": age, "zip": place}, "suppression_limit": 1.0}
    roles = {"quasi": ["age", "zip"], "confidential": ["ill"], "unit": "person"}
    seeds = {"seed": 2**100 + 17, "order_seed": 2**100 + 7}
    return {**seeds, "roles": roles, "steps": [step]}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("generalize", {}),
        ("generalize", {"local": True, "segregate": "pattern"}),
        ("mondrian", {}),
        ("mondrian", {"enhanced": True}),
    ],
)
def test_every_class_that_protect_releases(method, options, policy, tmp_path):
    table, privacy = episodes(400), [{"model": "k-anonymity", "k": 4}]
    recipe = Recipe.from_dict(recipe_of(method, privacy, null_policy=policy, **options))
    released = discreet.protect(table, recipe).released
    chosen = released.rows.tolist()  # without those that are left out
    ill, units = ([table[name][i].as_py() for i in chosen] for name in ("ill", "person"))
    rows = released.table.append_column("row", pa.array(chosen))
    assert_units(rows, ["age", "zip"], [KAnonymity(4)], ill, units, policy == "match")
    compare(recipe, *written_to(table, tmp_path), tmp_path / "out")
