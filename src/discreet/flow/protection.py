"""Protect a table by a recipe: count, decide, apply, check; on any engine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

from narwhals.dependencies import is_pandas_dataframe

from discreet.assessment import Assessment
from discreet.check.folders import is_file_target
from discreet.engines import Engine, Frame
from discreet.engines.choice import choose, open_engine
from discreet.errors import BadInput, Unmet
from discreet.flow.attacked import measure_attacks
from discreet.flow.deciding import Tell
from discreet.flow.finishing import count_changes
from discreet.flow.holdout import set_aside
from discreet.flow.log import timed, with_seeds
from discreet.flow.output import written_whole
from discreet.flow.refusals import refuse_engine
from discreet.flow.release import Release, released_names, seal_for
from discreet.flow.settled import (
    Settled,
    broken,
    open_plan,
    settle,
    unkept,
    with_blanks,
    with_limit,
)
from discreet.flow.treating import treat
from discreet.flow.two_tables import refuse_alone
from discreet.progress import Teller
from discreet.recipe.given import Given, as_recipe
from discreet.recipe.recipe import Recipe, needed_columns

_INDEX_KEPT = (
    "release.table keeps the index of the input, which may say who the records are; the written "
    "file does not hold it"
)


def protect(
    table: Any,
    recipe: Given | None = None,
    engine: str = "auto",
    *,
    memory: str | None = None,
    master: str | None = None,
    keep_index: bool = False,
    holdout: float | None = None,
    progress: Tell | Literal[False] | None = None,
    plan: str | Path | None = None,
    suppress: bool = False,
    anew: Sequence[int] = (),
    same_pseudonyms: bool = False,
    any_key: bool = False,
) -> Release:
    """Protect a table by a recipe, and verify what the recipe promises.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
        About people or companies, one row each. With an engine also a DuckDB relation or a Spark
        DataFrame.
    recipe : Recipe, Roles, dict or path of a TOML file
        Roles of the columns, and the steps. Or give a plan.
    engine : {"auto", "memory", "duckdb", "spark"}
        Where the work is done. `"auto"`: in memory where the file fits in a third of what is free,
        and of `memory`, and else on DuckDB; where the table itself is, if it is a relation or a
        Spark DataFrame.
    memory : str, optional
        DuckDB's or Spark's limit, such as "4GB".
    master : str, optional
        Of Spark; this machine by default. A session that runs already is used as it is.
    keep_index : bool
        Keep the index of a pandas table, which often says who the records are, in `Release.table`.
        By default rows are numbered anew; a written file never holds it.
    holdout : float, optional
        The share of the records that is set aside before any step, for attacks to compare with;
        by default that of the recipe, if it has one. They are in `Release.holdout`.
    progress : callable or False, optional
        Is told what is under way, and again by `Release.save`. By default a notebook shows a line,
        and with False nothing does.
    plan : str or Path, optional
        Instead of a recipe, the internal folder of an earlier release: its levels, cuts,
        hierarchies and bounds are applied to these rows, and what is about its very records is
        decided on anew, all with fresh draws. `log["plan"]` says which is which.
    suppress : bool
        With a plan: suppress the records and blank the cells that would break a promise.
    anew : sequence of int
        With a plan: the numbers of steps that are decided on anew, though they could be kept.
    same_pseudonyms : bool
        With a plan: keep the key of its pseudonyms, so that people can be followed from the
        earlier release to this one. By default they get new ones.
    any_key : bool
        With a plan: take one that a colleague's key has sealed.

    Returns
    -------
    Release
        With the protected table in `table`; `save` writes it to disk.

    Raises
    ------
    BadInput
        Where the table or the recipe cannot be used.
    BrokenPromise
        Where the independent check finds that a promise does not hold, or a plan no longer keeps
        its promises.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(1000, seed=1).select(["name", "income"])
    >>> release = protect(people, {
    ...     "roles": {"identifiers": ["name"], "confidential": ["income"]},
    ...     "steps": [{"method": "oma", "columns": ["income"], "k": 5}],
    ... })
    >>> release.table.column_names
    ['income']
    >>> release.check.ok
    True
    """
    if keep_index and not is_pandas_dataframe(table):
        raise BadInput("keep_index is for pandas tables, the only ones with an index")
    asked = asked_for(recipe, plan, suppress, anew, same_pseudonyms, any_key)
    where: dict[str, Any] = {"memory": memory, "master": master}
    with Teller(progress) as tell:
        release = asked.prepare(table, choose(engine, table, memory), holdout, tell=tell, **where)
        release.progress = progress
        if keep_index:
            release.keep_index = True
            release.log["warnings"].append(_INDEX_KEPT)
        try:
            _attack(release)
            release.verify()
        except BaseException:
            release.close()
            raise
    return release


def protect_to(
    table: Path,
    asked: Asked | Recipe,
    out: Path,
    engine: str = "auto",
    *,
    format: str | Sequence[str] | None = None,
    force: bool = False,
    csv_safe: bool = False,
    sign: Path | None = None,
    holdout: float | None = None,
    tell: Tell = lambda what: None,
    **options: Any,
) -> tuple[Release, Assessment, Path]:
    """Protect a file by what is asked for, and write the release.

    A run that is killed leaves nothing that matters. What was written is read back, assessed and
    checked. Temporary files are in the folder that becomes the release, or is removed by the next
    run.
    """
    engine = choose(engine, table, options.get("memory"))
    asked = Asked(asked) if isinstance(asked, Recipe) else asked
    refuse_alone(asked.recipe, out)
    names = released_names(out, format, engine, table, csv_safe)
    seal = seal_for(out, sign)
    with written_whole(out, force, table) as part:
        work = part / "work"
        work.mkdir()
        release = asked.prepare(table, engine, holdout, folder=work, tell=tell, **options)
        try:
            _attack(release)
            assessment = release.write(part, names, is_file_target(out), seal, csv_safe=csv_safe)
        finally:
            release.close()
        # Rows of the original must not be published with the rest; what fails here is told.
        if work.exists():
            shutil.rmtree(work)
    return release, assessment, out if is_file_target(out) else out / "public" / names[0]


@dataclass(frozen=True)
class Asked:
    """What is asked for: a recipe, or the plan of an earlier release."""

    recipe: Recipe
    settled: Settled | None = None
    suppress: bool = False

    def prepare(self, table: Any, engine: str, holdout: float | None, **options: Any) -> Release:
        """Decide on a table and treat its rows, as `prepare` does."""
        recipe = self.recipe.with_holdout(holdout)
        if self.settled is None:
            return prepare(table, recipe, engine, **options)
        return _prepare_again(table, recipe, engine, self.settled, self.suppress, **options)


def asked_for(
    recipe: Given | None,
    plan: str | Path | None,
    suppress: bool = False,
    anew: Sequence[int] = (),
    same_pseudonyms: bool = False,
    any_key: bool = False,
) -> Asked:
    """Take a recipe or a plan, and refuse both, neither, and what is for plans only."""
    if (recipe is None) == (plan is None):
        raise BadInput(
            "give either a recipe, to decide on the table, or the plan of an earlier release, to "
            "apply what was decided then"
        )
    if plan is not None:
        settled = settle(open_plan(plan, any_key), anew, same_pseudonyms)
        return Asked(settled.recipe, settled, suppress)
    for name, given in (
        ("suppress", suppress),
        ("anew", anew),
        ("same-pseudonyms", same_pseudonyms),
        ("any-key", any_key),
    ):
        if given:
            raise BadInput(f"--{name} is for plans of earlier releases; give one with --plan")
    assert recipe is not None
    return Asked(as_recipe(recipe))


def _prepare_again(
    table: Any,
    recipe: Recipe,
    engine: str,
    settled: Settled,
    suppress: bool,
    folder: Path | None = None,
    **options: Any,
) -> Release:
    """Apply a plan; what it does not keep on these rows is suppressed, or refused together."""
    options["refuse"] = settled.refuse_new
    said: dict[int, list[str]] = {}
    attempts = count()
    while True:
        # An engine that is closed takes its folder with it.
        own = None if folder is None else folder / str(next(attempts))
        if own is not None:
            own.mkdir(parents=True)
        try:
            release = prepare(table, recipe, engine, folder=own, **options)
        except Unmet as error:
            number = error.step or 1
            larger = with_limit(recipe, error)
            if larger is None and not said and not settled.keeps(number):
                raise  # It was decided on anew, and is told what to do as by a recipe.
            said.setdefault(number, [error.what])  # and not with a limit that was raised here
            if larger is None:
                raise broken(settled, said, suppressible=False) from None
            recipe = larger
            continue
        except BadInput as error:
            if not said:
                raise
            raise broken(settled, said, suppressible=False, then=str(error)) from None
        few = unkept(release.recipe, release.plan)
        if not few and (suppress or not said):
            settled.note(release.log, release.plan, said)
            return release
        release.close()
        said |= few
        try:
            recipe = with_blanks(recipe, few)
        except BadInput:  # Such as of rows that are linked: cells cannot be blanked there.
            raise broken(settled, said, suppressible=False) from None
        if not suppress:
            raise broken(settled, said)


def prepare(
    table: Any,
    recipe: Recipe,
    engine: str,
    *,
    memory: str | None = None,
    master: str | None = None,
    dialect: Mapping[str, str | None] | None = None,
    folder: Path | None = None,
    tell: Tell = lambda what: None,
    refuse: Callable[[Sequence[str]], None] = lambda names: None,
) -> Release:
    """Decide on a table and treat its rows; nothing is checked yet.

    Temporary files go into the folder, one of the system's by default; `tell` is told what is
    under way, and `refuse` is given the names of the table's columns.
    """
    refuse_engine(recipe, engine)
    if recipe.against is not None:
        recipe.against.load()  # What is wrong with a policy is said before the work, not after.
    tell("opening the table")
    worker = open_engine(engine, memory=memory, master=master, table=table, folder=folder)
    try:
        needed = partial(needed_columns, recipe)
        original = worker.read(table, needed, recipe.null_markers, recipe.numeric, dialect)
        refuse(original.schema.names)
        release = _treat(worker, original, table, recipe, tell)
    except BaseException:
        worker.close()
        raise
    given = {key: value for key, value in (dialect or {}).items() if value is not None}
    if given:
        release.log["input"]["dialect"] = given
    return release


def _attack(release: Release) -> None:
    """Note what attacks on the methods themselves come to."""
    release.tell("attacking the methods")
    with timed(release.log, "attacks"):
        measure_attacks(
            release.log, release.plan, release.recipe, release.original, release.finished
        )


def _treat(worker: Engine, original: Frame, table: Any, recipe: Recipe, tell: Tell) -> Release:
    """Treat the rows that are not set aside, and count what changed."""
    source, fresh = Path(table) if isinstance(table, str | Path) else None, recipe.seed is None
    if recipe.holdout is not None:
        tell("setting the holdout aside")
        recipe = with_seeds(recipe)
    aside = set_aside(original, recipe)
    original = aside.frame
    try:
        decided, treated, finished = treat(original, recipe, worker.name, tell)
    except BadInput as error:
        if aside.told is None or not re.search(r"\brow \d", str(error)):
            raise
        raise BadInput(f"{error} (rows are counted without those that are set aside)") from None
    log = decided.log
    log["seed"]["drawn"] = fresh
    if aside.told is not None:
        log["holdout"] = dict(aside.told)
    tell("counting the cells that changed")
    with timed(log, "compare"):
        count_changes(decided, original, treated, finished)
    log["input"]["source"] = None if source is None else source.name
    return Release(
        plan=decided.plan,
        log=log,
        recipe=decided.recipe,
        engine=worker,
        original=original,
        treated=treated,
        finish=finished,
        given=None if source is not None else aside.given(table),
        source=source,
        tell=tell,
        holdout=aside.holdout,
    )
