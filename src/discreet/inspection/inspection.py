"""A first look at a table: what its columns are, and which combinations give people away."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import BadInput, nearest
from discreet.inspection.encoded import Encoded, encode_table
from discreet.inspection.guesses import Guess, dates_as_text, guess_role
from discreet.inspection.keys import Keys, as_dict, find_keys, finer_columns, most_exposed
from discreet.inspection.missing import is_usual, missing_marks
from discreet.inspection.units import settle_units
from discreet.table.columns import ends_of


@dataclass(frozen=True)
class ColumnLook:
    """What a column looks like."""

    name: str
    kind: str
    type: str
    nulls: int
    distinct: int
    unique: float  # share of the records with a unique value
    smallest: str | None  # for numbers and dates
    largest: str | None
    guess: Guess  # its probable role, and why
    missing: dict[str, str]  # values that probably stand for a missing value, and why
    dates: str | None  # how dates are written, if it holds dates as text or as integers
    label: str | None = None  # what the file says about the column

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = {key: value for key, value in vars(self).items() if key != "guess"}
        guess = {"role": self.guess.role, "reason": self.guess.reason, "sure": self.guess.sure}
        return plain | {"guess": guess}


@dataclass(frozen=True, repr=False)
class Inspection:
    """What `inspect` returns.

    Attributes
    ----------
    rows : int
    columns : tuple of ColumnLook
    keys : Keys
        The combinations of columns that single out most records, riskiest first.
    finer : tuple of pairs of str
        Pairs of columns in which the first determines the second.
    source : Path or None
    markers : tuple of str
        Marks of missing values: those given, and the usual ones that the table holds. Such cells
        count as nulls.
    """

    rows: int
    columns: tuple[ColumnLook, ...]
    keys: Keys
    finer: tuple[tuple[str, str], ...]
    encoded: dict[str, Encoded] = field(repr=False)
    source: Path | None = None
    markers: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, Guess]:
        """The guessed role of each column."""
        return {look.name: look.guess for look in self.columns}

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column of the table."""
        if name not in self.encoded:
            raise BadInput(f"the table has no column '{name}'; {nearest(name, self.encoded)}")
        return self.encoded[name].column()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "rows": self.rows,
            "columns": [look.to_dict() for look in self.columns],
            "keys": as_dict(self.keys),
            "finer": [list(pair) for pair in self.finer],
        }

    def _repr_html_(self) -> str:
        """Show notebooks the probable roles and the riskiest keys, and no values."""
        from discreet.report.notebook import inspection_html

        return inspection_html(self.to_dict())

    def __repr__(self) -> str:
        key = next((" x ".join(one.columns) for one in self.keys.riskiest), "not known")
        return f"<Inspection of {self.rows:,} rows and {len(self.columns)} columns, riskiest {key}>"


def inspect(table: Any, **dialect: Any) -> Inspection:
    """Take a first look at a table: kinds, likely identifiers, and the riskiest keys.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
    **dialect
        How a file is to be read, as for `read_table`.

    Returns
    -------
    Inspection
        `columns`, `keys`; `to_dict()` returns everything as plain data.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> seen = inspect(make_households(5000, seed=1))
    >>> [name for name, guess in seen.roles.items() if guess.role == "identifiers"]
    ['name']
    >>> seen.keys.riskiest[0].columns
    ('postcode', 'birth_date', 'sex')
    """
    encoded = encode_table(table, **dialect)
    missing = missing_marks(encoded)
    given = tuple(dialect.pop("null_markers", ()))
    marks = [v for found in missing.values() for v, why in found.items() if is_usual(why)]
    markers = tuple(dict.fromkeys([*given, *marks]))
    if marks:
        # Only without its marks has a column the kind that the recipe will see. What was read
        # first need not stay in memory.
        del encoded
        encoded = encode_table(table, null_markers=markers, **dialect)
        missing = _joined(missing, missing_marks(encoded))
    guesses = settle_units(encoded, {name: guess_role(one) for name, one in encoded.items()})
    columns = tuple(
        _look(column, guesses[name], missing.get(name, {})) for name, column in encoded.items()
    )
    quasi = [encoded[name] for name, guess in guesses.items() if guess.role == "quasi"]
    exposure = {name: guess.exposure for name, guess in guesses.items()}
    finer_ones = finer_columns(most_exposed(quasi, exposure))
    finer = tuple(dict.fromkeys([*finer_ones, *_birth_and_age(columns)]))
    rows = len(next(iter(encoded.values())).codes)
    source = Path(table) if isinstance(table, str | Path) else None
    keys = find_keys(quasi, exposure, finer)
    return Inspection(rows, columns, keys, finer, encoded, source, markers)


def _joined(*parts: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Join what was found, column by column; what was found first stays."""
    joined: dict[str, dict[str, str]] = {}
    for part in parts:
        for name, found in part.items():
            joined[name] = found | joined.get(name, {})
    return joined


def _look(column: Encoded, guess: Guess, missing: dict[str, str]) -> ColumnLook:
    values = column.values
    smallest = largest = None
    if column.kind == "numeric" and len(values):
        smallest, largest = (_number(end) for end in ends_of(values))
    return ColumnLook(
        name=column.name,
        kind=column.kind,
        type=str(values.type),
        nulls=column.nulls,
        distinct=len(values),
        unique=column.unique / max(len(column.codes), 1),
        smallest=smallest,
        largest=largest,
        guess=guess,
        missing=missing,
        dates=dates_as_text(column),
        label=column.labels.label,
    )


def _number(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _birth_and_age(columns: tuple[ColumnLook, ...]) -> list[tuple[str, str]]:
    """Assume that a date of birth determines the age, which a few records cannot show."""
    births = [c for c in columns if c.type.startswith(("date", "timestamp"))]
    births = [c for c in births if any(w in c.name.lower() for w in ("birth", "born", "dob"))]
    ages = [c for c in columns if c.guess.role == "quasi" and "age" in c.name.lower().split("_")]
    return [(b.name, a.name) for b in births for a in ages]
