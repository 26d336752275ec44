"""Polynomial regression on ordered partitions (PoROP-k)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from discreet.draws import Draws
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.kernels.gram import normalise_chunks, release_chunks
from discreet.kernels.sorting import sort_rows
from discreet.method import RowBound
from discreet.outcome import AsFloat, Given, Key, Outcome, Rounder, as_computed
from discreet.parameters import Constraints, Rule, is_whole, number, one_of, whole
from discreet.plan import ColumnPlan, JointPlan
from discreet.regression import _degrees, _ordered
from discreet.regression._ordered import Over, ends_of, summed
from discreet.threads import over_ranges
from discreet.unchanged import share_unchanged, warn_unchanged

Noise = Literal["synthetic", "perturbative", "none"]
Normalise = Literal["none", "column"]
_MOST_CELLS = 2**31 - 1
# Sorted values that are summed together, and that a thread takes at a time.
STRETCH = 1 << 18


@dataclass(eq=False, repr=False)
class PoROP(RowBound):
    """Replace values by polynomials through their ordered chunks, plus noise.

    All cells are pooled, sorted and cut into chunks of k. Each chunk is brought to [0, 1] by its
    own extremes; all are sorted again, cut again, and in each of these chunks a polynomial is
    fitted to the values by their position. The fit, plus noise as large as what it missed, goes
    back the same way into the cells.

    Parameters
    ----------
    k : int
        Values in a chunk. Cells are counted over all columns, without nulls.
    degree : int, list of int or "auto"
        Of the polynomials; a list has one for each chunk of the second pass. "auto" chooses the
        one of 1 to 6 that has the lowest mean of loss and risk in the chunk; of those with at most
        half as many coefficients as the chunk has values.
    noise : {"synthetic", "perturbative", "none"}
        Normal noise whose standard deviation is the chunk's sqrt(SSE / k), or each value's own
        residual, or no noise.
    noise_scale : float
        What these standard deviations are multiplied with.
    second_k : int, optional
        Values in a chunk of the second pass; k if not given.
    noise_floor : float
        Least standard deviation of a cell's noise, as a share of its column's own.
    keep_range : bool
        Bring what lands outside a column's observed range to the nearer end of it.
    normalise : {"none", "column"}
        Pool the columns as they are, or each brought to [0, 1] by its own extremes.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    plan_ : dict
        Coefficients (of orthonormal polynomials on the positions) and deviations of each chunk;
        with degree "auto" also the loss and the risk of each degree that was tried.
    unchanged_ : float
        Share of the values that came out as they went in.

    See Also
    --------
    LiROP : degree 1.
    discreet.perturbation.RankSwap : better on the score of PoROP's own paper.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[21.0, 1900.0], [35.0, 2600.0], [52.0, 4800.0], [64.0, 3100.0]])
    >>> PoROP(k=4, degree=1, noise="none").fit_transform(table).round(1)
    array([[  19.2, 2134.4],
           [  35. , 2487.7],
           [  50.3, 5059.1],
           [  59.1, 3286.3]])
    """

    recipe_name: ClassVar[str] = "porop"
    anew: ClassVar[str] = "its curves are fitted to the earlier records"
    effect: ClassVar[str] = "perturbs"
    pools: ClassVar[bool] = True
    orders: ClassVar[bool] = True
    in_words: ClassVar[str] = "each value is replaced by a smooth curve's value plus random noise"
    caveat: ClassVar[str] = (
        "values follow a curve through the ordered originals, with noise: the distribution keeps "
        "its shape, single values and small differences between records are not to be trusted"
    )
    published_with_noise: ClassVar[tuple[str, ...]] = (
        "k",
        "degree",
        "noise",
        "noise_scale",
        "second_k",
        "noise_floor",
        "keep_range",
        "normalise",
    )
    constraints: ClassVar[Constraints] = {
        "k": whole(2),
        "degree": Rule(
            wanted='a whole number of at least 1, or "auto"',
            good=lambda x: is_whole(x, 1) or (isinstance(x, str) and x == "auto"),
            bounds={"minimum": 1},
            or_list="one degree for each chunk, or a number",
        ),
        "noise": one_of(Noise, wanted=f"one of {', '.join(get_args(Noise))}"),
        "noise_scale": number(least=0),
        "second_k": whole(2, optional=True),
        "noise_floor": number(least=0),
    }

    k: int
    degree: int | list[int] | Literal["auto"] = 2
    noise: Noise = "synthetic"
    noise_scale: float = 1.0
    second_k: int | None = None
    noise_floor: float = 0.0
    keep_range: bool = False
    normalise: Normalise = "none"
    random_state: Any = None

    @property
    def amount(self) -> float:
        """Half of what the fit misses is little noise; without any, the fit itself moves values."""
        return self.noise_scale / 0.5 if self.is_random else 1.0

    @property
    def is_random(self) -> bool:
        """True where there is noise."""
        return self.noise != "none"

    def check_params(self) -> None:
        """Refuse degrees that chunks are too small for, and noise that is none."""
        super().check_params()
        second_k = self._second_k
        for degree in self._degrees:
            if isinstance(degree, str):
                raise BadInput(
                    'degree lists "auto"; give a whole number for each chunk, or "auto" alone'
                )
            if degree >= second_k:
                raise BadInput(
                    f"degree = {degree} needs chunks of more than {degree} values, but they have "
                    f"{second_k}; lower degree, or raise k"
                )
        if self.is_random and self.noise_scale == 0:
            raise BadInput('noise_scale = 0 leaves no noise; if that is meant, set noise = "none"')
        if not self.is_random and self.noise_floor > 0:
            raise BadInput(
                f'noise_floor = {self.noise_floor:g} has no effect with noise = "none"; '
                "leave one of them out"
            )

    @property
    def _second_k(self) -> int:
        return self.k if self.second_k is None else self.second_k

    @property
    def _degrees(self) -> list[Any]:
        """Return the degrees that are given: none where they are chosen."""
        if isinstance(self.degree, list | tuple):
            return list(self.degree)
        return [] if self.degree == "auto" else [self.degree]

    def _run(self, given: Given) -> Outcome:
        """Treat the columns together."""
        self.check_params()
        columns = given.columns
        plans = {
            name: self._plan_of(name, *self._describe(values)) for name, values in columns.items()
        }
        cells = np.column_stack([_ordered.scaled(plans[c], x) for c, x in columns.items()])
        order = self._first_pass(cells.ravel())
        joint = self._fit(len(order.values), _ordered.in_memory(order.values, STRETCH))
        released = self._normals(cells, [given.draws(name) for name in columns])
        del cells
        self._release(order, joint, _ordered.floors_of(plans), released.reshape(-1))
        del order
        results = {}
        for i, (name, plan) in enumerate(plans.items()):
            values = _ordered.unscaled(plan, released[:, i])
            if self.keep_range:
                np.clip(values, plan["lower"], plan["upper"], out=values)
            values += 0.0  # -0.0 is 0.0
            results[name] = given.rounded(name, values)
        share = share_unchanged(columns, results)
        warn_unchanged(share, self._why_unchanged)
        return Outcome(results, plans, joint, figures={"unchanged": share})

    @property
    def bound_to_memory(self) -> str | None:
        """An engine's two sorts are enough."""
        return None

    def run_on(
        self,
        columns: Sequence[str],
        frame: Frame,
        as_float: AsFloat,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
        key: Key | None = None,
    ) -> tuple[Outcome, Frame]:
        """Treat the columns together where their rows are."""
        self.check_params()
        found = _ordered.describe(frame, columns, as_float)
        n = sum(int(column.n[0]) for column in found.values())
        low = min(float(column.low[0]) for column in found.values())
        high = max(float(column.high[0]) for column in found.values())
        self._refuse(n)
        if self.normalise == "none":
            self._refuse_far(low, high)
        plans = {
            name: self._plan_of(name, column.sd[0], column.low[0], column.high[0])
            for name, column in found.items()
        }
        read = partial(_ordered.scaled_float, as_float, plans)
        order, lows, widths = _ordered.second_order(
            frame, columns, read, key, n, int(self.k), STRETCH
        )
        joint = self._fit(n, _ordered.on_engine(order))
        if key is not None and not frame.positioned:
            joint["ties"] = "key"
        sources = [draws(name) for name in columns] if self.is_random else []
        release = _ordered.Releasing(n, joint, plans, lows, widths, sources, rounded)
        new = _ordered.released_rows(order, release, columns, STRETCH)
        share = _ordered.count_unchanged(frame, new, found, as_float) / n
        warn_unchanged(share, self._why_unchanged)
        return Outcome({}, plans, joint, figures={"unchanged": share}), new

    def _describe(self, values: np.ndarray) -> tuple[float, float, float]:
        """Return a column's standard deviation and ends, where they are asked for."""
        sd, low, high = 0.0, np.nan, np.nan
        ends = self.keep_range or self.normalise == "column"
        present = values[~np.isnan(values)] if self.noise_floor or ends else values[:0]
        if self.noise_floor and len(present) > 1:
            sd = present.std(ddof=1)
        if ends:
            low, high = present.min(), present.max()
        return sd, low, high

    def _plan_of(self, name: str, sd: float, low: float, high: float) -> ColumnPlan:
        """Note the noise that a column gets at least, its ends, and the range to keep."""
        floor = float(self.noise_floor * sd)
        if self.noise_floor > 0 and floor == 0:
            raise BadInput(
                f"noise_floor = {self.noise_floor:g} gives no noise to column '{name}', whose "
                "values are all the same or too close to tell apart; leave it out of the step, or "
                "set noise_floor = 0"
            )
        plan: ColumnPlan = {"kind": "porop", "noise_floor": floor}
        if self.normalise == "column":
            self._refuse_far(low, high)
            plan |= {"low": float(low), "width": float(high - low)}
        return plan | ({"lower": float(low), "upper": float(high)} if self.keep_range else {})

    def _first_pass(self, cells: np.ndarray) -> _Order:
        """Sort, bring each chunk to [0, 1], sort again."""
        if len(cells) > _MOST_CELLS:
            raise BadInput(f"{len(cells)} cells are too many; treat fewer columns in one step")
        values, where = sort_rows(cells)
        self._refuse(len(values))
        self._refuse_far(values[0], values[-1])
        lows, widths = normalise_chunks(values, int(self.k))
        values, places = sort_rows(values)
        return _Order(values, places, where, lows, widths)

    def _refuse(self, n: int) -> None:
        """Refuse values that are too few, or of which there are other chunks than degrees."""
        for name, k in (("k", self.k), ("second_k", self._second_k)):
            if k > n:
                raise BadInput(f"{name} = {k} is more than the {n} values there are; lower {name}")
        k, degrees = self._second_k, self._degrees
        chunks = -(-n // k)
        if isinstance(self.degree, list | tuple) and len(degrees) != chunks:
            raise BadInput(
                f"degree lists {len(degrees)} numbers, but there "
                f"{'is 1 chunk' if chunks == 1 else f'are {chunks} chunks'} of {k} values "
                f"(of {n}); give one for each chunk"
            )

    def _refuse_far(self, low: float, high: float) -> None:
        """Refuse values that subtracting takes past the largest number."""
        if not math.isfinite(float(high) - float(low)):
            raise BadInput(
                f"values from {low:g} to {high:g} are too far apart for float64; "
                "treat their columns in steps of their own"
            )

    def _fit(self, n: int, over: Over) -> JointPlan:
        """Fit every chunk of the second pass, whose n values `over` goes through in stretches."""
        k = int(self._second_k)
        found: JointPlan
        if self.degree == "auto":
            found = _degrees.chosen(n, k, self.noise, float(self.noise_scale), over)
        else:
            found = self._fit_given(n, k, over)
        return {
            "kind": "porop",
            "k": int(self.k),
            "second_k": k,
            "noise": self.noise,
            "noise_scale": float(self.noise_scale),
            **found,
        }

    def _fit_given(self, n: int, k: int, over: Over) -> JointPlan:
        chunks, degrees = -(-n // k), np.array(self._degrees)
        ends = ends_of(degrees, chunks)
        coefficients = summed(over(partial(_ordered.sum_of_products, n, k, ends)), ends[-1])
        squares = over(partial(_ordered.sum_of_squares, n, k, ends, coefficients))
        deviations = np.sqrt(summed(squares, chunks) / k)
        return {"degrees": degrees, "coefficients": coefficients, "deviations": deviations}

    def _normals(self, cells: np.ndarray, draws: list[Draws]) -> np.ndarray:
        """Draw for every cell by its row and column; NaN where null, 0 without noise."""
        normals = np.zeros(cells.shape)

        def draw(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            for i, source in enumerate(draws):
                part = normals[start:stop, i]
                if self.is_random:
                    part[:] = source.normal(rows)
                part[np.isnan(cells[start:stop, i])] = np.nan

        over_ranges(draw, len(cells), STRETCH)
        return normals

    def _release(
        self, order: _Order, joint: JointPlan, floors: np.ndarray, released: np.ndarray
    ) -> None:
        """Turn the draws into released values, in place."""
        k, chunks = joint["second_k"], len(joint["deviations"])
        ends = ends_of(joint["degrees"], chunks)

        def release(first: int, stop: int) -> None:
            release_chunks(
                order.values,
                order.places,
                order.cells,
                joint["k"],
                order.lows,
                order.widths,
                k,
                ends,
                joint["coefficients"],
                joint["deviations"],
                self.noise == "perturbative",
                joint["noise_scale"],
                floors,
                released,
                first,
                stop,
            )

        over_ranges(release, chunks, max(1, STRETCH // k))

    @property
    def _why_unchanged(self) -> str:
        more = "set noise_floor" if self.is_random else "add noise"
        degree, k = max(self._degrees, default=1), self._second_k
        if 2 * (degree + 1) > k:
            return (
                f"a curve of degree {degree} follows nearly every value of a chunk of {k}; "
                f"lower degree, {more}, or take another method"
            )
        return (
            "many are equal, or k is small for so many, and the fit misses next to nothing; "
            f"raise k, {more}, or take another method"
        )

    def _learned(self, outcome: Outcome) -> None:
        super()._learned(outcome)
        self.unchanged_ = outcome.figures["unchanged"]


@dataclass(frozen=True)
class _Order:
    """The two sorts: normalised values in the second order, and the way back."""

    values: np.ndarray
    places: np.ndarray  # where each of them stood in the first order, int32
    cells: np.ndarray  # the cell of each place, int32
    lows: np.ndarray  # of the first pass's chunks
    widths: np.ndarray
