"""Decide on a table and treat its rows, again where suppressed records must go first."""

from __future__ import annotations

from discreet.engines import Frame
from discreet.flow.deciding import Decided, Tell, decide
from discreet.flow.finishing import Finish, finish
from discreet.flow.log import timed
from discreet.flow.remaining import decide_without, to_leave_out
from discreet.recipe.recipe import Recipe


def treat(
    original: Frame, recipe: Recipe, engine: str, tell: Tell
) -> tuple[Decided, Frame, Finish]:
    """Decide, apply what was decided to all rows, and see what becomes of rare values."""
    decided = decide(original, recipe, engine, tell)
    while True:
        tell("treating the rows")
        with timed(decided.log, "apply"):
            treated = decided.treated()
        tell("looking for rare values")
        with timed(decided.log, "rare"):
            finished = finish(decided, original, treated)
        gone = to_leave_out(decided, treated, finished)
        if gone is None:
            return decided, treated, finished
        treated.remove()
        decided = decide_without(decided, gone, tell)
