"""Keyed pseudonyms: the same value gets the same one in every table of a key, and tells nothing.

A pseudonym is HMAC-SHA256(key, value as text), cut to 128 bits. Without the key nobody can try
values, and the pseudonyms of two keys cannot be matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from discreet.private import write_private
from discreet.recipe.key_files import key_of, new_key
from discreet.recipe.project import PROJECT_FILE
from discreet.recipe.recipe import Recipe
from discreet.table.cells import plain

# Beside the recipe in `internal/`, which names it.
KEY_FILE = "pseudonyms.key"
_PSEUDONYM_BYTES = 16


@dataclass(frozen=True)
class Pseudonyms:
    """Replaces some columns; can be pickled."""

    columns: tuple[str, ...] = ()
    key: bytes = field(default=b"", repr=False)

    def of(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the pseudonyms of a column's cells; a null stays null."""
        coded = plain(column).combine_chunks().dictionary_encode()
        made = pa.array(self._hashed(_texts(coded.dictionary)), pa.string())
        return pa.chunked_array([made.take(coded.indices)])

    def _hashed(self, texts: Iterable[str]) -> Iterator[str]:
        """Return the pseudonyms of distinct values.

        HMAC as RFC 2104 defines it, because the module `hmac` prepares the key for each value
        again, which takes four times as long.
        """
        padded = self.key.ljust(sha256().block_size, b"\0")
        inner, outer = (sha256(bytes(byte ^ pad for byte in padded)) for pad in (0x36, 0x5C))
        for text in texts:
            within, whole = inner.copy(), outer.copy()
            within.update(text.encode())
            whole.update(within.digest())
            yield whole.digest()[:_PSEUDONYM_BYTES].hex()


def _texts(values: pa.Array) -> Sequence[str]:
    """Write values as plain text: the same for 7, "7", 7.0 and the decimal 7.00."""
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        return [_number(value) for value in values.to_pylist()]
    return values.cast(pa.large_string()).to_pylist()


def _number(value: float | Decimal) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_key(recipe: Recipe) -> Recipe:
    """Put the key itself into a recipe with pseudonyms: that of its file, or a new one."""
    given = recipe.pseudonym_key
    if not recipe.roles.pseudonyms:
        return recipe
    otherwise = f"take {KEY_FILE} of another release, or leave pseudonym_key out to draw one"
    key = new_key() if given is None else key_of(given, "pseudonym", otherwise)
    return recipe.model_copy(update={"pseudonym_key": key})


def pseudonyms_of(recipe: Recipe) -> Pseudonyms:
    """Return what replaces the recipe's pseudonyms; the recipe holds the key."""
    if not recipe.roles.pseudonyms:
        return Pseudonyms()
    assert recipe.pseudonym_key is not None
    return Pseudonyms(tuple(recipe.roles.pseudonyms), bytes.fromhex(recipe.pseudonym_key))


def kept_recipe(recipe: Recipe) -> Recipe:
    """Return the recipe as `internal/` keeps it: it names the keys' files."""
    named = None if recipe.pseudonym_key is None else KEY_FILE
    project = None if recipe.project_key is None else PROJECT_FILE
    return recipe.model_copy(update={"pseudonym_key": named, "project_key": project})


def save_key(recipe: Recipe, folder: Path) -> None:
    """Write the key of a recipe's pseudonyms to a file that nobody else can read."""
    if not recipe.roles.pseudonyms or recipe.pseudonym_key is None:
        return
    write_private(folder / KEY_FILE, f"{recipe.pseudonym_key}\n")
