"""Regression of original on released values: what a sample of known people teaches about the rest.

A noisy value is not the best guess at the original: one that is drawn towards the mean, and that
takes the other released columns into account, is nearer (Kargupta et al. 2003 for noise; regression
to the mean in general).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.attacks._excess import Attack, concluded
from discreet.errors import BadInput, nearest
from discreet.parameters import whole
from discreet.risk._guesses import densest
from discreet.risk.interval import WIDTH
from discreet.risk.values import refuse_infinite, sd
from discreet.table.pairs import numeric_pairs


def regression(
    original: Any,
    protected: Any,
    secret: str,
    *,
    known: int = 200,
    columns: Sequence[str] | None = None,
    width: float = WIDTH,
    random_state: int = 0,
) -> Attack:
    """Guess a column by a linear regression on the released columns, learned from known people.

    The intruder knows the original value of some records and can tell which they are in the
    release, fits a line by least squares, and guesses the value of everybody else. Where another
    released column is null, its mean stands for it.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    secret : str
        The numeric column that is guessed.
    known : int
        Of how many records the intruder knows the value; at most half of all.
    columns : list of str, optional
        The released numeric columns that are used; all by default.
    width : float
        A guess is right within so many standard deviations of the original column.
    random_state : int
        Which records are known.

    Returns
    -------
    Attack
        `attack` has the values that are guessed right; `guess` those that one value for all would
        get, where most of the known ones are. `detail` has `released`, the share that the
        released value itself is near, the `error` and `released_error` in standard deviations, and
        the correlation of guesses and values as `correlation`.

    Examples
    --------
    Much noise on two columns that tell nearly the same:

    >>> rng = np.random.default_rng(1)
    >>> pay = rng.normal(size=3000)
    >>> both = np.column_stack([pay, pay + 0.1 * rng.normal(size=3000)])
    >>> found = regression(both, both + rng.normal(size=both.shape), "x0")
    >>> round(found.detail["released_error"], 1), round(found.detail["error"], 1)
    (1.0, 0.6)
    """
    pairs = numeric_pairs(original, protected)
    if secret not in pairs:
        raise BadInput(f"secret = '{secret}' is no numeric column; {nearest(secret, pairs)}")
    used = list(pairs) if columns is None else list(columns)
    for name in used:
        if name not in pairs:
            raise BadInput(f"'{name}' is no numeric column of both tables; {nearest(name, pairs)}")
    if not used:
        raise BadInput("columns is empty; name the released columns to learn from")
    whole(1).check("known", known)
    if not width > 0:
        raise BadInput(f"width = {width} must be above 0")
    x, own = pairs[secret]
    released = np.column_stack([pairs[name][1] for name in used])
    refuse_infinite(secret, x, own, released)
    # Only ratios are told; squares of numbers near the largest would overflow.
    x, own = _within_one(x, own)
    released = np.column_stack([_within_one(column)[0] for column in released.T])
    rows = np.flatnonzero(~np.isnan(x) & ~np.isnan(own))
    known = min(known, len(rows) // 2)
    if known < len(used) + 2:
        raise BadInput(
            f"{len(rows)} records with a value of '{secret}' before and after are too few to learn "
            f"from {known} of them; use fewer columns"
        )
    order = np.random.default_rng(random_state).permutation(rows)
    learned, others = order[:known], order[known:]
    spread = sd(x[rows])
    guess = _fitted(released[learned], x[learned], released[others])
    half = width * spread * (1 + 1e-9)
    right = np.abs(guess - x[others]) <= half
    middle = densest(x[learned], half)
    constant = (np.abs(x[others] - middle) <= half).astype(float)
    own = own[others]
    scale = spread or 1.0
    off = float(np.sqrt(np.mean((own - x[others]) ** 2)))
    both = np.std(guess) * np.std(x[others])
    covariance = np.mean((guess - guess.mean()) * (x[others] - x[others].mean()))
    detail = {
        "secret": secret,
        "columns": used,
        "known": known,
        "width": width,
        "error": float(np.sqrt(np.mean((guess - x[others]) ** 2))) / scale,
        # Points that were given may be farther off than numbers go.
        "released_error": min(off / scale, np.finfo(float).max),
        "released": float(np.mean(np.abs(own - x[others]) <= half)),
        "correlation": float(covariance / both) if both else 0.0,
    }
    did = f"comes within {width:g} standard deviations of '{secret}'"
    return concluded("regression", right.astype(float), constant, did=did, detail=detail)


def _fitted(learned: np.ndarray, values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return what a line through known values says of the others."""
    there = ~np.isnan(learned)
    centre = np.where(there, learned, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    learned, others = (np.where(np.isnan(part), centre, part) for part in (learned, others))
    scale = learned.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    a, b = ((part - centre) / scale for part in (learned, others))
    slope, *_ = np.linalg.lstsq(a, values - values.mean(), rcond=1e-9)
    return values.mean() + b @ slope


def _within_one(*columns: np.ndarray) -> list[np.ndarray]:
    """Divide columns by one power of two, so that no number is above 1 by far; that is exact."""
    largest = max((float(np.nanmax(np.abs(c), initial=0.0)) for c in columns), default=0.0)
    exponent = math.frexp(largest)[1]
    return [np.ldexp(column, -exponent) for column in columns]
