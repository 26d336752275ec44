"""Releases of every method, whole and broken: each engine finds the same."""

import json
import pickle
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet import check_release, read_table, write_table
from discreet.check.evidence import Evidence
from discreet.check.rows import comparing_of
from discreet.recipe.given import as_recipe


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
    "curves": [
        {"method": "top-bottom", "columns": ["debt"], "upper": 900, "promise": False},
        {"method": "porop", "columns": ["income", "debt"], "k": 60, "noise_floor": 0.1},
        {"method": "lirop", "columns": ["seen"], "k": 50, "keep_range": True},
        {"method": "porop", "columns": ["rooms"], "k": 90, "second_k": 20, "precision": "full"},
        {"method": "noise", "columns": ["debt"], "scale": 0.2},
    ],
}
RECIPES |= {
    "porop": [{"method": "porop", "columns": ["income", "debt"], "k": 20}],
    "porop twice": [
        {"method": "noise", "columns": ["income"], "scale": 0.1},
        {"method": "porop", "columns": ["income", "debt"], "k": 20},
        {"method": "lirop", "columns": ["debt"], "k": 15, "noise": "perturbative"},
        {"method": "top-bottom", "columns": ["debt"], "upper": 900.0},
    ],
    "dates": [{"method": "porop", "columns": ["seen"], "k": 20}],
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


def tables(place, recipe, internal=True, original=True):
    """Return what a check is given."""
    (path,) = (place / "release" / "public").glob("table.*")
    folder = place / "release" / "internal" if internal else None
    return path, recipe, folder, place / "original.parquet" if original else None


@pytest.fixture
def same(checked):
    def same(*given, **more):
        return checked(*tables(*given, **more))

    return same


@pytest.mark.parametrize("name", RECIPES)
def test_a_whole_release(releases, tmp_path, name, same):
    # The two kinds of files are read in two ways, and from then on they are one.
    kind = "csv" if list(RECIPES).index(name) % 3 == 0 else "parquet"
    place = shutil.copytree(releases(name, kind), tmp_path / "copy")
    assert same(place, rules(name)).verified
    same(place, rules(name), original=False)
    same(place, rules(name), internal=False, original=False)


# Broken in one way or another


def rewrite(place, edit):
    """Write the released table again after an edit."""
    (path,) = (place / "release" / "public").glob("table.*")
    schema = Evidence.load(place / "release" / "internal").schema
    write_table(edit(read_table(path, schema=schema)), path)


def with_cells(name, change):
    def edit(given):
        cells = given[name].to_pylist()
        change(cells)
        column = pa.array(cells, given.schema.field(name).type)
        return given.set_column(given.column_names.index(name), name, column)

    return edit


def swap(cells):
    """Exchange two different cells: every count stays as it was."""
    first = next(i for i, c in enumerate(cells) if c is not None)
    other = next(i for i, c in enumerate(cells) if c not in (None, cells[first]))
    cells[first], cells[other] = cells[other], cells[first]


def fill(cells):
    cells[cells.index(None)] = next(c for c in cells if c is not None)


def empty(cells):
    cells[100] = cells[200] = None


def rare(cells):
    counts = {c: cells.count(c) for c in cells if c is not None}
    least = min(counts, key=counts.get)
    for _ in range(counts[least] - 1):
        cells[cells.index(least)] = next(c for c in counts if c != least)


def text(name):
    def edit(given):
        column = given[name].cast(pa.string())
        return given.set_column(given.column_names.index(name), name, column)

    return edit


EDITS = {
    "income swapped": with_cells("income", swap),
    "zip swapped": with_cells("zip", swap),
    "illness swapped": with_cells("ill", swap),
    "sex swapped": with_cells("sex", swap),
    "a null filled": with_cells("income", fill),
    "cells emptied": with_cells("income", empty),
    "illnesses emptied": with_cells("ill", empty),
    "a rare value": with_cells("debt", rare),
    "a value that no point is": with_cells("debt", lambda cells: cells.__setitem__(7, 12345.0)),
    "a class of one": with_cells("zip", lambda cells: cells.__setitem__(9, "8***")),
    "all ill alike": with_cells("ill", lambda cells: cells.__setitem__(slice(120), ["flu"] * 120)),
    "rooms differ": with_cells("rooms", lambda cells: cells.__setitem__(3, 99)),
    "a row added": lambda given: pa.concat_tables([given, given.slice(0, 1)]),
    "a row lost": lambda given: given.slice(1),
    "rows in another order": lambda given: given.take(pa.array(np.arange(len(given))[::-1])),
    "a column added": lambda given: given.append_column("name", given["zip"]),
    "a column lost": lambda given: given.drop_columns(["zip"]),
    "all columns of a step lost": lambda given: given.drop_columns(["age", "zip"]),
    "another column lost": lambda given: given.drop_columns(["income", "ill"]),
    "a row of nulls": lambda given: pa.concat_tables(
        [given.slice(1), given.schema.empty_table(), pa.table(
            {f.name: pa.nulls(1, f.type) for f in given.schema})]
    ),
}  # fmt: skip


AS_CSV = ("a null filled", "a row lost", "a row of nulls", "a column lost")


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_table(releases, tmp_path, edit, same):
    kind = "csv" if edit in AS_CSV else "parquet"
    place = shutil.copytree(releases("generalize", kind), tmp_path / "copy")
    rewrite(place, EDITS[edit])
    assert not same(place, rules("generalize")).ok
    # What the table alone tells is the same for cells that were swapped and emptied.
    if not edit.endswith(("swapped", "emptied")):
        same(place, rules("generalize"), internal=False, original=False)


@pytest.mark.parametrize(
    "edit", ["income swapped", "a null filled", "cells emptied", "rooms differ", "a row lost"]
)
def test_an_edited_table_of_values_on_curves(releases, tmp_path, edit, same):
    place = shutil.copytree(releases("curves", "parquet"), tmp_path / "copy")
    rewrite(place, EDITS[edit])
    assert not same(place, rules("curves")).ok


@pytest.mark.parametrize(
    "path", [("coefficients", 3), ("deviations", 0), ("k",), ("second_k",), ("noise_scale",)]
)
def test_an_edited_plan_of_curves(releases, tmp_path, path, same):
    place = shutil.copytree(releases("curves", "csv"), tmp_path / "copy")
    edit_plan(place, more(*path))
    report = same(place, rules("curves"))
    assert any("every treated cell" in f.promise for f in report.having("broken"))


def edit_plan(place, edit):
    path = place / "release" / "internal" / "plan.json"
    plan = json.loads(path.read_text())
    edit(plan)
    path.write_text(json.dumps(plan))


def inside(*path):
    """Edit a part of the second step's plan."""

    def part(plan):
        found = plan["steps"][1]["joint"]
        for key in path[:-1]:
            found = found[key]
        return found, path[-1]

    return part


def more(*path):
    def edit(plan):
        found, key = inside(*path)(plan)
        found[key] = found[key] + 1

    return edit


def income(key, change):
    return lambda plan: change(plan["steps"][0]["columns"]["income"][key])


def suppressed(**numbers):
    return lambda plan: plan["suppressed"].update(numbers)


PLANS = {
    "a cut": income("cuts", lambda x: x.__setitem__(0, x[0] + 100)),
    "points exchanged": income("points", list.reverse),
    "counts": income("counts", lambda x: x.__setitem__(0, x[0] + 1)),
    "a point lost": income("points", lambda x: x.pop()),
    "points of text": income("points", lambda x: x.__setitem__(0, "a")),
    "a group's rows": more("groups", 0, "rows"),
    "a group's suppressed": more("groups", 0, "suppressed"),
    "a class's size": more("groups", 0, "rounds", 0, "sizes", 0),
    "a level": more("groups", 0, "rounds", 0, "levels", "age"),
    "a leaf": more("hierarchies", "age", "leaf", 3),
    "a value unknown": lambda plan: plan["steps"][1]["joint"]["hierarchies"]["zip"][
        "values"
    ].__setitem__(0, "x"),
    "a label": lambda plan: plan["steps"][1]["joint"]["hierarchies"]["zip"]["labels"][1].reverse(),
    "the spread": more("confidential", "ill", "counts", 0),
    "no hierarchies": lambda plan: plan["steps"][1]["joint"].pop("hierarchies"),
    "no groups": lambda plan: plan["steps"][1]["joint"].update(groups=3),
    "another kind": lambda plan: plan["steps"][1]["joint"].update(kind="generalise"),
    "no second step": lambda plan: plan["steps"].pop(),
    "no steps": lambda plan: plan.update(steps=[]),
    "a row left out more": suppressed(left_out=5),
    "a row left out less": suppressed(left_out=3),
    "a cell blanked more": lambda plan: plan["suppressed"]["blanked"].update(income=50),
    "cells blanked less": lambda plan: plan["suppressed"]["blanked"].pop("income"),
    "nothing suppressed": lambda plan: plan.pop("suppressed"),
}


@pytest.mark.parametrize("edit", PLANS)
def test_an_edited_plan(releases, tmp_path, edit, same):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    edit_plan(place, PLANS[edit])
    assert not same(place, rules("generalize")).ok


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"records": 3}, "the plan suppresses 3 records, but its classes 4"),
        ({"left_out": 3}, "the plan leaves out 3 records, but its classes 4"),
        ({"blanked": {"income": 7}}, "the plan empties 7 cells of column 'income' where records"),
    ],
    ids=str,
)
def test_numbers_of_suppressed_records_are_what_the_classes_give(
    releases, tmp_path, same, numbers, said
):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    edit_plan(place, suppressed(**numbers))
    assert said in str(same(place, rules("generalize")))


@pytest.mark.parametrize("listed", [{"left_out": [1, 2]}, {"blanked": {"income": [3]}}, 3])
def test_suppression_is_told_in_numbers(releases, tmp_path, same, listed):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    edit_plan(place, lambda plan: plan.update(suppressed=listed))
    with pytest.raises(discreet.errors.BadInput, match="is not the internal folder of a release"):
        same(place, rules("generalize"))


def test_a_group_that_is_said_to_stay(releases, tmp_path, same):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    edit_plan(place, lambda plan: plan["steps"][1]["joint"]["groups"][0].update(left_out=False))
    report = same(place, rules("generalize"))
    assert "the row map does not name each row of the original once" in str(report)


MONDRIANS = {
    "tuples": lambda joint: joint["tuples"]["classes"].__setitem__(0, 1),
    "codes": lambda joint: joint["tuples"]["codes"]["age"].reverse(),
    "sizes": lambda joint: joint["sizes"].__setitem__(0, joint["sizes"][0] + 1),
    "labels": lambda joint: joint["labels"]["zip"]["labels"].reverse(),
    "lower": lambda joint: joint["labels"]["age"]["lower"].__setitem__(0, 59),
}


@pytest.mark.parametrize("edit", MONDRIANS)
def test_an_edited_plan_of_mondrian(releases, tmp_path, edit, same):
    place = shutil.copytree(releases("mondrian", "parquet"), tmp_path / "copy")
    edit_plan(place, lambda plan: MONDRIANS[edit](plan["steps"][1]["joint"]))
    assert not same(place, rules("mondrian")).ok


def roll(rows):
    return np.roll(rows, 1)


def twice(rows):
    return np.append(rows[1], rows[1:])


def outside(rows):
    return np.append(10_000, rows[1:])


def negative(rows):
    return np.append(-1, rows[1:])


def shorter(rows):
    return rows[:-3]


@pytest.mark.parametrize("change", [roll, twice, outside, negative, shorter])
def test_an_edited_row_map(releases, tmp_path, change, same):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    path = place / "release" / "internal" / "rows.parquet"
    rows = parquet.read_table(path)["original_row"].to_numpy()
    parquet.write_table(pa.table({"original_row": change(rows)}), path)
    assert not same(place, rules("generalize")).ok
    same(place, rules("generalize"), original=False)


@pytest.mark.parametrize("name", ["schema.arrow", "check.json", "recipe.toml"])
def test_a_kept_file_edited(releases, tmp_path, name, same):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    path = place / "release" / "internal" / name
    if name == "schema.arrow":
        schema = pa.ipc.read_schema(pa.BufferReader(path.read_bytes()))
        schema = schema.set(schema.names.index("rooms"), pa.field("rooms", pa.float64()))
        path.write_bytes(schema.serialize().to_pybytes())
    elif name == "recipe.toml":
        path.write_text(path.read_text().replace("k = 4", "k = 5"))
    else:
        path.write_bytes(path.read_bytes() + b"\n")
    assert not same(place, rules("generalize")).ok


def test_another_recipe(releases, tmp_path, same):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    assert not same(place, rules("stars").model_copy(update={"steps": rules("base").steps})).ok


def test_another_original(releases, tmp_path, same):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    assert same(place, rules("generalize")).verified
    original = parquet.read_table(place / "original.parquet")
    rooms = pa.array([*original["rooms"].to_pylist()[:-1], 77])
    other = original.set_column(original.column_names.index("rooms"), "rooms", rooms)
    parquet.write_table(other, place / "original.parquet")
    report = same(place, rules("generalize"))
    broken = {f.promise for f in report.having("broken")}
    assert "the original is the one that was protected" in broken
    parquet.write_table(original.slice(1), place / "original.parquet")
    assert "row map" in str(same(place, rules("generalize")))


@pytest.mark.parametrize("name", WHOLE)
def test_what_needs_all_rows_is_not_verifiable_in_pieces(releases, name):
    given = tables(releases(name, "parquet"), rules(name))
    whole, report = (check_release(*given, engine=one) for one in ("memory", "duckdb"))
    assert whole.verified
    assert report.ok
    cells = [f for f in report.having("not verifiable") if f.promise.startswith("every treated")]
    assert "needs" in cells[0].detail
    known = {f.promise: f for f in whole.findings}
    for one in report.having("verified"):
        assert known[one.promise] == one


def test_a_table_in_parts(releases, tmp_path, same):
    place = shutil.copytree(releases("generalize", "parquet"), tmp_path / "copy")
    expected = same(place, rules("generalize"))
    for path in (place / "release/public/table.parquet", place / "release/internal/rows.parquet"):
        whole = parquet.read_table(path)
        path.unlink()
        path.mkdir()
        parquet.write_table(whole.slice(0, 100), path / "part-0.parquet")
        parquet.write_table(whole.slice(100), path / "part-1.parquet")
    report = same(place, rules("generalize"))
    hashes = ("the released file", "plan, recipe")
    for found, known in zip(report.findings, expected.findings, strict=True):
        assert found == known or found.promise.startswith(hashes)


def test_what_goes_to_the_rows_can_be_pickled(releases):
    evidence = Evidence.load(releases("generalize", "parquet") / "release" / "internal")
    comparing = comparing_of(evidence, rules("generalize"), released=("age",), complete=True)
    again = pickle.loads(pickle.dumps(comparing.seen))
    assert again.__self__.recipe == comparing.recipe
