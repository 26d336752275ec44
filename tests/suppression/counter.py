"""Counts what local suppression promises, from the definitions: plain Python and numpy.

Nothing of the package is used, so that a mistake there is not made here again. Tables are lists of
rows, cells of which are None where they are null; a record that is left out is a row of None.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

Row = Sequence[Any]
SLACK = 1e-9


@dataclass(frozen=True)
class Suppressed:
    """A table before and after local suppression, and what was asked for."""

    columns: Sequence[str]
    before: Sequence[Row]
    after: Sequence[Row]
    asked: dict[str, Any]  # the parameters by name, as the recipe has them
    gone: Sequence[bool]  # the records that are left out
    units: Sequence[Hashable] | None = None  # of each record, where units are counted
    others: dict[str, Sequence[Any]] | None = None  # columns that models or risks look at

    @property
    def rows(self) -> list[int]:
        """The records that are released."""
        return [row for row, gone in enumerate(self.gone) if not gone]

    def unit(self, row: int) -> Hashable:
        """Return what a record counts for."""
        return row if self.units is None else self.units[row]

    def count(self, rows: Any) -> int:
        """Count records, or the units that they are of."""
        return len({self.unit(int(row)) for row in rows})


def demands(columns: Sequence[str], asked: dict[str, Any]) -> list[tuple[tuple[str, ...], int]]:
    """List the sets of columns, each with how many must share what they say."""
    k, combos, subsets = (asked.get(name) for name in ("k", "combinations", "subsets"))
    found = []
    if k is not None and subsets is None:
        found.append((tuple(columns), k))
    for combo in combos or ():
        found.append((tuple(combo["columns"]), combo["k"]))
    sizes = {subsets: k} if isinstance(subsets, int) else subsets or {}
    for size, least in sizes.items():
        found += [(chosen, least) for chosen in combinations(columns, int(size))]
    if asked.get("max_risk") is not None and asked.get("risk", "class") == "class":
        found.append((tuple(columns), math.ceil(1 / asked["max_risk"] - SLACK)))
    return found


def violations(found: Suppressed) -> list[str]:
    """Say what is not as it was asked for; nothing where all is well."""
    return [*_cells(found), *_shares(found), *_rare(found), *_models(found), *_risks(found)]


def cost(found: Suppressed) -> float:
    """Return the price of all blanks, and of records that are left out."""
    weights = prices(found.columns, found.asked.get("importance"))
    price = 0.0
    for row, gone in enumerate(found.gone):
        if gone:
            price += found.asked["record_cost"]
            continue
        cells = zip(found.columns, found.before[row], found.after[row], strict=True)
        price += sum(weights[c] for c, old, new in cells if old is not None and new is None)
    return price


def prices(columns: Sequence[str], importance: Any) -> dict[str, float]:
    """Return the price of a blank in each column."""
    weights = dict.fromkeys(columns, 1.0)
    if isinstance(importance, dict):
        return weights | importance
    for place, name in enumerate(importance or ()):
        weights[name] = float(len(importance) - place + 1)
    return weights


def found_for_certain(found: Suppressed) -> int:
    """Count the people whose keys fit one released record alone, or records of one unit."""
    fitting = {
        row: [r for r in found.rows if _fits(found.before[row], found.after[r])]
        for row in found.rows
    }
    return found.count([row for row in found.rows if found.count(fitting[row]) == 1])


# Cells


def _cells(found: Suppressed) -> Iterator[str]:
    """Cells are as they were, or blank where they may be."""
    if any(found.gone) and found.asked.get("record_cost") is None:
        yield "records are left out, which was not asked for"
    fixed = found.asked.get("fixed") or ()
    for row, gone in enumerate(found.gone):
        for name, old, new in zip(found.columns, found.before[row], found.after[row], strict=True):
            if gone:
                if new is not None:
                    yield f"row {row} is left out and shows {name}"
            elif new is None and old is not None and name in fixed:
                yield f"row {row}: {name} is fixed, and blank"
            elif new is not None and new != old:
                yield f"row {row}: {name} is {new!r}, not {old!r}"


def _shares(found: Suppressed) -> Iterator[str]:
    """No more records have a blank in a column than its limit lets."""
    for name, limit in (found.asked.get("limit") or {}).items():
        place = list(found.columns).index(name)
        blank = sum(
            found.after[row][place] is None and found.before[row][place] is not None
            for row in found.rows
        )
        if blank > limit * len(found.before) + SLACK:
            yield f"{blank} of {len(found.before)} are blank in {name}, beyond {limit}"


# Readings


def _rare(found: Suppressed) -> Iterator[str]:
    """Every record shares every demanded set of columns with k, by the reading that was asked."""
    reading = found.asked.get("null_policy", "value")
    for names, k in demands(found.columns, found.asked):
        places = [list(found.columns).index(name) for name in names]
        alike = _alike(reading, found, places)
        for row, others in zip(found.rows, alike, strict=True):
            number = found.count(others)
            if number < k:
                yield f"row {row} shares {', '.join(names)} with {number}, not {k} ({reading})"
                break


def _alike(reading: str, found: Suppressed, places: list[int]) -> Iterator[list[int]]:
    """Return the records that protect each released one."""
    shown = {row: [found.after[row][p] for p in places] for row in found.rows}
    was = [[row[p] for p in places] for row in found.before]
    for row in found.rows:
        mine = shown[row]
        if reading == "value":
            yield [other for other, cells in shown.items() if cells == mine]
        elif reading == "match":
            yield [other for other, cells in shown.items() if _fits(mine, cells)]
        else:
            yield [other for other, cells in enumerate(was) if _covered(mine, cells)]


def _fits(one: Row, other: Row) -> bool:
    """Tell whether two records agree wherever neither has a blank."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def _covered(mine: Row, original: Row) -> bool:
    """Tell whether an original holds all that a record shows."""
    return all(a is None or a == b for a, b in zip(mine, original, strict=True))


# Privacy models and risks, on classes of equal records


def _classes(found: Suppressed) -> dict[tuple[Any, ...], list[int]]:
    classes = defaultdict(list)
    for row in found.rows:
        classes[tuple(found.after[row])].append(row)
    return classes


def _models(found: Suppressed) -> Iterator[str]:
    for model in found.asked.get("privacy") or ():
        for cells, rows in _classes(found).items():
            if found.count(rows) < model.get("k", 1):
                yield f"{cells} is a class of {found.count(rows)}, not {model['k']}"
                break
            if model["model"] != "l-diversity":
                continue
            assert found.others is not None
            held = {found.others[model["column"]][row] for row in rows} - {None}
            if model.get("kind", "distinct") == "distinct" and len(held) < model["l"]:
                yield f"{cells} holds {len(held)} values of {model['column']}, not {model['l']}"
                break


def _risks(found: Suppressed) -> Iterator[str]:
    most, risk = found.asked.get("max_risk"), found.asked.get("risk", "class")
    if most is None or risk == "class":
        return
    if risk == "suda":
        worst = max(dis_suda([found.after[row] for row in found.rows]), default=0.0)
    else:
        worst = max(_individual(found), default=0.0)
    if worst > most + SLACK:
        yield f"a record's risk is {worst:.6f}, above {most} ({risk})"


def _individual(found: Suppressed) -> Iterator[float]:
    """Return the mean of one over F, which is f plus a negative binomial of f and p.

    A unit has the mean weight of its records in the class.
    """
    assert found.others is not None
    weights = found.others[found.asked["weight"]]
    for rows in _classes(found).values():
        held: dict[Hashable, list[float]] = defaultdict(list)
        for row in rows:
            held[found.unit(row)].append(weights[row])
        population = sum(sum(some) / len(some) for some in held.values())
        yield mean_of_one_over(len(held), min(1.0, len(held) / population))


def mean_of_one_over(f: int, p: float) -> float:
    """Add up 1 / F over the negative binomial, term by term."""
    if p >= 1:
        return 1 / f
    # P(F = h) = C(h - 1, f - 1) p^f (1 - p)^(h - f), for h = f, f + 1, ...
    total, term, h = 0.0, p**f, f
    reached = 0.0
    while reached < 1 - 1e-12 and h < 1_000_000:
        total, reached = total + term / h, reached + term
        term *= h / (h - f + 1) * (1 - p)
        h += 1
    return total


def dis_suda(rows: Sequence[Row], d: float = 0.01) -> list[float]:
    """Return the DIS-SUDA score of each record, by its minimal sample uniques."""
    if not rows:
        return []
    m, scores = len(rows[0]), np.zeros(len(rows))
    unique: list[set[tuple[int, ...]]] = [set() for _ in rows]
    for size in range(1, m + 1):
        for chosen in combinations(range(m), size):
            cells = [tuple(row[place] for place in chosen) for row in rows]
            counts = Counter(cells)
            for row, cell in enumerate(cells):
                minimal = not any(set(known) <= set(chosen) for known in unique[row])
                if None not in cell and counts[cell] == 1 and minimal:
                    unique[row].add(chosen)
                    scores[row] += math.factorial(m - size)
    pairs = Counter(tuple(row) for row in rows if None not in row)
    twins = 2 * sum(number == 2 for number in pairs.values())
    power = [score ** (1 + (8 - m) / 20) if score else 0.0 for score in scores]
    spread = sum(1 / x for x in power if x)
    return [1 / (1 + twins * (1 - d) / (d * x * spread)) if x else 0.0 for x in power]
