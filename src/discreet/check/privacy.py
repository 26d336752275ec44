"""Privacy models verified on a released table: counting, in plain numpy, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import NEEDS_INTERNAL, NEEDS_ORIGINAL, Finding, counted, finding
from discreet.check.population import class_size, in_population, is_number, sampled
from discreet.check.profit import profitable
from discreet.check.shown import GROUP, UNIT, Counted, Shown
from discreet.check.whole import OF_TABLE, whole_table
from discreet.recipe.recipe import Step
from discreet.table.cells import plain
from discreet.table.classes import classes_of, encode_columns
from discreet.table.summary import Tuples, tuple_counts

# A figure that misses its bound by no more is taken to meet it.
ROUNDING = 1e-9
# Models that compare a class with all records.
_COMPARED = ("t-closeness", "beta-likeness", "delta-disclosure")
_CELLS_AT_ONCE = 4_000_000


def privacy_models(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify each privacy model of a step on the classes of its columns."""
    judged = shown.without(disclosed(step, plan))
    return models(judged, judged.over, step, plan)


def judged_columns(step: Step, known: Sequence[str]) -> list[str]:
    """Name the columns that a step's models look at, of those that there are."""
    models = step.parameters()["privacy"]
    names = [*step.columns, *(model.column for model in models if hasattr(model, "column"))]
    return [name for name in dict.fromkeys(names) if name in known]


def disclosed(step: Step, plan: StepPlan | None) -> np.ndarray:
    """Return the rows that are outside the promise, where the recipe allows that there are any."""
    given = step.parameters()
    if plan is None or given["small_group"] != "append" or not given["allow_disclosure"]:
        return np.array([], dtype=np.int64)
    return np.asarray(plan.get("disclosed", ()), dtype=np.int64)


def total(ids: np.ndarray, counts: np.ndarray, n: int) -> np.ndarray:
    """Add up the records of each id."""
    return np.bincount(ids, counts, minlength=n).astype(np.int64)


def same_spread(plan: StepPlan, spreads: Mapping[str, Tuples]) -> list[Finding]:
    """Compare the distributions that the models were judged by with those of the columns.

    `spreads` has values of the columns as text, over all records, before any was suppressed; with
    the units that hold them, where these are counted.
    """
    findings = []
    for name, spread in plan["joint"].get("confidential", {}).items():
        said = f"classes are compared with the input's distribution of '{name}'"
        if name not in spreads:
            needs = "needs all rows in memory, as its column does"
            findings.append(Finding(said, "not verifiable", needs))
            continue
        values, counts = spreads[name].result()
        if UNIT in values.column_names:
            values, counts = tuple_counts(values, [name])
        found = dict(zip(values[name].to_pylist(), counts.tolist(), strict=True))
        planned = zip(spread["values"], spread["counts"], strict=True)
        known = {value: int(count) for value, count in planned if count}
        problem = None if found == known else "the plan's counts are others"
        findings.append(finding(said, problem, f"{len(found):,} values"))
    return findings


def models(
    shown: Shown,
    over: Callable[[Sequence[str]], Counted],
    step: Step,
    plan: StepPlan | None,
    where: str = "",
    company: Callable[[np.ndarray, np.ndarray, Counts], Counts] | None = None,
) -> list[Finding]:
    """Verify a step's models on distinct tuples, each of which some records, or units, have.

    Where classes do not reach beyond groups, `over` counts with these, and `where` says so. A unit
    counts once for each value that it holds in a class. With `company`, which gets the classes'
    codes, the columns' sizes and the counts, a class has the values of others, too, and only
    models of values are verified.
    """
    columns = [name for name in step.columns if name in shown.column_names]
    if not shown.tells_units:
        # Records add up, so that they are counted once.
        over = partial(_added, *over(judged_columns(step, shown.column_names)))
    whole, sizes = over(columns)
    joint = {} if plan is None else plan.get("joint", {})
    known, trees = joint.get("confidential", {}), joint.get("trees", {})
    findings = []
    for position, model in enumerate(step.parameters()["privacy"]):
        said = f"{_say(model, shown.of_what)} over {', '.join(columns)}{where}"
        if model.model in OF_TABLE:
            findings.append(whole_table(said, model, *over(columns), columns, plan))
            continue
        if getattr(model, "attack", False):
            findings.append(profitable(said, model, step, plan, (whole, sizes)))
            continue
        if not is_number(getattr(model, "population", None)):
            findings.append(in_population(said, model, step, plan, (whole, sizes)))
            continue
        if not hasattr(model, "column"):
            if company is None:
                wrong = None
                if model.model == "k-map":
                    wrong = sampled(said, model, sizes, plan, shown.tells_units)
                findings.append(wrong or _sizes(said, class_size(model, plan), sizes, shown.noun))
            continue
        if model.column not in shown.column_names:
            findings.append(Finding(said, "broken", f"column '{model.column}' is missing"))
            continue
        spread = known.get(model.column)
        if spread is None and model.model in _COMPARED:
            findings.append(Finding(said, "not verifiable", NEEDS_INTERNAL))
            continue
        if not shown.exact and getattr(model, "kind", None) != "distinct":
            # Shares of values may be any where it is not known whose they are.
            findings.append(Finding(said, "not verifiable", NEEDS_ORIGINAL))
            continue
        tuples, held = over(list(dict.fromkeys([*columns, model.column])))
        by = [name for name in tuples.column_names if name in columns or name == GROUP]
        codes, width = encode_columns(tuples, by)
        classes, _ = classes_of(codes, width)
        tree = trees.get(str(position), [])
        if (order := getattr(model, "order", None)) is not None:
            assert spread is not None
            if strange := [value for value in spread["values"] if value not in order]:
                detail = f"'{strange[0]}', a value of the input, is not in the model's order"
                findings.append(Finding(said, "broken", detail))
                continue
            spread = _in_order(spread, order)
        counts = _count(tuples[model.column], held, classes, sizes, spread, tree)
        if company is not None:
            first = np.unique(classes, return_index=True)[1]
            counts = company(codes[:, first], width, counts)
        findings.append(_judge(said, model, counts, shown.noun))
    return findings


def _added(table: pa.Table, counts: np.ndarray, columns: Sequence[str]) -> Counted:
    """Add up the counts of tuples that are the same in some columns, within groups."""
    chosen = [name for name in table.column_names if name in columns or name == GROUP]
    ids, n = classes_of(*encode_columns(table, chosen))
    first = np.unique(ids, return_index=True)[1]
    return table.select(chosen).take(pa.array(first)), total(ids, counts, n)


def _say(model: Any, of_what: str) -> str:
    hidden = ("model", "hierarchy", "order")
    given = {key: value for key, value in vars(model).items() if key not in hidden}
    off = [key for key, value in given.items() if value is False and key != "attack"]
    given = {key: x for key, x in given.items() if x is not None and key not in off}
    if of_what and "k" in given:
        given["k"] = f"{given['k']}{of_what}"
    elif of_what:
        given["counted in"] = of_what.strip()
    return f"{model.model} ({', '.join(f'{key} = {value}' for key, value in given.items())})"


def _sizes(said: str, k: int, sizes: np.ndarray, noun: str) -> Finding:
    smallest = sizes.min() if len(sizes) else 0
    under = counted(int((sizes < k).sum()), "class is", "classes are")
    size = counted(smallest, noun.removesuffix("s"))
    rare = f"{under} smaller, the smallest has {size}"
    held = counted(len(sizes), "class", "classes")
    good = f"{held}, the smallest of {size}"
    return finding(said, rare if len(sizes) and smallest < k else None, good)


@dataclass(frozen=True)
class Counts:
    """How often each class holds each value: one entry per pair that occurs.

    Records are units where these are counted: one that holds several values counts for each.
    """

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
        """The share of each entry's value in its class."""
        return self.count / self.valued[self.group]


def _count(
    column: pa.ChunkedArray,
    records: np.ndarray,
    classes: np.ndarray,
    sizes: np.ndarray,
    spread: Mapping[str, Any] | None,
    tree: Any,
) -> Counts:
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
    held = records[there]
    return Counts(
        group=keys // max(len(q), 1),
        value=keys % max(len(q), 1),
        count=total(number, held, len(keys)),
        sizes=sizes,
        valued=total(classes[there], held, len(sizes)),
        q=q,
        levels=levels,
        foreign=foreign,
    )


def _in_order(spread: Mapping[str, Any], order: Sequence[str]) -> Mapping[str, Any]:
    """Put the plan's values, which are sorted, into the order that the model lists."""
    place = {value: i for i, value in enumerate(order)}
    moved = sorted(range(len(spread["values"])), key=lambda i: place[spread["values"][i]])
    return {key: np.asarray(spread[key])[moved] for key in ("values", "counts")}


def _judge(said: str, model: Any, counts: Counts, noun: str) -> Finding:
    if counts.foreign is not None:
        return Finding(said, "broken", f"'{counts.foreign}' is no value of the input")
    if model.model == "l-diversity":
        reached = _DIVERSITY[model.estimator or model.kind](model, counts)
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
    elif model.model == "delta-disclosure":
        bits = np.abs(np.log2(counts.p / counts.q[counts.value]))
        worst = f"the largest change of a value is {bits.max(initial=0.0):.4g} bits"
        bad = bits >= model.delta - ROUNDING * 1e-3
    else:
        worst = f"the largest share of a value is {counts.p.max(initial=0.0):.4g}"
        sizes = _sizes(said, model.k, counts.sizes, noun)
        if sizes.status == "broken":
            return sizes
        bad = counts.p > model.alpha + ROUNDING
    return finding(said, worst if bad.any() else None, worst)


# l of each class


def _distinct(model: Any, counts: Counts) -> np.ndarray:
    return np.bincount(counts.group, minlength=len(counts.sizes)).astype(float)


def _entropy(model: Any, counts: Counts) -> np.ndarray:
    terms = -counts.p * np.log(counts.p)
    entropy = np.bincount(counts.group, terms, minlength=len(counts.sizes))
    return np.where(counts.valued > 0, np.exp(entropy), 0.0)


def _grassberger(model: Any, counts: Counts) -> np.ndarray:
    """Return exp of the estimate, or the number of distinct values where that is below l."""
    entries = np.bincount(counts.group, counts.count * _g(counts.count), len(counts.sizes))
    estimate = _g(counts.valued) - entries / np.maximum(counts.valued, 1)
    distinct = _distinct(model, counts)
    return np.where(distinct < model.l, distinct, np.exp(estimate))


def _g(n: np.ndarray) -> np.ndarray:
    """Return G(2m) = 2 H(2m) - H(m) - Euler - ln 2, m = n // 2; psi(m + 1) is H(m) - Euler."""
    from scipy.special import digamma

    m = n // 2
    return 2 * digamma(2 * m + 1) - digamma(m + 1) - np.log(2)


def _recursive(model: Any, counts: Counts) -> np.ndarray:
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


def _rows_at_once(counts: Counts) -> Any:
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


def _equal(counts: Counts) -> np.ndarray:
    return _joined(np.abs(p - counts.q).sum(axis=1) / 2 for p in _rows_at_once(counts))


def _ordered(counts: Counts) -> np.ndarray:
    steps = max(len(counts.q) - 1, 1)
    return _joined(
        np.abs(np.cumsum(p - counts.q, axis=1)).sum(axis=1) / steps for p in _rows_at_once(counts)
    )


def _hierarchical(counts: Counts) -> np.ndarray:
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


def _gains(counts: Counts, model: Any) -> tuple[np.ndarray, np.ndarray]:
    q = counts.q[counts.value]
    most = np.full(len(q), float(model.beta))
    if model.enhanced:
        most = np.minimum(most, -np.log(q))
    return np.maximum((counts.p - q) / q, 0.0), most


_DIVERSITY = {
    "distinct": _distinct,
    "entropy": _entropy,
    "shannon": _entropy,
    "grassberger": _grassberger,
    "recursive": _recursive,
}
_DISTANCE = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
