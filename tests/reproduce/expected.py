"""Store the figures of fast subsets of the experiments: `python -m tests.reproduce.expected`."""

import json
import sys
from functools import cache
from pathlib import Path

from discreet.reproduce import deficient, porop, rounding
from discreet.reproduce.results import Figures, Piece
from discreet.reproduce.run import _run

FILES = Path(__file__).parent / "expected"
# One draw of each: fast, and any change of a method or a measure moves some figure.
SUBSETS = {
    "exponential": Piece("", (), rounding.synthetic, ("exponential", 1)),
    "wine": Piece("", (), rounding.classification, ("wine", "8", 1)),
    "boston": Piece("", (), rounding.boston, (1,)),
    "census": Piece("", (), porop.scores, ("I", 2, "synthetic", 1)),
    "adult": Piece("", (), deficient.adult, (200, 1)),
}


@cache
def figures(name: str) -> Figures:
    """Run a subset, once."""
    found = _run(SUBSETS[name])
    if isinstance(found, Exception):
        raise found
    return Figures(found)


def measured(name: str) -> dict[str, float]:
    """Give a subset's figures by table, row and quantity."""
    return {f"{f.table} | {f.row} | {f.quantity}": f.measured for f in figures(name)}


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SUBSETS:
        text = json.dumps({k: float(f"{v:.9g}") for k, v in measured(name).items()}, indent=0)
        (FILES / f"{name}.json").write_text(text + "\n", "utf-8")
