"""The figures behind a report's pictures, counted at assess time: no original is needed later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.assessment.bins import FEWEST, categories, histogram, quantiles, told
from discreet.assessment.facts import Facts
from discreet.assessment.reasons import EXPLAINED, drivers, reasons
from discreet.assessment.rows import Rows
from discreet.clock import leading
from discreet.errors import BadInput
from discreet.measure import LeftOut
from discreet.risk.individual import risk_of
from discreet.table import float_values, kind_of
from discreet.table.cells import plain

Figures = dict[str, Any]
Patterns = Mapping[tuple[str, ...], int]  # columns that are null together -> records
MOST_CORRELATED = 30
MOST_PATTERNS = 12
MOST_RISKY = 20
LARGEST_SAMPLE = 1_000_000
CLASS_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)


def figures_of(t: Facts) -> Figures:
    """Count what the pictures show: distributions in a sample, the rest among all records."""
    drawn = t.drawn
    used = _sample(drawn.num_rows)
    return {
        "sampled": _said(drawn.num_rows if used is None else len(used), t.num_rows),
        "columns": {
            name: _column(t, drawn, name, used) | _left(t, drawn, name) for name in t.shared
        },
        "correlations": _correlations(*t.correlations()),
        "class_sizes": _or_none(_class_sizes, t),
        "nulls": _nulls(t.shared, *t.seen.patterns),
        "drivers": _or_none(drivers, t),
        "riskiest": _or_none(riskiest, t) if drawn.num_rows == t.num_rows else None,
    }


def released_figures(released: pa.Table) -> Figures:
    """Count what a picture of each released column shows, from the released table alone."""
    used = _sample(released.num_rows)
    columns = {}
    for name in released.column_names:
        column = released[name] if used is None else released[name].take(pa.array(used))
        if kind_of(column.type) == "numeric":
            entry = _kind(column.type)
            dates = entry["kind"] == "date"
            values = _present(float_values(column, name))
            entry["released"] = _bins(histogram(values, dates=dates), dates, ("counts",))
        else:
            entry = {"kind": "categorical", "released_categories": _released_labels(column)}
        columns[name] = entry
    n = released.num_rows
    return {"sampled": _said(n if used is None else len(used), n), "columns": columns}


def _said(drawn: int, n: int) -> Figures | None:
    return None if drawn == n else {"rows": drawn, "of": n}


def _released_labels(column: pa.ChunkedArray) -> Figures | None:
    counts = _label_counts(column)
    return None if counts is None else categories(counts)


def _sample(n: int) -> np.ndarray | None:
    """Choose the rows that distributions are taken from; None for all."""
    if n <= LARGEST_SAMPLE:
        return None
    chosen = np.random.default_rng(n).choice(n, LARGEST_SAMPLE, replace=False)
    return np.sort(chosen)


def _or_none(measure: Callable[[Facts], Any], t: Facts) -> Any:
    """Measure by classes of quasi values, where these mean something."""
    if any(column in t.perturbed for column in t.quasi):
        return None
    try:
        return measure(t)
    except (LeftOut, BadInput):
        return None


# One column


def _column(t: Facts, drawn: Rows, name: str, used: np.ndarray | None) -> Figures:
    entry: Figures = {"changed": name in t.changed_numeric or name in t.changed_categories}
    if name in drawn.pairs:
        sides = [_present(side if used is None else side[used]) for side in drawn.pairs[name]]
        entry |= _kind(drawn.after[name].type)
        dates = entry["kind"] == "date"
        entry["histogram"] = _bins(histogram(*sides, dates=dates), dates, ("before", "after"))
        found = quantiles(*sides)
        entry["quantiles"] = found and {
            when: told(side, dates, digits=6 + leading(np.concatenate(found)))
            for when, side in zip(("before", "after"), found, strict=True)
        }
        return entry
    entry["kind"] = "categorical"
    before, after = (
        _label_counts(table[name] if used is None else table[name].take(pa.array(used)))
        for table in (drawn.before, drawn.after)
    )
    if before is None or after is None:
        entry["categories"] = None
    elif set() < set(after) - {"*"} <= set(before):
        entry["categories"] = categories(before, after)
    else:
        # Labels of another level cannot be laid beside the original's.
        entry |= {"recoded": True, "released_categories": categories(after)}
    return entry


def _left(t: Facts, drawn: Rows, name: str) -> Figures:
    """Count what is left of a changed column: the share of cells that are *, and its values.

    In a sample, rare values are missing, and so there is no number of them.
    """
    if name not in t.changed_numeric and name not in t.changed_categories:
        return {}
    before, after = (plain(table[name]) for table in (drawn.before, drawn.after))
    stars = 0
    if pa.types.is_string(after.type) or pa.types.is_large_string(after.type):
        stars = pc.sum(pc.equal(after, "*")).as_py() or 0
    found: Figures = {"starred": stars / max(1, drawn.num_rows)}
    if drawn.num_rows == t.num_rows:
        try:
            values = [pc.count_distinct(side).as_py() for side in (before, after)]
        except pa.ArrowNotImplementedError:
            return found
        found["values"] = [values[0], values[1] - (stars > 0)]
    return found


def _kind(kind: pa.DataType) -> Figures:
    if pa.types.is_duration(kind):
        return {"kind": "numeric", "unit": "seconds"}
    return {"kind": "date" if pa.types.is_temporal(kind) else "numeric"}


def _present(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def _bins(found: tuple[np.ndarray, ...] | None, dates: bool, names: tuple[str, ...]) -> Any:
    if found is None:
        return None
    edges, *counts = found
    sides = {name: side.tolist() for name, side in zip(names, counts, strict=True)}
    return {"edges": told(edges, dates, digits=12 + leading(edges)), **sides}


def _label_counts(column: pa.ChunkedArray) -> dict[str, int] | None:
    """Count the labels of a column, as text; None where its values cannot be counted."""
    try:
        found = pc.value_counts(plain(column).cast(pa.large_string()).drop_null())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
    return dict(
        zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)
    )


# All columns together


def _correlations(names: list[str], before: np.ndarray, after: np.ndarray) -> Figures | None:
    m = MOST_CORRELATED
    names, before, after = names[:m], before[:m, :m], after[:m, :m]
    if len(names) < 2 or not np.isfinite([before, after]).all():
        return None
    return {
        "columns": names,
        "before": _rounded(before),
        "after": _rounded(after),
    }


def _rounded(matrix: np.ndarray) -> list[list[float]]:
    return [[round(float(r), 4) + 0.0 for r in row] for row in matrix]


def _class_sizes(t: Facts) -> Figures:
    ends = [*CLASS_SIZES[1:], None]
    names = [_size_name(low, end) for low, end in zip(CLASS_SIZES, ends, strict=True)]
    sides = []
    for sizes, records in (found.smallest for found in t.frequencies):
        place = np.searchsorted(CLASS_SIZES, sizes, side="right") - 1
        counts = np.bincount(place, records, minlength=len(CLASS_SIZES))
        sides.append(counts.astype(np.int64).tolist())
    found = {"sizes": names, "before": sides[0], "after": sides[1], "columns": t.quasi}
    return found | t.counts


def _size_name(low: int, end: int | None) -> str:
    if end is None:
        return f"{low} or more"
    return str(low) if end == low + 1 else f"{low}-{end - 1}"


def _nulls(names: list[str], *sides: Patterns) -> Figures | None:
    n = sum(sides[1].values())
    if not n:
        return None
    shares = [
        [round(sum(m for null, m in side.items() if name in null) / n, 6) for name in names]
        for side in sides
    ]
    return {
        "columns": names,
        "rows": n,
        "before": shares[0],
        "after": shares[1],
        "patterns": _common(*sides),
    }


def is_null(column: pa.ChunkedArray) -> np.ndarray:
    """Say of each cell whether it is null or not a number."""
    nan_is_null = pa.types.is_floating(column.type)
    return column.is_null(nan_is_null=nan_is_null).to_numpy()


def _common(*sides: Patterns) -> list[Figures]:
    """Return the commonest patterns."""
    found: dict[tuple[str, ...], list[int]] = {(): [0, 0]}
    for i, side in enumerate(sides):
        for null, count in side.items():
            found.setdefault(null, [0, 0])[i] = count
    common = {null: n for null, n in found.items() if max(n) >= FEWEST}
    order = sorted(common, key=lambda null: (-sum(common[null]), null))[:MOST_PATTERNS]
    # Of a few records no number is told: None stands for fewer than ten.
    shown = {null: [None if 0 < n < FEWEST else n for n in common[null]] for null in order}
    return [{"columns": list(c), "before": n[0], "after": n[1]} for c, n in shown.items()]


def riskiest(t: Facts) -> list[Figures]:
    """Find the records most at risk in the release, by their row in the original, from 1.

    Of the first it is told what is released of them, and why they are at risk.
    """
    t.need_quasi()
    before, after = t.drawn.frequencies
    risk, row = risk_of(after), t.drawn.numbers
    order = np.lexsort((row, after.sample, -risk))[:MOST_RISKY]
    why = reasons(t, order[:EXPLAINED].tolist()) + [{}] * MOST_RISKY
    # By weights a class of 5 stands for many people, and the risk is not 1/5.
    weighted = {"weighted": True} if t.weighted else {}
    return [
        {
            "row": int(row[i]) + 1,
            "risk": float(f"{risk[i]:.4g}"),
            "class": int(after.sample[i]),
            "class_before": int(before.sample[i]),
            **weighted,
            **more,
        }
        for i, more in zip(order, why, strict=False)
    ]
