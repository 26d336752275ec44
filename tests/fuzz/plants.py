"""Violations planted into releases that were right, to see that the verifier finds them.

Each takes an original, a recipe and a released table, and returns the table with one thing made
wrong, or None where it does not apply. No code is shared with the verifier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.blanks import blank_undone, fixed_blanked, limit_broken, other_cell
from tests.fuzz.planter import SUPPRESSING, Planter, Table

JOINT = ("microaggregation", "joint kmeans", "joint resampling")
ROUNDING = ("oma", "mdav", "vmdav", "kmeans", "equal-width", "equal-frequency")

# Tables


def identifier_back(p: Planter) -> Table | None:
    """A column that was dropped is there again."""
    name = p.pick(p.roles.get("identifiers", ()))
    return None if name is None else p.copy().assign(**{name: p.original[name]})


def row_dropped(p: Planter) -> Table | None:
    """A record is missing."""
    return p.copy().drop(index=p.pick(range(len(p.released)))).reset_index(drop=True)


def row_twice(p: Planter) -> Table | None:
    """A record is there twice."""
    row = p.released.iloc[[p.pick(range(len(p.released)))]]
    return pd.concat([p.copy(), row], ignore_index=True)


def columns_exchanged(p: Planter) -> Table | None:
    """Two columns have each other's name."""
    names = list(p.released.columns)
    if len(names) < 2 or p.released[names[0]].equals(p.released[names[1]]):
        return None
    return p.copy()[[names[1], names[0], *names[2:]]]


# Cells


def cell_changed(p: Planter) -> Table | None:
    """A cell that nothing treats holds another record's value."""
    name = p.pick(p.untouched)
    row = p.pick(p.shown(name)) if name else None
    if row is None:
        return None
    others = [
        cell for cell in p.original[name] if cell is not None and cell != p.original[name][row]
    ]
    return p.with_cell(name, row, p.pick(others)) if others else None


def cell_emptied(p: Planter) -> Table | None:
    """A value is missing though no record was suppressed."""
    blank = ("microaggregation", "generalize-items", "local-suppression")
    fine = [
        c for s in p.steps if s["method"] not in blank and not s.get("joint") for c in s["columns"]
    ]
    name = None if p.suppresses else p.pick([*p.untouched, *fine])
    rows = p.shown(name) if name else []
    return p.with_cell(name, p.pick(rows), None) if rows else None


def null_filled(p: Planter) -> Table | None:
    """A null holds a value."""
    found = [
        (name, row)
        for name in p.original.columns.intersection(p.released.columns)
        if p.shown(name)
        for row, cell in enumerate(p.original[name])
        if cell is None and p.released[name][row] is None and not p.released.loc[row].isna().all()
    ]
    if not found:
        return None
    name, row = p.pick(found)
    values = [cell for cell in p.released[name] if cell is not None and cell != "*"]
    return p.with_cell(name, row, p.pick(values)) if values else None


def rows_exchanged(p: Planter) -> Table | None:
    """Two records have changed places."""
    name = p.pick(p.untouched)
    if name is None:
        return None
    one, other = (p.pick(p.shown(name)) for _ in range(2))
    if one is None or p.original[name][one] == p.original[name][other]:
        return None
    table = p.copy()
    table.iloc[[one, other]] = p.released.iloc[[other, one]].to_numpy()
    return table


# Promises of k


def rare_value(p: Planter) -> Table | None:
    """A value of its own, between two others, where k must share each."""
    found = p.step("oma", "mdav", "vmdav")
    if found is None or found[0].get("encoding", "group") != "group":
        return None
    _step, name = found
    cells = sorted({cell for cell in p.released[name] if cell is not None})
    if len(cells) < 2:
        return None
    new = cells[0] + (cells[1] - cells[0]) / 3
    return p.with_cell(name, p.pick(p.shown(name)), new) if new not in cells else None


def other_group(p: Planter) -> Table | None:
    """One of several equal values has the point of another group."""
    found = p.step(*ROUNDING)
    if found is None or found[0].get("encoding", "group") != "group":
        return None
    step, name = found
    if not step.get("keep_ties", True):
        return None
    rows = p.shown(name)
    often = [r for r in rows if sum(p.original[name][s] == p.original[name][r] for s in rows) > 1]
    row = p.pick(often)
    others = [
        c
        for c in p.released[name]
        if c is not None and row is not None and c != p.released[name][row]
    ]
    return p.with_cell(name, row, p.pick(others)) if others else None


def mean_moved(p: Planter) -> Table | None:
    """A group's point is not its mean."""
    found = p.step("oma", "mdav", "vmdav", "kmeans", "microaggregation", "joint kmeans")
    if found is None or p.suppresses:
        return None
    step, name = found
    plain = step.get("encoding", "group") == "group" and step.get("spikes", "group") == "group"
    point = p.pick(cell for cell in p.released[name] if isinstance(cell, float))
    if point is None or step.get("representative", "mean") != "mean" or not plain:
        return None
    values = [cell for cell in p.original[name] if cell is not None]
    table, moved = p.copy(), point + 0.3 * (max(values) - min(values)) + 2
    table[name] = pd.Series([moved if c == point else c for c in p.released[name]], dtype=object)
    return table


def _k(step: dict[str, Any]) -> int:
    return int(step.get("k") or step.get("min_count", 1))


def rare_tuple(p: Planter) -> Table | None:
    """A microaggregated record has another value than those of its group."""
    found = p.step(*JOINT)
    if found is None or _k(found[0]) == 1:
        return None
    _step, name = found
    row = p.pick(p.shown(name))
    cell = p.released[name][row]
    if not isinstance(cell, float):
        return None
    return p.with_cell(name, row, cell + 0.37 * (abs(cell) + 1))


# Privacy models


def _judged(p: Planter) -> tuple[dict[str, Any], str] | None:
    found = p.step(*SUPPRESSING)
    strict = found and found[0].get("null_policy") != "match"
    return found if strict and any(m.get("k", 1) > 1 for m in found[0]["privacy"]) else None


def small_class(p: Planter) -> Table | None:
    """A record has a label that nobody else has."""
    found = _judged(p)
    return found and p.with_cell(found[1], p.pick(p.shown(found[1])), "nobody else's")


def shown_again(p: Planter) -> Table | None:
    """A suppressed record shows one of its values."""
    found = _judged(p)
    if found is None:
        return None
    step, name = found
    stars = [r for r in p.shown(name) if all(p.released[c][r] == "*" for c in step["columns"])]
    row = p.pick(r for r in stars if p.original[name][r] is not None)
    if row is None:
        return None
    said = p.original[name][row]
    said = str(int(said)) if isinstance(said, float) and said == int(said) else str(said)
    others = [c for c in step["columns"] if c != name]
    alike = [r for r in p.shown(name) if p.released[name][r] == said]
    if any(all(p.released[c][r] == "*" for c in others) for r in alike):
        return None
    return p.with_cell(name, row, said)


def wrong_label(p: Planter) -> Table | None:
    """A record has a label of another class that its value is not among."""
    found = p.step("generalize")
    if found is None:
        return None
    step, name = found
    if step["hierarchies"][name]["kind"] != "flat":
        return None
    row = p.pick(r for r in p.shown(name) if p.released[name][r] != "*")
    if row is None:
        return None
    own = p.released[name][row]
    new = p.pick(c for c in p.released[name] if c not in (None, "*", own))
    return None if new is None else p.with_cell(name, row, new)


def one_value(p: Planter) -> Table | None:
    """All of a class have one confidential value."""
    for step in p.steps:
        for model in step.get("privacy", ()):
            strict = step.get("promise", True) and step.get("null_policy") != "match"
            name = model.get("column")
            if model["model"] != "l-diversity" or not strict or model["l"] < 2:
                continue
            row = p.pick(p.shown(name))
            own = p.released.loc[row, step["columns"]].tolist()
            table = p.copy()
            for other in p.shown(name):
                if p.released.loc[other, step["columns"]].tolist() == own:
                    table.at[other, name] = p.released[name][row]
            return None if table[name].equals(p.released[name]) else table
    return None


def many_suppressed(p: Planter) -> Table | None:
    """Whole classes are suppressed, far beyond the limit."""
    found = p.step("generalize")
    if found is None or len(p.steps) > 1 or found[0].get("local") or p.roles.get("household"):
        return None
    step = found[0]
    limit, names = step.get("suppression_limit", 0.05), step["columns"]
    reads = any("column" in model for model in step["privacy"])
    if reads or p.roles.get("unit") or set(names) - set(p.once):
        return None
    whole = p.original[names].notna().all(axis=1)
    shown = [r for r in p.shown(names[0]) if whole[r] and (p.released.loc[r, names] != "*").any()]
    classes = p.released.loc[shown].groupby(names, dropna=False).size()
    if len(classes) < 2:
        return None
    kept = classes.index[0] if len(names) > 1 else (classes.index[0],)
    gone = [r for r in shown if tuple(p.released.loc[r, names]) != kept]
    if len(gone) <= limit * whole.sum() + 1:
        return None
    table = p.copy()
    table.loc[gone, names] = "*"
    return table


def _one_rare_value(p: Planter, which: str, breaks: Callable[[Any, float], bool]) -> Table | None:
    """A class holds nothing but a value that is rare among all, so that it breaks a model."""
    if p.roles.get("household") or p.roles.get("unit") or len(p.steps) > 1:
        return None
    for step in p.steps:
        for model in step.get("privacy", ()):
            if model["model"] != which or not step.get("promise", True):
                continue
            name, names = model["column"], step["columns"]
            shares = p.original[name].value_counts(normalize=True)
            rarest = shares.index[-1]
            if not breaks(model, shares.iloc[-1]) or rarest in p.recipe.get("null_markers", ()):
                return None
            row, table = p.pick(p.shown(name)), p.copy()
            own = p.released.loc[row, names].tolist()
            for other in p.shown(name):
                if p.released.loc[other, names].tolist() == own:
                    table.at[other, name] = rarest
            return table
    return None


def far_class(p: Planter) -> Table | None:
    """A class is far from all records."""
    return _one_rare_value(
        p,
        "t-closeness",
        lambda m, share: m.get("distance", "equal") == "equal" and 1 - share > m["t"] + 0.1,
    )


def sure_class(p: Planter) -> Table | None:
    """A class tells much more than all records do."""
    return _one_rare_value(
        p, "beta-likeness", lambda model, share: 1 / share - 1 > 1.5 * model["beta"] + 1
    )


def rare_row(p: Planter) -> Table | None:
    """One of the rows that are known to belong to one person is like no other."""
    found = _judged(p)
    linked = p.roles.get("unit") in (*p.roles.get("pseudonyms", ()), None)
    if found is None or not p.roles.get("unit") or not linked:
        return None
    row = p.pick(r for r in p.shown(found[1]) if p.released[found[1]][r] != "*")
    return None if row is None else p.with_cell(found[1], row, "nobody else's")


def tuple_emptied(p: Planter) -> Table | None:
    """A microaggregated record is empty, though none was suppressed and many are like it."""
    found = p.step(*JOINT)
    if (
        found is None
        or p.suppresses
        or "strata" in found[0]
        or set(found[0]["columns"]) - set(p.once)
    ):
        return None
    step, name = found
    nulls = p.original[step["columns"]].isin([None, *p.recipe.get("null_markers", ())])
    rows = [r for r in p.shown(name) if not nulls.loc[r].any()]
    if len(rows) < 10 * _k(step):
        return None
    table = p.copy()
    for column in step["columns"]:
        table.at[rows[0], column] = None
    return table


# Perturbation


def moments_moved(p: Planter) -> Table | None:
    """A synthetic column has another mean."""
    found = p.step("ipso")
    if found is None or len(p.steps) > 1 or p.roles.get("household") or p.roles.get("unit"):
        return None
    step, name = found
    if step["variant"] == "A":
        return None
    values = [cell for cell in p.original[name] if isinstance(cell, float)]
    table, by = p.copy(), max(values) - min(values) + 10
    moved = [None if cell is None else cell + by for cell in p.released[name]]
    table[name] = pd.Series(moved, dtype=object)
    return table


def much_multiplied(p: Planter) -> Table | None:
    """A value is so many times its own that no draw of noise does it."""
    found = p.step("noise")
    if found is None or found[0]["kind"] != "multiplicative" or found[0].get("match_ranks"):
        return None
    step, name = found
    scale = step["scale"][name] if isinstance(step["scale"], dict) else step["scale"]
    row = p.pick(r for r in p.shown(name) if p.original[name][r])
    if row is None:
        return None
    cell = p.original[name][row]
    return p.with_cell(name, row, cell * (1 + 20 * scale) + np.sign(cell) * 10)


def out_of_range(p: Planter) -> Table | None:
    """A value is out of the range that is to be kept."""
    found = p.step("porop", "lirop")
    if found is None or not found[0].get("keep_range"):
        return None
    name = found[1]
    values = [cell for cell in p.original[name] if isinstance(cell, float)]
    return p.with_cell(name, p.pick(p.shown(name)), 2 * max(values) - min(values) + 10)


def beyond_window(p: Planter) -> Table | None:
    """The smallest value's record has the largest value, and the other way round."""
    found = p.step("rank-swap")
    if found is None or found[0].get("window") == "drawn":
        return None
    step, name = found
    rows = sorted(p.shown(name), key=lambda row: p.original[name][row])
    low, high = rows[0], rows[-1]
    values = [p.original[name][row] for row in rows]
    near = int(len(rows) * (step["p"] / 100 + 0.1)) + 2
    if near >= len(rows) or values[near] == values[-1] or p.suppresses:
        return None
    where = next(r for r in rows if p.released[name][r] == values[-1])
    table = p.copy()
    table.at[where, name] = p.released[name][low]
    table.at[low, name] = values[-1]
    return None if where in (low, high) or values[0] == values[-1] else table


def foreign_value(p: Planter) -> Table | None:
    """A value that no record had, where values are only exchanged."""
    found = p.step("rank-swap", "shuffle", "pram")
    if found is None:
        return None
    name = found[1]
    row = p.pick(p.shown(name))
    cell = p.released[name][row]
    if isinstance(cell, bool):
        return None
    new = (
        "nobody's"
        if isinstance(cell, str)
        else p.original[name].dropna().max()
        + (pd.Timedelta(days=1) if isinstance(cell, pd.Timestamp) else 1 + abs(cell))
    )
    return p.with_cell(name, row, new)


def beyond_bound(p: Planter) -> Table | None:
    """A value is beyond its bound."""
    found = p.step("top-bottom")
    if found is None:
        return None
    step, name = found
    upper = step.get("upper")
    new = upper + abs(upper) + 1 if upper is not None else step["lower"] - abs(step["lower"]) - 1
    return p.with_cell(name, p.pick(p.shown(name)), new)


def small_count(p: Planter) -> Table | None:
    """A count is shown that its rule hides."""
    found = p.step("round-counts")
    if found is None or "estimates" in str(found[0]["rule"]):
        return None
    return p.with_cell(found[1], p.pick(p.shown(found[1])), 7.0)


def count_as_it_is(p: Planter) -> Table | None:
    """A number is shown with more digits than its rule lets out."""
    found = p.step("round-counts")
    if found is None or "census" not in str(found[0]["rule"]):
        return None
    return p.with_cell(found[1], p.pick(p.shown(found[1])), 123457.0)


def much_noise(p: Planter) -> Table | None:
    """A value is so far from its own that no draw of noise does it."""
    found = p.step("noise")
    if found is None or found[0]["kind"] not in ("additive", "correlated"):
        return None
    _step, name = found
    row = p.pick(p.shown(name))
    cell = p.released[name][row]
    if not isinstance(cell, float):
        return None
    values = [c for c in p.original[name] if c is not None]
    return p.with_cell(name, row, cell + 100 * (max(values) - min(values)) + 10)


def other_shift(p: Planter) -> Table | None:
    """A date moved farther than it may."""
    found = p.step("date-shift")
    if found is None:
        return None
    step, name = found
    row = p.pick(p.shown(name))
    return p.with_cell(name, row, p.original[name][row] + pd.Timedelta(days=step["days"] + 1))


def other_item(p: Planter) -> Table | None:
    """A set has an item that it did not have."""
    found = p.step("generalize-items")
    return found and p.with_cell(found[1], p.pick(p.shown(found[1])), "nobody's")


def group_left(p: Planter) -> Table | None:
    """Two records of different groups have each other's confidential value."""
    found = p.step("anatomy")
    if found is None or found[1] not in found[0]["confidential"]:
        return None
    step, name = found
    groups, cells = p.released[step.get("group", "group")], p.released[name]
    one = p.pick(p.shown(name))
    others = [i for i in p.shown(name) if groups[i] != groups[one] and cells[i] != cells[one]]
    if not others:
        return None
    table, other = p.copy(), p.pick(others)
    table.at[one, name], table.at[other, name] = cells[other], cells[one]
    return table


# Names


def joined_households(p: Planter) -> Table | None:
    """A record has the number, or the pseudonym, of another household or person."""
    names = {p.roles.get("household"), *p.roles.get("pseudonyms", ())} & set(p.released.columns)
    name = p.pick(sorted(names))
    row = p.pick(p.shown(name)) if name else None
    if row is None:
        return None
    others = [c for c in p.released[name] if c is not None and c != p.released[name][row]]
    return None if not others else p.with_cell(name, row, p.pick(others))


def own_pseudonym(p: Planter) -> Table | None:
    """A value is its own pseudonym."""
    name = p.pick(c for c in p.roles.get("pseudonyms", ()) if c in p.released)
    row = p.pick(p.shown(name)) if name else None
    return None if row is None else p.with_cell(name, row, str(p.original[name][row]))


PLANTS: tuple[Callable[[Planter], Table | None], ...] = (
    identifier_back, row_dropped, row_twice, columns_exchanged, cell_changed, cell_emptied,
    null_filled, rows_exchanged, rare_value, other_group, mean_moved, rare_tuple, small_class,
    shown_again, wrong_label, one_value, many_suppressed, far_class, sure_class, rare_row,
    tuple_emptied, moments_moved, much_multiplied, out_of_range, beyond_window, foreign_value,
    beyond_bound, small_count, count_as_it_is, much_noise, other_shift, other_item, group_left, joined_households, own_pseudonym,
    blank_undone, other_cell, fixed_blanked, limit_broken,
)  # fmt: skip
# What must be said of a plant that other rules find as well.
SAID = {
    "many_suppressed": "beyond suppression_limit",
    "far_class": "t-closeness",
    "sure_class": "beta-likeness",
    "rare_row": "share",
    "moments_moved": "means",
    "out_of_range": "out of range",
}


def planted(p: Planter, most: int) -> list[tuple[str, Table]]:
    """Plant some violations, each into a copy of its own; those of the recipe's methods first."""
    order = [*p.rng.permutation(np.arange(8, len(PLANTS))), *p.rng.permutation(8)]
    found: list[tuple[str, Table]] = []
    for number in order:
        table = PLANTS[number](p)
        if table is not None and not table.equals(p.released):
            found.append((PLANTS[number].__name__, table))
        if len(found) == most:
            break
    return found
