"""The next step that a release's log names: what it says is what the change gives."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect
from discreet.datasets import make_households
from discreet.engines.memory import MemoryFrame
from discreet.flow import neighbours as module
from discreet.flow.neighbours import Aim, Change, Neighbour, Tried, _best, changed, next_steps
from discreet.risk import class_sizes, informed_linkage
from discreet.utility import information_loss

ZIP = {"kind": "prefix"}
AGE = {"kind": "intervals", "widths": [5, 10, 20, 40]}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    n = 900
    return pa.table({
        "age": rng.integers(18, 90, n),
        "zip": [f"{a}{b}{c}" for a, b, c in rng.integers(0, [3, 4, 9], (n, 3))],
        "job": rng.choice(["nurse", "judge", "cook", "clerk"], n),
        "pay": rng.normal(3000.0, 800.0, n).round(2),
    })  # fmt: skip


def recipe(*steps, **roles):
    return {"roles": {"quasi": ["age", "zip", "job"], "confidential": ["pay"], **roles},
            "steps": list(steps)}  # fmt: skip


def generalize(**given):
    step = {"method": "generalize", "columns": ["age", "zip", "job"],
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "hierarchies": {"age": AGE, "zip": ZIP, "job": {"kind": "auto"}}}  # fmt: skip
    return step | given


def told(release):
    drivers = release.assess().figures["drivers"]
    return next_steps(release.recipe, release.plan, release.original, release.treated,
                      release.finish, drivers)  # fmt: skip


def rerun(table, release, one):
    """Carry out what the log says, by the public API."""
    made = changed(release.recipe, one["recipe"]["step"], one["recipe"]["set"])
    return protect(table, json.loads(json.dumps(made.model_dump(exclude_none=True))))


def loss(table, release, quasi=("age", "zip", "job", "pay")):
    return information_loss(
        table, release.table, list(quasi), hierarchies=release.recipe.hierarchies
    )


def test_each_change_gives_the_figures_that_the_log_names(people):
    release = protect(people, recipe(generalize()))
    found = told(release)
    assert 0 < len(found["next"]) <= 3
    assert found["next_tried"]["failed"] == 0
    for one in found["next"]:
        then = rerun(people, release, one)
        sizes = [class_sizes(r.released.native(), ["age", "zip", "job"]) for r in (release, then)]
        assert one["risk"] == [round(1 / s.smallest, 4) for s in sizes]
        assert one["average"] == [round(s.average_risk, 4) for s in sizes]
        assert one["loss"] == [round(loss(people, r), 4) for r in (release, then)]
        assert one["measure"] == "prosecutor, largest"
        assert "sample" not in one


def test_where_the_search_was_long_others_are_searched_for_briefly(people, monkeypatch):
    monkeypatch.setattr(module, "MOST_NODES", 3)
    monkeypatch.setattr(module, "FEW_NODES", 5)
    budgets = []
    treat = module.treat
    monkeypatch.setattr(module, "treat", lambda frame, rules, *more: (
        budgets.append(rules.steps[0].evaluations), treat(frame, rules, *more))[1])  # fmt: skip
    found = told(protect(people, recipe(generalize(local=True, aggregate="sum"))))
    assert found["next"]
    assert all(one["short"] for one in found["next"])
    assert "evaluations" not in found["next"][0]["recipe"]["set"]
    assert set(budgets) == {5}


def test_where_the_target_is_met_others_lose_less_or_are_safer(people):
    for one in told(protect(people, recipe(generalize())))["next"]:
        assert one["risk"][1] <= 1 / 5
        assert one["loss"][1] < one["loss"][0] or one["risk"][1] < one["risk"][0]


def test_recoded_columns_go_one_level_more_where_the_risk_is_above_its_target(people):
    step = generalize(levels={"age": 1, "zip": 1, "job": 0}) | {"privacy": []}
    release = protect(people, recipe(step))
    found = told(release)["next"]
    assert found[0]["measure"] == "marketer, average"
    assert all(one["risk"][1] < one["risk"][0] for one in found)
    assert found[0]["change"].endswith("one level more")
    then = rerun(people, release, found[0])
    sizes = class_sizes(then.table, ["age", "zip", "job"])
    assert found[0]["risk"][1] == round(sizes.average_risk, 4)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"method": "noise", "scale": 0.2}, "noise of scale 0.4 instead of 0.2"),
        ({"method": "rank-swap", "p": 5}, "swaps within 10 % instead of 5 %"),
    ],
)
def test_perturbed_keys_are_compared_by_an_informed_intruder(people, step, words):
    given = recipe(step | {"columns": ["age"]}, quasi=["age"], insensitive=["zip", "job"])
    release = protect(people, given)
    found = told(release)
    changes = {one["change"]: one for one in found["next"]}
    assert words in changes
    one = changes[words]
    then = rerun(people, release, one)
    before = people.select(["age"])
    risks = [informed_linkage(before, pa.table(r.table).select(["age"]), drawn=["age"],
                              queries=module.QUERIES) for r in (release, then)]  # fmt: skip
    assert one["risk"] == [round(risk, 4) for risk in risks]
    assert one["measure"] == "linkage by an informed intruder"


def test_a_smaller_k_than_promised_is_not_offered(people):
    step = {"method": "microaggregation", "columns": ["age"], "k": 5}
    given = recipe(step, quasi=["age"], insensitive=["zip", "job"])
    found = told(protect(people, given))
    assert [one["change"] for one in found["next"]] == ["k = 10 instead of 5"]


def test_large_tables_are_sampled_and_so_is_the_recipe_itself(people, monkeypatch):
    monkeypatch.setattr(module, "ALL_ROWS", 500)
    monkeypatch.setattr(module, "SAMPLE", 300)
    release = protect(people, recipe(generalize()))
    one, two = told(release)["next"], told(release)["next"]
    assert one == two
    rows = np.sort(np.random.default_rng(900).choice(900, 300, replace=False))
    some = people.take(pa.array(rows))
    again = protect(some, release.recipe)
    for found in one:
        assert found["sample"] == 300
        assert found["loss"][0] == round(loss(some, again), 4)


def test_households_are_sampled_whole(monkeypatch):
    monkeypatch.setattr(module, "ALL_ROWS", 100)
    monkeypatch.setattr(module, "SAMPLE", 90)
    table = make_households(300, seed=1).select(["household_id", "age", "sex"])
    release = protect(table, {
        "roles": {"household": "household_id", "quasi": ["age", "sex"]},
        "steps": [{"method": "generalize", "columns": ["age", "sex"],
                   "privacy": [{"model": "k-anonymity", "k": 3}],
                   "hierarchies": {"age": AGE, "sex": {"kind": "auto"}}}],
    })  # fmt: skip
    aim = Aim("prosecutor, largest", 1 / 3, ["age", "sex"])
    some = module._sample(release.recipe, aim, MemoryFrame(table))
    homes = some.table["household_id"].to_pylist()
    everyone = table["household_id"].to_pylist()
    assert len(homes) <= 90
    assert all(homes.count(home) == everyone.count(home) for home in homes)
    found = told(release)
    assert all(one["sample"] == len(homes) for one in found["next"])


def test_what_fails_is_counted_and_not_told(people, monkeypatch):
    wrong = Change("k = 5,000 instead of 5", 1, {"privacy": [{"model": "k-anonymity", "k": 5000}]})
    monkeypatch.setattr(module, "_changes", lambda *given: iter([wrong]))
    found = told(protect(people, recipe(generalize())))
    assert found == {"next": [], "next_tried": {"tried": 1, "failed": 1}}


def test_what_does_not_pass_its_check_is_not_told_but_the_next_best(people, monkeypatch):
    release = protect(people, recipe(generalize()))
    best, *others = told(release)["next"]
    verdict = module._passes
    monkeypatch.setattr(module, "_passes", lambda run, frame: (
        changed(release.recipe, **{"step": 1, "new": best["recipe"]["set"]}).steps
        != run[0].recipe.steps and verdict(run, frame)
    ))  # fmt: skip
    found = told(release)
    assert best not in found["next"]
    assert all(one in found["next"] for one in others)
    assert found["next_tried"]["failed"] == 1


@pytest.mark.parametrize(
    ("steps", "roles", "why"),
    [
        ([{"method": "shuffle", "columns": ["age", "pay"]}],
         {"untouched": ["zip", "job"]}, "no step that the risk depends on"),
        ([], {"quasi": [], "insensitive": ["age", "zip", "job"]}, "no step treats a released"),
    ],
)  # fmt: skip
def test_why_nothing_was_tried(people, steps, roles, why):
    found = told(protect(people, recipe(*steps, **roles)))
    assert list(found) == ["next_not_tried"]
    assert found["next_not_tried"].startswith(why)


def test_engines_say_that_nothing_was_tried(people, tmp_path):
    import pyarrow.parquet as parquet

    parquet.write_table(people, tmp_path / "people.parquet")
    release = protect(tmp_path / "people.parquet", recipe(generalize()), "duckdb")
    try:
        assert told(release) == {
            "next_not_tried": "other recipes are tried on tables in memory only"
        }
    finally:
        release.close()


@pytest.mark.usefixtures("next_tried")
def test_a_written_release_has_it_in_its_log_and_protect_alone_does_not(people, tmp_path):
    release = protect(people, recipe(generalize()))
    assert "next" not in release.log
    release.save(tmp_path / "out")
    log = json.loads((tmp_path / "out/internal/log.json").read_text())
    assert log["next"] == told(release)["next"]
    assert log["next_tried"]["tried"] >= len(log["next"])


def tried(risk, loss):
    return Tried(risk, None, loss, {})


AIM = Aim("prosecutor, largest", 0.2, [])


def chosen(now, *found):
    given = [Neighbour(Change(str(i), 1, {}), tried(*one), None) for i, one in enumerate(found)]
    return [int(one.change.words) for one in _best(AIM, tried(*now), given)]


def test_above_the_target_the_cheapest_that_meets_it_comes_first():
    assert chosen((0.5, 0.1), (0.2, 0.4), (0.1, 0.3), (0.4, 0.11)) == [1, 0, 2]


def test_where_none_meets_it_the_most_risk_removed_for_the_loss():
    assert chosen((0.9, 0.1), (0.5, 0.3), (0.6, 0.15), (1.0, 0.0)) == [1, 0]


def test_within_the_target_two_that_lose_less_and_one_that_is_safer():
    found = [(0.2, 0.25), (0.2, 0.2), (0.2, 0.22), (0.5, 0.0), (0.1, 0.4), (0.05, 0.9)]
    assert chosen((0.2, 0.3), *found) == [1, 2, 4]


def test_nothing_that_is_no_better():
    assert chosen((0.2, 0.3), (0.2, 0.3), (0.2, 0.4), (0.3, 0.1)) == []


def test_keys_that_no_step_treats_together_are_treated_together(people):
    """Rounding alone leaves people alone with their keys."""
    step = {"method": "equal-width", "columns": ["age"], "n_points": 8}
    asked = recipe(step)
    asked["roles"] = {**asked["roles"], "untouched": ["zip", "job"]}
    asked["steps"] = [step]
    release = protect(people, asked)
    [first, *_] = told(release)["next"]
    assert first["change"] == "generalize age, zip, job together until 5 share them"
    then = protect(people, changed(release.recipe, 0, first["recipe"]["set"]))
    assert class_sizes(then.released.native(), ["age", "zip", "job"]).smallest >= 5
    assert first["risk"][1] < first["risk"][0]


def test_treating_keys_together_is_tried_within_bounds(monkeypatch):
    """Neither the rows nor the nodes of a search that nobody asked for grow with the table."""
    monkeypatch.setattr(module, "FEW_ROWS", 300)
    rng = np.random.default_rng(5)
    keys = [f"key{i}" for i in range(9)]
    table = pa.table({name: rng.integers(0, 20, 900) for name in keys} | {"pay": rng.random(900)})
    release = protect(table, {
        "roles": {"quasi": keys, "untouched": keys, "confidential": ["pay"]},
        "steps": [{"method": "noise", "columns": ["pay"], "scale": 0.1}],
    })  # fmt: skip
    [found] = told(release)["next"]
    assert found["sample"] == 300
    assert found["recipe"]["set"]["steps"][0]["evaluations"] == module.FEW_NODES


def test_local_recoding_is_tried_with_few_nodes_unless_the_recipe_says_how_many(people):
    for given, wanted in (({}, module.FEW_NODES), ({"evaluations": 40}, None)):
        found = told(protect(people, recipe(generalize(**given))))["next"]
        [local] = [one["recipe"]["set"] for one in found if "local" in one["recipe"]["set"]]
        assert local.get("evaluations") == wanted
