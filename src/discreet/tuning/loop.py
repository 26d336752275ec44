"""The search itself: seeds, then evolution, until the budget is spent."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.tuning.evolve import evolve
from discreet.tuning.lagrange import ladders, lagrange_seeds
from discreet.tuning.space import Choice, Part, settled
from discreet.tuning.trials import Finished, Trials

# Choices of the same strength in all parts, in hundredths: a front before anything is known.
_STRENGTHS = (0, 100, 50, 25, 75)

# Ways to treat columns together that are tried before the profiles.
_FIRST = 8


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
        _judge(trials, parts, [_alike(parts, share) for share in _STRENGTHS])
        if _is_demanded(parts):
            _judge(trials, parts, seeds[:_FIRST])
        found = ladders(parts, trials.judge, trials.go_on)
        _judge(trials, parts, lagrange_seeds(found))
        _judge(trials, parts, seeds)
        if trials.single:
            # By itself what is done to some columns together tells little: the others stay.
            _judge(trials, parts, _joined(parts, trials.best_first[0][-1]))
        evolve(trials, parts, found, seed)
    except Finished:
        return False
    except KeyboardInterrupt:
        return True
    return False


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
