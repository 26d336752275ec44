"""Secret keys of recipes: of pseudonyms and of a project, each kept in a file of its own."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from discreet.errors import BadInput

_BYTES = 32
_KEY = re.compile(rf"[0-9a-f]{{{2 * _BYTES}}}")


def new_key() -> str:
    """Draw a key, as hexadecimal digits."""
    return secrets.token_hex(_BYTES)


def key_of(given: str, what: str, otherwise: str) -> str:
    """Return a key that is given itself, or else by the name of its file.

    Parameters
    ----------
    given : str
    what : str
        What kind of key it is, such as "project".
    otherwise : str
        What to do where the file holds none.

    Examples
    --------
    >>> key_of("0f" * 32, "project", "") == "0f" * 32
    True
    """
    if _KEY.fullmatch(given):
        return given
    try:
        key = Path(given).read_text("ascii").strip().lower()
    except OSError as error:
        raise BadInput(f"the {what} key {given} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        key = ""
    if not _KEY.fullmatch(key):
        raise BadInput(
            f"{given} is not a {what} key, which is {2 * _BYTES} hexadecimal digits; {otherwise}"
        )
    return key
