"""Releases by their formats: several of one release, and several files in one place."""

import pytest

from discreet import Recipe, check_release, protect
from discreet.check.folders import find_release
from discreet.errors import BadInput


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
