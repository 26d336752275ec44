"""What is the same in all rows of a household or a person is treated once for each."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput, BrokenPromise

ENGINES = ["memory", "duckdb"]
HOUSEHOLDS = 300
SEED = 2**100 + 1


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 7, HOUSEHOLDS)

    def shared(values):
        return np.repeat(values, sizes)

    n = int(sizes.sum())
    return pa.table(
        {
            "household": shared(np.arange(HOUSEHOLDS) * 7 + 1000),
            "income": shared(rng.lognormal(10, 1, HOUSEHOLDS).round(2)),
            "rent": shared(rng.lognormal(7, 1, HOUSEHOLDS).round(2)),
            "region": shared(rng.choice(list("abcdef"), HOUSEHOLDS)),
            "age": rng.integers(0, 90, n),
            "wage": rng.lognormal(8, 1, n).round(2),
        }
    )


def recipe(*steps, quasi=(), **more):
    roles = {"household": "household", "quasi": list(quasi), "rest": "drop"}
    treated = [column for step in steps for column in step["columns"]]
    treated += [column for step in steps for column in step.get("confidential", [])]
    roles["confidential"] = [c for c in dict.fromkeys(treated) if c not in quasi]
    return {"seed": SEED, "roles": roles | more.pop("roles", {}), "steps": list(steps)} | more


def columns_of(release):
    table = release.table
    return (table if isinstance(table, pa.Table) else table.to_arrow_table()).to_pydict()


def by_household(people, values):
    found = defaultdict(set)
    for household, value in zip(people["household"].to_pylist(), values, strict=True):
        found[household].add(value)
    return found


ONCE = [
    {"method": "oma", "columns": ["income", "wage"], "k": 5},
    {"method": "kmeans", "columns": ["income"], "n_points": 9, "min_count": 5, "encoding": "stochastic"},
    {"method": "noise", "columns": ["income", "wage"], "scale": 0.1},
    {"method": "noise", "columns": ["income", "rent"], "scale": 0.1, "kind": "correlated"},
    {"method": "noise", "columns": ["income", "wage"], "scale": 0.3, "match_ranks": True},
    {"method": "rank-swap", "columns": ["income", "wage"], "p": 5},
    {"method": "microaggregation", "columns": ["income", "rent"], "k": 5},
    {"method": "porop", "columns": ["income", "rent"], "k": 20},
    {"method": "ipso", "columns": ["rent"], "confidential": ["income"]},
    {"method": "pram", "columns": ["region"], "retention": 0.5},
    {"method": "shuffle", "columns": ["region", "wage"]},
]  # fmt: skip
# They look at rows; porop can sort them elsewhere, but not by household.
BOUND = ("rank-swap", "microaggregation", "porop", "ipso", "shuffle")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("step", ONCE, ids=lambda step: f"{step['method']} {step['columns']}")
def test_all_members_of_a_household_get_the_same(people, step, engine):
    if engine == "duckdb" and (step["method"] in BOUND or "match_ranks" in step):
        with pytest.raises(BadInput, match="use --engine memory"):
            discreet.protect(people, recipe(step), engine=engine)
        return
    release = discreet.protect(people, recipe(step), engine=engine)
    shown = columns_of(release)
    for column in step["columns"]:
        alike = all(len(held) == 1 for held in by_household(people, shown[column]).values())
        assert alike == (column != "wage"), column
    assert release.log["levels"] == {c: "household" for c in step["columns"] if c != "wage"}


def test_noise_is_not_averaged_away_over_the_members_of_a_household(people):
    """The attack: in large households, the mean over the members is nearer to the truth."""
    step = {"method": "noise", "columns": ["income"], "scale": 0.5}
    shown = columns_of(discreet.protect(people, recipe(step)))["income"]
    truth = people["income"].to_pylist()
    sizes = Counter(people["household"].to_pylist())
    means, errors = defaultdict(list), defaultdict(list)
    for household, value, true in zip(people["household"].to_pylist(), shown, truth, strict=True):
        means[household].append(value)
        errors[household].append(abs(value - true))
    for household, true in zip(people["household"].to_pylist(), truth, strict=True):
        attack = abs(np.mean(means[household]) - true)
        assert attack == pytest.approx(errors[household][0]), sizes[household]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_null_does_not_make_noise_differ_within_a_household(people, engine):
    incomes = people["income"].to_pylist()
    holed = people.set_column(1, "income", pa.array([None, *incomes[1:]]))
    step = {"method": "noise", "columns": ["income", "wage"], "scale": 0.5}
    release = discreet.protect(holed, recipe(step), engine=engine)
    assert release.plan["steps"][0]["drawn"] == {"income": "household"}
    held = by_household(people, columns_of(release)["income"])
    assert {len(values - {None}) for values in held.values()} <= {0, 1}
    swap = {"method": "rank-swap", "columns": ["income"], "p": 5}
    with pytest.raises(BadInput, match="is the same in all rows of a 'household' but for nulls"):
        discreet.protect(holed, recipe(swap))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("moved", [False, True], ids=["one home each", "several homes"])
def test_what_a_household_shares_but_for_a_person_without_it_is_drawn_by_household(engine, moved):
    # Two homes of two persons with two rows each; person 0 does not tell the income.
    homes, persons = [1, 1, 1, 1, 2, 2, 2, 2], [0, 0, 1, 1, 2, 2, 3, 3]
    incomes = [None, None, 50.5, 50.5, 80.5, 80.5, 80.5, 80.5]
    if moved:
        homes, incomes = [1, 2, 1, 2, 1, 2, 1, 2], [None, None, *[50.5] * 6]
    table = pa.table({"household": homes, "person": persons, "income": incomes})
    step = {"method": "noise", "columns": ["income"], "scale": 0.5, "kind": "multiplicative"}
    given = recipe(step, roles={"unit": "person"}, allow_leaks=["income"])
    release = discreet.protect(table, given, engine=engine)
    assert release.check.ok
    shown = columns_of(release)["income"]
    held = by_household(table, shown)
    assert [len(held[home] - {None}) for home in (1, 2)] == [1, 1]
    assert sum(value is None for value in shown) == 2


def test_the_check_finds_noise_that_was_drawn_by_person(people, monkeypatch):
    from discreet.flow import deciding

    monkeypatch.setattr(deciding, "find_levels", lambda frame, recipe: {})
    step = {"method": "noise", "columns": ["income"], "scale": 0.5}
    with pytest.raises(BrokenPromise) as error:
        discreet.protect(people, recipe(step))
    assert (
        "broken: what is the same in all rows of household is drawn once for each ('income' is "
        "the same in all rows of a 'household', but was drawn by row)"
    ) in str(error.value)


def test_k_counts_households_where_members_share_an_income(people):
    """The attack: five members with one value were five records of an exact income."""
    release = discreet.protect(people, recipe({"method": "oma", "columns": ["income"], "k": 5}))
    holders = defaultdict(set)
    for household, value in zip(
        people["household"].to_pylist(), columns_of(release)["income"], strict=True
    ):
        holders[value].add(household)
    assert min(map(len, holders.values())) >= 5
    assert not set(holders) & set(people["income"].to_pylist())


@pytest.mark.parametrize("step", ONCE[:3], ids=lambda step: step["method"])
def test_engines_give_the_same(people, step):
    tables = [columns_of(discreet.protect(people, recipe(step), engine=e)) for e in ENGINES]
    for column in step["columns"]:
        np.testing.assert_allclose(tables[0][column], tables[1][column], rtol=1e-9)


def test_text_and_floats_name_households_too(people):
    step = {"method": "noise", "columns": ["income"], "scale": 0.1}
    households = people["household"]
    for kind in (pa.string(), pa.float64()):
        table = people.set_column(0, "household", households.cast(kind))
        held = by_household(people, columns_of(discreet.protect(table, recipe(step)))["income"])
        assert {len(values) for values in held.values()} == {1}


def test_counting_rows_still_draws_once_a_household(people):
    noise = {"method": "noise", "columns": ["income"], "scale": 0.1}
    oma = {"method": "oma", "columns": ["rent"], "k": 5}
    release = discreet.protect(people, recipe(noise, oma, counts="rows"))
    assert release.log["levels"] == {"income": "household"}
    assert release.log["counts"] == "records"


def test_the_same_in_all_rows_of_a_person(people):
    step = {"method": "noise", "columns": ["income"], "scale": 0.1}
    given = recipe(step, roles={"household": None, "unit": "household"})
    given["roles"].pop("household")
    release = discreet.protect(people, given)
    held = by_household(people, columns_of(release)["income"])
    assert {len(values) for values in held.values()} == {1}
    assert "household" not in columns_of(release)


def test_a_listed_column_that_differs_is_refused(people):
    step = {"method": "noise", "columns": ["wage"], "scale": 0.1}
    with pytest.raises(BadInput) as error:
        discreet.protect(people, recipe(step, roles={"household_level": ["wage"]}))
    assert str(error.value) == (
        "household_level lists 'wage', which differs between members of a household in 'household'"
    )


def test_random_steps_do_not_mix_households_and_persons(people):
    step = {"method": "noise", "columns": ["income", "wage"], "scale": 0.1, "kind": "correlated"}
    with pytest.raises(BadInput) as error:
        discreet.protect(people, recipe(step))
    assert str(error.value) == (
        "step 1 (noise) treats 'income', which is the same in all rows of a 'household', together "
        "with columns that are not; put it into a step of its own"
    )


def test_nulls_in_what_is_counted_are_refused(people):
    table = people.set_column(
        0, "household", pa.array([None, *people["household"].to_pylist()[1:]])
    )
    with pytest.raises(BadInput) as error:
        discreet.protect(table, recipe({"method": "oma", "columns": ["wage"], "k": 5}))
    assert str(error.value) == (
        "'household', whose households are counted, is null in 1 row; fill it there or remove the "
        "row, since k cannot count who is not named"
    )


# Suppression

GENERALIZE = {
    "method": "generalize",
    "columns": ["region", "age"],
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "suppression_limit": 1.0,
    "levels": {"region": 0, "age": 1},
    "hierarchies": {"region": {"kind": "flat"}, "age": {"kind": "intervals", "widths": [5, 10]}},
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_suppressed_record_loses_its_household(people, engine):
    oma = {"method": "oma", "columns": ["income"], "k": 5}
    given = recipe(GENERALIZE, oma, quasi=["region", "age"])
    release = discreet.protect(people, given, engine=engine)
    shown = columns_of(release)
    starred = [region in ("*", None) for region in shown["region"]]
    assert 0 < sum(starred) < len(starred)
    # Its income would lead back to the household as well as the number does.
    for star, home, income in zip(starred, shown["household"], shown["income"], strict=True):
        assert (home is None) == star
        assert income is None or not star


def test_a_suppressed_record_takes_its_household_along(people, tmp_path):
    given = recipe(GENERALIZE, quasi=["region", "age"], household_suppression="whole")
    release = discreet.protect(people, given)
    gone = by_household(people, [region is None for region in columns_of(release)["region"]])
    assert {len(states) for states in gone.values()} == {1}
    assert any(True in states for states in gone.values())
    classes = defaultdict(set)
    shown = columns_of(release)
    for household, *key in zip(
        people["household"].to_pylist(), shown["region"], shown["age"], strict=True
    ):
        classes[tuple(key)].add(household)
    classes.pop((None, None))
    assert min(map(len, classes.values())) >= 5
    folder = tmp_path / "release"
    release.save(folder)
    (table,) = (folder / "public").glob("table.*")
    assert discreet.check_release(table, release.recipe, folder / "internal", people).ok


def test_a_household_that_is_left_out_in_part_is_found_out(people, monkeypatch):
    given = recipe(GENERALIZE, quasi=["region", "age"], household_suppression="whole")
    from discreet.flow import treating

    whole, asked = treating.to_leave_out, []

    def in_part(*given):
        asked.append(given)
        # The rows of all that are left out, but for one.
        return whole(*given)[1:] if len(asked) == 1 else None

    monkeypatch.setattr(treating, "to_leave_out", in_part)
    with pytest.raises(BrokenPromise, match="a household is left out in part"):
        discreet.protect(people, given)


def test_whole_households_need_all_rows(people):
    given = recipe(GENERALIZE, quasi=["region", "age"], household_suppression="whole")
    with pytest.raises(BadInput) as error:
        discreet.protect(people, given, engine="duckdb")
    assert str(error.value) == (
        "step 1 (generalize) cannot run on duckdb: household_suppression = 'whole' looks at the "
        "rows of each household; use --engine memory"
    )


def test_the_number_of_a_household_need_not_be_released(people):
    step = {"method": "oma", "columns": ["income"], "k": 5}
    release = discreet.protect(people, recipe(step, roles={"release_household": False}))
    assert list(columns_of(release)) == ["income"]


def test_a_point_that_stands_for_one_household_is_refused(people):
    step = {"method": "equal-width", "columns": ["wage"], "n_points": 400}
    with pytest.raises(BadInput) as error:
        discreet.protect(people, recipe(step))
    assert str(error.value) == (
        "step 1 (equal-width): a point of column 'wage' stands for 1 household; set min_count = 3 "
        "or more to merge such parts, or min_count = 1 to release them knowingly"
    )


def test_a_list_that_names_no_column_is_refused(people):
    step = {"method": "oma", "columns": ["income"], "k": 5}
    for given, said in (
        (recipe(step, allow_leaks=["incom"]), "allow_leaks lists 'incom'"),
        (recipe(step, roles={"household_level": ["incom"]}), "household_level lists 'incom'"),
        (recipe(step, roles={"not_identifiers": ["incom"]}), "not_identifiers lists 'incom'"),
    ):
        with pytest.raises(BadInput) as error:
            discreet.protect(people, given)
        assert str(error.value) == (
            f"{said}, but the table has no such column; did you mean 'income'?"
        )


def test_pseudonyms_of_several_rows_need_the_role_unit(people):
    step = {"method": "oma", "columns": ["wage"], "k": 5}
    given = recipe(step, roles={"pseudonyms": ["household"]})
    del given["roles"]["household"]
    with pytest.raises(BadInput) as error:
        discreet.protect(people, given)
    assert str(error.value) == (
        "the pseudonyms of 'household' show which rows belong together; give it the role unit too, "
        'or set counts = "rows" if each row is a person'
    )
    assert discreet.protect(people, given | {"counts": "rows"}).check.ok


def test_whole_households_beyond_the_limit_are_warned_of(people):
    given = recipe(GENERALIZE, quasi=["region", "age"], household_suppression="whole")
    given["steps"][0] = GENERALIZE | {"suppression_limit": 0.02, "levels": {}}
    release = discreet.protect(people, given)
    gone = release.plan.get("suppressed", {}).get("records", 0) / len(people)
    warned = any("beyond suppression_limit" in said for said in release.log["warnings"])
    assert warned == (gone > 0.02)
