"""Releases held against a policy: what the check's findings decide, and where it is told."""

import json

import pyarrow as pa
import pytest
import tomli_w

from discreet import check_release, protect, write_table
from discreet.errors import BadInput
from discreet.recipe.policies import Against, Policy, shipped
from tests.check.held import DAY, K2, ROLES, people

STEP = {
    "method": "generalize",
    "columns": ["age", "sex"],
    "privacy": K2,
    "hierarchies": {"age": {"kind": "flat"}, "sex": {"kind": "flat"}},
}


def released(tmp_path, rules, table=None, **more):
    policy = {"title": "House", "source": "Handbook", "date": DAY}
    policy["rules"] = [{"says": rule["rule"], "source": "page 1", **rule} for rule in rules]
    (tmp_path / "house.toml").write_text(tomli_w.dumps(policy))
    roles = {"quasi": ["age", "sex"], "confidential": ["ill"], "rest": "insensitive"}
    recipe = {"roles": roles, "steps": [STEP], "policy": str(tmp_path / "house.toml"), **more}
    return protect(people() if table is None else table, recipe)


RULES = [
    {"rule": "order"},
    {"rule": "leaks"},
    {"rule": "promises"},
    {"rule": "suppressed", "most": 0.0},
]


def test_what_the_check_finds_decides(tmp_path):
    release = released(tmp_path, RULES)
    assert {one.rule: one.status for one in release.check.policy.verdicts} == {
        "order": "open",  # Nothing was written yet.
        "leaks": "kept",
        "promises": "kept",
        "suppressed": "kept",
    }
    release.save(tmp_path / "out")
    assert release.check.policy.summary == "4 kept"
    alone = check_release(next((tmp_path / "out" / "public").glob("table.*")), release.recipe)
    assert [one.status for one in alone.policy.verdicts] == ["open"] * 4


def test_records_that_are_left_out_count_as_suppressed(tmp_path):
    odd = pa.concat_tables([people(), pa.table({"age": [99], "sex": ["x"], "ill": ["a"]})])
    step = {**STEP, "suppression_limit": 0.05}
    # Two cells of 21 times two.
    for most, status in ((0.048, "kept"), (0.047, "missed")):
        rules = [{"rule": "suppressed", "most": most}]
        release = released(tmp_path, rules, odd, steps=[step])
        release.save(tmp_path / status)
        [found] = release.check.policy.verdicts
        assert found.status == status
        assert found.found.startswith("2 of 42 cells (4.76 %) are suppressed")
    assert found.records == 1
    assert found.remedy.startswith("recode 'age' more coarsely")


def test_a_leak_that_the_recipe_accepts_is_missed(tmp_path):
    released(tmp_path, [{"rule": "leaks"}])
    ages = [20 + i % 40 for i in range(400)]
    table = pa.table({"age": ages, "twin": [3 * age for age in ages]})
    recipe = {
        "roles": {"quasi": ["age"], "insensitive": ["twin"]},
        "steps": [{"method": "base", "columns": ["age"], "base": 10}],
        "policy": str(tmp_path / "house.toml"),
        "allow_leaks": ["age"],
    }
    [found] = protect(table, recipe).check.policy.verdicts
    assert found.status == "missed"
    assert found.remedy == "take it out of allow_leaks, and treat both columns"


def test_the_report_and_the_decision_tell_it(tmp_path):
    release = released(tmp_path, [{"rule": "k", "least": 6}, {"rule": "order"}])
    release.save(tmp_path / "out")
    page = (tmp_path / "out" / "internal" / "report.html").read_text("utf-8")
    assert "Against the policy" in page
    assert "House: 1 kept, 1 missed. From Handbook, 2024-05-01." in page
    assert (
        "missed (policy: House): k (20 of 20 records share their values with fewer than 6" in page
    )
    kept = json.loads((tmp_path / "out" / "internal" / "check.json").read_text("utf-8"))
    assert kept["policy"]["status"] == "missed"


def test_what_only_the_recipe_s_word_keeps_is_told_everywhere(tmp_path):
    policy = {"title": "House", "source": "Handbook", "date": DAY}
    policy["rules"] = [
        {"rule": "columns", "kinds": ["fax numbers"], "says": "No fax.", "source": "page 1"}
    ]
    (tmp_path / "house.toml").write_text(tomli_w.dumps(policy))
    roles = {**ROLES, "not_identifiers": ["fax"]}
    recipe = {"roles": roles, "policy": str(tmp_path / "house.toml")}
    release = protect(people(fax=[i % 4 for i in range(20)]), recipe)
    release.save(tmp_path / "out")
    internal = tmp_path / "out" / "internal"
    kept = json.loads((internal / "check.json").read_text("utf-8"))["policy"]
    assert kept["summary"] == "1 kept (1 on the recipe's word)"
    assert kept["verdicts"][0]["excused"] == ["fax"]
    page = (internal / "report.html").read_text("utf-8")
    assert "House: 1 kept (1 on the recipe&#39;s word)." in page
    assert "kept because the recipe&#39;s not_identifiers says so of &#39;fax&#39;" in page
    said = "The one rule of House is kept, on the recipe&#39;s word that fax is no identifier."
    assert said in page


# Policies


def test_readings_of_one_rule(tmp_path):
    rules = [{"rule": "k", "least": least, "either": "reading"} for least in (5, 6)]
    report = released(tmp_path, rules).check.policy
    assert [one.status for one in report.verdicts] == ["kept", "missed"]
    assert report.status == "kept"
    assert report.summary == "1 kept, 1 other reading not kept"
    report = released(tmp_path, [one | {"least": 6} for one in rules]).check.policy
    assert report.status == "missed"


def test_a_policy_changes_no_draws(tmp_path):
    first = released(tmp_path, RULES, seed=2**70, order_seed=2**71)
    again = released(tmp_path, RULES[:1], seed=2**70, order_seed=2**71)
    assert first.recipe.seed_for == again.recipe.seed_for


def test_a_release_without_its_policy_is_still_checked(tmp_path):
    release = released(tmp_path, RULES)
    (tmp_path / "house.toml").unlink()
    report = check_release(release.table, release.recipe)
    assert report.having("verified")
    [found] = report.policy.verdicts
    assert found.status == report.policy.status == "open"
    assert "house.toml cannot be read: No such file" in found.found
    assert found.remedy == "put the file back, or name it with --policy FILE"
    assert report.policy.gone == (str(tmp_path / "house.toml"),)
    with pytest.raises(BadInput, match="cannot be read"):
        check_release(release.table, release.recipe, policy=tmp_path / "house.toml")
    with pytest.raises(BadInput, match="there is no policy 'exampel'"):
        protect(people(), {"roles": ROLES, "policy": "exampel"})


NEEDY = [
    {"rule": "k", "least": 5},
    {"rule": "largest-risk", "most": 0.1, "counted": "population"},
    {"rule": "attack", "attack": "linkability", "most": 0.1},
]


def test_rules_are_open_whose_files_are_not_there(tmp_path):
    """The attacks on a release can only be measured once it is there."""
    numbers = {"age": ["*"], "sex": ["*"], "population": [1000]}
    write_table(pa.table(numbers), tmp_path / "people.csv")
    files = {name: str(tmp_path / name) for name in ("people.csv", "attacks.json")}
    policy = {
        "name": str(tmp_path / "house.toml"),
        "population": files["people.csv"],
        "attacks": files["attacks.json"],
    }
    release = released(tmp_path, NEEDY, policy=policy)
    verdicts = release.check.policy.verdicts
    assert [one.status for one in verdicts] == ["kept", "kept", "open"]
    assert (
        verdicts[2].found == f"linkability was not measured: {files['attacks.json']} is not there"
    )
    assert verdicts[2].remedy == (
        f"write it with `discreet attack ORIGINAL RELEASE --holdout FILE --json > "
        f"{files['attacks.json']}`, then `discreet check RELEASE`"
    )
    (tmp_path / "people.csv").unlink()
    report = check_release(release.table, release.recipe).policy
    assert [one.status for one in report.verdicts] == ["kept", "open", "open"]
    assert report.verdicts[1].remedy == (
        f"it is about people in the population: put {files['people.csv']} back, or give "
        "--population FILE"
    )
    assert report.gone == tuple(files.values())
    # Against another policy, what is gone for this one is no reason to refuse.
    other = {**policy, "name": "example"}
    assert (
        len(check_release(release.table, release.recipe, policy=Against(**other)).policy.verdicts)
        > 1
    )
    with pytest.raises(BadInput, match=r"none\.csv, which the policy's rules need, does not exist"):
        check_release(
            release.table, release.recipe, policy=Against(name="example", population="none.csv")
        )
    plain = released(tmp_path, NEEDY[:1], policy={"name": policy["name"], "attacks": "none.json"})
    assert plain.check.policy.gone == ()  # No rule asks for it.
    released(tmp_path, NEEDY[:1], policy=policy["name"])
    # Before any work, since nobody can say then that it will come.
    with pytest.raises(
        BadInput, match=r"people\.csv, which the policy's rules need, does not exist"
    ):
        released(tmp_path, NEEDY, policy=policy)


def test_what_is_wrong_with_a_recipe_s_policy_is_not_passed_over(tmp_path):
    with pytest.raises(BadInput, match="the group 'counts' names 'ages'"):
        released(tmp_path, RULES, policy={"name": "example", "groups": {"counts": ["ages"]}})


def test_every_shipped_policy_can_be_read_and_judged():
    for name in shipped():
        policy = Policy.load(name)
        assert policy.name == name
        assert all(rule.source and rule.date for rule in policy.rules)
        report = check_release(people(), {"roles": ROLES}, policy=name).policy
        assert len(report.verdicts) == len(policy.rules)
        assert all(one.remedy for one in report.verdicts if one.status != "kept")
