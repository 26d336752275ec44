"""Information preserving statistical obfuscation (Burridge 2003)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from discreet.draws import Draws
from discreet.errors import BadInput, nearest
from discreet.method import RowBound
from discreet.outcome import Given, Outcome, Rounder, as_computed
from discreet.parameters import Constraints, Rule, one_of
from discreet.plan import ColumnPlan, JointPlan
from discreet.table import numbers
from discreet.unchanged import share_unchanged, warn_unchanged

Variant = Literal["A", "B", "C"]
# Confidential columns that others determine to this share of their spread add nothing.
_DEPENDENT = 1e-10
_WHY = (
    "the confidential columns determine them, or they have few distinct values; take another method"
)

_NAMES = Rule(wanted="a list of column names", good=lambda x: bool(x) and not isinstance(x, str))


@dataclass(eq=False, repr=False)
class IPSO(RowBound):
    """Replace quasi-identifiers by draws from their regression on confidential columns.

    The quasi columns Y are regressed, together, on the confidential columns X and a constant. Each
    record keeps its X, which are released as they are, and gets new Y: the fit plus normal noise.

    Parameters
    ----------
    variant : {"A", "B", "C"}
        A: noise with the covariance of the residuals. B: such noise, made orthogonal to X, so that
        the means of Y and the coefficients of its regression on X are kept exactly. C: noise that
        is also scaled so that the covariance of the residuals, and with it that of all columns, is
        kept exactly.
    confidential : list of str
        The columns X; an array's columns are called x0, x1, ...
    quasi : list of str, optional
        The columns Y; all but the confidential ones where not given. A recipe has no such
        parameter: there Y are the step's columns.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    plan_ : dict
        The coefficients, and what the draws are multiplied with.
    unchanged_ : float
        Share of the synthesised values that came out as they went in.

    Notes
    -----
    The regression is fitted on the records without nulls in X and Y, and these are the records for
    which B and C are exact. A null in Y stays null. A record with nulls in X gets its Y from the
    regression on the columns of X that it has, by variant A.

    Examples
    --------
    >>> import numpy as np
    >>> age, hours = np.arange(20.0, 60.0), np.tile([10.0, 40.0, 25.0, 35.0], 10)
    >>> income = 900 + 40 * age + 10 * hours
    >>> table = np.column_stack([age, hours, income])
    >>> new = IPSO("C", confidential=["x2"], random_state=1).fit_transform(table)
    >>> bool(np.allclose(np.cov(new.T), np.cov(table.T)))
    True
    """

    recipe_name: ClassVar[str] = "ipso"
    anew: ClassVar[str] = "its regressions are those of the earlier records"
    amount: ClassVar[float] = math.inf
    effect: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True
    estimator_only: ClassVar[tuple[str, ...]] = (*RowBound.estimator_only, "quasi")
    in_words: ClassVar[str] = "each value is replaced by a random one that fits the other columns"
    caveat: ClassVar[str] = (
        "values were drawn from a linear regression on other columns: means, variances and linear "
        "relations among the columns involved are kept; subgroups, curves and extremes are not"
    )
    published_with_noise: ClassVar[tuple[str, ...]] = ("variant", "confidential")
    constraints: ClassVar[Constraints] = {
        "variant": one_of(Variant, wanted="one of A, B, C"),
        "confidential": _NAMES,
        "quasi": replace(_NAMES, optional=True),
    }

    variant: Variant = "A"
    _: KW_ONLY
    confidential: list[str]
    quasi: list[str] | None = None
    random_state: Any = None

    @property
    def reads(self) -> Sequence[str]:
        """The confidential columns."""
        return self.confidential

    def check_params(self) -> None:
        """Refuse lists with columns twice, or that overlap."""
        super().check_params()
        for name, columns in (("confidential", self.confidential), ("quasi", self.quasi or [])):
            for position, column in enumerate(columns):
                if column in columns[:position]:
                    raise BadInput(f"{name} lists '{column}' twice")
        self.check_treated(self.quasi or ())

    def check_treated(self, columns: Sequence[str]) -> None:
        """Refuse to synthesise what the columns are synthesised from."""
        for name in columns:
            _refuse_both(name, self.confidential)

    def _run(self, given: Given) -> Outcome:
        """Synthesise the columns; the confidential ones come in `others`."""
        self.check_params()
        self.check_treated(list(given.columns))
        found = {}
        for name in self.confidential:
            _refuse_missing(name, given.others)
            found[name] = numbers(given.others[name], name).values
        return self._synthesise(given.columns, found, given.draws, given.rounded)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Synthesise the quasi columns of a numeric table or array; the others stay.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            NaN is a null.
        y : ignored
        """
        columns = self._columns(X, reset=True)
        for name in (*self.confidential, *(self.quasi or ())):
            _refuse_missing(name, columns)
        quasi = self.quasi or [name for name in columns if name not in self.confidential]
        if not quasi:
            raise BadInput("every column is confidential, so there is none to synthesise")
        outcome = self._synthesise(
            {name: columns[name] for name in quasi},
            {name: columns[name] for name in self.confidential},
            self._draws,
            as_computed,
        )
        self._learned(outcome)
        self.unchanged_ = outcome.figures["unchanged"]
        return np.column_stack([outcome.columns.get(name, columns[name]) for name in columns])

    # QR and matrix products depend on the number of threads, but a seed must give the same bytes.
    @threadpool_limits.wrap(limits=1, user_api="blas")
    def _synthesise(
        self,
        quasi: Mapping[str, np.ndarray],
        confidential: Mapping[str, np.ndarray],
        draws: Callable[[str], Draws],
        rounded: Rounder,
    ) -> Outcome:
        x, y = np.column_stack(list(confidential.values())), np.column_stack(list(quasi.values()))
        rows = np.arange(len(y))
        z = np.column_stack([draws(name).normal(rows) for name in quasi])
        has = ~np.isnan(x)
        complete = has.all(axis=1) & ~np.isnan(y).any(axis=1)
        needed = x.shape[1] + y.shape[1] + 2
        if complete.sum() < needed:
            raise BadInput(
                f"IPSO needs at least {needed} rows without nulls in {', '.join(quasi)} and "
                f"{', '.join(confidential)}, but there are {complete.sum()}"
            )
        centre, scale = x[complete].mean(axis=0), x[complete].std(axis=0)
        scale[scale == 0] = 1.0
        x = (x - centre) / scale
        moments = _Moments.of(x[complete], y[complete], z[complete])
        new = np.full(y.shape, np.nan)
        parts: list[dict[str, np.ndarray]] = []
        for used in np.unique(has, axis=0) if not has.all() else has[:1]:
            part = moments.part(used, self.variant if used.all() else "A")
            (at,) = np.nonzero((has == used).all(axis=1))
            noise = z[at] @ part["noise"].reshape(y.shape[1], -1)
            slopes = part["coefficients"].reshape(-1, y.shape[1])
            new[at] = part["intercept"] + x[np.ix_(at, used)] @ slopes + noise
            parts.append(part)
        new[np.isnan(y)] = np.nan
        results = {name: rounded(name, new[:, i]) + 0.0 for i, name in enumerate(quasi)}
        share = share_unchanged(quasi, results)
        warn_unchanged(share, _WHY)
        joint: JointPlan = {
            "kind": "ipso",
            "variant": self.variant,
            "confidential": list(confidential),
            "centre": centre,
            "scale": scale,
            "parts": parts,
        }
        plans: dict[str, ColumnPlan] = {name: {"kind": "ipso"} for name in quasi}
        return Outcome(results, plans, joint, figures={"unchanged": share})


@dataclass(frozen=True)
class _Moments:
    """All that regressions on any of the columns X need of the complete records.

    Attributes
    ----------
    x, y, z : ndarray
        The columns of the triangle R in [1 X Y Z] = QR: least squares on R is least squares on
        the records. Z are the draws, and Y is centred. X has the constant in front, because near
        1e9 centring alone does not make a column orthogonal to it.
    n : int
        Records.
    y_mean : ndarray
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    n: int
    y_mean: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> _Moments:
        y_mean = y.mean(axis=0)
        columns = np.column_stack([np.ones(len(x)), x, y - y_mean, z])
        triangle = np.linalg.qr(columns, mode="r")
        p, q = 1 + x.shape[1], y.shape[1]
        of_x, of_y, of_z = np.split(triangle, [p, p + q], axis=1)
        return cls(of_x, of_y, of_z, len(x), y_mean)

    def part(self, used: np.ndarray, variant: str) -> dict[str, np.ndarray]:
        """Say how records with these columns of X get their Y.

        Y is intercept + X coefficients + Z noise, with matrices flattened row by row.
        """
        x = self.x[:, np.append(True, used)]
        slopes, _, rank, _ = np.linalg.lstsq(x, self.y, rcond=_DEPENDENT)
        residuals = _triangle(self.y - x @ slopes)
        noise = residuals / np.sqrt(self.n - rank)
        if variant != "A":
            # What the draws have in common with the constant and X is taken off again.
            common = np.linalg.lstsq(x, self.z, rcond=_DEPENDENT)[0]
            if variant == "C":
                noise = np.linalg.solve(_triangle(self.z - x @ common), residuals)
            slopes = slopes - common @ noise
        return {
            "used": used.astype(np.int64),
            "intercept": self.y_mean + slopes[0],
            "coefficients": slopes[1:].ravel(),
            "noise": noise.ravel(),
        }


def _triangle(columns: np.ndarray) -> np.ndarray:
    """Return the triangle whose square is that of the columns, its diagonal not negative."""
    triangle: Any = np.linalg.qr(columns, mode="r")
    return triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0)[:, None]


def _refuse_missing(name: str, columns: Mapping[str, Any]) -> None:
    if name not in columns:
        raise BadInput(f"the table has no column '{name}'; {nearest(name, columns)}")


def _refuse_both(name: str, confidential: Sequence[str]) -> None:
    if name in confidential:
        raise BadInput(f"column '{name}' cannot be both synthesised and confidential")
