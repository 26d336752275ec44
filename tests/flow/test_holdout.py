"""`protect --holdout`: people who are set aside before any step, and all that must do without."""

import json
import stat
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

import discreet
from discreet import protect, read_table, write_table
from discreet.assessment.attacked import attack
from discreet.attacks import membership
from discreet.check.holdout import HELD
from discreet.datasets import make_households
from discreet.errors import BadInput

SEED = 2**100 + 5
# Every kind of original: rows, whole households, whole units whose pseudonyms are released.
ROLES = {
    "rows": "",
    "households": 'household = "household_id"',
    "units": 'unit = "household_id"\npseudonyms = ["household_id"]\nrelease_household = false',
}
RECIPE = f"""\
seed = {SEED}
order_seed = {2**100 + 7}
counts = "{{counts}}"
null_markers = ["none"]

[roles]
quasi = ["age", "sex"]
confidential = ["income"]
insensitive = ["assets"]
untouched = ["sex"]
rest = "drop"
{{roles}}

[[steps]]
method = "top-bottom"
columns = ["age"]
upper = 80
promise = false

[[steps]]
method = "noise"
columns = ["income"]
scale = 0.1
"""


@pytest.fixture(scope="module")
def people():
    return make_households(600, seed=3, null_rate=0.03)


@pytest.fixture
def place(tmp_path, monkeypatch, people):
    monkeypatch.chdir(tmp_path)
    write_table(people, tmp_path / "people.csv")
    for name, roles in ROLES.items():
        text = RECIPE.format(counts=name, roles=roles)
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    return tmp_path


def done(found):
    code, out, errors = found
    assert code == 0, out + errors
    return out


def protected(run, kind, out, *more):
    asked = ("--recipe", f"{kind}.toml", "--out", out, "--holdout", "0.1", *more)
    return json.loads(done(run("protect", "people.csv", *asked, "--json")))


def findings(found):
    return {one["promise"]: one["status"] for one in json.loads(found[1])["findings"]}


SPARK = pytest.mark.spark


# Who sets households aside on Spark, sets rows aside.
@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("rows", "duckdb"),
        ("households", "duckdb"),
        pytest.param("rows", "spark", marks=[SPARK, pytest.mark.slow]),
        pytest.param("households", "spark", marks=SPARK),
    ],
)
def test_every_engine_sets_the_same_people_aside(place, run, kind, engine):
    one, other = (
        protected(run, kind, name, "--engine", name, "--format", "csv")["log"]["holdout"]
        for name in ("memory", engine)
    )
    assert one == other
    files = [parquet.read_table(f"{name}/internal/holdout.parquet") for name in ("memory", engine)]
    assert files[0].equals(files[1])
    tables = [Path(f"{name}/public/table.csv").read_bytes() for name in ("memory", engine)]
    assert tables[0] == tables[1]
    for name in ("memory", engine):
        checked = run("check", name, "--original", "people.csv", "--engine", "duckdb", "--json")
        assert checked[0] == 0
        assert findings(checked)[HELD] == "verified"


@pytest.mark.parametrize("kind", ROLES)
def test_the_release_is_made_from_the_others_alone(place, run, people, kind):
    told = protected(run, kind, "out")["log"]
    done(run("check", "out", "--original", "people.csv"))
    held = parquet.read_table("out/internal/holdout.parquet").to_pandas()
    shown = pd.read_csv("out/public/table.csv")
    everyone = people.to_pandas()
    gone = held["original_row"].to_numpy()
    assert held["assets"].equals(everyone["assets"].iloc[gone].reset_index(drop=True))
    others = everyone.drop(index=gone)
    assert sorted(shown["assets"].dropna()) == sorted(others["assets"].dropna())
    assert told["input"]["rows"] == len(others) == len(shown)
    groups = everyone.index if kind == "rows" else everyone["household_id"]
    aside = set(groups[gone])
    assert not aside & set(groups.drop(gone) if kind == "rows" else others["household_id"])
    assert len(aside) == told["holdout"]["groups"] == round(0.1 * groups.nunique())


def test_a_written_holdout_is_its_owners_alone_and_the_public_is_told_the_share(place, run):
    out = done(
        run(
            "protect",
            "people.csv",
            "--recipe",
            "households.toml",
            "--out",
            "out",
            "--holdout",
            "0.1",
        )
    )
    assert "records set aside as a holdout" in " ".join(out.split())
    path = Path("out/internal/holdout.parquet")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    said = "A random 10 % of the households were set aside and are not in it."
    assert said in Path("out/public/codebook.md").read_text("utf-8")
    assert said in Path("out/public/report.html").read_text("utf-8")
    assert "were set aside as a holdout" in Path("out/internal/report.html").read_text("utf-8")
    told = json.loads(Path("out/internal/log.json").read_text("utf-8"))["holdout"]
    for file in Path("out/public").iterdir():
        assert str(told["up_to"]) not in file.read_text("utf-8")


def test_a_rerun_of_the_kept_recipe_gives_the_same_bytes(place, run):
    text = Path("rows.toml").read_text("utf-8")
    # Without seeds of its own: a secret one is drawn, and kept.
    Path("rows.toml").write_text(text[text.index("counts") :], "utf-8")
    drawn = protected(run, "rows", "one")["log"]["seed"]["drawn"]
    again = ("--recipe", "one/internal/recipe.toml", "--out", "two")
    log = json.loads(done(run("protect", "people.csv", *again, "--json")))["log"]
    assert (drawn, log["seed"]["drawn"]) == (True, False)
    assert not any("new ones" in said for said in log["warnings"])
    for name in ("public/table.csv", "internal/holdout.parquet", "internal/rows.parquet"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_whatever_compares_with_the_original_does_without_them(place, run, engine):
    protected(run, "households", "out", "--engine", engine)
    protected(run, "rows", "other", "--engine", engine)
    assessed = json.loads(done(run("assess", "people.csv", "out", "--json")))
    kept = json.loads(Path("out/internal/assessment.json").read_text("utf-8"))
    assert assessed["risk"]["class_sizes"] == kept["risk"]["class_sizes"]
    compared = json.loads(done(run("compare", "people.csv", "out", "other", "--json")))
    assert any("since a holdout was set aside" in note for note in compared["notes"])
    done(run("report", "out", "--original", "people.csv", "--out", "page.html"))


def test_the_check_finds_edits_on_both_sides(place, run):
    protected(run, "households", "out")
    table = pd.read_csv("people.csv")
    gone = parquet.read_table("out/internal/holdout.parquet")["original_row"].to_pylist()
    stays = next(row for row in range(len(table)) if row not in gone)
    edits = {
        gone[0]: (HELD, "the original is the one that was protected"),
        stays: ("the original is the one that was protected", HELD),
    }
    for row, (broken, good) in edits.items():
        edited = table.copy()
        edited.loc[row, "assets"] = 1.5
        edited.to_csv("edited.csv", index=False)
        found = run("check", "out", "--original", "edited.csv", "--json")
        assert found[0] == 1
        assert (findings(found)[broken], findings(found)[good]) == ("broken", "verified")
    for row in (gone[0], stays):
        table.drop(index=row).to_csv("edited.csv", index=False)
        assert run("check", "out", "--original", "edited.csv")[0] == 1
    held = parquet.read_table("out/internal/holdout.parquet")
    parquet.write_table(held.slice(1), "out/internal/holdout.parquet")
    assert run("check", "out")[0] == 1
    log = Path("out/internal/log.json")
    text = log.read_text("utf-8")
    for edit in ({"up_to": -1}, {"groups": None}, {"what": "people"}):
        content = json.loads(text)
        content["holdout"] |= edit
        log.write_text(json.dumps(content), "utf-8")
        code, _, errors = run("check", "out", "--original", "people.csv")
        assert code == 2
        assert "is not the internal folder of a release" in errors


def test_an_attack_takes_it_by_itself_and_says_so(place, run, people):
    release = protect(people, "households.toml", holdout=0.2)
    release.save("out")
    done(run("check", "out", "--original", "people.csv"))
    found = json.loads(done(run("attack", "people.csv", "out", "--queries", "100", "--json")))
    records = len(release.holdout)
    assert found["notes"][0] == (
        f"the holdout is the {records:,} records that were set aside before any step"
    )
    # The same as with everything given by hand; incomes have noise.
    others = np.setdiff1d(np.arange(len(people)), release.holdout["original_row"].to_numpy())
    given = {"holdout": release.holdout, "known": ["age", "sex", "income"], "drawn": ["income"]}
    given["unit"] = "household_id"
    alone = membership(people.take(others), release.table, **given, queries=100)
    assert alone.to_dict() == found["attacks"][-1]
    for one in (attack(people, release, queries=100), attack(people, "out", queries=100)):
        assert [o.to_dict() for o in one.attacks] == found["attacks"]
    explicit = attack(people, "out", holdout=release.holdout, queries=100)
    assert [o.to_dict() for o in explicit.attacks] == found["attacks"]


def test_releases_with_other_people_aside_are_not_put_together(place, run, people):
    asked = discreet.Recipe.load("rows.toml")
    for name, seed in (("one", SEED), ("two", SEED), ("three", SEED + 1)):
        protect(people, asked.model_copy(update={"seed": seed}), holdout=0.1).save(name)
    done(run("attack", "people.csv", "one", "two"))
    code, _, errors = run("attack", "people.csv", "one", "three")
    assert code == 2
    assert "since a holdout of its own was set aside for each" in errors


def test_a_holdout_by_hand_that_is_in_the_original_too(people):
    recipe = discreet.Recipe.from_toml(RECIPE.format(counts="rows", roles=""))
    inside, outside = people[:500], people[500:]
    release = protect(inside, recipe)
    attack(inside, release, holdout=outside, queries=50)
    for some in (inside[:4], inside[:100]):
        # Names give four away; all that is released, a hundred.
        both = pa.concat_tables([outside, some])
        both = both if len(some) == 4 else both.drop_columns(["name"])
        with pytest.raises(BadInput, match=r"records of the holdout are in the original, too"):
            attack(inside, release, holdout=both, queries=50)
    # With a column or two, people are like others by chance, and nobody is the same for that.
    asked = {"roles": {"quasi": ["age", "sex"], "untouched": ["age", "sex"]}}
    inside, outside = (table.select(["age", "sex"]) for table in (inside, outside))
    release = protect(inside, asked)
    [note] = attack(inside, release, holdout=outside, queries=50).notes
    assert note.endswith("of the original in every shared column, which chance explains")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.Table])
def test_the_table_has_the_kind_of_the_input_and_lacks_them(people, kind):
    made = {pd.DataFrame: people.to_pandas, pl.DataFrame: lambda: pl.from_arrow(people)}
    given = made.get(kind, lambda: people)()
    recipe = discreet.Recipe.from_toml(RECIPE.format(counts="rows", roles=""))
    release = protect(given, recipe, holdout=0.1)
    assert isinstance(release.table, kind)
    assert len(release.table) == 540
    gone = release.holdout["original_row"].to_numpy()
    assets = np.delete(people["assets"].to_numpy(), gone)
    assert np.array_equal(np.asarray(release.table["assets"], float), assets, equal_nan=True)


def test_the_same_people_whatever_the_types_of_a_format(tmp_path, people):
    recipe = {
        "roles": {"confidential": ["income"], "household": "household_id", "rest": "drop"},
        "steps": [],
        "counts": "rows",
    }
    real = people.to_pandas().astype({"household_id": float})
    path = protect(real, recipe, holdout=0.1).save(tmp_path / "out")
    internal = tmp_path / "out/internal"
    assert discreet.check_release(path, internal / "recipe.toml", internal, people).ok


def test_rows_are_named_as_they_are_in_the_original(place, run, people):
    told = protected(run, "rows", "out")["assessment"]["figures"]["riskiest"]
    again = json.loads(done(run("assess", "people.csv", "out", "--json")))["figures"]["riskiest"]
    assert [one["row"] for one in told] == [one["row"] for one in again]
    everyone = people.to_pandas().fillna({"age": -1, "sex": "none"})
    shown = everyone.drop(index=pd.read_parquet("out/internal/holdout.parquet")["original_row"])
    assert len(told) > 5
    for one in told:
        record = shown.loc[one["row"] - 1]
        same = (shown["age"] == record["age"]) & (shown["sex"] == record["sex"])
        assert one["class_before"] == same.sum()
    odd = people.set_column(
        people.column_names.index("income"), "income", pa.array([np.inf] * len(people))
    )
    with pytest.raises(BadInput, match=r"row \d+.* \(rows are counted without those that are set"):
        protect(odd, "rows.toml", holdout=0.1)


def test_rows_without_a_place_are_known_by_their_unit_or_key(tmp_path, people):
    relation = duckdb.from_arrow(people)
    recipe = {"roles": {"confidential": ["income"], "rest": "drop"}, "steps": []}
    with pytest.raises(BadInput, match="a holdout is drawn by row, but the rows of this table"):
        protect(relation, recipe, holdout=0.1)
    recipe["roles"]["unit"] = "household_id"
    protect(relation, recipe, holdout=0.1).save(tmp_path / "out")
    held = parquet.read_table(tmp_path / "out/internal/holdout.parquet")
    turned = people.take(np.arange(len(people))[::-1])
    write_table(turned, tmp_path / "turned.parquet")
    found = discreet.check_release(
        tmp_path / "out/public/table.parquet",
        tmp_path / "out/internal/recipe.toml",
        tmp_path / "out/internal",
        tmp_path / "turned.parquet",
    )
    assert HELD in [one.promise for one in found.having("verified")]
    assert set(held.column_names) == {"income", "household_id"}


@pytest.mark.parametrize(
    ("holdout", "rows", "roles", "said"),
    [
        (0, 600, {}, "holdout must be above 0 and at most 0.5, not 0"),
        (0.6, 600, {}, "holdout must be above 0 and at most 0.5, not 0.6"),
        (float("nan"), 600, {}, "holdout must be above 0 and at most 0.5, not nan"),
        (True, 600, {}, "holdout must be above 0 and at most 0.5, not True"),
        (
            0.1, 80, {},
            "holdout = 0.1 would set aside 8 of 80 records, and an attack needs 10 or more to "
            "compare with; give 0.125 or more, or leave the holdout out",
        ),
        (
            0.5, 15, {},
            "holdout = 0.5 would set aside 8 of 15 records, and an attack needs 10 or more to "
            "compare with; leave the holdout out",
        ),
        (
            0.1, 600, {"unit": "sex", "household": "household_id"},
            "a holdout has whole households and whole units, but some 'sex' is in several "
            "'household_id'; leave the holdout out, or one of the two roles",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_set_aside_is_refused_in_a_sentence(people, holdout, rows, roles, said):
    recipe = {"roles": {"confidential": ["income"], "rest": "drop", **roles}, "steps": []}
    with pytest.raises(BadInput) as by_option:
        protect(people[:rows], recipe, holdout=holdout)
    assert str(by_option.value) == said
    with pytest.raises(BadInput) as by_recipe:
        protect(people[:rows], recipe | {"holdout": holdout})
    assert str(by_recipe.value).removeprefix("the recipe: ") == said


def test_the_option_overrides_the_recipe_and_nobody_is_split_where_households_are_unknown(people):
    home = people["household_id"].to_pylist()
    lost = pa.array([None if row % 3 else str(one) for row, one in enumerate(home)])
    table = people.set_column(people.column_names.index("household_id"), "household_id", lost)
    table = table.append_column("person", pa.array([f"p{row // 2}" for row in range(len(table))]))
    roles = {"confidential": ["income"], "unit": "person", "rest": "drop"}
    recipe = {"roles": roles, "steps": [], "holdout": 0.1}
    release = protect(table, recipe, holdout=0.25)
    assert release.recipe.holdout == 0.25
    assert release.log["holdout"]["groups"] == 75
    assert set(release.holdout["person"].value_counts().field("counts").to_pylist()) == {2}
    by_home = {"confidential": ["income"], "household": "household_id", "rest": "drop"}
    held = protect(table, {"roles": by_home, "steps": [], "counts": "rows"}, holdout=0.3).holdout
    gone = held["original_row"].to_numpy()
    kept = np.delete(np.array(lost.to_pylist(), object), gone)
    assert not {one for one in held["household_id"].to_pylist() if one} & set(kept)
    assert held["household_id"].null_count


def test_missing_value_codes_stay_with_their_rows(tmp_path):
    pay = np.random.default_rng(0).choice([1.0, 2.0, 98.0, 99.0], 200)
    people = pd.DataFrame({"number": np.arange(200) + 1000.0, "pay": pay})
    pyreadstat.write_sav(people, tmp_path / "people.sav", missing_ranges={"pay": [98, 99]})
    recipe = {"roles": {"insensitive": ["number", "pay"], "not_identifiers": ["number"]}}
    release = protect(tmp_path / "people.sav", recipe, holdout=0.2)
    path = release.save(tmp_path / "out", format="sav")
    shown, _ = pyreadstat.read_sav(path, user_missing=True)
    assert len(shown) == 160
    both = shown.merge(people, on="number", suffixes=("", "_before"))
    assert both["pay"].equals(both["pay_before"])


def test_two_tables_and_two_formats_have_the_same_people(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(6)
    ill = draw.permutation(np.resize(["flu", "gout", "acne", "ms", "none"], 200))
    write_table(pa.table({"age": draw.integers(18, 90, 200), "ill": ill}), "people.csv")
    Path("r.toml").write_text(
        '[roles]\nquasi = ["age"]\nconfidential = ["ill"]\n[[steps]]\nmethod = "anatomy"\n'
        'columns = ["age"]\nconfidential = ["ill"]\nl = 3\n'
    )
    asked = ("--recipe", "r.toml", "--out", "out", "--holdout", "0.1", "--format", "csv,sav")
    done(run("protect", "people.csv", *asked))
    done(run("check", "out", "--original", "people.csv"))
    assert len(read_table("out/public/confidential.csv")) == 180
