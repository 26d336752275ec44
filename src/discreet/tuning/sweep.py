"""Every combination of some values of a recipe's parameters, run and measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discreet.errors import BadInput
from discreet.progress import Teller
from discreet.recipe.given import Given
from discreet.recipe.recipe import Recipe
from discreet.tuning.asked import Asked, content_without_secrets, read_asked
from discreet.tuning.confirm import (
    BROKEN,
    REFUSED,
    SEEDS,
    NotConfirmed,
    axes_of,
    means,
    rows_of,
    run_on_fresh_seeds,
)
from discreet.tuning.folder import check_folder
from discreet.tuning.lattice import Lattices, leading
from discreet.tuning.swept import COLUMNS, KIND, Row, Sweep, check_column, said
from discreet.tuning.task import Task, read_task
from discreet.tuning.trials import Progress
from discreet.tuning.vary import Varied, combinations, read_varied


def sweep(
    table: Any,
    recipe: Given,
    vary: Mapping[str, Iterable[Any] | str] | None = None,
    *,
    best: str | None = None,
    risk: Any = None,
    loss: Any = None,
    known: str | Sequence[str] | None = None,
    standards: Mapping[str, float] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    force: bool = False,
    progress: Callable[[Progress], None] | Literal[False] | None = None,
    dialect: Mapping[str, str | None] | None = None,
) -> Sweep:
    """Try every combination of some values of a recipe's parameters.

    Each is run through the whole flow with its check, on all records, and measured: on about 20,000
    of them where they do not fit in memory. One that is
    refused, or does not pass its check, is a row with the reason. Where full-domain `generalize`
    goes by k-anonymity alone, the nodes of its lattice are evaluated once for all k, quality models
    and suppression limits; what it finds is what it would find by itself.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
    recipe : Recipe, Roles, dict or path of a TOML file
        Lists of values in its steps, such as ``k = [3, 5, 10]``, are varied too. Columns without a
        step are kept as they are.
    vary : mapping of str to list or str
        By parameter its values: ``{"k": range(2, 21), "quality": ["loss", "nue"]}``, or text such
        as "2..20", "2..20..2" and "loss,nue". Any parameter of a step, or of its privacy models;
        where several steps have it ``2.k`` or ``generalize.k``. At most 1,000 combinations.
    best : {"SRC", "NVIr", "NVRr", "loss", "risk", "seconds"}, optional
        What the best is told by in what is written.
    risk, loss, known, standards, seed, dialect
        As in `search`; the best is one within the bounds, and a row that breaks a standard fails.
    out : str or Path, optional
        Folder to write the sweep to.
    force : bool
        Replace a sweep that is there.
    progress : callable or False, optional
        Called before each row with how far it is. By default a notebook shows a line, and with
        False nothing does.

    Returns
    -------
    Sweep
        `rows`, one for each combination; `best("loss")`; `front`, those that no other beats in both
        risk and loss; `save`. Ctrl-C ends it with the rows so far. The same seed gives the same
        rows but for their seconds.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(300, seed=1).select(["age", "region"])
    >>> tried = sweep(people, {
    ...     "roles": {"quasi": ["age", "region"]},
    ...     "steps": [{
    ...         "method": "generalize", "columns": ["age", "region"],
    ...         "privacy": [{"model": "k-anonymity", "k": 5}],
    ...         "hierarchies": {"age": {"kind": "auto"}, "region": {"kind": "flat"}},
    ...     }],
    ... }, vary={"k": range(2, 6), "quality": ["loss", "discernibility"]})
    >>> len(tried.rows), tried.led
    (8, 8)
    >>> tried.best("risk")[0].parameters["k"]
    5
    """
    column = "" if best is None else check_column(best)
    target = None if out is None else Path(out)
    if target is not None:
        check_folder(target, force, KIND)
    started = time.perf_counter()
    content = content_without_secrets(recipe)
    steps, varied = read_varied(content.get("steps", []), vary or {})
    tries = _tries(read_asked({**content, "steps": []}, {}), steps, varied)
    first = next(one.steps for one in tries if one.recipe is not None)
    task = read_task(
        table, {**content, "steps": first}, risk=risk, loss=loss, known=known,
        standards=standards, only_given=True, seed=seed, dialect=dialect,
    )  # fmt: skip
    rows: list[Row] = []
    stopped = False
    shown = Teller(progress, lambda one: (one.doing, one.evaluations / len(tries)))
    with leading([k for one in tries for k in one.sizes]) as lattices:
        try:
            for number, one in enumerate(tries, start=1):
                doing = f"{number} of {len(tries)}: {said(one.parameters)}"
                passed = time.perf_counter() - started
                shown(Progress(number - 1, passed, 0, None, doing))
                rows.append(_row(task, f"{number:03d}", one, seed, lattices))
        except KeyboardInterrupt:
            if not rows:
                raise
            stopped = True
        finally:
            shown.close()
    found = Sweep(
        rows,
        [one.name for one in varied],
        *axes_of(task),
        rows_of(task),
        task.known,
        seconds=time.perf_counter() - started,
        lattice_seconds=lattices.seconds,
        lattice_nodes=lattices.nodes,
        led=lattices.led,
        seed=seed,
        column=column,
        stopped=stopped,
    )
    if target is not None:
        found.save(target, force=force)
    return found


@dataclass(frozen=True)
class _Try:
    """A combination; `recipe` is None where it is refused, and `why` says so."""

    parameters: dict[str, Any]
    steps: list[dict[str, Any]]
    recipe: Recipe | None
    why: str

    @property
    def sizes(self) -> list[int]:
        """The k of each search that may be spared."""
        steps = [] if self.recipe is None else self.recipe.steps
        searching = [step.build() for step in steps if step.method == "generalize"]
        return [
            model.k for one in searching for model in one.models if model.model == "k-anonymity"
        ]


def _tries(asked: Asked, steps: list[dict[str, Any]], varied: Sequence[Varied]) -> list[_Try]:
    """Make the recipe of each combination, and refuse values that none can have."""
    tries = []
    for parameters, made in combinations(steps, varied):
        recipe, why = None, ""
        try:
            recipe = asked.recipe(made)
        except BadInput as error:
            why = str(error)
        tries.append(_Try(parameters, made, recipe, why))
    for one in varied:
        for value in one.values:
            having = [x for x in tries if x.parameters[one.name] == value]
            if all(x.recipe is None for x in having):
                raise BadInput(having[0].why)
    return tries


def _row(task: Task, name: str, one: _Try, seed: int, lattices: Lattices) -> Row:
    """Run and measure a combination."""
    if one.recipe is None:
        return Row(name, one.parameters, None, check="refused", why=one.why)
    shared = lattices.seconds
    try:
        runs, taken = run_on_fresh_seeds(task, one.recipe, SEEDS, seed, slow=False, more=False)
    except NotConfirmed as error:
        check = "broken" if error.why == BROKEN else "refused"
        why = str(error) if error.why == REFUSED else f"{error.why}: {error}"
        return Row(name, one.parameters, one.recipe, check=check, why=why)
    figures = means([run.nulls for run in runs]) | means([found for found, _ in taken])
    # What was done for other rows too is not this one's.
    spent = sum(run.seconds for run in runs) - (lattices.seconds - shared)
    figures["seconds"] = max(0.0, spent) / len(runs)
    return Row(
        name, one.parameters, one.recipe, {key: figures[key] for key in COLUMNS if key in figures}
    )
