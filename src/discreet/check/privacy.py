"""Privacy models verified on a released table: counting, in plain numpy, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.check.findings import NEEDS_INTERNAL, Finding, Shown, finding
from discreet.recipe.recipe import Step
from discreet.risk.frequency import frequencies
from discreet.table.cells import plain
from discreet.table.classes import classes_of, encode_columns
from discreet.table.summary import Tuples

# A figure that misses its bound by no more is taken to meet it.
ROUNDING = 1e-9
_CELLS_AT_ONCE = 4_000_000


def privacy_models(shown: Shown, step: Step, plan: Mapping[str, Any] | None) -> list[Finding]:
    """Verify each privacy model of a step on the classes of its columns."""
    shown = shown.without(disclosed(step, plan)).over(judged_columns(step, shown.column_names))
    return _models(shown, step, plan, None, "")


def judged_columns(step: Step, known: Sequence[str]) -> list[str]:
    """Name the columns that a step's models look at, of those that there are."""
    models = step.parameters()["privacy"]
    names = [*step.columns, *(model.column for model in models if hasattr(model, "column"))]
    return [name for name in dict.fromkeys(names) if name in known]


def disclosed(step: Step, plan: Mapping[str, Any] | None) -> np.ndarray:
    """Return the rows that are outside the promise, where the recipe allows that there are any."""
    given = step.parameters()
    if plan is None or given["small_group"] != "append" or not given["allow_disclosure"]:
        return np.array([], dtype=np.int64)
    return np.asarray(plan.get("disclosed", ()), dtype=np.int64)


def wildcard_k(shown: Shown, step: Step, plan: Mapping[str, Any] | None) -> list[Finding]:
    """Verify k where a null equals anything, and count the records that this leaves exposed."""
    columns = [name for name in step.columns if name in shown.column_names]
    shown = shown.over(columns)
    k = max(model.k for model in step.parameters()["privacy"])
    matching, strict = _shared(shown, columns, "match"), _shared(shown, columns, "value")
    exposed = int(_records(shown)[strict < k].sum())
    said = f"wildcard k-anonymity only (k = {k}, a null equals anything) over {', '.join(columns)}"
    worst = f"a record matches {matching.min(initial=k):,} records"
    good = (
        f"{worst} or more; but {exposed:,} records share their own values, nulls included, with "
        f"fewer than {k}, and stand out to whoever knows what is missing"
    )
    return [finding(said, worst if matching.min(initial=k) < k else None, good)]


def _shared(shown: Shown, columns: list[str], nulls: Literal["value", "match"]) -> np.ndarray:
    """Count for each row of what is shown the records that share its values."""
    found = frequencies(shown.table, columns, weight=shown.counts, nulls=nulls)
    return found.sample if found.population is None else found.population.astype(np.int64)


def _records(shown: Shown) -> np.ndarray:
    return np.ones(len(shown.table), np.int64) if shown.counts is None else shown.counts


@dataclass(frozen=True)
class Nulls:
    """Which of a step's columns are null in the original: its patterns, and what is shown of each.

    Attributes
    ----------
    patterns : ndarray of bool, shape (columns, patterns)
    records, disclosed : ndarray of int64
        Records of the original that have each pattern; those of them that are disclosed.
    shown : Shown
        Without the disclosed ones.
    pattern : ndarray of int64
        Of each row that is shown.
    """

    patterns: np.ndarray
    records: np.ndarray
    disclosed: np.ndarray
    shown: Shown
    pattern: np.ndarray

    @classmethod
    def of(cls, shown: Shown, step: Step, plan: Mapping[str, Any], original: pa.Table) -> Nulls:
        """Look at an original in memory."""
        assert shown.rows is not None
        nulls = np.array(
            [original[name].is_null(nan_is_null=True).to_numpy() for name in step.columns]
        )
        codes, of_row = np.unique(pattern_codes(nulls), return_inverse=True)
        raw = disclosed(step, plan)
        shown = shown.without(raw)
        assert shown.rows is not None
        return cls(
            pattern_bits(codes, len(nulls)),
            np.bincount(of_row, minlength=len(codes)),
            np.bincount(of_row[raw], minlength=len(codes)),
            shown,
            of_row[shown.rows],
        )


def pattern_codes(nulls: np.ndarray) -> np.ndarray:
    """Return the pattern of nulls of each record as one number."""
    codes = np.zeros(nulls.shape[1], np.int64)
    for place, column in enumerate(nulls):
        codes |= column.astype(np.int64) << place
    return codes


def pattern_bits(codes: np.ndarray, columns: int) -> np.ndarray:
    """Return patterns of nulls by column again."""
    return np.array([(codes >> place) & 1 == 1 for place in range(columns)])


def models_within_groups(step: Step, plan: Mapping[str, Any], nulls: Nulls) -> list[Finding]:
    """Verify the models among the records with, and among those without nulls in the original.

    What is true of a class as a whole need not be so for someone who knows which values are
    missing; where the two kinds were treated apart, it must be.
    """
    groups, mixed = _groups(nulls, step, plan)
    findings = [] if mixed is None else [Finding("groups by nulls", "broken", mixed)]
    if len(disclosed(step, plan)):
        findings.append(_only_small(groups, nulls, step))
    where = ", within each group by nulls"
    return findings + _models(nulls.shown, step, plan, groups[nulls.pattern], where)


def _groups(nulls: Nulls, step: Step, plan: Mapping[str, Any]) -> tuple[np.ndarray, str | None]:
    """Return each pattern the number of its group, and what is wrong with groups that were joined.

    Records without nulls are 0 and all others 1. Where groups go by the set of columns that are
    null, they are as the plan joined the sets: those of k records must not be joined.
    """
    groups = np.asarray(nulls.patterns.any(axis=0), dtype=np.int64)
    if step.parameters().get("segregate") != "pattern":
        return groups, None
    k = _largest_k(step)
    for number, group in enumerate(plan["joint"]["groups"], start=2):
        large = 0
        for pattern in filter(len, group.get("patterns") or ()):
            wanted = np.isin(step.columns, list(pattern))
            same = (nulls.patterns == wanted[:, None]).all(axis=0)
            groups[same] = number
            large += nulls.records[same].sum() >= k
        if large > 1:
            return groups, f"{large} sets of columns that are null in {k} records share one group"
    return groups, None


def _largest_k(step: Step) -> int:
    return max([m.k for m in step.parameters()["privacy"] if hasattr(m, "k")], default=1)


def _only_small(groups: np.ndarray, nulls: Nulls, step: Step) -> Finding:
    said, k = "only whole groups of fewer than k records are released as they are", _largest_k(step)
    sizes = total(groups, nulls.records, groups.max(initial=-1) + 1)
    raw = total(groups, nulls.disclosed, len(sizes))
    problem = None
    for group in np.flatnonzero(raw):
        if sizes[group] >= k or raw[group] < sizes[group]:
            problem = f"some of a group of {sizes[group]:,} records are"
    return finding(said, problem, f"{raw.sum():,} records")


def total(ids: np.ndarray, counts: np.ndarray | None, n: int) -> np.ndarray:
    """Add up the records of each id, one each where there are no counts."""
    return np.bincount(ids, counts, minlength=n).astype(np.int64)


def same_spread(plan: Mapping[str, Any], spreads: Mapping[str, Tuples]) -> list[Finding]:
    """Compare the distributions that the models were judged by with those of the columns.

    Parameters
    ----------
    plan : mapping
        Of a step.
    spreads : mapping of str to Tuples
        Values of the columns as text, over all records, as they were before any was suppressed.
    """
    findings = []
    for name, spread in plan["joint"].get("confidential", {}).items():
        said = f"classes are compared with the input's distribution of '{name}'"
        if name not in spreads:
            needs = "needs all rows in memory, as its column does"
            findings.append(Finding(said, "not verifiable", needs))
            continue
        values, counts = spreads[name].result()
        found = dict(zip(values[name].to_pylist(), counts.tolist(), strict=True))
        known = {v: int(c) for v, c in zip(spread["values"], spread["counts"], strict=True) if c}
        problem = None if found == known else "the plan's counts are others"
        findings.append(finding(said, problem, f"{len(found):,} values"))
    return findings


def _models(
    shown: Shown,
    step: Step,
    plan: Mapping[str, Any] | None,
    groups: np.ndarray | None,
    where: str,
) -> list[Finding]:
    table = shown.table
    columns = [name for name in step.columns if name in table.column_names]
    codes, bounds = encode_columns(table, columns)
    if groups is not None:
        codes = np.vstack([codes, groups])
        bounds = np.append(bounds, groups.max(initial=0) + 1)
    classes, n_classes = classes_of(codes, bounds)
    sizes = total(classes, shown.counts, n_classes)
    known = (plan or {}).get("joint", {}).get("confidential", {})
    findings = []
    trees = (plan or {}).get("joint", {}).get("trees", {})
    for position, model in enumerate(step.parameters()["privacy"]):
        said = f"{_say(model)} over {', '.join(columns)}{where}"
        if not hasattr(model, "column"):
            findings.append(_sizes(said, model.k, sizes))
            continue
        if model.column not in table.column_names:
            findings.append(Finding(said, "broken", f"column '{model.column}' is missing"))
            continue
        spread = known.get(model.column)
        if spread is None and model.model in ("t-closeness", "beta-likeness"):
            findings.append(Finding(said, "not verifiable", NEEDS_INTERNAL))
            continue
        tree = trees.get(str(position), [])
        counts = _count(table[model.column], shown.counts, classes, sizes, spread, tree)
        findings.append(_judge(said, model, counts))
    return findings


def _say(model: Any) -> str:
    given = {key: value for key, value in vars(model).items() if key not in ("model", "hierarchy")}
    return f"{model.model} ({', '.join(f'{k} = {v}' for k, v in given.items() if v is not None)})"


def _sizes(said: str, k: int, sizes: np.ndarray) -> Finding:
    smallest = sizes.min() if len(sizes) else 0
    rare = f"{int((sizes < k).sum()):,} classes are smaller, the smallest has {smallest:,} records"
    good = f"{len(sizes):,} classes, the smallest of {smallest:,} records"
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
    column: pa.ChunkedArray,
    records: np.ndarray | None,
    classes: np.ndarray,
    sizes: np.ndarray,
    spread: Mapping[str, Any] | None,
    tree: Any,
) -> _Counts:
    encoded = plain(column).combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    found = encoded.dictionary.cast(pa.string()).to_pylist()
    q, foreign, levels = np.zeros(len(found)), None, []
    if spread is not None:
        # The plan's order of values is that of the input: numbers and ordered labels ascend.
        place = {value: i for i, value in enumerate(spread["values"])}
        q = np.asarray(spread["counts"]) / np.sum(spread["counts"])
        levels = [np.asarray(labels) for labels in tree]
        foreign = next((value for value in found if value not in place), None)
        moved = np.array([place.get(value, 0) for value in found] + [-1])
        codes = moved[codes]
    there = codes >= 0
    pairs = classes[there] * max(len(q), 1) + codes[there]
    keys, number = np.unique(pairs, return_inverse=True)
    held = None if records is None else records[there]
    return _Counts(
        group=keys // max(len(q), 1),
        value=keys % max(len(q), 1),
        count=total(number, held, len(keys)),
        sizes=sizes,
        valued=total(classes[there], held, len(sizes)),
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
        sizes = _sizes(said, model.k, counts.sizes)
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
    """Return l where r_1 < c (r_l + ... + r_m) holds, else 0."""
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
    """Return p by class and value, some classes at a time."""
    step = max(1, _CELLS_AT_ONCE // max(len(counts.q), 1))
    for start in range(0, len(counts.sizes), step):
        stop = min(start + step, len(counts.sizes))
        p = np.zeros((stop - start, len(counts.q)))
        low, high = np.searchsorted(counts.group, [start, stop])
        p[counts.group[low:high] - start, counts.value[low:high]] = counts.p[low:high]
        empty = counts.valued[start:stop] == 0
        yield np.where(empty[:, None], counts.q, p)


def _joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0), *parts])


def _equal(counts: _Counts) -> np.ndarray:
    return _joined(np.abs(p - counts.q).sum(axis=1) / 2 for p in _rows_at_once(counts))


def _ordered(counts: _Counts) -> np.ndarray:
    steps = max(len(counts.q) - 1, 1)
    return _joined(
        np.abs(np.cumsum(p - counts.q, axis=1)).sum(axis=1) / steps for p in _rows_at_once(counts)
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
    return _joined(reached)


def _gains(counts: _Counts, model: Any) -> tuple[np.ndarray, np.ndarray]:
    q = counts.q[counts.value]
    most = np.full(len(q), float(model.beta))
    if model.enhanced:
        most = np.minimum(most, -np.log(q))
    return np.maximum((counts.p - q) / q, 0.0), most


_DIVERSITY = {"distinct": _distinct, "entropy": _entropy, "recursive": _recursive}
_DISTANCE = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
