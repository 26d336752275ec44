"""Roll-up, counting and penalties of lattice nodes against plain Python."""

import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.generalization._tuples import collapse, lay_out
from discreet.generalization.ladder import Ladder
from discreet.generalization.models import AlphaKAnonymity, KAnonymity, LDiversity
from discreet.generalization.privacy import bind
from discreet.kernels import lattice as kernels
from tests.examples import examples
from tests.generalization.test_search import as_table, tables


def ladder_of(tree):
    labels = [list(dict.fromkeys(level)) for level in zip(*tree.values(), strict=True)]
    maps = [
        [names.index(path[level]) for path in tree.values()] for level, names in enumerate(labels)
    ]
    return Ladder(
        as_table(["a"], [(x,) for x in tree], [1] * len(tree))["a"].chunk(0),
        labels,
        np.array(maps, np.int32),
    )


def laid_out(example, privacy, units=None):
    columns, forest, records, ill = example
    ladders = [ladder_of(tree) for tree in forest]
    codes = [
        np.array([list(tree).index(r[a]) for r in records], np.int32)
        for a, tree in enumerate(forest)
    ]
    ill_of = {"ill": as_table(columns, records, ill)["ill"]}
    bound = bind(privacy, ill_of, len(records), units=units)
    return ladders, *collapse(lay_out(ladders), codes, bound), bound


def as_dict(tuples, table, ladders, node, places):
    """Classes by their labels: records and counts of confidential values."""
    found = {}
    for c, size in enumerate(table.counts):
        key = tuple(
            ladders[a].labels[node[a]][
                int(
                    (table.keys[tuples.lattice.word[a], c] >> tuples.lattice.shift[a])
                    & tuples.lattice.mask[a]
                )
            ]
            for a in range(len(ladders))
        )
        entries = range(table.starts[c], table.starts[c + 1]) if places else ()
        assert key not in found
        found[key] = (size, {int(table.values[e]): int(table.numbers[e]) for e in entries})
    return found


@examples(60)
@given(example=tables(), data=st.data(), confidential=st.booleans())
def test_classes_are_rolled_up_from_any_finer_node(example, data, confidential):
    _, forest, records, ill = example
    privacy = [LDiversity(2, column="ill")] if confidential else [KAnonymity(2)]
    ladders, tuples, ids, _ = laid_out(example, privacy)
    assert [
        tuple(t) for t in zip(*(tuples.codes(a)[ids] for a in range(len(forest))), strict=True)
    ] == [tuple(list(tree).index(v) for tree, v in zip(forest, r, strict=True)) for r in records]
    middle = np.array([data.draw(st.integers(0, ladder.height)) for ladder in ladders])
    top = np.array(
        [
            data.draw(st.integers(m, ladder.height))
            for m, ladder in zip(middle, ladders, strict=True)
        ]
    )
    step, _ = kernels.roll_up(tuples.lattice, tuples.table, np.zeros_like(middle), middle)
    table, _ = kernels.roll_up(tuples.lattice, step, middle, top)
    expected: dict = {}
    order = list(dict.fromkeys(v for v in ill if v is not None))
    for record, value in zip(records, ill, strict=True):
        key = tuple(tree[v][level] for tree, v, level in zip(forest, record, top, strict=True))
        size, counts = expected.get(key, (0, Counter()))
        if value is not None and confidential:
            counts[order.index(value)] += 1
        expected[key] = (size + 1, counts)
    assert as_dict(tuples, table, ladders, top, confidential) == expected


@examples(100)
@given(example=tables(), data=st.data(), k=st.integers(1, 6))
def test_units_of_classes_are_counted_once(example, data, k):
    _, forest, records, ill = example
    units = data.draw(st.lists(st.integers(0, 7), min_size=len(ill), max_size=len(ill)))
    units[:6] = range(6)
    privacy = [AlphaKAnonymity(0.5, k, column="ill")]
    ladders, tuples, _, bound = laid_out(example, privacy, np.array(units))
    node = np.array([data.draw(st.integers(0, ladder.height)) for ladder in ladders])
    middle = np.array([data.draw(st.integers(0, level)) for level in node])
    step, _ = kernels.roll_up(tuples.lattice, tuples.table, np.zeros_like(node), middle)
    table, _ = kernels.roll_up(tuples.lattice, step, middle, node)
    order = list(dict.fromkeys(v for v in ill if v is not None))
    expected: dict = {}
    for record, value, unit in zip(records, ill, units, strict=True):
        key = tuple(tree[v][level] for tree, v, level in zip(forest, record, node, strict=True))
        rows, held = expected.setdefault(key, ([], set()))
        rows.append(unit)
        if value is not None:
            held.add((unit, order.index(value)))
    found = as_dict(tuples, table, ladders, node, True)
    for c, (key, (size, counts)) in enumerate(found.items()):
        rows, held = expected[key]
        counts = Counter(counts)
        for e in range(*table.shared.starts[c : c + 2]) if len(table.shared.starts) > 1 else ():
            counts[int(table.shared.place[table.shared.holdings[e]])] += 1
        among = counts.pop(bound.rules.units)
        assert counts.pop(bound.rules.units + 1, 0) >= len(held)
        assert size == len(rows)
        assert min(among, k) == min(len(set(rows)), k)
        assert counts == Counter(v for _, v in held)
    out, least = kernels.judge(bound.rules, table)
    for (rows, held), gone, sure in zip((expected[key] for key in found), out, least, strict=True):
        share = max(Counter(v for _, v in held).values(), default=0) / max(len(held), 1)
        assert (gone > 0) == (len(set(rows)) < k or share > 0.5 + 1e-9)
        assert sure <= gone in (0, len(rows))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**63), st.integers(0, 1)), max_size=40)
)
def test_keys_of_several_words_are_numbered_alike_where_all_words_are(rows):
    keys = np.array(rows, np.uint64).reshape(-1, 3).T.copy()
    ids, first = kernels.number(kernels.fold(keys), float(len(rows)))
    seen: dict = {}
    expected = [seen.setdefault(row, len(seen)) for row in rows]
    assert ids.tolist() == expected
    assert [rows[i] for i in first] == list(seen)


def test_more_columns_than_one_word_holds():
    tree = {f"x{i}": [f"x{i}", f"{i // 4}", "*"] for i in range(300)}
    ladders = [ladder_of(tree)] * 9
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 300, 50).astype(np.int32) for _ in ladders]
    codes = [np.concatenate([c, c[:20]]) for c in codes]
    lattice = lay_out(ladders)
    assert lattice.word.max() == 1
    tuples, ids = collapse(lattice, codes, bind([KAnonymity(2)], {}, 70))
    assert len(tuples.table.counts) == 50
    assert ids[50:].tolist() == ids[:20].tolist()
    node = np.array([1] * 8 + [2])
    table, _ = kernels.roll_up(lattice, tuples.table, np.zeros(9, np.int64), node)
    expected = Counter(zip(*(c // 4 for c in codes[:8]), strict=True))
    assert sorted(table.counts.tolist()) == sorted(expected.values())


def test_the_smallest_finer_node_is_taken():
    levels = np.array([[0, 0], [1, 0], [0, 2], [1, 1]])
    sizes = np.array([100, 50, 20, 10])
    for target in itertools.product(range(3), range(3)):
        fitting = [i for i in range(4) if (levels[i] <= target).all()]
        best = min(fitting, key=lambda i: sizes[i])
        assert kernels.smallest_finer(levels, sizes, 4, np.array(target)) == best


def test_the_most_of_the_coarser_nodes_is_taken_by_column():
    levels = np.array([[2, 2], [1, 2], [2, 0], [1, 1], [9, 9]])
    numbers = np.array([[1.0, 5.0], [3.0, 2.0], [np.inf, 9.0], [4.0, 1.0], [99.0, 99.0]])
    for target in itertools.product(range(4), range(4)):
        above = [numbers[i] for i in range(4) if (levels[i] >= target).all()]
        expected = np.max([np.zeros(2), *above], axis=0)
        found = kernels.most_of_coarser(levels, numbers, 4, np.array(target))
        assert found.tolist() == expected.tolist()
