"""Releases of one table compared: the same measures for all, and who dominates whom."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import compare, protect, write_table
from discreet.assessment.assessment import Assessment
from discreet.assessment.comparison import Compared, _ranked
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.measure import Figure

ROLES = {"quasi": ["age", "sex"], "confidential": ["income"], "untouched": ["sex"]}


def recipe(method="oma", columns=("age", "income"), roles=ROLES, **more):
    return {"roles": roles, "steps": [{"method": method, "columns": list(columns), **more}]}


@pytest.fixture(scope="module")
def people():
    return make_households(400, seed=2, null_rate=0.02).select(["age", "sex", "income"])


@pytest.fixture(scope="module")
def releases(people):
    general = {
        "method": "generalize",
        "columns": ["age", "sex"],
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "hierarchies": {"age": {"kind": "intervals", "widths": [10, 20]}, "sex": {"kind": "flat"}},
    }
    roles = ROLES | {"untouched": []}
    return {
        "fine": protect(people, recipe(k=3)),
        "coarse": protect(people, recipe(k=60)),
        "swapped": protect(people, recipe("rank-swap", p=10)),
        "general": protect(people, {"roles": roles, "steps": [general]}),
    }


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12), st.booleans())
def test_dominated_against_the_definition(points, two_sided):
    nothing = Assessment({}, {})
    given_ = [
        Compared(
            str(i), [], 1, 0, nothing, float(r), None, float(c),
            attribute=float(a) if two_sided else None,
        )
        for i, (r, c, a) in enumerate(points)
    ]  # fmt: skip
    falling, rising = Figure("falling"), Figure("rising", better="more")
    # The other way round, the figures negated rank alike.
    turned = [Compared(**(vars(one) | {"risk": -one.risk})) for one in given_]
    assert [one.dominated for one in _ranked(turned, rising, falling)] == [
        one.dominated for one in _ranked(given_, falling, falling)
    ]
    for i, one in enumerate(_ranked(given_, falling, falling)):
        mine = points[i][: 2 + two_sided]
        others = [point[: 2 + two_sided] for j, point in enumerate(points) if j != i]
        beaten = any(
            all(x <= y for x, y in zip(other, mine, strict=True))
            and any(x < y for x, y in zip(other, mine, strict=True))
            for other in others
        )
        assert one.dominated is beaten


def test_each_has_the_measures_that_assess_gives(people, releases):
    found = compare(people, releases)
    for one in found.releases:
        own = releases[one.name]
        alone = own.assess()
        assert one.assessment.risk == alone.risk
        assert one.assessment.utility == alone.utility
    fine, coarse, swapped, general = found.releases
    assert fine.risk > coarse.risk
    assert fine.loss < coarse.loss
    assert swapped.risk_by == "informed_linkage"
    assert general.risk_by == "attackers.marketer"
    assert general.risk == general.assessment.risk["attackers"]["after"]["marketer"]
    assert found.front
    told = dict(found.rows())
    assert told["class_sizes.smallest"][2] == "-"
    assert all("income" not in name for name in told)


def test_folders_files_and_releases_in_memory_agree(tmp_path, people, releases):
    write_table(people, tmp_path / "in.parquet")
    releases["fine"].save(tmp_path / "fine")
    releases["general"].save(tmp_path / "general.parquet")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    written = compare(tmp_path / "in.parquet", [tmp_path / "fine", tmp_path / "general.parquet"])
    memory = compare(people, {name: releases[name] for name in ("fine", "general")})
    assert [one.name for one in written.releases] == ["fine", "general.parquet"]
    for a, b in zip(written.releases, memory.releases, strict=True):
        assert (a.risk, a.loss) == (pytest.approx(b.risk), pytest.approx(b.loss))
        assert (a.rows, a.suppressed, a.dominated, a.steps) == (
            b.rows,
            b.suppressed,
            b.dominated,
            b.steps,
        )
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


@pytest.mark.parametrize("engine", ["auto", "memory", "duckdb"])
def test_releases_of_any_engine_are_compared(tmp_path, people, releases, engine):
    write_table(people, tmp_path / "in.parquet")
    releases["general"].save(tmp_path / "general")
    of_duckdb = protect(tmp_path / "in.parquet", recipe(k=3), engine="duckdb")
    of_duckdb.save(tmp_path / "fine")
    paths = {name: tmp_path / name for name in ("fine", "general")}
    found = compare(tmp_path / "in.parquet", paths, engine=engine)
    for one, other in zip(found.releases, compare(people, {n: releases[n] for n in paths}).releases, strict=True):  # fmt: skip
        assert (one.risk, one.loss) == (pytest.approx(other.risk), pytest.approx(other.loss))
        assert (one.rows, one.suppressed, one.risk_by) == (other.rows, other.suppressed, other.risk_by)  # fmt: skip
    assert not any("sample" in note for note in found.notes)
    write_table(people.slice(1), tmp_path / "other.parquet")
    with pytest.raises(BadInput, match=r"other.parquet is not the table that .*fine was made from"):
        compare(tmp_path / "other.parquet", paths, engine=engine)


def test_loss_of_what_does_not_fit_is_that_of_a_sample(tmp_path, people, releases, monkeypatch):
    monkeypatch.setattr("discreet.assessment.opened.DRAWN", 60)
    write_table(people, tmp_path / "in.parquet")
    for name in ("fine", "general"):
        releases[name].save(tmp_path / name)
    paths = [tmp_path / "fine", tmp_path / "general"]
    found = compare(tmp_path / "in.parquet", paths, engine="duckdb")
    n = found.releases[0].sampled
    assert 60 <= n < 400
    assert (
        f"attribute risk and information_loss are those of a sample of {n} of 400 records"
        in found.notes
    )
    for one in found.releases:
        assert one.loss == pytest.approx(_whole_loss(releases[one.name], people), abs=0.15)


def _whole_loss(release, people):
    return compare(people, {"a": release, "b": release}).releases[0].loss


def test_a_column_that_one_release_lacks_counts_as_lost(people):
    kept = protect(people, recipe(k=3))
    roles = {"quasi": ["age"], "confidential": ["income"], "rest": "drop"}
    dropped = protect(people, recipe(k=3, roles=roles))
    found = compare(people, {"kept": kept, "dropped": dropped})
    first, second = found.releases
    assert (first.columns["sex"], second.columns["sex"]) == (0.0, 1.0)
    assert first.loss < second.loss
    assert (
        "dropped calls other columns quasi than kept, by whose roles all are measured"
        in found.notes
    )


def test_ranking_by_other_measures(people, releases):
    two = {name: releases[name] for name in ("fine", "coarse")}
    found = compare(people, two, risk="individual_risk.largest", loss="il1s")
    for one in found.releases:
        assert one.risk == one.assessment.risk["individual_risk"]["after"]["largest"]
        assert one.loss == one.assessment.utility["il1s"]["value"]
    three = {name: releases[name] for name in ("fine", "swapped")}
    found = compare(people, three, risk="individual_risk.mean")
    assert found.releases[1].dominated is None
    assert found.front == ["fine"]
    assert any(note.startswith("swapped is not on the map, because it has no figure for risk")
               for note in found.notes)  # fmt: skip


def test_all_are_measured_by_what_the_first_counts():
    people = make_households(400, seed=2).select(["household_id", "age", "income"])
    roles = {"quasi": ["age"], "confidential": ["income"], "household": "household_id"}
    step = {"method": "oma", "columns": ["age", "income"], "k": 5}
    made = [
        protect(people, {"counts": counts, "roles": roles, "steps": [step]})
        for counts in ("households", "rows")
    ]
    found = compare(people, {"homes": made[0], "rows": made[1]}, measures=["class_sizes"])
    assert found.notes[:2] == [
        "rows counts records, homes households, by which all are measured",
        "the sizes of classes are numbers of households",
    ]
    assert {one.assessment.risk["class_sizes"]["counts"] for one in found.releases} == {
        "households"
    }
    turned = compare(people, {"rows": made[1], "homes": made[0]}, measures=["class_sizes"])
    assert all("counts" not in one.assessment.risk["class_sizes"] for one in turned.releases)


def test_where_more_is_better_the_larger_figure_ranks_first():
    people = make_households(400, seed=2).select(["age", "income"])
    roles = {"quasi": ["age"], "confidential": ["income"]}
    two = {f"k{k}": protect(people, recipe(k=k, roles=roles)) for k in (3, 30)}
    found = compare(people, two, risk="class_sizes.smallest", loss="known_bits")
    fine, coarse = found.releases
    assert fine.risk < 30 <= coarse.risk
    assert fine.loss > coarse.loss
    assert found.front == ["k3", "k30"]
    # No cell is null in either, so the coarser is as good in that and safer.
    found = compare(people, two, risk="class_sizes.smallest", loss="null_rates")
    assert found.front == ["k30"]
    told = found.to_dict()["risk"]
    assert (told["unit"], told["better"]) == ("records", "more")


def test_a_measure_that_was_not_taken_leaves_the_map_empty(people, releases):
    two = {name: releases[name] for name in ("fine", "coarse")}
    found = compare(people, two, risk="suda2.scored")
    assert found.front == []
    assert found.notes[0].startswith(
        "fine is not on the map, because it has no figure for risk (suda2: it looks at all sets"
    )


def test_the_dict_is_json_without_seeds_and_pictures(people, releases):
    text = compare(people, releases).to_json()
    content = json.loads(text)
    assert [one["name"] for one in content["releases"]] == list(releases)
    assert content["releases"][0]["steps"] == [
        {"k": 3, "method": "oma", "columns": ["age", "income"]}
    ]
    assert content["releases"][0]["assessment"]["figures"] is None
    for release in releases.values():
        assert str(release.recipe.seed) not in text
        assert str(release.recipe.order_seed) not in text


def test_pandas_with_nan_in_memory(people):
    frame = people.to_pandas()
    assert frame["income"].isna().any()
    two = [protect(frame, recipe(k=k)) for k in (3, 20)]
    assert [one.name for one in compare(frame, two).releases] == ["release 1", "release 2"]
    assert isinstance(two[0].table, pd.DataFrame)


def test_markers_and_types_are_each_recipes_own(tmp_path):
    rows = "age,sex,income\n" + "".join(
        f"{i % 60},{'mf'[i % 2]},{i * 7 % 91}\n" for i in range(200)
    )
    (tmp_path / "in.csv").write_text(rows + "*,m,5\n" * 5)
    for name, more in (("a", {"null_markers": ["*"]}), ("b", {"null_markers": ["*", "?"]})):
        protect(tmp_path / "in.csv", recipe(k=3) | more).save(tmp_path / name)
    found = compare(tmp_path / "in.csv", [tmp_path / "a", tmp_path / "b"])
    assert found.releases[0].loss == found.releases[1].loss


def test_what_cannot_be_compared_is_refused(tmp_path, people, releases):
    one = releases["fine"]
    with pytest.raises(BadInput, match=r"^there is one release; a comparison needs at least two$"):
        compare(people, [one])
    with pytest.raises(
        BadInput, match=r"^give at least two releases, as a list or a dict of names$"
    ):
        compare(people, one)
    with pytest.raises(
        BadInput, match=r"^a release was made from another table than the original given$"
    ):
        compare(people.slice(1), releases)
    one.save(tmp_path / "a")
    one.save(tmp_path / "b")
    with pytest.raises(BadInput, match=r"^the original is not the table that .*a was made from$"):
        compare(people.slice(1), [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(BadInput, match=r"a is given twice$"):
        compare(people, [tmp_path / "a", f"{tmp_path / 'a'}/"])
    for axis, measure, first in (
        ("loss", "il2", "information_loss, il_metrics, "),
        ("loss", "mean_absolute_correlation", "information_loss, "),
        ("loss", "interval_disclosure", "information_loss, "),
        ("risk", "il1s", "linkage, class_sizes.smallest, "),
        ("risk", "class_sizes.classes", "linkage, "),
        ("risk", "individual_risk", "linkage, "),
    ):
        message = f"^'{measure}' is no {axis} to rank by; choose from {first}"
        with pytest.raises(BadInput, match=message):
            compare(people, releases, **{axis: measure})
    (tmp_path / "alone.csv").write_text("age\n1\n")
    with pytest.raises(
        BadInput, match=r"alone.internal is not there; a comparison needs it, because it maps"
    ):
        compare(people, [tmp_path / "a", tmp_path / "alone.csv"])


def test_a_release_with_suppressed_records_loses_them():
    table = pa.table({"age": [1, 2] * 50 + [9, 9], "sex": ["m", "f"] * 50 + ["m", "f"]})
    step = {
        "method": "generalize",
        "columns": ["age", "sex"],
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "hierarchies": {"age": {"kind": "flat"}, "sex": {"kind": "flat"}},
        "suppression_limit": 0.1,
    }
    release = protect(table, {"roles": {"quasi": ["age", "sex"]}, "steps": [step]})
    same = protect(
        table, {"roles": {"quasi": ["age", "sex"], "untouched": ["age", "sex"]}, "steps": []}
    )
    found = compare(table, {"suppressed": release, "as it is": same})
    suppressed, whole = found.releases
    assert (suppressed.rows, suppressed.suppressed, whole.rows) == (100, 2, 102)
    assert whole.loss == 0 < suppressed.loss


# Risk has two sides


def test_what_protects_the_values_is_not_beaten_by_what_keeps_them():
    """The quasi columns are treated alike, so that identity risk cannot tell the releases apart."""
    rng = np.random.default_rng(5)
    pay = rng.gamma(3, 900, 400).round(2)
    people = pa.table({"age": rng.integers(20, 80, 400), "pay": pay})

    def made(*steps):
        ages = {"method": "oma", "columns": ["age"], "k": 20}
        roles = {"quasi": ["age"], "confidential": ["pay"]}
        return protect(people, {"roles": roles, "steps": [ages, *steps]})

    found = compare(
        people,
        {
            "near raw": made({"method": "oma", "columns": ["pay"], "k": 2}),
            "noise": made({"method": "noise", "columns": ["pay"], "scale": 0.5}),
            "swapped": made({"method": "rank-swap", "columns": ["pay"], "p": 10}),
            "kept": made(),
            "kept again": made(),
        },
    )
    raw, noise, swapped, kept, _ = found.releases
    assert len({one.risk for one in found.releases}) == 1
    assert kept.loss < raw.loss < min(noise.loss, swapped.loss)
    assert kept.attribute == 1 == kept.learned["pay"]
    assert max(noise.attribute, swapped.attribute) < raw.attribute > 0.9
    assert noise.dominated is swapped.dominated is False
    content = found.to_dict()
    assert content["attribute"]["measure"] == "values_learned"
    assert [one["attribute"] for one in content["releases"]] == [
        one.attribute for one in found.releases
    ]
    assert str(found).splitlines()[0] == "release: identity risk, attribute risk, loss"


def test_without_confidential_columns_risk_has_one_side(people):
    step = {"method": "oma", "columns": ["age"], "k": 3}
    table = people.select(["age"])
    one = {"roles": {"quasi": ["age"]}, "steps": [step]}
    found = compare(table, {"a": protect(table, one), "b": protect(table, one)})
    assert found.to_dict()["attribute"] is None
    assert str(found).splitlines()[0] == "release: risk, loss"
    assert [one.attribute for one in found.releases] == [None, None]


def test_only_the_names_of_files_are_told(tmp_path):
    (tmp_path / "towns.csv").write_text("Ulm;south;*\nKiel;north;*\n")
    table = pa.table({"town": ["Ulm", "Kiel"] * 5})
    for number, spec in enumerate(
        [str(tmp_path / "towns.csv"), {"kind": "csv", "path": str(tmp_path / "towns.csv")}]
    ):
        step = {"method": "generalize", "columns": ["town"], "hierarchies": {"town": spec},
                "privacy": [{"model": "k-anonymity", "k": 2 + number}]}  # fmt: skip
        asked = {"roles": {"quasi": ["town"]}, "steps": [step]}
        found = compare(table, {"a": protect(table, asked), "b": protect(table, asked)})
        assert "towns.csv" in found.to_json()
        assert str(tmp_path) not in found.to_json()
