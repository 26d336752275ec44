"""What an intruder knows: sets of columns, and the columns in them that can tell records apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import BadInput, nearest
from discreet.measure import Entry, Facts
from discreet.risk.values import refuse_infinite
from discreet.table.pairs import Pair

Known = str | Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True)
class KnownSet:
    """The share of records linked correctly by one set of known columns.

    Constant columns are left out. `unlinkable` records could not be compared with their own
    original because of nulls; they count as not linked.
    """

    columns: tuple[str, ...]
    value: float
    unlinkable: int = 0


@dataclass(frozen=True, eq=False)
class Linkage:
    """How many records are linked correctly, as a share in 0..1.

    `value`, and in `records` each record's chance, are means over the sets of known columns.
    """

    value: float
    sets: tuple[KnownSet, ...]
    records: np.ndarray


def known_sets(known: Known, columns: Sequence[str]) -> list[list[str]]:
    """List the sets of columns that an intruder is taken to know, of those there are.

    `"paper"`: the first 1, 2, ... h columns, h = half of them, rounded up.

    Examples
    --------
    >>> known_sets("paper", ["age", "income", "rent"])
    [['age'], ['age', 'income']]
    >>> known_sets(["rent", "age"], ["age", "income", "rent"])
    [['rent', 'age']]
    """
    columns = list(columns)
    if not columns:
        raise BadInput("the two tables share no column that this measure can compare")
    if isinstance(known, str):
        if known == "paper":
            return [columns[:h] for h in range(1, (len(columns) + 1) // 2 + 1)]
        if known == "all":
            return [columns]
        raise BadInput(f'known = "{known}" is not "paper", "all" or a list of columns')
    names = [name for name in known if isinstance(name, str)]
    if names and len(names) < len(known):
        raise BadInput("known mixes columns and lists of columns")
    sets = [names] if names else [list(chosen) for chosen in known]
    if not sets:
        raise BadInput("known holds no columns")
    for chosen in sets:
        _check_set(chosen, columns)
    return sets


def _check_set(chosen: list[str], columns: list[str]) -> None:
    if not chosen:
        raise BadInput("known holds an empty set of columns")
    for name in chosen:
        if name not in columns:
            raise BadInput(f"column '{name}' cannot be compared; {nearest(str(name), columns)}")
    if len(set(chosen)) < len(chosen):
        raise BadInput(f"known names a column twice: {', '.join(chosen)}")


def constant_columns(pairs: dict[str, Pair], used: Iterable[str], measure: str) -> set[str]:
    """Find the columns with fewer than two different values in either file, and warn of each.

    They cannot tell records apart, and have no standard deviation to divide by. A column that
    holds infinity is refused.
    """
    constant = set()
    for name in dict.fromkeys(used):
        refuse_infinite(name, pairs[name].x, pairs[name].y)
        for file, values in (("original", pairs[name].x), ("protected", pairs[name].y)):
            present = values[~np.isnan(values)]
            if present.size == 0 or present.min() == present.max():
                what = "is constant" if present.size else "holds only nulls"
                warnings.warn(
                    f"{measure} leaves out column '{name}', which {what} in the {file} table",
                    stacklevel=3,
                )
                constant.add(name)
                break
    return constant


def linkage_over_sets(
    outcomes: Sequence[tuple[list[str], np.ndarray, int]],
) -> Linkage:
    """Average the hits of all sets; each comes with its columns and its unlinkable records."""
    records = np.mean([hits for _, hits, _ in outcomes], axis=0)
    sets = tuple(
        KnownSet(tuple(columns), float(hits.mean()) if hits.size else 0.0, unlinkable)
        for columns, hits, unlinkable in outcomes
    )
    return Linkage(float(np.mean([s.value for s in sets])), sets, records)


def linked_by(t: Facts, link: Callable[..., float]) -> Entry:
    """Try to link records, before and after, by what the strongest and a weaker intruder know."""
    x, y = t.to_link.linked()
    # The paper's weaker intruder understates risk, so the headline knows all columns.
    before, after, paper = (
        link(x, z, known=known) for z, known in ((x, "all"), (y, "all"), (y, "paper"))
    )
    found = {"columns": x.column_names, "before": before, "after": after, "paper": paper}
    return found | t.sampled(after)
