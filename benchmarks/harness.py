"""Time our functions beside other packages', in one process and taking turns."""

import importlib
import importlib.metadata
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import ROWS, Row

REPEAT = 7  # rounds, unless the budget ends them
BUDGET = 10.0  # seconds of timed calls per row (per size in a growth row)
SLOW = 30.0  # a first round this long is not repeated

Clock = Callable[[], float]


@dataclass
class Result:
    """The figures of one row; None stands for what was not measured."""

    row: Row
    ours: list[float] = field(default_factory=list)  # of the largest size in a growth row
    peer: list[float] = field(default_factory=list)
    best_by_size: dict[int, float] = field(default_factory=dict)
    quality: float | str | None = None
    peak_mb: float | None = None
    peer_version: str | None = None
    peer_missing: bool = False
    error: str | None = None

    @property
    def ratio(self) -> float | None:
        return min(self.peer) / min(self.ours) if self.peer else None

    @property
    def slope(self) -> float | None:
        if len(self.best_by_size) < 2:
            return None
        n, seconds = np.log(list(self.best_by_size.items())).T
        return float(np.polyfit(n, seconds, 1)[0])

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; a row with an error says nothing about its goal."""
        goal = self.row.goal
        if goal is None or self.error:
            return None
        if goal.kind == "ratio":
            return None if self.ratio is None else self.ratio >= goal.value
        figure = self.slope if goal.kind == "slope" else min(self.ours)
        return None if figure is None else figure <= goal.value


def take_turns(
    calls: Sequence[Callable[[], Any]], repeat: int = REPEAT, clock: Clock = time.perf_counter
) -> list[list[float]]:
    """Seconds of each call in each round: a, b, a, b, ..., so that noise hits all alike."""
    times: list[list[float]] = [[] for _ in calls]
    spent = 0.0
    for done in range(1, repeat + 1):
        for taken, call in zip(times, calls, strict=True):
            start = clock()
            kept = call()  # until the clock is read: freeing the result is not timed
            taken.append(clock() - start)
            del kept
            spent += taken[-1]
        if spent >= BUDGET and (done >= 2 or spent >= SLOW):
            break
    return times


def run_row(row: Row, repeat: int = REPEAT, clock: Clock = time.perf_counter) -> Result:
    """Run one row. What goes wrong is kept in ``Result.error``, with its traceback on stderr."""
    result = Result(row)
    try:
        if row.sizes:
            _grow(result, repeat, clock)
        else:
            _compare(result, repeat, clock)
            if row.memory:
                result.peak_mb = _peak_in_child(row)
    except Exception as error:
        _fail(result, error)
    return result


def _fail(result: Result, error: Exception, where: str = "") -> None:
    traceback.print_exception(error)
    said = f"{where}{type(error).__name__}: {error}"
    result.error = f"{result.error}; {said}" if result.error else said


def _grow(result: Result, repeat: int, clock: Clock) -> None:
    for n in sorted(result.row.sizes):
        case = result.row.build(n)
        case.ours()
        [result.ours] = take_turns([case.ours], repeat, clock)
        result.best_by_size[n] = min(result.ours)


def _compare(result: Result, repeat: int, clock: Clock) -> None:
    case = result.row.build()
    calls = [case.ours]
    # The first calls compile and fill caches, and are the ones that are checked.
    ours, peer = case.ours(), None
    if case.peer is not None:
        package = (result.row.peer or "").partition(".")[0]
        try:
            peer = case.peer()
            calls.append(case.peer)
            result.peer_version = _version(package)
        except Exception as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name == package
            result.peer_missing = missing
            if not missing:
                _fail(result, error, "peer: ")
    if case.check is not None and (case.peer is None or len(calls) == 2):
        try:
            result.quality = case.check(ours, peer)
        except Exception as error:
            _fail(result, error, "check: ")
    del ours, peer
    result.ours, *rest = take_turns(calls, repeat, clock)
    result.peer = rest[0] if rest else []


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None  # the distribution has another name than the package


def _peak_in_child(row: Row) -> float:
    # Spawned, because threads of OpenMP, numba or DuckDB do not survive a fork.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_peak_growth, row.module, row.key).result()


def _peak_growth(module: str, key: str) -> float:
    """Megabytes by which the resident set rises above its start during a warm call (Linux)."""
    importlib.import_module(module)
    case = ROWS[key].build()
    case.ours()
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = _status("VmRSS")
    case.ours()
    return max(0, _status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
