"""Run the experiments of a paper, piece by piece, on two cores."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context

from discreet.errors import BadInput
from discreet.reproduce.data import NotFound
from discreet.reproduce.results import Figure, Figures, Piece, Reproduction, scope

PAPERS = ("rounding", "porop", "deficient")
# Called with the pieces done, the pieces in all, and what is under way.
Progress = Callable[[int, int, str], None]


def reproduce(
    name: str,
    table: str | None = None,
    seeds: int | None = None,
    progress: Progress | None = None,
    processes: int = 1,
) -> Reproduction:
    """Run a paper's experiments, all or those of one table, some pieces at the same time.

    `seeds` is the number of random draws, of which each paper has its own default. Tables whose
    data is not on this machine are named in `missing`.
    """
    if name not in PAPERS:
        raise BadInput(f"there is no paper '{name}'; choose from {', '.join(PAPERS)}")
    if seeds is not None and seeds < 1:
        raise BadInput(f"seeds = {seeds} must be 1 or more")
    paper = import_module(f"discreet.reproduce.{name}")
    if table is not None and table not in titles(name):
        known = ", ".join(titles(name))
        raise BadInput(f"the paper '{name}' has no table '{table}'; choose from {known}")
    pieces = [
        piece
        for piece in paper.pieces(paper.SEEDS if seeds is None else seeds)
        if table is None or table in piece.tables
    ]
    figures = Figures()
    missing: dict[str, str] = {}
    for piece, found in zip(pieces, _results(pieces, processes, progress), strict=True):
        if isinstance(found, NotFound):
            missing |= dict.fromkeys(piece.tables, str(found))
        else:
            figures += [f for f in found if table is None or f.table == table]
    shown = {t: text for t, text in titles(name).items() if table is None or t == table}
    missing = {t: text for t, text in missing.items() if t in shown}
    result = Reproduction(name, paper.PAPER, shown, figures, missing=missing)
    findings = import_module(f"discreet.reproduce.{name}_findings").findings
    result.findings = [scope(name), *findings(figures)] if figures else []
    result.charts = [chart for chart in paper.CHARTS if figures.pick(table=chart.table)]
    return result


def titles(name: str) -> dict[str, str]:
    """Return the tables of a paper, with their titles.

    Examples
    --------
    >>> titles("rounding")["8"]
    'Wine: decision tree of the class'
    """
    found: dict[str, str] = import_module(f"discreet.reproduce.{name}").TITLES
    return found


def _results(
    pieces: list[Piece], processes: int, progress: Progress | None
) -> list[list[Figure] | NotFound]:
    """Run the pieces; results come in order, however many run at a time."""
    tell = progress or (lambda done, total, label: None)
    results: list[list[Figure] | NotFound] = []
    if processes < 2:
        for done, piece in enumerate(pieces):
            tell(done, len(pieces), piece.label)
            results.append(_run(piece))
        tell(len(pieces), len(pieces), "")
        return results
    # Not by forking: compiled code runs in threads, and a fork would copy their locks.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_run, piece): piece for piece in pieces}
        tell(0, len(pieces), pieces[0].label if pieces else "")
        for done, future in enumerate(as_completed(futures), 1):
            tell(done, len(pieces), futures[future].label)
        return [future.result() for future in futures]


def _run(piece: Piece) -> list[Figure] | NotFound:
    with warnings.catch_warnings():
        # What a method or measure tells its users about a column, hundreds of times.
        warnings.simplefilter("ignore", UserWarning)
        try:
            return list(piece.run(*piece.arguments))
        except NotFound as error:
            return error
