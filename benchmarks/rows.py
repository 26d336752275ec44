"""The rows that the harness runs, and how a family declares them.

A row is a function that prepares its data and returns a `Case`::

    @row("oma n=1e6 k=5", peer="microagg1d", goal=4.0)
    def _() -> Case:
        x = ...
        return Case(ours=lambda: ..., peer=lambda: ..., check=lambda ours, peer: ...)

    @growth("oma k=10", sizes=(10_000, 100_000, 1_000_000), goal=1.2)
    def _(n: int) -> Case:
        x = ...
        return Case(ours=lambda: ...)

Peers are development-only, so ``ours`` and ``peer`` import what they call when they are called.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Case:
    """What one row runs.

    Parameters
    ----------
    ours, peer : callable
        Take nothing; their results go to `check` only.
    check : callable, optional
        ``check(ours, peer)`` gets both results (`peer` is None in a row without one), raises
        AssertionError where they are wrong, and returns a figure or text for the quality column.
    """

    ours: Callable[[], Any]
    peer: Callable[[], Any] | None = None
    check: Callable[[Any, Any], float | str | None] | None = None


@dataclass(frozen=True)
class Goal:
    """A figure to reach: at least a ratio peer/ours, or at most so many seconds or a slope."""

    kind: Literal["ratio", "seconds", "slope"]
    value: float

    def __str__(self) -> str:
        shown = {"ratio": ">= {:g}x", "seconds": "<= {:g} s", "slope": "slope <= {:g}"}
        return shown[self.kind].format(self.value)


@dataclass(frozen=True)
class Row:
    """One registered row; `sizes` is empty except in growth rows."""

    name: str
    module: str
    build: Callable[..., Case]
    peer: str | None = None
    goal: Goal | None = None
    large: bool = False
    memory: bool = False
    sizes: tuple[int, ...] = ()

    @property
    def family(self) -> str:
        return self.module.rpartition(".")[2]

    @property
    def key(self) -> str:
        return f"{self.family}/{self.name}"


ROWS: dict[str, Row] = {}


def module_of(build: Callable[..., Case]) -> str:
    """Name the module of a function, or of the one that a partial calls."""
    return getattr(build, "func", build).__module__


def _register(new: Row) -> None:
    if new.key in ROWS:
        raise ValueError(f"two rows are called {new.key!r}")
    ROWS[new.key] = new


def row(
    name: str,
    *,
    peer: str | None = None,
    goal: float | None = None,
    seconds: float | None = None,
    large: bool = False,
    memory: bool = False,
) -> Callable[[Callable[[], Case]], None]:
    """Register a row that compares ours with a peer.

    Parameters
    ----------
    name : str
        Unique in its module, whose name is the family.
    peer : str, optional
        What is compared with; up to the first dot it is the package's import name.
    goal, seconds : float, optional
        A ratio peer/ours to reach, or a time of ours to stay under; not both.
    large : bool
        Run only with ``--large``.
    memory : bool
        Also measure ours' peak memory, in a process of its own.
    """
    if goal is not None and seconds is not None:
        raise ValueError(f"row {name!r}: give goal (a ratio) or seconds, not both")
    aim = Goal("ratio", goal) if goal is not None else None
    aim = Goal("seconds", seconds) if seconds is not None else aim
    return lambda build: _register(Row(name, module_of(build), build, peer, aim, large, memory))


def growth(
    name: str, *, sizes: Sequence[int], goal: float | None = None, large: bool = False
) -> Callable[[Callable[[int], Case]], None]:
    """Register a row that times ours at several sizes; `goal` is the steepest log-log slope."""
    if len(set(sizes)) < 2:
        raise ValueError(f"row {name!r}: a slope needs two sizes")
    aim = None if goal is None else Goal("slope", goal)
    return lambda build: _register(
        Row(name, module_of(build), build, goal=aim, large=large, sizes=tuple(sizes))
    )
