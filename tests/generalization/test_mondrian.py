import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone

from discreet.check.evidence import load_plan, save_plan
from discreet.check.replay import Columns
from discreet.check.replay.mondrian import mondrian as replay
from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy
from discreet.generalization._axes import in_tree
from discreet.generalization.models import (
    AlphaKAnonymity,
    BetaLikeness,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from discreet.generalization.mondrian import Mondrian
from tests.examples import examples

POLICIES = ["segregate", "value", "suppress", "contaminate", "match"]


def treat(table, k=2, **parameters):
    method = Mondrian(KAnonymity(k), **parameters)
    return method, method.fit_transform(table)


# A plain twin, from the definitions: lists, sorting and recursion.


def by_hand(table, k, strict, enhanced, policy):
    """Labels by row, or None where the record is suppressed."""
    columns = {}
    for name in table.columns:
        values = sorted(v for v in table[name].unique() if v is not None)
        number = not isinstance(values[0], str)
        steps = {v: i for i, v in enumerate(values)}
        if number and len(values) > 1:
            spread = values[-1] - values[0]
            steps = {v: Fraction(v - values[0], spread) * (len(values) - 1) for v in values}
        counted = table[name].isna().any() and not enhanced
        counted = counted and policy not in ("contaminate", "match")
        columns[name] = (
            values,
            steps | {None: len(values)},
            Fraction(max(len(values) - 1 + counted, 1)),
            number,
        )
    rows = [dict(zip(table.columns, row, strict=True)) | {"": i} for i, row in enumerate(table.itertuples(index=False))]  # fmt: skip
    labels = [None] * len(rows)
    deficient = [r for r in rows if None in r.values()]
    complete = [r for r in rows if None not in r.values()]
    groups = [rows]
    if policy == "suppress":
        groups = [complete]
    elif policy == "segregate" and deficient and complete:
        groups = [g for g in (complete, deficient) if len(g) >= k]
    for group in groups:
        for part in cut_by_hand(group, columns, k, strict, enhanced, policy):
            for row in part:
                labels[row[""]] = [label_by_hand(part, c, columns[c], policy) for c in columns]
                if policy == "match":
                    labels[row[""]] = [
                        None if row[c] is None else label
                        for c, label in zip(columns, labels[row[""]], strict=True)
                    ]
    return labels


def cut_by_hand(rows, columns, k, strict, enhanced, policy):
    widths = {}
    for name, (_, steps, total, _) in columns.items():
        held = {row[name] for row in rows}
        if len(held) < 2 or (None in held and policy == "contaminate"):
            continue
        if policy == "match" and not enhanced and len(held - {None}) < 2:
            continue
        used = [steps[v] for v in held if v is not None or not (enhanced or policy == "match")]
        widths[name] = (max(used) - min(used)) / total
    for name in sorted(widths, key=lambda name: -widths[name]):
        for left in cuts_by_hand(rows, name, columns[name][1], strict, enhanced, policy):
            if min(len(left), len(rows) - len(left)) >= k:
                sides = [r for r in rows if r[""] in left], [r for r in rows if r[""] not in left]
                return [
                    p for s in sides for p in cut_by_hand(s, columns, k, strict, enhanced, policy)
                ]
    return [rows]


def cuts_by_hand(rows, name, steps, strict, enhanced, policy):
    """The left sides to try in a column, in turn."""
    null = {r[""] for r in rows if r[name] is None}
    cuts = [{r[""] for r in rows} - null] if enhanced and null else []
    if policy == "match":
        rows = [r for r in rows if r[name] is not None]
    marks = sorted({steps[row[name]] for row in rows})[:-1]
    if not marks:
        return cuts
    if strict:
        lefts = [{r[""] for r in rows if steps[r[name]] <= mark} for mark in reversed(marks)]
        left = min(lefts, key=lambda left: abs(2 * len(left) - len(rows)))
    else:
        ordered = sorted(rows, key=lambda row: steps[row[name]])
        left = {r[""] for r in ordered[: len(rows) // 2]}
    if policy == "match" and 2 * len(left) <= len(rows):
        left |= null
    return [*cuts, left]


def label_by_hand(part, name, column, policy):
    values, _, _, number = column
    held = sorted({row[name] for row in part} - {None})
    nulls = any(row[name] is None for row in part)
    if nulls and policy != "match":
        return "*" if held or policy == "contaminate" else None
    if len(held) < 2:
        return str(held[0]) if held else None
    if number:
        return "*" if (held[0], held[-1]) == (values[0], values[-1]) else f"{held[0]}-{held[-1]}"
    return "*" if held == values else "{" + ", ".join(held) + "}"


@st.composite
def tables(draw, nulls=True):
    n = draw(st.integers(2, 24))

    def cells(values):
        column = draw(st.lists(values | st.none() if nulls else values, min_size=n, max_size=n))
        return column if any(v is not None for v in column) else [draw(values), *column[1:]]

    columns = {"age": cells(st.integers(0, 30)), "job": cells(st.sampled_from("abcde"))}
    if draw(st.booleans()):
        columns["rooms"] = cells(st.integers(1, 4))
    return pd.DataFrame(columns, dtype=object)


# Two columns that are equally wide in a part, by sums that differ in floats: the first is cut.
EQUALLY_WIDE = pd.DataFrame(
    {
        "age": [0, None, 0, 0, 1, None, None, 2, None, 2],
        "job": ["b", "a", None, None, "c", None, None, None, None, None],
    },
    dtype=object,
)
EQUALLY_WIDE_WITHOUT_NULLS = pd.DataFrame(
    {
        "age": [0] * 10 + [None] * 3 + [0, 0, 0, None, 1],
        "job": ["b", *[None] * 8, "d", None, "a", None, None, None, None, "c", None],
        "rooms": [1, *[None] * 4, 3, *[None] * 5, 2, 4, *[None] * 5],
    },
    dtype=object,
)


@examples(200)
@example(table=EQUALLY_WIDE, k=2, strict=False, enhanced=False, policy="value")
@example(table=EQUALLY_WIDE, k=2, strict=True, enhanced=False, policy="value")
@example(table=EQUALLY_WIDE_WITHOUT_NULLS, k=2, strict=False, enhanced=True, policy="segregate")
@given(
    table=tables(),
    k=st.integers(1, 4),
    strict=st.booleans(),
    enhanced=st.booleans(),
    policy=st.sampled_from(POLICIES),
)
def test_what_the_definitions_give(table, k, strict, enhanced, policy):
    if policy == "contaminate":
        enhanced = False
    expected = by_hand(table, k, strict, enhanced, policy)
    given_ = pa.table({name: pa.array(table[name].tolist()) for name in table.columns})
    method = Mondrian(KAnonymity(k), strict=strict, enhanced=enhanced, null_policy=policy)
    complete = sum(label is not None for label in expected)
    if complete == 0 or (policy == "suppress" and complete < k) or k > len(table):
        with pytest.raises(BadInput):
            method.fit_transform(given_)
        return
    out = method.fit_transform(given_)
    assert method.suppressed_mask_.tolist() == [label is None for label in expected]
    suppressed = [None if method.suppressed_ < k else "*"] * len(table.columns)
    rows = [list(row.values()) for row in out.to_pylist()]
    assert rows == [suppressed if label is None else label for label in expected]


MODELS = st.sampled_from(
    [
        [KAnonymity(2)],
        [KAnonymity(1), LDiversity(2, column="ill")],
        [LDiversity(1.7, column="ill", kind="entropy")],
        [KAnonymity(3), LDiversity(2, column="ill", kind="recursive", c=3.0)],
        [KAnonymity(2), TCloseness(0.4, column="ill")],
        [KAnonymity(2), BetaLikeness(1.5, column="ill"), LDiversity(2, column="pay")],
        [AlphaKAnonymity(0.7, 3, column="ill")],
    ]
)


def keeps(model, ill, everything):
    """Does a class keep a model, by its definition?"""
    if isinstance(model, KAnonymity):
        return len(ill) >= model.k
    ill, everything = ill[model.column].dropna(), everything[model.column].dropna()
    counts = ill.value_counts().tolist()
    p = ill.value_counts(normalize=True)
    q = everything.value_counts(normalize=True)
    if isinstance(model, LDiversity):
        if model.kind == "distinct":
            return len(counts) >= model.l
        if model.kind == "entropy":
            return np.exp(-(p * np.log(p)).sum()) >= model.l - 1e-9
        return bool(counts) and counts[0] < model.c * sum(counts[int(model.l) - 1 :])
    if isinstance(model, TCloseness):
        return len(p) == 0 or p.sub(q, fill_value=0).abs().sum() / 2 <= model.t + 1e-9
    if isinstance(model, BetaLikeness):
        return all((p[v] - q[v]) / q[v] <= model.beta + 1e-9 for v in p.index)
    return all(share <= model.alpha + 1e-9 for share in p)


@examples(100)
@given(
    data=st.data(),
    table=tables(),
    models=MODELS,
    strict=st.booleans(),
    enhanced=st.booleans(),
    policy=st.sampled_from(POLICIES[:3]),
)
def test_classes_keep_the_models_and_labels_cover(data, table, models, strict, enhanced, policy):
    n = len(table)
    table = table.copy()
    for name, values in (("ill", "xyz"), ("pay", "lmh")):
        column = st.lists(st.sampled_from(values) | st.none(), min_size=n, max_size=n)
        table[name] = pd.Series([values[0], *data.draw(column)[1:]], dtype=object)
    original = pa.table({name: pa.array(table[name].tolist()) for name in table.columns})
    names = [name for name in table.columns if name not in ("ill", "pay")]
    hierarchies = {"job": Hierarchy.groups({"I": ["a", "b"], "II": ["c"], "III": ["d", "e"]})}
    method = Mondrian(
        models, columns=names, strict=strict, enhanced=enhanced, null_policy=policy,
        hierarchies=data.draw(st.sampled_from([None, hierarchies])),
    )  # fmt: skip
    try:
        out = method.fit_transform(original)
    except BadInput:
        return
    released, gone = out.to_pandas(), method.suppressed_mask_
    nulls = table[names].isna().any(axis=1).to_numpy()
    if policy == "value":
        assert not gone.any()
    elif policy == "suppress":
        assert (gone == nulls).all()
    else:
        assert not gone.any() or (gone == nulls).all() or (gone == ~nulls).all()
    for c in range(len(method.plan_["sizes"])):
        rows = method.classes_ == c
        assert rows.sum() == method.plan_["sizes"][c]
        assert all(keeps(model, table[rows], table) for model in models)
        assert released.loc[rows, names].nunique(dropna=False).tolist() == [1] * len(names)
        assert policy != "segregate" or len(set(nulls[rows])) == 1
    # Whatever the table shows, the classes that an attacker sees keep the models too.
    blank = gone & released[names[0]].isna().to_numpy()
    for _, rows in released[~blank].groupby(names, dropna=False):
        assert all(keeps(model, rows, table) for model in models)
    applied = replay(_step(method, names), Columns(original), None)
    assert out.filter(pa.array(blank)).to_pandas().isna().all(axis=None)
    for name in names:
        expected = [None if b else v for b, v in zip(blank, applied[name].to_pylist(), strict=True)]
        assert out[name].to_pylist() == expected
    left = ~blank
    assert out["ill"].filter(pa.array(left)).equals(original["ill"].filter(pa.array(left)))


def _step(method, names):
    return {"joint": method.plan_, "columns": {name: {"kind": "mondrian"} for name in names}}


@given(table=tables(), k=st.integers(1, 4), data=st.data())
def test_strict_classes_do_not_depend_on_the_order_of_rows(table, k, data):
    if len(table) < k:
        return
    order = data.draw(st.permutations(range(len(table))))
    given_ = pa.table({name: pa.array(table[name].tolist()) for name in table.columns})
    _, once = treat(given_, k, null_policy="value")
    _, again = treat(given_.take(pa.array(order)), k, null_policy="value")
    assert once.take(pa.array(order)).equals(again)


def labels_of(values, k=2, **parameters):
    _, out = treat(pa.table({"x": values}), k, **parameters)
    return out["x"].to_pylist()


def test_labels_of_numbers():
    assert labels_of([30, 39, 51, 52]) == ["30-39", "30-39", "51-52", "51-52"]
    assert labels_of([30, 30, 51, 52])[:2] == ["30", "30"]
    assert labels_of([1.5, 2.25, 4.0, 5.5]) == ["1.5-2.25"] * 2 + ["4-5.5"] * 2
    assert labels_of([-3, -1, 0, 5]) == ["-3 to -1"] * 2 + ["0-5"] * 2
    assert (
        labels_of([1e9, 1e9 + 1e-3, 1e9 + 2e-3, 1e9 + 3e-3])[2] == "1000000000.002-1000000000.003"
    )
    assert (
        labels_of([Decimal("1.50"), Decimal("2.50"), Decimal("7.25"), Decimal("9.00")])[3]
        == "7.25-9.00"
    )
    assert labels_of([4, 5, 6]) == ["*"] * 3
    assert labels_of([4, 4, 4]) == ["4"] * 3
    assert labels_of([-1.7e308, -1.6e308, 1.6e308, 1.7e308])[0] == "-1.7e+308 to -1.6e+308"
    assert labels_of([0.0, -0.0, 1.0, 2.0])[:2] == ["0", "0"]


def test_labels_of_dates_and_times():
    dates = [dt.date(2019, 4, 1), dt.date(2019, 5, 12), dt.date(2020, 1, 1), dt.date(2020, 1, 1)]
    assert labels_of(dates) == ["2019-04-01 to 2019-05-12"] * 2 + ["2020-01-01"] * 2
    midnights = [dt.datetime(2019, 4, day) for day in (1, 2, 20, 21)]
    assert labels_of(midnights)[0] == "2019-04-01 to 2019-04-02"
    times = pa.array(
        [dt.datetime(2019, 4, 1, hour, 30) for hour in (1, 2, 20, 21)], pa.timestamp("ns")
    )
    assert labels_of(times)[3] == "2019-04-01 20:30:00 to 2019-04-01 21:30:00"
    spans = [dt.timedelta(days=days) for days in (1, 2, 20, 20)]
    assert labels_of(spans) == ["1 days to 2 days"] * 2 + ["20 days"] * 2


def test_labels_of_categories():
    assert labels_of(["b", "a", "d", "c"]) == ["{a, b}", "{a, b}", "{c, d}", "{c, d}"]
    assert labels_of([True, False, True]) == ["*"] * 3
    assert labels_of([True, False] * 2) == ["true", "false"] * 2
    ordered = pd.Categorical(
        ["low", "high", "mid", "top"], ["low", "mid", "high", "top"], ordered=True
    )
    _, out = treat(pd.DataFrame({"x": ordered}))
    assert out["x"].tolist() == ["low to mid", "high to top", "low to mid", "high to top"]
    plain = pd.Categorical(["low", "high", "mid", "top"])
    _, out = treat(pd.DataFrame({"x": plain}))
    assert out["x"].tolist() == ["{high, low}", "{high, low}", "{mid, top}", "{mid, top}"]


TREE = {"West": {"France": ["Lyon", "Nice"], "Spain": ["Vigo"]}, "East": {"Poland": ["Lodz"]}}


def test_labels_of_hierarchies():
    cities = ["Lyon", "Nice", "Vigo", "Lodz", "Lodz", "Vigo"]
    hierarchies = {"x": Hierarchy.groups(TREE)}
    assert labels_of(cities, 2, hierarchies=hierarchies) == [
        "France", "France", "Vigo", "Lodz", "Lodz", "Vigo",
    ]  # fmt: skip
    # Two in the East are too few: the cut goes down to where it can be made.
    assert labels_of(cities, 3, hierarchies=hierarchies) == ["*"] * 6
    ages = {"x": {"kind": "intervals", "widths": [10, 20]}}
    assert labels_of([11, 12, 23, 24, 35, 36], 3, hierarchies=ages)[:3] == ["*", "*", "*"]
    assert labels_of([11, 12, 21, 22, 45, 46], 2, hierarchies=ages) == [
        "10-19", "10-19", "20-29", "20-29", "40-49", "40-49",
    ]  # fmt: skip


def test_the_leaves_of_a_node_are_brought_together():
    rows = [["a", "odd"], ["b", "even"], ["c", "odd"], ["d", "even"]]
    hierarchies = {"x": Hierarchy.from_table(rows)}
    assert labels_of(["a", "b", "c", "d"], hierarchies=hierarchies) == ["odd", "even"] * 2


def test_a_tree_is_cut_lower_where_the_children_cannot_be():
    # One record under B is too few, so A is cut inside, and what joins B becomes everything.
    hierarchies = {"x": Hierarchy.groups({"A": ["a1", "a2", "a3"], "B": ["b"]})}
    values = ["a1", "a1", "a2", "a2", "a3", "b"]
    assert labels_of(values, hierarchies=hierarchies) == ["a1", "a1", "a2", "a2", "*", "*"]


def test_relaxed_shares_out_the_median_in_row_order():
    values = [1, 2, 2, 2, 2, 3]
    assert labels_of(values, 3) == ["*"] * 6
    assert labels_of(values, 3, strict=False) == ["1-2"] * 3 + ["2-3"] * 3
    method, _ = treat(pa.table({"x": [2, 3, 2, 1, 2, 2]}), 3, strict=False)
    assert method.classes_.tolist() == [0, 1, 0, 0, 1, 1]


def test_the_widest_column_is_cut_and_the_first_of_equals():
    table = pa.table({"a": [0, 10, 0, 10], "b": [0, 0, 5, 5]})
    _, out = treat(table)
    assert out.to_pylist()[0] == {"a": "0", "b": "*"}
    table = table.append_column("c", pa.array([0, 1, 2, 100]))
    assert treat(table, columns=["b", "a"])[1].to_pylist()[0] == {"a": "*", "b": "0", "c": 0}


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_the_table_comes_back_as_it_came(make):
    table = make({"age": [31, 45, 38, 52], "name": ["w", "x", "y", "z"]})
    if make is pd.DataFrame:
        table.index = [7, 8, 9, 10]
    out = Mondrian(KAnonymity(2), columns=["age"]).fit_transform(table)
    assert type(out) is type(table)
    assert [str(v) for v in out["age"].to_numpy()] == ["31-38", "45-52", "31-38", "45-52"]
    assert (out["name"].to_numpy() == table["name"].to_numpy()).all()
    if make is pd.DataFrame:
        assert out.index.tolist() == [7, 8, 9, 10]


def test_arrays_and_parameters():
    array = np.array([[1.0, 5.0], [2.0, 6.0], [8.0, 9.0], [9.0, 9.0]])
    method = clone(Mondrian([KAnonymity(2)]))
    assert method.fit_transform(array).tolist() == [["1-2", "5-6"]] * 2 + [["8-9", "9"]] * 2
    assert method.get_params()["privacy"] == [KAnonymity(2)]
    assert method.fit(array).classes_.tolist() == [0, 0, 1, 1]
    assert not hasattr(method, "transform")
    assert (method.effect, method.promise, list(method.reads)) == ("coarsens", "privacy-models", [])
    assert list(Mondrian([LDiversity(2, column="ill")]).reads) == ["ill"]


def test_the_plan_survives_being_written(tmp_path):
    n = 12_000
    rng = np.random.default_rng(0)
    original = pa.table(
        {
            "age": rng.integers(0, 90, n),
            "job": rng.choice(list("abcdefg"), n),
            "city": rng.choice(["Lyon", "Nice", "Vigo", "Lodz"], n),
            "ill": rng.choice(list("xyz"), n),
        }
    )
    names = ["age", "job", "city"]
    method = Mondrian(
        [KAnonymity(1), LDiversity(1, column="ill")],
        columns=names, hierarchies={"city": Hierarchy.groups(TREE)},
    )  # fmt: skip
    out = method.fit_transform(original)
    save_plan(_step(method, names), tmp_path)
    applied = replay(load_plan(tmp_path), Columns(original), None)
    for name in names:
        assert applied[name].to_pylist() == out[name].to_pylist()
    spread = method.plan_["confidential"]["ill"]
    assert spread["values"].tolist() == ["x", "y", "z"]
    assert spread["counts"].sum() == n


@pytest.mark.parametrize(
    "make",
    [Mondrian, lambda privacy: Generalize({"x": Hierarchy.flat()}, privacy, suppression_limit=1.0)],
)
def test_each_models_own_hierarchy_is_kept_for_the_check(make):
    def near(tree):
        hierarchy = Hierarchy.groups(tree)
        return TCloseness(1.0, column="ill", distance="hierarchical", hierarchy=hierarchy)

    table = pa.table({"x": [1, 2, 3, 4], "ill": ["c", "a", "b", "a"]})
    models = [
        near({"ab": ["a", "b"], "c": ["c"]}),
        KAnonymity(2),
        near({"bc": ["b", "c"], "a": ["a"]}),
    ]
    plan = make(models).fit(table).plan_
    spread = {name: array.tolist() for name, array in plan["confidential"]["ill"].items()}
    assert spread == {"values": ["a", "b", "c"], "counts": [2, 1, 1]}
    trees = {i: [codes.tolist() for codes in tree] for i, tree in plan["trees"].items()}
    assert list(trees) == ["0", "2"]
    for tree, pair, alone in ((trees["0"], [0, 1], 2), (trees["2"], [1, 2], 0)):
        assert sorted(tree[0]) == [0, 1, 2]
        assert tree[1][pair[0]] == tree[1][pair[1]] != tree[1][alone]
        assert tree[2] == [0, 0, 0]


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        (("tuples", "classes", 0), 1, "the label 45-52 does not cover 31"),
        (("tuples", "codes", "age", 0), 2, "the plan's tuples are not those of the rows, each once"),
        (("tuples", "codes", "job", 1), 4, "column 'job': the plan's tuples are not what its values"),
        (("tuples", "values", "age", 0), 30.0, "column 'age' holds '31.0', which the plan does not know"),
        (("labels", "age", "upper", 0), 37.0, "column 'age', row 3: the label 31-38 does not cover 38"),
        (("labels", "job", "members", 3), 0, "column 'job', row 2: the label {b, d} does not cover"),
        (("labels", "job", "label", 0), -1, "column 'job', row 1: the label None does not cover a"),
        (("labels", "job", "label", 0), 9, "column 'job': some class has no label"),
    ],
)  # fmt: skip
def test_a_plan_that_does_not_cover_the_original_is_refused(part, value, message):
    original = pa.table({"age": [31, 45, 38, 52], "job": ["a", "b", "c", "d"]})
    method = Mondrian(KAnonymity(2)).fit(original)
    step = _step(method, ["age", "job"])
    replay(step, Columns(original), None)
    at = step["joint"]
    for key in part[:-1]:
        at = at[key]
    if part[-2] == "members":
        # The first set is everything.
        assert at.tolist() == [0, 1, 2, 3, 0, 2, 1, 3]
        at[6] = value
    else:
        at[part[-1]] = value
    with pytest.raises(ValueError, match=message.replace("{", r"\{")):
        replay(step, Columns(original), None)


PEOPLE = pa.table(
    {"age": [31, 45, 38, 52], "job": ["a", "b", "a", None], "ill": ["x", "x", "x", "y"]}
)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Mondrian(KAnonymity(5)), "k = 5 is above the number of records, 4; use a smaller k"),
        (Mondrian([LDiversity(3, column="ill")]), "l = 3 is above the number of values of 'ill', 2"),
        (Mondrian([LDiversity(2, column="ill")], columns=["ill"]),
         "column 'ill' is confidential to the privacy models and cannot be generalized as well"),
        (Mondrian([]), "privacy is empty"),
        (Mondrian(KAnonymity(2), columns=["agee"]), "the table has no column 'agee'; did you mean 'age'"),
        (Mondrian(KAnonymity(2), columns=["age"], hierarchies={"job": Hierarchy.flat()}),
         "hierarchies names 'job', which is not among the columns to treat"),
        (Mondrian([LDiversity(2, column="illl")]), "the table has no column 'illl'"),
        (Mondrian(KAnonymity(2), null_policy="drop"),
         "null_policy must be one of 'segregate', 'value', 'suppress', 'match', 'contaminate', 'semi-partition', not 'drop'"),
        (Mondrian([KAnonymity(2), LDiversity(2, column="ill", kind="entropy")], null_policy="match"),
         "what a class matches beyond itself may break l-diversity; use generalize, or 'segregate'"),
        (Mondrian(KAnonymity(2), segregate="x"), "segregate must be one of 'any', 'pattern', not 'x'"),
        (Mondrian(KAnonymity(2), small_group="x"), "small_group must be one of 'suppress', 'append', not 'x'"),
        (Mondrian(KAnonymity(2), small_group="append"), "set allow_disclosure = true"),
        (Mondrian(KAnonymity(2), null_policy="contaminate", enhanced=True), "enhanced cuts nulls off"),
        (Mondrian(KAnonymity(4), null_policy="suppress"),
         r"the 3 records without nulls do not keep KAnonymity\(k=4\) even as one class; weaken it"),
        (Mondrian(KAnonymity(4)), "neither the records without nulls nor a group of those with nulls keep"),
        (Mondrian([AlphaKAnonymity(0.6, 2, column="ill")], columns=["age"]),
         "the 4 records do not keep AlphaKAnonymity"),
        (Mondrian(KAnonymity(2), hierarchies={"job": Hierarchy.groups({"A": ["a"]})}),
         "column 'job': 1 value in 1 row has no place in the hierarchy: 'b'"),
    ],
)  # fmt: skip
def test_errors(method, message):
    with pytest.raises(BadInput, match=message):
        method.fit_transform(PEOPLE)


def leaves_over(tree, low, high):
    """The leaves under the lowest node that holds two leaves, and the level of that node."""
    level = next(i for i, nodes in enumerate(tree) if nodes[low] == nodes[high])
    return int((tree[level] == tree[level][low]).sum()), level


def other_cuts(codes, trees, k, all_children):
    """Classes of trees that are cut into all children at once, or in leaf order."""
    waiting, classes = [np.arange(len(codes))], []
    while waiting:
        rows = waiting.pop()
        part = codes[rows]
        found = [leaves_over(t, x.min(), x.max()) for t, x in zip(trees, part.T, strict=True)]
        wide = [
            (held - 1) / (tree.shape[1] - 1) for (held, _), tree in zip(found, trees, strict=True)
        ]
        for c in np.argsort(-np.array(wide), kind="stable"):
            level = found[c][1] - 1
            if level < 0:
                continue
            if all_children:
                key = trees[c][level][part[:, c]]
            else:
                values, counts = np.unique(part[:, c], return_counts=True)
                at = np.argmin(np.abs(2 * np.cumsum(counts)[:-1] - len(rows)))
                key = part[:, c] > values[at]
            _, side, counts = np.unique(key, return_inverse=True, return_counts=True)
            if counts.min() >= k:
                waiting += [rows[side == i] for i in range(len(counts))]
                break
        else:
            classes.append(rows)
    return classes


def summed_loss(codes, trees, classes):
    """The loss of the specification, summed over columns; nothing is suppressed."""
    total = 0.0
    for tree, column in zip(trees, codes.T, strict=True):
        size = tree.shape[1]
        held = sum(len(r) * leaves_over(tree, column[r].min(), column[r].max())[0] for r in classes)
        total += (held / len(codes) / size - 1 / size) / (1 - 1 / size)
    return total


@pytest.mark.slow
def test_adult_loses_least_when_cut_between_children_and_lower(capsys):
    table, names = load_adult(), [c for c in load_adult().column_names if c != "salary-class"]
    hierarchies = {name: Hierarchy.from_csv(adult_hierarchy_paths()[name]) for name in names}
    axes = [in_tree(table[name], name, hierarchies[name].bind(table[name], name)) for name in names]
    codes, trees = np.array([axis.codes for axis in axes]).T, [axis.ladder.maps for axis in axes]
    losses = {}
    for strict in (True, False):
        of_row = Mondrian(KAnonymity(5), hierarchies=hierarchies, strict=strict).fit(table).classes_
        classes = np.split(np.argsort(of_row, kind="stable"), np.cumsum(np.bincount(of_row))[:-1])
        losses["strict" if strict else "relaxed"] = summed_loss(codes, trees, classes)
    for name, all_children in (("all children at once", True), ("leaf order", False)):
        losses[name] = summed_loss(codes, trees, other_cuts(codes, trees, 5, all_children))
    with capsys.disabled():
        print("\n" + ", ".join(f"{name} {loss:.2f}" for name, loss in losses.items()))
    assert losses["strict"] < 0.6 * min(losses["all children at once"], losses["leaf order"])
