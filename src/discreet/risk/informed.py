"""Linkage by an intruder who knows the recipe, and not the seed.

An intruder who can run the recipe with other seeds learns for every column how likely a released
value is for each original one, adds that up, and takes the most likely record. Another goes by how
columns move together, where they do. What counts is the one who finds more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput, nearest
from discreet.measure import AVERAGE, Entry, Facts, Figure, Measure, changed_of
from discreet.risk._differences import Cells
from discreet.risk._found import Sheet
from discreet.risk._known import known_sets
from discreet.risk._tells import Column, Tells
from discreet.risk._together import Together, together
from discreet.table.classes import classes_of, encode_columns
from discreet.table.pairs import as_tables

# Records that `assess` looks for.
QUERIES = 2_000
# Queries that are prepared at a time.
_AT_ONCE = 4_096


@dataclass(frozen=True, eq=False)
class InformedLinkage:
    """How many records an informed intruder finds, as a share in 0..1.

    `rows` are those that were looked for, `records` the chance with which each is found, `value`
    their mean and `largest` the largest. `columns` says how many bits a released cell of each
    column tells of its own original, on average. `together` names the columns that the intruder
    took together who found more; there are none where adding up all columns finds as many.
    """

    value: float
    largest: float
    columns: dict[str, float]
    rows: np.ndarray
    records: np.ndarray
    together: tuple[str, ...] = ()


@overload
def informed_linkage(
    original: Any,
    protected: Any,
    *,
    known: str | Sequence[str] = ...,
    drawn: Collection[str] | None = ...,
    reruns: Sequence[Any] = ...,
    queries: int | None = ...,
    detail: Literal[False] = ...,
) -> float: ...
@overload
def informed_linkage(
    original: Any,
    protected: Any,
    *,
    known: str | Sequence[str] = ...,
    drawn: Collection[str] | None = ...,
    reruns: Sequence[Any] = ...,
    queries: int | None = ...,
    detail: Literal[True],
) -> InformedLinkage: ...
def informed_linkage(
    original: Any,
    protected: Any,
    *,
    known: str | Sequence[str] = "all",
    drawn: Collection[str] | None = None,
    reruns: Sequence[Any] = (),
    queries: int | None = None,
    detail: bool = False,
) -> float | InformedLinkage:
    """Share of the records that an intruder links who knows the recipe, and not the seed.

    Such an intruder can run the recipe too, with other seeds, and so learns how a record and its
    released one differ: a rank swap never goes beyond its window, noise has a size, PRAM keeps a
    category with a certain probability. For each released record the intruder adds up over the
    columns how much likelier its cells are for one original than for any, and takes the likeliest.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    known : "all" or list of str
        The columns that the intruder knows.
    drawn : collection of str, optional
        The columns that chance decided, by a seed. The others follow from the original alone, and
        the intruder knows what became of each of their values. Where not given, every column that
        differs is taken to be drawn.
    reruns : sequence of tables or arrays
        The original, protected by the same recipe with other seeds: what the intruder learns from.
        A column that comes out the same each time is not drawn. Without them it is learned from the
        release itself: from one half of the records for those of the other, so that no record is
        found by what was learned from itself.
    queries : int, optional
        Look for so many of the records, chosen at random, among all; where not given, for all.
    detail : bool
        Return the chance of each record and the bits that each column tells too.

    Returns
    -------
    float or InformedLinkage
        The expected share found, in 0..1. A record counts 1/t where its own original is one of t
        for which the sum is highest, and 0 where another has a higher one.

    Notes
    -----
    Scores are log likelihood ratios, column by column. How they are learned:

    - Columns that are not drawn (untouched, generalized, rounded, microaggregated, suppressed): a
      released value goes with the original values that were seen with it, of numbers with all from
      the smallest to the largest of them; any other original is excluded. So a class of k records
      has k that tie, and the star of suppressed records goes with all that were suppressed.
    - Drawn numbers, dates among them: by up to 40 bins of the difference between a record and its
      released value, in ranks, in values or in logarithms, whichever tells most. A difference
      larger than any that was seen excludes almost certainly.
    - Drawn labels (text, categories, booleans, numbers of few values): by how often each label
      became each; labels that are rarely seen count mostly by the share of all that was kept.
      Where there are more than about 1,000 labels it counts only whether two are equal.
    - Drawn numbers that became labels, such as noise and then intervals: by how often a number in
      one of 40 bins got each label.
    - A null is a value like any other, on either side.
    - Records that are not in the release are not looked for, nor confused with others.

    All this takes columns to be independent given the record. A second intruder does not, where
    drawn numbers move alike, as they do with correlated noise (a correlation of 0.2 or more). On
    ranks, values or logarithms, whichever tells most, a line says what is released of an original
    on average in each of these columns, and what is left is taken to be normal, with its
    covariance. The scores of all other columns are added. Both learn from the same, and the one
    who finds more records is reported.

    Time grows with queries times records
    times columns, but most originals are left after the first columns, which are those that tell
    most, and a record is given up as soon as a likelier one turns up.

    Examples
    --------
    >>> from discreet.perturbation import RankSwap
    >>> people = np.random.default_rng(1).normal(size=(400, 8))
    >>> swapped = RankSwap(p=15, random_state=1).fit_transform(people)
    >>> informed_linkage(people, swapped) > 0.5
    True

    Noise that moves related columns alike does not hide what they differ by:

    >>> from discreet.perturbation import Noise
    >>> people[:, 1:] = people[:, :1] + 0.2 * people[:, 1:]
    >>> noisy = Noise("correlated", scale=0.8, random_state=1).fit_transform(people)
    >>> found = informed_linkage(people, noisy, detail=True)
    >>> len(found.together), round(found.value, 1)
    (8, 0.3)
    """
    before, after = as_tables(original, protected)
    others = [as_tables(original, table)[1] for table in reruns]
    columns = columns_of(before, after, others, known)
    order = np.random.default_rng(0).permutation(before.num_rows)
    asked = np.sort(order[: _checked(queries, len(order))])
    chance = chance_in(columns, drawn, bool(others))
    hits, bits = np.zeros((2, len(order))), dict.fromkeys(columns, 0.0)
    joint: set[str] = set()
    settled = not any(name in chance for name in columns)
    for some, cells in learned_from(order, asked, len(others)):
        told = {
            name: one.drawn(cells) if name in chance else one.settled()
            for name, one in columns.items()
        }
        bits |= {name: bits[name] + one.bits * len(some) for name, one in told.items()}
        moved = together(columns, told, cells)
        joint |= set(moved.names if moved else ())
        # Without chance, those that are released alike are found alike.
        kinds, kind = _kinds(columns, some) if settled else (some, np.arange(len(some)))
        hits[:, some] = _hits(told, moved, kinds)[:, kind]
    n = max(1, len(asked))
    # One intruder adds up columns, the other takes some together: what counts is who finds more.
    stronger = int(hits[1, asked].sum() > hits[0, asked].sum())
    found = hits[stronger, asked]
    result = InformedLinkage(
        float(found.mean()) if len(asked) else 0.0,
        float(found.max(initial=0.0)),
        {name: total / n for name, total in bits.items()},
        asked,
        found,
        tuple(name for name in columns if stronger and name in joint),
    )
    return result if detail else result.value


def columns_of(
    before: pa.Table, after: pa.Table, others: list[pa.Table], known: str | Sequence[str]
) -> dict[str, Column]:
    """Return the columns that the intruder knows; refuse tables that do not go together."""
    for what, table in [("protected table", after), *(("rerun", run) for run in others)]:
        if table.num_rows != before.num_rows:
            raise BadInput(
                f"the original has {before.num_rows:,} rows, the {what} {table.num_rows:,}"
            )
    shared = [name for name in after.column_names if name in before.column_names]
    if known == "paper":
        raise BadInput('known = "paper" is for other linkage; give "all" or a list of columns')
    [names] = known_sets(known if isinstance(known, str) else [known], shared)
    for run in others:
        for name in names:
            if name not in run.column_names:
                raise BadInput(f"a rerun has no column '{name}'; {nearest(name, run.column_names)}")
    return {
        name: Column(name, before[name], [run[name] for run in (after, *others)])
        for name in (names if before.num_rows else ())
    }


def _checked(queries: int | None, n: int) -> int:
    if queries is not None and queries < 1:
        raise BadInput(f"queries = {queries} must be 1 or more")
    return n if queries is None else min(n, queries)


def chance_in(
    columns: dict[str, Column], drawn: Collection[str] | None, rerun: bool
) -> Collection[str]:
    """Return the columns that chance decided."""
    if rerun:
        return {name for name, one in columns.items() if not one.repeats}
    if drawn is None:
        return {name for name, one in columns.items() if not one.same}
    if isinstance(drawn, str):
        raise BadInput(f"drawn must be a list, such as ['{drawn}']")
    return drawn


def learned_from(
    order: np.ndarray, asked: np.ndarray, others: int
) -> list[tuple[np.ndarray, Cells]]:
    """Return rows to look for, and the cells that are learned from to find them."""
    n = len(order)
    if others:
        run, row = np.divmod(np.random.default_rng(1).permutation(n * others), n)
        return [(asked, Cells(run + 1, row))]
    first = np.zeros(n, dtype=bool)
    first[order[::2]] = True
    halves = (asked[first[asked]], order[1::2]), (asked[~first[asked]], order[::2])
    none = np.zeros(n, np.int64)
    return [(some, Cells(none[: len(rows)], rows)) for some, rows in halves if len(some)]


def _kinds(columns: dict[str, Column], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one of each kind of rows that are released alike, and the kind of each row.

    Where a column tells only whether a value was kept, they are alike in that too.
    """
    cells = [np.zeros(len(rows), np.int64)]
    for one in columns.values():
        released = one.b[0][rows]
        cells += [released, one.a[rows] == released]
    _, first, kind = np.unique(
        np.column_stack(cells), axis=0, return_index=True, return_inverse=True
    )
    return rows[first], kind.ravel()


def _hits(told: dict[str, Tells], moved: Together | None, rows: np.ndarray) -> np.ndarray:
    """Return the chance with which the originals of some released rows are found.

    First by the sum over columns, then by those that are taken together and the others.
    """
    hits = []
    for start in range(0, len(rows), _AT_ONCE):
        sheet = Sheet(rows[start : start + _AT_ONCE])
        written = {name: sheet.add(one) for name, one in told.items()}
        found = sheet.hits(list(written.values()))
        if moved is None:
            hits.append([found, found])
        else:
            others = [one for name, one in written.items() if name not in moved.names]
            hits.append([found, sheet.hits_together(others, moved)])
    return np.concatenate(hits, axis=1)


def _take(t: Facts) -> Entry:
    """Link records by the quasi columns, or by those that differ where there are none."""
    columns, rows = t.quasi or changed_of(t), t.few_to_link
    before, after = rows.before.select(columns), rows.after.select(columns)
    drawn = [name for name in columns if name in t.drawn_columns] if t.recipe.steps else None
    found = informed_linkage(before, after, drawn=drawn, queries=QUERIES, detail=True)
    # Without chance, a record is found as one of those that equal it.
    _, classes = classes_of(*encode_columns(before, columns))
    entry = {
        "columns": columns,
        "before": classes / max(1, rows.num_rows),
        "after": found.value,
        "largest": found.largest,
        "bits": found.columns,
        **({"together": list(found.together)} if found.together else {}),
        "learned_from": "the release itself, for each half of the records from the other",
    }
    if len(found.rows) < rows.num_rows:
        entry |= {"queries": len(found.rows)}
    return entry | t.sampled(found.value, rows.num_rows)


def _without_chance(t: Facts) -> str:
    return "" if t.perturbed else "no step perturbs, so that classes of equal values tell as much"


INFORMED_LINKAGE = Measure(
    "informed_linkage",
    "share of released records linked to their own original by an intruder who knows the methods "
    "and their settings, but not the seed, and learns from halves of the release how values change",
    _take,
    [
        Figure("linkage by an informed intruder", "", "%", guide=AVERAGE, headline=True,
               attack=True),
        Figure("linkage by an informed intruder, largest", "largest", "%", untouched=1.0,
               reading="chance that the record that is easiest to find is found"),
    ],
    on_request=_without_chance,
    intruder="linking by what the method makes likely; beside one record in n by chance",
)  # fmt: skip
