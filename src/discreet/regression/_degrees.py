"""The degree of each chunk's polynomial, chosen by what it loses and what it discloses.

A better fit is the wrong aim, because the best one gives the values back: what counts is the mean
of a loss and a risk, as in the score of PoROP's own paper. Both are expectations over the noise,
so the choice does not depend on the draws, and both are of the chunk's own values, brought to
[0, 1]; `noise_floor`, which differs by column, is left out.

- Loss: the root mean square of what values move by, over sqrt(2) standard deviations.
- Risk: the share of values that are released within 0 to 0.1 standard deviations of themselves,
  the mean over these distances (interval disclosure).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from discreet.kernels.gram import disclosures_by_degree, misses_by_degree
from discreet.plan import JointPlan
from discreet.regression._ordered import Over, Sums, ends_of, fitted, sum_of_products, summed

# The highest degree that is tried. A steeper one discloses more, and there is little left to lose.
HIGHEST = 6
# The widest distance that counts as disclosure, in standard deviations.
WIDEST = 0.1


def chosen(n: int, k: int, noise: str, scale: float, over: Over) -> JointPlan:
    """Return degrees, coefficients and deviations of the chunks, and the figures of all degrees.

    `losses` and `risks` have those of the degrees 1, 2, ... of the first chunk, then of the
    second, and so on.
    """
    # A curve with more coefficients than half the values nearly gives them back.
    chunks, tried = -(-n // k), min(HIGHEST, max(1, k // 2 - 1))
    shape = (chunks, tried + 1)
    ends = ends_of(np.array([tried]), chunks)
    fits = summed(over(partial(sum_of_products, n, k, ends)), ends[-1]).reshape(shape)
    squares = summed(over(partial(_squares, n, k, fits)), fits.size).reshape(shape)
    deviations = np.sqrt(squares / k)
    size = 0.0 if noise == "none" else scale
    risks = over(
        partial(
            _near,
            n,
            k,
            fits,
            size * deviations,
            noise == "perturbative",
            size,
            WIDEST * deviations[:, 0],
        )
    )
    risk = summed(risks, fits.size).reshape(shape)[:, 1:] / k
    # Degree 0 is the mean, so what it misses is the spread of the values themselves.
    spread = deviations[:, :1]
    loss = np.zeros(risk.shape)
    np.divide(deviations[:, 1:] * np.sqrt((1 + size**2) / 2), spread, out=loss, where=spread > 0)
    degrees = 1 + np.argmin((loss + risk) / 2, axis=1)
    return {
        "degrees": degrees,
        "coefficients": fits[np.arange(tried + 1) <= degrees[:, np.newaxis]],
        "deviations": deviations[np.arange(chunks), degrees],
        "losses": loss.ravel(),
        "risks": risk.ravel(),
    }


def _squares(n: int, k: int, fits: np.ndarray, values: np.ndarray, start: int) -> Sums:
    """Sum the squares of what the fits of all degrees miss in a stretch."""
    first, stop = fitted(n, k, start, len(values))
    totals = np.zeros((stop - first, fits.shape[1]))
    misses_by_degree(values, start, n, k, first, fits, totals)
    return first * fits.shape[1], totals.ravel()


def _near(
    n: int,
    k: int,
    fits: np.ndarray,
    spreads: np.ndarray,
    by_cell: bool,
    scale: float,
    widest: np.ndarray,
    values: np.ndarray,
    start: int,
) -> Sums:
    """Sum how likely the values of a stretch are to be released near themselves."""
    first, stop = fitted(n, k, start, len(values))
    totals = np.zeros((stop - first, fits.shape[1]))
    disclosures_by_degree(values, start, n, k, first, fits, spreads, by_cell, scale, widest, totals)
    return first * fits.shape[1], totals.ravel()
