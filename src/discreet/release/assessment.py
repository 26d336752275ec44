"""Assess a release: risk and utility, before and after."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.release.recipe import Recipe
from discreet.release.roles import Roles
from discreet.risk import class_size_risk, interval_disclosure
from discreet.table import normalise, to_arrow
from discreet.table.pairs import numeric_pairs
from discreet.utility import il1s


@dataclass(frozen=True)
class Assessment:
    """Risk and utility of a release, before and after.

    Attributes
    ----------
    risk, utility : dict
        Measures by name; each says in `means` how to read it.
    score : float or None
        One figure for both, in percent, where it can be given.
    left_out : dict of str to str
        Measures that were not taken, and why.
    """

    risk: dict[str, Any]
    utility: dict[str, Any]
    score: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Give the assessment as plain data."""
        return {
            "risk": self.risk,
            "utility": self.utility,
            "score": self.score,
            "left_out": self.left_out,
        }

    def to_json(self) -> str:
        """Give the assessment as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)


def assess(
    original: Any,
    protected: Any,
    roles: Roles | Mapping[str, Any],
    *,
    recipe: Recipe | None = None,
    rows: np.ndarray | None = None,
) -> Assessment:
    """Measure risk and utility of a protected table against its original.

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table
    roles : Roles or dict
    recipe : Recipe, optional
        What was done; its null markers are read as nulls.
    rows : ndarray of int, optional
        For each protected row the position of its original; in order where not given.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> import pyarrow as pa
    >>> original = pa.table({"age": [31, 32, 45, 46], "pay": [10.0, 12.0, 30.0, 34.0]})
    >>> protected = pa.table({"age": [31, 31, 45, 45], "pay": [11.0, 11.0, 32.0, 32.0]})
    >>> result = assess(original, protected, {"quasi": ["age"], "confidential": ["pay"]})
    >>> sizes = result.risk["class_sizes"]
    >>> sizes["before"]["unique"], sizes["after"]["unique"]
    (4, 0)
    """
    roles = roles if isinstance(roles, Roles) else Roles.from_dict(roles)
    markers = recipe.null_markers if recipe else []
    before, after = normalise(to_arrow(original), markers), to_arrow(protected)
    if rows is not None:
        before = before.take(pa.array(rows))
    if before.num_rows != after.num_rows:
        raise BadInput(
            f"the original has {before.num_rows:,} rows, the protected table {after.num_rows:,}; "
            "give the release folder, whose row map says which belong together"
        )
    left_out = {"score": "needs record linkage, which is not measured yet"}
    risk: dict[str, Any] = {}
    utility: dict[str, Any] = {}
    quasi = [c for c in roles.quasi if c in before.column_names and c in after.column_names]
    if quasi:
        risk["class_sizes"] = {
            "means": "records that share all quasi columns with few others; unique ones stand out",
            "columns": quasi,
            "before": class_size_risk(before, quasi).to_dict(),
            "after": class_size_risk(after, quasi).to_dict(),
        }
    else:
        left_out["class_sizes"] = "there is no quasi column in both tables"
    # Household numbers are names, not quantities.
    named = [c for c in after.column_names if c != roles.household]
    pairs = numeric_pairs(before, after.select(named))
    touched = [c for c, (x, y) in pairs.items() if not np.array_equal(x, y, equal_nan=True)]
    if touched:
        x, y = before.select(touched), after.select(touched)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            close = interval_disclosure(x, y, detail=True)
            loss = il1s(x, y, normalize=True, detail=True)
        left_out.update({str(w.message): "see the message" for w in caught})
        risk["interval_disclosure"] = {
            "means": "share of cells within 5 % of a standard deviation of their original",
            "value": close.value,
            "columns": close.columns,
        }
        utility["il1s"] = {
            "means": "mean absolute change in units of 1.41 standard deviations; 0 is no loss",
            "value": loss.value,
            "columns": loss.columns,
        }
    else:
        left_out["interval_disclosure and il1s"] = "no numeric column differs"
    utility["columns"] = {
        "means": "moments and nulls before and after",
        "columns": {c: _moments(x, y) for c, (x, y) in pairs.items()},
    }
    return Assessment(risk, utility, None, left_out)


def _moments(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    return {
        "mean": [_mean(x), _mean(y)],
        "sd": [_sd(x), _sd(y)],
        "distinct": [_distinct(x), _distinct(y)],
        "nulls": [int(np.isnan(x).sum()), int(np.isnan(y).sum())],
    }


def _mean(x: np.ndarray) -> float | None:
    return None if np.isnan(x).all() else float(np.nanmean(x))


def _sd(x: np.ndarray) -> float | None:
    return None if (~np.isnan(x)).sum() < 2 else float(np.nanstd(x, ddof=1))


def _distinct(x: np.ndarray) -> int:
    return len(np.unique(x[~np.isnan(x)]))
