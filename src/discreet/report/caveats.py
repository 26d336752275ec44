"""What an analyst must know of each method, in words: what it keeps, and what it distorts."""

from __future__ import annotations

_GROUPED = (
    "values are centres of groups: means are kept or nearly so, variances and standard errors come "
    "out too small, and the spread within a group is gone; do not look for exact values or gaps"
)
_CODED = (
    "labels stand for several values: compare and count by label, and do not take the middle of a "
    "range for a value; * means that any value is possible and is not a missing value"
)
_CURVED = (
    "values follow a curve through the ordered originals, with noise: the distribution keeps its "
    "shape, single values and small differences between records are not to be trusted"
)
CAVEATS = {
    "top-bottom": (
        "values at a bound stand for all beyond it: means and variances of the column come out too "
        "small; use medians, or models for censored values"
    ),
    "base": (
        "values are multiples of a base: differences smaller than it mean nothing, and counts heap "
        "at the multiples"
    ),
    "microaggregation": (
        "values are centres of groups of similar records: means are kept, variances come out too "
        "small, correlations among the columns treated together come out too strong, those with "
        "other columns too weak, and results for small subgroups mislead"
    ),
    "noise": (
        "noise was added: means are kept on average, variances come out too large, correlations "
        "and slopes of regressions with other columns too weak; use models with errors in variables"
    ),
    "rank-swap": (
        "values were exchanged between records of similar rank: the column by itself is exact, its "
        "relations to other columns come out too weak, in small subgroups most"
    ),
    "shuffle": (
        "values were exchanged between records at random: the column by itself is exact, and its "
        "relations to columns that were not exchanged with it mean nothing"
    ),
    "pram": (
        "categories were changed at random: counts are pulled towards each other and tables with "
        "this column come out too flat; counts can be corrected with the transition probabilities, "
        "where these are published, and are approximate otherwise"
    ),
    "porop": _CURVED,
    "lirop": _CURVED,
    "ipso": (
        "values were drawn from a linear regression on other columns: means, variances and linear "
        "relations among the columns involved are kept; subgroups, curves and extremes are not"
    ),
    "generalize": _CODED,
    "mondrian": _CODED,
}


_NEAREST = (
    "values are the nearest of some typical values: means are kept nearly, variances and standard "
    "errors come out somewhat too small, and the spread around a point is gone"
)
_STOCHASTIC = "values are one of the two neighbouring points, at random: means are kept on average"
_BEYOND = (
    ", but for values beyond the outermost points, which are cut off there; variances may come out "
    "too large or too small"
)
_BASE_STOCHASTIC = (
    "; variances come out too large, differences smaller than the base mean nothing, and counts "
    "heap at its multiples"
)


def caveat(method: str, encoding: str | None = None) -> str:
    """Say what an analyst must know of a method's result.

    Parameters
    ----------
    method : str
    encoding : {"group", "nearest", "stochastic"}, optional
        Of a method that rounds.
    """
    if encoding == "stochastic":
        return _STOCHASTIC + (_BASE_STOCHASTIC if method == "base" else _BEYOND)
    if encoding == "nearest" and method not in CAVEATS:
        return _NEAREST
    return CAVEATS.get(method, _GROUPED)
