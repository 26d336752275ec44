"""The plan of a generalization: what was decided, and how it applies to rows.

Codes of labels are positions in `labels[column][level]`; -1 stands for a null that stays one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.generalization._distinct import distinct
from discreet.generalization._groups import ALL, WITHOUT, Group
from discreet.generalization._recode import Round
from discreet.generalization._tuples import Tuples
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.ladder import TOP, Ladder
from discreet.generalization.search import Certificate
from discreet.plan import JointPlan


def describe_column(column: pa.ChunkedArray, name: str, ladder: Ladder) -> dict[str, Any]:
    """Tell the values of a column, the leaf of each, and what a leaf becomes at every level."""
    found = distinct(column, name)
    return {
        "values": found.values.cast(pa.string()).to_numpy(zero_copy_only=False),
        "leaf": ladder.places(found, name),
        "labels": [np.array(level, dtype=object) for level in ladder.labels],
        "maps": [*ladder.maps],
    }


def describe_group(
    group: Group,
    names: Sequence[str],
    ladders: Sequence[Ladder],
    rounds: Sequence[Round],
    tuples: Tuples,
    left: np.ndarray,
    unsafe: bool,
) -> dict[str, Any]:
    """Tell what was done with a group; `left` are the tuples that are suppressed."""
    patterns = group.patterns
    return {
        "group": group.name,
        "patterns": None if patterns is None else [[names[c] for c in p] for p in patterns],
        "treatment": group.treatment,
        "rows": tuples.n,
        "suppressed": int(tuples.table.counts[left].sum()),
        "left_out": unsafe,
        "rounds": [_describe_round(one, names, ladders, tuples) for one in rounds],
    }


def _describe_round(
    one: Round, names: Sequence[str], ladders: Sequence[Ladder], tuples: Tuples
) -> dict[str, Any]:
    classes = Tuples(tuples.lattice, one.classes)
    codes = {}
    for a, name in enumerate(names):
        labels = ladders[a].labels[one.levels[a]]
        # A null comes after all labels.
        null = len(labels) - 1 if labels[-1] is None else len(labels)
        codes[name] = np.where((found := classes.codes(a)) == null, -1, found)
    return {
        "levels": dict(zip(names, one.levels, strict=True)),
        "rows": one.rows,
        "classes": codes,
        "sizes": one.classes.counts,
        "certificate": _proof(one.certificate),
    }


def _proof(certificate: Certificate) -> dict[str, Any]:
    """Tell what a search proved, and what was drawn if it was."""
    said = asdict(certificate) | {"gap": certificate.gap}
    return {name: figure for name, figure in said.items() if figure is not None}


def levels_of(plan: JointPlan) -> list[dict[str, Any]]:
    """Return group, round, levels and rows of every search, as `Generalize.levels_` shows them."""
    return [
        {"group": group["group"], "round": number, "levels": one["levels"], "rows": one["rows"]}
        for group in plan["groups"]
        for number, one in enumerate(group["rounds"], start=1)
    ]


def apply(
    plan: JointPlan,
    hierarchies: Mapping[str, Hierarchy],
    columns: Mapping[str, pa.ChunkedArray],
    everything: bool,
) -> tuple[dict[str, pa.ChunkedArray], np.ndarray, np.ndarray]:
    """Label rows, new ones too, by the plan.

    A row whose class was not kept, or did not exist, is suppressed, unless everything is kept.
    Returns the columns, which rows
    are suppressed, and the group of each row; -1 where it has nulls that no group has.
    """
    names = list(columns)
    n = len(next(iter(columns.values())))
    levels = {name: _coded(plan, hierarchies[name], columns[name], name) for name in names}
    released = {name: np.full(n, TOP, dtype=object) for name in names}
    suppressed = np.full(n, True)
    of_row = _groups_of(plan, {name: columns[name].is_null().to_numpy() for name in names})
    for number, group in enumerate(plan["groups"]):
        if group["treatment"] == "append":
            rows = np.flatnonzero(of_row == number)
            suppressed[rows] = False
            for name in names:
                released[name][rows] = levels[name][0][1][rows]
        for one in group["rounds"]:
            rows = np.flatnonzero((of_row == number) & suppressed)
            at = [levels[name][one["levels"][name]] for name in names]
            codes = [one["classes"][name] for name in names]
            if not everything:
                rows = rows[_members(codes, [found[rows] for found, _ in at])]
            suppressed[rows] = False
            for name, (_, texts) in zip(names, at, strict=True):
                released[name][rows] = texts[rows]
    tables = {name: pa.chunked_array([pa.array(x, pa.string())]) for name, x in released.items()}
    return tables, suppressed, of_row


def _coded(
    plan: JointPlan, hierarchy: Hierarchy, column: pa.ChunkedArray, name: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the codes and the labels of a column's rows, level by level; -2 is no known label."""
    coded = []
    known = plan["hierarchies"][name]["labels"]
    for level, texts in enumerate(hierarchy.labels(column, name)):
        top = level == len(known) - 1
        labels = pa.array([TOP] * len(texts)) if top else texts
        held = pa.array(known[level], pa.string())
        codes = pc.fill_null(pc.index_in(labels, value_set=held), -2).to_numpy().copy()
        codes[labels.is_null().to_numpy(zero_copy_only=False)] = -1
        coded.append((codes, labels.to_numpy(zero_copy_only=False)))
    return coded


def _groups_of(plan: JointPlan, nulls: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the number of each row's group; -1 where its pattern of nulls is new."""
    names = list(nulls)
    deficient = np.any([nulls[name] for name in names], axis=0)
    of_row = np.full(len(deficient), -1)
    for number, group in enumerate(plan["groups"]):
        if group["group"] == ALL:
            of_row[:] = number
        elif group["group"] == WITHOUT:
            of_row[~deficient] = number
        elif group["patterns"] is None:
            of_row[deficient] = number
        else:
            for pattern in group["patterns"]:
                same = [nulls[name] == (name in pattern) for name in names]
                of_row[np.all(same, axis=0)] = number
    return of_row


def _members(classes: Sequence[np.ndarray], rows: Sequence[np.ndarray]) -> np.ndarray:
    """Tell which rows have the codes of some class."""
    held = len(classes[0])
    one = np.zeros(held + len(rows[0]), np.int64)
    for known, found in zip(classes, rows, strict=True):
        both = np.concatenate([known, found]) + 2
        _, one = np.unique(one * (both.max(initial=0) + 1) + both, return_inverse=True)
    return np.isin(one[held:], one[:held])
