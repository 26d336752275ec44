"""A reproduction as text, tables and charts for the terminal, Markdown and HTML."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.reproduce.drawing import draw
from discreet.reproduce.results import VERDICTS, Chart, Figure, Figures, Reproduction

NOT_GIVEN = "not given"
COLUMNS = ("paper", "measured", "difference")
NONE_GIVEN = f"measured (paper: {NOT_GIVEN})"


class Heading(NamedTuple):
    """A heading of level 1, 2, ..."""

    level: int
    text: str


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Items(NamedTuple):
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table: for each quantity the columns below it, and the cells of each row.

    The columns are the paper's figure, ours and the difference, or only ours if the paper gives
    none.
    """

    title: str
    columns: dict[str, tuple[str, ...]]
    rows: dict[str, dict[str, tuple[str, ...]]]

    def texts(self, row: str, quantities: Iterable[str]) -> list[str]:
        """Return the cells of a row, empty if it has no such figure."""
        cells = self.rows[row]
        return [t for q in quantities for t in cells.get(q, ("",) * len(self.columns[q]))]


class Picture(NamedTuple):
    """A chart, drawn when it is needed."""

    name: str
    chart: Chart
    figures: Figures


Block = Heading | Text | Items | Grid | Picture


def blocks(results: Iterable[Reproduction], summary_first: bool = False) -> Iterator[Block]:
    """Lay out a reproduction: tables and plots, and what agrees, what does not, and why.

    A terminal ends with what was found; a page, which is read from the top, starts with it.
    """
    for result in results:
        yield Heading(2, f"{result.name}: \u201c{result.paper}\u201d")
        parts = [_tables(result), _found(result)]
        for part in reversed(parts) if summary_first else parts:
            yield from part


def _tables(result: Reproduction) -> Iterator[Block]:
    for number, title, figures in result.tables():
        yield grid(_called(number, title), figures)
        for i, chart in enumerate(result.charts):
            if chart.table == number:
                name = f"{result.name}-{number}-{i + 1}".lower().replace(" ", "-")
                yield Picture(name, chart, figures)


def _found(result: Reproduction) -> Iterator[Block]:
    if result.missing:
        yield Heading(3, "Data not found")
        yield Items(
            tuple(
                f"{_called(number, result.titles[number])}: skipped, data not found. {why}"
                for number, why in result.missing.items()
            )
        )
    for verdict, text in VERDICTS.items():
        told = tuple(f.text for f in result.findings if f.verdict == verdict)
        if told:
            yield Heading(3, text)
            yield Items(told)


def grid(title: str, figures: Figures) -> Grid:
    """Lay out a table's figures."""
    given = {figure.quantity for figure in figures.given()}
    rows: dict[str, dict[str, tuple[str, ...]]] = {}
    for figure in figures:
        cells = _cells(figure)
        shown = cells if figure.quantity in given else cells[1:2]
        rows.setdefault(figure.row, {})[figure.quantity] = shown
    columns: dict[str, tuple[str, ...]] = {
        f.quantity: COLUMNS if f.quantity in given else (NONE_GIVEN,) for f in figures
    }
    return Grid(title, columns, rows)


def _called(number: str, title: str) -> str:
    if number[0] in "0123456789I":
        return f"{'Section' if '.' in number else 'Table'} {number}. {title}"
    return f"{number}. {title}" if number.startswith(("Figure", "Precept")) else title


def _cells(figure: Figure) -> tuple[str, str, str]:
    ours = _number(figure.measured)
    if figure.spread is not None:
        ours += f" \u00b1 {_number(figure.spread)}"
    if figure.paper is None or figure.difference is None:
        return NOT_GIVEN, ours, ""
    return _number(figure.paper), ours, _signed(figure.difference)


def _number(value: float) -> str:
    """Write a number with the digits that matter.

    Examples
    --------
    >>> [_number(v) for v in (0.0471, 42.137, 30162.0, -0.000001)]
    ['0.047', '42.14', '30162', '0.000']
    """
    size = abs(value)
    digits = 3 if size < 1 else 2 if size < 100 else 1 if size < 10_000 else 0
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _signed(value: float) -> str:
    text = _number(value)
    return text if text.startswith("-") or float(text) == 0 else f"+{text}"


def print_blocks(out: Console, content: Iterable[Block]) -> None:
    """Print to a terminal; a table wider than the terminal is split."""
    for block in content:
        if isinstance(block, Heading):
            out.print(f"\n[bold]{escape(block.text)}[/bold]")
        elif isinstance(block, Text):
            out.print(escape(block.text))
        elif isinstance(block, Items):
            for item in block.items:
                out.print(f"- {escape(item)}")
        elif isinstance(block, Grid):
            _print_grid(out, block)


def _print_grid(out: Console, block: Grid) -> None:
    label = max(len(row) for row in block.rows) + 3
    widths = {}
    for quantity, names in block.columns.items():
        cells = [names, *(row[quantity] for row in block.rows.values() if quantity in row)]
        widths[quantity] = sum(max(map(len, column)) + 3 for column in zip(*cells, strict=True))
    chunk: list[str] = []
    for quantity in block.columns:
        if chunk and label + sum(widths[q] for q in (*chunk, quantity)) > out.width:
            _print_columns(out, block, chunk)
            chunk = []
        chunk.append(quantity)
    _print_columns(out, block, chunk)


def _print_columns(out: Console, block: Grid, quantities: list[str]) -> None:
    table = Table("", title=escape(f"{block.title}: {', '.join(quantities)}"))
    for quantity in quantities:
        for i, name in enumerate(block.columns[quantity]):
            above = quantity if i == 0 and len(quantities) > 1 else ""
            table.add_column(escape(f"{above}\n{name}"), justify="right")
    for row, cells in block.rows.items():
        if any(q in cells for q in quantities):
            table.add_row(escape(row), *block.texts(row, quantities))
    out.print(table)


def markdown(content: Iterable[Block], folder: Path, link: str) -> str:
    """Write as Markdown; charts go to a folder, which the page links to by name."""
    parts = []
    for block in content:
        if isinstance(block, Heading):
            parts.append(f"{'#' * block.level} {block.text}")
        elif isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, Items):
            parts.append("\n".join(f"- {item}" for item in block.items))
        elif isinstance(block, Grid):
            parts.append(_markdown_grid(block))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{block.name}.svg").write_bytes(draw(*block))
            parts.append(f"![{block.chart.title}]({link}/{block.name}.svg)")
    return "\n\n".join(parts) + "\n"


def _markdown_grid(block: Grid) -> str:
    head = [""]
    for quantity, (first, *others) in block.columns.items():
        head += [f"{quantity}: {first}", *others]
    lines = [f"### {block.title}", "", f"| {' | '.join(head)} |"]
    lines.append("|---|" + "--:|" * (len(head) - 1))
    for row in block.rows:
        lines.append(f"| {row} | {' | '.join(block.texts(row, block.columns))} |")
    return "\n".join(lines)


_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:76em;padding:0 1em}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin:.5em 0 1.5em}
th,td{padding:.15em .6em;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
tr:nth-child(even) td{background:#f4f4f4}th{border-bottom:1px solid #888}img{max-width:100%}"""


def page(title: str, content: Iterable[Block]) -> str:
    """Write as one HTML file that needs nothing else."""
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>',
        f"<style>{_STYLE}</style>",
    ]
    for block in content:
        if isinstance(block, Heading):
            parts.append(f"<h{block.level}>{html.escape(block.text)}</h{block.level}>")
        elif isinstance(block, Text):
            parts.append(f"<p>{html.escape(block.text)}</p>")
        elif isinstance(block, Items):
            items = "".join(f"<li>{html.escape(item)}</li>" for item in block.items)
            parts.append(f"<ul>{items}</ul>")
        elif isinstance(block, Grid):
            parts.append(_html_grid(block))
        else:
            image = base64.b64encode(draw(*block)).decode()
            text = html.escape(block.chart.title)
            parts.append(f'<p><img alt="{text}" src="data:image/svg+xml;base64,{image}"></p>')
    return "\n".join(parts) + "\n"


def _html_grid(block: Grid) -> str:
    head, under = "", ""
    for quantity, names in block.columns.items():
        head += f'<th colspan="{len(names)}">{html.escape(quantity)}</th>'
        under += "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = ""
    for row in block.rows:
        cells = [row, *block.texts(row, block.columns)]
        body += "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in cells) + "</tr>"
    return (
        f'<h3>{html.escape(block.title)}</h3><div class="wide"><table><tr><th></th>{head}</tr>'
        f"<tr><th></th>{under}</tr>{body}</table></div>"
    )
