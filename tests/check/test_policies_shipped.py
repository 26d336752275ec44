"""Of each rule of each shipped policy, a release that keeps it and one that just misses it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import discreet
from discreet.check import check_release
from discreet.check.evidence import Evidence
from discreet.recipe.policies import Against, Policy, shipped

Cells = Mapping[str, list[Any]]
NAMES = [name for name in shipped() if name != "example"]


@dataclass(frozen=True)
class Trial:
    """A released table, the roles of its columns, and what is known beside it."""

    table: Cells
    roles: Mapping[str, Any] = field(default_factory=dict)
    population: Cells | None = None
    collected: str | None = None
    groups: Mapping[str, list[str]] = field(default_factory=dict)


def verdicts(policy: str, trial: Trial, folder: Any) -> Any:
    """Hold a released table against a policy, with nothing but its recipe at hand."""
    path = None
    if trial.population is not None:
        path = str(folder / "people.csv")
        csv.write_csv(pa.table(dict(trial.population)), path)
    against = Against(
        name=policy,
        population=path,
        collected=trial.collected,
        groups={name: list(columns) for name, columns in trial.groups.items()},
    )
    recipe = {"roles": {"rest": "insensitive", **trial.roles}}
    return check_release(pa.table(dict(trial.table)), recipe, policy=against).policy


def days_ago(days: int) -> str:
    return str((datetime.now(UTC) - timedelta(days=days)).date())


def of_classes(*sizes: int, nulls: int = 0) -> Trial:
    """Make classes of so many records, the last of which lack their sex."""
    ages = [40 + 10 * i for i, size in enumerate(sizes) for _ in range(size)]
    sexes = [["f", "m"][i % 2] for i, size in enumerate(sizes) for _ in range(size)]
    cells: list[Any] = sexes[: len(sexes) - nulls] + [None] * nulls
    return Trial(
        {"decade": ages, "sex": cells}, {"quasi": ["decade", "sex"], "untouched": ["decade", "sex"]}
    )


def with_column(name: str, cells: list[Any], **roles: Any) -> Trial:
    """Add a column to a table that has nothing to hide."""
    return Trial({"sex": ["f", "m"] * (len(cells) // 2), name: cells}, roles)


PLAIN = Trial({"sex": ["f", "m"] * 3, "score": [3, 4, 4, 3, 3, 4]})
TEXT = "asked me to call her sister in the afternoon, which I did"
IDENTIFIED = Trial({"sex": ["f", "m"] * 3, "person": list("abcdef")}, {"identifiers": ["person"]})
ROLES = Trial(PLAIN.table, {"insensitive": ["sex", "score"]}), IDENTIFIED


def of_people(numbers: int, *names: str, groups: Mapping[str, list[str]] | None = None) -> Trial:
    """Release a record of each of two kinds, of which there are so many people, and many more."""
    cells: dict[str, list[Any]] = {name: ["a", "b"] for name in names}
    quasi = {"quasi": list(names), "untouched": list(names)}
    return Trial(cells, quasi, {**cells, "population": [numbers, 10**6]}, groups=groups or {})


def in_areas(name: str, fewest: int, *codes: str) -> Trial:
    cells: dict[str, list[Any]] = {name: list(codes)}
    return Trial(
        cells, {}, {name: list(codes), "population": [fewest, *[10**6] * (len(codes) - 1)]}
    )


def of_homes(homes: int) -> Trial:
    """Two members in each home; homes of a kind, and of another that is common."""
    kinds = ["farm"] * homes + ["flat"] * 9
    home = [number for number in range(len(kinds)) for _ in range(2)]
    table = {"home": home, "kind": [kind for kind in kinds for _ in range(2)]}
    return Trial(
        table,
        {
            "household": "home",
            "household_level": ["kind"],
            "quasi": ["kind"],
            "untouched": ["kind"],
        },
    )


def counts(*cells: Any, group: str = "counts") -> Trial:
    return Trial(
        {"cell": [f"cell {i}" for i in range(len(cells))], "n": list(cells)}, groups={group: ["n"]}
    )


def sums(*amounts: float) -> Trial:
    """One cell of a table of sums, and another that nobody dominates."""
    where = ["north"] * len(amounts) + ["south"] * 9
    table = {"region": where, "turnover": [*amounts, *[5.0] * 9]}
    roles = {"quasi": ["region"], "untouched": ["region"], "confidential": ["turnover"]}
    return Trial(table, roles, groups={"amounts": ["turnover"]})


def quasi_columns(many: int) -> Trial:
    names = [f"trait {number} of many" for number in range(many)]
    return Trial({name: ["a", "a"] for name in names}, {"quasi": names, "untouched": names})


THREE = {
    "extremely identifying": ["town size"],
    "very identifying": ["job"],
    "identifying": ["sex"],
}
# By policy and the number of the rule: what keeps it, and what just misses it.
CASES: dict[tuple[str, int], tuple[Trial, Trial]] = {
    ("hipaa-safe-harbor", 1): (PLAIN, with_column("full_name", ["Ann Lee", "Bob Ray", "Cy Fox", "Di Orr"])),
    ("hipaa-safe-harbor", 2): (in_areas("state", 10**6, "Ohio", "Utah"), with_column("county", ["Adams", "Brown", "Clark", "Dark"])),
    # More than 20,000 people, in the words of the rule.
    ("hipaa-safe-harbor", 3): (in_areas("zip", 20_001, "036", "100", "000"), in_areas("zip", 20_000, "036", "100", "000")),
    ("hipaa-safe-harbor", 4): (with_column("admission", ["2019", "2020", "2021", "2019"]), with_column("admission", ["2019-07", "2020-01", "2021-03", "2019-12"])),
    ("hipaa-safe-harbor", 5): (with_column("age", [40, 89, 90, 90]), with_column("age", [40, 89, 90, 91])),
    ("hipaa-safe-harbor", 6): (PLAIN, with_column("phone", ["212 555 0101", "212 555 0102", "212 555 0103", "212 555 0104"])),
    ("hipaa-safe-harbor", 7): (PLAIN, with_column("fax", ["5550101", "5550102", "5550103", "5550104"])),
    ("hipaa-safe-harbor", 8): (PLAIN, with_column("contact", [f"{x}@example.org" for x in ("ann", "bob", "cy", "di")])),
    ("hipaa-safe-harbor", 9): (PLAIN, with_column("ssn", ["123-45-6789", "123-45-6788", "123-45-6787", "123-45-6786"])),
    ("hipaa-safe-harbor", 10): (PLAIN, with_column("mrn", ["A101", "A102", "A103", "A104"])),
    ("hipaa-safe-harbor", 11): (PLAIN, with_column("beneficiary", ["B101", "B102", "B103", "B104"])),
    ("hipaa-safe-harbor", 12): (PLAIN, with_column("account", ["C101", "C102", "C103", "C104"])),
    ("hipaa-safe-harbor", 13): (PLAIN, with_column("license", ["D101", "D102", "D103", "D104"])),
    ("hipaa-safe-harbor", 14): (PLAIN, with_column("vin", ["E101", "E102", "E103", "E104"])),
    ("hipaa-safe-harbor", 15): (PLAIN, with_column("device", ["F101", "F102", "F103", "F104"])),
    ("hipaa-safe-harbor", 16): (PLAIN, with_column("found_at", [f"https://example.org/{x}" for x in "abcd"])),
    ("hipaa-safe-harbor", 17): (PLAIN, with_column("seen_from", ["192.168.0.1", "192.168.0.2", "192.168.0.3", "192.168.0.4"])),
    ("hipaa-safe-harbor", 18): (PLAIN, with_column("fingerprint", ["G101", "G102", "G103", "G104"])),
    ("hipaa-safe-harbor", 19): (PLAIN, with_column("photo", ["H101", "H102", "H103", "H104"])),
    ("hipaa-safe-harbor", 20): (PLAIN, with_column("sample", [f"3f2504e0-4f89-41d3-9a0c-0305e82c330{x}" for x in range(4)])),
    ("ema-0070", 1): ROLES,
    ("ema-0070", 2): (of_classes(12, 30), of_classes(11, 30)),
    ("ema-0070", 3): (of_classes(11, 30), of_classes(10, 30)),
    ("health-canada", 1): ROLES,
    ("health-canada", 2): (of_classes(12, 30), of_classes(11, 30)),
    ("health-canada", 3): (of_classes(11, 30), of_classes(10, 30)),
    ("cihi", 1): ROLES,
    ("cihi", 2): (of_classes(20, 30), of_classes(19, 30)),
    ("statistics-netherlands-researchers", 1): ROLES,
    ("statistics-netherlands-researchers", 2): (of_people(100, "town size", "job", "sex", groups=THREE), of_people(99, "town size", "job", "sex", groups=THREE)),
    ("statistics-netherlands-researchers", 4): (in_areas("region", 10_000, "Veluwe", "Twente"), in_areas("region", 9_999, "Veluwe", "Twente")),
    ("statistics-netherlands-public", 1): (Trial(PLAIN.table, collected=days_ago(366)), Trial(PLAIN.table, collected=days_ago(364))),
    ("statistics-netherlands-public", 2): ROLES,
    ("statistics-netherlands-public", 3): (PLAIN, with_column("nationality", ["Dutch", "other", "Dutch", "other"])),
    ("statistics-netherlands-public", 4): (in_areas("region", 200_000, "large towns", "villages"), in_areas("region", 199_999, "large towns", "villages")),
    ("statistics-netherlands-public", 6): (quasi_columns(15), quasi_columns(16)),
    ("statistics-netherlands-public", 7): (PLAIN, with_column("religion", ["none", "other", "none", "other"])),
    ("statistics-netherlands-public", 9): (of_people(200_000, "job", "sex"), of_people(199_999, "job", "sex")),
    ("statistics-netherlands-public", 10): (of_people(1_000, "job", "sex"), of_people(999, "job", "sex")),
    ("statistics-netherlands-public", 11): (of_homes(5), of_homes(4)),
    ("ihsn-world-bank", 1): ROLES,
    ("ihsn-world-bank", 2): (of_classes(3, 30), of_classes(2, 30)),
    ("ihsn-world-bank", 3): (of_classes(5, 30), of_classes(4, 30)),
    # 1/20 is 0.05, which is not above it.
    ("ihsn-world-bank", 4): (of_people(20, "job", "sex"), of_people(19, "job", "sex")),
    ("sdcmicro-puf", 1): ROLES,
    ("sdcmicro-puf", 2): (of_classes(30, 5), of_classes(30, 4)),
    ("sdcmicro-suf", 1): ROLES,
    # A blank stands for any value: two records and one without sex are three of a kind.
    ("sdcmicro-suf", 2): (of_classes(30, 3, nulls=1), of_classes(30, 2, nulls=1)),
    ("cms-cell-size", 1): (counts(0, 11, 250, None), counts(0, 10, 250, None)),
    ("uk-llc", 1): (counts(10, 11, None), counts(0, 11, None)),
    ("census-drb", 1): (counts(20, 100, 150, 9_900, 10_500, 100_000, 1_235_000, None), counts(20, 100, 125)),
    ("census-drb", 2): (counts(1.234, 123_400.0, 0.0001234, group="estimates"), counts(1.234, 1.2345, group="estimates")),
    ("acro", 1): (counts(10, 250, None), counts(9, 250, None)),
    # 90 of 100, and 91; then what is left without the two largest, 10 and 9 of 100.
    ("acro", 2): (sums(45.0, 45.0, 10.0), sums(46.0, 45.0, 9.0)),
    ("acro", 3): (sums(100.0, 50.0, 10.0), sums(100.0, 50.0, 9.0)),
    ("acro", 4): (counts(10, 400, group="degrees of freedom"), counts(9, 400, group="degrees of freedom")),
}  # fmt: skip
# What nobody can count, or not without reading: open, whatever is released.
BY_HAND = {
    ("hipaa-safe-harbor", 22), ("statistics-netherlands-researchers", 3), ("statistics-netherlands-researchers", 5),
    ("statistics-netherlands-public", 5), ("statistics-netherlands-public", 8), ("cms-cell-size", 2), ("uk-llc", 2),
}  # fmt: skip
# Those with a test of their own below.
APART = {("hipaa-safe-harbor", 21), ("statistics-netherlands-public", 12)}


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_is_tried(name):
    rules = {(name, number) for number in range(1, len(Policy.load(name).rules) + 1)}
    assert rules == {one for one in CASES.keys() | BY_HAND | APART if one[0] == name}


@pytest.mark.parametrize(("policy", "number"), CASES)
def test_a_release_keeps_it_and_another_just_misses_it(policy, number, tmp_path):
    keeps, misses = CASES[policy, number]
    kept = verdicts(policy, keeps, tmp_path).verdicts[number - 1]
    assert kept.status == "kept", kept
    missed = verdicts(policy, misses, tmp_path).verdicts[number - 1]
    assert missed.status == "missed", missed
    assert missed.found != kept.found
    assert missed.remedy
    of_columns = missed.rule in ("old", "identifying-columns")
    assert of_columns or f"{missed.records:,}" in missed.found
    rule = Policy.load(policy).rules[number - 1]
    for bound in ("least", "together_from", "high"):
        if getattr(rule, bound, None):
            assert f"{getattr(rule, bound):,}" in missed.found
    if getattr(rule, "most", None):
        assert re.search(rf"\b{rule.most * (1 if rule.most > 1 else 100):.3g}\b", missed.found)


@pytest.mark.parametrize(("policy", "number"), sorted(BY_HAND))
def test_what_nobody_can_count_is_open_and_says_what_is_needed(policy, number, tmp_path):
    found = verdicts(policy, PLAIN, tmp_path).verdicts[number - 1]
    assert found.status == "open"
    assert found.remedy


def test_free_text_is_left_to_a_reader(tmp_path):
    notes = with_column("remark", [f"{TEXT} {x}" for x in ("once", "twice", "again", "too")])
    found, plain = (
        verdicts("hipaa-safe-harbor", one, tmp_path).verdicts[20] for one in (notes, PLAIN)
    )
    assert (found.status, plain.status) == ("open", "kept")
    assert "'remark' holds free text" in found.found


def test_small_zip_codes_of_the_guidance_need_no_population_table(tmp_path):
    """The guidance of 2012 lists 17 of them; of others only a census tells."""
    small, others = in_areas("zip", 0, "036", "100"), in_areas("zip", 0, "100", "200")
    found = [
        verdicts("hipaa-safe-harbor", Trial(one.table), tmp_path).verdicts[2]
        for one in (small, others)
    ]
    assert [one.status for one in found] == ["missed", "open"]
    assert "1 area of 'zip' ('036') with fewer than 20,001 people" in found[0].found
    assert found[0].remedy == "release '000' in place of '036'"


def test_rows_in_another_order_than_that_of_the_seed(tmp_path):
    table = pa.table({"sex": ["f", "m"] * 20, "score": list(range(40))})
    steps = [{"method": "base", "columns": ["score"], "base": 10.0}]
    release = discreet.protect(table, {"roles": {"rest": "insensitive"}, "steps": steps})
    release.save(tmp_path / "out")
    internal, public = tmp_path / "out" / "internal", tmp_path / "out" / "public"

    def order() -> Any:
        evidence = Evidence.load(internal)
        (written,) = public.glob("table.*")
        report = check_release(
            written, evidence.recipe, internal, policy="statistics-netherlands-public"
        )
        return report.policy.verdicts[11].status

    assert order() == "kept"
    row_map = internal / "rows.parquet"
    rows = parquet.read_table(row_map)
    parquet.write_table(rows.sort_by("original_row"), row_map)
    assert order() == "missed"


@pytest.mark.parametrize("name", ["ema-0070", "health-canada"])
def test_both_readings_of_009_are_told_and_one_is_enough(name, tmp_path):
    """1/11 is 0.0909: more than 0.09, and what a smallest cell of 11 was meant to be."""
    found = verdicts(name, of_classes(11, 30), tmp_path)
    assert [one.status for one in found.verdicts] == ["kept", "missed", "kept"]
    assert "9.09 %" in found.verdicts[1].found
    assert found.status == "kept"
    assert verdicts(name, of_classes(10, 30), tmp_path).status == "missed"


def test_a_public_file_needs_no_more_than_three_where_it_is_licensed(tmp_path):
    found = verdicts("ihsn-world-bank", of_classes(3, 30), tmp_path)
    assert [one.status for one in found.verdicts[1:3]] == ["kept", "missed"]
    assert [one.rule for one in found.having("missed")] == []


@pytest.mark.parametrize(
    ("policy", "number"),
    [
        ("statistics-netherlands-researchers", 2), ("statistics-netherlands-researchers", 4),
        ("statistics-netherlands-public", 1), ("statistics-netherlands-public", 9),
        ("statistics-netherlands-public", 10), ("ihsn-world-bank", 4),
        ("cms-cell-size", 1), ("census-drb", 1), ("census-drb", 2), ("acro", 1), ("acro", 4),
    ],
)  # fmt: skip
def test_without_what_it_needs_a_rule_is_open(policy, number, tmp_path):
    _, misses = CASES[policy, number]
    bare = Trial(misses.table, misses.roles)
    found = verdicts(policy, bare, tmp_path).verdicts[number - 1]
    assert found.status == "open", found
    assert found.remedy


@pytest.mark.parametrize(
    ("policy", "rule"),
    [("cms-cell-size", "cms"), ("uk-llc", "uk-llc"), ("census-drb", "census-drb"), ("acro", "acro")],
)  # fmt: skip
def test_the_step_does_what_the_policy_asks_for(policy, rule):
    """Counts of all sizes, rounded by the rule of the same name; the step tells what counts are."""
    table = pa.table({"n": [0, 1, 9, 10, 11, 14, 15, 25, 99, 125, 975, 9_950, 99_750, 1_234_500]})
    steps = [{"method": "round-counts", "columns": ["n"], "rule": rule}]
    recipe = {"roles": {"rest": "insensitive"}, "steps": steps}
    release = discreet.protect(table, recipe)
    report = check_release(release.table, release.recipe, policy=policy)
    assert report.policy.verdicts[0].status == "kept"
    raw = check_release(table, release.recipe, policy=policy)
    assert raw.policy.verdicts[0].status == "missed"
    assert rule in raw.policy.verdicts[0].remedy


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_is_in_the_docs_with_its_date(name):
    docs = Path(__file__).parents[2] / "docs" / "reference" / "policies.md"
    rows = [line for line in docs.read_text().splitlines() if line.startswith("| `")]
    (row,) = [line for line in rows if f"`{name}`" in line.split(" | ")[0]]
    assert str(Policy.load(name).date.year) in row or "the same" in row


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_its_source_and_date(name):
    policy = Policy.load(name)
    assert policy.source
    assert policy.about
    for rule in policy.rules:
        assert rule.source
        assert rule.date is not None
        assert rule.date.year >= 1996
        assert rule.says.endswith(".")


def test_a_step_with_a_rule_for_each_column_tells_counts_from_estimates():
    table = pa.table({"n": [3, 27, 1_260], "mean": [41.23456, 38.5, 44.98765]})
    rules = {"n": "census-drb", "mean": "census-drb-estimates"}
    steps = [{"method": "round-counts", "columns": ["n", "mean"], "rule": rules}]
    release = discreet.protect(table, {"roles": {"rest": "insensitive"}, "steps": steps})
    found = check_release(release.table, release.recipe, policy="census-drb").policy
    assert [one.status for one in found.verdicts] == ["kept", "kept"]
    assert [one.found for one in found.verdicts] == [
        "all 3 cells of n are as the rule asks",
        "all 3 cells of mean are as the rule asks",
    ]
    # Nobody has said which are degrees of freedom, and counts are none.
    assert check_release(release.table, release.recipe, policy="acro").policy.verdicts[3].status == "open"  # fmt: skip
