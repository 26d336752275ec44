"""Resampling-based discretization (RBD): points from bootstrapped centres."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.kernels.kmeans import kmeans_l2
from discreet.kernels.parts import bootstrap_means
from discreet.parameters import Constraints, whole
from discreet.plan import ColumnPlan
from discreet.rounding._base import Encoding, Representative
from discreet.rounding._clusters import assign, equal_parts, large_enough, lloyd
from discreet.rounding._joint import JointRounding, represented
from discreet.rounding._plans import draw_up, merge_small, represent
from discreet.rounding._sizes import Size, point_count
from discreet.rounding._spikes import Spikes
from discreet.rounding.equal_frequency import equal_frequency_ends
from discreet.rounding.equal_width import equal_width_ends
from discreet.table.summary import Summary, summarise

Centre = Literal["mean", "median"]
Discretizer = Literal["kmeans", "equal-width", "equal-frequency"]
# Above this many values the mean of a bootstrap sample is drawn from its normal limit.
MOST_RESAMPLED = 10_000
# Words drawn at a time: 8 MB.
BLOCK = 1 << 20


@dataclass(eq=False, repr=False)
class Resampling(JointRounding):
    """Points made from the centres of bootstrap samples; each value goes to the nearest.

    The column is cut into parts of equal frequency. From a part of m values, up to `max_draws`
    samples of size m are drawn with replacement, and the centre of each is kept. All centres are
    discretized into the points.

    Parameters
    ----------
    n_points : int, "freedman-diaconis", or mapping of str to either
        Number of points; by column where a mapping. A column with fewer distinct values gets
        fewer, with a warning.
    n_quantiles : int
        Parts to resample from; where quantiles coincide there are fewer, with a warning.
    max_draws : int
        Most samples per part; a part of fewer values is sampled once per value.
    centre : {"mean", "median"}
        What is kept of a sample. In parts of more than 10,000 values means are drawn from their
        normal limit; medians are drawn exactly always.
    discretizer : {"kmeans", "equal-width", "equal-frequency"}
        How the centres become points.
    representative : {"mean", "median", "midpoint", "resampled-mean"}
        The value that stands for a part; the last is the mean of bootstrap samples' means.
    encoding : {"group", "nearest", "stochastic"}
        Replace a value by its own part's point, by the closest point, or by one of the two
        neighbouring points at random so that means are kept. Only `"group"` promises `min_count`.
    min_count : int
        A part of fewer records, or units where `fit` is given these, is merged with the neighbour
        whose point is nearest. A recipe that does not state it is refused where a point would stand
        for fewer than 3 records.
    spikes : {"group", "keep"}
        A value that at least `min_count`, and 5 % of all, share is grouped like any other, or it is
        kept and the others are grouped without it.
    joint : bool
        Resample and group records over all columns together, as points of z-scores. They are cut
        into `n_quantiles` parts of equal size, or `n_points` if that is more, always across the
        column that spreads most; the means of samples of each part are clustered by k-means into
        points; each record goes to the nearest. A group of fewer than `min_count` takes records
        from others, those that this costs least. Every tuple that is released then stands for
        `min_count` records, which is k-anonymity on these columns. Takes `n_points` as a number,
        `centre="mean"`, `discretizer="kmeans"`, `encoding="group"` and `spikes="group"`; there is
        no `transform`. Records are grouped within one pattern of nulls, and blanked where fewer
        than `min_count` share it.
    random_state : int, RandomState instance or None
        For all samples and the stochastic encoding.

    Attributes
    ----------
    rounding_sets_ : dict of str to ndarray
        Sorted points of each column.
    group_sizes_ : dict of str to ndarray
        Records in each part.
    n_points_ : dict of str to int
    plan_ : dict of str to dict
        Cuts, points and counts of each column; the `parts` that samples were drawn from, and
        `parts_by_limit`, how many of them have means drawn from their normal limit.
        With `joint`, the groups, and under `columns` their points.
    groups_ : ndarray of int
        With `joint`, the group of each record; -1 where it was blanked.
    loss_ : float
        With `joint`, 100 * sum of squares from the points / total sum of squares, of z-scores.

    See Also
    --------
    KMeans : points from the values themselves.

    Examples
    --------
    >>> import numpy as np
    >>> minutes = np.array([[0.0], [5.0], [10.0], [12.0], [28.0], [90.0]] * 4)
    >>> resampling = Resampling(n_points=2, n_quantiles=2, random_state=1)
    >>> resampling.fit_transform(minutes)[:6].ravel().round()
    array([ 5.,  5.,  5.,  5., 42., 42.])
    """

    recipe_name: ClassVar[str] = "resampling"
    makes_points: ClassVar[bool] = True
    is_random: ClassVar[bool] = True
    in_words: ClassVar[str] = "each value is replaced by the nearest of some typical values"
    fewer_because: ClassVar[str] = "some centres coincide or are nearest to no value"
    constraints: ClassVar[Constraints] = {"n_quantiles": whole(1), "max_draws": whole(1)}

    n_points: Size
    _: KW_ONLY
    n_quantiles: int = 10
    max_draws: int = 2000
    centre: Centre = "mean"
    discretizer: Discretizer = "kmeans"
    representative: Representative = "mean"
    encoding: Encoding = "group"
    min_count: int = 1
    spikes: Spikes = "group"
    joint: bool = False
    random_state: Any = None

    def check_params(self) -> None:
        """Refuse medians and other discretizers where columns are treated together."""
        super().check_params()
        if self.joint and (self.centre, self.discretizer) != ("mean", "kmeans"):
            raise BadInput(
                "joint = true clusters the means of samples; leave centre and discretizer out"
            )

    def clusters(
        self, points: np.ndarray, c: int, units: np.ndarray | None, draws: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cluster the means of samples, and send each point to the nearest cluster's."""
        samples, limits = [], 0
        # Of fewer parts than points, several points would differ by the samples' chance alone.
        for stream, rows in enumerate(equal_parts(points, max(self.n_quantiles, c))):
            size = min(len(rows), self.max_draws)
            limits += len(rows) > MOST_RESAMPLED
            samples.append(_joint_means(points[rows], size, draws, stream))
        if limits:
            warnings.warn(
                f"in {limits} of {len(samples)} parts the means of samples of more than "
                f"{MOST_RESAMPLED:,} records are drawn from their normal limit",
                stacklevel=2,
            )
        centres = np.vstack(samples)
        part, _ = assign(centres, lloyd(centres, c))
        part = np.unique(part, return_inverse=True)[1]
        made = np.column_stack([represented(x, part, self.representative) for x in centres.T])
        return large_enough(points, made, self.min_count, units)

    def cut(self, summary: Summary, c: int, draws: Draws) -> np.ndarray:
        """Discretize the centres, as `discretizer` says."""
        if self.discretizer == "kmeans":
            return kmeans_l2(summary.values, summary.counts, min(c, len(summary.values)))
        ends = equal_width_ends if self.discretizer == "equal-width" else equal_frequency_ends
        return ends(summary, c)

    def _merged(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Make points from the centres, and send each value to the nearest."""
        drawn, told = self._centres(summary, column, draws)
        centres = summarise(drawn)
        c = point_count(self.n_points, summary, column)
        ends = self.cut(centres, c, draws)
        points = represent(centres.values, centres.counts, ends, self.representative, draws)
        # A value halfway between two points goes to the lower one.
        borders = points[:-1] + np.diff(points) / 2
        ends = np.append(
            np.searchsorted(summary.values, borders, side="right"), len(summary.values)
        )
        filled = np.diff(ends, prepend=0) > 0
        self.tell_fewer(int(filled.sum()), c, summary, column)
        ends, points = merge_small(summary, ends[filled], points[filled], self.min_count, None)
        records = np.cumsum(summary.counts)[ends - 1]
        return draw_up(summary, records, self.representative, points) | told

    def _centres(
        self, summary: Summary, column: str, draws: Draws
    ) -> tuple[np.ndarray, ColumnPlan]:
        """Draw the centres of all parts; also count the parts, and those drawn by their limit."""
        start, limits, centres = 0, 0, []
        ends = equal_frequency_ends(summary, self.n_quantiles)
        for part, end in enumerate(ends):
            inside = Summary(summary.values[start:end], summary.counts[start:end])
            # Streams of the part's own: stream 0 serves the stochastic encoding.
            streams = (1 + 2 * part, 2 + 2 * part)
            samples = min(inside.n, self.max_draws)
            if self.centre == "median":
                centres.append(_medians(inside, samples, draws, streams))
            elif inside.n <= MOST_RESAMPLED:
                centres.append(_means(inside, samples, draws, streams[0]))
            else:
                centres.append(_limit_means(inside, samples, draws, streams[0]))
                limits += 1
            start = end
        if limits:
            warnings.warn(
                f"column '{column}': in {limits} of {len(ends)} parts the means of samples of more "
                f"than {MOST_RESAMPLED:,} values are drawn from their normal limit",
                stacklevel=2,
            )
        distinct = len(summary.values)
        if len(ends) < self.n_quantiles and distinct > 1:
            why = "frequent values make its quantiles coincide"
            if distinct < self.n_quantiles:
                why = f"it has only {distinct} distinct values"
            warnings.warn(
                f"column '{column}': samples are drawn from {len(ends)} parts, not "
                f"{self.n_quantiles}: {why}",
                stacklevel=2,
            )
        return np.concatenate(centres), {"parts": len(ends), "parts_by_limit": limits}


def _means(part: Summary, samples: int, draws: Draws, stream: int) -> np.ndarray:
    """Draw samples and take their means, a block of samples at a time."""
    records = np.repeat(part.values, part.counts)
    words = -(-len(records) // 2)
    size = max(1, BLOCK // words)
    means = []
    for first in range(0, samples, size):
        rows = np.arange(first * words, min(first + size, samples) * words)
        means.append(bootstrap_means(records, draws.words(rows, stream).reshape(-1, words)))
    return np.concatenate(means)


def _joint_means(part: np.ndarray, samples: int, draws: Draws, stream: int) -> np.ndarray:
    """Draw samples of records and take their means, or draw these from their normal limit."""
    m, p = part.shape
    if m <= MOST_RESAMPLED:
        words, size = -(-m // 2), max(1, BLOCK // -(-m // 2))
        means = []
        for first in range(0, samples, size):
            rows = np.arange(first * words, min(first + size, samples) * words)
            # The same records in every column.
            drawn = draws.words(rows, stream).reshape(-1, words)
            means.append([bootstrap_means(np.ascontiguousarray(x), drawn) for x in part.T])
        return np.hstack(means).T
    mean = part.mean(axis=0)
    values, vectors = np.linalg.eigh((part - mean).T @ (part - mean) / m**2)
    normal = draws.normal(np.arange(samples * p), stream).reshape(samples, p)
    return mean + normal * np.sqrt(np.maximum(values, 0.0)) @ vectors.T


def _limit_means(part: Summary, samples: int, draws: Draws, stream: int) -> np.ndarray:
    """Draw means from the normal distribution that they tend to."""
    first = part.values[0]
    mean = np.average(part.values - first, weights=part.counts)
    variance = np.average((part.values - first - mean) ** 2, weights=part.counts)
    error = np.sqrt(variance / part.n)
    means = first + mean + error * draws.normal(np.arange(samples), stream)
    return np.clip(means, first, part.values[-1])


def _medians(part: Summary, samples: int, draws: Draws, streams: tuple[int, int]) -> np.ndarray:
    """Draw the medians of samples of all m values, without drawing the samples.

    A sample picks positions m * U in the sorted values, so its r-th smallest value lies at
    position m * U(r), and the r-th smallest of m uniform numbers has a beta distribution. Given
    it, the next one is 1 - (1 - U(r)) V^(1 / (m - r)).
    """
    m = part.n
    rows = np.arange(samples)
    r = (m + 1) // 2
    from scipy.special import betaincinv

    lower = betaincinv(r, m - r + 1, draws.uniform(rows, streams[0]))
    upper = lower
    if m % 2 == 0:
        upper = 1 - (1 - lower) * draws.uniform(rows, streams[1]) ** (1 / (m - r))
    totals = np.cumsum(part.counts)
    low, high = (
        part.values[np.searchsorted(totals, np.minimum(m * u, m - 1).astype(np.int64), "right")]
        for u in (lower, upper)
    )
    return low + (high - low) / 2
