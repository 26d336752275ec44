"""Plans of the regression methods, applied again in plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.draws import Draws
from discreet.table import numbers


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
    fit = np.empty(n)
    fit[order] = _curves(plan, n)
    own = np.empty(n, dtype=np.int64)
    own[order] = np.arange(n) // plan["second_k"]
    sd = np.asarray(plan["deviations"])[own]
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


def _curves(plan: dict[str, Any], n: int) -> np.ndarray:
    """Evaluate the polynomials at all n places of the second order."""
    k = plan["second_k"]
    chunk, position = np.divmod(np.arange(n), k)
    if n % k:
        # The last chunk was fitted on the last k values, of which it is the end.
        position[chunk == n // k] += k - n % k
    degrees = np.broadcast_to(plan["degrees"], chunk[-1] + 1)
    table = np.zeros((len(degrees), degrees.max() + 1))
    table[np.arange(table.shape[1]) <= degrees[:, None]] = plan["coefficients"]
    # Orthonormal on 0..k-1; from the recurrence of the monic Gram polynomials and their norms.
    t = position - (k - 1) / 2
    before, now = np.zeros(n), np.full(n, k**-0.5)
    total, last = np.zeros(n), 0.0
    for j in range(table.shape[1]):
        total += table[chunk, j] * now
        following = (j + 1) / 2 * np.sqrt((k - j - 1) / (2 * j + 1) * ((k + j + 1) / (2 * j + 3)))
        if j + 1 < table.shape[1]:
            before, now, last = now, (t * now - last * before) / following, following
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
