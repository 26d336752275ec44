"""One edit of a release, and what the check says of it: each is found by whoever has the key."""

import json
import os
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.check.manifest import Seal
from tests.check.tampered import EDITED, FILE, MANIFEST, PROOF, SIGNED, strange


def log(change):
    return lambda place: place.edit("internal/log.json", change)


def manifest(change):
    return lambda place: place.edit("internal/manifest.json", change)


def append(name, what=b"\n"):
    def edit(place):
        path = place.release / name
        path.write_bytes(path.read_bytes() + what)

    return edit


def write(name, text="Person 100\n", mode=0o644):
    def edit(place):
        (place.release / name).write_text(text)
        (place.release / name).chmod(mode)

    return edit


def replace(name, old, new):
    def edit(place):
        text = (place.release / name).read_text("utf-8")
        assert old in text
        (place.release / name).write_text(text.replace(old, new, 1), "utf-8")

    return edit


def lines(change):
    def edit(place):
        path = place.public / "table.csv"
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))

    return edit


def chmod(name, mode):
    return lambda place: (place.release / name).chmod(mode)


def take(name, source="another"):
    def edit(place):
        shutil.copy2(place.folder / source / name, place.release / name)

    return edit


def swap_folder(half):
    def edit(place):
        shutil.rmtree(place.release / half)
        shutil.copytree(place.another / half, place.release / half)

    return edit


def link(name):
    def edit(place):
        elsewhere = place.folder / "elsewhere"
        (place.release / name).rename(elsewhere)
        (place.release / name).symlink_to(elsewhere)

    return edit


def as_folder(name):
    def edit(place):
        (place.release / name).unlink()
        (place.release / name).mkdir(mode=0o700)

    return edit


def rename(name, new):
    return lambda place: (place.release / name).rename(place.release / new)


def remove(name):
    return lambda place: (place.release / name).unlink()


def raw_with_a_fresh_hash(place):
    shutil.copy(place.folder / "raw.csv", place.public / "raw.csv")
    fresh = place.entry("public/raw.csv")
    place.edit("internal/manifest.json", lambda m: m["files"].update({"public/raw.csv": fresh}))


def plan_with_a_fresh_hash(place):
    place.edit("internal/plan.json", lambda plan: plan["steps"][0].update(step=1.0))
    fresh = place.entry("internal/plan.json") | {"mode": "0600"}
    place.edit("internal/manifest.json", lambda m: m["files"].update({"internal/plan.json": fresh}))


def rows(change):
    def edit(place):
        path = place.internal / "rows.parquet"
        kept = parquet.read_table(path)["original_row"].to_numpy()
        parquet.write_table(pa.table({"original_row": change(kept)}), path)
        path.chmod(0o600)

    return edit


def schema(place):
    path = place.internal / "schema.arrow"
    kept = pa.ipc.read_schema(pa.BufferReader(path.read_bytes()))
    path.write_bytes(kept.with_metadata({"a": "b"}).serialize().to_pybytes())


def name_twice(place):
    path = place.internal / "manifest.json"
    path.write_text(path.read_text().replace("{", '{\n "release": "me",', 1))


def hashed(name):
    return f"the hash of {name} differs"


LOG, TABLE = hashed("internal/log.json"), hashed("public/table.csv")
EDITS = {
    # The log
    "a warning removed": (log(lambda o: o.update(warnings=["none"])), PROOF, LOG),
    "a role": (log(lambda o: o["roles"].update(name="insensitive")), PROOF, LOG),
    "the seed's flag": (log(lambda o: o["seed"].update(predictable=True)), PROOF, LOG),
    "a dropped column": (log(lambda o: o.update(dropped=[])), PROOF, LOG),
    "the null policy": (log(lambda o: o["nulls"].update(policy="none")), PROOF, LOG),
    "counts of nulls": (log(lambda o: o["nulls"]["cells"].update(pay=1)), PROOF, LOG),
    "changed cells": (log(lambda o: o["changed_cells"].update(pay=1)), PROOF, LOG),
    "rows of the input": (log(lambda o: o["input"].update(rows=61)), PROOF, LOG),
    "the input's hash": (log(lambda o: o["input"].update(hmac="0" * 64)), PROOF, LOG),
    "the input's name": (log(lambda o: o["input"].update(source="b.csv")), PROOF, LOG),
    "the number of the release": (
        log(lambda o: o.update(release="0" * 12)),
        MANIFEST,
        "it is the manifest of release ",
    ),
    "the day": (log(lambda o: o.update(started="2020-01-01T00:00:00+00:00")), PROOF, LOG),
    "versions": (log(lambda o: o["packages"].update(numpy="1")), PROOF, LOG),
    "a step's figures": (log(lambda o: o["steps"][0].update(seconds=0.0)), PROOF, LOG),
    "a part added to the log": (log(lambda o: o.update(files={})), PROOF, LOG),
    # The manifest
    "an entry deleted": (manifest(lambda m: m["files"].pop("public/codebook.md")), MANIFEST, EDITED),
    "the log's entry deleted": (
        manifest(lambda m: m["files"].pop("internal/log.json")),
        PROOF,
        strange("internal/log.json"),
    ),
    "all entries deleted": (manifest(lambda m: m["files"].clear()), MANIFEST, EDITED),
    "an entry's mode": (
        manifest(lambda m: m["files"]["internal/plan.json"].update(mode="0644")),
        MANIFEST,
        EDITED,
    ),
    "an entry's size": (
        manifest(lambda m: m["files"]["internal/plan.json"].update(size=1)),
        PROOF,
        hashed("internal/plan.json"),
    ),
    "a hash recomputed without the key": (plan_with_a_fresh_hash, MANIFEST, EDITED),
    "the raw table with a fresh hash": (raw_with_a_fresh_hash, MANIFEST, EDITED),
    "the raw table in the list": (raw_with_a_fresh_hash, FILE, strange("public/raw.csv")),
    "the release in the manifest": (manifest(lambda m: m.update(release="0" * 12)), MANIFEST, EDITED),
    "the key's id": (manifest(lambda m: m.update(key="0" * 16)), MANIFEST, EDITED),
    "the code": (manifest(lambda m: m.update(mac="0" * 64)), MANIFEST, EDITED),
    "a code of other letters": (manifest(lambda m: m.update(mac="é")), MANIFEST, EDITED),
    "the code of a former release": (
        lambda p: p.edit(
            "internal/manifest.json",
            lambda m: m.update(mac=json.loads((p.former / "internal/manifest.json").read_text())["mac"]),
        ),
        MANIFEST,
        EDITED,
    ),
    "the signer": (manifest(lambda m: m.update(signer="0" * 64)), MANIFEST, EDITED),
    "the signer removed": (manifest(lambda m: m.pop("signer")), MANIFEST, EDITED),
    "a name more": (manifest(lambda m: m.update(note="")), MANIFEST, "manifest.json is damaged"),
    "a name twice": (name_twice, MANIFEST, "manifest.json is not as it was written"),
    "a newline after the manifest": (
        append("internal/manifest.json"),
        MANIFEST,
        "manifest.json is not as it was written",
    ),
    "the manifest cut": (write("internal/manifest.json", "{"), MANIFEST, "manifest.json is damaged"),
    "a null manifest": (write("internal/manifest.json", "null"), MANIFEST, "manifest.json is damaged"),
    "no manifest": (
        remove("internal/manifest.json"),
        MANIFEST,
        "manifest.json is missing; a release of an earlier version has none: protect the table again",
    ),
    "a former manifest": (
        take("internal/manifest.json", "former"),
        MANIFEST,
        "it is the manifest of release ",
    ),
    # Parts of other releases
    "another internal": (swap_folder("internal"), FILE, "the hash of public/"),
    "another public": (swap_folder("public"), FILE, "the hash of public/"),
    "another plan": (take("internal/plan.json"), PROOF, hashed("internal/plan.json")),
    "another row map": (
        take("internal/rows.parquet", "former"),
        PROOF,
        hashed("internal/rows.parquet"),
    ),
    "another log": (take("internal/log.json", "former"), PROOF, LOG),
    "another table": (take("public/table.csv", "former"), FILE, TABLE),
    # Files that are kept
    "the plan": (
        replace("internal/plan.json", '"k": 5', '"k": 6'),
        PROOF,
        hashed("internal/plan.json"),
    ),
    "the recipe's seed": (
        replace("internal/recipe.toml", "\nseed = ", f"\nseed = {2**100}\n# "),
        PROOF,
        hashed("internal/recipe.toml"),
    ),
    "a comment in the recipe": (
        append("internal/recipe.toml", b"# k was 10\n"),
        PROOF,
        hashed("internal/recipe.toml"),
    ),
    "the row map": (rows(lambda r: np.roll(r, 1)), PROOF, hashed("internal/rows.parquet")),
    "the schema": (schema, PROOF, hashed("internal/schema.arrow")),
    "the findings": (
        replace("internal/check.json", "verified", "approved"),
        PROOF,
        hashed("internal/check.json"),
    ),
    "the assessment": (
        replace("internal/assessment.json", "0", "1"),
        PROOF,
        hashed("internal/assessment.json"),
    ),
    "the board's report": (
        replace("internal/report.html", "Never share", "Share"),
        PROOF,
        hashed("internal/report.html"),
    ),
    "the readme": (
        replace("internal/README.txt", "Never share", "Share"),
        PROOF,
        hashed("internal/README.txt"),
    ),
    "a newline in the plan": (append("internal/plan.json"), PROOF, hashed("internal/plan.json")),
    # Files that are shared
    "the codebook": (append("public/codebook.md", b"!"), FILE, hashed("public/codebook.md")),
    "the codebook cut": (write("public/codebook.md", ""), FILE, hashed("public/codebook.md")),
    "the users' report": (
        replace("public/report.html", "Release", "Leak"),
        FILE,
        hashed("public/report.html"),
    ),
    "the public manifest": (append("public/manifest.json"), FILE, hashed("public/manifest.json")),
    "one cell": (lines(lambda t: [*t[:-1], t[-1].swapcase()]), FILE, TABLE),
    "the order of rows": (lines(lambda t: [t[0], *sorted(t[1:])]), FILE, TABLE),
    "one more row": (lines(lambda t: [*t, t[-1]]), FILE, TABLE),
    "a row fewer": (lines(lambda t: t[:-1]), FILE, TABLE),
    "a column fewer": (lines(lambda t: [row.partition(",")[0] + "\n" for row in t]), FILE, TABLE),
    "a newline after the table": (append("public/table.csv"), FILE, TABLE),
    "the name of a person in the last cell": (append("public/table.csv", b"A,1\n"), FILE, TABLE),
    # Modes
    "internal open": (
        chmod("internal", 0o755),
        PROOF,
        "internal has mode 0755, at most 0700 is right",
    ),
    "the plan readable": (
        chmod("internal/plan.json", 0o644),
        PROOF,
        "internal/plan.json has mode 0644, at most 0600 is right",
    ),
    "the manifest readable": (
        chmod("internal/manifest.json", 0o640),
        PROOF,
        "internal/manifest.json has mode 0640, at most 0600 is right",
    ),
    "the table executable": (
        chmod("public/table.csv", 0o755),
        FILE,
        "public/table.csv has mode 0755, at most 0644 is right",
    ),
    "the table writable by all": (
        chmod("public/table.csv", 0o666),
        FILE,
        "public/table.csv has mode 0666, at most 0644 is right",
    ),
    "the table of another user": (
        chmod("public/table.csv", 0o4644),
        FILE,
        "public/table.csv has mode 4644, at most 0644 is right",
    ),
    "public writable by all": (
        chmod("public", 0o777),
        FILE,
        "public has mode 0777, at most 0755 is right",
    ),
    # What is there
    "a link": (link("public/codebook.md"), FILE, "public/codebook.md is a link or the like"),
    "a link to the table": (link("public/table.csv"), FILE, "public/table.csv is a link or the like"),
    "a link to the log": (link("internal/log.json"), PROOF, "internal/log.json is a link or the like"),
    "a link to the manifest": (
        link("internal/manifest.json"),
        PROOF,
        "internal/manifest.json is a link or the like",
    ),
    "a link to a folder": (link("internal"), PROOF, "internal is a link or the like"),
    "a link to the public half": (link("public"), FILE, "public is a link or the like"),
    "a dangling link": (
        lambda p: (p.public / "x").symlink_to("nowhere"),
        FILE,
        "public/x is a link or the like",
    ),
    "a pipe": (lambda p: os.mkfifo(p.public / "pipe"), FILE, "public/pipe is a link or the like"),
    "the raw table": (write("public/raw.csv"), FILE, strange("public/raw.csv")),
    "another table beside it": (write("public/tablf.csv"), FILE, strange("public/tablf.csv")),
    "a hidden file": (write("public/.raw"), FILE, strange("public/.raw")),
    "a file that a terminal should not be shown": (
        write("public/a\x1b[2Jb"),
        FILE,
        strange(r"public/a\x1b[2Jb"),
    ),
    "a file in internal": (write("internal/notes.txt"), PROOF, strange("internal/notes.txt")),
    "a key in internal": (write("internal/pseudonyms.key"), PROOF, strange("internal/pseudonyms.key")),
    "an empty folder": (lambda p: (p.public / "new").mkdir(), FILE, strange("public/new")),
    "an empty folder in internal": (
        lambda p: (p.internal / "new").mkdir(),
        PROOF,
        strange("internal/new"),
    ),
    "a folder in place of a file": (
        as_folder("public/codebook.md"),
        FILE,
        strange("public/codebook.md"),
    ),
    "the case of a name": (
        rename("public/codebook.md", "public/Codebook.md"),
        FILE,
        "public/codebook.md is missing, and 1 more",
    ),
    "a file renamed": (
        rename("internal/check.json", "internal/check.bak"),
        PROOF,
        "internal/check.json is missing, and 1 more",
    ),
    "no codebook": (remove("public/codebook.md"), FILE, "public/codebook.md is missing"),
    "no assessment": (remove("internal/assessment.json"), PROOF, "internal/assessment.json is missing"),
    # Signatures
    "no signature": (
        remove("internal/manifest.sig"),
        SIGNED,
        "it is not signed: manifest.sig: No such file or directory",
    ),
    "no signature, as a missing file": (
        remove("internal/manifest.sig"),
        PROOF,
        "internal/manifest.sig is missing",
    ),
    "no public signature": (remove("public/manifest.sig"), FILE, "public/manifest.sig is missing"),
    "a signature of another key": (
        take("internal/manifest.sig"),
        SIGNED,
        "the signature is not that of the public key ",
    ),
    "a signature of a former release": (
        take("internal/manifest.sig", "former"),
        SIGNED,
        "the signature is not that of the public key ",
    ),
    "a signature that is none": (
        write("internal/manifest.sig", "", mode=0o600),
        SIGNED,
        "the signature is not that of the public key ",
    ),
}  # fmt: skip


def test_an_untouched_release_is_authentic(place):
    found = place.check()
    for promise in (MANIFEST, FILE, PROOF, SIGNED):
        assert found[promise][0] == "verified", found[promise]
    assert found[FILE][1] == "5 files with their hashes"


@pytest.mark.parametrize("edit", EDITS)
def test_one_edit(place, edit):
    change, promise, detail = EDITS[edit]
    change(place)
    status, said = place.check()[promise]
    assert (status, said[: len(detail)]) == ("broken", detail)


def test_sixty_edits_are_tried():
    assert len(EDITS) >= 60


def test_the_command_fails(place, run):
    assert run("check", place.release)[0] == 0
    EDITS["a warning removed"][0](place)
    code, out, err = run("check", place.release, "--json")
    assert (code, err) == (1, "")
    assert LOG in out


# A manifest of somebody else's key


@pytest.fixture
def forged(place, monkeypatch):
    """A release whose log was edited, and that was sealed anew with another key."""
    EDITS["a warning removed"][0](place)
    number = json.loads((place.internal / "log.json").read_text())["release"]
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("DISCREET_KEY_FILE", str(place.folder / "forger"))
        Seal.of(place.folder / "stranger.pem").put(place.release, number)
    return place


def test_a_release_that_was_sealed_anew(forged):
    found = forged.check()
    for promise in (MANIFEST, FILE, PROOF):
        assert (found[promise][0], found[promise][1][:13]) == ("not verifiable", "another key: ")
    assert "broken" not in {status for status, _ in found.values()}


def test_the_command_fails_for_a_release_that_was_sealed_anew(forged, run):
    code, out, err = run("check", forged.release, "--json")
    assert code == 1
    assert json.loads(out)["ok"]
    said = "was sealed with another key than yours, so anybody could have made it; if a colleague"
    assert err == f"discreet: {forged.release} {said} did, give --any-key\n"
    assert run("check", forged.release, "--any-key")[0] == 0
    # Accepting a key is not accepting whatever differs.
    (forged.public / "table.csv").write_text("pay\n1\n")
    assert run("check", forged.release, "--any-key")[0] == 1


def test_a_signature_stands_in_for_the_key(forged, run):
    signed = ("check", forged.release, "--public-key")
    assert run(*signed, forged.folder / "stranger.pub")[0] == 0
    assert run(*signed, forged.folder / "signing.pub")[0] == 1


def test_whoever_has_no_key_can_check(forged, run, monkeypatch):
    monkeypatch.setenv("DISCREET_KEY_FILE", str(forged.folder / "none"))
    code, _, err = run("check", forged.release)
    assert (code, err) == (0, "")


# What else reads a release

READERS = {
    "report": lambda p: ["report", p.release],
    "report as a page": lambda p: ["report", p.release, "--out", p.folder / "page.html"],
    "report for users": lambda p: [
        "report", p.release, "--external", "--out", p.folder / "page.html",
    ],
    "assess": lambda p: [
        "assess", p.folder / "raw.csv", p.release, "--recipe", p.former / "internal/recipe.toml",
    ],
    "compare": lambda p: [
        "compare", p.folder / "raw.csv", p.former, p.release, "--out", p.folder / "page.html",
    ],
}  # fmt: skip


@pytest.mark.parametrize("command", READERS)
def test_no_page_is_made_from_edited_files(place, run, command):
    EDITS["a warning removed"][0](place)
    code, out, err = run(*READERS[command](place))
    assert (code, out) == (2, "")
    said = f"{place.release} was changed after it was written: {LOG}; run discreet check"
    assert err == f"discreet: {said}\n"
    assert not (place.folder / "page.html").exists()


@pytest.mark.parametrize("command", READERS)
def test_a_page_from_files_of_another_key_says_so(forged, run, command):
    code, out, err = run(*READERS[command](forged))
    assert code == 0, err
    page = forged.folder / "page.html"
    told = out + err + (page.read_text("utf-8") if page.exists() else "")
    assert "was sealed with another key than yours, so nobody can tell" in " ".join(told.split())
