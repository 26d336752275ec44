"""Steps that suppress records, together with others: promises are over the records that remain."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput, BrokenPromise
from discreet.flow import treating
from tests.flow import pairs

SEEDS = {"seed": 2**100 + 5, "order_seed": 2**100 + 7}
# What only the data can tell: no release of these tables keeps what is asked for.
BY_DATA = (
    "all records would be suppressed",
    "cannot be met",
    "is above the number of values",
    "step 2 (rank-swap): p = 10 % of the ",  # of few values: not one rank
    "step 1 (rank-swap): p = 10 % of the ",
    "generalize-items counts records, and units have several here",
    "anatomy counts records, and units have several here",
    "anatomy does not protect records that can be seen to belong together",
    "different values in every group",  # of anatomy, where one is too frequent
    "rows of a unit can be seen to belong together, and",
    "cannot run on duckdb",  # said before any work
)
EVERY = list(pairs.cases())


def assert_ends_well(place, **more):
    said, steps, setting = EVERY[place]
    ended, why = pairs.outcome(steps, setting, place, **more)
    fine = ended.startswith(("release", "refused before work"))
    assert fine or (ended == "refused" and any(known in why for known in BY_DATA)), (said, why)


def few():
    """One case of each method and role, whatever is next to it."""
    found = {}
    for place in np.random.default_rng(4).permutation(len(EVERY)):
        said, steps, _ = EVERY[place]
        key = tuple(sorted(step["method"] for step in steps))
        if "generalize l" in said or "local" in said or "mondrian, nulls suppressed" in said:
            found.setdefault(key, int(place))
    return sorted(found.values())


@pytest.mark.parametrize("place", few())
def test_a_pair_of_steps_ends_in_a_release_or_a_refusal(place):
    assert_ends_well(place)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "last"), [pytest.param(0, 150, marks=pytest.mark.stress), (150, 500)]
)
def test_random_pairs_of_steps_end_in_a_release_or_a_refusal(first, last):
    for place in np.random.default_rng(5).permutation(len(EVERY))[first:last]:
        assert_ends_well(int(place))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "last"), [pytest.param(0, 100, marks=pytest.mark.stress), (100, 300)]
)
def test_random_pairs_of_steps_end_as_well_on_an_engine(first, last):
    chosen = [place for place, (*_, setting) in enumerate(EVERY) if "whole" not in setting]
    for place in np.random.default_rng(6).permutation(chosen)[first:last]:
        assert_ends_well(int(place), engine="duckdb")


# What is promised, counted here


def people(seed, n=200):
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "age": draw.integers(18, 60, n),
            "zip": draw.choice(["10115", "10117", "10225", "20337", "99999"], n),
            "sex": draw.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05]),
            "height": draw.normal(170, 10, n).round(),
            "income": draw.lognormal(8, 1, n).round(),
            "home": draw.integers(0, n // 2, n),
        }
    )


def generalize(columns=("age", "zip"), **more):
    kinds = {"age": {"kind": "intervals", "widths": [5, 10]}, "zip": {"kind": "prefix"}}
    return {
        "method": "generalize",
        "columns": list(columns),
        "privacy": [{"model": "k-anonymity", "k": 4}],
        "suppression_limit": 0.4,
        "hierarchies": {name: kinds.get(name, {"kind": "flat"}) for name in columns},
    } | more


def recipe(*steps, quasi=("age", "zip", "sex", "height"), **more):
    treated = {column for step in steps for column in step["columns"]}
    roles = {
        "quasi": list(quasi),
        "untouched": [name for name in quasi if name not in treated],
        "confidential": ["income"],
        "rest": "drop",
    }
    given = {"roles": roles, "steps": list(steps), "allow_leaks": sorted(treated)} | SEEDS
    return given | more


def there(release):
    """The records that remain."""
    gone = set(release.left_out.tolist())
    rows = release.table.to_pylist()
    return [row for place, row in enumerate(rows) if place not in gone]


def least(rows, columns):
    return min(Counter(tuple(row[name] for name in columns) for row in rows).values())


def some_are_left_out(release):
    return 0 < release.log["suppressed"]["left_out"] < len(release.table)


@pytest.mark.parametrize("seed", range(20))
def test_a_swap_of_a_quasi_column_outlives_suppressed_records(seed):
    swap = {"method": "rank-swap", "columns": ["height"], "p": 10.0}
    release = discreet.protect(people(seed), recipe(swap, generalize()))
    assert release.log["suppressed"]["records"]
    assert release.check.ok


def test_tuples_that_are_quasi_and_confidential_have_k_records():
    step = {"method": "microaggregation", "columns": ["height", "income"], "k": 4}
    for steps in ((step, generalize()), (generalize(), step)):
        release = discreet.protect(people(3), recipe(*steps))
        assert some_are_left_out(release)
        assert least(there(release), ["height", "income"]) >= 4
        assert least(there(release), ["age", "zip"]) >= 4
    assert (
        "since step 2 (microaggregation) treats columns together that they show and that they hide"
        in release.log["warnings"][0]
    )


def test_a_model_may_look_at_a_quasi_column_that_no_step_treats():
    models = [{"model": "l-diversity", "l": 2, "column": "sex"}, {"model": "k-anonymity", "k": 4}]
    release = discreet.protect(people(1), recipe(generalize(privacy=models)))
    assert some_are_left_out(release)
    held = defaultdict(set)
    for row in there(release):
        held[row["age"], row["zip"]].add(row["sex"])
    assert min(map(len, held.values())) >= 2


def test_two_steps_with_models_both_hold(tmp_path):
    table = people(2)
    both = recipe(
        generalize(), generalize(["sex", "height"]), quasi=("age", "zip", "sex", "height")
    )
    release = discreet.protect(table, both)
    assert some_are_left_out(release)
    assert least(there(release), ["age", "zip"]) >= 4
    assert least(there(release), ["sex", "height"]) >= 4
    # The same on an engine, and again from what was written.
    on_duckdb = discreet.protect(table, both, engine="duckdb")
    assert sorted(map(str, there(release))) == sorted(
        map(str, on_duckdb.released.native().to_arrow_table().to_pylist())
    )
    for number, one in enumerate((release, on_duckdb)):
        folder = tmp_path / str(number)
        written = one.save(folder)
        for engine in ("memory", "duckdb"):
            found = discreet.check_release(
                written, release.recipe, folder / "internal", table, engine=engine
            )
            assert found.ok, found
    again = discreet.protect(table, release.recipe)
    assert again.table.equals(release.table)


def test_no_more_records_than_needed_are_left_out():
    # The first round says which; the others find levels that suppress none.
    both = recipe(generalize(), generalize(["sex"]), quasi=("age", "zip", "sex"))
    release = discreet.protect(people(2), both)
    alone = [
        discreet.protect(people(2), recipe(step, quasi=tuple(step["columns"])))
        for step in both["steps"]
    ]
    first = sum(one.log.get("suppressed", {"records": 0})["records"] for one in alone)
    assert release.log["suppressed"]["records"] <= first


def test_a_record_that_is_left_out_and_shown_is_found_out():
    table = people(2)
    release = discreet.protect(
        table, recipe(generalize(), generalize(["sex"]), quasi=("age", "zip", "sex"))
    )
    from discreet.check.evidence import Evidence

    evidence = Evidence(release.plan, release.log, release.recipe)
    rows = release.table.to_pylist()
    rows[int(release.plan["excluded"][0])] = dict(rows[0])
    found = discreet.check_release(
        pa.Table.from_pylist(rows, release.table.schema), release.recipe, evidence, table
    )
    broken = {one.promise for one in found.findings if one.status == "broken"}
    assert "suppressed records that the steps do without are left out" in broken


def test_what_all_records_suppressed_means_is_said():
    strict = generalize(privacy=[{"model": "k-anonymity", "k": 150}], suppression_limit=1.0)
    with pytest.raises(BadInput, match="weaken what"):
        discreet.protect(
            people(1), recipe(strict, generalize(["sex"]), quasi=("age", "zip", "sex"))
        )


def leave_out(monkeypatch, rows):
    """Let a run leave out so many rows in its first round, whatever it would say."""
    rounds = []

    def without_a_reason(decided, treated, finished):
        rounds.append(decided)
        decided.why = "nobody knows"
        return np.arange(rows) if len(rounds) == 1 else None

    monkeypatch.setattr(treating, "to_leave_out", without_a_reason)


@pytest.mark.parametrize(
    "steps",
    [
        [generalize(suppression_limit=0.05)],
        [generalize(), {"method": "noise", "columns": ["income"], "scale": 0.1}],
        [generalize(), {"method": "oma", "columns": ["income"], "k": 4}],
        [generalize(), {"method": "microaggregation", "columns": ["sex", "height"], "k": 4}],
        [
            generalize(),
            generalize(["sex"], promise=False, suppression_limit=0, null_policy="value"),
        ],
    ],
)
def test_records_that_are_left_out_without_a_reason_are_found_out(steps, monkeypatch):
    leave_out(monkeypatch, 150)
    with pytest.raises(BrokenPromise, match="150 are, which no promise of the recipe can need"):
        discreet.protect(people(2), recipe(*steps))


def test_more_records_left_out_than_a_step_may_suppress_are_told_once(monkeypatch):
    leave_out(monkeypatch, 150)
    models = [{"model": "k-anonymity", "k": 2}]
    one = generalize(privacy=models, suppression_limit=0.05)
    other = generalize(["sex"], privacy=models, suppression_limit=0.1)
    release = discreet.protect(people(2), recipe(one, other, quasi=("age", "zip", "sex")))
    said = (
        "75.0% of the records are left out, beyond suppression_limit = 0.1, which counts the "
        "records that a step itself must suppress"
    )
    assert said in [one.detail for one in release.check.having("weak")]
    assert [said in one for one in release.log["warnings"]].count(True) == 1
