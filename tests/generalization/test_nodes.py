"""Nodes looked at one by one tell what the search finds."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadInput
from discreet.generalization import AverageRisk, Generalize, Hierarchy, KAnonymity, LDiversity
from discreet.generalization.nodes import Nodes

TREES = {"age": Hierarchy.intervals(widths=[5, 10, 20]), "sex": Hierarchy.flat()}


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(3)
    ages = [None if x > 80 else int(x) for x in draw.integers(20, 83, 400)]
    return pa.table({
        "age": ages,
        "sex": draw.choice(["f", "m"], 400),
        "ill": draw.choice(["flu", "acne", "none"], 400),
    })  # fmt: skip


@pytest.mark.parametrize("quality", ["loss", "discernibility", "average-class"])
def test_the_best_node_is_that_of_the_method(people, quality):
    models = [KAnonymity(5), LDiversity(2, column="ill")]
    method = Generalize(TREES, models, quality=quality, null_policy="value")
    nodes = Nodes(method, people)
    best = nodes.best()
    fitted = Generalize(TREES, models, quality=quality, null_policy="value").fit(people)
    assert best.levels == fitted.levels_[0]["levels"]
    assert best.suppressed == fitted.suppressed_
    assert best.quality == pytest.approx(fitted.quality_)
    assert best.holds


def test_every_node_counts_its_own_classes(people):
    nodes = Nodes(Generalize(TREES, KAnonymity(5), null_policy="value"), people)
    frame = people.to_pandas()
    for level, width in ((1, 5), (2, 10), (3, 20)):
        found = nodes.at({"age": level, "sex": 0})
        sizes = frame.groupby([frame["age"] // width, "sex"], dropna=False).size()
        kept = sizes[sizes >= 5]
        assert (found.classes, found.smallest) == (len(kept), kept.min())
        assert found.suppressed == sizes[sizes < 5].sum()


def test_a_column_can_be_fixed(people):
    nodes = Nodes(Generalize(TREES, KAnonymity(5), null_policy="value"), people)
    assert nodes.best({"sex": 1}).levels["sex"] == 1
    strict = Generalize(TREES, KAnonymity(300), suppression_limit=0, null_policy="value")
    assert Nodes(strict, people).best({"sex": 0}) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"privacy": AverageRisk(0.1)}, "not judged by average-risk"),
        ({"quality": "kl-divergence"}, "not measured by quality = 'kl-divergence'"),
        ({"suppression_factor": 0.2}, "not measured by another suppression_factor"),
    ],
)
def test_what_a_node_does_not_tell_is_refused(people, options, said):
    method = Generalize(TREES, **{"privacy": KAnonymity(5), **options})
    with pytest.raises(BadInput, match=said):
        Nodes(method, people)
