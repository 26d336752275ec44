"""Models of the whole table, of a population and of what classes pay, together with all qualities.

Every node is tried, from the definitions.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import (
    AverageRisk,
    DeltaPresence,
    Generalize,
    Hierarchy,
    KAnonymity,
    KMap,
    Payout,
    Profitability,
    SampleUniqueness,
)
from discreet.generalization.targets import Whole
from tests.examples import examples
from tests.generalization.plain_worth import PlainWorth
from tests.generalization.test_population import peopled
from tests.generalization.test_search import QUALITIES, as_method, as_table, limits
from tests.generalization.test_targets import PlainWhole
from tests.generalization.test_worth import OF_CLASSES, OF_LEVELS, WEIGHABLE, figures


class Combined(PlainWorth, PlainWhole):
    """A sample with its population."""

    def __init__(self, records, forest, ill, people, **given):
        null = [any(r[a] is None for r in people) for a in range(len(forest))]
        super().__init__(records, forest, ill, null_leaf=null, **given)
        self.people = people

    def there(self, node):
        """Count the population by its labels."""
        found = {}
        for person in self.people:
            key = tuple(self.trees[a][v][node[a]] for a, v in enumerate(person))
            found[key] = found.get(key, 0) + 1
        return found

    def paid(self, figures, node, key, size):
        size = self.there(node)[key] if figures.journalist else size
        return super().paid(figures, node, key, size)

    def kept(self, node, models):
        there, classes = self.there(node), self.classes(node)
        whole = [m for m in models if isinstance(m, Whole)]
        held, out = {}, []
        for key, members in classes.items():
            if all(self.keeps(m, node, key, members, there) for m in models if m not in whole):
                held[key] = members
            else:
                out += members
        if any(getattr(m, "minimum", 0) for m in models) and there.keys() - classes.keys():
            return {}, [None] * (self.n + 1)
        return self.take_out(node, held, out, whole)

    def keeps(self, model, node, key, members, there):
        if isinstance(model, Profitability) and model.attack:
            return self.paid(model, node, key, len(members)) > 0
        if isinstance(model, DeltaPresence):
            share = len(members) / there[key]
            return model.minimum - 1e-12 <= share <= model.maximum + 1e-12
        if isinstance(model, KMap | Profitability):
            by_people = model.population is not None
            return (there[key] if by_people else len(members)) >= model.k
        return self._keeps(model, members)


whole = st.one_of(
    st.builds(AverageRisk, st.sampled_from([0.2, 0.34, 0.5, 0.8])),
    st.builds(AverageRisk, st.sampled_from([0.5, 0.8]), st.just(0.34), st.just(0.2)),
    st.builds(SampleUniqueness, st.sampled_from([0.0, 0.1])),
)


@st.composite
def models(draw, people):
    """One to three models, each of its own kind."""
    money = draw(figures)
    # Attacks pay, and k does not decide alone.
    dear = {"cost": 1, "gain": 10, "loss": draw(st.sampled_from([5, 10, 20])), "benefit": 3}
    some = [
        [KAnonymity(draw(st.integers(1, 3)))],
        [KMap(draw(st.integers(1, 8)), population=people)],
        [DeltaPresence(draw(st.sampled_from([0, 0.1])), 0.9, population=people)],
        [draw(whole)],
        [Profitability(**money, attack=draw(st.booleans()))],
        [Profitability(**dear, attack=draw(st.booleans()), population=people)],
    ]
    chosen = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True))
    chosen = [5 if i == 4 and draw(st.booleans()) else i for i in chosen]
    return [model for i in chosen for model in some[i]]


@pytest.mark.parametrize("quality", [*dict.fromkeys([*OF_CLASSES, *OF_LEVELS, *QUALITIES])])
@examples(40)
@given(
    example=peopled(),
    limit=limits,
    money=figures,
    factor=st.sampled_from([0.5, 0.1, 0.3, 0.8]),
    journalist=st.booleans(),
    data=st.data(),
)
def test_the_best_node_is_found(quality, example, limit, money, factor, journalist, data):
    columns, forest, records, ill, people = example
    privacy = data.draw(models(as_table(columns, people, [1] * len(people))))
    named = any(getattr(m, "population", None) is not None for m in privacy)
    payout = Payout(**money, journalist=journalist and named)
    factor = factor if quality in WEIGHABLE else 0.5
    target, name = (0, "classification") if quality == "key" else (ill, quality)
    # Without the table of a population, its nulls and values are not known.
    people = people if named else records
    plain = Combined(records, forest, ill, people, factor=factor, target=target, payout=payout)
    plain.quality_name = name
    expected = plain.best(name, privacy, limit)
    options = {"quality": name, "suppression_limit": limit, "suppression_factor": factor}
    if name == "classification":
        options["target"] = columns[0] if quality == "key" else "ill"
    if name == "payout":
        options["payout"] = payout
    method, table = as_method(columns, forest, privacy, **options), as_table(columns, records, ill)
    if expected is None or expected[2] == plain.n:
        try:
            method.fit(table)
        except BadInput:
            return  # Nothing that remains is a class.
        assert expected is not None
    method.fit(table)
    node, value, suppressed = expected
    assert method.quality_ == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert tuple(method.levels_[0]["levels"].values()) == node
    assert method.suppressed_ == suppressed
    assert method.certificate_.proven


def test_a_journalist_needs_a_population_and_nothing_that_is_not_in_it():
    table = as_table(["a"], [("x",), ("x",), ("y",), ("y",)], [1, 2, 1, 2])
    tree = {"a": Hierarchy.flat()}
    money = Payout(1, 4, 8, 10, journalist=True)
    with pytest.raises(BadInput, match="no privacy model names its table"):
        Generalize(tree, KAnonymity(2), "payout", payout=money).fit(table)
    model = Profitability(1, 4, 8, 10, population=table)
    for options in ({"null_policy": "match"}, {}):
        units = None if options else np.array([0, 0, 1, 1])
        with pytest.raises(BadInput, match="profitability counts classes in the table of a popul"):
            Generalize(tree, model, **options).fit(table, units=units)
    # Two of each are found among four, where the population is twice the table.
    twice = as_table(["a"], [("x",), ("y",)] * 4, [1] * 8)
    few = Profitability(2, 8, 20, 5)
    assert Generalize(tree, few, suppression_limit=1.0).fit(table).suppressed_ == 4
    many = Profitability(2, 8, 20, 5, population=twice)
    assert Generalize(tree, many, suppression_limit=1.0).fit(table).suppressed_ == 0
