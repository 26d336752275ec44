"""A direct identifier among the released columns stops a run; amounts and categories do not."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect, write_table
from discreet.datasets import make_episodes, make_households
from discreet.errors import BadInput
from tests.timed import within

ENGINES = ["memory", "duckdb", pytest.param("spark", marks=pytest.mark.spark)]
RNG = np.random.default_rng(5)
N = 400


def release(name, values, **roles):
    return protect(pa.table({name: values}), {"roles": {"insensitive": [name]} | roles})


IDENTIFIERS = {
    "unnamed text": ("x", [f"k{i}" for i in range(N)], "100% of its values are different"),
    "mostly different": ("x", [f"k{i % 370}" for i in range(N)], "92% of its values are different"),
    "consecutive": ("x", RNG.permutation(N) + 7, "its numbers are consecutive, from 7 to 406"),
    "nearly consecutive": ("x", RNG.permutation(420)[:N], "its numbers are consecutive"),
    "a few in order": ("x", list(range(20)), "its numbers are consecutive, from 0 to 19"),
    "a number of cases": ("file_no", RNG.permutation(10**6)[:N], "its name says that it numbers"),
    "several rows": ("patient_id", [i // 7 * 31 for i in range(N)], "numbers people, and it has 58"),
    "with nulls": ("subj", [None, *(float(i // 7) for i in range(N))], "numbers people"),
    "a household": ("hhid", [i // 2 * 31 for i in range(N)], "numbers households"),
    "mails": ("x", [f"a{i // 7}@example.org" for i in range(N)], "look like e-mail addresses"),
    "phones": ("x", [f"+49 30 {i // 3 + 12345:06d}" for i in range(N)], "look like phone numbers"),
    "names": ("surname", [f"Smith{i // 5}" for i in range(N)], "its name says that it names people"),
    "accounts": ("account", [i // 5 * 7 for i in range(N)], "leads to a person"),
    "categories": ("x", pa.array([f"k{i}" for i in range(N)]).dictionary_encode(), "different"),
}  # fmt: skip


@pytest.mark.parametrize("what", IDENTIFIERS)
def test_a_direct_identifier_stops_a_run(what):
    name, values, why = IDENTIFIERS[what]
    with pytest.raises(BadInput) as error:
        release(name, values)
    said = str(error.value)
    assert said.startswith(f"column '{name}' would be released, but looks like an identifier: ")
    assert why in said
    assert said.endswith(
        "list it under identifiers or pseudonyms, or under not_identifiers if it is none"
    )
    release(name, values, not_identifiers=[name])
    release(name, values, insensitive=[], pseudonyms=[name])


NONE = {
    "amounts": ("income", RNG.lognormal(10, 1, N)),
    "whole amounts": ("income", RNG.integers(10_000, 99_999, N)),
    "whole amounts as floats": ("cost", RNG.integers(0, 10**6, N).astype(float)),
    "dates": ("seen", [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)]),
    "dates as text": ("seen", [f"{2000 + i // 28}-01-{i % 28 + 1:02d}" for i in range(N)]),
    "dates like phone numbers": ("seen", [f"0{i % 9 + 1}.01.{1950 + i // 9}" for i in range(N)]),
    "shares as text": ("x", [f"0.{i * 7 + 1_000_000}" for i in range(N)]),
    "decimals as text": ("x", [f"{i * 7}.5" for i in range(N)]),
    "ages": ("age", RNG.integers(0, 100, N)),
    "years": ("year", list(range(1960, 2020))),
    "counts": ("no_of_children", RNG.integers(0, 50, N)),
    "employees": ("employees", RNG.integers(0, 10**6, N)),
    "codes": ("icd", [f"A{i % 60:02d}" for i in range(N)]),
    "clinics": ("clinic_name", [f"{chr(65 + i % 24)} Clinic" for i in range(N)]),
    "regions": ("region_id", RNG.integers(0, 30, N)),
    "hospitals": ("hospital_nr", RNG.integers(0, 40, N)),
    "few rows": ("x", [f"k{i}" for i in range(19)]),
    "nulls": ("patient_id", pa.array([None] * N, pa.int64())),
    "booleans": ("id", [True, False] * (N // 2)),
    "lots of rows": ("shop_id", [i % 25 for i in range(5000)]),
}


@pytest.mark.parametrize("what", NONE)
def test_what_is_no_identifier_is_released(what):
    name, values = NONE[what]
    assert release(name, values).table.column_names == [name]


def test_the_subject_number_of_a_clinical_file_is_not_released():
    visits = make_episodes(500, seed=1)
    roles = {"insensitive": ["patient_id", "days"], "confidential": ["cost"], "rest": "drop"}
    step = {"method": "oma", "columns": ["cost"], "k": 5}
    with pytest.raises(BadInput, match="column 'patient_id' would be released, but looks like"):
        protect(visits, {"roles": roles, "steps": [step]})


def test_what_goes_with_each_unit_is_an_identifier_whatever_its_name():
    visits = make_episodes(300, seed=1)
    chips = pa.array(visits["patient_id"].to_numpy() * 7919 % 1_000_003)
    table = visits.append_column("chip", chips).append_column("annual_income", chips)
    roles = {"insensitive": ["chip"], "rest": "drop"}
    protect(table, {"roles": roles})
    why = "column 'chip' .* it has a value of its own for each 'patient_id'; list it under"
    with pytest.raises(BadInput, match=why):
        protect(table, {"roles": roles | {"unit": "patient_id"}})
    # An amount may be the same in all rows of a person, and so may be a year of birth.
    roles = {"insensitive": ["annual_income", "birth_year"], "unit": "patient_id", "rest": "drop"}
    protect(table, {"roles": roles})


def test_treated_columns_and_new_household_numbers_are_no_identifiers():
    people = make_households(300, seed=1).select(["household_id", "postcode"])
    step = {"method": "generalize", "columns": ["postcode"], "suppression_limit": 1.0}
    step |= {"hierarchies": {"postcode": {"kind": "prefix"}}}
    step |= {"privacy": [{"model": "k-anonymity", "k": 3}]}
    roles = {"household": "household_id", "quasi": ["postcode"]}
    table = protect(people, {"counts": "rows", "roles": roles, "steps": [step]}).table
    assert table.column_names == ["household_id", "postcode"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_refuses_the_same(tmp_path, engine):
    table = make_episodes(2000, seed=2)
    chips = pa.array(table["patient_id"].to_numpy() * 7919 % 1_000_003)
    texts = pa.array([f"v{i}" for i in range(table.num_rows)])
    table = table.append_column("chip", chips).append_column("visit", texts)
    table = table.append_column("n", pa.array(RNG.permutation(table.num_rows)))
    write_table(table, tmp_path / "in.parquet")
    others = ["clinic_name", "sex", "birth_year", "visit_date", "diagnosis", "days", "cost"]
    for name in ("chip", "visit", "n"):
        roles = {"insensitive": [*others, name], "unit": "patient_id", "rest": "drop"}
        with pytest.raises(BadInput, match=f"^column '{name}' would be released, but looks like"):
            protect(tmp_path / "in.parquet", {"roles": roles}, engine=engine)
    roles = {"insensitive": others, "unit": "patient_id", "rest": "drop"}
    protect(tmp_path / "in.parquet", {"roles": roles}, engine=engine).close()


@pytest.mark.slow
@pytest.mark.stress
def test_a_million_rows_and_twenty_columns_take_a_second():
    from discreet.engines.memory import MemoryFrame
    from discreet.flow.identifiers import refuse_identifiers
    from discreet.recipe import Recipe

    people = make_households(1_000_000, seed=1).drop_columns(["name", "household_id"])
    more = {f"{name}_2": people[name] for name in people.column_names[:7]}
    table = pa.table({name: people[name] for name in people.column_names} | more)
    assert table.num_columns == 20
    recipe = Recipe.from_dict({"roles": {"rest": "insensitive"}})
    within(5, lambda: refuse_identifiers(MemoryFrame(table), recipe, table.column_names))


@pytest.mark.parametrize(
    "step",
    [
        {"method": "pram", "columns": ["mail"], "retention": 0.8},
        {"method": "shuffle", "columns": ["mail"]},
    ],
)
def test_an_identifier_that_is_swapped_is_still_one(step):
    table = pa.table({"mail": [f"anna{i}@example.org" for i in range(200)], "x": range(200)})
    rules = {"roles": {"confidential": ["mail"], "rest": "insensitive"}, "steps": [step]}
    with pytest.raises(BadInput, match=r"column 'mail' would be released, but looks like an ident"):
        protect(table, rules)


SEVERAL = {
    "roles": {
        "identifiers": ["patient_id"],
        "quasi": ["sex"],
        "rest": "drop",
    },
    "steps": [{"method": "generalize", "columns": ["sex"],
               "privacy": [{"model": "k-anonymity", "k": 3}],
               "hierarchies": {"sex": {"kind": "flat"}}}],
}  # fmt: skip


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_people_with_several_rows_who_are_not_counted_are_told(engine):
    visits = make_episodes(100, seed=1)

    def told(table, **changed):
        log = protect(table, SEVERAL | changed, engine=engine).log
        return [said for said in log["warnings"] if "'patient_id' has" in said]

    rows = visits.num_rows / 100
    assert told(visits) == [
        f"weak: k counts rows, and 'patient_id' has {rows:.1f} of them for each value: give it the "
        'role unit if it numbers people, or set counts = "rows" if each row is a person'
    ]
    assert told(visits, counts="rows") == []
    assert told(visits, roles=SEVERAL["roles"] | {"identifiers": [], "unit": "patient_id"}) == []
    first = visits.take(np.unique(visits["patient_id"], return_index=True)[1])
    assert told(first) == []
