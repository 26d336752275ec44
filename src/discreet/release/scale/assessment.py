"""Assess a release that does not fit in memory: the same measures, by counts and sums of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.engines import Frame
from discreet.release.assessment import (
    Assessment,
    check_columns,
    known_measures,
    perturbed_by,
    take_measures,
)
from discreet.release.figures import figures_of_sample
from discreet.release.recipe import Recipe
from discreet.release.scale.facts import Frames


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


def _figures(t: Frames) -> dict[str, Any]:
    return figures_of_sample(t, t.drawn, t.correlations(), t.seen.patterns)
