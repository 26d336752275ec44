"""Each kind of rule: a release that keeps it, one that just misses it, and what leaves it open."""

import datetime
import json

import pyarrow as pa
import pytest
import tomli_w

from discreet import write_table
from discreet.errors import BadInput
from tests.check.held import DAY, K2, ROLES, of, people, told

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


WEIGHTED = ROLES | {"weight": "w", "insensitive": ["w"]}


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


# What is released


def test_roles(judge):
    roles = ROLES | {"household": "home"}
    table = people(home=["h1"] * 20)
    assert judge({"rule": "roles", "not_released": ["identifiers"]}, table, roles).status == "kept"
    missed = judge({"rule": "roles", "not_released": ["household"]}, table, roles)
    assert told(missed) == of(
        "missed",
        "'home' (household) is released, in 20 records",
        20,
        "set release_household = false",
    )
    # Whoever gives no roles to what tells people apart has not kept the rule.
    rule = {"rule": "roles", "not_released": ["identifiers"]}
    named = pa.concat_tables([people()] * 2)
    named = named.append_column("patient_id", pa.array([*range(100, 120), *range(200, 220)]))
    named = named.append_column("surname", pa.array([f"name{i}" for i in range(40)]))
    unknown = judge(rule, named)
    assert unknown.status == "open"
    assert "'patient_id' tells people apart: its name says that it numbers" in unknown.found
    assert unknown.remedy == (
        "give them the role identifiers, or list under not_identifiers what is none"
    )
    word = judge(rule, named, ROLES | {"not_identifiers": ["patient_id", "surname"]})
    assert (word.status, word.excused) == ("kept", ("patient_id", "surname"))
    assert "because the recipe's not_identifiers says so of 'patient_id' (tells" in word.found
    assert judge({"rule": "roles", "not_released": ["confidential"]}).found.startswith(
        "'ill' (confidential)"
    )


def test_identifying_columns(judge):
    assert judge({"rule": "identifying-columns", "most": 2}).status == "kept"
    missed = judge({"rule": "identifying-columns", "most": 1})
    assert missed.found == "2 quasi columns are released; the rule allows 1"
    assert missed.remedy == "drop 1 of age, sex"


MAILS = [f"p{i}@example.org" for i in range(20)]
KINDS = {
    "names": {"surname": [f"name{i}" for i in range(20)]},
    "telephone numbers": {"contact": [f"+44 20 7946 0{i:03}" for i in range(20)]},
    "e-mail addresses": {"x1y": MAILS},
    "social security numbers": {"code": [f"{i + 101}-45-6789" for i in range(20)]},
    "fax numbers": {"fax": list(range(20))},
    "IP addresses": {"from": [f"10.0.0.{i}" for i in range(20)]},
    "places": {"city": ["Bath", "York"] * 10},
    "sensitive": {"religion": ["a", "b"] * 10},
    "unique codes": {"patient_id": list(range(100, 120)) + list(range(200, 220))},
    "dates": {"seen": [datetime.date(2020, 1, 1 + i) for i in range(20)]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_a_kind(judge, kind):
    rule = {"rule": "columns", "kinds": [kind]}
    assert judge(rule).status == "kept"
    [(name, values)] = KINDS[kind].items()
    table = people(**{name: values}) if len(values) == 20 else pa.concat_tables([people()] * 2)
    if len(values) > 20:
        table = table.append_column(name, pa.array(values))
    missed = judge(rule, table)
    assert missed.status == "missed", missed
    assert missed.records == table.num_rows
    assert f"'{name}'" in missed.found
    either = (
        "" if kind in ("sensitive", "dates") else ", or list under not_identifiers what is none"
    )
    assert missed.remedy == f"drop '{name}'{either}"
    word = judge(rule, table, ROLES | {"not_identifiers": [name]})
    if kind in ("sensitive", "dates"):
        assert word.status == "missed"
        return
    # Who reads the verdict sees that nothing but the recipe's word keeps the rule, and why.
    assert (word.status, word.excused) == ("kept", (name,))
    assert word.found.startswith(
        f"{kind}: kept because the recipe's not_identifiers says so of '{name}' ("
    )
    assert word.found.removesuffix(")").partition(" (")[2] in missed.found


def test_a_name_that_tells_nothing_passes_on_the_recipe_s_word(judge):
    table = people(v12=list(range(0, 60, 3)))
    found = judge({"rule": "columns", "kinds": ["fax numbers"]}, table, ROLES | {"not_identifiers": ["v12"]})  # fmt: skip
    assert told(found) == of(
        "kept",
        "fax numbers: kept because the recipe's not_identifiers says so of 'v12' (has a name that "
        "tells nothing)",
    )


def test_a_yes_or_no_is_one_in_many_pieces_too(judge):
    """On an engine a table comes in pieces, each with a yes and a no of its own."""
    many = pa.concat_tables([people()] * 30)
    flags = {"v12": ["yes", "no"], "fax": [0, 1], "surname": ["y", "n"]}
    for name, values in flags.items():
        many = many.append_column(name, pa.array(values * 300))
    rule = {"rule": "columns", "kinds": ["fax numbers", "names", "telephone numbers"]}
    assert judge(rule, many).status == "kept"
    assert judge(rule, many.append_column("phone", pa.array([1, 2, 3] * 200))).status == "missed"


def test_phone_numbers_are_seen_wherever_they_are(judge):
    """The first pieces of a table are no better than the last."""
    words = [f"{a}{b}{c}" for a in "klmnp" for b in "aeiou" for c in "rstvw"] * 2
    table = pa.concat_tables([people()] * 263)
    numbers = [f"+44 20 7946 {i:04}" for i in range(5010)]
    mixed = table.append_column("contact", pa.array(words + numbers))
    rule = {"rule": "columns", "kinds": ["telephone numbers"]}
    assert judge(rule, mixed).status == "missed"


def test_names_of_two_people_are_looked_at(judge):
    rule = {"rule": "columns", "kinds": ["names"]}
    assert judge(rule, people(surname=["Weber", "Okafor"] * 10)).status == "open"
    assert judge(rule, people(surname=["yes", "no"] * 10)).status == "kept"


def test_words_and_what_nobody_can_tell(judge):
    assert judge({"rule": "columns", "words": ["nationality"]}).status == "kept"
    assert judge({"rule": "columns", "words": ["sex"]}).status == "missed"
    unknown = judge({"rule": "columns", "kinds": ["fax numbers"]}, people(v12=list(range(20))))
    assert unknown.status == "open"
    assert unknown.remedy == "say what 'v12' hold: rename them, or list them under not_identifiers"
    text = [
        "came in with a cough, was sent home to her sister Anna",
        "fell off a ladder in the garden at home",
    ]
    free = judge({"rule": "columns", "kinds": ["free text"]}, people(note=text * 10))
    assert free.status == "open"
    assert free.remedy == "somebody must look at it, or drop it"


def dates(*days):
    return people(seen=pa.array([days[i % len(days)] for i in range(20)]))


def test_dates_to_the_year(judge):
    rule = {"rule": "dates", "finest": "year"}
    assert judge(rule).found == "no column of dates is released"
    assert judge(rule, people(v12=range(20190701, 20190721))).status == "open"
    assert judge(rule, dates("2019", "2020"), ROLES).status == "kept"
    assert judge(rule, dates(datetime.date(2019, 1, 1), datetime.date(2020, 1, 1))).status == "kept"
    missed = judge(rule, dates(datetime.date(2019, 1, 1), datetime.date(2020, 1, 2)))
    assert missed.found == "'seen' to the day, in 20 records; the finest may be the year"
    assert missed.remedy == "generalize 'seen' to years: hierarchies of kind 'dates'"
    assert judge(rule | {"finest": "month"}, dates("2019-01-02", "2019-03-04")).status == "missed"
    named = rule | {"finest": "month", "columns": ["seen"]}
    assert judge(named, dates("2019-01", "2019-03")).status == "kept"
    assert judge(named | {"finest": "quarter"}, dates("2019-01", "2019-03")).status == "missed"
    assert judge(named, dates("winter", "summer")).status == "open"
    assert judge(rule | {"columns": ["seen"]}, dates("[2019, 2020)", "<2019")).status == "kept"
    for finer in ("[2019-07, 2019-08)", "[2019-07-14]", "2019-0714", "[2019-13-01, 2020-13-01)"):
        assert judge(rule | {"columns": ["seen"]}, dates(finer)).status == "open"


def test_ages_of_ninety_and_over_are_one(judge):
    rule = {"rule": "ages", "together_from": 90}

    def aged(*values):
        return people(age=pa.array([values[i % len(values)] for i in range(20)]))

    assert judge(rule).status == "kept"
    assert judge(rule, aged(89, 90)).status == "kept"
    missed = judge(rule, aged(89, 90, 91))
    assert missed.found == "'age' tells 90, 91 apart, in 13 records that may be of 90 or over"
    assert missed.records == 13
    assert judge(rule, aged("80-89", ">=90")).status == "kept"
    assert judge(rule, aged("[80, 90)", "[90, 95)", "[95, 100)")).status == "missed"
    assert judge(rule, aged("old", "young")).status == "open"
    # The only one of that age is told apart, too.
    for alone in (97, "95-99"):
        found = judge(rule, aged(alone, alone))
        assert found.status == "missed"
        assert f"tells {alone}" in found.found


def test_years_of_birth_tell_ages(judge):
    rule, table = {"rule": "ages", "together_from": 90}, people(birth_year=[1930, 1933] * 10)
    assert judge(rule, table).status == "open"
    assert judge(rule, table, collected="2020-06-30").status == "kept"
    missed = judge(rule, table, collected="2024-06-30")
    assert missed.status == "missed"
    assert missed.records == 20
    given = {"collected": "2024-06-30"}
    assert judge(rule, people(birth_year=[1920, 1990] * 10), **given).records == 10
    assert judge(rule, people(birth_year=[1934, 1990] * 10), **given).status == "kept"


def test_postcodes_of_three_digits(judge, tmp_path):
    rule = {"rule": "areas", "least": 20_000, "digits": 3, "otherwise": "000"}
    write_table(
        pa.table({"zip": ["10001", "10002", "03601"], "population": [15_000, 5_000, 19_999]}),
        tmp_path / "zips.parquet",
    )
    given = {"population": str(tmp_path / "zips.parquet")}
    full = judge(rule, people(zip=["10001", "03601"] * 10), **given)
    assert full.found == "'zip' has more than 3 digits in 20 records"
    assert judge(rule, people(zip=["100", "036"] * 10)).status == "open"
    few = judge(rule, people(zip=["100", "036"] * 10), **given)
    assert few.records == 10
    assert few.remedy == "release '000' in place of '036'"
    assert judge(rule, people(zip=["100**", "000"] * 10), **given).status == "kept"
    strange = judge(rule, people(zip=["100", "999"] * 10), **given)
    assert strange.remedy == "put 999 into the population table"
    # 03601 and 36012 as numbers, whose first three digits are not the same.
    write_table(
        pa.table({"zip": [3601, 36012], "population": [10, 50_000]}), tmp_path / "zips.parquet"
    )
    assert judge(rule, people(zip=["036", "360"] * 10), **given).records == 10


def test_areas_by_weights(judge):
    rule, table = {"rule": "areas", "least": 100}, {"region": ["Essex", "Kent"] * 10}
    assert judge(rule, people(**table)).status == "open"
    assert judge(rule, people(**table, w=[10.0] * 20), WEIGHTED).status == "kept"
    missed = judge(rule, people(**table, w=[10.0, 9.9] * 10), WEIGHTED)
    assert (
        missed.found
        == "1 area of 'region' ('Kent') with fewer than 100 people by sampling weights, in 10 records"
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
    assert judge(rule, **measured(upper=0.11)).status == "missed"
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


def test_codes_in_place_of_identifiers_are_looked_at(judge):
    roles = ROLES | {"pseudonyms": ["code"]}
    table = people(code=[f"{i:032x}" for i in range(20)])
    found = judge({"rule": "columns", "kinds": ["unique codes"]}, table, roles)
    assert found.status == "open"
    assert "'code' holds codes in place of identifiers" in found.found


def test_an_event_need_not_be_a_date(judge):
    rule = {"rule": "dates", "finest": "year"}
    told = people(
        admission_type=["planned", "urgent", "transfer", "other"] * 5, birth_weight=[3250] * 20
    )
    assert judge(rule, told).found == "no column of dates is released"
    assert judge({"rule": "ages", "together_from": 90}, told).status == "kept"
    assert (
        judge(rule, people(admission=["2019-03", "2020-04", "*", "2021-01"] * 5)).status == "missed"
    )
    assert judge(rule, people(death=[2019, 2020, 2021, 2022] * 5)).status == "kept"


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


def test_a_region_may_be_smaller_than_a_state(judge):
    rule, table = {"rule": "columns", "kinds": ["places"]}, people(region=["Skerry", "Ostara"] * 10)
    found = judge(rule, table)
    assert told(found) == of(
        "open",
        "places: 'region' is called region, which may be large or small",
        None,
        "list it under not_identifiers if its areas are large enough, or drop it",
    )
    assert judge(rule, table, {**ROLES, "not_identifiers": ["region"]}).status == "kept"
