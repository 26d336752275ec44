"""What became of columns that were treated together: a method chose that, so a run has to tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.report.words import level_words
from discreet.tuning.space import listed

UNCHANGED, NOTHING, EMPTY = "unchanged", "all * (nothing left)", "all blank (nothing left)"
# The label of every value where a hierarchy ends.
_ROOT = "*"


def outcome(
    step: Mapping[str, Any], columns: Sequence[str], before: pa.Table, after: pa.Table
) -> dict[str, str]:
    """Say what a step on several columns left of each, by one of its runs.

    Only of steps that choose it themselves: recoding to levels or ranges, and blanks. Columns that
    are not in both tables are not told of.

    Examples
    --------
    >>> before = pa.table({"age": [31, 34, 58, 59], "sex": ["f", "m", "f", "m"], "job": ["x"] * 4})
    >>> after = pa.table({"age": ["30-39", "30-39", "50-59", "50-59"], "sex": ["*"] * 4,
    ...                   "job": ["x"] * 4})
    >>> outcome({"method": "generalize"}, ["age", "sex", "job"], before, after)
    {'age': 'in 10-year groups', 'sex': 'all * (nothing left)', 'job': 'unchanged'}
    """
    tell = {"generalize": _recoded, "mondrian": _recoded, "local-suppression": _blanked}
    if step["method"] not in tell:
        return {}
    both = [name for name in columns if name in before.column_names and name in after.column_names]
    return {name: tell[step["method"]](step, before[name], after[name], name) for name in both}


def outcome_words(found: Mapping[str, str]) -> str:
    """Join what became of columns, those of the same outcome together, what is left of most first.

    Examples
    --------
    >>> outcome_words({"age": NOTHING, "sex": UNCHANGED, "job": NOTHING})
    'sex unchanged, age and job all * (nothing left)'
    """
    said: dict[str, list[str]] = {}
    for name, how in sorted(found.items(), key=lambda one: one[1] in (NOTHING, EMPTY)):
        said.setdefault(how, []).append(name)
    return ", ".join(f"{listed(names)} {how}" for how, names in said.items())


def _recoded(
    step: Mapping[str, Any], before: pa.ChunkedArray, after: pa.ChunkedArray, name: str
) -> str:
    cells = pc.fill_null(pc.cast(after, pa.string()), _ROOT)
    if pc.all(pc.equal(cells, _ROOT)).as_py():
        return NOTHING
    if _unchanged(before, after):
        return UNCHANGED
    labels = [label for label in pc.unique(cells).to_pylist() if label != _ROOT]
    regular = step["method"] == "generalize" and not step.get("local")
    starred = pc.mean(pc.equal(cells, _ROOT)).as_py() - before.null_count / max(1, len(before))
    if set(labels) <= set(pc.unique(pc.cast(before, pa.string())).to_pylist()):
        return f"{_share(starred)} *"
    words = level_words({"kind": "table"}, 1, labels if regular else [], name)
    if not regular:
        # They may overlap, and be more than the values were.
        words = f"with {len(labels)} labels"
    elif "broader" in words:
        words = f"in {len(labels)} groups"
    return words + (f" ({_share(starred)} *)" if starred > 0 else "")


def _blanked(
    step: Mapping[str, Any], before: pa.ChunkedArray, after: pa.ChunkedArray, name: str
) -> str:
    if after.null_count == len(after):
        return EMPTY
    share = (after.null_count - before.null_count) / max(1, len(before))
    return f"{_share(share)} blank" if share > 0 else "no blanks"


def _unchanged(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    if before.null_count != after.null_count:
        return False
    same = pc.equal(pc.cast(before, pa.string()), pc.cast(after, pa.string()))
    return bool(pc.all(pc.fill_null(same, True)).as_py())


def _share(share: float) -> str:
    return f"{float(f'{100 * share:.2g}'):g} %"
