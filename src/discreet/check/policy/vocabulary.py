"""Words in names of columns, and forms of values, by what they tell that a column holds."""

from __future__ import annotations

import re

from discreet.recipe.policies import Kind
from discreet.table import words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


POSTCODES = _words("zip zipcode postcode postal plz postleitzahl")
_PLACES = _words(
    """
    city town county precinct municipality village place ort district neighbourhood neighborhood
    tract block parish gemeinde wijk buurt latitude longitude lat lon lng gps geocode
    """
)
# These may be as large as a state, or smaller.
_VAGUE_PLACES = _words("region nuts area catchment")
VAGUE: dict[Kind, frozenset[str]] = {"places": _VAGUE_PLACES}
AREAS = _PLACES | _VAGUE_PLACES | POSTCODES | _words("province state land bundesland canton")
AGES = _words("age ages alter edad eta leeftijd idade")
BIRTHS = _words(
    "birth born birthday birthdate dob geburt geburtsdatum geburtsjahr nacimiento naissance"
)
# Columns that are called so hold dates; those of an event may hold when it was.
DATED = _words("date dates datum fecha birthday birthdate dob geburtsdatum timestamp")
EVENTS = BIRTHS | _words("day admission admitted discharge discharged death died")
# What a cell says where it tells only whether there is one.
FLAGS = _words("0 1 y n yes no true false j ja nein nee s si oui non none *")

WORDS: dict[Kind, frozenset[str]] = {
    "names": words.NAMES,
    "addresses": _words("address adresse direccion indirizzo street strasse calle rue"),
    "places": _PLACES,
    "telephone numbers": _words("phone telephone tel telefon telefono mobile cell"),
    "fax numbers": _words("fax telefax"),
    "e-mail addresses": _words("email emails mail"),
    "social security numbers": _words("ssn nino dni nif nie bsn sozialversicherung"),
    "medical record numbers": _words("mrn nhs chi chart"),
    "health plan numbers": _words("beneficiary hicn mbi medicare medicaid insured"),
    "account numbers": _words("account accounts iban card konto"),
    "licence numbers": _words("licence license certificate permit passport"),
    "vehicle numbers": _words("vin plate plates numberplate"),
    "device numbers": _words("device serial imei udi"),
    "web addresses": _words("url urls website homepage web twitter facebook"),
    "IP addresses": _words("ip ipv ipaddress"),
    "biometric identifiers": _words(
        "biometric biometrics fingerprint fingerprints voiceprint retina iris faceprint"
    ),
    "photographs": _words("photo photos photograph image images picture portrait"),
    "sensitive": _words(
        """
        religion religious faith race ethnic ethnicity politics political party vote union crime
        criminal conviction offence offense sexual sexuality orientation hiv health disease
        diagnosis illness disability genetic
        """
    ),
}
# As `discreet.table.patterns` calls them.
FORMS: dict[Kind, list[str]] = {
    "telephone numbers": ["phone numbers"],
    "e-mail addresses": ["e-mail addresses"],
    "social security numbers": [
        "US social security numbers",
        "UK national insurance numbers",
        "French social security numbers (their keys hold)",
        "Spanish identity numbers (their letters hold)",
        "Italian fiscal codes",
    ],
    "account numbers": [
        "IBANs (their checksums hold)",
        "numbers of payment cards (their check digits hold)",
    ],
    "web addresses": ["web addresses"],
    "IP addresses": ["IP addresses"],
    "unique codes": ["UUIDs"],
}
# Names that tell nothing.
OPAQUE = re.compile(r"(?i)([a-z]{1,3}|col|column|var|item|field|feature)[_ ]?\d+[a-z]?|[a-z]")
