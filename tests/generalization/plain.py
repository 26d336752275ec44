"""Generalization by its definitions, in plain Python: every node tried, every class formed."""

import itertools
import math
from typing import Any

import numpy as np

from discreet.generalization import (
    AlphaKAnonymity,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
)


def grassberger(n: int) -> float:
    """G of Grassberger (2003)."""
    odd = sum(1 / i for i in range(1, n // 2 * 2, 2))
    return 2 * odd - np.euler_gamma - math.log(2)


def plainly(model: Any, values: list, everything: list) -> bool:
    """The definitions of the models, from lists of values; None is a null."""
    if isinstance(model, KAnonymity):
        return len(values) >= model.k
    there = [v for v in values if v is not None]
    q_of = [v for v in everything if v is not None]
    domain = sorted(set(q_of))
    p = {v: there.count(v) / len(there) for v in domain} if there else {}
    q = {v: q_of.count(v) / len(q_of) for v in domain}
    if isinstance(model, LDiversity):
        counts = sorted((there.count(v) for v in set(there)), reverse=True)
        if model.kind == "distinct":
            return len(counts) >= model.l
        if not counts:
            return False
        if model.estimator == "grassberger":
            n = sum(counts)
            estimate = grassberger(n) - sum(c * grassberger(c) for c in counts) / n
            return len(counts) >= model.l and estimate >= math.log(model.l) - 1e-9
        if model.kind == "entropy":
            entropy = -sum(x * math.log(x) for x in p.values() if x)
            return math.exp(entropy) >= model.l - 1e-9
        return counts[0] < model.c * sum(counts[model.l - 1 :]) - 1e-9
    if isinstance(model, AlphaKAnonymity) and len(values) < model.k:
        return False
    if not there:
        return True
    if isinstance(model, AlphaKAnonymity):
        return max(p.values()) <= model.alpha + 1e-9
    if isinstance(model, DeltaDisclosure):
        bits = [abs(math.log2(p[v] / q[v])) for v in domain if p[v] > 0]
        return all(x < model.delta - 1e-9 for x in bits)
    if isinstance(model, TCloseness) and model.distance == "equal":
        return 0.5 * sum(abs(p[v] - q[v]) for v in domain) <= model.t + 1e-9
    if isinstance(model, TCloseness):
        cumulated = np.cumsum([p[v] - q[v] for v in domain])
        return np.abs(cumulated).sum() / max(len(domain) - 1, 1) <= model.t + 1e-9
    gains = [((p[v] - q[v]) / q[v], -math.log(q[v])) for v in domain if p[v] > q[v]]
    return all(
        gain <= (min(model.beta, cap) if model.enhanced else model.beta) + 1e-9
        for gain, cap in gains
    )


def plainly_by_unit(model: Any, rows: list, everything: list) -> bool:
    """The same over pairs of a unit and a value: each unit counts once, with each of its values."""
    if hasattr(model, "k") and len({unit for unit, _ in rows}) < model.k:
        return False
    values, all_values = ([v for _, v in set(some)] for some in (rows, everything))
    if isinstance(model, AlphaKAnonymity):
        model = AlphaKAnonymity(model.alpha, 1, column=model.column)
    return isinstance(model, KAnonymity) or plainly(model, values, all_values)


class Plain:
    """A table of records and hierarchies.

    Parameters
    ----------
    records : list of tuple
        The quasi-identifiers; None is a null, which is a leaf of its own below the top.
    trees : list of dict
        By column, of each leaf its labels from level 0 to the top.
    confidential : list
    everything : list
        The confidential values of all records, where these are some of them.
    match : bool
        A null equals any value.
    units : list
        The unit of each record, where models count these.
    """

    def __init__(
        self,
        records,
        trees,
        confidential,
        everything=None,
        null_leaf=None,
        match=False,
        units=None,
    ):
        self.match, self.units = match, units
        self.records, self.confidential = records, confidential
        self.everything = confidential if everything is None else everything
        self.n, self.d = len(records), len(trees)
        self.trees = []
        for a, tree in enumerate(trees):
            height = len(next(iter(tree.values()))) - 1
            has_null = any(r[a] is None for r in records) if null_leaf is None else null_leaf[a]
            null = {None: [None] * height + ["*"]} if has_null else {}
            self.trees.append(tree | null)
        self.heights = [len(next(iter(tree.values()))) - 1 for tree in trees]

    def leaves(self, a, level, label):
        return sum(path[level] == label for path in self.trees[a].values())

    def classes(self, node):
        found: dict[tuple, list[int]] = {}
        for i, record in enumerate(self.records):
            key = tuple(self.trees[a][v][node[a]] for a, v in enumerate(record))
            found.setdefault(key, []).append(i)
        return found

    def kept(self, node, models):
        """Give the classes that keep all models, and the suppressed records."""
        if self.match:
            # First what more records cannot break; then all, of what is left.
            first = [m for m in models if getattr(m, "kind", None) == "distinct" or m is models[0]]
            left, out = self._matching(self.classes(node), first)
            left, more = self._matching(left, models)
            return left, out + more
        held, out = {}, []
        for key, members in self.classes(node).items():
            if all(self._keeps(model, members) for model in models):
                held[key] = members
            else:
                out += members
        return held, out

    def _keeps(self, model, members):
        values = [self.confidential[i] for i in members]
        if self.units is None:
            return plainly(model, values, self.everything)
        pairs = list(zip(self.units, self.confidential, strict=True))
        return plainly_by_unit(model, [pairs[i] for i in members], pairs)

    def _matching(self, left, models):
        """Drop classes until what each matches of the rest keeps the models; a null is anything."""
        out = []
        while True:
            company = {
                key: [
                    i
                    for other, members in left.items()
                    if all(
                        x is None or y is None or x == y for x, y in zip(key, other, strict=True)
                    )
                    for i in members
                ]
                for key in left
            }
            held = {key for key in left if all(self._keeps(m, company[key]) for m in models)}
            if len(held) == len(left):
                return left, out
            out += [i for key, members in left.items() if key not in held for i in members]
            left = {key: members for key, members in left.items() if key in held}

    def quality(self, name, node, models, aggregate="geometric", weights=None):
        held, out = self.kept(node, models)
        n, s = self.n, len(out)
        sizes = [len(self.trees[a]) for a in range(self.d)]
        if name == "discernibility":
            return sum(len(m) ** 2 for m in held.values()) + n * s
        if name == "average-class":
            return n / max(1, len(held) + (s > 0))
        if name == "precision":
            return (
                sum(
                    ((n - s) * level / h + s) / n
                    for level, h in zip(node, self.heights, strict=True)
                )
                / self.d
            )
        if name == "ambiguity":
            total = s * math.prod(sizes)
            for key, members in held.items():
                total += len(members) * math.prod(
                    self.leaves(a, node[a], label) for a, label in enumerate(key)
                )
            return total
        if name == "entropy-based":
            whole = math.log10(math.prod(sizes))
            total = float(s)
            for key, members in held.items():
                share = math.prod(
                    self.leaves(a, node[a], label) / sizes[a] for a, label in enumerate(key)
                )
                total += len(members) * (1 + (math.log10(share) / whole if whole else 0))
            return total
        if name in ("nue", "nnue"):
            return sum(self._entropy(a, node[a], out, name) for a in range(self.d))
        x = []
        for a, size in enumerate(sizes):
            total = sum(len(m) * self.leaves(a, node[a], key[a]) / size for key, m in held.items())
            loss = 0.0 if size == 1 else max(0.0, (total + s - n / size) / (n - n / size))
            x.append(loss * (weights or [1.0] * self.d)[a])
        return {
            "sum": sum(x),
            "max": max(x),
            "mean": sum(x) / self.d,
            "geometric": math.expm1(sum(math.log1p(v) for v in x) / self.d),
        }[aggregate]

    def _entropy(self, a, level, out, name):
        leaf = [record[a] for record in self.records]
        label = [self.trees[a][v][level] for v in leaf]
        total = sum(
            math.log2(label.count(u) / leaf.count(v)) for u, v in zip(label, leaf, strict=True)
        )
        masked = [label[i] for i in out]
        total += sum(-math.log2(masked.count(u) / len(masked)) for u in masked)
        if name == "nue":
            return total
        whole = sum(-math.log2(leaf.count(v) / self.n) for v in leaf)
        return total / whole if whole else 0.0

    def united(self, name, levels, classes, out, aggregate="geometric"):
        """Give the quality where every record has levels of its own.

        Parameters
        ----------
        levels : list of tuple
            By record; of a suppressed one those that it was last tried at.
        classes : list of list of int
            The records of each kept class.
        out : list of int
            The suppressed records.
        """
        n, s = self.n, len(out)
        sizes = [len(tree) for tree in self.trees]
        kept = [i for members in classes for i in members]

        def leaves(i, a):
            path = self.trees[a][self.records[i][a]]
            return self.leaves(a, levels[i][a], path[levels[i][a]])

        if name == "discernibility":
            return sum(len(c) ** 2 for c in classes) + n * s
        if name == "average-class":
            return n / max(1, len(classes) + (s > 0))
        if name == "ambiguity":
            product = sum(math.prod(leaves(i, a) for a in range(self.d)) for i in kept)
            return product + s * math.prod(sizes)
        if name == "precision":
            each = [sum(levels[i][a] / h for i in kept) for a, h in enumerate(self.heights)]
            return sum((x + s) / n for x in each) / self.d
        if name == "entropy-based":
            whole = math.log10(math.prod(sizes))
            shares = sum(math.log10(leaves(i, a) / sizes[a]) for i in kept for a in range(self.d))
            return n + (shares / whole if whole else 0.0)
        if name in ("nue", "nnue"):
            return sum(self._united_entropy(a, levels, out, name) for a in range(self.d))
        x = [
            max(0.0, (sum(leaves(i, a) for i in kept) / size + s - n / size) / (n - n / size))
            if size > 1
            else 0.0
            for a, size in enumerate(sizes)
        ]
        return math.expm1(sum(math.log1p(v) for v in x) / self.d)

    def _united_entropy(self, a, levels, out, name):
        tree, leaf = self.trees[a], [record[a] for record in self.records]
        label = [(level[a], tree[v][level[a]]) for level, v in zip(levels, leaf, strict=True)]
        total = 0.0
        for (level, u), v in zip(label, leaf, strict=True):
            under = sum(tree[w][level] == u for w in leaf)
            total += math.log2(under / leaf.count(v))
        masked = [label[i] for i in out]
        total += sum(-math.log2(masked.count(u) / len(masked)) for u in masked)
        if name == "nue":
            return total
        whole = sum(-math.log2(leaf.count(v) / self.n) for v in leaf)
        return total / whole if whole else 0.0

    def best(self, name, models, limit, aggregate="geometric", weights=None, ranges=None):
        """Try every node; give levels, quality and suppressed records, or None."""
        ranges = ranges or [(0, h) for h in self.heights]
        found = []
        for node in itertools.product(*(range(lo, hi + 1) for lo, hi in ranges)):
            s = len(self.kept(node, models)[1])
            if s <= limit * self.n + 1e-9:
                found.append((self.quality(name, node, models, aggregate, weights), node, s))
        if not found:
            return None
        least = min(value for value, _, _ in found)
        ties = [f for f in found if f[0] <= least + 1e-9 * abs(least) + 1e-12]
        value, node, s = min(ties, key=lambda f: (sum(f[1]), f[1]))
        return node, value, s

    def fewest(self, models, ranges=None):
        ranges = ranges or [(0, h) for h in self.heights]
        nodes = itertools.product(*(range(lo, hi + 1) for lo, hi in ranges))
        return min(len(self.kept(node, models)[1]) for node in nodes)
