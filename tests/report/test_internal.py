"""The internal report tells all that a board asks, and runs and fetches nothing."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import assess, protect
from discreet.datasets import make_households
from discreet.flow.reports import saved_report
from discreet.report import internal_report
from discreet.report.steps import _traces
from tests.report.pages import is_self_contained

SECTIONS = ["summary", "contents", "key", "release", "roles", "nulls", "recipe", "steps", "risk", "attacks",
            "utility", "distributions", "checks", "policy", "warnings", "alternatives", "decision"]  # fmt: skip


@pytest.fixture(scope="module")
def page(everything_folder):
    return is_self_contained((everything_folder / "internal" / "report.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def assessment(everything):
    return everything.assess()


def test_sections_in_order(page, everything):
    assert [i for i in page.ids if i in SECTIONS] == SECTIONS
    assert page.headings[0] == f"Release {everything.log['release']}"
    assert "Never share this file" in page.text


def test_identity_hashes_versions_and_seeds(page, everything, everything_folder):
    log = json.loads((everything_folder / "internal" / "log.json").read_text())
    seeds = [str(everything.recipe.seed), str(everything.recipe.order_seed)]
    manifest = json.loads((everything_folder / "internal" / "manifest.json").read_text())
    files = manifest["files"].items()
    hashes = [one["sha256"] for name, one in files if name != "internal/report.html"]
    versions = [f"discreet {log['discreet']}", f"numpy {log['packages']['numpy']}"]
    for told in (log["release"], log["input"]["hmac"], *hashes, *seeds, *versions):
        assert told in page.text, told


def test_roles_and_the_recipe(page, everything):
    assert "household_id household replaced by random numbers" in page.text
    assert 'kind = "intervals"' in page.text
    assert "The policy: in step 11 (generalize), records with and without nulls" in page.text


def test_attacks_that_apply_are_listed(page, everything):
    assert everything.log["attacks"]
    for attack in everything.log["attacks"]:
        for told in (attack["why"], attack["done"], attack["remains"]):
            assert told in page.text, told
    assert "minimality (step 11)" in page.text
    assert "known members (steps 1 and 6)" in page.text
    assert "has all of public/ and every other table about these people" in page.text
    assert "decide whether what remains is acceptable" in page.text
    assert "docs/explanation/threats.md" not in page.text


def test_each_step_tells_what_it_decided(page, everything):
    for number, step in enumerate(everything.recipe.steps, start=1):
        assert f"Step {number}: {step.method}" in " ".join(page.headings)
    plans = everything.plan["steps"]
    points = plans[0]["columns"]["income"]["points"]
    assert f"rounding set of income {len(points)} points from" in page.text
    assert "multiples in assets" in page.text
    scaled = plans[3]["columns"]["x2"]
    assert f"standard deviation {scaled['scale'] * scaled['sd']:.1f}, which is 31.7 %" in page.text
    assert f"values moved by {plans[4]['columns']['x3']['window']} ranks at most" in page.text
    assert f"{everything.log['steps'][5]['groups']} groups of at least 4 households" in page.text
    assert "after 307 moves of refinement" in page.text
    chunks = len(plans[6]["joint"]["deviations"])
    assert f"{chunks} chunks of 43 values or so, of degree 2" in page.text
    assert "stay with a chance of 83.8 %" in page.text
    assert "83.8 % to 83.8 %" not in page.text
    above = plans[9]["columns"]["x9"]["above"]
    assert f"bounds of x9 {above} values above 5,000" in page.text
    assert "proven optimal: found" in page.text
    group = plans[10]["joint"]["groups"][0]
    level = group["rounds"][0]["levels"]["age"]
    said = {1: "10-year groups", 2: "20-year groups", 3: "*"}[level]
    assert f"age without nulls {said}" in page.text
    assert f"{level} of 3 {sum(group['rounds'][0]['sizes']):,}" in page.text


def test_dates_are_told_as_dates(page, everything):
    plan = everything.plan["steps"][0]["columns"]["birth_date"]
    first = np.datetime64("1970-01-01") + int(plan["points"][0])
    assert f"from {first} to " in page.text
    assert "birth_date" in page.text


def test_risk_before_and_after_with_guide_values(page, assessment):
    sizes = assessment.risk["class_sizes"]
    for key, k in (("unique", 2), ("under_3", 3), ("under_5", 5)):
        verdict = "met" if sizes["after"][key] == 0 else "not met"
        row = f"≤ 0 {verdict} {sizes['before'][key]:,} {sizes['after'][key]:,}"
        assert f"in classes under {k} (households)" in page.text
        assert row in page.text
    assert "With k = 5, nobody is found with a chance above 1/5." in page.text
    assert "European Medicines Agency" not in page.text
    assert "interval disclosure" in page.text


def test_the_riskiest_records_are_rows_of_the_original(page, assessment):
    riskiest = assessment.figures["riskiest"]
    assert len(riskiest) == 20
    for record in riskiest:
        assert f"{record['row']} {100 * record['risk']:.3g} %" in page.text


def test_checks_warnings_and_what_was_left_out(page, everything, assessment):
    for finding in everything.check.findings:
        assert finding.status in ("verified", "weak")
        assert f"{finding.promise} {finding.status} {finding.detail}" in page.text
    for told in (*everything.log["warnings"], *everything.check.notes):
        assert told in page.text
    for name, why in assessment.left_out.items():
        assert f"{name} {why}" in page.text


def test_pictures_and_their_captions(page):
    titles = ["Rounding set of income", "Polynomials fitted", "Distribution of x2 before and after",
              "Quantiles of x2 before and after", "Categories of disease before and after",
              "Correlations before, after", "Households by the size of their class", "Nulls before"]  # fmt: skip
    for title in titles:
        assert title in page.text, title


def test_the_same_release_gives_the_same_bytes(everything_folder):
    written = (everything_folder / "internal" / "report.html").read_text("utf-8")
    assert saved_report(everything_folder) == written


def test_an_assessment_alone_is_a_report(tmp_path):
    before = make_households(300, seed=2).select(["age", "income"])
    release = protect(before, {
        "roles": {"quasi": ["age"], "confidential": ["income"]},
        "steps": [{"method": "oma", "columns": ["age", "income"], "k": 5}],
    })  # fmt: skip
    found = assess(before, release.table, {"quasi": ["age"], "confidential": ["income"]})
    html = found.to_html(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text("utf-8") == html
    page = is_self_contained(html)
    assert page.headings[0] == "Assessment"
    assert "no release was made" in page.text
    assert "Distribution of income before and after" in page.text
    assert [i for i in page.ids if i in SECTIONS] == SECTIONS


def test_asked_measures_alone_have_no_pictures():
    before = make_households(300, seed=2).select(["age"])
    found = assess(before, before, {"quasi": ["age"]}, measures=["class_sizes"])
    page = is_self_contained(found.to_html())
    assert page.count("figure") == 0
    assert "in classes under 2" in page.text


def test_a_range_of_one_is_told_once():
    table = pa.table({"x": [2.0] * 30, "y": np.arange(30.0)})
    recipe = {
        "roles": {"confidential": ["x", "y"]},
        "steps": [{"method": "oma", "columns": ["x", "y"], "k": 5}],
    }
    text = is_self_contained(internal_report(protect(table, recipe).facts())).text
    assert "rounding set of x 1 point at 2;" in text
    assert "rounding set of y 6 points from 2 to 27;" in text


def bare(**figures):
    return {"assessment": {"risk": {}, "utility": {}, "left_out": {}, "figures": figures}}


def test_why_no_record_is_named():
    sizes = {"sizes": ["1", "2"], "before": [10, 10], "after": [0, 20], "columns": ["age"]}
    sampled = {"rows": 100_000, "of": 200_000}
    page = is_self_contained(internal_report(bare(class_sizes=sizes, sampled=sampled))).text
    assert "Not given: single records are not looked up in a table larger than memory." in page
    page = is_self_contained(internal_report(bare(class_sizes=None, sampled=sampled))).text
    assert "Not given: there is no quasi column, or one was perturbed" in page


def test_only_changed_columns_are_missed():
    def columns(changed, same):
        own = {"kind": "categorical", "categories": None}
        drawn = {f"c{i}": own | {"changed": True} for i in range(changed)}
        return drawn | {f"u{i}": own | {"changed": False} for i in range(same)}

    page = is_self_contained(internal_report(bare(columns=columns(60, 40)))).text
    assert "not drawn." not in page.replace("Unchanged, and so not drawn", "")
    page = is_self_contained(internal_report(bare(columns=columns(62, 40)))).text
    assert "2 more changed columns are not drawn." in page


@pytest.mark.parametrize("far", [5, 7])  # Fewer than k are left out, more stay as stars.
def test_suppressed_records_are_counted(far):
    rng = np.random.default_rng(0)
    table = pa.table({
        "age": np.append(rng.integers(20, 30, 100 - far), 60 + 5 * np.arange(far)),
        "pay": rng.gamma(2.0, 900.0, 100).round(),
    })  # fmt: skip
    release = protect(table, {
        "roles": {"quasi": ["age"], "confidential": ["pay"]},
        "steps": [{"method": "generalize", "columns": ["age"], "suppression_limit": 0.1,
                   "privacy": [{"model": "k-anonymity", "k": 6}],
                   "hierarchies": {"age": {"kind": "intervals", "widths": [5, 10]}}}],
    })  # fmt: skip
    counts = release.log["suppressed"]
    assert counts["records"] > 0
    text = is_self_contained(internal_report(release.facts())).text
    told = f"{counts['records']} records were suppressed, {counts['left_out']} of them are not in"
    assert told in text
    left_out = f"; {counts['left_out']} records left out."
    assert (left_out in text) == (counts["left_out"] > 0)


def test_chosen_degrees_are_told(tmp_path):
    table = make_households(300, seed=5)
    step = {"method": "porop", "columns": ["income"], "k": 60, "degree": "auto"}
    roles = {"confidential": ["income"], "rest": "drop"}
    release = protect(table, {"roles": roles, "steps": [step]})
    release.save(tmp_path / "out")
    text = is_self_contained(
        (tmp_path / "out" / "internal" / "report.html").read_text("utf-8")
    ).text
    joint = release.plan["steps"][0]["joint"]
    degrees = joint["degrees"].tolist()
    tried = len(joint["losses"]) // len(degrees)
    loss, risk = (
        np.mean([joint[name][tried * i + d - 1] for i, d in enumerate(degrees)])
        for name in ("losses", "risks")
    )
    first, often = min(degrees), degrees.count(min(degrees))
    assert f"degrees chosen {first} for {often} chunk" in text
    assert f"; mean loss {loss:.4g} and risk {risk:.4g}" in text


def test_a_search_that_took_no_time_is_not_drawn_against_time():
    trace = {"seconds": [0.0, 0.4], "evaluations": [1, 9], "quality": [0.9, 0.2]}
    long = trace | {"seconds": [0.0, 1.4]}
    found = {
        "searches": [{"trace": trace}, {"trace": long}, {}],
        "trace": trace | {"moves": [0, 1]},
    }
    assert list(_traces(found)) == [(long, "loss")]


def test_everything_but_the_decision_is_folded(page):
    folded = [i for i in SECTIONS if i not in ("summary", "contents", "decision")]
    assert page.count("details") == page.count("summary") == len(folded)
