import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scipy.optimize import linprog

from discreet import protect
from discreet.errors import BadInput
from discreet.risk import (
    alpha_k_anonymity,
    beta_likeness,
    frequencies,
    l_diversity,
    t_closeness,
)
from discreet.risk.diversity import diversity_of

value = st.sampled_from([1, 2, 3, 5, 8, None])
people = st.lists(st.tuples(st.sampled_from(["a", "b", None]), value), min_size=1, max_size=16)
TREE = {1: ("low", "*"), 2: ("low", "*"), 3: ("mid", "*"), 5: ("mid", "*"), 8: ("high", "*")}


def as_table(rows):
    zips, cells = zip(*rows, strict=True)
    return pa.table({"zip": pa.array(zips, pa.string()), "x": pa.array(cells, pa.int64())})


def classes(rows):
    found = defaultdict(list)
    for key, cell in rows:
        found[key].append(cell)
    return list(found.values())


def shares(cells, values):
    counts = Counter(c for c in cells if c is not None)
    return [counts[v] / max(1, sum(counts.values())) for v in values]


def emd(p, q, ground):
    """Earth mover's distance by linear programming."""
    m = len(p)
    flow = np.zeros((2 * m, m * m))
    for i in range(m):
        flow[i, i * m : (i + 1) * m] = 1
        flow[m + i, i::m] = 1
    return linprog(np.ravel(ground), A_eq=flow, b_eq=[*p, *q]).fun


def ground_distance(distance, values):
    m = len(values)
    if distance == "equal":
        return [[float(a != b) for a in values] for b in values]
    if distance == "ordered":
        return [[abs(i - j) / max(1, m - 1) for i in range(m)] for j in range(m)]
    level = lambda a, b: 0 if a == b else 1 if TREE[a][0] == TREE[b][0] else 2  # noqa: E731
    return [[level(a, b) / 2 for a in values] for b in values]


@given(people, st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_t_closeness_against_linear_programming(rows, distance):
    values = sorted({v for _, v in rows if v is not None})
    found = t_closeness(
        as_table(rows), ["zip"], "x", distance=distance,
        hierarchy=TREE if distance == "hierarchical" else None,
    )  # fmt: skip
    q = shares([v for _, v in rows], values)
    expected = 0.0
    for cells in classes(rows):
        if any(c is not None for c in cells):
            cost = emd(shares(cells, values), q, ground_distance(distance, values))
            expected = max(expected, cost)
    assert found == pytest.approx(expected, abs=1e-9)


@given(people, st.permutations(["one", "two", "three", "five", "eight", "nobody's"]))
def test_listed_text_against_linear_programming(rows, order):
    words = {1: "one", 2: "two", 3: "three", 5: "five", 8: "eight"}
    rows = [(key, words.get(v)) for key, v in rows]
    zips, cells = zip(*rows, strict=True)
    table = pa.table({"zip": pa.array(zips, pa.string()), "x": pa.array(cells, pa.string())})
    found = t_closeness(table, ["zip"], "x", distance="ordered", order=order)
    values = [one for one in order if one in cells]
    q = shares(cells, values)
    expected = 0.0
    for own in classes(rows):
        if any(c is not None for c in own):
            cost = emd(shares(own, values), q, ground_distance("ordered", values))
            expected = max(expected, cost)
    assert found == pytest.approx(expected, abs=1e-9)
    groups = frequencies(table, ["zip"]).classes
    assert diversity_of(table["x"], "x", groups, order=order).t == found


@given(people)
def test_l_diversity_against_the_definitions(rows):
    data = as_table(rows)
    counts = [
        sorted(Counter(c for c in cells if c is not None).values(), reverse=True)
        for cells in classes(rows)
    ]
    assert l_diversity(data, ["zip"], "x") == min(len(r) for r in counts)
    entropies = [
        math.exp(-sum(x / sum(r) * math.log(x / sum(r)) for x in r)) if r else 0.0 for r in counts
    ]
    assert l_diversity(data, ["zip"], "x", kind="entropy") == pytest.approx(min(entropies))
    for c in (0.5, 1.0, 2.5):
        reached = [
            max([n for n in range(1, len(r) + 1) if r[0] < c * sum(r[n - 1 :])], default=0)
            for r in counts
        ]
        assert l_diversity(data, ["zip"], "x", kind="recursive", c=c) == min(reached)


@given(people)
def test_beta_and_alpha_against_the_definitions(rows):
    data = as_table(rows)
    values = sorted({v for _, v in rows if v is not None})
    q = shares([v for _, v in rows], values)
    gains, fits, alpha = [0.0], True, 0.0
    for cells in classes(rows):
        for p_v, q_v in zip(shares(cells, values), q, strict=True):
            alpha = max(alpha, p_v)
            if p_v > q_v:
                gains.append((p_v - q_v) / q_v)
                fits &= gains[-1] <= -math.log(q_v) + 1e-12
    assert beta_likeness(data, ["zip"], "x") == pytest.approx(max(gains))
    expected = max(gains) if fits else math.inf
    assert beta_likeness(data, ["zip"], "x", enhanced=True) == pytest.approx(expected)
    reached = alpha_k_anonymity(data, ["zip"], "x")
    assert reached.alpha == pytest.approx(alpha)
    assert reached.k == min(len(c) for c in classes(rows))


def test_ordered_categories_follow_their_own_order():
    size = pa.DictionaryArray.from_arrays([0, 1, 2, 2], ["small", "medium", "large"], ordered=True)
    size = size.cast(pa.dictionary(pa.int8(), pa.string(), ordered=True))
    data = pa.table({"zip": [1, 1, 2, 2], "x": size})
    numbers = pa.table({"zip": [1, 1, 2, 2], "x": [1, 2, 3, 3]})
    assert t_closeness(data, ["zip"], "x", distance="ordered") == pytest.approx(
        t_closeness(numbers, ["zip"], "x", distance="ordered")
    )


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_measure_goes_by_the_order_of_the_recipe(tmp_path, engine):
    """In plain numpy, of a release that holds the model."""
    rng = np.random.default_rng(2)
    order = ["none", "mild", "severe"]
    pain = pa.array(rng.choice(order, 120), mask=rng.random(120) < 0.1)
    table = pa.table({"zip": rng.choice(["11", "12", "21"], 120), "pain": pain})
    parquet.write_table(table, tmp_path / "people.parquet")
    listed = {"column": "pain", "distance": "ordered", "order": order}
    models = [{"model": "k-anonymity", "k": 3}, {"model": "t-closeness", "t": 0.4, **listed}]
    step = {
        "method": "generalize", "columns": ["zip"], "privacy": models,
        "hierarchies": {"zip": {"kind": "prefix"}},
    }  # fmt: skip
    roles = {"quasi": ["zip"], "confidential": ["pain"]}
    release = protect(tmp_path / "people.parquet", {"roles": roles, "steps": [step]}, engine=engine)
    found = release.assess().risk["diversity"]["columns"]["pain"]
    release.close()

    def reached(by):
        cells = list(zip(table["zip"].to_pylist(), pain.to_pylist(), strict=True))
        q = np.array(shares([cell for _, cell in cells], by))
        classes = ([c for key, c in cells if key == z] for z in ("11", "12", "21"))
        return max(np.abs(np.cumsum(shares(own, by) - q)).sum() / 2 for own in classes)

    assert found["before"]["t"] == pytest.approx(reached(order))
    assert found["after"]["t"] <= 0.4
    assert reached(order) != pytest.approx(reached(sorted(order)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: l_diversity(t, ["zip"], "x", kind="recursive"), "needs a c above 0"),
        (lambda t: l_diversity(t, ["zip"], "x", kind="l"), "kind must be"),
        (lambda t: t_closeness(t, ["zip"], "x", distance="far"), "distance must be"),
        (lambda t: t_closeness(t, ["x"], "zip", distance="ordered"), "'zip' is text and has no"),
        (lambda t: t_closeness(t, ["zip"], "x", distance="hierarchical"), "needs the hierarchy"),
        (lambda t: t_closeness(t, ["zip"], "x", order=["1"]), "order belongs to distance='ord"),
        (
            lambda t: t_closeness(t, ["x"], "zip", distance="ordered", order=["b", "c"]),
            "the order of 'zip' does not list 'a'; list all of them, from one end to the other",
        ),
        (
            lambda t: t_closeness(t, ["x"], "zip", distance="ordered", order=["a", "b", "a"]),
            "the order of 'zip' lists a value twice; list each once",
        ),
        (
            lambda t: t_closeness(t, ["zip"], "x", distance="ordered", order=["1", "2"]),
            "order lists text, but column 'x' is numeric; leave order out",
        ),
        (
            lambda t: t_closeness(t, ["zip"], "x", distance="hierarchical", hierarchy={2: ["*"]}),
            "the hierarchy of 'x' has no value 1",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(BadInput, match=message):
        call(as_table([("a", 1)]))


@given(people)
def test_three_at_once(rows):
    data = as_table(rows)
    found = diversity_of(data["x"], "x", frequencies(data, ["zip"]).classes)
    assert found.l == l_diversity(data, ["zip"], "x")
    assert found.t == t_closeness(data, ["zip"], "x", distance="ordered")
    assert found.alpha == alpha_k_anonymity(data, ["zip"], "x").alpha
