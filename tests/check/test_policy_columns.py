"""Rules on what columns hold: roles, identifiers, dates, ages and areas; kept, missed and open."""

import datetime

import pyarrow as pa
import pytest

from discreet import write_table
from tests.check.held import ROLES, WEIGHTED, of, people, told


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
    assert unknown.remedy == "say what 'v12' holds: rename it, or list it under not_identifiers"
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
    # And so is whoever is said to be under another age.
    for alone in (97, "95-99", "90-94", "[90, 100)"):
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
