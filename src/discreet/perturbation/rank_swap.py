"""Rank swapping (Moore 1996), and with windows that are drawn (Nin, Herranz and Torra 2008)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.kernels.sorting import sort_rows
from discreet.kernels.swapping import drawn_partners, swap_partners, swap_rows
from discreet.method import RowBound, largest, per_column
from discreet.outcome import Given, Outcome
from discreet.parameters import Constraints, number
from discreet.plan import ColumnPlan
from discreet.unchanged import share_unchanged, warn_unchanged

# Below this many ranks the partners of a value are so few that they can be tried.
FEW = 10
# Mean length of a jump within a fixed window, in windows, and of a drawn one, in its scale: see the
# kernel.
MEAN_JUMP = 2 - 1 / math.log(2)
MEAN_DRAWN = 2 * math.log(2)
_WHY = "swaps among equal values change nothing; raise p, or take another method, such as pram"


class RankSwap(RowBound):
    """Swap each value with one of a near rank, each column by itself.

    The ranks of a column are walked up; each value that was not swapped yet is swapped with
    another such value, drawn from those at most p % of n ranks ahead (rounded down). Each column
    keeps its values exactly; what is lost is which record holds which.

    Parameters
    ----------
    p : float or mapping of str to float
        How far a value may go, in percent of the n values that are not null; by column where a
        mapping.
    window : {"fixed", "drawn"}
        `"fixed"`: no value goes farther than p %. Who knows that, and the values of many columns,
        rules out every record that is too far in one of them, and finds most owners.
        `"drawn"`: how far a value may go is drawn for each swap, so that values go as far on
        average and any value may come from any record.
    random_state : int, RandomState instance or None
        None draws a secret. Draws go by it alone: two releases of one table, or two waves, with the
        same state may give the original back; give each its own, or use `protect`.

    Attributes
    ----------
    plan_ : dict
        Under `columns`, for each column: `rows`, the row that each row's value came from, and
        `window`, the ranks that it may have gone, or `jump`, the ranks that values go on average
        where they may go any number.

    See Also
    --------
    Shuffle : swaps at any distance.
    Noise : also changes the values.

    Notes
    -----
    Equal values have ranks in the order of their rows, and one value of an odd number stays. Swaps
    among equal values change nothing: a column with few values is better treated with `PRAM`. A
    warning names the share of the values that came out unchanged where that is above a tenth.

    With a window of one rank each value is swapped with its neighbour whatever the seed, so it is
    refused; one below 10 ranks is warned of.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.arange(20.0, 60.0).reshape(-1, 1)
    >>> swapped = RankSwap(p=25, random_state=1).fit_transform(ages)
    >>> swapped[:5].ravel()
    array([26., 25., 30., 24., 23.])
    >>> bool(np.abs(swapped - ages).max() <= 10)
    True
    """

    recipe_name: ClassVar[str] = "rank-swap"
    anew: ClassVar[str] = "it exchanges values between the earlier records"
    effect: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True
    by_column: ClassVar[bool] = True
    in_words: ClassVar[str] = "each value was swapped with a similar one of another record"
    caveat: ClassVar[str] = (
        "values were exchanged between records of similar rank: the column by itself is exact, its "
        "relations to other columns come out too weak, in small subgroups most"
    )
    published_with_noise: ClassVar[tuple[str, ...]] = ("p", "window")
    constraints: ClassVar[Constraints] = {
        "p": number(above=0, most=100, wanted="a percentage above 0 and up to 100", by_column=True)
    }

    def __init__(
        self,
        p: float | Mapping[str, float],
        *,
        window: Literal["fixed", "drawn"] = "fixed",
        random_state: Any = None,
    ) -> None:
        self.p = p
        self.window = window
        self.random_state = random_state

    @property
    def amount(self) -> float:
        """Two percent of the ranks are little."""
        return largest(self.p) / 2.0

    @property
    def promise(self) -> str | None:
        """No value goes farther than p % of the ranks, unless its window is drawn."""
        return "rank-window" if self.window == "fixed" else None

    def _run(self, given: Given) -> Outcome:
        """Swap within each column."""
        results, plans = {}, {}
        for name, values in given.columns.items():
            new, plans[name] = self._swap(name, values, given.draws(name))
            results[name] = given.rounded(name, new)
            share = share_unchanged({name: values}, {name: results[name]})
            warn_unchanged(share, _WHY, name)
        return Outcome(results, plans)

    def _swap(self, name: str, values: np.ndarray, draws: Draws) -> tuple[np.ndarray, ColumnPlan]:
        ordered, in_order = sort_rows(np.ascontiguousarray(values))
        n, p = len(ordered), float(per_column(self.p, name, "p"))
        window = int(p * n / 100)
        _refuse_or_warn(name, n, p, window)
        plan: ColumnPlan = {"kind": "sources", "p": p}
        if self.window == "fixed":
            plan["window"] = window
            partner = swap_partners(n, window, *draws.key)
        else:
            plan["jump"] = MEAN_JUMP * window
            partner = drawn_partners(n, plan["jump"] / MEAN_DRAWN, *draws.key)
        new, plan["rows"] = swap_rows(ordered, in_order, partner, len(values))
        return new, plan


def _refuse_or_warn(name: str, n: int, p: float, window: int) -> None:
    """Refuse swaps that the seed does not decide, and warn where it decides little."""
    if n < 3:
        raise BadInput(
            f"column '{name}' has {n} value{'s' if n > 1 else ''}, and at least 3 are needed to "
            "swap at random; take another method, or suppress the column"
        )
    if window < 2:
        raise BadInput(
            f"p = {p:g} % of the {n} values of column '{name}' is a window of "
            f"{'1 rank' if window else 'less than 1 rank'}, and anyone can undo a swap of "
            f"neighbours; give p = {_enough(2, n):g} or more, which gives 2 ranks"
        )
    if window < FEW:
        more = f"give p = {_enough(FEW, n):g} or more" if n >= FEW else "take another method"
        warnings.warn(
            f"column '{name}': p = {p:g} % is a window of {window} ranks, so few that partners can "
            f"be guessed; {more}",
            stacklevel=4,
        )


def _enough(window: int, n: int) -> float:
    """Return the least p, to two decimals, that is a window of so many ranks."""
    return math.ceil(1e4 * window / n) / 100
