"""Quality models of whole classes by their definitions, and classes that must pay."""

import math
from collections import Counter

from discreet.generalization import Profitability
from tests.generalization.plain import Plain, plainly


class PlainWorth(Plain):
    """A table as `Plain` has it, with what the other quality models need.

    Parameters
    ----------
    factor : float
        The suppression factor.
    target : list or int
        The values to predict, or the number of a key column.
    payout : Payout
    """

    def __init__(self, *given, factor=0.5, target=None, payout=None, **more):
        super().__init__(*given, **more)
        self.of_kept = 1.0 if factor <= 0.5 else 2 * (1 - factor)
        self.of_gone = 2 * factor if factor < 0.5 else 1.0
        self.factor, self.target, self.payout = factor, target, payout

    def lost(self, node, key):
        """Give the share of information that a record with these labels lost."""
        room = math.prod(len(tree) for tree in self.trees)
        covered = math.prod(self.leaves(a, node[a], label) for a, label in enumerate(key))
        return math.log(covered) / math.log(room) if room > 1 else 1.0

    def paid(self, figures, node, key, size):
        """Give what the publisher has of a record of a class."""
        attacked = figures.gain / size - figures.cost > 0
        return figures.benefit * (1 - self.lost(node, key)) - attacked * figures.loss / size

    def kept(self, node, models):
        profit = [m for m in models if isinstance(m, Profitability)]
        held, out = super().kept(node, [m for m in models if m not in profit])
        for key, members in list(held.items()):
            if not all(self.pays(model, node, key, len(members)) for model in profit):
                out = [*out, *held.pop(key)]
        return held, out

    def pays(self, model, node, key, size):
        if not model.attack:
            return size >= model.k
        return self.paid(model, node, key, size) > 0

    def quality(self, name, node, models, aggregate="geometric", weights=None):
        held, out = self.kept(node, models)
        n, s, g, w = self.n, len(out), self.of_kept, self.of_gone
        if name == "height":
            return float(sum(node))
        if name == "precision-of-levels":
            heights = zip(node, self.heights, strict=True)
            return sum(level / h for level, h in heights) / self.d
        if name == "nue-of-levels":
            return sum(self._entropy(a, node[a], [], "nue") for a in range(self.d))
        if name == "payout":
            paid = [len(m) * self.paid(self.payout, node, key, len(m)) for key, m in held.items()]
            return self.payout.benefit * n - sum(paid)
        if name.startswith("kl-divergence"):
            return self._divergence(node, held, out, name.endswith("by-record"))
        if name == "classification":
            return self._misclassified(node, held, out)
        if name == "entropy-based":
            return g * sum(len(m) * self.lost(node, key) for key, m in held.items()) + w * s
        if name == "average-class":
            return n / (w * len(held) + g * (s > 0))
        if name == "precision":
            heights = zip(node, self.heights, strict=True)
            return sum(((n - s) * g * level / h + s * w) / n for level, h in heights) / self.d
        if self.factor == 0.5 and aggregate != "rank":
            return super().quality(name, node, models, aggregate, weights)
        return self._loss(node, held, out, aggregate)

    def _loss(self, node, held, out, aggregate):
        n, g, w, x = self.n, self.of_kept, self.of_gone, []
        labels = {i: key for key, members in self.classes(node).items() for i in members}
        for a, tree in enumerate(self.trees):
            size, total = len(tree), 0.0
            for i in range(n):
                share = self.leaves(a, node[a], labels[i][a]) / size
                total += share + w * (1 - share) if i in out else g * share
            x.append(max(0.0, (total - g * n / size) / (n - g * n / size)) if size > 1 else 0.0)
        if aggregate == "rank":
            return sorted(x, reverse=True)
        return math.expm1(sum(math.log1p(v) for v in x) / self.d)

    def _divergence(self, node, held, out, by_record):
        n, total = self.n, 0.0
        room = math.prod(len(tree) for tree in self.trees)
        times = Counter(self.records)
        cells = [(out, room)] if out else []
        for key, members in held.items():
            covered = math.prod(self.leaves(a, node[a], label) for a, label in enumerate(key))
            cells.append((members, covered))
        for members, covered in cells:
            for i in members:
                p, q = times[self.records[i]] / n, len(members) / n / covered
                total += p * math.log2(p / q) / (1 if by_record else times[self.records[i]])
        return total

    def _misclassified(self, node, held, out):
        lost, groups = 0.0, {}
        if isinstance(self.target, int):
            a = self.target
            labels = [len({path[v] for path in self.trees[a].values()}) for v in (0, node[a])]
            lost = 1 - (labels[1] - 1) / (labels[0] - 1) if labels[0] > 1 else 0.0
            for key, members in held.items():
                values = groups.setdefault(key[:a] + key[a + 1 :], [])
                values += [key[a]] * len(members)
            valued, gone = self.n, len(out)
        else:
            for key, members in held.items():
                groups[key] = [v for i in members if (v := self.target[i]) is not None]
            valued = sum(v is not None for v in self.target)
            gone = sum(self.target[i] is not None for i in out)
        total = self.factor * gone
        for values in groups.values():
            counts = sorted(Counter(values).values(), reverse=True)
            if lost == 1 or (len(counts) > 1 and counts[0] == counts[1]):
                of_each = self.of_gone * (1 - lost) + lost if lost < 1 else 1.0
                total += of_each * len(values)
            else:
                of_each = self.of_kept * (1 - lost) + lost
                total += of_each * (len(values) - sum(counts[:1]))
        return total / valued


def everything_holds(models, ill, size):
    """Tell whether suppressed records may stay as stars."""
    profit = [m for m in models if isinstance(m, Profitability)]
    rest = [m for m in models if m not in profit]
    if any(m.gain / size - m.cost > 0 or size < m.k for m in profit):
        return False
    return all(plainly(m, ill, ill) for m in rest)
