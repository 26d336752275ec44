"""Privacy models verified on a released table: counting, in plain numpy, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.release.cells import plain
from discreet.release.findings import NEEDS_INTERNAL, Finding, Shown, finding
from discreet.release.recipe import Step
from discreet.risk.frequency import frequencies
from discreet.table.classes import classes_of, encode_columns

# A figure that misses its bound by no more is taken to meet it.
ROUNDING = 1e-9
_CELLS_AT_ONCE = 4_000_000


def privacy_models(shown: Shown, step: Step, plan: Mapping[str, Any] | None) -> list[Finding]:
    """Verify each privacy model of a step on the classes of its columns."""
    shown = shown.without((plan or {}).get("disclosed", ()))
    return _models(shown.table, step, plan, None, "")


def wildcard_k(shown: Shown, step: Step, plan: Mapping[str, Any] | None) -> list[Finding]:
    """Verify k where a null equals anything, and count the records that this leaves exposed."""
    columns = [name for name in step.columns if name in shown.table.column_names]
    k = max(model.k for model in step.parameters()["privacy"])
    matching = frequencies(shown.table, columns, nulls="match").sample
    strict = frequencies(shown.table, columns).sample
    exposed = int((strict < k).sum())
    said = f"wildcard k-anonymity only (k = {k}, a null equals anything) over {', '.join(columns)}"
    worst = f"a record matches {matching.min(initial=k):,} records"
    good = (
        f"{worst} or more; but {exposed:,} records share their own values, nulls included, with "
        f"fewer than {k}, and stand out to whoever knows what is missing"
    )
    return [finding(said, worst if matching.min(initial=k) < k else None, good)]


def models_within_groups(
    shown: Shown, step: Step, plan: Mapping[str, Any], original: pa.Table
) -> list[Finding]:
    """Verify the models among the records with, and among those without nulls in the original.

    What is true of a class as a whole need not be so for someone who knows which values are
    missing; where the two kinds were treated apart, it must be.
    """
    shown = shown.without(plan.get("disclosed", ()))
    nulls = {name: original[name].is_null().to_numpy()[shown.rows] for name in step.columns}
    groups = np.any([*nulls.values()], axis=0).astype(np.int64)
    for number, group in enumerate(plan["joint"]["groups"], start=2):
        # Groups by the set of columns that are null.
        for pattern in group.get("patterns") or ():
            same = [nulls[name] == (name in pattern) for name in step.columns]
            groups[np.all(same, axis=0)] = number
    return _models(shown.table, step, plan, groups, ", within each group by nulls")


def _models(
    table: pa.Table,
    step: Step,
    plan: Mapping[str, Any] | None,
    groups: np.ndarray | None,
    where: str,
) -> list[Finding]:
    columns = [name for name in step.columns if name in table.column_names]
    codes, bounds = encode_columns(table, columns)
    if groups is not None:
        codes = np.vstack([codes, groups])
        bounds = np.append(bounds, groups.max(initial=0) + 1)
    classes, n_classes = classes_of(codes, bounds)
    known = (plan or {}).get("joint", {}).get("confidential", {})
    findings = []
    for model in step.parameters()["privacy"]:
        said = f"{_say(model)} over {', '.join(columns)}{where}"
        if not hasattr(model, "column"):
            findings.append(_sizes(said, model.k, classes, n_classes))
            continue
        if model.column not in table.column_names:
            findings.append(Finding(said, "broken", f"column '{model.column}' is missing"))
            continue
        spread = known.get(model.column)
        if spread is None and model.model in ("t-closeness", "beta-likeness"):
            findings.append(Finding(said, "not verifiable", NEEDS_INTERNAL))
            continue
        counts = _count(table[model.column], classes, n_classes, spread)
        findings.append(_judge(said, model, counts))
    return findings


def _say(model: Any) -> str:
    given = {key: value for key, value in vars(model).items() if key not in ("model", "hierarchy")}
    return f"{model.model} ({', '.join(f'{k} = {v}' for k, v in given.items() if v is not None)})"


def _sizes(said: str, k: int, classes: np.ndarray, n_classes: int) -> Finding:
    sizes = np.bincount(classes, minlength=n_classes)
    smallest = sizes.min(initial=len(classes))
    rare = f"{int((sizes < k).sum()):,} classes are smaller, the smallest has {smallest:,} records"
    good = f"{n_classes:,} classes, the smallest of {smallest:,} records"
    return finding(said, rare if len(sizes) and smallest < k else None, good)


@dataclass(frozen=True)
class _Counts:
    """How often each class holds each value: one entry per pair that occurs."""

    group: np.ndarray
    value: np.ndarray
    count: np.ndarray
    sizes: np.ndarray  # records by class, nulls counted
    valued: np.ndarray  # records by class that have a value
    q: np.ndarray  # share of each value over all records of the input
    levels: list[np.ndarray]  # by level of a hierarchy, the label of each value
    foreign: str | None  # a value that the input does not hold

    @property
    def p(self) -> np.ndarray:
        return self.count / self.valued[self.group]


def _count(
    column: pa.ChunkedArray, classes: np.ndarray, n_classes: int, spread: Mapping[str, Any] | None
) -> _Counts:
    encoded = plain(column).combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    found = encoded.dictionary.cast(pa.string()).to_pylist()
    q, foreign, levels = np.zeros(len(found)), None, []
    if spread is not None:
        # The plan's order of values is that of the input: numbers and ordered labels ascend.
        place = {value: i for i, value in enumerate(spread["values"])}
        q = np.asarray(spread["counts"]) / np.sum(spread["counts"])
        levels = [np.asarray(labels) for labels in spread.get("levels", [])]
        foreign = next((value for value in found if value not in place), None)
        moved = np.array([place.get(value, 0) for value in found] + [-1])
        codes = moved[codes]
    there = codes >= 0
    keys, count = np.unique(classes[there] * max(len(q), 1) + codes[there], return_counts=True)
    return _Counts(
        group=keys // max(len(q), 1),
        value=keys % max(len(q), 1),
        count=count,
        sizes=np.bincount(classes, minlength=n_classes),
        valued=np.bincount(classes[there], minlength=n_classes),
        q=q,
        levels=levels,
        foreign=foreign,
    )


def _judge(said: str, model: Any, counts: _Counts) -> Finding:
    if counts.foreign is not None:
        return Finding(said, "broken", f"'{counts.foreign}' is no value of the input")
    if model.model == "l-diversity":
        reached = _DIVERSITY[model.kind](model, counts)
        worst = f"the poorest class reaches {reached.min(initial=np.inf):.4g}"
        bad = reached < model.l * (1 - ROUNDING)
    elif model.model == "t-closeness":
        reached = _DISTANCE[model.distance](counts)
        worst = f"the farthest class reaches {reached.max(initial=0.0):.4g}"
        bad = reached > model.t + ROUNDING
    elif model.model == "beta-likeness":
        gain, most = _gains(counts, model)
        worst = f"the largest gain is {gain.max(initial=0.0):.4g}"
        bad = gain > most + ROUNDING
    else:
        worst = f"the largest share of a value is {counts.p.max(initial=0.0):.4g}"
        sizes = _sizes(
            said, model.k, np.repeat(np.arange(len(counts.sizes)), counts.sizes), len(counts.sizes)
        )
        if sizes.status == "broken":
            return sizes
        bad = counts.p > model.alpha + ROUNDING
    return finding(said, worst if bad.any() else None, worst)


# l of each class


def _distinct(model: Any, counts: _Counts) -> np.ndarray:
    return np.bincount(counts.group, minlength=len(counts.sizes)).astype(float)


def _entropy(model: Any, counts: _Counts) -> np.ndarray:
    terms = -counts.p * np.log(counts.p)
    entropy = np.bincount(counts.group, terms, minlength=len(counts.sizes))
    return np.where(counts.valued > 0, np.exp(entropy), 0.0)


def _recursive(model: Any, counts: _Counts) -> np.ndarray:
    """Give l where r_1 < c (r_l + ... + r_m) holds, else 0."""
    order = np.lexsort((-counts.count, counts.group))
    group, count = counts.group[order], counts.count[order]
    first = np.searchsorted(group, np.arange(len(counts.sizes)))
    rank = np.arange(len(group)) - first[group]
    tail = np.bincount(group, count * (rank >= model.l - 1), minlength=len(counts.sizes))
    largest = np.zeros(len(counts.sizes))
    largest[group[rank == 0]] = count[rank == 0]
    return np.where((largest > 0) & (largest < model.c * tail), float(model.l), 0.0)


# Distance of each class from all


def _rows_at_once(counts: _Counts) -> Any:
    """Give p by class and value, some classes at a time."""
    step = max(1, _CELLS_AT_ONCE // max(len(counts.q), 1))
    for start in range(0, len(counts.sizes), step):
        stop = min(start + step, len(counts.sizes))
        p = np.zeros((stop - start, len(counts.q)))
        low, high = np.searchsorted(counts.group, [start, stop])
        p[counts.group[low:high] - start, counts.value[low:high]] = counts.p[low:high]
        empty = counts.valued[start:stop] == 0
        yield np.where(empty[:, None], counts.q, p)


def _equal(counts: _Counts) -> np.ndarray:
    return np.concatenate([np.abs(p - counts.q).sum(axis=1) / 2 for p in _rows_at_once(counts)])


def _ordered(counts: _Counts) -> np.ndarray:
    steps = max(len(counts.q) - 1, 1)
    return np.concatenate(
        [np.abs(np.cumsum(p - counts.q, axis=1)).sum(axis=1) / steps for p in _rows_at_once(counts)]
    )


def _hierarchical(counts: _Counts) -> np.ndarray:
    """Half the sum of |p - q| at each level under the top, on the mean."""
    reached = []
    for p in _rows_at_once(counts):
        total = np.zeros(len(p))
        for labels in counts.levels[:-1]:
            above = np.zeros((len(p), int(labels.max()) + 1))
            np.add.at(above.T, labels, (p - counts.q).T)
            total += np.abs(above).sum(axis=1) / 2
        reached.append(total / max(len(counts.levels) - 1, 1))
    return np.concatenate(reached)


def _gains(counts: _Counts, model: Any) -> tuple[np.ndarray, np.ndarray]:
    q = counts.q[counts.value]
    most = np.full(len(q), float(model.beta))
    if model.enhanced:
        most = np.minimum(most, -np.log(q))
    return np.maximum((counts.p - q) / q, 0.0), most


_DIVERSITY = {"distinct": _distinct, "entropy": _entropy, "recursive": _recursive}
_DISTANCE = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
