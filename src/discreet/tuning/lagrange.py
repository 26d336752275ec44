"""A first front from what each part costs and tells by itself.

Loss and bits are both sums over the parts, so for a price of a bit the best choice is found part by
part: in each the option with the least loss + price * bits. Columns that are treated together are
one part, and those of them that are not are parts of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from discreet.tuning.figures import Together
from discreet.tuning.space import Choice, Part
from discreet.tuning.trials import Judge

_PRICES = 200
# A bit is worth from a millionth of a column to a hundred columns.
_LEAST, _MOST = 1e-6, 1e2
# Columns tell much that others tell too; what columns tell together has that counted once. So each
# of their bits may weigh as much as several.
_WEIGHTS = (1.0, 3.0)


@dataclass(frozen=True)
class Ladder:
    """The options of a part, from the least loss to the largest, and what each tells.

    `good` are those that no other option beats in both, in the same order. `under` has, by option
    of a joint part, what each column part loses by it; options whose figures depend on others are
    not there.
    """

    options: tuple[int, ...]
    good: tuple[int, ...]
    loss: tuple[float, ...]
    bits: tuple[float, ...]
    under: Mapping[int, Mapping[int, float]] = field(default_factory=dict)


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
        return Ladder(places, places, (0.0,) * len(places), (0.0,) * len(places))
    found = []
    for option in places:
        go_on()
        found.append(judge.profile(number, option))
    loss = tuple(_rounded(one.loss) for one in found)
    bits = tuple(_rounded(one.bits) for one in found)
    options = tuple(sorted(places, key=lambda o: (loss[o], bits[o], o)))
    return Ladder(options, _good(options, bits), loss, bits)


def _good(options: Sequence[int], bits: Sequence[float]) -> tuple[int, ...]:
    good: list[int] = []
    for option in options:
        if not good or bits[option] < bits[good[-1]]:
            good.append(option)
    return tuple(good)


def _rounded(x: float) -> float:
    """Return a figure with 12 digits: machines differ in the last ones."""
    return float(f"{x:.12g}")


def joined(
    parts: Sequence[Part],
    found: Sequence[Ladder],
    judge: Judge,
    tried: Collection[tuple[int, int]],
    go_on: Callable[[], None] = lambda: None,
) -> list[Ladder]:
    """Return the ladders with what some options of joint parts, by part and option, do."""
    ladders = list(found)
    own = {
        name: number for number, part in enumerate(parts) if not part.joint for name in part.columns
    }
    for number, part in enumerate(parts):
        if part.joint:
            known: dict[int, Together] = {}
            for option in range(len(part.options)):
                go_on()
                if (number, option) in tried and (one := judge.together(number, option)):
                    known[option] = one
            ladders[number] = _of_joint(part, found[number], known, own)
    return ladders


def _of_joint(
    part: Part, ladder: Ladder, known: Mapping[int, Together], own: Mapping[str, int]
) -> Ladder:
    loss, bits, under = list(ladder.loss), list(ladder.bits), {}
    for option, one in known.items():
        if not part.options[option].steps:
            # Each column is then left to itself.
            under[option] = dict[int, float]()
            continue
        lost: dict[int, float] = {own[name]: 0.0 for name in part.columns if name in own}
        for name, value in one.losses.items():
            if name in own:
                lost[own[name]] = _rounded(lost[own[name]] + value)
        under[option] = lost
        loss[option], bits[option] = _rounded(sum(lost.values())), _rounded(one.bits)
    order = sorted(under, key=lambda o: (loss[o], bits[o], o))
    plain = [option for option in order if not part.options[option].steps]
    good = _good([option for option in order if option not in plain], bits)
    return replace(
        ladder,
        good=(*plain, *good) or ladder.good,
        loss=tuple(loss),
        bits=tuple(bits),
        under=under,
    )


def lagrange_seeds(found: Sequence[Ladder], parts: Sequence[Part] = ()) -> list[Choice]:
    """Return the choices that are best for some price of a bit, from the cheapest to the dearest.

    With the parts, columns may be treated together.

    Examples
    --------
    >>> one = Ladder((0, 1, 2), (0, 1, 2), loss=(0.0, 0.1, 1.0), bits=(5.0, 3.0, 0.0))
    >>> lagrange_seeds([one])
    [(0,), (1,), (2,)]
    """
    step = (_MOST / _LEAST) ** (1 / (_PRICES - 1))
    prices = [_LEAST * step**place for place in range(_PRICES)]
    seeds = []
    for weight in _WEIGHTS if parts else _WEIGHTS[:1]:
        for price in prices:
            choice = [min(one.good, key=lambda o: _cost(one, o, price)) for one in found]
            for number, part in enumerate(parts):
                if part.joint:
                    _join(choice, number, part, found, price, weight)
            seeds.append(tuple(choice))
    return list(dict.fromkeys(seeds))


def _cost(ladder: Ladder, option: int, price: float) -> tuple[float, int]:
    return ladder.loss[option] + price * ladder.bits[option], option


def _join(
    choice: list[int],
    number: int,
    part: Part,
    found: Sequence[Ladder],
    price: float,
    weight: float,
) -> None:
    """Treat columns together in the way that costs least, if that is less than one by one."""
    ladder = found[number]
    single = {own: _cost(found[own], choice[own], price)[0] for own in _owned(ladder)}
    best, least = 0, float("inf")
    for option in sorted(ladder.under):
        lost, rest = ladder.under[option], part.options[option].rest
        cost = weight * price * ladder.bits[option]
        for own, alone in single.items():
            here = lost.get(own, alone)
            cost += min(here, alone) if rest else here
        if cost < least:
            best, least = option, cost
    choice[number] = best
    for own, lost_here in ladder.under.get(best, {}).items():
        if not part.options[best].rest or lost_here <= single[own]:
            choice[own] = 0


def _owned(ladder: Ladder) -> list[int]:
    return sorted({own for lost in ladder.under.values() for own in lost})
