"""Random tables: what columns of real files hold, and what they should not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

MOST_ROWS, MOST_ROWS_AT_TIMES = 400, 5_000
MARKER = "?"  # A value, or what stands for a missing one: the recipe says which.
_NAMES = ("Größe", "order by", "a.b", "x y", "_n", "col-1", "Ünit'1")


@dataclass(frozen=True)
class Made:
    """A table, and of each column what it is made to be."""

    table: pa.Table
    kinds: dict[str, str]

    def of(self, *kinds: str) -> list[str]:
        """Name the columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


def make_table(rng: np.random.Generator, most: int | None = None) -> Made:
    """Make a table of 1 to 400 rows, and one in fifty larger."""
    n = min(_rows(rng), most or MOST_ROWS_AT_TIMES)
    columns: dict[str, pa.Array] = {}
    kinds: dict[str, str] = {}

    def add(name: str, kind: str, values: Any) -> None:
        columns[name] = values if isinstance(values, pa.Array) else pa.array(values)
        kinds[name] = kind

    if rng.random() < 0.4:
        add("name", "identifier", [f"Person {i:05d}" for i in rng.permutation(n)])
    homes = _groups(rng, n)
    if rng.random() < 0.25:
        add("home", "household", homes if rng.random() < 0.7 else [f"h{i}" for i in homes])
        add("home_income", "number", rng.integers(1, 60, n)[homes % n] * 100)
    if rng.random() < 0.2:
        add("patient", "unit", _groups(rng, n))
    if rng.random() < 0.15:
        add("sampled", "weight", np.round(rng.uniform(1, 9, n), 1))
    for number in range(int(rng.integers(2, 7))):
        name = str(rng.choice(_NAMES)) if rng.random() < 0.05 else f"c{number}"
        kind = str(rng.choice(list(_KINDS), p=_SHARES))
        if name not in columns:
            add(name, kind, _with_nulls(rng, _KINDS[kind](rng, n)))
    return Made(pa.table(columns), kinds)


def _rows(rng: np.random.Generator) -> int:
    if rng.random() < 0.02:
        return int(rng.integers(MOST_ROWS, MOST_ROWS_AT_TIMES))
    low, high = [(1, 12), (12, 80), (80, 200), (200, MOST_ROWS)][
        rng.choice(4, p=[0.07, 0.38, 0.4, 0.15])
    ]
    return int(rng.integers(low, high + 1))


def _groups(rng: np.random.Generator, n: int) -> np.ndarray:
    """Put rows into groups of about one to five, side by side or scattered."""
    sizes = rng.integers(1, int(rng.integers(2, 6)) + 1, n)
    groups = np.repeat(np.arange(n), sizes)[:n] + 1
    return rng.permutation(groups) if rng.random() < 0.5 else groups


def _with_nulls(rng: np.random.Generator, column: pa.Array) -> pa.Array:
    n, drawn = len(column), rng.random()
    if drawn < 0.6:
        return column
    mask = rng.random(n) < (0.05 if drawn < 0.8 else 0.3)
    if drawn > 0.95:
        mask = np.arange(n) == rng.integers(n)
    return pa.array(column.to_pylist(), column.type, mask=mask)


# Columns


def _number(rng: np.random.Generator, n: int) -> pa.Array:
    made: list[Callable[[], Any]] = [
        lambda: np.round(rng.normal(50, 20, n), int(rng.integers(0, 4))),
        lambda: np.round(rng.lognormal(8, 1, n), 2),
        lambda: rng.integers(0, int(rng.integers(2, 100)), n),
        lambda: np.where(rng.random(n) < 0.3, 0, rng.integers(1, 5000, n)),
        lambda: np.where(rng.random(n) < 0.2, 1000.0, np.round(rng.exponential(900, n), 1)),
        lambda: 1e9 + np.round(rng.normal(0, 1, n), 3),
        lambda: rng.normal(0, 1e-6, n),
        lambda: rng.normal(0, 1e12, n),
        lambda: np.full(n, float(rng.integers(-5, 5))),
        lambda: rng.choice(10 * n, n, replace=False) * 7 - 3 * n,
        lambda: rng.integers(-9, 10, n).astype(np.int8),
        lambda: rng.integers(0, 120, n).astype(np.uint8),
        lambda: rng.normal(5, 1, n).astype(np.float32),
        lambda: [Decimal(int(x)) / 100 for x in rng.integers(-100_000, 100_000, n)],
        lambda: rng.standard_cauchy(n),
    ]
    values = made[int(rng.integers(len(made)))]()
    if isinstance(values, list):
        return pa.array(values, pa.decimal128(12, 2))
    return pa.array(values)


def _date(rng: np.random.Generator, n: int) -> pa.Array:
    span = int(rng.choice([30, 700, 20_000]))
    days = rng.integers(0, span, n).tolist()
    if rng.random() < 0.6:
        return pa.array([date(1960, 1, 1) + timedelta(days=d) for d in days])
    fine = int(rng.choice([1, 60, 3600, 86_400]))
    seconds = (rng.integers(0, 86_400, n) // fine * fine).tolist()
    first = datetime(1999, 12, 1)
    times = [first + timedelta(days=d, seconds=s) for d, s in zip(days, seconds, strict=True)]
    return pa.array(times, pa.timestamp("us", tz="UTC" if rng.random() < 0.2 else None))


def _category(rng: np.random.Generator, n: int) -> pa.Array:
    labels = np.array(["red", "green", "blue", "grey", "white", "black", "pink", "gold"])
    size = int(rng.integers(1, len(labels) + 1))
    values = rng.choice(labels[:size], n, p=rng.dirichlet(np.full(size, 2.0)))
    if rng.random() < 0.1:
        values = np.where(rng.random(n) < 0.1, MARKER, values)
    column = pa.array(values.tolist())
    return column.dictionary_encode() if rng.random() < 0.3 else column


def _code(rng: np.random.Generator, n: int) -> pa.Array:
    """Make codes of equal length, as postal ones, that begin alike."""
    codes = rng.choice(int(rng.integers(2, 60)), n) * 37 % 1000
    return pa.array([f"K{code:03d}" for code in codes])


def _items(rng: np.random.Generator, n: int) -> pa.Array:
    """Make sets of a few things, as what was bought together."""
    things = np.array(["apple", "bread", "cheese", "dates", "eggs", "figs"])[
        : int(rng.integers(2, 7))
    ]
    sets = [things[rng.random(len(things)) < 0.5] for _ in range(n)]
    return pa.array(["|".join(some) or str(things[0]) for some in sets])


_KINDS: dict[str, Callable[[np.random.Generator, int], pa.Array]] = {
    "number": _number,
    "date": _date,
    "bool": lambda rng, n: pa.array(rng.random(n) < rng.choice([0.1, 0.5])),
    "category": _category,
    "code": _code,
    "items": _items,
}
_SHARES = [0.5, 0.1, 0.08, 0.2, 0.09, 0.03]
