"""Sets of items: any m of a record's are in k records."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from discreet.generalization import GeneralizeItems, Hierarchy
from tests.linked import support

TREE = [
    [f"{letter}{i}", letter, "low" if letter in "ab" else "high"]
    for letter in "abcd"
    for i in range(4)
]


def baskets(n=80, seed=0, most=5):
    rng = np.random.default_rng(seed)
    names = np.array([row[0] for row in TREE])
    shares = 1 / (1 + np.arange(len(names)))
    shares = rng.permutation(shares / shares.sum())
    return [rng.choice(names, rng.integers(0, most), False, shares).tolist() for _ in range(n)]


def recipe(columns=("bought",), **step):
    return {
        "roles": {"quasi": list(columns), "rest": "drop"},
        "steps": [
            {"method": "generalize-items", "columns": list(columns), "k": 3, "separator": ";"}
            | step
        ],
    }


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("tree", [None, {"kind": "table", "rows": TREE}], ids=["flat", "tree"])
def test_any_m_items_are_in_k_records(m, tree):
    for seed in range(10):
        sets = baskets(60 + 10 * seed, seed)
        table = pd.DataFrame({"x": pa.array(sets).to_pandas()})
        hierarchy = None if tree is None else Hierarchy.from_table(TREE)
        method = GeneralizeItems(k=2 + seed % 4, m=m, hierarchy=hierarchy)
        found = [set(cell) for cell in method.fit_transform(pa.table({"x": sets}))["x"].to_pylist()]
        held = support(dict(enumerate(found)), m)
        assert min(held.values(), default=99) >= 2 + seed % 4
        becomes = dict(zip(method.plan_["x"]["items"], method.plan_["x"]["labels"], strict=True))
        for before, after in zip(sets, found, strict=True):
            assert after == {becomes[item] for item in before} - {None}
        assert len(table) == len(found)


def test_a_tree_keeps_what_would_be_left_out():
    sets = baskets(200, 1)
    flat, tree = (
        GeneralizeItems(5, m=2, hierarchy=h).fit_transform(pa.table({"x": sets}))["x"].to_pylist()
        for h in (None, Hierarchy.from_table(TREE))
    )
    assert sum(map(bool, tree)) > sum(map(bool, flat))


def test_items_that_all_share_stay():
    table = pa.table({"x": [["a", "b"]] * 3 + [["b"]] * 2})
    method = GeneralizeItems(3, m=2)
    assert method.fit_transform(table)["x"].to_pylist() == table["x"].to_pylist()


def test_a_release_of_texts_is_checked(tmp_path):
    cells = ["; ".join(items) or None for items in baskets(120, 2)]
    table = pa.table({"bought": cells})
    given = recipe(hierarchy={"kind": "table", "rows": TREE})
    release = discreet.protect(table, given)
    (said,) = [f for f in release.check.findings if "any 2 items of a set" in f.promise]
    assert said.status == "verified"
    release.save(tmp_path / "out")
    (file,) = (tmp_path / "out" / "public").glob("*.csv")
    assert discreet.check_release(file, given, tmp_path / "out" / "internal", table).verified


def test_a_rare_pair_breaks_the_promise():
    table = pa.table({"bought": ["a;b"] * 5 + ["a"] * 3 + ["c"] * 3 + ["a;c"]})
    report = discreet.check_release(table, recipe())
    assert any("1 records hold a, c" in f.detail for f in report.having("broken"))


def test_another_cell_is_found(tmp_path):
    table = pa.table({"bought": ["; ".join(items) or None for items in baskets(120, 2)]})
    release = discreet.protect(table, recipe())
    changed = release.table.to_pandas() if isinstance(release.table, pa.Table) else release.table
    row = next(i for i, cell in enumerate(changed["bought"]) if isinstance(cell, str))
    other = next(c for c in changed["bought"] if isinstance(c, str) and c != changed["bought"][row])
    changed.loc[row, "bought"] = other
    release.save(tmp_path / "out")
    report = discreet.check_release(changed, recipe(), tmp_path / "out" / "internal", table)
    assert any("every treated cell" in f.promise for f in report.having("broken"))


@pytest.mark.parametrize(
    ("table", "parameters", "message"),
    [
        ({"x": ["a;b"]}, {}, "name what stands between its items"),
        ({"x": [["a"]]}, {"separator": ";"}, "lists, which need no separator"),
        ({"x": [None, ""]}, {"separator": ";"}, "holds no items"),
        ({"x": ["a"]}, {"separator": ";", "m": 0}, "m must be"),
        ({"x": ["a"]}, {"separator": " "}, "separator must be some text"),
    ],
)
def test_bad_input_is_refused(table, parameters, message):
    with pytest.raises(BadInput, match=message):
        GeneralizeItems(2, **parameters).fit(pa.table(table))


def test_units_with_several_sets_are_refused():
    table = pa.table({"who": [1, 1, 2, 3], "bought": ["a", "b", "a", "b"]})
    given = recipe(k=2)
    given["roles"] |= {"unit": "who"}
    with pytest.raises(BadInput, match="counts records, and units have several"):
        discreet.protect(table, given)


def test_a_unit_with_one_set_in_all_records_counts_once():
    table = pa.table({"who": [1, 1, 1, 2, 3, 4], "bought": ["a;b"] * 3 + ["a"] * 3})
    given = recipe(k=3)
    given["roles"] |= {"unit": "who"}
    release = discreet.protect(table, given)
    assert release.table["bought"].to_pylist() == ["a"] * 6
    (said,) = [f for f in release.check.findings if "any 2 items of a set" in f.promise]
    assert "in k = 3 units" in said.promise


def test_a_unit_that_shows_several_sets_breaks_the_promise():
    table = pa.table({"who": [1, 1, 2, 2], "bought": ["a", "b", "b", "a"]})
    given = recipe(k=2)
    given["roles"] |= {"unit": "who", "pseudonyms": ["who"]}
    report = discreet.check_release(table, given)
    (said,) = [f for f in report.findings if "any 2 items of a set" in f.promise]
    assert (said.status, said.detail) == ("broken", "some units have several sets")
