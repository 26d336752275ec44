"""The intruder who takes columns together that move alike: against plain numpy and plain loops."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.perturbation import Noise, RankSwap
from discreet.risk import _together, informed, informed_linkage
from discreet.risk._found import Sheet
from discreet.risk._tells import UNIT, Tells
from discreet.risk._together import Together


def related(n=600, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, p))


def released(x, seeds, kind="correlated", scale=1.0, **more):
    return [Noise(kind, scale, random_state=s, **more).fit_transform(x) for s in seeds]


def column_by_column(monkeypatch, *args, **more):
    with monkeypatch.context() as patch:
        patch.setattr(informed, "together", lambda *_: None)
        return informed_linkage(*args, **more)


def nearest(x, y, pairs, rows):
    """Chance with which rows are found by lines and a covariance that pairs of records show."""
    own, after = pairs
    lines = [np.polyfit(a, b, 1) for a, b in zip(own.T, after.T, strict=True)]

    def expected(values):
        columns = zip(lines, values.T, strict=True)
        return np.column_stack([np.polyval(line, column) for line, column in columns])

    inverse = np.linalg.inv(np.cov((after - expected(own)).T))
    hits = []
    for row in rows:
        apart = y[row] - expected(x)
        distances = ((apart @ inverse) * apart).sum(axis=1)
        best = distances <= distances.min() + 1e-5
        hits.append(best[row] / best.sum())
    return np.array(hits)


def test_correlated_noise_is_undone_as_by_plain_numpy(monkeypatch):
    x = related()
    y, *reruns = released(x, range(4))
    alone = column_by_column(monkeypatch, x, y, reruns=reruns)
    found = informed_linkage(x, y, reruns=reruns, detail=True)
    pairs = np.vstack([x] * 3), np.vstack(reruns)
    np.testing.assert_allclose(found.records, nearest(x, y, pairs, range(600)))
    assert found.together == ("x0", "x1", "x2", "x3")
    assert found.value > 2 * alone > 0.01
    print(f"column by column {alone:.1%}, together {found.value:.1%}")


def test_halves_of_the_release_learn_from_each_other(monkeypatch):
    x = related(seed=1)
    [y] = released(x, [1])
    found = informed_linkage(x, y, detail=True)
    order = np.random.default_rng(0).permutation(600)
    for mine, other in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        by_hand = nearest(x, y, (x[other], y[other]), mine)
        np.testing.assert_allclose(found.records[mine], by_hand)
    assert found.value > 2 * column_by_column(monkeypatch, x, y)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("correlated", {}),
        ("correlated", {"match_ranks": True}),
        ("correlated-logarithmic", {}),
        ("correlated-logarithmic", {"match_ranks": True}),
    ],
)
def test_whatever_the_scale_it_finds_more(monkeypatch, census, kind, more):
    y, *reruns = released(census, range(4), kind, 0.6, **more)
    alone = column_by_column(monkeypatch, census, y, reruns=reruns)
    found = informed_linkage(census, y, reruns=reruns, detail=True)
    assert len(found.together) > 10
    assert found.value > 1.8 * alone
    assert informed_linkage(census, y) == pytest.approx(found.value, abs=0.05)


@pytest.mark.parametrize("method", [Noise, partial(Noise, "multiplicative"), partial(RankSwap, 40)])
@pytest.mark.parametrize("seed", [1, 2])
def test_columns_that_move_by_themselves_are_not_taken_together(monkeypatch, method, seed):
    x = np.exp(related(800, seed=seed))
    y, *reruns = (method(random_state=seed + s).fit_transform(x) for s in (0, 100, 200))
    for learned in ([], reruns):
        found = informed_linkage(x, y, reruns=learned, detail=True)
        assert found.together == ()
        assert found.value == column_by_column(monkeypatch, x, y, reruns=learned)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_independent_noise_is_no_better_undone_together(monkeypatch, seed):
    x = related(1000, seed=seed)
    y, *reruns = released(x, range(seed, seed + 4), "additive", 0.3)
    alone = column_by_column(monkeypatch, x, y, reruns=reruns)
    # As if any correlation were enough.
    monkeypatch.setattr(_together, "_LEAST", 0.0)
    monkeypatch.setattr(_together, "_ERRORS", 0.0)
    found = informed_linkage(x, y, reruns=reruns)
    assert alone <= found < alone + 3 * np.sqrt(alone * (1 - alone) / 1000)


def mixed(n=700, seed=3):
    """Two pairs of columns that move alike, one that is swapped, nulls, and labels."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([related(n, 2, seed), np.exp(related(n, 2, seed + 1)), rng.normal(size=n)])
    x[rng.random(x.shape) < 0.05] = np.nan
    job, sex = rng.choice(list("abc"), n), rng.choice(["f", "m"], n)

    def table(v):
        return pa.table({**{f"v{i}": v[:, i] for i in range(5)}, "job": job, "sex": sex})

    def run(s):
        pairs = released(x[:, :2], [s]), released(x[:, 2:4], [s + 50], "correlated-logarithmic")
        swapped = RankSwap(40, random_state=s).fit_transform(x[:, 4:])
        return table(np.column_stack([*pairs[0], *pairs[1], swapped]))

    return table(x), [run(s) for s in range(4)]


def test_other_columns_add_what_they_tell(monkeypatch):
    before, (after, *reruns) = mixed()
    found = informed_linkage(before, after, reruns=reruns, detail=True)
    assert found.together == ("v0", "v1", "v2", "v3")
    assert found.value > 1.2 * column_by_column(monkeypatch, before, after, reruns=reruns)
    for gone in ("v4", "job"):
        known = [name for name in before.column_names if name != gone]
        assert informed_linkage(before, after, known=known, reruns=reruns) < found.value


def test_untouched_labels_leave_only_their_equals():
    x = related(500, 3)
    y, *reruns = released(x, range(4))
    label = np.random.default_rng(0).choice(list("abcd"), 500)

    def table(v):
        return pa.table({"a": v[:, 0], "b": v[:, 1], "c": v[:, 2], "label": label})

    found = informed_linkage(table(x), table(y), reruns=[table(r) for r in reruns], detail=True)
    pairs = np.vstack([x] * 3), np.vstack(reruns)
    for one in "abcd":
        rows = np.flatnonzero(label == one)
        by_hand = nearest(x[rows], y[rows], pairs, range(len(rows)))
        np.testing.assert_allclose(found.records[rows], by_hand)


def plain_sum(moved, tells, i, j):
    """The sum of released record i for original j, as it is defined."""
    total, z = 0.0, []
    for k, (x, y) in enumerate(zip(moved.x[j], moved.y[i], strict=True)):
        if np.isnan(x) or np.isnan(y):
            z.append(0.0)
            total += moved.nulls[k, 2 * int(np.isnan(x)) + int(np.isnan(y)) - 1]
        else:
            z.append((y - x - moved.root[k, :k] @ z[:k]) / moved.root[k, k])
            total += moved.peaks[k] - z[k] ** 2 / 2
    return round(UNIT * total) + sum(int(one.table[one.rows[i], one.codes[j]]) for one in tells)


@pytest.mark.parametrize("seed", range(12))
def test_hits_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    n, p, others = 60, 1 + seed % 3, seed % 4
    x = rng.normal(size=(n, p)).round(1)
    y = x + 0.3 * rng.normal(size=(n, p)).round(1)
    x[rng.random(x.shape) < 0.1], y[rng.random(x.shape) < 0.1] = np.nan, np.nan
    root = np.tril(rng.normal(0, 0.1, (p, p)), -1) + np.diag(rng.uniform(0.2, 0.4, p))
    moved = Together(tuple("abc"[:p]), x, y, root, rng.random(p), rng.normal(size=(p, 3)))
    tells = [
        Tells(rng.integers(0, 4, n), 4, 1.0, np.empty(0, np.int32), rows=rng.integers(0, 3, n),
              table=rng.integers(-3 * UNIT, UNIT, (3, 4)).astype(np.int32))
        for _ in range(others)
    ]  # fmt: skip
    rows = np.sort(rng.permutation(n)[:40])
    sheet = Sheet(rows)
    hits = sheet.hits_together([sheet.add(one) for one in tells], moved)
    for i, hit in zip(rows, hits, strict=True):
        sums = np.array([plain_sum(moved, tells, i, j) for j in range(n)])
        expected = (sums[i] == sums.max()) / (sums == sums[i]).sum()
        assert hit == pytest.approx(expected)


def test_the_same_whatever_the_number_of_threads(monkeypatch):
    before, (after, *reruns) = mixed()
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("discreet.threads.cores", lambda threads=threads: threads)
        found.append(informed_linkage(before, after, reruns=reruns, detail=True))
    np.testing.assert_array_equal(found[0].records, found[1].records)
    assert found[0].value == found[1].value


@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_few_records_and_columns_that_others_determine(n):
    x = related(n, 2)
    x = np.column_stack([x, x.sum(axis=1), np.zeros(n)])
    y = x + related(n, 1, seed=5)
    found = informed_linkage(x, y, detail=True)
    assert 0 <= found.value <= found.largest <= 1
    everything_gone = informed_linkage(x, np.where(np.arange(n)[:, None] % 2, np.nan, y))
    assert 0 <= everything_gone <= 1


def test_an_assessment_names_the_columns():
    x = related()
    table = pa.table({f"v{i}": x[:, i] for i in range(4)})
    step = {"method": "noise", "columns": table.column_names, "scale": 1.0}
    for kind, names in (("correlated", table.column_names), ("additive", None)):
        recipe = {"roles": {"quasi": table.column_names}, "steps": [{**step, "kind": kind}]}
        entry = protect(table, recipe).assess().risk["informed_linkage"]
        assert entry.get("together") == names
