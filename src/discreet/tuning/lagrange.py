"""A first front from what each part costs and tells by itself.

Loss and bits are both sums over the parts, so for a price of a bit the best choice is found part by
part: in each the option with the least loss + price * bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.tuning.space import Choice, Part
from discreet.tuning.trials import Judge

_PRICES = 200
# A bit is worth from a millionth of a column to a hundred columns.
_LEAST, _MOST = 1e-6, 1e2


@dataclass(frozen=True)
class Ladder:
    """The options of a part, from the least loss to the largest, and what each tells.

    `good` are those that no other option beats in both, in the same order.
    """

    options: tuple[int, ...]
    good: tuple[int, ...]
    loss: tuple[float, ...]
    bits: tuple[float, ...]


def ladders(
    parts: Sequence[Part], judge: Judge, go_on: Callable[[], None] = lambda: None
) -> list[Ladder]:
    """Return the options of each part in order of loss; those of joint parts as they are.

    `go_on` is called before each profile; it may raise.
    """
    return [_ladder(number, part, judge, go_on) for number, part in enumerate(parts)]


def _ladder(number: int, part: Part, judge: Judge, go_on: Callable[[], None]) -> Ladder:
    places = tuple(range(len(part.options)))
    if part.joint:
        # What it costs depends on the others; the first is taken at any price.
        return Ladder(places, places, (0.0,) * len(places), (0.0,) * len(places))
    found = []
    for option in places:
        go_on()
        found.append(judge.profile(number, option))
    loss = tuple(float(f"{one.loss:.12g}") for one in found)
    bits = tuple(float(f"{one.bits:.12g}") for one in found)
    options = tuple(sorted(places, key=lambda o: (loss[o], bits[o], o)))
    good: list[int] = []
    for option in options:
        if not good or bits[option] < bits[good[-1]]:
            good.append(option)
    return Ladder(options, tuple(good), loss, bits)


def lagrange_seeds(found: Sequence[Ladder]) -> list[Choice]:
    """Return the choices that are best for some price of a bit, from the cheapest to the dearest.

    Examples
    --------
    >>> one = Ladder((0, 1, 2), (0, 1, 2), loss=(0.0, 0.1, 1.0), bits=(5.0, 3.0, 0.0))
    >>> lagrange_seeds([one])
    [(0,), (1,), (2,)]
    """
    step = (_MOST / _LEAST) ** (1 / (_PRICES - 1))
    prices = [_LEAST * step**place for place in range(_PRICES)]
    seeds = [
        tuple(min(one.good, key=lambda o: (one.loss[o] + price * one.bits[o], o)) for one in found)
        for price in prices
    ]
    return list(dict.fromkeys(seeds))
