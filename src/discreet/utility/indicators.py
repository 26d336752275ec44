"""Own indicators: what an analyst will compute, from the original and from the release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.frame import in_rows
from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, LeftOut, Measure
from discreet.table.columns import float_values, kind_of
from discreet.utility.compared import as_text
from discreet.utility.contingency import grouped
from discreet.utility.covers import covers_of, middle_of
from discreet.utility.formulas import Column, Formula, Number, Operation, Term, Text, read_formula

# Rows of a release whose labels are spread over groups; more would fill memory.
_MOST_SPREAD = 20_000_000
# Groups that are listed, those that changed most.
_MOST_LISTED = 100
_COMPUTE = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True)
class Side:
    """The original, or the release: rows, how much of each counts, and the group that it is in."""

    table: pa.Table
    like: pa.Table  # the original, row by row
    weight: np.ndarray
    group: np.ndarray
    row: np.ndarray  # of the table, for each weight and group
    rows: int  # that there are


def indicators(
    original: Any,
    protected: pa.Table,
    formulas: Sequence[str],
    *,
    there: np.ndarray | None = None,
    hierarchies: Any = None,
    weight: str | None = None,
) -> list[Entry]:
    """Compute indicators from the original and from the release.

    Parameters
    ----------
    original, protected : pyarrow.Table
        The same rows in the same order; a column that the second lacks is the original's.
    formulas : list of str
        Such as `"mean(income) by region"`.
    there : ndarray of bool, optional
        Rows that the release has; all where not given.
    hierarchies : mapping of str to Hierarchy, optional
        Of columns of text: what their labels cover.
    weight : str, optional
        The column of sampling weights, by which each indicator is given too.

    Returns
    -------
    list of dict
        Of each its `text`, `before`, `after`, `change` (relative), and where it has groups, these,
        those that changed most first; `before` and `after` are then those of the first.

    Examples
    --------
    >>> original = pa.table({"pay": [10.0, 30.0, 20.0], "region": ["a", "b", "b"]})
    >>> released = pa.table({"pay": [10.0, 20.0, 20.0], "region": ["a", "b", "b"]})
    >>> [found] = indicators(original, released, ["mean(pay) by region"])
    >>> [(one["group"], one["before"], one["after"]) for one in found["groups"]]
    [('b', 25.0, 20.0), ('a', 10.0, 10.0)]
    """
    there = np.ones(len(original), bool) if there is None else there
    found = []
    for text in formulas:
        formula = read_formula(text)
        try:
            found.append(_taken(formula, original, protected, there, hierarchies or {}, weight))
        except BadInput as error:
            warnings.warn(f"the indicator '{text}' is left out: {error}", stacklevel=2)
    return found


def _taken(
    formula: Formula,
    original: pa.Table,
    protected: pa.Table,
    there: np.ndarray,
    hierarchies: Any,
    weight: str | None,
) -> Entry:
    sides, names = _sides(formula, original, protected, there, hierarchies)
    weights = None
    if weight is not None and weight not in formula.used:
        weights = np.nan_to_num(float_values(original[weight], weight))
    results, weighted, lost = [], [], []
    for side in sides:
        values, known = _values(formula, side)
        used = known & (side.group >= 0)
        results.append(_computed(formula, values, side.weight, side.group, used, len(names)))
        counted = np.zeros(len(original), bool)
        counted[side.row[used]] = True
        lost.append(side.rows - int(np.count_nonzero(counted)))
        if weights is not None:
            own = side.weight * weights[side.row]
            used &= own > 0
            weighted.append(_computed(formula, values, own, side.group, used, len(names)))
    entry: Entry = {"text": formula.text, "nulls": lost}
    groups = [
        {"group": name, **_pair(results[0][i], results[1][i])}
        | ({"weighted": _pair(weighted[0][i], weighted[1][i])} if weighted else {})
        for i, name in enumerate(names)
        if results[0][i] is not None or results[1][i] is not None
    ]
    if not groups:
        raise BadInput("there is no record that it can be computed from")
    groups.sort(key=lambda one: (-(one["change"] or 0.0), one["group"]))
    if formula.by:
        entry |= {"groups": groups[:_MOST_LISTED], "of": len(groups)}
    else:
        del groups[0]["group"]
    return entry | groups[0]


def _pair(before: float | None, after: float | None) -> Entry:
    return {"before": before, "after": after, "change": _change(before, after)}


def _change(before: float | None, after: float | None) -> float | None:
    """Return the relative change; 1 of what can no longer be computed, None from 0 or nothing."""
    if before is None:
        return None
    if after is None:
        return 1.0
    if before == 0:
        return 0.0 if after == 0 else None
    return abs(after - before) / abs(before)


# Groups


def _sides(
    formula: Formula,
    original: pa.Table,
    protected: pa.Table,
    there: np.ndarray,
    hierarchies: Any,
) -> tuple[list[Side], list[str]]:
    """Put the rows of both tables into the groups that released labels tell apart."""
    n = len(original)
    codes, names = np.zeros(n, np.int64), [""]
    row, share = np.flatnonzero(there), np.ones(np.count_nonzero(there))
    spread = np.zeros(len(row), np.int64)
    for column in formula.by:
        covers = covers_of(original[column], protected[column], column, hierarchies.get(column))
        numeric = [kind_of(t[column].type) == "numeric" for t in (original, protected)]
        if all(numeric) and not covers.truthful:
            raise BadInput(f"the values of '{column}' were moved, so that groups of them differ")
        found = grouped(covers)
        size, own = found.size, covers.names(found.of_value, found.size)
        # Nulls are left out.
        null = int(found.of_value[-1])
        codes = np.where((codes >= 0) & (found.was != null), codes * size + found.was, -1)
        labels = found.label[row]
        many = np.diff(found.spread.indptr)[labels]
        if many.sum() > _MOST_SPREAD:
            raise BadInput(f"the labels of '{column}' cover too many groups")
        first = found.spread.indptr[:-1][labels]
        at = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - first, many)
        into = found.spread.indices[at]
        row, share = np.repeat(row, many), np.repeat(share, many) * found.spread.data[at]
        spread = np.repeat(spread, many)
        spread = np.where((spread >= 0) & (into != null), spread * size + into, -1)
        # As many as occur, before the next column multiplies them.
        occur = np.union1d(_distinct(codes), _distinct(spread))
        codes, spread = (_places(side, occur) for side in (codes, spread))
        names = [", ".join(filter(None, (names[i // size], own[i % size]))) for i in occur.tolist()]
    everything = np.arange(n)
    before = Side(original, original, np.ones(n), codes, everything, n)
    here = int(np.count_nonzero(there))
    return [before, Side(protected, original, share, spread, row, here)], names


def _distinct(codes: np.ndarray) -> np.ndarray:
    """Return the codes that occur, without -1; few are counted and many sorted."""
    if codes.max(initial=0) < 4 * len(codes):
        return np.flatnonzero(np.bincount(codes + 1)[1:])
    found = np.unique(codes)
    return found[found >= 0]


def _places(codes: np.ndarray, occur: np.ndarray) -> np.ndarray:
    """Return the place of each code among those that occur, and -1 as it is."""
    return np.where(codes < 0, -1, np.searchsorted(occur, codes))


# Values


def _values(formula: Formula, side: Side) -> tuple[np.ndarray, np.ndarray]:
    """Return the term's value in each row of a side, and where there is one."""
    known = np.ones(len(side.table), bool)
    if formula.term is None:
        return known.astype(np.float64)[side.row], known[side.row]
    with np.errstate(all="ignore"):
        found = _term(formula.term, side, known)
    values = np.broadcast_to(np.asarray(found, np.float64), known.shape)
    known &= np.isfinite(values)
    return values[side.row], known[side.row]


def _term(term: Term, side: Side, known: np.ndarray) -> Any:
    if isinstance(term, Number):
        return term.value
    if isinstance(term, Column):
        values = _numbers(term.name, side)
        known &= ~np.isnan(values)
        return values
    assert isinstance(term, Operation)
    for one, other in ((term.left, term.right), (term.right, term.left)):
        if isinstance(one, Text):
            assert isinstance(other, Column)
            return _equals(other.name, one.value, term.sign, side, known)
    left, right = (_term(one, side, known) for one in (term.left, term.right))
    found = _COMPUTE[term.sign](left, right)
    # A quotient by zero is nothing to compute or compare with.
    known &= np.isfinite(found)
    return found


def _numbers(name: str, side: Side) -> np.ndarray:
    """Return a column as numbers; ranges as their middles."""
    column = side.table[name]
    if pa.types.is_temporal(side.like[name].type):
        raise BadInput(f"'{name}' holds dates, which cannot be computed with")
    if kind_of(column.type) == "numeric":
        return float_values(column, name)
    if kind_of(side.like[name].type) != "numeric":
        raise BadInput(f"'{name}' holds text, which cannot be computed with")
    coded = as_text(column, name).combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    middles = np.array([*map(middle_of, coded.dictionary.to_pylist()), np.nan], np.float64)
    return middles[coded.indices.fill_null(len(middles) - 1).to_numpy()]


def _equals(name: str, text: str, sign: str, side: Side, known: np.ndarray) -> np.ndarray:
    column = as_text(side.table[name], name)
    if side.table is not side.like:
        covers = covers_of(side.like[name], side.table[name], name)
        if covers.recoded:
            raise BadInput(f"'{name}' was recoded, so that its values cannot be told; use by")
    known &= column.is_valid().to_numpy()
    same = pc.fill_null(pc.equal(column, text), False).to_numpy()
    return same if sign == "==" else ~same


# Functions


def _computed(
    formula: Formula,
    values: np.ndarray,
    weight: np.ndarray,
    group: np.ndarray,
    used: np.ndarray,
    size: int,
) -> list[float | None]:
    """Compute the function within each group; None where there is nothing to compute it from."""
    values, weight, group = values[used], weight[used], group[used]
    total = np.bincount(group, weight, minlength=size)
    if formula.function == "count":
        return total.tolist()
    sums = np.bincount(group, weight * values, minlength=size)
    if formula.function in ("sum", "mean", "share"):
        per = np.ones(size) if formula.function == "sum" else total
        triples = zip(sums.tolist(), per.tolist(), total.tolist(), strict=True)
        return [part / by if whole > 0 else None for part, by, whole in triples]
    order = np.lexsort((values, group))
    values, weight = values[order], weight[order]
    ends = np.cumsum(np.bincount(group, minlength=size))
    level = {"median": 0.5, "gini": None}.get(formula.function, formula.level)
    found: list[float | None] = []
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        v, w = values[start:end], weight[start:end]
        found.append(gini_of(v, w) if level is None else quantile_of(v, w, level))
    return found


def quantile_of(values: np.ndarray, weight: np.ndarray, level: float) -> float | None:
    """Return a quantile of sorted values: half-way between two where the level falls between them.

    Examples
    --------
    >>> quantile_of(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), 0.5)
    2.5
    """
    upto = np.cumsum(weight)
    if not len(upto) or upto[-1] <= 0:
        return None
    wanted, slack = level * upto[-1], 1e-9 * upto[-1]
    first = int(np.searchsorted(upto, wanted - slack))
    last = int(np.searchsorted(upto, wanted + slack))
    return float((values[first] + values[min(last, len(values) - 1)]) / 2)


def gini_of(values: np.ndarray, weight: np.ndarray) -> float | None:
    """Return the Gini coefficient of sorted values, 0 where all are equal; None of negative ones.

    Examples
    --------
    >>> gini_of(np.array([0.0, 0.0, 0.0, 8.0]), np.ones(4))
    0.75
    """
    upto = np.cumsum(weight * values)
    if not len(values) or values[0] < 0 or upto[-1] <= 0:
        return None
    below = np.append(0.0, upto[:-1])
    return float(1 - (weight * (below + upto)).sum() / (weight.sum() * upto[-1])) + 0.0


# What `assess` takes


def _take(t: Facts) -> Entry:
    wanted = list(t.recipe.indicators)
    formulas = [read_formula(text) for text in wanted]
    weight = t.roles.weight
    names = [name for formula in formulas for name in formula.columns]
    names = list(dict.fromkeys([*names, *([weight] if weight else [])]))
    _check(formulas, t)
    shared = [name for name in names if name in t.after.schema.names]
    before, after, there = t.before.fold_pairs(
        t.after, partial(_laid, names, shared), _stacked, names, shared or t.shared[:1]
    )
    given = {"there": there, "hierarchies": t.recipe.hierarchies, "weight": weight}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = indicators(before, after, wanted, **given)
    reasons = [str(one.message) for one in told]
    if not found:
        raise LeftOut("; ".join(reasons))
    for reason in reasons:
        warnings.warn(reason, stacklevel=2)
    changes = [one["change"] for one in found if one["change"] is not None]
    columns = {}
    for one in found:
        name = f"{one['text']}: {one['group']}" if "group" in one else one["text"]
        columns[name] = one
    return {"value": max(changes, default=None), "columns": columns}


def _check(formulas: Sequence[Formula], t: Facts) -> None:
    for formula in formulas:
        for name in formula.columns:
            if name not in t.before.schema.names:
                raise LeftOut(f"'{formula.text}' names '{name}', which the original does not have")
            if name not in t.shared and name != t.roles.weight:
                raise LeftOut(f"'{formula.text}' names '{name}', which is not released")


def _laid(
    names: list[str],
    shared: list[str],
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> tuple[pa.Table, pa.Table, np.ndarray]:
    """Lay the released rows beside the original's; weights that are not released are its own."""
    laid = dict(zip(after.column_names, in_rows(after, there), strict=True))
    columns = {name: laid[name] if name in shared else before[name] for name in names}
    return before.select(names), pa.table(columns), there


def _stacked(one: Any, other: Any) -> Any:
    tables = (pa.concat_tables(sides) for sides in zip(one[:2], other[:2], strict=True))
    return *tables, np.concatenate([one[2], other[2]])


INDICATORS = Measure(
    "indicators",
    "largest relative change of one of the recipe's own indicators; a * counts in part for each "
    "group that it may be, records that were left out are missing, and so are nulls",
    _take,
    [
        Figure("largest change of an own indicator", "", "%", untouched=0.0, headline=True),
        Figure("indicator", "", better=None, each=True),
    ],
    needs=["indicators", "all rows"],
)
