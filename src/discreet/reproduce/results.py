"""What an experiment yields: figures beside the paper's, and what follows from them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple

Verdict = Literal["scope", "agrees", "differs", "contradiction", "beyond"]
# In the order in which they are told.
VERDICTS: dict[Verdict, str] = {
    "scope": "What is compared",
    "agrees": "What agrees",
    "differs": "What does not agree, and why",
    "contradiction": "Where the paper contradicts itself",
    "beyond": "What the paper does not say",
}


@dataclass(frozen=True)
class Figure:
    """One figure of a table, by row (a method and its setting) and column: the paper's and ours."""

    table: str  # as the paper numbers it
    series: str
    setting: str
    quantity: str
    paper: float | None  # None if the paper does not give it
    measured: float  # a mean if there were several draws
    spread: float | None = None  # the standard deviation over the draws, if there were several
    x: float | None = None  # the setting as a number, for plots

    @property
    def row(self) -> str:
        """The label of its row."""
        return f"{self.series}, {self.setting}" if self.setting else self.series

    @property
    def difference(self) -> float | None:
        """The measured figure minus the paper's."""
        return None if self.paper is None else self.measured - self.paper


class Finding(NamedTuple):
    """What the figures show: a verdict, and one or two sentences with the figures in them."""

    verdict: Verdict
    text: str


def verdict(good: bool) -> Verdict:
    """Return what a comparison shows: the figures agree, or they differ."""
    return "agrees" if good else "differs"


@dataclass(frozen=True)
class Chart:
    """What to draw of a table, by default its series as lines against their setting.

    There is a panel for each quantity and each text in `only`, for the series that contain it. Bars
    stand by series, one for each setting; points lie over the quantity that `x` names.
    """

    table: str
    quantities: tuple[str, ...]
    title: str
    x: str
    only: tuple[str, ...] = ("",)
    kind: Literal["lines", "bars", "points"] = "lines"


class Piece(NamedTuple):
    """A part of an experiment that runs by itself: a function that yields figures."""

    label: str
    tables: tuple[str, ...]
    run: Callable[..., Iterable[Figure]]
    arguments: tuple[Any, ...] = ()


class Figures(list[Figure]):
    """Figures, and ways to pick from them."""

    def pick(self, **want: Any) -> Figures:
        """Pick those whose attributes equal the given value, or are in it if it is a tuple."""

        def fits(figure: Figure) -> bool:
            return all(
                getattr(figure, name) in value
                if isinstance(value, tuple)
                else getattr(figure, name) == value
                for name, value in want.items()
            )

        return Figures(figure for figure in self if fits(figure))

    def given(self) -> Figures:
        """Pick those that the paper gives too."""
        return Figures(figure for figure in self if figure.paper is not None)

    def papers(self) -> list[float]:
        """Return the paper's figures, where it gives them."""
        return [figure.paper for figure in self if figure.paper is not None]

    def differences(self) -> list[float]:
        """Return ours minus the paper's, where it gives them."""
        return [figure.difference for figure in self if figure.difference is not None]


@dataclass
class Reproduction:
    """A paper, reproduced."""

    name: str
    paper: str
    titles: dict[str, str]
    figures: Figures
    findings: list[Finding] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # table -> what was not found

    def tables(self) -> Iterator[tuple[str, str, Figures]]:
        """Return the number, title and figures of each table that was run."""
        for number, title in self.titles.items():
            found = self.figures.pick(table=number)
            if found:
                yield number, title, found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "paper": self.paper,
            "tables": [
                {
                    "table": number,
                    "title": title,
                    "figures": [
                        {
                            "row": f.row,
                            "quantity": f.quantity,
                            "paper": "not given" if f.paper is None else f.paper,
                            "measured": f.measured,
                            "difference": f.difference,
                            "spread": f.spread,
                        }
                        for f in figures
                    ],
                }
                for number, title, figures in self.tables()
            ],
            "findings": [finding._asdict() for finding in self.findings],
            "data_not_found": self.missing,
        }


@cache
def paper_figures(name: str, *keys: str) -> dict[tuple[str, ...], float]:
    """Read a paper's figures, by the columns named.

    Examples
    --------
    >>> paper_figures("porop", "data", "k", "degree")["census", "7000", "2"]
    31.9
    """
    return {tuple(row[key] for key in keys): float(row["value"]) for row in _rows(name)}


def scope(name: str) -> Finding:
    """Say which of a paper's figures there are to compare with, by their number.

    Examples
    --------
    >>> print(scope("porop").text)
    The package has 51 figures of this paper: 51 in Tables I, II. What else its text or its plots \
say is not compared.
    """
    rows = _rows(name)
    tables = list(dict.fromkeys(row["table"] for row in rows if "." not in row["table"]))
    quoted = [row for row in rows if "." in row["table"]]
    told = [f"{len(rows) - len(quoted):,} in Tables {', '.join(tables)}"]
    for section in sorted({row["table"] for row in quoted}):
        kinds = Counter(row["quantity"].split(",")[0] for row in quoted if row["table"] == section)
        parts = ", ".join(f"{kind}: {number}" for kind, number in kinds.items())
        told.append(f"{kinds.total()} in the text of section {section} ({parts})")
    return Finding(
        "scope",
        f"The package has {len(rows):,} figures of this paper: {'; '.join(told)}. What else its "
        "text or its plots say is not compared.",
    )


@cache
def _rows(name: str) -> list[dict[str, str]]:
    text = files("discreet.reproduce").joinpath("figures", f"{name}.csv").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def averaged(
    table: str,
    series: str,
    setting: str,
    runs: list[dict[str, float]],
    paper: dict[str, float],
    x: float | str = "",
) -> Iterator[Figure]:
    """Average several runs of one row, beside the paper's figures.

    Examples
    --------
    >>> [figure] = averaged("8", "OMA", "k = 5", [{"IL": 1.0}, {"IL": 3.0}], {"IL": 2.5}, 5)
    >>> figure.row, figure.measured, figure.difference
    ('OMA, k = 5', 2.0, -0.5)
    """
    for quantity in runs[0]:
        values = [run[quantity] for run in runs]
        spread = stdev(values) if len(set(values)) > 1 else None
        number = None if isinstance(x, str) else float(x)
        yield Figure(
            table, series, setting, quantity, paper.get(quantity), fmean(values), spread, number
        )
