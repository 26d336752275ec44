"""Rows that can be seen to belong together: k units share whatever may be known of them."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from tests.linked import episodes, failed, itemsets, sets_shared, support

KEYS = ["ward", "year", "days"]
HIERARCHIES = {
    "ward": {"kind": "flat"},
    "year": {"kind": "intervals", "widths": [2, 4]},
    "days": {"kind": "intervals", "widths": [5, 10]},
}


def recipe(m, k=3, more_models=(), **step):
    known = {} if m is None else {"known_rows": m}
    return known | {
        "roles": {
            "unit": "patient",
            "pseudonyms": ["patient"],
            "quasi": KEYS,
            "confidential": ["drug"],
        },
        "steps": [
            {
                "method": "generalize",
                "columns": KEYS,
                "privacy": [{"model": "k-anonymity", "k": k}, *more_models],
                "hierarchies": HIERARCHIES,
                "suppression_limit": 0.2,
            }
            | step
        ],
    }


def shown(release, table, unit="patient"):
    """The released item of each row, None where it is suppressed, and its unit in the input."""
    keys = zip(*(release.table[name].to_pylist() for name in KEYS), strict=True)
    hidden = {("*",) * len(KEYS), (None,) * len(KEYS)}
    return [None if key in hidden else key for key in keys], table[unit].to_pylist()


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_combination_of_m_rows_is_shared_by_k_units(m, seed):
    k = 2 + seed
    table = episodes(80 + 40 * seed, seed)
    release = discreet.protect(table, recipe(m, k))
    items, units = shown(release, table)
    assert not failed(items, units, k, m)
    assert any(items), "something must be left"
    gone = release.log["steps"][0]["suppressed"]
    assert gone == sum(item is None for item in items) <= 0.2 * len(items)
    assert release.check.verified


@pytest.mark.parametrize("limit", [0.0, 0.1, 0.5])
def test_whole_sets_are_shared_by_k_units(limit):
    table = episodes(150, 1)
    release = discreet.protect(table, recipe(None, suppression_limit=limit))
    items, units = shown(release, table)
    assert sets_shared(items, units, 3)
    assert sum(item is None for item in items) <= limit * len(items)
    (said,) = [f for f in release.check.findings if "set of all rows" in f.promise]
    assert said.status == "verified"


def test_one_patient_is_found_by_two_stays_where_classes_alone_are_kept():
    table = episodes(150, 1)
    alone = recipe(2)
    del alone["known_rows"]
    alone["roles"] |= {"pseudonyms": [], "insensitive": ["patient"], "unit": None}
    alone["roles"]["not_identifiers"] = ["patient"]
    alone["counts"] = "rows"
    items, units = shown(discreet.protect(table, alone), table)
    assert min(support(itemsets(items, units), 2).values()) == 1
    items, units = shown(discreet.protect(table, recipe(2)), table)
    assert min(support(itemsets(items, units), 2).values()) >= 3


@pytest.mark.parametrize("m", [1, 2, None])
def test_rows_that_are_shared_have_l_values(m):
    table = episodes(200, 2)
    diverse = [{"model": "l-diversity", "l": 3, "column": "drug"}]
    release = discreet.protect(table, recipe(m, more_models=diverse, suppression_limit=0.3))
    items, units = shown(release, table)
    drugs = table["drug"].to_pylist()
    if m is not None:
        assert not failed(items, units, 3, m, drugs, 3)
    else:
        sets = itemsets(items, units)
        held = {}
        for item, unit, drug in zip(items, units, drugs, strict=True):
            if item is not None:
                held.setdefault(frozenset(sets[unit]), set()).add(drug)
        assert all(len(values) >= 3 for values in held.values())
    assert any("l = 3 values of 'drug'" in f.promise for f in release.check.findings)


def test_the_levels_are_the_best_of_all():
    table = episodes(120, 3)
    found = discreet.protect(table, recipe(2, suppression_limit=0.15)).log["steps"][0]
    qualities = []
    for levels in product(range(2), range(4), range(4)):
        pinned = dict(zip(KEYS, levels, strict=True))
        try:
            one = discreet.protect(table, recipe(2, suppression_limit=0.15, levels=pinned))
        except BadInput:
            continue
        qualities.append(one.log["steps"][0]["quality"]["value"])
    assert found["quality"]["value"] == pytest.approx(min(qualities), rel=1e-12)


def test_levels_that_are_drawn_keep_it_too():
    table, drawn = episodes(120, 3), set()
    for seed in range(4):
        given = recipe(2, suppression_limit=0.15, publish_minimal=False) | {"seed": 2**100 + seed}
        release = discreet.protect(table, given)
        items, units = shown(release, table)
        assert not failed(items, units, 3, 2)
        (search,) = release.log["steps"][0]["searches"]
        assert release.log["steps"][0]["quality"]["value"] == search["drawn"] >= search["optimum"]
        assert sum(item is None for item in items) <= 0.15 * len(items)
        drawn.add(search["drawn"])
    assert len(drawn) > 1


def test_members_of_a_household_that_is_released():
    table = episodes(150, 4).rename_columns({"patient": "home"})
    given = recipe(2)
    given["roles"] = {"household": "home", "quasi": KEYS, "confidential": ["drug"]}
    release = discreet.protect(table, given)
    items, units = shown(release, table, "home")
    assert not failed(items, units, 3, 2)
    assert any("rows of one 'home'" in f.promise for f in release.check.findings)


@pytest.mark.parametrize("linked", ["pseudonym", "household"])
def test_a_release_and_its_plan_are_checked_from_files(tmp_path, linked):
    table, given = episodes(100, 5), recipe(2)
    if linked == "household":
        del given["roles"]["pseudonyms"], given["roles"]["unit"]
        given["roles"]["household"] = "patient"
    discreet.protect(table, given).save(tmp_path / "out")
    (file,) = (tmp_path / "out" / "public").glob("*.csv")
    report = discreet.check_release(file, given, tmp_path / "out" / "internal", table)
    assert report.verified, report
    alone = discreet.check_release(file, given)
    (said,) = [f for f in alone.findings if "combination of at most 2" in f.promise]
    assert said.status == "verified"


def test_a_row_that_is_shown_breaks_the_promise():
    table = episodes(100, 5)
    release = discreet.protect(table, recipe(2))
    items, _ = shown(release, table)
    hidden = next(i for i, item in enumerate(items) if item is None)
    changed = release.table.to_pandas() if isinstance(release.table, pa.Table) else release.table
    levels = release.plan["steps"][0]["joint"]["groups"][0]["rounds"][0]["levels"]
    assert levels["ward"] == 0, "the test needs wards to be told"
    changed.loc[hidden, "ward"] = "a ward of its own"
    report = discreet.check_release(changed, recipe(2))
    broken = [f for f in report.having("broken") if "combination of at most 2" in f.promise]
    assert len(broken) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"local": True}, "local recoding does not protect that; use global recoding"),
        ({"method": "mondrian", "hierarchies": {}}, "mondrian does not protect that; use"),
    ],
)
def test_what_does_not_protect_linked_rows_is_refused(change, message):
    given = recipe(2, **change)
    if change.get("method") == "mondrian":
        del given["steps"][0]["suppression_limit"], given["steps"][0]["hierarchies"]
    with pytest.raises(BadInput, match=message):
        discreet.protect(episodes(), given)


def test_nulls_need_a_policy():
    table = episodes()
    ward = pa.array([None, *table["ward"].to_pylist()[1:]])
    table = table.set_column(1, "ward", ward)
    with pytest.raises(BadInput, match="some have nulls; set null_policy = 'value'"):
        discreet.protect(table, recipe(2))
    release = discreet.protect(table, recipe(2, null_policy="value"))
    items, units = shown(release, table)
    sets = itemsets([None if i is None else tuple(map(str, i)) for i in items], units)
    assert min(support(sets, 2).values()) >= 3


def test_known_rows_need_rows_that_are_linked():
    given = recipe(2)
    given["roles"]["pseudonyms"] = []
    with pytest.raises(BadInput, match="known_rows is for rows that can be seen"):
        discreet.protect(episodes(), given)


def test_engines_refuse_linked_rows(tmp_path):
    from pyarrow import parquet

    parquet.write_table(episodes(), tmp_path / "in.parquet")
    with pytest.raises(BadInput, match="use --engine memory"):
        discreet.protect(tmp_path / "in.parquet", recipe(2), engine="duckdb")


def test_a_limit_that_cannot_be_met_is_told():
    at = {"ward": 0, "year": 0, "days": 0}
    with pytest.raises(BadInput, match="suppression_limit = 0 cannot be met") as error:
        discreet.protect(episodes(), recipe(2, suppression_limit=0.0, levels=at))
    works = float(str(error.value).split("suppression_limit = ")[2].split(" ")[0])
    release = discreet.protect(episodes(), recipe(2, suppression_limit=works, levels=at))
    assert np.isclose(release.log["steps"][0]["suppressed"] / episodes().num_rows, works, atol=1e-3)
