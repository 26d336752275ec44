"""MDAV, V-MDAV and CBFS against plain ones, written from the definitions with whole-number sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels import microaggregation
from discreet.kernels.microaggregation import cbfs, mdav, vmdav
from tests.examples import examples
from tests.kernels.test_mdav_tree import plain_distance

UNIT = 2.0**36
NO_UNITS = np.empty(0, np.int64)


class Plain:
    """The records that are left, and what is asked of them."""

    def __init__(self, points, mismatch, steps, units=NO_UNITS):
        self.points, self.mismatch, self.steps = points, mismatch, steps
        self.units = units if len(units) else range(len(points))
        self.left = list(range(len(points)))
        self.groups = []

    def many(self, rows):
        """What k counts."""
        return len({self.units[i] for i in rows})

    def centre(self, rows):
        centre = []
        for c in range(self.points.shape[1]):
            x = self.points[rows, c]
            if self.steps is not None and self.steps[c] > 0:
                codes = sorted(round(v / self.steps[c]) for v in x)
                if self.mismatch[c] > 0:
                    code = min(set(codes), key=lambda v: (-codes.count(v), v))
                else:
                    code = codes[(len(codes) - 1) // 2]
                centre.append(code * self.steps[c])
            else:
                centre.append(sum(int(v * UNIT) for v in x) / len(rows) / UNIT)
        return np.array(centre)

    def far(self, row, point):
        return plain_distance(self.points[row], point, self.mismatch)

    def farthest(self, point):
        return min(self.left, key=lambda i: (-self.far(i, point), i))

    def nearest(self, point):
        return min(self.left, key=lambda i: (self.far(i, point), i))

    def take(self, row, k):
        self.left.remove(row)
        self.groups.append([row])
        while self.many(self.groups[-1]) < k:
            self.groups[-1].append(self.nearest(self.points[row]))
            self.left.remove(self.groups[-1][-1])

    def labels(self):
        labels = np.full(len(self.points), -1)
        for number, rows in enumerate(self.groups):
            labels[rows] = number
        return labels


def plain_mdav(plain, k):
    while plain.many(plain.left) >= 3 * k:
        r = plain.farthest(plain.centre(plain.left))
        plain.take(r, k)
        plain.take(plain.farthest(plain.points[r]), k)
    # Again and again, where some of the units that were taken are still left.
    while plain.many(plain.left) >= 2 * k:
        plain.take(plain.farthest(plain.centre(plain.left)), k)
    plain.groups.append(plain.left)
    return plain.labels()


def plain_cbfs(plain, k):
    centre = plain.centre(plain.left)
    while plain.many(plain.left) >= 2 * k:
        plain.take(plain.farthest(centre), k)
    plain.groups.append(plain.left)
    return plain.labels()


def plain_vmdav(plain, k, gamma):
    root = math.sqrt if plain.mismatch is None else float
    centre = plain.centre(plain.left)
    while plain.many(plain.left) >= k:
        plain.take(plain.farthest(centre), k)
        group = plain.groups[-1]
        while plain.many(group) < 2 * k - 1 and len(plain.left) > 1:
            gap, e = min((min(plain.far(e, plain.points[i]) for i in group), e) for e in plain.left)
            out = min(plain.far(i, plain.points[e]) for i in plain.left if i != e)
            if not root(gap) <= gamma * root(out):
                break
            group.append(e)
            plain.left.remove(e)
    centres = [plain.centre(group) for group in plain.groups]
    for e in plain.left:
        joins = min(range(len(centres)), key=lambda g: (plain.far(e, centres[g]), g))
        plain.groups[joins] = [*plain.groups[joins], e]
    return plain.labels()


@st.composite
def tables(draw):
    n, p = draw(st.integers(1, 45)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    points = rng.normal(size=(n, p)) if draw(st.booleans()) else rng.integers(0, 3, (n, p)) / 2
    points = np.rint(points * UNIT) / UNIT
    mismatch = steps = None
    if draw(st.booleans()):
        kinds = rng.integers(0, 3, p)
        mismatch, steps = np.where(kinds == 1, 0.7, 0.0), np.array([0.0, 1.0, 0.3])[kinds]
        codes = rng.integers(0, 4, (n, p))
        points = np.where(kinds > 0, codes * steps, points)
    units = NO_UNITS
    if draw(st.booleans()):
        _, units = np.unique(rng.integers(0, draw(st.integers(1, n)), n), return_inverse=True)
    k = draw(st.integers(1, min(units.max() + 1 if len(units) else n, 6)))
    return np.ascontiguousarray(points), mismatch, steps, k, units


@given(tables())
@examples(200)
def test_mdav_makes_the_groups_of_the_plain_algorithm(table):
    points, mismatch, steps, k, units = table
    labels = np.empty(len(points), np.int64)
    groups = mdav(points, mismatch, steps, k, labels, units)
    plain = Plain(points, mismatch, steps, units)
    assert labels.tolist() == plain_mdav(plain, k).tolist()
    assert groups == labels.max() + 1
    sizes = np.array([plain.many(np.flatnonzero(labels == g)) for g in range(groups)])
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] <= 2 * k - 1


@given(tables())
def test_cbfs_makes_the_groups_of_the_plain_algorithm(table):
    points, mismatch, steps, k, units = table
    labels = np.empty(len(points), np.int64)
    assert cbfs(points, mismatch, steps, k, labels, units) == labels.max() + 1
    assert labels.tolist() == plain_cbfs(Plain(points, mismatch, steps, units), k).tolist()


@given(tables(), st.sampled_from([0.0, 0.2, 0.8, 5.0]))
def test_vmdav_makes_the_groups_of_the_plain_algorithm(table, gamma):
    points, mismatch, steps, k, units = table
    labels = np.empty(len(points), np.int64)
    assert vmdav(points, mismatch, steps, k, gamma, labels, units) == labels.max() + 1
    plain = Plain(points, mismatch, steps, units)
    assert labels.tolist() == plain_vmdav(plain, k, gamma).tolist()


def scanned_mdav(points, k):
    """The plain algorithm with numpy, for more records than the shell and the tree start with."""
    units = (points * UNIT).astype(np.int64)
    left, labels, group = np.arange(len(points)), np.full(len(points), -1), 0

    def squared(query):
        total = np.zeros(len(left))
        for c in range(points.shape[1]):
            total += (points[left, c] - query[c]) * (points[left, c] - query[c])
        return total

    def take(r):
        nonlocal left, group
        left = left[left != r]
        far = squared(points[r])
        chosen = left[np.lexsort((left, far))[: k - 1]]
        labels[r] = labels[chosen] = group
        left, group = np.setdiff1d(left, chosen), group + 1

    while len(left) >= 2 * k:
        r = left[np.argmax(squared(units[left].sum(axis=0) / len(left) / UNIT))]
        pair = len(left) >= 3 * k
        take(r)
        if pair:
            take(left[np.argmax(squared(points[r]))])
    labels[left] = group
    return labels


@pytest.mark.parametrize(
    "cloud",
    [
        lambda rng: rng.normal(size=(2000, 3)),
        lambda rng: rng.lognormal(size=(1500, 5)),
        lambda rng: rng.integers(0, 6, (1500, 3)) / 4,
        lambda rng: np.r_[rng.normal(size=(800, 2)), np.zeros((800, 2))],
        lambda rng: np.exp(2j * np.pi * rng.random(1500))[:, None].view(float),  # all equally far
        lambda rng: np.where(rng.random((1500, 1)) < 0.9, 0.0, rng.lognormal(size=(1500, 2))),
        # The shell is all of one depth.
        lambda rng: np.repeat([1.0, -1.0, 0.0], [300, 300, 1200])[:, None],
    ],
    ids=["normal", "heavy tails", "ties", "half equal", "circle", "zeros", "two ends"],
)
def test_thousands_of_records_by_a_scan(cloud):
    points = np.rint(cloud(np.random.default_rng(5)) * UNIT) / UNIT
    labels = np.empty(len(points), np.int64)
    for k in (3, 40):
        mdav(points, None, None, k, labels, NO_UNITS)
        assert (labels == scanned_mdav(points, k)).all()


def looked_at(monkeypatch, points, k):
    """Leaves of the tree and runs of the shell that MDAV looks at."""
    searches, runs = [], []

    def new_search(most, make=microaggregation.new_search):
        searches.append(make(most))
        return searches[-1]

    def outermost(*args, find=microaggregation._outermost):
        found = find(*args)
        runs.append(found[2])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(microaggregation, "new_search", new_search)
        patch.setattr(microaggregation, "_outermost", outermost)
        mdav.py_func(points, None, None, k, np.empty(len(points), np.int64), NO_UNITS)
    return int(searches[0].opened[0]) + sum(runs)


@pytest.mark.parametrize(
    "cloud",
    [
        lambda rng, n: np.where(rng.random((n, 1)) < 0.9, 0.0, rng.lognormal(size=(n, 2))),
        lambda rng, n: rng.integers(0, 2, (n, 2)) / 1.0,
        lambda rng, n: np.zeros((n, 2)),
    ],
    ids=["90 % zeros", "four points", "equal"],
)
def test_equal_records_cost_no_more_than_others(cloud, monkeypatch):
    small, large = (
        looked_at(monkeypatch, np.rint(cloud(np.random.default_rng(1), n) * UNIT) / UNIT, 5)
        for n in (5000, 20_000)
    )
    assert large < 8 * small
    assert large < 5 * 20_000
