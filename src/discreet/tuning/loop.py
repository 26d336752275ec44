"""The search itself: seeds, then evolution, until the budget is spent."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.tuning.evolve import evolve
from discreet.tuning.lagrange import Ladder, joined, ladders, lagrange_seeds
from discreet.tuning.space import Choice, Part, settled
from discreet.tuning.trials import Finished, Trials

# Choices of the same strength in all parts, in hundredths: a front before anything is known.
_STRENGTHS = (0, 100, 50, 25, 75)

# Ways to treat columns together that are tried before the profiles, where some are demanded, and
# after them.
_FIRST, _THEN = 8, 32
# What makes the same way weaker or stronger.
_STRENGTH = ("k", "privacy")


def run(trials: Trials, parts: Sequence[Part], seed: int = 0, seeds: Sequence[Choice] = ()) -> bool:
    """Search until the budget is spent, nothing new comes up, or the user presses Ctrl-C.

    Returns True if it was Ctrl-C.

    Parameters
    ----------
    trials : Trials
        What judges, and keeps what was judged.
    parts : sequence of Part
        Of the space.
    seed : int
        Of the evolution.
    seeds : sequence of Choice
        To begin with, beside those of the same strength and those from the profiles.
    """
    try:
        if _is_demanded(parts):
            # One way at all its sizes: some are within most bounds before others are compiled.
            _judge(trials, parts, _ways(parts)[0])
        _judge(trials, parts, [_alike(parts, share) for share in _STRENGTHS])
        if _is_demanded(parts):
            _judge(trials, parts, seeds[:_FIRST])
        if not trials.single:
            _judge(trials, parts, _for_all(parts))
        found = ladders(parts, trials.judge, trials.go_on)
        _judge(trials, parts, lagrange_seeds(found))
        if trials.single:
            _judge(trials, parts, seeds)
            # By itself what is done to some columns together tells little: the others stay.
            _judge(trials, parts, _joined(parts, trials.best_first[0][-1]))
        else:
            found = _together(trials, parts, found, seeds)
        evolve(trials, parts, found, seed)
    except Finished:
        return False
    except KeyboardInterrupt:
        return True
    return False


def _together(
    trials: Trials, parts: Sequence[Part], found: list[Ladder], seeds: Sequence[Choice]
) -> list[Ladder]:
    """Try some ways to treat columns together, and then what they add up to with the others."""
    _try_ways(trials, parts, seeds)
    tried = {
        (number, choice[number])
        for choice in trials.seen
        for number, part in enumerate(parts)
        if part.joint and choice == _only(parts, number, choice[number])
    }
    found = joined(parts, found, trials.judge, tried, trials.go_on)
    _judge(trials, parts, lagrange_seeds(found, parts))
    _judge(trials, parts, _without_most_lost(parts, found))
    return found


def _try_ways(trials: Trials, parts: Sequence[Part], seeds: Sequence[Choice]) -> None:
    """Try the ways to treat columns together: each once, and more of those that gain most."""
    ways = _ways(parts)
    others = [choice for choice in seeds if not any(choice in way for way in ways)]
    left = [*ways, others] if others else ways
    gained = [2.0] * len(left)
    for _ in range(_THEN):
        # The first of those that gained most with what was tried of them last.
        gains = [gain if way else -1.0 for gain, way in zip(gained, left, strict=True)]
        best = max(range(len(left)), key=lambda place: gains[place], default=0)
        if not left or gains[best] < 0:
            return
        before = trials.covered()
        _judge(trials, parts, [left[best].pop(0)])
        gained[best] = round(trials.covered() - before, 9)


def _ways(parts: Sequence[Part]) -> list[list[Choice]]:
    """Return what is done to columns together, by itself: the strengths of each way in a list.

    A middle one comes first, then the strongest, then the others.
    """
    ways: dict[tuple[int, str], list[Choice]] = {}
    for number, part in enumerate(parts):
        for place, option in enumerate(part.options if part.joint else ()):
            how = [{k: v for k, v in s.items() if k not in _STRENGTH} for s in option.steps]
            if how:
                ways.setdefault((number, repr(how)), []).append(_only(parts, number, place))
    return [
        list(dict.fromkeys([own[len(own) // 2], own[-1], *own[::2], *own])) for own in ways.values()
    ]


def _only(parts: Sequence[Part], number: int, option: int) -> Choice:
    return tuple(option if place == number else 0 for place in range(len(parts)))


def _without_most_lost(parts: Sequence[Part], found: Sequence[Ladder]) -> list[Choice]:
    """Remove columns that lose most by what is done to all together, from which others gain."""
    seeds = []
    for number, part in enumerate(parts):
        for option, lost in found[number].under.items():
            if not part.options[option].rest:
                continue
            order = sorted(lost, key=lambda own: (-lost[own], own))
            choice = list(_only(parts, number, option))
            for own in order[: len(order) // 2]:
                choice[own] = len(parts[own].options) - 1
                seeds.append(tuple(choice))
    return seeds


def _for_all(parts: Sequence[Part]) -> list[Choice]:
    """Return what is for all columns that nothing else is done to: quickly made, and often good."""
    return [
        _only(parts, number, place)
        for number, part in enumerate(parts)
        for place, option in enumerate(part.options)
        if option.rest
    ]


def _alike(parts: Sequence[Part], hundredths: int) -> Choice:
    return tuple((len(part.options) - 1) * hundredths // 100 for part in parts)


def _joined(parts: Sequence[Part], choice: Choice) -> list[Choice]:
    """Return a choice with each option of each joint part."""
    return [
        (*choice[:number], option, *choice[number + 1 :])
        for number, part in enumerate(parts)
        if part.joint
        for option in range(len(part.options))
    ]


def _is_demanded(parts: Sequence[Part]) -> bool:
    """Whether columns must be treated together."""
    return any(part.joint and part.options[0].steps for part in parts)


def _judge(trials: Trials, parts: Sequence[Part], choices: Sequence[Choice]) -> None:
    for choice in dict.fromkeys(settled(parts, one) for one in choices):
        if choice not in trials.seen:
            trials.judge_in_full(choice)
