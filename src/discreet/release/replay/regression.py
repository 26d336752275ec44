"""Plans of the regression methods, applied again in plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.draws import Draws
from discreet.table import numbers

# Places that are looked at together: a plan of 1e7 values must not take ten times their memory.
_BLOCK = 1 << 20


def porop(step: dict[str, Any], columns: Any, draws: Callable[[str], Draws]) -> dict[str, Any]:
    """Sort, cut, normalise, sort and cut again; give each value its fit and its noise."""
    plan, names = step["joint"], list(step["columns"])
    table = np.column_stack([columns[name] for name in names])
    cells = np.flatnonzero(~np.isnan(table))
    cells = cells[np.argsort(table.flat[cells], kind="stable")]
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
    fit, sd = np.empty(n), np.empty(n)
    for start in range(0, n, _BLOCK):
        places = np.arange(start, min(n, start + _BLOCK))
        fit[order[places]] = _curves(plan, n, places)
        sd[order[places]] = np.asarray(plan["deviations"])[places // plan["second_k"]]
    if plan["noise"] == "perturbative":
        sd = np.abs(share - fit)

    new = np.full(table.shape, np.nan)
    new.flat[cells] = low[chunk] + width[chunk] * fit
    if plan["noise"] != "none":
        noise = np.full(table.shape, np.nan)
        noise.flat[cells] = plan["noise_scale"] * sd * width[chunk]
        for i, name in enumerate(names):
            least = np.maximum(noise[:, i], step["columns"][name]["noise_floor"])
            new[:, i] += least * draws(name).normal(np.arange(len(table)))
    for i, name in enumerate(names):
        if "lower" in step["columns"][name]:
            new[:, i] = np.minimum(new[:, i], step["columns"][name]["upper"])
            new[:, i] = np.maximum(new[:, i], step["columns"][name]["lower"])
    return {name: new[:, i] for i, name in enumerate(names)}


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
    total = np.zeros(len(t))
    for j in range(degrees.max() + 1):
        has = degrees[chunk] >= j
        first = ends[chunk[has]] - degrees[chunk[has]] - 1
        total[has] += np.asarray(plan["coefficients"])[first + j] * now[has]
        left = (j + 1) / 2 * np.sqrt((k - j - 1) / (2 * j + 1) * ((k + j + 1) / (2 * j + 3)))
        if j < degrees.max():
            before, now, last = now, (t * now - last * before) / left, left
    return total


def ipso(step: dict[str, Any], columns: Any, draws: Callable[[str], Draws]) -> dict[str, Any]:
    """Give each record intercept + X coefficients + draws times noise, by the X that it has."""
    plan, names = step["joint"], list(step["columns"])
    x = np.array([numbers(columns.arrow(name), name).values for name in plan["confidential"]])
    x = (x - np.reshape(plan["centre"], (-1, 1))) / np.reshape(plan["scale"], (-1, 1))
    has = ~np.isnan(x).T
    z = [draws(name).normal(np.arange(x.shape[1])) for name in names]
    new = np.full((len(names), x.shape[1]), np.nan)
    for part in plan["parts"]:
        used = np.flatnonzero(part["used"])
        rows = (has == np.asarray(part["used"], dtype=bool)).all(axis=1)
        slopes = np.reshape(part["coefficients"], (len(used), len(names)))
        noise = np.reshape(part["noise"], (len(names), len(names)))
        for i in range(len(names)):
            made = np.full(int(rows.sum()), part["intercept"][i])
            for j, column in enumerate(used):
                made += slopes[j, i] * x[column, rows]
            for j in range(len(names)):
                made += noise[j, i] * z[j][rows]
            new[i, rows] = made
    for i, name in enumerate(names):
        new[i, np.isnan(columns[name])] = np.nan
    return dict(zip(names, new, strict=True))
