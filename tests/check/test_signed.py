"""Releases without their key, in other places, and with the public half only."""

import json
import os
import shutil
from pathlib import Path

import pytest
from pyarrow import parquet

import discreet
from discreet import check_release
from discreet.check.keys import key_file
from discreet.check.manifest import Seal
from tests.check.tampered import FILE, MANIFEST, PROOF, PUBLIC, RECIPE, SIGNED, people, strange

# Another key, and none


@pytest.mark.parametrize("kept", ["another", "none"])
def test_without_the_key_hashes_that_match_prove_nothing(place, monkeypatch, kept):
    key = place.folder / "key"
    monkeypatch.setenv("DISCREET_KEY_FILE", str(key))
    if kept == "another":
        key.write_text("ab" * 32)
        key.chmod(0o600)
    found = place.check()
    status, said = found[MANIFEST]
    assert status == "not verifiable"
    assert said.startswith("another key: it was made with key ")
    assert said.endswith("and yours is 9a2db2e23f1504cd" if kept == "another" else "does not exist")
    matching = "another key: 5 files with their hashes match, but anybody could have made the list"
    assert found[FILE] == ("not verifiable", matching)
    assert found[PROOF][0] == "not verifiable"
    assert found[PROOF][1].startswith("another key: ")
    # The key that the manifest names proves nothing by itself.
    assert found[SIGNED] == ("not verifiable", "needs the public key of whoever signed it")
    assert place.check(public_key=place.folder / "signing.pub")[SIGNED][0] == "verified"
    assert key.exists() == (kept == "another")
    place.edit("internal/log.json", lambda log: log.update(warnings=["none"]))
    assert place.check()[PROOF] == ("broken", "the hash of internal/log.json differs")


def test_only_a_file_of_the_fixed_list_is_public_whatever_the_manifest_says(place):
    """Also where it was made anew by whoever has the key."""
    shutil.copy(place.folder / "raw.csv", place.public / "raw.csv")
    Seal.of(place.folder / "signing.pem").put(place.release, "0" * 12)
    assert place.check()[FILE] == ("broken", strange("public/raw.csv"))


# The public half, verified without a secret


@pytest.fixture
def shared(place, monkeypatch):
    """What users get: the public half under another name, and the public key."""
    monkeypatch.setenv("DISCREET_KEY_FILE", str(place.folder / "none"))
    place.public.rename(place.folder / "survey")
    shutil.rmtree(place.release)
    return place.folder / "survey"


def signed(run, folder, name="signing"):
    key = folder.parent / f"{name}.pub"
    code, out, err = run("check", folder, "--public-key", key, "--json")
    assert err == ""
    (found,) = json.loads(out)["findings"]
    assert found["promise"] == PUBLIC
    return code, found["status"], found["detail"]


def test_users_verify_what_was_signed(shared, run):
    code, status, detail = signed(run, shared)
    assert (code, status) == (0, "verified")
    release = json.loads((shared / "manifest.json").read_text())["release"]
    assert detail.startswith(f"release {release}, signed with ")
    assert signed(run, shared, "stranger")[:2] == (1, "broken")


@pytest.mark.parametrize(
    ("edit", "detail"),
    [
        (
            lambda p: (p / "table.csv").write_text("pay\n1\n"),
            "the hash of public/table.csv differs",
        ),
        (lambda p: (p / "raw.csv").touch(), "public/raw.csv does not belong to the release"),
        (lambda p: (p / "codebook.md").unlink(), "public/codebook.md is missing"),
        (lambda p: (p / "manifest.sig").unlink(), "it is not signed: manifest.sig: No such file"),
        (lambda p: (p / "manifest.sig").write_bytes(b"x" * 64), "the signature is not that of the"),
        (
            lambda p: (p / "manifest.json").write_text("{}"),
            "it is not signed: manifest.json is dam",
        ),
    ],
)
def test_users_find_what_was_edited(shared, run, edit, detail):
    edit(shared)
    code, status, said = signed(run, shared)
    assert (code, status, said[: len(detail)]) == (1, "broken", detail)


def test_the_public_manifest_tells_nothing_of_the_internal_half(place):
    shared = json.loads((place.public / "manifest.json").read_text())
    kept = json.loads((place.internal / "manifest.json").read_text())
    assert sorted(shared) == ["files", "release"]
    assert sorted(shared["files"]) == ["codebook.md", "report.html", "table.csv"]
    text = (place.public / "manifest.json").read_text() + (place.public / "report.html").read_text()
    internal = [one["sha256"] for name, one in kept["files"].items() if name[0] == "i"]
    assert not any(secret in text for secret in [*internal, kept["mac"], kept["key"]])


def test_a_release_that_is_not_signed(tmp_path, place, run):
    discreet.protect(people(1), RECIPE).save(tmp_path / "plain")
    key = place.folder / "signing.pub"
    code, out, _ = run("check", tmp_path / "plain", "--public-key", key, "--json")
    found = {one["promise"]: one["status"] for one in json.loads(out)["findings"]}
    assert (code, found[PUBLIC], found[SIGNED]) == (1, "broken", "broken")
    assert not (tmp_path / "plain" / "public" / "manifest.json").exists()


# Copies


def test_a_copy_is_the_same_release_and_an_open_one_is_told(place, run):
    copy = shutil.copytree(place.release, place.folder / "copy")
    assert run("check", copy)[0] == 0
    # As an archive without modes is unpacked.
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    code, out, _ = run("check", copy, "--json")
    assert code == 1
    assert "internal has mode 0755, at most 0700 is right, and " in out
    for path in [copy / "internal", *(copy / "internal").iterdir()]:
        path.chmod(path.stat().st_mode & 0o700)
    (copy / "public" / "table.csv").chmod(0o444)
    assert run("check", copy)[0] == 0


def test_a_release_is_closed_whatever_the_umask(tmp_path, run):
    for umask in (0o000, 0o077):
        before = os.umask(umask)
        try:
            release = discreet.protect(people(1), RECIPE)
            release.save(tmp_path / f"{umask:03o}")
        finally:
            os.umask(before)
        assert run("check", tmp_path / f"{umask:03o}")[0] == 0
    # What only the owner can read is shared by letting others read it.
    (tmp_path / "077" / "public" / "table.csv").chmod(0o644)
    (tmp_path / "077" / "public").chmod(0o755)
    assert run("check", tmp_path / "077")[0] == 0


def test_a_file_and_the_folder_beside_it(tmp_path, run):
    discreet.protect(people(1), RECIPE).save(tmp_path / "shared.csv")
    (tmp_path / "beside.txt").write_text("not of the release")
    assert run("check", tmp_path / "shared.csv")[0] == 0
    (tmp_path / "shared.csv").rename(tmp_path / "other.csv")
    (tmp_path / "shared.internal").rename(tmp_path / "other.internal")
    code, out, _ = run("check", tmp_path / "other.csv", "--json")
    assert code == 1
    assert "public/other.csv does not belong to the release" in out


def test_extra_files_are_found_however_the_folders_are_named(place, monkeypatch):
    (place.public / "raw.csv").write_text("Person 100")
    monkeypatch.chdir(place.release)
    report = check_release("public/table.csv", RECIPE, place.internal)
    assert [f.detail for f in report.having("broken")] == [strange("public/raw.csv")]


def test_a_table_in_parts(tmp_path, run):
    """As Spark writes it, with row maps of the same names."""
    discreet.protect(people(1), RECIPE).save(tmp_path / "out", format="parquet")
    parts = ("public/table.parquet", "internal/rows.parquet")
    for path in (tmp_path / "out" / name for name in parts):
        whole = parquet.read_table(path)
        path.unlink()
        path.mkdir()
        for number, rows in enumerate((whole.slice(0, 20), whole.slice(20))):
            parquet.write_table(rows, path / f"part-{number:05d}.parquet")
    log = json.loads((tmp_path / "out" / "internal" / "log.json").read_text())
    Seal.of().put(tmp_path / "out", log["release"])
    assert run("check", tmp_path / "out")[0] == 0
    (tmp_path / "out" / "public" / "table.parquet" / "part-00002.parquet").touch()
    code, out, _ = run("check", tmp_path / "out", "--recipe", tmp_path / "out/internal/recipe.toml")
    assert code != 0
    (tmp_path / "out" / "public" / "table.parquet" / "part-00002.parquet").unlink()
    (tmp_path / "out" / "public" / "table.parquet" / "raw.txt").touch()
    code, out, _ = run("check", tmp_path / "out", "--json")
    assert code == 1
    assert strange("public/table.parquet/raw.txt") in out


def test_a_release_of_another_key_is_replaced(tmp_path, monkeypatch):
    release = discreet.protect(people(1), RECIPE)
    for target in ("out", "out.csv"):
        release.save(tmp_path / target)
        monkeypatch.setenv("DISCREET_KEY_FILE", str(tmp_path / f"key of {target}"))
        release.save(tmp_path / target, force=True)


def test_a_file_system_that_keeps_no_modes(tmp_path, monkeypatch, run):
    """Everything is open to all there, whatever one does; as on a USB stick."""
    real = {name: getattr(Path, name) for name in ("stat", "lstat")}

    def open_to_all(name):
        def found(path, **more):
            mode, *rest = real[name](path, **more)
            is_key = path == key_file()
            return os.stat_result((mode if is_key else mode | 0o777, *rest))

        return found

    for name in real:
        monkeypatch.setattr(Path, name, open_to_all(name))
    monkeypatch.setattr(Path, "chmod", lambda path, mode: None)
    discreet.protect(people(1), RECIPE).save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "internal" / "manifest.json").read_text())
    assert {tuple(one) for one in manifest["files"].values()} == {("sha256", "size")}
    assert run("check", tmp_path / "out")[0] == 0
    (tmp_path / "out" / "public" / "raw.csv").touch()
    assert run("check", tmp_path / "out")[0] == 1
