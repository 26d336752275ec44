"""The decision page: the verdict, what columns became, and that it fits the screen."""

import copy

import pyarrow as pa
import pytest

from discreet import protect
from discreet.report import internal_report
from discreet.report.became import columns_of, grouped
from discreet.report.decision import decision, decision_lines, next_words, record_words
from tests.report.pages import is_self_contained
from tests.report.tables import reasoned, wide_recipe, wide_table
from tests.timed import within


@pytest.fixture(scope="module")
def wide():
    release = protect(wide_table(), wide_recipe())
    return release.facts(assessment=release.assess())


@pytest.fixture
def facts(wide):
    return reasoned(copy.deepcopy(wide))


def became(facts):
    return {one["column"]: one for one in decision(facts)["columns"]}


def released(table, steps, **more):
    release = protect(table, {"steps": steps} | more)
    return release.facts(assessment=release.assess())


# What each column became


def test_each_column_of_the_input_is_told_once(wide):
    found = became(wide)
    assert list(found) == wide["log"]["input"]["columns"]
    assert found["name"]["became"] == found["weight"]["became"] == "dropped"
    assert found["disease"]["became"] == found["answer_12"]["became"] == "unchanged"
    before, after = found["income"]["values"]
    assert found["income"]["became"] == (
        f"{after:,} values ({before:,} before), averaged in groups of 5 or more"
    )
    assert found["assets"]["became"].endswith("with noise of 20 % of the standard deviation")


def test_levels_with_their_labels_and_shares():
    people = pa.table({
        "age": [21, 24, 22, 23, 41, 44, 42, 43, 64, 87],
        "sex": ["f", "m"] * 5,
        "town": ["Ulm", "Bonn", "Ulm", "Bonn", "Ulm", "Bonn", "Ulm", "Bonn", "Ulm", "Ulm"],
    })  # fmt: skip
    step = {
        "method": "generalize",
        "columns": ["age", "sex", "town"],
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.2,
        "hierarchies": {
            "age": {"kind": "intervals", "widths": [20]},
            "sex": {"kind": "flat"},
            "town": {"kind": "groups", "tree": {"south": ["Ulm"], "west": ["Bonn"]}},
        },
    }
    found = became(released(people, [step], roles={"quasi": ["age", "sex", "town"]}))
    starred = found["age"]["starred"]
    assert found["age"]["became"] == f"20-year groups (20-39 and 40-59), * for {100 * starred:g} %"
    assert found["sex"]["became"] == f"unchanged, * for {100 * starred:g} %"


def test_columns_of_which_nothing_is_left_are_removed(facts):
    plan = facts["plan"]["steps"][0]["joint"]
    for group in plan["groups"]:
        group["rounds"] = [
            one | {"levels": one["levels"] | {"sex": 1}, "classes": one["classes"] | {"sex": one["sizes"] * 0}}
            for one in group["rounds"]
        ]  # fmt: skip
    assert became(facts)["sex"]["became"] == "removed (* for everyone)"
    assert "sex 100 %" in decision(facts)["cost"][0]["said"]


def test_several_levels_have_a_share_each():
    table = pa.table({"age": [30] * 6 + [41, 42, 43, 61, 63, 68], "town": ["Ulm"] * 12})
    step = {
        "method": "generalize",
        "columns": ["age"],
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "suppression_limit": 1.0,
        "local": True,
        "hierarchies": {"age": {"kind": "intervals", "widths": [5, 10]}},
    }
    found = became(released(table, [step], roles={"quasi": ["age"], "insensitive": ["town"]}))
    assert found["age"]["became"] == (
        "as it was for 50 %, 5-year groups for 25 %, 10-year groups for 25 %"
    )


def test_ranges_are_counted():
    table = pa.table({"age": list(range(20, 60))})
    step = {"method": "mondrian", "columns": ["age"], "privacy": [{"model": "k-anonymity", "k": 5}]}
    found = became(released(table, [step], roles={"quasi": ["age"]}))
    assert found["age"]["became"] == "8 ranges"


def test_labels_of_a_hierarchy_are_not_taken_for_values():
    table = pa.table({"code": ["110", "111", "112", "220", "221", "222", "333", "333", "333"]})
    step = {
        "method": "mondrian",
        "columns": ["code"],
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "hierarchies": {"code": {"kind": "prefix", "stars": [1]}},
    }
    found = became(released(table, [step], roles={"quasi": ["code"]}))
    assert found["code"]["became"] == "2 groups and 1 single value"


def test_blanks_are_a_share_of_the_cells():
    table = pa.table({"sex": ["f"] * 9 + ["m"], "town": ["Ulm"] * 10})
    step = {"method": "local-suppression", "columns": ["sex", "town"], "k": 3}
    facts = released(table, [step], roles={"quasi": ["sex", "town"]})
    blanked = facts["log"]["steps"][0]["blanked"]
    for name, one in became(facts).items():
        told = f"blank for {10 * blanked[name]} %" if blanked.get(name) else "unchanged"
        assert one["became"] == told


def test_what_is_mostly_blank_says_what_the_rest_became():
    table = pa.table({"town": ["Ulm"] * 4 + [f"hamlet {i}" for i in range(8)]})
    steps = [
        {"method": "generalize", "columns": ["town"], "levels": {"town": 0}},
        {"method": "local-suppression", "columns": ["town"], "k": 3},
    ]
    steps[0]["hierarchies"] = {"town": {"kind": "flat"}}
    found = became(released(table, steps, roles={"quasi": ["town"]}))
    assert found["town"]["became"] == "removed (blank) for 66.7 %, else unchanged"


def test_alike_columns_are_told_together(wide):
    lines = grouped(columns_of(wide), 12)
    assert len(lines) <= 12
    text = "; ".join(f"{names}: {how}" for names, how in lines)
    assert "income, answer_0, answer_1, answer_2 and answer_3: averaged in groups of 5" in text
    assert "disease, answer_8, answer_9, answer_10, answer_11 and answer_12: unchanged" in text
    assert "more: dropped" in text
    assert lines[0][0].startswith(("region", "age", "sex"))
    assert len(grouped(columns_of(wide), 3)) == 3


# The verdict


def test_a_kept_recipe_passes_and_names_its_targets(wide):
    verdict = decision(wide)["verdict"]
    assert verdict["passed"] is True
    assert verdict["said"].startswith("PASS: 5-anonymity")
    sources = {one["source"] for one in verdict["targets"]}
    assert sources == {"recipe", "guide value"}
    smallest = next(one for one in verdict["targets"] if one["what"] == "smallest class (records)")
    assert smallest["source"] == "recipe"
    assert "(recipe: at least 5)" in smallest["said"]


def test_what_is_broken_fails_whatever_else_holds(facts):
    for finding in facts["check"]["findings"]:
        if finding["promise"].startswith("k-anonymity"):
            finding |= {"status": "broken", "detail": "3 smaller, the smallest has 2"}
    verdict = decision(facts)["verdict"]
    assert verdict["passed"] is False
    assert verdict["said"].startswith("FAIL: 1 of ")
    assert "5-anonymity (3 smaller, the smallest has 2)" in verdict["said"]
    # Guide values decide nothing here, and are none of the targets.
    asked = [one for one in verdict["targets"] if one["source"] != "guide value"]
    assert len(asked) < len(verdict["targets"])
    assert verdict["said"].startswith(f"FAIL: 1 of {len(asked)} targets is missed")


def test_guide_values_decide_where_the_recipe_states_no_target():
    table = wide_table(300).select(["age", "income"])
    step = {"method": "noise", "columns": ["income"], "scale": 0.1}
    roles = {"quasi": ["age"], "confidential": ["income"], "untouched": ["age"]}
    facts = released(table, [step], roles=roles)
    verdict = decision(facts)["verdict"]
    assert verdict["passed"] is False
    assert "in classes under 2 (records)" in verdict["said"]
    assert "(guide: at most 0)" in verdict["said"]
    assert {one["source"] for one in verdict["targets"]} == {"guide value"}


def test_a_shared_secret_is_named_beside_a_target_that_is_met():
    table = pa.table({"age": ["a"] * 6 + ["b"] * 6, "ill": ["flu"] * 6 + ["flu", "gout"] * 3})
    table = table.append_column("job", table["ill"])
    step = {"method": "mondrian", "columns": ["age"], "privacy": [{"model": "k-anonymity", "k": 5}]}
    rules = {"roles": {"quasi": ["age"], "confidential": ["ill", "job"]}}
    verdict = decision(released(table, [step], **rules))["verdict"]
    assert verdict["passed"] is True
    assert (
        "But look at ill and job: in some class all have the same value (guide: below 100 %)"
        in verdict["said"]
    )


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"model": "k-map", "k": 4, "population": 12_000}, "4 or more in the population per class"),
        ({"model": "sample-uniqueness", "share": 0.5}, "at most 50 % of the records unique"),
    ],
)
def test_a_kept_target_that_is_no_k_of_the_table_passes_too(model, words):
    table = pa.table({"age": ["a"] * 9 + ["b"] * 2 + ["c"], "ill": ["flu", "gout"] * 6})
    flat = {"age": {"kind": "flat"}}
    step = {"method": "generalize", "columns": ["age"], "privacy": [model], "hierarchies": flat}
    rules = {"roles": {"quasi": ["age"], "confidential": ["ill"]}}
    verdict = decision(released(table, [step], **rules))["verdict"]
    assert verdict["passed"] is True
    assert verdict["said"].startswith(f"PASS: {words} holds, as the recipe asks")
    assert "But look at in classes under 2 (records) 1" in verdict["said"]


# What is told of single records and next steps


def test_reasons():
    record = {"row": 7, "risk": 1.0, "class": 1, "class_before": 1}
    assert record_words(record) == ""
    told = record | {"values": {"age": "61", "sex": None}, "unique_on": ["age", "sex"]}
    assert record_words(told) == "unique on age (61) and sex (blank)"


def test_the_riskiest_share_their_values_with_so_many_people_and_not_rows():
    # Two patients of three visits each share sex m.
    table = pa.table({"who": [1, 1, 1, 2, 2, 2, 3, 4, 5], "sex": ["m"] * 6 + ["f"] * 3})
    flat = {"sex": {"kind": "flat"}}
    step = {"method": "generalize", "columns": ["sex"], "hierarchies": flat}
    step["privacy"] = [{"model": "k-anonymity", "k": 2}]
    roles = {"roles": {"unit": "who", "quasi": ["sex"]}}
    [line] = {
        record_words(one)
        for one in decision(released(table, [step], **roles))["riskiest"]
        if one["row"] < 7
    }
    assert line == "only 2 units share sex (m)"


def test_next_steps():
    assert next_words({"next": None}) == []
    assert next_words({"next": None, "next_not_tried": "the table is on an engine"}) == [
        "not tried: the table is on an engine"
    ]
    assert next_words({"next": []}) == ["no single change that was tried is better"]
    one = {"change": "generalize job one level more", "risk": [0.12, 0.04], "loss": [0.31, 0.33],
           "measure": "prosecutor, largest", "sample": 5000}  # fmt: skip
    assert next_words({"next": [one]}) == [
        "generalize job one level more: largest risk 12 % -> 4 %, loss +0.02, in a sample of 5,000"
    ]


# The terminal and the page


@pytest.mark.parametrize("width", [80, 100, 120])
def test_it_fits_the_screen(facts, width):
    facts["log"]["warnings"] = ["a long warning " + "of many words " * 30 for _ in range(5)]
    facts["log"]["warnings"] = [f"{i} {text}" for i, text in enumerate(facts["log"]["warnings"])]
    lines = decision_lines(decision(facts), width)
    assert len(lines) <= 22
    assert max(map(len, lines)) <= width
    named = [line[:10].strip() for line in lines if line[:10].strip()]
    assert named == ["Verdict", "Columns", "Risk from", "Riskiest", "Cost", "Next", "Warnings"]
    assert "more with --verbose" in lines[-1]


def test_hostile_names_do_not_lengthen_it(facts):
    long = {name: f"{name} " + "x" * 300 for name in facts["log"]["input"]["columns"]}
    found = decision(facts)
    for one in found["columns"]:
        one["column"] = long[one["column"]]
    lines = decision_lines(found, 100)
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 100


def test_the_page_shows_the_decision_first(facts):
    page = is_self_contained(internal_report(facts))
    before = page.text.partition("Contents")[0]
    for told in (
        decision(facts)["verdict"]["said"],
        "region 41 % 30 %",
        "generalize age one level more: largest risk 20 % -> 4 %, loss +0.02",
        "share region (coast) and age (60-79)",
        "28 columns are released",
    ):
        assert told in before, told


def test_a_page_of_thirty_columns_takes_little_time(facts):
    page = within(1.5, lambda: internal_report(facts))
    assert len(page) < 2_000_000
