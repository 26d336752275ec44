"""Every combination is run, checked and measured; the figures are those of a run by hand."""

import csv
import json
import math
import stat

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.generalization import Generalize, KAnonymity
from discreet.tuning import confirm, lattice
from discreet.tuning.sweep import sweep

ROLES = {"quasi": ["age"], "confidential": ["income"]}
COLUMNS = ["SRC", "NVIr", "NVRr", "loss", "risk", "seconds"]
HIERARCHIES = {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "zip": {"kind": "prefix"}}


@pytest.fixture(scope="module")
def people():
    return make_households(300, seed=1).select(["age", "income"])


@pytest.fixture(scope="module")
def deficient():
    """Two quasi columns with nulls."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 60, 160), "zip": rng.choice(["101", "102", "110", "200"], 160)}
    )
    frame["age"] = frame["age"].astype("Int64")
    frame.loc[:14, "age"] = None
    frame.loc[10:24, "zip"] = None
    return frame


def recipe(k, p):
    return {
        "roles": ROLES,
        "steps": [
            {"method": "oma", "columns": ["age"], "k": k},
            {"method": "rank-swap", "columns": ["income"], "p": p},
        ],
    }


def coarse(**more):
    step = {
        "method": "generalize", "columns": ["age", "zip"], "hierarchies": HIERARCHIES,
        "privacy": [{"model": "k-anonymity", "k": 5}], "suppression_limit": 0.5,
    }  # fmt: skip
    return {"roles": {"quasi": ["age", "zip"]}, "steps": [step | more]}


VARY = {
    "k": range(2, 7),
    "quality": ["loss", "discernibility"],
    "null_policy": ["segregate", "value"],
}


def test_rows_are_what_each_combination_gives_by_itself(deficient):
    tried = sweep(deficient, coarse(), VARY, known="quasi")
    assert len(tried.rows) == 20
    assert tried.led
    for row in tried.rows:
        asked = dict(row.parameters)
        model = KAnonymity(asked.pop("k"))
        method = Generalize(HIERARCHIES, [model], suppression_limit=0.5, **asked)
        released = method.fit_transform(deficient)
        gone = method.suppressed_mask_
        assert row.check == "passed"
        assert row.figures["SRC"] == gone.sum()
        # A star that generalization gave is read as `null_rates` does, one way or the other.
        nulls = released.isna().to_numpy() | gone[:, None]
        starred = nulls | (released == "*").to_numpy()
        rates = row.figures["NVIr"], row.figures["NVRr"]
        asked = discreet.utility.null_rates(deficient, released, ["age", "zip"], suppressed=gone)
        assert rates[0] == pytest.approx(asked)
        readings = [(cells.mean(), cells.any(axis=1).mean()) for cells in (nulls, starred)]
        assert rates in [pytest.approx(one) for one in readings]
        lost = discreet.utility.information_loss(deficient, released, ["age", "zip"])
        assert row.figures["loss"] == pytest.approx(lost)
        assert 0 < row.figures["risk"] <= 1
        assert list(row.figures) == COLUMNS


def test_what_is_found_together_is_what_is_found_one_by_one(deficient, monkeypatch):
    together = sweep(deficient, coarse(), VARY)
    monkeypatch.setattr(lattice, "_ROOM", 0)
    alone = sweep(deficient, coarse(), VARY)
    assert (together.led > 0, alone.led) == (True, 0)

    def told(tried):
        return [(r.parameters, {**r.figures, "seconds": 0}) for r in tried.rows]

    assert told(together) == told(alone)


def test_the_best_by_a_column_with_its_ties(deficient):
    tried = sweep(deficient, coarse(), VARY)
    for column in COLUMNS:
        figures = [row.figures[column] for row in tried.rows]
        best = tried.best(column.upper())
        assert best == [row for row in tried.rows if row.figures[column] == min(figures)]
    # Of two names for one thing, both are the best.
    twice = sweep(deficient, coarse(), {"weights": [None, {"age": 1.0}], "k": [3]})
    assert [row.name for row in twice.best("loss")] == ["001", "002"]
    with pytest.raises(BadInput) as error:
        tried.best("los")
    assert str(error.value) == "the best by 'los' cannot be told; did you mean 'loss'?"


def test_the_front_is_what_no_other_beats(deficient):
    tried = sweep(deficient, coarse(), VARY)
    spots = {row.name: (row.figures["risk"], row.figures["loss"]) for row in tried.rows}
    for row in tried.rows:
        mine = spots[row.name]
        beaten = any(a <= mine[0] and b <= mine[1] and (a, b) != mine for a, b in spots.values())
        same = [name for name, spot in spots.items() if spot == mine]
        assert (row in tried.front) == (not beaten and row.name == same[0])


def test_bounds_leave_rows_out_of_the_best(people):
    tried = sweep(people, recipe(3, 5.0), {"k": [3, 30]}, risk=0.5)
    within = [row for row in tried.rows if row.figures["risk"] <= 0.5]
    assert tried.best("loss") == [min(within, key=lambda row: row.figures["loss"])][: len(within)]
    none = sweep(people, recipe(3, 5.0), {"k": [3, 30]}, risk=0.0, best="loss")
    assert none.best("loss") == []
    content = none.to_dict()["best"]
    assert content["why_none"] == "no combination has a risk of at most 0 %"


def test_combinations_that_fail_are_rows_with_their_reason(people):
    tried = sweep(people, recipe([3, 400], 5.0), {"p": [5.0, 20.0]})
    assert [row.parameters for row in tried.rows] == [
        {"p": p, "k": k} for p in (5.0, 20.0) for k in (3, 400)
    ]
    assert [row.check for row in tried.rows] == ["passed", "refused"] * 2
    why = tried.rows[1].why
    assert why.startswith("step 1 (oma): ")
    assert "400" in why
    assert tried.rows[1].figures == {}
    assert tried.rows[1] not in tried.front
    # Also where the recipe itself is refused with some combinations, and not with all.
    both = sweep(
        pd.DataFrame({"age": range(40), "zip": ["a"] * 40}),
        coarse(),
        {"quality": ["loss", "nue"], "weights": [None, {"age": 2.0}]},
    )
    assert [row.check for row in both.rows] == ["passed", "passed", "passed", "refused"]
    assert both.rows[3].recipe is None
    assert "weights belong to quality = 'loss'; 'nue' has none" in both.rows[3].why


def test_a_release_that_does_not_pass_its_check_is_a_row(people, monkeypatch):
    def broken(task, asked, seed):
        raise confirm.NotConfirmed(confirm.BROKEN, "every k holds, but one does not", "k")

    monkeypatch.setattr(confirm, "_run", broken)
    tried = sweep(people, recipe([3, 5], 5.0))
    assert [row.check for row in tried.rows] == ["broken"] * 2
    assert tried.rows[0].why == "did not pass the check: every k holds, but one does not"
    assert tried.front == []
    assert tried.to_dict()["front"] == []


def test_values_that_no_combination_can_have_are_refused(people):
    with pytest.raises(BadInput) as error:
        sweep(people, recipe(3, 5.0), {"k": "1..4"})
    assert "k = 1 lets every record stand alone; set k = 2 or more" in str(error.value)
    with pytest.raises(BadInput) as error:
        sweep(people, recipe(3, 5.0), {"k": "3,many"})
    assert "step 1 (oma)" in str(error.value)
    with pytest.raises(BadInput, match="nothing is varied; name a parameter"):
        sweep(people, recipe(3, 5.0))


def test_the_same_seed_gives_the_same_rows(people):
    one, same, other = (sweep(people, recipe([3, 10], [5.0, 25.0]), seed=s) for s in (1, 1, 2))

    def told(tried):
        return [{**row.figures, "seconds": 0} for row in tried.rows]

    assert told(one) == told(same)
    assert told(one) != told(other)
    assert all(math.isfinite(row.figures["seconds"]) for row in one.rows)


def test_what_is_written_can_be_read_by_its_owner_alone(people, tmp_path):
    folder = tmp_path / "sweep"
    tried = discreet.sweep(people, recipe([3, 400], 5.0), best="risk", out=folder)
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert files == [
        "README", "index.html", "recipes/001.toml", "recipes/002.toml", "rows.csv", "sweep.json",
    ]  # fmt: skip
    for path in [folder, *folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    content = json.loads((folder / "sweep.json").read_text())
    assert content == json.loads(json.dumps(tried.to_dict()))
    assert content["best"] == {"column": "risk", "rows": ["001"], "why_none": ""}
    first, second = csv.DictReader((folder / "rows.csv").open())
    assert (first["k"], first["check"], first["front"]) == ("3", "passed", "True")
    assert float(first["loss"]) == pytest.approx(tried.rows[0].figures["loss"], rel=1e-5)
    assert (second["loss"], second["check"]) == ("", "refused")
    release = discreet.protect(people, folder / "recipes" / "001.toml")
    assert release.check.ok
    assert release.recipe.steps[0].k == 3
    # What is there is not replaced, unless it is a sweep and that is asked for.
    with pytest.raises(BadInput, match="exists; choose another place"):
        tried.save(folder)
    tried.save(folder, force=True)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"because it also holds 'notes\.txt'"):
        tried.save(folder, force=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("mine")
    with pytest.raises(BadInput, match="is not a sweep, so it is not replaced"):
        discreet.sweep(people, recipe([3, 5], 5.0), out=tmp_path / "other", force=True)


def test_ctrl_c_ends_with_the_rows_so_far(people, monkeypatch):
    ran, calls = confirm._run, []

    def pressed(task, asked, seed):
        calls.append(asked)
        if len({id(one) for one in calls}) == 3:
            raise KeyboardInterrupt
        return ran(task, asked, seed)

    monkeypatch.setattr(confirm, "_run", pressed)
    tried = sweep(people, recipe([3, 10], [5.0, 25.0]))
    assert tried.stopped
    assert [row.name for row in tried.rows] == ["001", "002"]


def test_progress_is_told(people):
    told = []
    sweep(people, recipe([3, 10], 5.0), progress=told.append)
    assert [one.doing for one in told] == ["1 of 2: k = 3", "2 of 2: k = 10"]


def test_the_loss_is_that_of_compare():
    people = make_households(300, seed=4).select(["age", "region", "sex"])
    step = {
        "method": "generalize",
        "columns": ["age", "region"],
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "hierarchies": {"age": {"kind": "auto"}, "region": {"kind": "flat"}},
        "local": True,
    }
    recipe = {"roles": {"quasi": ["age", "region"], "insensitive": ["sex"]}, "steps": [step]}
    tried = sweep(people, recipe, vary={"k": [3, 6]})
    made = [discreet.protect(people, row.recipe) for row in tried.rows]
    found = discreet.compare(people, made, measures=["class_sizes"])
    assert [row.figures["loss"] for row in tried.rows] == pytest.approx(
        [one.loss for one in found.releases]
    )
