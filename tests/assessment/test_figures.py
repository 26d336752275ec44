"""Figures for pictures: by brute force, and through the public API."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import assess, protect
from discreet.assessment import figures as module
from discreet.assessment.figures import released_figures
from discreet.datasets import make_households


@pytest.fixture(scope="module")
def tables():
    before = make_households(600, seed=4, null_rate=0.05)
    before = before.select(["age", "sex", "region", "income", "assets", "birth_date"])
    rng = np.random.default_rng(1)
    after = before.set_column(3, "income", pa.array(rng.permutation(before["income"].to_numpy())))
    gone = rng.random(600) < 0.1
    after = after.set_column(1, "sex", pa.array(before["sex"].to_pylist(), mask=gone))
    return before, after


@pytest.fixture(scope="module")
def found(tables):
    return assess(*tables, {"quasi": ["age", "sex"], "confidential": ["income"]}).figures


def test_they_are_plain_data(found):
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(found) == {
        "sampled", "columns", "correlations", "class_sizes", "nulls", "drivers", "riskiest"
    }  # fmt: skip
    assert found["sampled"] is None


def test_which_columns_changed(found):
    changed = {name for name, own in found["columns"].items() if own["changed"]}
    assert changed == {"income", "sex"}
    kinds = {name: own["kind"] for name, own in found["columns"].items()}
    assert kinds["birth_date"] == "date"
    assert kinds["sex"] == "categorical"
    assert kinds["age"] == "numeric"


def test_labels_and_nulls_by_brute_force(tables, found):
    before, after = (table["sex"].to_pylist() for table in tables)
    own = found["columns"]["sex"]["categories"]
    for label, x, y in zip(own["labels"], own["before"], own["after"], strict=True):
        assert (x, y) == (before.count(label), after.count(label))
    nulls = found["nulls"]
    place = nulls["columns"].index("sex")
    assert nulls["before"][place] == pytest.approx(before.count(None) / 600, abs=1e-6)
    assert nulls["after"][place] == pytest.approx(after.count(None) / 600, abs=1e-6)
    rows = [tuple(c for c in nulls["columns"] if r[c] is None or r[c] != r[c])
            for r in tables[1].to_pylist()]  # fmt: skip
    for pattern in nulls["patterns"]:
        n = rows.count(tuple(pattern["columns"]))
        assert pattern["after"] == (n if n >= 10 or n == 0 else None)
        assert max(pattern["before"] or 0, pattern["after"] or 0) >= 10


def test_few_records_with_a_pattern_are_not_numbered():
    before = pa.table({"age": [None] * 12 + [*range(28)], "pay": [*range(39), None]})
    after = pa.table({"age": [None] * 9 + [*range(31)], "pay": [*range(40)]})
    found = assess(before, after, {"insensitive": ["age", "pay"]}).figures["nulls"]["patterns"]
    assert {"columns": ["age"], "before": 12, "after": None} in found
    none = assess(before, before.set_column(0, "age", after["age"].fill_null(1)),
                  {"insensitive": ["age", "pay"]})  # fmt: skip
    found = none.figures["nulls"]["patterns"]
    assert {"columns": ["age"], "before": 12, "after": 0} in found


def test_correlations_as_numpy_gives_them(tables, found):
    names = found["correlations"]["columns"]
    assert set(names) == {"age", "income", "assets", "birth_date"}
    i, j = names.index("age"), names.index("income")
    x, y = (np.array(tables[1][c].to_pylist(), dtype=float) for c in ("age", "income"))
    both = ~np.isnan(x) & ~np.isnan(y)
    expected = np.corrcoef(x[both], y[both])[0, 1]
    assert found["correlations"]["after"][i][j] == pytest.approx(expected, abs=1e-4)


def test_class_sizes_and_riskiest_by_brute_force(tables, found):
    tuples = [(r["age"], r["sex"]) for r in tables[1].select(["age", "sex"]).to_pylist()]
    sizes = np.array([tuples.count(t) for t in tuples])
    told = dict(zip(found["class_sizes"]["sizes"], found["class_sizes"]["after"], strict=True))
    assert told["1"] == (sizes == 1).sum()
    assert told["3-4"] == ((sizes == 3) | (sizes == 4)).sum()
    assert sum(told.values()) == 600
    riskiest = found["riskiest"]
    assert [r["row"] for r in riskiest] == (np.flatnonzero(sizes == 1)[:20] + 1).tolist()
    assert all(r["class"] == 1 and r["risk"] == 1.0 for r in riskiest)


def test_rows_of_the_original_where_records_are_left_out():
    before = pa.table({"age": [50, *([20] * 12), 60, *([30] * 12), 70]})
    rows = np.array([*range(1, 26), 26])
    found = assess(before, before.take(pa.array(rows)), {"quasi": ["age"]}, rows=rows)
    assert [r["row"] for r in found.figures["riskiest"][:2]] == [14, 27]


def test_perturbed_quasi_columns_have_no_classes():
    table = make_households(300, seed=1).select(["age", "income"])
    release = protect(table, {
        "roles": {"quasi": ["age"], "confidential": ["income"]},
        "steps": [{"method": "rank-swap", "columns": ["age"], "p": 5}],
    })  # fmt: skip
    figures = release.assess().figures
    assert figures["class_sizes"] is None
    assert figures["riskiest"] is None


def test_recoded_labels_are_not_laid_beside_the_originals():
    before = pa.table({"zip": ["1010", "1020", "2010"] * 20, "sex": ["f", "m", "f"] * 20})
    after = pa.table({"zip": ["10**", "10**", "20**"] * 20, "sex": ["f", "m", "*"] * 20})
    own = assess(before, after, {"quasi": ["zip", "sex"]}).figures["columns"]
    assert own["zip"]["recoded"]
    assert own["zip"]["released_categories"] == {"labels": ["10**", "20**"], "counts": [40, 20]}
    assert own["sex"]["categories"]["labels"] == ["f", "m", "*"]
    assert own["sex"]["categories"]["after"] == [20, 20, 20]


def test_large_tables_are_sampled_and_say_so(monkeypatch, tables):
    monkeypatch.setattr(module, "LARGEST_SAMPLE", 200)
    roles = {"quasi": ["age"], "confidential": ["income"]}
    one, two = (assess(*tables, roles).figures for _ in range(2))
    assert one == two
    assert one["sampled"] == {"rows": 200, "of": 600}
    own = one["columns"]["income"]["histogram"]
    assert sum(own["before"]) <= 200
    assert sum(one["class_sizes"]["before"]) == 600
    released = released_figures(tables[1])
    assert released["sampled"] == {"rows": 200, "of": 600}


def test_released_figures_know_no_original(tables):
    own = released_figures(tables[1])["columns"]
    assert all(
        min(f["counts"]) >= 10 for c in own.values() for f in c.values() if isinstance(f, dict)
    )
    assert sum(own["sex"]["released_categories"]["counts"]) == 600 - tables[1]["sex"].null_count


def test_strange_columns_do_no_harm():
    table = pa.table({
        "nothing": pa.nulls(40, pa.float64()),
        "flag": [True, False] * 20,
        "span": pa.array([60 * i for i in range(40)], pa.duration("s")),
        "at": pa.array([3600 * i for i in range(40)], pa.timestamp("s")),
        "huge": [1.7e308, -1.7e308] * 20,
        "endless": [float("inf"), *range(39)],
        "category": pa.array(["a", "b"] * 20).dictionary_encode(),
    })  # fmt: skip
    found = assess(table, table, {"insensitive": table.column_names}).figures
    json.dumps(found, allow_nan=False)
    assert found["columns"]["span"]["unit"] == "seconds"
    assert found["columns"]["flag"]["categories"]["labels"] == ["false", "true"]
    assert found["columns"]["at"]["kind"] == "date"
    assert found["columns"]["nothing"]["histogram"] is None
