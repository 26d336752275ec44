"""The log lists the attacks that apply to a recipe, the docs tell of all, and nothing is published."""

import html
import re
from pathlib import Path

import pytest

import discreet
from discreet.assessment.catalogue import measures
from discreet.datasets import make_households
from discreet.flow.threats import ATTACKS

DOCS = Path(__file__).parents[2] / "docs"
ALWAYS = {"reconstruction from many tables"}
DRAWN = {"reused seeds", "brute force of seeds"}
PERTURBED = {"linkage by an informed intruder", "averaging over releases"} | DRAWN
GENERALIZE = {
    "method": "generalize",
    "columns": ["age", "sex"],
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "hierarchies": {"age": {"kind": "intervals", "widths": [10, 20]}, "sex": {"kind": "flat"}},
}
DIVERSE = [*GENERALIZE["privacy"], {"model": "l-diversity", "l": 2, "column": "disease"}]
OMA = {"method": "oma", "columns": ["income"], "k": 5}
NOISE = {"method": "noise", "columns": ["income"], "scale": 0.3}
BLANK = {"method": "local-suppression", "columns": ["age", "sex"], "k": 3}
MONDRIAN = {k: v for k, v in GENERALIZE.items() if k != "hierarchies"} | {"method": "mondrian"}
SWAP = {"method": "rank-swap", "columns": ["income"], "p": 10.0}


def protected(steps, confidential, **roles):
    quasi = [c for step in steps for c in step["columns"] if c in ("age", "sex")]
    roles = {
        "quasi": list(dict.fromkeys(quasi)),
        "confidential": [confidential],
        "rest": "drop",
    } | roles
    recipe = {"roles": roles, "steps": steps, "counts": "rows"}
    return discreet.protect(make_households(600, seed=2), recipe)


@pytest.mark.parametrize(
    ("steps", "confidential", "expected"),
    [
        ([OMA], "income", {"known members", "differencing"}),
        ([NOISE], "income", PERTURBED),
        ([SWAP], "income", PERTURBED | {"rank-swap windows"}),
        ([GENERALIZE], "disease", {"minimality", "downcoding", "homogeneity", "differencing"}),
        (
            [GENERALIZE | {"privacy": DIVERSE}],
            "disease",
            {"minimality", "downcoding", "differencing"},
        ),
        (
            [GENERALIZE | {"privacy": DIVERSE, "publish_minimal": False}],
            "disease",
            {"minimality and downcoding", "differencing"} | DRAWN,
        ),
        ([BLANK], "disease", {"minimal blanks", "homogeneity", "differencing"} | DRAWN),
        (
            [BLANK | {"null_policy": "match", "record_cost": 2.0}],
            "disease",
            {"minimal blanks", "compatible records", "homogeneity", "differencing"} | DRAWN,
        ),
    ],
)
def test_attacks_by_what_the_steps_are(steps, confidential, expected):
    log = protected(steps, confidential).log
    assert {one["attack"] for one in log["attacks"]} == expected | ALWAYS
    on_steps = [one for one in log["attacks"] if one["attack"] in expected]
    assert all(one["steps"] == [1] for one in on_steps)


def test_attacks_by_roles():
    log = protected([GENERALIZE | {"privacy": DIVERSE}], "disease", household="household_id").log
    assert "household composition" in {one["attack"] for one in log["attacks"]}
    hidden = {"household": "household_id", "release_household": False}
    log = protected([GENERALIZE | {"privacy": DIVERSE}], "disease", **hidden).log
    assert "household composition" not in {one["attack"] for one in log["attacks"]}


def test_the_steps_of_each_attack():
    log = protected([GENERALIZE, OMA], "income").log
    steps = {one["attack"]: one["steps"] for one in log["attacks"]}
    assert steps["minimality"] == [1]
    assert steps["known members"] == [2]
    assert steps["differencing"] == [1, 2]


def test_what_is_measured_is_a_measure():
    named = {measure for one in ATTACKS for measure in one.measured}
    assert named <= measures("risk").keys()


def test_the_threat_model_tells_of_each_attack():
    text = (DOCS / "threats.md").read_text("utf-8")
    assert [one.name for one in ATTACKS if one.name not in text.lower()] == []
    linked = re.findall(r"\]\((\w+\.md)\)", text)
    assert linked
    assert all((DOCS / name).exists() for name in linked)
    assert "docs/threats.md" in (DOCS.parent / "README.md").read_text("utf-8")


def test_public_files_say_who_is_kept_out_and_no_attack(tmp_path):
    release = protected([GENERALIZE, NOISE], "income")
    release.save(tmp_path / "out")
    texts = {p.name: p.read_text("utf-8") for p in (tmp_path / "out" / "public").iterdir()}
    page = " ".join(texts["report.html"].split())
    for told in (
        "Public are this table, its codebook and this page",
        "an intruder in mind who knows people in the table",
        "that somebody is in the table is not hidden",
        "Do not try to find out who a record is about",
        "If you recognize somebody",
    ):
        assert told in page
    # Whoever has public/ does not have the documentation.
    assert not any("docs/" in text for text in texts.values())
    for one in release.log["attacks"]:
        for told in (one["attack"], one["why"], one["done"], one["remains"]):
            assert not any(told in text for text in texts.values()), told


def test_a_minimal_generalization_has_its_figures():
    release = protected([GENERALIZE | {"privacy": DIVERSE}], "disease")
    figures = {one["attack"]: one.get("figures") for one in release.log["attacks"]}
    (found,) = figures["downcoding"]
    assert found["step"] == 1
    assert found["cells"] > 0
    assert "cells that stand for several values" in found["said"]
    (found,) = figures["minimality"]
    assert found["records"] > 0
    assert found["said"].startswith("Since the best levels are released")
    assert figures["differencing"] is None


@pytest.mark.parametrize(
    ("steps", "attack", "said"),
    [
        ([GENERALIZE | {"local": True}], "downcoding", "cells that stand for several values"),
        ([GENERALIZE], "minimality", "tell nothing of confidential values"),
        (
            [GENERALIZE | {"privacy": DIVERSE, "local": True}],
            "minimality",
            "Not measured of local recoding",
        ),
        ([MONDRIAN], "downcoding", "cells that stand for several values"),
        ([MONDRIAN | {"strict": False}], "downcoding", "Not measured: of mondrian with these"),
        (
            [
                {"method": "top-bottom", "columns": ["age"], "upper": 80, "promise": False},
                GENERALIZE,
            ],
            "downcoding",
            "Not measured: a step before has changed the columns",
        ),
    ],
)
def test_what_is_said_of_minimal_steps(steps, attack, said):
    log = protected(steps, "disease").log
    (one,) = [one for one in log["attacks"] if one["attack"] == attack]
    assert said in one["figures"][0]["said"]


def test_noise_says_what_several_releases_would_give():
    """Noise of 0.3 sd is within 0.05 sd for 2 Phi(1/6) - 1 = 13 %; of four, 2 Phi(1/3) - 1 = 26 %."""
    log = protected([NOISE], "income").log
    (one,) = [one for one in log["attacks"] if one["attack"] == "averaging over releases"]
    assert (
        "of 13% of the values, and the mean of 4 releases with new draws of 26%"
        in (one["figures"][0]["said"])
    )


def test_the_figures_are_in_the_internal_report_and_nowhere_else(tmp_path):
    release = protected([GENERALIZE, NOISE], "income")
    release.save(tmp_path / "out")
    said = [x["said"] for one in release.log["attacks"] for x in one.get("figures", ())]
    assert len(said) == 3
    page = (tmp_path / "out" / "internal" / "report.html").read_text("utf-8")
    text = " ".join(html.unescape(page).split())
    assert all(" ".join(one.split()) in text for one in said)
    for path in (tmp_path / "out" / "public").iterdir():
        assert not any(one in path.read_text("utf-8") for one in said)
