"""Noise: additive, correlated, multiplicative, logarithmic; with ranks matched if asked."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import Method, largest, per_column
from discreet.outcome import Counted, Decision, Given, Outcome, Rounder, as_computed
from discreet.parameters import Constraints, number
from discreet.plan import ColumnPlan, JointPlan
from discreet.threads import over_ranges
from discreet.unchanged import share_unchanged, warn_unchanged

# Rows at a time: their draws stay in the cache.
_CHUNK = 1 << 15
# The share of unchanged values from which on it is told.
MOST = 0.5
_WHY = "many are equal, or the noise takes few past another; raise scale"
# An eigenvalue of correlations below this is rounding.
_NOTHING = 1e-13
Kind = Literal["additive", "correlated", "multiplicative", "logarithmic", "correlated-logarithmic"]
# What is nothing for dates, which are days since some day, and needs no standard deviation.
_FACTORS = ("multiplicative", "logarithmic", "correlated-logarithmic")
# Whose noise of one column depends on that of the others.
_CORRELATED = ("correlated", "correlated-logarithmic")


@dataclass(eq=False, repr=False)
class Noise(Method):
    """Add normal noise to each value, or multiply each by a factor near 1.

    Parameters
    ----------
    kind : {"additive", "correlated", "multiplicative", "logarithmic", "correlated-logarithmic"}
        `"additive"`: x + N(0, (scale * sd)^2), sd the column's standard deviation, each column by
        itself. `"correlated"`: the same, but the noise of the columns has the correlations of the
        data, so that these are kept. `"multiplicative"`: x * (1 + N(0, scale^2)), so that large
        values get much noise and zeros none. `"logarithmic"`: the same on logarithms, with
        exp(log|x| + N(0, scale^2)) and the sign of x. `"correlated-logarithmic"`: the same, but the
        noise of the columns has the correlations of their ranks.
    scale : float or mapping of str to float
        How much noise; by column where a mapping. Correlated noise takes one scale for all.
    match_ranks : bool
        True: each column's own values are given out again, the r-th smallest to the row whose
        value with noise is the r-th smallest. The column keeps its values exactly.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    plan_ : dict of str to dict
        What each column's noise is made of.

    See Also
    --------
    RankSwap : keeps each column's values as they are.
    TopBottom : as a second step, keeps the result within bounds.

    Notes
    -----
    Means are kept on average. Additive and correlated noise multiply variances by 1 + scale^2;
    additive noise divides correlations by the same.

    A factor of logarithmic noise is exp(scale^2 / 2) on average, and so are the means; without
    matching of ranks take scales well below 1.

    Where ranks are matched, noise only decides which row gets which value, and rows that come out
    equal are taken in their order; `transform` matches new rows among themselves. Noise of one
    size can then take a value past few others where values are sparse and past many where they
    are dense, and no rank is out of reach, unlike with `RankSwap`.

    Correlations are taken from the rows that are complete in all columns. A null stays, and its
    row's other cells get their noise.

    A draw belongs to a row's number. Two tables treated with the same `random_state` get the same
    noise, which cancels in their difference: use another one for each.

    Examples
    --------
    >>> import numpy as np
    >>> incomes = np.array([[21_000.0], [0.0], [35_500.0], [np.nan]])
    >>> Noise("multiplicative", scale=0.05, random_state=7).fit_transform(incomes).round().ravel()
    array([22015.,     0., 35109.,    nan])

    The same values, in rows of their own:

    >>> pay = np.array([[21.0], [0.0], [24.0], [35.0], [29.0]])
    >>> noise = Noise("logarithmic", scale=0.3, match_ranks=True, random_state=1)
    >>> noise.fit_transform(pay).ravel()
    array([24.,  0., 29., 21., 35.])
    """

    recipe_name: ClassVar[str] = "noise"
    anew: ClassVar[str] = "its noise is drawn anew, and is as large as the new values ask for"
    effect: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True
    steady: ClassVar[bool] = True
    in_words: ClassVar[str] = "random noise was added to each value"
    published_with_noise: ClassVar[tuple[str, ...]] = ("kind", "scale", "match_ranks")
    constraints: ClassVar[Constraints] = {
        "scale": number(above=0, wanted="a number above 0, such as 0.1", by_column=True)
    }

    kind: Kind = "additive"
    scale: float | Mapping[str, float] = 0.1
    _: KW_ONLY
    match_ranks: bool = False
    random_state: Any = None

    @property
    def done_in_words(self) -> str:
        """Where ranks are matched, no value has noise: it only decides who gets which."""
        if self.match_ranks:
            return "values were exchanged between records, in the order that random noise gave them"
        return super().done_in_words

    @property
    def caveat(self) -> str:
        """What is kept, and what comes out too large or too weak."""
        if self.match_ranks:
            return (
                "values were exchanged between records by the order that noise gave them: the "
                "column by itself is exact, its relations to other columns come out too weak"
            )
        means = "means are kept on average"
        if "logarithmic" in self.kind:
            means = "medians are kept on average, means come out too large"
        return (
            f"noise was added: {means}, variances come out too large, correlations and slopes of "
            "regressions with other columns too weak; use models with errors in variables"
        )

    @property
    def takes_dates(self) -> bool:  # type: ignore[override]
        """A date is a number of days since some day, which is nothing to multiply."""
        return self.kind not in _FACTORS

    @property
    def by_column(self) -> bool:
        """Correlated noise looks at all columns."""
        return self.kind not in _CORRELATED

    @property
    def amount(self) -> float:
        """A tenth of a standard deviation, or of the value, is little."""
        return largest(self.scale) / 0.1

    def check_params(self) -> None:
        """Refuse scales that may not differ by column."""
        super().check_params()
        if self.kind == "correlated" and isinstance(self.scale, Mapping):
            raise BadInput("correlated noise takes one scale for all columns, not one by column")

    def _run(self, given: Given) -> Outcome:
        """Return each column its noise."""
        plans = self._decide_rows(given.columns)
        new = self._treat(plans, given.columns, given.draws, given.rounded).columns
        for name, before in given.columns.items():
            if self.match_ranks:
                warn_unchanged(share_unchanged({name: before}, {name: new[name]}), _WHY, name, MOST)
            elif plans[name].get("sd") != 0:
                _tell_unchanged(name, before, new[name], self.kind)
        return Outcome(new, plans, self._joint)

    @property
    def bound_to_memory(self) -> str | None:
        """Standard deviations and correlations are enough, unless ranks are matched."""
        if self.kind == "correlated-logarithmic":
            return "correlations of ranks need all values in their order"
        return "match_ranks = true orders all values of a column" if self.match_ranks else None

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide from the columns' moments."""
        plans = self._decide(columns, *self._learn(columns, counted))
        return Decision(plans, partial(self._treat, plans), self._joint)

    @property
    def _joint(self) -> JointPlan:
        return {"kind": "correlated-noise"} if self.kind in _CORRELATED else {}

    def _treat(
        self,
        plans: Mapping[str, ColumnPlan],
        columns: Mapping[str, np.ndarray],
        draws: Callable[[str], Draws],
        rounded: Rounder,
    ) -> Outcome:
        """Return rows their noise."""
        return Outcome({c: rounded(c, x) for c, x in _apply(plans, columns, draws).items()}, {})

    def _learn(
        self, columns: Sequence[str], counted: Counted
    ) -> tuple[list[float], np.ndarray | None]:
        """Take what the noise needs to know from moments."""
        if self.kind in _FACTORS:
            return [], None
        moments = counted.moments(columns)
        for name, sd in zip(columns, moments.sd, strict=True):
            if not math.isfinite(sd):
                raise BadInput(
                    f"column '{name}': its values are too large to be squared; divide them by a "
                    "power of ten first"
                )
        correlations = None
        if self.kind == "correlated" and moments.sd.any():
            _refuse_incomplete(columns, moments.complete)
            correlations = moments.correlations
        return moments.sd.tolist(), correlations

    def _decide_rows(self, columns: Mapping[str, np.ndarray]) -> dict[str, ColumnPlan]:
        """Decide from all rows."""
        sds: list[float] = []
        correlations = None
        if self.kind not in _FACTORS:
            sds = [_standard_deviation(values[~np.isnan(values)]) for values in columns.values()]
        if self.kind == "correlated" and any(sds):
            correlations = _correlations(columns)
        elif self.kind == "correlated-logarithmic" and any(map(_varies, columns.values())):
            correlations = _correlations({name: _ranks(x) for name, x in columns.items()})
        return self._decide(list(columns), sds, correlations)

    def _decide(
        self, columns: Sequence[str], sds: list[float], correlations: np.ndarray | None
    ) -> dict[str, ColumnPlan]:
        plans: dict[str, ColumnPlan] = {}
        for name in columns:
            scale = float(per_column(self.scale, name, "scale"))
            plans[name] = {"kind": "noise", "noise": self.kind, "scale": scale}
            if self.match_ranks:
                plans[name]["match_ranks"] = True
        for name, sd in zip(columns, sds, strict=self.kind not in _FACTORS):
            if sd == 0:
                warnings.warn(f"column '{name}' is constant: it gets no noise", stacklevel=4)
            plans[name]["sd"] = sd
        if self.kind in _CORRELATED:
            root = np.eye(len(columns)) if correlations is None else _root(correlations)
            for name, row in zip(columns, root, strict=True):
                # What is taken of each column's draw.
                weights = plans[name]["scale"] * plans[name].get("sd", 1.0) * row
                plans[name]["weights"] = dict(zip(columns, weights.tolist(), strict=True))
        return plans

    def fit(self, X: Any, y: Any = None) -> Noise:
        """Take each column's standard deviation, and for correlated noise the correlations.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : ignored
        """
        self.plan_ = self._decide_rows(self._columns(X, reset=True))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Add noise to rows, to new ones too."""
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        return np.column_stack(list(_apply(self.plan_, columns, self._draws).values()))


def _apply(
    plans: Mapping[str, ColumnPlan],
    columns: Mapping[str, np.ndarray],
    draws: Callable[[str], Draws],
) -> dict[str, np.ndarray]:
    """Return each value with its noise; NaN stays, -0.0 becomes 0.0."""
    of = {name: draws(name).under(*_terms(plans, name)) for name in columns}
    n = len(next(iter(columns.values())))
    new = {name: np.empty(n) for name in columns}

    def work(start: int, stop: int) -> None:
        rows = np.arange(start, stop)
        normals = {name: of[name].normal(rows) for name in columns}
        for name, values in columns.items():
            new[name][start:stop] = _moved(plans[name], values[start:stop], normals, name) + 0.0

    over_ranges(work, n, _CHUNK)
    matched = {name for name in columns if plans[name].get("match_ranks")}
    return {n: _by_rank(columns[n], noisy) if n in matched else noisy for n, noisy in new.items()}


def _terms(plans: Mapping[str, ColumnPlan], name: str) -> list[str]:
    """Say what noise a column gets: in another release it has the same draws if that is the same.

    Engines may differ in the last digits of a standard deviation.
    """
    plan = plans[name]
    terms = ["noise", plan["noise"], f"{plan['scale']:.12g}", f"{plan.get('sd', 1.0):.12g}"]
    if plan["noise"] in _CORRELATED:
        held = [(other, plans[other]["weights"]) for other in sorted(plans)]
        terms += [f"{one} {two} {w[two]:.12g}" for one, w in held for two in sorted(w)]
    return [*terms, "ranks"] if plan.get("match_ranks") else terms


def _by_rank(values: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """Give the r-th smallest value to the row that is the r-th by its noisy value; NaN stays."""
    # NaN is sorted last on both sides.
    new = np.empty(len(values))
    new[np.argsort(noisy, kind="stable")] = np.sort(values)
    return new + 0.0


def _moved(
    plan: ColumnPlan, values: np.ndarray, normals: Mapping[str, np.ndarray], name: str
) -> np.ndarray:
    if plan["noise"] == "multiplicative":
        return values * (1 + plan["scale"] * normals[name])
    if plan["noise"] == "logarithmic":
        return values * np.exp(plan["scale"] * normals[name])
    if plan["noise"] == "additive":
        return values + plan["scale"] * plan["sd"] * normals[name]
    noise = np.zeros(len(values))
    for other, weight in plan["weights"].items():
        noise += weight * normals[other]
    return values + noise if plan["noise"] == "correlated" else values * np.exp(noise)


def _standard_deviation(values: np.ndarray) -> float:
    """Return the sample standard deviation, 0 for one value.

    The values are centred twice and squared as shares of the largest, so that neither a far mean
    nor a large spread takes digits away.
    """
    if len(values) < 2 or values.min() == values.max():
        return 0.0
    centred = values - values[0]
    centred -= centred.mean()
    largest = np.abs(centred).max()
    return float(largest * math.sqrt(((centred / largest) ** 2).sum() / (len(values) - 1)))


def _correlations(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the correlations among complete rows; 0 with a column that is constant there.

    From complete rows and not pair by pair: only so is there noise with these correlations.
    """
    complete = ~np.logical_or.reduce([np.isnan(values) for values in columns.values()])
    _refuse_incomplete(columns, int(complete.sum()))
    scores = []
    for values in columns.values():
        present = values[complete]
        sd = _standard_deviation(present)
        centred = present - present[0]
        scores.append((centred - centred.mean()) / sd if sd > 0 else np.zeros(len(present)))
    result = np.eye(len(scores))
    # Plain sums: those of a matrix product depend on the number of threads.
    for i, one in enumerate(scores):
        for j, other in enumerate(scores[:i]):
            result[i, j] = result[j, i] = (one * other).sum() / (len(one) - 1)
    return result


def _varies(values: np.ndarray) -> bool:
    return bool(np.nanmin(values) < np.nanmax(values))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of values, equal ones the mean of theirs; NaN stays."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.where(np.isnan(values), np.nan, (last - (counts - 1) / 2)[place])


def _refuse_incomplete(columns: Iterable[str], complete: int) -> None:
    if complete < 2:
        raise BadInput(
            f"correlated noise needs rows without nulls, but {complete} are complete in all "
            f"of the columns {', '.join(columns)}; treat fewer of them together"
        )


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric square root, which there is even where columns depend on each other."""
    values, vectors = np.linalg.eigh(matrix)
    # Where they do an eigenvalue is 0 but for rounding, of which the root would make far more.
    values[values < _NOTHING] = 0.0
    return (vectors * np.sqrt(values)) @ vectors.T


def _tell_unchanged(name: str, before: np.ndarray, after: np.ndarray, kind: Kind) -> None:
    """Warn where rounding left most values as they were, or factors did since they are 0."""
    present = ~np.isnan(before)
    others = ""
    if kind in _FACTORS:
        zeros = before == 0
        share = zeros.sum() / present.sum()
        if share > MOST:
            warnings.warn(
                f"column '{name}': {share:.0%} of the values are 0, which {kind} noise leaves as "
                'they are; to change them, set kind = "additive"',
                stacklevel=3,
            )
        present &= ~zeros
        others = " other than 0" * bool(zeros.any())
    share = (before == after)[present].sum() / max(present.sum(), 1)
    if share > MOST:
        warnings.warn(
            f"column '{name}': {share:.0%} of the values{others} are as they were; where rounding "
            "to the input's decimals took their noise away, raise scale or set precision = "
            '"full"',
            stacklevel=3,
        )
