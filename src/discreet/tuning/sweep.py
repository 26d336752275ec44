"""Every combination of the values that a recipe leaves open, compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe
from discreet.tuning.front import Front, check_front
from discreet.tuning.search import front_of, new_trials
from discreet.tuning.task import read_task
from discreet.tuning.trials import Budget, Progress

# Of more combinations, `search` finds the best without trying all.
MOST_COMBINATIONS = 1_000


def sweep(
    table: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    *,
    risk: Any = None,
    loss: Any = None,
    known: str | Sequence[str] | None = None,
    standards: Mapping[str, float] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    force: bool = False,
    progress: Callable[[Progress], None] | None = None,
    dialect: Mapping[str, str | None] | None = None,
) -> Front:
    """Try every combination of the values that a recipe leaves open.

    Nothing but what the recipe says is tried: columns without a step are kept as they are.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
    recipe : Recipe, dict or path of a TOML file
        With lists of values to choose from in its steps, such as ``k = [3, 5, 10]``; at most
        1,000 combinations.
    risk, loss, known, standards, seed, out, force, progress, dialect
        As in `search`.

    Returns
    -------
    Front
        The combinations that no other beats in both risk and loss; `searched` has the figures of
        all. Ctrl-C ends it with those tried so far.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(300, seed=1).select(["age", "income"])
    >>> front = sweep(people, {
    ...     "roles": {"quasi": ["age"], "confidential": ["income"]},
    ...     "steps": [
    ...         {"method": "oma", "columns": ["age"], "k": [3, 10]},
    ...         {"method": "rank-swap", "columns": ["income"], "p": [5.0, 20.0]},
    ...     ],
    ... })
    >>> front.evaluations
    4
    """
    target = None if out is None else Path(out)
    if target is not None:
        check_front(target, force)
    task = read_task(
        table, recipe, risk=risk, loss=loss, known=known, standards=standards,
        only_given=True, seed=seed, dialect=dialect,
    )  # fmt: skip
    sizes = [len(part.options) for part in task.space.parts]
    _check_number(math.prod(sizes))
    trials, stopped = new_trials(task, Budget(), seed, progress), False
    try:
        for choice in product(*map(range, sizes)):
            trials.judge_in_full(choice)
    except KeyboardInterrupt:
        stopped = True
    front = front_of(task, trials, seed, stopped)
    if target is not None:
        front.save(target, force=force)
    return front


def _check_number(combinations: int) -> None:
    if combinations == 1:
        raise BadInput(
            "the recipe leaves nothing open; give a list of values to choose from in a step, such "
            "as k = [3, 5, 10]"
        )
    if combinations > MOST_COMBINATIONS:
        raise BadInput(
            f"the recipe leaves {combinations:,} combinations open, and a sweep tries all; leave "
            f"at most {MOST_COMBINATIONS:,}, or use search, which finds the best without trying all"
        )
