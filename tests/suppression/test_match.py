"""`match`: blanks on both sides fit anything; few cells, and every record fitted by k."""

from statistics import median

import numpy as np
import pytest

from discreet.draws import Draws
from discreet.suppression import _match
from discreet.suppression._match import solve_match
from discreet.suppression._own import solve_own
from discreet.suppression._problem import GONE, Demand, Infeasible
from tests.suppression.problems import (
    every,
    members,
    problem,
    random_problem,
    reference,
    violations,
)

ONE = Draws(1, "test")


@pytest.mark.parametrize("seed", range(200))
def test_every_record_is_fitted_by_k(seed):
    one = random_problem(seed)
    try:
        own = solve_own(one)
    except Infeasible as error:
        with pytest.raises(Infeasible, match=str(error)):
            solve_match(one)
        return
    found = solve_match(one, moves=50, draws=ONE)
    assert violations(one, found, "match") == 0
    if GONE not in own.masks:
        assert found.cost(one) <= own.cost(one) + 1e-9


@pytest.mark.parametrize("seed", range(60))
def test_no_blank_can_be_given_back_alone(seed):
    one = random_problem(seed)
    try:
        found = solve_match(one)
    except Infeasible:
        return
    if one.held is not None:
        return
    for i in range(len(found.tuples)):
        for c in range(one.codes.shape[1]):
            if found.masks[i] != GONE and found.masks[i] >> c & 1:
                assert violations(one, _without(found, i, c), "match") > 0


def _without(found, i, c):
    """Return the solution in which one member of entry i shows column c."""
    entries = list(zip(found.tuples, found.masks, found.members, strict=True))
    t, mask, number = entries[i]
    entries[i] = (t, mask, number - 1)
    left = mask & ~(1 << c)
    same = [e for e in entries if e[:2] == (t, left)]
    entries = [e for e in entries if e[2] and e[:2] != (t, left)]
    if left:
        entries.append((t, left, 1 + sum(e[2] for e in same)))
    columns = zip(*sorted(entries), strict=True) if entries else ((), (), ())
    tuples, masks, numbers = (np.array(x, np.int64) for x in columns)
    return type(found)(tuples, masks, numbers)


# sdcMicro's kAnon, and at most so many here.
FIGURES = [
    *(("testdata2_7", k, a, b) for k, a, b in ((2, 97, 54), (3, 117, 81), (5, 157, 109))),
    ("testdata2_7", 10, 247, 168),
    *(("testdata7", k, a, b) for k, a, b in ((3, 293, 167), (5, 500, 292), (10, 911, 530))),
    *(("free1_6", k, a, a) for k, a in ((3, 1502), (5, 2392), (10, 3702))),
    ("francdat4", 2, 4, 4),
    ("francdat4", 3, 9, 9),
    ("casc1", 2, 28, 28),
]


@pytest.mark.usefixtures("long_search")
def test_fewer_cells_than_sdcmicro():
    parts = []
    for name, k, kanon, most in FIGURES:
        one = problem(reference(name), k)
        found = solve_match(one, draws=ONE)
        assert found.cost(one) <= most, name
        if len(one.codes) < 100:
            assert violations(one, found, "match") == 0
        parts.append(found.cost(one) / kanon)
    assert median(parts) <= 0.65


@pytest.mark.parametrize(
    ("name", "sizes", "most"),
    [
        ("testdata2_7", {5: 10, 4: 20, 3: 30}, 248),
        ("testdata7", {3: 3}, 65),
        ("testdata7", {3: 10}, 242),
    ],
)
def test_combinations(name, sizes, most):
    one = problem(reference(name), demands=every(7, sizes))
    found = solve_match(one, draws=ONE)
    assert found.cost(one) <= most
    if name == "testdata2_7":
        assert violations(one, found, "match") == 0


@pytest.mark.parametrize(
    ("name", "kanon"), [("testdata7", 297), ("testdata2_7", 116), ("free1_6", 1556)]
)
def test_importance_in_the_order_of_columns(name, kanon):
    rows = reference(name)
    q = len(rows[0])
    one = problem(rows, 3, weights=np.arange(q, 0, -1))
    found = solve_match(one, draws=ONE)
    cells = (found.masks[:, None] >> np.arange(q) & 1).sum(axis=1) @ found.members
    assert cells <= 0.7 * kanon


def test_the_same_moves_give_the_same_blanks():
    one = problem(reference("testdata2_7"), 3)
    timed = solve_match(one, seconds=0.05, draws=ONE)
    again = solve_match(one, moves=timed.moves, draws=ONE)
    np.testing.assert_array_equal(timed.masks, again.masks)
    np.testing.assert_array_equal(timed.members, again.members)
    assert timed.moves > 0
    assert timed.trace["saved"] == again.trace["saved"]


def test_ctrl_c_keeps_what_whole_batches_of_moves_did(monkeypatch):
    one = problem(reference("testdata2_7"), 3)
    calls = []

    def interrupted(fits, *args):
        saved = _improve(fits, *args)
        calls.append(saved)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return saved

    _improve = _match.improve
    monkeypatch.setattr(_match, "improve", interrupted)
    stopped = solve_match(one, draws=ONE)
    monkeypatch.undo()
    # The first call only compiles.
    assert stopped.stopped
    assert stopped.moves == 2 * 512
    again = solve_match(one, moves=stopped.moves, draws=ONE)
    np.testing.assert_array_equal(stopped.masks, again.masks)


def test_nobody_gets_blanks_who_needs_none_alone():
    one = problem(reference("testdata7"), 3)
    own, found = solve_own(one), solve_match(one, draws=ONE)
    assert set(found.tuples) <= set(own.tuples)
    # Two records blanked as a whole would do for everybody: no record is made such a joker.
    most = one.price(own.masks, own.tuples)
    price = dict(zip(own.tuples.tolist(), most.tolist(), strict=True))
    assert all(
        p <= price[t]
        for t, p in zip(
            found.tuples.tolist(), one.price(found.masks, found.tuples).tolist(), strict=True
        )
    )


def test_lists_that_are_too_long_leave_blanks(monkeypatch):
    rows = reference("testdata2_7")
    for demands in ([Demand(127, 5)], every(7, {3: 5})):
        one = problem(rows, demands=demands)
        free = solve_match(one)
        monkeypatch.setattr(_match, "_PAIRS", 1000)
        monkeypatch.setattr(_match, "_ENOUGH", 3)
        short = solve_match(one, draws=ONE, moves=300)
        monkeypatch.undo()
        assert violations(one, short, "match") == 0
        assert free.cost(one) < short.cost(one) <= solve_own(one).cost(one)


def test_units_count_once():
    # Ten rows alike, but of one person: that is one.
    rows = [(1, 1)] * 10 + [(1, 2), (1, 3), (1, 4)]
    one = problem(rows, 3, units=[0] * 10 + [1, 2, 3])
    found = solve_match(one)
    assert violations(one, found, "match") == 0
    assert found.cost(one) > 0
    shown = [shown for _, shown, unit in members(one, found) if unit == 0]
    assert len(shown) == 1
