"""Searches in which the keys must keep privacy models, and with a loss of one's own."""

from collections import Counter

import pytest

from discreet import protect, search
from discreet.datasets import make_households

KEYS = ["age", "sex", "marital_status"]
ROLES = {"quasi": KEYS, "confidential": ["disease"], "rest": "drop"}
DEMANDED = [{"model": "k-anonymity", "k": 4}]


@pytest.fixture(scope="module")
def people():
    return make_households(300, seed=8).select([*KEYS, "disease"])


def cells_changed(before, after):
    """Share of the keys' cells that are not shown as they were."""
    changed = 0
    for name in KEYS:
        shown = after[name].to_pylist() if name in after.column_names else [None] * len(before)
        kept = zip(before[name].to_pylist(), shown, strict=True)
        changed += sum(str(x) != str(y) for x, y in kept)
    return changed / (len(before) * len(KEYS))


@pytest.fixture(scope="module")
def front(people):
    recipe = {"roles": ROLES, "search": {"privacy": DEMANDED}}
    return search(people, recipe, loss=cells_changed, evaluations=14, seed=1)


def test_every_point_promises_what_was_demanded(people, front):
    for point in front.points:
        release = protect(people, point.recipe)
        assert release.check.ok
        columns = [
            release.table[name].to_pylist() for name in KEYS if name in release.table.schema.names
        ]
        counts = Counter(zip(*columns, strict=True))
        stars = {shown for shown in counts if not set(shown) - {"*", None}}
        assert min(n for shown, n in counts.items() if shown not in stars) >= 4, point.words


def test_a_function_as_the_loss_gets_all_columns_that_count(people, front):
    for point in front.points:
        table = protect(people, point.recipe).table
        assert point.loss == pytest.approx(cells_changed(people, table), abs=0.02), point.words


def test_the_least_loss_by_changed_cells_is_that_of_blanks(front):
    [step] = front.points[-1].recipe.steps
    assert (step.method, step.k) == ("local-suppression", 4)
