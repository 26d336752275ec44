"""Write times, durations and numbers with as many digits as tell them apart, and no more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# numpy's name of a unit of the clock, and its seconds.
_UNITS = (("D", 86_400.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001))
_LENGTHS = (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


def clock_unit(seconds: Any, span: float | None = None) -> str:
    """Choose the unit to write some times in: the coarsest that shows how they differ.

    Parameters
    ----------
    seconds : array-like
        Since 1970.
    span : float, optional
        Seconds from the first to the last, if it is not theirs.

    Examples
    --------
    >>> clock_unit([0, 86_400]), clock_unit([0, 300]), clock_unit([0, 290]), clock_unit([0.5, 2])
    ('D', 'm', 's', 'ms')
    """
    seconds = np.asarray(seconds, dtype=np.float64)
    if span is None:
        span = float(np.ptp(seconds)) if len(seconds) else 0.0
    for name, length in _UNITS:
        if span > 60 * length or not (seconds % length).any():
            return name
    return "ms"


def written(seconds: Any, unit: str) -> list[str]:
    """Write times down to a unit, as ISO text.

    Examples
    --------
    >>> written([0.0, 100.0], "s"), written([1e8], "D")
    (['1970-01-01T00:00:00', '1970-01-01T00:01:40'], ['1973-03-03'])
    """
    thousandths = np.rint(np.asarray(seconds, dtype=np.float64) * 1000).astype(np.int64)
    moments = thousandths.astype("datetime64[ms]").astype(f"datetime64[{unit}]")
    return [str(moment) for moment in moments]


def length_unit(seconds: float) -> tuple[str, float]:
    """Return the name of the unit in which to give a duration, and its seconds.

    Examples
    --------
    >>> length_unit(90.0), length_unit(1e6)
    (('minutes', 60.0), ('days', 86400.0))
    """
    return next((unit for unit in _LENGTHS if abs(seconds) >= unit[1]), _LENGTHS[-1])


def leading(numbers: Any) -> int:
    """Count the leading digits that numbers share, which say nothing about how they differ.

    Examples
    --------
    >>> leading([12, 950]), leading([1e9, 1e9 + 1]), leading([7, 7])
    (0, 9, 0)
    """
    numbers = np.asarray(numbers, dtype=np.float64)
    span = float(np.ptp(numbers)) if len(numbers) else 0.0
    if not 0 < span < math.inf:
        return 0
    return max(0, math.floor(math.log10(float(abs(numbers).max()) / span)))
