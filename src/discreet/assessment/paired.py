"""A release and its original, row by row, from a folder or from memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence, content_hmac
from discreet.check.folders import find_release
from discreet.check.rows import suppressed_rows
from discreet.errors import BadInput
from discreet.recipe.reading import read_original
from discreet.recipe.recipe import Recipe
from discreet.table import normalise, read_table, to_arrow


@dataclass(frozen=True)
class Paired:
    """A release and its original.

    Attributes
    ----------
    original, after : pyarrow.Table
        The whole original, and the released rows.
    rows : ndarray of int
        For each released row the position of its original.
    suppressed : ndarray of int
        The original's rows that were suppressed.
    recipe : Recipe
    release : str
        Its number, as the log has it.
    """

    original: pa.Table
    after: pa.Table
    rows: np.ndarray
    suppressed: np.ndarray
    recipe: Recipe
    release: str

    @classmethod
    def of(cls, one: Any, original: Any, dialect: Mapping[str, Any], read: dict) -> Paired:
        """Find a release's original, which must be the one given; `read` keeps what was read."""
        if hasattr(one, "protected"):
            before = _read(original, one.recipe, dialect, read)
            if not before.equals(one.original):
                raise BadInput("a release was made from another table than the original given")
            there = np.delete(np.arange(len(one.protected)), one.left_out)
            after = one.protected.take(pa.array(there)) if len(one.left_out) else one.protected
            number = one.log["release"]
            return cls(before, after, there, one.suppressed, one.recipe, number)
        table, internal = find_release(one)
        if not internal.is_dir():
            raise BadInput(
                f"{internal} is not there; a comparison needs it, because it maps released rows "
                "to original ones"
            )
        evidence = Evidence.load(internal)
        if "engine" in evidence.log:
            raise BadInput(
                f"{one} was made on {evidence.log['engine']}; releases are compared in memory, so "
                "make it with --engine memory, on a part of the table if need be"
            )
        own = evidence.log["input"].get("dialect", {})
        chosen = own | {key: value for key, value in dialect.items() if value is not None}
        before = _read(original, evidence.recipe, chosen, read)
        if content_hmac(before, evidence.key) != evidence.log["input"]["hmac"]:
            shown = original if isinstance(original, str | Path) else "the original"
            raise BadInput(f"{shown} is not the table that {one} was made from")
        assert evidence.rows is not None  # What was written has a map.
        after = read_table(table, schema=evidence.schema)
        return cls(
            before,
            after,
            evidence.rows,
            suppressed_rows(evidence, before),
            evidence.recipe,
            evidence.log["release"],
        )

    def whole(self) -> pa.Table:
        """Return the release in the original's order, with nulls for the records that it lacks."""
        position = np.full(self.original.num_rows, -1)
        position[self.rows] = np.arange(len(self.rows))
        return self.after.take(pa.array(position, mask=position < 0))


def _read(original: Any, recipe: Recipe, dialect: Mapping[str, Any], read: dict) -> pa.Table:
    """Take the original as a recipe means it; once for all recipes that mean the same."""
    key = (*recipe.null_markers, None, *sorted(set(recipe.numeric)), None, *dialect.items())
    if key not in read:
        read[key] = (
            read_original(original, recipe, **dialect)
            if isinstance(original, str | Path)
            else normalise(to_arrow(original), recipe.null_markers)
        )
    return read[key]
