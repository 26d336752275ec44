"""A measure is declared once: what it declares is all that anything else goes by."""

from pathlib import Path

import pyarrow as pa
import pytest

import discreet.utility
from discreet import assess, compare, protect
from discreet.assessment.catalogue import axes, measures
from discreet.errors import BadInput
from discreet.measure import NEEDS, Figure, Guide, Measure
from discreet.report import internal_report, key_figures
from discreet.report.measures import cells

ROLES = {"quasi": ["age"], "confidential": ["pay"]}
PEOPLE = pa.table({"age": [31, 32, 45, 46] * 5, "pay": [10.0, 12.0, 30.0, 34.0] * 5})
ROUNDED = pa.table({"age": [31, 31, 45, 45] * 5, "pay": [11.0, 11.0, 32.0, 32.0] * 5})

KEPT = Measure(
    "distinct_kept",
    "share of the distinct numbers that are left",
    lambda t: {
        "value": sum(len(set(t.rows().after[c].to_pylist())) for c in t.numeric)
        / sum(len(set(t.rows().before[c].to_pylist())) for c in t.numeric),
        "columns": {c: len(set(t.rows().after[c].to_pylist())) for c in t.numeric},
    },
    [
        Figure("distinct numbers kept", unit="%", better="more", untouched=1.0, headline=True,
               guide=Guide(0.75, "Three in four is a guess.")),
        Figure("values", unit="values", better="more", each=True),
    ],
    needs=["changed numbers", "all rows"],
)  # fmt: skip


@pytest.fixture
def declared(monkeypatch):
    monkeypatch.setattr(discreet.utility, "MEASURES", [*discreet.utility.MEASURES, KEPT])


def test_one_that_is_declared_is_taken_and_printed(declared):
    found = assess(PEOPLE, ROUNDED, ROLES)
    assert list(found.utility)[-1] == "distinct_kept"
    assert found.utility["distinct_kept"]["value"] == 0.5
    rows = {name: rest for name, *rest in found.rows()}
    assert rows["distinct_kept"] == ["1", "0.5", "share of the distinct numbers that are left"]
    assert rows["distinct_kept of age"][1] == "2"
    assert "distinct_kept" in str(found)
    same = assess(PEOPLE, PEOPLE, ROLES)
    assert same.left_out["distinct_kept"] == "no numeric column differs"
    with pytest.raises(BadInput, match=r"no measure 'distinct'; did you mean 'distinct_kept'\?"):
        assess(PEOPLE, ROUNDED, ROLES, measures=["distinct"])


def test_one_that_is_declared_is_reported(declared):
    facts = {"assessment": assess(PEOPLE, ROUNDED, ROLES).to_dict()}
    told = [cells(row) for row in key_figures(facts) if row["measure"] == "distinct_kept"]
    reading = "share of the distinct numbers that are left"
    sides = ("≥ 75 %", "not met", "100 %", "50 %")
    assert told[0] == ("distinct numbers kept", reading, *sides)
    page = internal_report(facts)
    assert "distinct numbers kept" in page
    assert "values of age (values)" in page


def test_one_that_is_declared_ranks_releases(declared):
    def made(k):
        step = {"method": "oma", "columns": ["age", "pay"], "k": k}
        return protect(PEOPLE, {"roles": ROLES, "steps": [step]})

    found = compare(PEOPLE, {"k10": made(10), "k20": made(20)}, loss="distinct_kept")
    assert [one.loss for one in found.releases] == [0.5, 0.25]
    assert found.front == ["k10", "k20"]
    axis = found.to_dict()["loss"]
    assert (axis["title"], axis["better"]) == ("distinct numbers kept", "more")
    assert "distinct_kept" in dict(found.rows())


def test_declarations_are_whole():
    names = [*measures("risk"), *measures("utility")]
    assert len(names) == len(set(names)) == 30
    for measure in measures().values():
        assert set(measure.needs) <= set(NEEDS)
        assert measure.reading
        *_, family, module = measure.take.__module__.split(".")
        assert (Path(__file__).parents[1] / family / f"test_{module}.py").exists()
        keys = [(figure.key, figure.each) for figure in measure.figures]
        assert len(keys) == len(set(keys)) > 0
        for figure in measure.figures:
            assert figure.title
            assert figure.reading or measure.reading
            assert figure.unit or figure.guide is None
    assert "mean_absolute_correlation" not in axes("utility")


def test_what_was_taken_is_what_was_declared():
    """No figure of a measure goes untold: each is in the entry under its key."""
    found = assess(PEOPLE, ROUNDED, ROLES, measures=list(measures()))
    told = {row["name"] for row in found.shown() if row["column"] is None}
    for name, entry in (found.risk | found.utility).items():
        expected = {
            f"{name}.{f.key}" if f.key else name for f in measures()[name].figures if not f.each
        }
        # Households, weights, perturbed columns, stars and blanks are what this one does not have.
        assert expected - told <= {
            "individual_risk.household",
            "attackers.journalist",
            "interval_disclosure.perturbed",
            "null_rates.nulls",
            "null_rates.null_records",
            "null_rates.blanked",
            "null_rates.blanked_records",
        }
        # It may add which intruder was the strongest.
        assert entry["means"].startswith(measures()[name].reading)


def test_every_risk_says_by_which_attack_and_beside_what():
    for measure in measures("risk").values():
        does, _, beside = measure.intruder.partition("; beside ")
        assert does, measure.name
        assert beside, measure.name
