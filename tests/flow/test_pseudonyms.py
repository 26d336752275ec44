"""Pseudonyms: the same value the same one in every table of a key, and nobody without it can tell."""

import hashlib
import hmac
import json
import re
import stat
from decimal import Decimal

import pyarrow as pa
import pytest

from discreet import Recipe, protect, read_table, write_table
from discreet.datasets import make_episodes, make_households
from discreet.errors import BadInput

ENGINES = ["memory", "duckdb", pytest.param("spark", marks=pytest.mark.spark)]
KEY = "0f" * 32
STEP = {"method": "oma", "columns": ["cost"], "k": 5}


def recipe(**more):
    roles = {"pseudonyms": ["patient_id"], "unit": "patient_id", "confidential": ["cost"]}
    roles |= {"insensitive": ["days"], "rest": "drop"} | more.pop("roles", {})
    # What k counts is not what is tested here.
    return {"counts": "rows", "roles": roles, "steps": [STEP]} | more


def only(columns, **more):
    return {"roles": {"pseudonyms": list(columns)}, **more}


@pytest.fixture(scope="module")
def visits():
    return make_episodes(300, seed=5)


def test_a_pseudonym_is_the_cut_hmac_of_the_value_as_text(visits):
    release = protect(visits, recipe(pseudonym_key=KEY))
    wanted = [
        hmac.new(bytes.fromhex(KEY), str(value).encode(), hashlib.sha256).hexdigest()[:32]
        for value in visits["patient_id"].to_pylist()
    ]
    assert release.table["patient_id"].to_pylist() == wanted


def test_each_run_draws_a_key_of_its_own(visits):
    one, two = (set(protect(visits, recipe()).table["patient_id"].to_pylist()) for _ in range(2))
    assert len(one) == len(two) == 300
    assert not one & two
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in one)


def test_the_same_value_is_the_same_in_every_column_whatever_its_type():
    given = {
        "integer": pa.array([7, None, 1200]),
        "float": pa.array([7.0, None, 1200.0]),
        "text": pa.array(["7", None, "1200"]),
        "decimal": pa.array([Decimal("7.00"), None, Decimal("1200.00")]),
        "category": pa.array(["7", None, "1200"]).dictionary_encode(),
    }
    table = protect(pa.table(given), only(given)).table
    columns = [table[name].to_pylist() for name in given]
    assert all(column == columns[0] for column in columns)
    assert columns[0][1] is None
    assert columns[0][0] != columns[0][2]


def test_text_is_taken_as_it_is():
    given = pa.table({"a": ["7", "07", "7.0", " 7", ""], "b": [0.5, 1.5, -2.0, 1e300, 0.1]})
    table = protect(given, only(["a", "b"])).table
    assert len(set(table["a"].to_pylist()) | set(table["b"].to_pylist())) == 10


def test_columns_of_other_types():
    days = make_episodes(3)["visit_date"].slice(0, 8)
    given = pa.table({"day": days, "yes": [True, False] * 4})
    table = protect(given, only(["day", "yes"])).table
    for name in given.column_names:
        pairs = set(zip(given[name].to_pylist(), table[name].to_pylist(), strict=True))
        assert len(pairs) == len(set(given[name].to_pylist()))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_every_engine_gives_the_same(visits, tmp_path, engine, suffix):
    path = tmp_path / f"visits.{suffix}"
    write_table(visits, path)
    seeds = {"seed": 2**100 + 1, "order_seed": 2**100 + 2, "pseudonym_key": KEY}
    here = protect(visits, recipe(**seeds))
    here.save(tmp_path / "here", format="csv")
    release = protect(path, recipe(**seeds), engine=engine)
    release.save(tmp_path / "there", format="csv")
    release.close()
    for name in ("table.csv", "codebook.md"):
        wanted = (tmp_path / "here/public" / name).read_bytes()
        assert (tmp_path / "there/public" / name).read_bytes() == wanted


def test_the_key_is_kept_and_a_rerun_gives_identical_bytes(visits, tmp_path):
    protect(visits, recipe()).save(tmp_path / "one")
    kept = tmp_path / "one/internal/pseudonyms.key"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert 'pseudonym_key = "pseudonyms.key"' in (tmp_path / "one/internal/recipe.toml").read_text()
    # Also where the first release was moved.
    (tmp_path / "one").rename(tmp_path / "moved")
    protect(visits, tmp_path / "moved/internal/recipe.toml").save(tmp_path / "two")
    for name in ("public/table.csv", "internal/recipe.toml", "internal/pseudonyms.key"):
        assert (tmp_path / "moved" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_recipe_of_a_release_gives_it_again(visits):
    release = protect(visits, recipe())
    assert protect(visits, release.recipe).table.equals(release.table)
    assert protect(visits, Recipe.from_toml(release.recipe.dump())).table.equals(release.table)


def test_tables_of_one_key_stay_linked(visits, tmp_path):
    protect(visits, recipe()).save(tmp_path / "one")
    persons = pa.table({"person": visits["patient_id"].unique(), "ill": [True, False] * 150})
    (tmp_path / "persons.toml").write_text(
        'pseudonym_key = "one/internal/pseudonyms.key"\n'
        '[roles]\npseudonyms = ["person"]\ninsensitive = ["ill"]\n',
        "utf-8",
    )
    protect(persons, tmp_path / "persons.toml").save(tmp_path / "two")
    one, two = (read_table(tmp_path / name / "public/table.csv") for name in ("one", "two"))
    assert set(one["patient_id"].to_pylist()) == set(two["person"].to_pylist())


def test_nothing_in_public_and_no_report_tells_the_key(visits, tmp_path):
    release = protect(visits, recipe())
    release.save(tmp_path / "out")
    key = release.recipe.pseudonym_key
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file() and path.name != "pseudonyms.key":
            assert key.encode() not in path.read_bytes(), path
    public = (tmp_path / "out/public/report.html").read_text("utf-8")
    assert "pseudonyms show which rows hold the same value, and nothing else" in public
    told = (tmp_path / "out/public/codebook.md").read_text("utf-8")
    assert "replaced by keyed pseudonyms, the same value by the same one" in told
    log = json.loads((tmp_path / "out/internal/log.json").read_text("utf-8"))
    assert log["roles"]["patient_id"] == "pseudonyms"
    assert log["changed_cells"]["patient_id"] == visits.num_rows


@pytest.mark.parametrize("engine", ENGINES)
def test_a_household_may_be_a_pseudonym(tmp_path, engine):
    people = make_households(400, seed=2).select(["household_id", "income"])
    write_table(people, tmp_path / "people.parquet")
    roles = {
        "pseudonyms": ["household_id"],
        "household": "household_id",
        "confidential": ["income"],
    }
    step = {"method": "equal-width", "columns": ["income"], "n_points": 3, "min_count": 3}
    given = {"counts": "rows", "roles": roles, "steps": [step], "pseudonym_key": KEY}
    release = protect(tmp_path / "people.parquet", given, engine=engine)
    release.save(tmp_path / "out", format="parquet")
    release.close()
    released = read_table(tmp_path / "out/public/table.parquet")["household_id"].to_pylist()
    alone = protect(people.select(["household_id"]), only(["household_id"], pseudonym_key=KEY))
    assert sorted(released) == sorted(alone.table["household_id"].to_pylist())


def test_a_unit_that_is_no_pseudonym_is_dropped(visits):
    table = protect(visits, recipe(roles={"pseudonyms": []})).table
    assert "patient_id" not in table.column_names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the pseudonym key .*key.txt cannot be read: No such file"),
        (b"abc\n", "key.txt is not a pseudonym key, which is 64 hexadecimal digits; take"),
        (b"\xff\xfe" * 32, "key.txt is not a pseudonym key"),
    ],
)
def test_a_bad_key_is_refused(visits, tmp_path, content, message):
    if content is not None:
        (tmp_path / "key.txt").write_bytes(content)
    with pytest.raises(BadInput, match=message):
        protect(visits, recipe(pseudonym_key=str(tmp_path / "key.txt")))


@pytest.mark.parametrize("method", ["microaggregation", "generalize"])
def test_rows_without_a_pseudonym_are_linked_to_no_other(method):
    table = pa.table({"who": [None, None, *range(28), *range(28)], "x": [i % 5 for i in range(58)]})
    step = {"method": method, "columns": ["x"], "k": 4}
    if method == "generalize":
        step = {"method": method, "columns": ["x"], "privacy": [{"model": "k-anonymity", "k": 4}]}
        step |= {"hierarchies": {"x": {"kind": "intervals", "widths": [2]}}}
    roles = {"unit": "who", "pseudonyms": ["who"], "quasi": ["x"]}
    roles |= {} if method == "generalize" else {"quasi": [], "confidential": ["x"]}
    release = protect(table, {"roles": roles, "steps": [step], "counts": "rows"})
    assert release.check.verified
    assert release.table["who"].null_count == 2
