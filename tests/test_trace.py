"""The course of a search, as the log keeps it."""

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import protect
from discreet.datasets import make_households
from discreet.kernels.refine import search
from discreet.trace import MOST, Trace


@given(st.integers(1, 3000))
def test_a_trace_is_short_in_order_and_has_both_ends(n):
    trace = Trace("moves", "loss")
    for moves in range(n):
        trace.add(moves, -float(moves))
    found = trace.to_dict()
    assert len(found["moves"]) <= MOST
    assert (found["moves"][0], found["moves"][-1]) == (0, n - 1)
    assert found["moves"] == sorted(set(found["moves"]))
    assert found["seconds"] == sorted(found["seconds"])
    assert found["loss"] == [-moves for moves in found["moves"]]


def test_the_clock_starts_with_the_first_point(monkeypatch):
    now = iter([12.0, 12.5, 14.0])
    trace = Trace("moves", "loss")  # What is compiled now is no part of the search.
    monkeypatch.setattr("discreet.trace.time.perf_counter", lambda: next(now))
    for moves in range(3):
        trace.add(moves, 1.0)
    assert trace.to_dict()["seconds"] == [0.0, 0.5, 2.0]


def test_a_refinement_is_compiled_before_the_clock_starts(monkeypatch):
    def compiled(points, own, groups, k, tries, *rest):
        if tries == 0:  # The call that compiles.
            time.sleep(1.0)
        return search(points, own, groups, k, tries, *rest)

    search(np.zeros((1, 2)), np.zeros(1, np.int64), 1, 1, 0, 1, np.uint64(0), None)
    monkeypatch.setattr("discreet.microaggregation._refine.search", compiled)
    people = make_households(60, seed=3).select(["income", "assets"])
    step = {"method": "microaggregation", "columns": ["income", "assets"], "k": 5}
    recipe = {
        "roles": {"confidential": ["income", "assets"]},
        "steps": [step | {"refine_moves": 20}],
    }
    trace = protect(people, recipe).log["steps"][0]["trace"]
    assert trace["moves"][0] == 0 < trace["moves"][1]
    assert trace["seconds"][1] < 1.0


def test_what_a_log_cannot_hold_is_left_out():
    trace = Trace("evaluations", "quality")
    for evaluations, quality in ((1, float("inf")), (2, 5.0), (3, float("nan"))):
        trace.add(evaluations, quality)
    assert trace.to_dict()["evaluations"] == [2]


def test_the_log_of_a_refinement_tells_its_course():
    people = make_households(600, seed=3).select(["income", "assets"])
    roles = {"confidential": ["income", "assets"]}
    step = {"method": "microaggregation", "columns": ["income", "assets"], "k": 5}
    release = protect(people, {"roles": roles, "steps": [step | {"refine_moves": 300}]})
    (entry,) = release.log["steps"]
    trace = entry["trace"]
    assert trace["moves"][0] == 0
    assert trace["moves"][-1] == entry["moves"] == 300
    assert (np.diff(trace["loss"]) <= 0).all()
    # The loss that is reported is that of the released groups, computed from the start.
    assert trace["loss"][-1] == pytest.approx(entry["loss"], rel=1e-9)
    assert trace["loss"][-1] < trace["loss"][0]
    json.dumps(release.log, allow_nan=False)
    plain = protect(people, {"roles": roles, "steps": [step]})
    assert "trace" not in plain.log["steps"][0]
    assert trace["loss"][0] == pytest.approx(plain.log["steps"][0]["loss"], rel=1e-12)


def test_the_log_of_a_lattice_search_tells_its_course():
    people = make_households(600, seed=3).select(["age", "sex"])
    step = {
        "method": "generalize",
        "columns": ["age", "sex"],
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "hierarchies": {
            "age": {"kind": "intervals", "widths": [5, 10, 20]},
            "sex": {"kind": "prefix"},
        },
    }
    release = protect(people, {"roles": {"quasi": ["age", "sex"]}, "steps": [step]})
    (search,) = release.log["steps"][0]["searches"]
    trace = search["trace"]
    assert trace["evaluations"][-1] == search["evaluations"]
    assert trace["quality"][-1] == search["optimum"]
    assert (np.diff(trace["quality"]) <= 0).all()
