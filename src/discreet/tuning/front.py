"""The front: the best releases that a search found, from the safest to the least changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import BadInput
from discreet.private import make_private_folder, write_private
from discreet.recipe.recipe import Recipe
from discreet.report.front import front_page
from discreet.report.notebook import front_html
from discreet.tuning.folder import JOURNAL, RECIPES, Kind, check_folder, write_folder
from discreet.tuning.points import Axis, Point
from discreet.tuning.recommended import Recommendation, further, recommend
from discreet.tuning.space import listed

README = """\
This folder is internal. Never share it.

Its figures and recipes were found by looking at the original table, and tell about it.

index.html       the map of risk and loss, each recipe in words, and which one to take
recipes/NN.toml  the recipes, for `discreet protect`; seeds are drawn there, in secret
front.json       all of this for programs
journal.jsonl    everything that was tried, for `--resume`
"""
_FRONT = "front.json"
_KIND = Kind("front", _FRONT, frozenset({JOURNAL, RECIPES, "index.html", "README"}))
# What the figures of points are called, in what unit, and which are better.
FIGURES: dict[str, tuple[str, str, str]] = {
    "informed_linkage": ("found by an informed intruder", "share", "small"),
    "informed_linkage_largest": ("the record that is easiest to find", "share", "small"),
    "distance_linkage": ("found by distance", "share", "small"),
    "interval_disclosure": ("values within their interval", "share", "small"),
    "leaks": ("columns that others give away", "count", "small"),
    "narrowed": ("columns that others narrow down", "count", "small"),
    "information_loss": ("information loss", "", "small"),
    "il1s": ("IL1s of numbers", "", "small"),
    "correlations": ("largest change of a correlation", "", "small"),
    "pmse": ("pMSE, 0 where a model cannot tell them apart", "", "small"),
    "models": ("loss of models", "", "small"),
    "suppressed": ("records left out", "share", "small"),
    "blanks": ("cells blanked", "share", "small"),
    "score": ("score", "", "small"),
}


@dataclass(frozen=True, repr=False)
class Front:
    """What `search` returns: the points worth considering, and which to take.

    Attributes
    ----------
    points : list of Point
        From the least risk to the least loss; none is worse than another in both.
    risk, loss : Axis
        What risk and loss are, and their bounds.
    known : tuple of str
        The columns that the intruder knows.
    found : str
        What is found: records; or units or households by all of their rows.
    rows, searched_rows, measured_rows : int
        The records of the table, those that were searched with, and those that the figures of the
        points are of: some 20,000 where the table does not fit in memory.
    evaluations : int
        How many points were tried; with `seed` it says how to get this front again.
    seconds : float
    seed : int
    searched : list of (risk, loss)
        Every point that was evaluated in full.
    dropped : dict
        How many points did not hold up on fresh seeds, by reason.
    in_the_way : str
        Why recipes that looked better did not pass the check, if they were many.
    score : bool
        Risk and loss are the halves of a score.
    stopped : bool
        Whether the search was ended by Ctrl-C, before its budget was spent.
    """

    points: list[Point]
    risk: Axis
    loss: Axis
    rows: int
    searched_rows: int = 0
    measured_rows: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    seed: int = 0
    searched: list[tuple[float, float]] = field(default_factory=list, repr=False)
    dropped: Mapping[str, int] = field(default_factory=dict)
    in_the_way: str = ""
    score: bool = False
    stopped: bool = False
    known: tuple[str, ...] = ()
    found: str = "records"

    def __post_init__(self) -> None:
        if not self.points:
            raise BadInput(
                "no recipe held up on fresh seeds; search longer, or ask for fewer standards"
            )

    @cached_property
    def recommended(self) -> list[Recommendation]:
        """Up to three points to choose from, the best first."""
        return recommend(self.points, self.risk, self.loss, self.rows, score=self.score)

    @property
    def best(self) -> Point:
        """The point to take: the least loss within the risk bound, or else the best balance."""
        return self.recommended[0].point

    @cached_property
    def further(self) -> list[str]:
        """What would have to give for less risk than the best point has, or for less loss."""
        found = further(self.points, self.risk, self.loss, self.rows, self.best)
        return [self.in_the_way, *found] if self.in_the_way else found

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, as in `front.json`."""
        kinds = {one.point.name: list(one.kinds) for one in self.recommended}
        return {
            "version": __version__,
            "rows": self.rows,
            "searched_rows": self.searched_rows or self.rows,
            "measured_rows": self.measured_rows or self.rows,
            "evaluations": self.evaluations,
            "seconds": round(self.seconds, 1),
            "seed": self.seed,
            "stopped": self.stopped,
            "known": list(self.known),
            "found": self.found,
            "risk": _axis(self.risk),
            "loss": _axis(self.loss),
            "figures": _figures(self.points),
            "points": [_point(one, kinds.get(one.name, [])) for one in self.points],
            "searched": [[_plain(risk), _plain(loss)] for risk, loss in self.searched],
            "dropped": dict(self.dropped),
            "recommended": [
                {"kind": one.kind, "kinds": list(one.kinds), "name": one.point.name,
                 "reason": one.reason}
                for one in self.recommended
            ],
            "further": list(self.further),
            "best": self.best.name,
        }  # fmt: skip

    def _repr_html_(self) -> str:
        """Show notebooks which recipe to take, and the map of risk and loss."""
        return front_html(self.to_dict())

    def __repr__(self) -> str:
        best = self.best
        figures = f"risk {self.risk.say(best.risk)}, loss {self.loss.say(best.loss)}"
        return f"<Front of {len(self.points)} recipes, take {best.name}: {figures}>"

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the front: a recipe per point, `front.json`, and a page to look at.

        Parameters
        ----------
        folder : str or Path
            Only its owner can read it. The journal of a search that was written to it is kept.
        force : bool
            Replace a front that is there.

        Returns
        -------
        Path
            The folder.
        """
        return write_folder(Path(folder), force, _KIND, self._write)

    def _write(self, part: Path) -> None:
        # The same search gives the same bytes, however long it takes.
        content = self.to_dict() | {"seconds": None}
        make_private_folder(part / RECIPES)
        for point in self.points:
            write_private(part / recipe_file(point), recipe_text(point, self))
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        write_private(part / _FRONT, text + "\n")
        write_private(part / "index.html", front_page(content))
        write_private(part / "README", README)


def check_front(target: Path, force: bool) -> None:
    """Refuse a folder that a front cannot be written to, before any work is done."""
    check_folder(target, force, _KIND)


def recipe_file(point: Point) -> str:
    """Name the file of a point's recipe, in the folder of its front."""
    return f"recipes/{point.name}.toml"


def ready(recipe: Recipe) -> Recipe:
    """Return a recipe as it is handed out: seeds are drawn in secret by whoever runs it."""
    drawn = ("seed", "order_seed", "seed_for")
    update: dict[str, Any] = {**dict.fromkeys(drawn), "allow_predictable_seed": False}
    return recipe.model_copy(update=update)


def recipe_text(point: Point, front: Front) -> str:
    """Return a point's recipe as TOML, with what it does in words above it."""
    risk, loss = (axis.name.replace("_", " ") for axis in (front.risk, front.loss))
    head = [
        f"# Recipe {point.name}: risk {front.risk.say(point.risk)} ({risk}), "
        f"loss {front.loss.say(point.loss)} ({loss}).",
    ]
    if front.known and not front.score:
        head.append(f"# Risk is that from an intruder who knows {listed(front.known)}.")
    head += [f"# - {one}" for one in point.words]
    lines = "\n".join(_one_line(line) for line in head)
    return f"{lines}\n\n{ready(point.recipe).dump()}"


def _one_line(line: str) -> str:
    return " ".join(line.split())


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "name": axis.name,
        "better": "small",
        "bound": axis.bound,
        "unit": axis.unit,
        "top": axis.top,
    }


def _figures(points: Sequence[Point]) -> list[dict[str, str]]:
    """Name the measures that any point has, in the order in which they are shown."""
    found = {key for point in points for key in point.measures}
    order = [key for key in FIGURES if key in found] + sorted(found - FIGURES.keys())
    rows = ((key, *FIGURES.get(key, (key.replace("_", " "), "", "small"))) for key in order)
    return [dict(zip(("key", "name", "unit", "better"), row, strict=True)) for row in rows]


def _point(point: Point, kinds: list[str]) -> dict[str, Any]:
    return {
        "name": point.name,
        "risk": _plain(point.risk),
        "loss": _plain(point.loss),
        "spread": {key: [_plain(a), _plain(b)] for key, (a, b) in point.confirmed.items()},
        "words": list(point.words),
        "measures": {key: _plain(value) for key, value in point.measures.items()},
        "columns": {key: _plain(value) for key, value in point.columns.items()},
        "recipe": recipe_file(point),
        "recommended": kinds,
        "check_ok": point.check_ok,
    }


def _plain(value: float) -> float:
    """Return a number as it is written: beyond six digits machines may differ."""
    return float(f"{float(value):.6g}")
