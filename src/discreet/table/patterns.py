"""Values that identify one person, recognised by their form and their check digits."""

from __future__ import annotations

import re
from collections.abc import Callable

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_PHONE = re.compile(r"(\+|00|0|\()[\d ()/.-]{6,18}\d")
_URL = re.compile(r"(https?://|www\.)\S+")
_IP = re.compile(r"(\d{1,3}\.){3}\d{1,3}")
_US_SOCIAL = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}")
_UK_INSURANCE = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?(\d\d ?){3}[A-D]")
_DNI = re.compile(r"([XYZ]|\d)\d{7}-?([A-Z])")
_FISCAL = re.compile(r"[A-Z]{6}\d\d[A-EHLMPR-T]\d\d[A-Z]\d{3}[A-Z]")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_iban(text: str) -> bool:
    """Tell whether text is an IBAN, by its checksum (ISO 13616).

    Examples
    --------
    >>> is_iban("GB82 WEST 1234 5698 7654 32"), is_iban("GB83WEST12345698765432")
    (True, False)
    """
    plain = text.replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", plain):
        return False
    digits = "".join(str(int(character, 36)) for character in plain[4:] + plain[:4])
    return int(digits) % 97 == 1


def is_card(text: str) -> bool:
    """Tell whether text is a payment card number, by Luhn's check digit."""
    plain = re.sub(r"[ -]", "", text)
    if not re.fullmatch(r"[3-6]\d{12,18}", plain):
        return False
    digits = [int(character) for character in reversed(plain)]
    doubled = [d if i % 2 == 0 else 2 * d - 9 * (d > 4) for i, d in enumerate(digits)]
    return sum(doubled) % 10 == 0


def is_dni(text: str) -> bool:
    """Tell whether text is a Spanish DNI or NIE, by its letter.

    Examples
    --------
    >>> is_dni("12345678Z"), is_dni("12345678A")
    (True, False)
    """
    found = _DNI.fullmatch(text.upper())
    if not found:
        return False
    first = "XYZ".find(text[0].upper())
    digits = re.sub(r"\D", "", text) if first < 0 else f"{first}{re.sub(r'[^0-9]', '', text)}"
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == found[2]


def is_french_social(text: str) -> bool:
    """Tell whether text is a French social security number, by its key."""
    plain = text.replace(" ", "")
    if not re.fullmatch(r"[12]\d{14}", plain):
        return False
    return 97 - int(plain[:13]) % 97 == int(plain[13:])


def is_ip(text: str) -> bool:
    """Tell whether text is an IPv4 address."""
    return bool(_IP.fullmatch(text)) and all(int(part) < 256 for part in text.split("."))


# What a column is said to hold where nearly all of its values pass. The surest come first.
PATTERNS: dict[str, Callable[[str], object]] = {
    "e-mail addresses": _EMAIL.fullmatch,
    "IBANs (their checksums hold)": is_iban,
    "numbers of payment cards (their check digits hold)": is_card,
    "Spanish identity numbers (their letters hold)": is_dni,
    "French social security numbers (their keys hold)": is_french_social,
    "US social security numbers": _US_SOCIAL.fullmatch,
    "UK national insurance numbers": _UK_INSURANCE.fullmatch,
    "Italian fiscal codes": _FISCAL.fullmatch,
    "UUIDs": _UUID.fullmatch,
    "IP addresses": is_ip,
    "web addresses": _URL.fullmatch,
    "phone numbers": _PHONE.fullmatch,
}
