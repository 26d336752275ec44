"""The check on an engine finds what the check in memory finds, of releases whole and broken."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet import check_release
from discreet.engines import duckdb
from discreet.engines.released import released_frame
from discreet.engines.sources import duckdb_frame
from discreet.release.evidence import Evidence
from discreet.release.recipe import as_recipe
from discreet.release.scale.check import check_frames

PIECE = 37


@pytest.fixture(autouse=True)
def tiny_pieces(monkeypatch):
    monkeypatch.setattr(duckdb, "PIECE", PIECE)


def table(nulls=2, alone=2, n=240):
    """People; the first have no age, and the last stand alone."""
    draw = np.random.default_rng(5)
    days = draw.integers(0, 900, n).astype("datetime64[D]").astype("datetime64[us]")
    days[:100] = days[:100] + np.timedelta64(6, "h")
    zips = draw.choice(["1011", "1012", "2011", "2012"], n).tolist()
    zips[n - alone :] = [f"{90 + i}99" for i in range(alone)]
    return pa.table(
        {
            "age": pa.array([None] * nulls + draw.integers(20, 60, n - nulls).tolist()),
            "zip": zips,
            "ill": draw.choice(["flu", "gout", "acne"], n).tolist(),
            "income": pa.array(np.round(draw.lognormal(8, 1, n), 2), mask=draw.random(n) < 0.1),
            "debt": np.round(draw.lognormal(6, 1, n)),
            "seen": days,
            "sex": pa.array(draw.choice(["f", "m"], n)).dictionary_encode(),
            "rooms": draw.integers(1, 6, n),
        }
    )


ROLES = {
    "quasi": ["age", "zip", "rooms"],
    "confidential": ["ill", "income", "debt", "seen"],
    "insensitive": ["sex"],
}
GENERALIZE = {
    "method": "generalize",
    "columns": ["age", "zip"],
    "privacy": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "l": 2, "column": "ill"},
        {"model": "t-closeness", "t": 0.6, "column": "ill"},
        {"model": "alpha-k-anonymity", "alpha": 0.95, "k": 2, "column": "ill"},
    ],
    "suppression_limit": 0.2,
    "levels": {"age": [0, 2], "zip": [0, 1]},
    "hierarchies": {
        "age": {"kind": "intervals", "widths": [10, 20]},
        "zip": {"kind": "prefix"},
    },
}
ROUND = {"method": "oma", "columns": ["income", "debt"], "k": 4}
MONDRIAN = {
    "method": "mondrian",
    "columns": ["age", "zip"],
    "privacy": [{"model": "k-anonymity", "k": 4}],
}
RECIPES = {
    "generalize": [ROUND, GENERALIZE],
    "stars": [ROUND, GENERALIZE],
    "patterns": [GENERALIZE | {"segregate": "pattern"}],
    "by value": [GENERALIZE | {"null_policy": "value"}],
    "suppress nulls": [ROUND, GENERALIZE | {"null_policy": "suppress"}],
    "match": [GENERALIZE | {"null_policy": "match", "privacy": [{"model": "k-anonymity", "k": 3}]}],
    "raw": [GENERALIZE | {"small_group": "append", "allow_disclosure": True}],
    "local": [GENERALIZE | {"local": True}],
    "mondrian": [ROUND, MONDRIAN],
    "mondrian, no nulls": [MONDRIAN | {"null_policy": "suppress"}],
    "mondrian, relaxed": [MONDRIAN | {"strict": False}],
    "rounding": [
        {"method": "oma", "columns": ["income", "seen"], "k": 5},
        {"method": "oma", "columns": ["debt"], "k": 5, "encoding": "stochastic"},
        {"method": "top-bottom", "columns": ["rooms"], "lower": 2, "upper": 4},
    ],
    "base": [{"method": "base", "columns": ["debt"], "min_attraction": 3}],
    "random": [
        {"method": "noise", "columns": ["income", "debt"], "kind": "correlated"},
        {"method": "noise", "columns": ["debt"], "scale": 0.2, "precision": "full"},
        {"method": "pram", "columns": ["ill", "sex"]},
    ],
}
# In the others those without an age, and those who stand alone, are too few to stay as stars.
TABLES = {"stars": table(9, 6), "match": table(9, 6), "patterns": table(9, 2)}
SEED = {"seed": 5, "allow_predictable_seed": True}
# What only all rows tell.
WHOLE = {
    "swap": [{"method": "rank-swap", "columns": ["income"], "p": 10}],
    "shuffle": [{"method": "shuffle", "columns": ["income"]}],
    "microaggregation": [{"method": "microaggregation", "columns": ["income", "debt"], "k": 3}],
    "ties": [{"method": "oma", "columns": ["rooms"], "k": 7, "keep_ties": False}],
    "ipso": [{"method": "ipso", "columns": ["debt"], "confidential": ["rooms"]}],
}


def rules(name):
    steps = (RECIPES | WHOLE)[name]
    treated = {column for step in steps for column in step["columns"]}
    untouched = [column for column in ROLES["quasi"] if column not in treated]
    return as_recipe({"roles": ROLES | {"untouched": untouched}, "steps": steps, **SEED})


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Make each release once, as CSV or Parquet, with its original beside it."""
    made = {}

    def release(name, kind):
        if (name, kind) not in made:
            folder = tmp_path_factory.mktemp("release")
            parquet.write_table(TABLES.get(name, table()), folder / "original.parquet")
            released = discreet.protect(folder / "original.parquet", rules(name))
            released.save(folder / "release", format=kind)
            made[name, kind] = folder
        return made[name, kind]

    return release


def counted(internal):
    """Turn lists of suppressed rows into numbers, as an engine's plan has them."""
    path = internal / "plan.json"
    plan = json.loads(path.read_text())
    if "suppressed" in plan:
        rows = plan["suppressed"]
        plan["suppressed"] = {
            "records": len(rows["rows"]),
            "left_out": len(rows["left_out"]),
            "blanked": {name: len(cells) for name, cells in rows["blanked"].items()},
        }
        path.write_text(json.dumps(plan))


def in_memory(place, recipe, internal=True, original=True):
    (path,) = (place / "release" / "public").glob("table.*")
    folder = place / "release" / "internal"
    return check_release(
        path,
        recipe,
        folder if internal else None,
        place / "original.parquet" if original else None,
    )


def on_duckdb(place, recipe, internal=True, original=True):
    (path,) = (place / "release" / "public").glob("table.*")
    folder, work = place / "release" / "internal", place / "work"
    work.mkdir(exist_ok=True)
    with duckdb.Session(work, "200MB") as session:
        before = None
        if original:
            before = duckdb_frame(session, place / "original.parquet", list, recipe.null_markers)
        evidence = Evidence.load(folder) if internal else None
        if evidence is None:
            released = duckdb_frame(session, path, list, (), recipe.numeric)
        else:
            released = released_frame(session, path, evidence.row_map, evidence.schema)
        return check_frames(released, recipe, evidence, before, path, place / "original.parquet")


def same(place, recipe, **given):
    """Check both ways; the reports must be one."""
    expected, found = in_memory(place, recipe, **given), on_duckdb(place, recipe, **given)
    assert str(found) == str(expected)
    assert found == expected
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", RECIPES)
def test_a_whole_release(releases, tmp_path, name, kind):
    place = shutil.copytree(releases(name, kind), tmp_path / "copy")
    assert same(place, rules(name)).verified
    same(place, rules(name), original=False)
    same(place, rules(name), internal=False, original=False)
    counted(place / "release" / "internal")
    report = on_duckdb(place, rules(name))
    assert [
        f for f in report.findings if f.status != "verified" and "plan, recipe" not in f.promise
    ] == []
