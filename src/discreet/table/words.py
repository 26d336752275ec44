"""Words that say what a column is, in several languages, and patterns of values."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names of columns, in parts: `birth_date`, `BirthDate` and `birth date` are birth and date.
NAMES = _words(
    """
    name names surname forename firstname lastname givenname familyname fullname nombre apellido
    apellidos nom prenom vorname nachname cognome naam achternaam patient_name
    """
)
CONTACTS = _words(
    """
    email mail phone telephone tel telefon mobile fax address adresse direccion indirizzo
    street strasse calle rue url website homepage twitter facebook ip iban ssn passport dni nie
    nif nhs licence license plate account card
    """
)
NUMBERS = _words("id ids uid uuid guid key identifier number nr no num nummer numero")
# Those that mean nothing else; "number of rooms" is not a room's number.
IDS = _words("id ids uid uuid guid identifier pid mrn")
_PERSONS = _words(
    """
    patient person subject client customer respondent participant employee student user case
    proband member citizen pupil donor insured subj usubj persona paciente cliente kunde
    """
)
# These number people only where they say so: "resp" may be a response.
_SHORT_PERSONS = _words("pat pers resp cust emp p")
HOUSEHOLDS = _words("household hh family haushalt hogar menage familia")
_NUMBERING = "(id|ids|nr|no|num|number|nummer|numero|key)"
WEIGHTS = _words("weight weights wt wgt fnlwgt gewicht peso ponderation pweight")

# What a stranger finds in registers, in papers and on social networks.
OPEN = _words(
    """
    sex gender geschlecht sexo sexe age alter edad eta birth born birthday birthdate dob geburt
    geburtsdatum nacimiento naissance postcode postal zip zipcode plz region county city town
    municipality place ort country nationality citizenship province state district land bundesland
    race ethnic ethnicity death
    """
)
# What neighbours, colleagues and relatives know.
KNOWN = _words(
    """
    education school schooling degree bildung occupation job profession beruf work workclass
    employer employment industry sector marital married civil familienstand relationship partner
    children kids size members dwelling housing tenure language height car cars vehicle religion
    veteran disability admission discharge hospital visit clinic klinik clinica krankenhaus ward
    department company firm firma business organisation organization institution
    """
)
YEARS = _words("year years jahr jahre ano annee anno")
# What nobody should learn.
CONFIDENTIAL = _words(
    """
    income salary wage wages earnings pay pension assets wealth debt loan mortgage capital gain loss
    tax taxes turnover sales profit revenue price amount balance credit score rating expenditure
    spending disease diagnosis icd diagnose illness condition cancer hiv drug medication treatment
    therapy symptom bmi blood test result politics party vote crime conviction einkommen gehalt lohn
    ingreso renta revenu salaire krankheit enfermedad
    """
)

# Cells that nearly always stand for a missing value, and those that may.
MISSING = {
    "?", "n/a", "na", "nan", "null", "#", "#n/a", "missing", ".", "-", "--", "*", "k.a.", "n.d.",
}  # fmt: skip
MAYBE_MISSING = {
    "none",
    "unknown",
    "not available",
    "not applicable",
    "not known",
    "no answer",
    "refused",
    "don't know",
    "dk",
    "ns/nc",
    "keine angabe",
    "unbekannt",
    "desconocido",
    "inconnu",
}
_SMALL = (-1, -2, -3, -4, -5, -6, -7, -8, -9, -66, -77, -88, -97, -98, -99)
NEGATIVE_CODES = (*_SMALL, -777, -888, -997, -998, -999, -8888, -9998, -9999, -99999)
NINES = (77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 9997, 9998, 9999, 99999, 999999, 9999999)
DATE_CODES = ("1900-01-01", "1899-12-30", "1901-01-01", "1970-01-01", "2999-12-31", "9999-12-31")

_DATES = {
    r"\d{1,2}\.\d{1,2}\.(\d{4}|\d\d)": "day.month.year",
    r"\d{1,2}/\d{1,2}/(\d{4}|\d\d)": "with slashes",
    r"\d{1,2}-\d{1,2}-\d{4}": "day-month-year",
    r"\d{4}/\d{1,2}/\d{1,2}": "year/month/day",
    r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?": "year-month-day",
    r"(1[89]|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])": "year, month and day without marks",
    r"(?i)\d{1,2}[ .-](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ .,-]+\d{2,4}": (
        "day, month's name and year"
    ),
}
DATES = {re.compile(pattern): said for pattern, said in _DATES.items()}
PERSON = re.compile(r"[^\W\d_][\w.'’-]*(,? [^\W\d_][\w.'’-]*){1,4}")
DECIMAL = re.compile(r"[-+]?\d*[.,]\d+([eE][-+]?\d+)?")
NUMBER = re.compile(r"[-+]?[\d.,' ]*\d[\d.,' ]*([eE][-+]?\d+)?")
_PERSON_NUMBER = re.compile(
    # The plural alone, as in "employees", is a count.
    f"({'|'.join(_PERSONS)})(s?{_NUMBERING})?|({'|'.join(_SHORT_PERSONS)}){_NUMBERING}"
)
_HOUSEHOLD_NUMBER = re.compile(f"({'|'.join(HOUSEHOLDS)})s?{_NUMBERING}")
# What the name of a clinic or a company holds, and that of a person does not.
ORGANISATION = re.compile(
    r"(?i).*\b(clinic|hospital|centre|center|university|college|school|praxis|klinik|klinikum|"
    r"krankenhaus|hôpital|clinique|gmbh|ag|ltd|inc|llc|plc|s\.?a|s\.?l|bv|company|bank|institute)\b.*"
)
SEXES = {"m", "f", "w", "male", "female", "man", "woman", "männlich", "weiblich", "h", "mujer"}
SEXES |= {"hombre", "homme", "femme", "diverse", "x", "other"}


def parts_of(name: str) -> list[str]:
    """Split a column's name into words.

    Examples
    --------
    >>> parts_of("BirthDate_2"), parts_of("marital-status")
    (['birth', 'date', '2'], ['marital', 'status'])
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [part for part in re.split(r"[\W_]+|(?<=\D)(?=\d)", spaced.lower()) if part]


def numbers_persons(name: list[str]) -> bool:
    """Tell whether a name, split into words, says that a column numbers people.

    Examples
    --------
    >>> numbers_persons(["patient"]), numbers_persons(["patientid"]), numbers_persons(["paid"])
    (True, True, False)
    >>> numbers_persons(["subj", "nr"]), numbers_persons(["resp"])
    (True, False)
    """
    joined = "".join(name)
    return bool(_PERSON_NUMBER.fullmatch(joined))


def numbers_households(name: list[str]) -> bool:
    """Tell the same of households.

    Examples
    --------
    >>> numbers_households(["hhid"]), numbers_households(["family", "size"])
    (True, False)
    """
    return bool(_HOUSEHOLD_NUMBER.fullmatch("".join(name)))


def numbers_something(name: list[str]) -> bool:
    """Tell whether a name says that a column holds numbers of whatever, and not amounts.

    Examples
    --------
    >>> numbers_something(["invoice", "no"]), numbers_something(["no", "of", "rooms"])
    (True, False)
    """
    return any(part in IDS for part in name) or any(part in NUMBERS for part in name[-1:])
