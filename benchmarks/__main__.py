"""Run the rows, print their figures, and say how busy the machine was.

Exit code 0 whether or not goals are met, 1 if a check or a row failed, 2 if no row matches.
"""

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import benchmarks
from benchmarks.harness import REPEAT, Result, run_row
from benchmarks.rows import ROWS, Row


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rows", metavar="PATTERN", default="", help="part of family/name, or a glob"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too")
    parser.add_argument("--large", action="store_true", help="run the large rows too")
    parser.add_argument("--repeat", metavar="N", type=int, default=REPEAT, help="rounds per row")
    options = parser.parse_args(argv)
    if options.repeat < 1:
        parser.error("--repeat needs at least 1")
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"there is no folder for {options.json}")

    load_families()
    matching = select(options.rows)
    chosen = [row for row in matching if options.large or not row.large]
    if not chosen:
        print(f"no row matches {options.rows!r}{skipped(matching, chosen)}", file=sys.stderr)
        return 2

    before = os.getloadavg()
    results = []
    for number, row in enumerate(chosen, 1):
        if sys.stderr.isatty():  # no spinner: its thread would be timed too
            print(f"{number}/{len(chosen)} {row.key}", file=sys.stderr)
        results.append(run_row(row, options.repeat))
    machine = {
        "cores": os.cpu_count(),
        "load_before": before,
        "load_after": os.getloadavg(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }

    show(results, machine)
    if note := skipped(matching, chosen):
        print(note.lstrip("; "))
    if options.json:
        document = {"machine": machine, "rows": [to_dict(result) for result in results]}
        options.json.write_text(json.dumps(document, indent=2, default=float) + "\n")
    return int(any(result.error for result in results))


def load_families() -> None:
    """Import every module beside this one: a family is a file, and registers its rows itself."""
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name != "__main__":
            importlib.import_module(f"benchmarks.{module.name}")


def select(pattern: str) -> list[Row]:
    """Rows whose ``family/name`` contains the pattern, grouped by family."""
    wanted = f"*{pattern.lower()}*"
    found = [row for row in ROWS.values() if fnmatch(row.key.lower(), wanted)]
    return sorted(found, key=lambda row: row.family)


def skipped(matching: list[Row], chosen: list[Row]) -> str:
    left = len(matching) - len(chosen)
    return f"; rows left out: {left} (--large runs them)" if left else ""


def show(results: list[Result], machine: dict[str, Any]) -> None:
    """Print the table and the load; a pipe gets plain text, wide enough not to wrap figures."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 160)
    table = Table(box=box.SIMPLE if terminal else None, pad_edge=False)
    for heading in ("family", "row"):
        table.add_column(heading)
    for heading in ("ours (s)", "peer (s)", "ratio", "goal", "met", "quality"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    family = None
    for result in results:
        if result.row.family != family:
            table.add_section()
        shown = result.row.family if result.row.family != family else ""
        family = result.row.family
        # Text, because brackets in an error message are no markup.
        table.add_row(*(Text(cell) for cell in (shown, *cells(result))))
    console.print(table)
    loads = [
        " ".join(f"{load:.2f}" for load in machine[f"load_{when}"]) for when in ("before", "after")
    ]
    print(f"load (1, 5, 15 min) {loads[0]} before, {loads[1]} after, on {machine['cores']} cores")


def cells(result: Result) -> tuple[str, ...]:
    """One row of the table, from its name on."""
    quality = result.quality
    return (
        result.row.name,
        f"{min(result.ours):.3g}" if result.ours else "-",
        f"{min(result.peer):.3g}" if result.peer else "-",
        f"{result.ratio:.2f}x" if result.ratio is not None else "-",
        str(result.row.goal or "-"),
        {True: "yes", False: "no", None: "-"}[result.met],
        "-" if quality is None else quality if isinstance(quality, str) else f"{quality:.4g}",
        note(result),
    )


def note(result: Result) -> str:
    row, parts = result.row, []
    if result.error:
        parts.append(result.error.strip().partition("\n")[0])
    if row.peer:
        parts.append(" ".join(filter(None, [row.peer, result.peer_version])))
    if result.peer_missing:
        parts.append("peer not installed")
    if result.slope is not None:
        parts.append(
            f"slope {result.slope:.2f} over n = {min(row.sizes):.0e}..{max(row.sizes):.0e}"
        )
    if result.peak_mb is not None:
        parts.append(f"peak +{result.peak_mb:.0f} MB")
    return "; ".join(parts)


def to_dict(result: Result) -> dict[str, Any]:
    """All figures of one row, ready for JSON."""
    row, goal = result.row, result.row.goal
    return {
        "family": row.family,
        "name": row.name,
        "kind": "growth" if row.sizes else "compare",
        "ours": min(result.ours, default=None),
        "peer": min(result.peer, default=None),
        "ratio": result.ratio,
        "slope": result.slope,
        "goal": {"kind": goal.kind, "value": goal.value} if goal else None,
        "met": result.met,
        "quality": result.quality,
        "peak_mb": result.peak_mb,
        "peer_name": row.peer,
        "peer_version": result.peer_version,
        "peer_missing": result.peer_missing,
        "error": result.error,
        "ours_runs": result.ours,
        "peer_runs": result.peer,
        "best_by_size": {str(n): seconds for n, seconds in result.best_by_size.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
