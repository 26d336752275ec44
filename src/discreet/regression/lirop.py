"""Linear regression on ordered partitions (LiROP-k): the linear case of PoROP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from discreet.regression.porop import PoROP


@dataclass(eq=False, repr=False)
class LiROP(PoROP):
    """Replace values by straight lines through their ordered chunks, plus noise.

    `PoROP` with degree 1.

    Parameters
    ----------
    k : int
        Values in a chunk. Cells are counted over all columns, without nulls.
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
        Coefficients (of orthonormal polynomials on the positions) and deviations of each chunk.
    unchanged_ : float
        Share of the values that came out as they went in.

    See Also
    --------
    PoROP : any degree.

    Examples
    --------
    >>> import numpy as np
    >>> salaries = np.array([[2100.0], [2300.0], [2200.0], [5000.0], [5400.0], [19000.0]])
    >>> LiROP(k=6, noise="none").fit_transform(salaries).ravel().round()
    array([ -914.,  4617.,  1851.,  7383., 10149., 12914.])
    """

    recipe_name: ClassVar[str] = "lirop"
    in_words: ClassVar[str] = "each value is replaced by a straight line's value plus random noise"

    degree: int | list[int] | Literal["auto"] = field(default=1, init=False)
