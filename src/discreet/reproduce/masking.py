"""The rounding paper's way of masking, where it differs from ours.

The paper encodes equal-width and equal-frequency columns with the rounding points of *all* columns
together, lowers the number of points where quantiles coincide, releases codes for the supervised
methods, splits ties, and uses Freedman and Diaconis's rule without limits. All of that is here
and nowhere else.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from discreet import rounding
from discreet.rounding._sizes import freedman_diaconis
from discreet.table.summary import Summary, summarise

RULE = "freedman-diaconis"
GROUPS: dict[str, Callable[..., Any]] = {
    "MDAV": rounding.MDAV,
    "OMA": rounding.OMA,
    "VMDAV": rounding.VMDAV,
}
POINTS = ("EWD", "EFD", "KMD", "RBD")
RANDOM = ("KMD", "RBD")
CLASSES: dict[str, Callable[..., Any]] = {"MDLP": rounding.MDLP, "ChiM": rounding.ChiMerge}


def masked(
    frame: pd.DataFrame, method: str, size: int | str, seed: int = 0, raise_c: bool = False
) -> pd.DataFrame:
    """Mask all columns as the paper's method of that name does.

    The size is k for the methods in `GROUPS`, c for those in `POINTS`, or `RULE`. If quantiles
    coincide, the next lower c is taken for which they do not, or with `raise_c` the next higher.

    Examples
    --------
    >>> masked(pd.DataFrame({"age": [20.0, 22.0, 40.0, 44.0]}), "OMA", 2)["age"].tolist()
    [21.0, 21.0, 42.0, 42.0]
    """
    summaries = {str(c): summarise(frame[c].to_numpy()) for c in frame}
    number = {c: _number(s, size, c, by_size=method in GROUPS) for c, s in summaries.items()}
    with warnings.catch_warnings():
        # Fewer points than asked for, again and again; the product's warnings are for its users.
        warnings.simplefilter("ignore", UserWarning)
        if method in GROUPS:
            new = GROUPS[method](k=number, keep_ties=False).fit_transform(frame)
        elif method == "EWD":
            new = _pooled(frame, rounding.EqualWidth(n_points=number).fit(frame))
        elif method == "EFD":
            efd = rounding.EqualFrequency(n_points=number, ties="raise_c" if raise_c else "lower_c")
            new = _pooled(frame, efd.fit(frame))
        elif method == "KMD":
            kmeans = rounding.KMeans(n_points=number, solver="lloyd", random_state=seed)
            new = kmeans.fit_transform(frame)
        else:
            new = rounding.Resampling(n_points=number, random_state=seed).fit_transform(frame)
    return pd.DataFrame(new, columns=frame.columns)


def coded(frame: pd.DataFrame, classes: pd.Series, method: str) -> pd.DataFrame:
    """Cut each column by a supervised method, and release the number of the part: 1, 2, ...

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20.0, 22.0, 40.0, 44.0] * 3})
    >>> coded(frame, pd.Series([0, 0, 1, 1] * 3), "MDLP")["age"].tolist()[:4]
    [1.0, 1.0, 2.0, 2.0]
    """
    parts = CLASSES[method]().fit_transform(frame, classes)
    codes = [np.unique(column, return_inverse=True)[1] + 1.0 for column in parts.T]
    return pd.DataFrame(np.column_stack(codes), columns=frame.columns)


def _number(summary: Summary, size: int | str, column: str, by_size: bool) -> int:
    """Return k or c for a column, by the unlimited rule if that is asked for."""
    if not isinstance(size, str):
        return size
    c = freedman_diaconis(summary, column)
    return max(1, summary.n // c) if by_size else c


def _pooled(frame: pd.DataFrame, fitted: Any) -> np.ndarray:
    """Replace each cell by the nearest of all columns' points, the lower one on a tie."""
    points = np.unique(np.concatenate(list(fitted.rounding_sets_.values())))
    borders = points[:-1] + np.diff(points) / 2
    return points[np.searchsorted(borders, frame.to_numpy())]
