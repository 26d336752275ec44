"""Assess a release that does not fit in memory: the same measures, by counts and sums of pieces."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from discreet.assessment.assessment import (
    Assessment,
    check_columns,
    known_measures,
    perturbed_by,
    say_lengths,
    take_measures,
)
from discreet.assessment.facts import Frames
from discreet.assessment.figures import figures_of_sample
from discreet.check.evidence import Evidence
from discreet.check.frames import same_input
from discreet.engines import Frame
from discreet.engines.duckdb import Session
from discreet.engines.released import released_frame
from discreet.engines.sources import duckdb_frame
from discreet.errors import BadInput
from discreet.recipe.reading import needed_columns
from discreet.recipe.recipe import Recipe


def assess_frames(
    before: Frame,
    after: Frame,
    recipe: Recipe,
    *,
    suppressed: int = 0,
    measures: Sequence[str] | None = None,
) -> Assessment:
    """Measure risk and utility of a protected table against its original, where their rows are.

    Parameters
    ----------
    before, after : Frame
        The rows of the second have their numbers in the first. It may lack rows, those that were
        left out, and columns.
    recipe : Recipe
        What was done.
    suppressed : int
        Records that were suppressed, whether they are there after or not.
    measures : sequence of str, optional
        The measures to take, by name, and no others.

    Returns
    -------
    Assessment
        As `discreet.assess` gives it. Classes, moments, losses and interval disclosure are of all
        records, in two passes over the rows and a count each of the quasi columns and of the
        columns that changed. Records are linked within a sample of 5,000, drawn by `order_seed`:
        its entries have `sample`, `of` and Wilson's 95 % `interval` of the share after.
        Distributions for pictures are of a sample of 100,000. What needs all rows at once is left
        out.
    """
    measures = known_measures(measures)
    check_columns(before.schema.names, after.schema.names, recipe.roles)
    facts = Frames(before, after, recipe.roles, perturbed_by(recipe), recipe, suppressed)
    return take_measures(facts, measures, _figures)


def assess_files(
    original: Path,
    table: Path,
    recipe: Recipe,
    evidence: Evidence | None,
    *,
    memory: str | None = None,
    dialect: Mapping[str, str | None] | None = None,
    measures: Sequence[str] | None = None,
) -> Assessment:
    """Measure a released file against the original one, on DuckDB.

    Parameters
    ----------
    original, table : Path
        CSV or Parquet files, or folders of Parquet files.
    recipe : Recipe
    evidence : Evidence or None
        What the internal folder holds; without, rows are taken to be in the original's order.
    memory : str, optional
        DuckDB's limit, such as "4GB".
    dialect : mapping, optional
        How the original is written, if it is a CSV.
    measures : sequence of str, optional
    """
    with (
        tempfile.TemporaryDirectory(prefix="discreet-") as work,
        Session(Path(work), memory) as session,
    ):
        # A hash of the content is of all columns in their types.
        by_content = evidence is not None and evidence.log["input"].get("hmac") is not None
        needed = list if by_content else partial(needed_columns, recipe)
        before = duckdb_frame(
            session, original, needed, recipe.null_markers, recipe.numeric, dialect
        )
        if evidence is None:
            after = duckdb_frame(session, table, list, (), recipe.numeric)
            if after.num_rows != before.num_rows:
                raise BadInput(say_lengths(before.num_rows, after.num_rows))
            return assess_frames(before, after, recipe, measures=measures)
        if same_input(evidence, before, original).status == "broken":
            raise BadInput(f"{original} is not the table that {table} was made from")
        assert evidence.schema is not None
        assert evidence.row_map is not None
        after = released_frame(session, table, evidence.row_map, evidence.schema)
        if evidence.mapped != after.num_rows:
            raise BadInput(f"{evidence.row_map} does not have the rows of {table}")
        suppressed = evidence.suppressed["records"]
        if recipe.order_seed is None:
            # The same sample as when it was made.
            recipe = recipe.model_copy(update={"order_seed": evidence.recipe.order_seed})
        return assess_frames(before, after, recipe, suppressed=suppressed, measures=measures)


def _figures(t: Frames) -> dict[str, Any]:
    return figures_of_sample(t, t.drawn, t.correlations(), t.seen.patterns)
