"""What a sweep found: a row for each combination, the best of them, and those none beats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import BadInput, nearest
from discreet.private import make_private_folder, write_private
from discreet.recipe.recipe import Recipe
from discreet.report.notebook import sweep_html
from discreet.report.sweep import sweep_page, written
from discreet.tuning.figures import Figures
from discreet.tuning.folder import RECIPES, Kind, write_folder
from discreet.tuning.front import ready
from discreet.tuning.pareto import non_dominated
from discreet.tuning.points import Axis
from discreet.tuning.space import listed

README = """\
This folder is internal. Never share it.

Its figures and recipes were found by looking at the original table, and tell about it.

index.html        the table of all combinations, with pictures
rows.csv          the table
recipes/NNN.toml  the recipe of each combination, for `discreet protect`, which draws secret seeds
sweep.json        all of this for programs
"""
KIND = Kind("sweep", "sweep.json", frozenset({RECIPES, "rows.csv", "index.html", "README"}))
# The figures of a row, each the better the smaller it is.
COLUMNS = ("SRC", "NVIr", "NVRr", "loss", "risk", "seconds")
# Figures that differ by less are equal: sums may differ in the last digits.
_DIGITS = 9


@dataclass(frozen=True)
class Row:
    """One combination, and what came of it.

    Attributes
    ----------
    name : str
        Its number: "001".
    parameters : dict
        What was varied, by name.
    recipe : Recipe or None
        Ready for `protect`; None where the recipe itself is refused.
    figures : dict of str to float
        `SRC`, suppressed records; `NVIr` and `NVRr`, the shares of cells that are null or `*` and
        of records with one, in the quasi columns (`discreet.utility.null_rates`); `loss` and
        `risk`, as in a search; `seconds`, of one run with its check. Empty if it failed; means over
        the seeds where a step draws.
    check : {"passed", "broken", "refused"}
        What the independent check says of the release; "refused" where there is none to check.
    why : str
        Why there is no release; empty if there is one.
    """

    name: str
    parameters: Mapping[str, Any]
    recipe: Recipe | None = field(repr=False)
    figures: Mapping[str, float] = field(default_factory=dict)
    check: str = "passed"
    why: str = ""


@dataclass(frozen=True, repr=False)
class Sweep:
    """What `sweep` returns.

    Attributes
    ----------
    rows : list of Row
        One for each combination, the first parameter slowest.
    parameters : list of str
        What was varied.
    risk, loss : Axis
        What risk and loss are, and the bounds that the best must keep.
    records : int
        Of the table.
    known : tuple of str
        The columns that the intruder knows.
    seconds : float
        In all; `lattice_seconds` of them for trying nodes of lattices for several rows at once.
    lattice_nodes, led : int
        How many nodes were tried so, and how many searches that spared.
    seed : int
    column : str
        What the best was asked for by, if it was.
    stopped : bool
        Whether it was ended by Ctrl-C.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> from discreet import sweep
    >>> people = make_households(300, seed=1).select(["age", "income"])
    >>> tried = sweep(people, {
    ...     "roles": {"quasi": ["age"], "confidential": ["income"]},
    ...     "steps": [{"method": "oma", "columns": ["age"], "k": 5}],
    ... }, vary={"k": [3, 10, 400]})
    >>> [(row.parameters["k"], row.check) for row in tried.rows]
    [(3, 'passed'), (10, 'passed'), (400, 'refused')]
    >>> [row.parameters for row in tried.best("loss")]
    [{'k': 3}]
    """

    rows: list[Row]
    parameters: list[str]
    risk: Axis
    loss: Axis
    records: int
    known: tuple[str, ...] = ()
    seconds: float = 0.0
    lattice_seconds: float = 0.0
    lattice_nodes: int = 0
    led: int = 0
    seed: int = 0
    column: str = ""
    stopped: bool = False

    def best(self, column: str) -> list[Row]:
        """Return the row with the least of a figure; several where they tie.

        Those that failed, or are beyond a bound on risk or loss, are left out, so that the list may
        be empty.

        Parameters
        ----------
        column : str
            SRC, NVIr, NVRr, loss, risk or seconds.
        """
        column = check_column(column)
        rows = [row for row in self.rows if column in row.figures and self._within(row)]
        least = min((_rounded(row.figures[column]) for row in rows), default=0.0)
        return [row for row in rows if _rounded(row.figures[column]) == least]

    @cached_property
    def front(self) -> list[Row]:
        """The rows that no other beats in both risk and loss, from the least risk on."""
        rows = [row for row in self.rows if row.check == "passed"]
        figures = [Figures(row.figures["risk"], row.figures["loss"]) for row in rows]
        return [rows[place] for place in non_dominated(figures)]

    def _within(self, row: Row) -> bool:
        axes = ("risk", self.risk), ("loss", self.loss)
        return all(axis.bound is None or row.figures[name] <= axis.bound for name, axis in axes)

    @property
    def why_none(self) -> str:
        """Why there is no best row."""
        if not any(row.check == "passed" for row in self.rows):
            return "no combination gives a release"
        bounds = [
            f"a {name} of at most {axis.say(axis.bound)}"
            for name, axis in (("risk", self.risk), ("loss", self.loss))
            if axis.bound is not None
        ]
        return f"no combination has {listed(bounds)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, as in `sweep.json`."""
        front = {row.name for row in self.front}
        best = [row.name for row in self.best(self.column)] if self.column else []
        return {
            "version": __version__,
            "records": self.records,
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
            "lattices": {
                "nodes": self.lattice_nodes,
                "searches": self.led,
                "seconds": round(self.lattice_seconds, 2),
            },
            "stopped": self.stopped,
            "known": list(self.known),
            "risk": {"name": self.risk.name, "unit": self.risk.unit, "bound": self.risk.bound},
            "loss": {"name": self.loss.name, "unit": self.loss.unit, "bound": self.loss.bound},
            "parameters": list(self.parameters),
            "columns": list(COLUMNS),
            "rows": [_row(row, row.name in front) for row in self.rows],
            "front": [row.name for row in self.front],
            "best": {
                "column": self.column or None,
                "rows": best,
                "why_none": self.why_none if self.column and not best else "",
            },
        }

    def to_csv(self) -> str:
        """Return the table as CSV text."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(["row", *self.parameters, *COLUMNS, "check", "front", "why"])
        for row in self.to_dict()["rows"]:
            given = [written(row["parameters"][name]) for name in self.parameters]
            figures = [row["figures"].get(name, "") for name in COLUMNS]
            out.writerow([row["name"], *given, *figures, row["check"], row["front"], row["why"]])
        return text.getvalue()

    def _repr_html_(self) -> str:
        """Show notebooks the best combination, the table and a picture."""
        recipes = [row.recipe for row in self.rows if row.recipe is not None]
        columns = {name for one in recipes for name in (*one.roles.named(), *one.treated)}
        return sweep_html(self.to_dict(), sorted(columns))

    def __repr__(self) -> str:
        tried, done = len(self.rows), sum(row.check == "passed" for row in self.rows)
        return f"<Sweep of {tried} combinations of {', '.join(self.parameters)}, {done} passed>"

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the sweep: its table, a recipe for each row, and a page to look at.

        Parameters
        ----------
        folder : str or Path
            Only its owner can read it.
        force : bool
            Replace a sweep that is there.

        Returns
        -------
        Path
            The folder.
        """
        return write_folder(Path(folder), force, KIND, self._write)

    def _write(self, part: Path) -> None:
        content = self.to_dict()
        make_private_folder(part / RECIPES)
        for row in self.rows:
            if row.recipe is not None:
                write_private(part / recipe_file(row), _recipe_text(row))
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        write_private(part / KIND.mark, text + "\n")
        write_private(part / "rows.csv", self.to_csv())
        write_private(part / "index.html", sweep_page(content))
        write_private(part / "README", README)


def check_column(column: str) -> str:
    """Return a column that the best is asked for by, in any case of its letters, or refuse it."""
    found = {name.lower(): name for name in COLUMNS}.get(str(column).lower())
    if found is None:
        raise BadInput(f"the best by '{column}' cannot be told; {nearest(str(column), COLUMNS)}")
    return found


def recipe_file(row: Row) -> str:
    """Name the file of a row's recipe, in the folder of its sweep."""
    return f"{RECIPES}/{row.name}.toml"


def said(parameters: Mapping[str, Any]) -> str:
    """Say parameters in one line.

    Examples
    --------
    >>> said({"k": 5, "quality": "loss"})
    'k = 5, quality = loss'
    """
    return ", ".join(f"{name} = {written(value)}" for name, value in parameters.items())


def _recipe_text(row: Row) -> str:
    assert row.recipe is not None
    told = [f"Row {row.name}: {said(row.parameters)}.", *_told(row)]
    head = "\n".join(f"# {' '.join(line.split())}" for line in told)
    return f"{head}\n\n{ready(row.recipe).dump()}"


def _told(row: Row) -> Iterator[str]:
    if row.why:
        yield f"It gives no release: {row.why}"
    else:
        yield ", ".join(
            f"{name} {row.figures[name]:.4g}" for name in COLUMNS[:-1] if name in row.figures
        )


def _row(row: Row, front: bool) -> dict[str, Any]:
    return {
        "name": row.name,
        "parameters": {key: _plain(value) for key, value in row.parameters.items()},
        "figures": {key: _short(value) for key, value in row.figures.items()},
        "check": row.check,
        "front": front,
        "why": row.why,
        "recipe": None if row.recipe is None else recipe_file(row),
    }


def _plain(value: Any) -> Any:
    """Return a value of a parameter as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value if isinstance(value, int | float | str | None) else str(value)


def _short(value: float) -> float | int:
    """Return a figure as it is written: beyond six digits machines may differ."""
    return int(value) if float(value).is_integer() else float(f"{float(value):.6g}")


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
