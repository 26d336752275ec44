"""Suppressed records that must go before the other steps can keep their promises.

What a step promises is over the records that remain. Most promises outlive suppressed records:
these stay as a class of their own, and rare values that they leave behind are blanked. Where one
does not, the records are left out as a whole, and all steps are decided anew on the others, until
none is suppressed any more.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.engines import Frame
from discreet.engines.frame import remaining
from discreet.errors import BadInput
from discreet.flow.applying import SUPPRESSED
from discreet.flow.deciding import Decided, Tell, decide_on
from discreet.flow.finishing import Finish
from discreet.method import JUDGED
from discreet.table.classes import encode


def to_leave_out(decided: Decided, treated: Frame, finished: Finish) -> np.ndarray | None:
    """Return the numbers of the rows that all steps must do without; None where they need not."""
    told = decided.plan.get("suppressed")
    if told is None or told["records"] == len(decided.gone):
        _warn(decided)
        return None
    why = decided.why or _why(decided, told["records"] > told["left_out"], finished)
    if why is None:
        return None
    decided.why = why
    gone = np.sort(treated.fold(_suppressed, np.append, [SUPPRESSED]))
    return _with_households(decided, gone)


def decide_without(decided: Decided, gone: np.ndarray, tell: Tell) -> Decided:
    """Decide on all steps anew, on the records that remain without some that are suppressed."""
    begun = decided.begun
    assert begun is not None
    try:
        if len(gone) == begun.frame.num_rows:
            raise BadInput("all records would be suppressed; weaken what the steps must keep")
        frame = begun.frame.flat_map(partial(remaining, gone), begun.frame.schema)
        again = decide_on(frame, begun, decided.recipe, gone, tell)
    except BadInput as error:
        raise BadInput(
            f"{error}; before that, {len(gone):,} suppressed records were left out, since "
            f"{decided.why}: put the columns into one step, or set suppression_limit = 0 or "
            "promise = false in one of them"
        ) from None
    again.why = decided.why
    return again


def _suppressed(piece: pa.Table, rows: np.ndarray) -> np.ndarray:
    return rows[piece[SUPPRESSED].to_numpy()]


def _why(decided: Decided, some_stay: bool, finished: Finish) -> str | None:
    """Say whose promise does not outlive the suppressed records, if one does not."""
    recipe = decided.recipe
    if recipe.household_suppression == "whole" and recipe.roles.household is not None:
        return "their households go with them"
    hidden = set(decided.blanked()) if some_stay else set()
    emptied = hidden | {name for tuples in finished.rare for name in tuples.column_names}
    suppressing = decided.suppressing
    for number, step in enumerate(recipe.steps, start=1):
        method, where = step.build(), f"step {number} ({step.method})"
        promise = method.promise if step.promise else None
        if promise in JUDGED and suppressing - {number}:
            return (
                f"the {'groups' if promise == 'anatomy' else 'classes'} of {where} would lack them"
            )
        if promise in JUDGED and emptied & set(method.judges):
            return (
                f"{where} looks at '{min(emptied & set(method.judges))}', which would lack values"
            )
        if promise == "k-per-combination":
            return f"the sets of {where} would lack them"
        if promise == "k-per-tuple" and _some(step.columns, hidden):
            return f"{where} treats columns together that they show and that they hide"
    return None


def _some(columns: Collection[str], hidden: Collection[str]) -> bool:
    """Tell whether some columns are hidden, and others are not."""
    return len({name in hidden for name in columns}) > 1


def _with_households(decided: Decided, gone: np.ndarray) -> np.ndarray:
    """Add the other rows of the households that some rows belong to, if they go as a whole."""
    recipe, begun = decided.recipe, decided.begun
    household = recipe.roles.household
    if household is None or recipe.household_suppression != "whole" or begun is None:
        return gone
    # Only in memory, where a row's number is its place.
    codes = encode(begun.frame.native()[household], household)[0]
    of_them = np.isin(codes, codes[gone]) & (codes >= 0)
    return np.union1d(gone, np.flatnonzero(of_them))


def _warn(decided: Decided) -> None:
    """Tell that records are left out; the check says if they are many."""
    gone, log = len(decided.gone), decided.log
    if not gone or decided.begun is None:
        return
    everyone = decided.begun.frame.num_rows
    log["warnings"].append(
        f"{gone:,} suppressed record{'s are' if gone > 1 else ' is'} left out, and the steps are "
        f"decided on the other {everyone - gone:,}, since {decided.why}"
    )
