"""Samples of records, where they are not all in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.assessment.passes import share_below
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.engines.frame import in_rows


def beside(
    before: Frame, after: Frame, columns: Sequence[str], most: int
) -> tuple[pa.Table, pa.Table]:
    """Return the original's rows and the released ones in its order, null where there are none.

    All rows where they are in memory, and otherwise a sample of about so many: the same of an
    original for all its releases.
    """
    names = after.schema.names
    # One at least, so that there are rows.
    shared = [name for name in columns if name in names] or names[:1]
    draws = None if before.whole else Draws(0, "sample")
    function = partial(_beside, draws, share_below(most, before.num_rows))
    return before.fold_pairs(after, function, _stacked, columns, shared)


def _beside(
    draws: Draws | None,
    below: int,
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> tuple[pa.Table, pa.Table]:
    laid = pa.table(in_rows(after, there), names=after.column_names)
    if draws is None:
        return before, laid
    chosen = pa.array(draws.words(rows) <= np.uint64(below))
    return before.filter(chosen), laid.filter(chosen)


def _stacked(
    one: tuple[pa.Table, pa.Table], other: tuple[pa.Table, pa.Table]
) -> tuple[pa.Table, pa.Table]:
    before, after = (pa.concat_tables(sides) for sides in zip(one, other, strict=True))
    return before, after
