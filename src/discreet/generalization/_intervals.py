"""Hierarchies of intervals, by widths or by break points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.generalization._distinct import Distinct, as_text
from discreet.generalization._rules import Rule, by_key
from discreet.table.columns import LARGEST_EXACT_INTEGER, float_values, kind_of

# Keys of the open ends; those of the intervals between are far smaller.
_BELOW, _ABOVE = -(2**62), 2**62


@dataclass(frozen=True)
class Intervals:
    """Intervals of given widths, or between given cuts.

    Numbers are kept as they were given; for computing they are integers in units of
    10^-decimals, so that 0.3 is the beginning of an interval of width 0.1 and not just below it.
    """

    widths: tuple[float, ...]
    cuts: tuple[tuple[float, ...], ...]
    origin: float
    lower: float | None
    upper: float | None
    whole: bool | None

    @classmethod
    def make(
        cls, widths: Any, cuts: Any, origin: Any, lower: Any, upper: Any, whole: Any
    ) -> Intervals:
        """Check the parameters."""
        if (widths is None) == (cuts is None):
            raise BadInput("intervals need either widths, such as [5, 10, 20], or cuts")
        if whole is not None and not isinstance(whole, bool):
            raise BadInput(f"whole must be true or false, not {whole!r}")
        origin = _number(origin, "origin")
        lower = None if lower is None else _number(lower, "lower")
        upper = None if upper is None else _number(upper, "upper")
        if cuts is not None:
            if (origin, lower, upper) != (0, None, None):
                raise BadInput(
                    "origin, lower and upper go with widths; with cuts the ends are open"
                )
            made = cls((), _nested_cuts(cuts), 0, None, None, whole)
        else:
            if lower is not None and upper is not None and lower >= upper:
                raise BadInput(f"lower = {lower} is not below upper = {upper}")
            made = cls(_nested_widths(widths), (), origin, lower, upper, whole)
        if whole and made._decimals:
            raise BadInput("whole = true needs widths, cuts and ends that are whole numbers")
        return made

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        spec: dict[str, Any] = {"kind": "intervals"}
        if self.cuts:
            spec["cuts"] = [list(level) for level in self.cuts]
        else:
            spec["widths"] = list(self.widths)
        others = {"lower": self.lower, "upper": self.upper, "whole": self.whole}
        others["origin"] = self.origin or None
        return spec | {key: value for key, value in others.items() if value is not None}

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Find the interval of each value."""
        x = floats_of(found, name)
        whole = self._is_whole(x)
        if self.cuts:
            return [self._between(x, cuts, whole) for cuts in self.cuts]
        return [self._of_width(x, width, whole, name) for width in self.widths]

    def settle(self, found: Distinct, name: str) -> Rule:
        """Fix whether the labels are of whole numbers."""
        whole = self._is_whole(floats_of(found, name))
        return Intervals(self.widths, self.cuts, self.origin, self.lower, self.upper, whole)

    def _is_whole(self, x: np.ndarray) -> bool:
        if self.whole is not None:
            return self.whole
        return self._decimals == 0 and bool((x == np.floor(x)).all())

    @property
    def _decimals(self) -> int:
        ends = [end for end in (self.lower, self.upper) if end is not None]
        given = [self.origin, *self.widths, *ends, *(cut for level in self.cuts for cut in level)]
        return max(_decimals(value) for value in given)

    def _of_width(self, x: np.ndarray, width: float, whole: bool, name: str) -> pa.Array:
        decimals = self._decimals
        unit = 10.0**decimals
        step, start = _scaled(width, decimals), _scaled(self.origin, decimals)
        ends = [None if e is None else _scaled(e, decimals) for e in (self.lower, self.upper)]
        lower, upper = ends
        keys = np.floor((x - self.origin) / width)
        if (np.abs(keys) > LARGEST_EXACT_INTEGER).any():
            raise BadInput(f"column '{name}': width {width} is too small for values as large as "
                           f"{np.abs(x).max():g}")  # fmt: skip
        # The quotient may be off by one at the ends of an interval.
        keys += x >= (start + (keys + 1) * step) / unit
        keys -= x < (start + keys * step) / unit
        keys = keys.astype(np.int64)
        if self.lower is not None:
            keys[x < self.lower] = _BELOW
        if self.upper is not None:
            keys[x >= self.upper] = _ABOVE

        def label(key: int) -> str:
            if key == _BELOW:
                return _label(None, lower, whole, decimals)
            if key == _ABOVE:
                return _label(upper, None, whole, decimals)
            a, b = start + key * step, start + (key + 1) * step
            a = a if lower is None else max(a, lower)
            b = b if upper is None else min(b, upper)
            return _label(a, b, whole, decimals)

        return by_key(keys, label)

    def _between(self, x: np.ndarray, cuts: tuple[float, ...], whole: bool) -> pa.Array:
        decimals = self._decimals
        edges = [None, *(_scaled(cut, decimals) for cut in cuts), None]
        keys = np.searchsorted(np.array(cuts, dtype=np.float64), x, side="right")
        return by_key(keys, lambda key: _label(edges[key], edges[key + 1], whole, decimals))


def _label(a: int | None, b: int | None, whole: bool, decimals: int) -> str:
    """Name the interval from a up to, but not including, b; None is an open end."""
    if b is None:
        return f">={_written(a or 0, decimals)}"
    if a is None:
        return f"<{_written(b, decimals)}"
    if not whole:
        return f"[{_written(a, decimals)}, {_written(b, decimals)})"
    if a == b - 1:
        return str(a)
    return f"{a} to {b - 1}" if a < 0 else f"{a}-{b - 1}"


def _written(value: int, decimals: int) -> str:
    return f"{Decimal(value).scaleb(-decimals):f}"


def _number(value: Any, what: str) -> float:
    if isinstance(value, np.number):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"{what} must be a number, not {value!r}")
    if abs(value) > LARGEST_EXACT_INTEGER or not math.isfinite(value):
        raise BadInput(f"{what} must be a number below 2^53, not {value!r}")
    if _decimals(value) > 12:
        raise BadInput(f"{what} has more than 12 decimals: {value!r}")
    return value


def _decimals(value: float) -> int:
    exponent = Decimal(str(value)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _scaled(value: float, decimals: int) -> int:
    return int(Decimal(str(value)).scaleb(decimals))


def _listed(values: Any, what: str) -> tuple[float, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
        raise BadInput(f"{what} must be a list of numbers, not {values!r}")
    numbers = tuple(_number(value, what) for value in values)
    for below, above in pairwise(numbers):
        if above <= below:
            raise BadInput(f"{what} must rise, but {above} follows {below}")
    return numbers


def _nested_widths(widths: Any) -> tuple[float, ...]:
    widths = _listed(widths, "widths")
    if widths[0] <= 0:
        raise BadInput(f"widths must be above 0, but one is {widths[0]}")
    for below, above in pairwise(widths):
        if Decimal(str(above)) % Decimal(str(below)):
            raise BadInput(
                f"widths: {above} is not a multiple of {below}, so the levels would not nest"
            )
    return widths


def _nested_cuts(cuts: Any) -> tuple[tuple[float, ...], ...]:
    if isinstance(cuts, str) or not isinstance(cuts, Sequence | np.ndarray) or not len(cuts):
        raise BadInput(f"cuts must be a list of lists, one for each level, not {cuts!r}")
    levels = tuple(_listed(level, f"cuts of level {i}") for i, level in enumerate(cuts, start=1))
    for number, (below, above) in enumerate(pairwise(levels), start=2):
        for cut in above:
            if cut not in below:
                raise BadInput(
                    f"cuts: level {number} cuts at {cut} and level {number - 1} does not, "
                    "so the levels would not nest"
                )
    return levels


def floats_of(found: Distinct, name: str) -> np.ndarray:
    """Take distinct values as float64, or say why they have no intervals."""
    values = found.values
    kind = kind_of(values.type)
    if not len(values):
        return np.empty(0)
    if pa.types.is_temporal(values.type) or kind != "numeric":
        hint = "convert it to numbers, or use another kind of hierarchy"
        if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
            hint = 'use kind = "dates"'
        held = "text" if kind == "text" else values.type
        raise BadInput(
            f"column '{name}' holds {held}, such as '{as_text(values[:1])[0]}', but "
            f"intervals need numbers; {hint}"
        )
    x = float_values(pa.chunked_array([values]), name)
    if np.isinf(x).any():
        raise BadInput(f"column '{name}' holds infinity; make it null or code it first")
    if not pa.types.is_floating(values.type) and (np.abs(x) > LARGEST_EXACT_INTEGER).any():
        raise BadInput(
            f"column '{name}' holds numbers above 2^53, which have no exact intervals; use "
            'kind = "prefix" or "order"'
        )
    return x
