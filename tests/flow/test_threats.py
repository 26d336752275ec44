"""The log lists the attacks that apply to a recipe, the docs tell of all, and nothing is published."""

import html
import re
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import discreet
from discreet.assessment.catalogue import measures
from discreet.datasets import make_households
from discreet.flow.threats import ATTACKS
from discreet.rounding import OMA as OptimalGroups

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
ALWAYS = {"reconstruction from many tables"}
DRAWN = {"reused seeds", "brute force of seeds"}
LINE = "regression on released values"
PERTURBED = {"linkage by an informed intruder", "averaging over releases", LINE} | DRAWN
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
        ([OMA], "income", {"known members", LINE, "differencing"}),
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


HOMES = {"household": "household_id"}
CELLS, LEVELS = "cells that stand for several values", "Since the best levels are released"
TOP = {"method": "top-bottom", "columns": ["age"], "upper": 80, "promise": False}
# What is done besides, or with other roles, and what is said of downcoding and of minimality.
WAYS = {
    "plain": ({}, {}, CELLS, LEVELS),
    "no suppression": ({"suppression_limit": 0}, {}, CELLS, LEVELS),
    "much suppression": ({"suppression_limit": 0.3}, {}, CELLS, LEVELS),
    "local": ({"local": True}, {}, CELLS, "Since a round passes over a class only"),
    "drawn": ({"publish_minimal": False}, {}, CELLS, "at the levels drawn"),
    "given": ({"levels": {"age": 3, "sex": 1}}, {}, CELLS, "no column could have had a finer"),
    "not proven": ({"evaluations": 2}, {}, CELLS, "is not proven"),
    "from a file": ({"hierarchies": "file"}, {}, CELLS, LEVELS),
    "nulls apart": ({"null_policy": "segregate", "segregate": "pattern"}, {}, CELLS, LEVELS),
    "nulls as values": ({"null_policy": "value"}, {}, CELLS, LEVELS),
    "nulls suppressed": ({"null_policy": "suppress"}, {}, CELLS, LEVELS),
    "nulls match": ({"null_policy": "match"}, {}, "released cell", "is in several classes"),
    "households": ({}, HOMES, CELLS, "Not measured: k counts households"),
    "linked": (
        {"null_policy": "value"},
        HOMES | {"known_rows": 2},
        "Suppressed rows are left out",
        "Not measured: k counts households",
    ),
    "after a step": ({"after": TOP}, {}, CELLS, LEVELS),
    "then blanks": ({"promise": False, "then": BLANK}, {}, CELLS, LEVELS),
    "mondrian": (MONDRIAN, {}, CELLS, "only if every cut breaks a model"),
    "mondrian, a tree": (
        MONDRIAN | {"hierarchies": {"sex": {"kind": "flat"}}},
        {},
        CELLS,
        "only if every cut breaks a model",
    ),
    "mondrian, nulls": (MONDRIAN | {"null_policy": "contaminate"}, {}, "ranges do not", "ranges"),
    "mondrian, relaxed": (MONDRIAN | {"strict": False}, {}, "both sides of a cut", "both sides"),
    "mondrian, households": (MONDRIAN, HOMES, CELLS, "Not measured: k counts households"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_generalize_has_a_figure_or_a_reason(way, engine, tmp_path):
    options, roles, cells, values = WAYS[way]
    options, roles = dict(options), dict(roles)
    if way in ("linked", "mondrian, relaxed") and engine == "duckdb":
        pytest.skip("refused on engines")
    people = make_households(600, seed=2)
    if "null" in way:
        gone = np.arange(600) % 7 == 0
        people = people.set_column(
            people.column_names.index("age"),
            "age",
            pc.if_else(pa.array(gone), None, people["age"].combine_chunks()),
        )
    if options.get("hierarchies") == "file":
        (tmp_path / "sex.csv").write_text("female;*\nmale;*\n")
        options["hierarchies"] = GENERALIZE["hierarchies"] | {"sex": str(tmp_path / "sex.csv")}
    before, after = options.pop("after", None), options.pop("then", None)
    base = options if options.get("method") == "mondrian" else GENERALIZE | options
    steps = [*filter(None, [before, base | {"privacy": DIVERSE}, after])]
    recipe = {"steps": steps, "counts": "households" if "household" in roles else "rows"}
    if "known_rows" in roles:
        recipe["known_rows"] = roles.pop("known_rows")
    of = {"quasi": ["age", "sex"], "confidential": ["disease"], "rest": "drop"}
    log = discreet.protect(people, recipe | {"roles": of | roles}, engine).log
    said = {
        one["attack"]: " ".join(x["said"] for x in one.get("figures", ())) for one in log["attacks"]
    }
    if way == "drawn":
        said["downcoding"] = said["minimality"] = said["minimality and downcoding"]
    if way == "after a step" and engine == "duckdb":
        cells = values = "--engine memory has them"
    assert cells in said["downcoding"]
    assert values in said["minimality"]


def test_noise_says_what_several_releases_would_give():
    """Noise of 0.3 sd is within 0.05 sd for 2 Phi(1/6) - 1 = 13.2 %; of four, 2 Phi(1/3) - 1 = 26.1 %."""
    log = protected([NOISE], "income").log
    (one,) = [one for one in log["attacks"] if one["attack"] == "averaging over releases"]
    assert (
        "of 13.2 % of the values, and the mean of 4 releases with new draws of 26.1 %"
        in (one["figures"][0]["said"])
    )


def figure_of(attack, step, engine="memory", people=None, **roles):
    recipe = {"roles": {"confidential": ["income"], "rest": "drop"} | roles, "steps": [step]}
    people = make_households(2000, seed=2) if people is None else people
    log = discreet.protect(people, recipe | {"counts": "rows"}, engine).log
    (one,) = [one for one in log["attacks"] if one["attack"] == attack]
    (found,) = one["figures"]
    return found


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_line_through_known_values_is_nearer_than_much_noise(engine):
    """Noise of one standard deviation: the best line halves what is released (1 / (1 + 1)).

    Its error is sqrt(1/2) = 0.71, where the released value is off by 1.
    """
    people = pa.table({"income": np.random.default_rng(1).normal(50_000, 9_000, 5000)})
    found = figure_of(LINE, NOISE | {"scale": 1.0}, engine, people)
    one = found["columns"]["income"]
    assert one["error"] == pytest.approx(0.71, abs=0.06)
    assert one["released_error"] == pytest.approx(1, abs=0.06)
    assert "hide less than they seem to" in found["said"]
    assert f"is off by {one['error']:.2f} standard deviations" in found["said"]


def test_a_line_through_means_tells_no_more_and_text_has_none():
    assert "tells nothing that these do not" in figure_of(LINE, OMA)["said"]
    shuffled = {"method": "shuffle", "columns": ["education"]}
    found = figure_of(LINE, shuffled, insensitive=["education"], confidential=[])
    assert found["said"] == "Not measured: none of its columns is released as numbers."


def test_the_last_member_of_a_group():
    """Of groups of exactly k, the last value is what is missing from k times the mean."""
    found = figure_of("known members", OMA)
    values = make_households(2000, seed=2)["income"].to_numpy()
    release = OptimalGroups(k=5).fit_transform(values[:, None])[:, 0]
    _, group, sizes = np.unique(release, return_inverse=True, return_counts=True)
    left = sizes[group] * release - np.bincount(group, values)[group]
    last = (sizes[group] == 5) & (np.abs(left) <= 0.05 * np.std(release, ddof=1))
    assert found["columns"]["income"] == pytest.approx(last.mean(), abs=0.005)
    assert 0.2 < last.mean() < 1
    assert found == figure_of("known members", OMA, "duckdb")
    median = figure_of("known members", OMA | {"representative": "median"})
    assert "Not measured: what is released is not the mean of a group" in median["said"]


def test_the_last_household_of_a_group():
    """A rent is grouped once a household: that is who is known, however many its members are."""
    rng = np.random.default_rng(1)
    rent, home = (
        rng.normal(900, 200, 200).round(2),
        np.repeat(np.arange(200), rng.integers(1, 4, 200)),
    )
    people, alone = (pa.table({"home": ids, "rent": rent[ids]}) for ids in (home, np.arange(200)))
    roles = {"household": "home", "confidential": ["rent"]}
    step = OMA | {"columns": ["rent"]}

    def known(table, **more):
        log = discreet.protect(table, {"roles": roles, "steps": [step | more]}).log
        return next(x for x in log["attacks"] if x["attack"] == "known members")["figures"][0]

    assert known(people)["columns"] == known(alone)["columns"]
    assert known(people)["columns"]["rent"] > 0.2
    # With a category that groups go by as well.
    both = alone.append_column("kind", pa.array(rng.choice(["flat", "house"], 200)))
    mixed = {"method": "microaggregation", "columns": ["rent", "kind"], "refine": 0}
    roles["confidential"] = ["rent", "kind"]
    assert known(both, **mixed)["columns"]["rent"] > 0.2


def test_an_earlier_run_on_the_same_table_is_told():
    release = protected([OMA], "income")
    assert "figures" not in next(x for x in release.log["attacks"] if x["attack"] == "differencing")
    again = tomllib.loads(release.recipe.dump()) | {"steps": [OMA | {"k": 7}]}
    log = discreet.protect(make_households(600, seed=2), again).log
    (one,) = [one for one in log["attacks"] if one["attack"] == "differencing"]
    assert "discreet attack ORIGINAL EARLIER THIS" in one["figures"][0]["said"]
    log = discreet.protect(make_households(601, seed=2), again).log
    assert "figures" not in next(x for x in log["attacks"] if x["attack"] == "differencing")


def test_the_figures_are_in_the_internal_report_and_nowhere_else(tmp_path):
    release = protected([GENERALIZE, NOISE], "income")
    release.save(tmp_path / "out")
    said = [x["said"] for one in release.log["attacks"] for x in one.get("figures", ())]
    assert len(said) == 4
    page = (tmp_path / "out" / "internal" / "report.html").read_text("utf-8")
    text = " ".join(html.unescape(page).split())
    assert all(" ".join(one.split()) in text for one in said)
    for path in (tmp_path / "out" / "public").iterdir():
        assert not any(one in path.read_text("utf-8") for one in said)
