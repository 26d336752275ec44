"""The refinement: never worse, stoppable, and the same again with the same number of moves."""

import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import threads
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.microaggregation import Microaggregation, _refine
from tests.examples import examples


def cloud(n=400, p=3, seed=0):
    return np.random.default_rng(seed).lognormal(size=(n, p))


@given(
    st.integers(5, 150),
    st.integers(2, 6),
    st.integers(0, 999),
    st.sampled_from(["mdav", "vmdav", "cbfs"]),
)
@examples(40)
def test_more_moves_never_lose_more_and_no_group_falls_under_k(n, k, seed, algorithm):
    k = min(k, n)
    x = np.random.default_rng(seed).integers(0, 6, (n, 2)).astype(float)
    losses = []
    for moves in (0, 3, 20, 60):
        method = Microaggregation(k, algorithm, refine_moves=moves, random_state=seed).fit(x)
        assert method.moves_ in (0, moves)  # 0: one group cannot be refined
        assert np.bincount(method.groups_).min() >= k
        losses.append(method.loss_)
    assert (np.diff(losses) <= 1e-9).all()


def test_what_is_shown_on_the_way_never_rises_and_is_what_comes_out():
    x = cloud()
    labels = Microaggregation(4).fit(x).groups_
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    search = _refine.Refinement(z, labels, [np.arange(400)], 4, Draws(1))
    seen = []
    search.run(0.0, 300, lambda s: seen.append(s.gained))
    assert (np.diff(seen) >= 0).all()
    assert len(seen) > 3

    def squares(groups):
        return sum(((z[groups == g] - z[groups == g].mean(axis=0)) ** 2).sum() for g in set(groups))

    assert squares(labels) - squares(search.labels) == pytest.approx(seen[-1])


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(monkeypatch):
    x = cloud(3000)
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(threads, "cores", lambda cores=cores: cores)
        found.append(
            Microaggregation(3, refine_moves=400, random_state=7).fit_transform(x).tobytes()
        )
    assert found[0] == found[1] == found[2]
    assert (
        Microaggregation(3, refine_moves=400, random_state=8).fit_transform(x).tobytes() != found[0]
    )


def test_a_budget_in_seconds_is_kept_and_its_moves_give_the_same_again():
    x = cloud(2000)
    Microaggregation(5, refine_moves=1).fit(x)
    started = time.monotonic()
    timed = Microaggregation(5, refine=0.5, random_state=3).fit(x)
    assert 0.5 <= time.monotonic() - started < 20
    again = Microaggregation(5, refine_moves=timed.moves_, random_state=3).fit(x)
    assert (again.groups_ == timed.groups_).all()
    outcome = Microaggregation(5, refine=0.1).run({"x": x[:, 0]}, lambda name: Draws(1, name))
    assert outcome.fixed == {"refine": 0.0, "refine_moves": outcome.joint["moves"]}
    again = Microaggregation(5, **outcome.fixed).run({"x": x[:, 0]}, lambda name: Draws(1, name))
    assert again.fixed == {}
    assert (again.joint["groups"] == outcome.joint["groups"]).all()


def test_ctrl_c_gives_the_best_so_far(monkeypatch):
    x = cloud(1000)
    rounds = []

    def interrupted(work, n, chunk):
        if len(rounds) == 3:
            raise KeyboardInterrupt
        rounds.append(n)
        return threads.over_ranges(work, n, chunk)

    monkeypatch.setattr(_refine, "over_ranges", interrupted)
    with pytest.warns(UserWarning, match="stopped") as caught:
        stopped = Microaggregation(5, refine=1000.0, random_state=2).fit(x)
    monkeypatch.undo()
    assert str(caught[0].message) == (
        f"the refinement was stopped after {stopped.moves_} moves; the best so far is kept"
    )
    assert stopped.loss_ < Microaggregation(5).fit(x).loss_
    again = Microaggregation(5, refine_moves=stopped.moves_, random_state=2).fit(x)
    assert (again.groups_ == stopped.groups_).all()


def test_ctrl_c_while_results_are_taken_over_takes_none(monkeypatch):
    x = cloud(6000)
    labels = Microaggregation(3).fit(x).groups_
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    search = _refine.Refinement(z, labels, [np.arange(6000)], 3, Draws(1))
    calls = []

    class Interrupted:
        """numpy, but for a Ctrl-C after the second chunk."""

        def __getattr__(self, name):
            return getattr(np, name)

        def concatenate(self, arrays):
            calls.append(arrays)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return np.concatenate(arrays)

    monkeypatch.setattr(_refine, "np", Interrupted())
    search.run(1000.0, None)
    assert (search.stopped, len(calls)) == (True, 3)
    assert (search.labels == labels).all()
    assert (search.moves, search.gained) == (0, 0.0)


@pytest.mark.parametrize("budget", [{"refine": 1.0}, {"refine_moves": 5}])
def test_too_many_labels_to_refine_are_refused(budget):
    n = 20_000
    table = pd.DataFrame({"x": np.arange(n) / n, "t": [f"{i % 4000}" for i in range(n)]})
    with pytest.raises(BadInput) as error:
        Microaggregation(5, **budget).fit(table)
    assert str(error.value) == (
        "column 't' has 4,000 labels, too many to refine; set refine = 0 or leave it out"
    )
    assert Microaggregation(5).fit(table.head(4000)).loss_ > 0


def test_progress_is_shown_on_a_terminal_only(monkeypatch, capsys):
    Microaggregation(5, refine_moves=10).fit(cloud())
    assert capsys.readouterr().err == ""
    shown = []
    monkeypatch.setattr(_refine.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("rich.status.Status.update", lambda self, text: shown.append(text))
    method = Microaggregation(5, refine_moves=100, random_state=1).fit(cloud())
    assert shown[-1] == f"refining: loss {method.loss_:.4f} % after 100 moves"


def test_refinement_crosses_the_borders_of_blocks():
    x = np.random.default_rng(1).normal(size=(3000, 2))
    exact = Microaggregation(5).fit(x).loss_
    refined = Microaggregation(5, block_size=200, refine_moves=1500, random_state=1).fit(x)
    assert refined.loss_ < 0.92 * exact


def test_the_search_goes_on_where_rows_have_keys():
    """What the search draws is not of rows, and there are more draws than rows."""
    rng = np.random.default_rng(3)
    table = pa.table({"x": rng.random(40), "y": rng.random(40), "key": rng.permutation(40) + 5})
    step = {"method": "microaggregation", "columns": ["x", "y"], "k": 3, "refine_moves": 200}
    roles = {"confidential": ["x", "y"], "row_key": "key"}
    lost = []
    for moves in (0, 200):
        rules = {"roles": roles, "steps": [step | {"refine_moves": moves}]}
        release = discreet.protect(table, rules)
        again = discreet.protect(table, release.recipe)
        assert again.table.equals(release.table)
        errors = [table[c].to_numpy() - release.table[c].to_numpy() for c in "xy"]
        lost.append(np.square(errors).sum())
    assert lost[1] < lost[0]
