"""What local suppression blanked: how many cells of which columns, and which values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreet.report.page import Table, counted, figure, share, shortened

Plan = Mapping[str, Any]
READINGS = {
    "value": "a blank is one more value: every combination of released values, blanks included, is "
    "shared by k. What holds so holds under each reading",
    "own": "a blank hides what its record was: k of the original records agree with the values "
    "that a record shows. Some people may be found for certain",
    "match": "a blank matches any value: k released records agree with each record wherever "
    "neither has a blank. Records are protected by records that cannot be the person's, so that "
    "people may be found for certain",
}
# Values of a column that are listed as blanked most.
_MOST_VALUES = 5


def blank_facts(done: Plan, counts: str) -> Iterator[tuple[str, str]]:
    """Say how many cells a step blanked, what that cost, and who is found all the same."""
    records, touched = done["records"], done["records_touched"]
    some = f"{touched:,} of {counted(records, 'record')} ({share(touched / max(1, records))})"
    yield "blanked", f"{counted(done['cells'], 'cell')} in {some}"
    if done["suppressed"]:
        yield "left out", counted(done["suppressed"], "record")
    yield "cost", said_of_cost(done)
    yield "found for certain", said_of_found(done, counts)


def said_of_cost(done: Plan) -> str:
    """Say what the blanks cost, and how much of it could be saved at best."""
    if not done["cost"]:
        return "nothing"
    paid = f"{figure(done['cost'])} (a cell costs the importance of its column)"
    if done["gap"] is None:
        return f"{paid}; no useful lower bound is known"
    if done["gap"] <= 0:
        return f"{paid}, proven to be the least"
    least = f"no solution can cost less than {figure(done['bound'])}"
    return f"{paid}; {least}, so at most {share(done['gap'])} could be saved"


def said_of_found(done: Plan, counts: str) -> str:
    """Say how many people only one released record can be."""
    found = done["found_for_certain"]
    if not found:
        return "nobody: several records are compatible with anyone's values"
    own = "one record is" if counts == "records" else f"records of one {counts[:-1]} are"
    who = counted(found, counts.removesuffix("s"))
    return f"{who}, with whose values before this step only {own} compatible"


def blank_tables(plan: Plan, done: Plan) -> Iterator[tuple[str, Table]]:
    """Tabulate the blanks by column, and the values that were blanked most."""
    n = max(1, done["records"])
    rows = [(c, f"{cells:,}", share(cells / n)) for c, cells in done["blanked"].items()]
    yield "Blanks by column", Table(("column", "cells blanked", "share"), rows, 2)
    values = [
        (column, shortened(value), f"{cells:,}", share(part))
        for column, value, cells, part in _most_blanked(plan)
    ]
    if values:
        head = ("column", "value", "cells blanked", "of the column's blanks")
        reading = (
            "The original values behind the blanks, those blanked most in each column. They are "
            "what the blanks hide: do not copy this table into anything shared."
        )
        yield "Values blanked most", Table(head, values, 2, reading)


def _most_blanked(plan: Plan) -> Iterator[tuple[str, str, int, float]]:
    """Return columns with the values that were blanked most, the cells and their share."""
    parts = (plan["whole"], plan["some"])
    tuples, masks, records = (
        np.concatenate([np.asarray(part[key], np.int64) for part in parts])
        for key in ("tuples", "blanked", "records")
    )
    for bit, (column, own) in enumerate(plan["tuples"].items()):
        # Of records that are left out, all bits are set.
        there = (masks > 0) & (masks >> bit & 1 == 1)
        codes = np.asarray(own["codes"], np.int64)[tuples[there]]
        cells = np.bincount(codes, records[there], len(own["values"])).astype(np.int64)
        for place in np.argsort(-cells, kind="stable")[:_MOST_VALUES]:
            if cells[place]:
                value = own["values"][place]
                yield column, value, int(cells[place]), float(cells[place] / cells.sum())
