"""The search near the best node: no worse than without it, true, and the same again."""

import contextlib
import itertools
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy, KAnonymity, LDiversity
from discreet.generalization.search import Search
from tests.examples import examples
from tests.generalization.test_privacy import models
from tests.generalization.test_search import ADULT, QUALITIES, as_method, as_table, tables

COLUMNS = [f"c{a}" for a in range(14)]


@contextlib.contextmanager
def large(nodes):
    """Lattices of so many nodes are large."""
    before, Search.large = Search.large, nodes
    try:
        yield
    finally:
        Search.large = before


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the search ended with a gap")
        yield


def many_columns(n=400, nulls=False, seed=0):
    """Fourteen columns of six values each, skewed, in pairs that depend on each other."""
    rng = np.random.default_rng(seed)
    columns, codes = {}, np.zeros(n, np.int64)
    for a, name in enumerate(COLUMNS):
        fresh = np.minimum(rng.geometric(0.45, n) - 1, 5)
        codes = np.where(rng.random(n) < 0.7, codes, fresh) if a % 2 else fresh
        gone = rng.random(n) < 0.01 if nulls and a < 3 else np.zeros(n, bool)
        columns[name] = pa.array([f"v{code}" for code in codes], mask=gone)
    columns["ill"] = pa.array(rng.integers(0, 4, n))
    return pa.table(columns)


def generalize(table=None, units=None, **options):
    rows = [[f"v{i}", f"g{i // 2}", f"h{i // 4}", "*"] for i in range(6)]
    hierarchies = {name: Hierarchy.from_table(rows) for name in COLUMNS}
    options = {"privacy": [KAnonymity(3)], "suppression_limit": 0.1} | options
    method = Generalize(hierarchies, **options)
    return method.fit(many_columns() if table is None else table, units=units)


def proofs(method):
    found = method.certificate_
    return found if isinstance(found, list) else [found]


def fifteen_columns(limit, evaluations):
    """Adult's eight keys, and seven of them again in another order of the records."""
    table, paths = load_adult(), adult_hierarchy_paths()
    rng = np.random.default_rng(0)
    columns = {name: table[name] for name in ADULT}
    for name in ADULT[:7]:
        columns[f"{name} of others"] = table[name].take(rng.permutation(table.num_rows))
    hierarchies = {name: Hierarchy.from_csv(paths[name.split(" ")[0]]) for name in columns}
    method = Generalize(
        hierarchies, [KAnonymity(5)], suppression_limit=limit, evaluations=evaluations
    )
    return method.fit(pa.table(columns)).certificate_


@pytest.mark.parametrize(
    ("limit", "evaluations", "at_most"),
    [(0.05, 90, 1.0), (0.05, 700, 0.4583), (1.0, 700, 0.4298), (0.0, 700, 1.0)],
)
def test_it_is_no_worse_than_without(limit, evaluations, at_most):
    with large(float("inf")):
        without = fifteen_columns(limit, evaluations)
    found = fifteen_columns(limit, evaluations)
    assert found.optimum <= min(without.optimum, at_most)
    assert found.bound <= found.optimum
    if at_most < 1:
        # Branch and bound takes 9,000 evaluations to come so far.
        assert found.optimum < without.optimum


@examples(60)
@given(
    example=tables(nulls=True),
    privacy=st.lists(models(), min_size=1, max_size=2),
    quality=st.sampled_from(QUALITIES),
    limit=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
)
def test_the_optimum_of_a_small_lattice_is_proven(example, privacy, quality, limit):
    columns, forest, records, ill = example
    options = {"quality": quality, "suppression_limit": limit}
    table = as_table(columns, records, ill)

    def fitted(**more):
        """The method, or what it is refused for."""
        try:
            return as_method(columns, forest, privacy, **options, **more).fit(table)
        except BadInput as refused:
            return str(refused)

    expected = fitted()
    with large(0):
        found = fitted(evaluations=10_000)
    if isinstance(expected, str):
        assert found == expected
        return
    assert found.levels_ == expected.levels_
    assert found.quality_ == expected.quality_
    assert found.certificate_.proven


@examples(60)
@given(
    example=tables(nulls=True),
    k=st.integers(1, 4),
    quality=st.sampled_from(QUALITIES),
    budget=st.integers(1, 40),
)
def test_a_bound_is_true_and_a_rerun_the_same(example, k, quality, budget):
    columns, forest, records, ill = example
    table = as_table(columns, records, ill)
    options = {"quality": quality, "suppression_limit": 1.0}
    best = as_method(columns, forest, [KAnonymity(k)], **options).fit(table).quality_
    with large(0):
        one = as_method(columns, forest, [KAnonymity(k)], evaluations=budget, **options).fit(table)
        spent = one.certificate_.evaluations
        again = as_method(columns, forest, [KAnonymity(k)], evaluations=spent, **options).fit(table)
    assert one.certificate_.bound <= best * (1 + 1e-12) + 1e-12
    assert one.certificate_.optimum >= best * (1 - 1e-12) - 1e-12
    assert again.levels_ == one.levels_
    assert again.certificate_ == one.certificate_


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"suppression_limit": 1.0},
        {"local": True, "suppression_limit": 1.0},
        {"publish_minimal": False, "random_state": 3},
        {"null_policy": "match"},
        {"null_policy": "segregate", "suppression_limit": 1.0},
        {"privacy": [KAnonymity(3), LDiversity(2, column="ill")]},
        {"quality": "average-class"},
    ],
)
@pytest.mark.parametrize(
    ("seconds", "counted"),
    [
        (0.1, False),
        (0.4, True),
        pytest.param(0.1, True, marks=pytest.mark.slow),
        pytest.param(0.4, False, marks=pytest.mark.slow),
    ],
)
def test_evaluations_repeat_what_a_time_limit_gave(seconds, counted, options):
    """A time limit may end it anywhere: in the descent, near the best node, or in the proof."""
    table = many_columns(nulls="null_policy" in options)
    units = np.arange(table.num_rows) // 2 if counted else None
    one = generalize(table, units, time_limit=seconds, **options)
    spent = [proof.evaluations for proof in proofs(one)]
    again = generalize(table, units, evaluations=spent, **options)
    assert again.levels_ == one.levels_
    # Time may end after the last node, when the proof has gone a little further: the bound of the
    # rerun is then lower, and as true.
    rerun = [replace(proof, bound=0.0) for proof in proofs(again)]
    assert rerun == [replace(proof, bound=0.0) for proof in proofs(one)]
    assert all(a.bound <= b.bound for a, b in zip(proofs(again), proofs(one), strict=True))


def test_more_evaluations_only_go_on():
    """What is found depends on the evaluations made, not on how many there are to be."""
    found = [generalize(evaluations=e).quality_ for e in (30, 100, 200, 400, 800, 1600)]
    assert found == sorted(found, reverse=True)
    shown = [str(generalize(evaluations=700).certificate_) for _ in range(2)]
    assert shown[0] == shown[1]


def test_columns_pinned_to_levels_stay():
    pins = {name: [1, 2] for name in COLUMNS[::2]}
    with large(0):
        found = generalize(levels=pins, evaluations=800).levels_[0]["levels"]
    assert all(1 <= found[name] <= 2 for name in pins)


def test_levels_that_no_node_has_leave_the_proof():
    """Every value of one column is rare: its lowest level is ruled out for all nodes at once."""
    n = 300
    table = many_columns(n)
    rare = pa.array([f"r{i}" for i in range(n)])
    rows = [[f"r{i}", f"s{i // 150}", "*"] for i in range(n)]
    hierarchies = {"rare": Hierarchy.from_table(rows)}
    hierarchies |= {
        name: Hierarchy.from_table([[f"v{i}", f"g{i // 3}", "*"] for i in range(6)])
        for name in COLUMNS[:4]
    }
    data = table.select(COLUMNS[:4]).append_column("rare", rare)
    options = {"suppression_limit": 0.05}
    expected = Generalize(hierarchies, [KAnonymity(4)], **options).fit(data)
    with large(0):
        found = Generalize(hierarchies, [KAnonymity(4)], evaluations=10_000, **options).fit(data)
    assert found.certificate_.proven
    assert found.levels_ == expected.levels_
    every = itertools.product(range(3), repeat=5)
    assert found.certificate_.evaluations < len(list(every))


def test_local_recoding_of_many_columns_goes_by_its_own_rounds():
    rng = np.random.default_rng(0)
    table = pa.table({f"c{i}": rng.integers(0, 6, 200) for i in range(14)})
    widths = Hierarchy.intervals(widths=[2, 4])
    method = Generalize(dict.fromkeys(table.column_names, widths), KAnonymity(4), local=True)
    treated = method.set_params(suppression_limit=1.0).fit_transform(table).to_pandas()
    sizes = treated.groupby(list(treated.columns)).size()
    assert sizes.min() >= 4
