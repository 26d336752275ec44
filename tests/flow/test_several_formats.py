"""Releases by their formats: several of one release, and several files in one place."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet import Recipe, check_release, protect, read_table
from discreet.assessment.opened import opened
from discreet.check.folders import find_release
from discreet.check.formats import SAME
from discreet.errors import BadInput
from discreet.table.labels import Labels, with_labels


@pytest.fixture
def release(households, recipe_text):
    return protect(households, Recipe.from_toml(recipe_text))


# Files of one name


def test_files_of_one_name_have_an_internal_folder_each(release, households, tmp_path):
    release.save(tmp_path / "a.dta")
    release.save(tmp_path / "a.xlsx")
    found = {p.name for p in tmp_path.iterdir()}
    assert found == {"a.dta", "a.internal", "a.xlsx", "a.xlsx.internal"}
    for name, internal in (("a.dta", "a.internal"), ("a.xlsx", "a.xlsx.internal")):
        assert find_release(tmp_path / name) == (tmp_path / name, tmp_path / internal)
        assert check_release(tmp_path / name, release.recipe, tmp_path / internal, households).ok


def test_files_of_one_name_are_replaced_one_by_one(release, tmp_path):
    for name in ("a.dta", "a.xlsx", "a.csv"):
        release.save(tmp_path / name)
    with pytest.raises(BadInput, match=r"a.xlsx.internal exists; choose another place"):
        release.save(tmp_path / "a.xlsx")
    before = (tmp_path / "a.internal" / "manifest.json").read_bytes()
    release.save(tmp_path / "a.xlsx", force=True)
    assert (tmp_path / "a.internal" / "manifest.json").read_bytes() == before
    # Once the first is gone, the others stay where they are.
    (tmp_path / "a.dta").unlink()
    (tmp_path / "a.internal").rename(tmp_path / "elsewhere")
    assert find_release(tmp_path / "a.xlsx")[1] == tmp_path / "a.xlsx.internal"
    assert find_release(tmp_path / "a.csv")[1] == tmp_path / "a.csv.internal"


def test_a_folder_that_is_nobodys_is_not_taken_for_anothers(release, tmp_path):
    (tmp_path / "a.internal").mkdir()
    (tmp_path / "a.internal" / "manifest.json").write_text("{}")
    with pytest.raises(BadInput, match=r"a.internal exists and is not a release"):
        release.save(tmp_path / "a.csv", force=True)


def test_a_file_that_was_renamed_with_its_folder_is_found_out(release, tmp_path):
    release.save(tmp_path / "a.csv")
    for name in ("csv", "internal"):
        (tmp_path / f"a.{name}").rename(tmp_path / f"b.{name}")
    table, internal = find_release(tmp_path / "b.csv")
    assert internal == tmp_path / "b.internal"
    assert not check_release(table, release.recipe, internal).ok


# One release in several formats


def findings(report):
    return {one.promise: (one.status, one.detail) for one in report.findings}


def test_several_formats_have_the_same_rows_in_the_same_order(release, households, tmp_path):
    path = release.save(tmp_path / "out", format=["csv", "sav", "dta", "parquet", "xlsx"])
    public = tmp_path / "out" / "public"
    assert path == public / "table.csv"
    assert {p.name for p in public.iterdir()} == {
        "table.csv", "table.sav", "table.dta", "table.parquet", "table.xlsx",
        "codebook.md", "report.html",
    }  # fmt: skip
    tables = {
        suffix: read_table(public / f"table.{suffix}", schema=release.finish.schema).to_pydict()
        for suffix in ("csv", "sav", "dta", "parquet", "xlsx")
    }
    assert all(one == tables["csv"] for one in tables.values())
    assert release.log["output"]["formats"] == ["csv", "sav", "dta", "parquet", "xlsx"]
    # Whichever of them is looked at, all are.
    for name in ("table.csv", "table.sav"):
        table, internal = find_release(public / name)
        report = check_release(table, release.recipe, internal, households)
        assert report.verified
        assert findings(report)[SAME] == ("verified", "csv, sav, dta, parquet, xlsx")
    assert find_release(tmp_path / "out") == (public / "table.csv", tmp_path / "out" / "internal")
    with opened(households, [tmp_path / "out", public / "table.sav"]) as (one, other):
        assert one.after.table.equals(other.after.table)


def test_a_file_that_was_changed_is_found_whichever_is_looked_at(release, tmp_path):
    path = release.save(tmp_path / "out", format=["csv", "parquet"])
    other = path.with_name("table.parquet")
    table = parquet.read_table(other)
    parquet.write_table(table.take([*range(1, len(table)), 0]), other)
    found = findings(check_release(path, release.recipe, tmp_path / "out" / "internal"))
    assert found["the released file is the one that was written"] == (
        "broken", "the hash of public/table.parquet differs",
    )  # fmt: skip
    status, said = found[SAME]
    assert status == "broken"
    assert said.startswith("table.parquet: column '")


def test_a_format_that_is_missing_is_found(release, tmp_path):
    path = release.save(tmp_path / "out", format="csv,parquet")
    path.with_name("table.parquet").unlink()
    found = findings(check_release(path, release.recipe, tmp_path / "out" / "internal"))
    assert found[SAME] == ("broken", "table.parquet is not there")


def test_formats_that_cannot_be(release, households, recipe_text, tmp_path):
    for target, formats, said in (
        ("out", "csv,word", "there is no format 'word'; known: csv, "),
        ("out", "", "there is no format ''; known: csv, "),
        ("out.csv", "csv,sav", "several formats go into a folder; give one instead of "),
    ):
        with pytest.raises(BadInput, match=said):
            release.save(tmp_path / target, format=formats)
    on_duckdb = protect(households, Recipe.from_toml(recipe_text), "duckdb")
    said = "the engine duckdb writes csv, csv.gz, csv.zst, parquet, not sav; use --engine memory"
    with pytest.raises(BadInput, match=said):
        on_duckdb.save(tmp_path / "out", format="csv,sav")
    on_duckdb.close()
    assert not list(tmp_path.iterdir())


def test_engines_write_several_formats_too(households, recipe_text, tmp_path):
    release = protect(households, Recipe.from_toml(recipe_text), "duckdb")
    path = release.save(tmp_path / "out", format=["parquet", "csv"])
    release.close()
    report = check_release(path, release.recipe, tmp_path / "out" / "internal", engine="duckdb")
    assert findings(report)[SAME] == ("verified", "parquet, csv")
    assert not list((tmp_path / "out").glob("**/*again*"))


def test_csv_safe_is_for_the_csv_of_several_formats(tmp_path):
    table = pa.table({"note": ["=1+1", "a"] * 10})
    asked = {"roles": {"insensitive": ["note"]}, "steps": []}
    release = protect(table, asked)
    path = release.save(tmp_path / "out", format=["csv", "parquet"], csv_safe=True)
    assert "'=1+1" in path.read_text()
    written = parquet.read_table(path.with_name("table.parquet"))["note"].to_pylist()
    assert sorted(set(written)) == ["=1+1", "a"]
    with pytest.raises(BadInput, match="csv_safe is for CSV"):
        release.save(tmp_path / "other", format=["sav", "parquet"], csv_safe=True)


def test_several_formats_of_codes_where_levels_differ(tmp_path):
    """Text in CSV and Parquet, numbers with labels in SPSS and Stata: the check knows."""
    names = Labels("Region", {1: "North", 2: "South"})
    field = with_labels(pa.field("region", pa.int64()), names)
    table = pa.table([pa.array([1] * 20 + [2] * 15 + [11, 12, 13, 14, 15])], pa.schema([field]))
    step = {"method": "generalize", "columns": ["region"], "levels": {"region": 0}}
    step |= {"hierarchies": {"region": {"kind": "flat"}}, "suppression_limit": 0.2}
    step |= {"privacy": [{"model": "k-anonymity", "k": 5}]}
    release = protect(table, {"roles": {"quasi": ["region"]}, "steps": [step]})
    path = release.save(tmp_path / "out", format="csv,sav,dta")
    assert set(read_table(path)["region"].to_pylist()) == {"1", "2", "*"}
    assert set(read_table(path.with_name("table.sav"))["region"].to_pylist()) == {1, 2, None}
    report = check_release(path, release.recipe, tmp_path / "out" / "internal", table)
    assert findings(report)[SAME] == ("verified", "csv, sav, dta")
    said = path.with_name("codebook.md").read_text()
    assert "- \\*: not told, a missing value (101 in SPSS, .a in Stata)\n" in said
