"""Each kind of rule: a release that keeps it, one that just misses it, and what leaves it open."""

import datetime
import json

import pyarrow as pa
import pytest
import tomli_w

from discreet import write_table
from discreet.errors import BadInput
from tests.check.held import DAY, K2, ROLES, WEIGHTED, of, people, told

# How many share something


def test_k(judge):
    kept = judge({"rule": "k", "least": 5})
    assert told(kept) == of("kept", "the smallest class has 5 records, over age, sex")
    missed = judge({"rule": "k", "least": 6})
    assert told(missed) == of(
        "missed",
        "20 of 20 records share their values with fewer than 6; the smallest class has 5, over age, sex",
        20,
        "add a step generalize or local-suppression with k = 6 over age, sex",
    )
    assert missed.source == "page 1"
    assert missed.date == "2024-05-01"


def test_a_record_of_stars_alone_is_in_no_class(judge):
    ages = [None, *people()["age"].to_pylist()[1:]]
    blank = people(sex=["*", *people()["sex"].to_pylist()[1:]], age=ages)
    assert judge({"rule": "k", "least": 4}, blank).status == "kept"
    assert judge({"rule": "k", "least": 5}, blank).records == 4
    # Where a blank may stand for anything, it is in every class.
    assert judge({"rule": "k", "least": 5, "nulls": "match"}, blank).status == "kept"
    assert judge({"rule": "k", "least": 6, "nulls": "match"}, blank).records == 4


def test_stars_alone_leave_no_class_to_count(judge):
    blank = people(sex=["*"] * 20, age=pa.nulls(20, pa.int64()))
    nobody = of("kept", "no record tells anything of age, sex")
    assert told(judge({"rule": "k", "least": 5}, blank)) == nobody
    assert told(judge({"rule": "l", "least": 2}, blank)) == nobody
    homes = people(home=[f"h{i // 2}" for i in range(20)], rooms=["*"] * 20)
    roles = {"household": "home", "household_level": ["rooms"], **ROLES}
    found = judge({"rule": "households", "least": 5}, homes, roles)
    assert told(found) == of("kept", "no record tells anything of rooms")


def test_the_remedy_names_the_step(judge):
    step = {"method": "mondrian", "columns": ["age", "sex"], "privacy": K2}
    roles = {key: value for key, value in ROLES.items() if key != "untouched"}
    assert (
        judge({"rule": "k", "least": 6}, roles=roles, steps=[step]).remedy
        == "set k = 6 in step 1 (mondrian)"
    )
    own = judge({"rule": "k", "least": 6, "remedy": "ask the board"})
    assert own.remedy == "ask the board"


def test_l(judge):
    assert judge({"rule": "l", "least": 1}).status == "kept"
    missed = judge({"rule": "l", "least": 2})
    assert told(missed) == of(
        "missed",
        "5 of 20 records are in classes with fewer than 2 values of 'ill'; the poorest has 1",
        5,
        "add l-diversity with l = 2 and column = 'ill' to the privacy models of a step generalize",
    )


def test_the_largest_and_the_average_risk(judge):
    assert judge({"rule": "largest-risk", "most": 0.2}).status == "kept"
    missed = judge({"rule": "largest-risk", "most": 0.19})
    assert (
        missed.found
        == "largest risk 20 % among the records; the rule allows 19 %; 20 of 20 records are above it"
    )
    assert missed.remedy.endswith("with k = 6 over age, sex")
    assert judge({"rule": "average-risk", "most": 0.2}).status == "kept"
    assert judge({"rule": "average-risk", "most": 0.199}).found == (
        "average risk 20 % among the records; the rule allows 19.9 %; 20 of 20 records are above it"
    )


def test_a_class_of_eleven_has_a_risk_above_nine_percent(judge):
    def alike(n):
        return pa.table({"age": [30] * n, "sex": ["f"] * n, "ill": ["a"] * n})

    rule = {"rule": "largest-risk", "most": 0.09}
    eleven = judge(rule, alike(11))
    assert (
        eleven.found
        == "largest risk 9.09 % among the records; the rule allows 9 %; 11 of 11 records are above it"
    )
    assert eleven.remedy.endswith("with k = 12 over age, sex")
    assert judge(rule, alike(12)).status == "kept"


def test_records_at_risk(judge):
    one = people().slice(0, 16)  # Fifteen in classes of five, and one alone.
    assert judge({"rule": "records-at-risk", "over": 0.2, "most": 1 / 16}, one).status == "kept"
    missed = judge({"rule": "records-at-risk", "over": 0.2, "most": 0.06}, one)
    assert (
        missed.found
        == "1 of 16 records (6.25 %) have a risk above 20 % among the records; the rule allows 6 %"
    )
    assert missed.records == 1


def test_risk_in_the_population_needs_to_know_it(judge, tmp_path):
    rule = {"rule": "largest-risk", "most": 0.02, "counted": "population"}
    unknown = judge(rule)
    assert unknown.status == "open"
    assert unknown.remedy.startswith("it is about people in the population: give --population FILE")
    # What holds of the sample holds of the population.
    assert judge(rule | {"most": 0.2}).status == "kept"
    many = judge(rule, people(w=[20.0] * 20), WEIGHTED)
    assert many.status == "kept"
    assert "by sampling weights" in many.found
    assert judge(rule, people(w=[9.0] * 20), WEIGHTED).status == "missed"
    table = pa.table(
        {"age": [30, 30, 60, 60], "sex": ["f", "m"] * 2, "population": [50, 50, 50, 49]}
    )
    write_table(table, tmp_path / "population.csv")
    found = judge(rule, population=str(tmp_path / "population.csv"))
    assert (
        found.found
        == "largest risk 2.04 % by the population table; the rule allows 2 %; 5 of 20 records are above it"
    )
    table = table.set_column(2, "population", pa.array([50] * 4))
    write_table(table, tmp_path / "population.csv")
    assert judge(rule, population=str(tmp_path / "population.csv")).status == "kept"


@pytest.mark.parametrize(("ways", "size"), [(1, 10), (2, 5)])
def test_cells_of_every_table(judge, ways, size):
    assert judge({"rule": "cells", "ways": ways, "least": size}).status == "kept"
    missed = judge({"rule": "cells", "ways": ways, "least": size + 1})
    assert missed.status == "missed"
    assert missed.records == 20
    assert f"has {size} records" in missed.found
    assert "age" in missed.remedy


def test_cells_in_the_population(judge, tmp_path):
    rule = {"rule": "cells", "ways": 2, "least": 100, "counted": "population"}
    assert judge(rule).status == "open"
    assert judge(rule, people(w=[20.0] * 20), WEIGHTED).status == "kept"
    low = judge(rule, people(w=[20.0] * 19 + [19.0]), WEIGHTED)
    assert low.status == "missed"
    assert "the smallest, of age x sex, has 99 people by sampling weights" in low.found
    assert low.records == 5
    table = pa.table(
        {"age": [30, 30, 60, 60], "sex": ["f", "m"] * 2, "population": [100] * 3 + [99]}
    )
    write_table(table, tmp_path / "population.csv")
    assert judge(rule, population=str(tmp_path / "population.csv")).records == 5


def test_tables_of_groups(judge):
    rule = {"rule": "cells", "ways": 2, "least": 6, "groups": ["extremely", "very"]}
    unknown = judge(rule)
    assert unknown.status == "open"
    assert unknown.remedy == (
        "say which columns are in the groups 'extremely', 'very', with --group or in the recipe"
    )
    # If every table keeps it, those of the groups do, whichever they are.
    assert judge(rule | {"least": 5}).status == "kept"
    groups = {"extremely": ["age"], "very": ["sex", "age"]}
    assert judge(rule, groups=groups).status == "missed"
    assert judge(rule, groups={"extremely": ["age"], "very": []}).status == "kept"


def test_households(judge):
    homes = [f"h{i}" for i in range(10) for _ in range(2)]
    rooms = [2] * 10 + [3] * 10
    roles = {"household": "home", "household_level": ["rooms"], **ROLES}
    table = people(home=homes, rooms=rooms)
    assert judge({"rule": "households", "least": 5}, table, roles).status == "kept"
    missed = judge({"rule": "households", "least": 6}, table, roles)
    assert (
        missed.found == "10 households share theirs with fewer than 6; the rarest has 5, over rooms"
    )
    assert missed.remedy == "recode rooms, or set release_household = false"
    # Nobody sees households without their numbers.
    hidden = judge(
        {"rule": "households", "least": 6},
        people(rooms=rooms),
        roles | {"release_household": False},
    )
    assert hidden.status == "kept"


def test_suppressed_cells(judge):
    blank = people(sex=["*"] * 2 + people()["sex"].to_pylist()[2:])
    for most in (0.05, 0.04):
        # Records may have been left out, and cells may have been null before.
        unknown = judge({"rule": "suppressed", "most": most}, blank)
        assert told(unknown) == of(
            "open",
            "2 of 40 cells (5 %) are null or a star, most in 'sex' (2); the rule allows "
            f"{100 * most:g} %; records that were left out are not among them",
            None,
            "needs the internal folder of the release, to tell which were null before and which "
            "records were left out",
        )


# Numbers of results

DRB = {
    "rule": "rounding",
    "hidden_below": 15,
    "hidden_as": "<15",
    "zeros": False,
    "bands": [{"up_to": 99, "to": 10}, {"up_to": 999, "to": 50}],
    "digits": 4,
}


def test_rounded_counts(judge):
    counts = people(n=["<15", "20", "150", "12340"] * 5)
    unknown = judge(DRB, counts)
    assert unknown.status == "open"
    assert (
        unknown.remedy
        == "name them: --group 'counts=COLUMN,COLUMN', or groups of the recipe's policy"
    )
    groups = {"counts": ["n"]}
    assert judge(DRB, counts, groups=groups).status == "kept"
    missed = judge(DRB, people(n=["<15", "25", "150", "12345"] * 5), groups=groups)
    assert missed.found.startswith("10 of 20 cells of n: ")
    assert missed.records == 10
    assert judge(DRB, people(n=[0, 20] * 10), groups=groups).records == 10
    assert judge(DRB | {"zeros": True}, people(n=[0, 20] * 10), groups=groups).status == "kept"


def test_hidden_counts(judge):
    rule, groups = {"rule": "hidden", "high": 10}, {"counts": ["n"]}
    assert judge(rule, people(n=[0, 11, None, 30] * 5), groups=groups).status == "kept"
    missed = judge(rule, people(n=[0, 10, None, 30] * 5), groups=groups)
    assert missed.found == "5 of 20 cells of n: 10 in 'n' is one of 1 to 10"
    for bound in ("<11", "[1, 10]", ">=11", "[0, 20)"):
        assert judge(rule, people(n=[bound] * 20), groups=groups).status == "kept", bound
    for finer in ("<3", "[1, 2)", "[4, 5]"):
        assert judge(rule, people(n=[finer] * 20), groups=groups).status == "missed", finer


def test_a_group_of_columns_that_nobody_has_is_refused(judge):
    with pytest.raises(BadInput, match=r"the group 'counts' names 'patient'.*'patients'"):
        judge(
            {"rule": "hidden", "high": 10},
            people(patients=[5] * 20),
            groups={"counts": ["patient"]},
        )


def test_sums_that_few_dominate(judge):
    paid = ["pay", "ill"]
    roles = ROLES | {"confidential": paid}
    two = {"rule": "dominance", "largest": 2, "most": 0.9}
    assert judge(two, people(pay=[45.0, 45.0, 4.0, 3.0, 3.0] * 4), roles).status == "kept"
    missed = judge(two, people(pay=[46.0, 45.0, 4.0, 3.0, 2.0] + [1.0] * 15), roles)
    assert (
        missed.found
        == "the (2, 90 %) rule is missed in 1 of 4 cells of 'pay', over age, sex, with 5 records"
    )
    within = {"rule": "dominance", "within": 0.1}
    assert judge(within, people(pay=[100.0, 50.0, 4.0, 3.0, 3.0] * 4), roles).status == "kept"
    assert judge(within, people(pay=[100.0, 50.0, 4.0, 3.0, 2.9] * 4), roles).records == 20


# What other evidence decides


def test_the_age_of_the_data(judge):
    assert judge({"rule": "old", "years": 1}).status == "open"
    today = datetime.date.today()
    assert (
        judge(
            {"rule": "old", "years": 1}, collected=(today - datetime.timedelta(366)).isoformat()
        ).status
        == "kept"
    )
    coming = judge({"rule": "old", "years": 1}, collected=(today + datetime.timedelta(9)).isoformat())  # fmt: skip
    assert told(coming) == of(
        "missed",
        f"the data are about days up to {today + datetime.timedelta(9)}, after their release on {today}",
        None,
        "correct the day (--collected, or collected in the recipe)",
    )
    missed = judge(
        {"rule": "old", "years": 1}, collected=(today - datetime.timedelta(300)).isoformat()
    )
    assert missed.status == "missed"
    assert missed.remedy == "release them later"


def test_an_attack(judge, tmp_path):
    rule = {"rule": "attack", "attack": "linkability", "most": 0.1}
    assert judge(rule).status == "open"
    file = tmp_path / "attacks.json"

    def measured(name="linkability", upper=0.1, against="holdout"):
        one = {"name": name, "excess": 0.06, "interval": [0.02, upper], "against": against}
        file.write_text(json.dumps({"attacks": [one | {"attack": {"successes": 1, "of": 500}}]}))
        return {"attacks": str(file)}

    kept = judge(rule, **measured())
    assert kept.status == "kept"
    assert kept.found == (
        "linkability gains 6 percentage points over the holdout in 500 attempts, with 95 % certainty "
        "at most 10; the rule allows 10"
    )
    unsure = judge(rule, **measured(upper=0.11))
    assert unsure.status == "missed"
    assert unsure.remedy.startswith("repeat it with more --queries or a larger holdout")
    assert judge(rule | {"figure": "excess"}, **measured(upper=0.11)).status == "kept"
    assert judge(rule, **measured("inference")).status == "open"
    # A guess is no control group: what the release says of everybody counts as said of somebody.
    guessed = judge(rule, **measured(against="guess"))
    assert guessed.status == "open"
    assert "over a guess in 500 attempts" in guessed.found
    assert guessed.remedy == (
        "needs a holdout: repeat it with `discreet attack ... --holdout FILE --json`, where FILE "
        "has people who are not in the release"
    )
    beyond = judge(rule, **measured(upper=0.11, against="guess"))
    assert beyond.status == "missed"
    assert "--holdout FILE" in beyond.remedy
    file.write_text("{}")
    with pytest.raises(BadInput, match="holds no attacks"):
        judge(rule, attacks=str(file))
    file.write_text('{"name": "linkability", "excess": null, "interval": [0, null]}')
    with pytest.raises(BadInput, match="an attack without figures"):
        judge(rule, attacks=str(file))
    # Nobody was attacked, so that nobody was found.
    none = {"name": "linkability", "excess": 0.0, "interval": [0.0, 1.0], "attack": {"of": 0}}
    file.write_text(json.dumps(none))
    assert judge(rule | {"figure": "excess"}, attacks=str(file)).status == "open"
    for interval in ({}, {"interval": None}, {"interval": [0.1]}):
        file.write_text(json.dumps({"name": "linkability", "excess": 0.06, **interval}))
        with pytest.raises(BadInput, match="an attack without figures"):
            judge(rule, attacks=str(file))


def test_a_promise_that_is_broken_misses_the_rule(judge):
    roles = {key: value for key, value in ROLES.items() if key != "untouched"}
    step = {"method": "mondrian", "columns": ["age", "sex"], "privacy": K2}
    alone = pa.concat_tables([people(), pa.table({"age": [99], "sex": ["f"], "ill": ["a"]})])
    found = judge({"rule": "promises"}, alone, roles, [step])
    assert found.status == "missed"
    assert found.found.startswith("1 promise broken: k-anonymity (k = 2) over age, sex (")
    assert found.remedy == "protect the table again"
    # Without the internal folder not all of them can be verified.
    assert judge({"rule": "promises"}, people(), roles, [step]).status == "open"


def test_what_no_program_can_tell(judge):
    found = judge({"rule": "by-hand", "needs": "ask the board"})
    assert told(found) == of("open", "no program can tell", None, "ask the board")


def test_what_nobody_has_named_is_open(judge):
    bare = {"rest": "insensitive"}
    rules = [
        {"rule": "k", "least": 2},
        {"rule": "l", "least": 2},
        {"rule": "cells", "ways": 1, "least": 2},
        {"rule": "identifying-columns", "most": 3},
        {"rule": "suppressed", "most": 0.5},
        {"rule": "l", "least": 2, "columns": ["ill"]},
        {"rule": "dominance", "largest": 2, "most": 0.9, "columns": ["age"]},
    ]
    for rule in rules:
        assert judge(rule, roles=bare).status == "open", rule
    assert judge({"rule": "households", "least": 5}, roles={}).status == "open"
    roles = {"rule": "roles", "not_released": ["identifiers"]}
    assert judge(roles, roles={}).status == "open"
    # Somebody has said that all of it is.
    assert judge(roles, roles=bare).status == "kept"


def test_units_are_counted_once_in_each_table(checked, tmp_path):
    # Five people with two rows each, one in each class: a class of five, not of ten.
    table = pa.table({"age": [30] * 10, "job": ["a", "b"] * 5, "who": [i // 2 for i in range(10)]})
    roles = {
        "quasi": ["age", "job"],
        "untouched": ["age", "job"],
        "unit": "who",
        "pseudonyms": ["who"],
    }
    file = tmp_path / "table.parquet"
    write_table(table, file)
    rule = {"rule": "cells", "ways": 1, "least": 6, "says": "Six.", "source": "page 1"}
    policy = {"title": "House", "source": "Handbook", "date": DAY, "rules": [rule]}
    (tmp_path / "house.toml").write_text(tomli_w.dumps(policy))
    [found] = checked(file, {"roles": roles}, policy=tmp_path / "house.toml").policy.verdicts
    assert found.status == "missed"
    assert "the smallest, of age, has 5 units" in found.found


def test_a_unit_in_several_classes_is_not_several_units(checked, tmp_path):
    """There are five people here, and were said to be eight of ten units."""
    table = pa.table({"age": [30] * 6 + [40] * 4, "who": [0, 1, 2, 3, 4, 4, 0, 1, 2, 3]})
    roles = {"quasi": ["age"], "untouched": ["age"], "unit": "who", "pseudonyms": ["who"]}
    file = tmp_path / "table.parquet"
    write_table(table, file)
    words = {"says": "Five.", "source": "page 1"}
    rules = [
        {"rule": "k", "least": 5} | words,
        {"rule": "largest-risk", "most": 0.2} | words,
    ]
    policy = {"title": "House", "source": "Handbook", "date": DAY, "rules": rules}
    (tmp_path / "house.toml").write_text(tomli_w.dumps(policy))
    found = checked(file, {"roles": roles}, policy=tmp_path / "house.toml").policy.verdicts
    assert found[0].found == (
        "1 of 2 classes have fewer than 5 units; the smallest has 4, over age"
    )
    assert found[1].found.endswith("the rule allows 20 %; 1 of 2 classes are above it")


def test_a_rule_names_its_columns_where_none_is_released(judge):
    roles = {**ROLES, "identifiers": ["town"]}
    dropped = judge({"rule": "k", "least": 5, "columns": ["town"]}, roles=roles)
    assert told(dropped) == of("kept", "none of the columns of the rule (town) is released")
    # Also if nobody has named quasi columns: the rule is not about these.
    bare = {"rest": "insensitive", "identifiers": ["town"]}
    assert (
        judge({"rule": "suppressed", "most": 0.1, "columns": ["town"]}, roles=bare).status == "kept"
    )
    gone = judge({"rule": "k", "least": 5}, pa.table({"ill": ["a"] * 6}))
    assert gone.found == "none of the quasi columns (age, sex) is released"
    grouped = {"rule": "k", "least": 5, "group": "keys"}
    assert told(judge(grouped)) == of(
        "open",
        "nobody has said which columns are in the group 'keys'",
        None,
        "name them: --group 'keys=COLUMN,COLUMN', or groups of the recipe's policy",
    )
    assert judge(grouped, groups={"keys": ["sex"]}).found.endswith("10 records, over sex")


def test_a_misspelt_column_keeps_no_rule(judge):
    for columns in (["agee"], ["age", "sexx"]):
        found = judge({"rule": "k", "least": 5, "columns": columns})
        assert found.status == "open"
        assert found.found == f"no column is called '{columns[-1]}'"
    assert judge({"rule": "k", "least": 50, "columns": ["age", "sexx"]}).status == "missed"
    # One that is not released is known, and shows nothing.
    roles = {**ROLES, "identifiers": ["town"]}
    dropped = {"rule": "areas", "least": 10, "columns": ["town"]}
    assert judge(dropped, roles=roles).status == "kept"
