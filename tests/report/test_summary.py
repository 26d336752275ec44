"""What was done, how well it is protected, what it costs: for pages, notebooks and the terminal."""

import re

import numpy as np
import pyarrow as pa
import pytest

from discreet import assess
from discreet.assessment import Assessment
from discreet.report import key_figures, sentences
from discreet.report.measures import met
from discreet.risk import probabilistic_linkage


def test_three_sentences_from_the_figures(everything):
    facts = everything.facts(assessment=everything.assess())
    done, protected, cost = sentences(facts)
    n_columns = len(everything.log["input"]["columns"])
    assert done.startswith(
        f"800 records with 18 of {n_columns} columns are released, treated by oma"
    )
    assert "generalize (age, sex and region)." in done
    unique = facts["assessment"]["risk"]["class_sizes"]["after"]["unique"]
    # k counts households, so that risk is of them.
    homes = facts["assessment"]["risk"]["composition"]["after"]["households"]
    assert protected.startswith(f"{unique} of {homes} households")
    assert re.search(
        r"(\d+) of \1 promises checked were verified, and 1 point is weak\.$", protected
    )
    # Numbers of households are new in each record, which is no loss.
    cells = everything.log["changed_cells"]
    assert cells["household_id"] > 0
    changed = sum(n for c, n in cells.items() if c != "household_id") / (17 * 800)
    told, _, rest = cost.partition(" % of the released columns' cells differ")
    assert float(told) == pytest.approx(100 * changed, abs=0.051)
    assert rest.startswith(
        "; age is * or blank for 100 % of the records; the changed numbers (birth_date, income, "
    )


def test_key_figures_beside_their_guide_values(everything):
    found = key_figures({"assessment": everything.assess().to_dict()})
    rows = {row["name"]: row for row in found}
    assert rows["class_sizes.unique"]["guide"]["value"] == 0
    # The recipe asks for k = 5.
    assert rows["individual_risk.largest"]["guide"]["value"] == 0.2
    assert rows["individual_risk.largest"]["guide"]["by"] == "recipe"
    for row in rows.values():
        sign = -1 if row["better"] == "more" else 1
        over = row["guide"] and sign * (row["after"] - row["guide"]["value"])
        assert met(row) is (None if row["guide"] is None else over <= 1e-12)


def measured(diversity=None, **risk):
    def sides(after, before=1.0):
        return {"before": before, "after": after, "paper": after / 2}

    attackers = {
        side: {"prosecutor": 1.0, "journalist": 0.5, "marketer": share}
        for side, share in (("before", 0.9), ("after", risk.pop("marketer")))
    }
    own = {name: sides(share) for name, share in risk.items()}
    own |= {"diversity": {"columns": diversity}} if diversity else {}
    return {"assessment": Assessment({"attackers": attackers} | own, {}).to_dict()}


@pytest.mark.parametrize(
    ("risk", "said"),
    [
        ({"marketer": 0.157, "distance_linkage": 0.0057, "probabilistic_linkage": 0.028},
         "The best intruder measured (marketer) finds 15.7 % of the records, 90 % before."),
        ({"marketer": 0.001, "distance_linkage": 0.0057, "probabilistic_linkage": 0.028},
         "The best intruder measured (linkage by probability) finds 2.8 % of the records, 100 % before."),
        ({"marketer": 0.001, "distance_linkage": 0.157, "probabilistic_linkage": 0.028},
         "The best intruder measured (linkage by distance) finds 15.7 % of the records, 100 % before."),
    ],
)  # fmt: skip
def test_the_worst_attack_is_told(risk, said):
    assert sentences(measured(**risk)) == [said]


def test_the_way_to_agree_that_finds_most_is_named():
    x = np.exp(3 * np.random.default_rng(0).normal(size=(200, 3)))
    y = x * np.exp(0.05 * np.random.default_rng(1).normal(size=x.shape))
    before, after = (
        pa.table({name: file[:, k] for k, name in enumerate("abc")}) for file in (x, y)
    )
    result = assess(before, after, {"quasi": ["a", "b", "c"]}, measures=["probabilistic_linkage"])
    entry = result.risk["probabilistic_linkage"]
    found = {
        how: probabilistic_linkage(x, y, agreement=how, known="all")
        for how in ("sd", "rank", "graded")
    }
    assert entry["by_agreement"] == found
    assert (entry["agreement"], entry["after"]) == ("graded", max(found.values()))
    assert entry["before"] == probabilistic_linkage(x, x, known="all")
    assert entry["paper"] == probabilistic_linkage(x, y)
    means = "columns agree (agreement: graded, which finds most of sd, rank and graded)"
    [row] = [row for row in result.rows() if row[0] == "probabilistic_linkage"]
    assert row[3].endswith(means)
    assert means in result.to_html()
    [said] = sentences({"assessment": result.to_dict()})
    assert said.startswith("The best intruder measured (linkage by probability, graded agreement) ")


def test_what_is_not_met_is_among_the_key_figures():
    diversity = {"pay": {"before": {"l": 1, "alpha": 1.0}, "after": {"l": 2, "alpha": 0.75}}}
    rows = {row["name"]: row for row in key_figures(measured(diversity, marketer=0.157))}
    for name, after in (("prosecutor", 1.0), ("marketer", 0.157)):
        row = rows[f"attackers.{name}"]
        assert (row["after"], met(row)) == (after, False)
    assert rows["alpha of pay"]["after"] == 0.75


def test_nothing_known_nothing_told():
    assert sentences({}) == []
    assert key_figures({}) == []
