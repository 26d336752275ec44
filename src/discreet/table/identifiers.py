"""Direct identifiers: columns that name one person each, told from their names and values.

A number that is different in nearly every row may be an amount, so numbers are identifiers only
where their name says so, where they are consecutive, or where nearly all are long and of one
length, as those of accounts and insurances are. Text that is different in nearly every row is an
identifier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.table import words
from discreet.table.cells import plain
from discreet.table.columns import kind_of
from discreet.table.patterns import PATTERNS

# Rows of a column, or of each piece of one, that are looked at before all are counted.
_LOOKED_AT = 20_000
_TEXTS = 300
_FEW = 20
# Fewer values may all be different by chance, and be consecutive with a few gaps.
FEWEST, _FEWEST_WITH_GAPS = 20, 100
_NEARLY_ALL = 0.9
# Digits of numbers that are given out, and not measured; of random ones a tenth is shorter.
_LONG, _OF_ONE_LENGTH = 7, 0.85
_MOST_DIGITS = 20
# Days that are written as one number, such as 20240131.
_DAYS = (1800_01_01, 2100_12_31)
# With more rows a value, a number of something is not that of a person.
_MOST_ROWS = 20


@dataclass(frozen=True)
class Marks:
    """What a look at a column shows; those of two pieces can be joined."""

    present: int  # rows that are not null
    looked_at: int  # some of them,
    distinct: int  # and how many values differ among these
    text: bool
    whole: bool = True  # whole numbers, where it is not text
    low: float = np.inf
    high: float = -np.inf
    texts: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()  # how many of the values have no, one, two, ... digits
    few: frozenset[Any] | None = None  # the values, where they are few

    def joined(self, other: Marks) -> Marks:
        """Return the marks of both pieces; of values that are not few, some are counted twice.

        Examples
        --------
        >>> yes_and_no = marks_of(pa.chunked_array([["y", "n"] * 50]))
        >>> yes_and_no.joined(yes_and_no).distinct
        2
        """
        both = None if self.few is None or other.few is None else self.few | other.few
        return Marks(
            present=self.present + other.present,
            looked_at=self.looked_at + other.looked_at,
            distinct=self.distinct + other.distinct if both is None else len(both),
            text=self.text,
            whole=self.whole and other.whole,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            texts=_mixed(self, other),
            lengths=tuple(map(sum, zip(self.lengths, other.lengths, strict=False)))
            or self.lengths
            or other.lengths,
            few=both if both is None or len(both) <= _FEW else None,
        )


def _mixed(one: Marks, other: Marks) -> tuple[str, ...]:
    """Return texts of both pieces, as many of each as rows of it were looked at."""
    texts = tuple(dict.fromkeys(one.texts + other.texts))
    if len(texts) <= _TEXTS:
        return texts
    share = round(_TEXTS * one.looked_at / (one.looked_at + other.looked_at))
    share = min(max(share, _TEXTS - len(other.texts)), len(one.texts))
    parts = (one.texts, share), (other.texts, _TEXTS - share)
    return tuple(
        texts[i] for texts, n in parts for i in np.linspace(0, len(texts) - 1, n).astype(int)
    )


def can_identify(kind: pa.DataType) -> bool:
    """Tell whether a column of a type may be an identifier: text and numbers, but no dates."""
    plain_kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind_of(kind) in ("numeric", "text", "categorical", "ordered") and not (
        pa.types.is_temporal(plain_kind)
    )


def marks_of(column: pa.ChunkedArray) -> Marks:
    """Look at a column of text or numbers."""
    some = plain(column.take(_spread(len(column), _LOOKED_AT))).drop_null()
    values = some.unique()
    found = Marks(
        present=len(column) - column.null_count,
        looked_at=len(some),
        distinct=len(values),
        text=kind_of(column.type) != "numeric",
        few=frozenset(values.to_pylist()) if len(values) <= _FEW else None,
    )
    return _with_values(found, values, column)


def _with_values(found: Marks, values: pa.Array, column: pa.ChunkedArray) -> Marks:
    """Add what the values are: some of the texts, or the range of whole numbers."""
    if found.text:
        chosen = values.take(_spread(len(values), _TEXTS)).cast(pa.large_string())
        return replace(found, texts=tuple(chosen.to_pylist()))
    if not is_whole(values):
        return replace(found, whole=False)
    ends = pc.min_max(column).as_py()
    if ends["min"] is None:
        return found
    known = np.abs(values.cast(pa.float64(), safe=False).to_numpy())
    digits = np.ceil(np.log10(np.maximum(known, 0.5) + 0.5)).astype(np.int64)
    lengths = np.bincount(np.minimum(digits, _MOST_DIGITS), minlength=_MOST_DIGITS + 1)
    low, high = float(ends["min"]), float(ends["max"])
    return replace(found, low=low, high=high, lengths=tuple(lengths.tolist()))


def _spread(n: int, most: int) -> pa.Array:
    """Return positions, spread over all."""
    return pa.array(np.arange(0, n, max(1, -(-n // most))))


def is_whole(values: pa.Array) -> bool:
    """Tell whole numbers from measurements; those of a column with nulls may come as floats."""
    if pa.types.is_floating(values.type):
        return pc.all(pc.equal(pc.floor(values), values)).as_py() is not False
    if pa.types.is_decimal(values.type):
        return bool(values.type.scale <= 0)
    return pa.types.is_integer(values.type)


def why_identifier(name: str, marks: Marks, count: Callable[[], int]) -> str | None:
    """Say why a column is a direct identifier, if it is one; `count` counts its values.

    Examples
    --------
    >>> numbers = pa.chunked_array([[10, 20, 30] * 20 + list(range(100, 200))])
    >>> why_identifier("subj_nr", marks_of(numbers), lambda: 103)
    'its name says that it numbers people, and it has 103 values'
    >>> why_identifier("salary", marks_of(numbers), lambda: 103)
    """
    if marks.present < FEWEST or not marks.whole:
        return None
    called = words.parts_of(name)
    return (
        (_by_text(marks, count) if marks.text else _by_numbers(called, marks, count))
        or _by_number_of_persons(called, marks, count)
        or _by_name(called, marks, count)
    )


def _by_text(marks: Marks, count: Callable[[], int]) -> str | None:
    # Some dates could be phone numbers.
    if looks_like(marks.texts, _MEASURED):
        return None
    form = looks_like(marks.texts, PATTERNS)
    if form and count() > min(FEWEST, marks.present / 2):
        what, share = form
        return f"{share:.0%} of its values look like {what}"
    return _differ(marks, count) if _nearly_all(marks, count) else None


def _by_numbers(called: list[str], marks: Marks, count: Callable[[], int]) -> str | None:
    named = words.numbers_something(called)
    range_ = marks.high - marks.low + 1
    dense = _NEARLY_ALL * range_ <= marks.present <= range_ / _NEARLY_ALL
    long = _long(called, marks)
    if not (named or dense or long) or not _nearly_all(marks, count):
        return None
    if named:
        return f"its name says that it numbers something, and {_differ(marks, count)}"
    if long:
        return f"it holds numbers of {long} digits, and {_differ(marks, count)}"
    gaps = range_ - count()
    if gaps > (marks.present >= _FEWEST_WITH_GAPS) * range_ / 10 or _known(called, words.YEARS):
        return None
    return f"its numbers are consecutive, from {marks.low:.0f} to {marks.high:.0f}"


def _long(called: list[str], marks: Marks) -> int | None:
    """Return how many digits nearly all numbers have, where these are too many for an amount."""
    if _known(called, words.CONFIDENTIAL) or not sum(marks.lengths):
        return None
    digits = int(np.argmax(marks.lengths))
    shared = marks.lengths[digits] / sum(marks.lengths)
    days = _DAYS[0] <= marks.low and marks.high <= _DAYS[1]
    return digits if digits >= _LONG and shared >= _OF_ONE_LENGTH and not days else None


def _by_number_of_persons(called: list[str], marks: Marks, count: Callable[[], int]) -> str | None:
    """Find numbers of persons and households, who may have several rows each."""
    persons, homes = words.numbers_persons(called), words.numbers_households(called)
    if persons or homes:
        what = "people" if persons else "households"
    elif words.numbers_something(called) and not _known(called):
        what = "people or cases"
    else:
        return None
    values = count()
    if values <= FEWEST or not (persons or marks.present <= _MOST_ROWS * values):
        return None
    return f"its name says that it numbers {what}, and it has {values:,} values"


def _by_name(called: list[str], marks: Marks, count: Callable[[], int]) -> str | None:
    """Find names of people, and what leads to them."""
    if _known(called, words.CONFIDENTIAL):
        return None
    names = marks.text and _has(called, words.NAMES) and not looks_like(marks.texts, _NOT_PERSONS)
    if not names and not _has(called, words.CONTACTS):
        return None
    values = count()
    if values <= FEWEST or marks.present > _MOST_ROWS * values:
        return None
    does = "names people" if names else "leads to a person"
    return f"its name says that it {does}, and it has {values:,} values"


def _differ(marks: Marks, count: Callable[[], int]) -> str:
    return f"{count() / marks.present:.0%} of its values are different"


def _nearly_all(marks: Marks, count: Callable[[], int]) -> bool:
    """Tell whether nearly all values differ; all are counted only where they may."""
    if marks.distinct < _NEARLY_ALL * marks.looked_at:
        return False
    return count() >= _NEARLY_ALL * marks.present


def _known(called: list[str], more: frozenset[str] = frozenset()) -> bool:
    return _has(called, words.OPEN | words.KNOWN | more)


def _has(called: list[str], listed: frozenset[str]) -> bool:
    return any(part in listed for part in called)


Tests = dict[str, Callable[[str], object]]
# Text that may be different in every row and is not a name: dates, and numbers with decimals.
_MEASURED: Tests = {said: pattern.fullmatch for pattern, said in words.DATES.items()}
_MEASURED["decimals"] = words.DECIMAL.fullmatch
_NOT_PERSONS: Tests = {"organisations": words.ORGANISATION.fullmatch}


def looks_like(texts: Sequence[str], tests: Tests) -> tuple[str, float] | None:
    """Return the first test that nearly all texts pass, and the share that does."""
    for said, test in tests.items():
        share = sum(bool(test(text.strip())) for text in texts) / max(len(texts), 1)
        if texts and share >= _NEARLY_ALL:
            return said, share
    return None
