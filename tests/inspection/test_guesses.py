"""Guesses: what is taken for an identifier, a code of missing values or a date, and what is not."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from discreet.inspection.encoded import encode_column
from discreet.inspection.guesses import dates_as_text, guess_role
from discreet.inspection.missing import sentinels
from discreet.table.patterns import is_card, is_dni, is_french_social, is_iban

RNG = np.random.default_rng(7)


def column(name, values):
    return encode_column(name, pa.chunked_array([pa.array(values)]))


def iban(number: int) -> str:
    account = f"{number:018d}"
    rest = int(account + "131400") % 97  # DE00
    return f"DE{98 - rest:02d}{account}"


IDENTIFIERS = {
    "e-mail addresses": [f"a{i}@example.org" for i in range(40)],
    "IBANs (their checksums hold)": [iban(i * 7919) for i in range(40)],
    "US social security numbers": [f"{i + 100}-12-{i + 1000}" for i in range(40)],
    "IP addresses": [f"10.0.{i}.{255 - i}" for i in range(40)],
    "phone numbers": [f"+49 30 {i + 12345:06d}" for i in range(40)],
    "UUIDs": [f"{i:08x}-0000-4000-8000-{i:012x}" for i in range(40)],
    "web addresses": [f"https://example.org/{i}" for i in range(40)],
    "numbers of payment cards (their check digits hold)": ["4111111111111111", "5500005555555559"],
    "Spanish identity numbers (their letters hold)": ["12345678Z", "87654321X", "X1234567L"],
}


@pytest.mark.parametrize("what", IDENTIFIERS)
def test_values_that_name_a_person_are_known_whatever_the_column_is_called(what):
    guess = guess_role(column("v17", IDENTIFIERS[what]))
    assert (guess.role, guess.sure) == ("identifiers", True)
    assert guess.reason == f"100% of its values look like {what}"


def test_checksums():
    assert is_iban("DE89370400440532013000")
    assert not is_iban("DE88370400440532013000")
    assert is_card("4111 1111 1111 1111")
    assert not is_card("4111111111111112")
    assert is_french_social("2 55 08 14 168 025 38")
    assert not is_french_social("255081416802539")
    assert is_dni("X1234567L")
    assert not is_dni("1234")


@pytest.mark.parametrize(
    ("name", "values", "role", "sure"),
    [
        ("surname", [f"Name{i % 30} Xy" for i in range(60)], "identifiers", True),
        ("country_name", [f"Land{i % 30}" for i in range(60)], "quasi", True),
        ("patient_id", list(range(1000, 1060)), "identifiers", True),
        ("v1", [f"k{i}" for i in range(60)], "identifiers", True),
        ("household_id", [i // 2 for i in range(60)], "household", True),
        ("family size", [i % 5 for i in range(60)], "quasi", True),
        ("survey weight", [i / 7 for i in range(60)], "weight", False),
        ("BirthDate", np.arange(60).astype("datetime64[D]"), "quasi", True),
        ("v2", ["m", "f", "F"] * 20, "quasi", True),
        ("v3", ["red", "green"] * 30, "quasi", False),
        ("NetIncome", RNG.normal(size=60), "confidential", True),
        ("v4", RNG.normal(size=200), "confidential", False),
        ("hours", [i % 40 for i in range(60)], "quasi", False),
        ("remarks", [f"{i} " + "a long remark on a person " * 4 for i in range(60)], "identifiers", True),
    ],
)  # fmt: skip
def test_roles(name, values, role, sure):
    guess = guess_role(column(name, values))
    assert (guess.role, guess.sure) == (role, sure), guess.reason


def test_how_widely_a_column_is_known():
    assert guess_role(column("sex", ["a", "b"] * 9)).exposure == 1.0
    assert guess_role(column("occupation", ["a", "b"] * 9)).exposure == 0.8
    assert guess_role(column("v9", ["a", "b"] * 9)).exposure == 0.5


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([5, 6, 7, 8, 9, -9, -9], ["-9"]),
        ([-50, 6, 7, -8, 9, -9], []),  # below zero is usual here
        ([1, 2, 3, 4, 5, 6, 999, 999], ["999"]),
        (list(range(100)), []),  # 99 is one of many
        ([*range(90)] + [99] * 20, ["99"]),
        (["a", "b", "n/a", "?"], ["n/a", "?"]),
        (["a", "b", "unknown"], ["unknown"]),
        (["a", "b"], []),
        ([0.5, 1.5, 2.5, 3.5, 4.5, 99999.0], ["99999"]),
    ],
)
def test_codes_of_missing_values(values, found):
    assert list(sentinels(column("x", values))) == found


def test_dates_that_stand_for_none():
    days = [np.datetime64("2020-01-01") + i for i in range(50)] + [np.datetime64("9999-12-31")] * 3
    assert list(sentinels(column("left", np.array(days)))) == ["9999-12-31"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["31.12.2020", "01.02.1999"], "day.month.year"),
        (["12/31/2020", "1/2/1999"], "with slashes"),
        (["2020/12/31", "1999/2/1"], "year/month/day"),
        ([20201231, 19990201], "year, month and day without marks"),
        (["20201231", "19990201"], "year, month and day without marks"),
        (["3 Mar 2020", "14 December 1999"], "day, month's name and year"),
        ([20209999, 19990201], None),
        (["1.5", "2.5"], None),
        ([1, 2], None),
    ],
)
def test_dates_as_text(values, said):
    assert dates_as_text(column("when", values)) == said


NOTE = "Patient {} was seen by the doctor on duty and complained about a bad knee"


@pytest.mark.parametrize(
    ("name", "values", "role", "reason"),
    [
        ("tax_id", [f"DE{i:09d}" for i in range(60)], "identifiers", "100% of its records have"),
        ("tax_id", [f"DE{i // 3:09d}" for i in range(90)], "identifiers", "so rows are not one"),
        ("tax_id", [10**9 + i for i in range(60)], "identifiers", "numbers people or cases"),
        ("treatment_notes", [NOTE.format(i % 25) for i in range(60)], "identifiers", "free text"),
        ("hospital_notes", [NOTE.format(i) for i in range(60)], "identifiers", "free text"),
        ("loan", [f"k{i // 2}" for i in range(60)], "drop", "text with 30 values in 60 records"),
        ("income", ["unknown", *map(str, range(30))] * 20, "drop", "it mixes numbers with text"),
        ("disease", ["flu", "asthma", "cancer"] * 20, "confidential", "nobody should learn it"),
        ("occupation", [NOTE.format(i % 3) for i in range(60)], "quasi", "acquaintances"),
        ("postcode", [f"{i:05d}" for i in range(60)], "quasi", "registers"),
        ("birthdate", [f"{i % 28 + 1}.1.{1900 + i}" for i in range(60)], "quasi", "registers"),
    ],
)
def test_a_confidential_name_hides_no_identifier(name, values, role, reason):
    guess = guess_role(column(name, values))
    assert guess.role == role, guess.reason
    assert reason in guess.reason


@pytest.mark.parametrize("name", ["patient_id", "PatientID", "PATIENTID", "patient", "case no"])
@pytest.mark.parametrize("kind", [int, float, str, Decimal])
def test_an_id_that_repeats_is_no_measured_amount(name, kind):
    guess = guess_role(column(name, [kind(1000 + i // 4) for i in range(1200)]))
    assert guess.role == "unit"
    assert "a value has 4.0 records on average, so rows are not one per person" in guess.reason


@pytest.mark.parametrize("name", ["number of rooms", "no_of_employees", "paid", "humidity"])
def test_counts_are_no_ids(name):
    assert guess_role(column(name, [i % 150 for i in range(1200)])).role == "confidential"


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("x", ["j@example.org"] * 40, "identifiers"),
        ("name", ["John Smith"] * 40, "identifiers"),
        ("income", [50_000], "confidential"),
        ("x", ["a"] * 4, "quasi"),
        ("x", ["a"] * 5, "insensitive"),
        ("income", [7] * 5, "insensitive"),
    ],
)
def test_one_value_in_all_records(name, values, role):
    assert guess_role(column(name, values)).role == role


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("x", ["a"] * 30 + [None] * 10, "drop"),
        ("deceased", [True] * 3 + [None] * 40, "drop"),
        ("sex", ["f"] * 20 + [None] * 20, "drop"),
        ("hiv", ["yes"] * 20 + [None] * 20, "confidential"),
    ],
)
def test_one_value_besides_nulls_is_no_key(name, values, role):
    assert guess_role(column(name, values)).role == role


CLINICS = [
    f"{place} {kind}" for place in ("Ash", "Elm", "St Anna") for kind in ("Clinic", "Hospital")
]
FIRMS = [f"{name} {kind}" for name in ("Miller", "Anna Smith", "Otto") for kind in ("Ltd", "GmbH")]


@pytest.mark.parametrize("name", ["name", "clinic", "clinic_name", "hospital name", "Company"])
@pytest.mark.parametrize("values", [CLINICS, FIRMS])
def test_names_of_clinics_and_companies_are_not_those_of_people(name, values):
    many = [f"{letter}{value}" for letter in "ABCDEFG" for value in values] * 30
    assert guess_role(column(name, many)).role == "quasi"


@pytest.mark.parametrize(
    "name", ["subj", "SUBJ_NR", "USUBJID", "pnr", "patnr", "case no", "persID"]
)
def test_numbers_of_persons_with_several_records_are_units(name):
    assert guess_role(column(name, [17 * (i // 4) for i in range(1200)])).role == "unit"


@pytest.mark.parametrize("name", ["hhid", "HH_NR", "household no", "familyId"])
def test_numbers_of_households(name):
    assert guess_role(column(name, [17 * (i // 2) for i in range(600)])).role == "household"


@pytest.mark.parametrize("start", [0, 1, 2000, 10**7])
def test_consecutive_numbers_are_no_amount(start):
    numbers = start + RNG.permutation(500)
    assert guess_role(column("x", numbers)).role == "identifiers"
    assert guess_role(column("income", numbers)).role == "identifiers"


@pytest.mark.parametrize("name", ["employees", "users", "resp", "cases"])
def test_counts_of_people_number_nobody(name):
    guess = guess_role(column(name, RNG.integers(0, 4000, 1200)))
    assert (guess.role, guess.reason) == ("confidential", "a measured amount")


@pytest.mark.parametrize("mark", ["*", "#", "-"])
def test_the_marks_of_papers_on_anonymity(mark):
    values = ["f", "m", mark, "m", "f"]
    assert sentinels(column("x", values)) == {mark: "a usual mark, in 1 records"}
    # Part of a value, it is none.
    assert sentinels(column("x", ["f", f"{mark}1", "m"])) == {}


def test_marks_among_many_values():
    values = [f"t{i:06d}" for i in range(12_000)] + [" N/A"] * 777 + ["z" * 99] * 3
    assert sentinels(column("x", values)) == {" N/A": "a usual mark, in 777 records"}
