"""Plans of the regression methods, applied again in plain numpy.

The numbers come out of long sums, which another order of adding changes a little. So each column
comes with its slack: how far off each of its values may be, by that cell's own terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.check.evidence import StepPlan
from discreet.draws import Draws
from discreet.table import numbers

# Places that are looked at together: a plan of 1e7 values must not take ten times their memory.
_BLOCK = 1 << 20
# Degrees, in square roots of k, up to which one polynomial follows from the two before it, and how
# many of the steep ones beyond are looked at together.
_STEEPEST, _STEEP = 4.5, 256
# What a curve may be off by, and the terms of a sum, as shares; and the units in the last place.
_CURVE, _TERMS, _ULPS = 1e-9, 1e-12, 4

# Of each column: values and slack, NaN where null.
Computed = dict[str, tuple[np.ndarray, np.ndarray]]


def prepare_porop(step: StepPlan) -> StepPlan:
    """Return the plan with its numbers as arrays."""
    arrays = ("degrees", "coefficients", "deviations")
    return step | {"joint": step["joint"] | {n: np.asarray(step["joint"][n]) for n in arrays}}


def porop(step: StepPlan, columns: Any, draws: Callable[[str], Draws]) -> Computed:
    """Sort, cut, normalise, sort and cut again; give each value its fit and its noise."""
    plan, names = step["joint"], list(step["columns"])
    table = np.column_stack([pooled(own, columns[name]) for name, own in step["columns"].items()])
    cells = np.flatnonzero(~np.isnan(table))
    by = [table.flat[cells]]
    if plan.get("ties") == "key":
        by.insert(0, draws(names[0]).numbers(cells // len(names)))
    cells = cells[np.lexsort(by)]
    values = table.flat[cells]
    n = len(values)

    chunk = np.arange(n) // plan["k"]
    starts = np.arange(0, n, plan["k"])
    low, high = values[starts], values[np.append(starts[1:], n) - 1]
    width = high - low
    # The same operations as the method's: equal values must stay equal, or their order changes.
    share = np.zeros(n)
    np.divide(values - low[chunk], width[chunk], out=share, where=width[chunk] > 0)

    order = np.argsort(share, kind="stable")
    new, slack = np.full((2, table.size), np.nan)
    for start in range(0, n, _BLOCK):
        places = np.arange(start, min(n, start + _BLOCK))
        at = order[places]
        row, column = np.divmod(cells[at], len(names))
        ends = low[chunk[at]], width[chunk[at]]
        new[cells[at]], slack[cells[at]] = porop_cells(
            step, n, places, share[at], *ends, row, column, draws
        )
    new, slack = new.reshape(table.shape), slack.reshape(table.shape)
    return {name: (new[:, i], slack[:, i]) for i, name in enumerate(names)}


def pooled(own: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """Return a column as it is pooled with others: brought to [0, 1] where its plan has ends."""
    if "width" not in own:
        return values
    return (values - own["low"]) / (own["width"] if own["width"] > 0 else 1.0)


def porop_cells(
    step: StepPlan,
    n: int,
    places: np.ndarray,
    share: np.ndarray,
    low: np.ndarray,
    width: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    draws: Callable[[str], Draws],
) -> tuple[np.ndarray, np.ndarray]:
    """Return what becomes of some of the n cells, and how far off each may be.

    They stand at `places` of the second order, with their `share` as value in it; `low` and
    `width` are those of their chunks in the first order. The row's draws go by `row`.
    """
    plan = step["joint"]
    fit = _curves(plan, n, places)
    sd = np.asarray(plan["deviations"])[places // plan["second_k"]]
    # An error of the fit counts once, and where the noise is its residual once more with the noise.
    off, again = _CURVE * np.maximum(1.0, np.abs(fit)), 0.0
    if plan["noise"] == "perturbative":
        sd, again = np.abs(share - fit), plan["noise_scale"]
    new, off, most = low + width * fit, width * off, np.abs(low) + np.abs(width * fit)
    for i, (name, own) in enumerate(step["columns"].items()):
        mine = column == i
        if plan["noise"] != "none":
            noise = plan["noise_scale"] * sd[mine] * width[mine]
            normal = draws(name).normal(row[mine])
            noise = np.maximum(noise, own["noise_floor"] / (own.get("width") or 1.0)) * normal
            new[mine] += noise
            most[mine] += np.abs(noise)
            off[mine] *= 1.0 + again * np.abs(normal)
        if "width" in own:
            new[mine] = own["low"] + own["width"] * new[mine]
            off[mine] *= own["width"]
            most[mine] = np.abs(own["low"]) + own["width"] * most[mine]
        if "lower" in own:
            new[mine] = np.maximum(np.minimum(new[mine], own["upper"]), own["lower"])
    return new, off + _ULPS * np.spacing(most)


def _curves(plan: dict[str, Any], n: int, places: np.ndarray) -> np.ndarray:
    """Evaluate the polynomials at some of the n places of the second order."""
    k = plan["second_k"]
    chunks = -(-n // k)
    chunk, position = np.divmod(places, k)
    # The last chunk was fitted on the last k values, of which it is the end.
    position[chunk == chunks - 1] += chunks * k - n
    degrees = np.broadcast_to(plan["degrees"], chunks)
    ends = np.cumsum(degrees + 1)
    if ends[-1] != len(plan["coefficients"]):
        raise ValueError(f"{len(plan['coefficients'])} coefficients, not {ends[-1]}")
    # Orthonormal on 0..k-1: each is the position times the one before, less its part in the one
    # before that, over what is left.
    t = position - (k - 1) / 2
    before, now, last = np.zeros(len(t)), np.full(len(t), k**-0.5), 0.0
    total, coefficients = np.zeros(len(t)), np.asarray(plan["coefficients"])
    highest = min(int(degrees.max()), int(_STEEPEST * k**0.5))
    for j in range(highest + 1):
        has = degrees[chunk] >= j
        first = ends[chunk[has]] - degrees[chunk[has]] - 1
        total[has] += coefficients[first + j] * now[has]
        left = (j + 1) / 2 * np.sqrt((k - j - 1) / (2 * j + 1) * ((k + j + 1) / (2 * j + 3)))
        if j < highest:
            before, now, last = now, (t * now - last * before) / left, left
    starts = np.flatnonzero(np.diff(chunk, prepend=-1))
    for low in range(highest + 1, int(degrees.max()) + 1, _STEEP):
        several = np.arange(low, min(low + _STEEP, int(degrees.max()) + 1))
        basis = _steep(k, several)
        for start, stop in zip(starts, [*starts[1:], len(chunk)], strict=True):
            c = chunk[start]
            own = several[several <= degrees[c]]
            given = coefficients[ends[c] - degrees[c] - 1 + own]
            total[start:stop] += basis[position[start:stop], : len(own)] @ given
    return total


def _steep(k: int, degrees: np.ndarray) -> np.ndarray:
    """Return polynomials of high degrees, orthonormal on 0..k-1: a column for each.

    The recurrence over degrees loses them near the ends, where they are small. There is one over
    positions too: polynomials that are orthogonal on 0..k-1 are the eigenvectors, for the
    eigenvalues j (j + 1), of f -> sum over both neighbours y of w(x, y) (f(x) - f(y)), where the
    weight of x and x + 1 is (x + 1) (k - 1 - x). From an end inwards it gives them in full.
    """
    made = np.zeros((k, len(degrees)))
    made[0] = 1e-140
    right = np.zeros(len(degrees))  # what flows from x - 1 to x: weight times difference
    for x in range((k + 1) // 2 - 1):
        right = right - degrees * (degrees + 1.0) * made[x]
        made[x + 1] = made[x] + right / ((x + 1) * (k - 1.0 - x))
        large = np.abs(made[x + 1]) > 1e140
        made[: x + 2, large] *= 1e-280
        right[large] *= 1e-280
    sign = np.where(degrees % 2 == 1, -1.0, 1.0)
    half = k // 2
    if k % 2 == 1:
        made[half, sign < 0] = 0.0
    made[k - half :] = made[:half][::-1]
    made[:half] *= sign
    return made / np.sqrt((made**2).sum(axis=0))


def ipso(step: StepPlan, columns: Any, draws: Callable[[str], Draws]) -> Computed:
    """Return each record intercept + X coefficients + draws times noise, by the X that it has."""
    plan, names = step["joint"], list(step["columns"])
    x = np.array([numbers(columns.arrow(name), name).values for name in plan["confidential"]])
    x = (x - np.reshape(plan["centre"], (-1, 1))) / np.reshape(plan["scale"], (-1, 1))
    has = ~np.isnan(x).T
    z = [draws(name).normal(np.arange(x.shape[1])) for name in names]
    new, slack = np.full((2, len(names), x.shape[1]), np.nan)
    for part in plan["parts"]:
        used = np.flatnonzero(part["used"])
        rows = (has == np.asarray(part["used"], dtype=bool)).all(axis=1)
        slopes = np.reshape(part["coefficients"], (len(used), len(names)))
        noise = np.reshape(part["noise"], (len(names), len(names)))
        for i in range(len(names)):
            terms = [slopes[j, i] * x[column, rows] for j, column in enumerate(used)]
            terms += [noise[j, i] * z[j][rows] for j in range(len(names))]
            # The intercept last: near 1e9 each term added to it would be rounded to its digits.
            new[i, rows] = sum(terms) + part["intercept"][i]
            most = sum(np.abs(term) for term in terms)
            ulps = np.spacing(most + np.abs(part["intercept"][i]))
            slack[i, rows] = _TERMS * most + _ULPS * ulps
    for i, name in enumerate(names):
        new[i, np.isnan(columns[name])] = np.nan
    return {name: (new[i], slack[i]) for i, name in enumerate(names)}
