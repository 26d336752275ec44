"""Classes that must pay their publisher: what the check computes by itself, and where it refuses."""

import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet.errors import BadInput
from discreet.report.decision import decision
from tests.check.test_privacy import people, recipe, tampered

INTRUDER = {"model": "profitability", "cost": 2, "gain": 30, "loss": 40, "benefit": 12}
PROMISE = "profitability (cost = 2"


def released(table=None, model=INTRUDER, **step):
    given = recipe(**step)
    given["steps"][0]["privacy"] = [model]
    return discreet.protect(people(200, 20) if table is None else table, given)


def found(release_check):
    return [f for f in release_check.findings if f.promise.startswith(PROMISE)]


@pytest.mark.parametrize(
    "step",
    [
        {"null_policy": "segregate"},
        {"null_policy": "value"},
        {"null_policy": "suppress"},
        {"local": True},
        {"quality": "payout"},
        {"quality": "classification", "target": "ill"},
        {"quality": "kl-divergence", "local": True},
        {"quality": "payout", "null_policy": "segregate", "suppression_limit": 1.0},
    ],
    ids=str,
)
def test_what_classes_pay_is_computed_anew(step):
    release = released(**step)
    findings = found(release.check)
    assert findings
    assert {f.status for f in findings} == {"verified"}
    assert "the poorest class pays " in findings[0].detail
    verdict = decision({"check": release.check.to_dict()})["verdict"]["said"]
    assert "no class that costs more than it is worth" in verdict


@pytest.mark.parametrize(
    "step",
    [{"null_policy": "segregate"}, {"null_policy": "value", "quality": "payout"}, {"local": True}],
    ids=str,
)
def test_a_journalist_finds_records_among_those_of_the_population(tmp_path, step):
    table = people(200, 20)
    everybody = tmp_path / "everybody.parquet"
    parquet.write_table(pa.concat_tables([table, people(600, 60)]), everybody)
    model = INTRUDER | {"population": str(everybody), "benefit": 6}
    release = released(table, model, **step)
    findings = found(release.check)
    assert {f.status for f in findings} == {"verified"}
    assert "the poorest class pays " in findings[0].detail
    release.save(tmp_path / "release")
    public = (tmp_path / "release" / "public" / "report.html").read_text()
    assert "journalist: yes" in public
    assert "everybody.parquet" not in public
    # Where all others are like the last, some class is not worth its attacks.
    alike = table.take(pa.array([199] * 600))
    parquet.write_table(pa.concat_tables([table, alike]), everybody)
    assert "broken" in {f.status for f in found(tampered(release))}


def test_no_attack_of_a_journalist_is_k_map(tmp_path):
    table = people(200, 20)
    everybody = tmp_path / "everybody.parquet"
    parquet.write_table(pa.concat_tables([table] * 4), everybody)
    model = INTRUDER | {"attack": False, "population": str(everybody)}
    (finding, *_) = found(released(table, model, null_policy="value").check)
    assert finding.status == "verified"
    assert "in the population" in finding.detail


def test_a_class_that_costs_more_than_it_is_worth_is_found():
    release = released(null_policy="value")
    ages = release.table["age"].to_pylist()
    # One record of a large class says that it is of another, which nobody else is in.
    row = next(i for i, age in enumerate(ages) if age not in (None, "*"))
    ages[row] = next(text for text in set(ages) if text not in (None, "*", ages[row]))
    zips = release.table["zip"].to_pylist()
    zips[row] = "*"
    broken = found(tampered(release, age=pa.array(ages), zip=pa.array(zips)))
    assert [f.status for f in broken] == ["broken"]


def test_without_the_plan_nobody_can_tell_how_much_was_lost(tmp_path):
    release = released(null_policy="value")
    path = tmp_path / "out.csv"
    release.save(path)
    alone = found(discreet.check_release(path, recipe=release.recipe))
    assert [f.status for f in alone] == ["not verifiable"]


def test_no_attack_is_k_anonymity():
    release = released(model=INTRUDER | {"attack": False})
    (finding, *_) = found(release.check)
    assert finding.status == "verified"
    assert "the smallest of" in finding.detail
    # 30 / 2 is whole, so that one more is needed.
    assert min(int(s) for g in release.plan["steps"][0]["joint"]["groups"]
               for r in g["rounds"] for s in r["sizes"]) >= 16  # fmt: skip


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"null_policy": "match"}, "profitability goes by the records of a class"),
        ({"method": "mondrian", "hierarchies": None}, "told by hierarchies: use generalize"),
        ({"quality": "classification"}, "target names the column to predict"),
        ({"quality": "loss", "target": "ill"}, "target names the column to predict"),
        ({"quality": "nue", "suppression_factor": 0.2}, "'nue' has no suppression_factor"),
        ({"quality": "loss", "payout": {"cost": 1}}, "payout needs gain"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_by_name(step, message):
    if step.get("method") == "mondrian":
        step = step | {"suppression_limit": None}
    given = recipe(**step)
    given["steps"][0]["privacy"] = [INTRUDER]
    for key in [k for k, v in given["steps"][0].items() if v is None]:
        del given["steps"][0][key]
    with pytest.raises(BadInput, match=message):
        discreet.protect(people(200, 20), given)


def test_a_table_on_disk_is_treated_alike(tmp_path):
    table = people(300, 20)
    source = tmp_path / "in.parquet"
    parquet.write_table(table, source)
    for quality in ("payout", "classification", "kl-divergence"):
        step = {"quality": quality} | ({"target": "ill"} if quality == "classification" else {})
        here = released(table, **step)
        given = recipe(**step)
        given["steps"][0]["privacy"] = [INTRUDER]
        there = discreet.protect(source, given, "duckdb")
        logs = [x.log["steps"][0]["quality"] for x in (here, there)]
        assert logs[0] == logs[1]
        assert {f.status for f in found(there.check)} == {"verified"}


def test_a_record_that_is_worth_the_attack_may_stand_alone():
    """Not a k of 1, which the recipe would refuse: its publisher gains more than an attack costs."""
    model = {"model": "profitability", "cost": 4, "gain": 300, "loss": 300, "benefit": 1200}
    step = {
        "method": "generalize",
        "columns": ["age"],
        "privacy": [model],
        "hierarchies": {"age": {"kind": "flat"}},
    }
    table = pa.table({"age": [30, 31, 32, 33]})
    release = discreet.protect(table, {"roles": {"quasi": ["age"]}, "steps": [step]})
    assert sorted(release.table["age"].to_pylist()) == [30, 31, 32, 33]
    told = [found.detail for found in release.check.findings if "profitability" in found.promise]
    assert told[0] == "4 classes, 4 worth an attack, the poorest class pays 900 a record"
