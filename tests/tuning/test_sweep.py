"""Every combination of given values is tried, and nothing else."""

import json

import pytest

import discreet
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.tuning.judge import Judge
from discreet.tuning.sweep import sweep

ROLES = {"quasi": ["age"], "confidential": ["income"]}


@pytest.fixture(scope="module")
def people():
    return make_households(300, seed=1).select(["age", "income"])


def recipe(k, p):
    return {
        "roles": ROLES,
        "steps": [
            {"method": "oma", "columns": ["age"], "k": k},
            {"method": "rank-swap", "columns": ["income"], "p": p},
        ],
    }


def test_all_combinations_are_tried_and_the_best_are_recipes(people, tmp_path):
    front = discreet.sweep(people, recipe([3, 10], [5.0, 25.0]), out=tmp_path / "front")
    assert front.evaluations == len(front.searched) == 4
    found = {(p.recipe.steps[0].k, p.recipe.steps[1].p) for p in front.points}
    assert found <= {(k, p) for k in (3, 10) for p in (5.0, 25.0)}
    assert (10, 25.0) in found
    content = json.loads((tmp_path / "front" / "front.json").read_text())
    release = discreet.protect(people, tmp_path / "front" / "recipes" / f"{content['best']}.toml")
    assert release.check.ok


def test_too_many_and_too_few_are_refused(people):
    with pytest.raises(BadInput, match="the recipe leaves nothing open; give a list of values"):
        sweep(people, recipe(3, 5.0))
    with pytest.raises(BadInput, match="the recipe leaves 1,025 combinations open, and a sweep"):
        sweep(people, recipe(list(range(3, 44)), [float(p) for p in range(1, 26)]))


def test_ctrl_c_ends_with_the_combinations_tried_so_far(people, monkeypatch):
    judged, calls = Judge.figures, []

    def pressed(self, *arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return judged(self, *arguments)

    monkeypatch.setattr(Judge, "figures", pressed)
    front = sweep(people, recipe([3, 10], [5.0, 25.0]))
    assert front.stopped
    assert len(front.searched) == 2


def test_what_is_given_alike_gives_the_same_bytes(people, tmp_path):
    for name in ("one", "other"):
        sweep(people, recipe([3, 10], [5.0, 25.0]), out=tmp_path / name)
    first, second = (
        {p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.*")}
        for name in ("one", "other")
    )
    assert first == second
