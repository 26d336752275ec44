"""Local recoding: which node each round takes, when rounds end, limits, budgets and figures."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy, KAnonymity
from tests.examples import examples
from tests.generalization.plain import Plain
from tests.generalization.test_generalize import QUALITIES, fitted, hierarchies
from tests.generalization.test_privacy import models
from tests.generalization.test_search import ADULT, as_table, tables


class ByRounds:
    """Local recoding by its definition: every node is tried in every round."""

    def __init__(self, plain, name, privacy, share):
        self.plain, self.name, self.privacy, self.share = plain, name, privacy, share
        self.k = max([m.k for m in privacy if hasattr(m, "k")], default=1)
        self.nodes = list(itertools.product(*(range(h + 1) for h in plain.heights)))

    def run(self):
        """Give the node of each round, and how many records are left."""
        plain, left, taken = self.plain, list(range(self.plain.n)), []
        while len(left) >= self.k:
            part = Plain(
                [plain.records[i] for i in left],
                plain.trees,
                [plain.confidential[i] for i in left],
                plain.everything,
                [False] * plain.d,
            )
            node = self._best(part)
            if node is None:
                break
            taken.append(node)
            left = [left[i] for i in part.kept(node, self.privacy)[1]]
        return taken, len(left)

    def _best(self, part):
        by_size = self.name in ("discernibility", "average-class")
        wanted = min(self.share * self.plain.n, max(self.share, 0.1) * part.n)
        least = self.k if by_size else max(self.k, math.ceil(wanted - 1e-12))
        while True:
            found = [
                (
                    part.quality(self.name, node, self.privacy)
                    if by_size
                    else self._price(held, node),
                    node,
                )
                for node in self.nodes
                for held, _ in [part.kept(node, self.privacy)]
                if sum(map(len, held.values())) >= least
            ]
            if found:
                lowest = min(found)[0]
                ties = [node for x, node in found if x <= lowest + 1e-9 * abs(lowest) + 1e-12]
                return min(ties, key=lambda node: (sum(node), node))
            if least == self.k:
                return None
            least = max(self.k, least // 2)

    def _price(self, held, node):
        """Give what a kept record costs on average."""
        total = sum(self._of_class(key, node) * len(members) for key, members in held.items())
        return total / sum(map(len, held.values()))

    def _of_class(self, key, node):
        plain = self.plain
        sizes = [len(tree) for tree in plain.trees]
        leaves = [plain.leaves(a, node[a], label) for a, label in enumerate(key)]
        both = list(zip(leaves, sizes, strict=True))
        if self.name == "ambiguity":
            return math.prod(leaves)
        if self.name == "loss":
            return sum((x - 1) / (size - 1) for x, size in both if size > 1)
        if self.name == "precision":
            return sum(level / h for level, h in zip(node, plain.heights, strict=True) if h)
        if self.name == "entropy-based":
            whole = math.log10(math.prod(sizes))
            return 1 + sum(math.log10(x / size) for x, size in both) / whole if whole else 1
        return sum(self._bits(a, node[a], label) for a, label in enumerate(key))

    def _bits(self, a, level, label):
        column = [record[a] for record in self.plain.records]
        under = [v for v in column if self.plain.trees[a][v][level] == label]
        lost = sum(math.log2(len(under) / column.count(v)) for v in under) / len(under)
        if self.name == "nue":
            return lost
        whole = sum(-math.log2(column.count(v) / len(column)) for v in column) / len(column)
        return lost / whole if whole else 0.0


@examples(150)
@given(
    example=tables(),
    privacy=st.lists(models(), min_size=1, max_size=2),
    quality=st.sampled_from(QUALITIES),
    share=st.sampled_from([0, 0.01, 0.3]),
)
def test_each_round_takes_the_node_whose_records_cost_least(example, privacy, quality, share):
    columns, forest, records, ill = example
    nodes, left = ByRounds(Plain(records, forest, ill), quality, privacy, share).run()
    method = Generalize(
        hierarchies(columns, forest),
        privacy,
        quality=quality,
        suppression_limit=1.0,
        local=True,
        round_share=share,
    )
    fitted(method, as_table(columns, records, ill))
    found = [tuple(one["levels"].values()) for one in method.levels_]
    # Where nothing can be kept, the plan has one node that keeps nothing.
    assert found == nodes or (not nodes and len(found) == 1)
    assert method.suppressed_ == left


def test_a_limit_is_for_what_is_left_in_the_end():
    frame = pd.DataFrame({"zip": ["1"] * 7 + ["2"] * 6 + ["3", "4"]})
    options = {"hierarchies": {"zip": Hierarchy.flat()}, "privacy": KAnonymity(5), "local": True}
    method = Generalize(suppression_limit=1.0, **options)
    out = method.fit_transform(frame)["zip"].tolist()
    assert out[:13] == ["1"] * 7 + ["2"] * 6
    assert method.suppressed_ == 2
    # Two records cannot be kept by themselves, so that a round is taken back.
    method = Generalize(suppression_limit=0.0, **options)
    out = method.fit_transform(frame)["zip"]
    assert method.suppressed_ == 0
    assert out.value_counts().min() >= 5
    assert "*" in set(out)
    with pytest.raises(BadInput, match=r"limit = 0 cannot be met: at least 2 of 15 records"):
        Generalize(suppression_limit=0.0, levels={"zip": 0}, **options).fit(frame)


@examples(60)
@given(
    example=tables(nulls=True),
    privacy=st.lists(models(), min_size=1, max_size=2),
    limit=st.sampled_from([0.0, 0.1, 0.3]),
    policy=st.sampled_from(["value", "segregate"]),
)
def test_limits_are_kept_or_nothing_is_released(example, privacy, limit, policy):
    columns, forest, records, ill = example
    method = Generalize(
        hierarchies(columns, forest),
        privacy,
        suppression_limit=limit,
        null_policy=policy,
        local=True,
    )
    try:
        method.fit(as_table(columns, records, ill))
    except BadInput as error:
        if not str(error).startswith(("suppression_limit = ", "neither the records", "all ")):
            raise
        return
    for group in method.plan_["groups"]:
        if group["treatment"] == "search":
            assert group["suppressed"] <= limit * group["rows"] + 1e-9


def adult(k, share=0.01, **options):
    paths = adult_hierarchy_paths()
    trees = {name: Hierarchy.from_csv(paths[name]) for name in ADULT}
    privacy = KAnonymity(k)
    return Generalize(trees, privacy, local=True, round_share=share, **options).fit(load_adult())


def test_adult_loses_less_than_by_arx():
    """Its local recoding, with a suppression weight of 0 and 1 % of the records a round."""
    method = adult(5)
    assert method.quality_ < 0.056
    assert method.suppressed_ < 5
    assert all(proof.proven for proof in method.certificate_)
    assert adult(50, aggregate="sum").quality_ < 1.202


@pytest.mark.slow
def test_smaller_rounds_lose_less():
    losses = [adult(5, share).quality_ for share in (0.1, 0.01, 0.001)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.051


@pytest.mark.filterwarnings("error")
def test_a_budget_in_evaluations_is_for_each_round_and_can_be_repeated():
    short = adult(5, 0.05, evaluations=20)
    assert any(not proof.proven for proof in short.certificate_)
    assert short.quality_ < 0.1
    spent = [proof.evaluations for proof in short.certificate_]
    again = adult(5, 0.05, evaluations=spent)
    assert again.levels_ == short.levels_
    assert np.array_equal(again.suppressed_mask_, short.suppressed_mask_)


def test_a_time_limit_is_shared_by_the_rounds():
    with pytest.warns(UserWarning, match="searches ended early"):
        method = adult(5, 0.05, time_limit=0.1)
    assert method.suppressed_ < 5
    assert method.quality_ < 0.1


def test_many_columns_end_without_a_budget():
    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(12)]
    frame = pd.DataFrame({name: rng.integers(100, 140, 200).astype(str) for name in names})
    method = Generalize({name: Hierarchy.prefix() for name in names}, KAnonymity(4), local=True)
    out = method.fit_transform(frame)
    assert method.suppressed_ < 4
    assert out[~method.unsafe_mask_].groupby(names).size().min() >= 4


@pytest.mark.parametrize("share", [-0.1, 1.5, "all"])
def test_a_round_share_is_a_share(share):
    with pytest.raises(BadInput, match="round_share must be a share of 0 to 1"):
        Generalize({"a": Hierarchy.flat()}, KAnonymity(2), round_share=share).check_params()
