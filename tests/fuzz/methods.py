"""What each method keeps, from its definition: one function for each kind of method."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.cells import nulls, numbers
from tests.fuzz.looks import (
    K_PER_VALUE,
    SMALL_COUNTS,
    SUPPRESSING,
    Look,
    Step,
    groups_records,
    least_in_group,
    parameter,
)
from tests.fuzz.models import rare_combination
from tests.suppression.counter import Suppressed, violations

_NEAR = 1e-9
# A normal draw from 64 bits is not farther out.
_SIGMAS = 9.5
_FEWEST = 3


def by_value(look: Look, name: str, rows: np.ndarray) -> dict[Any, np.ndarray]:
    """Return the rows that hold each value that is shown."""
    found, cells = defaultdict(list), look.after[name].tolist()
    for row in rows:
        found[cells[row]].append(row)
    return {value: np.array(held) for value, held in found.items()}


def shown_rows(look: Look, name: str) -> np.ndarray:
    """The rows that show a value in a column."""
    return np.flatnonzero(~nulls(look.after[name]))


# Rounding


def rounding(look: Look, step: Step) -> Iterator[str]:
    """Equal values stay equal, order stays, points are inside their groups, k share each."""
    if groups_records(step):
        yield from microaggregation(look, step)
        return
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        yield from _k_per_value(look, step, name)
        x, rows = look.given(step, name), shown_rows(look, name)
        if x is None or not len(rows):
            continue
        y, near = numbers(look.after[name]), look.tolerance(step, name)
        yield from _points(look, step, name, x, y, near)


def _k_per_value(look: Look, step: Step, name: str) -> Iterator[str]:
    least = least_per_value(step, name)
    if least is None or not step.get("promise", True) or step.get("encoding", "group") != "group":
        return
    for value, rows in by_value(look, name, shown_rows(look, name)).items():
        if look.count(rows) < least:
            yield f"{name}: {value} is held by {look.count(rows)}, not by {least}"


def least_per_value(step: Step, name: str) -> int | None:
    """How many must share a value of a column, if the step promises that."""
    if "k" in step:
        k = parameter(step, "k", name)
        return _FEWEST if isinstance(k, str) else k
    least = step.get("min_attraction") or parameter(step, "min_count", name)
    return least if least and least > 1 else None


def _points(
    look: Look, step: Step, name: str, x: np.ndarray, y: np.ndarray, near: float
) -> Iterator[str]:
    there = ~np.isnan(x) & ~np.isnan(y)
    low, high = np.nanmin(x) - near, np.nanmax(x) + near
    if step["method"] == "base":
        # With open ends a value beyond them may be a whole base away.
        far = ("open", "floor", "stochastic")
        share = 1 if {step.get(key) for key in ("ends", "rounding", "encoding")} & {*far} else 0.5
        if "base" in step and (np.abs(y - x)[there] > step["base"] * share + near).any():
            yield f"{name}: a value moved by more than {share} times the base"
        return
    if (y[there] < low).any() or (y[there] > high).any():
        yield f"{name}: a point lies outside the range of the values"
    encoding = step.get("encoding", "group")
    if encoding == "stochastic":
        return
    # Groups may lie on both sides of a spike that is kept.
    kept = (step.get("spikes") == "keep") & (np.abs(x - y) <= near)
    moved = there & ~kept
    order = np.lexsort((y[moved], x[moved]))
    if (np.diff(y[moved][order]) < -near * 1e-6).any():
        yield f"{name}: the order of values was changed"
    if step.get("keep_ties", True):
        pairs = set(zip(x[there], y[there], strict=True))
        if len(pairs) > len({value for value, _ in pairs}):
            yield f"{name}: equal values came out different"
    if encoding == "group" and step["method"] != "resampling":
        yield from _centres(look, step, name, x, y, near)


def _centres(
    look: Look, step: Step, name: str, x: np.ndarray, y: np.ndarray, near: float
) -> Iterator[str]:
    exact = not look.lost and not look.gone.any()
    for value, rows in by_value(look, name, np.flatnonzero(~np.isnan(x) & ~np.isnan(y))).items():
        held = x[rows]
        if not held.min() - near <= y[rows[0]] <= held.max() + near and exact:
            yield f"{name}: {value} lies outside its group, {held.min()} to {held.max()}"
        elif exact and not any(
            _is_centre(
                step.get("representative", "mean"), x[np.intersect1d(rows, some)], y[rows[0]], near
            )
            for some in look.firsts(step)
        ):
            yield f"{name}: {value} is not the {step.get('representative', 'mean')} of its group"


def _is_centre(what: str, held: np.ndarray, point: float, near: float) -> bool:
    if not len(held):
        return False
    near += 1e-12 * np.abs(held).max()
    if what in ("resampled-mean", "any"):  # drawn: where it may lie the caller has seen to
        return True
    if what == "mean":
        return abs(float(np.mean(held - point))) <= near
    if what == "midpoint":
        return abs(held.min() / 2 + held.max() / 2 - point) <= near
    ordered = np.sort(held)
    low, high = ordered[(len(held) - 1) // 2], ordered[len(held) // 2]
    # Two groups whose points round to one value show as one.
    return low - near <= point <= high + near or _joined_medians(ordered, point, near)


def _joined_medians(ordered: np.ndarray, point: float, near: float) -> bool:
    return bool((np.abs(ordered - point) <= 2 * near).any()) and near > 1e-6


def given_cuts(look: Look, step: Step) -> Iterator[str]:
    """Each value is the point of its interval, or a neighbouring one; k share each."""
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        yield from _k_per_value(look, step, name)
        x = look.given(step, name)
        if x is None:
            continue
        y, near = numbers(look.after[name]), look.tolerance(step, name)
        cuts, points = parameter(step, "cuts", name), np.array(parameter(step, "points", name))
        kept = np.array(parameter(step, "kept", name) or [], dtype=float)
        encoding = step.get("encoding", "group")
        every = np.unique([*points, *kept])
        for value, shown in zip(x.tolist(), y.tolist(), strict=True):
            if np.isnan(value) or np.isnan(shown):
                continue
            wanted = [value] if value in kept else [points[sum(cut <= value for cut in cuts)]]
            if encoding == "nearest":
                away = np.abs(every - value)
                wanted = every[away <= away.min() + near].tolist()
            elif encoding == "stochastic":
                wanted = [*every[every <= value][-1:], *every[every >= value][:1]]
            if not any(abs(shown - point) <= near + 1e-9 * abs(point) for point in wanted):
                yield f"{name}: {value} became {shown}, and not {wanted}"
                break


# Microaggregation


def microaggregation(look: Look, step: Step) -> Iterator[str]:
    """K share each tuple, nulls included; a group has its own centre, and one pattern of nulls."""
    names, k = step["columns"], least_in_group(step)
    if not all(look.is_last(step, name) for name in names):
        return
    groups, tuples = defaultdict(list), look.tuples(names)
    for row in np.flatnonzero(~look.gone):
        groups[tuples[row]].append(row)
    for held, rows in groups.items():
        empty = all(cell is None for cell in held)
        if step.get("promise", True) and look.count(rows) < k and not (empty and look.lost):
            yield f"{', '.join(names)}: {held} is held by {look.count(rows)}, not by {k}"
        if not empty:
            yield from _one_group(look, step, held, np.array(rows))
    empty = np.column_stack([nulls(look.after[name]) for name in names])
    emptied = empty & ~np.column_stack([nulls(look.before[name]) for name in names])
    if (emptied.any(axis=1) & ~empty.all(axis=1)).any():
        yield f"{', '.join(names)}: some cells of a record were emptied and others were not"


def _one_group(look: Look, step: Step, held: tuple[Any, ...], rows: np.ndarray) -> Iterator[str]:
    # The same centre may come out of two strata.
    if "strata" in step and len(rows) < step["k"]:
        yield f"a group of {len(rows)}"
    # Points that are made from samples lie anywhere in the column.
    centre = "any" if step["method"] == "resampling" else step.get("representative", "mean")
    for name, cell in zip(step["columns"], held, strict=True):
        cells = look.before[name].iloc[rows]
        if cell is None or len(look.treating(name)) > 1:
            continue
        if isinstance(cell, str | bool):
            if cell not in set(cells) and not look.lost:
                yield f"{name}: no record of a group holds {cell}"
            continue
        x, point = numbers(cells), numbers(pd.Series([cell], dtype=object))[0]
        near = look.tolerance(step, name)
        every = numbers(look.before[name])
        if not np.nanmin(every) - near <= point <= np.nanmax(every) + near:
            yield f"{name}: {cell} is out of range"
        elif not look.lost and not any(
            _is_centre(
                centre, numbers(look.before[name].iloc[np.intersect1d(rows, some)]), point, near
            )
            for some in look.firsts(step)
        ):
            yield f"{name}: {cell} is not the {centre} of its group, of mean {x.mean()}"


# Perturbation


def top_bottom(look: Look, step: Step) -> Iterator[str]:
    """Nothing is beyond the bounds, and what was within them is as it was."""
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        lower, upper = (parameter(step, side, name) for side in ("lower", "upper"))
        y, x = numbers(look.after[name]), look.given(step, name)
        if (lower is not None and (y < lower).any()) or (upper is not None and (y > upper).any()):
            yield f"{name}: a value is beyond its bound"
        if x is not None:
            there, near = ~np.isnan(y), look.tolerance(step, name)
            bounded = np.clip(x, lower, upper)
            if (
                np.abs(bounded - y)[there] > np.where(bounded == x, 1e-12 * np.abs(x), near)[there]
            ).any():
                yield f"{name}: a value is neither itself nor its bound"


def round_counts(look: Look, step: Step) -> Iterator[str]:
    """Small counts are blank, and a number is the nearest of those that the rule has there."""
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        rule, y = parameter(step, "rule", name), numbers(look.after[name])
        first, last = SMALL_COUNTS.get(rule, (0, -1))
        if ((y >= first) & (y <= last)).any():
            yield f"{name}: a count is shown that {rule} hides"
        near = 1e-3 if look.kinds.get(name) == "single" else 1e-7
        for cell in set(y[~np.isnan(y)].tolist()):
            base = _base_at(rule, cell)
            if base and abs(cell / base - round(cell / base)) > near:
                yield f"{name}: {cell} is not rounded by {rule}"
        x = look.given(step, name)
        for was, now in set(zip(x.tolist(), y.tolist(), strict=True)) if x is not None else ():
            small = first <= was <= last
            if small and not np.isnan(now):
                yield f"{name}: {was} is small, and {now} shown"
            elif not small and abs(was - now) > _base_at(rule, was) * (0.5 + near):
                yield f"{name}: {was} became {now}"


_BASES = ((100.0, 10.0), (1e3, 50.0), (1e4, 100.0), (1e5, 500.0), (1e6, 1e3))


def _base_at(rule: str, value: float) -> float:
    """What numbers near a value are rounded to; 0 where it stays what it is."""
    if rule not in ("census-drb", "census-drb-estimates") or not abs(value) > 0:
        return 0.0
    if rule == "census-drb" and value < 1e6:
        return next(base for end, base in _BASES if value < end)
    return float(f"1e{int(f'{value:e}'.split('e')[1]) - 3}")


def rank_swap(look: Look, step: Step) -> Iterator[str]:
    """Values are those of the column, and none came from beyond the window."""
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        x, y = look.given(step, name), numbers(look.after[name])
        if x is None:
            continue
        at_level = look.level([name]) is not None
        p = parameter(step, "p", name)
        ways = look.firsts(step) if at_level else look.firsts(step)[:1]
        stays = ~look.gone & ~np.isnan(y)
        if not any(_same_values(look, x[rows], y[rows]) for rows in ways):
            yield f"{name}: the values are not those of the column"
        near = step.get("window") == "drawn" or any(
            _in_window(x, y, rows, stays, p) for rows in ways
        )
        if not near:
            yield f"{name}: a value was swapped beyond {p} % of the ranks"


def _in_window(x: np.ndarray, y: np.ndarray, rows: np.ndarray, stays: np.ndarray, p: float) -> bool:
    """Tell whether all values are within the window, among all records or those that remain."""
    for among in (rows, rows[stays[rows]]):
        among = among[~np.isnan(x[among])]
        ordered = np.sort(x[among])
        rank = np.empty(len(among), int)
        rank[np.argsort(x[among], kind="stable")] = np.arange(len(among))
        new = y[among]
        low, high = np.searchsorted(ordered, new), np.searchsorted(ordered, new, "right") - 1
        far = np.maximum(np.maximum(low - rank, rank - high), 0)[~np.isnan(new)]
        if (far <= int(p * len(among) / 100)).all():
            return True
    return False


def _same_values(look: Look, x: np.ndarray, y: np.ndarray) -> bool:
    """A permutation holds each value as often as before; less those that were lost."""
    old, new = Counter(x[~np.isnan(x)].tolist()), Counter(y[~np.isnan(y)].tolist())
    return new <= old if look.lost else new == old


def shuffle(look: Look, step: Step) -> Iterator[str]:
    """Each column, or all of them together, is a permutation of itself."""
    sets = [step["columns"]] if step.get("together") else [[name] for name in step["columns"]]
    for names in sets:
        if any(len(look.treating(name)) > 1 for name in names):
            continue
        # What all members of a household share is shuffled among households.
        ways = look.firsts(step) if look.level(names) else look.firsts(step)[:1]
        if not any(_is_permuted(look, names, rows) for rows in ways):
            yield f"{', '.join(names)}: not a permutation"


def _is_permuted(look: Look, names: list[str], rows: np.ndarray) -> bool:
    old, new = (
        Counter(map(tuple, table.loc[some, names].to_numpy().tolist()))
        for table, some in ((look.before, rows), (look.after, rows[~look.gone[rows]]))
    )
    if not look.lost:
        return old == new
    # Cells of records that are suppressed may be empty.
    return all(None in cells for cells in new - old)


def pram(look: Look, step: Step) -> Iterator[str]:
    """Categories are among those of the column, and only become what the matrix allows."""
    for name in step["columns"]:
        if len(look.treating(name)) > 1:
            continue
        known, matrix = set(look.before[name]), step.get("matrix", {}).get(name)
        for old, new in set(zip(look.before[name], look.after[name], strict=True)):
            if new is None or old is None:
                continue
            if new not in known:
                yield f"{name}: {new!r} is no category of the column"
            elif matrix and not step.get("invariant") and not matrix[_key(old)].get(_key(new), 0):
                yield f"{name}: {old!r} cannot become {new!r}"


def _key(cell: Any) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def noise(look: Look, step: Step) -> Iterator[str]:
    """Noise is as large as its scale lets it be, and there is some."""
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        x, y = look.given(step, name), numbers(look.after[name])
        if x is None:
            continue
        there, scale = ~np.isnan(x) & ~np.isnan(y), parameter(step, "scale", name) or 0.1
        if step.get("match_ranks"):
            if not any(_same_values(look, x[rows], y[rows]) for rows in look.firsts(step)):
                yield f"{name}: the values are not those of the column"
            continue
        if "logarithmic" in step.get("kind", ""):
            scale = (np.exp(_SIGMAS * scale) - 1) / _SIGMAS
        sd = float(np.std(x[~np.isnan(x)])) * np.sqrt(2)
        size = sd if step.get("kind", "additive") in ("additive", "correlated") else np.abs(x)
        most = _SIGMAS * scale * size + look.tolerance(step, name) * 1.01
        if (np.abs(y - x) > most)[there].any():
            yield f"{name}: noise beyond {_SIGMAS} standard deviations"
        moves = there & (most > 1e3 * look.tolerance(step, name)) & (x != 0)
        if moves.sum() > 4 and (x == y)[moves].all():
            yield f"{name}: no value was changed"


def date_shift(look: Look, step: Step) -> Iterator[str]:
    """All dates of a household, or else of a person, move by one number of days, back or forth, and none stays."""
    by = look.roles.get("household") or look.roles.get("unit")
    moved: dict[Any, float] = {}
    for name in step["columns"]:
        if len(look.treating(name)) > 1:
            continue
        days = (numbers(look.after[name]) - numbers(look.before[name])) / 86_400_000_000
        for row in np.flatnonzero(~np.isnan(days)):
            key = row if by is None else repr(look.before[by].iat[row])
            if not 1 <= abs(days[row]) <= step["days"] or days[row] % 1:
                yield f"{name}: a date moved by {days[row]} days"
            if step.get("keep_weekday") and days[row] % 7:
                yield f"{name}: a date moved to another day of the week"
            if moved.setdefault(key, days[row]) != days[row]:
                yield f"{name}: dates of one person moved by different numbers of days"


# Regression


def ipso(look: Look, step: Step) -> Iterator[str]:
    """B keeps means and the regression on X, C the covariances of the residuals too."""
    names, given = step["columns"], step["confidential"]
    used = [*names, *given]
    single = all(len(look.treating(c)) == (c in names) for c in used)
    if step.get("variant", "A") == "A" or not single or look.lost or look.level(names):
        return
    before, after = (
        np.column_stack([numbers(t[c]) for c in used]) for t in (look.before, look.after)
    )
    whole = ~np.isnan(before).any(axis=1)
    before, after, m = before[whole], after[whole], len(names)
    near = np.array([look.tolerance(step, c) for c in names])
    scale = before.std(axis=0) + 1e-300
    mean = np.abs((after - before).mean(axis=0))[:m]
    if (mean > near + 1e-6 * scale[:m] + 1e-9 * np.abs(before).max(axis=0)[:m]).any():
        yield f"{', '.join(names)}: the means were not kept"
    if (near > 1e-4 * scale[:m]).any() or (scale < 1e-9 * np.abs(before).max(axis=0)).any():
        return
    old, new = (np.cov(((t - before.mean(axis=0)) / scale).T) for t in (before, after))
    rows = slice(0, m) if step["variant"] == "C" else slice(m, None)
    if np.abs(old - new)[rows].max() > 1e-2:
        yield f"{', '.join(names)}: the covariances were not kept"


def regression(look: Look, step: Step) -> Iterator[str]:
    """Values stay numbers, and in their column's range where that is asked for."""
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        x, y = look.given(step, name), numbers(look.after[name])
        if np.isinf(y).any():
            yield f"{name}: a value is no number"
        if x is not None and step.get("keep_range"):
            near = look.tolerance(step, name)
            if (
                np.nanmin(y, initial=np.inf) < np.nanmin(x) - near
                or np.nanmax(y, initial=-np.inf) > np.nanmax(x) + near
            ):
                yield f"{name}: a value is out of range"


def items(look: Look, step: Step) -> Iterator[str]:
    """K records hold any m items of one, and no item is new."""
    for name in step["columns"]:
        held = {
            row: set(str(look.after[name].iat[row]).split(step["separator"])) - {""}
            for row in shown_rows(look, name)
        }
        rare = rare_combination(held, step.get("m", 2), step["k"])
        if rare is not None and step.get("promise", True):
            yield f"{name}: fewer than {step['k']} hold {rare}"
        for row, some in held.items():
            if some - set(str(look.before[name].iat[row]).split(step["separator"])) - {"*"}:
                yield f"{name}: row {row} holds an item that it did not"


# Local suppression


def local_suppression(look: Look, step: Step) -> Iterator[str]:
    """Cells are blank or as they were, and enough share what is shown, by the reading asked for."""
    names, alone = step["columns"], not any(s["method"] in SUPPRESSING for s in look.steps)
    if not all(look.is_last(step, name) for name in names):
        return
    asked = {key: cell for key, cell in step.items() if key not in ("method", "columns")}
    if not step.get("promise", True):
        asked = {key: asked[key] for key in ("fixed", "limit", "record_cost") if key in asked}
    once = all(len(look.treating(name)) == 1 for name in names)
    if not alone:
        # Records that another step suppresses are blank here, too.
        asked = {key: asked[key] for key in asked if key not in ("fixed", "limit")}
    if not alone or not once:
        asked["record_cost"] = 0.0
    if asked.get("null_policy") == "own" and not (once and alone):
        return
    before, after = (
        [list(row) for row in zip(*(table[name].tolist() for name in names), strict=True)]
        for table in (look.before if once else look.after, look.after)
    )
    others = {name: look.before[name].tolist() for name in look.before.columns}
    gone, units = look.gone.tolist(), None if look.counted is None else look.units
    for said in violations(Suppressed(names, before, after, asked, gone, units, others)):
        yield f"{', '.join(names)}: {said}"


def anatomy(look: Look, step: Step) -> Iterator[str]:
    """Groups keep their values, l different ones of each column, and nulls apart."""
    hidden = step["confidential"]
    quasi = [name for name in step["columns"] if name not in hidden]
    once = all(len(look.treating(name)) == 1 for name in step["columns"])
    rows = defaultdict(list)
    for row in np.flatnonzero(~look.gone):
        rows[look.after[step.get("group", "group")].iat[row]].append(row)
    if None in rows:
        yield f"row {rows.pop(None)[0]} is in no group"
    if not once:
        return
    for name in quasi:
        differ = look.before[name].compare(look.after[name]).index
        if set(differ) - set(np.flatnonzero(look.gone)):
            yield f"{name}: a value is not as it was"
    apart = step.get("null_policy") != "value" and step.get("small_group") != "append"
    for group, held in rows.items():
        old, new = (
            Counter(map(tuple, table.loc[held, hidden].to_numpy().tolist()))
            for table in (look.before, look.after)
        )
        if old != new:
            yield f"group {group}: its values are not those that it had"
        for name in hidden if step.get("promise", True) else ():
            found = Counter(look.after[name].iloc[held].dropna().tolist())
            if len(found) < step["l"] or max(found.values()) * step["l"] > found.total():
                yield f"{name}: group {group} is not {step['l']}-diverse"
        patterns = {tuple(nulls(look.before.loc[row, quasi])) for row in held}
        if apart and len(patterns) > 1:
            yield f"group {group} has records with different nulls"


METHODS: dict[str, Callable[[Look, Step], Iterator[str]]] = {
    **dict.fromkeys(K_PER_VALUE, rounding),
    "given-cuts": given_cuts,
    "microaggregation": microaggregation,
    "top-bottom": top_bottom,
    "round-counts": round_counts,
    "rank-swap": rank_swap,
    "shuffle": shuffle,
    "pram": pram,
    "noise": noise,
    "date-shift": date_shift,
    "ipso": ipso,
    "anatomy": anatomy,
    "porop": regression,
    "lirop": regression,
    "generalize-items": items,
    "local-suppression": local_suppression,
}
