"""Search the best releases of a table: those with the least risk and the least loss."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet import __version__
from discreet.errors import BadInput
from discreet.private import make_private_folder
from discreet.progress import of_search
from discreet.recipe.given import Given
from discreet.tuning.bounds import SCORES
from discreet.tuning.confirm import confirmed_front
from discreet.tuning.front import Front, check_front
from discreet.tuning.joint import joint_seeds
from discreet.tuning.journal import Journal
from discreet.tuning.judge import Judge
from discreet.tuning.loop import run
from discreet.tuning.task import Task, read_task
from discreet.tuning.trials import Budget, Progress, Trials

# Where neither minutes nor evaluations are given.
MINUTES = 5.0
# Of the time of a quick search; the rest is for confirming.
_SEARCHING = 0.75


def search(
    table: Any,
    recipe: Given,
    *,
    risk: Any = None,
    loss: Any = None,
    keep: Sequence[str] = (),
    known: str | Sequence[str] | None = None,
    privacy: Any = None,
    standards: Mapping[str, float] | None = None,
    minutes: float | None = None,
    evaluations: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Callable[[Progress], None] | Literal[False] | None = None,
    dialect: Mapping[str, str | None] | None = None,
    quick: bool = False,
) -> Front:
    """Search the releases of a table that have the least risk and the least loss.

    Risk is the share of records that an intruder finds who knows the recipe and not the seed (see
    `discreet.risk.informed_linkage`), loss the mean `discreet.utility.information_loss` of the
    columns. Points are chosen on some seeds, and their figures come from fresh ones.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
        What is to be released. Of more than 20,000 rows a sample is searched, and the points of
        the front are confirmed on all.
    recipe : Recipe, Roles, dict or path of a TOML file
        With roles. Steps may be left out, given, or have lists of values to choose from, such as
        ``k = [3, 5, 10]``. It may have `hierarchies` by column, and under `search` what the
        arguments here override.
    risk : str or float, optional
        The largest risk, such as ``"linkage <= 0.05"``.
    loss : str, float or callable, optional
        The largest loss, such as ``"information_loss <= 0.3"``, or what measures it: the name of a
        measure of `discreet.utility`, or a function of the original and the protected table. With
        ``"score"`` or ``"normalized_score"`` the point with the least score is searched.
    keep : list of str
        Columns whose values are released as they are.
    known : "all", "quasi" or list of str, optional
        What the intruder knows; by default the quasi columns and the numeric confidential ones.
    privacy : list of privacy models, optional
        What every point promises of the quasi columns.
    standards : mapping of str to float, optional
        The largest change of structure allowed: of `correlations`, `pmse` and `models`.
    minutes : float, optional
        How long to search; 5 by default. Confirming the points comes on top.
    evaluations : int, optional
        How many points to try instead. The same seed and evaluations give the same front.
    seed : int
        Of the search; releases draw secret seeds of their own.
    out : str or Path, optional
        Folder to write the front to. Until it is there the folder holds the journal of what was
        tried, from which a search that was stopped goes on.
    resume : bool
        Go on with the search that was written to `out`, if there is one.
    force : bool
        Replace a front that is there.
    progress : callable or False, optional
        Called now and then with the evaluations done, the seconds and the best so far. By default
        a notebook shows a line, and with False nothing does.
    dialect : mapping, optional
        How a CSV is written, as in `discreet.read_table`.
    quick : bool
        Confirm only a few points, by the measures that take little time, within `minutes`.

    Returns
    -------
    Front
        Its `best` is the point to take. Ctrl-C ends the search with the front so far.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(200, seed=1)
    >>> recipe = {"roles": {"quasi": ["age", "sex"], "rest": "drop"}}
    >>> front = search(people, recipe, evaluations=4)
    >>> front.evaluations, front.points[0].risk < front.points[-1].risk
    (4, True)
    """
    budget = _budget(minutes, evaluations, quick)
    target = None if out is None else Path(out)
    if target is not None:
        check_front(target, force or resume)
    task = read_task(
        table, recipe, risk=risk, loss=loss, keep=keep, known=known, privacy=privacy,
        standards=standards, seed=seed, dialect=dialect,
    )  # fmt: skip
    if all(len(part.options) == 1 for part in task.space.parts):
        raise BadInput(
            "the steps of the recipe leave nothing to search; take out those that are to be found"
        )
    shown = of_search(
        progress, None if budget.seconds is None else budget.seconds / 60, evaluations
    )
    trials = new_trials(task, budget, seed, shown, _journal(target, task, seed, resume))
    try:
        stopped = run(trials, task.space.parts, seed, joint_seeds(task.space))
        front = front_of(task, trials, seed, stopped, quick)
    finally:
        trials.journal.close()
        shown.close()
    if target is not None:
        front.save(target, force=force or resume)
    return front


def new_trials(
    task: Task,
    budget: Budget,
    seed: int,
    progress: Callable[[Progress], None] | None,
    journal: Journal | None = None,
) -> Trials:
    """Return where the choices of a task are judged."""
    return Trials(
        Judge(task, seed=seed),
        task.table.num_rows,
        budget,
        single=task.measure in SCORES,
        journal=journal,
        progress=progress,
        bound=None if task.risk is None else task.risk.value,
    )


def front_of(task: Task, trials: Trials, seed: int, stopped: bool, quick: bool = False) -> Front:
    """Confirm what was judged, and return its front."""
    front = confirmed_front(
        task,
        trials.judged,
        evaluations=trials.evaluations,
        seconds=lambda: trials.seconds,
        seed=seed,
        tell=trials.tell,
        quick=quick,
    )
    return replace(front, stopped=stopped)


def _budget(minutes: float | None, evaluations: int | None, quick: bool) -> Budget:
    if minutes is not None and evaluations is not None:
        raise BadInput("give minutes or evaluations, not both")
    if evaluations is not None:
        if not _is_whole(evaluations) or evaluations < 1:
            raise BadInput(f"evaluations must be a whole number of 1 or more, not {evaluations!r}")
        return Budget(evaluations=evaluations)
    minutes = MINUTES if minutes is None else minutes
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not minutes > 0:
        raise BadInput(f"minutes must be a number above 0, not {minutes!r}")
    return Budget(seconds=60 * minutes * (_SEARCHING if quick else 1))


def _is_whole(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def _journal(target: Path | None, task: Task, seed: int, resume: bool) -> Journal:
    if target is None:
        return Journal(None, {})
    try:
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            make_private_folder(target)
        return Journal(target / "journal.jsonl", _header(task, seed), resume=resume)
    except OSError as error:
        raise BadInput(f"cannot write to {target}: {error.strerror or error}") from None


def _header(task: Task, seed: int) -> dict[str, Any]:
    """Return what a journal holds for."""
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, task.table.schema) as stream:
        stream.write_table(task.table.combine_chunks())
    measure = (
        task.measure
        if isinstance(task.measure, str)
        else getattr(task.measure, "__qualname__", None)
    )
    asked = [task.space.parts, task.space.base, task.known, task.counted, measure, task.standards]
    return {
        "version": __version__,
        "seed": seed,
        "table": _digest(written.getvalue()),
        "recipe": _digest(repr(asked).encode()),
    }


def _digest(content: Any) -> str:
    return hashlib.blake2b(content, digest_size=16, person=b"discreet search").hexdigest()
