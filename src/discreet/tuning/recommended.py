"""Which point of a front to take, and why; and what would have to give to go further."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.tuning.points import SAFE, Axis, Point
from discreet.tuning.space import listed

SAFEST = "safest within the loss bound"
BALANCE = "best balance"
LEAST_LOSS = "least loss within the risk bound"
LEAST_SCORE = "least score"
# Risks that people have in mind, as shares of the largest there is.
_LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
# So many changes are told; the others are counted.
_TOLD = 3
# The share of all loss that is not worth a sentence.
_LITTLE = 0.02
# Sentences about less risk.
_SAFER = 2


@dataclass(frozen=True)
class Recommendation:
    """A point to take, what it is the best in, and why."""

    kinds: tuple[str, ...]
    point: Point
    reason: str

    @property
    def kind(self) -> str:
        """What the point is the best in, in words."""
        return " and ".join(self.kinds)


@dataclass(frozen=True)
class _Reason:
    """One thing that a point is the best in, and why."""

    kind: str
    point: Point
    why: str


@dataclass(frozen=True)
class _Map:
    """The points by their axes."""

    points: Sequence[Point]
    risk: Axis
    loss: Axis
    rows: int

    @property
    def safe(self) -> float:
        """The risk below which a release counts as safe."""
        if self.risk.bound is not None:
            return self.risk.bound
        return SAFE if self.risk.unit == "share" else math.inf

    @property
    def most_loss(self) -> float:
        """What loss is where nothing is left, or the most that any point has."""
        return self.loss.top or max(1e-12, *(one.loss for one in self.points))

    def pair(self, point: Point) -> str:
        return f"risk {self.risk.say(point.risk)} at loss {self.loss.say(point.loss)}"

    def balance(self, point: Point) -> float:
        """Return protection times information kept; more is better.

        Protection is counted in logarithms, from 0 where all are found to 1 at half of what counts
        as safe: less risk than that is worth no loss.
        """
        floor = max(1 / max(2, self.rows), min(self.safe, 0.5) / 2)
        protection = min(1.0, math.log(max(point.risk, floor)) / math.log(floor))
        return protection * (1 - point.loss / self.most_loss)


def recommend(
    points: Sequence[Point], risk: Axis, loss: Axis, rows: int, *, score: bool = False
) -> list[Recommendation]:
    """Choose up to three points, the one to take first.

    Parameters
    ----------
    points : sequence of Point
        Those of a front, at least one.
    risk, loss : Axis
        What risk and loss are, with their bounds.
    rows : int
        The records of the table.
    score : bool
        Risk and loss are the two halves of a score: the point with the least score is the first.

    Returns
    -------
    list of Recommendation
        A point that is best in several ways is there once.
    """
    shown = _Map(points, risk, loss, rows)
    found = [_least_score(shown)] if score else []
    if not score or risk.bound is not None:
        found.append(_least_loss(shown))
    if not score:
        found.append(_balanced(shown))
    reached = any(one.risk <= shown.safe for one in points)
    if loss.bound is not None or (reached and not score):
        found.append(_safest(shown))
    if risk.bound is None:
        # Without a bound balance comes first.
        found.sort(key=lambda one: one.kind not in (BALANCE, LEAST_SCORE))
    return _merged(shown, found)


def _merged(shown: _Map, found: Sequence[_Reason]) -> list[Recommendation]:
    """Put together what is said of the same point."""
    by_name: dict[str, list[_Reason]] = {}
    for one in found:
        by_name.setdefault(one.point.name, []).append(one)
    return [
        Recommendation(
            tuple(dict.fromkeys(one.kind for one in said)),
            said[0].point,
            _sentence("; ".join(one.why for one in said)),
        )
        for said in by_name.values()
    ]


def _sentence(why: str) -> str:
    return f"{why[0].upper()}{why[1:]}."


def _least_score(shown: _Map) -> _Reason:
    point = min(shown.points, key=lambda one: (one.risk + one.loss, one.risk))
    mean = (point.risk + point.loss) / 2
    return _Reason(
        LEAST_SCORE, point, f"the score, the mean of risk and loss, is {mean:.2f}, the least of all"
    )


def _least_loss(shown: _Map) -> _Reason:
    within = [one for one in shown.points if one.risk <= shown.safe]
    bound = shown.risk.say(shown.safe)
    if not within:
        point = min(shown.points, key=lambda one: (one.risk, one.loss))
        why = f"no recipe keeps risk within {bound}, and this one comes nearest"
        return _Reason("nearest to the risk bound", point, why)
    point = min(within, key=lambda one: (one.loss, one.risk))
    why = f"no other recipe keeps risk within {bound}"
    if len(within) > 1:
        why = f"the least loss of the {len(within)} recipes with risk within {bound}"
    return _Reason(LEAST_LOSS, point, why)


def _balanced(shown: _Map) -> _Reason:
    points = sorted(shown.points, key=lambda one: (one.risk, one.loss))
    point = max(points, key=shown.balance)
    place = points.index(point)
    steps = []
    if place:
        steps.append(f"the next safer recipe has {shown.pair(points[place - 1])}")
    if place + 1 < len(points):
        steps.append(f"the next with less loss has {shown.pair(points[place + 1])}")
    why = ", ".join(steps) or "there is no other recipe"
    # Where none is safe, that is said of the one that comes nearest.
    if point.risk > shown.safe >= points[0].risk:
        why += f", and risk is above the {shown.risk.say(shown.safe)} that counts as safe"
    return _Reason(BALANCE, point, why)


def _safest(shown: _Map) -> _Reason:
    """Choose the least risk within the loss bound, and say so where that does not protect."""
    loss, bound, kind = shown.loss, shown.loss.bound, SAFEST
    if bound is None:
        kind = "safest at a bearable loss"
        bound = (max(shown.points, key=shown.balance).loss + shown.most_loss) / 2
    within = [one for one in shown.points if one.loss <= bound]
    if not within:
        point = min(shown.points, key=lambda one: (one.loss, one.risk))
        why = f"no recipe keeps loss within {loss.say(bound)}, and this one comes nearest"
        return _Reason("nearest to the loss bound", point, why)
    point = min(within, key=lambda one: (one.risk, one.loss))
    if point.risk > shown.safe:
        why = (
            f"no recipe with loss up to {loss.say(bound)} protects, and even this one, which has "
            f"the least risk of them, is above {shown.risk.say(shown.safe)}"
        )
        return _Reason("least risk within the loss bound, not safe", point, why)
    return _Reason(kind, point, f"no recipe with loss up to {loss.say(bound)} has less risk")


def further(points: Sequence[Point], risk: Axis, loss: Axis, rows: int, best: Point) -> list[str]:
    """Say what would have to give for less risk than the best point has, and for less loss."""
    shown = _Map(points, risk, loss, rows)
    said = _out_of_reach(shown)
    before = best
    for level in _levels_below(shown, best):
        if before.risk <= level:
            continue
        reach = [one for one in points if one.risk <= level]
        if not reach or len(said) >= _SAFER:
            break
        point = min(reach, key=lambda one: (one.loss, one.risk))
        said.append(_for_less(shown, best, point, f"To get risk below {risk.say(level)}"))
        before = point
    cheaper = [one for one in points if one.loss < best.loss]
    if cheaper:
        # The nearest whose loss is less by enough to matter, if there is one.
        much = [one for one in cheaper if one.loss <= best.loss - _LITTLE * shown.most_loss]
        point = max(much or cheaper, key=lambda one: (one.loss, -one.risk))
        if loss.bound is not None and best.loss > loss.bound >= min(one.loss for one in points):
            held = [one for one in cheaper if one.loss <= loss.bound]
            point = min(held, key=lambda one: (one.risk, one.loss))
        said.append(_for_less(shown, best, point, "For less loss"))
    return said


def _levels_below(shown: _Map, best: Point) -> list[float]:
    """Return the risks that one may want to get below, from the largest."""
    levels = {(shown.risk.top or 1.0) * level for level in _LEVELS}
    if math.isfinite(shown.safe):
        levels.add(shown.safe)
        if best.risk > shown.safe:
            levels = {level for level in levels if level <= shown.safe}
    return sorted((level for level in levels if level < best.risk), reverse=True)


def _out_of_reach(shown: _Map) -> list[str]:
    """Say that no point keeps the risk bound, and which parts could still give."""
    safest = min(shown.points, key=lambda one: (one.risk, one.loss))
    if safest.risk <= shown.safe:
        return []
    said = (
        f"No recipe that was tried has risk within {shown.risk.say(shown.safe)}: the least is "
        f"{shown.risk.say(safest.risk)}, at loss {shown.loss.say(safest.loss)}"
    )
    left = [name for name in safest.parts if name not in safest.left_out]
    if not left:
        return [said + "."]
    # Those that still tell most have lost least.
    left.sort(key=lambda name: (safest.columns.get(name, 0.0), name))
    treated = _listed([f"{name} ({safest.parts[name]})" for name in left], "other")
    return [f"{said}; to go further, more of {treated} would have to give."]


def _for_less(shown: _Map, best: Point, point: Point, start: str) -> str:
    harder, easier = _changes(best, point)
    what = []
    if harder:
        what.append(_listed(harder, "more change"))
    if easier:
        what.append(("while " if harder else "") + _listed(easier, "more change"))
    figures = (
        f"risk {shown.risk.say(point.risk)} instead of {shown.risk.say(best.risk)}, "
        f"loss {shown.loss.say(point.loss)} instead of {shown.loss.say(best.loss)}"
    )
    changes = ", ".join(what) or "other settings are needed"
    return f"{start}, {changes}: recipe {point.name} has {figures}."


def _changes(best: Point, point: Point) -> tuple[list[str], list[str]]:
    """Say which columns are treated harder in a point than in the best one, and which less."""
    names = [name for name in point.parts if point.parts[name] != best.parts.get(name)]
    cost = {name: point.columns.get(name, 0.0) - best.columns.get(name, 0.0) for name in names}
    # What costs nothing is left out, unless that is all.
    names = [name for name in names if abs(cost[name]) >= _LITTLE / 2] or names
    names.sort(key=lambda name: (-abs(cost[name]), name))
    harder: dict[str, list[str]] = {}
    easier: dict[str, list[str]] = {}
    for name in names:
        if name in point.left_out and name not in best.left_out:
            harder.setdefault("to go", []).append(name)
        elif cost[name] >= 0 and name not in best.left_out:
            harder.setdefault(f"to {_become(point.parts[name])}", []).append(name)
        elif name not in point.left_out:
            easier.setdefault(f"can {_become(point.parts[name])}", []).append(name)
    return [_must(*one) for one in harder.items()], [
        f"{_listed(columns, 'other')} {how}" for how, columns in easier.items()
    ]


def _become(words: str) -> str:
    """Return what a column becomes as a verb: "with noise" is what it gets.

    Examples
    --------
    >>> _become("in 10-year groups"), _become("with noise of 5 %")
    ('be in 10-year groups', 'get noise of 5 %')
    """
    return f"get {words.removeprefix('with ')}" if words.startswith("with ") else f"be {words}"


def _must(how: str, columns: Sequence[str]) -> str:
    return f"{_listed(columns, 'other')} {'have' if len(columns) > 1 else 'has'} {how}"


def _listed(items: Sequence[str], rest: str) -> str:
    """Join a few items; say how many others there are."""
    told, more = list(items[:_TOLD]), len(items) - _TOLD
    if more > 0:
        told.append(f"{more} {rest}{'s' * (more > 1)}")
    return listed(told)
